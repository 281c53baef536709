/* Kernels along a row: quantisation of activations, RMS norm, softmax. Every variant gives the
 * scalar kernel's bits; the scalar kernels give what their definitions say. */
#include "kernels_test.h"

static const size_t lengths[] = {1, 2, 15, 16, 17, 31, 32, 33, 64, 100, 576, 1000};

/* Random rows, some with odd values. */
static void row_with(size_t kind, float *x, size_t n) {
    static const float odd[] = {0,       -0.0f, 0x1p-149f, 0x1p-126f, 1e-38f,
                                3.4e38f, 100,   INFINITY,  -INFINITY, NAN};
    float size = kind == 1 ? 1e-37f : kind == 2 ? 1e30f : kind == 3 ? 50.0f : 1.0f;
    for (size_t i = 0; i < n; i++)
        x[i] = size * random_float();
    if (kind >= 4)
        for (size_t i = 0; i < n; i += 1 + random_u32() % n)
            x[i] = odd[random_u32() % (kind == 4 ? 7 : 10)];
    if (kind == 6)
        memset(x, 0, 4 * n);
}
enum { N_KINDS = 7 };

static void test_quantize_gives_scalar_bits(void **state) {
    (void)state;
    enum { N = 32 * 9 };
    const weft_kernels *scalar = weft_kernels_of(WEFT_ISA_SCALAR), *variants[WEFT_ISA_COUNT];
    size_t n_variants = test_variants(variants);
    float x[N], d[2][N / 32];
    int8_t q[2][N];
    int32_t sums[2][N / 32];
    for (size_t round = 0; round < 50 * N_KINDS; round++) {
        row_with(round % N_KINDS, x, N);
        if (round % 5 == 0) /* ties: amax 127 makes q = rint(x) */
            for (size_t i = 0; i < N; i++)
                x[i] = i % 32 ? (float)(int)(random_u32() % 253) - 126.5f : 127.0f;
        scalar->quantize_q8(x, N, q[0], d[0], sums[0]);
        for (size_t v = 0; v < n_variants; v++) {
            variants[v]->quantize_q8(x, N, q[1], d[1], sums[1]);
            assert_memory_equal(q[0], q[1], N);
            assert_memory_equal(sums[0], sums[1], sizeof sums[0]);
            assert_same_floats("quantize_q8", variants[v]->isa, d[0], d[1], N / 32);
        }
    }
}

static void test_quantize_rounds_half_to_even(void **state) {
    (void)state;
    float x[32] = {127.0f, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 126.5f, -127.0f, 0.49999997f};
    static const int8_t want[10] = {127, 0, 2, 2, 0, -2, -2, 126, -127, 0};
    int8_t q[32];
    float d;
    int32_t sum;
    weft_kernels_of(WEFT_ISA_SCALAR)->quantize_q8(x, 32, q, &d, &sum);
    assert_memory_equal(q, want, 10);
    assert_true(d == 1.0f);
    assert_int_equal(sum, 126);
}

/* amax 0 gives zeros; what is not finite gives q = 0 and d = NaN, never undefined behaviour. */
static void test_quantize_of_odd_blocks(void **state) {
    (void)state;
    static const float odd[] = {0, INFINITY, -INFINITY, NAN, 0x1p-149f};
    int8_t q[32], zeros[32] = {0};
    int32_t sum;
    for (size_t i = 0; i < N_ITEMS(odd); i++) {
        float x[32] = {0}, d = 7;
        x[20] = odd[i];
        weft_kernels_of(WEFT_ISA_SCALAR)->quantize_q8(x, 32, q, &d, &sum);
        assert_memory_equal(q, zeros, 32);
        assert_int_equal(sum, 0);
        assert_true(i == 0 || i == 4 ? d == 0 : isnan(d));
    }
}

static void test_rms_norm(void **state) {
    (void)state;
    const weft_kernels *scalar = weft_kernels_of(WEFT_ISA_SCALAR), *variants[WEFT_ISA_COUNT];
    size_t n_variants = test_variants(variants);
    float x[1000], w[1000], y[1000], z[1000];
    for (size_t i = 0; i < N_ITEMS(lengths); i++)
        for (size_t kind = 0; kind < N_KINDS; kind++)
            for (int weighted = 0; weighted < 2; weighted++) {
                size_t n = lengths[i];
                row_with(kind, x, n);
                random_floats(w, n);
                scalar->rms_norm(x, weighted ? w : NULL, n, 1e-5f, y);
                for (size_t v = 0; v < n_variants; v++) {
                    variants[v]->rms_norm(x, weighted ? w : NULL, n, 1e-5f, z);
                    assert_same_floats("rms_norm", variants[v]->isa, y, z, n);
                }
                double squares = 0;
                for (size_t k = 0; k < n; k++)
                    squares += (double)x[k] * x[k];
                double factor = 1 / sqrt(squares / n + 1e-5);
                for (size_t k = 0; k < n && kind == 0; k++) {
                    double want = x[k] * factor * (weighted ? w[k] : 1);
                    assert_true(fabs(y[k] - want) <= 1e-6 * fabs(want));
                }
            }
}

static void test_layer_norm(void **state) {
    (void)state;
    const weft_kernels *scalar = weft_kernels_of(WEFT_ISA_SCALAR), *variants[WEFT_ISA_COUNT];
    size_t n_variants = test_variants(variants);
    float x[1000], w[1000], b[1000], y[1000], z[1000];
    for (size_t i = 0; i < N_ITEMS(lengths); i++)
        for (size_t kind = 0; kind < N_KINDS; kind++)
            for (int with = 0; with < 4; with++) {
                const float *weight = with & 1 ? w : NULL, *bias = with & 2 ? b : NULL;
                size_t n = lengths[i];
                row_with(kind, x, n);
                random_floats(w, n);
                random_floats(b, n);
                scalar->layer_norm(x, weight, bias, n, 1e-5f, y);
                for (size_t v = 0; v < n_variants; v++) {
                    variants[v]->layer_norm(x, weight, bias, n, 1e-5f, z);
                    assert_same_floats("layer_norm", variants[v]->isa, y, z, n);
                }
                double mean = 0, squares = 0;
                for (size_t k = 0; k < n; k++)
                    mean += (double)x[k] / (double)n;
                for (size_t k = 0; k < n; k++)
                    squares += (x[k] - mean) * (x[k] - mean);
                double factor = 1 / sqrt(squares / (double)n + 1e-5);
                for (size_t k = 0; k < n && kind == 0; k++) {
                    double want = (x[k] - mean) * factor * (weight ? w[k] : 1) + (bias ? b[k] : 0);
                    assert_true(fabs(y[k] - want) <= 2e-5);
                }
            }
}

static void test_softmax(void **state) {
    (void)state;
    const weft_kernels *scalar = weft_kernels_of(WEFT_ISA_SCALAR), *variants[WEFT_ISA_COUNT];
    size_t n_variants = test_variants(variants);
    float x[1000], y[1000], z[1000];
    for (size_t i = 0; i < N_ITEMS(lengths); i++)
        for (size_t kind = 0; kind < N_KINDS; kind++) {
            size_t n = lengths[i];
            row_with(kind, x, n);
            scalar->softmax(x, n, y);
            for (size_t v = 0; v < n_variants; v++) {
                variants[v]->softmax(x, n, z);
                assert_same_floats("softmax", variants[v]->isa, y, z, n);
            }
            if (kind != 0 && kind != 3)
                continue;
            double top = -1e9, sum = 0;
            for (size_t k = 0; k < n; k++)
                top = fmax(top, x[k]);
            for (size_t k = 0; k < n; k++)
                sum += exp(x[k] - top);
            for (size_t k = 0; k < n; k++)
                /* x - max is rounded once, which the exponential turns into a relative error. */
                assert_true(fabs(y[k] - exp(x[k] - top) / sum) <=
                            (1e-6 + 1e-7 * (top - x[k])) * y[k] + 1e-38);
        }
}

/* A masked key (-infinity) gets exactly 0; nothing but masked keys, or a NaN, gives NaN. */
static void test_softmax_of_infinities(void **state) {
    (void)state;
    float x[3] = {1, -INFINITY, 1}, y[3];
    const weft_kernels *k = weft_kernels_of(WEFT_ISA_SCALAR);
    k->softmax(x, 3, y);
    assert_true(y[0] == 0.5f && y[1] == 0 && y[2] == 0.5f);
    x[0] = x[2] = -INFINITY;
    k->softmax(x, 3, y);
    assert_true(isnan(y[0]) && isnan(y[1]) && isnan(y[2]));
    x[0] = 1, x[1] = NAN;
    k->softmax(x, 3, y);
    assert_true(isnan(y[0]) && isnan(y[1]) && isnan(y[2]));
}

/* Rows whose elements are far apart take a way without underflow: the bits are those of e^(x - max)
 * over the sum of 16 lanes, down to the last denormal. */
static void test_softmax_of_elements_far_apart(void **state) {
    (void)state;
    enum { N = 4099 };
    static const float ranges[] = {86, 88, 104, 120, 200, 3000};
    static float x[N], e[N], y[N];
    const weft_kernels *k = weft_kernels_of(WEFT_ISA_SCALAR);
    for (size_t i = 0; i < N_ITEMS(ranges); i++) {
        float top = -INFINITY, lanes[16] = {0};
        size_t n_denormal = 0;
        random_floats(x, N);
        for (size_t j = 0; j < N; j++) {
            x[j] *= ranges[i] / 2;
            top = fmaxf(top, x[j]);
        }
        for (size_t j = 0; j < N; j++)
            e[j] = x[j] - top;
        k->exp(e, N, e);
        for (size_t j = 0; j < N; j++)
            lanes[j % 16] += e[j];
        for (size_t half = 8; half > 0; half /= 2)
            for (size_t l = 0; l < half; l++)
                lanes[l] += lanes[l + half];
        for (size_t j = 0; j < N; j++) {
            e[j] /= lanes[0];
            n_denormal += fpclassify(e[j]) == FP_SUBNORMAL;
        }
        k->softmax(x, N, y);
        assert_same_floats("softmax", k->isa, e, y, N);
        assert_true(n_denormal > 0 || ranges[i] < 88);
    }
}

static void time_variant(const weft_kernels *k) {
    enum { N = 4096, TIMES = 64 };
    float *x = test_alloc(4 * N), *w = test_alloc(4 * N), *y = test_alloc(4 * N);
    int8_t *q = test_alloc(N);
    float *d = test_alloc(4 * N / 32);
    int32_t *sums = test_alloc(4 * N / 32);
    random_floats(x, N);
    random_floats(w, N);
    double a, b, c;
    BEST_SECONDS(a, 0.1, for (int i = 0; i < TIMES; i++) k->quantize_q8(x, N, q, d, sums));
    BEST_SECONDS(b, 0.1, for (int i = 0; i < TIMES; i++) k->rms_norm(x, w, N, 1e-5f, y));
    BEST_SECONDS(c, 0.1, for (int i = 0; i < TIMES; i++) k->softmax(x, N, y));
    printf("%-7s quantize_q8 %6.2f, rms_norm %6.2f, softmax %6.2f Gelements/s\n",
           weft_isa_name(k->isa), N * TIMES / a / 1e9, N * TIMES / b / 1e9, N * TIMES / c / 1e9);
    free(x);
    free(w);
    free(y);
    free(q);
    free(d);
    free(sums);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantize_gives_scalar_bits),
        cmocka_unit_test(test_quantize_rounds_half_to_even),
        cmocka_unit_test(test_quantize_of_odd_blocks),
        cmocka_unit_test(test_rms_norm),
        cmocka_unit_test(test_layer_norm),
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_softmax_of_infinities),
        cmocka_unit_test(test_softmax_of_elements_far_apart),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    if (rc || !wants_timing(argc, argv))
        return rc;
    for (int isa = 0; isa < WEFT_ISA_COUNT; isa++)
        if (weft_kernels_of(isa) && weft_cpu_has(isa))
            time_variant(weft_kernels_of(isa));
    return 0;
}
