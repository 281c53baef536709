/* OpenBLAS behind one file: blas.c alone includes it. */
#ifndef WEFT_TENSOR_BLAS_H
#define WEFT_TENSOR_BLAS_H

#include <stdbool.h>
#include <stdint.h>
#include <weft/extra/blas.h>

/* "OpenBLAS 0.3.21" (a space may follow), or NULL in a build without it. Static memory. */
const char *weft_blas_version(void);

/* A factor [rows, cols]: one of its two steps (in elements) is 1 and the other at least as long as
 * what it steps over, or it is of extent 1. */
typedef struct weft_blas_factor {
    const float *data;
    int64_t row, col;
} weft_blas_factor;

/* y [m, n], rows ldy elements apart, = a [m, k] @ b [k, n]. False, with nothing written, where
 * there is no library or it cannot express the product: steps, or sizes beyond its integers. */
bool weft_blas_product(int64_t m, int64_t n, int64_t k, weft_blas_factor a, weft_blas_factor b,
                       float *y, int64_t ldy);
/* Threads that the library uses by itself for one product. */
int weft_blas_threads(void);
/* Whether the library could take a factor as it lies. */
bool weft_blas_takes(int64_t rows, int64_t cols, int64_t row, int64_t col);

#endif
