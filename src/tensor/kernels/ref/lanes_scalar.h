/* 16 lanes in plain C: the definition of every operation, and the baseline of any CPU. */
#ifndef WEFT_KERNELS_LANES_SCALAR_H
#define WEFT_KERNELS_LANES_SCALAR_H

#include <math.h>
#include "base/floats.h"
#include "tensor/kernels/lanes.h"

#define WEFT_KERNEL(name) name##_scalar
#define WEFT_TILE_ROWS 4 /* activation rows of one float tile */
#define WEFT_GEMM_ROWS 4
#define WEFT_GEMM_VECTORS 1
#define WEFT_ATTN_QUERIES 2
#define WEFT_ATTN_VECTORS 1
#define WEFT_ATTN_KEYS 1

typedef struct v16f {
    float v[16];
} v16f;
typedef struct v16i {
    int32_t v[16];
} v16i;

#define LANES(type, value)                                                                         \
    type r;                                                                                        \
    for (int i = 0; i < 16; i++)                                                                   \
        r.v[i] = (value);                                                                          \
    return r

WEFT_INLINE v16f v16f_set1(float x) {
    LANES(v16f, x);
}
WEFT_INLINE v16f v16f_load(const float *p) {
    LANES(v16f, p[i]);
}
WEFT_INLINE void v16f_store(float *p, v16f a) {
    memcpy(p, a.v, sizeof a.v);
}
WEFT_INLINE v16f v16f_load_f16(const uint16_t *p) {
    LANES(v16f, weft_f16_to_f32(p[i]));
}
WEFT_INLINE float v16f_one_f16(uint16_t h) {
    return weft_f16_to_f32(h);
}
WEFT_INLINE v16f v16f_load_bf16(const uint16_t *p) {
    LANES(v16f, weft_bf16_to_f32(p[i]));
}
WEFT_INLINE v16f v16f_load_s8(const int8_t *p) {
    LANES(v16f, (float)p[i]);
}
WEFT_INLINE void v16f_store_f16(uint16_t *p, v16f a) {
    for (int i = 0; i < 16; i++)
        p[i] = weft_f32_to_f16(a.v[i]);
}
WEFT_INLINE v16f v16f_add(v16f a, v16f b) {
    LANES(v16f, a.v[i] + b.v[i]);
}
WEFT_INLINE v16f v16f_sub(v16f a, v16f b) {
    LANES(v16f, a.v[i] - b.v[i]);
}
WEFT_INLINE v16f v16f_mul(v16f a, v16f b) {
    LANES(v16f, a.v[i] * b.v[i]);
}
WEFT_INLINE v16f v16f_div(v16f a, v16f b) {
    LANES(v16f, a.v[i] / b.v[i]);
}
WEFT_INLINE v16f v16f_fma(v16f a, v16f b, v16f c) {
    LANES(v16f, fmaf(a.v[i], b.v[i], c.v[i]));
}
WEFT_INLINE v16f v16f_min(v16f a, v16f b) {
    LANES(v16f, a.v[i] < b.v[i] ? a.v[i] : b.v[i]);
}
WEFT_INLINE v16f v16f_max(v16f a, v16f b) {
    LANES(v16f, a.v[i] > b.v[i] ? a.v[i] : b.v[i]);
}
/* a < b ? x : y */
WEFT_INLINE v16f v16f_if_less(v16f a, v16f b, v16f x, v16f y) {
    LANES(v16f, a.v[i] < b.v[i] ? x.v[i] : y.v[i]);
}
WEFT_INLINE v16i v16f_bits(v16f a) {
    LANES(v16i, (int32_t)weft_bits_of(a.v[i]));
}
WEFT_INLINE v16f v16i_floats(v16i a) {
    LANES(v16f, weft_float_of((uint32_t)a.v[i]));
}
WEFT_INLINE v16i v16i_set1(int32_t x) {
    LANES(v16i, x);
}
WEFT_INLINE v16i v16i_add(v16i a, v16i b) {
    LANES(v16i, (int32_t)((uint32_t)a.v[i] + (uint32_t)b.v[i]));
}
WEFT_INLINE v16i v16i_sub(v16i a, v16i b) {
    LANES(v16i, (int32_t)((uint32_t)a.v[i] - (uint32_t)b.v[i]));
}
WEFT_INLINE v16i v16i_and(v16i a, v16i b) {
    LANES(v16i, a.v[i] & b.v[i]);
}
WEFT_INLINE v16i v16i_or(v16i a, v16i b) {
    LANES(v16i, a.v[i] | b.v[i]);
}
WEFT_INLINE v16i v16i_max(v16i a, v16i b) {
    LANES(v16i, a.v[i] > b.v[i] ? a.v[i] : b.v[i]);
}
/* a << 23, into the place of a float's exponent. */
WEFT_INLINE v16i v16i_to_exponent(v16i a) {
    LANES(v16i, (int32_t)((uint32_t)a.v[i] << 23));
}
/* a / 2 rounded down. */
WEFT_INLINE v16i v16i_half(v16i a) {
    LANES(v16i, a.v[i] >> 1);
}
/* The low bytes. */
WEFT_INLINE void v16i_store_s8(int8_t *p, v16i a) {
    for (int i = 0; i < 16; i++)
        p[i] = (int8_t)a.v[i];
}
WEFT_INLINE int32_t v16i_largest(v16i a) {
    int32_t m = a.v[0];
    for (int i = 1; i < 16; i++)
        m = a.v[i] > m ? a.v[i] : m;
    return m;
}
WEFT_INLINE int32_t v16i_sum(v16i a) {
    int32_t s = 0;
    for (int i = 0; i < 16; i++)
        s += a.v[i];
    return s;
}
WEFT_INLINE float v16f_sum(v16f a) {
    for (int step = 8; step; step /= 2)
        for (int i = 0; i < step; i++)
            a.v[i] += a.v[i + step];
    return a.v[0];
}
/* The first two steps of the tree for four vectors: lane 4 k + i is lane i of the k-th's. */
WEFT_INLINE v16f v16f_quarters(v16f a, v16f b, v16f c, v16f d) {
    const v16f *from[4] = {&a, &b, &c, &d};
    v16f r;
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 4; i++)
            r.v[4 * k + i] =
                (from[k]->v[i] + from[k]->v[i + 8]) + (from[k]->v[i + 4] + from[k]->v[i + 12]);
    return r;
}
/* The last two steps: lane 4 k + i is the sum of the k-th quarter of the i-th vector. */
WEFT_INLINE v16f v16f_quarter_sums(v16f a, v16f b, v16f c, v16f d) {
    const v16f *from[4] = {&a, &b, &c, &d};
    v16f r;
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 4; i++) {
            const float *x = from[i]->v + 4 * k;
            r.v[4 * k + i] = (x[0] + x[2]) + (x[1] + x[3]);
        }
    return r;
}
/* The greatest lane, in any order: for lanes without NaN. */
WEFT_INLINE float v16f_largest(v16f a) {
    float m = a.v[0];
    for (int i = 1; i < 16; i++)
        m = a.v[i] > m ? a.v[i] : m;
    return m;
}
WEFT_INLINE void v16f_transpose(v16f r[16]) {
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < i; j++) {
            float x = r[i].v[j];
            r[i].v[j] = r[j].v[i];
            r[j].v[i] = x;
        }
}
#undef LANES

#endif
