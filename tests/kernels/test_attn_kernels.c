/* Attention of a group of queries over one block: every variant gives the scalar kernel's bits, for
 * every type of a cache; scores are dot products by 16 virtual lanes, values are summed in order of
 * position, and neither depends on how many queries go together. */
#include "kernels_test.h"

enum { MOST_DIM = 272, MOST_POSITIONS = 64, MOST_QUERIES = 11, LD = 64 };
static const weft_dtype types[] = {WEFT_F32, WEFT_F16, WEFT_BF16, WEFT_Q8_0};

typedef struct cache {
    unsigned char *data;
    size_t stride_bytes;
    weft_dtype dtype;
} cache;

static size_t lanes_up(size_t n) {
    return (n + 15) / 16 * 16;
}

static uint16_t random_half(weft_dtype dtype, bool odd) {
    float f = random_float();
    if (dtype == WEFT_BF16)
        return weft_f32_to_bf16(odd ? INFINITY : f);
    return odd ? random_scale(ROW_BROKEN) : weft_f32_to_f16(f);
}

static cache random_cache(weft_dtype dtype, size_t n, size_t dim, bool odd) {
    size_t block = weft_dtype_block(dtype), item = weft_dtype_block_bytes(dtype);
    cache c = {.stride_bytes = (dim + block - 1) / block * item + 3 * item, .dtype = dtype};
    size_t items = n * c.stride_bytes / item;
    c.data = test_alloc(n * c.stride_bytes + 64);
    for (size_t i = 0; i < items; i++) {
        unsigned char *at = c.data + i * item;
        bool strange = odd && i % 97 == 0;
        float f = random_float() * (strange ? 1e30f : 1);
        uint16_t half = random_half(dtype == WEFT_BF16 ? WEFT_BF16 : WEFT_F16, strange);
        memcpy(at, dtype == WEFT_F32 ? (const void *)&f : &half, dtype == WEFT_F32 ? 4 : 2);
        for (size_t b = 2; dtype == WEFT_Q8_0 && b < item; b++)
            at[b] = (unsigned char)random_u32();
    }
    return c;
}

static float cache_at(const cache *c, size_t j, size_t i) {
    const unsigned char *row = c->data + j * c->stride_bytes;
    float f;
    uint16_t half;
    if (c->dtype == WEFT_F32)
        return memcpy(&f, row + 4 * i, 4), f;
    memcpy(&half, c->dtype == WEFT_Q8_0 ? row + i / 32 * 34 : row + 2 * i, 2);
    if (c->dtype == WEFT_Q8_0)
        return weft_f16_to_f32(half) * (float)(int8_t)row[i / 32 * 34 + 2 + i % 32];
    return c->dtype == WEFT_BF16 ? weft_bf16_to_f32(half) : weft_f16_to_f32(half);
}

/* ---- Loading ---- */

static float keys[2][MOST_DIM * LD], rows[2][MOST_POSITIONS * MOST_DIM + 1024];

static void check_loads(weft_dtype dtype, size_t dim, size_t n, bool odd) {
    const weft_kernels *variants[WEFT_ISA_COUNT], *scalar = weft_kernels_of(WEFT_ISA_SCALAR);
    size_t n_variants = test_variants(variants), dim16 = lanes_up(dim), n16 = lanes_up(n);
    cache c = random_cache(dtype, n, dim, odd);
    scalar->attn_keys(dtype, c.data, c.stride_bytes, dim, n, keys[0], LD);
    scalar->attn_rows(dtype, c.data, c.stride_bytes, dim, n, rows[0]);
    for (size_t j = 0; j < n16; j++)
        for (size_t i = 0; i < dim16; i++) {
            float want = j < n && i < dim ? cache_at(&c, j, i) : 0;
            bool padding = dtype == WEFT_Q8_0 && i >= dim; /* whatever its block holds */
            const float *key = &keys[0][(i % 16 * (dim16 / 16) + i / 16) * LD + j];
            if (!padding)
                assert_same_floats("attn_keys", WEFT_ISA_SCALAR, &want, key, 1);
            if (j < n && !padding)
                assert_same_floats("attn_rows", WEFT_ISA_SCALAR, &want, &rows[0][j * dim16 + i], 1);
        }
    for (size_t v = 0; v < n_variants; v++) {
        variants[v]->attn_keys(dtype, c.data, c.stride_bytes, dim, n, keys[1], LD);
        variants[v]->attn_rows(dtype, c.data, c.stride_bytes, dim, n, rows[1]);
        for (size_t i = 0; i < dim16; i++)
            assert_same_floats("attn_keys", variants[v]->isa, keys[0] + i * LD, keys[1] + i * LD,
                               n16);
        assert_same_floats("attn_rows", variants[v]->isa, rows[0], rows[1], n * dim16);
    }
    free(c.data);
}

static const size_t dims[] = {1, 8, 16, 40, 64, 80, 96, 128, 192, 256, 257};
static const size_t counts[] = {1, 2, 5, 15, 16, 17, 33, 48, 63, 64};

static void test_loads(void **state) {
    (void)state;
    for (size_t t = 0; t < N_ITEMS(types); t++)
        for (size_t d = 0; d < N_ITEMS(dims); d++)
            for (size_t n = 0; n < N_ITEMS(counts); n++)
                check_loads(types[t], dims[d], counts[n], n % 2);
}

/* ---- Scores and values ---- */

static float q[MOST_QUERIES * MOST_DIM + 512], s[2][MOST_QUERIES * LD], p[MOST_QUERIES * LD],
    acc[3][MOST_QUERIES * MOST_DIM + 512], factors[2 * MOST_QUERIES];

/* The definition: lane i mod 16, a chain of fmaf in each, then the tree. */
static float dot(const float *x, const float *y, size_t n) {
    float lane[16] = {0};
    for (size_t i = 0; i < n; i++)
        lane[i % 16] = fmaf(x[i], y[i], lane[i % 16]);
    for (size_t half = 8; half > 0; half /= 2)
        for (size_t i = 0; i < half; i++)
            lane[i] += lane[i + half];
    return lane[0];
}

static void check_group(size_t n_q, size_t dim, size_t n) {
    const weft_kernels *scalar = weft_kernels_of(WEFT_ISA_SCALAR), *variants[WEFT_ISA_COUNT];
    size_t n_variants = test_variants(variants), dim16 = lanes_up(dim);
    cache c = random_cache(WEFT_F32, n, dim, false);
    scalar->attn_keys(WEFT_F32, c.data, c.stride_bytes, dim, n, keys[0], LD);
    scalar->attn_rows(WEFT_F32, c.data, c.stride_bytes, dim, n, rows[0]);
    random_floats(q, n_q * dim16);
    random_floats(p, n_q * LD);
    random_floats(factors, 2 * n_q);
    random_floats(acc[0], n_q * dim16);
    memcpy(acc[1], acc[0], sizeof acc[0]);
    for (size_t r = 0; r < n_q; r++)
        for (size_t i = dim; i < dim16; i++)
            q[r * dim16 + i] = 0;
    scalar->attn_scores(q, n_q, dim, keys[0], LD, n, s[0]);
    scalar->attn_values(p, LD, n_q, rows[0], dim, n, factors, acc[1]);
    for (size_t r = 0; r < n_q; r++) {
        for (size_t j = 0; j < n; j++) {
            float want = dot(q + r * dim16, rows[0] + j * dim16, dim16);
            assert_same_floats("attn_scores", WEFT_ISA_SCALAR, &want, &s[0][r * LD + j], 1);
        }
        for (size_t i = 0; i < dim; i++) {
            float sum = 0;
            for (size_t j = 0; j < n; j++)
                sum = fmaf(p[r * LD + j], rows[0][j * dim16 + i], sum);
            sum = fmaf(sum, factors[2 * r + 1], acc[0][r * dim16 + i] * factors[2 * r]);
            assert_same_floats("attn_values", WEFT_ISA_SCALAR, &sum, &acc[1][r * dim16 + i], 1);
        }
    }
    for (size_t v = 0; v < n_variants; v++) {
        variants[v]->attn_scores(q, n_q, dim, keys[0], LD, n, s[1]);
        memcpy(acc[2], acc[0], sizeof acc[0]);
        variants[v]->attn_values(p, LD, n_q, rows[0], dim, n, factors, acc[2]);
        assert_same_floats("attn_values", variants[v]->isa, acc[1], acc[2], n_q * dim16);
        for (size_t r = 0; r < n_q; r++)
            assert_same_floats("attn_scores", variants[v]->isa, s[0] + r * LD, s[1] + r * LD, n);
        /* Without factors, then the merge alone: the same. */
        variants[v]->attn_values(p, LD, n_q, rows[0], dim, n, NULL, acc[2]);
        for (size_t r = 0; r < n_q; r++) {
            float merged[MOST_DIM];
            memcpy(merged, acc[0] + r * dim16, dim * sizeof *merged);
            variants[v]->attn_merge(acc[2] + r * dim16, dim16, 1, factors + 2 * r, dim, merged);
            assert_same_floats("attn_merge", variants[v]->isa, acc[1] + r * dim16, merged, dim);
        }
    }
    free(c.data);
}

static void test_groups(void **state) {
    (void)state;
    for (size_t d = 0; d < N_ITEMS(dims); d++)
        for (size_t n = 0; n < N_ITEMS(counts); n++)
            check_group(1 + (d * 7 + n) % MOST_QUERIES, dims[d], counts[n]);
    for (size_t n_q = 1; n_q <= MOST_QUERIES; n_q++)
        check_group(n_q, 64, 64);
}

/* ---- Few queries, straight from the cache ---- */

/* Scores and values are those of the laid-out block, in every variant and for every type. */
static void check_few(weft_dtype dtype, size_t n_q, size_t dim, size_t n) {
    const weft_kernels *scalar = weft_kernels_of(WEFT_ISA_SCALAR), *variants[WEFT_ISA_COUNT];
    size_t n_variants = test_variants(variants), dim16 = lanes_up(dim);
    cache c = random_cache(dtype, n, dim, n % 2);
    variants[n_variants++] = scalar;
    scalar->attn_keys(dtype, c.data, c.stride_bytes, dim, n, keys[0], LD);
    scalar->attn_rows(dtype, c.data, c.stride_bytes, dim, n, rows[0]);
    random_floats(q, n_q * dim16);
    random_floats(p, n_q * LD);
    random_floats(factors, 2 * n_q);
    random_floats(acc[0], n_q * dim16);
    memcpy(acc[1], acc[0], sizeof acc[0]);
    for (size_t r = 0; r < n_q; r++)
        for (size_t i = dim; i < dim16; i++)
            q[r * dim16 + i] = 0;
    scalar->attn_scores(q, n_q, dim, keys[0], LD, n, s[0]);
    scalar->attn_values(p, LD, n_q, rows[0], dim, n, factors, acc[1]);
    for (size_t v = 0; v < n_variants; v++) {
        memcpy(acc[2], acc[0], sizeof acc[0]);
        variants[v]->attn_few_scores(dtype, q, n_q, dim, c.data, c.stride_bytes, n,
                                     v % 2 ? c.data : NULL, s[1], LD);
        variants[v]->attn_few_values(dtype, p, LD, n_q, c.data, c.stride_bytes, dim, n,
                                     v % 2 ? NULL : c.data, factors, acc[2]);
        for (size_t r = 0; r < n_q; r++) {
            assert_same_floats("attn_few_scores", variants[v]->isa, s[0] + r * LD, s[1] + r * LD,
                               n);
            assert_same_floats("attn_few_values", variants[v]->isa, acc[1] + r * dim16,
                               acc[2] + r * dim16, dim);
        }
    }
    free(c.data);
}

static void test_few(void **state) {
    (void)state;
    for (size_t t = 0; t < N_ITEMS(types); t++)
        for (size_t d = 0; d < N_ITEMS(dims); d++)
            for (size_t n = 0; n < N_ITEMS(counts); n++)
                check_few(types[t], 1 + (d + 3 * n + t) % 9, dims[d], counts[n]);
}

/* Parts that are merged at once are those merged one by one. */
static void test_merges(void **state) {
    (void)state;
    enum { PARTS = 7, STRIDE = 90 };
    const weft_kernels *variants[WEFT_ISA_COUNT];
    size_t n_variants = test_variants(variants);
    static float parts[PARTS * STRIDE];
    float scale[2 * PARTS], want[STRIDE], got[STRIDE];
    random_floats(parts, PARTS * STRIDE);
    random_floats(scale, 2 * PARTS);
    variants[n_variants++] = weft_kernels_of(WEFT_ISA_SCALAR);
    for (size_t n = 1; n <= STRIDE; n += 11)
        for (size_t v = 0; v < n_variants; v++) {
            for (size_t i = 0; i < STRIDE; i++)
                got[i] = want[i] = (float)i;
            for (size_t i = 0; i < n; i++)
                for (size_t b = 0; b < PARTS; b++)
                    want[i] = fmaf(parts[b * STRIDE + i], scale[2 * b + 1], want[i] * scale[2 * b]);
            variants[v]->attn_merge(parts, STRIDE, PARTS, scale, n, got);
            assert_same_floats("attn_merge", variants[v]->isa, want, got, STRIDE);
        }
}

/* ---- Softmax of a block ---- */

static void check_softmax(size_t n, float softcap, float greatest) {
    const weft_kernels *scalar = weft_kernels_of(WEFT_ISA_SCALAR), *variants[WEFT_ISA_COUNT];
    size_t n_variants = test_variants(variants);
    float x[LD + 1], want[LD + 1], got[LD + 1], most[2], sum[2];
    for (size_t i = 0; i < n; i++)
        x[i] = greatest * random_float();
    x[n] = 12345; /* what follows stays */
    memcpy(want, x, sizeof x);
    scalar->attn_softmax(want, n, 0.125f, softcap, &most[0], &sum[0]);
    double exact = 0, top = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        double v = (double)x[i] * 0.125;
        top = fmax(top, softcap > 0 ? (double)softcap * tanh(v / (double)softcap) : v);
    }
    for (size_t i = 0; i < n; i++) {
        double v = (double)x[i] * 0.125;
        v = softcap > 0 ? (double)softcap * tanh(v / (double)softcap) : v;
        exact += exp(v - top);
        assert_true(fabs((double)want[i] - exp(v - top)) < 1e-5);
    }
    assert_true(fabs((double)most[0] - top) < 1e-4 && fabs((double)sum[0] - exact) < 1e-4);
    assert_true(want[n] == 12345);
    for (size_t v = 0; v < n_variants; v++) {
        memcpy(got, x, sizeof x);
        variants[v]->attn_softmax(got, n, 0.125f, softcap, &most[1], &sum[1]);
        assert_same_floats("attn_softmax", variants[v]->isa, want, got, n + 1);
        assert_same_floats("attn_softmax's largest", variants[v]->isa, &most[0], &most[1], 1);
        assert_same_floats("attn_softmax's sum", variants[v]->isa, &sum[0], &sum[1], 1);
    }
}

static void test_softmax(void **state) {
    (void)state;
    for (size_t n = 1; n <= LD; n++) {
        check_softmax(n, 0, 10);
        check_softmax(n, 5, 100);
    }
}

/* A NaN reaches the sum in every variant. */
static void test_softmax_of_nan(void **state) {
    (void)state;
    const weft_kernels *variants[WEFT_ISA_COUNT];
    size_t n_variants = test_variants(variants);
    variants[n_variants++] = weft_kernels_of(WEFT_ISA_SCALAR);
    for (size_t v = 0; v < n_variants; v++)
        for (size_t at = 0; at < 21; at++) {
            float x[21] = {0}, most, sum;
            x[at] = NAN;
            variants[v]->attn_softmax(x, 21, 1, 0, &most, &sum);
            assert_true(isnan(sum) && isnan(x[at]) && most == 0);
        }
}

/* The tree: lane i + lane i + 8, then + 4, + 2, + 1. In another order the small terms are lost. */
static void test_sum_is_the_tree(void **state) {
    (void)state;
    float one[16] = {0}, k[16], score[16], turned[256];
    for (size_t i = 0; i < 16; i++)
        k[i] = 1;
    one[0] = 0x1p24f;
    one[8] = 1; /* lost: 2^24 + 1 rounds to 2^24 */
    one[1] = 1; /* joins lane 9 before both meet lane 0 */
    one[9] = 1;
    const weft_kernels *scalar = weft_kernels_of(WEFT_ISA_SCALAR);
    scalar->attn_keys(WEFT_F32, k, 64, 16, 1, turned, 16);
    scalar->attn_scores(one, 1, 16, turned, 16, 1, score);
    assert_true(score[0] == 0x1p24f + 2);
}

static void time_variant(const weft_kernels *k) {
    enum { DIM = 64 };
    float most, sum;
    double b;
    random_floats(q, MOST_QUERIES * DIM);
    for (size_t t = 0; t < N_ITEMS(types); t++) {
        cache c = random_cache(types[t], LD, DIM, false);
        double a;
        BEST_SECONDS(a, 0.1, k->attn_keys(types[t], c.data, c.stride_bytes, DIM, LD, keys[0], LD));
        BEST_SECONDS(b, 0.1, k->attn_rows(types[t], c.data, c.stride_bytes, DIM, LD, rows[0]));
        printf("%-7s %-5s a block's keys %5.0f ns, values %5.0f ns\n", weft_isa_name(k->isa),
               weft_dtype_name(types[t]), a * 1e9, b * 1e9);
        free(c.data);
    }
    BEST_SECONDS(b, 0.1, k->attn_softmax(s[0], LD, 0.125f, 0, &most, &sum));
    printf("%-7s softmax of 64 %5.0f ns\n", weft_isa_name(k->isa), b * 1e9);
    for (size_t n_q = 1; n_q <= 9; n_q += 2) {
        double a, flop = 2.0 * DIM * LD * (double)n_q / 1e9;
        BEST_SECONDS(a, 0.1, k->attn_scores(q, n_q, DIM, keys[0], LD, LD, s[0]));
        BEST_SECONDS(b, 0.1, k->attn_values(p, LD, n_q, rows[0], DIM, LD, factors, acc[0]));
        printf("%-7s %zu queries: scores %6.1f, values %6.1f GFLOPS\n", weft_isa_name(k->isa), n_q,
               flop / a, flop / b);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loads),           cmocka_unit_test(test_groups),
        cmocka_unit_test(test_softmax),         cmocka_unit_test(test_softmax_of_nan),
        cmocka_unit_test(test_sum_is_the_tree), cmocka_unit_test(test_few),
        cmocka_unit_test(test_merges),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    if (rc || !wants_timing(argc, argv))
        return rc;
    for (int isa = 0; isa < WEFT_ISA_COUNT; isa++)
        if (weft_kernels_of(isa) && weft_cpu_has(isa))
            time_variant(weft_kernels_of(isa));
    return 0;
}
