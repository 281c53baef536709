/* 16 lanes in four 128-bit registers (armv8-a Advanced SIMD). */
#ifndef WEFT_KERNELS_LANES_NEON_H
#define WEFT_KERNELS_LANES_NEON_H

#include <arm_neon.h>
#include "tensor/kernels/lanes.h"

#define WEFT_KERNEL(name) name##_neon
#define WEFT_TILE_ROWS 5 /* 20 sums, 4 weights and the activations fit 32 registers */
#define WEFT_GEMM_ROWS 6
#define WEFT_GEMM_VECTORS 1
#define WEFT_ATTN_QUERIES 4
#define WEFT_ATTN_VECTORS 1
#define WEFT_ATTN_KEYS 1

typedef struct v16f {
    float32x4_t v[4];
} v16f;
typedef struct v16i {
    int32x4_t v[4];
} v16i;

#define QUARTERS(type, value)                                                                      \
    type r;                                                                                        \
    WEFT_UNROLL for (int i = 0; i < 4; i++) r.v[i] = (value);                                      \
    return r

WEFT_INLINE v16f v16f_set1(float x) {
    QUARTERS(v16f, vdupq_n_f32(x));
}
WEFT_INLINE v16f v16f_load(const float *p) {
    QUARTERS(v16f, vld1q_f32(p + 4 * i));
}
WEFT_INLINE void v16f_store(float *p, v16f x) {
    WEFT_UNROLL for (int i = 0; i < 4; i++) vst1q_f32(p + 4 * i, x.v[i]);
}
WEFT_INLINE v16f v16f_load_f16(const uint16_t *p) {
    QUARTERS(v16f, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p + 4 * i))));
}
WEFT_INLINE float v16f_one_f16(uint16_t h) {
    return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(h))), 0);
}
WEFT_INLINE v16f v16f_load_bf16(const uint16_t *p) {
    QUARTERS(v16f, vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p + 4 * i), 16)));
}
WEFT_INLINE v16f v16f_load_s8(const int8_t *p) {
    int8x16_t bytes = vld1q_s8(p);
    int16x8_t lo = vmovl_s8(vget_low_s8(bytes)), hi = vmovl_s8(vget_high_s8(bytes));
    return (v16f){
        {vcvtq_f32_s32(vmovl_s16(vget_low_s16(lo))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(lo))),
         vcvtq_f32_s32(vmovl_s16(vget_low_s16(hi))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(hi)))}};
}
WEFT_INLINE void v16f_store_f16(uint16_t *p, v16f x) {
    WEFT_UNROLL for (int i = 0; i < 4; i++)
        vst1_u16(p + 4 * i, vreinterpret_u16_f16(vcvt_f16_f32(x.v[i])));
}
WEFT_INLINE v16f v16f_add(v16f x, v16f y) {
    QUARTERS(v16f, vaddq_f32(x.v[i], y.v[i]));
}
WEFT_INLINE v16f v16f_sub(v16f x, v16f y) {
    QUARTERS(v16f, vsubq_f32(x.v[i], y.v[i]));
}
WEFT_INLINE v16f v16f_mul(v16f x, v16f y) {
    QUARTERS(v16f, vmulq_f32(x.v[i], y.v[i]));
}
WEFT_INLINE v16f v16f_div(v16f x, v16f y) {
    QUARTERS(v16f, vdivq_f32(x.v[i], y.v[i]));
}
WEFT_INLINE v16f v16f_fma(v16f x, v16f y, v16f z) {
    QUARTERS(v16f, vfmaq_f32(z.v[i], x.v[i], y.v[i]));
}
WEFT_INLINE v16f v16f_min(v16f x, v16f y) {
    QUARTERS(v16f, vbslq_f32(vcltq_f32(x.v[i], y.v[i]), x.v[i], y.v[i]));
}
WEFT_INLINE v16f v16f_max(v16f x, v16f y) {
    QUARTERS(v16f, vbslq_f32(vcgtq_f32(x.v[i], y.v[i]), x.v[i], y.v[i]));
}
WEFT_INLINE v16f v16f_if_less(v16f x, v16f y, v16f yes, v16f no) {
    QUARTERS(v16f, vbslq_f32(vcltq_f32(x.v[i], y.v[i]), yes.v[i], no.v[i]));
}
WEFT_INLINE v16i v16f_bits(v16f x) {
    QUARTERS(v16i, vreinterpretq_s32_f32(x.v[i]));
}
WEFT_INLINE v16f v16i_floats(v16i x) {
    QUARTERS(v16f, vreinterpretq_f32_s32(x.v[i]));
}
WEFT_INLINE v16i v16i_set1(int32_t x) {
    QUARTERS(v16i, vdupq_n_s32(x));
}
WEFT_INLINE v16i v16i_add(v16i x, v16i y) {
    QUARTERS(v16i, vaddq_s32(x.v[i], y.v[i]));
}
WEFT_INLINE v16i v16i_sub(v16i x, v16i y) {
    QUARTERS(v16i, vsubq_s32(x.v[i], y.v[i]));
}
WEFT_INLINE v16i v16i_and(v16i x, v16i y) {
    QUARTERS(v16i, vandq_s32(x.v[i], y.v[i]));
}
WEFT_INLINE v16i v16i_or(v16i x, v16i y) {
    QUARTERS(v16i, vorrq_s32(x.v[i], y.v[i]));
}
WEFT_INLINE v16i v16i_max(v16i x, v16i y) {
    QUARTERS(v16i, vmaxq_s32(x.v[i], y.v[i]));
}
WEFT_INLINE v16i v16i_to_exponent(v16i x) {
    QUARTERS(v16i, vshlq_n_s32(x.v[i], 23));
}
WEFT_INLINE v16i v16i_half(v16i x) {
    QUARTERS(v16i, vshrq_n_s32(x.v[i], 1));
}
WEFT_INLINE void v16i_store_s8(int8_t *p, v16i x) {
    int16x8_t lo = vcombine_s16(vmovn_s32(x.v[0]), vmovn_s32(x.v[1]));
    int16x8_t hi = vcombine_s16(vmovn_s32(x.v[2]), vmovn_s32(x.v[3]));
    vst1q_s8(p, vcombine_s8(vmovn_s16(lo), vmovn_s16(hi)));
}
WEFT_INLINE int32_t v16i_largest(v16i x) {
    return vmaxvq_s32(vmaxq_s32(vmaxq_s32(x.v[0], x.v[1]), vmaxq_s32(x.v[2], x.v[3])));
}
WEFT_INLINE int32_t v16i_sum(v16i x) {
    return vaddvq_s32(vaddq_s32(vaddq_s32(x.v[0], x.v[1]), vaddq_s32(x.v[2], x.v[3])));
}
/* Lanes i + (i + 8), then + (i + 4): the first two steps of the tree. */
WEFT_INLINE float32x4_t v16f_fold(v16f x) {
    return vaddq_f32(vaddq_f32(x.v[0], x.v[2]), vaddq_f32(x.v[1], x.v[3]));
}
WEFT_INLINE v16f v16f_quarters(v16f a, v16f b, v16f c, v16f d) {
    return (v16f){{v16f_fold(a), v16f_fold(b), v16f_fold(c), v16f_fold(d)}};
}
WEFT_INLINE float32x4_t v16f_half_sums(float32x4_t a, float32x4_t b) {
    return vaddq_f32(vcombine_f32(vget_low_f32(a), vget_low_f32(b)),
                     vcombine_f32(vget_high_f32(a), vget_high_f32(b)));
}
WEFT_INLINE v16f v16f_quarter_sums(v16f a, v16f b, v16f c, v16f d) {
    QUARTERS(v16f, vpaddq_f32(v16f_half_sums(a.v[i], b.v[i]), v16f_half_sums(c.v[i], d.v[i])));
}
WEFT_INLINE float v16f_sum(v16f x) {
    float32x4_t q = v16f_fold(x);
    float32x2_t s = vadd_f32(vget_low_f32(q), vget_high_f32(q));
    return vget_lane_f32(s, 0) + vget_lane_f32(s, 1);
}
WEFT_INLINE float v16f_largest(v16f x) {
    return vmaxvq_f32(vmaxq_f32(vmaxq_f32(x.v[0], x.v[1]), vmaxq_f32(x.v[2], x.v[3])));
}
/* Lane j of vector i goes to lane i of vector j, in squares of 4 by 4. */
WEFT_INLINE void v16f_transpose(v16f r[16]) {
    v16f t[16];
    WEFT_UNROLL for (int i = 0; i < 4; i++) WEFT_UNROLL for (int j = 0; j < 4; j++) {
        float32x4x2_t ab = vtrnq_f32(r[4 * i].v[j], r[4 * i + 1].v[j]);
        float32x4x2_t cd = vtrnq_f32(r[4 * i + 2].v[j], r[4 * i + 3].v[j]);
        for (int k = 0; k < 2; k++) {
            t[4 * j + k].v[i] = vcombine_f32(vget_low_f32(ab.val[k]), vget_low_f32(cd.val[k]));
            t[4 * j + k + 2].v[i] =
                vcombine_f32(vget_high_f32(ab.val[k]), vget_high_f32(cd.val[k]));
        }
    }
    memcpy(r, t, sizeof t);
}
#undef QUARTERS

#endif
