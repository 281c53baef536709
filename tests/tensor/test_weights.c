/* The weights map: what is put in is found, in order, and everything is released once. */
#include "tensor/weights.h"
#include "tensor_test.h"

static weft_tensor *make(bench *b, float value) {
    weft_tensor *t = weft_tensor_retain(weft_full(b->heap, WEFT_F32, 1, DIMS(1), value));
    weft_scope_reset(b->heap);
    return t;
}

static void names_are_found_and_keep_their_order(void **state) {
    bench *b = *state;
    weft_weights *w = weft_weights_create(&b->engine->allocator);
    char name[64];
    const char *at;
    assert_null(weft_weights_find(w, "missing"));
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "blk.%d.attn_q.weight", i);
        assert_weft_ok(weft_weights_take(w, name, make(b, (float)i)));
    }
    assert_int_equal(weft_weights_count(w), 5000);
    for (int i = 0; i < 5000; i += 7) {
        snprintf(name, sizeof name, "blk.%d.attn_q.weight", i);
        assert_floats(weft_weights_find(w, name), (float)i);
        assert_ptr_equal(weft_weights_at(w, (size_t)i, &at), weft_weights_find(w, name));
        assert_string_equal(at, name);
    }
    assert_null(weft_weights_find(w, "blk.5000.attn_q.weight"));
    assert_null(weft_weights_find(w, ""));
    assert_null(weft_weights_at(w, 5000, &at));
    assert_weft_ok(weft_weights_take(w, "", make(b, 1)));
    assert_non_null(weft_weights_find(w, ""));
    weft_weights_destroy(w);
    weft_weights_destroy(NULL);
}

static void a_name_that_exists_is_refused_and_its_tensor_released(void **state) {
    bench *b = *state; /* the teardown sees leaks */
    weft_weights *w = weft_weights_create(&b->engine->allocator);
    assert_weft_ok(weft_weights_take(w, "a", make(b, 1)));
    assert_weft_fails(weft_weights_take(w, "a", make(b, 2)), WEFT_E_FORMAT);
    assert_detail_has("'a'");
    assert_floats(weft_weights_find(w, "a"), 1);
    assert_weft_ok(weft_weights_replace(w, "a", make(b, 3)));
    assert_floats(weft_weights_find(w, "a"), 3);
    assert_weft_fails(weft_weights_replace(w, "b", make(b, 4)), WEFT_E_NOT_FOUND);
    assert_int_equal(weft_weights_count(w), 1);
    weft_weights_destroy(w);
}

static void out_of_memory_releases_what_was_given(void **state) {
    bench *b = *state;
    for (size_t n = 1; n < 6; n++) {
        counter c = {.system = weft_allocator_system(), .fail_at = n};
        weft_allocator a = {counter_alloc, counter_release, &c};
        weft_weights *w = weft_weights_create(&a);
        if (!w)
            continue;
        weft_status first = weft_weights_take(w, "a", make(b, 1));
        weft_status second = weft_weights_take(w, "b", make(b, 2));
        assert_true((first == WEFT_OK) + (second == WEFT_OK) >= 1);
        assert_true(first == WEFT_OK || first == WEFT_E_MEMORY);
        assert_int_equal(weft_weights_find(w, "b") != NULL, second == WEFT_OK);
        weft_weights_destroy(w);
        assert_int_equal(c.live_bytes, 0);
    }
}

#define HUGE_PAGE ((uintptr_t)2 << 20)

static uintptr_t address_of(const weft_tensor *t) {
    return (uintptr_t)t->storage->data;
}

/* [n_rows, 1024] f32 as panels of the map: 4 KiB a row. */
static weft_tensor *pack(bench *b, weft_weights *w, int64_t n_rows) {
    weft_tensor *panels;
    weft_tensor *rows = weft_full(b->heap, WEFT_F32, 2, DIMS(n_rows, 1024), 1);
    assert_weft_ok(weft_tensor_pack(b->engine, weft_weights_slabs(w), rows, &panels));
    weft_scope_reset(b->heap);
    return panels;
}

/* So that huge pages serve weights which have less than one. */
static void packed_weights_lie_one_after_the_other(void **state) {
    bench *b = *state;
    weft_weights *w = weft_weights_create(&b->engine->allocator);
    weft_tensor *t[4] = {pack(b, w, 64), pack(b, w, 32), pack(b, w, 1024), pack(b, w, 16)};
    assert_int_equal(address_of(t[0]) % HUGE_PAGE, 0);
    assert_int_equal(address_of(t[1]), address_of(t[0]) + 64 * 4096);
    assert_int_equal(address_of(t[2]) % HUGE_PAGE, 0); /* 4 MiB did not fit behind them */
    assert_int_equal(address_of(t[3]), address_of(t[1]) + 32 * 4096); /* this did */
    for (int i = 0; i < 4; i++) {
        assert_true(weft_tensor_is_immutable(t[i]));
        assert_float_equal(*(float *)weft_tensor_data(t[i]), 1, 0);
    }
    size_t before = b->count.live_bytes;
    weft_tensor_release(&t[2]); /* nothing else lay there */
    assert_true(before - b->count.live_bytes >= 2 * HUGE_PAGE);
    weft_weights_destroy(w);
    weft_tensor_release(&t[0]);
    weft_tensor_release(&t[3]);
    assert_float_equal(*(float *)weft_tensor_data(t[1]), 1, 0);
    weft_tensor_release(&t[1]); /* the teardown sees leaks */
}

static void slabs_without_memory_leave_the_map_as_it_was(void **state) {
    bench *b = *state;
    int n_failed = 0;
    for (size_t n = 1; n < 8; n++) {
        counter c = {.system = weft_allocator_system(), .fail_at = n};
        weft_allocator a = {counter_alloc, counter_release, &c};
        weft_weights *w = weft_weights_create(&a);
        for (int i = 0; i < 2 && w; i++) {
            weft_tensor *t = NULL;
            weft_status st =
                weft_tensor_create_panels(&a, weft_weights_slabs(w), WEFT_F32, DIMS(64, 64), &t);
            assert_true(st == WEFT_OK || st == WEFT_E_MEMORY);
            assert_int_equal(t != NULL, st == WEFT_OK);
            n_failed += st != WEFT_OK;
            weft_tensor_release(&t);
        }
        weft_weights_destroy(w);
        assert_int_equal(c.live_bytes, 0);
    }
    assert_int_equal(n_failed, 4);
    (void)b;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        bench_test(names_are_found_and_keep_their_order),
        bench_test(a_name_that_exists_is_refused_and_its_tensor_released),
        bench_test(out_of_memory_releases_what_was_given),
        bench_test(packed_weights_lie_one_after_the_other),
        bench_test(slabs_without_memory_leave_the_map_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
