/* Entries of the kernels of recurrent layers, for the variant whose lanes_*.h header comes first:
 * the bodies over its lanes. */
#ifndef WEFT_KERNELS_RECURRENT_ENTRIES_H
#define WEFT_KERNELS_RECURRENT_ENTRIES_H

#include "tensor/kernels/declare.h"
#include "tensor/kernels/ref/recurrent_body.h"

void WEFT_KERNEL(weft_kernel_conv_row_f32)(const float *const *x, const float *w, size_t ldw,
                                           const float *bias, size_t k, size_t n, float *y) {
    conv_row_body(x, w, ldw, bias, k, n, y);
}

void WEFT_KERNEL(weft_kernel_delta_step_f32)(const float *q, const float *k, const float *v,
                                             float decay, float beta, size_t dim_k, size_t n,
                                             const float *from, size_t ld_from, float *to,
                                             size_t ld, float *y) {
    delta_step_body(q, k, v, decay, beta, dim_k, n, from, ld_from, to, ld, y);
}

void WEFT_KERNEL(weft_kernel_ssm_scan_f32)(size_t rows, size_t n, const float *from, float *to,
                                           const float *a, const float *dt, const float *x,
                                           const float *b, const float *c, const float *d,
                                           float *y) {
    ssm_scan_body(rows, n, from, to, a, dt, x, b, c, d, y);
}

void WEFT_KERNEL(weft_kernel_ssm_head_f32)(size_t rows, size_t n, const float *from, float *to,
                                           float decay, float dt, const float *x, const float *b,
                                           const float *c, float d, float *y) {
    ssm_head_body(rows, n, from, to, decay, dt, x, b, c, d, y);
}

void WEFT_KERNEL(weft_kernel_sigmoid_f32)(const float *x, size_t n, float *y) {
    map1_body(v16f_sigmoid, x, n, y);
}

void WEFT_KERNEL(weft_kernel_softplus_f32)(const float *x, size_t n, float *y) {
    map1_body(v16f_softplus, x, n, y);
}

#endif
