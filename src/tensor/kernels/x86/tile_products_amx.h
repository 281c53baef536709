/* Products of bfloat16 tiles on AMX: 32 rows of x times two panels is four tiles of sums, 0 … 3;
 * tiles 4 and 5 have x, 6 and 7 the weights. Between tiles_begin and tiles_end. */
#ifndef WEFT_KERNELS_TILE_PRODUCTS_AMX_H
#define WEFT_KERNELS_TILE_PRODUCTS_AMX_H

#include <string.h>
#include "tensor/kernels/lanes.h"
#include "tensor/kernels/ref/panel_bf16_step.h"
#include "tensor/kernels/x86/tiles.h"

WEFT_INLINE void load_sums(const float *from, bool rows, bool panels) {
    _tile_loadd(0, from, 128);
    if (panels)
        _tile_loadd(1, from + 16, 128);
    if (rows)
        _tile_loadd(2, from + 16 * 32, 128);
    if (rows && panels)
        _tile_loadd(3, from + 16 * 32 + 16, 128);
}

WEFT_INLINE void store_sums(float *y, size_t row_bytes, bool rows, bool panels) {
    float *y2 = y + 16 * row_bytes / sizeof *y;
    _tile_stored(0, y, row_bytes);
    if (panels)
        _tile_stored(1, y + 16, row_bytes);
    if (rows)
        _tile_stored(2, y2, row_bytes);
    if (rows && panels)
        _tile_stored(3, y2 + 16, row_bytes);
}

/* Sums of whole tiles: of 32 rows or 16, of two panels or one. Weights are read again and again, x
 * passes by: it should not take their place in the level-1 cache. */
WEFT_INLINE void products(const bf16_step *s, bool rows, bool panels, float *y, size_t ldy) {
    const uint16_t *x = s->x, *w = s->w[0], *w1 = s->w[1];
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    if (s->from != NULL)
        load_sums(s->from, rows, panels);
    for (size_t t = 0; t < s->n_tiles; t++, x += 512, w += 512, w1 += 512) {
        _tile_stream_loadd(4, x, 64);
        _tile_loadd(6, w, 64);
        _tile_dpbf16ps(0, 4, 6);
        if (panels) {
            _tile_loadd(7, w1, 64);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (rows) {
            _tile_stream_loadd(5, x + s->x_step, 64);
            _tile_dpbf16ps(2, 5, 6);
            if (panels)
                _tile_dpbf16ps(3, 5, 7);
        }
        bf16_ask(s, t);
    }
    store_sums(y, ldy * sizeof *y, rows, panels);
}

static inline void whole_products(const bf16_step *s, float *y, size_t ldy) {
    if (s->rows > 16 && s->panels > 1)
        products(s, true, true, y, ldy);
    else if (s->rows > 16)
        products(s, true, false, y, ldy);
    else
        products(s, false, s->panels > 1, y, ldy);
}

/* Tiles that y has only a part of go through a buffer. */
static inline void tile_products(const bf16_step *s) {
    if (s->rows % 16 == 0) {
        whole_products(s, s->y, s->ldy);
        return;
    }
    float part[BF16_SUMS];
    whole_products(s, part, 32);
    for (size_t r = 0; r < s->rows; r++)
        memcpy(s->y + r * s->ldy, part + 32 * r, s->panels * 16 * sizeof(float));
}

#endif
