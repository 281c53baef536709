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

int main(void) {
    const struct CMUnitTest tests[] = {
        bench_test(names_are_found_and_keep_their_order),
        bench_test(a_name_that_exists_is_refused_and_its_tensor_released),
        bench_test(out_of_memory_releases_what_was_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
