/* The gated delta rule, step by step. A column of the state depends on no other one: columns are
 * shared out among the threads as heads are. */
#include "tensor/recurrent.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

#define TILE 64 /* columns of one item */

typedef struct job {
    const weft_kernels *kernels;
    recurrent_runs runs;
    const weft_delta_inputs *in;
    size_t n_rows, n_head, n_head_k, dim_k, dim_v, n_tiles;
    float *q, *k;        /* scratch [T, n_head_k, dim_k]: of length 1, q also divided */
    float *decay, *beta; /* scratch [T, n_head]: factors */
    float *y;            /* [T, n_head, dim_v] */
} job;

static const float *row_of(const weft_tensor *t, size_t row, size_t head) {
    const float *data = weft_tensor_data(t);
    return data + (int64_t)row * t->strides[0] + (int64_t)head * t->strides[1];
}

/* x / sqrt(sum of squares + eps) * factor, by way of the norm over a mean. */
static void to_length(const job *j, const float *x, float factor, float *y) {
    float n = (float)j->dim_k;
    j->kernels->rms_norm(x, NULL, j->dim_k, j->in->eps / n, y);
    j->kernels->scale(y, j->dim_k, factor / sqrtf(n), y);
}

static void prepare_rows(void *ctx, size_t begin, size_t end, int thread) {
    const job *j = ctx;
    const float *a = weft_tensor_data(j->in->a), *bias = weft_tensor_data(j->in->dt_bias);
    (void)thread;
    for (size_t t = begin; t < end; t++) {
        for (size_t h = 0; h < j->n_head_k; h++) {
            size_t at = (t * j->n_head_k + h) * j->dim_k;
            to_length(j, row_of(j->in->q, t, h), 1 / sqrtf((float)j->dim_k), j->q + at);
            to_length(j, row_of(j->in->k, t, h), 1, j->k + at);
        }
        float *decay = j->decay + t * j->n_head, *beta = j->beta + t * j->n_head;
        j->kernels->add(row_of(j->in->alpha, t, 0), bias, j->n_head, decay);
        j->kernels->softplus(decay, j->n_head, decay);
        j->kernels->mul(decay, a, j->n_head, decay);
        j->kernels->exp(decay, j->n_head, decay);
        j->kernels->sigmoid(row_of(j->in->beta, t, 0), j->n_head, beta);
    }
}

static void run_tile(const job *j, size_t run, size_t head, size_t first, size_t n) {
    const weft_state_run *r = &j->runs.runs[run];
    size_t head_k = j->in->tiled ? head % j->n_head_k : head * j->n_head_k / j->n_head;
    size_t at = head * j->dim_k * j->dim_v + first;
    float *to = j->runs.next + run * j->runs.state_floats + at;
    const float *from = weft_recurrent_state(&j->runs, run);
    if (from == NULL) {
        for (size_t i = 0; i < j->dim_k; i++)
            memset(to + i * j->dim_v, 0, n * sizeof *to);
        from = to;
    } else {
        from += at;
    }
    for (size_t t = r->row; t < r->row + r->n; t++, from = to) {
        size_t key = (t * j->n_head_k + head_k) * j->dim_k, scalar = t * j->n_head + head;
        j->kernels->delta_step(j->q + key, j->k + key, row_of(j->in->v, t, head) + first,
                               j->decay[scalar], j->beta[scalar], j->dim_k, n, from, j->dim_v, to,
                               j->dim_v, j->y + scalar * j->dim_v + first);
    }
}

static void run_tiles(void *ctx, size_t begin, size_t end, int thread) {
    const job *j = ctx;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        size_t first = i % j->n_tiles * TILE, left = j->dim_v - first;
        size_t head = i / j->n_tiles % j->n_head, run = i / j->n_tiles / j->n_head;
        run_tile(j, run, head, first, left < TILE ? left : TILE);
    }
}

static bool check_shapes(weft_scope *s, const char *name, const weft_delta_inputs *in) {
    char text[4][96];
    const weft_tensor *q = in->q, *k = in->k, *v = in->v;
    int64_t n = v->dims[0], n_head = v->dims[1];
    bool fits =
        q->dims[0] == n && k->dims[0] == n && q->dims[1] == k->dims[1] &&
        q->dims[2] == k->dims[2] && q->dims[1] > 0 && q->dims[2] > 0 && n_head % q->dims[1] == 0 &&
        in->alpha->dims[0] == n && in->alpha->dims[1] == n_head && in->beta->dims[0] == n &&
        in->beta->dims[1] == n_head && in->a->dims[0] == n_head && in->dt_bias->dims[0] == n_head;
    if (!fits)
        weft_scope_fail(s, WEFT_E_SHAPE, name,
                        "q %s, k %s, v %s and beta %s do not fit: [T, n_head_k, dim_k] twice, [T, "
                        "n_head, dim_v] with n_head a multiple of n_head_k, and [T, n_head] are "
                        "needed, as for alpha, and [n_head] for a and dt_bias",
                        weft_shape_text(q, text[0], sizeof text[0]),
                        weft_shape_text(k, text[1], sizeof text[1]),
                        weft_shape_text(v, text[2], sizeof text[2]),
                        weft_shape_text(in->beta, text[3], sizeof text[3]));
    return fits;
}

static bool take_scratch(weft_scope *s, const char *name, job *j) {
    size_t keys = weft_size_of(j->n_rows * j->n_head_k, j->dim_k); /* of tensors that exist */
    size_t scalars = j->n_rows * j->n_head, floats;
    if (!weft_add_size(2 * keys, 2 * scalars, &floats))
        floats = SIZE_MAX;
    j->q = weft_scope_scratch(s, name, weft_size_of(floats, sizeof(float)));
    if (j->q == NULL)
        return false;
    j->k = j->q + keys;
    j->decay = j->k + keys;
    j->beta = j->decay + scalars;
    return true;
}

static void run(weft_scope *s, job *j) {
    size_t n_items = j->runs.n * j->n_head * j->n_tiles;
    weft_op_loop(s, j->n_rows, 2 * j->n_head_k * j->dim_k + 64 * j->n_head, prepare_rows, j);
    if (n_items > 0)
        weft_op_loop(s, n_items, 2 * TILE * j->dim_k * (j->n_rows / j->runs.n + 1), run_tiles, j);
}

weft_tensor *weft_delta_rule(weft_scope *s, const weft_delta_inputs *in, weft_states *states) {
    const char *name = "delta_rule";
    weft_delta_inputs own = *in;
    weft_tensor *inputs[] = {in->q,    in->k, in->v,       in->alpha,
                             in->beta, in->a, in->dt_bias, states->states};
    weft_tensor **fields[] = {&own.q, &own.k, &own.v, &own.alpha, &own.beta, &own.a, &own.dt_bias};
    static const char *const names[] = {"q", "k", "v", "alpha", "beta", "a", "dt_bias"};
    static const int ranks[] = {3, 3, 3, 2, 2, 1, 1};
    if (!weft_scope_ready(s, name, inputs, 8))
        return NULL;
    for (int i = 0; i < 7; i++)
        if (!(inputs[i] = *fields[i] =
                  weft_recurrent_input(s, name, names[i], inputs[i], ranks[i])))
            return NULL;
    if (!check_shapes(s, name, &own))
        return NULL;
    int64_t state[] = {own.v->dims[1], own.q->dims[2], own.v->dims[2]};
    if (!weft_recurrent_check(s, name, states, (size_t)own.v->dims[0], 3, state))
        return NULL;
    weft_tensor *y = weft_scope_new(s, name, WEFT_F32, 3, own.v->dims);
    weft_op op;
    if (y == NULL || !weft_op_begin(&op, s, name, inputs, 8))
        return NULL;
    job j = {.kernels = weft_scope_kernels(s),
             .runs = weft_recurrent_runs_of(&op, states),
             .in = &own,
             .n_rows = (size_t)own.v->dims[0],
             .n_head = (size_t)own.v->dims[1],
             .n_head_k = (size_t)own.q->dims[1],
             .dim_k = (size_t)own.q->dims[2],
             .dim_v = (size_t)own.v->dims[2],
             .n_tiles = weft_ceil_div((size_t)own.v->dims[2], TILE),
             .y = weft_tensor_data(y)};
    bool done = take_scratch(s, name, &j);
    if (done)
        run(s, &j);
    weft_op_end(&op);
    return done ? y : NULL;
}
