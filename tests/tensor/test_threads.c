/* Eight threads on the same tensors: ops that read them give the bits that one thread gets, and
 * storms of in-place calls in opposite orders end, each write whole. Made for the thread
 * sanitizer (the tsan preset) as well. */
#include <pthread.h>
#include "base/clock.h"
#include "tensor_test.h"

enum { THREADS = 8, N = 96, N_SHARED = 4 };
#define SECONDS 0.7

typedef struct worker {
    pthread_t thread;
    weft_engine *engine;
    weft_tensor **shared; /* [N_SHARED] */
    int index;
    double until;
    size_t n_calls;
    const char *wrong; /* cmocka's own asserts belong to the main thread */
} worker;

static void run_workers(bench *b, weft_tensor **shared, void *(*body)(void *)) {
    worker workers[THREADS] = {0};
    double until = weft_clock_seconds() + SECONDS;
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.engine = b->engine, .shared = shared, .index = i, .until = until};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, body, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < THREADS; i++) {
        if (workers[i].wrong)
            fail_msg("thread %d: %s", i, workers[i].wrong);
        assert_true(workers[i].n_calls > 0);
    }
}

/* ---- Reading ---- */

/* Views, maps, reductions, products and a sort of two shared matrices, as one vector [N]. */
static weft_tensor *work_on(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    weft_tensor *p = weft_matmul(s, weft_add(s, a, b), weft_tensor_transpose(s, b, 0, 1));
    weft_tensor *q = weft_softmax(s, weft_mul_scalar(s, p, 1e-4), 1);
    weft_tensor *r = weft_sort(s, weft_concat(s, (weft_tensor *[]){q, a}, 2, 1), 1, true);
    return weft_add(
        s, weft_sum(s, r, 1, false),
        weft_max(s, weft_broadcast_mul(s, p, weft_tensor_select(s, a, 0, 1)), 0, false));
}

static void *read_shared(void *ctx) {
    worker *w = ctx;
    weft_scope *s;
    float want[N], got[N];
    if (weft_scope_create(w->engine, w->index % 2 ? WEFT_SCOPE_ARENA : WEFT_SCOPE_HEAP, &s) ||
        weft_tensor_read(w->shared[2], want, sizeof want)) {
        w->wrong = "beginning";
        return NULL;
    }
    while (weft_clock_seconds() < w->until && !w->wrong) {
        weft_tensor *a = weft_tensor_retain(w->shared[0]);
        weft_tensor *y = work_on(s, a, w->shared[1]);
        if (!y || weft_tensor_read(y, got, sizeof got))
            w->wrong = weft_status_name(weft_scope_status(s));
        else if (memcmp(got, want, sizeof want) != 0)
            w->wrong = "other bits than one thread's";
        weft_tensor_release(&a);
        weft_scope_reset(s);
        w->n_calls++;
    }
    weft_scope_release(&s);
    return NULL;
}

/* In reproducible mode, where no library with threads that the sanitizer cannot see takes part. */
static void threads_that_read_the_same_tensors_get_the_same_bits(void **state) {
    bench *b = *state, own = {0};
    weft_engine_options options = weft_engine_options_default();
    options.n_threads = 2;
    options.numbers = WEFT_NUMBERS_REPRODUCIBLE;
    options.allocator = (weft_allocator){counter_alloc, counter_release, &b->count};
    assert_weft_ok(weft_engine_create(&options, &own.engine));
    assert_weft_ok(weft_scope_create(own.engine, WEFT_SCOPE_HEAP, &own.heap));
    weft_tensor *x = weft_random_normal(own.heap, WEFT_F32, 2, DIMS(N, N), 0, 1, 1);
    weft_tensor *y = weft_random_normal(own.heap, WEFT_F32, 2, DIMS(N, N), 0, 1, 2);
    weft_tensor *shared[N_SHARED] = {x, y, work_on(own.heap, x, y)};
    assert_weft_ok(weft_scope_status(own.heap));
    run_workers(&own, shared, read_shared);
    assert_int_equal(weft_tensor_storage_version(x), 0);
    weft_scope_release(&own.heap);
    weft_engine_release(&own.engine);
}

/* ---- Writing ---- */

static weft_status take_second(void *ctx, const weft_raw *args) {
    (void)ctx;
    memcpy(args[0].data, args[1].data, (size_t)args[0].dims[0] * sizeof(float));
    return WEFT_OK;
}

/* Threads of even index write a from b, the others b from a; every tensor stays of one value. */
static void *write_crosswise(void *ctx) {
    worker *w = ctx;
    weft_scope *s;
    float got[N];
    if (weft_scope_create(w->engine, WEFT_SCOPE_ARENA, &s)) {
        w->wrong = "beginning";
        return NULL;
    }
    for (unsigned i = 0; !w->wrong && weft_clock_seconds() < w->until; i++, w->n_calls++) {
        int k = w->index % 2;
        weft_tensor *a = w->shared[k], *b = w->shared[1 - k];
        weft_tensor *u = w->shared[2 + k], *v = w->shared[3 - k];
        weft_tensor *value =
            weft_full(s, WEFT_F32, 1, DIMS(N), (double)(w->index * 1000 + i % 999));
        weft_status status = WEFT_OK;
        if (i % 7 == 0)
            status = weft_slice_set(s, a, value, 0, 0);
        else if (i % 3 == 0)
            status = weft_slice_set(s, a, b, 0, 0);
        else if (i % 3 == 1)
            status = weft_inplace_op2(s, a, b, take_second, NULL);
        else if (i % 2)
            status = weft_var_set(s, u, v);
        else
            status = weft_var_set(s, v, weft_mul_scalar(s, u, 0.5));
        weft_tensor *read = i % 2 ? a : u;
        if (!status)
            status = weft_tensor_read(read, got, sizeof got);
        for (int j = 1; !status && j < N; j++)
            if (got[j] != got[0])
                w->wrong = "half a write was seen";
        if (status)
            w->wrong = weft_status_name(status);
        weft_scope_reset(s);
    }
    weft_scope_release(&s);
    return NULL;
}

static void writes_in_opposite_orders_end_and_are_whole(void **state) {
    bench *b = *state;
    weft_tensor *shared[N_SHARED] = {zeros(b->heap, N), zeros(b->heap, N)};
    for (int i = 2; i < 4; i++)
        shared[i] = weft_var_create(b->heap, weft_full(b->heap, WEFT_F32, 1, DIMS(N), i));
    assert_weft_ok(weft_scope_status(b->heap));
    run_workers(b, shared, write_crosswise);
    for (int i = 0; i < N_SHARED; i++)
        assert_true(weft_tensor_storage_version(shared[i]) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        bench_test(threads_that_read_the_same_tensors_get_the_same_bits),
        bench_test(writes_in_opposite_orders_end_and_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
