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

/* 16 bytes for each of the four lanes. */
WEFT_INLINE __m512i broadcast_bytes(const uint8_t *p) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)p));
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

/* The bits of a in `mask`, those of b elsewhere. */
WEFT_INLINE __m512i select_bits(int mask, __m512i a, __m512i b) {
    return _mm512_ternarylogic_epi32(_mm512_set1_epi8((char)mask), a, b, 0xca);
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

/* ---- Entries of codebooks, and digits ---- */

/* 32-bit lanes shifted left, or right by -n. */
WEFT_INLINE __m512i shift32(__m512i v, int n) {
    return n >= 0 ? _mm512_slli_epi32(v, (unsigned)n) : _mm512_srli_epi32(v, (unsigned)-n);
}

/* The high bits of the rows' indices, a lane a row. */
WEFT_INLINE __m512i high_lanes(weft_form form, q8_block s) {
    if (weft_forms[form].high == 2)
        return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)s.h));
    if (weft_forms[form].high == 1)
        return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)s.h));
    return weft_forms[form].signs ? quants_load(s.s) : _mm512_setzero_si512();
}

/* A line of signs with those of the eighth columns, which make the number of negative ones even. */
WEFT_INLINE __m512i all_signs(weft_form form, q8_block s) {
    __m512i line = quants_load(s.s);
    if (weft_forms[form].signs == 8)
        return line;
    line = _mm512_and_si512(line, _mm512_set1_epi32(0x55ffffff));
    __m512i odd = _mm512_xor_si512(line, _mm512_srli_epi32(line, 16));
    odd = _mm512_xor_si512(odd, _mm512_srli_epi32(odd, 8));
    odd = _mm512_xor_si512(odd, _mm512_srli_epi32(odd, 1));
    odd = _mm512_and_si512(odd, _mm512_set1_epi32(0x55));
    return _mm512_or_si512(line, _mm512_slli_epi32(odd, 25));
}

/* Entry i of each row. */
WEFT_INLINE __m512i entry_words(weft_form form, q8_block s, __m512i high, int i) {
    __m512i index = shift32(quants_load(s.q + 64 * (i / 4)), -8 * (i % 4));
    if (i % 4 < 3)
        index = _mm512_and_si512(index, _mm512_set1_epi32(255));
    if (index_high(form))
        index = _mm512_ternarylogic_epi32(index, shift32(high, index_shift(form, i)),
                                          _mm512_set1_epi32(index_high(form)), 0xf8);
    return _mm512_i32gather_epi32(index, s.book, 4);
}

/* Ones where entry i of IQ1 is shifted down, as the third bit of its codes. */
WEFT_INLINE __m512i shifted_down(weft_form form, __m512i high, int i) {
    int top = form == WEFT_FORM_IQ1_S ? 15 : 4 * i + 3;
    __m512i all = _mm512_srai_epi32(_mm512_slli_epi32(high, (unsigned)(31 - top)), 31);
    return _mm512_and_si512(all, _mm512_set1_epi8(4));
}

/* The eight quads of a block of entries. */
WEFT_INLINE void entry_quads(weft_form form, q8_block s, __m512i w[8]) {
    const __m512i table =
        _mm512_broadcast_i32x4(_mm_load_si128((const __m128i *)(const void *)s.table));
    const __m512i two_bits = _mm512_set1_epi8(3);
    __m512i high = high_lanes(form, s), signs = _mm512_setzero_si512(), codes;
    if (weft_forms[form].signs)
        signs = all_signs(form, s);
    WEFT_UNROLL for (int i = 0; i < weft_forms[form].entries; i++) {
        __m512i word = entry_words(form, s, high, i);
        if (weft_forms[form].entries == 8) {
            w[i] = _mm512_shuffle_epi8(table, or_masked(word, shift16(signs, i - 3), 8));
            continue;
        }
        WEFT_UNROLL for (int j = 2 * i; j < 2 * i + 2; j++) {
            __m512i of = shift16(word, 4 * (j % 2));
            if (weft_forms[form].signs)
                codes = or_masked(_mm512_and_si512(of, two_bits), shift16(signs, j - 2), 4);
            else
                codes = or_masked(shifted_down(form, high, i), of, 3);
            w[j] = _mm512_shuffle_epi8(table, codes);
        }
    }
}

#ifdef __AVX512VBMI__
#include "tensor/kernels/x86/lookups_vbmi.h"
#else
/* TQ1_0's quads 0 to 4: the digit in front of the point of a byte's triple is how many thirds it
 * holds. */
WEFT_INLINE void five_digits(q8_block s, __m512i w[5]) {
    __m512i v = quants_load(s.q);
    const __m512i one = _mm512_set1_epi8(1), two = _mm512_set1_epi8(2);
    WEFT_UNROLL for (int j = 0; j < 5; j++) {
        w[j] = _mm512_maskz_mov_epi8(_mm512_cmpge_epu8_mask(v, _mm512_set1_epi8(86)), one);
        w[j] =
            _mm512_mask_mov_epi8(w[j], _mm512_cmpge_epu8_mask(v, _mm512_set1_epi8((char)171)), two);
        v = _mm512_add_epi8(_mm512_add_epi8(v, v), v);
    }
}
#endif

WEFT_INLINE void digit_quads(q8_block s, __m512i w[8]) {
    five_digits(s, w);
    __m512i low =
        _mm512_srl_epi16(quants_load(s.h + 64 * (s.sub / 2)), _mm_cvtsi32_si128(4 * (s.sub % 2)));
    low = _mm512_and_si512(low, _mm512_set1_epi8(15));
    __mmask64 top =
        _mm512_test_epi8_mask(quants_load(s.h + 256), _mm512_set1_epi8((char)(1 << s.sub)));
    __m512i pairs = _mm512_shuffle_epi8(broadcast_bytes(tq1_pairs[0]), low);
    pairs = _mm512_mask_shuffle_epi8(pairs, top, broadcast_bytes(tq1_pairs[1]), low);
    WEFT_UNROLL for (int j = 0; j < 3; j++) w[5 + j] =
        _mm512_and_si512(shift16(pairs, 2 * j), _mm512_set1_epi8(3));
}

/* The eight quads of a block. */
WEFT_INLINE void block_quads(weft_form form, q8_block s, __m512i w[8]) {
#ifdef __AVX512VBMI__
    if (weft_form_has_book(form)) {
        if (weft_book_bits(form) == 11)
            iq1_quads(form, s, w);
        else
            halves_quads(form, s, w);
        return;
    }
#endif
    if (weft_form_has_book(form)) {
        entry_quads(form, s, w);
    } else if (form == WEFT_FORM_TQ1_0) {
        digit_quads(s, w);
    } else {
        WEFT_UNROLL for (int j = 0; j < 8; j++) w[j] = packed_quad(form, s, j);
    }
}

/* ---- Scales ---- */

/* Pairs of bytes of a row. */
WEFT_INLINE __m256i byte_pairs(const uint8_t *p) {
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

/* Of pairs of int16, the first (h 0) or the second as int32. */
WEFT_INLINE __m512i of_pairs(__m512i pairs, int h) {
    return _mm512_srai_epi32(h ? pairs : _mm512_slli_epi32(pairs, 16), 16);
}

/* The minima of Q2_K's halves as pairs of int16. */
WEFT_INLINE __m512i minimum_pairs(const uint8_t *sc) {
    __m256i bytes = _mm256_srli_epi16(byte_pairs(sc), 4);
    return _mm512_cvtepi8_epi16(_mm256_and_si256(bytes, _mm256_set1_epi8(15)));
}

WEFT_INLINE __m512i wide_bytes(const uint8_t *p) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p));
}

/* Signed bytes. */
WEFT_INLINE __m512 byte_floats(const uint8_t *p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)));
}

/* 2 s + 1 of the lowest 3 or 4 bits s of each lane. */
WEFT_INLINE __m512 odd_floats(__m512i v, int bits) {
    const __m512 low = _mm512_setr_ps(1, 3, 5, 7, 9, 11, 13, 15, 1, 3, 5, 7, 9, 11, 13, 15);
    const __m512 all = _mm512_setr_ps(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    return _mm512_permutexvar_ps(v, bits == 3 ? low : all);
}

/* The integer sub-scales of half h of a block. Those of entries are odd. */
WEFT_INLINE __m512 half_scales(weft_form form, const uint8_t *sc, int h) {
    if (weft_form_has_book(form)) {
        const int bits = form == WEFT_FORM_IQ1_M ? 3 : 4;
        __m512i v = wide_bytes(sc);
        return odd_floats(h ? _mm512_srli_epi32(v, (unsigned)bits) : v, bits);
    }
    __m256i bytes = byte_pairs(sc);
    if (form == WEFT_FORM_Q2_K)
        bytes = _mm256_and_si256(bytes, _mm256_set1_epi8(15));
    return _mm512_cvtepi32_ps(of_pairs(_mm512_cvtepi8_epi16(bytes), h));
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

/* The odd sub-scales of entries: of a byte, IQ1_S's three high bits, or the spare bits of signs. */
WEFT_INLINE __m512 odd_scales(weft_form form, q8_block s) {
    __m512i v;
    if (weft_forms[form].sc) {
        v = wide_bytes(s.sc);
    } else if (form == WEFT_FORM_IQ1_S) {
        v = _mm512_srli_epi32(high_lanes(form, s), 12);
    } else {
        v = _mm512_and_si512(_mm512_srli_epi32(quants_load(s.s), 25), _mm512_set1_epi32(0x55));
        v = _mm512_and_si512(_mm512_or_si512(v, _mm512_srli_epi32(v, 1)), _mm512_set1_epi32(0x33));
        v = _mm512_or_si512(v, _mm512_srli_epi32(v, 2));
    }
    return odd_floats(v, form == WEFT_FORM_IQ1_S ? 3 : 4);
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
    if (weft_form_has_book(form))
        *d = _mm512_mul_ps(*d, _mm512_set1_ps(s.unit));
    if (f->scales == WEFT_SCALES_SUB)
        *d = _mm512_mul_ps(*d, weft_form_has_book(form) ? odd_scales(form, s) : byte_floats(s.sc));
    if (!f->m)
        return;
    *m = half_floats(s.m);
    if (f->scales == WEFT_SCALES_SUB)
        *m = _mm512_mul_ps(*m, byte_floats(s.min));
    if (f->blocks > 1) /* dmin counts down, an f16 minimum up */
        *m = _mm512_xor_ps(*m, _mm512_set1_ps(-0.0f));
}

#endif
