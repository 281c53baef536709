/* Ops that move elements by indices or as a whole. */
#include "prop.h"

/* ids of a shape below n, i32 or i64. */
static weft_tensor *ids_below(prop *p, int rank, const int64_t *dims, int64_t n) {
    size_t count = count_of(rank, dims);
    double *v = calloc(count + 1, sizeof *v);
    for (size_t i = 0; i < count; i++)
        v[i] = (double)below(p, n);
    weft_tensor *t = from_doubles(p->base.s, one_in(p, 2) ? WEFT_I32 : WEFT_I64, rank, dims, v);
    free(v);
    return t;
}

static void check_index_select(prop *p) {
    weft_tensor *x = pick(p, ALL, 1, WEFT_MAX_RANK);
    nd a = load(p, x);
    int axis = (int)below(p, a.rank);
    int64_t n = a.dims[axis] > 0 ? below(p, 8) : 0, at[WEFT_MAX_RANK], dims[WEFT_MAX_RANK];
    weft_tensor *ids = ids_below(p, 1, &n, a.dims[axis]);
    nd list = load(p, ids);
    memcpy(dims, a.dims, sizeof dims);
    dims[axis] = n;
    nd want = make_nd(a.dtype, a.rank, dims);
    for (size_t i = 0; i < want.n; i++) {
        unravel(&want, i, at);
        at[axis] = list.i[at[axis]];
        set(&want, i, value(&a, ravel(&a, at)));
    }
    drop(&a), drop(&list);
    expect(p, weft_index_select(p->base.s, x, axis, ids), &want, 0);
}

/* A shape that fits into x but along the axis, where it has any length. */
static int within(prop *p, const nd *x, int axis, int64_t *dims) {
    for (int d = 0; d < x->rank; d++)
        dims[d] = d == axis ? (x->dims[d] > 0 ? below(p, 5) : 0)
                            : x->dims[d] - (one_in(p, 3) && x->dims[d] > 0);
    return x->rank;
}

static void check_gather(prop *p) {
    weft_tensor *x = pick(p, ALL, 1, WEFT_MAX_RANK);
    nd a = load(p, x);
    int axis = (int)below(p, a.rank);
    int64_t dims[WEFT_MAX_RANK], at[WEFT_MAX_RANK];
    within(p, &a, axis, dims);
    weft_tensor *ids = ids_below(p, a.rank, dims, a.dims[axis]);
    nd list = load(p, ids), want = make_nd(a.dtype, a.rank, dims);
    for (size_t i = 0; i < want.n; i++) {
        unravel(&want, i, at);
        at[axis] = list.i[i];
        set(&want, i, value(&a, ravel(&a, at)));
    }
    drop(&a), drop(&list);
    expect(p, weft_gather(p->base.s, x, axis, ids), &want, 0);
}

static double add_rounded(weft_dtype dtype, double a, double b) {
    return dtype == WEFT_F64 ? a + b : round_to(dtype, (double)(float)(a + b));
}

static void scatter(prop *p, bool add) {
    weft_tensor *x = pick(p, add ? NUMBERS : ALL, 1, WEFT_MAX_RANK);
    nd want = load(p, x);
    int axis = (int)below(p, want.rank);
    int64_t dims[WEFT_MAX_RANK], at[WEFT_MAX_RANK];
    within(p, &want, axis, dims);
    weft_tensor *ids = ids_below(p, want.rank, dims, want.dims[axis]);
    weft_tensor *src = fresh(p, want.dtype, want.rank, dims);
    nd list = load(p, ids), from = load(p, src);
    for (size_t i = 0; i < from.n; i++) {
        unravel(&from, i, at);
        at[axis] = list.i[i];
        size_t to = ravel(&want, at);
        if (want.i)
            want.i[to] = wrapped(want.dtype, from.i[i] + (add ? want.i[to] : 0));
        else
            want.f[to] = add ? add_rounded(want.dtype, want.f[to], from.f[i]) : from.f[i];
    }
    drop(&list), drop(&from);
    weft_scope *s = p->base.s;
    expect(p, add ? weft_scatter_add(s, x, axis, ids, src) : weft_scatter(s, x, axis, ids, src),
           &want, 0);
}
static void check_scatter(prop *p) {
    scatter(p, false);
}
static void check_scatter_add(prop *p) {
    scatter(p, true);
}

static void check_index_put(prop *p) {
    bool add = one_in(p, 2);
    weft_tensor *x = pick(p, add ? NUMBERS : ALL, 1, 6);
    nd want = load(p, x);
    if (want.n == 0) {
        drop(&want);
        return;
    }
    int m = (int)below(p, want.rank + 1);
    int64_t n = below(p, 5), dims[WEFT_MAX_RANK] = {n}, id_dims[] = {n, m}, run = 1;
    double *v = calloc((size_t)(n * m) + 1, sizeof *v);
    for (int64_t i = 0; i < n * m; i++)
        v[i] = (double)below(p, want.dims[i % m]);
    for (int d = m; d < want.rank; d++)
        run *= dims[1 + d - m] = want.dims[d];
    weft_tensor *ids = from_doubles(p->base.s, WEFT_I64, 2, id_dims, v);
    weft_tensor *values = fresh(p, want.dtype, 1 + want.rank - m, dims);
    nd from = load(p, values);
    for (int64_t i = 0; i < n * run; i++) {
        int64_t to = 0;
        for (int d = 0; d < m; d++)
            to = to * want.dims[d] + (int64_t)v[i / run * m + d];
        to = to * run + i % run;
        if (want.i)
            want.i[to] = wrapped(want.dtype, from.i[i] + (add ? want.i[to] : 0));
        else
            want.f[to] = add ? add_rounded(want.dtype, want.f[to], from.f[i]) : from.f[i];
    }
    free(v);
    drop(&from);
    expect(p, weft_index_put(p->base.s, x, ids, values, add), &want, 0);
}

static void check_masked_select(prop *p) {
    weft_tensor *x = pick(p, ALL, 0, WEFT_MAX_RANK);
    nd a = load(p, x);
    weft_tensor *mask = fresh(p, WEFT_BOOL, a.rank, a.dims);
    nd m = load(p, mask);
    int64_t n = 0;
    for (size_t i = 0; i < m.n; i++)
        n += m.i[i];
    nd want = make_nd(a.dtype, 1, &n);
    for (size_t i = 0, at = 0; i < m.n; i++)
        if (m.i[i])
            set(&want, at++, value(&a, i));
    drop(&a), drop(&m);
    expect(p, weft_masked_select(p->base.s, x, mask), &want, 0);
}

static void check_concat(prop *p) {
    weft_tensor *list[3] = {pick(p, ALL, 1, WEFT_MAX_RANK)};
    nd part[3] = {load(p, list[0])};
    int axis = (int)below(p, part[0].rank);
    int64_t dims[WEFT_MAX_RANK], at[WEFT_MAX_RANK], total = part[0].dims[axis];
    memcpy(dims, part[0].dims, sizeof dims);
    for (int i = 1; i < 3; i++) {
        dims[axis] = below(p, 4);
        list[i] = one_in(p, 4) ? list[0] : fresh(p, part[0].dtype, part[0].rank, dims);
        part[i] = load(p, list[i]);
        total += part[i].dims[axis];
    }
    dims[axis] = total;
    nd want = make_nd(part[0].dtype, part[0].rank, dims);
    for (size_t i = 0; i < want.n; i++) {
        unravel(&want, i, at);
        int from = 0;
        while (at[axis] >= part[from].dims[axis])
            at[axis] -= part[from++].dims[axis];
        set(&want, i, value(&part[from], ravel(&part[from], at)));
    }
    for (int i = 0; i < 3; i++)
        drop(&part[i]);
    expect(p, weft_concat(p->base.s, list, 3, axis), &want, 0);
}

static void check_stack(prop *p) {
    weft_tensor *a = pick(p, ALL, 0, WEFT_MAX_RANK - 1), *list[2] = {a, pick_like(p, a)};
    nd x[2] = {load(p, list[0]), load(p, list[1])};
    int axis = (int)below(p, x[0].rank + 1);
    int64_t dims[WEFT_MAX_RANK], at[WEFT_MAX_RANK], from[WEFT_MAX_RANK];
    for (int d = 0; d <= x[0].rank; d++)
        dims[d] = d < axis ? x[0].dims[d] : d == axis ? 2 : x[0].dims[d - 1];
    nd want = make_nd(x[0].dtype, x[0].rank + 1, dims);
    for (size_t i = 0; i < want.n; i++) {
        unravel(&want, i, at);
        for (int d = 0; d < x[0].rank; d++)
            from[d] = at[d < axis ? d : d + 1];
        const nd *which = &x[at[axis]];
        set(&want, i, value(which, ravel(which, from)));
    }
    drop(&x[0]), drop(&x[1]);
    expect(p, weft_stack(p->base.s, list, 2, axis), &want, 0);
}

static void check_repeat(prop *p) {
    weft_tensor *x = pick(p, ALL, 1, WEFT_MAX_RANK);
    nd a = load(p, x);
    int axis = (int)below(p, a.rank);
    int64_t dims[WEFT_MAX_RANK], at[WEFT_MAX_RANK], times = below(p, 4);
    memcpy(dims, a.dims, sizeof dims);
    dims[axis] *= times;
    nd want = make_nd(a.dtype, a.rank, dims);
    for (size_t i = 0; i < want.n; i++) {
        unravel(&want, i, at);
        at[axis] /= times;
        set(&want, i, value(&a, ravel(&a, at)));
    }
    drop(&a);
    expect(p, weft_repeat(p->base.s, x, axis, (size_t)times), &want, 0);
}

static void check_tile(prop *p) {
    weft_tensor *x = pick(p, ALL, 0, 5);
    nd a = load(p, x);
    int more = (int)below(p, 3), rank = a.rank + more;
    int64_t reps[WEFT_MAX_RANK], dims[WEFT_MAX_RANK], at[WEFT_MAX_RANK];
    for (int d = 0; d < rank; d++) {
        reps[d] = a.n > 500 ? 1 : below(p, 4);
        dims[d] = reps[d] * (d < more ? 1 : a.dims[d - more]);
    }
    nd want = make_nd(a.dtype, rank, dims);
    for (size_t i = 0; i < want.n; i++) {
        unravel(&want, i, at);
        for (int d = 0; d < a.rank; d++)
            at[d] = at[d + more] % a.dims[d];
        set(&want, i, value(&a, ravel(&a, at)));
    }
    drop(&a);
    expect(p, weft_tile(p->base.s, x, rank, reps), &want, 0);
}

/* y[i] = x[(n - 1 - i)] or x[(i - shift) mod n] along an axis. */
static void turned(prop *p, bool flip) {
    weft_tensor *x = pick(p, ALL, 1, WEFT_MAX_RANK);
    nd a = load(p, x), want = make_nd(a.dtype, a.rank, a.dims);
    int axis = (int)below(p, a.rank);
    int64_t at[WEFT_MAX_RANK], n = a.dims[axis], shift = below(p, 20) - 10;
    for (size_t i = 0; i < want.n; i++) {
        unravel(&want, i, at);
        at[axis] = flip ? n - 1 - at[axis] : ((at[axis] - shift) % n + n) % n;
        set(&want, i, value(&a, ravel(&a, at)));
    }
    drop(&a);
    expect(p,
           flip ? weft_flip(p->base.s, x, axis - want.rank) : weft_roll(p->base.s, x, axis, shift),
           &want, 0);
}
static void check_flip(prop *p) {
    turned(p, true);
}
static void check_roll(prop *p) {
    turned(p, false);
}

static void check_pad(prop *p) {
    weft_tensor *x = pick(p, ALL, 0, 5);
    nd a = load(p, x);
    int64_t before[WEFT_MAX_RANK], after[WEFT_MAX_RANK], dims[WEFT_MAX_RANK], at[WEFT_MAX_RANK];
    for (int d = 0; d < a.rank; d++) {
        before[d] = below(p, 3);
        after[d] = below(p, 3);
        dims[d] = before[d] + a.dims[d] + after[d];
    }
    nd want = make_nd(a.dtype, a.rank, dims);
    for (size_t i = 0; i < want.n; i++) {
        bool inside = true;
        unravel(&want, i, at);
        for (int d = 0; d < a.rank; d++) {
            at[d] -= before[d];
            inside = inside && at[d] >= 0 && at[d] < a.dims[d];
        }
        set(&want, i, inside ? value(&a, ravel(&a, at)) : 1);
    }
    drop(&a);
    expect(p, weft_pad(p->base.s, x, before, after, 1), &want, 0);
}

static void triangle(prop *p, bool lower) {
    weft_tensor *x = pick(p, ALL, 2, WEFT_MAX_RANK);
    nd want = load(p, x);
    int64_t at[WEFT_MAX_RANK], diagonal = below(p, 9) - 4;
    for (size_t i = 0; i < want.n; i++) {
        unravel(&want, i, at);
        int64_t right = at[want.rank - 1] - at[want.rank - 2];
        if (lower ? right > diagonal : right < diagonal)
            set(&want, i, 0);
    }
    expect(p, lower ? weft_tril(p->base.s, x, diagonal) : weft_triu(p->base.s, x, diagonal), &want,
           0);
}
static void check_tril(prop *p) {
    triangle(p, true);
}
static void check_triu(prop *p) {
    triangle(p, false);
}

static void check_one_hot(prop *p) {
    int64_t dims[WEFT_MAX_RANK], n = 1 + below(p, 6);
    int rank = any_shape(p, 0, 3, dims);
    weft_tensor *ids = ids_below(p, rank, dims, n);
    nd list = load(p, ids);
    dims[rank] = n;
    nd want = make_nd(any_type(p), rank + 1, dims);
    for (size_t i = 0; i < list.n; i++)
        set(&want, i * (size_t)n + (size_t)list.i[i], 1);
    drop(&list);
    expect(p, weft_one_hot(p->base.s, ids, n, want.dtype), &want, 0);
}

#define ROW(name)                                                                                  \
    { #name, check_##name }
const prop_check prop_index[] = {
    ROW(index_select),  ROW(gather),  ROW(scatter), ROW(scatter_add), ROW(index_put),
    ROW(masked_select), ROW(concat),  ROW(stack),   ROW(repeat),      ROW(tile),
    ROW(flip),          ROW(roll),    ROW(pad),     ROW(tril),        ROW(triu),
    ROW(one_hot),       {NULL, NULL},
};
