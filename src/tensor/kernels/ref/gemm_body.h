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

/* ---- Blocks: rows of a, a few at a time, go over all columns, which lie in a level-2 cache ----
 */

/* The last columns, fewer than 16, by way of whole ones; the vector of b is whole. */
WEFT_INLINE void gemm_narrow(size_t rows, const float *a, size_t lda, size_t k, gemm_columns b,
                             size_t n, float *y, size_t ldy, bool fresh) {
    float whole[WEFT_GEMM_ROWS * WEFT_LANES];
    for (size_t r = 0; r < rows && !fresh; r++)
        v16f_store(whole + 16 * r, v16f_load_part(y + r * ldy, n, 0));
    gemm_tile(rows, 1, a, lda, k, b, whole, 16, fresh);
    for (size_t r = 0; r < rows; r++)
        v16f_store_part(y + r * ldy, n, v16f_load(whole + 16 * r));
}

/* The greatest tile that leaves no vector alone: one of few chains waits for its sums. */
WEFT_INLINE size_t gemm_vectors(size_t left) {
    if (WEFT_GEMM_VECTORS > 2 && (left == 2 || left == 4))
        return 2;
    return left < WEFT_GEMM_VECTORS ? 1 : WEFT_GEMM_VECTORS;
}

/* `rows` rows of a times n columns. `next`: where the rows below begin in y, or the same again. */
WEFT_INLINE void gemm_rows(size_t rows, const float *a, size_t lda, size_t k, gemm_columns b,
                           size_t n, float *y, size_t ldy, const float *next, bool fresh) {
    size_t whole = n / WEFT_LANES;
    for (size_t v = 0, step; v < whole; v += step) {
        const gemm_columns at = gemm_columns_at(b, v);
        float *to = y + 16 * v;
        step = gemm_vectors(whole - v);
        gemm_ahead(rows, WEFT_GEMM_VECTORS, v + step < whole ? to + 16 * step : next, ldy);
        if (step == WEFT_GEMM_VECTORS)
            gemm_tile(rows, WEFT_GEMM_VECTORS, a, lda, k, at, to, ldy, fresh);
        else if (WEFT_GEMM_VECTORS > 2 && step == 2)
            gemm_tile(rows, WEFT_GEMM_VECTORS > 2 ? 2 : 1, a, lda, k, at, to, ldy, fresh);
        else
            gemm_tile(rows, 1, a, lda, k, at, to, ldy, fresh);
    }
    if (n % WEFT_LANES > 0)
        gemm_narrow(rows, a, lda, k, gemm_columns_at(b, whole), n % WEFT_LANES, y + 16 * whole, ldy,
                    fresh);
}

static void gemm_body(const float *a, size_t lda, size_t m, size_t k, const float *columns,
                      size_t row, size_t vector, size_t n, float *y, size_t ldy, bool fresh) {
    const gemm_columns b = {columns, row, vector};
    size_t r = 0;
    for (; r + WEFT_GEMM_ROWS <= m; r += WEFT_GEMM_ROWS) {
        size_t below = r + 2 * WEFT_GEMM_ROWS <= m ? r + WEFT_GEMM_ROWS : r;
        gemm_rows(WEFT_GEMM_ROWS, a + r * lda, lda, k, b, n, y + r * ldy, ldy, y + below * ldy,
                  fresh);
    }
    for (; r + 4 <= m; r += 4)
        gemm_rows(4, a + r * lda, lda, k, b, n, y + r * ldy, ldy, y + r * ldy, fresh);
    for (; r < m; r++)
        gemm_rows(1, a + r * lda, lda, k, b, n, y + r * ldy, ldy, y + r * ldy, fresh);
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
