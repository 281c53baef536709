/* The limit of AMX-BF16: products of tiles of 16 x 32 and 32 x 16 bfloat16. */
#include <immintrin.h>
#include "tensor/kernels/limits.h"
#include "tensor/kernels/x86/tiles.h"

/* Zeros times zeros: the unit takes the same time for all numbers. */
float weft_limit_bf16_amx(size_t rounds) {
    float out[16 * 16];
    tiles_begin();
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_zero(4);
    _tile_zero(5);
    for (size_t i = 0; i < rounds; i++) {
        _tile_dpbf16ps(0, 4, 5);
        _tile_dpbf16ps(1, 4, 5);
        _tile_dpbf16ps(2, 4, 5);
        _tile_dpbf16ps(3, 4, 5);
    }
    _tile_stored(0, out, 64);
    tiles_end();
    return out[0];
}
