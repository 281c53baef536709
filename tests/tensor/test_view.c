/* Views: fresh ids over the same storage, their shapes and strides, and what cannot be a view. */
#include "tensor/kernels/panel.h"
#include "tensor_test.h"

static void a_view_has_a_fresh_id_and_the_same_storage(void **state) {
    bench *b = *state;
    weft_scope *s = b->heap;
    weft_tensor *m = iota(s, 2, 3), *out[2];
    assert_weft_ok(weft_tensor_split(s, m, 1, (size_t[]){1, 2}, 2, out));
    weft_tensor *views[] = {
        weft_tensor_narrow(s, m, 0, 0, 2), /* all of it: still fresh */
        weft_tensor_slice(s, m, 1, 2, -1, -1),
        weft_tensor_select(s, m, 0, 1),
        weft_tensor_transpose(s, m, 0, 1),
        weft_tensor_permute(s, m, (int[]){0, 1}),
        weft_tensor_reshape(s, m, 1, DIMS(6)),
        weft_tensor_squeeze(s, weft_tensor_unsqueeze(s, m, 1), 1),
        weft_tensor_unsqueeze(s, m, 0),
        weft_tensor_expand(s, m, 3, DIMS(4, 2, 3)),
        weft_tensor_detach(s, m),
        weft_tensor_reshape_copy(s, m, 2, DIMS(3, 2)), /* a view where possible */
        out[0],
        out[1],
    };
    size_t n = sizeof views / sizeof views[0];
    for (size_t i = 0; i < n; i++) {
        assert_non_null(views[i]);
        assert_true(weft_tensor_same_storage(views[i], m));
        assert_int_not_equal(weft_tensor_id(views[i]), weft_tensor_id(m));
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(weft_tensor_id(views[i]), weft_tensor_id(views[j]));
    }
}

static void views_show_the_right_elements(void **state) {
    bench *b = *state;
    weft_scope *s = b->arena;
    weft_tensor *m = iota(s, 2, 3);
    assert_floats(weft_tensor_narrow(s, m, 1, 1, 2), 1, 2, 4, 5);
    assert_floats(weft_tensor_narrow(s, m, -1, 2, 1), 2, 5);
    assert_floats(weft_tensor_select(s, m, 1, 2), 2, 5);
    assert_floats(weft_tensor_transpose(s, m, 0, -1), 0, 3, 1, 4, 2, 5);
    assert_floats(weft_tensor_reshape(s, m, 2, DIMS(3, -1)), 0, 1, 2, 3, 4, 5);
    assert_floats(weft_tensor_expand(s, weft_tensor_narrow(s, m, 1, 0, 1), 2, DIMS(2, 2)), 0, 0, 3,
                  3);
    assert_floats(weft_tensor_expand(s, weft_tensor_select(s, m, 0, 1), 2, DIMS(2, 3)), 3, 4, 5, 3,
                  4, 5);
    weft_tensor *cube = iota(s, 2, 2, 3);
    assert_floats(weft_tensor_permute(s, cube, (int[]){2, 0, -2}), 0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8,
                  11);
    assert_floats(weft_tensor_select(s, weft_tensor_narrow(s, cube, 1, 1, 1), 0, 1), 9, 10, 11);
    assert_dims(weft_tensor_unsqueeze(s, m, -1), 2, 3, 1);
    assert_dims(weft_tensor_unsqueeze(s, m, 1), 2, 1, 3);
    assert_true(weft_tensor_is_contiguous(weft_tensor_unsqueeze(s, m, 1)));
    assert_int_equal(weft_tensor_stride(weft_tensor_expand(s, m, 3, DIMS(5, 2, 3)), 0), 0);
    assert_int_equal(weft_tensor_offset(weft_tensor_select(s, m, 0, 1)), 3);
}

static void slices_follow_python(void **state) {
    bench *b = *state;
    weft_scope *s = b->heap;
    weft_tensor *v = iota(s, 5);
    assert_floats(weft_tensor_slice(s, v, 0, 0, 5, 2), 0, 2, 4);
    assert_floats(weft_tensor_slice(s, v, 0, 4, -1, -1), 4, 3, 2, 1, 0);
    assert_floats(weft_tensor_slice(s, v, 0, 3, 0, -2), 3, 1);
    assert_floats(weft_tensor_slice(s, weft_tensor_slice(s, v, 0, 4, -1, -1), 0, 1, 5, 2), 3, 1);
    assert_floats(weft_tensor_slice(s, v, 0, 2, 3, INT64_MAX), 2);
    assert_floats(weft_tensor_slice(s, v, 0, 2, 1, INT64_MIN), 2);
    assert_dims(weft_tensor_slice(s, v, 0, 3, 3, 1), 0);
    assert_dims(weft_tensor_slice(s, v, 0, 5, 0, 1), 0);
    assert_refused(s, weft_tensor_slice(s, v = iota(s, 5), 0, 0, 5, 0), WEFT_E_ARGUMENT);
    assert_refused(s, weft_tensor_slice(s, v = iota(s, 5), 0, 0, 6, 1), WEFT_E_RANGE);
    assert_refused(s, weft_tensor_slice(s, v = iota(s, 5), 0, -1, 5, 1), WEFT_E_RANGE);
    assert_refused(s, weft_tensor_slice(s, v = iota(s, 5), 0, 5, -1, -1), WEFT_E_RANGE);
    assert_refused(s, weft_tensor_slice(s, v = iota(s, 5), 0, INT64_MIN, INT64_MAX, 1),
                   WEFT_E_RANGE);
}

static void split_and_chunk_cover_the_axis(void **state) {
    bench *b = *state;
    weft_scope *s = b->heap;
    weft_tensor *v = iota(s, 7), *out[9];
    assert_weft_ok(weft_tensor_chunk(s, v, 0, 3, out));
    assert_floats(out[0], 0, 1, 2);
    assert_floats(out[1], 3, 4);
    assert_floats(out[2], 5, 6);
    assert_weft_ok(weft_tensor_chunk(s, v, 0, 9, out));
    assert_dims(out[6], 1);
    assert_dims(out[8], 0);
    assert_weft_fails(weft_tensor_split(s, v, 0, (size_t[]){3, 3}, 2, out), WEFT_E_SHAPE);
    assert_null(out[0]);
    weft_scope_reset(s);
    assert_weft_fails(weft_tensor_split(s, iota(s, 7), 0, (size_t[]){SIZE_MAX, 8}, 2, out),
                      WEFT_E_OVERFLOW);
    weft_scope_reset(s);
    assert_weft_fails(weft_tensor_chunk(s, iota(s, 7), 0, 0, out), WEFT_E_ARGUMENT);
    weft_scope_reset(s);
    assert_weft_fails(weft_tensor_chunk(s, iota(s, 7), 1, 2, out), WEFT_E_RANGE);
    weft_scope_reset(s);
    assert_weft_fails(weft_tensor_chunk(s, NULL, 0, 2, out), WEFT_E_NULL);
}

static void ranges_outside_are_refused_also_near_the_largest_integers(void **state) {
    bench *b = *state;
    weft_scope *s = b->heap;
    const size_t starts[] = {5, SIZE_MAX, SIZE_MAX - 1, (size_t)INT64_MAX, (size_t)INT64_MAX + 1};
    for (size_t i = 0; i < 5; i++) {
        assert_refused(s, weft_tensor_narrow(s, iota(s, 4, 2), 0, starts[i], 1), WEFT_E_RANGE);
        assert_refused(s, weft_tensor_narrow(s, iota(s, 4, 2), 0, 1, starts[i]), WEFT_E_RANGE);
        assert_refused(s, weft_tensor_select(s, iota(s, 4, 2), 0, starts[i]), WEFT_E_RANGE);
        weft_tensor *view = weft_tensor_narrow(s, iota(s, 4, 2), 0, 2, 2);
        assert_refused(s, weft_tensor_narrow(s, view, 0, starts[i], 1), WEFT_E_RANGE);
    }
    /* Inside the storage, outside of the view. */
    assert_refused(s, weft_tensor_narrow(s, weft_tensor_narrow(s, iota(s, 4, 2), 0, 1, 2), 0, 2, 1),
                   WEFT_E_RANGE);
    assert_refused(s, weft_tensor_transpose(s, iota(s, 4, 2), 0, 2), WEFT_E_RANGE);
    assert_refused(s, weft_tensor_transpose(s, iota(s, 4, 2), 0, -3), WEFT_E_RANGE);
    assert_refused(s, weft_tensor_permute(s, iota(s, 4, 2), (int[]){0, 0}), WEFT_E_ARGUMENT);
    assert_refused(s, weft_tensor_permute(s, iota(s, 4, 2), NULL), WEFT_E_NULL);
    assert_refused(s, weft_tensor_squeeze(s, iota(s, 4, 2), 0), WEFT_E_SHAPE);
    assert_refused(s, weft_tensor_unsqueeze(s, iota(s, 4, 2), 3), WEFT_E_RANGE);
    assert_refused(s, weft_tensor_unsqueeze(s, iota(s, 1, 1, 1, 1, 1, 1, 1, 2), 0), WEFT_E_SHAPE);
    assert_refused(s, weft_tensor_expand(s, iota(s, 4, 2), 2, DIMS(4, 3)), WEFT_E_SHAPE);
    assert_refused(s, weft_tensor_expand(s, iota(s, 4, 2), 1, DIMS(2)), WEFT_E_SHAPE);
    assert_refused(s, weft_tensor_expand(s, iota(s, 1, 2), 2, DIMS(-1, 2)), WEFT_E_SHAPE);
}

static void reshape_never_copies_and_reshape_copy_may(void **state) {
    bench *b = *state;
    weft_scope *s = b->heap;
    weft_tensor *t = weft_tensor_transpose(s, iota(s, 2, 3), 0, 1);
    assert_null(weft_tensor_reshape(s, t, 1, DIMS(6)));
    assert_weft_fails(weft_scope_status(s), WEFT_E_NOT_A_VIEW);
    assert_non_null(strstr(weft_scope_detail(s), "[3, 2]"));
    assert_non_null(strstr(weft_scope_detail(s), "[1, 3]")); /* the strides */
    weft_scope_reset(s);
    t = weft_tensor_transpose(s, iota(s, 2, 3), 0, 1);
    weft_tensor *flat = weft_tensor_reshape_copy(s, t, 1, DIMS(-1));
    assert_false(weft_tensor_same_storage(flat, t));
    assert_floats(flat, 0, 3, 1, 4, 2, 5);

    /* Axes that stay whole can be divided even when others are transposed. */
    weft_tensor *p = weft_tensor_transpose(s, iota(s, 2, 12), 0, 1); /* [12, 2], strides 1, 12 */
    weft_tensor *view = weft_tensor_reshape(s, p, 4, DIMS(3, 4, 1, 2));
    assert_int_equal(weft_tensor_stride(view, 0), 4);
    assert_int_equal(weft_tensor_stride(view, 3), 12);
    assert_floats(weft_tensor_select(s, weft_tensor_select(s, view, 0, 2), 0, 3), 11, 23);
    assert_refused(s, weft_tensor_reshape(s, iota(s, 6), 2, DIMS(4, -1)), WEFT_E_SHAPE);
    assert_refused(s, weft_tensor_reshape(s, iota(s, 6), 2, DIMS(-1, -1)), WEFT_E_SHAPE);
    assert_refused(s, weft_tensor_reshape(s, iota(s, 6), 1, DIMS(7)), WEFT_E_SHAPE);
    assert_refused(s, weft_tensor_reshape(s, zeros(s, 0), 2, DIMS(0, -1)), WEFT_E_SHAPE);
    assert_refused(s, weft_tensor_reshape(s, iota(s, 4), 2, DIMS(((int64_t)1 << 62) + 1, 4)),
                   WEFT_E_OVERFLOW);
    assert_refused(s, weft_tensor_reshape(s, iota(s, 4), 9, DIMS(1, 1, 1, 1, 1, 1, 1, 1, 4)),
                   WEFT_E_SHAPE);
    assert_floats(weft_tensor_reshape(s, weft_full(s, WEFT_F32, 0, NULL, 3), 3, DIMS(1, 1, 1)), 3);
    assert_int_equal(weft_tensor_rank(weft_tensor_reshape(s, iota(s, 1, 1), 0, NULL)), 0);
}

static void writes_are_seen_by_all_sharers_and_by_no_copy(void **state) {
    bench *b = *state;
    weft_scope *s = b->heap;
    weft_tensor *m = zeros(s, 2, 3), *handle = weft_tensor_retain(m),
                *off = weft_tensor_detach(s, m);
    weft_tensor *copy = weft_tensor_copy(s, m), *column = weft_tensor_select(s, m, 1, 1);
    weft_tensor *rows = weft_tensor_expand(s, weft_tensor_select(s, m, 0, 1), 2, DIMS(2, 3));
    weft_tensor *row = weft_tensor_narrow(s, m, 0, 1, 1);
    weft_tensor *news = weft_from_data(s, WEFT_F32, 2, DIMS(1, 3), (float[]){7, 8, 9}, 12);
    assert_weft_ok(weft_slice_set(s, row, news, 0, 0));
    assert_floats(m, 0, 0, 0, 7, 8, 9);
    assert_floats(handle, 0, 0, 0, 7, 8, 9);
    assert_floats(off, 0, 0, 0, 7, 8, 9);
    assert_floats(column, 0, 8);
    assert_floats(rows, 7, 8, 9, 7, 8, 9);
    assert_floats(copy, 0, 0, 0, 0, 0, 0);
    assert_int_equal(weft_tensor_storage_version(off), 1);
    assert_int_equal(weft_tensor_storage_version(copy), 0);
    weft_tensor_release(&handle);
}

static void blocks_stay_whole(void **state) {
    bench *b = *state;
    weft_scope *s = b->heap;
    unsigned char data[3 * 2 * 18];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)i;
    weft_tensor *q =
        weft_tensor_retain(weft_from_data(s, WEFT_Q4_0, 2, DIMS(3, 64), data, sizeof data));
    weft_tensor *v = weft_tensor_narrow(s, q, 0, 1, 2), *parts[2];
    assert_ptr_equal(weft_tensor_data(v), (char *)weft_tensor_data(q) + 36);
    assert_dims(weft_tensor_select(s, q, 0, 2), 64);
    assert_weft_ok(weft_tensor_split(s, q, 0, (size_t[]){1, 2}, 2, parts));
    v = weft_tensor_narrow(s, q, 1, 32, 32);
    assert_ptr_equal(weft_tensor_data(v), (char *)weft_tensor_data(q) + 18);
    weft_tensor *copy = weft_tensor_copy(s, v); /* keeps the type, holds the range only */
    assert_int_equal(weft_tensor_dtype(copy), WEFT_Q4_0);
    assert_int_equal(weft_tensor_storage_bytes(copy), 54);
    unsigned char got[54];
    assert_weft_ok(weft_tensor_read(copy, got, sizeof got));
    for (int row = 0; row < 3; row++)
        assert_memory_equal(got + 18 * row, data + 36 * row + 18, 18);
    assert_refused(s, weft_tensor_narrow(s, q, 1, 16, 32), WEFT_E_LAYOUT);
    assert_refused(s, weft_tensor_narrow(s, q, 1, 0, 16), WEFT_E_LAYOUT);
    assert_refused(s, weft_tensor_select(s, q, 1, 0), WEFT_E_LAYOUT);
    assert_refused(s, weft_tensor_transpose(s, q, 0, 1), WEFT_E_LAYOUT);
    assert_refused(s, weft_tensor_slice(s, q, 1, 0, 64, 2), WEFT_E_LAYOUT);
    assert_refused(s, weft_tensor_reshape(s, q, 1, DIMS(192)), WEFT_E_LAYOUT);
    assert_refused(s, weft_tensor_reshape_copy(s, q, 2, DIMS(6, 32)), WEFT_E_LAYOUT);
    assert_refused(s, weft_tensor_unsqueeze(s, q, -1), WEFT_E_LAYOUT);
    weft_tensor_release(&q);
}

static void panels_are_cut_at_16_rows(void **state) {
    bench *b = *state;
    weft_scope *s = b->heap;
    weft_allocator system = weft_allocator_system();
    weft_tensor *p;
    assert_weft_ok(
        weft_tensor_create_heap(&system, WEFT_F32, WEFT_LAYOUT_PANEL16, 2, DIMS(40, 8), true, &p));
    size_t panel = weft_panel_bytes(WEFT_F32, 8);
    assert_int_equal(weft_tensor_storage_bytes(p), 3 * panel);
    memset(weft_tensor_data(p), 0, 3 * panel);
    char *first = weft_tensor_data(p);
    assert_ptr_equal(weft_tensor_data(weft_tensor_narrow(s, p, 0, 16, 16)), first + panel);
    weft_tensor *tail = weft_tensor_narrow(s, p, 0, 16, 24); /* to the end */
    assert_ptr_equal(weft_tensor_data(weft_tensor_narrow(s, tail, 0, 16, 8)), first + 2 * panel);
    assert_int_equal(weft_tensor_storage_bytes(weft_tensor_copy(s, tail)), 2 * panel);
    assert_refused(s, weft_tensor_narrow(s, p, 0, 8, 16), WEFT_E_LAYOUT);
    assert_refused(s, weft_tensor_narrow(s, p, 0, 16, 8), WEFT_E_LAYOUT);
    assert_refused(s, weft_tensor_narrow(s, p, 1, 0, 4), WEFT_E_LAYOUT);
    assert_refused(s, weft_tensor_select(s, p, 0, 0), WEFT_E_LAYOUT);
    assert_refused(s, weft_tensor_transpose(s, p, 0, 1), WEFT_E_LAYOUT);
    assert_refused(s, weft_tensor_reshape(s, p, 2, DIMS(80, 4)), WEFT_E_LAYOUT);
    assert_refused(s, weft_tensor_slice(s, p, 0, 0, 40, 2), WEFT_E_LAYOUT);
    float out[320];
    assert_weft_fails(weft_tensor_read(p, out, sizeof out), WEFT_E_LAYOUT);
    weft_tensor_release(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        bench_test(a_view_has_a_fresh_id_and_the_same_storage),
        bench_test(views_show_the_right_elements),
        bench_test(slices_follow_python),
        bench_test(split_and_chunk_cover_the_axis),
        bench_test(ranges_outside_are_refused_also_near_the_largest_integers),
        bench_test(reshape_never_copies_and_reshape_copy_may),
        bench_test(writes_are_seen_by_all_sharers_and_by_no_copy),
        bench_test(blocks_stay_whole),
        bench_test(panels_are_cut_at_16_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
