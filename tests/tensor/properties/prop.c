/* Chance, operands and comparison of the property tests. */
#include "prop.h"

int64_t below(prop *p, int64_t n) {
    return rng_below(&p->base.rng, n);
}
bool one_in(prop *p, int64_t n) {
    return below(p, n) == 0;
}

static const weft_dtype all_types[] = {WEFT_F64, WEFT_F32, WEFT_F16, WEFT_BF16, WEFT_I64,
                                       WEFT_I32, WEFT_I16, WEFT_I8,  WEFT_U8,   WEFT_BOOL};

weft_dtype any_type(prop *p) {
    return one_in(p, 3) ? WEFT_F32 : all_types[below(p, 10)];
}
weft_dtype float_type(prop *p) {
    return one_in(p, 2) ? WEFT_F32 : all_types[below(p, 4)];
}
weft_dtype number_type(prop *p) {
    return one_in(p, 3) ? WEFT_F32 : all_types[below(p, 9)];
}
weft_dtype half_type(prop *p) {
    return all_types[1 + below(p, 3)];
}
bool is_whole(weft_dtype dtype) {
    return !weft_dtype_is_float(dtype);
}

int any_shape(prop *p, int low, int high, int64_t *dims) {
    static const int64_t most[] = {1, 40, 12, 7, 5, 4, 3, 3, 2};
    int rank = low + (int)below(p, high - low + 1);
    int large = rank > 0 && one_in(p, 60) ? (int)below(p, rank) : -1; /* more than a tile */
    for (int d = 0; d < rank; d++) {
        dims[d] = 1 + below(p, large < 0 ? most[rank] : 2);
        if (d == large)
            dims[d] = 600 + below(p, 5000);
        if (one_in(p, 50))
            dims[d] = 0;
    }
    return rank;
}

static double any_value(prop *p, weft_dtype dtype) {
    static const double odd[] = {NAN, INFINITY, -INFINITY, 0, -0.0, 1, -1};
    if (weft_dtype_is_float(dtype))
        return !p->tame && one_in(p, 200) ? odd[below(p, 7)]
               : one_in(p, 8)             ? (double)(below(p, 9) - 4)
                                          : 2 * rng_unit(&p->base.rng);
    if (dtype == WEFT_BOOL)
        return (double)below(p, 2);
    return dtype == WEFT_U8 ? (double)below(p, 256) : (double)(below(p, 100) - 50);
}

/* ---- Operands ---- */

static weft_tensor *packed(prop *p, weft_dtype dtype, int rank, const int64_t *dims) {
    size_t n = count_of(rank, dims);
    double *v = calloc(n + 1, sizeof *v);
    for (size_t i = 0; i < n; i++)
        v[i] = any_value(p, dtype);
    weft_tensor *t = from_doubles(p->base.s, dtype, rank, dims, v);
    free(v);
    return t;
}

weft_tensor *fresh(prop *p, weft_dtype dtype, int rank, const int64_t *dims) {
    int axes[WEFT_MAX_RANK], inverse[WEFT_MAX_RANK];
    int64_t base[WEFT_MAX_RANK] = {0}, kind[WEFT_MAX_RANK];
    weft_scope *s = p->base.s;
    if (one_in(p, 3))
        return packed(p, dtype, rank, dims);
    for (int d = 0; d < rank; d++)
        axes[d] = d;
    for (int d = rank - 1; d > 0 && one_in(p, 2); d--) {
        int other = (int)below(p, d + 1), swap = axes[d];
        axes[d] = axes[other];
        axes[other] = swap;
    }
    for (int d = 0; d < rank; d++) {
        int64_t n = dims[axes[d]];
        kind[axes[d]] = below(p, 8);
        inverse[axes[d]] = d;
        base[d] = kind[axes[d]] == 0   ? n + 3
                  : kind[axes[d]] == 1 ? 2 * n + 1
                  : kind[axes[d]] == 3 ? (n > 0)
                                       : n;
    }
    weft_tensor *t = packed(p, dtype, rank, base);
    t = weft_tensor_permute(s, t, inverse);
    for (int d = 0; d < rank; d++) {
        if (kind[d] == 0)
            t = weft_tensor_narrow(s, t, d, 2, (size_t)dims[d]);
        else if (kind[d] == 1)
            t = weft_tensor_slice(s, t, d, 1, 2 * dims[d] + 1, 2);
        else if (kind[d] == 2 && dims[d] > 0)
            t = weft_tensor_slice(s, t, d, dims[d] - 1, -1, -1);
    }
    t = weft_tensor_expand(s, t, rank, dims);
    fine(p);
    return t;
}

static bool of_types(weft_dtype dtype, unsigned types) {
    if (types & HALVES)
        return dtype == WEFT_F32 || dtype == WEFT_F16 || dtype == WEFT_BF16;
    return weft_dtype_is_float(dtype)     ? types & FLOATS
           : weft_dtype_is_integer(dtype) ? types & INTEGERS
                                          : types & BOOLS;
}

weft_tensor *pick(prop *p, unsigned types, int low_rank, int high_rank) {
    int64_t dims[WEFT_MAX_RANK];
    for (int i = 0; i < 3 && p->n_pool > 0 && !p->tame && !one_in(p, 4); i++) {
        weft_tensor *t = p->pool[below(p, (int64_t)p->n_pool)];
        if (of_types(weft_tensor_dtype(t), types) && weft_tensor_rank(t) >= low_rank &&
            weft_tensor_rank(t) <= high_rank)
            return t;
    }
    weft_dtype dtype = any_type(p);
    while (!of_types(dtype, types))
        dtype = any_type(p);
    int rank = any_shape(p, low_rank, high_rank, dims);
    return fresh(p, dtype, rank, dims);
}

weft_tensor *pick_like(prop *p, weft_tensor *t) {
    int64_t dims[WEFT_MAX_RANK];
    for (int d = 0; d < weft_tensor_rank(t); d++)
        dims[d] = weft_tensor_dim(t, d);
    if (one_in(p, 3))
        return t;
    return fresh(p, weft_tensor_dtype(t), weft_tensor_rank(t), dims);
}

void keep(prop *p, weft_tensor *t) {
    if (weft_tensor_numel(t) > 20000)
        return;
    if (p->n_pool < POOL)
        p->pool[p->n_pool++] = t;
    else
        p->pool[below(p, POOL)] = t;
}

/* ---- Comparison ---- */

nd make_nd(weft_dtype dtype, int rank, const int64_t *dims) {
    nd x = {.dtype = dtype, .rank = rank, .n = count_of(rank, dims)};
    for (int d = 0; d < rank; d++)
        x.dims[d] = dims[d];
    if (is_whole(dtype))
        x.i = calloc(x.n + 1, sizeof *x.i);
    else
        x.f = calloc(x.n + 1, sizeof *x.f);
    return x;
}

static int64_t load_whole(weft_dtype dtype, const void *data, size_t i) {
    switch (dtype) {
    case WEFT_I64:
        return ((const int64_t *)data)[i];
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

int64_t wrapped(weft_dtype dtype, int64_t v) {
    switch (dtype) {
    case WEFT_I64:
        return v;
    case WEFT_I32:
        return (int32_t)v;
    case WEFT_I16:
        return (int16_t)v;
    case WEFT_I8:
        return (int8_t)v;
    case WEFT_BOOL:
        return v != 0;
    default:
        return (uint8_t)v;
    }
}

nd load(prop *p, weft_tensor *t) {
    int64_t dims[WEFT_MAX_RANK];
    for (int d = 0; d < weft_tensor_rank(t); d++)
        dims[d] = weft_tensor_dim(t, d);
    nd x = make_nd(weft_tensor_dtype(t), weft_tensor_rank(t), dims);
    size_t bytes = x.n * weft_dtype_block_bytes(x.dtype);
    void *raw = malloc(bytes + 1);
    if (weft_tensor_read(t, raw, bytes) != WEFT_OK)
        fail_msg("%s: %s", p->op, weft_detail());
    for (size_t i = 0; i < x.n; i++) {
        if (x.i)
            x.i[i] = load_whole(x.dtype, raw, i);
        else
            x.f[i] = load_element(x.dtype, raw, i);
    }
    free(raw);
    return x;
}

void drop(nd *x) {
    free(x->f);
    free(x->i);
    x->f = NULL;
    x->i = NULL;
}

size_t ravel(const nd *x, const int64_t *at) {
    size_t index = 0;
    for (int d = 0; d < x->rank; d++)
        index = index * (size_t)x->dims[d] + (size_t)at[d];
    return index;
}
void unravel(const nd *x, size_t index, int64_t *at) {
    for (int d = x->rank - 1; d >= 0; d--) {
        at[d] = (int64_t)(index % (size_t)x->dims[d]);
        index /= (size_t)x->dims[d];
    }
}
long double value(const nd *x, size_t i) {
    return x->f ? (long double)x->f[i] : (long double)x->i[i];
}
void set(nd *x, size_t i, long double v) {
    if (x->f)
        x->f[i] = (double)v;
    else
        x->i[i] = (int64_t)v;
}

void fine(prop *p) {
    if (weft_scope_status(p->base.s) != WEFT_OK)
        fail_msg("%s (seed %llu): %s", p->op, (unsigned long long)p->seed,
                 weft_scope_detail(p->base.s));
}

/* The distance of neighbouring numbers near 1. */
static double unit_of(weft_dtype dtype) {
    return dtype == WEFT_F64   ? 0x1p-52
           : dtype == WEFT_F32 ? 0x1p-23
           : dtype == WEFT_F16 ? 0x1p-10
                               : 0x1p-7;
}

/* Rounded once, by way of f32 for the 16-bit types. */
static double rounded(weft_dtype dtype, double v) {
    return dtype == WEFT_F64 ? v : round_to(dtype, (double)(float)v);
}

void expect_terms(prop *p, weft_tensor *y, nd *want, double units, const double *terms) {
    fine(p);
    assert_non_null(y);
    nd got = load(p, y);
    if (got.dtype != want->dtype || got.rank != want->rank)
        fail_msg("%s (seed %llu): %s of rank %d instead of %s of rank %d", p->op,
                 (unsigned long long)p->seed, weft_dtype_name(got.dtype), got.rank,
                 weft_dtype_name(want->dtype), want->rank);
    for (int d = 0; d < got.rank; d++)
        if (got.dims[d] != want->dims[d])
            fail_msg("%s (seed %llu): dim %d is %lld instead of %lld", p->op,
                     (unsigned long long)p->seed, d, (long long)got.dims[d],
                     (long long)want->dims[d]);
    for (size_t i = 0; i < got.n; i++) {
        bool same;
        if (got.i) {
            same = got.i[i] == want->i[i];
        } else {
            double w = rounded(got.dtype, want->f[i]), g = got.f[i];
            double room = units * unit_of(got.dtype) * (terms ? terms[i] : 1 + fabs(w));
            same = w != w ? g != g : g == w || (isfinite(w) && fabs(g - w) <= room);
        }
        if (!same)
            fail_msg("%s %s (seed %llu): element %zu is %.20Lg instead of %.20Lg", p->op,
                     weft_dtype_name(got.dtype), (unsigned long long)p->seed, i, value(&got, i),
                     value(want, i));
    }
    drop(&got);
    drop(want);
    keep(p, y);
}

void expect(prop *p, weft_tensor *y, nd *want, double units) {
    expect_terms(p, y, want, units, NULL);
}

void expect_error(prop *p, const void *result, weft_status status) {
    if (result != NULL || weft_scope_status(p->base.s) != status)
        fail_msg("%s (seed %llu): %s instead of %s", p->op, (unsigned long long)p->seed,
                 weft_status_name(weft_scope_status(p->base.s)), weft_status_name(status));
    if (!strstr(weft_scope_detail(p->base.s), p->op))
        fail_msg("%s: the detail '%s' does not name the op", p->op, weft_scope_detail(p->base.s));
    p->n_pool = 0;
    assert_weft_ok(weft_scope_reset(p->base.s));
}
