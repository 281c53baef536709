/* The three entries that write in place: what they do, and all that they refuse before a byte is
 * written. */
#include "tensor_test.h"

static void slice_set_writes_the_range(void **state) {
    bench *b = *state;
    weft_scope *s = b->heap;
    weft_tensor *dst = zeros(s, 2, 3, 2);
    assert_weft_ok(weft_slice_set(s, dst, weft_full(s, WEFT_F32, 3, DIMS(2, 1, 2), 5), 1, 1));
    assert_floats(dst, 0, 0, 5, 5, 0, 0, 0, 0, 5, 5, 0, 0);
    assert_weft_ok(weft_slice_set(s, dst, weft_full(s, WEFT_F32, 3, DIMS(2, 3, 1), 6), -1, 1));
    assert_floats(dst, 0, 6, 5, 6, 0, 6, 0, 6, 5, 6, 0, 6);
    assert_weft_ok(weft_slice_set(s, weft_tensor_narrow(s, dst, 0, 1, 1),
                                  weft_full(s, WEFT_F32, 3, DIMS(1, 2, 2), 7), 1, 1));
    assert_floats(dst, 0, 6, 5, 6, 0, 6, 0, 6, 7, 7, 7, 7);
    assert_int_equal(weft_tensor_storage_version(dst), 3);
    weft_tensor *big = zeros(s, 300, 1000), *part = weft_full(s, WEFT_F32, 2, DIMS(300, 100), 1);
    assert_weft_ok(weft_slice_set(s, big, part, 1, 900));
    const float *data = weft_tensor_data(big);
    for (int i = 0; i < 300000; i++)
        assert_true(data[i] == (i % 1000 >= 900 ? 1.0f : 0.0f));
    unsigned char blocks[36] = {1, 2, 3};
    weft_tensor *q = weft_zeros(s, WEFT_Q4_0, 2, DIMS(1, 96));
    weft_tensor *two = weft_from_data(s, WEFT_Q4_0, 2, DIMS(1, 64), blocks, 36);
    assert_weft_ok(weft_slice_set(s, q, two, 1, 32));
    assert_memory_equal((char *)weft_tensor_data(q) + 18, blocks, 36);
    assert_weft_fails(weft_slice_set(s, q, two, 1, 16), WEFT_E_LAYOUT);
}

/* The call fails with the status, the detail has the words, and dst [3, 4] is as before. */
static void refused(weft_scope *s, weft_tensor *dst, weft_tensor *src, int axis, size_t start,
                    weft_status expected, const char *words) {
    assert_weft_ok(weft_scope_status(s));
    uint64_t version = weft_tensor_storage_version(dst);
    assert_weft_fails(weft_slice_set(s, dst, src, axis, start), expected);
    assert_weft_fails(weft_scope_status(s), expected);
    if (!strstr(weft_scope_detail(s), words))
        fail_msg("'%s' does not mention '%s'", weft_scope_detail(s), words);
    assert_int_equal(weft_tensor_storage_version(dst), version);
}

static void slice_set_refuses_and_writes_nothing(void **state) {
    bench *b = *state;
    weft_scope *s = b->arena, *keep = b->heap;
    weft_tensor *dst = iota(keep, 3, 4), *src = weft_full(keep, WEFT_F32, 2, DIMS(2, 4), 9);
    weft_tensor *wide = zeros(keep, 3, 8);
    struct {
        weft_tensor *dst, *src;
        int axis;
        size_t start;
        weft_status status;
        const char *words;
    } cases[] = {
        {dst, weft_zeros(keep, WEFT_I32, 2, DIMS(2, 4)), 0, 0, WEFT_E_DTYPE, "i32"},
        {dst, zeros(keep, 4), 0, 0, WEFT_E_SHAPE, "[3, 4]"},
        {dst, zeros(keep, 2, 3), 0, 0, WEFT_E_SHAPE, "[2, 3]"},
        {dst, src, 2, 0, WEFT_E_RANGE, "axis 2"},
        {dst, src, 0, 2, WEFT_E_RANGE, "[3, 4]"},
        {dst, src, 0, SIZE_MAX, WEFT_E_RANGE, "[3, 4]"},
        {dst, src, 0, SIZE_MAX - 1, WEFT_E_RANGE, "[3, 4]"},
        {dst, src, 0, (size_t)INT64_MAX, WEFT_E_RANGE, "[3, 4]"},
        {weft_tensor_narrow(keep, wide, 0, 1, 2), zeros(keep, 1, 8), 0, SIZE_MAX, WEFT_E_RANGE,
         "[2, 8]"},
        {weft_tensor_narrow(keep, wide, 0, 1, 2), zeros(keep, 1, 8), 0, 2, WEFT_E_RANGE, "[2, 8]"},
        {dst, zeros(keep, 4, 4), 0, 0, WEFT_E_RANGE, "[3, 4]"},
        {weft_tensor_narrow(keep, wide, 1, 2, 4), dst, 0, 0, WEFT_E_NOT_CONTIGUOUS,
         "dst is not contiguous: shape [3, 4], strides [8, 1]"},
        {dst, weft_tensor_narrow(keep, wide, 1, 2, 4), 0, 0, WEFT_E_NOT_CONTIGUOUS,
         "src is not contiguous: shape [3, 4], strides [8, 1]"},
        {dst, weft_tensor_expand(keep, zeros(keep, 1, 4), 2, DIMS(2, 4)), 0, 0,
         WEFT_E_NOT_CONTIGUOUS, "strides [0, 1]"},
        {dst, dst, 0, 0, WEFT_E_SAME_STORAGE, "share"},
        {weft_tensor_narrow(keep, dst, 0, 0, 1), weft_tensor_narrow(keep, dst, 0, 2, 1), 0, 0,
         WEFT_E_SAME_STORAGE, "share"}, /* ranges that do not meet */
        {dst, weft_tensor_narrow(keep, dst, 0, 1, 2), 0, SIZE_MAX, WEFT_E_SAME_STORAGE, "share"},
    };
    assert_weft_ok(weft_scope_status(keep));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        refused(s, cases[i].dst, cases[i].src, cases[i].axis, cases[i].start, cases[i].status,
                cases[i].words);
        weft_scope_reset(s);
        assert_floats(dst, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    }
    assert_weft_fails(weft_slice_set(s, NULL, src, 0, 0), WEFT_E_NULL);
    weft_scope_reset(s);
    assert_weft_fails(weft_slice_set(s, dst, NULL, 0, 0), WEFT_E_NULL);
    assert_weft_fails(weft_slice_set(NULL, dst, src, 0, 0), WEFT_E_NULL);
}

static void released(void *ctx) {
    ++*(int *)ctx;
}

static void immutable_storages_are_never_written_to(void **state) {
    bench *b = *state;
    weft_scope *s = b->heap;
    static const float mapped[4] = {1, 2, 3, 4}; /* a write to read-only memory would crash */
    int n_released = 0;
    weft_allocator system = weft_allocator_system();
    weft_tensor *w;
    assert_weft_ok(weft_tensor_create_custom(&system, WEFT_F32, 1, DIMS(4), mapped, sizeof mapped,
                                             released, &n_released, &w));
    assert_true(weft_tensor_is_immutable(w));
    assert_weft_fails(weft_slice_set(s, w, zeros(s, 1), 0, 0), WEFT_E_IMMUTABLE);
    weft_scope_reset(s);
    weft_tensor *view = weft_tensor_narrow(s, w, 0, 1, 2);
    assert_true(weft_tensor_is_immutable(view));
    assert_weft_fails(weft_slice_set(s, view, zeros(s, 1), 0, 0), WEFT_E_IMMUTABLE);
    weft_scope_reset(s);
    void *data;
    assert_weft_fails(weft_tensor_map_write(w, &data), WEFT_E_IMMUTABLE);
    assert_null(data);
    assert_weft_fails(weft_inplace_op1(s, w, (weft_inplace_fn)(uintptr_t)1, NULL),
                      WEFT_E_IMMUTABLE);
    weft_scope_reset(s);
    view = weft_tensor_retain(weft_tensor_narrow(s, w, 0, 1, 2));
    weft_scope_reset(s);
    weft_tensor_release(&w);
    assert_int_equal(n_released, 0);
    assert_floats(view, 2, 3);
    weft_tensor_release(&view);
    assert_int_equal(n_released, 1);
    assert_weft_fails(weft_tensor_create_custom(&system, WEFT_F32, 1, DIMS(5), mapped,
                                                sizeof mapped, released, &n_released, &w),
                      WEFT_E_SHAPE);
    assert_int_equal(n_released, 1);
    weft_tensor *wrapped =
        weft_tensor_wrap(s, WEFT_F32, 1, DIMS(4), (void *)(uintptr_t)mapped, 16, true);
    assert_weft_fails(weft_slice_set(s, wrapped, zeros(s, 1), 0, 0), WEFT_E_IMMUTABLE);
}

static void var_set_takes_a_fresh_value_and_refuses_its_own(void **state) {
    bench *b = *state;
    weft_scope *s = b->arena, *keep = b->heap;
    weft_tensor *x = iota(keep, 3);
    weft_tensor *w = weft_tensor_retain(weft_var_create(keep, x));
    assert_true(weft_tensor_is_var(w));
    assert_false(weft_tensor_same_storage(w, x));
    assert_weft_ok(weft_var_set(s, w, weft_affine(s, w, 2, 0))); /* w = 2 w */
    assert_floats(w, 0, 2, 4);
    assert_floats(x, 0, 1, 2);
    weft_tensor *handle = weft_tensor_retain(w), *off = weft_tensor_detach(keep, w);
    assert_weft_fails(weft_var_set(s, w, handle), WEFT_E_SAME_STORAGE);
    weft_scope_reset(s);
    assert_weft_fails(weft_var_set(s, w, off), WEFT_E_SAME_STORAGE);
    weft_scope_reset(s);
    weft_tensor *derived[] = {off, x, weft_affine(keep, w, 2, 0),
                              weft_tensor_narrow(keep, w, 0, 0, 3), weft_tensor_copy(keep, w)};
    for (size_t i = 0; i < 5; i++) {
        assert_false(weft_tensor_is_var(derived[i]));
        assert_weft_fails(weft_var_set(s, derived[i], zeros(keep, 3)), WEFT_E_NOT_A_LEAF);
        weft_scope_reset(s);
    }
    assert_weft_fails(weft_var_set(s, w, zeros(keep, 1, 3)), WEFT_E_SHAPE);
    weft_scope_reset(s);
    assert_weft_fails(weft_var_set(s, w, zeros(keep, 2)), WEFT_E_SHAPE);
    weft_scope_reset(s);
    assert_weft_fails(weft_var_set(s, w, weft_zeros(keep, WEFT_I32, 1, DIMS(3))), WEFT_E_DTYPE);
    weft_scope_reset(s);
    assert_floats(w, 0, 2, 4);
    assert_int_equal(weft_tensor_storage_version(w), 1);
    weft_tensor *turned = weft_tensor_slice(keep, x, 0, 2, -1, -1); /* any strides */
    assert_weft_ok(weft_var_set(s, w, turned));
    assert_floats(handle, 2, 1, 0);
    assert_floats(off, 2, 1, 0);
    weft_tensor_release(&handle);
    weft_tensor_release(&w);
}

/* dst = 10 dst + sum of the others, by the strides given. */
static weft_status combine(void *ctx, const weft_raw *args) {
    int n = *(int *)ctx;
    for (int64_t i = 0; i < args[0].dims[0]; i++) {
        float *d = (float *)args[0].data + i * args[0].strides[0];
        *d *= 10;
        for (int a = 1; a < n; a++)
            *d += ((const float *)args[a].data)[i * args[a].strides[0]];
    }
    return WEFT_OK;
}

static weft_status give_up(void *ctx, const weft_raw *args) {
    (void)args;
    return *(weft_status *)ctx;
}

static void callbacks_get_the_raw_elements(void **state) {
    bench *b = *state;
    weft_scope *s = b->heap;
    weft_tensor *m = iota(s, 3, 2), *column = weft_tensor_select(s, m, 1, 1);
    assert_weft_ok(weft_inplace_op1(s, column, combine, &(int){1}));
    assert_floats(m, 0, 10, 2, 30, 4, 50);
    weft_tensor *a = iota(s, 3),
                *ones = weft_tensor_expand(s, weft_full(s, WEFT_F32, 1, DIMS(1), 1), 1, DIMS(3));
    assert_weft_ok(weft_inplace_op2(s, column, a, combine, &(int){2}));
    assert_floats(column, 100, 301, 502);
    assert_weft_ok(weft_inplace_op3(s, a, column, ones, combine, &(int){3}));
    assert_floats(a, 101, 312, 523);
    assert_int_equal(weft_tensor_storage_version(m), 2);
    weft_status given = WEFT_E_CANCELLED;
    assert_weft_fails(weft_inplace_op1(s, a, give_up, &given), WEFT_E_CANCELLED);
    weft_scope_reset(s);
    given = (weft_status)1000;
    assert_weft_fails(weft_inplace_op1(s, zeros(s, 1), give_up, &given), WEFT_E_ARGUMENT);
    weft_scope_reset(s);
    assert_weft_fails(weft_inplace_op1(s, zeros(s, 1), NULL, NULL), WEFT_E_NULL);
}

static void callbacks_refuse_shared_and_repeated_storages(void **state) {
    bench *b = *state;
    weft_scope *s = b->arena;
    weft_tensor *m = zeros(b->heap, 4), *low = weft_tensor_narrow(b->heap, m, 0, 0, 2);
    weft_tensor *high = weft_tensor_narrow(b->heap, m, 0, 2, 2), *other = zeros(b->heap, 2);
    int n = 2;
    assert_weft_fails(weft_inplace_op2(s, m, m, combine, &n), WEFT_E_SAME_STORAGE);
    weft_scope_reset(s);
    assert_weft_fails(weft_inplace_op2(s, low, high, combine, &n), WEFT_E_SAME_STORAGE);
    weft_scope_reset(s);
    assert_weft_fails(weft_inplace_op3(s, other, low, high, combine, &n), WEFT_E_SAME_STORAGE);
    weft_scope_reset(s);
    weft_tensor *rows = weft_tensor_expand(b->heap, other, 2, DIMS(3, 2));
    assert_weft_fails(weft_inplace_op1(s, rows, combine, &n), WEFT_E_ARGUMENT);
    assert_non_null(strstr(weft_scope_detail(s), "stride 0"));
    assert_int_equal(weft_tensor_storage_version(m), 0);
    assert_int_equal(weft_tensor_storage_version(other), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        bench_test(slice_set_writes_the_range),
        bench_test(slice_set_refuses_and_writes_nothing),
        bench_test(immutable_storages_are_never_written_to),
        bench_test(var_set_takes_a_fresh_value_and_refuses_its_own),
        bench_test(callbacks_get_the_raw_elements),
        bench_test(callbacks_refuse_shared_and_repeated_storages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
