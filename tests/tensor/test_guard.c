/* Locks: no call waits for its own thread, no two threads wait for each other, and readers never
 * see half a write. */
#include <pthread.h>
#include "base/clock.h"
#include "tensor_test.h"

#define SECONDS 2.0
#define SMALL 64

/* ---- One thread ---- */

typedef struct inside {
    bench *b;
    weft_tensor *mine, *other, *fixed;
} inside;

/* Everything that an in-place callback may try. */
static weft_status call_back(void *ctx, const weft_raw *args) {
    inside *in = ctx;
    weft_scope *s = in->b->arena;
    void *data;
    const void *read;
    float out[2];
    (void)args;
    assert_refused(s, weft_tensor_copy(s, in->mine), WEFT_E_REENTRANT);
    assert_refused(s, weft_tensor_copy(s, in->other), WEFT_E_REENTRANT);
    assert_refused(s, weft_add(s, in->other, in->other), WEFT_E_REENTRANT);
    assert_weft_fails(weft_slice_set(s, in->other, zeros(s, 2), 0, 0), WEFT_E_REENTRANT);
    weft_scope_reset(s);
    assert_weft_fails(weft_inplace_op1(s, in->other, call_back, ctx), WEFT_E_REENTRANT);
    weft_scope_reset(s);
    assert_weft_fails(weft_tensor_map_read(in->mine, &read), WEFT_E_REENTRANT);
    assert_weft_fails(weft_tensor_map_write(in->other, &data), WEFT_E_REENTRANT);
    assert_weft_fails(weft_tensor_read(in->mine, out, sizeof out), WEFT_E_REENTRANT);
    /* What takes no lock works: headers, fresh tensors, immutable storages. */
    assert_non_null(weft_tensor_narrow(s, in->mine, 0, 0, 1));
    assert_non_null(zeros(s, 2));
    assert_non_null(weft_tensor_copy(s, in->fixed));
    assert_weft_ok(weft_tensor_read(in->fixed, out, sizeof out));
    weft_scope_reset(s);
    return weft_scope_reset(in->b->heap); /* frees dst, but not before the call is over */
}

static void a_callback_that_would_wait_for_itself_is_told(void **state) {
    bench *b = *state;
    static float fixed[2] = {1, 2};
    weft_scope *outer;
    assert_weft_ok(weft_scope_create(b->engine, WEFT_SCOPE_HEAP, &outer));
    inside in = {b, zeros(b->heap, 2), zeros(outer, 2),
                 weft_tensor_wrap(outer, WEFT_F32, 1, DIMS(2), fixed, 8, true)};
    assert_weft_ok(weft_inplace_op1(outer, in.mine, call_back, &in));
    assert_floats(in.other, 0, 0); /* and afterwards all is free again */
    assert_non_null(weft_tensor_copy(outer, in.other));
    weft_scope_release(&outer);
}

static void a_mapping_keeps_its_tensor_through_a_reset(void **state) {
    bench *b = *state;
    weft_tensor *t = iota(b->heap, 2);
    void *data;
    assert_weft_ok(weft_tensor_map_write(t, &data));
    assert_weft_ok(weft_scope_reset(b->heap));
    ((float *)data)[1] = 8;
    weft_tensor_unmap(t); /* gone now */
    assert_non_null(weft_tensor_copy(b->heap, iota(b->heap, 2)));
}

static void unmapping_frees_the_locks(void **state) {
    bench *b = *state;
    weft_scope *s = b->heap;
    weft_tensor *t = iota(s, 2, 2), *u = zeros(s, 2), *row = weft_tensor_select(s, t, 0, 1);
    void *data;
    const void *read;
    assert_weft_ok(weft_tensor_map_write(row, &data));
    ((float *)data)[0] = 9;
    weft_tensor_unmap(u); /* not mapped: nothing happens */
    assert_weft_fails(weft_tensor_map_read(u, &read), WEFT_E_REENTRANT);
    weft_tensor_unmap(row);
    weft_tensor_unmap(row);
    assert_floats(t, 0, 1, 9, 3);
    assert_int_equal(weft_tensor_storage_version(t), 1);
    weft_access list[] = {{t, false, NULL}, {row, true, NULL}, {u, false, NULL}};
    assert_weft_ok(weft_tensor_map_all(list, 3));
    assert_ptr_equal((float *)list[0].data + 2, list[1].data);
    weft_tensor_unmap_all(list, 3);
    assert_null(list[1].data);
    assert_weft_ok(weft_tensor_map_read(t, &read));
    weft_tensor_unmap(t);
    list[2].tensor = NULL;
    assert_weft_fails(weft_tensor_map_all(list, 3), WEFT_E_NULL);
    assert_weft_fails(weft_tensor_map_all(list, 9), WEFT_E_ARGUMENT);
    assert_weft_fails(weft_tensor_map_read(t, NULL), WEFT_E_NULL);
    assert_non_null(weft_tensor_copy(s, t));
}

static void a_mapped_arena_cannot_be_reset(void **state) {
    bench *b = *state;
    const void *read;
    weft_tensor *t = iota(b->arena, 2);
    assert_weft_ok(weft_tensor_map_read(t, &read));
    assert_weft_fails(weft_scope_reset(b->arena), WEFT_E_RETAINED);
    weft_tensor_unmap(t);
    assert_weft_ok(weft_scope_reset(b->arena));
}

/* ---- Many threads ---- */

typedef struct worker {
    pthread_t thread;
    weft_engine *engine;
    weft_tensor *tensors[4];
    int index;
    double until;
    size_t n_calls;
    const char *wrong; /* cmocka's own asserts belong to the main thread */
} worker;

static void run_workers(bench *b, int n, weft_tensor **tensors, int n_tensors,
                        void *(*body)(void *)) {
    worker workers[8] = {0};
    double until = weft_clock_seconds() + SECONDS;
    for (int i = 0; i < n; i++) {
        workers[i].engine = b->engine;
        workers[i].index = i;
        workers[i].until = until;
        for (int j = 0; j < n_tensors; j++)
            workers[i].tensors[j] = tensors[j];
        assert_int_equal(pthread_create(&workers[i].thread, NULL, body, &workers[i]), 0);
    }
    for (int i = 0; i < n; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < n; i++) {
        if (workers[i].wrong)
            fail_msg("thread %d: %s", i, workers[i].wrong);
        assert_true(workers[i].n_calls > 10);
    }
}

/* Between two halves of one storage it is an error at once; between two storages both directions
 * work, and neither thread waits for ever. */
static void *slice_crosswise(void *ctx) {
    worker *w = ctx;
    weft_scope *s;
    if (weft_scope_create(w->engine, WEFT_SCOPE_ARENA, &s))
        return NULL;
    weft_tensor *a = w->tensors[w->index % 2], *b = w->tensors[1 - w->index % 2];
    weft_tensor *c = w->tensors[2 + w->index % 2], *d = w->tensors[3 - w->index % 2];
    while (weft_clock_seconds() < w->until && !w->wrong) {
        for (int i = 0; i < 20; i++) {
            if (weft_slice_set(s, a, b, 0, 0) != WEFT_E_SAME_STORAGE)
                w->wrong = "two views of one storage were accepted";
            weft_scope_reset(s);
            if (weft_slice_set(s, c, d, 0, 0) != WEFT_OK)
                w->wrong = weft_status_name(weft_scope_status(s));
            w->n_calls++;
        }
        weft_scope_reset(s);
    }
    weft_scope_release(&s);
    return NULL;
}

static void crosswise_slice_sets_never_hang(void **state) {
    bench *b = *state;
    weft_tensor *m = zeros(b->heap, 2 * SMALL);
    weft_tensor *tensors[] = {weft_tensor_narrow(b->heap, m, 0, 0, SMALL),
                              weft_tensor_narrow(b->heap, m, 0, SMALL, SMALL),
                              zeros(b->heap, SMALL), zeros(b->heap, SMALL)};
    run_workers(b, 2, tensors, 4, slice_crosswise);
    assert_int_equal(weft_tensor_storage_version(m), 0);
}

static weft_status increment(void *ctx, const weft_raw *args) {
    (void)ctx;
    for (int64_t i = 0; i < args[0].dims[0]; i++)
        ((float *)args[0].data)[i] += 1;
    return WEFT_OK;
}

static void *inplace_storm(void *ctx) {
    worker *w = ctx;
    weft_scope *s;
    if (weft_scope_create(w->engine, WEFT_SCOPE_ARENA, &s))
        return NULL;
    for (unsigned i = (unsigned)w->index; !w->wrong; i++) {
        weft_tensor *x = w->tensors[i % 3], *y = w->tensors[(i + 1 + i / 3 % 2) % 3];
        weft_tensor *z = w->tensors[(i + 2 - i / 3 % 2) % 3];
        weft_status status = i % 2 ? weft_inplace_op2(s, x, y, increment, NULL)
                                   : weft_inplace_op3(s, x, y, z, increment, NULL);
        if (status)
            w->wrong = weft_status_name(status);
        w->n_calls++;
        if (i % 64 == 0 && weft_clock_seconds() > w->until)
            break;
    }
    weft_scope_release(&s);
    return NULL;
}

static void in_place_calls_of_eight_threads_in_any_order_all_count(void **state) {
    bench *b = *state;
    weft_tensor *tensors[] = {zeros(b->heap, 4), zeros(b->heap, 4), zeros(b->heap, 4)};
    run_workers(b, 8, tensors, 3, inplace_storm);
    for (int i = 0; i < 3; i++) { /* no increment was lost */
        float got[4];
        assert_weft_ok(weft_tensor_read(tensors[i], got, sizeof got));
        uint64_t n = weft_tensor_storage_version(tensors[i]);
        float expected = n < (1u << 24) ? (float)n : (float)(1u << 24);
        for (int j = 0; j < 4; j++)
            assert_true(got[j] == expected);
    }
}

static void *read_or_write(void *ctx) {
    worker *w = ctx;
    weft_scope *s;
    float got[SMALL];
    if (weft_scope_create(w->engine, w->index % 2 ? WEFT_SCOPE_HEAP : WEFT_SCOPE_ARENA, &s))
        return NULL;
    while (weft_clock_seconds() < w->until && !w->wrong) {
        weft_tensor *value = weft_full(s, WEFT_F32, 1, DIMS(SMALL), (double)w->n_calls);
        if (w->index < 2) {
            weft_slice_set(s, w->tensors[0], value, 0, 0);
        } else if (w->index < 4) {
            weft_tensor *copy = weft_tensor_copy(s, w->tensors[0]);
            weft_tensor_read(copy, got, sizeof got);
        } else if (w->index < 5) {
            const void *data;
            if (weft_tensor_map_read(w->tensors[0], &data))
                w->wrong = "map";
            else
                memcpy(got, data, sizeof got);
            weft_tensor_unmap(w->tensors[0]);
        } else {
            weft_tensor_read(w->tensors[0], got, sizeof got);
        }
        for (int i = 1; w->index >= 2 && i < SMALL; i++)
            if (got[i] != got[0])
                w->wrong = "half a write was seen";
        if (weft_scope_status(s))
            w->wrong = weft_status_name(weft_scope_status(s));
        weft_scope_reset(s);
        w->n_calls++;
    }
    weft_scope_release(&s);
    return NULL;
}

static void readers_see_whole_writes_and_nobody_starves(void **state) {
    bench *b = *state;
    weft_tensor *tensors[] = {zeros(b->heap, SMALL)};
    run_workers(b, 8, tensors, 1, read_or_write);
}

static void *retain_and_release(void *ctx) {
    worker *w = ctx;
    while (weft_clock_seconds() < w->until - SECONDS / 2) {
        for (int i = 0; i < 100; i++) {
            weft_tensor *t = weft_tensor_retain(w->tensors[i % 2]);
            weft_tensor_release(&t);
            w->n_calls++;
        }
    }
    return NULL;
}

static void references_are_counted_from_any_thread(void **state) {
    bench *b = *state;
    weft_tensor *tensors[] = {zeros(b->heap, 4), zeros(b->arena, 4)};
    run_workers(b, 4, tensors, 2, retain_and_release);
    assert_weft_ok(weft_scope_reset(b->arena));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        bench_test(a_callback_that_would_wait_for_itself_is_told),
        bench_test(a_mapping_keeps_its_tensor_through_a_reset),
        bench_test(unmapping_frees_the_locks),
        bench_test(a_mapped_arena_cannot_be_reset),
        bench_test(crosswise_slice_sets_never_hang),
        bench_test(in_place_calls_of_eight_threads_in_any_order_all_count),
        bench_test(readers_see_whole_writes_and_nobody_starves),
        bench_test(references_are_counted_from_any_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
