/* Elementary functions and rope frequencies, against the C library and the published formulas. */
#include <math.h>
#include "model/exact.h"
#include "model/rope.h"
#include "test.h"

static void test_functions_are_accurate(void **state) {
    (void)state;
    for (double x = -700; x < 700; x += 0.37) {
        assert_true(fabs(weft_exact_exp(x) / exp(x) - 1) < 1e-15);
        double y = exp(x / 3);
        assert_true(fabs(weft_exact_log(y) - log(y)) <= 4e-16 * fabs(log(y)) + 2e-16);
    }
    for (double x = -3e5; x < 3e5; x += 17.331) {
        double s, c;
        weft_exact_sincos(x, &s, &c);
        assert_true(fabs(s - sin(x)) < 3e-16 && fabs(c - cos(x)) < 3e-16);
    }
    assert_true(weft_exact_exp(0) == 1 && weft_exact_exp(-1000) == 0);
    assert_true(isinf(weft_exact_exp(1000)) && isnan(weft_exact_exp(NAN)));
    assert_true(weft_exact_exp(-740) > 0);
}

static weft_rope_rule rule(int32_t n_rot, double base) {
    return (weft_rope_rule){.n_rot = n_rot,
                            .base = base,
                            .factor = 1,
                            .beta_fast = 32,
                            .beta_slow = 1,
                            .truncate = true,
                            .magnitude = 1};
}

static void assert_close(double a, double b) {
    if (fabs(a / b - 1) > 1e-13)
        fail_msg("%.17g is not %.17g", a, b);
}

static void test_plain_and_linear(void **state) {
    (void)state;
    double f[32];
    weft_rope_rule r = rule(64, 10000);
    assert_true(weft_rope_frequencies(&r, NULL, f));
    for (int i = 0; i < 32; i++)
        assert_close(f[i], pow(10000, -i / 32.0));
    r.scaling = WEFT_ROPE_LINEAR;
    r.factor = 8;
    assert_true(weft_rope_frequencies(&r, NULL, f));
    assert_close(f[3], pow(10000, -3 / 32.0) / 8);
    float divisors[32] = {2};
    for (int i = 1; i < 32; i++)
        divisors[i] = 1;
    r = rule(64, 10000);
    assert_true(weft_rope_frequencies(&r, divisors, f));
    assert_close(f[0], 0.5);
    assert_close(f[1], pow(10000, -1 / 32.0));
    divisors[5] = 0; /* a damaged file */
    assert_false(weft_rope_frequencies(&r, divisors, f));
    divisors[5] = NAN;
    assert_false(weft_rope_frequencies(&r, divisors, f));
}

/* Llama 3.1's rule, written as its release notes do. */
static void test_llama3(void **state) {
    (void)state;
    double f[64];
    weft_rope_rule r = rule(128, 500000);
    r.scaling = WEFT_ROPE_LLAMA3;
    r.factor = 8;
    r.low = 1;
    r.high = 4;
    r.n_original = 8192;
    assert_true(weft_rope_frequencies(&r, NULL, f));
    for (int i = 0; i < 64; i++) {
        double plain = pow(500000, -i / 64.0), wave = 2 * M_PI / plain, want = plain;
        if (wave > 8192)
            want = plain / 8;
        else if (wave > 2048) {
            double smooth = (8192 / wave - 1) / 3;
            want = (1 - smooth) * plain / 8 + smooth * plain;
        }
        assert_close(f[i], want);
    }
}

static void test_yarn(void **state) {
    (void)state;
    double f[64];
    weft_rope_rule r = rule(128, 1000000);
    r.scaling = WEFT_ROPE_YARN;
    r.factor = 4;
    r.n_original = 32768;
    double low = 128 * log(32768 / (32 * 2 * M_PI)) / (2 * log(1e6));
    double high = 128 * log(32768 / (2 * M_PI)) / (2 * log(1e6));
    for (int truncate = 0; truncate < 2; truncate++) {
        r.truncate = truncate;
        double a = truncate ? floor(low) : low, b = truncate ? ceil(high) : high;
        assert_true(weft_rope_frequencies(&r, NULL, f));
        for (int i = 0; i < 64; i++) {
            double plain = pow(1e6, -i / 64.0);
            double ramp = fmin(fmax((i - a) / (b - a), 0), 1);
            assert_close(f[i], plain / 4 * ramp + plain * (1 - ramp));
        }
    }
    assert_close(f[0], 1);
    assert_close(f[63], pow(1e6, -63 / 64.0) / 4);
}

/* The first pairs turn as in a rope of all of them; the others do not, wherever they stand. */
static void test_share(void **state) {
    (void)state;
    double f[16];
    weft_rope_rule r = rule(32, 1e6);
    r.scaling = WEFT_ROPE_SHARE;
    r.share = 0.25;
    r.factor = 2;
    assert_true(weft_rope_frequencies(&r, NULL, f));
    for (int i = 0; i < 16; i++) {
        if (i < 4)
            assert_close(f[i], pow(1e6, -i / 16.0) / 2);
        else
            assert_true((float)(1 + sin(1e9 * f[i])) == 1 && f[i] > 0);
    }
}

/* Rows depend on position and pair alone, and are the angles' cosines and sines rounded once. */
static void test_rows(void **state) {
    (void)state;
    weft_engine *engine;
    weft_scope *scope;
    weft_tensor *c, *s;
    double f[4] = {1, 0.1, 0.01, 0.001};
    const double *of_rows[3] = {f, f, f};
    int32_t positions[3] = {0, 7, 100000};
    float cosines[12], sines[12];
    assert_weft_ok(weft_engine_create(NULL, &engine));
    assert_weft_ok(weft_scope_create(engine, WEFT_SCOPE_HEAP, &scope));
    weft_rope_rows(scope, of_rows, 8, 2.0, positions, 3, &c, &s);
    assert_weft_ok(weft_tensor_read(c, cosines, sizeof cosines));
    assert_weft_ok(weft_tensor_read(s, sines, sizeof sines));
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < 4; i++) {
            assert_true(cosines[4 * t + i] == (float)(2 * cos(positions[t] * f[i])));
            assert_true(sines[4 * t + i] == (float)(2 * sin(positions[t] * f[i])));
        }
    weft_scope_release(&scope);
    weft_engine_release(&engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_are_accurate),
        cmocka_unit_test(test_plain_and_linear),
        cmocka_unit_test(test_llama3),
        cmocka_unit_test(test_yarn),
        cmocka_unit_test(test_share),
        cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
