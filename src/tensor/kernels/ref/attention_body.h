/* Scores and weighted sums of one attention head over consecutive positions, after a lanes_*.h
 * header. A head is padded with zeros to a multiple of 16 lanes. */
#ifndef WEFT_KERNELS_ATTENTION_BODY_H
#define WEFT_KERNELS_ATTENTION_BODY_H

#include <weft/tensor.h>
#include "tensor/kernels/ref/elementwise_body.h"

/* 16 elements from element i of a row of the cache, or the `part` that is left of it. */
WEFT_INLINE v16f cache_load(weft_dtype dtype, const void *row, size_t i, size_t part) {
    if (dtype == WEFT_F16) {
        const uint16_t *p = (const uint16_t *)row + i;
        uint16_t buf[WEFT_LANES] = {0};
        if (part == WEFT_LANES)
            return v16f_load_f16(p);
        memcpy(buf, p, part * sizeof *p);
        return v16f_load_f16(buf);
    }
    const float *p = (const float *)row + i;
    return part == WEFT_LANES ? v16f_load(p) : v16f_load_part(p, part, 0);
}

WEFT_INLINE const void *cache_row(weft_dtype dtype, const void *base, size_t element) {
    return (const char *)base + element * (dtype == WEFT_F16 ? 2 : 4);
}

/* Four positions at a time, so that their sums are independent. */
WEFT_INLINE void scores_of_type(const float *q, const void *k, weft_dtype dtype, size_t stride,
                                size_t head_dim, size_t n, float *s) {
    size_t full = head_dim / WEFT_LANES * WEFT_LANES, rest = head_dim - full, j = 0;
    v16f q_rest = v16f_load_part(q + full, rest, 0), zero = v16f_set1(0);
    for (; j + 4 <= n; j += 4) {
        const void *r0 = cache_row(dtype, k, j * stride);
        const void *r1 = cache_row(dtype, k, (j + 1) * stride);
        const void *r2 = cache_row(dtype, k, (j + 2) * stride);
        const void *r3 = cache_row(dtype, k, (j + 3) * stride);
        v16f a = zero, b = zero, c = zero, d = zero;
        for (size_t i = 0; i < full; i += WEFT_LANES) {
            v16f v = v16f_load(q + i);
            a = v16f_fma(v, cache_load(dtype, r0, i, WEFT_LANES), a);
            b = v16f_fma(v, cache_load(dtype, r1, i, WEFT_LANES), b);
            c = v16f_fma(v, cache_load(dtype, r2, i, WEFT_LANES), c);
            d = v16f_fma(v, cache_load(dtype, r3, i, WEFT_LANES), d);
        }
        if (rest) {
            a = v16f_fma(q_rest, cache_load(dtype, r0, full, rest), a);
            b = v16f_fma(q_rest, cache_load(dtype, r1, full, rest), b);
            c = v16f_fma(q_rest, cache_load(dtype, r2, full, rest), c);
            d = v16f_fma(q_rest, cache_load(dtype, r3, full, rest), d);
        }
        v16f_sum4(a, b, c, d, s + j);
    }
    for (; j < n; j++) {
        const void *row = cache_row(dtype, k, j * stride);
        v16f a = zero;
        for (size_t i = 0; i < full; i += WEFT_LANES)
            a = v16f_fma(v16f_load(q + i), cache_load(dtype, row, i, WEFT_LANES), a);
        if (rest)
            a = v16f_fma(q_rest, cache_load(dtype, row, full, rest), a);
        s[j] = v16f_sum(a);
    }
}

/* 64 columns stay in registers over all positions. */
WEFT_INLINE void values_of_type(const float *p, const void *v, weft_dtype dtype, size_t stride,
                                size_t head_dim, size_t n, float *acc) {
    size_t i = 0;
    for (; i + 64 <= head_dim; i += 64) {
        v16f a = v16f_load(acc + i), b = v16f_load(acc + i + 16);
        v16f c = v16f_load(acc + i + 32), d = v16f_load(acc + i + 48);
        for (size_t j = 0; j < n; j++) {
            const void *row = cache_row(dtype, v, j * stride);
            v16f w = v16f_set1(p[j]);
            a = v16f_fma(w, cache_load(dtype, row, i, WEFT_LANES), a);
            b = v16f_fma(w, cache_load(dtype, row, i + 16, WEFT_LANES), b);
            c = v16f_fma(w, cache_load(dtype, row, i + 32, WEFT_LANES), c);
            d = v16f_fma(w, cache_load(dtype, row, i + 48, WEFT_LANES), d);
        }
        v16f_store(acc + i, a);
        v16f_store(acc + i + 16, b);
        v16f_store(acc + i + 32, c);
        v16f_store(acc + i + 48, d);
    }
    for (; i < head_dim; i += WEFT_LANES) {
        size_t part = head_dim - i < WEFT_LANES ? head_dim - i : WEFT_LANES;
        v16f a = v16f_load_part(acc + i, part, 0);
        for (size_t j = 0; j < n; j++)
            a = v16f_fma(v16f_set1(p[j]),
                         cache_load(dtype, cache_row(dtype, v, j * stride), i, part), a);
        v16f_store_part(acc + i, part, a);
    }
}

WEFT_INLINE void attn_scores_body(const float *q, const void *k, weft_dtype dtype, size_t stride,
                                  size_t head_dim, size_t n, float *s) {
    if (dtype == WEFT_F16)
        scores_of_type(q, k, WEFT_F16, stride, head_dim, n, s);
    else
        scores_of_type(q, k, WEFT_F32, stride, head_dim, n, s);
}

WEFT_INLINE void attn_values_body(const float *p, const void *v, weft_dtype dtype, size_t stride,
                                  size_t head_dim, size_t n, float *acc) {
    if (dtype == WEFT_F16)
        values_of_type(p, v, WEFT_F16, stride, head_dim, n, acc);
    else
        values_of_type(p, v, WEFT_F32, stride, head_dim, n, acc);
}

#endif
