/* 16 lanes in one 512-bit register (AVX-512 F, BW, DQ, VL). */
#ifndef WEFT_KERNELS_LANES_AVX512_H
#define WEFT_KERNELS_LANES_AVX512_H

#include <immintrin.h>
#include "tensor/kernels/lanes.h"

#define WEFT_KERNEL(name) name##_avx512
#define WEFT_TILE_ROWS 8
#define WEFT_GEMM_ROWS 8
#define WEFT_GEMM_VECTORS 3
#define WEFT_ATTN_QUERIES 4
#define WEFT_ATTN_VECTORS 4
#define WEFT_ATTN_KEYS 4

typedef __m512 v16f;
typedef __m512i v16i;

WEFT_INLINE v16f v16f_set1(float x) {
    return _mm512_set1_ps(x);
}
WEFT_INLINE v16f v16f_load(const float *p) {
    return _mm512_loadu_ps(p);
}
WEFT_INLINE void v16f_store(float *p, v16f x) {
    _mm512_storeu_ps(p, x);
}
WEFT_INLINE v16f v16f_load_f16(const uint16_t *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}
WEFT_INLINE float v16f_one_f16(uint16_t h) {
    return _cvtsh_ss(h);
}
WEFT_INLINE v16f v16f_load_bf16(const uint16_t *p) {
    __m512i w = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(w, 16));
}
WEFT_INLINE v16f v16f_load_s8(const int8_t *p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)));
}
WEFT_INLINE void v16f_store_f16(uint16_t *p, v16f x) {
    _mm256_storeu_si256((__m256i *)p, _mm512_maskz_cvtps_ph(0xffff, x, _MM_FROUND_TO_NEAREST_INT));
}
WEFT_INLINE v16f v16f_add(v16f x, v16f y) {
    return _mm512_add_ps(x, y);
}
WEFT_INLINE v16f v16f_sub(v16f x, v16f y) {
    return _mm512_sub_ps(x, y);
}
WEFT_INLINE v16f v16f_mul(v16f x, v16f y) {
    return _mm512_mul_ps(x, y);
}
WEFT_INLINE v16f v16f_div(v16f x, v16f y) {
    return _mm512_div_ps(x, y);
}
WEFT_INLINE v16f v16f_fma(v16f x, v16f y, v16f z) {
    return _mm512_fmadd_ps(x, y, z);
}
WEFT_INLINE v16f v16f_min(v16f x, v16f y) {
    return _mm512_min_ps(x, y);
}
WEFT_INLINE v16f v16f_max(v16f x, v16f y) {
    return _mm512_max_ps(x, y);
}
WEFT_INLINE v16f v16f_if_less(v16f x, v16f y, v16f yes, v16f no) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, y, _CMP_LT_OQ), no, yes);
}
WEFT_INLINE v16i v16f_bits(v16f x) {
    return _mm512_castps_si512(x);
}
WEFT_INLINE v16f v16i_floats(v16i x) {
    return _mm512_castsi512_ps(x);
}
WEFT_INLINE v16i v16i_set1(int32_t x) {
    return _mm512_set1_epi32(x);
}
WEFT_INLINE v16i v16i_add(v16i x, v16i y) {
    return _mm512_add_epi32(x, y);
}
WEFT_INLINE v16i v16i_sub(v16i x, v16i y) {
    return _mm512_sub_epi32(x, y);
}
WEFT_INLINE v16i v16i_and(v16i x, v16i y) {
    return _mm512_and_si512(x, y);
}
WEFT_INLINE v16i v16i_or(v16i x, v16i y) {
    return _mm512_or_si512(x, y);
}
WEFT_INLINE v16i v16i_max(v16i x, v16i y) {
    return _mm512_max_epi32(x, y);
}
WEFT_INLINE v16i v16i_to_exponent(v16i x) {
    return _mm512_slli_epi32(x, 23);
}
WEFT_INLINE v16i v16i_half(v16i x) {
    return _mm512_srai_epi32(x, 1);
}
WEFT_INLINE void v16i_store_s8(int8_t *p, v16i x) {
    _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8(x));
}
WEFT_INLINE int32_t v16i_largest(v16i x) {
    return _mm512_reduce_max_epi32(x);
}
WEFT_INLINE int32_t v16i_sum(v16i x) {
    return _mm512_reduce_add_epi32(x);
}
/* Lanes i + (i + 8): the first step of the tree. */
WEFT_INLINE __m256 v16f_fold(v16f x) {
    return _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
}
WEFT_INLINE float v16f_sum(v16f x) {
    __m256 s = v16f_fold(x);
    __m128 v = _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
    v = _mm_add_ps(v, _mm_movehl_ps(v, v));
    return _mm_cvtss_f32(_mm_add_ss(v, _mm_movehdup_ps(v)));
}
WEFT_INLINE v16f v16f_quarters(v16f a, v16f b, v16f c, v16f d) {
    v16f ab = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
    v16f cd = _mm512_add_ps(_mm512_shuffle_f32x4(c, d, 0x44), _mm512_shuffle_f32x4(c, d, 0xee));
    return _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xdd));
}
WEFT_INLINE v16f v16f_quarter_sums(v16f a, v16f b, v16f c, v16f d) {
    v16f ab = _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x44), _mm512_shuffle_ps(a, b, 0xee));
    v16f cd = _mm512_add_ps(_mm512_shuffle_ps(c, d, 0x44), _mm512_shuffle_ps(c, d, 0xee));
    return _mm512_add_ps(_mm512_shuffle_ps(ab, cd, 0x88), _mm512_shuffle_ps(ab, cd, 0xdd));
}
WEFT_INLINE float v16f_largest(v16f x) {
    return _mm512_reduce_max_ps(x);
}

/* Lane j of vector i goes to lane i of vector j: within 128 bits, then the quarters. */
WEFT_INLINE void v16f_transpose(v16f r[16]) {
    __m512 t[16];
    WEFT_UNROLL for (int i = 0; i < 16; i += 4) {
        __m512 a = _mm512_unpacklo_ps(r[i], r[i + 1]), b = _mm512_unpackhi_ps(r[i], r[i + 1]);
        __m512 c = _mm512_unpacklo_ps(r[i + 2], r[i + 3]);
        __m512 d = _mm512_unpackhi_ps(r[i + 2], r[i + 3]);
        t[i] = _mm512_shuffle_ps(a, c, 0x44);
        t[i + 1] = _mm512_shuffle_ps(a, c, 0xee);
        t[i + 2] = _mm512_shuffle_ps(b, d, 0x44);
        t[i + 3] = _mm512_shuffle_ps(b, d, 0xee);
    }
    WEFT_UNROLL for (int i = 0; i < 4; i++) {
        __m512 a = _mm512_shuffle_f32x4(t[i], t[i + 4], 0x88);
        __m512 b = _mm512_shuffle_f32x4(t[i], t[i + 4], 0xdd);
        __m512 c = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0x88);
        __m512 d = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0xdd);
        r[i] = _mm512_shuffle_f32x4(a, c, 0x88);
        r[i + 4] = _mm512_shuffle_f32x4(b, d, 0x88);
        r[i + 8] = _mm512_shuffle_f32x4(a, c, 0xdd);
        r[i + 12] = _mm512_shuffle_f32x4(b, d, 0xdd);
    }
}

#endif
