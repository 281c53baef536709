/* Steps of recurrent layers on 16 lanes, after a lanes_*.h header: short convolutions, the gated
 * delta rule (Yang, Kautz and Hatamizadeh 2024) and state spaces (Gu and Dao 2023; Dao and Gu
 * 2024). table.h has the definitions. */
#ifndef WEFT_KERNELS_RECURRENT_BODY_H
#define WEFT_KERNELS_RECURRENT_BODY_H

#include <math.h>
#include "tensor/kernels/ref/elementwise_body.h"

#define COLUMN_VECTORS 2 /* of a state that are worked on at once */

/* Sixteen floats, or the `part` that is left of them. */
WEFT_INLINE v16f load_up_to(const float *p, size_t part) {
    return part == WEFT_LANES ? v16f_load(p) : v16f_load_part(p, part, 0);
}

WEFT_INLINE void store_up_to(float *p, size_t part, v16f x) {
    if (part == WEFT_LANES)
        v16f_store(p, x);
    else
        v16f_store_part(p, part, x);
}

WEFT_INLINE void conv_row_body(const float *const *x, const float *w, size_t ldw, const float *bias,
                               size_t k, size_t n, float *y) {
    for (size_t i = 0; i < n; i += WEFT_LANES) {
        size_t part = n - i < WEFT_LANES ? n - i : WEFT_LANES;
        v16f sum = bias ? load_up_to(bias + i, part) : v16f_set1(0);
        for (size_t j = 0; j < k; j++)
            sum = v16f_fma(load_up_to(w + j * ldw + i, part), load_up_to(x[j] + i, part), sum);
        store_up_to(y + i, part, sum);
    }
}

/* `vectors` is constant once inlined; `part` is a whole vector unless it is one alone. */
WEFT_INLINE void delta_columns(const float *q, const float *k, const float *v, float decay,
                               float beta, size_t dim_k, const float *from, size_t ld_from,
                               float *to, size_t ld, float *y, size_t vectors, size_t part) {
    v16f by = v16f_set1(decay), sum[COLUMN_VECTORS], change[COLUMN_VECTORS];
    WEFT_UNROLL for (size_t c = 0; c < vectors; c++) sum[c] = v16f_set1(0);
    for (size_t i = 0; i < dim_k; i++) {
        v16f key = v16f_set1(k[i]);
        WEFT_UNROLL for (size_t c = 0; c < vectors; c++) {
            v16f s = v16f_mul(load_up_to(from + i * ld_from + c * WEFT_LANES, part), by);
            sum[c] = v16f_fma(s, key, sum[c]);
        }
    }
    WEFT_UNROLL for (size_t c = 0; c < vectors; c++) {
        v16f value = load_up_to(v + c * WEFT_LANES, part);
        change[c] = v16f_mul(v16f_sub(value, sum[c]), v16f_set1(beta));
        sum[c] = v16f_set1(0);
    }
    for (size_t i = 0; i < dim_k; i++) {
        v16f key = v16f_set1(k[i]), query = v16f_set1(q[i]);
        WEFT_UNROLL for (size_t c = 0; c < vectors; c++) {
            v16f s = v16f_mul(load_up_to(from + i * ld_from + c * WEFT_LANES, part), by);
            s = v16f_fma(key, change[c], s);
            store_up_to(to + i * ld + c * WEFT_LANES, part, s);
            sum[c] = v16f_fma(s, query, sum[c]);
        }
    }
    WEFT_UNROLL for (size_t c = 0; c < vectors; c++) store_up_to(y + c * WEFT_LANES, part, sum[c]);
}

WEFT_INLINE void delta_step_body(const float *q, const float *k, const float *v, float decay,
                                 float beta, size_t dim_k, size_t n, const float *from,
                                 size_t ld_from, float *to, size_t ld, float *y) {
    size_t i = 0, wide = COLUMN_VECTORS * WEFT_LANES;
    for (; i + wide <= n; i += wide)
        delta_columns(q, k, v + i, decay, beta, dim_k, from + i, ld_from, to + i, ld, y + i,
                      COLUMN_VECTORS, WEFT_LANES);
    for (; i + WEFT_LANES <= n; i += WEFT_LANES)
        delta_columns(q, k, v + i, decay, beta, dim_k, from + i, ld_from, to + i, ld, y + i, 1,
                      WEFT_LANES);
    if (i < n)
        delta_columns(q, k, v + i, decay, beta, dim_k, from + i, ld_from, to + i, ld, y + i, 1,
                      n - i);
}

/* One channel; `a` (may be NULL) as in ssm_scan, else every element decays by `decay`. */
WEFT_INLINE float ssm_row(size_t n, const float *from, float *to, const float *a, float dt,
                          float decay, float x, const float *b, const float *c, float d) {
    v16f sum = v16f_set1(0), factor = v16f_set1(decay), step = v16f_set1(dt);
    v16f input = v16f_set1(dt * x);
    for (size_t i = 0; i < n; i += WEFT_LANES) {
        size_t part = n - i < WEFT_LANES ? n - i : WEFT_LANES;
        if (a)
            factor = v16f_exp(v16f_mul(step, load_up_to(a + i, part)));
        v16f h =
            v16f_fma(load_up_to(from + i, part), factor, v16f_mul(input, load_up_to(b + i, part)));
        store_up_to(to + i, part, h);
        sum = v16f_fma(h, load_up_to(c + i, part), sum);
    }
    return fmaf(d, x, v16f_sum(sum));
}

WEFT_INLINE void ssm_scan_body(size_t rows, size_t n, const float *from, float *to, const float *a,
                               const float *dt, const float *x, const float *b, const float *c,
                               const float *d, float *y) {
    for (size_t r = 0; r < rows; r++)
        y[r] = ssm_row(n, from + r * n, to + r * n, a + r * n, dt[r], 1.0f, x[r], b, c, d[r]);
}

WEFT_INLINE void ssm_head_body(size_t rows, size_t n, const float *from, float *to, float decay,
                               float dt, const float *x, const float *b, const float *c, float d,
                               float *y) {
    for (size_t r = 0; r < rows; r++)
        y[r] = ssm_row(n, from + r * n, to + r * n, NULL, dt, decay, x[r], b, c, d);
}

#endif
