/* What the tests of ops share: engines, random views of every kind, and elements as double. */
#ifndef WEFT_TESTS_OPS_TEST_H
#define WEFT_TESTS_OPS_TEST_H

#include <math.h>
#include "base/floats.h"
#include "tensor/impl.h"
#include "tensor/nn.h"
#include "test.h"

static inline uint64_t rng_next(uint64_t *state) {
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}
/* 0 … n - 1 */
static inline int64_t rng_below(uint64_t *state, int64_t n) {
    return (int64_t)((rng_next(state) >> 11) % (uint64_t)n);
}
/* In [-1, 1). */
static inline double rng_unit(uint64_t *state) {
    return (double)(int64_t)rng_next(state) * 0x1p-63;
}

static inline weft_engine *make_engine(int n_threads, weft_numbers numbers, const char *cpu) {
    weft_engine_options options = weft_engine_options_default();
    weft_engine *engine = NULL;
    options.n_threads = n_threads;
    options.numbers = numbers;
    options.cpu = cpu;
    assert_weft_ok(weft_engine_create(&options, &engine));
    return engine;
}

typedef struct fixture {
    weft_engine *engine;
    weft_scope *s;
    uint64_t rng;
} fixture;

static inline fixture *open_fixture(int n_threads, weft_numbers numbers) {
    fixture *f = calloc(1, sizeof *f);
    f->engine = make_engine(n_threads, numbers, NULL);
    assert_weft_ok(weft_scope_create(f->engine, WEFT_SCOPE_HEAP, &f->s));
    f->rng = 0x9e3779b97f4a7c15u;
    return f;
}
static inline void close_fixture(fixture *f) {
    weft_scope_release(&f->s);
    weft_engine_release(&f->engine);
    free(f);
}
static inline int setup_two_threads(void **state) {
    *state = open_fixture(2, WEFT_NUMBERS_DEFAULT);
    return 0;
}
static inline int teardown(void **state) {
    close_fixture(*state);
    return 0;
}

static inline void scope_ok(weft_scope *s) {
    if (weft_scope_status(s) != WEFT_OK)
        fail_msg("%s: %s", weft_status_name(weft_scope_status(s)), weft_scope_detail(s));
}
/* The op gave NULL with this status and a detail that has all of `parts`; clears the scope. */
static inline void scope_failed(weft_scope *s, const weft_tensor *result, weft_status expected,
                                const char *part_a, const char *part_b) {
    assert_null(result);
    if (weft_scope_status(s) != expected)
        fail_msg("%s (%s) instead of %s", weft_status_name(weft_scope_status(s)),
                 weft_scope_detail(s), weft_status_name(expected));
    if (!strstr(weft_scope_detail(s), part_a) || !strstr(weft_scope_detail(s), part_b))
        fail_msg("the detail '%s' does not mention '%s' and '%s'", weft_scope_detail(s), part_a,
                 part_b);
    assert_weft_ok(weft_scope_reset(s));
}

static inline size_t count_of(int rank, const int64_t *dims) {
    size_t n = 1;
    for (int d = 0; d < rank; d++)
        n *= (size_t)dims[d];
    return n;
}

static inline void store_element(weft_dtype dtype, void *data, size_t i, double v) {
    switch (dtype) {
    case WEFT_F64:
        ((double *)data)[i] = v;
        break;
    case WEFT_F32:
        ((float *)data)[i] = (float)v;
        break;
    case WEFT_F16:
        ((uint16_t *)data)[i] = weft_f32_to_f16((float)v);
        break;
    case WEFT_BF16:
        ((uint16_t *)data)[i] = weft_f32_to_bf16((float)v);
        break;
    case WEFT_I64:
        ((int64_t *)data)[i] = (int64_t)v;
        break;
    case WEFT_I32:
        ((int32_t *)data)[i] = (int32_t)v;
        break;
    case WEFT_I16:
        ((int16_t *)data)[i] = (int16_t)v;
        break;
    case WEFT_I8:
        ((int8_t *)data)[i] = (int8_t)v;
        break;
    default:
        ((uint8_t *)data)[i] = (uint8_t)v;
    }
}
static inline double load_element(weft_dtype dtype, const void *data, size_t i) {
    switch (dtype) {
    case WEFT_F64:
        return ((const double *)data)[i];
    case WEFT_F32:
        return ((const float *)data)[i];
    case WEFT_F16:
        return weft_f16_to_f32(((const uint16_t *)data)[i]);
    case WEFT_BF16:
        return weft_bf16_to_f32(((const uint16_t *)data)[i]);
    case WEFT_I64:
        return (double)((const int64_t *)data)[i];
    case WEFT_I32:
        return ((const int32_t *)data)[i];
    case WEFT_I16:
        return ((const int16_t *)data)[i];
    case WEFT_I8:
        return ((const int8_t *)data)[i];
    default:
        return ((const uint8_t *)data)[i];
    }
}
/* Rounded as an op's result of this type is. */
static inline double round_to(weft_dtype dtype, double v) {
    uint64_t slot[1];
    store_element(dtype, slot, 0, v);
    return load_element(dtype, slot, 0);
}

/* All elements, row-major, as double; freed by the caller. */
static inline double *elements(weft_tensor *t) {
    size_t n = (size_t)weft_tensor_numel(t);
    size_t bytes = n * weft_dtype_block_bytes(weft_tensor_dtype(t));
    void *raw = malloc(bytes + 1);
    double *out = malloc((n + 1) * sizeof *out);
    assert_weft_ok(weft_tensor_read(t, raw, bytes));
    for (size_t i = 0; i < n; i++)
        out[i] = load_element(weft_tensor_dtype(t), raw, i);
    free(raw);
    return out;
}

static inline weft_tensor *from_doubles(weft_scope *s, weft_dtype dtype, int rank,
                                        const int64_t *dims, const double *values) {
    size_t n = count_of(rank, dims), bytes = n * weft_dtype_block_bytes(dtype);
    void *raw = malloc(bytes + 1);
    for (size_t i = 0; i < n; i++)
        store_element(dtype, raw, i, values[i]);
    weft_tensor *t = weft_from_data(s, dtype, rank, dims, raw, bytes);
    free(raw);
    scope_ok(s);
    return t;
}
static inline weft_tensor *vector(weft_scope *s, weft_dtype dtype, int64_t n,
                                  const double *values) {
    return from_doubles(s, dtype, 1, &n, values);
}
/* Floats in [-2, 2), integers in [-50, 50), u8 in [0, 100). */
static inline weft_tensor *random_packed(fixture *f, weft_dtype dtype, int rank,
                                         const int64_t *dims) {
    size_t n = count_of(rank, dims);
    double *v = calloc(n + 1, sizeof *v);
    for (size_t i = 0; i < n; i++)
        v[i] = weft_dtype_is_float(dtype) ? 2 * rng_unit(&f->rng)
               : dtype == WEFT_U8         ? (double)rng_below(&f->rng, 100)
               : dtype == WEFT_BOOL       ? (double)rng_below(&f->rng, 2)
                                          : (double)(rng_below(&f->rng, 100) - 50);
    weft_tensor *t = from_doubles(f->s, dtype, rank, dims, v);
    free(v);
    return t;
}

/* A view of shape `dims` on random data: axes permuted, narrowed, stepped, reversed or repeated. */
static inline weft_tensor *random_view(fixture *f, weft_dtype dtype, int rank,
                                       const int64_t *dims) {
    int axes[WEFT_MAX_RANK], inverse[WEFT_MAX_RANK], kind[WEFT_MAX_RANK];
    int64_t base[WEFT_MAX_RANK] = {0};
    for (int d = 0; d < rank; d++)
        axes[d] = d;
    bool shuffle = rng_below(&f->rng, 2) == 0;
    for (int d = rank - 1; d > 0 && shuffle; d--) {
        int other = (int)rng_below(&f->rng, d + 1), swap = axes[d];
        axes[d] = axes[other];
        axes[other] = swap;
    }
    for (int d = 0; d < rank; d++) {
        kind[d] = (int)rng_below(&f->rng, 8);
        inverse[axes[d]] = d;
    }
    for (int d = 0; d < rank; d++) {
        int64_t n = dims[axes[d]];
        int k = kind[axes[d]];
        base[d] = k == 0 ? n + 3 : k == 1 ? 2 * n + 1 : k == 3 ? (n > 0 ? 1 : 0) : n;
    }
    weft_tensor *t = random_packed(f, dtype, rank, base);
    if (rank > 0)
        t = weft_tensor_permute(f->s, t, inverse);
    for (int d = 0; d < rank; d++) {
        if (kind[d] == 0)
            t = weft_tensor_narrow(f->s, t, d, 2, (size_t)dims[d]);
        else if (kind[d] == 1)
            t = weft_tensor_slice(f->s, t, d, 1, 2 * dims[d] + 1, 2);
        else if (kind[d] == 2 && dims[d] > 0)
            t = weft_tensor_slice(f->s, t, d, dims[d] - 1, -1, -1);
    }
    t = weft_tensor_expand(f->s, t, rank, dims);
    scope_ok(f->s);
    return t;
}

/* A shape of rank 0 … 8 with at most some thousand elements; sometimes extents of 0 and 1. */
static inline int random_shape(fixture *f, int64_t *dims) {
    static const int64_t most[] = {1, 3000, 60, 15, 8, 5, 4, 3, 3};
    int rank = (int)rng_below(&f->rng, WEFT_MAX_RANK + 1);
    for (int d = 0; d < rank; d++) {
        dims[d] = 1 + rng_below(&f->rng, most[rank]);
        if (rng_below(&f->rng, 40) == 0)
            dims[d] = 0;
    }
    return rank;
}

static inline void assert_close(double got, double want, double tolerance, const char *what,
                                size_t i) {
    if (want != want ? got == got : !(fabs(got - want) <= tolerance) && got != want)
        fail_msg("%s: element %zu is %.9g instead of %.9g", what, i, got, want);
}

/* The same bits. */
static inline void assert_same_bits(weft_tensor *a, weft_tensor *b) {
    size_t n = (size_t)weft_tensor_numel(a) * weft_dtype_block_bytes(weft_tensor_dtype(a));
    assert_int_equal(weft_tensor_numel(a), weft_tensor_numel(b));
    char *x = malloc(n + 1), *y = malloc(n + 1);
    assert_weft_ok(weft_tensor_read(a, x, n));
    assert_weft_ok(weft_tensor_read(b, y, n));
    assert_memory_equal(x, y, n);
    free(x);
    free(y);
}

#endif
