/* Panels times activations as bfloat16, for the variants that have products of such tiles: weights
 * are unpacked to tiles, two panels and a part of the columns at a time, which stay in the
 * level-1 and level-2 caches while all rows of x pass. Included behind tile_products.
 *
 * A tile of x has 16 rows of 32 columns, [16, 32]; one of weights has 32 columns of 16 rows in
 * pairs, [16 pairs of columns, 16 rows, 2]. */
#ifndef WEFT_KERNELS_PANEL_BF16_BODY_H
#define WEFT_KERNELS_PANEL_BF16_BODY_H

#include "tensor/kernels/panel.h"
#include "tensor/kernels/ref/panel_bf16_step.h"
#include "tensor/kernels/table.h"

#define BF16_DEPTH 16 /* tiles along the columns: 16 KiB of a panel */

/* Columns [32 begin, 32 end) of a panel as tiles. */
typedef void bf16_unpack_fn(weft_dtype dtype, const void *panel, size_t n_cols, size_t begin,
                            size_t end, uint16_t *tiles);

static inline void panel_bf16_body(bf16_unpack_fn *unpack, weft_dtype dtype, const void *panels,
                                   size_t n_panels, const uint16_t *x, size_t n, size_t n_cols,
                                   float *y, size_t ldy) {
    _Alignas(64) uint16_t w[2][BF16_DEPTH * WEFT_BF16_TILE];
    size_t bytes = weft_panel_bytes(dtype, n_cols), n_tiles = (n_cols + 31) / 32;
    for (size_t p = 0; p < n_panels; p += 2) {
        size_t pair = n_panels - p < 2 ? 1 : 2;
        for (size_t begin = 0; begin < n_tiles || begin == 0; begin += BF16_DEPTH) {
            size_t end = n_tiles - begin < BF16_DEPTH ? n_tiles : begin + BF16_DEPTH;
            for (size_t i = 0; i < pair; i++)
                unpack(dtype, (const char *)panels + (p + i) * bytes, n_cols, begin, end, w[i]);
            for (size_t t = 0; t < n; t += 32) {
                bf16_step s = {.x = x + (t / 16 * n_tiles + begin) * WEFT_BF16_TILE,
                               .x_step = n_tiles * WEFT_BF16_TILE,
                               .w = {w[0], w[pair - 1]},
                               .n_tiles = end - begin,
                               .rows = n - t < 32 ? n - t : 32,
                               .panels = pair,
                               .fresh = begin == 0,
                               .y = y + t * ldy + 16 * p,
                               .ldy = ldy};
                tile_products(&s);
            }
        }
    }
}

#endif
