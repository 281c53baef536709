/* Products with weights. Everything goes through the panel kernels: packed panels as they lie, rows
 * of a file packed 16 at a time into scratch, so that both give the same bits. A panel is read once
 * for all rows of x, which are taken in tiles that stay in cache. */
#include "base/alloc.h"
#include "tensor/gate.h"
#include "tensor/pack.h"
#include "tensor/tap.h"
#include "tensor/walk.h"

#include <string.h>

#define PANEL WEFT_PANEL_ROWS
#define TILE_ROWS 64       /* the kernels take them a piece of their columns at a time */
#define BF16_LEAST_ROWS 32 /* of a step, above every batch that decodes */
#define BF16_TILE_ROWS 256 /* unpacking a panel pays for many rows only */
#define CHUNK_BYTES ((size_t)512 * 1024)      /* of panels that see a tile after one another */
#define FILE_CHUNK_BYTES ((size_t)128 * 1024) /* the same of panels made of a file's rows */

typedef struct part { /* one of the linears */
    const weft_tensor *weight;
    const unsigned char *panels; /* NULL: rows */
    const float *bias;           /* NULL: none */
    int64_t bias_step;
    float *y;                                   /* [n_rows, n_out] */
    size_t n_out, panel_bytes, first, n_panels; /* `first`: its place among all panels */
    bool q8, bf16;                              /* neither: float32 */
} part;

typedef struct job {
    const weft_kernels *k;
    const char *name;
    part parts[WEFT_LINEAR_MANY];
    size_t n_parts, n_panels; /* of all parts */
    const float *x;           /* [n_rows, n_in], row step x_row */
    size_t n_rows, n_in, x_row;
    weft_q8_rows q8;
    uint16_t *tiles; /* of x as bfloat16, 16 rows after 16 rows */
    bool any_q8, any_bf16;
    const float *up; /* of a gate x; NULL: x goes in as it is */
    size_t up_row;
    weft_activation act;
    float *gated; /* [n_rows, n_in] */
    size_t rows_a_group;
    unsigned char *scratch; /* a thread: a chunk of panels and 16 rows */
    size_t scratch_bytes, rows_at;
} job;

/* ---- Loops ---- */

/* What the products read: gated, quantised, or both. */
static void prepare_rows(void *ctx, size_t begin, size_t end, int thread) {
    job *j = ctx;
    (void)thread;
    size_t blocks = j->n_in / 32;
    for (size_t r = begin; r < end; r++) {
        const float *x = j->x + r * j->x_row;
        if (j->up != NULL) {
            float *to = j->gated + r * j->n_in;
            weft_gate_floats(j->k, j->act, x, j->up + r * j->up_row, j->n_in, to);
            x = to;
        }
        if (j->any_q8)
            j->k->quantize_q8(x, j->n_in, j->q8.q + r * j->n_in, j->q8.d + r * blocks,
                              j->q8.sums + r * blocks);
    }
}

/* Elements of 16 rows. */
static size_t tiles_step(const job *j) {
    return weft_ceil_div(j->n_in, 32) * WEFT_BF16_TILE;
}

static void round_rows(void *ctx, size_t begin, size_t end, int thread) {
    job *j = ctx;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        size_t row = i * PANEL, n = j->n_rows - row < PANEL ? j->n_rows - row : PANEL;
        j->k->rows_bf16(j->x + row * j->x_row, n, j->n_in, j->x_row, j->tiles + i * tiles_step(j));
    }
}

/* y [n rows from `row`] of `n_panels` consecutive panels. */
static void multiply(const job *j, const part *p, const void *panels, size_t n_panels, size_t row,
                     size_t n, float *y, size_t ldy) {
    if (p->bf16) {
        j->k->panel_bf16(p->weight->dtype, panels, n_panels, j->tiles + row / PANEL * tiles_step(j),
                         n, j->n_in, y, ldy);
    } else if (p->q8) {
        size_t blocks = j->n_in / 32;
        weft_q8_rows x = {j->q8.q + row * j->n_in, j->q8.d + row * blocks,
                          j->q8.sums + row * blocks, n, j->n_in};
        j->k->panel_q8(p->weight->dtype, panels, n_panels, &x, y, ldy);
    } else {
        j->k->panel_f32(p->weight->dtype, panels, n_panels, j->x + row * j->x_row, n, j->n_in,
                        j->x_row, y, ldy);
    }
}

/* Consecutive panels of one part, for the rows [row, row + n) of one tile. */
static void run_tile(const job *j, const part *p, const unsigned char *panels, size_t first,
                     size_t n_panels, size_t row, size_t n) {
    size_t col = first * PANEL, cols = n_panels * PANEL;
    float *y = p->y + row * p->n_out + col;
    size_t whole = col + cols <= p->n_out ? n_panels : n_panels - 1;
    if (whole > 0)
        multiply(j, p, panels, whole, row, n, y, p->n_out);
    if (whole < n_panels) { /* the last panel has rows of padding */
        _Alignas(64) float spill[BF16_TILE_ROWS * PANEL];
        multiply(j, p, panels + whole * p->panel_bytes, 1, row, n, spill, PANEL);
        size_t rest = p->n_out - col - whole * PANEL;
        for (size_t r = 0; r < n; r++)
            memcpy(y + r * p->n_out + whole * PANEL, spill + r * PANEL, rest * sizeof(float));
        cols = whole * PANEL + rest;
    }
    for (size_t r = 0; r < n && p->bias != NULL; r++)
        for (size_t c = 0; c < cols; c++)
            y[r * p->n_out + c] += p->bias[(int64_t)(col + c) * p->bias_step];
}

/* Panels that are multiplied at a time; the kernels like two. */
static size_t chunk_of(const part *p) {
    size_t bytes = p->panels ? CHUNK_BYTES : FILE_CHUNK_BYTES, least = p->panels ? 1 : 2;
    size_t n = p->panel_bytes > 0 ? bytes / p->panel_bytes : least;
    return n < least ? least : n;
}

/* Panels as they lie, or packed from the file's rows. */
static const unsigned char *panels_of(const job *j, const part *p, size_t first, size_t n,
                                      unsigned char *scratch) {
    if (p->panels != NULL)
        return p->panels + first * p->panel_bytes;
    for (size_t i = 0; i < n; i++) {
        size_t row = (first + i) * PANEL, rows = p->n_out - row;
        rows = rows < PANEL ? rows : PANEL;
        weft_panel_pack(p->weight->dtype, weft_rows_at(p->weight, row, rows, scratch + j->rows_at),
                        rows, j->n_in, scratch + i * p->panel_bytes);
    }
    return scratch;
}

static void run_part(const job *j, const part *p, size_t first, size_t n_panels, size_t row,
                     size_t n_rows, unsigned char *scratch) {
    const unsigned char *panels = panels_of(j, p, first, n_panels, scratch);
    size_t rows_a_tile = p->bf16 ? BF16_TILE_ROWS : TILE_ROWS;
    for (size_t r = row; r < row + n_rows; r += rows_a_tile) {
        size_t n = row + n_rows - r < rows_a_tile ? row + n_rows - r : rows_a_tile;
        run_tile(j, p, panels, first, n_panels, r, n);
    }
}

/* Items are panels of all parts one after the other, for each group of rows. */
static void run_panels(void *ctx, size_t begin, size_t end, int thread) {
    const job *j = ctx;
    unsigned char *scratch = NULL; /* where all parts have panels */
    if (j->scratch != NULL)
        scratch = j->scratch + (size_t)thread * j->scratch_bytes;
    while (begin < end) {
        size_t group = begin / j->n_panels, at = begin % j->n_panels, i = 0;
        while (at >= j->parts[i].first + j->parts[i].n_panels)
            i++;
        const part *p = &j->parts[i];
        size_t n = p->first + p->n_panels - at;
        n = n < end - begin ? n : end - begin;
        n = n < chunk_of(p) ? n : chunk_of(p);
        size_t row = group * j->rows_a_group, rows = j->n_rows - row;
        rows = rows < j->rows_a_group ? rows : j->rows_a_group;
        run_part(j, p, at - p->first, n, row, rows, scratch);
        begin += n;
    }
}

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

static void add_part(job *j, const weft_tensor *w, const weft_tensor *bias, weft_tensor *y,
                     const weft_engine *engine) {
    part *p = &j->parts[j->n_parts++];
    *p = (part){.weight = w, .y = weft_tensor_data(y), .n_out = (size_t)w->dims[0]};
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
    p->n_panels = weft_ceil_div(p->n_out, PANEL);
    j->n_panels += p->n_panels;
    j->any_q8 |= p->q8;
    j->any_bf16 |= p->bf16;
    if (p->panels == NULL) {
        size_t rows = weft_rows_packed(w) ? 0 : PANEL * weft_row_bytes(w);
        rows = (rows + 63) / 64 * 64;
        size_t panels = chunk_of(p) * p->panel_bytes;
        j->rows_at = panels > j->rows_at ? panels : j->rows_at;
        j->scratch_bytes = rows > j->scratch_bytes ? rows : j->scratch_bytes;
    }
}

/* x [.., n] as f32 rows at an even step: as it lies, or packed. */
static bool take_rows(weft_scope *s, const job *j, const weft_tensor *x, const float **rows,
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

static bool place_q8(weft_scope *s, job *j) {
    size_t q_bytes, block_bytes, total; /* n_in is a multiple of 32 for every quantised type */
    bool fits = weft_mul_size(j->n_rows, j->n_in, &q_bytes) &&
                weft_mul_size(j->n_rows * (j->n_in / 32), sizeof(float), &block_bytes) &&
                weft_add_size(q_bytes, 2 * block_bytes, &total);
    unsigned char *memory = fits ? weft_scope_scratch(s, j->name, total) : NULL;
    if (memory == NULL) {
        if (!fits)
            weft_scope_fail(s, WEFT_E_OVERFLOW, j->name, "%zu rows of %zu", j->n_rows, j->n_in);
        return false;
    }
    j->q8 = (weft_q8_rows){.q = (int8_t *)memory, .n = j->n_rows, .n_cols = j->n_in};
    j->q8.d = (float *)(void *)(memory + q_bytes);
    j->q8.sums = (int32_t *)(void *)(memory + q_bytes + block_bytes);
    return true;
}

/* One loop over the rows for all that happens to them before the products. */
static bool prepare(weft_scope *s, job *j) {
    if (j->any_q8 && !place_q8(s, j))
        return false;
    if (j->up != NULL) {
        size_t bytes = weft_size_of(weft_size_of(j->n_rows, j->n_in), sizeof(float));
        j->gated = weft_scope_scratch(s, j->name, bytes);
        if (j->gated == NULL)
            return false;
    }
    if (j->any_q8 || j->up != NULL)
        weft_op_loop(s, j->n_rows, (j->up != NULL ? 12 : 4) * j->n_in, prepare_rows, j);
    if (j->up != NULL) {
        j->x = j->gated;
        j->x_row = j->n_in;
    }
    return true;
}

static bool round_to_bf16(weft_scope *s, job *j) {
    size_t n = weft_ceil_div(j->n_rows, PANEL);
    j->tiles = weft_scope_scratch(s, j->name,
                                  weft_size_of(n, weft_size_of(tiles_step(j), sizeof *j->tiles)));
    if (j->tiles == NULL)
        return false;
    weft_op_loop(s, n, 4 * j->n_in * PANEL, round_rows, j);
    return true;
}

static bool run(weft_scope *s, job *j) {
    size_t threads = (size_t)weft_team_n_threads(weft_scope_team(s));
    if (j->rows_at > 0) {
        j->scratch_bytes += j->rows_at;
        j->scratch = weft_scope_scratch(s, j->name, weft_size_of(threads, j->scratch_bytes));
        if (j->scratch == NULL)
            return false;
    }
    if (!prepare(s, j) || (j->any_bf16 && !round_to_bf16(s, j)))
        return false;
    /* Few panels for many threads: rows are shared out as well. */
    j->rows_a_group = j->n_rows;
    if (j->n_panels < 4 * threads && j->n_rows > 2 * TILE_ROWS)
        j->rows_a_group = TILE_ROWS;
    size_t n = j->n_panels * weft_ceil_div(j->n_rows, j->rows_a_group);
    size_t least = 32768 / (PANEL * j->n_in) / j->rows_a_group + 1, grain = n / (threads * 8);
    grain = grain < least ? least : grain;
    if (n <= grain)
        run_panels(j, 0, n, 0);
    else
        weft_team_for(weft_scope_team(s), n, grain, run_panels, j);
    return true;
}

/* Rows of length 0: every sum is empty. */
static void fill_empty(const job *j) {
    for (size_t i = 0; i < j->n_parts; i++) {
        const part *p = &j->parts[i];
        for (size_t r = 0; r < j->n_rows; r++)
            for (size_t c = 0; c < p->n_out; c++)
                p->y[r * p->n_out + c] = p->bias ? p->bias[(int64_t)c * p->bias_step] : 0;
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

static bool take_operands(weft_scope *s, job *j, const call *c) {
    j->act = c->act;
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
    job j = {.k = weft_scope_kernels(s), .name = c->name, .n_in = (size_t)x->dims[x->rank - 1]};
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
            done = run(s, &j);
    }
    weft_op_end(&op);
    return done;
}

weft_tensor *weft_linear(weft_scope *s, weft_tensor *x, weft_tensor *weight, weft_tensor *bias) {
    weft_tensor *y = NULL;
    call c = {.name = "linear", .x = x, .weights = &weight, .biases = &bias, .n = 1};
    return linears(s, &c, &y) ? weft_tap_linear(s, weight, x, y) : NULL;
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
