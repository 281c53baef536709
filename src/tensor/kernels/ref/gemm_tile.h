/* Register tiles of float32 products with panels, after a lanes_*.h header that names their size:
 * WEFT_GEMM_ROWS rows of WEFT_GEMM_VECTORS times 16 columns. A lane is an output, each output is
 * one chain of fmaf over k in order, which goes on in y where k comes in parts. */
#ifndef WEFT_KERNELS_GEMM_TILE_H
#define WEFT_KERNELS_GEMM_TILE_H

#include <stdbool.h>
#include "tensor/kernels/lanes.h"

/* Columns of a factor, 16 to a vector: vector v of row k lies at x + k * row + v * vector. Of
 * panels [n / 16][k][16] row is 16 and vector 16 k; of a matrix as it lies, its rows' distance
 * and 16. */
typedef struct gemm_columns {
    const float *x;
    size_t row, vector;
} gemm_columns;

WEFT_INLINE gemm_columns gemm_columns_at(gemm_columns b, size_t vector) {
    b.x += vector * b.vector;
    return b;
}

/* y [rows, 16 * vectors] takes in a [rows, k] times that many vectors of columns. */
WEFT_INLINE void gemm_tile(size_t rows, size_t vectors, const float *a, size_t lda, size_t k,
                           gemm_columns b, float *y, size_t ldy, bool fresh) {
    v16f acc[WEFT_GEMM_ROWS][WEFT_GEMM_VECTORS], w[WEFT_GEMM_VECTORS];
    WEFT_UNROLL for (size_t r = 0; r < rows; r++) WEFT_UNROLL for (size_t v = 0; v < vectors; v++)
        acc[r][v] = fresh ? v16f_set1(0) : v16f_load(y + r * ldy + 16 * v);
    for (size_t i = 0; i < k; i++) {
        WEFT_UNROLL for (size_t v = 0; v < vectors; v++) w[v] =
            v16f_load(b.x + i * b.row + v * b.vector);
        WEFT_UNROLL for (size_t r = 0; r < rows; r++) {
            v16f x = v16f_set1(a[r * lda + i]);
            WEFT_UNROLL for (size_t v = 0; v < vectors; v++) acc[r][v] =
                v16f_fma(x, w[v], acc[r][v]);
        }
    }
    WEFT_UNROLL for (size_t r = 0; r < rows; r++) WEFT_UNROLL for (size_t v = 0; v < vectors; v++)
        v16f_store(y + r * ldy + 16 * v, acc[r][v]);
}

/* Asks for a tile of y, the one after that which is multiplied. */
WEFT_INLINE void gemm_ahead(size_t rows, size_t vectors, const float *y, size_t ldy) {
    WEFT_UNROLL for (size_t r = 0; r < rows; r++) WEFT_UNROLL for (size_t v = 0; v < vectors; v++)
        __builtin_prefetch(y + r * ldy + 16 * v, 1);
}

/* All rows of a times `vectors` vectors of columns. */
WEFT_INLINE void gemm_strip(size_t vectors, const float *a, size_t lda, size_t m, size_t k,
                            gemm_columns b, float *y, size_t ldy, bool fresh) {
    size_t r = 0;
    for (; r + WEFT_GEMM_ROWS <= m; r += WEFT_GEMM_ROWS) {
        if (r + 2 * WEFT_GEMM_ROWS <= m)
            gemm_ahead(WEFT_GEMM_ROWS, vectors, y + (r + WEFT_GEMM_ROWS) * ldy, ldy);
        gemm_tile(WEFT_GEMM_ROWS, vectors, a + r * lda, lda, k, b, y + r * ldy, ldy, fresh);
    }
    for (; WEFT_GEMM_ROWS > 8 && r + 8 <= m; r += 8)
        gemm_tile(WEFT_GEMM_ROWS > 8 ? 8 : 1, vectors, a + r * lda, lda, k, b, y + r * ldy, ldy,
                  fresh);
    for (; r + 4 <= m; r += 4)
        gemm_tile(4, vectors, a + r * lda, lda, k, b, y + r * ldy, ldy, fresh);
    for (; r < m; r++)
        gemm_tile(1, vectors, a + r * lda, lda, k, b, y + r * ldy, ldy, fresh);
}

#endif
