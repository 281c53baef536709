/* Elementwise arithmetic. Floats are computed as f32 and rounded once, integers as 64-bit words
 * that wrap; a tile's operands are brought into packed form, computed, and stored. */
#include "tensor/convert.h"
#include "tensor/walk.h"

#include <math.h>
#include <stdatomic.h>

typedef struct job job;
typedef void (*float_fn)(const job *j, const float *a, const float *b, size_t n, float *y);
typedef void (*integer_fn)(job *j, const int64_t *a, const int64_t *b, size_t n, int64_t *y);

/* One op: its name for details, and what it does to packed runs. NULL: not for that class. */
typedef struct op_def {
    const char *name;
    float_fn floats;
    integer_fn integers;
} op_def;

struct job {
    weft_walk walk;
    const weft_kernels *k;
    const op_def *def;
    weft_dtype dtype;
    float f0, f1;   /* parameters for floats */
    int64_t i0, i1; /* for integers */
    atomic_bool divided_by_zero;
};

/* ---- Runs ---- */

static void add_f(const job *j, const float *a, const float *b, size_t n, float *y) {
    j->k->add(a, b, n, y);
}
static void mul_f(const job *j, const float *a, const float *b, size_t n, float *y) {
    j->k->mul(a, b, n, y);
}
static void sub_f(const job *j, const float *a, const float *b, size_t n, float *y) {
    (void)j;
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] - b[i];
}
static void div_f(const job *j, const float *a, const float *b, size_t n, float *y) {
    (void)j;
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] / b[i];
}
static void affine_f(const job *j, const float *a, const float *b, size_t n, float *y) {
    (void)b;
    float scale = j->f0, shift = j->f1;
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] * scale + shift;
}
static void neg_f(const job *j, const float *a, const float *b, size_t n, float *y) {
    (void)j, (void)b;
    for (size_t i = 0; i < n; i++)
        y[i] = -a[i];
}
static void relu_f(const job *j, const float *a, const float *b, size_t n, float *y) {
    (void)j, (void)b;
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] < 0 ? 0 : a[i]; /* NaN stays */
}
static void clamp_f(const job *j, const float *a, const float *b, size_t n, float *y) {
    (void)b;
    float low = j->f0, high = j->f1;
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] < low ? low : (a[i] > high ? high : a[i]);
}
static void exp_f(const job *j, const float *a, const float *b, size_t n, float *y) {
    (void)b;
    j->k->exp(a, n, y);
}
static void tanh_f(const job *j, const float *a, const float *b, size_t n, float *y) {
    (void)b;
    j->k->tanh(a, n, y);
}
static void silu_f(const job *j, const float *a, const float *b, size_t n, float *y) {
    (void)b;
    j->k->silu(a, n, y);
}
static void gelu_tanh_f(const job *j, const float *a, const float *b, size_t n, float *y) {
    (void)b;
    j->k->gelu_tanh(a, n, y);
}
static void gelu_erf_f(const job *j, const float *a, const float *b, size_t n, float *y) {
    (void)b;
    j->k->gelu_erf(a, n, y);
}

/* Unsigned arithmetic wraps by definition; the narrow types wrap when they are stored. */
static void add_i(job *j, const int64_t *a, const int64_t *b, size_t n, int64_t *y) {
    (void)j;
    for (size_t i = 0; i < n; i++)
        y[i] = (int64_t)((uint64_t)a[i] + (uint64_t)b[i]);
}
static void sub_i(job *j, const int64_t *a, const int64_t *b, size_t n, int64_t *y) {
    (void)j;
    for (size_t i = 0; i < n; i++)
        y[i] = (int64_t)((uint64_t)a[i] - (uint64_t)b[i]);
}
static void mul_i(job *j, const int64_t *a, const int64_t *b, size_t n, int64_t *y) {
    (void)j;
    for (size_t i = 0; i < n; i++)
        y[i] = (int64_t)((uint64_t)a[i] * (uint64_t)b[i]);
}
static void div_i(job *j, const int64_t *a, const int64_t *b, size_t n, int64_t *y) {
    for (size_t i = 0; i < n; i++) {
        if (b[i] == 0) {
            atomic_store(&j->divided_by_zero, true);
            y[i] = 0;
        } else if (b[i] == -1) {
            y[i] = (int64_t)(0 - (uint64_t)a[i]); /* INT64_MIN / -1 traps on some machines */
        } else {
            y[i] = a[i] / b[i];
        }
    }
}
static void affine_i(job *j, const int64_t *a, const int64_t *b, size_t n, int64_t *y) {
    (void)b;
    for (size_t i = 0; i < n; i++)
        y[i] = (int64_t)((uint64_t)a[i] * (uint64_t)j->i0 + (uint64_t)j->i1);
}
static void neg_i(job *j, const int64_t *a, const int64_t *b, size_t n, int64_t *y) {
    (void)j, (void)b;
    for (size_t i = 0; i < n; i++)
        y[i] = (int64_t)(0 - (uint64_t)a[i]);
}
static void relu_i(job *j, const int64_t *a, const int64_t *b, size_t n, int64_t *y) {
    (void)j, (void)b;
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] < 0 ? 0 : a[i];
}
static void clamp_i(job *j, const int64_t *a, const int64_t *b, size_t n, int64_t *y) {
    (void)b;
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] < j->i0 ? j->i0 : (a[i] > j->i1 ? j->i1 : a[i]);
}

/* ---- Tiles ---- */

static void float_tiles(void *ctx, size_t begin, size_t end, int thread) {
    const job *j = ctx;
    const weft_walk *w = &j->walk;
    (void)thread;
    _Alignas(64) float raw[2][WEFT_TILE], wide[2][WEFT_TILE], result[WEFT_TILE];
    for (size_t t = begin; t < end; t++) {
        weft_tile_at at;
        weft_walk_tile(w, t, &at);
        size_t n = at.rows * at.cols;
        const float *x[2] = {NULL, NULL};
        for (int i = 1; i < w->n; i++)
            x[i - 1] =
                weft_as_f32(j->k, j->dtype, weft_tile_load(w, &at, i, raw[i - 1]), n, wide[i - 1]);
        void *y = weft_tile_result(w, &at, raw[0]);
        float *f = j->dtype == WEFT_F32 ? y : result;
        if (f == (float *)raw[0])
            f = result; /* raw[0] may hold the operand */
        j->def->floats(j, x[0], x[1], n, f);
        if (j->dtype == WEFT_F32) {
            weft_tile_store(w, &at, f);
        } else {
            weft_from_f32(j->k, f, j->dtype, y, n);
            weft_tile_store(w, &at, y);
        }
    }
}

static void integer_tiles(void *ctx, size_t begin, size_t end, int thread) {
    job *j = ctx;
    const weft_walk *w = &j->walk;
    (void)thread;
    _Alignas(64) int64_t raw[WEFT_TILE], wide[2][WEFT_TILE];
    for (size_t t = begin; t < end; t++) {
        weft_tile_at at;
        weft_walk_tile(w, t, &at);
        size_t n = at.rows * at.cols;
        for (int i = 1; i < w->n; i++)
            weft_to_i64(j->dtype, weft_tile_load(w, &at, i, raw), n, wide[i - 1]);
        j->def->integers(j, wide[0], wide[1], n, wide[0]);
        void *y = weft_tile_result(w, &at, raw);
        weft_from_i64(wide[0], j->dtype, y, n);
        weft_tile_store(w, &at, y);
    }
}

static bool op_dtype(weft_scope *s, const op_def *def, const weft_tensor *t) {
    if (!weft_op_plain(s, def->name, t))
        return false;
    bool is_float = t->dtype == WEFT_F32 || t->dtype == WEFT_F16 || t->dtype == WEFT_BF16;
    if ((is_float && def->floats) || (weft_dtype_is_integer(t->dtype) && def->integers))
        return true;
    char shape[128];
    weft_scope_fail(s, WEFT_E_DTYPE, def->name, "%s of shape %s: %s", weft_dtype_name(t->dtype),
                    weft_shape_text(t, shape, sizeof shape),
                    def->integers ? "f32, f16, bf16 or an integer type is needed"
                                  : "f32, f16 or bf16 is needed");
    return false;
}

static weft_tensor *run_op(weft_scope *s, job *j, int rank, const int64_t *dims, size_t n_inputs,
                           weft_tensor *const *inputs, const int64_t *const *strides) {
    const op_def *def = j->def;
    weft_tensor *y = weft_scope_new(s, def->name, inputs[0]->dtype, rank, dims);
    weft_op op;
    if (y == NULL || !weft_op_begin(&op, s, def->name, inputs, n_inputs))
        return NULL;
    j->k = weft_scope_kernels(s);
    j->dtype = y->dtype;
    atomic_init(&j->divided_by_zero, false);
    size_t item = weft_dtype_block_bytes(y->dtype);
    void *data[3] = {weft_tensor_data(y)};
    const int64_t *steps[3] = {y->strides};
    size_t items[3] = {item, item, item};
    for (size_t i = 0; i < n_inputs; i++) {
        data[i + 1] = weft_tensor_data(inputs[i]);
        steps[i + 1] = strides[i];
    }
    weft_walk_init(&j->walk, rank, dims, (int)n_inputs + 1, data, steps, items);
    weft_walk_run(s, &j->walk, weft_dtype_is_float(y->dtype) ? float_tiles : integer_tiles, j);
    weft_op_end(&op);
    if (atomic_load(&j->divided_by_zero)) {
        char shape[128];
        return weft_scope_fail(s, WEFT_E_DIVISION, def->name, "a divisor in %s of %s is 0",
                               weft_shape_text(inputs[n_inputs - 1], shape, sizeof shape),
                               weft_dtype_name(inputs[n_inputs - 1]->dtype));
    }
    return y;
}

static weft_tensor *unary(weft_scope *s, const op_def *def, weft_tensor *x, job *j) {
    if (!weft_scope_ready(s, def->name, &x, 1) || !op_dtype(s, def, x))
        return NULL;
    const int64_t *strides[] = {x->strides};
    j->def = def;
    return run_op(s, j, x->rank, x->dims, 1, &x, strides);
}

static bool same_dtype(weft_scope *s, const char *name, const weft_tensor *a,
                       const weft_tensor *b) {
    if (a->dtype == b->dtype)
        return true;
    char sa[128], sb[128];
    weft_scope_fail(s, WEFT_E_DTYPE, name, "%s %s and %s %s differ in type",
                    weft_dtype_name(a->dtype), weft_shape_text(a, sa, sizeof sa),
                    weft_dtype_name(b->dtype), weft_shape_text(b, sb, sizeof sb));
    return false;
}

static weft_tensor *binary(weft_scope *s, const op_def *def, weft_tensor *a, weft_tensor *b) {
    weft_tensor *inputs[] = {a, b};
    if (!weft_scope_ready(s, def->name, inputs, 2) || !op_dtype(s, def, a) ||
        !op_dtype(s, def, b) || !same_dtype(s, def->name, a, b) ||
        !weft_op_same_shape(s, def->name, a, b))
        return NULL;
    const int64_t *strides[] = {a->strides, b->strides};
    job j = {.def = def};
    return run_op(s, &j, a->rank, a->dims, 2, inputs, strides);
}

/* numpy's rule: axes aligned at the end, an extent of 1 is repeated. */
static weft_tensor *broadcast(weft_scope *s, const op_def *def, weft_tensor *a, weft_tensor *b) {
    weft_tensor *inputs[] = {a, b};
    if (!weft_scope_ready(s, def->name, inputs, 2) || !op_dtype(s, def, a) ||
        !op_dtype(s, def, b) || !same_dtype(s, def->name, a, b))
        return NULL;
    int rank = a->rank > b->rank ? a->rank : b->rank;
    int64_t dims[WEFT_MAX_RANK], steps[2][WEFT_MAX_RANK];
    for (int d = 0; d < rank; d++) {
        int64_t extent[2];
        for (int i = 0; i < 2; i++) {
            int at = d - (rank - inputs[i]->rank);
            extent[i] = at < 0 ? 1 : inputs[i]->dims[at];
            steps[i][d] = at < 0 || extent[i] == 1 ? 0 : inputs[i]->strides[at];
        }
        if (extent[0] != extent[1] && extent[0] != 1 && extent[1] != 1) {
            char sa[128], sb[128];
            return weft_scope_fail(
                s, WEFT_E_SHAPE, def->name, "shapes %s and %s do not fit in dim %d (%lld and %lld)",
                weft_shape_text(a, sa, sizeof sa), weft_shape_text(b, sb, sizeof sb), d - rank,
                (long long)extent[0], (long long)extent[1]);
        }
        dims[d] = extent[0] == 1 ? extent[1] : extent[0];
    }
    const int64_t *strides[] = {steps[0], steps[1]};
    job j = {.def = def};
    return run_op(s, &j, rank, dims, 2, inputs, strides);
}

/* ---- Ops ---- */

weft_tensor *weft_add(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    static const op_def def = {"add", add_f, add_i};
    return binary(s, &def, a, b);
}
weft_tensor *weft_sub(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    static const op_def def = {"sub", sub_f, sub_i};
    return binary(s, &def, a, b);
}
weft_tensor *weft_mul(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    static const op_def def = {"mul", mul_f, mul_i};
    return binary(s, &def, a, b);
}
weft_tensor *weft_div(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    static const op_def def = {"div", div_f, div_i};
    return binary(s, &def, a, b);
}
weft_tensor *weft_broadcast_add(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    static const op_def def = {"broadcast_add", add_f, add_i};
    return broadcast(s, &def, a, b);
}
weft_tensor *weft_broadcast_sub(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    static const op_def def = {"broadcast_sub", sub_f, sub_i};
    return broadcast(s, &def, a, b);
}
weft_tensor *weft_broadcast_mul(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    static const op_def def = {"broadcast_mul", mul_f, mul_i};
    return broadcast(s, &def, a, b);
}
weft_tensor *weft_broadcast_div(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    static const op_def def = {"broadcast_div", div_f, div_i};
    return broadcast(s, &def, a, b);
}

/* True when v is a whole number that an int64 holds. */
static bool whole(double v, int64_t *out) {
    if (!(v >= -0x1p63 && v < 0x1p63) || v != floor(v))
        return false;
    *out = (int64_t)v;
    return true;
}

weft_tensor *weft_affine(weft_scope *s, weft_tensor *x, double scale, double shift) {
    static const op_def def = {"affine", affine_f, affine_i};
    job j = {.f0 = (float)scale, .f1 = (float)shift};
    if (s != NULL && weft_scope_status(s) == WEFT_OK && x != NULL &&
        weft_dtype_is_integer(x->dtype) && (!whole(scale, &j.i0) || !whole(shift, &j.i1)))
        return weft_scope_fail(s, WEFT_E_ARGUMENT, def.name,
                               "scale %g and shift %g must be whole numbers for %s", scale, shift,
                               weft_dtype_name(x->dtype));
    return unary(s, &def, x, &j);
}

weft_tensor *weft_clamp(weft_scope *s, weft_tensor *x, double low, double high) {
    static const op_def def = {"clamp", clamp_f, clamp_i};
    if (s != NULL && weft_scope_status(s) == WEFT_OK && !(low <= high))
        return weft_scope_fail(s, WEFT_E_ARGUMENT, def.name, "low %g is not <= high %g", low, high);
    job j = {.f0 = (float)low, .f1 = (float)high};
    if (x != NULL && weft_dtype_is_integer(x->dtype)) { /* bounds saturate to the type's range */
        double bounds[2] = {ceil(low), floor(high)};
        int64_t stored[2]; /* large enough for any integer type */
        weft_convert(NULL, WEFT_F64, bounds, x->dtype, stored, 2);
        int64_t wide[2];
        weft_to_i64(x->dtype, stored, 2, wide);
        j.i0 = wide[0];
        j.i1 = wide[1];
    }
    return unary(s, &def, x, &j);
}

weft_tensor *weft_neg(weft_scope *s, weft_tensor *x) {
    static const op_def def = {"neg", neg_f, neg_i};
    return unary(s, &def, x, &(job){.def = &def});
}
weft_tensor *weft_relu(weft_scope *s, weft_tensor *x) {
    static const op_def def = {"relu", relu_f, relu_i};
    return unary(s, &def, x, &(job){.def = &def});
}
weft_tensor *weft_exp(weft_scope *s, weft_tensor *x) {
    static const op_def def = {"exp", exp_f, NULL};
    return unary(s, &def, x, &(job){.def = &def});
}
weft_tensor *weft_tanh(weft_scope *s, weft_tensor *x) {
    static const op_def def = {"tanh", tanh_f, NULL};
    return unary(s, &def, x, &(job){.def = &def});
}
weft_tensor *weft_silu(weft_scope *s, weft_tensor *x) {
    static const op_def def = {"silu", silu_f, NULL};
    return unary(s, &def, x, &(job){.def = &def});
}
weft_tensor *weft_gelu_tanh(weft_scope *s, weft_tensor *x) {
    static const op_def def = {"gelu_tanh", gelu_tanh_f, NULL};
    return unary(s, &def, x, &(job){.def = &def});
}
weft_tensor *weft_gelu_erf(weft_scope *s, weft_tensor *x) {
    static const op_def def = {"gelu_erf", gelu_erf_f, NULL};
    return unary(s, &def, x, &(job){.def = &def});
}
