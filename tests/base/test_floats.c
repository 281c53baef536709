/* Half-precision conversions are exact, and the floating environment is set and restored. */
#include <fenv.h>
#include <math.h>
#include "test.h"
#include "base/floats.h"

static double f16_value(unsigned h) {
    int e = (h >> 10) & 31, m = h & 1023;
    double v = e == 0 ? ldexp(m, -24) : e == 31 ? (m ? NAN : INFINITY) : ldexp(1024 + m, e - 25);
    return h & 0x8000 ? -v : v;
}

static void every_f16_goes_to_f32_and_back(void **state) {
    (void)state;
    for (unsigned h = 0; h < 65536; h++) {
        float f = weft_f16_to_f32((uint16_t)h);
        double want = f16_value(h);
        if (isnan(want)) {
            assert_true(isnan(f));
            assert_true(isnan(weft_f16_to_f32(weft_f32_to_f16(f))));
        } else {
            assert_true((double)f == want && !signbit(f) == !signbit(want));
            assert_int_equal(weft_f32_to_f16(f), h);
        }
    }
}

static void f32_rounds_to_the_nearest_f16_ties_to_even(void **state) {
    (void)state;
    for (unsigned h = 0; h < 0x7bff; h++) {
        double a = f16_value(h), b = f16_value(h + 1), middle = (a + b) / 2;
        uint16_t even = (uint16_t)(h & 1 ? h + 1 : h);
        assert_int_equal(weft_f32_to_f16((float)middle), even);
        assert_int_equal(weft_f32_to_f16(nextafterf((float)middle, 0)), h);
        assert_int_equal(weft_f32_to_f16(nextafterf((float)middle, INFINITY)), h + 1);
        assert_int_equal(weft_f32_to_f16(-(float)middle), even | 0x8000);
    }
    assert_int_equal(weft_f32_to_f16(65504), 0x7bff);
    assert_int_equal(weft_f32_to_f16(65519.99f), 0x7bff);
    assert_int_equal(weft_f32_to_f16(65520), 0x7c00);
    assert_int_equal(weft_f32_to_f16(1e30f), 0x7c00);
    assert_int_equal(weft_f32_to_f16(-INFINITY), 0xfc00);
    assert_int_equal(weft_f32_to_f16(1e-30f), 0);
}

static void bf16_rounds_to_nearest_even(void **state) {
    (void)state;
    for (unsigned h = 0; h < 65536; h++) {
        float f = weft_bf16_to_f32((uint16_t)h);
        if (isnan(f))
            assert_true(isnan(weft_bf16_to_f32(weft_f32_to_bf16(f))));
        else
            assert_int_equal(weft_f32_to_bf16(f), h);
    }
    assert_int_equal(weft_f32_to_bf16(weft_float_of(0x3f808000)), 0x3f80);
    assert_int_equal(weft_f32_to_bf16(weft_float_of(0x3f818000)), 0x3f82);
    assert_int_equal(weft_f32_to_bf16(weft_float_of(0x3f808001)), 0x3f81);
}

/* 1 + 2^-25 is below the middle of 1 and the next float: only rounding up moves it. */
static float one_and_a_bit(void) {
    volatile float one = 1, bit = 0x1p-25f;
    return one + bit;
}

static void the_environment_is_set_and_restored(void **state) {
    (void)state;
    fesetround(FE_UPWARD);
    assert_true(one_and_a_bit() > 1);
    weft_fpenv saved = weft_fpenv_enter();
    assert_true(one_and_a_bit() == 1);
    volatile float tiny = 1e-38f, quarter = 0.25f;
    assert_true(tiny * quarter > 0); /* denormals are not flushed */
    weft_fpenv_restore(saved);
    assert_true(one_and_a_bit() > 1);
    fesetround(FE_TONEAREST);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_f16_goes_to_f32_and_back),
        cmocka_unit_test(f32_rounds_to_the_nearest_f16_ties_to_even),
        cmocka_unit_test(bf16_rounds_to_nearest_even),
        cmocka_unit_test(the_environment_is_set_and_restored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
