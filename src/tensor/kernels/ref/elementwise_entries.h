/* Entries of the elementwise kernels of the forward pass, for the variant whose lanes_*.h header
 * comes first: the bodies over its lanes. */
#ifndef WEFT_KERNELS_ELEMENTWISE_ENTRIES_H
#define WEFT_KERNELS_ELEMENTWISE_ENTRIES_H

#include "tensor/kernels/declare.h"
#include "tensor/kernels/ref/elementwise_body.h"

void WEFT_KERNEL(weft_kernel_exp_f32)(const float *x, size_t n, float *y) {
    map1_body(v16f_exp, x, n, y);
}

void WEFT_KERNEL(weft_kernel_tanh_f32)(const float *x, size_t n, float *y) {
    map1_body(v16f_tanh, x, n, y);
}

void WEFT_KERNEL(weft_kernel_silu_f32)(const float *x, size_t n, float *y) {
    map1_body(v16f_silu, x, n, y);
}

void WEFT_KERNEL(weft_kernel_gelu_tanh_f32)(const float *x, size_t n, float *y) {
    map1_body(v16f_gelu_tanh, x, n, y);
}

void WEFT_KERNEL(weft_kernel_gelu_erf_f32)(const float *x, size_t n, float *y) {
    map1_body(v16f_gelu_erf, x, n, y);
}

void WEFT_KERNEL(weft_kernel_mul_f32)(const float *a, const float *b, size_t n, float *y) {
    map2_body(v16f_mul, a, b, n, y);
}

void WEFT_KERNEL(weft_kernel_add_f32)(const float *a, const float *b, size_t n, float *y) {
    map2_body(v16f_add, a, b, n, y);
}

void WEFT_KERNEL(weft_kernel_scale_f32)(const float *x, size_t n, float factor, float *y) {
    scale_body(x, n, factor, y);
}

void WEFT_KERNEL(weft_kernel_f16_to_f32)(const uint16_t *x, size_t n, float *y) {
    f16_to_f32_body(x, n, y);
}

void WEFT_KERNEL(weft_kernel_f32_to_f16)(const float *x, size_t n, uint16_t *y) {
    f32_to_f16_body(x, n, y);
}

#endif
