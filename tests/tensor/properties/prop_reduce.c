/* Reductions over any set of dims, running sums, order. */
#include "prop.h"

typedef weft_tensor *(*reduce_one)(weft_scope *, weft_tensor *, int, bool);
typedef weft_tensor *(*reduce_set)(weft_scope *, weft_tensor *, const int *, int, bool);

/* What the elements of one output give. */
typedef double (*gather_f)(const double *v, size_t n);
typedef int64_t (*gather_i)(const int64_t *v, size_t n);

typedef struct reduce_def {
    reduce_one one;
    reduce_set set;
    unsigned types;
    weft_dtype out_whole; /* of integers and bool; BOOL: x's own */
    bool index, refuses_empty;
    gather_f f;
    gather_i i;
    double units;
} reduce_def;

/* The outputs' shape and, for each element of x, its output. */
static nd outputs_of(const nd *x, unsigned which, bool keep, weft_dtype dtype, size_t *place) {
    int64_t dims[WEFT_MAX_RANK], at[WEFT_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < x->rank; d++)
        if (!(which >> d & 1u) || keep)
            dims[rank++] = which >> d & 1u ? 1 : x->dims[d];
    nd y = make_nd(dtype, rank, dims);
    for (size_t i = 0; i < x->n; i++) {
        size_t to = 0;
        unravel(x, i, at);
        for (int d = 0; d < x->rank; d++)
            if (!(which >> d & 1u))
                to = to * (size_t)x->dims[d] + (size_t)at[d];
        place[i] = to;
    }
    return y;
}

static weft_tensor *call(prop *p, const reduce_def *d, weft_tensor *x, unsigned *which,
                         bool *keep) {
    int rank = weft_tensor_rank(x), axes[WEFT_MAX_RANK], n = 0;
    *keep = one_in(p, 2);
    *which = 0;
    if (rank > 0 && one_in(p, 2)) {
        int axis = (int)below(p, rank);
        *which = 1u << axis;
        return d->one(p->base.s, x, one_in(p, 2) ? axis : axis - rank, *keep);
    }
    for (int a = 0; a < rank; a++)
        if (one_in(p, 2)) {
            axes[n++] = a;
            *which |= 1u << a;
        }
    if (n == 0) {
        *which = (1u << rank) - 1;
        return d->set(p->base.s, x, NULL, 0, *keep);
    }
    return d->set(p->base.s, x, axes, n, *keep);
}

static void reduction(prop *p, const reduce_def *d) {
    weft_tensor *x = pick(p, d->types, 0, WEFT_MAX_RANK);
    unsigned which;
    bool keep;
    weft_tensor *y = call(p, d, x, &which, &keep);
    nd a = load(p, x);
    size_t *place = calloc(a.n + 1, sizeof *place), reduced = 1;
    for (int k = 0; k < a.rank; k++)
        reduced *= which >> k & 1u ? (size_t)a.dims[k] : 1;
    weft_dtype out = d->index ? WEFT_I64 : a.i && d->out_whole != WEFT_BOOL ? WEFT_I64 : a.dtype;
    nd want = outputs_of(&a, which, keep, out, place);
    if (reduced == 0 && d->refuses_empty) {
        drop(&a), drop(&want), free(place);
        expect_error(p, y, WEFT_E_EMPTY);
        return;
    }
    double *f = calloc(reduced + 1, sizeof *f);
    int64_t *w = calloc(reduced + 1, sizeof *w);
    for (size_t o = 0; o < want.n; o++) {
        size_t n = 0;
        for (size_t i = 0; i < a.n; i++)
            if (place[i] == o) {
                f[n] = a.f ? a.f[i] : 0;
                w[n++] = a.i ? a.i[i] : 0;
            }
        if (a.i)
            want.i[o] = d->i(w, n);
        else if (d->index)
            want.i[o] = (int64_t)d->f(f, n);
        else
            want.f[o] = d->f(f, n);
    }
    double room = a.dtype == WEFT_F64 ? 8 + (double)reduced : 1; /* sums are no wider than f64 */
    free(f), free(w), free(place);
    drop(&a);
    expect(p, y, &want, d->units * room);
}

static double sum_f(const double *v, size_t n) {
    double r = 0;
    for (size_t i = 0; i < n; i++)
        r += v[i];
    return r;
}
static int64_t sum_i(const int64_t *v, size_t n) {
    uint64_t r = 0;
    for (size_t i = 0; i < n; i++)
        r += (uint64_t)v[i];
    return (int64_t)r;
}
static double mean_f(const double *v, size_t n) {
    return sum_f(v, n) / (double)n;
}
/* In the documented order, 16 lanes and their tree: where factors are so great and small that parts
 * of the product leave f64's range, the order is part of the result. */
static double prod_f(const double *v, size_t n) {
    double lanes[16];
    for (size_t l = 0; l < 16; l++)
        lanes[l] = 1;
    for (size_t i = 0; i < n; i++)
        lanes[i % 16] *= v[i];
    for (size_t half = 8; half > 0; half /= 2)
        for (size_t l = 0; l < half; l++)
            lanes[l] *= lanes[l + half];
    return lanes[0];
}
static int64_t prod_i(const int64_t *v, size_t n) {
    uint64_t r = 1;
    for (size_t i = 0; i < n; i++)
        r *= (uint64_t)v[i];
    return (int64_t)r;
}
/* The first NaN, else the first of the best. */
static size_t best_f(const double *v, size_t n, double sign) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (v[best] == v[best] && (v[i] != v[i] || v[i] * sign > v[best] * sign))
            best = i;
    return best;
}
static size_t best_i(const int64_t *v, size_t n, bool least) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (least ? v[i] < v[best] : v[i] > v[best])
            best = i;
    return best;
}
static double max_f(const double *v, size_t n) {
    return v[best_f(v, n, 1)];
}
static double min_f(const double *v, size_t n) {
    return v[best_f(v, n, -1)];
}
static int64_t max_i(const int64_t *v, size_t n) {
    return v[best_i(v, n, false)];
}
static int64_t min_i(const int64_t *v, size_t n) {
    return v[best_i(v, n, true)];
}
static double argmax_f(const double *v, size_t n) {
    return (double)best_f(v, n, 1);
}
static double argmin_f(const double *v, size_t n) {
    return (double)best_f(v, n, -1);
}
static int64_t argmax_i(const int64_t *v, size_t n) {
    return (int64_t)best_i(v, n, false);
}
static int64_t argmin_i(const int64_t *v, size_t n) {
    return (int64_t)best_i(v, n, true);
}
static int64_t any_i(const int64_t *v, size_t n) {
    return sum_i(v, n) > 0;
}
static int64_t all_i(const int64_t *v, size_t n) {
    return sum_i(v, n) == (int64_t)n;
}
/* With more digits than f64: the mean of equal numbers is then that number. */
static double squares_f(const double *v, size_t n) {
    long double mean = 0, r = 0;
    for (size_t i = 0; i < n; i++)
        mean += (long double)v[i];
    mean /= (long double)n;
    for (size_t i = 0; i < n; i++)
        r += (v[i] - mean) * (v[i] - mean);
    return (double)r;
}
static double var_f(const double *v, size_t n) {
    return n == 0 ? NAN : squares_f(v, n) / (double)n;
}
static double std_f(const double *v, size_t n) {
    return n < 2 ? NAN : sqrt(squares_f(v, n) / (double)(n - 1));
}
static double norm2_f(const double *v, size_t n) {
    double r = 0;
    for (size_t i = 0; i < n; i++)
        r += v[i] * v[i];
    return sqrt(r);
}
static double norm3_f(const double *v, size_t n) {
    double r = 0;
    for (size_t i = 0; i < n; i++)
        r += pow(fabs(v[i]), 3);
    return pow(r, 1.0 / 3);
}
static double logsumexp_f(const double *v, size_t n) {
    double m = -INFINITY, r = 0;
    for (size_t i = 0; i < n; i++)
        m = v[i] > m ? v[i] : m;
    m = isinf(m) ? 0 : m;
    for (size_t i = 0; i < n; i++)
        r += exp(v[i] - m);
    return m + log(r);
}

#define REDUCTION(name, types, out, index, refuses, f, i, units)                                   \
    static void check_##name(prop *p) {                                                            \
        static const reduce_def d = {                                                              \
            weft_##name, weft_##name##_dims, types, out, index, refuses, f, i, units};             \
        reduction(p, &d);                                                                          \
    }
REDUCTION(sum, ALL, WEFT_I64, false, false, sum_f, sum_i, 1)
REDUCTION(mean, FLOATS, WEFT_I64, false, false, mean_f, NULL, 1)
REDUCTION(prod, ALL, WEFT_I64, false, false, prod_f, prod_i, 2)
REDUCTION(max, ALL, WEFT_BOOL, false, true, max_f, max_i, 0)
REDUCTION(min, ALL, WEFT_BOOL, false, true, min_f, min_i, 0)
REDUCTION(argmax, ALL, WEFT_I64, true, true, argmax_f, argmax_i, 0)
REDUCTION(argmin, ALL, WEFT_I64, true, true, argmin_f, argmin_i, 0)
REDUCTION(any, BOOLS, WEFT_BOOL, false, false, NULL, any_i, 0)
REDUCTION(all, BOOLS, WEFT_BOOL, false, false, NULL, all_i, 0)
REDUCTION(logsumexp, FLOATS, WEFT_I64, false, false, logsumexp_f, NULL, 4)

/* Those with a parameter, which is fixed here. */
#define WITH_PARAMETER(name, parameter, f, units)                                                  \
    static weft_tensor *name##_one(weft_scope *s, weft_tensor *x, int axis, bool keep) {           \
        return weft_##name(s, x, parameter, axis, keep);                                           \
    }                                                                                              \
    static weft_tensor *name##_set(weft_scope *s, weft_tensor *x, const int *axes, int n,          \
                                   bool keep) {                                                    \
        return weft_##name##_dims(s, x, parameter, axes, n, keep);                                 \
    }                                                                                              \
    static void check_##name(prop *p) {                                                            \
        static const reduce_def d = {name##_one, name##_set, FLOATS, WEFT_I64, false,              \
                                     false,      f,          NULL,   units};                       \
        reduction(p, &d);                                                                          \
    }
WITH_PARAMETER(var, 0, var_f, 4)
WITH_PARAMETER(std, 1, std_f, 4)

static double norm_power; /* of the case that runs */
static weft_tensor *norm_one(weft_scope *s, weft_tensor *x, int axis, bool keep) {
    return weft_norm(s, x, norm_power, axis, keep);
}
static weft_tensor *norm_set(weft_scope *s, weft_tensor *x, const int *axes, int n, bool keep) {
    return weft_norm_dims(s, x, norm_power, axes, n, keep);
}
static double norm0_f(const double *v, size_t n) {
    double r = 0;
    for (size_t i = 0; i < n; i++)
        r += v[i] != 0;
    return r;
}
static double norm1_f(const double *v, size_t n) {
    double r = 0;
    for (size_t i = 0; i < n; i++)
        r += fabs(v[i]);
    return r;
}
static double norm_inf_f(const double *v, size_t n) {
    double r = 0;
    for (size_t i = 0; i < n; i++)
        r = v[i] != v[i] || r != r ? NAN : fmax(r, fabs(v[i]));
    return r;
}
static void check_norm(prop *p) {
    static const double powers[] = {0, 1, 2, 3, INFINITY};
    static const gather_f f[] = {norm0_f, norm1_f, norm2_f, norm3_f, norm_inf_f};
    size_t which = (size_t)below(p, 5);
    norm_power = powers[which];
    reduce_def d = {norm_one, norm_set, FLOATS, WEFT_I64, false, false, f[which], NULL, 4};
    reduction(p, &d);
}

/* ---- Along an axis ---- */

/* Calls `line` for every line along an axis, with the places of its elements. */
typedef void (*line_fn)(const nd *x, const size_t *at, size_t n, nd *y);

static nd lines(const nd *x, int axis, weft_dtype dtype, line_fn line) {
    nd y = make_nd(dtype, x->rank, x->dims);
    size_t n = (size_t)x->dims[axis], *at = calloc(n + 1, sizeof *at);
    int64_t where[WEFT_MAX_RANK];
    for (size_t i = 0; i < x->n; i++) {
        unravel(x, i, where);
        if (where[axis] != 0)
            continue;
        for (size_t k = 0; k < n; k++) {
            where[axis] = (int64_t)k;
            at[k] = ravel(x, where);
        }
        line(x, at, n, &y);
    }
    free(at);
    return y;
}

static void running_sum(const nd *x, const size_t *at, size_t n, nd *y) {
    double f = 0;
    uint64_t w = 0;
    for (size_t k = 0; k < n; k++) {
        if (x->i)
            y->i[at[k]] = (int64_t)(w += (uint64_t)x->i[at[k]]);
        else
            y->f[at[k]] = f += x->f[at[k]];
    }
}
static void running_product(const nd *x, const size_t *at, size_t n, nd *y) {
    double f = 1;
    uint64_t w = 1;
    for (size_t k = 0; k < n; k++) {
        if (x->i)
            y->i[at[k]] = (int64_t)(w *= (uint64_t)x->i[at[k]]);
        else
            y->f[at[k]] = f *= x->f[at[k]];
    }
}
static void check_running(prop *p, bool product) {
    weft_tensor *x = pick(p, ALL, 1, WEFT_MAX_RANK);
    int axis = (int)below(p, weft_tensor_rank(x));
    nd a = load(p, x);
    nd want = lines(&a, axis, a.i ? WEFT_I64 : a.dtype, product ? running_product : running_sum);
    double room = a.dtype == WEFT_F64 ? 64 : 1;
    drop(&a);
    expect(p, product ? weft_cumprod(p->base.s, x, axis) : weft_cumsum(p->base.s, x, axis), &want,
           room);
}
static void check_cumsum(prop *p) {
    check_running(p, false);
}
static void check_cumprod(prop *p) {
    check_running(p, true);
}

/* ---- Order ---- */

/* Whether a comes before b: NaN is the greatest. */
static bool precedes(double a, double b) {
    return b != b ? a == a : a < b;
}

/* Indices of a line in order, by insertion: stable. */
static void order_line(const nd *x, const size_t *at, size_t n, bool descending, size_t *order) {
    for (size_t k = 0; k < n; k++) {
        double v = value(x, at[k]);
        size_t to = k;
        for (; to > 0; to--) {
            double u = value(x, at[order[to - 1]]);
            if (!(descending ? precedes(u, v) : precedes(v, u)))
                break;
            order[to] = order[to - 1];
        }
        order[to] = k;
    }
}
static bool sort_descending, sort_indices; /* of the case that runs */
static void sort_line(const nd *x, const size_t *at, size_t n, nd *y) {
    size_t *order = calloc(n + 1, sizeof *order);
    order_line(x, at, n, sort_descending, order);
    for (size_t k = 0; k < n; k++)
        set(y, at[k], sort_indices ? (double)order[k] : value(x, at[order[k]]));
    free(order);
}
static weft_tensor *sortable(prop *p, int *axis) {
    weft_tensor *x = pick(p, ALL, 1, 4);
    *axis = (int)below(p, weft_tensor_rank(x));
    sort_descending = one_in(p, 2);
    return x;
}
static void check_sort(prop *p) {
    int axis;
    weft_tensor *x = sortable(p, &axis);
    if (weft_tensor_numel(x) > 2000)
        x = weft_tensor_narrow(p->base.s, x, axis, 0, 1);
    nd a = load(p, x);
    sort_indices = false;
    nd want = lines(&a, axis, a.dtype, sort_line);
    drop(&a);
    expect(p, weft_sort(p->base.s, x, axis, sort_descending), &want, 0);
}
static void check_argsort(prop *p) {
    int axis;
    weft_tensor *x = sortable(p, &axis);
    if (weft_tensor_numel(x) > 2000)
        x = weft_tensor_narrow(p->base.s, x, axis, 0, 1);
    nd a = load(p, x);
    sort_indices = true;
    nd want = lines(&a, axis, WEFT_I64, sort_line);
    drop(&a);
    expect(p, weft_argsort(p->base.s, x, axis, sort_descending), &want, 0);
}
static void check_topk(prop *p) {
    int axis;
    weft_scope *s = p->base.s;
    weft_tensor *x = sortable(p, &axis), *values, *indices;
    size_t extent = (size_t)weft_tensor_dim(x, axis), k = (size_t)below(p, (int64_t)extent + 1);
    weft_topk(s, x, axis, k, &values, &indices);
    fine(p); /* sorting has its own check */
    nd want = load(p, weft_tensor_narrow(s, weft_sort(s, x, axis, true), axis, 0, k));
    nd places = load(p, weft_tensor_narrow(s, weft_argsort(s, x, axis, true), axis, 0, k));
    expect(p, values, &want, 0);
    expect(p, indices, &places, 0);
}
static void check_unique(prop *p) {
    weft_tensor *x = pick(p, ALL, 0, 5), *values, *inverse, *counts;
    weft_unique(p->base.s, x, &values, &inverse, &counts);
    fine(p);
    nd a = load(p, x), v = load(p, values), in = load(p, inverse), c = load(p, counts);
    int64_t total = 0;
    for (size_t i = 0; i < v.n; i++) {
        assert_true(i == 0 || precedes(value(&v, i - 1), value(&v, i)));
        assert_true(c.i[i] > 0);
        total += c.i[i];
    }
    assert_true(total == (int64_t)a.n && in.n == a.n);
    for (size_t i = 0; i < a.n; i++) {
        double got = value(&v, (size_t)in.i[i]), want = value(&a, i);
        assert_true(want != want ? got != got : got == want);
        c.i[in.i[i]]--;
    }
    for (size_t i = 0; i < c.n; i++)
        assert_true(c.i[i] == 0);
    drop(&a), drop(&v), drop(&in), drop(&c);
}
static void check_histogram(prop *p) {
    weft_tensor *x = pick(p, NUMBERS, 0, 5);
    int64_t bins = 1 + below(p, 9);
    nd a = load(p, x), want = make_nd(WEFT_I64, 1, &bins);
    for (size_t i = 0; i < a.n; i++) {
        double v = value(&a, i);
        if (v >= -2 && v <= 6) {
            int64_t b = (int64_t)((v + 2) / 8 * (double)bins);
            want.i[b < bins ? b : bins - 1]++;
        }
    }
    drop(&a);
    expect(p, weft_histogram(p->base.s, x, bins, -2, 6), &want, 0);
}

#define ROW(name)                                                                                  \
    { #name, check_##name }
const prop_check prop_reductions[] = {
    ROW(sum),    ROW(mean),   ROW(prod),    ROW(max),     ROW(min), ROW(argmax),
    ROW(argmin), ROW(var),    ROW(std),     ROW(norm),    ROW(any), ROW(logsumexp),
    ROW(all),    ROW(cumsum), ROW(cumprod), {NULL, NULL},
};
const prop_check prop_order[] = {
    ROW(sort), ROW(argsort), ROW(topk), ROW(unique), ROW(histogram), {NULL, NULL},
};
