/* 16 lanes in two 256-bit registers (AVX2, FMA, F16C). */
#ifndef WEFT_KERNELS_LANES_AVX2_H
#define WEFT_KERNELS_LANES_AVX2_H

#include <immintrin.h>
#include "tensor/kernels/lanes.h"

#define WEFT_KERNEL(name) name##_avx2
#define WEFT_TILE_ROWS 6 /* 12 sums, 2 weights and 1 activation fill the 16 registers */
#define WEFT_GEMM_ROWS 6
#define WEFT_GEMM_VECTORS 1
#define WEFT_ATTN_QUERIES 3
#define WEFT_ATTN_VECTORS 2
#define WEFT_ATTN_KEYS 2

typedef struct v16f {
    __m256 a, b; /* lanes 0 … 7, 8 … 15 */
} v16f;
typedef struct v16i {
    __m256i a, b;
} v16i;

WEFT_INLINE v16f v16f_set1(float x) {
    return (v16f){_mm256_set1_ps(x), _mm256_set1_ps(x)};
}
WEFT_INLINE v16f v16f_load(const float *p) {
    return (v16f){_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
WEFT_INLINE void v16f_store(float *p, v16f x) {
    _mm256_storeu_ps(p, x.a);
    _mm256_storeu_ps(p + 8, x.b);
}
WEFT_INLINE v16f v16f_load_f16(const uint16_t *p) {
    return (v16f){_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)),
                  _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p + 8)))};
}
WEFT_INLINE float v16f_one_f16(uint16_t h) {
    return _cvtsh_ss(h);
}
WEFT_INLINE v16f v16f_load_bf16(const uint16_t *p) {
    __m256i lo = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
    __m256i hi = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(p + 8)));
    return (v16f){_mm256_castsi256_ps(_mm256_slli_epi32(lo, 16)),
                  _mm256_castsi256_ps(_mm256_slli_epi32(hi, 16))};
}
WEFT_INLINE v16f v16f_load_s8(const int8_t *p) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)p);
    return (v16f){_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
                  _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8)))};
}
WEFT_INLINE void v16f_store_f16(uint16_t *p, v16f x) {
    _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(x.a, _MM_FROUND_TO_NEAREST_INT));
    _mm_storeu_si128((__m128i *)(p + 8), _mm256_cvtps_ph(x.b, _MM_FROUND_TO_NEAREST_INT));
}
WEFT_INLINE v16f v16f_add(v16f x, v16f y) {
    return (v16f){_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)};
}
WEFT_INLINE v16f v16f_sub(v16f x, v16f y) {
    return (v16f){_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)};
}
WEFT_INLINE v16f v16f_mul(v16f x, v16f y) {
    return (v16f){_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)};
}
WEFT_INLINE v16f v16f_div(v16f x, v16f y) {
    return (v16f){_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)};
}
WEFT_INLINE v16f v16f_fma(v16f x, v16f y, v16f z) {
    return (v16f){_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
WEFT_INLINE v16f v16f_min(v16f x, v16f y) {
    return (v16f){_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)};
}
WEFT_INLINE v16f v16f_max(v16f x, v16f y) {
    return (v16f){_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)};
}
WEFT_INLINE v16f v16f_if_less(v16f x, v16f y, v16f yes, v16f no) {
    return (v16f){_mm256_blendv_ps(no.a, yes.a, _mm256_cmp_ps(x.a, y.a, _CMP_LT_OQ)),
                  _mm256_blendv_ps(no.b, yes.b, _mm256_cmp_ps(x.b, y.b, _CMP_LT_OQ))};
}
WEFT_INLINE v16i v16f_bits(v16f x) {
    return (v16i){_mm256_castps_si256(x.a), _mm256_castps_si256(x.b)};
}
WEFT_INLINE v16f v16i_floats(v16i x) {
    return (v16f){_mm256_castsi256_ps(x.a), _mm256_castsi256_ps(x.b)};
}
WEFT_INLINE v16i v16i_set1(int32_t x) {
    return (v16i){_mm256_set1_epi32(x), _mm256_set1_epi32(x)};
}
WEFT_INLINE v16i v16i_add(v16i x, v16i y) {
    return (v16i){_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)};
}
WEFT_INLINE v16i v16i_sub(v16i x, v16i y) {
    return (v16i){_mm256_sub_epi32(x.a, y.a), _mm256_sub_epi32(x.b, y.b)};
}
WEFT_INLINE v16i v16i_and(v16i x, v16i y) {
    return (v16i){_mm256_and_si256(x.a, y.a), _mm256_and_si256(x.b, y.b)};
}
WEFT_INLINE v16i v16i_or(v16i x, v16i y) {
    return (v16i){_mm256_or_si256(x.a, y.a), _mm256_or_si256(x.b, y.b)};
}
WEFT_INLINE v16i v16i_max(v16i x, v16i y) {
    return (v16i){_mm256_max_epi32(x.a, y.a), _mm256_max_epi32(x.b, y.b)};
}
WEFT_INLINE v16i v16i_to_exponent(v16i x) {
    return (v16i){_mm256_slli_epi32(x.a, 23), _mm256_slli_epi32(x.b, 23)};
}
WEFT_INLINE v16i v16i_half(v16i x) {
    return (v16i){_mm256_srai_epi32(x.a, 1), _mm256_srai_epi32(x.b, 1)};
}
/* Lanes within int8. */
WEFT_INLINE void v16i_store_s8(int8_t *p, v16i x) {
    __m256i w = _mm256_permute4x64_epi64(_mm256_packs_epi32(x.a, x.b), 0xd8);
    __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(w), _mm256_extracti128_si256(w, 1));
    _mm_storeu_si128((__m128i *)p, bytes);
}
WEFT_INLINE int32_t v16i_largest(v16i x) {
    __m256i m = _mm256_max_epi32(x.a, x.b);
    __m128i v = _mm_max_epi32(_mm256_castsi256_si128(m), _mm256_extracti128_si256(m, 1));
    v = _mm_max_epi32(v, _mm_shuffle_epi32(v, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(v, _mm_shuffle_epi32(v, 0xb1)));
}
WEFT_INLINE int32_t v16i_sum(v16i x) {
    __m256i s = _mm256_add_epi32(x.a, x.b);
    __m128i v = _mm_add_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1));
    v = _mm_add_epi32(v, _mm_shuffle_epi32(v, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(v, _mm_shuffle_epi32(v, 0xb1)));
}
WEFT_INLINE float v16f_sum(v16f x) {
    __m256 s = _mm256_add_ps(x.a, x.b);
    __m128 v = _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
    v = _mm_add_ps(v, _mm_movehl_ps(v, v));
    return _mm_cvtss_f32(_mm_add_ss(v, _mm_movehdup_ps(v)));
}
WEFT_INLINE __m256 v16f_two_quarters(v16f x, v16f y) {
    __m256 a = _mm256_add_ps(x.a, x.b), b = _mm256_add_ps(y.a, y.b);
    return _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
}
WEFT_INLINE v16f v16f_quarters(v16f a, v16f b, v16f c, v16f d) {
    return (v16f){v16f_two_quarters(a, b), v16f_two_quarters(c, d)};
}
WEFT_INLINE __m256 v16f_half_sums(__m256 a, __m256 b, __m256 c, __m256 d) {
    __m256 ab = _mm256_add_ps(_mm256_shuffle_ps(a, b, 0x44), _mm256_shuffle_ps(a, b, 0xee));
    __m256 cd = _mm256_add_ps(_mm256_shuffle_ps(c, d, 0x44), _mm256_shuffle_ps(c, d, 0xee));
    return _mm256_add_ps(_mm256_shuffle_ps(ab, cd, 0x88), _mm256_shuffle_ps(ab, cd, 0xdd));
}
WEFT_INLINE v16f v16f_quarter_sums(v16f a, v16f b, v16f c, v16f d) {
    return (v16f){v16f_half_sums(a.a, b.a, c.a, d.a), v16f_half_sums(a.b, b.b, c.b, d.b)};
}
WEFT_INLINE float v16f_largest(v16f x) {
    __m256 m = _mm256_max_ps(x.a, x.b);
    __m128 v = _mm_max_ps(_mm256_castps256_ps128(m), _mm256_extractf128_ps(m, 1));
    v = _mm_max_ps(v, _mm_movehl_ps(v, v));
    return _mm_cvtss_f32(_mm_max_ss(v, _mm_movehdup_ps(v)));
}

WEFT_INLINE void v16f_transpose8(__m256 r[8]) {
    __m256 t[8], u[8];
    WEFT_UNROLL for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    WEFT_UNROLL for (int i = 0; i < 8; i += 4) {
        u[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        u[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
        u[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        u[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    WEFT_UNROLL for (int i = 0; i < 4; i++) {
        r[i] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x20);
        r[i + 4] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x31);
    }
}
/* Lane j of vector i goes to lane i of vector j: four corners of 8 by 8. */
WEFT_INLINE void v16f_transpose(v16f r[16]) {
    WEFT_UNROLL for (int half = 0; half < 2; half++) {
        __m256 low[8], high[8]; /* rows 8 half …, lanes 0 … 7 and 8 … 15 */
        WEFT_UNROLL for (int i = 0; i < 8; i++) {
            low[i] = r[8 * half + i].a;
            high[i] = r[8 * half + i].b;
        }
        v16f_transpose8(low);
        v16f_transpose8(high);
        WEFT_UNROLL for (int i = 0; i < 8; i++) {
            r[8 * half + i].a = low[i];
            r[8 * half + i].b = high[i];
        }
    }
    WEFT_UNROLL for (int i = 0; i < 8; i++) { /* the upper right and lower left corners swap */
        __m256 corner = r[i].b;
        r[i].b = r[8 + i].a;
        r[8 + i].a = corner;
    }
}

#endif
