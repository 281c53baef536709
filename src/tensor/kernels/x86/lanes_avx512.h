/* 16 lanes in one 512-bit register (AVX-512 F, BW, DQ, VL). */
#ifndef WEFT_KERNELS_LANES_AVX512_H
#define WEFT_KERNELS_LANES_AVX512_H

#include <immintrin.h>
#include "tensor/kernels/lanes.h"

#define WEFT_TILE_ROWS 8

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
WEFT_INLINE v16f v16f_load_bf16(const uint16_t *p) {
    __m512i w = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(w, 16));
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
WEFT_INLINE float v16f_largest(v16f x) {
    return _mm512_reduce_max_ps(x);
}
/* The trees of four vectors side by side: each step packs two vectors' halves into one. */
WEFT_INLINE void v16f_sum4(v16f x, v16f y, v16f z, v16f w, float out[4]) {
    __m256 sx = v16f_fold(x), sy = v16f_fold(y), sz = v16f_fold(z), sw = v16f_fold(w);
    __m256 xy =
        _mm256_add_ps(_mm256_permute2f128_ps(sx, sy, 0x20), _mm256_permute2f128_ps(sx, sy, 0x31));
    __m256 zw =
        _mm256_add_ps(_mm256_permute2f128_ps(sz, sw, 0x20), _mm256_permute2f128_ps(sz, sw, 0x31));
    __m256 xzyw = _mm256_add_ps(_mm256_shuffle_ps(xy, zw, 0x44), _mm256_shuffle_ps(xy, zw, 0xee));
    __m128 xz = _mm256_castps256_ps128(xzyw), yw = _mm256_extractf128_ps(xzyw, 1);
    __m128 s = _mm_add_ps(_mm_shuffle_ps(xz, yw, 0x88), _mm_shuffle_ps(xz, yw, 0xdd));
    _mm_storeu_ps(out, _mm_shuffle_ps(s, s, 0xd8)); /* x z y w → x y z w */
}

#endif
