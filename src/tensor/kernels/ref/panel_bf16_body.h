/* Panels times activations as bfloat16, for the variants that have products of such tiles. Columns
 * are taken a part at a time, so that this part of x stays in the level-2 cache for all panels;
 * weights are unpacked to tiles, two panels at a time, which stay in the level-1 cache while all
 * rows of x pass. Sums between the parts lie apart from y, in order, for rows of y may be a power
 * of two apart, which a cache cannot hold. Included behind tile_products.
 *
 * A tile of x has 16 rows of 32 columns, [16, 32]; one of weights has 32 columns of 16 rows in
 * pairs, [16 pairs of columns, 16 rows, 2]. */
#ifndef WEFT_KERNELS_PANEL_BF16_BODY_H
#define WEFT_KERNELS_PANEL_BF16_BODY_H

#include "tensor/kernels/panel.h"
#include "tensor/kernels/ref/panel_bf16_step.h"
#include "tensor/kernels/table.h"

/* Columns [32 begin, 32 end) of a panel as tiles. */
typedef void bf16_unpack_fn(weft_dtype dtype, const void *panel, size_t n_cols, size_t begin,
                            size_t end, uint16_t *tiles);

/* Where a multiplication is: a pair of panels (or the last one alone) and a part of the columns. */
typedef struct bf16_place {
    size_t panel, n; /* 1 or 2 */
    size_t begin, end;
} bf16_place;

typedef struct bf16_job {
    const char *panels;
    size_t n_panels, panel_bytes, n_tiles, depth;
    const weft_bf16_rows *x;
    float *sums, *y;
    size_t ldy;
} bf16_job;

static inline bf16_place bf16_place_at(const bf16_job *j, size_t panel, size_t begin) {
    bf16_place at = {panel, j->n_panels - panel < 2 ? 1 : 2, begin, begin + j->depth};
    at.end = at.end < j->n_tiles ? at.end : j->n_tiles;
    return at;
}

/* All pairs of a part, then the next part; behind the last, n is 0. */
static inline bf16_place bf16_next_place(const bf16_job *j, bf16_place at) {
    if (at.panel + 2 < j->n_panels)
        return bf16_place_at(j, at.panel + 2, at.begin);
    return at.end < j->n_tiles ? bf16_place_at(j, 0, at.end) : (bf16_place){0};
}

/* The weights of `next`, with `turns` tiles along the columns of steps. */
static inline bf16_ahead bf16_ahead_of(const bf16_job *j, bf16_place next, size_t turns) {
    bf16_ahead a = {.panels = next.n, .panel_bytes = j->panel_bytes};
    if (next.n == 0 || turns == 0)
        return a;
    size_t tile_bytes = j->panel_bytes / j->n_tiles;
    a.weights = j->panels + next.panel * j->panel_bytes + next.begin * tile_bytes;
    a.end_bytes = (next.end - next.begin) * tile_bytes;
    a.step_bytes = (a.end_bytes / turns + 64) / 64 * 64;
    return a;
}

/* All rows of x. `sums` has those of the parts before and takes those of this one, but for the
 * first and the last. */
static inline void bf16_rows(const bf16_job *j, bf16_place at, const uint16_t *w,
                             bf16_ahead ahead) {
    const weft_bf16_rows *x = j->x;
    size_t n_tiles = at.end - at.begin;
    float *sums = j->sums + at.panel / 2 * ((x->n + 31) / 32) * BF16_SUMS;
    for (size_t t = 0; t < x->n; t += 32, sums += BF16_SUMS) {
        size_t rows = x->n - t < 32 ? x->n - t : 32;
        bf16_step s = {.x = x->tiles + t / 16 * x->step + at.begin * WEFT_BF16_TILE,
                       .x_step = x->step,
                       .w = {w, w + (at.n - 1) * WEFT_BF16_DEPTH * WEFT_BF16_TILE},
                       .n_tiles = n_tiles,
                       .rows = rows,
                       .panels = at.n,
                       .from = at.begin > 0 ? sums : NULL,
                       .y = j->y + t * j->ldy + 16 * at.panel,
                       .ldy = j->ldy,
                       .done_bytes = t / 32 * n_tiles * ahead.step_bytes,
                       .ahead = &ahead};
        ahead.y_rows = 0;
        if (at.end < j->n_tiles) {
            s.y = sums;
            s.ldy = 32;
            s.rows = (rows + 15) / 16 * 16;
        } else if (x->n - t >= 64) {
            ahead.y = s.y + 32 * j->ldy;
            ahead.y_rows = n_tiles > 0 ? (31 + n_tiles) / n_tiles : 0;
        }
        tile_products(&s);
    }
}

static inline void panel_bf16_body(bf16_unpack_fn *unpack, weft_dtype dtype, const void *panels,
                                   size_t n_panels, const weft_bf16_rows *x, float *sums, float *y,
                                   size_t ldy) {
    _Alignas(64) uint16_t w[2 * WEFT_BF16_DEPTH * WEFT_BF16_TILE];
    bf16_job j = {.panels = panels,
                  .n_panels = n_panels,
                  .panel_bytes = weft_panel_bytes(dtype, x->n_cols),
                  .n_tiles = (x->n_cols + 31) / 32,
                  .depth = weft_bf16_depth(x->n_cols),
                  .x = x,
                  .sums = sums,
                  .y = y,
                  .ldy = ldy};
    for (bf16_place at = bf16_place_at(&j, 0, 0), next; at.n > 0; at = next) {
        next = bf16_next_place(&j, at);
        for (size_t i = 0; i < at.n; i++)
            unpack(dtype, j.panels + (at.panel + i) * j.panel_bytes, x->n_cols, at.begin, at.end,
                   w + i * WEFT_BF16_DEPTH * WEFT_BF16_TILE);
        bf16_rows(&j, at, w, bf16_ahead_of(&j, next, (x->n + 31) / 32 * (at.end - at.begin)));
    }
}

#endif
