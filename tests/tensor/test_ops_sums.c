/* Sums that a narrow accumulator gets wrong: 20 million equal values over any axis, and means of
 * half floats whose sum the type cannot hold. */
#include "tensor_test.h"

/* Every element of `t` is this number. */
static void assert_all(weft_scope *s, weft_tensor *t, double expected, const char *what) {
    assert_non_null(t);
    size_t n = (size_t)weft_tensor_numel(t);
    t = weft_cast(s, t, WEFT_F64);
    double *v = malloc(n * sizeof *v);
    assert_weft_ok(weft_tensor_read(t, v, n * sizeof *v));
    for (size_t i = 0; i < n; i++)
        if (v[i] != expected)
            fail_msg("%s: element %zu is %.9g, not %.9g", what, i, v[i], expected);
    free(v);
}

static void sums_of_20_million_equal_values_are_exact(void **state) {
    bench *b = *state;
    weft_scope *s = b->heap;
    static const struct {
        int rank;
        int64_t dims[3];
    } shapes[] = {{1, {20000000}},
                  {2, {5, 4000000}},
                  {2, {4000000, 5}},
                  {3, {10, 200000, 10}},
                  {2, {4000, 5000}}};
    weft_tensor *flat = weft_full(s, WEFT_F32, 1, DIMS(20000000), 0.1);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        weft_tensor *x = weft_tensor_reshape(s, flat, shapes[i].rank, shapes[i].dims);
        for (int axis = 0; axis < shapes[i].rank; axis++) {
            double n = (double)shapes[i].dims[axis];
            weft_tensor *y = weft_sum(s, x, axis, false);
            assert_all(s, y, (double)(float)(n * (double)0.1f), "sum");
            weft_scope_discard(s, &y);
            assert_all(s, weft_mean(s, x, axis, true), (double)0.1f, "mean");
        }
        weft_tensor *turned = weft_tensor_transpose(s, x, 0, -1);
        assert_all(s, weft_sum(s, turned, 0, false),
                   (double)(float)((double)shapes[i].dims[shapes[i].rank - 1] * (double)0.1f),
                   "transposed");
        assert_all(s, weft_sum_dims(s, x, NULL, 0, false), (double)(float)(2e7 * (double)0.1f),
                   "all dims");
    }
    /* 2^24 + 1 ones: the first count that f32 itself skips. */
    weft_tensor *ones = weft_full(s, WEFT_F32, 2, DIMS(1, 16777217 + 1), 1);
    assert_all(s, weft_sum(s, ones, 1, false), 16777218, "ones");
    weft_tensor *stretched =
        weft_tensor_expand(s, weft_full(s, WEFT_F32, 1, DIMS(1), 0.1), 1, DIMS(20000000));
    assert_all(s, weft_sum(s, stretched, 0, false), (double)(float)(2e7 * (double)0.1f),
               "stride 0");
}

static void means_of_half_floats_do_not_overflow(void **state) {
    bench *b = *state;
    weft_scope *s = b->heap;
    static const struct {
        weft_dtype dtype;
        double value;
    } cases[] = {{WEFT_F16, 65504}, {WEFT_F16, -60000}, {WEFT_BF16, 0x1.fep127}, {WEFT_F16, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        weft_tensor *x = weft_full(s, cases[i].dtype, 2, DIMS(70000, 3), cases[i].value);
        weft_tensor *t = weft_tensor_transpose(s, x, 0, 1);
        for (int axis = 0; axis < 2; axis++) {
            assert_all(s, weft_mean(s, x, axis, false), cases[i].value, "rows");
            assert_all(s, weft_mean(s, t, axis, false), cases[i].value, "transposed");
        }
        assert_all(s, weft_mean_dims(s, x, NULL, 0, true), cases[i].value, "all dims");
        assert_all(s, weft_var(s, x, 0, 0, false), 0, "var");
        assert_all(s, weft_avg_pool1d(s, t, 1000, 1000), cases[i].value, "pool");
        assert_weft_ok(weft_scope_reset(s));
    }
    /* f32 whose sum is beyond f32, and sums of f16 beyond 2048, where f16 itself stops counting. */
    assert_all(s, weft_mean(s, weft_full(s, WEFT_F32, 1, DIMS(1000), 0x1p127), 0, false), 0x1p127,
               "f32");
    weft_tensor *x = weft_full(s, WEFT_F16, 2, DIMS(3, 4096), 1);
    assert_all(s, weft_sum(s, x, 1, false), 4096, "f16");
    assert_all(s, weft_sum(s, weft_tensor_transpose(s, x, 0, 1), 0, false), 4096, "f16 columns");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        bench_test(sums_of_20_million_equal_values_are_exact),
        bench_test(means_of_half_floats_do_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
