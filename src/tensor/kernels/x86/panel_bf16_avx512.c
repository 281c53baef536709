/* Panels times bfloat16 activations with dpbf16ps: sums of two products into float32, a lane an
 * output. Sixteen rows of x share a register of weights. */
#include <immintrin.h>
#include <string.h>
#include "tensor/kernels/declare.h"
#include "tensor/kernels/lanes.h"
#include "tensor/kernels/ref/panel_bf16_step.h"
#include "tensor/kernels/x86/bf16_unpack.h"

#define ROWS 16

/* 16 rows of x times one panel. */
WEFT_INLINE void tile_row(const uint16_t *x, const uint16_t *w, size_t n_tiles, size_t rows,
                          const float *from, float *y, size_t ldy) {
    __m512 acc[ROWS];
    WEFT_UNROLL for (size_t c = 0; c < ROWS; c++) acc[c] =
        from == NULL ? _mm512_setzero_ps() : _mm512_loadu_ps(from + 32 * c);
    for (size_t t = 0; t < n_tiles; t++, x += WEFT_BF16_TILE)
        for (size_t pair = 0; pair < 16; pair++, w += 32) {
            __m512bh of = (__m512bh)_mm512_loadu_si512(w);
            WEFT_UNROLL for (size_t c = 0; c < ROWS; c++) {
                int32_t both;
                memcpy(&both, x + 32 * c + 2 * pair, 4);
                acc[c] = _mm512_dpbf16_ps(acc[c], of, (__m512bh)_mm512_set1_epi32(both));
            }
        }
    WEFT_UNROLL for (size_t c = 0; c < ROWS; c++) if (c < rows)
        _mm512_storeu_ps(y + c * ldy, acc[c]);
}

static void tile_products(const bf16_step *s) {
    for (size_t r = 0; r < s->rows; r += ROWS)
        for (size_t p = 0; p < s->panels; p++)
            tile_row(s->x + r / ROWS * s->x_step, s->w[p], s->n_tiles, s->rows - r,
                     s->from == NULL ? NULL : s->from + 32 * r + 16 * p, s->y + r * s->ldy + 16 * p,
                     s->ldy);
}

#include "tensor/kernels/ref/panel_bf16_body.h"

void weft_kernel_panel_bf16_avx512(weft_dtype dtype, const void *panels, size_t n_panels,
                                   const weft_bf16_rows *x, float *sums, float *y, size_t ldy) {
    panel_bf16_body(weft_bf16_unpack, dtype, panels, n_panels, x, sums, y, ldy);
}

/* `n` of the 16 columns at x. */
WEFT_INLINE __m512 columns(const float *x, size_t n) {
    return _mm512_maskz_loadu_ps((__mmask16)(n < 16 ? (1u << n) - 1 : 0xffff), x);
}

void weft_kernel_rows_bf16_avx512(const float *x, size_t n, size_t n_cols, size_t ldx,
                                  uint16_t *tiles) {
    for (size_t k = 0; k < n_cols; k += 32, tiles += WEFT_BF16_TILE)
        for (size_t r = 0; r < 16; r++) {
            size_t left = r < n ? n_cols - k : 0;
            __m512 low = columns(left ? x + r * ldx + k : x, left);
            __m512 high = _mm512_setzero_ps();
            if (left > 16)
                high = columns(x + r * ldx + k + 16, left - 16);
            _mm512_storeu_si512(tiles + 32 * r, (__m512i)_mm512_cvtne2ps_pbh(high, low));
        }
}
