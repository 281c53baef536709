/* Ops along one axis whose result has the shape of x: RMS norm (Zhang and Sennrich, 2019), layer
 * norm (Ba et al. 2016) and softmax. Rows that do not lie packed as f32 are gathered, several at a
 * time, into scratch. */
#include "base/alloc.h"
#include "tensor/convert.h"
#include "tensor/walk.h"

#include <string.h>

#define ROWS 16 /* gathered together: neighbours share cache lines */
#define PAD 16

typedef struct job {
    const weft_kernels *k;
    bool softmax, layer;
    const float *weight; /* norms: [n] packed, or NULL */
    const float *bias;   /* layer norm: [n] packed, or NULL */
    float eps;
    weft_dtype dtype;
    size_t item, n;         /* bytes of an element; length of the axis */
    int64_t x_step, y_step; /* bytes along the axis */
    int rank;               /* the other dims; the last one is walked in groups */
    int64_t dims[WEFT_MAX_RANK + 1], x_steps[WEFT_MAX_RANK + 1], y_steps[WEFT_MAX_RANK + 1];
    size_t rows_a_group, n_groups;
    const unsigned char *x;
    unsigned char *y;
    unsigned char *scratch; /* a thread: [ROWS, n + PAD] raw, then one row of f32; NULL if direct */
    size_t scratch_bytes;
} job;

static void run_row(const job *j, const float *x, float *y) {
    if (j->softmax)
        j->k->softmax(x, j->n, y);
    else if (j->layer)
        j->k->layer_norm(x, j->weight, j->bias, j->n, j->eps, y);
    else
        j->k->rms_norm(x, j->weight, j->n, j->eps, y);
}

/* Rows lie PAD elements apart in scratch, lest those of a power-of-two length share cache sets. */
static void run_gathered(const job *j, const unsigned char *x, unsigned char *y, size_t rows,
                         unsigned char *raw) {
    int last = j->rank - 1;
    size_t ld = j->n + PAD;
    float *wide = (float *)(void *)(raw + ROWS * ld * sizeof(float));
    int64_t item = (int64_t)j->item, row = (int64_t)ld * item;
    weft_copy_2d(j->item, rows, j->n, x, j->x_steps[last], j->x_step, raw, row, item);
    for (size_t r = 0; r < rows; r++) {
        unsigned char *at = raw + (int64_t)r * row;
        run_row(j, weft_as_f32(j->k, j->dtype, at, j->n, wide), wide);
        weft_from_f32(j->k, wide, j->dtype, at, j->n);
    }
    /* Written with neighbouring rows innermost where those lie together. */
    weft_copy_2d(j->item, j->n, rows, raw, item, row, y, j->y_step, j->y_steps[last]);
}

static void run_groups(void *ctx, size_t begin, size_t end, int thread) {
    const job *j = ctx;
    int last = j->rank - 1;
    for (size_t t = begin; t < end; t++) {
        size_t first = t % j->n_groups * j->rows_a_group, outer = t / j->n_groups;
        size_t rows = (size_t)j->dims[last] - first;
        rows = rows < j->rows_a_group ? rows : j->rows_a_group;
        const unsigned char *x = j->x + weft_index_offset(last, j->dims, j->x_steps, outer) +
                                 (int64_t)first * j->x_steps[last];
        unsigned char *y = j->y + weft_index_offset(last, j->dims, j->y_steps, outer) +
                           (int64_t)first * j->y_steps[last];
        if (j->scratch != NULL) {
            run_gathered(j, x, y, rows, j->scratch + (size_t)thread * j->scratch_bytes);
            continue;
        }
        for (size_t r = 0; r < rows; r++)
            run_row(j, (const float *)(const void *)(x + (int64_t)r * j->x_steps[last]),
                    (float *)(void *)(y + (int64_t)r * j->y_steps[last]));
    }
}

/* *out: a vector [n] as packed floats, NULL for NULL; false: the status is set. */
static bool take_vector(weft_scope *s, const job *j, const char *name, const weft_tensor *vector,
                        const float **out) {
    *out = vector == NULL ? NULL : weft_tensor_data(vector);
    if (vector == NULL || vector->strides[0] == 1 || j->n <= 1)
        return true;
    float *packed = weft_scope_scratch(s, name, weft_size_of(j->n, sizeof(float)));
    if (packed == NULL)
        return false;
    weft_copy_2d(sizeof(float), 1, j->n, *out, 0, vector->strides[0] * 4, packed, 0, 4);
    *out = packed;
    return true;
}

static bool run(weft_scope *s, job *j, const char *name, const weft_tensor *x, const weft_tensor *y,
                int axis) {
    int64_t item = (int64_t)j->item;
    size_t rows = 1;
    for (int d = 0; d < x->rank; d++) {
        if (d == axis)
            continue;
        j->dims[j->rank] = x->dims[d];
        j->x_steps[j->rank] = x->strides[d] * item;
        j->y_steps[j->rank++] = y->strides[d] * item;
        rows *= (size_t)x->dims[d];
    }
    if (j->rank == 0)
        j->dims[j->rank++] = 1;
    if (rows == 0 || j->n == 0)
        return true;
    j->x = weft_tensor_data(x);
    j->y = weft_tensor_data(y);
    j->x_step = x->strides[axis] * item;
    j->y_step = y->strides[axis] * item;
    bool direct = j->dtype == WEFT_F32 && (j->n == 1 || (j->x_step == item && j->y_step == item));
    if (!direct) {
        size_t row_bytes = weft_size_of(j->n + PAD, sizeof(float)); /* n: far below SIZE_MAX */
        j->scratch_bytes = weft_size_of(row_bytes, ROWS + 1);
        size_t threads = (size_t)weft_team_n_threads(weft_scope_team(s));
        j->scratch = weft_scope_scratch(s, name, weft_size_of(threads, j->scratch_bytes));
        if (j->scratch == NULL)
            return false;
    }
    size_t last = (size_t)j->dims[j->rank - 1];
    j->rows_a_group = last < ROWS ? last : ROWS;
    j->n_groups = weft_ceil_div(last, j->rows_a_group);
    weft_op_loop(s, rows / last * j->n_groups, 2 * j->rows_a_group * j->n, run_groups, j);
    return true;
}

weft_tensor *weft_softmax(weft_scope *s, weft_tensor *x, int axis) {
    const char *name = "softmax";
    if (!weft_scope_ready(s, name, &x, 1) || !weft_op_float(s, name, x) ||
        !weft_op_axis(s, name, x, &axis))
        return NULL;
    weft_tensor *y = weft_scope_new(s, name, x->dtype, x->rank, x->dims);
    weft_op op;
    if (y == NULL || !weft_op_begin(&op, s, name, &x, 1))
        return NULL;
    job j = {.k = weft_scope_kernels(s), .softmax = true, .dtype = x->dtype};
    j.item = weft_dtype_block_bytes(x->dtype);
    j.n = (size_t)x->dims[axis];
    bool done = run(s, &j, name, x, y, axis);
    weft_op_end(&op);
    return done ? y : NULL;
}

static bool check_vector(weft_scope *s, const char *name, const weft_tensor *x,
                         const weft_tensor *vector, const char *what) {
    char sx[128], sw[128];
    int axis = x->rank - 1;
    if (vector == NULL)
        return true;
    if (!weft_op_plain(s, name, vector))
        return false;
    if (vector->dtype != WEFT_F32) {
        weft_scope_fail(s, WEFT_E_DTYPE, name, "%s is %s: f32 is needed", what,
                        weft_dtype_name(vector->dtype));
        return false;
    }
    if (vector->rank == 1 && vector->dims[0] == x->dims[axis])
        return true;
    weft_scope_fail(s, WEFT_E_SHAPE, name, "x %s and %s %s do not fit in dim %d",
                    weft_shape_text(x, sx, sizeof sx), what, weft_shape_text(vector, sw, sizeof sw),
                    axis);
    return false;
}

static weft_tensor *norm(weft_scope *s, const char *name, job *j, weft_tensor *x,
                         weft_tensor *weight, weft_tensor *bias) {
    weft_tensor *inputs[3] = {x};
    size_t n_inputs = 1;
    int axis = -1;
    if (weight != NULL)
        inputs[n_inputs++] = weight;
    if (bias != NULL)
        inputs[n_inputs++] = bias;
    if (!weft_scope_ready(s, name, inputs, n_inputs) || !weft_op_float(s, name, x) ||
        !weft_op_axis(s, name, x, &axis) || !check_vector(s, name, x, weight, "weight") ||
        !check_vector(s, name, x, bias, "bias"))
        return NULL;
    weft_tensor *y = weft_scope_new(s, name, x->dtype, x->rank, x->dims);
    weft_op op;
    if (y == NULL || !weft_op_begin(&op, s, name, inputs, n_inputs))
        return NULL;
    j->k = weft_scope_kernels(s);
    j->dtype = x->dtype;
    j->item = weft_dtype_block_bytes(x->dtype);
    j->n = (size_t)x->dims[axis];
    bool done = take_vector(s, j, name, weight, &j->weight) &&
                take_vector(s, j, name, bias, &j->bias) && run(s, j, name, x, y, axis);
    weft_op_end(&op);
    return done ? y : NULL;
}

weft_tensor *weft_rms_norm(weft_scope *s, weft_tensor *x, weft_tensor *weight, float eps) {
    job j = {.eps = eps};
    return norm(s, "rms_norm", &j, x, weight, NULL);
}

weft_tensor *weft_layer_norm(weft_scope *s, weft_tensor *x, weft_tensor *weight, weft_tensor *bias,
                             float eps) {
    job j = {.layer = true, .eps = eps};
    return norm(s, "layer_norm", &j, x, weight, bias);
}
