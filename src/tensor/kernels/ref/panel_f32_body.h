/* Panels times float activations, after a lanes_*.h header: a lane is an output row, each output is
 * one chain of fmaf over the columns in order. Needs panels from weft_panel_pack. */
#ifndef WEFT_KERNELS_PANEL_F32_BODY_H
#define WEFT_KERNELS_PANEL_F32_BODY_H

#include "tensor/kernels/blocks.h"
#include "tensor/kernels/lanes.h"
#include "tensor/kernels/ref/gemm_tile.h"

/* Columns that a tile takes before the next rows of x have their turn: 16 KiB of float32, or 8 of
 * each of several panels. */
#define WEFT_F32_CHUNK (WEFT_GEMM_VECTORS > 1 ? 128 : 256)

WEFT_INLINE v16f column_load(weft_dtype dtype, const void *panel, size_t k) {
    if (dtype == WEFT_F16)
        return v16f_load_f16((const uint16_t *)panel + 16 * k);
    if (dtype == WEFT_BF16)
        return v16f_load_bf16((const uint16_t *)panel + 16 * k);
    return v16f_load((const float *)panel + 16 * k);
}

/* y[rows][16] of columns [begin, end); continues the chains in y when begin > 0. x is at column 0.
 */
WEFT_INLINE void f32_tile(weft_dtype dtype, size_t rows, const void *panel, size_t begin,
                          size_t end, const float *x, size_t ldx, float *y, size_t ldy,
                          bool fresh) {
    v16f acc[WEFT_TILE_ROWS];
    WEFT_UNROLL for (size_t c = 0; c < rows; c++) acc[c] =
        fresh ? v16f_set1(0) : v16f_load(y + c * ldy);
    for (size_t k = begin; k < end; k++) {
        v16f w = column_load(dtype, panel, k);
        WEFT_UNROLL for (size_t c = 0; c < rows; c++) acc[c] =
            v16f_fma(v16f_set1(x[c * ldx + k]), w, acc[c]);
    }
    WEFT_UNROLL for (size_t c = 0; c < rows; c++) v16f_store(y + c * ldy, acc[c]);
}

/* Columns [begin, end) of one panel for all rows of x. */
WEFT_INLINE void f32_panel(weft_dtype dtype, const void *panel, size_t begin, size_t end,
                           const float *x, size_t n, size_t ldx, float *y, size_t ldy, bool fresh) {
    size_t t = 0;
    for (; t + WEFT_TILE_ROWS <= n; t += WEFT_TILE_ROWS)
        f32_tile(dtype, WEFT_TILE_ROWS, panel, begin, end, x + t * ldx, ldx, y + t * ldy, ldy,
                 fresh);
    for (; t + 4 <= n; t += 4)
        f32_tile(dtype, 4, panel, begin, end, x + t * ldx, ldx, y + t * ldy, ldy, fresh);
    for (; t + 2 <= n; t += 2)
        f32_tile(dtype, 2, panel, begin, end, x + t * ldx, ldx, y + t * ldy, ldy, fresh);
    if (t < n)
        f32_tile(dtype, 1, panel, begin, end, x + t * ldx, ldx, y + t * ldy, ldy, fresh);
}

/* Asks for what is read WEFT_F32_AHEAD bytes after column k: of this panel or, past its end, of the
 * second next, for panels go in pairs. */
#define WEFT_F32_AHEAD 3072
WEFT_INLINE void column_ahead(weft_dtype dtype, const char *panel, size_t bytes, size_t k) {
    size_t item = dtype == WEFT_F32 ? 4 : 2, at = 16 * item * k + WEFT_F32_AHEAD;
    __builtin_prefetch(panel + at + (at >= bytes ? bytes : 0));
}

/* One row of x and two panels at a time: two chains hide the latency of the fused step. */
WEFT_INLINE void f32_vector(weft_dtype dtype, const char *panels, size_t bytes, size_t n_panels,
                            const float *x, size_t n_cols, float *y) {
    size_t p = 0;
    for (; p + 2 <= n_panels; p += 2, panels += 2 * bytes) {
        v16f a = v16f_set1(0), b = a;
        for (size_t k = 0; k < n_cols; k++) {
            v16f v = v16f_set1(x[k]);
            column_ahead(dtype, panels, bytes, k);
            column_ahead(dtype, panels + bytes, bytes, k);
            a = v16f_fma(v, column_load(dtype, panels, k), a);
            b = v16f_fma(v, column_load(dtype, panels + bytes, k), b);
        }
        v16f_store(y + 16 * p, a);
        v16f_store(y + 16 * p + 16, b);
    }
    if (p < n_panels)
        f32_tile(dtype, 1, panels, 0, n_cols, x, 0, y + 16 * p, 0, true);
}

/* Columns [begin, end) of `vectors` panels as float32, one panel after the other. */
WEFT_INLINE void f32_unpack(weft_dtype dtype, const char *panels, size_t bytes, size_t vectors,
                            size_t begin, size_t end, float *out) {
    for (size_t v = 0; v < vectors; v++, panels += bytes)
        for (size_t k = begin; k < end; k++, out += 16)
            v16f_store(out, column_load(dtype, panels, k));
}

/* Columns of `vectors` panels, unpacked, for all rows of x. */
WEFT_INLINE void f32_unpacked(size_t vectors, const float *unpacked, size_t n_cols, const float *x,
                              size_t n, size_t ldx, float *y, size_t ldy, bool fresh) {
    const gemm_columns w = {unpacked, 16, 16 * n_cols};
    if (vectors == WEFT_GEMM_VECTORS)
        gemm_strip(WEFT_GEMM_VECTORS, x, ldx, n, n_cols, w, y, ldy, fresh);
    else if (WEFT_GEMM_VECTORS > 2 && vectors == 2)
        gemm_strip(WEFT_GEMM_VECTORS > 2 ? 2 : 1, x, ldx, n, n_cols, w, y, ldy, fresh);
    else
        gemm_strip(1, x, ldx, n, n_cols, w, y, ldy, fresh);
}

/* Many rows of x share the columns of a few panels as float32. Their chunk of x stays at hand while
 * all panels go by. */
WEFT_INLINE void f32_matrix(weft_dtype dtype, const char *panels, size_t bytes, size_t n_panels,
                            const float *x, size_t n, size_t n_cols, size_t ldx, float *y,
                            size_t ldy) {
    const bool unpacks = (dtype != WEFT_F32 || WEFT_GEMM_VECTORS > 1) && n > 2 * WEFT_TILE_ROWS;
    float unpacked[WEFT_GEMM_VECTORS * 16 * WEFT_F32_CHUNK];
    for (size_t k = 0; k < n_cols || k == 0; k += WEFT_F32_CHUNK) {
        size_t end = n_cols - k < WEFT_F32_CHUNK ? n_cols : k + WEFT_F32_CHUNK, vectors;
        for (size_t p = 0; p < n_panels; p += vectors) {
            const char *panel = panels + p * bytes;
            float *to = y + 16 * p;
            vectors = !unpacks                           ? 1
                      : n_panels - p < WEFT_GEMM_VECTORS ? n_panels - p
                                                         : WEFT_GEMM_VECTORS;
            if (unpacks) {
                f32_unpack(dtype, panel, bytes, vectors, k, end, unpacked);
                f32_unpacked(vectors, unpacked, end - k, x + k, n, ldx, to, ldy, k == 0);
            } else {
                f32_panel(dtype, panel, k, end, x, n, ldx, to, ldy, k == 0);
            }
        }
    }
}

WEFT_INLINE void f32_panels(weft_dtype dtype, const char *panels, size_t bytes, size_t n_panels,
                            const float *x, size_t n, size_t n_cols, size_t ldx, float *y,
                            size_t ldy) {
    if (n == 1)
        f32_vector(dtype, panels, bytes, n_panels, x, n_cols, y);
    else
        f32_matrix(dtype, panels, bytes, n_panels, x, n, n_cols, ldx, y, ldy);
}

/* A quantised weight, dequantised block by block: the checking path. */
WEFT_INLINE void f32_blocks(weft_dtype dtype, const char *panels, size_t bytes, size_t n_panels,
                            const float *x, size_t n, size_t n_cols, size_t ldx, float *y,
                            size_t ldy) {
    float w[32 * WEFT_PANEL_ROWS];
    for (size_t p = 0; p < n_panels; p++, panels += bytes, y += 16)
        for (size_t k = 0; k < n_cols / 32 || k == 0; k++) {
            if (n_cols)
                weft_panel_block_values(dtype, panels, k, w);
            f32_panel(WEFT_F32, w, 0, n_cols ? 32 : 0, x + 32 * k, n, ldx, y, ldy, k == 0);
        }
}

WEFT_INLINE void panel_f32_body(weft_dtype dtype, const void *panels, size_t n_panels,
                                const float *x, size_t n, size_t n_cols, size_t ldx, float *y,
                                size_t ldy) {
    size_t bytes = weft_panel_bytes(dtype, n_cols);
    if (dtype == WEFT_F32)
        f32_panels(WEFT_F32, panels, bytes, n_panels, x, n, n_cols, ldx, y, ldy);
    else if (dtype == WEFT_F16)
        f32_panels(WEFT_F16, panels, bytes, n_panels, x, n, n_cols, ldx, y, ldy);
    else if (dtype == WEFT_BF16)
        f32_panels(WEFT_BF16, panels, bytes, n_panels, x, n, n_cols, ldx, y, ldy);
    else
        f32_blocks(dtype, panels, bytes, n_panels, x, n, n_cols, ldx, y, ldy);
}

#endif
