/* Products with weights. Everything goes through the panel kernels: packed panels as they lie, rows
 * of a file packed 16 at a time into scratch, so that both give the same bits. linear_run.c
 * multiplies. */
#include "base/alloc.h"
#include "tensor/linear_job.h"
#include "tensor/pack.h"
#include "tensor/tap.h"
#include "tensor/walk.h"

#include <string.h>

#define BF16_LEAST_ROWS 32 /* of a step, above every batch that decodes */

/* ---- Checks ---- */

static bool check_weight(weft_scope *s, const char *name, const weft_tensor *x,
                         const weft_tensor *w) {
    char sx[128], sw[128];
    if (w->rank != 2) {
        weft_scope_fail(s, WEFT_E_SHAPE, name, "weight %s: two dims [n_out, n_in] are needed",
                        weft_shape_text(w, sw, sizeof sw));
        return false;
    }
    int64_t n_in = x->dims[x->rank - 1];
    if (w->dims[1] != n_in) {
        weft_scope_fail(s, WEFT_E_SHAPE, name,
                        "x %s and weight %s do not fit: dim %d of x is %lld, dim 1 of weight %lld",
                        weft_shape_text(x, sx, sizeof sx), weft_shape_text(w, sw, sizeof sw),
                        x->rank - 1, (long long)n_in, (long long)w->dims[1]);
        return false;
    }
    if (!weft_panel_supported(w->dtype)) {
        bool plain = weft_dtype_is_plain(w->dtype);
        weft_scope_fail(s, plain ? WEFT_E_DTYPE : WEFT_E_UNSUPPORTED, name,
                        "weight %s of type %s cannot be multiplied",
                        weft_shape_text(w, sw, sizeof sw), weft_dtype_name(w->dtype));
        return false;
    }
    if (n_in > 0 && weft_panel_bytes(w->dtype, (size_t)n_in) == 0) {
        weft_scope_fail(s, WEFT_E_SHAPE, name, "weight %s: rows are not whole blocks of %s",
                        weft_shape_text(w, sw, sizeof sw), weft_dtype_name(w->dtype));
        return false;
    }
    if (weft_dtype_is_quantized(w->dtype) && w->layout == WEFT_LAYOUT_STRIDED &&
        w->strides[1] != 1 && n_in > 1) {
        weft_scope_fail(s, WEFT_E_LAYOUT, name, "weight %s of %s: blocks do not lie along the rows",
                        weft_shape_text(w, sw, sizeof sw), weft_dtype_name(w->dtype));
        return false;
    }
    return true;
}

static bool check_bias(weft_scope *s, const char *name, const weft_tensor *w,
                       const weft_tensor *bias) {
    char sw[128], sb[128];
    if (bias == NULL)
        return true;
    if (!weft_op_plain(s, name, bias))
        return false;
    if (bias->dtype != WEFT_F32) {
        weft_scope_fail(s, WEFT_E_DTYPE, name, "bias is %s: f32 is needed",
                        weft_dtype_name(bias->dtype));
        return false;
    }
    if (bias->rank != 1 || bias->dims[0] != w->dims[0]) {
        weft_scope_fail(s, WEFT_E_SHAPE, name, "weight %s and bias %s do not fit in dim 0",
                        weft_shape_text(w, sw, sizeof sw), weft_shape_text(bias, sb, sizeof sb));
        return false;
    }
    return true;
}

/* ---- Plan ---- */

static void add_part(linear_job *j, const weft_tensor *w, const weft_tensor *bias, weft_tensor *y,
                     const weft_engine *engine) {
    linear_part *p = &j->parts[j->n_parts++];
    *p = (linear_part){.weight = w, .y = weft_tensor_data(y), .n_out = (size_t)w->dims[0]};
    if (engine->numbers == WEFT_NUMBERS_DEFAULT && j->n_rows >= BF16_LEAST_ROWS)
        p->bf16 = weft_bf16_serves(j->k, w->dtype) || (engine->bf16_always && j->k->panel_bf16);
    p->q8 = weft_dtype_is_quantized(w->dtype) && engine->numbers != WEFT_NUMBERS_FLOAT && !p->bf16;
    if (bias != NULL) {
        p->bias = weft_tensor_data(bias);
        p->bias_step = bias->strides[0];
    }
    p->panel_bytes = weft_panel_bytes(w->dtype, j->n_in);
    p->panels = w->layout == WEFT_LAYOUT_PANEL16 ? weft_tensor_data(w) : NULL;
    p->first = j->n_panels;
    p->n_panels = weft_ceil_div(p->n_out, WEFT_PANEL_ROWS);
    j->n_panels += p->n_panels;
    j->any_q8 |= p->q8;
    j->any_bf16 |= p->bf16;
    j->any_float |= !p->q8 && !p->bf16;
}

/* x [.., n] as f32 rows at an even step: as it lies, or packed. */
static bool take_rows(weft_scope *s, const linear_job *j, const weft_tensor *x, const float **rows,
                      size_t *row_step) {
    int last = x->rank - 1;
    size_t n = (size_t)x->dims[last];
    *rows = weft_tensor_data(x);
    *row_step = n;
    bool even = x->dtype == WEFT_F32 && (x->strides[last] == 1 || n == 1);
    for (int d = last - 1; d > 0 && even; d--)
        even = x->strides[d - 1] == x->strides[d] * x->dims[d] || x->dims[d - 1] == 1;
    if (even && last > 0 && j->n_rows > 1) {
        int64_t step = 0; /* that of the innermost dim which has more than one row */
        for (int d = last - 1; d >= 0 && step == 0; d--)
            if (x->dims[d] > 1)
                step = x->strides[d];
        even = step >= 0;
        *row_step = (size_t)step;
    }
    if (even)
        return true;
    float *packed =
        weft_scope_scratch(s, j->name, weft_size_of(weft_size_of(j->n_rows, n), sizeof(float)));
    if (packed == NULL)
        return false;
    int64_t steps[WEFT_MAX_RANK];
    weft_strides_of(x->rank, x->dims, steps);
    weft_cast_strided(s, x->rank, x->dims, x->dtype, *rows, x->strides, WEFT_F32, packed, steps);
    *rows = packed;
    *row_step = n;
    return true;
}

/* Rows of length 0: every sum is empty. */
static void fill_empty(const linear_job *j) {
    for (size_t i = 0; i < j->n_parts; i++) {
        const linear_part *p = &j->parts[i];
        for (size_t r = 0; r < j->n_rows; r++)
            for (size_t c = 0; c < p->n_out; c++)
                p->y[r * p->n_out + c] = p->bias ? p->bias[(int64_t)c * p->bias_step] : 0;
        if (j->activate_y)
            weft_act_floats(j->k, j->act, p->y, j->n_rows * p->n_out, p->y);
    }
}

/* ---- Ops ---- */

typedef struct call {
    const char *name;
    weft_tensor *x;
    weft_tensor *const *weights, *const *biases; /* [n]; biases may be NULL, as may each */
    size_t n;
    weft_tensor *up; /* NULL: none; then x is its gate */
    weft_activation act;
    bool activate_y;
} call;

static bool check_up(weft_scope *s, const char *name, const weft_tensor *gate,
                     const weft_tensor *up) {
    if (!weft_op_plain(s, name, up) || !weft_op_same_shape(s, name, gate, up))
        return false;
    if (gate->dtype == WEFT_F32 && up->dtype == WEFT_F32)
        return true;
    weft_scope_fail(s, WEFT_E_DTYPE, name, "gate is %s, up %s: f32 is needed",
                    weft_dtype_name(gate->dtype), weft_dtype_name(up->dtype));
    return false;
}

static bool check_call(weft_scope *s, const call *c, weft_tensor **inputs, size_t *n_inputs) {
    inputs[(*n_inputs)++] = c->x;
    for (size_t i = 0; i < c->n; i++)
        inputs[(*n_inputs)++] = c->weights[i];
    if (c->up != NULL)
        inputs[(*n_inputs)++] = c->up;
    if (!weft_scope_ready(s, c->name, inputs, *n_inputs) || !weft_op_float(s, c->name, c->x))
        return false;
    if (c->x->rank == 0) {
        weft_scope_fail(s, WEFT_E_SHAPE, c->name, "x has no dims");
        return false;
    }
    for (size_t i = 0; i < c->n; i++) {
        weft_tensor *bias = c->biases == NULL ? NULL : c->biases[i];
        if (!check_weight(s, c->name, c->x, c->weights[i]) ||
            !check_bias(s, c->name, c->weights[i], bias))
            return false;
        if (bias != NULL)
            inputs[(*n_inputs)++] = bias;
    }
    return c->up == NULL || check_up(s, c->name, c->x, c->up);
}

static bool take_operands(weft_scope *s, linear_job *j, const call *c) {
    j->act = c->act;
    j->activate_y = c->activate_y;
    return take_rows(s, j, c->x, &j->x, &j->x_row) &&
           (c->up == NULL || take_rows(s, j, c->up, &j->up, &j->up_row));
}

static bool linears(weft_scope *s, const call *c, weft_tensor **out) {
    weft_tensor *inputs[2 + 2 * WEFT_LINEAR_MANY], *x = c->x;
    size_t n_inputs = 0;
    if (!check_call(s, c, inputs, &n_inputs))
        return false;
    int64_t dims[WEFT_MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    for (size_t i = 0; i < c->n; i++) {
        dims[x->rank - 1] = c->weights[i]->dims[0];
        out[i] = weft_scope_new(s, c->name, WEFT_F32, x->rank, dims);
        if (out[i] == NULL)
            return false;
    }
    weft_op op;
    if (!weft_op_begin(&op, s, c->name, inputs, n_inputs))
        return false;
    linear_job j = {
        .k = weft_scope_kernels(s), .name = c->name, .n_in = (size_t)x->dims[x->rank - 1]};
    j.n_rows = 1;
    for (int d = 0; d < x->rank - 1; d++)
        j.n_rows *= (size_t)x->dims[d];
    for (size_t i = 0; i < c->n; i++)
        add_part(&j, weft_tensor_packed(c->weights[i]), c->biases == NULL ? NULL : c->biases[i],
                 out[i], weft_scope_engine(s));
    bool done = true;
    if (j.n_rows > 0 && j.n_panels > 0) {
        done = take_operands(s, &j, c);
        if (done && j.n_in == 0)
            fill_empty(&j);
        else if (done)
            done = weft_linear_run(s, &j);
    }
    weft_op_end(&op);
    return done;
}

weft_tensor *weft_linear(weft_scope *s, weft_tensor *x, weft_tensor *weight, weft_tensor *bias) {
    weft_tensor *y = NULL;
    call c = {.name = "linear", .x = x, .weights = &weight, .biases = &bias, .n = 1};
    return linears(s, &c, &y) ? weft_tap_linear(s, weight, x, y) : NULL;
}

weft_tensor *weft_linear_act(weft_scope *s, weft_tensor *x, weft_tensor *weight, weft_tensor *bias,
                             weft_activation act) {
    weft_tensor *y = NULL;
    call c = {.name = "linear_act", .x = x, .weights = &weight, .biases = &bias, .n = 1};
    c.act = act;
    c.activate_y = true;
    if (!weft_scope_ready(s, c.name, &x, 1) || !weft_act_allowed(s, c.name, act))
        return NULL;
    if (weft_scope_tap(s) != NULL) /* wants to change what is activated */
        return weft_activate(s, weft_linear(s, x, weight, bias), act);
    return linears(s, &c, &y) ? y : NULL;
}

weft_tensor *weft_gated_linear(weft_scope *s, weft_tensor *gate, weft_tensor *up,
                               weft_activation act, weft_tensor *weight, weft_tensor *bias) {
    weft_tensor *y = NULL, *both[] = {gate, up};
    call c = {.name = "gated_linear", .x = gate, .weights = &weight, .biases = &bias, .n = 1};
    c.up = up;
    c.act = act;
    if (!weft_scope_ready(s, c.name, both, 2) || !weft_gate_allowed(s, c.name, act))
        return NULL;
    if (weft_scope_tap(s) != NULL) /* wants to see what is multiplied */
        return weft_linear(s, weft_gated(s, gate, up, act), weight, bias);
    return linears(s, &c, &y) ? y : NULL;
}

weft_status weft_linear_many(weft_scope *s, weft_tensor *x, weft_tensor *const *weights,
                             weft_tensor *const *biases, size_t n, weft_tensor **out) {
    for (size_t i = 0; i < n; i++)
        out[i] = NULL;
    if (n == 0)
        return weft_scope_status(s);
    call c = {.name = "linear", .x = x, .weights = weights, .biases = biases, .n = n};
    if (n > WEFT_LINEAR_MANY)
        weft_scope_fail(s, WEFT_E_ARGUMENT, "linear", "%zu weights at once", n);
    else if (linears(s, &c, out))
        for (size_t i = 0; i < n; i++)
            out[i] = weft_tap_linear(s, weights[i], x, out[i]);
    if (weft_scope_status(s) == WEFT_OK)
        return WEFT_OK;
    for (size_t i = 0; i < n; i++)
        out[i] = NULL;
    return weft_scope_status(s);
}
