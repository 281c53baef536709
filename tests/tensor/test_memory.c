/* How much memory calls take: nothing for retain, a header for views, the elements for copies, no
 * allocation at all in a warm arena; and what happens when there is none. */
#include "tensor_test.h"

#define MIB ((size_t)1 << 20)

/* What the calls between the two took. */
#define measure_begin(b) const size_t before[2] = {(b)->count.n_allocs, (b)->count.total_bytes}
#define n_taken(b) ((b)->count.n_allocs - before[0])
#define bytes_taken(b) ((b)->count.total_bytes - before[1])

static void retain_takes_nothing(void **state) {
    bench *b = *state;
    weft_tensor *t = zeros(b->heap, 1000);
    measure_begin(b);
    weft_tensor *handle = weft_tensor_retain(t);
    assert_ptr_equal(handle, t);
    assert_int_equal(weft_tensor_id(handle), weft_tensor_id(t));
    assert_int_equal(n_taken(b), 0);
    weft_tensor_release(&handle);
}

static void a_copy_of_64_mib_takes_64_mib(void **state) {
    bench *b = *state;
    weft_tensor *t = zeros(b->heap, 4096, 4096);
    measure_begin(b);
    weft_tensor *copy = weft_tensor_copy(b->heap, t);
    assert_true(bytes_taken(b) >= 64 * MIB && bytes_taken(b) < 64 * MIB + 1024);
    assert_int_equal(weft_tensor_storage_bytes(copy), 64 * MIB);
    assert_int_not_equal(weft_tensor_id(copy), weft_tensor_id(t));
    assert_false(weft_tensor_same_storage(copy, t));
}

static void a_copy_of_one_row_takes_the_row(void **state) {
    bench *b = *state;
    weft_tensor *row = weft_tensor_narrow(b->heap, zeros(b->heap, 4096, 4096), 0, 7, 1);
    measure_begin(b);
    weft_tensor *copy = weft_tensor_copy(b->heap, row);
    assert_true(bytes_taken(b) < 4096 * sizeof(float) + 1024);
    assert_int_equal(weft_tensor_storage_bytes(copy), 4096 * sizeof(float));
}

static void a_view_takes_one_small_block_and_in_a_warm_arena_none(void **state) {
    bench *b = *state;
    weft_tensor *t = zeros(b->heap, 64, 64);
    assert_true(sizeof *t <= 256); /* the header: 4 cache lines */
    for (int pass = 0; pass < 2; pass++) {
        measure_begin(b);
        assert_non_null(weft_tensor_narrow(b->heap, t, 0, 1, 2));
        assert_int_equal(n_taken(b), 1);
        assert_true(bytes_taken(b) <= 320);
        assert_non_null(weft_tensor_detach(b->heap, t));
        assert_int_equal(n_taken(b), 2);
    }
    weft_tensor_narrow(b->arena, t, 0, 1, 2);
    measure_begin(b);
    weft_tensor_transpose(b->arena, t, 0, 1);
    assert_int_equal(n_taken(b), 0);
}

static void small_results_take_one_block(void **state) {
    bench *b = *state;
    zeros(b->heap, 1);
    measure_begin(b);
    zeros(b->heap, 16);
    assert_int_equal(n_taken(b), 1);
    assert_true(bytes_taken(b) < 1024);
}

static void one_step(weft_scope *s, weft_tensor *weights, int64_t n) {
    weft_tensor *x = zeros(s, n, 64);
    for (int layer = 0; layer < 40; layer++) {
        weft_tensor *copy = weft_tensor_copy(s, weft_tensor_transpose(s, x, 0, 1));
        weft_tensor_narrow(s, weights, 0, 1, 2);
        assert_non_null(weft_scope_scratch(s, "step", (size_t)n * 100));
        x = weft_tensor_reshape(s, copy, 2, DIMS(n, 64));
        weft_tensor_contiguous(s, x);
        weft_tensor *early = weft_tensor_copy(s, x);
        assert_weft_ok(weft_scope_discard(s, &early));
    }
    assert_weft_ok(weft_scope_status(s));
}

static void a_steady_state_in_an_arena_allocates_nothing(void **state) {
    bench *b = *state;
    weft_tensor *weights = zeros(b->heap, 8, 8);
    for (int i = 0; i < 3; i++) {
        one_step(b->arena, weights, 200);
        assert_weft_ok(weft_scope_reset(b->arena));
    }
    measure_begin(b);
    for (int i = 0; i < 50; i++) {
        one_step(b->arena, weights, i % 2 ? 200 : 50);
        assert_weft_ok(weft_scope_reset(b->arena));
    }
    assert_int_equal(n_taken(b), 0);
}

/* Small blocks are kept as well: a warm heap scope allocates nothing for steps of few elements. */
static void a_steady_state_of_small_results_allocates_nothing(void **state) {
    bench *b = *state;
    weft_tensor *weights = weft_tensor_retain(zeros(b->heap, 8, 8));
    for (int i = 0; i < 3; i++) {
        assert_weft_ok(weft_scope_reset(b->heap));
        one_step(b->heap, weights, 20);
    }
    size_t live = b->count.live_bytes;
    measure_begin(b);
    for (int i = 0; i < 50; i++) {
        assert_weft_ok(weft_scope_reset(b->heap));
        one_step(b->heap, weights, 20);
    }
    assert_int_equal(n_taken(b), 0);
    assert_int_equal(b->count.live_bytes, live);
    weft_tensor_release(&weights);
    /* What is kept is bounded, whatever sizes came and went. */
    assert_weft_ok(weft_scope_reset(b->heap));
    for (int64_t n = 1; n < 8000; n += 16)
        for (int i = 0; i < 4; i++) {
            zeros(b->heap, n);
            assert_weft_ok(weft_scope_reset(b->heap));
        }
    assert_true(b->count.live_bytes < live + 2 * MIB);
}

static void a_heap_scope_uses_big_blocks_again(void **state) {
    bench *b = *state;
    void *where[3];
    for (int i = 0; i < 3; i++) {
        where[i] = weft_tensor_data(zeros(b->heap, 1024, 1024));
        measure_begin(b);
        weft_tensor *other = zeros(b->heap, 1024, 1000);
        if (i > 0)
            assert_true(bytes_taken(b) < 1024);
        assert_weft_ok(weft_scope_discard(b->heap, &other));
        assert_weft_ok(weft_scope_reset(b->heap));
    }
    assert_ptr_equal(where[0], where[1]);
    assert_ptr_equal(where[1], where[2]);
    size_t live = b->count.live_bytes;
    for (int i = 0; i < 4; i++) /* blocks that nobody asks for go back */
        weft_scope_reset(b->heap);
    assert_true(b->count.live_bytes < live - 4 * MIB);
}

static void data_is_aligned_for_vectors(void **state) {
    bench *b = *state;
    for (int64_t n = 0; n < 40000; n = n * 3 + 1) {
        assert_int_equal((uintptr_t)weft_tensor_data(zeros(b->heap, n)) % 64, 0);
        assert_int_equal((uintptr_t)weft_tensor_data(zeros(b->arena, n)) % 64, 0);
    }
}

/* A bit of everything; any allocation in it may fail. */
static weft_status everything(counter *c) {
    weft_engine *engine = NULL;
    weft_status status = counter_engine(c, 2, &engine);
    for (int kind = WEFT_SCOPE_HEAP; !status && kind <= WEFT_SCOPE_ARENA; kind++) {
        weft_scope *s = NULL;
        weft_tensor *parts[2], *kept = NULL;
        status = weft_scope_create(engine, kind, &s);
        if (status)
            break;
        for (int round = 0; round < 2 && !status; round++) {
            weft_tensor *t = iota(s, 100, 100);
            weft_tensor *copy = weft_tensor_copy(s, weft_tensor_transpose(s, t, 0, 1));
            weft_tensor_split(s, copy, 0, (size_t[]){40, 60}, 2, parts);
            weft_tensor_reshape_copy(s, weft_tensor_transpose(s, copy, 0, 1), 1, DIMS(10000));
            weft_tensor *var = weft_var_create(s, parts[0]);
            weft_var_set(s, var, weft_tensor_copy(s, var));
            weft_slice_set(s, copy, zeros(s, 2, 100), 0, 3);
            weft_scope_scratch(s, "test", 100000);
            for (int i = 0; i < 100; i++)
                weft_tensor_contiguous(s, weft_tensor_select(s, t, 0, 1));
            status = weft_scope_status(s);
            if (round == 0) {
                kept = weft_tensor_retain(weft_tensor_copy(s, t));
                weft_tensor_release(&kept);
                status = weft_scope_status(s);
                weft_scope_reset(s);
            } else {
                kept = weft_tensor_retain(weft_tensor_detach(s, t));
                status = weft_scope_status(s);
            }
        }
        weft_scope_release(&s);
        weft_tensor_release(&kept);
    }
    weft_engine_release(&engine);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    counter plain = {0};
    assert_weft_ok(everything(&plain));
    assert_int_equal(plain.live_bytes, 0);
    size_t n_allocs = plain.n_allocs, n_failed = 0;
    assert_true(n_allocs > 50);
    for (size_t n = 1; n <= n_allocs; n++) {
        counter c = {.fail_at = n};
        weft_status status = everything(&c);
        if (status != WEFT_OK) { /* OK: an emptied pool or a smaller chunk helped */
            assert_weft_fails(status, WEFT_E_MEMORY);
            assert_string_not_equal(weft_detail(), "");
            n_failed++;
        }
        assert_int_equal(c.live_bytes, 0);
        assert_int_equal(c.live_blocks, 0);
    }
    assert_true(n_failed > n_allocs / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        bench_test(retain_takes_nothing),
        bench_test(a_copy_of_64_mib_takes_64_mib),
        bench_test(a_copy_of_one_row_takes_the_row),
        bench_test(a_view_takes_one_small_block_and_in_a_warm_arena_none),
        bench_test(small_results_take_one_block),
        bench_test(a_steady_state_in_an_arena_allocates_nothing),
        bench_test(a_steady_state_of_small_results_allocates_nothing),
        bench_test(a_heap_scope_uses_big_blocks_again),
        bench_test(data_is_aligned_for_vectors),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
