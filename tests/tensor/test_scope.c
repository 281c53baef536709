/* Scopes: who owns results, what a failed scope does, and when an arena can be reset. */
#include <sys/wait.h>
#include "tensor_test.h"

static void a_result_lives_until_the_reset_unless_it_is_retained(void **state) {
    bench *b = *state;
    weft_tensor *kept = weft_tensor_retain(iota(b->heap, 2, 3));
    uint64_t id = weft_tensor_id(kept);
    assert_weft_ok(weft_scope_reset(b->heap));
    assert_int_equal(weft_tensor_id(kept), id);
    assert_floats(kept, 0, 1, 2, 3, 4, 5);
    weft_tensor_release(&kept);
    assert_null(kept);
}

static void a_retained_result_outlives_scope_and_engine(void **state) {
    (void)state;
    counter c = {0};
    weft_engine *engine;
    assert_weft_ok(counter_engine(&c, 1, &engine));
    for (int kind = WEFT_SCOPE_HEAP; kind <= WEFT_SCOPE_ARENA; kind++) {
        weft_scope *s;
        assert_weft_ok(weft_scope_create(engine, kind, &s));
        weft_tensor *kept = weft_tensor_retain(weft_tensor_transpose(s, iota(s, 2, 2), 0, 1));
        weft_scope_release(&s);
        assert_null(s);
        if (kind == WEFT_SCOPE_ARENA)
            weft_engine_release(&engine);
        assert_floats(kept, 0, 2, 1, 3);
        weft_tensor_release(&kept);
    }
    assert_int_equal(c.live_bytes, 0);
}

static void a_failed_scope_does_nothing_until_the_reset(void **state) {
    bench *b = *state;
    weft_tensor *t = zeros(b->heap, 4);
    assert_null(weft_tensor_narrow(b->heap, t, 0, 3, 2));
    assert_int_equal(weft_scope_status(b->heap), WEFT_E_RANGE);
    assert_non_null(strstr(weft_scope_detail(b->heap), "narrow"));
    assert_non_null(strstr(weft_scope_detail(b->heap), "[4]"));
    size_t n_allocs = b->count.n_allocs;
    assert_null(zeros(b->heap, 4));
    assert_null(weft_tensor_copy(b->heap, t));
    assert_null(weft_tensor_select(b->heap, t, 9, 0));
    assert_int_equal(weft_slice_set(b->heap, t, t, 0, 0), WEFT_E_RANGE); /* the first error stays */
    assert_int_equal(weft_scope_status(b->heap), WEFT_E_RANGE);
    assert_int_equal(b->count.n_allocs, n_allocs);
    assert_weft_ok(weft_scope_reset(b->heap));
    assert_int_equal(weft_scope_status(b->heap), WEFT_OK);
    assert_string_equal(weft_scope_detail(b->heap), "");
    assert_non_null(zeros(b->heap, 4));
}

static void null_tensors_give_null_and_a_status_that_names_the_op(void **state) {
    bench *b = *state;
    assert_refused(b->heap, weft_tensor_copy(b->heap, NULL), WEFT_E_NULL);
    assert_null(weft_tensor_narrow(b->heap, NULL, 0, 0, 1));
    assert_non_null(strstr(weft_scope_detail(b->heap), "narrow"));
    weft_scope_reset(b->heap);
    assert_null(weft_tensor_copy(NULL, NULL));
    assert_int_equal(weft_scope_status(NULL), WEFT_E_NULL);
    assert_null(weft_tensor_retain(NULL));
    weft_tensor_release(NULL);
    weft_tensor *none = NULL;
    weft_tensor_release(&none);
    weft_scope_release(NULL);
    weft_scope *out;
    assert_weft_fails(weft_scope_create(NULL, WEFT_SCOPE_HEAP, &out), WEFT_E_NULL);
    assert_weft_fails(weft_scope_create(b->engine, WEFT_SCOPE_HEAP, NULL), WEFT_E_NULL);
    assert_weft_fails(weft_scope_create(b->engine, 7, &out), WEFT_E_ARGUMENT);
}

static void nested_calls_need_one_check_at_the_end(void **state) {
    bench *b = *state;
    weft_scope *s = b->arena;
    weft_tensor *t = weft_tensor_copy(
        s, weft_tensor_transpose(s, weft_tensor_select(s, zeros(s, 2, 3), 0, 5), 0, 1));
    assert_null(t);
    assert_weft_fails(weft_scope_status(s), WEFT_E_RANGE);
    assert_non_null(strstr(weft_scope_detail(s), "select"));
}

static void an_arena_with_a_tensor_retained_outside_cannot_be_reset(void **state) {
    bench *b = *state;
    weft_tensor *t = weft_tensor_retain(iota(b->arena, 3));
    assert_weft_fails(weft_scope_reset(b->arena), WEFT_E_RETAINED);
    assert_floats(t, 0, 1, 2); /* nothing changed */
    assert_non_null(zeros(b->arena, 2));
    assert_floats(t, 0, 1, 2);
    weft_tensor_release(&t);
    assert_weft_ok(weft_scope_reset(b->arena));
}

static void views_made_in_another_scope_hold_an_arena_too(void **state) {
    bench *b = *state;
    weft_tensor *t = iota(b->arena, 4);
    weft_tensor *view = weft_tensor_narrow(b->heap, t, 0, 1, 2);
    assert_weft_fails(weft_scope_reset(b->arena), WEFT_E_RETAINED);
    weft_tensor *kept = weft_tensor_retain(view);
    assert_weft_ok(weft_scope_reset(b->heap));
    assert_weft_fails(weft_scope_reset(b->arena), WEFT_E_RETAINED);
    assert_floats(kept, 1, 2);
    weft_tensor_release(&kept);
    assert_weft_ok(weft_scope_reset(b->arena));

    t = iota(b->arena, 4);
    assert_ptr_equal(weft_tensor_contiguous(b->heap, t), t);
    assert_weft_fails(weft_scope_reset(b->arena), WEFT_E_RETAINED);
    assert_weft_ok(weft_scope_reset(b->heap));
    assert_weft_ok(weft_scope_reset(b->arena));
}

static void copies_leave_an_arena_free(void **state) {
    bench *b = *state;
    weft_tensor *copy = weft_tensor_copy(b->heap, iota(b->arena, 3));
    assert_weft_ok(weft_scope_reset(b->arena));
    weft_full(b->arena, WEFT_F32, 1, DIMS(3), 9);
    assert_floats(copy, 0, 1, 2);
}

static void an_arena_view_of_a_heap_tensor_lets_go_on_reset(void **state) {
    bench *b = *state;
    weft_tensor *base = weft_tensor_retain(zeros(b->heap, 100000));
    weft_scope_reset(b->heap);
    weft_tensor_select(b->arena, base, 0, 1);
    size_t live = b->count.live_bytes;
    weft_tensor_release(&base);
    assert_int_equal(b->count.live_bytes, live); /* the view still needs it */
    assert_weft_ok(weft_scope_reset(b->arena));
    assert_true(b->count.live_bytes < live - 100000);
}

static void discard_gives_one_result_back_early(void **state) {
    bench *b = *state;
    weft_tensor *first = zeros(b->heap, 100), *big = zeros(b->heap, 1000), *last = iota(b->heap, 2);
    size_t n_allocs = b->count.n_allocs;
    const void *where = weft_tensor_data(big);
    assert_weft_ok(weft_scope_discard(b->heap, &big));
    assert_null(big);
    assert_ptr_equal(weft_tensor_data(zeros(b->heap, 1000)), where); /* serves again */
    assert_int_equal(b->count.n_allocs, n_allocs);
    assert_weft_ok(weft_scope_discard(b->heap, &first));
    assert_floats(last, 0, 1);
    weft_tensor *elsewhere = zeros(b->arena, 3), *alias = elsewhere;
    assert_weft_fails(weft_scope_discard(b->heap, &elsewhere), WEFT_E_ARGUMENT);
    assert_ptr_equal(elsewhere, alias);
    assert_weft_ok(weft_scope_discard(b->arena, &elsewhere));
    assert_weft_fails(weft_scope_discard(b->arena, &elsewhere), WEFT_E_NULL);
}

static void discarding_in_any_order_keeps_the_scope_small(void **state) {
    bench *b = *state;
    weft_tensor *queue[50] = {0};
    size_t live = 0;
    for (int i = 0; i < 20000; i++) { /* oldest first */
        if (queue[i % 50])
            assert_weft_ok(weft_scope_discard(b->heap, &queue[i % 50]));
        queue[i % 50] = weft_full(b->heap, WEFT_I32, 1, DIMS(1), i);
        if (i == 1000)
            live = b->count.live_bytes;
    }
    assert_int_equal(b->count.live_bytes, live);
    for (int i = 0; i < 50; i++) {
        int32_t value;
        assert_weft_ok(weft_tensor_read(queue[i], &value, 4));
        assert_int_equal(value, 19950 + i);
    }
}

static void contiguous_gives_the_scope_a_reference_of_its_own(void **state) {
    bench *b = *state;
    weft_tensor *t = weft_tensor_retain(iota(b->heap, 2, 2));
    weft_scope_reset(b->heap);
    weft_tensor *same = weft_tensor_contiguous(b->heap, t);
    assert_ptr_equal(same, t);
    weft_tensor_release(&t);
    assert_floats(same, 0, 1, 2, 3); /* the scope's */
    assert_weft_ok(weft_scope_discard(b->heap, &same));
    t = iota(b->heap, 2, 2);
    same = weft_tensor_contiguous(b->heap, t);
    assert_weft_ok(weft_scope_discard(b->heap, &same));
    assert_floats(t, 0, 1, 2, 3); /* both were results */
    assert_ptr_not_equal(weft_tensor_contiguous(b->heap, weft_tensor_transpose(b->heap, t, 0, 1)),
                         t);
}

static void a_forked_child_is_told_so(void **state) {
    (void)state;
    skip_without_fork_notice();
    counter c = {0};
    weft_engine *engine;
    weft_scope *s;
    assert_weft_ok(counter_engine(&c, 1, &engine));
    assert_weft_ok(weft_scope_create(engine, WEFT_SCOPE_HEAP, &s));
    weft_tensor *t = zeros(s, 2);
    pid_t child = fork();
    if (child == 0) {
        weft_scope *other;
        bool told = !weft_tensor_copy(s, t) && weft_scope_status(s) == WEFT_E_FORKED &&
                    weft_scope_create(engine, WEFT_SCOPE_HEAP, &other) == WEFT_E_FORKED &&
                    weft_scope_reset(s) == WEFT_E_FORKED;
        _exit(told ? 0 : 1);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
    assert_non_null(weft_tensor_copy(s, t));
    weft_scope_release(&s);
    weft_engine_release(&engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        bench_test(a_result_lives_until_the_reset_unless_it_is_retained),
        cmocka_unit_test(a_retained_result_outlives_scope_and_engine),
        bench_test(a_failed_scope_does_nothing_until_the_reset),
        bench_test(null_tensors_give_null_and_a_status_that_names_the_op),
        bench_test(nested_calls_need_one_check_at_the_end),
        bench_test(an_arena_with_a_tensor_retained_outside_cannot_be_reset),
        bench_test(views_made_in_another_scope_hold_an_arena_too),
        bench_test(copies_leave_an_arena_free),
        bench_test(an_arena_view_of_a_heap_tensor_lets_go_on_reset),
        bench_test(discard_gives_one_result_back_early),
        bench_test(discarding_in_any_order_keeps_the_scope_small),
        bench_test(contiguous_gives_the_scope_a_reference_of_its_own),
        cmocka_unit_test(a_forked_child_is_told_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
