/* Fused elementwise pieces of a layer: activations, the gate of an MLP, the soft cap. */
#include "tensor/gate.h"
#include "tensor/walk.h"

#include <math.h>

typedef struct nn_job {
    weft_walk walk;
    const weft_kernels *k;
    weft_activation act;
    float cap; /* 0: no soft cap, an activation */
} nn_job;

void weft_act_floats(const weft_kernels *k, weft_activation act, const float *x, size_t n,
                     float *y) {
    switch (act) {
    case WEFT_ACT_SILU:
        k->silu(x, n, y);
        break;
    case WEFT_ACT_GELU_TANH:
        k->gelu_tanh(x, n, y);
        break;
    case WEFT_ACT_GELU_ERF:
        k->gelu_erf(x, n, y);
        break;
    case WEFT_ACT_RELU:
        for (size_t i = 0; i < n; i++)
            y[i] = x[i] < 0 ? 0 : x[i];
        break;
    case WEFT_ACT_RELU_SQUARED:
        for (size_t i = 0; i < n; i++)
            y[i] = x[i] < 0 ? 0 : x[i] * x[i];
        break;
    case WEFT_ACT_SIGMOID:
        k->sigmoid(x, n, y);
        break;
    case WEFT_ACT_SWIGLU_CLAMPED:
        break; /* weft_gate_floats */
    }
}

#define SWIGLU_LIMIT 7.0f
#define SWIGLU_ALPHA 1.702f

/* NaN stays NaN; y is neither gate nor up. */
static void swiglu_clamped(const weft_kernels *k, const float *gate, const float *up, size_t n,
                           float *y) {
    for (size_t i = 0; i < n; i++)
        y[i] = SWIGLU_ALPHA * (gate[i] > SWIGLU_LIMIT ? SWIGLU_LIMIT : gate[i]);
    k->sigmoid(y, n, y);
    for (size_t i = 0; i < n; i++) {
        float g = gate[i] > SWIGLU_LIMIT ? SWIGLU_LIMIT : gate[i];
        float u = up[i] > SWIGLU_LIMIT ? SWIGLU_LIMIT : up[i];
        u = u < -SWIGLU_LIMIT ? -SWIGLU_LIMIT : u;
        y[i] = g * y[i] * (u + 1);
    }
}

void weft_gate_floats(const weft_kernels *k, weft_activation act, const float *gate,
                      const float *up, size_t n, float *y) {
    for (size_t i = 0; i < n; i += WEFT_TILE) {
        size_t part = n - i < WEFT_TILE ? n - i : WEFT_TILE;
        if (act == WEFT_ACT_SWIGLU_CLAMPED) {
            swiglu_clamped(k, gate + i, up + i, part, y + i);
            continue;
        }
        weft_act_floats(k, act, gate + i, part, y + i);
        k->mul(y + i, up + i, part, y + i);
    }
}

static void cap_run(const nn_job *j, const float *x, size_t n, float *y) {
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] / j->cap;
    j->k->tanh(y, n, y);
    j->k->scale(y, n, j->cap, y);
}

static void nn_tiles(void *ctx, size_t begin, size_t end, int thread) {
    const nn_job *j = ctx;
    const weft_walk *w = &j->walk;
    (void)thread;
    _Alignas(64) float in[2][WEFT_TILE], result[WEFT_TILE];
    for (size_t t = begin; t < end; t++) {
        weft_tile_at at;
        weft_walk_tile(w, t, &at);
        size_t n = at.rows * at.cols;
        const float *x = weft_tile_load(w, &at, 1, in[0]);
        float *y = weft_tile_result(w, &at, result);
        if (w->n == 3)
            weft_gate_floats(j->k, j->act, x, weft_tile_load(w, &at, 2, in[1]), n, y);
        else if (j->cap > 0)
            cap_run(j, x, n, y);
        else
            weft_act_floats(j->k, j->act, x, n, y);
        weft_tile_store(w, &at, y);
    }
}

static weft_tensor *run_nn(weft_scope *s, const char *name, nn_job *j, weft_tensor *const *inputs,
                           int n_inputs) {
    for (int i = 0; i < n_inputs; i++) {
        if (!weft_op_plain(s, name, inputs[i]))
            return NULL;
        if (inputs[i]->dtype != WEFT_F32)
            return weft_scope_fail(s, WEFT_E_DTYPE, name, "%s: f32 is needed",
                                   weft_dtype_name(inputs[i]->dtype));
        if (i > 0 && !weft_op_same_shape(s, name, inputs[0], inputs[i]))
            return NULL;
    }
    const weft_tensor *x = inputs[0];
    weft_tensor *y = weft_scope_new(s, name, WEFT_F32, x->rank, x->dims);
    weft_op op;
    if (y == NULL || !weft_op_begin(&op, s, name, inputs, (size_t)n_inputs))
        return NULL;
    j->k = weft_scope_kernels(s);
    void *data[3] = {weft_tensor_data(y)};
    const int64_t *strides[3] = {y->strides};
    size_t items[3] = {4, 4, 4};
    for (int i = 0; i < n_inputs; i++) {
        data[i + 1] = weft_tensor_data(inputs[i]);
        strides[i + 1] = inputs[i]->strides;
    }
    weft_walk_init(&j->walk, x->rank, x->dims, n_inputs + 1, data, strides, items);
    if (j->walk.n_tiles > 0) /* an activation is worth several plain steps */
        weft_op_loop(s, j->walk.n_tiles, 4 * j->walk.tile_rows * j->walk.tile_cols, nn_tiles, j);
    weft_op_end(&op);
    return y;
}

bool weft_gate_allowed(weft_scope *s, const char *op, weft_activation act) {
    if ((unsigned)act <= WEFT_ACT_SWIGLU_CLAMPED)
        return true;
    weft_scope_fail(s, WEFT_E_ARGUMENT, op, "unknown activation %d", (int)act);
    return false;
}

weft_tensor *weft_gated(weft_scope *s, weft_tensor *gate, weft_tensor *up, weft_activation act) {
    weft_tensor *inputs[] = {gate, up};
    if (!weft_scope_ready(s, "gated", inputs, 2))
        return NULL;
    if (!weft_gate_allowed(s, "gated", act))
        return NULL;
    nn_job j = {.act = act};
    return run_nn(s, "gated", &j, inputs, 2);
}

bool weft_act_allowed(weft_scope *s, const char *op, weft_activation act) {
    if ((unsigned)act < WEFT_ACT_SWIGLU_CLAMPED)
        return true;
    weft_scope_fail(s, WEFT_E_ARGUMENT, op, "activation %d is none of one input", (int)act);
    return false;
}

weft_tensor *weft_activate(weft_scope *s, weft_tensor *x, weft_activation act) {
    if (!weft_scope_ready(s, "activate", &x, 1) || !weft_act_allowed(s, "activate", act))
        return NULL;
    nn_job j = {.act = act};
    return run_nn(s, "activate", &j, &x, 1);
}

weft_tensor *weft_softcap(weft_scope *s, weft_tensor *x, float cap) {
    if (!weft_scope_ready(s, "softcap", &x, 1))
        return NULL;
    if (!(cap > 0) || isinf(cap))
        return weft_scope_fail(s, WEFT_E_ARGUMENT, "softcap", "cap %g is not above 0 and finite",
                               (double)cap);
    nn_job j = {.cap = cap};
    return run_nn(s, "softcap", &j, &x, 1);
}
