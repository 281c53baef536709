/* The products of linear.c: rows are quantised, rounded or gated first, all of a step in one loop;
 * then threads claim panels. A panel is read once for all rows of x, which are taken in tiles that
 * stay in cache. */
#include "base/alloc.h"
#include "tensor/linear_job.h"
#include "tensor/kernels/pack_words.h"
#include "tensor/pack.h"
#include "tensor/walk.h"

#include <string.h>

#define PANEL WEFT_PANEL_ROWS
#define TILE_ROWS 64       /* the kernels take a piece of their columns at a time */
#define BF16_TILE_ROWS 512 /* unpacking a panel pays for many rows only */
#define BF16_SUMS_BYTES ((size_t)512 * 1024)  /* of a thread, in a level-2 cache beside x */
#define GATED_COLUMNS 512                     /* of 16 rows, for a level-1 cache */
#define CHUNK_BYTES ((size_t)512 * 1024)      /* of panels that see a tile after one another */
#define FILE_CHUNK_BYTES ((size_t)128 * 1024) /* the same of panels made of a file's rows */

/* ---- Loops ---- */

/* What the products read: gated, quantised, or both. */
static void prepare_rows(void *ctx, size_t begin, size_t end, int thread) {
    linear_job *j = ctx;
    (void)thread;
    size_t blocks = j->n_in / 32;
    for (size_t r = begin; r < end; r++) {
        const float *x = j->x + r * j->x_row;
        if (j->gated != NULL) {
            float *to = j->gated + r * j->n_in;
            weft_gate_floats(j->k, j->act, x, j->up + r * j->up_row, j->n_in, to);
            x = to;
        }
        if (j->any_q8)
            j->k->quantize_q8(x, j->n_in, j->q8.q + r * j->n_in, j->q8.d + r * blocks,
                              j->q8.sums + r * blocks);
    }
}

/* 16 rows that are gated on the way. */
static void round_gated(const linear_job *j, size_t row, size_t n, uint16_t *tiles) {
    float gated[PANEL * GATED_COLUMNS];
    for (size_t c = 0; c < j->n_in; c += GATED_COLUMNS) {
        size_t cols = j->n_in - c < GATED_COLUMNS ? j->n_in - c : GATED_COLUMNS;
        for (size_t r = 0; r < n; r++)
            weft_gate_floats(j->k, j->act, j->x + (row + r) * j->x_row + c,
                             j->up + (row + r) * j->up_row + c, cols, gated + r * GATED_COLUMNS);
        j->k->rows_bf16(gated, n, cols, GATED_COLUMNS, tiles + c / 32 * WEFT_BF16_TILE);
    }
}

static void round_rows(void *ctx, size_t begin, size_t end, int thread) {
    linear_job *j = ctx;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        size_t row = i * PANEL, n = j->n_rows - row < PANEL ? j->n_rows - row : PANEL;
        uint16_t *tiles = j->tiles + i * weft_bf16_step(j->n_in);
        if (j->up != NULL && j->gated == NULL)
            round_gated(j, row, n, tiles);
        else
            j->k->rows_bf16(j->x + row * j->x_row, n, j->n_in, j->x_row, tiles);
    }
}

/* y [n rows from `row`] of `n_panels` consecutive panels. */
static void multiply(const linear_job *j, const linear_part *p, const void *panels, size_t n_panels,
                     size_t row, size_t n, int thread, float *y, size_t ldy) {
    if (p->bf16) {
        size_t step = weft_bf16_step(j->n_in);
        weft_bf16_rows x = {j->tiles + row / PANEL * step, step, n, j->n_in};
        j->k->panel_bf16(p->weight->dtype, panels, n_panels, &x,
                         j->sums + (size_t)thread * j->sums_floats, y, ldy);
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
static void run_tile(const linear_job *j, const linear_part *p, const unsigned char *panels,
                     size_t first, size_t n_panels, size_t row, size_t n, int thread) {
    size_t col = first * PANEL, cols = n_panels * PANEL;
    float *y = p->y + row * p->n_out + col;
    size_t whole = col + cols <= p->n_out ? n_panels : n_panels - 1;
    if (whole > 0)
        multiply(j, p, panels, whole, row, n, thread, y, p->n_out);
    if (whole < n_panels) { /* the last panel has rows of padding */
        _Alignas(64) float spill[BF16_TILE_ROWS * PANEL];
        multiply(j, p, panels + whole * p->panel_bytes, 1, row, n, thread, spill, PANEL);
        size_t rest = p->n_out - col - whole * PANEL;
        for (size_t r = 0; r < n; r++)
            memcpy(y + r * p->n_out + whole * PANEL, spill + r * PANEL, rest * sizeof(float));
        cols = whole * PANEL + rest;
    }
    for (size_t r = 0; r < n && p->bias != NULL; r++)
        for (size_t c = 0; c < cols; c++)
            y[r * p->n_out + c] += p->bias[(int64_t)(col + c) * p->bias_step];
    for (size_t r = 0; r < n && j->activate_y; r++)
        weft_act_floats(j->k, j->act, y + r * p->n_out, cols, y + r * p->n_out);
}

/* Panels that a thread multiplies at a time: pairs, which is how the kernels take them. Of bfloat16
 * as many as have room for their sums. */
static size_t chunk_panels(const linear_job *j, const linear_part *p) {
    size_t bytes = p->panels ? CHUNK_BYTES : FILE_CHUNK_BYTES;
    size_t n = p->panel_bytes > 0 ? bytes / p->panel_bytes : 2;
    if (p->bf16) {
        size_t rows = j->rows_a_group < BF16_TILE_ROWS ? j->rows_a_group : BF16_TILE_ROWS;
        size_t most = 2 * weft_ceil_div(BF16_SUMS_BYTES / sizeof(float), 2 * PANEL * rows);
        n = p->panels || n > most ? most : n;
    }
    return n < 2 ? 2 : n / 2 * 2;
}

/* Panels as they lie, or packed from the file's rows. */
static const unsigned char *panels_of(const linear_job *j, const linear_part *p, size_t first,
                                      size_t n, int thread) {
    if (p->panels != NULL)
        return p->panels + first * p->panel_bytes;
    unsigned char *scratch = j->scratch + (size_t)thread * j->scratch_bytes;
    for (size_t i = 0; i < n; i++) {
        size_t row = (first + i) * PANEL, rows = p->n_out - row;
        rows = rows < PANEL ? rows : PANEL;
        weft_panel_pack_by(j->k->isa, p->weight->dtype,
                           weft_rows_at(p->weight, row, rows, scratch + j->rows_at), rows, j->n_in,
                           scratch + i * p->panel_bytes);
    }
    return scratch;
}

static void run_part(const linear_job *j, const linear_part *p, size_t first, size_t n_panels,
                     size_t row, size_t n_rows, int thread) {
    const unsigned char *panels = panels_of(j, p, first, n_panels, thread);
    size_t rows_a_tile = p->bf16 ? BF16_TILE_ROWS : TILE_ROWS;
    for (size_t r = row; r < row + n_rows; r += rows_a_tile) {
        size_t n = row + n_rows - r < rows_a_tile ? row + n_rows - r : rows_a_tile;
        run_tile(j, p, panels, first, n_panels, r, n, thread);
    }
}

/* Items are panels of all parts one after the other, for each group of rows. */
static void run_panels(void *ctx, size_t begin, size_t end, int thread) {
    const linear_job *j = ctx;
    while (begin < end) {
        size_t group = begin / j->n_panels, at = begin % j->n_panels, i = 0;
        while (at >= j->parts[i].first + j->parts[i].n_panels)
            i++;
        const linear_part *p = &j->parts[i];
        size_t n = p->first + p->n_panels - at;
        n = n < end - begin ? n : end - begin;
        n = n < chunk_panels(j, p) ? n : chunk_panels(j, p);
        size_t row = group * j->rows_a_group, rows = j->n_rows - row;
        rows = rows < j->rows_a_group ? rows : j->rows_a_group;
        run_part(j, p, at - p->first, n, row, rows, thread);
        begin += n;
    }
}

/* ---- Plan ---- */

static bool place_q8(weft_scope *s, linear_job *j) {
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
static bool prepare(weft_scope *s, linear_job *j) {
    if (j->any_q8 && !place_q8(s, j))
        return false;
    if (j->up != NULL && (j->any_q8 || j->any_float)) {
        size_t bytes = weft_size_of(weft_size_of(j->n_rows, j->n_in), sizeof(float));
        j->gated = weft_scope_scratch(s, j->name, bytes);
        if (j->gated == NULL)
            return false;
    }
    if (j->any_q8 || j->gated != NULL)
        weft_op_loop(s, j->n_rows, (j->gated != NULL ? 12 : 4) * j->n_in, prepare_rows, j);
    if (j->gated != NULL) {
        j->x = j->gated;
        j->x_row = j->n_in;
    }
    return true;
}

static bool round_to_bf16(weft_scope *s, linear_job *j) {
    size_t n = weft_ceil_div(j->n_rows, PANEL);
    size_t step = weft_bf16_step(j->n_in);
    j->tiles =
        weft_scope_scratch(s, j->name, weft_size_of(n, weft_size_of(step, sizeof *j->tiles)));
    if (j->tiles == NULL)
        return false;
    weft_op_loop(s, n, (j->gated == NULL && j->up != NULL ? 12 : 4) * j->n_in * PANEL, round_rows,
                 j);
    return true;
}

/* Room for the sums of the largest chunk. */
static bool place_sums(weft_scope *s, linear_job *j, size_t threads) {
    size_t rows = j->rows_a_group < BF16_TILE_ROWS ? j->rows_a_group : BF16_TILE_ROWS;
    for (size_t i = 0; i < j->n_parts; i++) {
        const linear_part *p = &j->parts[i];
        size_t chunk = chunk_panels(j, p);
        size_t n = weft_bf16_sums(chunk < p->n_panels ? chunk : p->n_panels, rows, j->n_in);
        if (p->bf16 && n > j->sums_floats)
            j->sums_floats = n;
    }
    if (j->sums_floats == 0)
        return true;
    size_t bytes = weft_size_of(j->sums_floats, sizeof *j->sums);
    j->sums = weft_scope_scratch(s, j->name, weft_size_of(threads, bytes));
    return j->sums != NULL;
}

/* Room for panels that are packed from a file's rows, and behind them for 16 of its rows. */
static bool place_scratch(weft_scope *s, linear_job *j, size_t threads) {
    size_t most_rows = 0;
    for (size_t i = 0; i < j->n_parts; i++) {
        const linear_part *p = &j->parts[i];
        if (p->panels != NULL)
            continue;
        size_t rows = weft_rows_packed(p->weight) ? 0 : PANEL * weft_row_bytes(p->weight);
        size_t panels = chunk_panels(j, p) * p->panel_bytes;
        most_rows = rows > most_rows ? rows : most_rows;
        j->rows_at = panels > j->rows_at ? panels : j->rows_at;
    }
    if (j->rows_at == 0)
        return true;
    j->scratch_bytes = j->rows_at + (most_rows + 63) / 64 * 64;
    j->scratch = weft_scope_scratch(s, j->name, weft_size_of(threads, j->scratch_bytes));
    return j->scratch != NULL;
}

bool weft_linear_run(weft_scope *s, linear_job *j) {
    size_t threads = (size_t)weft_team_n_threads(weft_scope_team(s));
    /* Few panels for many threads: rows are shared out as well. */
    j->rows_a_group = j->n_rows;
    if (j->n_panels < 4 * threads && j->n_rows > 2 * TILE_ROWS)
        j->rows_a_group = TILE_ROWS;
    if (!place_scratch(s, j, threads) || !prepare(s, j))
        return false;
    if (j->any_bf16 && (!round_to_bf16(s, j) || !place_sums(s, j, threads)))
        return false;
    size_t n = j->n_panels * weft_ceil_div(j->n_rows, j->rows_a_group);
    size_t least = 32768 / (PANEL * j->n_in) / j->rows_a_group + 1;
    size_t grain = n / (threads * (j->any_bf16 ? 4 : 8));
    grain = grain < least ? least : grain;
    grain += grain % 2; /* in pairs */
    if (n <= grain)
        run_panels(j, 0, n, 0);
    else
        weft_team_for(weft_scope_team(s), n, grain, run_panels, j);
    return true;
}
