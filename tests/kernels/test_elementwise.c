/* Elementwise kernels: every variant gives the scalar kernel's bits, in place too; the scalar
 * functions stay within their stated errors of libm in double, over all of float32. */
#include "kernels_test.h"

typedef void (*map1)(const float *x, size_t n, float *y);

static const char *const names[] = {"exp",      "tanh",    "silu",    "gelu_tanh",
                                    "gelu_erf", "sigmoid", "softplus"};
enum { N_MAPS = 7, N = 1021 };

static map1 map_of(const weft_kernels *k, size_t i) {
    map1 maps[N_MAPS] = {k->exp,      k->tanh,    k->silu,    k->gelu_tanh,
                         k->gelu_erf, k->sigmoid, k->softplus};
    return maps[i];
}

/* Any bits; values near 0 and of ordinary size; the ends. */
static void test_input(size_t round, float *x) {
    static const float odd[] = {0,       -0.0f,    INFINITY, -INFINITY, NAN,    0x1p-149f,
                                -1e-40f, 3.4e38f,  -3.4e38f, 88.72284f, 88.73f, -87.3f,
                                -103.9f, -104.1f,  0.625f,   0.92f,     4.0f,   -5.7f,
                                0.5f,    0.34657f, -150.0f,  30.0f,     -30.0f};
    for (size_t i = 0; i < N; i++)
        x[i] = round % 3 == 0   ? weft_float_of(random_u32())
               : round % 3 == 1 ? 12 * random_float()
                                : 110 * random_float();
    memcpy(x + 100, odd, sizeof odd);
}

static void test_maps_give_scalar_bits(void **state) {
    (void)state;
    const weft_kernels *scalar = weft_kernels_of(WEFT_ISA_SCALAR), *variants[WEFT_ISA_COUNT];
    size_t n_variants = test_variants(variants);
    static float x[N], y[N], z[N];
    for (size_t round = 0; round < 60; round++)
        for (size_t m = 0; m < N_MAPS; m++) {
            size_t n = round < 40 ? N - round : round - 40;
            test_input(round, x);
            map_of(scalar, m)(x, n, y);
            for (size_t v = 0; v < n_variants; v++) {
                memcpy(z, x, sizeof x); /* in place */
                map_of(variants[v], m)(z, n, z);
                assert_same_floats(names[m], variants[v]->isa, y, z, n);
                if (n < N)
                    assert_memory_equal(z + n, x + n, (N - n) * 4);
            }
        }
}

static void test_pairs_give_scalar_bits(void **state) {
    (void)state;
    const weft_kernels *scalar = weft_kernels_of(WEFT_ISA_SCALAR), *variants[WEFT_ISA_COUNT];
    size_t n_variants = test_variants(variants);
    static float a[N], b[N], y[3][N], z[N];
    for (size_t round = 0; round < 30; round++) {
        size_t n = N - round;
        test_input(round, a);
        test_input(round + 1, b);
        scalar->mul(a, b, n, y[0]);
        scalar->add(a, b, n, y[1]);
        scalar->scale(a, n, b[0], y[2]);
        for (size_t i = 0; i < n; i++) {
            float want[3] = {a[i] * b[i], a[i] + b[i], a[i] * b[0]};
            for (size_t k = 0; k < 3; k++)
                assert_same_floats("mul, add, scale", WEFT_ISA_SCALAR, &want[k], &y[k][i], 1);
        }
        for (size_t v = 0; v < n_variants; v++) {
            variants[v]->mul(a, b, n, z);
            assert_same_floats("mul", variants[v]->isa, y[0], z, n);
            variants[v]->add(a, b, n, z);
            assert_same_floats("add", variants[v]->isa, y[1], z, n);
            variants[v]->scale(a, n, b[0], z);
            assert_same_floats("scale", variants[v]->isa, y[2], z, n);
        }
    }
}

/* All 65536 halves, and floats around every rounding border; NaN payloads included. */
static void test_half_conversions(void **state) {
    (void)state;
    const weft_kernels *variants[WEFT_ISA_COUNT];
    size_t n_variants = test_variants(variants);
    enum { ALL = 65536 };
    uint16_t *h = test_alloc(2 * ALL), *g = test_alloc(2 * ALL);
    float *x = test_alloc(4 * ALL);
    for (size_t v = 0; v <= n_variants; v++) {
        const weft_kernels *k = v ? variants[v - 1] : weft_kernels_of(WEFT_ISA_SCALAR);
        for (size_t i = 0; i < ALL; i++)
            h[i] = (uint16_t)i;
        k->f16_to_f32(h, ALL, x);
        for (size_t i = 0; i < ALL; i++)
            assert_int_equal(weft_bits_of(x[i]), weft_bits_of(weft_f16_to_f32(h[i])));
        k->f32_to_f16(x, ALL - 3, g);
        for (size_t i = 0; i < ALL - 3; i++) {
            if (isnan(x[i]))
                assert_int_equal(g[i], h[i] | 0x200);
            else
                assert_int_equal(g[i], h[i]);
        }
        for (int round = 0; round < 20; round++) {
            for (size_t i = 0; i < ALL; i++) {
                uint32_t half_way = weft_bits_of(weft_f16_to_f32((uint16_t)i)) + 0x1000;
                x[i] = weft_float_of(round < 3 ? half_way + (uint32_t)round - 1 : random_u32());
            }
            k->f32_to_f16(x, ALL, g);
            for (size_t i = 0; i < ALL; i++)
                if (g[i] != weft_f32_to_f16(x[i]))
                    fail_msg("%s: %a gives %04x instead of %04x", weft_isa_name(k->isa),
                             (double)x[i], g[i], weft_f32_to_f16(x[i]));
        }
    }
    free(h);
    free(g);
    free(x);
}

/* ---- Accuracy ---- */

static double exact(size_t m, double x) {
    switch (m) {
    case 0:
        return exp(x);
    case 1:
        return tanh(x);
    case 2:
        return x == -INFINITY ? 0 : x / (1 + exp(-x));
    case 3:
        return x < -100 ? 0 : x / (1 + exp(-2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case 4:
        return x < -100 ? 0 : 0.5 * x * erfc(-x * M_SQRT1_2);
    case 5:
        return 1 / (1 + exp(-x));
    default:
        return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
    }
}

/* Units in the last place of the float32 nearest to `want`. */
static double ulps(double got, double want) {
    int e;
    frexp(want, &e);
    return fabs(got - want) / ldexp(1, (e < -125 ? -125 : e) - 24);
}

/* exp and tanh within 2 units in the last place everywhere; silu 4 from -87 up; both gelu, sigmoid
 * and softplus within 3e-7 max(1, |x|). Every 2039th float, and [-8, 8] more densely. */
static void test_accuracy(void **state) {
    (void)state;
    const weft_kernels *k = weft_kernels_of(WEFT_ISA_SCALAR), *variants[WEFT_ISA_COUNT];
    if (test_variants(variants)) /* the same bits, and faster */
        k = variants[0];
    static float x[4096], y[4096];
    double worst[N_MAPS] = {0}, worst_at[N_MAPS] = {0};
    uint64_t bits = 0;
    for (int round = 0; round < 600; round++) {
        for (size_t i = 0; i < 4096; i++, bits += 2039)
            x[i] = round < 515 ? weft_float_of((uint32_t)bits) : 8 * random_float();
        for (size_t m = 0; m < N_MAPS; m++) {
            map_of(k, m)(x, 4096, y);
            for (size_t i = 0; i < 4096; i++) {
                double want = exact(m, x[i]), error;
                if (isnan(x[i])) {
                    assert_true(isnan(y[i]));
                    continue;
                }
                if (fabs(want) > 0x1.ffffffp127) { /* rounds to infinity */
                    assert_true(y[i] == want || isinf(y[i]));
                    continue;
                }
                if (m < 3)
                    error = m == 2 && x[i] < -87 ? fabs(y[i] - want) / 1e-43 : ulps(y[i], want);
                else
                    error = fabs(y[i] - want) / (fabs(x[i]) > 1 ? fabs(x[i]) : 1) / 1e-7;
                if (error > worst[m]) {
                    worst[m] = error;
                    worst_at[m] = x[i];
                }
            }
        }
    }
    static const double limit[N_MAPS] = {2, 2, 4, 3, 3, 3, 3};
    for (size_t m = 0; m < N_MAPS; m++)
        printf("%s: worst error %.2f %s at %.9g\n", names[m], worst[m], m < 3 ? "ulp" : "e-7",
               worst_at[m]);
    for (size_t m = 0; m < N_MAPS; m++)
        if (worst[m] > limit[m])
            fail_msg("%s is off by more than stated", names[m]);
}

static void test_limits(void **state) {
    (void)state;
    const weft_kernels *k = weft_kernels_of(WEFT_ISA_SCALAR);
    float x[5] = {INFINITY, -INFINITY, NAN, 0, -0.0f}, y[5];
    k->exp(x, 5, y);
    assert_true(y[0] == INFINITY && y[1] == 0 && isnan(y[2]) && y[3] == 1 && y[4] == 1);
    k->tanh(x, 5, y);
    assert_true(y[0] == 1 && y[1] == -1 && isnan(y[2]) && y[3] == 0 && signbit(y[4]));
    map1 activations[3] = {k->silu, k->gelu_tanh, k->gelu_erf};
    for (size_t i = 0; i < 3; i++) {
        activations[i](x, 5, y);
        assert_true(y[0] == INFINITY && y[1] == 0 && isnan(y[2]) && y[3] == 0 && y[4] == 0);
    }
    k->sigmoid(x, 5, y);
    assert_true(y[0] == 1 && y[1] == 0 && isnan(y[2]) && y[3] == 0.5f && y[4] == 0.5f);
    k->softplus(x, 5, y);
    assert_true(y[0] == INFINITY && y[1] == 0 && isnan(y[2]) && y[3] == y[4] && y[3] > 0.69f);
}

static void time_variant(const weft_kernels *k) {
    enum { LENGTH = 4096, TIMES = 32 };
    float *x = test_alloc(4 * LENGTH), *y = test_alloc(4 * LENGTH);
    random_floats(x, LENGTH);
    printf("%-7s", weft_isa_name(k->isa));
    for (size_t m = 0; m < N_MAPS; m++) {
        double s;
        BEST_SECONDS(s, 0.05, for (int i = 0; i < TIMES; i++) map_of(k, m)(x, LENGTH, y));
        printf(" %s %.2f", names[m], LENGTH * TIMES / s / 1e9);
    }
    double s;
    BEST_SECONDS(s, 0.05, for (int i = 0; i < TIMES; i++) k->mul(x, x, LENGTH, y));
    printf(" mul %.2f Gelements/s\n", LENGTH * TIMES / s / 1e9);
    free(x);
    free(y);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maps_give_scalar_bits),
        cmocka_unit_test(test_pairs_give_scalar_bits),
        cmocka_unit_test(test_half_conversions),
        cmocka_unit_test(test_accuracy),
        cmocka_unit_test(test_limits),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    if (rc || !wants_timing(argc, argv))
        return rc;
    for (int isa = 0; isa < WEFT_ISA_COUNT; isa++)
        if (weft_kernels_of(isa) && weft_cpu_has(isa))
            time_variant(weft_kernels_of(isa));
    return 0;
}
