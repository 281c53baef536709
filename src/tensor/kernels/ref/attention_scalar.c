/* Baseline variants of the attention kernels: the shared bodies over this file's lanes. */
#include "tensor/kernels/ref/lanes_scalar.h"
#include "tensor/kernels/declare.h"
#include "tensor/kernels/ref/attention_few_body.h"

void weft_kernel_attn_keys_scalar(weft_dtype dtype, const void *k, size_t stride_bytes, size_t dim,
                                  size_t n, float *keys, size_t ld) {
    attn_keys_body(dtype, k, stride_bytes, dim, n, keys, ld);
}

void weft_kernel_attn_rows_scalar(weft_dtype dtype, const void *v, size_t stride_bytes, size_t dim,
                                  size_t n, float *rows) {
    attn_rows_body(dtype, v, stride_bytes, dim, n, rows);
}

void weft_kernel_attn_scores_scalar(const float *q, size_t n_q, size_t dim, const float *keys,
                                    size_t ld, size_t n, float *s) {
    attn_scores_body(q, n_q, dim, keys, ld, n, s);
}

void weft_kernel_attn_softmax_scalar(float *s, size_t n, float scale, float softcap, float *most,
                                     float *sum) {
    attn_softmax_body(s, n, scale, softcap, most, sum);
}

void weft_kernel_attn_values_scalar(const float *p, size_t ldp, size_t n_q, const float *v,
                                    size_t dim, size_t n, const float *factors, float *acc) {
    attn_values_body(p, ldp, n_q, v, dim, n, factors, acc);
}

void weft_kernel_attn_few_scores_scalar(weft_dtype dtype, const float *q, size_t n_q, size_t dim,
                                        const void *k, size_t stride_bytes, size_t n,
                                        const void *ahead, float *s, size_t ld) {
    attn_few_scores_body(dtype, q, n_q, dim, k, stride_bytes, n, ahead, s, ld);
}

void weft_kernel_attn_few_values_scalar(weft_dtype dtype, const float *p, size_t ldp, size_t n_q,
                                        const void *v, size_t stride_bytes, size_t dim, size_t n,
                                        const void *ahead, const float *factors, float *acc) {
    attn_few_values_body(dtype, p, ldp, n_q, v, stride_bytes, dim, n, ahead, factors, acc);
}

void weft_kernel_attn_merge_scalar(const float *parts, size_t stride, size_t n_parts,
                                   const float *factors, size_t n, float *acc) {
    attn_merge_body(parts, stride, n_parts, factors, n, acc);
}
