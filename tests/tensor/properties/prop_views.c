/* Creation and views: a view shares its storage, and each of its elements is one of the base's. */
#include "prop.h"

/* ---- Creation ---- */

static void check_zeros(prop *p) {
    int64_t dims[WEFT_MAX_RANK];
    int rank = any_shape(p, 0, WEFT_MAX_RANK, dims);
    nd want = make_nd(any_type(p), rank, dims);
    expect(p, weft_zeros(p->base.s, want.dtype, rank, dims), &want, 0);
}
static void filled(prop *p, double v, bool ones) {
    int64_t dims[WEFT_MAX_RANK];
    int rank = any_shape(p, 0, WEFT_MAX_RANK, dims);
    nd want = make_nd(any_type(p), rank, dims);
    for (size_t i = 0; i < want.n; i++)
        set(&want, i, want.dtype == WEFT_BOOL ? v != 0 : v);
    expect(p,
           ones ? weft_ones(p->base.s, want.dtype, rank, dims)
                : weft_full(p->base.s, want.dtype, rank, dims, v),
           &want, 0);
}
static void check_full(prop *p) {
    filled(p, (double)below(p, 100), false);
}
static void check_ones(prop *p) {
    filled(p, 1, true);
}
static void check_arange(prop *p) {
    int64_t n = below(p, 50);
    nd want = make_nd(number_type(p), 1, &n);
    for (int64_t i = 0; i < n; i++)
        set(&want, (size_t)i, 3.0 + 2.0 * (double)i);
    expect(p, weft_arange(p->base.s, want.dtype, n, 3, 2), &want, 0);
}
static void check_linspace(prop *p) {
    int64_t n = below(p, 50);
    nd want = make_nd(float_type(p), 1, &n);
    for (int64_t i = 0; i < n; i++)
        want.f[i] = n == 1 ? -1 : -1 + 4.0 * (double)i / (double)(n - 1);
    expect(p, weft_linspace(p->base.s, want.dtype, n, -1, 3), &want, 1);
}
static void check_eye(prop *p) {
    int64_t dims[] = {below(p, 9), below(p, 9)};
    nd want = make_nd(any_type(p), 2, dims);
    for (int64_t i = 0; i < dims[0] && i < dims[1]; i++)
        set(&want, (size_t)(i * dims[1] + i), 1);
    expect(p, weft_eye(p->base.s, want.dtype, dims[0], dims[1]), &want, 0);
}
static void check_from_data(prop *p) {
    int64_t dims[WEFT_MAX_RANK];
    int rank = any_shape(p, 0, WEFT_MAX_RANK, dims);
    weft_tensor *t = fresh(p, any_type(p), rank, dims);
    nd want = load(p, t);
    size_t bytes = want.n * weft_dtype_block_bytes(want.dtype);
    void *raw = malloc(bytes + 1);
    assert_weft_ok(weft_tensor_read(t, raw, bytes));
    expect(p, weft_from_data(p->base.s, want.dtype, rank, want.dims, raw, bytes), &want, 0);
    free(raw);
}
/* Prefixes of one sequence: an element does not depend on how many there are. */
static void random_prefix(prop *p, bool normal) {
    weft_scope *s = p->base.s;
    weft_dtype dtype = float_type(p);
    uint64_t seed = rng_next(&p->base.rng);
    int64_t n = 1 + below(p, 2000), m = 1 + below(p, n);
    weft_tensor *t[2];
    for (int i = 0; i < 2; i++) {
        int64_t count = i == 0 ? n : m;
        t[i] = normal ? weft_random_normal(s, dtype, 1, &count, 1, 2, seed)
                      : weft_random_uniform(s, dtype, 1, &count, -1, 1, seed);
    }
    fine(p);
    nd all = load(p, t[0]), want = load(p, weft_tensor_narrow(s, t[0], 0, 0, (size_t)m));
    for (size_t i = 0; i < all.n; i++)
        assert_true(normal ? fabs(all.f[i] - 1) < 20 : all.f[i] >= -1 && all.f[i] <= 1);
    drop(&all);
    expect(p, t[1], &want, 0);
}
static void check_random_uniform(prop *p) {
    random_prefix(p, false);
}
static void check_random_normal(prop *p) {
    random_prefix(p, true);
}
static void check_random_permutation(prop *p) {
    int64_t n = below(p, 100);
    weft_tensor *t = weft_random_permutation(p->base.s, n, rng_next(&p->base.rng));
    fine(p);
    nd want = make_nd(WEFT_I64, 1, &n);
    for (int64_t i = 0; i < n; i++)
        want.i[i] = i;
    expect(p, weft_sort(p->base.s, t, 0, false), &want, 0);
}

/* ---- Views ---- */

/* Where in x the element `at` of the view lies. */
typedef void (*place_fn)(const nd *x, const int64_t *at, int64_t *from, const int64_t *parameter);

static void expect_view(prop *p, weft_tensor *t, weft_tensor *v, int rank, const int64_t *dims,
                        place_fn place, const int64_t *parameter) {
    fine(p);
    assert_true(weft_tensor_same_storage(t, v));
    assert_true(weft_tensor_id(t) != weft_tensor_id(v));
    nd x = load(p, t), want = make_nd(x.dtype, rank, dims);
    for (size_t i = 0; i < want.n; i++) {
        int64_t at[WEFT_MAX_RANK], from[WEFT_MAX_RANK] = {0};
        unravel(&want, i, at);
        place(&x, at, from, parameter);
        set(&want, i, value(&x, ravel(&x, from)));
    }
    drop(&x);
    expect(p, v, &want, 0);
}

static int dims_of(const weft_tensor *t, int64_t *dims) {
    for (int d = 0; d < weft_tensor_rank(t); d++)
        dims[d] = weft_tensor_dim(t, d);
    return weft_tensor_rank(t);
}

/* parameter: axis, start, step */
static void along(const nd *x, const int64_t *at, int64_t *from, const int64_t *q) {
    for (int d = 0; d < x->rank; d++)
        from[d] = d == q[0] ? q[1] + at[d] * q[2] : at[d];
}
static void check_narrow(prop *p) {
    int64_t dims[WEFT_MAX_RANK];
    weft_tensor *t = pick(p, ALL, 1, WEFT_MAX_RANK);
    int rank = dims_of(t, dims), axis = (int)below(p, rank);
    int64_t start = below(p, dims[axis] + 1), n = below(p, dims[axis] - start + 1);
    dims[axis] = n;
    expect_view(p, t, weft_tensor_narrow(p->base.s, t, axis - rank, (size_t)start, (size_t)n), rank,
                dims, along, (int64_t[]){axis, start, 1});
}
static void check_slice(prop *p) {
    int64_t dims[WEFT_MAX_RANK];
    weft_tensor *t = pick(p, ALL, 1, WEFT_MAX_RANK);
    int rank = dims_of(t, dims), axis = (int)below(p, rank);
    int64_t n = dims[axis], step = 1 + below(p, 3), start, stop;
    if (n == 0)
        return;
    if (one_in(p, 2)) { /* backwards */
        start = below(p, n);
        stop = below(p, start + 1) - 1;
        dims[axis] = (start - stop + step - 1) / step;
        step = -step;
    } else {
        start = below(p, n);
        stop = start + below(p, n - start + 1);
        dims[axis] = (stop - start + step - 1) / step;
    }
    expect_view(p, t, weft_tensor_slice(p->base.s, t, axis, start, stop, step), rank, dims, along,
                (int64_t[]){axis, start, step});
}
static void picked(const nd *x, const int64_t *at, int64_t *from, const int64_t *q) {
    for (int d = 0; d < x->rank; d++)
        from[d] = d == q[0] ? q[1] : at[d < q[0] ? d : d - 1];
}
static void check_select(prop *p) {
    int64_t dims[WEFT_MAX_RANK], index;
    weft_tensor *t = pick(p, ALL, 1, WEFT_MAX_RANK);
    int rank = dims_of(t, dims), axis = (int)below(p, rank);
    if (dims[axis] == 0)
        return;
    index = below(p, dims[axis]);
    for (int d = axis; d + 1 < rank; d++)
        dims[d] = dims[d + 1];
    expect_view(p, t, weft_tensor_select(p->base.s, t, axis, (size_t)index), rank - 1, dims, picked,
                (int64_t[]){axis, index});
}
/* parameter: for each dim of the view, the dim of x */
static void reordered(const nd *x, const int64_t *at, int64_t *from, const int64_t *q) {
    for (int d = 0; d < x->rank; d++)
        from[q[d]] = at[d];
}
static void check_transpose(prop *p) {
    int64_t dims[WEFT_MAX_RANK], axes[WEFT_MAX_RANK];
    weft_tensor *t = pick(p, ALL, 1, WEFT_MAX_RANK);
    int rank = dims_of(t, dims), a = (int)below(p, rank), b = (int)below(p, rank);
    for (int d = 0; d < rank; d++)
        axes[d] = d == a ? b : d == b ? a : d;
    int64_t swap = dims[a];
    dims[a] = dims[b];
    dims[b] = swap;
    expect_view(p, t, weft_tensor_transpose(p->base.s, t, a, b), rank, dims, reordered, axes);
}
static void check_permute(prop *p) {
    int64_t dims[WEFT_MAX_RANK], turned[WEFT_MAX_RANK], wide[WEFT_MAX_RANK];
    int axes[WEFT_MAX_RANK];
    weft_tensor *t = pick(p, ALL, 0, WEFT_MAX_RANK);
    int rank = dims_of(t, dims);
    for (int d = 0; d < rank; d++)
        axes[d] = d;
    for (int d = rank - 1; d > 0; d--) {
        int other = (int)below(p, d + 1), swap = axes[d];
        axes[d] = axes[other];
        axes[other] = swap;
    }
    for (int d = 0; d < rank; d++) {
        turned[d] = dims[axes[d]];
        wide[d] = axes[d];
    }
    expect_view(p, t, weft_tensor_permute(p->base.s, t, axes), rank, turned, reordered, wide);
}
/* The same elements, row-major. */
static void expect_same_order(prop *p, weft_tensor *t, weft_tensor *v, int rank,
                              const int64_t *dims) {
    fine(p);
    nd x = load(p, t), want = make_nd(x.dtype, rank, dims);
    assert_int_equal(want.n, x.n);
    for (size_t i = 0; i < want.n; i++)
        set(&want, i, value(&x, i));
    drop(&x);
    expect(p, v, &want, 0);
}
static void check_reshape(prop *p) {
    int64_t dims[WEFT_MAX_RANK], flat[2];
    weft_tensor *t = pick(p, ALL, 0, WEFT_MAX_RANK);
    int rank = dims_of(t, dims);
    int64_t n = (int64_t)count_of(rank, dims), first = rank > 0 && n > 0 ? dims[0] : 1;
    flat[0] = first;
    flat[1] = n / first;
    weft_tensor *v;
    if (weft_tensor_is_contiguous(t)) {
        v = weft_tensor_reshape(p->base.s, t, 2, n > 0 ? (int64_t[]){first, -1} : flat);
        assert_true(weft_tensor_same_storage(t, v));
    } else {
        v = weft_tensor_reshape_copy(p->base.s, t, 2, flat);
    }
    expect_same_order(p, t, v, 2, flat);
}
static void check_flatten(prop *p) {
    int64_t dims[WEFT_MAX_RANK], out[WEFT_MAX_RANK] = {1};
    weft_tensor *t = weft_tensor_contiguous(p->base.s, pick(p, ALL, 0, WEFT_MAX_RANK));
    int rank = dims_of(t, dims), first = rank > 0 ? (int)below(p, rank) : 0;
    int last = rank > 0 ? first + (int)below(p, rank - first) : 0, n = rank > 0 ? 0 : 1;
    for (int d = 0; d < rank; d++) {
        if (d > first && d <= last)
            out[n - 1] *= dims[d];
        else
            out[n++] = dims[d];
    }
    expect_same_order(p, t, weft_tensor_flatten(p->base.s, t, first, last), n, out);
}
static void check_unsqueeze(prop *p) {
    int64_t dims[WEFT_MAX_RANK], out[WEFT_MAX_RANK];
    weft_tensor *t = pick(p, ALL, 0, WEFT_MAX_RANK - 1);
    int rank = dims_of(t, dims), axis = (int)below(p, rank + 1);
    for (int d = 0; d <= rank; d++)
        out[d] = d < axis ? dims[d] : d == axis ? 1 : dims[d - 1];
    expect_same_order(p, t, weft_tensor_unsqueeze(p->base.s, t, axis), rank + 1, out);
}
static void check_squeeze(prop *p) {
    int64_t dims[WEFT_MAX_RANK];
    weft_tensor *t = pick(p, ALL, 0, WEFT_MAX_RANK - 1);
    int rank = dims_of(t, dims), axis = (int)below(p, rank + 1);
    weft_tensor *wide = weft_tensor_unsqueeze(p->base.s, t, axis);
    expect_same_order(p, wide, weft_tensor_squeeze(p->base.s, wide, axis), rank, dims);
}
/* parameter: rank lost, then 1 for each dim of x that is repeated */
static void repeated(const nd *x, const int64_t *at, int64_t *from, const int64_t *q) {
    for (int d = 0; d < x->rank; d++)
        from[d] = x->dims[d] == 1 ? 0 : at[d + q[0]];
}
static void check_expand(prop *p) {
    int64_t dims[WEFT_MAX_RANK], out[WEFT_MAX_RANK];
    weft_tensor *t = pick(p, ALL, 0, 4);
    int rank = dims_of(t, dims), more = (int)below(p, 3);
    for (int d = 0; d < rank + more; d++)
        out[d] = d < more || dims[d - more] == 1 ? 1 + below(p, 3) : dims[d - more];
    expect_view(p, t, weft_tensor_expand(p->base.s, t, rank + more, out), rank + more, out,
                repeated, (int64_t[]){more});
}
/* parameter: axis, step */
static void window(const nd *x, const int64_t *at, int64_t *from, const int64_t *q) {
    for (int d = 0; d < x->rank; d++)
        from[d] = d == q[0] ? at[d] * q[1] + at[x->rank] : at[d];
}
static void check_unfold(prop *p) {
    int64_t dims[WEFT_MAX_RANK], size, step = 1 + below(p, 3);
    weft_tensor *t = pick(p, ALL, 1, WEFT_MAX_RANK - 1);
    int rank = dims_of(t, dims), axis = (int)below(p, rank);
    size = below(p, dims[axis] + 1);
    dims[rank] = size;
    dims[axis] = (dims[axis] - size) / step + 1;
    expect_view(p, t, weft_tensor_unfold(p->base.s, t, axis, (size_t)size, (size_t)step), rank + 1,
                dims, window, (int64_t[]){axis, step});
}
/* parameter: axis a, axis b, offset */
static void on_diagonal(const nd *x, const int64_t *at, int64_t *from, const int64_t *q) {
    int64_t i = at[x->rank - 2];
    int n = 0;
    for (int d = 0; d < x->rank; d++)
        from[d] = d == q[0]   ? i + (q[2] < 0 ? -q[2] : 0)
                  : d == q[1] ? i + (q[2] > 0 ? q[2] : 0)
                              : at[n++];
}
static void check_diagonal(prop *p) {
    int64_t dims[WEFT_MAX_RANK], out[WEFT_MAX_RANK];
    weft_tensor *t = pick(p, ALL, 2, WEFT_MAX_RANK);
    int rank = dims_of(t, dims), a = (int)below(p, rank),
        b = (a + 1 + (int)below(p, rank - 1)) % rank;
    int64_t offset = below(p, dims[a] + dims[b] + 1) - dims[a];
    int n = 0;
    for (int d = 0; d < rank; d++)
        if (d != a && d != b)
            out[n++] = dims[d];
    int64_t rows = dims[a] - (offset < 0 ? -offset : 0), cols = dims[b] - (offset > 0 ? offset : 0);
    out[n++] = rows < cols ? rows : cols;
    expect_view(p, t, weft_tensor_diagonal(p->base.s, t, offset, a, b), n, out, on_diagonal,
                (int64_t[]){a, b, offset});
}
/* Parts put together are the whole. */
static void parts(prop *p, bool chunk) {
    int64_t dims[WEFT_MAX_RANK];
    weft_tensor *t = pick(p, ALL, 1, WEFT_MAX_RANK), *out[3];
    int rank = dims_of(t, dims), axis = (int)below(p, rank);
    size_t lengths[3], extent = (size_t)dims[axis];
    lengths[0] = (size_t)below(p, (int64_t)extent + 1);
    lengths[1] = (size_t)below(p, (int64_t)(extent - lengths[0]) + 1);
    lengths[2] = extent - lengths[0] - lengths[1];
    if (chunk)
        weft_tensor_chunk(p->base.s, t, axis, 3, out);
    else
        weft_tensor_split(p->base.s, t, axis, lengths, 3, out);
    fine(p);
    for (int i = 0; i < 3; i++) {
        assert_true(weft_tensor_same_storage(t, out[i]));
        if (!chunk)
            assert_int_equal(weft_tensor_dim(out[i], axis), lengths[i]);
    }
    expect_same_order(p, t, weft_concat(p->base.s, out, 3, axis), rank, dims);
}
static void check_split(prop *p) {
    parts(p, false);
}
static void check_chunk(prop *p) {
    parts(p, true);
}

#define ROW(name)                                                                                  \
    { #name, check_##name }
const prop_check prop_creation[] = {
    ROW(zeros),    ROW(full), ROW(arange),         ROW(from_data),     ROW(ones),
    ROW(linspace), ROW(eye),  ROW(random_uniform), ROW(random_normal), ROW(random_permutation),
    {NULL, NULL},
};
const prop_check prop_views[] = {
    ROW(narrow),  ROW(slice),    ROW(select),  ROW(transpose), ROW(permute),
    ROW(reshape), ROW(flatten),  ROW(squeeze), ROW(unsqueeze), ROW(expand),
    ROW(unfold),  ROW(diagonal), ROW(split),   ROW(chunk),     {NULL, NULL},
};
