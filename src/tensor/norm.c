/* Ops along one axis whose result has the shape of x: softmax and its logarithm, RMS norm (Zhang
 * and Sennrich, 2019), layer norm (Ba, Kiros and Hinton, 2016). Each is one function of a line. */
#include "base/alloc.h"
#include "tensor/convert.h"
#include "tensor/kernels/ref/math64.h"
#include "tensor/lines.h"

#include <math.h>
#include <string.h>

#define LANES 16

/* A line of any float type as f64, in `own`, and back. */
static double *line_as_f64(const weft_lines *l, const void *x, size_t n, void *own) {
    weft_convert(l->k, l->dtype, x, WEFT_F64, own, n);
    return own;
}

/* Runs an op of lines over x; `y` is of x's type and dims. */
static weft_tensor *run(weft_scope *s, weft_lines *l, weft_tensor *const *inputs, size_t n_inputs) {
    weft_tensor *x = inputs[0];
    weft_tensor *y = weft_scope_new(s, l->name, x->dtype, x->rank, x->dims);
    weft_op op;
    if (y == NULL || !weft_op_begin(&op, s, l->name, inputs, n_inputs))
        return NULL;
    l->out[0] = y;
    bool done = weft_lines_run(s, l, x);
    weft_op_end(&op);
    return done ? y : NULL;
}

/* ---- Softmax ---- */

static double greatest(const double *x, size_t n) {
    double m = x[0];
    for (size_t i = 1; i < n; i++)
        m = x[i] > m || x[i] != x[i] ? x[i] : m; /* once NaN, nothing is greater */
    return m;
}

static void softmax_line(const weft_lines *l, const void *x, size_t n, void *const *out,
                         void *own) {
    if (l->dtype != WEFT_F64) {
        float *y = l->dtype == WEFT_F32 ? out[0] : own;
        l->k->softmax(weft_as_f32(l->k, l->dtype, x, n, own), n, y);
        weft_from_f32(l->k, y, l->dtype, out[0], n);
        return;
    }
    const double *v = x;
    double *y = out[0], m = greatest(v, n), sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += y[i] = weft_exp64(v[i] - m);
    for (size_t i = 0; i < n; i++)
        y[i] /= sum;
}

/* x - max - log(sum of e^(x - max)), rounded once. */
static void log_softmax_line(const weft_lines *l, const void *x, size_t n, void *const *out,
                             void *own) {
    if (l->dtype == WEFT_F64) {
        const double *v = x;
        double *y = out[0], m = greatest(v, n), sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += weft_exp64(v[i] - m);
        sum = weft_log64(sum);
        for (size_t i = 0; i < n; i++)
            y[i] = v[i] - m - sum;
        return;
    }
    float *wide = own, *e = wide + n;
    const float *v = weft_as_f32(l->k, l->dtype, x, n, wide);
    double lanes[LANES] = {0}, m = (double)l->k->best_row(v, n, 1), sum = 0;
    for (size_t i = 0; i < n; i++)
        e[i] = v[i] - (float)m;
    l->k->exp(e, n, e);
    l->k->sum_row(e, n, lanes);
    for (size_t i = 0; i < LANES; i++)
        sum += lanes[i];
    sum = m + weft_log64(sum);
    for (size_t i = 0; i < n; i++)
        e[i] = (float)((double)v[i] - sum);
    weft_from_f32(l->k, e, l->dtype, out[0], n);
}

/* ---- Softmax over an axis across which lines lie side by side ---- */

/* What a call works in: LANES steps of each column are one run of LANES * columns elements, so that
 * an element's place in the run says its lane. */
typedef struct column_space {
    _Alignas(64) float most[LANES * WEFT_LINE_COLUMNS];      /* LANES times the same [columns] */
    _Alignas(64) float sum[LANES * WEFT_LINE_COLUMNS];       /* softmax */
    _Alignas(64) double wide_sum[LANES * WEFT_LINE_COLUMNS]; /* log_softmax */
    _Alignas(64) float e[LANES * WEFT_LINE_COLUMNS];         /* log_softmax */
} column_space;

static void repeat_columns(float *v, size_t columns) {
    for (size_t l = 1; l < LANES; l++)
        memcpy(v + l * columns, v, columns * sizeof *v);
}

/* kept [n, columns] = x, most = the greatest of each column (NaN where there is one). */
static void gather_columns(const weft_lines *l, const weft_line_columns *c, float *kept,
                           column_space *space) {
    size_t columns = c->columns;
    memcpy(space->most, c->x, columns * sizeof(float));
    for (size_t i = 0; i < c->n; i += LANES) {
        const float *x = c->x + (ptrdiff_t)i * c->x_step;
        size_t rows = c->n - i < LANES ? c->n - i : LANES;
        l->k->best_columns(x, c->x_step, rows, LANES * c->x_step, columns, 1, space->most);
        for (size_t r = 0; r < rows; r++)
            memcpy(kept + (i + r) * columns, x + (ptrdiff_t)r * c->x_step, columns * sizeof *x);
    }
    repeat_columns(space->most, columns);
}

static void softmax_columns(const weft_lines *l, const weft_line_columns *c, void *own) {
    column_space *space = own;
    float *kept = (float *)(void *)(space + 1), *sum = space->sum;
    size_t columns = c->columns, block = LANES * columns, total = c->n * columns;
    weft_map_fn *subtract = l->k->map(WEFT_MAP_SUB, WEFT_IN_F32);
    weft_map_fn *divide = l->k->map(WEFT_MAP_DIV, WEFT_IN_F32);
    bool unused = false;
    weft_map_args args = {.divided_by_zero = &unused};
    gather_columns(l, c, kept, space);
    memset(sum, 0, block * sizeof *sum);
    for (size_t at = 0; at < total; at += block) {
        size_t m = total - at < block ? total - at : block;
        const void *in[] = {kept + at, space->most};
        subtract(&args, in, m, kept + at);
        l->k->exp(kept + at, m, kept + at);
        l->k->add(sum, kept + at, m, sum);
    }
    for (size_t half = LANES / 2; half > 0; half /= 2)
        l->k->add(sum, sum + half * columns, half * columns, sum);
    for (size_t i = 0; i < c->n; i++) {
        const void *in[] = {kept + i * columns, sum};
        divide(&args, in, columns, c->y + (ptrdiff_t)i * c->y_step);
    }
}

static void log_softmax_columns(const weft_lines *l, const weft_line_columns *c, void *own) {
    column_space *space = own;
    float *kept = (float *)(void *)(space + 1), *e = space->e;
    double *sum = space->wide_sum;
    size_t columns = c->columns, block = LANES * columns, total = c->n * columns;
    weft_map_fn *subtract = l->k->map(WEFT_MAP_SUB, WEFT_IN_F32);
    bool unused = false;
    weft_map_args args = {.divided_by_zero = &unused};
    gather_columns(l, c, kept, space);
    memset(sum, 0, block * sizeof *sum);
    for (size_t at = 0; at < total; at += block) {
        size_t m = total - at < block ? total - at : block;
        const void *in[] = {kept + at, space->most};
        subtract(&args, in, m, e);
        l->k->exp(e, m, e);
        l->k->sum_columns(e, 0, 1, 0, m, sum);
    }
    for (size_t k = 0; k < columns; k++) {
        double all = 0;
        for (size_t i = 0; i < LANES; i++)
            all += sum[i * columns + k];
        sum[k] = (double)space->most[k] + weft_log64(all);
    }
    for (size_t i = 0; i < c->n; i++) {
        float *y = c->y + (ptrdiff_t)i * c->y_step;
        for (size_t k = 0; k < columns; k++)
            y[k] = (float)((double)kept[i * columns + k] - sum[k]);
    }
}

static weft_tensor *along_axis(weft_scope *s, const char *name, weft_tensor *x, int axis,
                               weft_line_fn fn, weft_columns_fn columns_fn) {
    if (!weft_scope_ready(s, name, &x, 1) || !weft_op_types(s, name, x, WEFT_TYPES_FLOAT) ||
        !weft_op_axis(s, name, x, &axis))
        return NULL;
    weft_lines l = {.name = name, .axis = axis, .fn = fn, .work = 8};
    l.own_bytes = weft_size_of((size_t)x->dims[axis] + 1, 2 * sizeof(float));
    l.columns_fn = columns_fn;
    l.column_bytes = weft_size_of((size_t)x->dims[axis], sizeof(float));
    l.columns_own_bytes = sizeof(column_space);
    return run(s, &l, &x, 1);
}

weft_tensor *weft_softmax(weft_scope *s, weft_tensor *x, int axis) {
    return along_axis(s, "softmax", x, axis, softmax_line, softmax_columns);
}
weft_tensor *weft_log_softmax(weft_scope *s, weft_tensor *x, int axis) {
    return along_axis(s, "log_softmax", x, axis, log_softmax_line, log_softmax_columns);
}

/* ---- Norms over the last dim ---- */

typedef struct norm_ctx {
    double eps;
    const void *weight, *bias; /* [n] packed f32, or f64 for x of f64; or NULL */
} norm_ctx;

static void rms_norm_line(const weft_lines *l, const void *x, size_t n, void *const *out,
                          void *own) {
    const norm_ctx *c = l->ctx;
    float *y = l->dtype == WEFT_F32 ? out[0] : own;
    l->k->rms_norm(weft_as_f32(l->k, l->dtype, x, n, own), c->weight, n, (float)c->eps, y);
    weft_from_f32(l->k, y, l->dtype, out[0], n);
}

static double sum_lanes(const double *lanes) {
    double sum = 0;
    for (size_t i = 0; i < LANES; i++)
        sum += lanes[i];
    return sum;
}

/* f64, in the steps of the f32 kernel: mean, then the squares of what is left, less their own mean.
 */
static void layer_norm_line(const weft_lines *l, const void *x, size_t n, void *const *out,
                            void *own) {
    const norm_ctx *c = l->ctx;
    const double *weight = c->weight, *bias = c->bias;
    double *v = line_as_f64(l, x, n, own), sums[LANES] = {0}, left[LANES] = {0},
           squares[LANES] = {0};
    for (size_t i = 0; i < n; i++)
        sums[i % LANES] += v[i];
    double mean = sum_lanes(sums) / (double)n;
    for (size_t i = 0; i < n; i++) {
        v[i] -= mean;
        left[i % LANES] += v[i];
        squares[i % LANES] += v[i] * v[i];
    }
    double off = sum_lanes(left) / (double)n;
    double variance = sum_lanes(squares) / (double)n - off * off;
    double by = 1 / sqrt((variance > 0 ? variance : 0) + c->eps);
    for (size_t i = 0; i < n; i++) {
        double w = (v[i] - off) * by;
        w = weight ? w * weight[i] : w;
        v[i] = bias ? w + bias[i] : w;
    }
    weft_convert(l->k, WEFT_F64, v, l->dtype, out[0], n);
}

/* f32 and shorter: as in the forward pass. */
static void layer_norm_line32(const weft_lines *l, const void *x, size_t n, void *const *out,
                              void *own) {
    const norm_ctx *c = l->ctx;
    float *y = l->dtype == WEFT_F32 ? out[0] : own;
    l->k->layer_norm(weft_as_f32(l->k, l->dtype, x, n, own), c->weight, c->bias, n, (float)c->eps,
                     y);
    weft_from_f32(l->k, y, l->dtype, out[0], n);
}

static bool parameter_fits(weft_scope *s, const char *name, const char *what, const weft_tensor *x,
                           const weft_tensor *p, weft_dtype dtype) {
    char sx[128], sp[128];
    if (p == NULL)
        return true;
    if (!weft_op_plain(s, name, p))
        return false;
    if (p->dtype != dtype) {
        weft_scope_fail(s, WEFT_E_DTYPE, name, "%s is %s: %s is needed", what,
                        weft_dtype_name(p->dtype), weft_dtype_name(dtype));
        return false;
    }
    if (p->rank == 1 && p->dims[0] == x->dims[x->rank - 1])
        return true;
    weft_scope_fail(s, WEFT_E_SHAPE, name, "x %s and %s %s do not fit in dim %d",
                    weft_shape_text(x, sx, sizeof sx), what, weft_shape_text(p, sp, sizeof sp),
                    x->rank - 1);
    return false;
}

/* A parameter [n] as packed elements of `to`, in place where it is that; NULL for none. False: the
 * status is set. Under the guard of the op. */
static bool take_parameter(weft_scope *s, const char *name, const weft_tensor *p, weft_dtype to,
                           const void **out) {
    *out = NULL;
    if (p == NULL)
        return true;
    if (p->dtype == to && (p->strides[0] == 1 || p->dims[0] <= 1)) {
        *out = weft_tensor_data(p);
        return true;
    }
    int64_t one = 1;
    void *packed = weft_scope_scratch(
        s, name, weft_size_of((size_t)p->dims[0] + 1, weft_dtype_block_bytes(to)));
    if (packed == NULL)
        return false;
    weft_cast_strided(s, 1, p->dims, p->dtype, weft_tensor_data(p), p->strides, to, packed, &one);
    *out = packed;
    return true;
}

/* x and those of weight and bias that are there. */
static weft_tensor *run_norm(weft_scope *s, weft_lines *l, norm_ctx *c, weft_tensor *x,
                             weft_tensor *weight, weft_tensor *bias, weft_dtype parameters) {
    weft_tensor *inputs[3] = {x};
    size_t n_inputs = 1;
    weft_op op;
    if (weight)
        inputs[n_inputs++] = weight;
    if (bias)
        inputs[n_inputs++] = bias;
    weft_tensor *y = weft_scope_new(s, l->name, x->dtype, x->rank, x->dims);
    if (y == NULL || !weft_op_begin(&op, s, l->name, inputs, n_inputs))
        return NULL;
    l->ctx = c;
    l->axis = x->rank - 1;
    l->out[0] = y;
    l->work = 4;
    bool done = take_parameter(s, l->name, weight, parameters, &c->weight) &&
                take_parameter(s, l->name, bias, parameters, &c->bias) && weft_lines_run(s, l, x);
    weft_op_end(&op);
    return done ? y : NULL;
}

weft_tensor *weft_rms_norm(weft_scope *s, weft_tensor *x, weft_tensor *weight, float eps) {
    const char *name = "rms_norm";
    weft_tensor *inputs[] = {x, weight};
    int axis = -1;
    if (!weft_scope_ready(s, name, inputs, weight == NULL ? 1 : 2) || !weft_op_float(s, name, x) ||
        !weft_op_axis(s, name, x, &axis) || !parameter_fits(s, name, "weight", x, weight, WEFT_F32))
        return NULL;
    weft_lines l = {.name = name, .fn = rms_norm_line};
    norm_ctx c = {.eps = (double)eps};
    if (x->dtype != WEFT_F32)
        l.own_bytes = weft_size_of((size_t)x->dims[axis] + 1, sizeof(float));
    return run_norm(s, &l, &c, x, weight, NULL, WEFT_F32);
}

weft_tensor *weft_layer_norm(weft_scope *s, weft_tensor *x, weft_tensor *weight, weft_tensor *bias,
                             double eps) {
    const char *name = "layer_norm";
    int axis = -1;
    if (!weft_scope_ready(s, name, &x, 1) || !weft_op_types(s, name, x, WEFT_TYPES_FLOAT) ||
        !weft_op_axis(s, name, x, &axis) ||
        !parameter_fits(s, name, "weight", x, weight, x->dtype == WEFT_F64 ? WEFT_F64 : WEFT_F32) ||
        !parameter_fits(s, name, "bias", x, bias, x->dtype == WEFT_F64 ? WEFT_F64 : WEFT_F32))
        return NULL;
    bool narrow = x->dtype != WEFT_F64;
    weft_lines l = {.name = name, .fn = narrow ? layer_norm_line32 : layer_norm_line};
    norm_ctx c = {.eps = eps};
    if (x->dtype != WEFT_F32)
        l.own_bytes = weft_size_of((size_t)x->dims[axis] + 1, sizeof(double));
    return run_norm(s, &l, &c, x, weight, bias, narrow ? WEFT_F32 : WEFT_F64);
}
