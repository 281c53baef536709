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
/* With permutations of bytes, 64 indices are looked up at once, of tables in halves. */

/* Of 64 indices their low bytes; `high`: masks of those whose ninth or tenth bit is set. */
WEFT_INLINE __m512i looked_up(const uint8_t *table, int n, __m512i low, const __mmask64 high[2]) {
    __mmask64 top = _mm512_movepi8_mask(low);
    __m512i found[4];
    WEFT_UNROLL for (int k = 0; k < n / 256; k++) {
        const uint8_t *t = table + 256 * k;
        __m512i a = _mm512_permutex2var_epi8(quants_load(t), low, quants_load(t + 64));
        __m512i b = _mm512_permutex2var_epi8(quants_load(t + 128), low, quants_load(t + 192));
        found[k] = _mm512_mask_mov_epi8(a, top, b);
    }
    if (n >= 512)
        found[0] = _mm512_mask_mov_epi8(found[0], high[0], found[1]);
    if (n == 1024) {
        found[2] = _mm512_mask_mov_epi8(found[2], high[0], found[3]);
        found[0] = _mm512_mask_mov_epi8(found[0], high[1], found[2]);
    }
    return found[0];
}

/* Eight bits for each byte b of a lane: from bit `from` + `step` * b of the lane on. */
WEFT_INLINE __m512i lane_bits(__m512i v, int from, int step) {
    const uint64_t one = 0x0101010101010101u, bytes = 0x0302010003020100u * (uint64_t)step;
    __m512i at = _mm512_set1_epi64((int64_t)(one * (uint64_t)from + bytes + 0x2020202000000000u));
    return _mm512_multishift_epi64_epi8(at, v);
}

/* Line `line` of indices: those that have their ninth and tenth bits. */
WEFT_INLINE void high_masks(weft_form form, __m512i high, int line, __mmask64 out[2]) {
    __m512i bits = form == WEFT_FORM_IQ2_XS  ? lane_bits(high, 25, 2)
                   : form == WEFT_FORM_IQ2_S ? lane_bits(high, 0, 2)
                                             : lane_bits(high, 4 * line, 1);
    out[0] = _mm512_test_epi8_mask(bits, _mm512_set1_epi8(1));
    out[1] = _mm512_test_epi8_mask(bits, _mm512_set1_epi8(2));
}

/* A level by a code of two bits (IQ3: three), with the sign as the `k`th bit behind it. */
#define IQ2_LEVEL(x, k)                                                                            \
    (43 + ((x) >> (2 + (k)) & 1 ? -1 : 1) * (((x)&3) == 0 ? 8 : ((x)&3) == 1 ? 25 : 43))
#define IQ3_XXS_LEVEL(x, k)                                                                        \
    (62 + ((x) >> (3 + (k)) & 1 ? -1 : 1) * (((x)&7) == 7 ? 62 : 8 * ((x)&7) + 4))
#define IQ3_S_LEVEL(x, k) (15 + ((x) >> (3 + (k)) & 1 ? -1 : 1) * (2 * ((x)&7) + 1))
#define LEVELS_4(level, x, k) level(x, k), level((x) + 1, k), level((x) + 2, k), level((x) + 3, k)
#define LEVELS_16(level, x, k)                                                                     \
    LEVELS_4(level, x, k), LEVELS_4(level, (x) + 4, k), LEVELS_4(level, (x) + 8, k),               \
        LEVELS_4(level, (x) + 12, k)
#define LEVELS(level, k)                                                                           \
    {                                                                                              \
        LEVELS_16(level, 0, k), LEVELS_16(level, 16, k), LEVELS_16(level, 32, k),                  \
            LEVELS_16(level, 48, k)                                                                \
    }
_Alignas(64) static const uint8_t iq2_levels[4][64] = {LEVELS(IQ2_LEVEL, 0), LEVELS(IQ2_LEVEL, 1),
                                                       LEVELS(IQ2_LEVEL, 2), LEVELS(IQ2_LEVEL, 3)};
_Alignas(64) static const uint8_t iq3_levels[2][3][64] = {
    {LEVELS(IQ3_XXS_LEVEL, 0), LEVELS(IQ3_XXS_LEVEL, 1), LEVELS(IQ3_XXS_LEVEL, 2)},
    {LEVELS(IQ3_S_LEVEL, 0), LEVELS(IQ3_S_LEVEL, 1), LEVELS(IQ3_S_LEVEL, 2)}};

WEFT_INLINE void halves_quads(weft_form form, q8_block s, __m512i w[8]) {
    const int n = 1 << weft_book_bits(form), width = weft_forms[form].entries == 8 ? 3 : 2;
    const __m512i code_bits = _mm512_set1_epi8((char)((1 << width) - 1));
    const __mmask64 upper = 0xccccccccccccccccu;
    __m512i high = high_lanes(form, s), signs = all_signs(form, s), codes;
    WEFT_UNROLL for (int line = 0; line < weft_forms[form].entries / 4; line++) {
        __m512i low = quants_load(s.q + 64 * line);
        __mmask64 tops[2] = {0, 0};
        if (n > 256)
            high_masks(form, high, line, tops);
        __m512i first = looked_up(s.halves, n, low, tops);
        __m512i second = looked_up(s.halves + n, n, low, tops);
        const int n_quads = width == 2 ? 8 : 4;
        WEFT_UNROLL for (int i = 0; i < n_quads; i++) {
            const int j = 4 * line + i;
            if (width == 2) {
                codes = lane_bits(j % 2 ? second : first, 8 * (j / 2), 2);
            } else {
                codes = lane_bits(first, 8 * (j % 4), 4);
                codes =
                    _mm512_mask_blend_epi8(upper, codes, lane_bits(second, 8 * (j % 4) + 56, 4));
            }
            /* the sign: bit j of its line comes to bit `width` + j % (6 - width) */
            const int k = j % (6 - width);
            codes =
                _mm512_ternarylogic_epi32(code_bits, codes, shift16(signs, j - k - width), 0xca);
            const uint8_t *levels = width == 2                  ? iq2_levels[k]
                                    : form == WEFT_FORM_IQ3_XXS ? iq3_levels[0][k]
                                                                : iq3_levels[1][k];
            w[j] = _mm512_permutexvar_epi8(codes, _mm512_load_si512(levels));
        }
    }
}
#endif

/* 16 bytes for each of the four lanes. */
WEFT_INLINE __m512i broadcast_bytes(const uint8_t *p) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)p));
}

/* TQ1_0's: the digit in front of the point of a byte's triple is how many thirds it holds. */
WEFT_INLINE void digit_quads(q8_block s, __m512i w[8]) {
    const __m512i one = _mm512_set1_epi8(1), two = _mm512_set1_epi8(2), mask = _mm512_set1_epi8(3);
    __m512i v = quants_load(s.q);
    WEFT_UNROLL for (int j = 0; j < 5; j++) {
        w[j] = _mm512_maskz_mov_epi8(_mm512_cmpge_epu8_mask(v, _mm512_set1_epi8(86)), one);
        w[j] =
            _mm512_mask_mov_epi8(w[j], _mm512_cmpge_epu8_mask(v, _mm512_set1_epi8((char)171)), two);
        v = _mm512_add_epi8(_mm512_add_epi8(v, v), v);
    }
    __m512i low =
        _mm512_srl_epi16(quants_load(s.h + 64 * (s.sub / 2)), _mm_cvtsi32_si128(4 * (s.sub % 2)));
    low = _mm512_and_si512(low, _mm512_set1_epi8(15));
    __mmask64 top =
        _mm512_test_epi8_mask(quants_load(s.h + 256), _mm512_set1_epi8((char)(1 << s.sub)));
    __m512i pairs = _mm512_shuffle_epi8(broadcast_bytes(tq1_pairs[0]), low);
    pairs = _mm512_mask_shuffle_epi8(pairs, top, broadcast_bytes(tq1_pairs[1]), low);
    WEFT_UNROLL for (int j = 0; j < 3; j++) w[5 + j] =
        _mm512_and_si512(shift16(pairs, 2 * j), mask);
}

/* The eight quads of a block. */
WEFT_INLINE void block_quads(weft_form form, q8_block s, __m512i w[8]) {
#ifdef __AVX512VBMI__
    if (weft_form_has_book(form) && weft_book_bits(form) <= 10) {
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

/* Bytes of pairs of sub-scales, of both halves of a block; with entries, of the file's codes. */
WEFT_INLINE __m256i sub_scale_bytes(weft_form form, const uint8_t *sc) {
    if (!weft_form_has_book(form))
        return _mm256_loadu_si256((const __m256i *)(const void *)sc);
    const int bits = form == WEFT_FORM_IQ1_M ? 3 : 4;
    const __m128i mask = _mm_set1_epi8((char)((1 << bits) - 1));
    __m128i both = _mm_loadu_si128((const __m128i *)(const void *)sc);
    __m128i low = _mm_and_si128(both, mask);
    __m128i high = _mm_and_si128(_mm_srli_epi16(both, bits), mask);
    __m256i s = _mm256_set_m128i(_mm_unpackhi_epi8(low, high), _mm_unpacklo_epi8(low, high));
    return _mm256_or_si256(_mm256_add_epi8(s, s), _mm256_set1_epi8(1));
}

/* Pairs of sub-scales as pairs of int16. */
WEFT_INLINE __m512i scale_pairs(weft_form form, __m256i bytes) {
    if (form == WEFT_FORM_Q2_K)
        bytes = _mm256_and_si256(bytes, _mm256_set1_epi8(15));
    return _mm512_cvtepi8_epi16(bytes);
}

/* The minima of Q2_K in the same way. */
WEFT_INLINE __m512i minimum_pairs(__m256i bytes) {
    bytes = _mm256_srli_epi16(bytes, 4);
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

/* The odd sub-scales of entries: of a byte, IQ1_S's three high bits, or the spare bits of signs. */
WEFT_INLINE __m512 odd_scales(weft_form form, q8_block s) {
    __m512i v;
    if (weft_forms[form].sc) {
        v = wide_bytes(s.sc);
    } else if (form == WEFT_FORM_IQ1_S) {
        v = _mm512_and_si512(_mm512_srli_epi32(high_lanes(form, s), 12), _mm512_set1_epi32(7));
    } else {
        v = _mm512_and_si512(_mm512_srli_epi32(quants_load(s.s), 25), _mm512_set1_epi32(0x55));
        v = _mm512_and_si512(_mm512_or_si512(v, _mm512_srli_epi32(v, 1)), _mm512_set1_epi32(0x33));
        v = _mm512_and_si512(_mm512_or_si512(v, _mm512_srli_epi32(v, 2)), _mm512_set1_epi32(15));
    }
    return _mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_add_epi32(v, v), _mm512_set1_epi32(1)));
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
