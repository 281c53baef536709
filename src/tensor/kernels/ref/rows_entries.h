/* Entries of the kernels along a row, for the variant whose lanes_*.h header comes first: the
 * bodies over its lanes. */
#ifndef WEFT_KERNELS_ROWS_ENTRIES_H
#define WEFT_KERNELS_ROWS_ENTRIES_H

#include "tensor/kernels/declare.h"
#include "tensor/kernels/ref/rows_body.h"

void WEFT_KERNEL(weft_kernel_quantize_q8)(const float *x, size_t n_cols, int8_t *q, float *d,
                                          int32_t *sums) {
    quantize_q8_body(x, n_cols, q, d, sums);
}

void WEFT_KERNEL(weft_kernel_rms_norm_f32)(const float *x, const float *weight, size_t n, float eps,
                                           float *y) {
    rms_norm_body(x, weight, n, eps, y);
}

void WEFT_KERNEL(weft_kernel_layer_norm_f32)(const float *x, const float *weight, const float *bias,
                                             size_t n, float eps, float *y) {
    layer_norm_body(x, weight, bias, n, eps, y);
}

void WEFT_KERNEL(weft_kernel_softmax_f32)(const float *x, size_t n, float *y) {
    softmax_body(x, n, y);
}

#endif
