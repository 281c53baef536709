/* AVX2 variants of the elementwise kernels: the shared bodies over this file's lanes. */
#include "tensor/kernels/x86/lanes_avx2.h"
#include "tensor/kernels/declare.h"
#include "tensor/kernels/ref/elementwise_body.h"

void weft_kernel_exp_f32_avx2(const float *x, size_t n, float *y) {
    map1_body(v16f_exp, x, n, y);
}

void weft_kernel_tanh_f32_avx2(const float *x, size_t n, float *y) {
    map1_body(v16f_tanh, x, n, y);
}

void weft_kernel_silu_f32_avx2(const float *x, size_t n, float *y) {
    map1_body(v16f_silu, x, n, y);
}

void weft_kernel_gelu_tanh_f32_avx2(const float *x, size_t n, float *y) {
    map1_body(v16f_gelu_tanh, x, n, y);
}

void weft_kernel_gelu_erf_f32_avx2(const float *x, size_t n, float *y) {
    map1_body(v16f_gelu_erf, x, n, y);
}

void weft_kernel_mul_f32_avx2(const float *a, const float *b, size_t n, float *y) {
    map2_body(v16f_mul, a, b, n, y);
}

void weft_kernel_add_f32_avx2(const float *a, const float *b, size_t n, float *y) {
    map2_body(v16f_add, a, b, n, y);
}

void weft_kernel_scale_f32_avx2(const float *x, size_t n, float factor, float *y) {
    scale_body(x, n, factor, y);
}

void weft_kernel_f16_to_f32_avx2(const uint16_t *x, size_t n, float *y) {
    f16_to_f32_body(x, n, y);
}

void weft_kernel_f32_to_f16_avx2(const float *x, size_t n, uint16_t *y) {
    f32_to_f16_body(x, n, y);
}
