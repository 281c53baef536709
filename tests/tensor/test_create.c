/* Creation: values, sizes that are checked, wrapped memory, and shapes that do not fit. */
#include <math.h>
#include "tensor_test.h"

static void zeros_full_and_arange_hold_what_they_say(void **state) {
    bench *b = *state;
    assert_floats(zeros(b->heap, 2, 2), 0, 0, 0, 0);
    assert_floats(weft_full(b->heap, WEFT_F32, 2, DIMS(1, 3), 2.5), 2.5f, 2.5f, 2.5f);
    assert_floats(weft_arange(b->heap, WEFT_F32, 4, 1, -0.5), 1, 0.5f, 0, -0.5f);
    assert_floats(weft_full(b->heap, WEFT_F32, 0, NULL, 7), 7);
    int64_t big[3];
    assert_weft_ok(weft_tensor_read(weft_arange(b->heap, WEFT_I64, 3, -1e15, 2), big, sizeof big));
    assert_true(big[0] == -1000000000000000 && big[2] == big[0] + 4);
    assert_refused(b->heap, weft_arange(b->heap, WEFT_Q8_0, 3, 0, 1), WEFT_E_DTYPE);
    assert_refused(b->heap, weft_arange(b->heap, WEFT_F32, -1, 0, 1), WEFT_E_SHAPE);
    assert_refused(b->heap, weft_full(b->heap, WEFT_Q4_0, 1, DIMS(32), 1), WEFT_E_DTYPE);
    assert_refused(b->heap, weft_zeros(b->heap, WEFT_DTYPE_COUNT, 1, DIMS(32)), WEFT_E_DTYPE);
}

static void numbers_saturate_and_round_once(void **state) {
    bench *b = *state;
    struct {
        weft_dtype dtype;
        double value;
        uint64_t bits;
    } cases[] = {
        {WEFT_I32, 1e10, INT32_MAX},
        {WEFT_I32, -1e10, (uint32_t)INT32_MIN},
        {WEFT_I32, NAN, 0},
        {WEFT_I32, -1.9, (uint32_t)-1},
        {WEFT_I64, 1e30, INT64_MAX},
        {WEFT_I64, -INFINITY, (uint64_t)INT64_MIN},
        {WEFT_U8, -3, 0},
        {WEFT_U8, 300, 255},
        {WEFT_I8, -300, (uint8_t)-128},
        {WEFT_BOOL, 0.1, 1},
        {WEFT_BOOL, 0, 0},
        {WEFT_F16, 1.0 + 0x1p-11 + 0x1p-40, 0x3c01}, /* through f32 it would be a tie */
        {WEFT_F16, 65520, 0x7c00},
        {WEFT_F16, -1e300, 0xfc00},
        {WEFT_BF16, 1.0 + 0x1p-8 + 0x1p-40, 0x3f81},
        {WEFT_BF16, 1e300, 0x7f80},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t got = 0;
        weft_tensor *t = weft_full(b->heap, cases[i].dtype, 0, NULL, cases[i].value);
        assert_non_null(t);
        assert_weft_ok(weft_tensor_read(t, &got, weft_dtype_block_bytes(cases[i].dtype)));
        if (got != cases[i].bits)
            fail_msg("%s of %g is %llx, not %llx", weft_dtype_name(cases[i].dtype), cases[i].value,
                     (unsigned long long)got, (unsigned long long)cases[i].bits);
    }
}

static void from_data_copies_exactly_the_shape(void **state) {
    bench *b = *state;
    float data[6] = {1, 2, 3, 4, 5, 6};
    weft_tensor *t = weft_from_data(b->heap, WEFT_F32, 2, DIMS(2, 3), data, sizeof data);
    data[0] = 9;
    assert_floats(t, 1, 2, 3, 4, 5, 6);
    assert_refused(b->heap, weft_from_data(b->heap, WEFT_F32, 2, DIMS(2, 3), data, 20),
                   WEFT_E_SHAPE);
    assert_refused(b->heap, weft_from_data(b->heap, WEFT_F32, 1, DIMS(7), data, 24), WEFT_E_SHAPE);
    assert_refused(b->heap, weft_from_data(b->heap, WEFT_F32, 1, DIMS(6), NULL, 24), WEFT_E_NULL);
    assert_non_null(weft_from_data(b->heap, WEFT_F32, 1, DIMS(0), NULL, 0));
    unsigned char blocks[36] = {1};
    assert_non_null(weft_from_data(b->heap, WEFT_Q4_0, 2, DIMS(2, 32), blocks, 36));
    assert_refused(b->heap, weft_from_data(b->heap, WEFT_Q4_0, 1, DIMS(33), blocks, 36),
                   WEFT_E_SHAPE);
    assert_refused(b->heap, weft_from_data(b->heap, WEFT_Q4_0, 0, NULL, blocks, 18), WEFT_E_SHAPE);
}

static void wrapped_memory_is_used_and_never_freed(void **state) {
    bench *b = *state;
    _Alignas(64) float data[5] = {1, 2, 3, 4};
    weft_tensor *t = weft_tensor_wrap(b->heap, WEFT_F32, 1, DIMS(4), data, 16, false);
    assert_ptr_equal(weft_tensor_data(t), data);
    data[0] = 9;
    assert_floats(t, 9, 2, 3, 4);
    assert_weft_ok(weft_slice_set(b->heap, t, weft_full(b->heap, WEFT_F32, 1, DIMS(1), 5), 0, 3));
    assert_true(data[3] == 5);
    assert_refused(b->heap,
                   weft_tensor_wrap(b->heap, WEFT_F32, 1, DIMS(4), (char *)data + 2, 16, false),
                   WEFT_E_ARGUMENT);
    assert_refused(b->heap, weft_tensor_wrap(b->heap, WEFT_F32, 1, DIMS(4), data, 12, false),
                   WEFT_E_SHAPE);
    assert_non_null(weft_tensor_wrap(b->heap, WEFT_F32, 1, DIMS(0), NULL, 0, false));
}

static void shapes_that_overflow_are_refused(void **state) {
    bench *b = *state;
    const int64_t huge[][3] = {
        {INT64_MAX, 2, 1}, /* the product */
        {(int64_t)1 << 40, (int64_t)1 << 40, 1},
        {((int64_t)1 << 62) + 1, 4, 1},          /* a product that wraps to 4 */
        {(int64_t)1 << 62, 1, 1},                /* the bytes */
        {(int64_t)1 << 40, 0, (int64_t)1 << 40}, /* no elements, but strides that do not fit */
    };
    for (size_t i = 0; i < sizeof huge / sizeof huge[0]; i++) {
        size_t n_allocs = b->count.n_allocs;
        assert_refused(b->heap, weft_zeros(b->heap, WEFT_F32, 3, huge[i]), WEFT_E_OVERFLOW);
        assert_refused(b->heap, weft_full(b->heap, WEFT_F64, 3, huge[i], 1), WEFT_E_OVERFLOW);
        float x;
        assert_refused(b->heap, weft_from_data(b->heap, WEFT_F32, 3, huge[i], &x, 16),
                       WEFT_E_OVERFLOW);
        assert_refused(b->heap, weft_tensor_wrap(b->heap, WEFT_F32, 3, huge[i], &x, 4, false),
                       WEFT_E_OVERFLOW);
        assert_int_equal(b->count.n_allocs, n_allocs);
        assert_refused(b->heap, weft_tensor_expand(b->heap, zeros(b->heap, 1, 1, 1), 3, huge[i]),
                       WEFT_E_OVERFLOW);
    }
    assert_refused(b->heap, weft_zeros(b->heap, WEFT_F32, 1, DIMS(-1)), WEFT_E_SHAPE);
    assert_refused(b->heap, weft_zeros(b->heap, WEFT_F32, 9, DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1)),
                   WEFT_E_SHAPE);
    assert_refused(b->heap, weft_zeros(b->heap, WEFT_F32, -1, NULL), WEFT_E_SHAPE);
    assert_refused(b->heap, weft_zeros(b->heap, WEFT_F32, 2, NULL), WEFT_E_NULL);
    assert_non_null(weft_zeros(b->heap, WEFT_F32, 8, DIMS(1, 2, 1, 2, 1, 2, 1, 2)));
    /* More than there is, but no overflow: out of memory, not a crash. */
    assert_refused(b->heap, zeros(b->heap, (int64_t)1 << 56), WEFT_E_MEMORY);
    assert_refused(b->arena, zeros(b->arena, (int64_t)1 << 56), WEFT_E_MEMORY);
}

static void empty_tensors_pass_through(void **state) {
    bench *b = *state;
    weft_tensor *t = zeros(b->heap, 3, 0, 2);
    assert_int_equal(weft_tensor_numel(t), 0);
    assert_true(weft_tensor_is_contiguous(t));
    weft_tensor *copy = weft_tensor_copy(b->heap, t);
    assert_int_not_equal(weft_tensor_id(copy), weft_tensor_id(t));
    assert_false(weft_tensor_same_storage(copy, t));
    assert_dims(weft_tensor_transpose(b->heap, t, 0, 2), 2, 0, 3);
    assert_dims(weft_tensor_narrow(b->heap, t, 0, 3, 0), 0, 0, 2);
    assert_dims(weft_tensor_reshape(b->heap, t, 2, DIMS(0, 7)), 0, 7);
    assert_dims(weft_tensor_narrow(b->heap, zeros(b->heap, 3), 0, 3, 0), 0);
    assert_weft_ok(weft_slice_set(b->heap, copy, t, 1, 0));
    assert_weft_ok(weft_slice_set(b->heap, zeros(b->heap, 3), zeros(b->heap, 0), 0, 3));
    assert_weft_ok(weft_tensor_read(t, NULL, 0));
    const void *data;
    assert_weft_ok(weft_tensor_map_read(t, &data));
    assert_non_null(data);
    weft_tensor_unmap(t);
}

static void questions_about_a_header_never_crash(void **state) {
    bench *b = *state;
    weft_tensor *t = zeros(b->heap, 2, 3);
    assert_int_equal(weft_tensor_dim(t, -1), 3);
    assert_int_equal(weft_tensor_stride(t, 0), 3);
    assert_int_equal(weft_tensor_dim(t, 2), -1);
    assert_int_equal(weft_tensor_dim(NULL, 0), -1);
    assert_int_equal(weft_tensor_rank(NULL), -1);
    assert_int_equal(weft_tensor_dtype(NULL), WEFT_DTYPE_COUNT);
    assert_int_equal(weft_tensor_id(NULL), 0);
    assert_false(weft_tensor_same_storage(NULL, NULL));
    assert_string_equal(weft_dtype_name(WEFT_Q4_K), "q4_K");
    assert_string_equal(weft_dtype_name(WEFT_DTYPE_COUNT), "?");
    assert_int_equal(weft_dtype_block((weft_dtype)-1), 0);
    assert_int_equal(weft_dtype_block_bytes(WEFT_Q6_K), 210);
    assert_true(weft_dtype_is_float(WEFT_BF16) && !weft_dtype_is_float(WEFT_I8));
    assert_true(weft_dtype_is_integer(WEFT_U8) && !weft_dtype_is_integer(WEFT_BOOL));
    assert_true(weft_dtype_is_quantized(WEFT_Q8_0) && !weft_dtype_is_quantized(WEFT_F8_E4M3));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        bench_test(zeros_full_and_arange_hold_what_they_say),
        bench_test(numbers_saturate_and_round_once),
        bench_test(from_data_copies_exactly_the_shape),
        bench_test(wrapped_memory_is_used_and_never_freed),
        bench_test(shapes_that_overflow_are_refused),
        bench_test(empty_tensors_pass_through),
        bench_test(questions_about_a_header_never_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
