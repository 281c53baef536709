/* What every test program includes: cmocka with its prerequisites, and a few helpers. */
#ifndef WEFT_TESTS_TEST_H
#define WEFT_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <weft/status.h>

/* The call succeeds, else the test fails with status and detail. */
#define assert_weft_ok(call)                                                                       \
    do {                                                                                           \
        weft_status weft_test_status = (call);                                                     \
        if (weft_test_status != WEFT_OK)                                                           \
            fail_msg("%s: %s: %s", #call, weft_status_name(weft_test_status), weft_detail());      \
    } while (0)

/* The call fails with exactly this status. */
#define assert_weft_fails(call, expected)                                                          \
    do {                                                                                           \
        weft_status weft_test_status = (call);                                                     \
        if (weft_test_status != (expected))                                                        \
            fail_msg("%s: %s instead of %s", #call, weft_status_name(weft_test_status),            \
                     weft_status_name(expected));                                                  \
    } while (0)

/* The last failure's detail mentions this. */
#define assert_detail_has(part)                                                                    \
    do {                                                                                           \
        if (!strstr(weft_detail(), part))                                                          \
            fail_msg("the detail '%s' does not mention '%s'", weft_detail(), part);                \
    } while (0)

/* Ends a test that needs files which are not there, with a message. */
#define skip_without(path)                                                                         \
    do {                                                                                           \
        if (access(path, R_OK) != 0) {                                                             \
            print_message("skipped: no %s\n", path);                                               \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

#endif
