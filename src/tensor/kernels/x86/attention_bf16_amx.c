/* Attention of long steps on AMX. */
#include "tensor/kernels/declare.h"
#include "tensor/kernels/x86/tiles.h"

/* Tiles 0 … 3 have sums, 4 and 5 x, 6 and 7 the two panels. */
static inline void attn_products(const uint16_t *x, size_t x_step, const uint16_t *w, size_t w_step,
                                 size_t n_tiles, size_t rows, bool fresh, float *y) {
    const size_t step = WEFT_ATTN_BF16_QUERIES * sizeof(float);
    float *y2 = y + 16 * WEFT_ATTN_BF16_QUERIES;
    if (fresh) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    } else {
        _tile_loadd(0, y, step);
        _tile_loadd(1, y + 16, step);
        if (rows > 16) {
            _tile_loadd(2, y2, step);
            _tile_loadd(3, y2 + 16, step);
        }
    }
    for (size_t t = 0; t < n_tiles; t++, x += WEFT_BF16_TILE, w += WEFT_BF16_TILE) {
        _tile_loadd(4, x, 64);
        _tile_loadd(6, w, 64);
        _tile_loadd(7, w + w_step, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        if (rows > 16) {
            _tile_loadd(5, x + x_step, 64);
            _tile_dpbf16ps(2, 5, 6);
            _tile_dpbf16ps(3, 5, 7);
        }
    }
    _tile_stored(0, y, step);
    _tile_stored(1, y + 16, step);
    if (rows > 16) {
        _tile_stored(2, y2, step);
        _tile_stored(3, y2 + 16, step);
    }
}

#include "tensor/kernels/x86/attention_bf16_body.h"

void weft_kernel_attn_bf16_amx(const weft_attn_bf16 *a, const weft_attn_bf16_step *steps,
                               size_t n_steps) {
    tiles_begin();
    attn_bf16_body(a, steps, n_steps);
    tiles_end();
}
