/* A block of positions for a tile of queries with products in bfloat16, for long steps in default
 * mode: keys and values as panels of 16 rows for panel_bf16. Largest scores, exponentials and sums
 * stay float32.
 *
 * A probability and a value may lose bits: their sum is an average. A score may not, it is an
 * exponent: q and k are each a rounded part and the rest, and three of the four products are summed
 * (as in Henry, Tang and Heinecke 2019). That pays where the unit is much faster than float32. */
#include "base/floats.h"
#include "tensor/attention_block.h"

#include <string.h>

#define LANES 16

#define PARTS 3 /* q: rounded, rest, rounded; k: rounded, rounded, rest */

static size_t most_queries(const attn_job *j) {
    return weft_attn_lanes_up(j->tile_rows * j->group);
}

static size_t score_columns(const attn_job *j) {
    return j->bf16_scores ? PARTS * j->dim16 : 0;
}

/* Columns of `part` in floats. */
static size_t part_columns(const attn_job *j) {
    return score_columns(j) > j->dim_v16 ? score_columns(j) : j->dim_v16;
}

/* For scores, and for values, of which a block has few. */
static size_t sums_floats(const attn_job *j) {
    size_t n = most_queries(j), panels = j->dim_v16 / LANES;
    size_t scores = weft_bf16_sums(weft_ceil_div(j->ld, LANES), n, score_columns(j));
    size_t values = weft_bf16_sums(panels, n, j->ld);
    return scores > values ? scores : values;
}

size_t weft_attn_bf16_floats(const attn_job *j) {
    size_t tiles =
        most_queries(j) / LANES * (weft_bf16_step(score_columns(j)) + weft_bf16_step(j->ld));
    return tiles / 2 + most_queries(j) * part_columns(j) + score_columns(j) * j->ld +
           sums_floats(j);
}

void weft_attn_bf16_place(const attn_job *j, float *memory, attn_work *w) {
    w->part = memory;
    w->key_panels = memory + most_queries(j) * part_columns(j);
    w->q_tiles = (uint16_t *)(w->key_panels + score_columns(j) * j->ld);
    w->p_tiles = w->q_tiles + most_queries(j) / LANES * weft_bf16_step(score_columns(j));
    w->tile_sums = (float *)(w->p_tiles + most_queries(j) / LANES * weft_bf16_step(j->ld));
}

static void round_rows(const attn_job *j, const float *x, size_t n, size_t n_cols, size_t ldx,
                       uint16_t *tiles) {
    for (size_t r = 0; r < n; r += LANES, tiles += weft_bf16_step(n_cols))
        j->kernels->rows_bf16(x + r * ldx, n - r < LANES ? n - r : LANES, n_cols, ldx, tiles);
}

static float rounded(float x) {
    return weft_bf16_to_f32(weft_f32_to_bf16(x));
}

/* attn_keys puts element i of a key at column i % 16 * (dim16 / 16) + i / 16: so do queries. */
void weft_attn_bf16_queries(const attn_job *j, size_t n_q, const attn_work *w) {
    size_t chunks = j->dim16 / LANES, n_cols = score_columns(j);
    for (size_t r = 0; r < n_q; r++)
        for (size_t i = 0; i < j->dim16; i++) {
            float q = w->q[r * j->dim16 + i], high = rounded(q);
            float *to = w->part + r * n_cols + i % LANES * chunks + i / LANES;
            to[0] = to[2 * j->dim16] = high;
            to[j->dim16] = q - high;
        }
    round_rows(j, w->part, n_q, n_cols, n_cols, w->q_tiles);
}

void weft_attn_bf16_scores(const attn_job *j, const unsigned char *keys, size_t n, size_t n_q,
                           const attn_work *w) {
    size_t row = j->n_kv * j->k_head, n_cols = score_columns(j), part = LANES * j->dim16;
    for (size_t at = 0; at < n; at += LANES) {
        float *panel = w->key_panels + at * n_cols;
        j->kernels->attn_keys(j->k_type, keys + at * row, row, j->dim,
                              n - at < LANES ? n - at : LANES, panel, LANES);
        memcpy(panel + part, panel, part * sizeof *panel);
        for (size_t i = 0; i < part; i++)
            panel[2 * part + i] = panel[i] - rounded(panel[i]);
    }
    weft_bf16_rows q = {w->q_tiles, weft_bf16_step(n_cols), n_q, n_cols};
    j->kernels->panel_bf16(WEFT_F32, w->key_panels, weft_ceil_div(n, LANES), &q, w->tile_sums,
                           w->scores, j->ld);
}

void weft_attn_bf16_values(const attn_job *j, const unsigned char *values, size_t n, size_t n_q,
                           const attn_work *w, const float *factors, float *acc) {
    size_t row = j->n_kv * j->v_head, item = weft_dtype_block_bytes(j->v_type);
    for (size_t i = 0; i < j->dim_v; i += LANES)
        j->kernels->attn_rows(j->v_type, values + i * item, row,
                              j->dim_v - i < LANES ? j->dim_v - i : LANES, n, w->values + i * n);
    round_rows(j, w->scores, n_q, n, j->ld, w->p_tiles);
    float *to = factors != NULL ? w->part : acc;
    weft_bf16_rows p = {w->p_tiles, weft_bf16_step(n), n_q, n};
    j->kernels->panel_bf16(WEFT_F32, w->values, j->dim_v16 / LANES, &p, w->tile_sums, to,
                           j->dim_v16);
    for (size_t i = 0; i < n_q && factors != NULL; i++)
        j->kernels->attn_merge(w->part + i * j->dim_v16, 0, 1, factors + 2 * i, j->dim_v16,
                               acc + i * j->dim_v16);
}
