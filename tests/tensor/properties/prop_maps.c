/* Elementwise ops: strict, broadcast and scalar spellings. */
#include "prop.h"

typedef weft_tensor *(*op1)(weft_scope *, weft_tensor *);
typedef weft_tensor *(*op2)(weft_scope *, weft_tensor *, weft_tensor *);
typedef weft_tensor *(*op_scalar)(weft_scope *, weft_tensor *, double);
typedef double (*f1)(double);
typedef double (*f2)(double, double);
typedef int64_t (*i1)(int64_t);
typedef int64_t (*i2)(int64_t, int64_t);

/* ---- Two inputs ---- */

typedef struct pair_def {
    op2 strict, broadcast;
    op_scalar scalar; /* or NULL */
    unsigned types;
    bool predicate, divides;
    f2 f;
    i2 i;
    double units;
} pair_def;

static bool has_zero(const nd *x) {
    for (size_t i = 0; i < x->n; i++)
        if (value(x, i) == 0)
            return true;
    return false;
}

static void set_pair(const pair_def *d, nd *y, size_t at, const nd *a, size_t ia, const nd *b,
                     size_t ib) {
    if (a->i) /* never called by zero */
        y->i[at] = wrapped(y->dtype, d->i(a->i[ia], b->i[ib]));
    else if (d->predicate)
        y->i[at] = d->f(a->f[ia], b->f[ib]) != 0;
    else
        y->f[at] = d->f(a->f[ia], b->f[ib]);
}

/* A part of the shape of t: leading dims dropped, others 1. */
static weft_tensor *broadcastable(prop *p, weft_tensor *t) {
    int64_t dims[WEFT_MAX_RANK];
    int rank = weft_tensor_rank(t), lost = rank > 0 ? (int)below(p, rank + 1) : 0;
    for (int d = lost; d < rank; d++)
        dims[d - lost] = one_in(p, 3) ? 1 : weft_tensor_dim(t, d);
    return fresh(p, weft_tensor_dtype(t), rank - lost, dims);
}

static void pair(prop *p, const pair_def *d) {
    weft_scope *s = p->base.s;
    weft_tensor *a = pick(p, d->types, 0, WEFT_MAX_RANK), *b, *y;
    bool broadcast = one_in(p, 2);
    if (d->scalar && one_in(p, 4)) {
        double v = (double)(1 + below(p, 5));
        if (weft_tensor_dtype(a) == WEFT_BOOL)
            v = 1;
        nd na = load(p, a), want;
        want = make_nd(d->predicate ? WEFT_BOOL : na.dtype, na.rank, na.dims);
        nd one = make_nd(na.dtype, 0, NULL);
        set(&one, 0, v);
        for (size_t i = 0; i < na.n; i++)
            set_pair(d, &want, i, &na, i, &one, 0);
        y = d->scalar(s, a, v);
        drop(&na), drop(&one);
        expect(p, y, &want, d->units);
        return;
    }
    b = broadcast ? broadcastable(p, a) : pick_like(p, a);
    if (broadcast && one_in(p, 2)) {
        weft_tensor *swap = a;
        a = b;
        b = swap;
    }
    y = (broadcast ? d->broadcast : d->strict)(s, a, b);
    weft_tensor *wide = weft_tensor_rank(a) >= weft_tensor_rank(b) ? a : b;
    (void)wide;
    nd na = load(p, a), nb = load(p, b);
    int rank = na.rank > nb.rank ? na.rank : nb.rank;
    int64_t dims[WEFT_MAX_RANK];
    for (int k = 0; k < rank; k++) {
        int ka = k - (rank - na.rank), kb = k - (rank - nb.rank);
        int64_t ea = ka < 0 ? 1 : na.dims[ka], eb = kb < 0 ? 1 : nb.dims[kb];
        dims[k] = ea == 1 ? eb : ea;
    }
    nd want = make_nd(d->predicate ? WEFT_BOOL : na.dtype, rank, dims);
    if (d->divides && nb.i && want.n > 0 && has_zero(&nb)) {
        drop(&na), drop(&nb), drop(&want);
        expect_error(p, y, WEFT_E_DIVISION);
        return;
    }
    for (size_t i = 0; i < want.n; i++) {
        int64_t at[WEFT_MAX_RANK], aa[WEFT_MAX_RANK], ab[WEFT_MAX_RANK];
        unravel(&want, i, at);
        for (int k = 0; k < na.rank; k++)
            aa[k] = na.dims[k] == 1 ? 0 : at[k + rank - na.rank];
        for (int k = 0; k < nb.rank; k++)
            ab[k] = nb.dims[k] == 1 ? 0 : at[k + rank - nb.rank];
        set_pair(d, &want, i, &na, ravel(&na, aa), &nb, ravel(&nb, ab));
    }
    drop(&na), drop(&nb);
    expect(p, y, &want, d->units);
}

static double add_f(double a, double b) {
    return a + b;
}
static double sub_f(double a, double b) {
    return a - b;
}
static double mul_f(double a, double b) {
    return a * b;
}
static double div_f(double a, double b) {
    return a / b;
}
static double min_f(double a, double b) {
    return a != a || b != b ? NAN : a < b ? a : b;
}
static double max_f(double a, double b) {
    return a != a || b != b ? NAN : a > b ? a : b;
}
static int64_t add_i(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}
static int64_t sub_i(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a - (uint64_t)b);
}
static int64_t mul_i(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}
static int64_t div_i(int64_t a, int64_t b) {
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}
static int64_t rem_i(int64_t a, int64_t b) {
    return b == -1 ? 0 : a % b;
}
static int64_t min_i(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static int64_t max_i(int64_t a, int64_t b) {
    return a > b ? a : b;
}
#define COMPARISON(name, sign)                                                                     \
    static double name##_f(double a, double b) {                                                   \
        return a sign b;                                                                           \
    }                                                                                              \
    static int64_t name##_i(int64_t a, int64_t b) {                                                \
        return a sign b;                                                                           \
    }
COMPARISON(eq, ==)
COMPARISON(ne, !=)
COMPARISON(lt, <)
COMPARISON(le, <=)
COMPARISON(gt, >)
COMPARISON(ge, >=)
static int64_t and_i(int64_t a, int64_t b) {
    return a && b;
}
static int64_t or_i(int64_t a, int64_t b) {
    return a || b;
}

#define PAIR(name, types, predicate, divides, f, i, units)                                         \
    static void check_##name(prop *p) {                                                            \
        static const pair_def d = {weft_##name,                                                    \
                                   weft_broadcast_##name,                                          \
                                   weft_##name##_scalar,                                           \
                                   types,                                                          \
                                   predicate,                                                      \
                                   divides,                                                        \
                                   f,                                                              \
                                   i,                                                              \
                                   units};                                                         \
        pair(p, &d);                                                                               \
    }
PAIR(add, NUMBERS, false, false, add_f, add_i, 0)
PAIR(sub, NUMBERS, false, false, sub_f, sub_i, 0)
PAIR(mul, NUMBERS, false, false, mul_f, mul_i, 0)
PAIR(div, NUMBERS, false, true, div_f, div_i, 0)
PAIR(rem, NUMBERS, false, true, fmod, rem_i, 0)
PAIR(pow, FLOATS, false, false, pow, NULL, 4)
PAIR(minimum, NUMBERS, false, false, min_f, min_i, 0)
PAIR(maximum, NUMBERS, false, false, max_f, max_i, 0)
PAIR(eq, ALL, true, false, eq_f, eq_i, 0)
PAIR(ne, ALL, true, false, ne_f, ne_i, 0)
PAIR(lt, ALL, true, false, lt_f, lt_i, 0)
PAIR(le, ALL, true, false, le_f, le_i, 0)
PAIR(gt, ALL, true, false, gt_f, gt_i, 0)
PAIR(ge, ALL, true, false, ge_f, ge_i, 0)
#define LOGIC(name, i)                                                                             \
    static void check_##name(prop *p) {                                                            \
        static const pair_def d = {                                                                \
            weft_##name, weft_broadcast_##name, NULL, BOOLS, true, false, NULL, i, 0};             \
        pair(p, &d);                                                                               \
    }
LOGIC(logical_and, and_i)
LOGIC(logical_or, or_i)
LOGIC(logical_xor, ne_i)

/* ---- One input ---- */

typedef struct single_def {
    op1 op;
    unsigned types;
    bool predicate;
    f1 f;
    i1 i;
    double units;
} single_def;

static void single(prop *p, const single_def *d) {
    weft_tensor *x = pick(p, d->types, 0, WEFT_MAX_RANK), *y = d->op(p->base.s, x);
    nd a = load(p, x), want = make_nd(d->predicate ? WEFT_BOOL : a.dtype, a.rank, a.dims);
    for (size_t i = 0; i < a.n; i++) {
        if (a.i)
            want.i[i] = wrapped(want.dtype, d->i(a.i[i]));
        else if (d->predicate)
            want.i[i] = d->f(a.f[i]) != 0;
        else
            want.f[i] = d->f(a.f[i]);
    }
    drop(&a);
    expect(p, y, &want, d->units);
}

static int64_t not_i(int64_t a) {
    return !a;
}
static int64_t zero_i(int64_t a) {
    (void)a;
    return 0;
}
static int64_t same_i(int64_t a) {
    return a;
}
static double is_nan_f(double a) {
    return a != a;
}
static double is_inf_f(double a) {
    return isinf(a) != 0;
}
static double neg_f(double a) {
    return -a;
}
static int64_t neg_i(int64_t a) {
    return (int64_t)(0 - (uint64_t)a);
}
static int64_t abs_i(int64_t a) {
    return a < 0 ? neg_i(a) : a;
}
static double sign_f(double a) {
    return a > 0 ? 1 : a < 0 ? -1 : a;
}
static int64_t sign_i(int64_t a) {
    return (a > 0) - (a < 0);
}
static double square_f(double a) {
    return a * a;
}
static int64_t square_i(int64_t a) {
    return mul_i(a, a);
}
static double rsqrt_f(double a) {
    return 1 / sqrt(a);
}
static double sigmoid_f(double a) {
    return 1 / (1 + exp(-a));
}
static double relu_f(double a) {
    return a < 0 ? 0 : a;
}
static int64_t relu_i(int64_t a) {
    return a < 0 ? 0 : a;
}
/* The factor vanishes faster than x grows. */
static double silu_f(double a) {
    return a == -INFINITY ? 0 : a / (1 + exp(-a));
}
static double gelu_tanh_f(double a) {
    return a == -INFINITY ? 0
                          : 0.5 * a * (1 + tanh(0.7978845608028654 * (a + 0.044715 * a * a * a)));
}
static double gelu_erf_f(double a) {
    return a == -INFINITY ? 0 : 0.5 * a * erfc(-a / sqrt(2));
}
static double softplus_f(double a) {
    return (a < 0 ? 0 : a) + log1p(exp(-fabs(a)));
}

#define SINGLE(name, types, predicate, f, i, units)                                                \
    static void check_##name(prop *p) {                                                            \
        static const single_def d = {weft_##name, types, predicate, f, i, units};                  \
        single(p, &d);                                                                             \
    }
SINGLE(logical_not, BOOLS, true, NULL, not_i, 0)
SINGLE(is_nan, NUMBERS, true, is_nan_f, zero_i, 0)
SINGLE(is_inf, NUMBERS, true, is_inf_f, zero_i, 0)
SINGLE(neg, NUMBERS, false, neg_f, neg_i, 0)
SINGLE(abs, NUMBERS, false, fabs, abs_i, 0)
SINGLE(sign, NUMBERS, false, sign_f, sign_i, 0)
SINGLE(square, NUMBERS, false, square_f, square_i, 0)
SINGLE(floor, NUMBERS, false, floor, same_i, 0)
SINGLE(ceil, NUMBERS, false, ceil, same_i, 0)
SINGLE(round, NUMBERS, false, rint, same_i, 0)
SINGLE(trunc, NUMBERS, false, trunc, same_i, 0)
SINGLE(sqrt, FLOATS, false, sqrt, NULL, 0)
SINGLE(rsqrt, FLOATS, false, rsqrt_f, NULL, 1)
SINGLE(exp, FLOATS, false, exp, NULL, 3)
SINGLE(expm1, FLOATS, false, expm1, NULL, 3)
SINGLE(log, FLOATS, false, log, NULL, 2)
SINGLE(log1p, FLOATS, false, log1p, NULL, 2)
SINGLE(sin, FLOATS, false, sin, NULL, 2)
SINGLE(cos, FLOATS, false, cos, NULL, 2)
SINGLE(tanh, FLOATS, false, tanh, NULL, 3)
SINGLE(erf, FLOATS, false, erf, NULL, 4)
SINGLE(sigmoid, FLOATS, false, sigmoid_f, NULL, 4)
SINGLE(relu, NUMBERS, false, relu_f, relu_i, 0)
SINGLE(silu, FLOATS, false, silu_f, NULL, 5)
SINGLE(gelu_tanh, FLOATS, false, gelu_tanh_f, NULL, 6)
SINGLE(gelu_erf, FLOATS, false, gelu_erf_f, NULL, 6)
SINGLE(softplus, FLOATS, false, softplus_f, NULL, 4)

/* ---- With parameters ---- */

static void check_affine(prop *p) {
    weft_tensor *x = pick(p, NUMBERS, 0, WEFT_MAX_RANK);
    nd a = load(p, x), want = make_nd(a.dtype, a.rank, a.dims);
    double scale = (double)(below(p, 7) - 3), shift = (double)(below(p, 7) - 3);
    for (size_t i = 0; i < a.n; i++) {
        if (a.i)
            want.i[i] = wrapped(a.dtype, add_i(mul_i(a.i[i], (int64_t)scale), (int64_t)shift));
        else
            want.f[i] = a.dtype == WEFT_F64 ? a.f[i] * scale + shift
                                            : (double)((float)(a.f[i] * scale) + (float)shift);
    }
    drop(&a);
    expect(p, weft_affine(p->base.s, x, scale, shift), &want, 0);
}

static void check_clamp(prop *p) {
    weft_tensor *x = pick(p, NUMBERS, 0, WEFT_MAX_RANK);
    nd a = load(p, x), want = make_nd(a.dtype, a.rank, a.dims);
    for (size_t i = 0; i < a.n; i++) {
        double v = value(&a, i);
        set(&want, i, v < 0 ? 0 : v > 1 ? 1 : v);
    }
    drop(&a);
    expect(p, weft_clamp(p->base.s, x, 0, 1), &want, 0);
}

static void check_leaky_relu(prop *p) {
    weft_tensor *x = pick(p, FLOATS, 0, WEFT_MAX_RANK);
    nd a = load(p, x), want = make_nd(a.dtype, a.rank, a.dims);
    for (size_t i = 0; i < a.n; i++)
        want.f[i] = a.f[i] < 0 ? a.f[i] * 0.25 : a.f[i];
    drop(&a);
    expect(p, weft_leaky_relu(p->base.s, x, 0.25), &want, 0);
}

static void check_cast(prop *p) {
    weft_tensor *x = pick(p, ALL, 0, WEFT_MAX_RANK);
    weft_dtype to = any_type(p);
    nd a = load(p, x), want = make_nd(to, a.rank, a.dims);
    for (size_t i = 0; i < a.n; i++) {
        if (want.f) {
            want.f[i] = value(&a, i);
        } else if (a.i || to == WEFT_BOOL) {
            want.i[i] = to == WEFT_BOOL ? value(&a, i) != 0 : wrapped(to, a.i[i]);
        } else { /* saturates */
            double bits = to == WEFT_U8 ? 8 : 8.0 * (double)weft_dtype_block_bytes(to) - 1;
            double high = ldexp(1, (int)bits), low = to == WEFT_U8 ? 0 : -high;
            double v = a.f[i];
            want.i[i] = v != v      ? 0
                        : v <= low  ? (to == WEFT_I64 ? INT64_MIN : (int64_t)low)
                        : v >= high ? (to == WEFT_I64 ? INT64_MAX : (int64_t)high - 1)
                                    : (int64_t)v;
        }
    }
    bool exact = a.dtype != WEFT_F64 && a.dtype != WEFT_I64;
    drop(&a);
    expect(p, weft_cast(p->base.s, x, to), &want, exact ? 0 : 1);
}

static void check_where(prop *p) {
    weft_tensor *a = pick(p, ALL, 0, WEFT_MAX_RANK), *b = pick_like(p, a);
    int64_t dims[WEFT_MAX_RANK];
    int rank = weft_tensor_rank(a), lost = one_in(p, 2) && rank > 0 ? (int)below(p, rank + 1) : 0;
    for (int d = lost; d < rank; d++)
        dims[d - lost] = lost > 0 && one_in(p, 3) ? 1 : weft_tensor_dim(a, d);
    weft_tensor *cond = fresh(p, WEFT_BOOL, rank - lost, dims);
    weft_tensor *y =
        lost > 0 ? weft_broadcast_where(p->base.s, cond, a, b) : weft_where(p->base.s, cond, a, b);
    fine(p);
    nd nc = load(p, cond), na = load(p, a), nb = load(p, b);
    nd want = make_nd(na.dtype, na.rank, na.dims);
    for (size_t i = 0; i < na.n; i++) {
        int64_t at[WEFT_MAX_RANK];
        unravel(&na, i, at);
        for (int d = 0; d < nc.rank; d++)
            at[d] = nc.dims[d] == 1 ? 0 : at[d + lost];
        set(&want, i, value(nc.i[ravel(&nc, at)] ? &na : &nb, i));
    }
    drop(&nc), drop(&na), drop(&nb);
    expect(p, y, &want, 0);
}

static void check_masked_fill(prop *p) {
    weft_tensor *x = pick(p, ALL, 0, WEFT_MAX_RANK);
    int64_t dims[WEFT_MAX_RANK];
    int rank = weft_tensor_rank(x);
    for (int d = 0; d < rank; d++)
        dims[d] = weft_tensor_dim(x, d);
    weft_tensor *mask = fresh(p, WEFT_BOOL, rank, dims);
    nd a = load(p, x), m = load(p, mask), want = make_nd(a.dtype, a.rank, a.dims);
    for (size_t i = 0; i < a.n; i++)
        set(&want, i, m.i[i] ? 1 : value(&a, i));
    drop(&a), drop(&m);
    expect(p, weft_masked_fill(p->base.s, x, mask, 1), &want, 0);
}

#define ROW(name)                                                                                  \
    { #name, check_##name }
const prop_check prop_maps[] = {
    ROW(add),        ROW(sub),         ROW(mul),         ROW(div),      ROW(rem),
    ROW(pow),        ROW(minimum),     ROW(maximum),     ROW(eq),       ROW(ne),
    ROW(lt),         ROW(le),          ROW(gt),          ROW(ge),       ROW(logical_and),
    ROW(logical_or), ROW(logical_xor), ROW(logical_not), ROW(is_nan),   ROW(is_inf),
    ROW(neg),        ROW(abs),         ROW(sign),        ROW(square),   ROW(floor),
    ROW(ceil),       ROW(round),       ROW(trunc),       ROW(sqrt),     ROW(rsqrt),
    ROW(exp),        ROW(expm1),       ROW(log),         ROW(log1p),    ROW(sin),
    ROW(cos),        ROW(tanh),        ROW(erf),         ROW(sigmoid),  ROW(relu),
    ROW(silu),       ROW(gelu_tanh),   ROW(gelu_erf),    ROW(softplus), ROW(affine),
    ROW(clamp),      ROW(leaky_relu),  ROW(cast),        ROW(where),    ROW(masked_fill),
    {NULL, NULL},
};
