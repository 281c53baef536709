/* index_select and concat over any axis, type and strides. */
#include "ops_test.h"

static void test_index_select_over_views(void **state) {
    fixture *f = *state;
    static const weft_dtype types[] = {WEFT_F32, WEFT_F16, WEFT_I64, WEFT_U8};
    for (int round = 0; round < 300; round++) {
        int64_t dims[WEFT_MAX_RANK];
        int rank = random_shape(f, dims);
        if (rank == 0)
            continue;
        int axis = (int)rng_below(&f->rng, rank);
        int64_t n_ids = rng_below(&f->rng, 9), extent = dims[axis];
        n_ids = extent == 0 ? 0 : n_ids;
        double ids[9];
        for (int64_t i = 0; i < n_ids; i++)
            ids[i] = (double)rng_below(&f->rng, extent);
        weft_tensor *x = random_view(f, types[round % 4], rank, dims);
        weft_tensor *list = vector(f->s, round % 2 ? WEFT_I32 : WEFT_I64, n_ids, ids);
        weft_tensor *y = weft_index_select(f->s, x, axis - (round % 3 ? 0 : rank), list);
        scope_ok(f->s);
        size_t inner = 1;
        for (int d = axis + 1; d < rank; d++)
            inner *= (size_t)dims[d];
        double *vx = elements(x), *vy = elements(y);
        for (size_t i = 0; i < (size_t)weft_tensor_numel(y); i++) {
            size_t outer = i / inner / (size_t)n_ids, j = i / inner % (size_t)n_ids;
            size_t from = (outer * (size_t)extent + (size_t)ids[j]) * inner + i % inner;
            assert_close(vy[i], vx[from], 0, "index_select", i);
        }
        free(vx), free(vy);
        assert_weft_ok(weft_scope_reset(f->s));
    }
}

static void test_index_select_refusals(void **state) {
    fixture *f = *state;
    weft_scope *s = f->s;
    int64_t dims[] = {4, 3};
#define X random_packed(f, WEFT_F32, 2, dims)
    double bad[] = {0, 3, 4}, negative[] = {-1};
    scope_failed(s, weft_index_select(s, X, 0, vector(s, WEFT_I32, 3, bad)), WEFT_E_RANGE,
                 "index_select: ids[2] is 4", "dim 0 of shape [4, 3]");
    scope_failed(s, weft_index_select(s, X, 0, vector(s, WEFT_I64, 1, negative)), WEFT_E_RANGE,
                 "ids[0] is -1", "");
    scope_failed(s, weft_index_select(s, X, 0, vector(s, WEFT_F32, 3, bad)), WEFT_E_DTYPE, "ids",
                 "f32");
    scope_failed(s, weft_index_select(s, X, 2, vector(s, WEFT_I32, 3, bad)), WEFT_E_RANGE, "axis 2",
                 "[4, 3]");
    scope_failed(s, weft_index_select(s, X, 0, random_packed(f, WEFT_I32, 2, dims)), WEFT_E_SHAPE,
                 "ids", "[4, 3]");
}

static void test_concat_over_views(void **state) {
    fixture *f = *state;
    for (int round = 0; round < 150; round++) {
        int64_t dims[WEFT_MAX_RANK];
        int rank = random_shape(f, dims);
        if (rank == 0)
            continue;
        int axis = (int)rng_below(&f->rng, rank);
        size_t n = 1 + (size_t)rng_below(&f->rng, round % 10 == 0 ? 20 : 4);
        weft_dtype dtype = round % 2 ? WEFT_F32 : WEFT_U8;
        weft_tensor *list[20];
        size_t total = 0;
        for (size_t i = 0; i < n; i++) {
            int64_t part[WEFT_MAX_RANK];
            memcpy(part, dims, sizeof part);
            part[axis] = rng_below(&f->rng, 4);
            total += (size_t)part[axis];
            list[i] = random_view(f, dtype, rank, part);
        }
        weft_tensor *y = weft_concat(f->s, list, n, axis);
        scope_ok(f->s);
        assert_int_equal(weft_tensor_dim(y, axis), total);
        size_t start = 0;
        for (size_t i = 0; i < n; i++) {
            size_t extent = (size_t)weft_tensor_dim(list[i], axis);
            assert_same_bits(weft_tensor_narrow(f->s, y, axis, start, extent), list[i]);
            start += extent;
        }
        assert_weft_ok(weft_scope_reset(f->s));
    }
}

static void test_concat_refusals(void **state) {
    fixture *f = *state;
    weft_scope *s = f->s;
    int64_t a[] = {2, 3}, b[] = {2, 4};
#define LIST(t1, t2) ((weft_tensor *[]){random_packed(f, t1, 2, a), random_packed(f, t2, 2, b)})
    scope_failed(s, weft_concat(s, NULL, 0, 0), WEFT_E_ARGUMENT, "concat", "at least one");
    scope_failed(s, weft_concat(s, LIST(WEFT_F32, WEFT_F32), 2, 0), WEFT_E_SHAPE,
                 "list[0] has shape [2, 3], list[1] shape [2, 4]", "dim 1 (3 and 4)");
    scope_failed(s, weft_concat(s, LIST(WEFT_F32, WEFT_F16), 2, 1), WEFT_E_DTYPE, "f32", "f16");
    scope_failed(s, weft_concat(s, LIST(WEFT_F32, WEFT_F32), 2, 2), WEFT_E_RANGE, "axis 2", "");
    weft_tensor *with_null[] = {random_packed(f, WEFT_F32, 2, a), NULL};
    scope_failed(s, weft_concat(s, with_null, 2, 0), WEFT_E_NULL, "concat", "");
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, setup_two_threads, teardown)
    const struct CMUnitTest tests[] = {
        T(test_index_select_over_views),
        T(test_index_select_refusals),
        T(test_concat_over_views),
        T(test_concat_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
