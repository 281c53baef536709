/* copy, contiguous and read of any strides give the elements row by row. */
#include "tensor_test.h"

/* Element `index` (row-major) of a view, found the slow way. */
static const unsigned char *element(const weft_tensor *t, int64_t index) {
    int64_t at = 0;
    for (int i = t->rank - 1; i >= 0; i--) {
        at += index % t->dims[i] * t->strides[i];
        index /= t->dims[i];
    }
    return (const unsigned char *)weft_tensor_data(t) +
           at * (int64_t)weft_dtype_block_bytes(t->dtype);
}

static void check_copy(weft_scope *s, weft_tensor *t) {
    size_t item = weft_dtype_block_bytes(t->dtype), n = (size_t)weft_tensor_numel(t);
    weft_tensor *copy = weft_tensor_copy(s, t);
    assert_non_null(copy);
    assert_true(weft_tensor_is_contiguous(copy));
    assert_int_equal(weft_tensor_storage_bytes(copy), n * item);
    unsigned char *read = malloc(n * item);
    assert_weft_ok(weft_tensor_read(t, read, n * item));
    for (size_t i = 0; i < n; i++) {
        const unsigned char *expected = element(t, (int64_t)i);
        if (memcmp((unsigned char *)weft_tensor_data(copy) + i * item, expected, item) != 0)
            fail_msg("%s: element %zu of the copy", weft_dtype_name(t->dtype), i);
        if (memcmp(read + i * item, expected, item) != 0)
            fail_msg("%s: element %zu as read", weft_dtype_name(t->dtype), i);
    }
    free(read);
}

static weft_tensor *noise(weft_scope *s, weft_dtype dtype, int rank, const int64_t *dims) {
    weft_tensor *t = weft_zeros(s, dtype, rank, dims);
    unsigned state = 1;
    for (size_t i = 0; i < weft_tensor_storage_bytes(t); i++) {
        state = state * 1664525u + 1013904223u;
        ((unsigned char *)weft_tensor_data(t))[i] = (unsigned char)(state >> 24);
    }
    return t;
}

static void every_kind_of_view_is_copied_right(void **state) {
    bench *b = *state;
    weft_scope *s = b->heap;
    const weft_dtype types[] = {WEFT_U8, WEFT_F16, WEFT_F32, WEFT_I64};
    for (int i = 0; i < 4; i++) {
        weft_tensor *t = noise(s, types[i], 4, DIMS(3, 37, 5, 70));
        check_copy(s, t);
        check_copy(s, weft_tensor_permute(s, t, (int[]){3, 2, 1, 0}));
        check_copy(s, weft_tensor_permute(s, t, (int[]){0, 2, 1, 3}));
        check_copy(s, weft_tensor_permute(s, t, (int[]){1, 3, 0, 2}));
        check_copy(s, weft_tensor_slice(s, t, 3, 69, -1, -3));
        check_copy(s, weft_tensor_slice(s, weft_tensor_transpose(s, t, 1, 3), 1, 1, 64, 2));
        check_copy(s, weft_tensor_narrow(s, weft_tensor_select(s, t, 2, 3), 1, 5, 30));
        check_copy(s, weft_tensor_select(s, t, 3, 69));
        weft_tensor *row = weft_tensor_narrow(s, t, 1, 7, 1);
        check_copy(s, weft_tensor_expand(s, row, 4, DIMS(3, 40, 5, 70)));
        check_copy(
            s, weft_tensor_transpose(s, weft_tensor_expand(s, row, 4, DIMS(3, 40, 5, 70)), 1, 3));
    }
    check_copy(s, weft_full(s, WEFT_F32, 0, NULL, 4));
    check_copy(s, weft_tensor_transpose(s, noise(s, WEFT_F32, 2, DIMS(1100, 700)), 0,
                                        1)); /* a team's work */
    check_copy(s, weft_tensor_transpose(s, noise(s, WEFT_F32, 2, DIMS(2064, 2101)), 0,
                                        1)); /* so large that it is written past the caches */
    check_copy(s, noise(s, WEFT_F32, 8, DIMS(2, 3, 2, 3, 2, 3, 2, 3)));
    int turned[] = {7, 5, 3, 1, 6, 4, 2, 0};
    check_copy(s,
               weft_tensor_permute(s, noise(s, WEFT_F32, 8, DIMS(2, 3, 2, 3, 2, 3, 2, 3)), turned));
}

static void read_wants_the_exact_size(void **state) {
    bench *b = *state;
    float out[5];
    weft_tensor *t = iota(b->heap, 4);
    assert_weft_fails(weft_tensor_read(t, out, 20), WEFT_E_SHAPE);
    assert_weft_fails(weft_tensor_read(t, out, 12), WEFT_E_SHAPE);
    assert_detail_has("16");
    assert_weft_fails(weft_tensor_read(t, NULL, 16), WEFT_E_NULL);
    assert_weft_fails(weft_tensor_read(NULL, out, 16), WEFT_E_NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        bench_test(every_kind_of_view_is_copied_right),
        bench_test(read_wants_the_exact_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
