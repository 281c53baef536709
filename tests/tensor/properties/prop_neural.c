/* Norms, losses, attention, windows, products; operands are finite. */
#include "prop.h"

static int dims_of(const weft_tensor *t, int64_t *dims) {
    for (int d = 0; d < weft_tensor_rank(t); d++)
        dims[d] = weft_tensor_dim(t, d);
    return weft_tensor_rank(t);
}

/* f of every line along an axis: x[0 … n - 1] by steps of `step`. */
typedef void (*line_fn)(const double *x, size_t n, size_t step, double *y);

static nd each_line(const nd *x, int axis, line_fn fn) {
    nd y = make_nd(x->dtype, x->rank, x->dims);
    size_t step = 1, n = (size_t)x->dims[axis];
    for (int d = axis + 1; d < x->rank; d++)
        step *= (size_t)x->dims[d];
    for (size_t i = 0; i < x->n; i++)
        if (i / step % n == 0)
            fn(x->f + i, n, step, y.f + i);
    return y;
}

/* With more digits than f64, which the distance to the greatest element keeps. */
static long double lse(const double *x, size_t n, size_t step) {
    double m = -INFINITY;
    long double sum = 0;
    for (size_t i = 0; i < n; i++)
        m = fmax(m, x[i * step]);
    for (size_t i = 0; i < n; i++)
        sum += expl((long double)x[i * step] - m);
    return m + logl(sum);
}
static void softmax_of(const double *x, size_t n, size_t step, double *y) {
    long double all = lse(x, n, step);
    for (size_t i = 0; i < n; i++)
        y[i * step] = (double)expl(x[i * step] - all);
}
static void log_softmax_of(const double *x, size_t n, size_t step, double *y) {
    long double all = lse(x, n, step);
    for (size_t i = 0; i < n; i++)
        y[i * step] = (double)(x[i * step] - all);
}
static void rms_of(const double *x, size_t n, size_t step, double *y) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i * step] * x[i * step];
    for (size_t i = 0; i < n; i++)
        y[i * step] = x[i * step] / sqrt(sum / (double)n + 1e-3);
}
/* Elements that are close to each other leave few of the mean's digits, which the root of eps makes
 * 30 times as large: the mean has more digits than f64, and what its own additions lost, up to n
 * roundings, is found in what it leaves. */
static void layer_of(const double *x, size_t n, size_t step, double *y) {
    long double mean = 0, left = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        mean += (long double)x[i * step];
    mean /= (long double)n;
    for (size_t i = 0; i < n; i++)
        left += x[i * step] - mean;
    mean += left / (long double)n;
    for (size_t i = 0; i < n; i++)
        sum += (x[i * step] - mean) * (x[i * step] - mean);
    for (size_t i = 0; i < n; i++)
        y[i * step] = (double)((x[i * step] - mean) / sqrtl(sum / (long double)n + 1e-3L));
}

static void check_softmax(prop *p) {
    p->tame = true;
    weft_tensor *x = pick(p, FLOATS, 1, WEFT_MAX_RANK);
    nd a = load(p, x);
    int axis = (int)below(p, a.rank);
    nd want = each_line(&a, axis, softmax_of);
    drop(&a);
    expect(p, weft_softmax(p->base.s, x, axis), &want, 4);
}
static void check_log_softmax(prop *p) {
    p->tame = true;
    weft_tensor *x = pick(p, FLOATS, 1, WEFT_MAX_RANK);
    nd a = load(p, x);
    int axis = (int)below(p, a.rank);
    nd want = each_line(&a, axis, log_softmax_of);
    drop(&a);
    expect(p, weft_log_softmax(p->base.s, x, axis), &want, 2);
}

static void check_rms_norm(prop *p) {
    p->tame = true;
    weft_tensor *x = pick(p, HALVES, 1, WEFT_MAX_RANK), *weight = NULL;
    nd a = load(p, x), want = each_line(&a, a.rank - 1, rms_of);
    if (one_in(p, 2)) {
        weight = fresh(p, WEFT_F32, 1, &a.dims[a.rank - 1]);
        nd w = load(p, weight);
        for (size_t i = 0; i < want.n; i++)
            want.f[i] *= w.f[i % w.n];
        drop(&w);
    }
    drop(&a);
    expect(p, weft_rms_norm(p->base.s, x, weight, 1e-3f), &want, 4);
}

static void check_layer_norm(prop *p) {
    p->tame = true;
    weft_tensor *x = pick(p, FLOATS, 1, WEFT_MAX_RANK), *parameter[2] = {NULL, NULL};
    nd a = load(p, x), want = each_line(&a, a.rank - 1, layer_of);
    for (int i = 0; i < 2; i++) {
        if (one_in(p, 2))
            continue;
        parameter[i] = fresh(p, a.dtype == WEFT_F64 ? WEFT_F64 : WEFT_F32, 1, &a.dims[a.rank - 1]);
        nd w = load(p, parameter[i]);
        for (size_t k = 0; k < want.n; k++)
            want.f[k] = i == 0 ? want.f[k] * w.f[k % w.n] : want.f[k] + w.f[k % w.n];
        drop(&w);
    }
    drop(&a);
    expect(p, weft_layer_norm(p->base.s, x, parameter[0], parameter[1], 1e-3), &want, 16);
}

/* sum over k of a[i k] b[k j], in f64 or wrapping; a [m, k], b [k, n] by their steps. */
static void product(const nd *a, size_t a_at, size_t a_row, size_t a_k, const nd *b, size_t b_at,
                    size_t b_k, size_t b_col, nd *y, size_t y_at, size_t m, size_t n, size_t k) {
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double f = 0;
            uint64_t w = 0;
            for (size_t l = 0; l < k; l++) {
                size_t ia = a_at + i * a_row + l * a_k, ib = b_at + l * b_k + j * b_col;
                if (a->i)
                    w += (uint64_t)a->i[ia] * (uint64_t)b->i[ib];
                else
                    f += a->f[ia] * b->f[ib];
            }
            if (y->i)
                y->i[y_at + i * n + j] = wrapped(y->dtype, (int64_t)w);
            else
                y->f[y_at + i * n + j] = f;
        }
}

static double activated(weft_activation act, double x) {
    switch (act) {
    case WEFT_ACT_SILU:
        return x / (1 + exp(-x));
    case WEFT_ACT_GELU_TANH:
        return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    case WEFT_ACT_GELU_ERF:
        return 0.5 * x * erfc(-x * 0.7071067811865476);
    case WEFT_ACT_RELU:
        return fmax(x, 0);
    case WEFT_ACT_RELU_SQUARED:
        return fmax(x, 0) * fmax(x, 0);
    default:
        return 1 / (1 + exp(-x));
    }
}

/* With an activation behind it, or `act` < 0. */
static void check_linears(prop *p, int act) {
    p->tame = true;
    int64_t dims[] = {below(p, 5), 1 + below(p, 40)}, out[] = {1 + below(p, 40), dims[1]};
    weft_tensor *x = fresh(p, WEFT_F32, 2, dims);
    weft_tensor *w = weft_tensor_contiguous(p->base.s, fresh(p, half_type(p), 2, out));
    weft_tensor *bias = one_in(p, 2) ? NULL : fresh(p, WEFT_F32, 1, out);
    nd a = load(p, x), b = load(p, w);
    nd want = make_nd(WEFT_F32, 2, (int64_t[]){dims[0], out[0]});
    size_t k = (size_t)dims[1], n = (size_t)out[0];
    product(&a, 0, k, 1, &b, 0, 1, k, &want, 0, (size_t)dims[0], n, k);
    if (bias) {
        nd c = load(p, bias);
        for (size_t i = 0; i < want.n; i++)
            want.f[i] += c.f[i % n];
        drop(&c);
    }
    for (size_t i = 0; act >= 0 && i < want.n; i++)
        want.f[i] = activated((weft_activation)act, want.f[i]);
    drop(&a), drop(&b);
    expect(p,
           act < 0 ? weft_linear(p->base.s, x, w, bias)
                   : weft_linear_act(p->base.s, x, w, bias, (weft_activation)act),
           &want, 40);
}
static void check_linear(prop *p) {
    check_linears(p, -1);
}
static void check_linear_act(prop *p) {
    check_linears(p, (int)below(p, WEFT_ACT_SWIGLU_CLAMPED));
}

static void check_embedding(prop *p) {
    int64_t dims[] = {1 + below(p, 9), 1 + below(p, 9)}, n = below(p, 6);
    weft_tensor *table = fresh(p, half_type(p), 2, dims);
    double v[8];
    for (int64_t i = 0; i < n; i++)
        v[i] = (double)below(p, dims[0]);
    weft_tensor *ids = vector(p->base.s, WEFT_I32, n, v);
    nd a = load(p, table), want = make_nd(WEFT_F32, 2, (int64_t[]){n, dims[1]});
    for (size_t i = 0; i < want.n; i++)
        want.f[i] = a.f[(size_t)v[i / (size_t)dims[1]] * (size_t)dims[1] + i % (size_t)dims[1]];
    drop(&a);
    expect(p, weft_embedding(p->base.s, table, ids), &want, 0);
}

static void check_rope(prop *p) {
    p->tame = true;
    bool interleaved = one_in(p, 2);
    int64_t half = 1 + below(p, 3), extra = below(p, 3), positions = 4;
    int64_t dims[] = {below(p, 4), 1 + below(p, 3), 2 * half + extra}, table[] = {positions, half};
    weft_tensor *x = fresh(p, WEFT_F32, 3, dims);
    weft_tensor *c = weft_tensor_copy(p->base.s, fresh(p, WEFT_F32, 2, table));
    weft_tensor *sn = weft_tensor_copy(p->base.s, fresh(p, WEFT_F32, 2, table));
    double at[8];
    for (int64_t i = 0; i < dims[0]; i++)
        at[i] = (double)below(p, positions);
    weft_tensor *where = vector(p->base.s, WEFT_I32, dims[0], at);
    nd a = load(p, x), cs = load(p, c), si = load(p, sn), want = load(p, x);
    for (int64_t t = 0; t < dims[0]; t++)
        for (int64_t h = 0; h < dims[1]; h++)
            for (int64_t i = 0; i < half; i++) {
                size_t head = (size_t)((t * dims[1] + h) * dims[2]), k = (size_t)i;
                size_t u = head + (interleaved ? 2 * k : k);
                size_t w = interleaved ? u + 1 : u + (size_t)half;
                size_t angle = (size_t)at[t] * (size_t)half + k;
                want.f[u] = a.f[u] * cs.f[angle] - a.f[w] * si.f[angle];
                want.f[w] = a.f[w] * cs.f[angle] + a.f[u] * si.f[angle];
            }
    drop(&a), drop(&cs), drop(&si);
    expect(p, weft_rope(p->base.s, x, c, sn, where, interleaved), &want, 4);
}

static void check_cross_entropy(prop *p) {
    p->tame = true;
    weft_tensor *x = pick(p, FLOATS, 1, 5);
    int64_t dims[WEFT_MAX_RANK];
    int rank = dims_of(x, dims);
    int64_t n = dims[rank - 1];
    if (n == 0)
        return;
    nd a = load(p, x), logs = each_line(&a, rank - 1, log_softmax_of);
    nd want = make_nd(a.dtype, rank - 1, dims);
    double *v = calloc(want.n + 1, sizeof *v);
    for (size_t i = 0; i < want.n; i++) {
        v[i] = (double)below(p, n);
        want.f[i] = -logs.f[i * (size_t)n + (size_t)v[i]];
    }
    weft_tensor *targets = from_doubles(p->base.s, WEFT_I64, rank - 1, dims, v);
    free(v);
    drop(&a), drop(&logs);
    expect(p, weft_cross_entropy(p->base.s, x, targets), &want, 2);
}

typedef struct attention_case {
    int64_t batch, heads, groups, t, s, d, dv, window;
    bool causal;
} attention_case;

static void attend(const attention_case *c, const nd *q, const nd *k, const nd *v, const nd *mask,
                   nd *y) {
    for (int64_t b = 0; b < c->batch; b++)
        for (int64_t h = 0; h < c->heads; h++)
            for (int64_t i = 0; i < c->t; i++) {
                int64_t g = h / (c->heads / c->groups), row = (b * c->heads + h) * c->t + i;
                int64_t kv = (b * c->groups + g) * c->s, own = i + c->s - c->t;
                double weight[16], total = 0, most = -INFINITY;
                for (int64_t j = 0; j < c->s; j++) {
                    double dot = 0;
                    bool seen = (!c->causal || j <= own) && (c->window <= 0 || j > own - c->window);
                    for (int64_t e = 0; e < c->d; e++)
                        dot += q->f[row * c->d + e] * k->f[(kv + j) * c->d + e];
                    if (mask && mask->i)
                        seen = seen && mask->i[i * c->s + j];
                    weight[j] =
                        dot / sqrt((double)c->d) + (mask && mask->f ? mask->f[i * c->s + j] : 0);
                    weight[j] = seen ? weight[j] : -INFINITY;
                    most = fmax(most, weight[j]);
                }
                for (int64_t j = 0; j < c->s; j++)
                    total += weight[j] = most == -INFINITY ? 0 : exp(weight[j] - most);
                for (int64_t e = 0; e < c->dv; e++) {
                    double sum = 0;
                    for (int64_t j = 0; j < c->s && total > 0; j++)
                        sum += weight[j] / total * v->f[(kv + j) * c->dv + e];
                    y->f[row * c->dv + e] = sum;
                }
            }
}

static void check_scaled_dot_product_attention(prop *p) {
    p->tame = true;
    attention_case c = {.batch = 1 + below(p, 2),
                        .groups = 1 + below(p, 2),
                        .t = 1 + below(p, 5),
                        .s = 1 + below(p, 9),
                        .d = 1 + below(p, 6),
                        .dv = 1 + below(p, 6),
                        .window = below(p, 4),
                        .causal = one_in(p, 2)};
    c.heads = c.groups * (1 + below(p, 2));
    weft_dtype dtype = float_type(p);
    weft_tensor *q = fresh(p, dtype, 4, (int64_t[]){c.batch, c.heads, c.t, c.d});
    weft_tensor *k = fresh(p, dtype, 4, (int64_t[]){c.batch, c.groups, c.s, c.d});
    weft_tensor *v = fresh(p, dtype, 4, (int64_t[]){c.batch, c.groups, c.s, c.dv});
    weft_tensor *mask = NULL;
    nd m = {0};
    if (one_in(p, 2)) {
        mask = fresh(p, one_in(p, 2) ? WEFT_BOOL : dtype, 2, (int64_t[]){c.t, c.s});
        m = load(p, mask);
    }
    nd nq = load(p, q), nk = load(p, k), nv = load(p, v);
    nd want = make_nd(dtype, 4, (int64_t[]){c.batch, c.heads, c.t, c.dv});
    attend(&c, &nq, &nk, &nv, mask ? &m : NULL, &want);
    drop(&nq), drop(&nk), drop(&nv), drop(&m);
    expect(p, weft_scaled_dot_product_attention(p->base.s, q, k, v, mask, 0, c.causal, c.window),
           &want, 8);
}

static void check_dropout(prop *p) {
    weft_tensor *x = pick(p, FLOATS, 0, WEFT_MAX_RANK);
    weft_tensor *y = weft_dropout(p->base.s, x, 0.5, 7);
    fine(p);
    nd a = load(p, x), b = load(p, y);
    assert_int_equal(a.n, b.n);
    /* The same choice as the generator's own numbers. */
    int64_t n = (int64_t)a.n;
    nd u = load(p, weft_random_uniform(p->base.s, WEFT_F32, 1, &n, 0, 1, 7));
    for (size_t i = 0; i < a.n; i++) {
        double want = u.f[i] < 0.5 ? 0 : round_to(a.dtype, (double)(float)(2 * a.f[i]));
        want = a.dtype == WEFT_F64 && u.f[i] >= 0.5 ? 2 * a.f[i] : want;
        assert_true(want != want ? b.f[i] != b.f[i] : b.f[i] == want);
    }
    drop(&a), drop(&b), drop(&u);
}

static void check_conv1d(prop *p) {
    p->tame = true;
    int64_t x_dims[] = {1 + below(p, 2), 1 + below(p, 3), 6 + below(p, 8)};
    int64_t w_dims[] = {1 + below(p, 3), x_dims[1], 1 + below(p, 3)};
    size_t stride = 1 + (size_t)below(p, 3), pad = (size_t)below(p, 3);
    size_t dilation = 1 + (size_t)below(p, 2);
    weft_dtype dtype = float_type(p);
    weft_tensor *x = fresh(p, dtype, 3, x_dims), *w = fresh(p, dtype, 3, w_dims);
    weft_tensor *bias = one_in(p, 2) ? NULL : fresh(p, dtype, 1, w_dims);
    nd a = load(p, x), b = load(p, w), c = {0};
    if (bias)
        c = load(p, bias);
    int64_t reach = (w_dims[2] - 1) * (int64_t)dilation + 1;
    int64_t n = (x_dims[2] + 2 * (int64_t)pad - reach) / (int64_t)stride + 1;
    nd want = make_nd(dtype, 3, (int64_t[]){x_dims[0], w_dims[0], n});
    for (size_t i = 0; i < want.n; i++) {
        int64_t at[3];
        double sum = 0;
        unravel(&want, i, at);
        for (int64_t ch = 0; ch < x_dims[1]; ch++)
            for (int64_t k = 0; k < w_dims[2]; k++) {
                int64_t l = at[2] * (int64_t)stride + k * (int64_t)dilation - (int64_t)pad;
                if (l >= 0 && l < x_dims[2])
                    sum += a.f[(at[0] * x_dims[1] + ch) * x_dims[2] + l] *
                           b.f[(at[1] * x_dims[1] + ch) * w_dims[2] + k];
            }
        want.f[i] = round_to(dtype, sum) + (bias ? c.f[at[1]] : 0);
        want.f[i] = dtype == WEFT_F64 ? sum + (bias ? c.f[at[1]] : 0) : want.f[i];
    }
    drop(&a), drop(&b), drop(&c);
    expect(p, weft_conv1d(p->base.s, x, w, bias, stride, pad, dilation), &want, 8);
}

/* A mean in f64 of up to 16 elements, a lane each: four additions of the tree and the division,
 * which each round by half a unit of at most the mean of magnitudes, and the reference's own
 * rounding. */
#define UNITS_OF_MEAN 3

static void pool(prop *p, int n_axes, bool mean) {
    p->tame = true;
    weft_tensor *x = pick(p, mean ? FLOATS : ALL, n_axes, 5);
    int64_t dims[WEFT_MAX_RANK], size, step = 1 + below(p, 3);
    int rank = dims_of(x, dims);
    int64_t least = dims[rank - 1];
    if (n_axes == 2 && dims[rank - 2] < least)
        least = dims[rank - 2];
    if (least == 0)
        return;
    size = 1 + below(p, least < 4 ? least : 4);
    for (int i = 1; i <= n_axes; i++)
        dims[rank - i] = (dims[rank - i] - size) / step + 1;
    nd a = load(p, x), want = make_nd(a.dtype, rank, dims);
    int64_t n = n_axes == 2 ? size * size : size;
    double *terms = mean && a.dtype == WEFT_F64 ? calloc(want.n + 1, sizeof *terms) : NULL;
    for (size_t i = 0; i < want.n; i++) {
        int64_t at[WEFT_MAX_RANK], from[WEFT_MAX_RANK];
        double most = -INFINITY;
        long double sum = 0;
        unravel(&want, i, at);
        for (int64_t k = 0; k < n; k++) {
            memcpy(from, at, sizeof from);
            from[rank - 1] = at[rank - 1] * step + k % size;
            if (n_axes == 2)
                from[rank - 2] = at[rank - 2] * step + k / size;
            double v = value(&a, ravel(&a, from));
            most = fmax(most, v);
            sum += v;
            if (terms)
                terms[i] += fabs(v) / (double)n;
        }
        set(&want, i, mean ? sum / (long double)n : (long double)most);
    }
    drop(&a);
    weft_tensor *(*ops[])(weft_scope *, weft_tensor *, size_t, size_t) = {
        weft_max_pool1d, weft_max_pool2d, weft_avg_pool1d, weft_avg_pool2d};
    expect_terms(p, ops[2 * mean + n_axes - 1](p->base.s, x, (size_t)size, (size_t)step), &want,
                 terms ? UNITS_OF_MEAN : mean, terms);
    free(terms);
}
static void check_max_pool1d(prop *p) {
    pool(p, 1, false);
}
static void check_max_pool2d(prop *p) {
    pool(p, 2, false);
}
static void check_avg_pool1d(prop *p) {
    pool(p, 1, true);
}
static void check_avg_pool2d(prop *p) {
    pool(p, 2, true);
}

static void check_dequantize(prop *p) {
    weft_tensor *x = pick(p, HALVES, 0, WEFT_MAX_RANK);
    nd a = load(p, x), want = make_nd(WEFT_F32, a.rank, a.dims);
    for (size_t i = 0; i < a.n; i++)
        want.f[i] = a.f[i];
    drop(&a);
    expect(p, weft_dequantize(p->base.s, x), &want, 0);
}

/* ---- Matrix ---- */

static void check_matmul(prop *p) {
    p->tame = true;
    weft_dtype dtype = number_type(p);
    int64_t m = below(p, 20), k = below(p, 20), n = below(p, 20), batch = 1 + below(p, 3);
    bool shared = one_in(p, 2);
    weft_tensor *a = fresh(p, dtype, 3, (int64_t[]){batch, m, k});
    weft_tensor *b = shared ? fresh(p, dtype, 2, (int64_t[]){k, n})
                            : fresh(p, dtype, 3, (int64_t[]){batch, k, n});
    nd na = load(p, a), nb = load(p, b), want = make_nd(dtype, 3, (int64_t[]){batch, m, n});
    for (int64_t i = 0; i < batch; i++)
        product(&na, (size_t)(i * m * k), (size_t)k, 1, &nb, shared ? 0 : (size_t)(i * k * n),
                (size_t)n, 1, &want, (size_t)(i * m * n), (size_t)m, (size_t)n, (size_t)k);
    drop(&na), drop(&nb);
    expect(p, weft_matmul(p->base.s, a, b), &want, 20);
}

static void check_outer(prop *p) {
    p->tame = true;
    weft_dtype dtype = number_type(p);
    int64_t m = below(p, 9), n = below(p, 9);
    weft_tensor *a = fresh(p, dtype, 1, &m), *b = fresh(p, dtype, 1, &n);
    nd na = load(p, a), nb = load(p, b), want = make_nd(dtype, 2, (int64_t[]){m, n});
    product(&na, 0, 1, 1, &nb, 0, 1, 1, &want, 0, (size_t)m, (size_t)n, 1);
    drop(&na), drop(&nb);
    expect(p, weft_outer(p->base.s, a, b), &want, 0);
}

/* Any labels: every result letter's extent, then sums over all others. */
static void check_einsum(prop *p) {
    p->tame = true;
    char letters[2][5] = {"", ""}, out[8] = "", spec[32];
    int64_t extent[6], dims[2][4];
    int rank[2], n_out = 0;
    for (int l = 0; l < 6; l++)
        extent[l] = 1 + below(p, 4);
    for (int i = 0; i < 2; i++) {
        rank[i] = 1 + (int)below(p, 3);
        for (int d = 0; d < rank[i]; d++) {
            int l = (int)below(p, 6);
            letters[i][d] = (char)('a' + l);
            dims[i][d] = extent[l];
            if (!strchr(out, 'a' + l) && one_in(p, 2))
                out[n_out++] = (char)('a' + l);
        }
    }
    snprintf(spec, sizeof spec, "%s,%s->%s", letters[0], letters[1], out);
    weft_dtype dtype = one_in(p, 3) ? WEFT_I64 : one_in(p, 2) ? WEFT_F64 : WEFT_F32;
    weft_tensor *a = fresh(p, dtype, rank[0], dims[0]), *b = fresh(p, dtype, rank[1], dims[1]);
    int64_t out_dims[8], at[6];
    for (int d = 0; d < n_out; d++)
        out_dims[d] = extent[out[d] - 'a'];
    nd na = load(p, a), nb = load(p, b), want = make_nd(dtype, n_out, out_dims);
    bool used[6];
    size_t total = 1;
    for (int l = 0; l < 6; l++) {
        used[l] = strchr(letters[0], 'a' + l) || strchr(letters[1], 'a' + l);
        total *= used[l] ? (size_t)extent[l] : 1;
    }
    for (size_t i = 0; i < total; i++) {
        size_t rest = i, place[3] = {0, 0, 0};
        for (int l = 0; l < 6; l++) {
            at[l] = used[l] ? (int64_t)(rest % (size_t)extent[l]) : 0;
            rest /= used[l] ? (size_t)extent[l] : 1;
        }
        for (int d = 0; d < rank[0]; d++)
            place[0] = place[0] * (size_t)dims[0][d] + (size_t)at[letters[0][d] - 'a'];
        for (int d = 0; d < rank[1]; d++)
            place[1] = place[1] * (size_t)dims[1][d] + (size_t)at[letters[1][d] - 'a'];
        for (int d = 0; d < n_out; d++)
            place[2] = place[2] * (size_t)out_dims[d] + (size_t)at[out[d] - 'a'];
        if (want.i)
            want.i[place[2]] += na.i[place[0]] * nb.i[place[1]];
        else
            want.f[place[2]] += na.f[place[0]] * nb.f[place[1]];
    }
    drop(&na), drop(&nb);
    expect(p, weft_einsum(p->base.s, spec, a, b), &want, 400);
}

static void check_allclose(prop *p) {
    weft_tensor *a = pick(p, ALL, 0, WEFT_MAX_RANK), *b = pick_like(p, a);
    bool got = true, want = true;
    weft_allclose(p->base.s, a, b, 0.5, 0.25, true, &got);
    fine(p);
    nd x = load(p, a), y = load(p, b);
    for (size_t i = 0; i < x.n; i++) {
        double u = value(&x, i), v = value(&y, i);
        bool near = u == v || (u != u && v != v) ||
                    (isfinite(u) && isfinite(v) && fabs(u - v) <= 0.25 + 0.5 * fabs(v));
        want = want && near;
    }
    assert_true(got == want);
    drop(&x), drop(&y);
}

#define ROW(name)                                                                                  \
    { #name, check_##name }
const prop_check prop_neural[] = {
    ROW(softmax),       ROW(log_softmax),
    ROW(rms_norm),      ROW(layer_norm),
    ROW(linear),        ROW(linear_act),
    ROW(embedding),     ROW(rope),
    ROW(cross_entropy), ROW(scaled_dot_product_attention),
    ROW(dropout),       ROW(conv1d),
    ROW(max_pool1d),    ROW(max_pool2d),
    ROW(avg_pool1d),    ROW(avg_pool2d),
    ROW(dequantize),    ROW(matmul),
    ROW(outer),         ROW(einsum),
    ROW(allclose),      {NULL, NULL},
};
