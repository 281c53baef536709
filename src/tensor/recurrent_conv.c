/* Causal convolutions of a few taps, channel by channel. */
#include "tensor/recurrent.h"

#include <string.h>

#define TILE 256 /* channels of one item */
#define MOST_TAPS 16

typedef struct job {
    const weft_kernels *k;
    recurrent_runs runs;
    const float *x, *weight, *bias; /* [T, C], [C, K], [C] or NULL */
    int64_t x_row, weight_row;
    size_t n_channels, n_taps, n_tiles;
    bool silu;
    float *y; /* [T, C] */
} job;

/* Input row `t` of a run, from channel `first`: of the step, or of those before it. */
static const float *input_row(const job *j, const weft_state_run *run, const float *state,
                              ptrdiff_t t, size_t first) {
    static const float zeros[TILE];
    if (t >= 0)
        return j->x + ((int64_t)run->row + t) * j->x_row + (int64_t)first;
    if (state == NULL)
        return zeros;
    return state + ((size_t)(t + (ptrdiff_t)j->n_taps - 1)) * j->n_channels + first;
}

static void run_tile(const job *j, size_t run, size_t first, size_t n) {
    const weft_state_run *r = &j->runs.runs[run];
    const float *state = weft_recurrent_state(&j->runs, run), *inputs[MOST_TAPS];
    _Alignas(64) float weight[MOST_TAPS * TILE]; /* [K, TILE] */
    ptrdiff_t before = (ptrdiff_t)j->n_taps - 1;
    for (size_t c = 0; c < n; c++)
        for (size_t k = 0; k < j->n_taps; k++)
            weight[k * TILE + c] = j->weight[(int64_t)(first + c) * j->weight_row + (int64_t)k];
    for (size_t t = 0; t < r->n; t++) {
        float *y = j->y + (r->row + t) * j->n_channels + first;
        for (size_t k = 0; k < j->n_taps; k++)
            inputs[k] = input_row(j, r, state, (ptrdiff_t)(t + k) - before, first);
        j->k->conv_row(inputs, weight, TILE, j->bias ? j->bias + first : NULL, j->n_taps, n, y);
        if (j->silu)
            j->k->silu(y, n, y);
    }
    float *next = j->runs.next + run * j->runs.state_floats + first;
    for (ptrdiff_t i = 0; i < before; i++)
        memcpy(next + (size_t)i * j->n_channels,
               input_row(j, r, state, (ptrdiff_t)r->n + i - before, first), n * sizeof *next);
}

static void run_tiles(void *ctx, size_t begin, size_t end, int thread) {
    const job *j = ctx;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        size_t first = i % j->n_tiles * TILE, left = j->n_channels - first;
        run_tile(j, i / j->n_tiles, first, left < TILE ? left : TILE);
    }
}

weft_tensor *weft_short_conv(weft_scope *s, weft_tensor *x, weft_tensor *weight, weft_tensor *bias,
                             bool silu, weft_states *states) {
    const char *name = "short_conv";
    char sx[96], sw[96];
    weft_tensor *inputs[] = {x, weight, states->states, bias};
    size_t n_inputs = bias ? 4 : 3;
    if (!weft_scope_ready(s, name, inputs, n_inputs) ||
        !(inputs[0] = x = weft_recurrent_input(s, name, "x", x, 2)) ||
        !(inputs[1] = weight = weft_recurrent_input(s, name, "weight", weight, 2)) ||
        (bias && !(inputs[3] = bias = weft_recurrent_input(s, name, "bias", bias, 1))))
        return NULL;
    int64_t n_channels = x->dims[1], n_taps = weight->dims[1];
    if (weight->dims[0] != n_channels || (bias && bias->dims[0] != n_channels) || n_taps < 1 ||
        n_taps > MOST_TAPS)
        return weft_scope_fail(s, WEFT_E_SHAPE, name,
                               "x %s and weight %s do not fit: [T, C] and [C, K] with K <= %d are "
                               "needed, and a bias of [C]",
                               weft_shape_text(x, sx, sizeof sx),
                               weft_shape_text(weight, sw, sizeof sw), MOST_TAPS);
    size_t n_rows = (size_t)x->dims[0];
    int64_t state[] = {n_taps - 1, n_channels};
    if (!weft_recurrent_check(s, name, states, n_rows, 2, state))
        return NULL;
    weft_tensor *y = weft_scope_new(s, name, WEFT_F32, 2, x->dims);
    weft_op op;
    if (y == NULL || !weft_op_begin(&op, s, name, inputs, n_inputs))
        return NULL;
    job j = {.k = weft_scope_kernels(s),
             .runs = weft_recurrent_runs_of(&op, states),
             .x = weft_tensor_data(x),
             .weight = weft_tensor_data(weight),
             .bias = bias ? weft_tensor_data(bias) : NULL,
             .x_row = x->strides[0],
             .weight_row = weight->strides[0],
             .n_channels = (size_t)n_channels,
             .n_taps = (size_t)n_taps,
             .n_tiles = weft_ceil_div((size_t)n_channels, TILE),
             .silu = silu,
             .y = weft_tensor_data(y)};
    size_t n_items = j.n_tiles * j.runs.n;
    if (n_items > 0)
        weft_op_loop(s, n_items, 4 * TILE * (n_rows / j.runs.n + 1), run_tiles, &j);
    weft_op_end(&op);
    return y;
}
