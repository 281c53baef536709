/* Matrix products with numpy's semantics. */
#include "ops_test.h"
#include <weft/extra/blas.h>

/* One engine in default mode, one reproducible. With WEFT_CPU=scalar OpenBLAS, where it is there,
 * multiplies in the first. */
static int setup_both(void **state) {
    fixture **f = calloc(2, sizeof *f);
    weft_blas_set_threads(1);
    f[0] = open_fixture(2, WEFT_NUMBERS_DEFAULT);
    f[1] = open_fixture(2, WEFT_NUMBERS_REPRODUCIBLE);
    *state = f;
    return 0;
}
static int teardown_both(void **state) {
    fixture **f = *state;
    close_fixture(f[0]);
    close_fixture(f[1]);
    free(f);
    return 0;
}

/* y against the f64 product of a and b, broadcast by expand. */
static void check_product(fixture *f, weft_tensor *a, weft_tensor *b) {
    weft_scope *s = f->s;
    weft_tensor *y = weft_matmul(s, a, b);
    scope_ok(s);
    weft_dtype dtype = weft_tensor_dtype(a);
    bool va = weft_tensor_rank(a) == 1, vb = weft_tensor_rank(b) == 1;
    weft_tensor *wa = va ? weft_tensor_unsqueeze(s, a, 0) : a;
    weft_tensor *wb = vb ? weft_tensor_unsqueeze(s, b, 1) : b;
    int rank =
        weft_tensor_rank(wa) > weft_tensor_rank(wb) ? weft_tensor_rank(wa) : weft_tensor_rank(wb);
    int64_t da[WEFT_MAX_RANK], db[WEFT_MAX_RANK];
    size_t batch = 1;
    for (int d = -1; d >= -rank; d--) {
        int64_t ea = -d <= weft_tensor_rank(wa) ? weft_tensor_dim(wa, d) : 1;
        int64_t eb = -d <= weft_tensor_rank(wb) ? weft_tensor_dim(wb, d) : 1;
        int64_t wide = ea == 1 ? eb : ea;
        da[rank + d] = d < -2 ? wide : ea;
        db[rank + d] = d < -2 ? wide : eb;
        batch *= d < -2 ? (size_t)wide : 1;
    }
    size_t m = (size_t)da[rank - 2], k = (size_t)da[rank - 1], n = (size_t)db[rank - 1];
    assert_int_equal(weft_tensor_rank(y), rank - va - vb);
    assert_int_equal(weft_tensor_numel(y), batch * m * n);
    double *x = elements(weft_tensor_expand(s, wa, rank, da));
    double *w = elements(weft_tensor_expand(s, wb, rank, db)), *r = elements(y);
    double unit = dtype == WEFT_F32 ? 1e-6 : dtype == WEFT_F16 ? 1e-3 : 8e-3;
    for (size_t i = 0; i < batch * m * n; i++) {
        size_t e = i / (m * n), row = i / n % m, col = i % n;
        double want = 0, size = 0;
        for (size_t t = 0; t < k; t++) {
            double p = x[(e * m + row) * k + t] * w[(e * k + t) * n + col];
            want += p;
            size += fabs(p);
        }
        assert_close(r[i], want, unit * (size + 1e-3), "matmul", i);
    }
    free(x), free(w), free(r);
}

static void test_random_views(void **state) {
    fixture **both = *state;
    static const weft_dtype types[] = {WEFT_F32, WEFT_F32, WEFT_F16, WEFT_BF16};
    for (int round = 0; round < 300; round++) {
        fixture *f = both[round % 2];
        int64_t a[WEFT_MAX_RANK], b[WEFT_MAX_RANK];
        int n_batch = (int)rng_below(&f->rng, 4), ra = 0, rb = 0;
        int skip_a = (int)rng_below(&f->rng, n_batch + 1), skip_b = (int)rng_below(&f->rng, 2);
        for (int d = 0; d < n_batch; d++) {
            int64_t extent = 1 + rng_below(&f->rng, 3);
            if (d >= skip_a)
                a[ra++] = rng_below(&f->rng, 3) ? extent : 1;
            if (d >= skip_b)
                b[rb++] = rng_below(&f->rng, 3) ? extent : 1;
        }
        int64_t m = 1 + rng_below(&f->rng, 40), n = 1 + rng_below(&f->rng, 40);
        int64_t k = rng_below(&f->rng, 12) ? 1 + rng_below(&f->rng, 50) : 0;
        n = rng_below(&f->rng, 5) ? n : 1;
        m = rng_below(&f->rng, 5) ? m : rng_below(&f->rng, 2);
        if (ra > 0 || rng_below(&f->rng, 5))
            a[ra++] = m;
        a[ra++] = k;
        b[rb++] = k;
        if (rb > 1 || rng_below(&f->rng, 5))
            b[rb++] = n;
        weft_dtype dtype = types[round / 2 % 4];
        weft_tensor *x = random_view(f, dtype, ra, a);
        check_product(f, x, random_view(f, dtype, rb, b));
        assert_weft_ok(weft_scope_reset(f->s));
    }
}

static void test_broadcast_sum_feeds_matmul(void **state) {
    fixture **both = *state;
    for (int i = 0; i < 2; i++) {
        fixture *f = both[i];
        int64_t one[] = {1, 32, 32}, many[] = {32, 32, 32};
        weft_tensor *x = random_packed(f, WEFT_F32, 3, one),
                    *y = random_packed(f, WEFT_F32, 3, many);
        weft_tensor *sum = weft_broadcast_add(f->s, x, y);
        check_product(f, sum, y);
        check_product(f, y, sum);
        check_product(f, weft_tensor_expand(f->s, x, 3, many), sum);
        check_product(f, sum, x);
    }
}

/* Four query heads a KV head: k [2, T, d] seen as [2, 4, T, d] by stride 0. */
static void test_grouped_heads_by_stride_zero(void **state) {
    fixture **both = *state;
    for (int i = 0; i < 2; i++) {
        fixture *f = both[i];
        int64_t q_dims[] = {2, 4, 7, 24}, k_dims[] = {2, 11, 24}, wide[] = {2, 4, 11, 24};
        weft_tensor *q = random_packed(f, WEFT_F32, 4, q_dims);
        weft_tensor *k = random_packed(f, WEFT_F32, 3, k_dims);
        k = weft_tensor_expand(f->s, weft_tensor_unsqueeze(f->s, k, 1), 4, wide);
        check_product(f, q, weft_tensor_transpose(f->s, k, 2, 3));
        check_product(f, k, weft_tensor_transpose(f->s, q, 2, 3));
    }
}

static void test_reproducible_whatever_threads_batch_and_strides(void **state) {
    fixture **both = *state, *f = both[1], *one = open_fixture(1, WEFT_NUMBERS_REPRODUCIBLE);
    int64_t a_dims[] = {45, 300}, b_dims[] = {300, 70};
    weft_tensor *a = random_packed(f, WEFT_F32, 2, a_dims),
                *b = random_packed(f, WEFT_F32, 2, b_dims);
    weft_tensor *y = weft_matmul(f->s, a, b), *alone = weft_matmul(one->s, a, b);
    weft_tensor *turned =
        weft_matmul(f->s, a,
                    weft_tensor_transpose(
                        f->s, weft_tensor_copy(f->s, weft_tensor_transpose(f->s, b, 0, 1)), 0, 1));
    scope_ok(f->s);
    scope_ok(one->s);
    assert_same_bits(y, alone);
    assert_same_bits(y, turned);
    for (size_t i = 0; i < 45; i += 11) { /* one row, one column */
        weft_tensor *row = weft_matmul(f->s, weft_tensor_select(f->s, a, 0, i), b);
        assert_same_bits(row, weft_tensor_select(f->s, y, 0, i));
        weft_tensor *col = weft_matmul(f->s, a, weft_tensor_select(f->s, b, 1, i));
        assert_same_bits(col, weft_tensor_select(f->s, y, 1, i));
    }
    scope_ok(f->s);
    close_fixture(one);
}

/* More rows, columns and elements of k than a block has, each factor as it lies and turned. */
static void test_more_than_a_block(void **state) {
    fixture **both = *state;
    static const int64_t sizes[][3] = {
        {3, 300, 2100}, {500, 300, 20}, {50, 1100, 130}, {1, 600, 700}, {700, 600, 1},
        {5, 600, 2096}, {40, 90, 160},  {9, 90, 1040}}; /* m, k, n; the last ones read b in place */
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    static const weft_dtype types[] = {WEFT_F32, WEFT_BF16, WEFT_F16};
    for (size_t i = 0; i < 2 * SIZES * 3 * 4; i++) {
        size_t at = i / 2; /* in both modes */
        fixture *f = both[i % 2];
        const int64_t *size = sizes[at % SIZES], m = size[0], k = size[1], n = size[2];
        weft_dtype dtype = types[at / SIZES % 3];
        bool a_turned = at / (3 * SIZES) % 2, b_turned = at / (6 * SIZES);
        weft_tensor *a =
            random_packed(f, dtype, 2, a_turned ? (int64_t[]){k, m} : (int64_t[]){m, k});
        weft_tensor *b =
            random_packed(f, dtype, 2, b_turned ? (int64_t[]){n, k} : (int64_t[]){k, n});
        check_product(f, a_turned ? weft_tensor_transpose(f->s, a, 0, 1) : a,
                      b_turned ? weft_tensor_transpose(f->s, b, 0, 1) : b);
        assert_weft_ok(weft_scope_reset(f->s));
    }
}

static void test_zero_extents(void **state) {
    fixture **both = *state;
    for (int i = 0; i < 2; i++) {
        fixture *f = both[i];
        int64_t a[] = {2, 0}, b[] = {0, 3}, c[] = {3, 3}, e[] = {0, 3};
        double *v = elements(
            weft_matmul(f->s, weft_zeros(f->s, WEFT_F32, 2, a), weft_zeros(f->s, WEFT_F32, 2, b)));
        for (int j = 0; j < 6; j++)
            assert_true(v[j] == 0);
        free(v);
        weft_tensor *y =
            weft_matmul(f->s, weft_zeros(f->s, WEFT_F32, 2, e), random_packed(f, WEFT_F32, 2, c));
        scope_ok(f->s);
        assert_int_equal(weft_tensor_dim(y, 0), 0);
        assert_int_equal(weft_tensor_dim(y, 1), 3);
    }
}

static void test_refusals(void **state) {
    fixture **both = *state, *f = both[0];
    weft_scope *s = f->s;
    int64_t a[] = {2, 3}, b[] = {4, 2}, c[] = {2, 2, 3}, d[] = {5, 3, 2};
    scope_failed(s,
                 weft_matmul(s, random_packed(f, WEFT_F32, 2, a), random_packed(f, WEFT_F32, 2, b)),
                 WEFT_E_SHAPE, "matmul: shapes [2, 3] and [4, 2]", "(3 and 4)");
    scope_failed(s,
                 weft_matmul(s, random_packed(f, WEFT_F32, 3, c), random_packed(f, WEFT_F32, 3, d)),
                 WEFT_E_SHAPE, "[2, 2, 3] and [5, 3, 2]", "batch dim -3");
    scope_failed(
        s, weft_matmul(s, random_packed(f, WEFT_BOOL, 2, a), random_packed(f, WEFT_BOOL, 2, a)),
        WEFT_E_DTYPE, "matmul", "bool");
    scope_failed(s,
                 weft_matmul(s, random_packed(f, WEFT_F32, 2, a), random_packed(f, WEFT_F16, 2, a)),
                 WEFT_E_DTYPE, "f32", "f16");
    scope_failed(s,
                 weft_matmul(s, random_packed(f, WEFT_F32, 0, a), random_packed(f, WEFT_F32, 2, a)),
                 WEFT_E_SHAPE, "matmul", "[]");
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, setup_both, teardown_both)
    const struct CMUnitTest tests[] = {
        T(test_random_views),
        T(test_broadcast_sum_feeds_matmul),
        T(test_grouped_heads_by_stride_zero),
        T(test_reproducible_whatever_threads_batch_and_strides),
        T(test_more_than_a_block),
        T(test_zero_extents),
        T(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
