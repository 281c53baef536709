/* Attention of a group of query rows over one block of positions, after a lanes_*.h header. Keys
 * and values are widened to f32 once, for all rows of the group; keys are turned so that a vector
 * lane is a position. Virtual lane l of a dot product (docs/numerics.md) is then a vector of its
 * own, and the fixed tree over lanes needs no shuffle. */
#ifndef WEFT_KERNELS_ATTENTION_BODY_H
#define WEFT_KERNELS_ATTENTION_BODY_H

#include <math.h>
#include <weft/tensor.h>
#include "base/floats.h"
#include "tensor/kernels/ref/elementwise_body.h"

#define QUERIES WEFT_ATTN_QUERIES /* of one register tile */
#define VECTORS WEFT_ATTN_VECTORS

WEFT_INLINE size_t lanes_up(size_t n) {
    return (n + WEFT_LANES - 1) / WEFT_LANES * WEFT_LANES;
}

/* 16 elements from element i of a row of the cache, or the `part` that is left of it. Rows of q8_0
 * are whole blocks: an f16 scale and 32 int8 each. */
WEFT_INLINE v16f cache_load(weft_dtype dtype, const void *row, size_t i, size_t part) {
    if (dtype == WEFT_Q8_0) {
        const uint8_t *block = (const uint8_t *)row + i / 32 * 34;
        float d = v16f_one_f16((uint16_t)(block[0] | block[1] << 8));
        return v16f_mul(v16f_set1(d), v16f_load_s8((const int8_t *)block + 2 + i % 32));
    }
    if (dtype == WEFT_F32) {
        const float *p = (const float *)row + i;
        return part == WEFT_LANES ? v16f_load(p) : v16f_load_part(p, part, 0);
    }
    uint16_t buf[WEFT_LANES] = {0};
    const uint16_t *p = (const uint16_t *)row + i;
    if (part < WEFT_LANES) {
        memcpy(buf, p, part * sizeof *p);
        p = buf;
    }
    return dtype == WEFT_F16 ? v16f_load_f16(p) : v16f_load_bf16(p);
}

/* What dim elements of a row take. */
WEFT_INLINE size_t cache_row_bytes(weft_dtype dtype, size_t dim) {
    return dtype == WEFT_Q8_0 ? (dim + 31) / 32 * 34 : dtype == WEFT_F32 ? 4 * dim : 2 * dim;
}

WEFT_INLINE void keys_of_type(weft_dtype dtype, const void *k, size_t stride_bytes, size_t dim,
                              size_t n, float *keys, size_t ld) {
    size_t chunks = lanes_up(dim) / WEFT_LANES;
    for (size_t j = 0; j < n; j += WEFT_LANES) {
        size_t rows = n - j < WEFT_LANES ? n - j : WEFT_LANES;
        const char *row = (const char *)k + j * stride_bytes;
        for (size_t c = 0; c < chunks; c++) {
            size_t i = c * WEFT_LANES, part = dim - i < WEFT_LANES ? dim - i : WEFT_LANES;
            v16f r[WEFT_LANES];
            if (rows == WEFT_LANES && part == WEFT_LANES) {
                WEFT_UNROLL for (size_t l = 0; l < WEFT_LANES; l++) r[l] =
                    cache_load(dtype, row + l * stride_bytes, i, WEFT_LANES);
            } else {
                for (size_t l = 0; l < WEFT_LANES; l++)
                    r[l] = l < rows ? cache_load(dtype, row + l * stride_bytes, i, part)
                                    : v16f_set1(0);
            }
            v16f_transpose(r);
            WEFT_UNROLL for (size_t l = 0; l < WEFT_LANES; l++)
                v16f_store(keys + (l * chunks + c) * ld + j, r[l]);
        }
    }
}

WEFT_INLINE void attn_keys_body(weft_dtype dtype, const void *k, size_t stride_bytes, size_t dim,
                                size_t n, float *keys, size_t ld) {
    if (dtype == WEFT_F16)
        keys_of_type(WEFT_F16, k, stride_bytes, dim, n, keys, ld);
    else if (dtype == WEFT_BF16)
        keys_of_type(WEFT_BF16, k, stride_bytes, dim, n, keys, ld);
    else if (dtype == WEFT_Q8_0)
        keys_of_type(WEFT_Q8_0, k, stride_bytes, dim, n, keys, ld);
    else
        keys_of_type(WEFT_F32, k, stride_bytes, dim, n, keys, ld);
}

WEFT_INLINE void rows_of_type(weft_dtype dtype, const void *v, size_t stride_bytes, size_t dim,
                              size_t n, float *rows) {
    size_t ld = lanes_up(dim), full = dim / WEFT_LANES * WEFT_LANES;
    for (size_t j = 0; j < n; j++) {
        const char *row = (const char *)v + j * stride_bytes;
        for (size_t i = 0; i < full; i += WEFT_LANES)
            v16f_store(rows + j * ld + i, cache_load(dtype, row, i, WEFT_LANES));
        if (full < dim)
            v16f_store(rows + j * ld + full, cache_load(dtype, row, full, dim - full));
    }
}

WEFT_INLINE void attn_rows_body(weft_dtype dtype, const void *v, size_t stride_bytes, size_t dim,
                                size_t n, float *rows) {
    if (dtype == WEFT_F16)
        rows_of_type(WEFT_F16, v, stride_bytes, dim, n, rows);
    else if (dtype == WEFT_BF16)
        rows_of_type(WEFT_BF16, v, stride_bytes, dim, n, rows);
    else if (dtype == WEFT_Q8_0)
        rows_of_type(WEFT_Q8_0, v, stride_bytes, dim, n, rows);
    else
        rows_of_type(WEFT_F32, v, stride_bytes, dim, n, rows);
}

/* Virtual lanes in the order in which a walk of the tree from left to right meets them. */
static const uint8_t tree_order[WEFT_LANES] = {0, 8, 4, 12, 2, 10, 6, 14,
                                               1, 9, 5, 13, 3, 11, 7, 15};

/* n_q queries against `vectors` times 16 positions; both are constant once inlined. */
WEFT_INLINE void scores_tile(const float *q, size_t n_q, size_t chunks, const float *keys,
                             size_t ld, size_t vectors, float *s) {
    v16f left[4][QUERIES][VECTORS]; /* finished left branches, by height */
    for (size_t n = 0; n < WEFT_LANES; n++) {
        size_t lane = tree_order[n], height = 0;
        const float *k = keys + lane * chunks * ld, *x = q + lane;
        v16f acc[QUERIES][VECTORS];
        WEFT_UNROLL for (size_t r = 0; r < n_q; r++)
            WEFT_UNROLL for (size_t v = 0; v < vectors; v++) acc[r][v] = v16f_set1(0);
        for (size_t c = 0; c < chunks; c++, k += ld, x += WEFT_LANES) {
            v16f key[VECTORS];
            WEFT_UNROLL for (size_t v = 0; v < vectors; v++) key[v] = v16f_load(k + v * WEFT_LANES);
            WEFT_UNROLL for (size_t r = 0; r < n_q; r++) {
                v16f b = v16f_set1(x[r * chunks * WEFT_LANES]);
                WEFT_UNROLL for (size_t v = 0; v < vectors; v++) acc[r][v] =
                    v16f_fma(b, key[v], acc[r][v]);
            }
        }
        for (; n >> height & 1; height++)
            WEFT_UNROLL for (size_t r = 0; r < n_q; r++)
                WEFT_UNROLL for (size_t v = 0; v < vectors; v++) acc[r][v] =
                    v16f_add(left[height][r][v], acc[r][v]);
        if (n + 1 == WEFT_LANES) {
            WEFT_UNROLL for (size_t r = 0; r < n_q; r++)
                WEFT_UNROLL for (size_t v = 0; v < vectors; v++)
                    v16f_store(s + r * ld + v * WEFT_LANES, acc[r][v]);
        } else {
            WEFT_UNROLL for (size_t r = 0; r < n_q; r++)
                WEFT_UNROLL for (size_t v = 0; v < vectors; v++) left[height][r][v] = acc[r][v];
        }
    }
}

WEFT_INLINE void scores_of_queries(const float *q, size_t n_q, size_t chunks, const float *keys,
                                   size_t ld, size_t n, float *s) {
    size_t j = 0;
    for (; VECTORS > 1 && j + (VECTORS - 1) * WEFT_LANES < n; j += VECTORS * WEFT_LANES)
        scores_tile(q, n_q, chunks, keys + j, ld, VECTORS, s + j);
    for (; j < n; j += WEFT_LANES)
        scores_tile(q, n_q, chunks, keys + j, ld, 1, s + j);
}

WEFT_INLINE void attn_scores_body(const float *q, size_t n_q, size_t dim, const float *keys,
                                  size_t ld, size_t n, float *s) {
    size_t chunks = lanes_up(dim) / WEFT_LANES, row = chunks * WEFT_LANES;
    for (; n_q >= QUERIES; n_q -= QUERIES, q += QUERIES * row, s += QUERIES * ld)
        scores_of_queries(q, QUERIES, chunks, keys, ld, n, s);
    if (QUERIES > 3 && n_q == 3)
        scores_of_queries(q, 3, chunks, keys, ld, n, s);
    else if (QUERIES > 2 && n_q == 2)
        scores_of_queries(q, 2, chunks, keys, ld, n, s);
    else if (QUERIES > 1 && n_q == 1)
        scores_of_queries(q, 1, chunks, keys, ld, n, s);
}

/* A whole block of 64 without a soft cap stays in registers. */
WEFT_INLINE void softmax_block(float *s, v16f by, float *most, float *sum) {
    v16f x[4], top = v16f_set1(-INFINITY), total = v16f_set1(0);
    WEFT_UNROLL for (size_t i = 0; i < 4; i++) {
        x[i] = v16f_mul(v16f_load(s + i * WEFT_LANES), by);
        top = v16f_max(x[i], top);
    }
    *most = v16f_largest(top);
    v16f m = v16f_set1(*most);
    WEFT_UNROLL for (size_t i = 0; i < 4; i++) {
        v16f e = v16f_exp(v16f_sub(x[i], m));
        v16f_store(s + i * WEFT_LANES, e);
        total = v16f_add(total, e);
    }
    *sum = v16f_sum(total);
}

/* Scale, soft cap, exponentials below the largest, and their sum by lanes. */
WEFT_INLINE void attn_softmax_body(float *s, size_t n, float scale, float softcap, float *most,
                                   float *sum) {
    v16f by = v16f_set1(scale), cap = v16f_set1(softcap), top = v16f_set1(-INFINITY);
    if (n == 4 * WEFT_LANES && !(softcap > 0)) {
        softmax_block(s, by, most, sum);
        return;
    }
    size_t i, full = n / WEFT_LANES * WEFT_LANES;
    for (i = 0; i < n; i += WEFT_LANES) {
        size_t part = n - i < WEFT_LANES ? n - i : WEFT_LANES;
        v16f x = part == WEFT_LANES ? v16f_load(s + i) : v16f_load_part(s + i, part, -INFINITY);
        x = v16f_mul(x, by);
        if (softcap > 0)
            x = v16f_mul(v16f_tanh(v16f_div(x, cap)), cap);
        if (part == WEFT_LANES) {
            v16f_store(s + i, x);
        } else {
            v16f_store_part(s + i, part, x);
            x = v16f_load_part(s + i, part, -INFINITY);
        }
        top = v16f_max(x, top); /* a NaN in x is passed over */
    }
    float largest = v16f_largest(top);
    v16f m = v16f_set1(largest), total = v16f_set1(0);
    for (i = 0; i < full; i += WEFT_LANES) {
        v16f e = v16f_exp(v16f_sub(v16f_load(s + i), m));
        v16f_store(s + i, e);
        total = v16f_add(total, e);
    }
    if (i < n) {
        v16f_store_part(s + i, n - i, v16f_exp(v16f_sub(v16f_load_part(s + i, n - i, largest), m)));
        total = v16f_add(total, v16f_load_part(s + i, n - i, 0));
    }
    *most = largest;
    *sum = v16f_sum(total);
}

WEFT_INLINE void values_tile(const float *p, size_t ldp, size_t n_q, const float *v, size_t ld,
                             size_t n, size_t vectors, const float *factors, float *acc) {
    v16f a[QUERIES][VECTORS];
    WEFT_UNROLL for (size_t r = 0; r < n_q; r++) WEFT_UNROLL for (size_t c = 0; c < vectors; c++)
        a[r][c] = v16f_set1(0);
    for (size_t j = 0; j < n; j++, v += ld) {
        v16f value[VECTORS];
        WEFT_UNROLL for (size_t c = 0; c < vectors; c++) value[c] = v16f_load(v + c * WEFT_LANES);
        WEFT_UNROLL for (size_t r = 0; r < n_q; r++) {
            v16f b = v16f_set1(p[r * ldp + j]);
            WEFT_UNROLL for (size_t c = 0; c < vectors; c++) a[r][c] =
                v16f_fma(b, value[c], a[r][c]);
        }
    }
    WEFT_UNROLL for (size_t r = 0; r < n_q; r++) WEFT_UNROLL for (size_t c = 0; c < vectors; c++) {
        float *to = acc + r * ld + c * WEFT_LANES;
        if (factors != NULL)
            a[r][c] = v16f_fma(a[r][c], v16f_set1(factors[2 * r + 1]),
                               v16f_mul(v16f_load(to), v16f_set1(factors[2 * r])));
        v16f_store(to, a[r][c]);
    }
}

WEFT_INLINE void values_of_queries(const float *p, size_t ldp, size_t n_q, const float *v,
                                   size_t ld, size_t n, const float *factors, float *acc) {
    size_t i = 0;
    for (; VECTORS > 1 && i + (VECTORS - 1) * WEFT_LANES < ld; i += VECTORS * WEFT_LANES)
        values_tile(p, ldp, n_q, v + i, ld, n, VECTORS, factors, acc + i);
    for (; i < ld; i += WEFT_LANES)
        values_tile(p, ldp, n_q, v + i, ld, n, 1, factors, acc + i);
}

WEFT_INLINE void attn_values_body(const float *p, size_t ldp, size_t n_q, const float *v,
                                  size_t dim, size_t n, const float *factors, float *acc) {
    size_t ld = lanes_up(dim);
    for (; n_q >= QUERIES; n_q -= QUERIES) {
        values_of_queries(p, ldp, QUERIES, v, ld, n, factors, acc);
        p += QUERIES * ldp;
        acc += QUERIES * ld;
        factors = factors == NULL ? NULL : factors + 2 * QUERIES;
    }
    if (QUERIES > 3 && n_q == 3)
        values_of_queries(p, ldp, 3, v, ld, n, factors, acc);
    else if (QUERIES > 2 && n_q == 2)
        values_of_queries(p, ldp, 2, v, ld, n, factors, acc);
    else if (QUERIES > 1 && n_q == 1)
        values_of_queries(p, ldp, 1, v, ld, n, factors, acc);
}

/* `vectors` times 16 elements; constant once inlined. */
WEFT_INLINE void merge_tile(const float *parts, size_t stride, size_t n_parts, size_t vectors,
                            const float *factors, float *acc) {
    v16f a[VECTORS];
    WEFT_UNROLL for (size_t c = 0; c < vectors; c++) a[c] = v16f_load(acc + c * WEFT_LANES);
    for (size_t b = 0; b < n_parts; b++, parts += stride) {
        v16f f = v16f_set1(factors[2 * b]), g = v16f_set1(factors[2 * b + 1]);
        WEFT_UNROLL for (size_t c = 0; c < vectors; c++) a[c] =
            v16f_fma(v16f_load(parts + c * WEFT_LANES), g, v16f_mul(a[c], f));
    }
    WEFT_UNROLL for (size_t c = 0; c < vectors; c++) v16f_store(acc + c * WEFT_LANES, a[c]);
}

WEFT_INLINE void attn_merge_body(const float *parts, size_t stride, size_t n_parts,
                                 const float *factors, size_t n, float *acc) {
    size_t i = 0;
    for (; VECTORS > 1 && i + VECTORS * WEFT_LANES <= n; i += VECTORS * WEFT_LANES)
        merge_tile(parts + i, stride, n_parts, VECTORS, factors, acc + i);
    for (; i + WEFT_LANES <= n; i += WEFT_LANES)
        merge_tile(parts + i, stride, n_parts, 1, factors, acc + i);
    for (; i < n; i++)
        for (size_t b = 0; b < n_parts; b++)
            acc[i] = fmaf(parts[b * stride + i], factors[2 * b + 1], acc[i] * factors[2 * b]);
}

#endif
