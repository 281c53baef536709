/* State spaces with input-dependent steps (Mamba and Mamba-2), step by step. */
#include "tensor/recurrent.h"

#include "base/alloc.h"

#include <string.h>

#define TILE 64 /* channels of one item where each has its own decays */

typedef struct job {
    const weft_kernels *k;
    recurrent_runs runs;
    const weft_ssm_inputs *in;
    bool by_head;
    size_t n_rows, n_steps;            /* n_steps: dt of a row */
    size_t n_channels, head, n_groups; /* head: channels that share a and dt */
    size_t n_state, n_items;           /* n_items: of a run */
    float *dt, *decay;                 /* scratch [T, n_steps]; decay: e^(dt a), by head only */
    float *y;                          /* [T, n_channels] */
} job;

static const float *row_of(const weft_tensor *t, size_t row) {
    const float *data = weft_tensor_data(t);
    return data + (int64_t)row * t->strides[0];
}

static void prepare_rows(void *ctx, size_t begin, size_t end, int thread) {
    const job *j = ctx;
    (void)thread;
    for (size_t t = begin; t < end; t++) {
        float *dt = j->dt + t * j->n_steps, low = j->in->dt_low, high = j->in->dt_high;
        memcpy(dt, row_of(j->in->dt, t), j->n_steps * sizeof *dt);
        if (j->in->dt_bias)
            j->k->add(dt, weft_tensor_data(j->in->dt_bias), j->n_steps, dt);
        j->k->softplus(dt, j->n_steps, dt);
        for (size_t i = 0; i < j->n_steps; i++) {
            dt[i] = dt[i] < low ? low : dt[i];
            dt[i] = dt[i] > high ? high : dt[i];
        }
        if (!j->by_head)
            continue;
        float *decay = j->decay + t * j->n_steps;
        j->k->mul(dt, weft_tensor_data(j->in->a), j->n_steps, decay);
        j->k->exp(decay, j->n_steps, decay);
    }
}

/* One step of the channels [first, first + n), which are those of one head or a tile. */
static void one_step(const job *j, size_t t, size_t first, size_t n, const float *from, float *to) {
    size_t head = first / j->head, group = j->by_head ? head * j->n_groups / j->n_steps : 0;
    const float *b = row_of(j->in->b, t) + (int64_t)group * j->in->b->strides[1];
    const float *c = row_of(j->in->c, t) + (int64_t)group * j->in->c->strides[1];
    const float *x = row_of(j->in->x, t), *d = weft_tensor_data(j->in->d);
    float *y = j->y + t * j->n_channels + first;
    if (j->by_head) {
        size_t at = t * j->n_steps + head;
        j->k->ssm_head(n, j->n_state, from, to, j->decay[at], j->dt[at],
                       x + (int64_t)head * j->in->x->strides[1], b, c, d[head], y);
    } else {
        const float *a = row_of(j->in->a, first);
        j->k->ssm_scan(n, j->n_state, from, to, a, j->dt + t * j->n_steps + first, x + first, b, c,
                       d + first, y);
    }
}

static void run_items(void *ctx, size_t begin, size_t end, int thread) {
    const job *j = ctx;
    (void)thread;
    size_t most = j->by_head ? j->head : TILE;
    for (size_t i = begin; i < end; i++) {
        size_t run = i / j->n_items, first = i % j->n_items * most;
        size_t n = j->n_channels - first < most ? j->n_channels - first : most;
        const weft_state_run *r = &j->runs.runs[run];
        const float *from = weft_recurrent_state(&j->runs, run);
        float *to = j->runs.next + run * j->runs.state_floats + first * j->n_state;
        if (from == NULL)
            from = memset(to, 0, n * j->n_state * sizeof *to);
        else
            from += first * j->n_state;
        for (size_t t = r->row; t < r->row + r->n; t++, from = to)
            one_step(j, t, first, n, from, to);
    }
}

static bool check_shapes(weft_scope *s, const char *name, const weft_ssm_inputs *in) {
    char text[5][96];
    const weft_tensor *x = in->x, *dt = in->dt, *a = in->a, *b = in->b, *c = in->c;
    int64_t n = x->dims[0], n_steps = x->dims[1], n_groups = b->dims[1];
    bool fits = dt->dims[0] == n && dt->dims[1] == n_steps && a->dims[0] == n_steps &&
                in->d->dims[0] == n_steps && (!in->dt_bias || in->dt_bias->dims[0] == n_steps) &&
                b->dims[0] == n && c->dims[0] == n && c->dims[1] == n_groups &&
                c->dims[2] == b->dims[2] && n_groups > 0 && n_steps % n_groups == 0 &&
                (a->rank == 1 ||
                 (a->dims[1] == b->dims[2] && n_groups == 1 && a->strides[0] == a->dims[1]));
    if (!fits)
        weft_scope_fail(s, WEFT_E_SHAPE, name,
                        "x %s, dt %s, a %s, b %s and c %s do not fit: [T, n_channel], [T, "
                        "n_channel], [n_channel, n_state] and twice [T, 1, n_state] are needed, or "
                        "[T, n_head, head_dim], [T, n_head], [n_head] and [T, n_group, n_state]",
                        weft_shape_text(x, text[0], sizeof text[0]),
                        weft_shape_text(dt, text[1], sizeof text[1]),
                        weft_shape_text(a, text[2], sizeof text[2]),
                        weft_shape_text(b, text[3], sizeof text[3]),
                        weft_shape_text(c, text[4], sizeof text[4]));
    return fits;
}

/* All inputs as the loops want them, in `own` and in inputs[]; the number of these, 0: failed. */
static size_t take_inputs(weft_scope *s, const char *name, weft_ssm_inputs *own,
                          weft_tensor *states, weft_tensor **inputs) {
    weft_tensor **fields[] = {&own->x, &own->dt, &own->a, &own->b, &own->c, &own->d, &own->dt_bias};
    static const char *const names[] = {"x", "dt", "a", "b", "c", "d", "dt_bias"};
    size_t n = own->dt_bias ? 7 : 6;
    for (size_t i = 0; i < n; i++)
        inputs[i] = *fields[i];
    inputs[n] = states;
    if (!weft_scope_ready(s, name, inputs, n + 1))
        return 0;
    int rank = own->a->rank == 2 ? 2 : 3; /* of x */
    int ranks[] = {rank, 2, rank == 2 ? 2 : 1, 3, 3, 1, 1};
    for (size_t i = 0; i < n; i++)
        if (!(inputs[i] = *fields[i] =
                  weft_recurrent_input(s, name, names[i], inputs[i], ranks[i])))
            return 0;
    return n + 1;
}

static job plan(weft_scope *s, weft_op *op, const weft_ssm_inputs *in, const weft_states *states,
                weft_tensor *y) {
    job j = {.k = weft_scope_kernels(s),
             .runs = weft_recurrent_runs_of(op, states),
             .in = in,
             .by_head = in->a->rank == 1,
             .n_rows = (size_t)in->x->dims[0],
             .n_steps = (size_t)in->x->dims[1],
             .n_groups = (size_t)in->b->dims[1],
             .n_state = (size_t)in->b->dims[2],
             .y = weft_tensor_data(y)};
    j.head = j.by_head ? (size_t)in->x->dims[2] : 1;
    j.n_channels = j.n_steps * j.head;
    j.n_items = j.by_head ? j.n_steps : weft_ceil_div(j.n_channels, TILE);
    return j;
}

weft_tensor *weft_ssm(weft_scope *s, const weft_ssm_inputs *in, weft_states *states) {
    const char *name = "ssm";
    weft_ssm_inputs own = *in;
    weft_tensor *inputs[8];
    size_t n_inputs = take_inputs(s, name, &own, states->states, inputs);
    if (n_inputs == 0 || !check_shapes(s, name, &own))
        return NULL;
    int rank = own.x->rank;
    int64_t state[3] = {own.x->dims[1], own.x->dims[2], own.b->dims[2]};
    if (rank == 2)
        state[1] = own.b->dims[2];
    if (!weft_recurrent_check(s, name, states, (size_t)own.x->dims[0], rank, state))
        return NULL;
    weft_tensor *y = weft_scope_new(s, name, WEFT_F32, rank, own.x->dims);
    weft_op op;
    if (y == NULL || !weft_op_begin(&op, s, name, inputs, n_inputs))
        return NULL;
    job j = plan(s, &op, &own, states, y);
    size_t scalars = j.n_rows * j.n_steps; /* of a tensor that exists */
    j.dt = weft_scope_scratch(s, name, weft_size_of(2 * scalars, sizeof *j.dt));
    if (j.dt != NULL) {
        j.decay = j.dt + scalars;
        weft_op_loop(s, j.n_rows, 16 * j.n_steps, prepare_rows, &j);
        size_t work = 2 * j.n_channels / (j.n_items ? j.n_items : 1) * j.n_state;
        if (j.n_items * j.runs.n > 0 && j.head > 0)
            weft_op_loop(s, j.n_items * j.runs.n, work * (j.n_rows / j.runs.n + 1), run_items, &j);
    }
    weft_op_end(&op);
    return j.dt != NULL ? y : NULL;
}
