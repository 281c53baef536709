/* Entries of the attention kernels, for the variant whose lanes_*.h header comes first: the bodies
 * over its lanes. */
#ifndef WEFT_KERNELS_ATTENTION_ENTRIES_H
#define WEFT_KERNELS_ATTENTION_ENTRIES_H

#include "tensor/kernels/declare.h"
#include "tensor/kernels/ref/attention_few_body.h"

void WEFT_KERNEL(weft_kernel_attn_keys)(weft_dtype dtype, const void *k, size_t stride_bytes,
                                        size_t dim, size_t n, float *keys, size_t ld) {
    attn_keys_body(dtype, k, stride_bytes, dim, n, keys, ld);
}

void WEFT_KERNEL(weft_kernel_attn_rows)(weft_dtype dtype, const void *v, size_t stride_bytes,
                                        size_t dim, size_t n, float *rows) {
    attn_rows_body(dtype, v, stride_bytes, dim, n, rows);
}

void WEFT_KERNEL(weft_kernel_attn_scores)(const float *q, size_t n_q, size_t dim, const float *keys,
                                          size_t ld, size_t n, float *s) {
    attn_scores_body(q, n_q, dim, keys, ld, n, s);
}

void WEFT_KERNEL(weft_kernel_attn_softmax)(float *s, size_t n, float scale, float softcap,
                                           float *most, float *sum) {
    attn_softmax_body(s, n, scale, softcap, most, sum);
}

void WEFT_KERNEL(weft_kernel_attn_values)(const float *p, size_t ldp, size_t n_q, const float *v,
                                          size_t dim, size_t n, const float *factors, float *acc) {
    attn_values_body(p, ldp, n_q, v, dim, n, factors, acc);
}

void WEFT_KERNEL(weft_kernel_attn_few_scores)(weft_dtype dtype, const float *q, size_t n_q,
                                              size_t dim, const void *k, size_t stride_bytes,
                                              size_t n, const void *ahead, float *s, size_t ld) {
    attn_few_scores_body(dtype, q, n_q, dim, k, stride_bytes, n, ahead, s, ld);
}

void WEFT_KERNEL(weft_kernel_attn_few_values)(weft_dtype dtype, const float *p, size_t ldp,
                                              size_t n_q, const void *v, size_t stride_bytes,
                                              size_t dim, size_t n, const void *ahead,
                                              const float *factors, float *acc) {
    attn_few_values_body(dtype, p, ldp, n_q, v, stride_bytes, dim, n, ahead, factors, acc);
}

void WEFT_KERNEL(weft_kernel_attn_merge)(const float *parts, size_t stride, size_t n_parts,
                                         const float *factors, size_t n, float *acc) {
    attn_merge_body(parts, stride, n_parts, factors, n, acc);
}

#endif
