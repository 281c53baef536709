/* Products of float32 matrices, after a lanes_*.h header: b is packed into panels, which go through
 * register tiles. After Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication",
 * 2008. */
#ifndef WEFT_KERNELS_GEMM_BODY_H
#define WEFT_KERNELS_GEMM_BODY_H

#include <math.h>
#include <stdbool.h>
#include "tensor/kernels/ref/elementwise_body.h"
#include "tensor/kernels/ref/gemm_tile.h"

/* ---- Panels of b: [ceil(n / 16)][k][16] ---- */

#define WEFT_GEMM_TOGETHER 4 /* panels that are filled row by row */

WEFT_INLINE v16f gemm_load(const float *x, size_t n) {
    return n >= WEFT_LANES ? v16f_load(x) : v16f_load_part(x, n, 0);
}

static void gemm_pack_rows(const float *b, ptrdiff_t ld, size_t k, size_t n, float *panels) {
    for (size_t first = 0; first < n; first += WEFT_GEMM_TOGETHER * WEFT_LANES) {
        size_t end = n - first < WEFT_GEMM_TOGETHER * WEFT_LANES
                         ? n
                         : first + WEFT_GEMM_TOGETHER * WEFT_LANES;
        for (size_t i = 0; i < k; i++)
            for (size_t c = first; c < end; c += WEFT_LANES)
                v16f_store(panels + c * k + 16 * i, gemm_load(b + (ptrdiff_t)i * ld + c, n - c));
    }
}

/* 16 columns, of which `some` are there, in squares that are turned. */
static void gemm_pack_turned(const float *b, ptrdiff_t ld, size_t k, size_t some, float *panel) {
    for (size_t i = 0; i < k; i += WEFT_LANES) {
        v16f square[WEFT_LANES];
        size_t left = k - i < WEFT_LANES ? k - i : WEFT_LANES;
        WEFT_UNROLL for (size_t c = 0; c < WEFT_LANES; c++) square[c] =
            c < some ? gemm_load(b + (ptrdiff_t)c * ld + i, left) : v16f_set1(0);
        v16f_transpose(square);
        for (size_t r = 0; r < left; r++)
            v16f_store(panel + 16 * (i + r), square[r]);
    }
}

static void gemm_pack_body(const float *b, ptrdiff_t ld, bool turned, size_t k, size_t n,
                           float *panels) {
    if (!turned)
        gemm_pack_rows(b, ld, k, n, panels);
    for (size_t c = 0; turned && c < n; c += WEFT_LANES)
        gemm_pack_turned(b + (ptrdiff_t)c * ld, ld, k, n - c < WEFT_LANES ? n - c : WEFT_LANES,
                         panels + c * k);
}

/* ---- Blocks ---- */

/* The same where y has fewer than 16 columns: by way of whole ones. */
static void gemm_narrow(const float *a, size_t lda, size_t m, size_t k, const float *panel,
                        size_t n, float *y, size_t ldy, bool fresh) {
    float whole[WEFT_GEMM_ROWS * WEFT_LANES];
    for (size_t r = 0; r < m; r += WEFT_GEMM_ROWS) {
        size_t rows = m - r < WEFT_GEMM_ROWS ? m - r : WEFT_GEMM_ROWS;
        for (size_t i = 0; i < rows && !fresh; i++)
            v16f_store(whole + 16 * i, v16f_load_part(y + (r + i) * ldy, n, 0));
        gemm_strip(1, a + r * lda, lda, rows, k, panel, whole, 16, fresh);
        for (size_t i = 0; i < rows; i++)
            v16f_store_part(y + (r + i) * ldy, n, v16f_load(whole + 16 * i));
    }
}

static void gemm_body(const float *a, size_t lda, size_t m, size_t k, const float *panels, size_t n,
                      float *y, size_t ldy, bool fresh) {
    const size_t wide = WEFT_GEMM_VECTORS * WEFT_LANES;
    size_t c = 0;
    for (; c + wide <= n; c += wide)
        gemm_strip(WEFT_GEMM_VECTORS, a, lda, m, k, panels + c * k, y + c, ldy, fresh);
    for (; c + WEFT_LANES <= n; c += WEFT_LANES)
        gemm_strip(1, a, lda, m, k, panels + c * k, y + c, ldy, fresh);
    if (c < n)
        gemm_narrow(a, lda, m, k, panels + c * k, n - c, y + c, ldy, fresh);
}

/* ---- A matrix times one vector ---- */

#define WEFT_GEMV_AHEAD 128 /* elements of a row that are asked for early */

/* Up to 16 rows: squares of the matrix are turned, so that a lane is a row. */
WEFT_INLINE void gemv_rows_step(size_t rows, const float *a, ptrdiff_t lda, size_t k,
                                const float *x, float *y) {
    v16f acc = v16f_set1(0), square[WEFT_LANES];
    size_t i = 0;
    for (; i + WEFT_LANES <= k; i += WEFT_LANES) {
        WEFT_UNROLL for (size_t r = 0; r < WEFT_LANES; r++) {
            const float *from = a + (ptrdiff_t)(r < rows ? r : 0) * lda + i;
            __builtin_prefetch(from + WEFT_GEMV_AHEAD);
            square[r] = v16f_load(from);
        }
        v16f_transpose(square);
        WEFT_UNROLL for (size_t r = 0; r < WEFT_LANES; r++) acc =
            v16f_fma(v16f_set1(x[i + r]), square[r], acc);
    }
    if (rows == WEFT_LANES)
        v16f_store(y, acc);
    else
        v16f_store_part(y, rows, acc);
    for (size_t r = 0; r < rows; r++)
        for (size_t j = i; j < k; j++)
            y[r] = fmaf(x[j], a[(ptrdiff_t)r * lda + (ptrdiff_t)j], y[r]);
}

static void gemv_rows_body(const float *a, ptrdiff_t lda, size_t rows, size_t k, const float *x,
                           float *y) {
    size_t r = 0;
    for (; r + WEFT_LANES <= rows; r += WEFT_LANES)
        gemv_rows_step(WEFT_LANES, a + (ptrdiff_t)r * lda, lda, k, x, y + r);
    if (r < rows)
        gemv_rows_step(rows - r, a + (ptrdiff_t)r * lda, lda, k, x, y + r);
}

#define WEFT_GEMV_TOGETHER 8 /* rows that are read side by side */

WEFT_INLINE void gemv_columns_step(size_t rows, const float *b, ptrdiff_t ldb, size_t n,
                                   const float *x, float *y, bool fresh) {
    size_t c = 0;
    for (; c + WEFT_LANES <= n; c += WEFT_LANES) {
        v16f acc = fresh ? v16f_set1(0) : v16f_load(y + c);
        WEFT_UNROLL for (size_t r = 0; r < rows; r++) acc =
            v16f_fma(v16f_set1(x[r]), v16f_load(b + (ptrdiff_t)r * ldb + c), acc);
        v16f_store(y + c, acc);
    }
    for (; c < n; c++) {
        float acc = fresh ? 0 : y[c];
        for (size_t r = 0; r < rows; r++)
            acc = fmaf(x[r], b[(ptrdiff_t)r * ldb + (ptrdiff_t)c], acc);
        y[c] = acc;
    }
}

static void gemv_columns_body(const float *b, ptrdiff_t ldb, size_t k, size_t n, const float *x,
                              float *y) {
    size_t i = 0;
    for (; i + WEFT_GEMV_TOGETHER <= k; i += WEFT_GEMV_TOGETHER)
        gemv_columns_step(WEFT_GEMV_TOGETHER, b + (ptrdiff_t)i * ldb, ldb, n, x + i, y, i == 0);
    for (; i < k; i++)
        gemv_columns_step(1, b + (ptrdiff_t)i * ldb, ldb, n, x + i, y, i == 0);
}

#endif
