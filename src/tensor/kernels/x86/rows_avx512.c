/* AVX-512 variants of the kernels along a row: the shared bodies over this file's lanes. */
#include "tensor/kernels/x86/lanes_avx512.h"
#include "tensor/kernels/declare.h"
#include "tensor/kernels/ref/rows_body.h"

void weft_kernel_quantize_q8_avx512(const float *x, size_t n_cols, int8_t *q, float *d,
                                    int32_t *sums) {
    quantize_q8_body(x, n_cols, q, d, sums);
}

void weft_kernel_rms_norm_f32_avx512(const float *x, const float *weight, size_t n, float eps,
                                     float *y) {
    rms_norm_body(x, weight, n, eps, y);
}

void weft_kernel_layer_norm_f32_avx512(const float *x, const float *weight, const float *bias,
                                       size_t n, float eps, float *y) {
    layer_norm_body(x, weight, bias, n, eps, y);
}

void weft_kernel_softmax_f32_avx512(const float *x, size_t n, float *y) {
    softmax_body(x, n, y);
}
