/* Products of bfloat16 tiles on AMX: 32 rows of x times two panels is four tiles of sums, 0 … 3;
 * tiles 4 and 5 have x, 6 and 7 the weights. Between tiles_begin and tiles_end. */
#ifndef WEFT_KERNELS_TILE_PRODUCTS_AMX_H
#define WEFT_KERNELS_TILE_PRODUCTS_AMX_H

#include <string.h>
#include "tensor/kernels/ref/panel_bf16_step.h"
#include "tensor/kernels/x86/tiles.h"

/* Sums [32, 32] with a step of `ldc`, of whole tiles. */
static inline void whole_products(const bf16_step *s, float *c, size_t ldc) {
    bool rows = s->rows > 16, panels = s->panels > 1;
    const uint16_t *x = s->x, *w = s->w[0], *w1 = s->w[1];
    float *c2 = c + 16 * ldc;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    if (!s->fresh) {
        _tile_loadd(0, c, 4 * ldc);
        if (panels)
            _tile_loadd(1, c + 16, 4 * ldc);
        if (rows)
            _tile_loadd(2, c2, 4 * ldc);
        if (rows && panels)
            _tile_loadd(3, c2 + 16, 4 * ldc);
    }
    for (size_t t = 0; t < s->n_tiles; t++, x += 512, w += 512, w1 += 512) {
        _tile_loadd(4, x, 64);
        _tile_loadd(6, w, 64);
        _tile_dpbf16ps(0, 4, 6);
        if (panels) {
            _tile_loadd(7, w1, 64);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (rows) {
            _tile_loadd(5, x + s->x_step, 64);
            _tile_dpbf16ps(2, 5, 6);
            if (panels)
                _tile_dpbf16ps(3, 5, 7);
        }
    }
    _tile_stored(0, c, 4 * ldc);
    if (panels)
        _tile_stored(1, c + 16, 4 * ldc);
    if (rows)
        _tile_stored(2, c2, 4 * ldc);
    if (rows && panels)
        _tile_stored(3, c2 + 16, 4 * ldc);
}

/* Tiles that y has only a part of go through a buffer. */
static inline void tile_products(const bf16_step *s) {
    if (s->rows % 16 == 0) {
        whole_products(s, s->y, s->ldy);
        return;
    }
    float c[32 * 32];
    size_t row_bytes = s->panels * 16 * sizeof(float);
    memset(c, 0, sizeof c);
    for (size_t r = 0; r < s->rows && !s->fresh; r++)
        memcpy(c + 32 * r, s->y + r * s->ldy, row_bytes);
    whole_products(s, c, 32);
    for (size_t r = 0; r < s->rows; r++)
        memcpy(s->y + r * s->ldy, c + 32 * r, row_bytes);
}

#endif
