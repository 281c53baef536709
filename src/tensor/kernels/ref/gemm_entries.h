/* Entries of the products of float32 matrices, for the variant whose lanes_*.h header comes first:
 * the bodies over its lanes. */
#ifndef WEFT_KERNELS_GEMM_ENTRIES_H
#define WEFT_KERNELS_GEMM_ENTRIES_H

#include "tensor/kernels/declare.h"
#include "tensor/kernels/ref/gemm_body.h"

void WEFT_KERNEL(weft_kernel_gemm_pack_f32)(const float *b, ptrdiff_t ld, bool turned, size_t k,
                                            size_t n, float *panels) {
    gemm_pack_body(b, ld, turned, k, n, panels);
}

void WEFT_KERNEL(weft_kernel_gemm_f32)(const float *a, size_t lda, size_t m, size_t k,
                                       const float *b, size_t row, size_t vector, size_t n,
                                       float *y, size_t ldy, bool fresh) {
    gemm_body(a, lda, m, k, b, row, vector, n, y, ldy, fresh);
}

void WEFT_KERNEL(weft_kernel_gemv_rows_f32)(const float *a, ptrdiff_t lda, size_t rows, size_t k,
                                            const float *x, float *y) {
    gemv_rows_body(a, lda, rows, k, x, y);
}

void WEFT_KERNEL(weft_kernel_gemv_columns_f32)(const float *b, ptrdiff_t ldb, size_t k, size_t n,
                                               const float *x, float *y) {
    gemv_columns_body(b, ldb, k, n, x, y);
}

#endif
