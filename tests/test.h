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
#include <sys/mman.h>
#include <sys/wait.h>
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

/* Whether the kernel clears MADV_WIPEONFORK pages in a forked child, by which engines notice that
 * they are in one. Emulators of user programs accept the advice and forget it. */
static inline bool forks_are_noticed(void) {
    unsigned char *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return false;
    madvise(page, 4096, MADV_WIPEONFORK);
    page[0] = 1;
    pid_t child = fork();
    if (child == 0)
        _exit(page[0]);
    int status = 1;
    waitpid(child, &status, 0);
    munmap(page, 4096);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

#define skip_without_fork_notice()                                                                 \
    do {                                                                                           \
        if (!forks_are_noticed()) {                                                                \
            print_message("skipped: forks go unnoticed here\n");                                   \
            skip();                                                                                \
        }                                                                                          \
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
