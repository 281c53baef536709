/* What the tensor tests share: a counting allocator that can fail, an engine and scope on it, and
 * short ways to make and compare tensors. */
#ifndef WEFT_TESTS_TENSOR_TEST_H
#define WEFT_TESTS_TENSOR_TEST_H

#include "test.h"
#include <stdatomic.h>
#include "tensor/impl.h"

/* Counts what goes through it; allocation number `fail_at` (from 1) returns NULL once, and so does
 * what no machine holds (the sanitizers' malloc would end the program). */
typedef struct counter {
    weft_allocator system;
    atomic_size_t n_allocs, live_blocks, live_bytes, total_bytes;
    size_t fail_at;
} counter;

static inline void *counter_alloc(void *ctx, size_t size_bytes, size_t align) {
    counter *c = ctx;
    if (atomic_fetch_add(&c->n_allocs, 1) + 1 == c->fail_at || size_bytes >> 46)
        return NULL;
    void *memory = c->system.alloc(c->system.ctx, size_bytes, align);
    if (memory) {
        atomic_fetch_add(&c->live_blocks, 1);
        atomic_fetch_add(&c->live_bytes, size_bytes);
        atomic_fetch_add(&c->total_bytes, size_bytes);
    }
    return memory;
}

static inline void counter_release(void *ctx, void *memory, size_t size_bytes) {
    counter *c = ctx;
    atomic_fetch_sub(&c->live_blocks, 1);
    atomic_fetch_sub(&c->live_bytes, size_bytes); /* a wrong size shows as a leak */
    c->system.release(c->system.ctx, memory, size_bytes);
}

static inline weft_status counter_engine(counter *c, int n_threads, weft_engine **engine) {
    c->system = weft_allocator_system();
    weft_engine_options options = weft_engine_options_default();
    options.n_threads = n_threads;
    options.allocator = (weft_allocator){counter_alloc, counter_release, c};
    return weft_engine_create(&options, engine);
}

/* An engine with a scope of each kind, all memory counted. */
typedef struct bench {
    counter count;
    weft_engine *engine;
    weft_scope *heap, *arena;
} bench;

static inline int bench_open(void **state) {
    bench *b = calloc(1, sizeof *b);
    if (!b || counter_engine(&b->count, 2, &b->engine) ||
        weft_scope_create(b->engine, WEFT_SCOPE_HEAP, &b->heap) ||
        weft_scope_create(b->engine, WEFT_SCOPE_ARENA, &b->arena))
        return -1;
    *state = b;
    return 0;
}

static inline int bench_close(void **state) {
    bench *b = *state;
    weft_scope_release(&b->heap);
    weft_scope_release(&b->arena);
    weft_engine_release(&b->engine);
    size_t left = b->count.live_bytes + b->count.live_blocks;
    free(b);
    return left ? -1 : 0; /* nothing may leak */
}

#define bench_test(f) cmocka_unit_test_setup_teardown(f, bench_open, bench_close)

#define DIMS(...) ((int64_t[]){__VA_ARGS__})
#define RANK(...) ((int)(sizeof(DIMS(__VA_ARGS__)) / sizeof(int64_t)))
/* f32 zeros of a shape. */
#define zeros(s, ...) weft_zeros(s, WEFT_F32, RANK(__VA_ARGS__), DIMS(__VA_ARGS__))

/* f32 0, 1, 2, … of a shape. */
#define iota(s, ...) iota_of(s, RANK(__VA_ARGS__), DIMS(__VA_ARGS__))
static inline weft_tensor *iota_of(weft_scope *s, int rank, const int64_t *dims) {
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= dims[i];
    return weft_tensor_reshape(s, weft_arange(s, WEFT_F32, n, 0, 1), rank, dims);
}

/* The tensor's elements, row by row, are these floats. */
#define assert_floats(t, ...)                                                                      \
    assert_float_list(t, (float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}) / sizeof(float),   \
                      __LINE__)
static inline void assert_float_list(weft_tensor *t, const float *expected, size_t n, int line) {
    float got[256];
    assert_non_null(t);
    assert_weft_ok(weft_tensor_read(t, got, n * sizeof *got));
    for (size_t i = 0; i < n; i++)
        if (memcmp(&got[i], &expected[i], sizeof *got) != 0)
            fail_msg("line %d: element %zu is %g, not %g", line, i, got[i], expected[i]);
}

#define assert_dims(t, ...) assert_dim_list(t, RANK(__VA_ARGS__), DIMS(__VA_ARGS__))
static inline void assert_dim_list(const weft_tensor *t, int rank, const int64_t *dims) {
    assert_non_null(t);
    assert_int_equal(weft_tensor_rank(t), rank);
    for (int i = 0; i < rank; i++)
        assert_int_equal(weft_tensor_dim(t, i), dims[i]);
}

/* The call gives NULL and this status; the scope works again afterwards. */
#define assert_refused(s, call, expected)                                                          \
    do {                                                                                           \
        assert_null(call);                                                                         \
        assert_weft_fails(weft_scope_status(s), expected);                                         \
        assert_string_not_equal(weft_scope_detail(s), "");                                         \
        assert_weft_ok(weft_scope_reset(s));                                                       \
    } while (0)

#endif
