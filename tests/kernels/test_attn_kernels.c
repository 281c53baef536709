/* Attention of one head over consecutive positions of the cache: every variant gives the scalar
 * kernel's bits; scores are dot products, values are summed in order of position. */
#include "kernels_test.h"

typedef struct cache {
    void *data;
    size_t stride;
    weft_dtype dtype;
} cache;

static cache random_cache(weft_dtype dtype, size_t n, size_t stride, bool odd) {
    cache c = {test_alloc(n * stride * 4), stride, dtype};
    for (size_t i = 0; i < n * stride; i++) {
        float f = random_float();
        if (dtype == WEFT_F16)
            ((uint16_t *)c.data)[i] =
                odd && i % 97 == 0 ? random_scale(ROW_BROKEN) : weft_f32_to_f16(f);
        else
            ((float *)c.data)[i] = odd && i % 97 == 0 ? 1e30f * f : f;
    }
    return c;
}

static float cache_at(const cache *c, size_t j, size_t i) {
    size_t at = j * c->stride + i;
    return c->dtype == WEFT_F16 ? weft_f16_to_f32(((uint16_t *)c->data)[at])
                                : ((float *)c->data)[at];
}

static void check(weft_dtype dtype, size_t head_dim, size_t n, bool odd) {
    const weft_kernels *scalar = weft_kernels_of(WEFT_ISA_SCALAR), *variants[WEFT_ISA_COUNT];
    size_t n_variants = test_variants(variants), stride = 2 * head_dim + 3;
    cache c = random_cache(dtype, n ? n : 1, stride, odd);
    float q[300], s[2][70], acc[3][300];
    random_floats(q, head_dim);
    scalar->attn_scores(q, c.data, dtype, stride, head_dim, n, s[0]);
    random_floats(acc[0], head_dim);
    memcpy(acc[1], acc[0], sizeof acc[0]);
    scalar->attn_values(s[0], c.data, dtype, stride, head_dim, n, acc[1]);
    for (size_t v = 0; v < n_variants; v++) {
        variants[v]->attn_scores(q, c.data, dtype, stride, head_dim, n, s[1]);
        assert_same_floats("attn_scores", variants[v]->isa, s[0], s[1], n);
        memcpy(acc[2], acc[0], sizeof acc[0]);
        variants[v]->attn_values(s[0], c.data, dtype, stride, head_dim, n, acc[2]);
        assert_same_floats("attn_values", variants[v]->isa, acc[1], acc[2], head_dim);
    }
    for (size_t j = 0; j < n && !odd; j++) {
        double want = 0;
        for (size_t i = 0; i < head_dim; i++)
            want += (double)q[i] * cache_at(&c, j, i);
        assert_true(fabs(s[0][j] - want) < 1e-6 * (double)head_dim);
    }
    for (size_t i = 0; i < head_dim; i++) {
        float want = acc[0][i];
        for (size_t j = 0; j < n; j++)
            want = fmaf(s[0][j], cache_at(&c, j, i), want);
        assert_same_floats("attn_values in order", WEFT_ISA_SCALAR, &want, &acc[1][i], 1);
    }
    free(c.data);
}

static void test_heads(void **state) {
    (void)state;
    static const size_t dims[] = {1, 8, 16, 40, 64, 80, 96, 128, 192, 256, 257};
    static const size_t counts[] = {0, 1, 2, 3, 4, 5, 7, 8, 63, 64};
    for (size_t d = 0; d < N_ITEMS(dims); d++)
        for (size_t n = 0; n < N_ITEMS(counts); n++)
            for (int odd = 0; odd < 2; odd++) {
                check(WEFT_F16, dims[d], counts[n], odd);
                check(WEFT_F32, dims[d], counts[n], odd);
            }
}

/* The tree: lane i + lane i + 8, then + 4, + 2, + 1. In another order the small terms are lost. */
static void test_sum_is_the_tree(void **state) {
    (void)state;
    float q[16] = {0}, k[16], s;
    for (size_t i = 0; i < 16; i++)
        k[i] = 1;
    q[0] = 0x1p24f;
    q[8] = 1; /* lost: 2^24 + 1 rounds to 2^24 */
    q[1] = 1; /* joins q[9] before both meet q[0] */
    q[9] = 1;
    weft_kernels_of(WEFT_ISA_SCALAR)->attn_scores(q, k, WEFT_F32, 16, 16, 1, &s);
    assert_true(s == 0x1p24f + 2);
}

static void time_type(const weft_kernels *k, weft_dtype dtype) {
    enum { DIM = 64, HEADS = 3, N = 4096 };
    cache c = random_cache(dtype, N, DIM * HEADS, false);
    float q[DIM], *s = test_alloc(4 * N), acc[DIM] = {0};
    random_floats(q, DIM);
    double a, b;
    BEST_SECONDS(a, 0.2, k->attn_scores(q, c.data, dtype, DIM * HEADS, DIM, N, s));
    BEST_SECONDS(b, 0.2, k->attn_values(s, c.data, dtype, DIM * HEADS, DIM, N, acc));
    printf("%-7s %s head of 64, 4096 positions: scores %6.2f, values %6.2f GFLOPS\n",
           weft_isa_name(k->isa), weft_dtype_name(dtype), 2.0 * DIM * N / a / 1e9,
           2.0 * DIM * N / b / 1e9);
    free(c.data);
    free(s);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heads),
        cmocka_unit_test(test_sum_is_the_tree),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    if (rc || !wants_timing(argc, argv))
        return rc;
    for (int isa = 0; isa < WEFT_ISA_COUNT; isa++)
        if (weft_kernels_of(isa) && weft_cpu_has(isa)) {
            time_type(weft_kernels_of(isa), WEFT_F16);
            time_type(weft_kernels_of(isa), WEFT_F32);
        }
    return 0;
}
