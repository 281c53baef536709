/* The functions of map.h and the folds: every variant gives the scalar bits, and the new functions
 * of f32 stay within their stated errors of libm in double. With the argument "all" over all of
 * float32 (of one function, if its name follows), else over a sample of it. */
#include "kernels_test.h"
#include <math.h>

enum { N = 1021 };

static bool every_float;
static const char *only; /* the one function whose errors are measured; NULL: all */

static size_t item_of(weft_domain domain) {
    static const size_t items[WEFT_DOMAINS] = {4, 8, 8, 4, 2, 1, 1};
    return items[domain];
}

/* Any bits, ordinary sizes, and the ends. */
static void fill(size_t round, void *x, weft_domain domain) {
    static const double odd[] = {0,  -0.0,   INFINITY, -INFINITY, NAN,    0x1p-149, 1,
                                 -1, 3.4e38, -1e-40,   88.8,      -87.4,  -104,     0.5,
                                 2,  1e10,   -1e10,    0x1p20,    0x1p62, 1e300};
    for (size_t i = 0; i < N; i++) {
        double v = round % 2 ? 12 * (double)random_float() : 800 * (double)random_float();
        uint64_t bits = (uint64_t)random_u32() << 32 | random_u32();
        if (i >= 100 && i < 120)
            v = odd[i - 100];
        if (domain >= WEFT_IN_I64) {
            int64_t whole = round % 3 ? (int64_t)(bits % 100) - 50 : (int64_t)bits;
            size_t item = item_of(domain);
            memcpy((char *)x + i * item, &whole, item); /* its low bytes come first */
        } else if (domain == WEFT_IN_F64)
            ((double *)x)[i] = v;
        else
            ((float *)x)[i] =
                round % 3 == 0 && (i < 100 || i >= 120) ? weft_float_of((uint32_t)bits) : (float)v;
    }
}

/* Equal bytes, any NaN being like any other. */
static void assert_same(weft_map_op op, weft_domain domain, weft_isa isa, const void *a,
                        const void *b, bool bytes, size_t n) {
    size_t item = bytes ? 1 : item_of(domain);
    for (size_t i = 0; i < n; i++) {
        const char *x = (const char *)a + i * item, *y = (const char *)b + i * item;
        bool nan = false;
        if (!bytes && domain == WEFT_IN_F32)
            nan = isnan(((const float *)a)[i]) && isnan(((const float *)b)[i]);
        if (!bytes && domain == WEFT_IN_F64)
            nan = isnan(((const double *)a)[i]) && isnan(((const double *)b)[i]);
        if (!nan && memcmp(x, y, item) != 0)
            fail_msg("function %d, domain %d, %s: element %zu differs", (int)op, (int)domain,
                     weft_isa_name(isa), i);
    }
}

static void test_every_variant_gives_scalar_bits(void **state) {
    (void)state;
    const weft_kernels *scalar = weft_kernels_of(WEFT_ISA_SCALAR), *variants[WEFT_ISA_COUNT];
    size_t n_variants = TEST_VARIANTS(map, variants);
    static double a[N], b[N], y[N], z[N];
    bool divided = false;
    weft_map_args args = {.f0 = -1.5, .f1 = 2.5, .i0 = -3, .i1 = 40, .divided_by_zero = &divided};
    for (int op = 0; op < WEFT_MAP_COUNT; op++)
        for (int domain = 0; domain < WEFT_DOMAINS; domain++) {
            weft_map_fn *want = scalar->map((weft_map_op)op, (weft_domain)domain);
            bool bytes = op >= WEFT_MAP_EQ && op <= WEFT_MAP_IS_INF;
            for (size_t round = 0; want && round < 6; round++) {
                size_t n = N - 7 * round;
                const void *in[] = {a, b};
                fill(round, a, (weft_domain)domain);
                fill(round + 1, b, (weft_domain)domain);
                want(&args, in, n, y);
                for (size_t v = 0; v < n_variants; v++) {
                    variants[v]->map((weft_map_op)op, (weft_domain)domain)(&args, in, n, z);
                    assert_same((weft_map_op)op, (weft_domain)domain, variants[v]->isa, y, z, bytes,
                                n);
                }
            }
        }
}

static void test_folds_give_scalar_bits(void **state) {
    (void)state;
    const weft_kernels *scalar = weft_kernels_of(WEFT_ISA_SCALAR), *variants[WEFT_ISA_COUNT];
    size_t n_variants = TEST_VARIANTS(map, variants);
    static float x[N], best[2][N], columns[2][N];
    static double sums[2][N], parts[N];
    static uint16_t half[2][N];
    for (size_t round = 0; round < 12; round++) {
        size_t n = N - 13 * round;
        fill(2 * round + 1, x, WEFT_IN_F32);
        if (round % 2)
            x[104] = 0; /* without the NaN */
        for (size_t v = 0; v < n_variants; v++) {
            const weft_kernels *k[] = {scalar, variants[v]};
            float most[2];
            for (int i = 0; i < 2; i++) {
                memset(sums[i], 0, sizeof sums[i]);
                k[i]->sum_row(x, n, sums[i]);
                k[i]->sum_columns(x, 0, 1, 0, n, sums[i]);
                k[i]->sum_columns(x + 5, -1, 6, 2, n - 5, sums[i]);
                k[i]->sum_tree(x, 5, 1 + 7 * round % 64, n / 3, parts, sums[i] + n / 2);
                memset(best[i], 0, sizeof best[i]);
                k[i]->best_columns(x, 3, 4, 0, n - 9, round % 3 ? 1 : -1, best[i]);
                most[i] = k[i]->best_row(x, n, round % 3 ? 1 : -1);
                memcpy(columns[i], best[i], sizeof columns[i]);
                k[i]->f32_to_bf16(x, n, half[i]);
                k[i]->bf16_to_f32(half[i], n, best[i]);
            }
            assert_memory_equal(&most[0], &most[1], sizeof most[0]);
            assert_same(WEFT_MAP_ADD, WEFT_IN_F64, variants[v]->isa, sums[0], sums[1], false, n);
            assert_same(WEFT_MAP_ADD, WEFT_IN_F32, variants[v]->isa, best[0], best[1], false, n);
            assert_same(WEFT_MAP_ADD, WEFT_IN_F32, variants[v]->isa, columns[0], columns[1], false,
                        n);
            assert_memory_equal(half[0], half[1], n * sizeof half[0][0]);
        }
    }
}

static void test_moments_and_places_give_scalar_bits(void **state) {
    (void)state;
    const weft_kernels *scalar = weft_kernels_of(WEFT_ISA_SCALAR), *variants[WEFT_ISA_COUNT];
    size_t n_variants = TEST_VARIANTS(map, variants);
    static float x[N], best[2][N];
    static double sums[2][N], squares[2][N];
    static int32_t index[2][N];
    for (size_t round = 0; round < 12; round++) {
        size_t n = N - 13 * round;
        fill(2 * round + 1, x, WEFT_IN_F32);
        if (round % 2)
            x[104] = 0; /* without the NaN */
        for (size_t v = 0; v < n_variants; v++) {
            const weft_kernels *k[] = {scalar, variants[v]};
            for (int i = 0; i < 2; i++) {
                memset(sums[i], 0, sizeof sums[i]);
                memset(squares[i], 0, sizeof squares[i]);
                k[i]->moments_row(x, n, (double)x[0], sums[i], squares[i]);
                k[i]->moments_columns(x + 5, -1, 6, n - 5, x, sums[i], squares[i]);
                memset(index[i], 0, sizeof index[i]);
                memcpy(best[i], x, sizeof best[i]);
                k[i]->arg_columns(x, 3, 4, n - 9, round % 3 ? 1 : -1, 7, best[i], index[i]);
            }
            assert_same(WEFT_MAP_ADD, WEFT_IN_F64, variants[v]->isa, sums[0], sums[1], false, n);
            assert_same(WEFT_MAP_ADD, WEFT_IN_F64, variants[v]->isa, squares[0], squares[1], false,
                        n);
            assert_same(WEFT_MAP_ADD, WEFT_IN_F32, variants[v]->isa, best[0], best[1], false, n);
            assert_memory_equal(index[0], index[1], sizeof index[0]);
        }
    }
}

static int64_t whole_at(weft_domain domain, const void *x, size_t i) {
    switch (domain) {
    case WEFT_IN_I32:
        return ((const int32_t *)x)[i];
    case WEFT_IN_I16:
        return ((const int16_t *)x)[i];
    case WEFT_IN_I8:
        return ((const int8_t *)x)[i];
    case WEFT_IN_U8:
        return ((const uint8_t *)x)[i];
    default:
        return ((const int64_t *)x)[i];
    }
}

static int64_t folded(weft_whole_fold fold, int64_t acc, int64_t v) {
    if (fold == WEFT_WHOLE_SUM)
        return (int64_t)((uint64_t)acc + (uint64_t)v);
    return (fold == WEFT_WHOLE_MAX) == (v > acc) ? v : acc;
}

/* Every variant, and the scalar one, against a loop. */
static void test_integers_are_folded(void **state) {
    (void)state;
    const weft_kernels *variants[WEFT_ISA_COUNT];
    size_t n_variants = TEST_VARIANTS(map, variants), item;
    static int64_t x[40 * N], got[N];
    variants[n_variants++] = weft_kernels_of(WEFT_ISA_SCALAR);
    for (int domain = WEFT_IN_I64; domain < WEFT_DOMAINS; domain++)
        for (int fold = 0; fold < WEFT_WHOLE_FOLDS; fold++)
            for (size_t v = 0; v < n_variants; v++) {
                const weft_kernels *k = variants[v];
                weft_domain d = (weft_domain)domain;
                weft_whole_fold by = (weft_whole_fold)fold;
                item = item_of(d);
                for (size_t at = 0; at < 40; at++) /* more than a run of sums in 32 bits */
                    fill(at % 4 ? 0 : 1, (char *)x + at * N * item, d);
                int64_t want = -5;
                for (size_t i = 0; i < 40 * N; i++)
                    want = folded(by, want, whole_at(d, x, i));
                assert_int_equal(k->whole_row(d, by, x, 40 * N, -5), want);
                for (size_t i = 0; i < N; i++)
                    got[i] = 3 - (int64_t)i;
                k->whole_columns(d, by, x, 7, 9, N - 3, got);
                for (size_t i = 0; i < N - 3; i++) {
                    want = 3 - (int64_t)i;
                    for (size_t r = 0; r < 9; r++)
                        want = folded(by, want, whole_at(d, x, 7 * r + i));
                    if (got[i] != want)
                        fail_msg("domain %d, fold %d, %s: column %zu", domain, fold,
                                 weft_isa_name(k->isa), i);
                }
            }
}

/* Units of the last place between a float and the true value. */
static double error_of(float got, double want) {
    int e;
    if ((double)got == want || (isnan(got) && isnan(want)) || (float)want == got)
        return isnan(want) ? 0 : isinf(want) ? 0 : fabs((double)got - want) > 0 ? 0.5 : 0;
    if (isnan(got) || isnan(want) || isinf(got) || isinf(want))
        return 1e9;
    frexp(want, &e);
    return fabs((double)got - want) / ldexp(1, (e < -125 ? -125 : e) - 24);
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static void test_errors_of_f32_functions(void **state) {
    (void)state;
    static const struct {
        weft_map_op op;
        const char *name;
        double (*want)(double);
        double most;
    } functions[] = {{WEFT_MAP_EXP, "exp", exp, 2},
                     {WEFT_MAP_EXPM1, "expm1", expm1, 1.6},
                     {WEFT_MAP_LOG, "log", log, 1},
                     {WEFT_MAP_LOG1P, "log1p", log1p, 1.6},
                     {WEFT_MAP_SIN, "sin", sin, 1.7},
                     {WEFT_MAP_COS, "cos", cos, 1.7},
                     {WEFT_MAP_TANH, "tanh", tanh, 2},
                     {WEFT_MAP_ERF, "erf", erf, 3},
                     {WEFT_MAP_SIGMOID, "sigmoid", sigmoid, 4}};
    const weft_kernels *variants[WEFT_ISA_COUNT], *k = weft_kernels_of(WEFT_ISA_SCALAR);
    size_t n_variants = TEST_VARIANTS(map, variants);
    if (n_variants > 0) /* the same bits, sooner */
        k = variants[n_variants - 1];
    uint64_t step = every_float ? 1 : 2003;
    static float x[4096], y[4096];
    for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
        double worst = 0, at = 0;
        if (only && strcmp(only, functions[f].name) != 0)
            continue;
        for (uint64_t u = 0; u < 0x100000000u;) {
            size_t n = 0;
            for (; n < 4096 && u < 0x100000000u; u += step)
                x[n++] = weft_float_of((uint32_t)u);
            const void *in[] = {x};
            k->map(functions[f].op, WEFT_IN_F32)(NULL, in, n, y);
            for (size_t i = 0; i < n; i++) {
                double want = functions[f].want((double)x[i]), e = error_of(y[i], want);
                if (functions[f].op == WEFT_MAP_SIGMOID && x[i] < -87)
                    e = fabs((double)y[i] - want) < 3e-38 ? 0 : 1e9; /* denormal steps */
                if (e > worst) {
                    worst = e;
                    at = (double)x[i];
                }
            }
        }
        print_message("%s: at most %.2f units of the last place, at %.9g\n", functions[f].name,
                      worst, at);
        if (worst > functions[f].most)
            fail_msg("%s: %.2f units at %.9g, stated %.2f", functions[f].name, worst, at,
                     functions[f].most);
    }
}

int main(int argc, char **argv) {
    every_float = argc > 1 && strcmp(argv[1], "all") == 0;
    only = argc > 2 ? argv[2] : NULL;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_variant_gives_scalar_bits),
        cmocka_unit_test(test_folds_give_scalar_bits),
        cmocka_unit_test(test_moments_and_places_give_scalar_bits),
        cmocka_unit_test(test_integers_are_folded),
        cmocka_unit_test(test_errors_of_f32_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
