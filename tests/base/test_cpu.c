/* Variants of the kernels by name, what builds on what, and what this machine can run. */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_bases),
        cmocka_unit_test(test_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
