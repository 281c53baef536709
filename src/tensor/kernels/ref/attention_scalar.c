/* Baseline variants of the attention kernels: the shared bodies over this file's lanes. */
#include "tensor/kernels/ref/lanes_scalar.h"
#include "tensor/kernels/declare.h"
#include "tensor/kernels/ref/attention_body.h"

void weft_kernel_attn_scores_scalar(const float *q, const void *k, weft_dtype dtype, size_t stride,
                                    size_t head_dim, size_t n, float *s) {
    attn_scores_body(q, k, dtype, stride, head_dim, n, s);
}

void weft_kernel_attn_values_scalar(const float *p, const void *v, weft_dtype dtype, size_t stride,
                                    size_t head_dim, size_t n, float *acc) {
    attn_values_body(p, v, dtype, stride, head_dim, n, acc);
}
