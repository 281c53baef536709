/* Reductions: exact sums over any axis and strides, NaN and ties, empty extents. */
#include "ops_test.h"

typedef weft_tensor *(*reduce_op)(weft_scope *, weft_tensor *, int, bool);

/* One output from its values along the axis. */
static double reference(int op, const double *v, size_t n) {
    long double sum = 0;
    size_t best = 0;
    for (size_t i = 0; i < n; i++) {
        sum += v[i];
        if (isnan(v[best]))
            continue;
        if (isnan(v[i]) || (op == 3 ? v[i] < v[best] : v[i] > v[best]))
            best = i;
    }
    switch (op) {
    case 0:
        return (double)sum;
    case 1:
        return (double)(sum / (long double)n);
    case 4:
        return (double)best;
    default:
        return v[best];
    }
}

static void check_reduction(fixture *f, int op, weft_tensor *x, int axis) {
    static const reduce_op ops[] = {weft_sum, weft_mean, weft_max, weft_min, weft_argmax};
    bool keep = rng_below(&f->rng, 2) == 0;
    weft_tensor *y = ops[op](f->s, x, axis, keep);
    scope_ok(f->s);
    int rank = weft_tensor_rank(x);
    weft_dtype dtype = weft_tensor_dtype(x), out = weft_tensor_dtype(y);
    bool wide = op == 4 || (op == 0 && !weft_dtype_is_float(dtype));
    assert_int_equal(out, wide ? WEFT_I64 : dtype);
    assert_int_equal(weft_tensor_rank(y), keep ? rank : rank - 1);
    size_t n = (size_t)weft_tensor_dim(x, axis), inner = 1;
    for (int d = axis + 1; d < rank; d++)
        inner *= (size_t)weft_tensor_dim(x, d);
    double *vx = elements(x), *vy = elements(y), *line = malloc((n + 1) * sizeof *line);
    for (size_t i = 0; i < (size_t)weft_tensor_numel(y); i++) {
        for (size_t k = 0; k < n; k++)
            line[k] = vx[(i / inner * n + k) * inner + i % inner];
        double want = reference(op, line, n);
        if (op < 2 && !wide) /* the f64 sum is exact enough that only one rounding shows */
            assert_close(vy[i], round_to(out, want), fabs(want) * 1e-7 + 1e-12, "sum", i);
        else
            assert_close(vy[i], want, 0, "reduction", i);
    }
    free(vx), free(vy), free(line);
}

static void test_over_random_views(void **state) {
    fixture *f = *state;
    static const weft_dtype types[] = {WEFT_F32, WEFT_F16, WEFT_BF16, WEFT_I32, WEFT_I64, WEFT_U8};
    for (int round = 0; round < 500; round++) {
        int64_t dims[WEFT_MAX_RANK];
        int rank = random_shape(f, dims), op = round % 5;
        if (rank == 0)
            continue;
        int axis = (int)rng_below(&f->rng, rank);
        weft_dtype dtype = types[rng_below(&f->rng, op == 1 ? 3 : 6)];
        if (dims[axis] == 0 && op > 1)
            dims[axis] = 2;
        weft_tensor *x = random_view(f, dtype, rank, dims);
        if (weft_dtype_is_float(dtype) && rng_below(&f->rng, 4) == 0) { /* many ties */
            x = weft_cast(f->s, weft_cast(f->s, x, WEFT_I32), dtype);
        }
        check_reduction(f, op, x, axis);
        assert_weft_ok(weft_scope_reset(f->s));
    }
}

static void test_long_rows_and_columns(void **state) {
    fixture *f = *state;
    int64_t dims[] = {70, 5003};
    for (int op = 0; op < 5; op++)
        for (int axis = 0; axis < 2; axis++)
            for (int turned = 0; turned < 2; turned++) {
                weft_tensor *x = random_packed(f, WEFT_F32, 2, dims);
                check_reduction(f, op, turned ? weft_tensor_transpose(f->s, x, 0, 1) : x, axis);
                assert_weft_ok(weft_scope_reset(f->s));
            }
}

static void test_sums_of_many_equal_values_are_exact(void **state) {
    fixture *f = *state;
    int64_t long_dims[] = {20000000}, half_dims[] = {4096, 3}, bytes[] = {1000};
    weft_tensor *x = weft_full(f->s, WEFT_F32, 1, long_dims, 0.1);
    double *v = elements(weft_sum(f->s, x, 0, false));
    assert_true(v[0] == (double)(float)(2e7 * (double)0.1f)); /* f32 would stop growing */
    free(v);
    for (int axis = 0; axis < 2; axis++) {
        x = weft_full(f->s, WEFT_F16, 2, half_dims, 1);
        v = elements(weft_sum(f->s, axis ? weft_tensor_transpose(f->s, x, 0, 1) : x, axis, false));
        assert_true(v[0] == 4096 && v[2] == 4096);
        free(v);
    }
    x = weft_full(f->s, WEFT_F16, 1, (int64_t[]){70000}, 1);
    v = elements(weft_mean(f->s, x, 0, false));
    assert_true(v[0] == 1); /* the sum alone would be infinite */
    free(v);
    x = weft_full(f->s, WEFT_U8, 1, bytes, 255);
    v = elements(weft_sum(f->s, x, 0, false));
    assert_true(v[0] == 255000);
    free(v);
}

static void test_same_bits_whatever_the_strides_and_threads(void **state) {
    fixture *f = *state, *one = open_fixture(1, WEFT_NUMBERS_DEFAULT);
    static const int64_t sizes[][2] = {
        {301, 71}, /* blocks of 128 rows, then 16, then single ones */
        {64, 71},  /* sums at once, as all below */
        {37, 2100},
        {16, 48},
        {3, 40}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        weft_tensor *x = random_packed(f, WEFT_F32, 2, sizes[i]);
        weft_tensor *by_rows =
            weft_sum(f->s, weft_tensor_copy(f->s, weft_tensor_transpose(f->s, x, 0, 1)), 1, false);
        weft_tensor *by_columns = weft_sum(f->s, x, 0, false);
        scope_ok(f->s);
        assert_same_bits(by_rows, by_columns);
        weft_tensor *alone = weft_sum(one->s, x, 0, false);
        scope_ok(one->s);
        assert_same_bits(alone, by_columns);
    }
    close_fixture(one);
}

static void test_nan_and_ties(void **state) {
    fixture *f = *state;
    weft_scope *s = f->s;
    double values[] = {1, NAN, 3, NAN}, ties[] = {2, 7, 7, 2};
    weft_tensor *x = vector(s, WEFT_F32, 4, values), *t = vector(s, WEFT_F32, 4, ties);
    double *v = elements(weft_max(s, x, 0, false));
    assert_true(isnan(v[0]));
    free(v);
    v = elements(weft_min(s, x, 0, false));
    assert_true(isnan(v[0]));
    free(v);
    v = elements(weft_argmax(s, x, 0, false));
    assert_true(v[0] == 1);
    free(v);
    v = elements(weft_argmax(s, t, 0, false));
    assert_true(v[0] == 1);
    free(v);
    /* Far into a long row, and beside other columns. */
    int64_t dims[] = {5000, 2};
    double *many = calloc(10000, sizeof *many);
    many[2 * 3000] = NAN;
    many[2 * 4000] = 9;
    many[2 * 4000 + 1] = 9;
    many[2 * 4500 + 1] = 9;
    weft_tensor *m = from_doubles(s, WEFT_F32, 2, dims, many);
    v = elements(weft_argmax(s, m, 0, false));
    assert_true(v[0] == 3000 && v[1] == 4000);
    free(v);
    v = elements(weft_argmax(s, weft_tensor_copy(s, weft_tensor_transpose(s, m, 0, 1)), 1, false));
    assert_true(v[0] == 3000 && v[1] == 4000);
    free(v), free(many);
}

static void test_empty_extents(void **state) {
    fixture *f = *state;
    weft_scope *s = f->s;
    int64_t dims[] = {0, 3};
    weft_tensor *e = weft_zeros(s, WEFT_F32, 2, dims);
    double *v = elements(weft_sum(s, e, 0, false));
    assert_true(v[0] == 0 && v[2] == 0);
    free(v);
    v = elements(weft_mean(s, e, 0, false));
    assert_true(isnan(v[0]) && isnan(v[2]));
    free(v);
    weft_tensor *y = weft_max(s, e, 1, false);
    scope_ok(s);
    assert_int_equal(weft_tensor_dim(y, 0), 0);
    scope_failed(s, weft_max(s, e, 0, false), WEFT_E_EMPTY, "max", "[0, 3]");
    scope_failed(s, weft_argmax(s, weft_zeros(s, WEFT_F32, 2, dims), -2, true), WEFT_E_EMPTY,
                 "argmax", "axis 0");
}

static void test_refusals(void **state) {
    fixture *f = *state;
    weft_scope *s = f->s;
    int64_t dims[] = {2, 3};
    scope_failed(s, weft_mean(s, random_packed(f, WEFT_I32, 2, dims), 0, false), WEFT_E_DTYPE,
                 "mean", "i32");
    scope_failed(s, weft_sum(s, random_packed(f, WEFT_F32, 2, dims), 5, false), WEFT_E_RANGE,
                 "sum: axis 5", "[2, 3]");
    scope_failed(s, weft_sum(s, random_packed(f, WEFT_F32, 2, dims), -3, false), WEFT_E_RANGE,
                 "axis -3", "[2, 3]");
    scope_failed(s, weft_sum(s, random_packed(f, WEFT_F32, 0, dims), 0, false), WEFT_E_RANGE, "[]",
                 "sum");
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, setup_two_threads, teardown)
    const struct CMUnitTest tests[] = {
        T(test_over_random_views),
        T(test_long_rows_and_columns),
        T(test_sums_of_many_equal_values_are_exact),
        T(test_same_bits_whatever_the_strides_and_threads),
        T(test_nan_and_ties),
        T(test_empty_extents),
        T(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
