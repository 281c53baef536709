/* Blocks of a quantised panel as registers of AVX-512: a register has four columns of 16 rows as
 * bytes, or a float of each row. */
#ifndef WEFT_KERNELS_QUANTS_AVX512_H
#define WEFT_KERNELS_QUANTS_AVX512_H

#include <immintrin.h>
#include "tensor/kernels/ref/panel_q8_block.h"

/* Signed bytes become unsigned by 128. */
WEFT_INLINE int offset_of(weft_form form) {
    return weft_form_signed(form) ? 128 : weft_forms[form].offset;
}

WEFT_INLINE __m512i quants_load(const void *p) {
    return _mm512_loadu_si512(p);
}

/* Shifts right, or left by -n. (Compilers differ on the sign of an immediate's type.) */
WEFT_INLINE __m512i shift16(__m512i v, int n) {
    switch (n) {
    case -4:
        return _mm512_slli_epi16(v, 4);
    case -3:
        return _mm512_slli_epi16(v, 3);
    case -2:
        return _mm512_slli_epi16(v, 2);
    case -1:
        return _mm512_slli_epi16(v, 1);
    case 1:
        return _mm512_srli_epi16(v, 1);
    case 2:
        return _mm512_srli_epi16(v, 2);
    case 3:
        return _mm512_srli_epi16(v, 3);
    case 4:
        return _mm512_srli_epi16(v, 4);
    case 5:
        return _mm512_srli_epi16(v, 5);
    case 6:
        return _mm512_srli_epi16(v, 6);
    default:
        return v;
    }
}

/* a | (b & mask) */
WEFT_INLINE __m512i or_masked(__m512i a, __m512i b, char mask) {
    return _mm512_ternarylogic_epi32(a, b, _mm512_set1_epi8(mask), 0xf8);
}

/* Quad j of the 16 rows, from packed lines. */
WEFT_INLINE __m512i packed_quad(weft_form form, q8_block s, int j) {
    const int bits = weft_forms[form].bits;
    if (bits == 8)
        return _mm512_xor_si512(quants_load(s.q + 64 * j), _mm512_set1_epi8(-128));
    __m512i v = bits >= 4 ? shift16(quants_load(s.q + 64 * (j % 4)), j < 4 ? 0 : 4)
                          : shift16(quants_load(s.q + 64 * (j / 4)), 2 * (j % 4));
    v = _mm512_and_si512(v, _mm512_set1_epi8(bits >= 4 ? 15 : 3));
    if (bits == 5)
        v = or_masked(v, shift16(quants_load(s.h), j - 4), 16);
    else if (bits == 3)
        v = or_masked(v, shift16(quants_load(s.h), j - 2), 4);
    else if (bits == 6)
        v = or_masked(v, shift16(quants_load(s.h + 64 * (j / 4)), 2 * (j % 4) - 4), 48);
    if (weft_form_has_codes(form)) {
        __m128i table = _mm_load_si128((const __m128i *)s.table);
        v = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), v);
    }
    return v;
}

/* Pairs of sub-scales, of both halves of a block (bytes at `sc`), as pairs of int16. */
WEFT_INLINE __m512i scale_pairs(weft_form form, const uint8_t *sc) {
    __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)sc);
    if (form == WEFT_FORM_Q2_K)
        bytes = _mm256_and_si256(bytes, _mm256_set1_epi8(15));
    return _mm512_cvtepi8_epi16(bytes);
}

/* The minima of Q2_K in the same way. */
WEFT_INLINE __m512i minimum_pairs(const uint8_t *sc) {
    __m256i bytes = _mm256_srli_epi16(_mm256_loadu_si256((const __m256i *)(const void *)sc), 4);
    return _mm512_cvtepi8_epi16(_mm256_and_si256(bytes, _mm256_set1_epi8(15)));
}

/* Of pairs of int16, the first (h 0) or the second as int32. */
WEFT_INLINE __m512i of_pairs(__m512i pairs, int h) {
    return _mm512_srai_epi32(h ? pairs : _mm512_slli_epi32(pairs, 16), 16);
}

WEFT_INLINE __m512i wide_bytes(const uint8_t *p) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p));
}

/* Signed bytes. */
WEFT_INLINE __m512 byte_floats(const uint8_t *p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)));
}

/* E8M0, halved: 2^(e - 128). */
WEFT_INLINE __m512 power_floats(const uint8_t *p) {
    __m512i e = wide_bytes(p);
    __m512i normal = _mm512_slli_epi32(_mm512_sub_epi32(e, _mm512_set1_epi32(1)), 23);
    __mmask16 is_small = _mm512_cmplt_epi32_mask(e, _mm512_set1_epi32(2));
    return _mm512_castsi512_ps(
        _mm512_mask_sllv_epi32(normal, is_small, _mm512_set1_epi32(0x00200000), e));
}

/* UE4M3, halved: the fields of an f16 that is 128 times too small. */
WEFT_INLINE __m512 ue4m3_floats(const uint8_t *p) {
    __m256i wide = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)p));
    return _mm512_mul_ps(_mm512_cvtph_ps(_mm256_slli_epi16(wide, 7)), _mm512_set1_ps(128));
}

WEFT_INLINE __m512 half_floats(const uint8_t *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}

/* d_w and -m_w; NVFP4: the scales of both halves of the block. */
WEFT_INLINE void block_scales(weft_form form, q8_block s, __m512 *d, __m512 *m) {
    const weft_form_info *f = &weft_forms[form];
    *m = _mm512_setzero_ps();
    if (weft_form_floats(form)) {
        *d = ue4m3_floats(s.sc);
        *m = ue4m3_floats(s.sc + 16);
        return;
    }
    *d = f->d == 1 ? power_floats(s.d) : half_floats(s.d);
    if (has_unit(form))
        *d = _mm512_mul_ps(*d, _mm512_set1_ps(s.unit));
    if (f->scales == WEFT_SCALES_SUB)
        *d = _mm512_mul_ps(*d, byte_floats(s.sc));
    if (!f->m)
        return;
    *m = half_floats(s.m);
    if (f->scales == WEFT_SCALES_SUB)
        *m = _mm512_mul_ps(*m, byte_floats(s.min));
    if (f->blocks > 1) /* dmin counts down, an f16 minimum up */
        *m = _mm512_xor_ps(*m, _mm512_set1_ps(-0.0f));
}

#endif
