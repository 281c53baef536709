/* Variants of the kernels by name, what builds on what, and what this machine can run. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "test.h"
#include "base/cpu.h"

static void test_names(void **state) {
    (void)state;
    weft_isa isa = WEFT_ISA_COUNT;
    for (int i = 0; i < WEFT_ISA_COUNT; i++) {
        assert_true(weft_isa_parse(weft_isa_name((weft_isa)i), &isa));
        assert_int_equal(isa, i);
    }
    assert_false(weft_isa_parse("avx10", &isa));
    assert_false(weft_isa_parse("", &isa));
    assert_string_equal(weft_isa_name(WEFT_ISA_COUNT), "?");
}

static void test_bases(void **state) {
    (void)state;
    assert_true(weft_isa_includes(WEFT_ISA_AMX, WEFT_ISA_VNNI));
    assert_true(weft_isa_includes(WEFT_ISA_BF16, WEFT_ISA_VBMI));
    assert_true(weft_isa_includes(WEFT_ISA_AMX, WEFT_ISA_AVX2));
    assert_true(weft_isa_includes(WEFT_ISA_I8MM, WEFT_ISA_NEON));
    assert_false(weft_isa_includes(WEFT_ISA_AMX, WEFT_ISA_AVXVNNI)); /* Zen 4 has no AVX-VNNI */
    assert_false(weft_isa_includes(WEFT_ISA_AVX512, WEFT_ISA_VNNI)); /* nor Skylake-X any VNNI */
    assert_false(weft_isa_includes(WEFT_ISA_NEON, WEFT_ISA_AVX2));
    for (int i = 0; i < WEFT_ISA_COUNT; i++) {
        assert_true(weft_isa_includes((weft_isa)i, (weft_isa)i));
        assert_true(weft_isa_includes((weft_isa)i, WEFT_ISA_SCALAR));
        assert_true(weft_isa_base((weft_isa)i) <=
                    (weft_isa)i); /* tables are filled in this order */
    }
}

static void test_this_machine(void **state) {
    (void)state;
    assert_true(weft_cpu_has(WEFT_ISA_SCALAR));
    assert_false(weft_cpu_has(WEFT_ISA_COUNT));
    assert_true(weft_cpu_has(weft_cpu_best()));
    for (int i = 0; i < WEFT_ISA_COUNT; i++)
        if (weft_cpu_has((weft_isa)i)) {
            assert_true(weft_cpu_has(weft_isa_base((weft_isa)i)));
            assert_true((weft_isa)i <= weft_cpu_best());
        }
}

#if defined(__x86_64__)
/* Linux refuses the tiles' state to a process with a signal stack that could not hold it. Exits 0
 * if that is what happens to AMX then, 1 if not. */
static void ask_without_room(void) {
    static char room[4096];
    stack_t small = {.ss_sp = room, .ss_size = sizeof room};
    if (sigaltstack(&small, NULL) != 0)
        _exit(0); /* a CPU with larger registers: no smaller stack is let through */
    bool fell_back = !weft_cpu_has(WEFT_ISA_AMX) && weft_cpu_best() != WEFT_ISA_AMX &&
                     weft_cpu_has(weft_cpu_best());
    _exit(fell_back ? 0 : 1);
}

/* Before anything in this process has asked: what was granted once stays. */
static void test_refused_tiles_fall_back(void **state) {
    (void)state;
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        ask_without_room();
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
        cmocka_unit_test(test_refused_tiles_fall_back),
#endif
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_bases),
        cmocka_unit_test(test_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
