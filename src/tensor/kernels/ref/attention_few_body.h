/* Attention of few query rows, as in decoding, over one block of positions, after a lanes_*.h
 * header. What bounds it is reading: keys and values are widened in registers as they come, and
 * neither is laid out anew. The sums are those of attention_body.h, in the same order. */
#ifndef WEFT_KERNELS_ATTENTION_FEW_BODY_H
#define WEFT_KERNELS_ATTENTION_FEW_BODY_H

#include "tensor/kernels/ref/attention_body.h"

#define KEYS WEFT_ATTN_KEYS /* of one register tile */

/* Asks for a row that will be read when this block is done. */
WEFT_INLINE void fetch_row(const char *row, size_t bytes) {
    for (size_t at = 0; at < bytes; at += 64)
        __builtin_prefetch(row + at, 0, 2);
}

/* Lanes of n_q queries times four keys, which lie four rows apart; n_q is constant. */
WEFT_INLINE void four_keys(weft_dtype dtype, const float *q, size_t n_q, size_t dim,
                           const char *const key[4], v16f lanes[][4]) {
    size_t dim16 = lanes_up(dim), full = dim / WEFT_LANES * WEFT_LANES;
    WEFT_UNROLL for (size_t first = 0; first < 4; first += KEYS) {
        v16f acc[QUERIES][KEYS];
        WEFT_UNROLL for (size_t r = 0; r < n_q; r++) WEFT_UNROLL for (size_t j = 0; j < KEYS; j++)
            acc[r][j] = v16f_set1(0);
        for (size_t i = 0; i < full; i += WEFT_LANES)
            WEFT_UNROLL for (size_t j = 0; j < KEYS; j++) {
                v16f k = cache_load(dtype, key[first + j], i, WEFT_LANES);
                WEFT_UNROLL for (size_t r = 0; r < n_q; r++) acc[r][j] =
                    v16f_fma(v16f_load(q + r * dim16 + i), k, acc[r][j]);
            }
        if (full < dim)
            WEFT_UNROLL for (size_t j = 0; j < KEYS; j++) {
                v16f k = cache_load(dtype, key[first + j], full, dim - full);
                WEFT_UNROLL for (size_t r = 0; r < n_q; r++) acc[r][j] =
                    v16f_fma(v16f_load(q + r * dim16 + full), k, acc[r][j]);
            }
        WEFT_UNROLL for (size_t r = 0; r < n_q; r++) WEFT_UNROLL for (size_t j = 0; j < KEYS; j++)
            lanes[r][first + j] = acc[r][j];
    }
}

WEFT_INLINE void few_scores_of(weft_dtype dtype, const float *q, size_t n_q, size_t dim,
                               const char *k, size_t stride, size_t n, const char *ahead,
                               size_t row_bytes, float *s, size_t ld) {
    for (size_t j = 0; j < n; j += WEFT_LANES) {
        v16f quarters[QUERIES][4];
        WEFT_UNROLL for (size_t g = 0; g < 4; g++) {
            const char *key[4];
            v16f lanes[QUERIES][4];
            for (size_t i = 0; i < 4; i++) {
                size_t at = j + 4 * i + g; /* what lies beyond the last is computed for nobody */
                key[i] = k + (at < n ? at : n - 1) * stride;
                if (ahead != NULL)
                    fetch_row(ahead + at * stride, row_bytes);
            }
            four_keys(dtype, q, n_q, dim, key, lanes);
            WEFT_UNROLL for (size_t r = 0; r < n_q; r++) quarters[r][g] =
                v16f_quarters(lanes[r][0], lanes[r][1], lanes[r][2], lanes[r][3]);
        }
        WEFT_UNROLL for (size_t r = 0; r < n_q; r++)
            v16f_store(s + r * ld + j, v16f_quarter_sums(quarters[r][0], quarters[r][1],
                                                         quarters[r][2], quarters[r][3]));
    }
}

WEFT_INLINE void few_scores_of_type(weft_dtype dtype, const float *q, size_t n_q, size_t dim,
                                    const char *k, size_t stride, size_t n, const char *ahead,
                                    float *s, size_t ld) {
    size_t row_bytes = cache_row_bytes(dtype, dim), dim16 = lanes_up(dim);
    for (; n_q >= QUERIES; n_q -= QUERIES, q += QUERIES * dim16, s += QUERIES * ld) {
        few_scores_of(dtype, q, QUERIES, dim, k, stride, n, ahead, row_bytes, s, ld);
        ahead = NULL;
    }
    if (QUERIES > 3 && n_q == 3)
        few_scores_of(dtype, q, 3, dim, k, stride, n, ahead, row_bytes, s, ld);
    else if (QUERIES > 2 && n_q == 2)
        few_scores_of(dtype, q, 2, dim, k, stride, n, ahead, row_bytes, s, ld);
    else if (QUERIES > 1 && n_q == 1)
        few_scores_of(dtype, q, 1, dim, k, stride, n, ahead, row_bytes, s, ld);
}

WEFT_INLINE void attn_few_scores_body(weft_dtype dtype, const float *q, size_t n_q, size_t dim,
                                      const void *k, size_t stride_bytes, size_t n,
                                      const void *ahead, float *s, size_t ld) {
    if (dtype == WEFT_F16)
        few_scores_of_type(WEFT_F16, q, n_q, dim, k, stride_bytes, n, ahead, s, ld);
    else if (dtype == WEFT_BF16)
        few_scores_of_type(WEFT_BF16, q, n_q, dim, k, stride_bytes, n, ahead, s, ld);
    else if (dtype == WEFT_Q8_0)
        few_scores_of_type(WEFT_Q8_0, q, n_q, dim, k, stride_bytes, n, ahead, s, ld);
    else
        few_scores_of_type(WEFT_F32, q, n_q, dim, k, stride_bytes, n, ahead, s, ld);
}

/* `vectors` times 16 elements from element i on, `part` of them in the last; n_q and vectors are
 * constant once inlined. */
WEFT_INLINE void few_values_tile(weft_dtype dtype, const float *p, size_t ldp, size_t n_q,
                                 const char *v, size_t stride, size_t i, size_t part, size_t n,
                                 size_t vectors, const char *ahead, const float *factors,
                                 float *acc, size_t ld) {
    size_t from = cache_row_bytes(dtype, i); /* each tile asks for its own part of a row */
    size_t bytes = cache_row_bytes(dtype, i + vectors * WEFT_LANES) - from;
    v16f a[QUERIES][VECTORS];
    WEFT_UNROLL for (size_t r = 0; r < n_q; r++) WEFT_UNROLL for (size_t c = 0; c < vectors; c++)
        a[r][c] = v16f_set1(0);
    for (size_t j = 0; j < n; j++, v += stride) {
        v16f value[VECTORS];
        if (ahead != NULL)
            fetch_row(ahead + j * stride + from, bytes);
        WEFT_UNROLL for (size_t c = 0; c < vectors; c++) value[c] =
            cache_load(dtype, v, i + c * WEFT_LANES, part);
        WEFT_UNROLL for (size_t r = 0; r < n_q; r++) {
            v16f b = v16f_set1(p[r * ldp + j]);
            WEFT_UNROLL for (size_t c = 0; c < vectors; c++) a[r][c] =
                v16f_fma(b, value[c], a[r][c]);
        }
    }
    WEFT_UNROLL for (size_t r = 0; r < n_q; r++) WEFT_UNROLL for (size_t c = 0; c < vectors; c++) {
        float *to = acc + r * ld + i + c * WEFT_LANES;
        if (factors != NULL)
            a[r][c] = v16f_fma(a[r][c], v16f_set1(factors[2 * r + 1]),
                               v16f_mul(v16f_load(to), v16f_set1(factors[2 * r])));
        v16f_store(to, a[r][c]);
    }
}

WEFT_INLINE void few_values_of(weft_dtype dtype, const float *p, size_t ldp, size_t n_q,
                               const char *v, size_t stride, size_t dim, size_t n,
                               const char *ahead, const float *factors, float *acc) {
    size_t i = 0, ld = lanes_up(dim);
    for (; VECTORS > 1 && i + VECTORS * WEFT_LANES <= dim; i += VECTORS * WEFT_LANES)
        few_values_tile(dtype, p, ldp, n_q, v, stride, i, WEFT_LANES, n, VECTORS, ahead, factors,
                        acc, ld);
    for (; i + WEFT_LANES <= dim; i += WEFT_LANES)
        few_values_tile(dtype, p, ldp, n_q, v, stride, i, WEFT_LANES, n, 1, ahead, factors, acc,
                        ld);
    if (i < dim)
        few_values_tile(dtype, p, ldp, n_q, v, stride, i, dim - i, n, 1, ahead, factors, acc, ld);
}

WEFT_INLINE void few_values_of_type(weft_dtype dtype, const float *p, size_t ldp, size_t n_q,
                                    const char *v, size_t stride, size_t dim, size_t n,
                                    const char *ahead, const float *factors, float *acc) {
    size_t ld = lanes_up(dim);
    for (; n_q >= QUERIES; n_q -= QUERIES, p += QUERIES * ldp, acc += QUERIES * ld) {
        few_values_of(dtype, p, ldp, QUERIES, v, stride, dim, n, ahead, factors, acc);
        factors = factors == NULL ? NULL : factors + 2 * QUERIES;
        ahead = NULL;
    }
    if (QUERIES > 3 && n_q == 3)
        few_values_of(dtype, p, ldp, 3, v, stride, dim, n, ahead, factors, acc);
    else if (QUERIES > 2 && n_q == 2)
        few_values_of(dtype, p, ldp, 2, v, stride, dim, n, ahead, factors, acc);
    else if (QUERIES > 1 && n_q == 1)
        few_values_of(dtype, p, ldp, 1, v, stride, dim, n, ahead, factors, acc);
}

WEFT_INLINE void attn_few_values_body(weft_dtype dtype, const float *p, size_t ldp, size_t n_q,
                                      const void *v, size_t stride_bytes, size_t dim, size_t n,
                                      const void *ahead, const float *factors, float *acc) {
    if (dtype == WEFT_F16)
        few_values_of_type(WEFT_F16, p, ldp, n_q, v, stride_bytes, dim, n, ahead, factors, acc);
    else if (dtype == WEFT_BF16)
        few_values_of_type(WEFT_BF16, p, ldp, n_q, v, stride_bytes, dim, n, ahead, factors, acc);
    else if (dtype == WEFT_Q8_0)
        few_values_of_type(WEFT_Q8_0, p, ldp, n_q, v, stride_bytes, dim, n, ahead, factors, acc);
    else
        few_values_of_type(WEFT_F32, p, ldp, n_q, v, stride_bytes, dim, n, ahead, factors, acc);
}

#endif
