/* Linears of the experts that rows chose. The pairs (row, rank) are sorted by expert; each expert's
 * panels are read once for all of its rows, and an output's sum is the one that weft_linear forms,
 * so that neither the batch nor the threads change a bit. */
#include "tensor/experts.h"

#include <string.h>
#include "base/alloc.h"
#include "tensor/nn.h"
#include "tensor/kernels/pack_words.h"
#include "tensor/pack.h"
#include "tensor/tap.h"
#include "tensor/walk.h"

#define PANEL WEFT_PANEL_ROWS
#define MOST_TILE_ROWS 32
#define MOST_PANELS 8 /* at once */
#define MOST_STACKS 2

typedef struct part { /* one of the stacks */
    const weft_expert_stack *stack;
    const float *bias; /* [n_expert, n_out] or NULL */
    float *y;          /* [n_pair, n_out] in the order of (row, rank) */
    bool panels, q8;
    size_t n_out, n_panels, first, panel_bytes; /* of one expert; first: among all parts' */
    size_t expert_bytes;
} part;

typedef struct job {
    const weft_kernels *k;
    const char *name;
    part parts[MOST_STACKS];
    size_t n_parts, n_panels; /* of one expert, all parts */
    const float *x;           /* [n_rows, n_in] */
    size_t n_in, n_pair, n_used;
    bool x_per_pair; /* else a row serves all of its experts */
    const int32_t *chosen;
    uint32_t *pairs;  /* [n_pair] sorted by expert, in order within one */
    uint32_t *begins; /* [n_expert + 1] into pairs */
    int32_t *used;    /* [n_used_experts]: those that some row chose */
    size_t n_used_experts, n_expert;
    weft_q8_rows q8; /* of x */
    bool any_q8, any_float;
    unsigned char *scratch; /* a thread: gathered rows, outputs, a panel, 16 file rows */
    size_t scratch_bytes, tile_rows, q_at, y_at, panel_at, rows_at;
} job;

static size_t aligned(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

static size_t row_of(const job *j, uint32_t pair) {
    return j->x_per_pair ? pair : pair / j->n_used;
}

/* ---- Loops ---- */

static void quantize_rows(void *ctx, size_t begin, size_t end, int thread) {
    job *j = ctx;
    (void)thread;
    size_t blocks = j->n_in / 32;
    for (size_t r = begin; r < end; r++)
        j->k->quantize_q8(j->x + r * j->n_in, j->n_in, j->q8.q + r * j->n_in, j->q8.d + r * blocks,
                          j->q8.sums + r * blocks);
}

/* The rows of `n` pairs one after the other, as the kernels want them: where they lie if there is
 * one. */
static weft_q8_rows gather_q8(const job *j, const uint32_t *pairs, size_t n, unsigned char *to) {
    size_t blocks = j->n_in / 32, row = row_of(j, pairs[0]);
    if (n == 1)
        return (weft_q8_rows){j->q8.q + row * j->n_in, j->q8.d + row * blocks,
                              j->q8.sums + row * blocks, 1, j->n_in};
    weft_q8_rows x = {.q = (int8_t *)to, .n = n, .n_cols = j->n_in};
    x.d = (float *)(void *)(to + aligned(n * j->n_in));
    x.sums = (int32_t *)(void *)(x.d + n * blocks);
    for (size_t i = 0; i < n; i++) {
        row = row_of(j, pairs[i]);
        memcpy(x.q + i * j->n_in, j->q8.q + row * j->n_in, j->n_in);
        memcpy(x.d + i * blocks, j->q8.d + row * blocks, blocks * sizeof *x.d);
        memcpy(x.sums + i * blocks, j->q8.sums + row * blocks, blocks * sizeof *x.sums);
    }
    return x;
}

static const float *gather_floats(const job *j, const uint32_t *pairs, size_t n, float *to) {
    if (n == 1)
        return j->x + row_of(j, pairs[0]) * j->n_in;
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * j->n_in, j->x + row_of(j, pairs[i]) * j->n_in, j->n_in * sizeof *to);
    return to;
}

/* Panels from `at` on of an expert's matrix: as they lie, or one packed from the file's rows. */
static const void *panels_of(const job *j, const part *p, size_t expert, size_t at,
                             unsigned char *scratch) {
    const weft_tensor *t = p->stack->stack;
    const unsigned char *data = weft_tensor_data(t);
    if (p->panels)
        return data + (expert * p->n_panels + at) * p->panel_bytes;
    weft_tensor matrix = *t; /* rank 2 at this expert, for the time of this call */
    matrix.rank = 2;
    matrix.dims[0] = t->dims[1];
    matrix.dims[1] = t->dims[2];
    matrix.strides[0] = t->strides[1];
    matrix.strides[1] = t->strides[2];
    matrix.offset = t->offset + (int64_t)expert * t->strides[0];
    size_t rows = p->n_out - at * PANEL < PANEL ? p->n_out - at * PANEL : PANEL;
    weft_panel_pack_by(j->k->isa, t->dtype,
                       weft_rows_at(&matrix, at * PANEL, rows, scratch + j->rows_at), rows, j->n_in,
                       scratch + j->panel_at);
    return scratch + j->panel_at;
}

/* `n_panels` consecutive panels of one expert for all of its rows, tile by tile. */
static void run_part(const job *j, const part *p, size_t expert, size_t at, size_t n_panels,
                     unsigned char *scratch) {
    const void *panels = panels_of(j, p, expert, at, scratch);
    weft_dtype type = p->stack->stack->dtype;
    size_t ld = n_panels * PANEL, col = at * PANEL;
    size_t cols = p->n_out - col < ld ? p->n_out - col : ld;
    const float *bias = p->bias ? p->bias + expert * p->n_out + col : NULL;
    for (size_t first = j->begins[expert], n; first < j->begins[expert + 1]; first += n) {
        n = j->begins[expert + 1] - first;
        n = n < j->tile_rows ? n : j->tile_rows;
        const uint32_t *pairs = j->pairs + first;
        float *y = (float *)(void *)(scratch + j->y_at);
        if (n == 1 && cols == ld)
            y = p->y + pairs[0] * p->n_out + col; /* straight to its place */
        if (p->q8) {
            weft_q8_rows x = gather_q8(j, pairs, n, scratch + j->q_at);
            j->k->panel_q8(type, panels, n_panels, &x, y, ld);
        } else {
            const float *x = gather_floats(j, pairs, n, (float *)(void *)(scratch + j->q_at));
            j->k->panel_f32(type, panels, n_panels, x, n, j->n_in, j->n_in, y, ld);
        }
        for (size_t i = 0; i < n; i++) {
            float *to = p->y + pairs[i] * p->n_out + col;
            if (to != y + i * ld)
                memcpy(to, y + i * ld, cols * sizeof *to);
            for (size_t c = 0; c < cols && bias; c++)
                to[c] += bias[c];
        }
    }
}

/* Items are panels: of each chosen expert those of all parts. */
static void run_panels(void *ctx, size_t begin, size_t end, int thread) {
    const job *j = ctx;
    unsigned char *scratch = j->scratch + (size_t)thread * j->scratch_bytes;
    for (size_t i = begin, n; i < end; i += n) {
        size_t expert = (size_t)j->used[i / j->n_panels], at = i % j->n_panels, k = 0;
        while (at >= j->parts[k].first + j->parts[k].n_panels)
            k++;
        const part *p = &j->parts[k];
        n = p->first + p->n_panels - at;
        n = n < end - i ? n : end - i;
        n = n < MOST_PANELS ? n : MOST_PANELS;
        n = p->panels ? n : 1;
        run_part(j, p, expert, at - p->first, n, scratch);
    }
}

/* ---- Checks and plan ---- */

static bool check_stack(weft_scope *s, const job *j, const weft_expert_stack *stack) {
    const weft_tensor *t = stack->stack;
    char text[128];
    int64_t n_in = (int64_t)j->n_in, up = (stack->n_out + PANEL - 1) / PANEL * PANEL;
    weft_shape_text(t, text, sizeof text);
    bool panels = t->layout == WEFT_LAYOUT_PANEL16;
    bool fits =
        panels ? t->dims[0] == (j->n_expert > 1 ? up : stack->n_out) * (int64_t)j->n_expert
               : t->rank == 3 && t->dims[0] == (int64_t)j->n_expert && t->dims[1] == stack->n_out;
    if (!fits || t->dims[t->rank - 1] != n_in || stack->n_out < 1) {
        weft_scope_fail(s, WEFT_E_SHAPE, j->name, "stack %s: %zu experts of [%lld, %zu] are needed",
                        text, j->n_expert, (long long)stack->n_out, j->n_in);
        return false;
    }
    if (!weft_panel_supported(t->dtype) || weft_panel_bytes(t->dtype, j->n_in) == 0 ||
        (weft_dtype_is_quantized(t->dtype) && !panels && t->strides[2] != 1)) {
        weft_scope_fail(s, WEFT_E_UNSUPPORTED, j->name, "stack %s of type %s cannot be multiplied",
                        text, weft_dtype_name(t->dtype));
        return false;
    }
    const weft_tensor *bias = stack->bias;
    if (bias &&
        (bias->dtype != WEFT_F32 || bias->rank != 2 || bias->dims[0] != (int64_t)j->n_expert ||
         bias->dims[1] != stack->n_out || !weft_tensor_is_contiguous(bias))) {
        weft_scope_fail(s, WEFT_E_SHAPE, j->name, "bias %s of stack %s: packed f32 [%zu, %lld]",
                        weft_shape_text(bias, text, sizeof text), text, j->n_expert,
                        (long long)stack->n_out);
        return false;
    }
    return true;
}

static bool check_rows(weft_scope *s, const char *name, const weft_tensor *x,
                       const weft_tensor *chosen) {
    char sx[128], sc[128];
    bool fits = x->dtype == WEFT_F32 && chosen->dtype == WEFT_I32 && chosen->rank == 2 &&
                (x->rank == 2 || (x->rank == 3 && x->dims[1] == chosen->dims[1])) &&
                x->dims[0] == chosen->dims[0] && weft_tensor_is_contiguous(x) &&
                weft_tensor_is_contiguous(chosen) && chosen->dims[1] > 0 &&
                x->dims[x->rank - 1] > 0 && weft_tensor_numel(chosen) < UINT32_MAX;
    if (!fits)
        weft_scope_fail(s, WEFT_E_SHAPE, name,
                        "x %s, chosen %s: packed f32 [T, n_in] or [T, n_used, n_in] and i32 "
                        "[T, n_used] are needed",
                        weft_shape_text(x, sx, sizeof sx), weft_shape_text(chosen, sc, sizeof sc));
    return fits;
}

/* Sorts the pairs by expert, in order within one. */
static bool sort_pairs(weft_scope *s, job *j) {
    size_t n = j->n_expert;
    j->begins = weft_scope_scratch(s, j->name, weft_size_of(n + 1, sizeof *j->begins));
    j->pairs = weft_scope_scratch(s, j->name, weft_size_of(j->n_pair, sizeof *j->pairs));
    j->used = weft_scope_scratch(s, j->name, weft_size_of(n, sizeof *j->used));
    if (!j->begins || !j->pairs || !j->used)
        return false;
    memset(j->begins, 0, (n + 1) * sizeof *j->begins);
    for (size_t i = 0; i < j->n_pair; i++) {
        if (j->chosen[i] < 0 || (size_t)j->chosen[i] >= n) {
            weft_scope_fail(s, WEFT_E_RANGE, j->name, "chosen[%zu] is %d of %zu experts", i,
                            j->chosen[i], n);
            return false;
        }
        j->begins[j->chosen[i] + 1]++;
    }
    for (size_t e = 0; e < n; e++) {
        if (j->begins[e + 1] > 0)
            j->used[j->n_used_experts++] = (int32_t)e;
        j->begins[e + 1] += j->begins[e];
    }
    for (size_t i = 0; i < j->n_pair; i++)
        j->pairs[j->begins[j->chosen[i]]++] = (uint32_t)i;
    memmove(j->begins + 1, j->begins, n * sizeof *j->begins); /* each was moved to its end */
    j->begins[0] = 0;
    return true;
}

static void add_part(job *j, const weft_expert_stack *stack, weft_tensor *y, bool float_mode) {
    part *p = &j->parts[j->n_parts++];
    const weft_tensor *t = stack->stack;
    *p = (part){.stack = stack, .y = weft_tensor_data(y), .n_out = (size_t)stack->n_out};
    p->bias = stack->bias ? weft_tensor_data(stack->bias) : NULL;
    p->panels = t->layout == WEFT_LAYOUT_PANEL16;
    p->q8 = weft_dtype_is_quantized(t->dtype) && !float_mode;
    p->panel_bytes = weft_panel_bytes(t->dtype, j->n_in);
    p->n_panels = weft_ceil_div(p->n_out, PANEL);
    p->first = j->n_panels;
    j->n_panels += p->n_panels;
    j->any_q8 |= p->q8;
    j->any_float |= !p->q8;
}

static bool take_scratch(weft_scope *s, job *j) {
    size_t rows = j->n_pair < MOST_TILE_ROWS ? j->n_pair : MOST_TILE_ROWS, row_bytes = 0;
    size_t panel_bytes = 0, file_bytes = 0;
    for (size_t i = 0; i < j->n_parts; i++) {
        const part *p = &j->parts[i];
        const weft_tensor *t = p->stack->stack;
        size_t file = j->n_in / weft_dtype_block(t->dtype) * weft_dtype_block_bytes(t->dtype);
        if (p->panels)
            continue;
        panel_bytes = p->panel_bytes > panel_bytes ? p->panel_bytes : panel_bytes;
        file_bytes = PANEL * file > file_bytes ? PANEL * file : file_bytes;
    }
    row_bytes = j->any_float ? 4 * j->n_in : j->n_in + j->n_in / 4;
    j->tile_rows = rows;
    j->q_at = 0;
    j->y_at = aligned(rows * row_bytes) + 64;
    j->panel_at = j->y_at + aligned(rows * MOST_PANELS * PANEL * sizeof(float));
    j->rows_at = j->panel_at + aligned(panel_bytes);
    j->scratch_bytes = j->rows_at + aligned(file_bytes);
    size_t threads = (size_t)weft_team_n_threads(weft_scope_team(s));
    j->scratch = weft_scope_scratch(s, j->name, weft_size_of(threads, j->scratch_bytes));
    return j->scratch != NULL;
}

static bool quantize(weft_scope *s, job *j, size_t n_rows) {
    size_t q_bytes = aligned(weft_size_of(n_rows, j->n_in)), blocks = n_rows * (j->n_in / 32);
    unsigned char *memory =
        weft_scope_scratch(s, j->name, q_bytes + weft_size_of(blocks, 2 * sizeof(float)));
    if (!memory)
        return false;
    j->q8 = (weft_q8_rows){.q = (int8_t *)memory, .n = n_rows, .n_cols = j->n_in};
    j->q8.d = (float *)(void *)(memory + q_bytes);
    j->q8.sums = (int32_t *)(void *)(j->q8.d + blocks);
    weft_op_loop(s, n_rows, 4 * j->n_in, quantize_rows, j);
    return true;
}

static bool run(weft_scope *s, job *j, size_t n_rows) {
    if (!sort_pairs(s, j) || !take_scratch(s, j) || (j->any_q8 && !quantize(s, j, n_rows)))
        return false;
    size_t threads = (size_t)weft_team_n_threads(weft_scope_team(s));
    size_t items = j->n_used_experts * j->n_panels, grain = items / (8 * threads);
    size_t rows_each = j->n_pair / (j->n_used_experts > 0 ? j->n_used_experts : 1) + 1;
    size_t least = 32768 / (PANEL * j->n_in) / rows_each + 1;
    grain = grain < least ? least : grain;
    if (items <= grain)
        run_panels(j, 0, items, 0);
    else
        weft_team_for(weft_scope_team(s), items, grain, run_panels, j);
    return true;
}

/* ---- Ops ---- */

weft_status weft_experts(weft_scope *s, weft_tensor *x, weft_tensor *chosen, int64_t n_expert,
                         const weft_expert_stack *stacks, size_t n, weft_tensor **out) {
    const char *name = "experts";
    weft_tensor *inputs[2 + 2 * MOST_STACKS] = {x, chosen};
    size_t n_inputs = 2;
    for (size_t i = 0; i < n; i++)
        out[i] = NULL;
    for (size_t i = 0; i < n && n <= MOST_STACKS; i++)
        inputs[n_inputs++] = stacks[i].stack;
    if (!weft_scope_ready(s, name, inputs, n_inputs) || !weft_op_plain(s, name, x) ||
        !weft_op_plain(s, name, chosen) || !check_rows(s, name, x, chosen))
        return weft_scope_status(s);
    if (n < 1 || n > MOST_STACKS || n_expert < 1) {
        weft_scope_fail(s, WEFT_E_ARGUMENT, name, "%zu stacks of %lld experts", n,
                        (long long)n_expert);
        return weft_scope_status(s);
    }
    job j = {.k = weft_scope_kernels(s),
             .name = name,
             .n_in = (size_t)x->dims[x->rank - 1],
             .n_used = (size_t)chosen->dims[1],
             .n_pair = (size_t)weft_tensor_numel(chosen),
             .n_expert = (size_t)n_expert,
             .x_per_pair = x->rank == 3};
    weft_tensor *y[MOST_STACKS];
    weft_expert_stack packed[MOST_STACKS];
    for (size_t i = 0; i < n; i++) {
        int64_t dims[3] = {chosen->dims[0], chosen->dims[1], stacks[i].n_out};
        packed[i] = stacks[i];
        packed[i].stack = weft_tensor_packed(stacks[i].stack);
        if (stacks[i].bias)
            inputs[n_inputs++] = stacks[i].bias;
        if (!check_stack(s, &j, &packed[i]) || !(y[i] = weft_scope_new(s, name, WEFT_F32, 3, dims)))
            return weft_scope_status(s);
    }
    weft_op op;
    if (!weft_op_begin(&op, s, name, inputs, n_inputs))
        return weft_scope_status(s);
    j.x = weft_tensor_data(x);
    j.chosen = weft_tensor_data(chosen);
    for (size_t i = 0; i < n; i++)
        add_part(&j, &packed[i], y[i], weft_scope_engine(s)->numbers == WEFT_NUMBERS_FLOAT);
    size_t n_rows = j.x_per_pair ? j.n_pair : (size_t)x->dims[0];
    if (j.n_pair == 0 || run(s, &j, n_rows))
        memcpy(out, y, n * sizeof *out);
    uint64_t bytes = 0; /* for the profile: of the experts that were read */
    for (size_t i = 0; i < n; i++)
        bytes += (uint64_t)j.n_used_experts * j.parts[i].n_panels * j.parts[i].panel_bytes;
    weft_op_reads(&op, bytes);
    weft_op_end(&op);
    for (size_t i = 0; i < n; i++)
        weft_tap_experts(s, stacks[i].stack, x, chosen);
    return weft_scope_status(s);
}

typedef struct sum_job {
    const float *y, *weights; /* [T, n_used, n], [T, n_used] */
    float *out;               /* [T, n] */
    size_t n_used, n;
} sum_job;

static void sum_rows(void *ctx, size_t begin, size_t end, int thread) {
    const sum_job *j = ctx;
    (void)thread;
    for (size_t t = begin; t < end; t++) {
        float *out = j->out + t * j->n;
        for (size_t r = 0; r < j->n_used; r++) {
            const float *y = j->y + (t * j->n_used + r) * j->n;
            float w = j->weights[t * j->n_used + r];
            for (size_t i = 0; i < j->n; i++)
                out[i] = r == 0 ? w * y[i] : out[i] + w * y[i];
        }
    }
}

weft_tensor *weft_experts_sum(weft_scope *s, weft_tensor *y, weft_tensor *weights) {
    const char *name = "experts_sum";
    weft_tensor *inputs[] = {y, weights};
    char sy[128], sw[128];
    if (!weft_scope_ready(s, name, inputs, 2) || !weft_op_plain(s, name, y) ||
        !weft_op_plain(s, name, weights))
        return NULL;
    if (y->dtype != WEFT_F32 || weights->dtype != WEFT_F32 || y->rank != 3 || weights->rank != 2 ||
        y->dims[0] != weights->dims[0] || y->dims[1] != weights->dims[1] || y->dims[1] < 1 ||
        !weft_tensor_is_contiguous(y) || !weft_tensor_is_contiguous(weights))
        return weft_scope_fail(
            s, WEFT_E_SHAPE, name, "y %s, weights %s: packed f32 [T, n_used, n] and [T, n_used]",
            weft_shape_text(y, sy, sizeof sy), weft_shape_text(weights, sw, sizeof sw));
    int64_t dims[2] = {y->dims[0], y->dims[2]};
    weft_tensor *out = weft_scope_new(s, name, WEFT_F32, 2, dims);
    weft_op op;
    if (!out || !weft_op_begin(&op, s, name, inputs, 2))
        return NULL;
    sum_job j = {.y = weft_tensor_data(y),
                 .weights = weft_tensor_data(weights),
                 .out = weft_tensor_data(out),
                 .n_used = (size_t)y->dims[1],
                 .n = (size_t)y->dims[2]};
    if (weft_tensor_numel(out) > 0)
        weft_op_loop(s, (size_t)dims[0], j.n * j.n_used, sum_rows, &j);
    weft_op_end(&op);
    return out;
}
