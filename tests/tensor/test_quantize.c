/* Quantising rows: how close what a reader gets back is, the same bytes from every variant, blocks
 * that are hard (zeros, one outlier, equal elements), and importance. */
#include "test.h"
#include <math.h>
#include "base/floats.h"
#include "tensor/kernels/panel.h"
#include "tensor/quantize/quantize.h"

#define N 2048

/* Block types and the greatest share of error to value (both squared) on normal numbers: a few per
 * cent above what is reached. Rounding by the largest element alone stays above these bounds. */
static const struct {
    weft_dtype dtype;
    double bound;
} types[] = {
    {WEFT_Q4_0, 0.0067},    {WEFT_Q4_1, 0.0049},   {WEFT_Q5_0, 0.00158},  {WEFT_Q5_1, 0.0011},
    {WEFT_Q8_0, 2.6e-05},   {WEFT_Q2_K, 0.0675},   {WEFT_Q3_K, 0.0205},   {WEFT_Q4_K, 0.0049},
    {WEFT_Q5_K, 0.00115},   {WEFT_Q6_K, 0.00028},  {WEFT_IQ4_NL, 0.0054}, {WEFT_IQ4_XS, 0.0055},
    {WEFT_TQ1_0, 0.19},     {WEFT_TQ2_0, 0.19},    {WEFT_MXFP4, 0.0135},  {WEFT_NVFP4, 0.0072},
    {WEFT_IQ3_S, 0.0168},   {WEFT_IQ3_XXS, 0.032}, {WEFT_IQ2_S, 0.0553},  {WEFT_IQ2_XS, 0.0813},
    {WEFT_IQ2_XXS, 0.1062}, {WEFT_IQ1_M, 0.173},   {WEFT_IQ1_S, 0.201},
};
enum { N_TYPES = sizeof types / sizeof types[0] };

static uint64_t state_of_random;

static double uniform(void) {
    state_of_random = state_of_random * 6364136223846793005u + 1442695040888963407u;
    return ((double)(state_of_random >> 11) + 0.5) * 0x1p-53;
}

static void fill_normal(float *x, size_t n, uint64_t seed) {
    state_of_random = seed;
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()));
}

static void round_trip(weft_dtype dtype, const float *x, const float *importance, size_t n,
                       float *y) {
    unsigned char row[4 * N];
    weft_quantize_row(WEFT_ISA_SCALAR, dtype, x, importance, n, row);
    assert_true(weft_dequantize_row(dtype, row, n, y));
}

static double weighted_error(const float *x, const float *y, const float *w, size_t n) {
    double error = 0;
    for (size_t i = 0; i < n; i++)
        error +=
            (w ? (double)w[i] : 1) * ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
    return error;
}

static void normal_numbers_come_back_closely(void **state) {
    (void)state;
    float x[N], y[N], zero[N] = {0};
    fill_normal(x, N, 1);
    for (size_t t = 0; t < N_TYPES; t++) {
        round_trip(types[t].dtype, x, NULL, N, y);
        double share = weighted_error(x, y, NULL, N) / weighted_error(x, zero, NULL, N);
        if (!(share <= types[t].bound))
            fail_msg("%s: error %.5f of the values, bound %.5f", weft_dtype_name(types[t].dtype),
                     share, types[t].bound);
    }
}

static void float_types_round_once(void **state) {
    (void)state;
    float x[] = {1, -2.5f, 0.1f, 65504, 1e-7f, 3.14159f}, y[6];
    round_trip(WEFT_F32, x, NULL, 6, y);
    assert_memory_equal(x, y, sizeof x);
    round_trip(WEFT_F16, x, NULL, 6, y);
    for (int i = 0; i < 6; i++)
        assert_true(y[i] == weft_f16_to_f32(weft_f32_to_f16(x[i])));
    round_trip(WEFT_BF16, x, NULL, 6, y);
    for (int i = 0; i < 6; i++)
        assert_true(y[i] == weft_bf16_to_f32(weft_f32_to_bf16(x[i])));
    assert_true(weft_quantize_supported(WEFT_F16) && !weft_quantize_supported(WEFT_Q8_K));
    assert_false(weft_quantize_supported(WEFT_I8));
}

/* What is on a grid that the type has comes back exactly. */
static void grids_come_back_exactly(void **state) {
    (void)state;
    static const float e2m1[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    float x[256], y[256];
    for (int i = 0; i < 256; i++)
        x[i] = 0.25f * (float)(i % 16 - 8);
    round_trip(WEFT_Q4_0, x, NULL, 256, y);
    assert_memory_equal(x, y, sizeof x);
    round_trip(WEFT_Q4_1, x, NULL, 256, y);
    assert_memory_equal(x, y, sizeof x);
    for (int i = 0; i < 256; i++)
        x[i] = 0.5f * (float)(i % 3 - 1);
    round_trip(WEFT_TQ1_0, x, NULL, 256, y);
    assert_memory_equal(x, y, sizeof x);
    round_trip(WEFT_TQ2_0, x, NULL, 256, y);
    assert_memory_equal(x, y, sizeof x);
    for (int i = 0; i < 256; i++)
        x[i] = e2m1[i % 8] * (i % 8 == 0 || i % 5 > 0 ? 0.125f : -0.125f);
    round_trip(WEFT_MXFP4, x, NULL, 256, y);
    assert_memory_equal(x, y, sizeof x);
    round_trip(WEFT_NVFP4, x, NULL, 256, y);
    assert_memory_equal(x, y, sizeof x);
}

static void variants_give_the_same_bytes(void **state) {
    (void)state;
    float x[N], w[N];
    fill_normal(x, N, 2);
    x[100] = 40;
    for (size_t i = 0; i < N; i++)
        w[i] = (float)(uniform() * uniform());
    unsigned char a[4 * N], b[4 * N];
    weft_isa best = weft_cpu_best();
    for (size_t t = 0; t < N_TYPES; t++)
        for (int weighted = 0; weighted < 2; weighted++) {
            memset(a, 0, sizeof a);
            memset(b, 0, sizeof b);
            weft_quantize_row(WEFT_ISA_SCALAR, types[t].dtype, x, weighted ? w : NULL, N, a);
            weft_quantize_row(best, types[t].dtype, x, weighted ? w : NULL, N, b);
            if (memcmp(a, b, sizeof a) != 0)
                fail_msg("%s: %s gives other bytes", weft_dtype_name(types[t].dtype),
                         weft_isa_name(best));
        }
}

static bool codebook(weft_dtype t) {
    return t == WEFT_IQ1_S || t == WEFT_IQ1_M || t == WEFT_IQ2_XXS || t == WEFT_IQ2_XS ||
           t == WEFT_IQ2_S || t == WEFT_IQ3_XXS || t == WEFT_IQ3_S;
}

static void hard_blocks_stay_finite(void **state) {
    (void)state;
    float x[256], y[256];
    for (size_t t = 0; t < N_TYPES; t++) {
        weft_dtype dtype = types[t].dtype;
        memset(x, 0, sizeof x);
        round_trip(dtype, x, NULL, 256, y);
        for (int i = 0; i < 256; i++)
            assert_true(y[i] == 0);
        x[77] = -3; /* alone */
        round_trip(dtype, x, NULL, 256, y);
        bool book = codebook(dtype); /* has no zero, or no -3 among zeros */
        if (!(fabsf(y[77] + 3) <= (book ? 2 : 0.2f)))
            fail_msg("%s: -3 among zeros becomes %g", weft_dtype_name(dtype), (double)y[77]);
        static const float scales[] = {1e-38f, 1e-20f, 1e-6f, 1e3f, 1e30f};
        for (size_t k = 0; k < 5; k++) {
            for (int i = 0; i < 256; i++)
                x[i] = scales[k] * (float)(i % 7 - 3);
            round_trip(dtype, x, NULL, 256, y);
            for (int i = 0; i < 256; i++)
                if (!isfinite(y[i]))
                    fail_msg("%s: %g becomes %g", weft_dtype_name(dtype), (double)x[i],
                             (double)y[i]);
        }
        for (int i = 0; i < 256; i++)
            x[i] = i < 128 ? 0.75f : -0.75f; /* equal in every sub-block */
        round_trip(dtype, x, NULL, 256, y);
        double share = weighted_error(x, y, NULL, 256) / (256 * 0.5625);
        if (!(share < (book ? 0.11 : 2e-3)))
            fail_msg("%s: equal elements come back with an error of %g", weft_dtype_name(dtype),
                     share);
    }
}

/* Under the weights that it was told, a row is closer than without; where all weigh the same,
 * nothing changes. */
static void importance_counts(void **state) {
    (void)state;
    float x[N], w[N], same[N], plain[N], guided[N];
    fill_normal(x, N, 3);
    for (size_t i = 0; i < N; i++) {
        w[i] = (float)exp(4 * uniform());
        same[i] = 0.125f;
    }
    for (size_t t = 0; t < N_TYPES; t++) {
        weft_dtype dtype = types[t].dtype;
        round_trip(dtype, x, NULL, N, plain);
        round_trip(dtype, x, same, N, guided);
        assert_memory_equal(plain, guided, sizeof plain);
        round_trip(dtype, x, w, N, guided);
        double before = weighted_error(x, plain, w, N), after = weighted_error(x, guided, w, N);
        if (!(after < before * 1.0001))
            fail_msg("%s: importance makes it worse: %g, %g", weft_dtype_name(dtype), before,
                     after);
    }
    memset(w, 0, sizeof w); /* no column counts: as if all did */
    round_trip(WEFT_Q4_K, x, NULL, N, plain);
    round_trip(WEFT_Q4_K, x, w, N, guided);
    assert_memory_equal(plain, guided, sizeof plain);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normal_numbers_come_back_closely),
        cmocka_unit_test(float_types_round_once),
        cmocka_unit_test(grids_come_back_exactly),
        cmocka_unit_test(variants_give_the_same_bytes),
        cmocka_unit_test(hard_blocks_stay_finite),
        cmocka_unit_test(importance_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
