/* Codebooks and digits by permutations of bytes (AVX512-VBMI): 64 numbers are looked up at once, in
 * tables of bytes that hold four columns or, of IQ3, two. A look-up leaves what its mask leaves
 * out, so that tables for fewer numbers come later. Included within quants_avx512.h. */
#ifndef WEFT_KERNELS_LOOKUPS_VBMI_H
#define WEFT_KERNELS_LOOKUPS_VBMI_H

#include <immintrin.h>
#include "tensor/kernels/grids.h"

/* Eight bits for each byte b of a lane: from bit `from` + `step` * b of the lane on. */
WEFT_INLINE __m512i lane_bits(__m512i v, int from, int step) {
    uint64_t at = 0;
    WEFT_UNROLL for (int b = 0; b < 8; b++) at |=
        (uint64_t)((from + b % 4 * step + b / 4 * 32) & 63) << (8 * b);
    return _mm512_multishift_epi64_epi8(_mm512_set1_epi64((int64_t)at), v);
}

WEFT_INLINE __mmask64 bytes_with(__m512i v, int bits) {
    return _mm512_test_epi8_mask(v, _mm512_set1_epi8((char)bits));
}

/* ---- Entries of codebooks ---- */

/* Regions of a book, and those of 2 x 2 tiles among them (grids.h). */
WEFT_INLINE int book_regions(weft_form form) {
    return 1 << (weft_book_bits(form) - 8);
}
WEFT_INLINE int book_pairs(weft_form form) {
    return weft_book_bits(form) == 11 ? 2 : form == WEFT_FORM_IQ2_S || form == WEFT_FORM_IQ3_S;
}
WEFT_INLINE int book_tables(weft_form form) {
    return 2 + book_regions(form) + book_pairs(form);
}

/* Bits 8 and up of the 64 numbers of line `line`, a byte each. */
WEFT_INLINE __m512i high_bits(weft_form form, __m512i high, int line) {
    return form == WEFT_FORM_IQ1_S    ? lane_bits(high, 0, 3)
           : form == WEFT_FORM_IQ1_M  ? lane_bits(high, 0, 4)
           : form == WEFT_FORM_IQ2_XS ? lane_bits(high, 25, 2)
           : form == WEFT_FORM_IQ2_S  ? lane_bits(high, 0, 2)
                                      : lane_bits(high, 4 * line, 1);
}

/* The numbers of a half book whose region is r, or a later one with r's bits. */
WEFT_INLINE __mmask64 region_mask(int r, const __mmask64 bit[3]) {
    const __mmask64 in = r & 1 ? bit[0] : ~(__mmask64)0;
    return !(r & 2) ? in : r & 1 ? _kand_mask64(in, bit[1]) : bit[1];
}

/* The halves of the entries of 64 numbers: their low bytes, and what is above them. IQ1's regions
 * from 4 on are looked up by themselves, so that no chain of look-ups is long. */
WEFT_INLINE void book_halves(weft_form form, const uint8_t *tables, __m512i low, __m512i high,
                             __m512i half[2]) {
    const int regions = book_regions(form), most = regions < 4 ? regions : 4;
    const uint8_t *first = tables, *second = tables + 64 * book_tables(form);
    const __m512i by_1 = shift16(low, 1), by_2 = shift16(low, 2);
    const __mmask64 top = _mm512_movepi8_mask(low), bit_6 = bytes_with(low, 64);
    __mmask64 bit[3] = {0, 0, 0};
    for (int b = 0; b < 3; b++)
        if (1 << b < regions)
            bit[b] = bytes_with(high, 1 << b);
#define LOOK_UP(to, mask, at, table)                                                               \
    half[to] = _mm512_mask_permutexvar_epi8(half[to], mask, at, quants_load(table))
    half[0] = _mm512_permutexvar_epi8(low, quants_load(first));
    LOOK_UP(0, top, low, first + 64);
    LOOK_UP(0, _kand_mask64(top, bit_6), low, first + 128);
    half[1] = _mm512_permutexvar_epi8(by_1, quants_load(second));
    LOOK_UP(1, top, by_1, second + 64);
    LOOK_UP(1, _kand_mask64(top, bytes_with(low, 1)), by_1, second + 128);
    WEFT_UNROLL for (int r = 1; r < most; r++) {
        const __mmask64 in = region_mask(r, bit);
        const bool pairs = r <= book_pairs(form);
        const int at = 64 * (2 + r + (pairs ? r - 1 : book_pairs(form)));
        LOOK_UP(0, in, low, first + at);
        LOOK_UP(1, in, pairs ? by_1 : by_2, second + at);
        if (pairs) {
            LOOK_UP(0, _kand_mask64(in, bit_6), low, first + at + 64);
            LOOK_UP(1, _kand_mask64(in, top), by_1, second + at + 64);
        }
    }
    if (regions > most) {
        const int at = 64 * (2 + most + book_pairs(form));
        const __m512i lower[2] = {half[0], half[1]};
        half[0] = _mm512_permutexvar_epi8(low, quants_load(first + at));
        half[1] = _mm512_permutexvar_epi8(by_2, quants_load(second + at));
        WEFT_UNROLL for (int r = 1; r < most; r++) {
            LOOK_UP(0, region_mask(r, bit), low, first + at + 64 * r);
            LOOK_UP(1, region_mask(r, bit), by_2, second + at + 64 * r);
        }
        WEFT_UNROLL for (int h = 0; h < 2; h++) half[h] =
            _mm512_mask_mov_epi8(lower[h], bit[2], half[h]);
    }
#undef LOOK_UP
}

/* byte(x, k) for x and those behind it. */
#define BYTES_4(byte, x, k) byte(x, k), byte((x) + 1, k), byte((x) + 2, k), byte((x) + 3, k)
#define BYTES_16(byte, x, k)                                                                       \
    BYTES_4(byte, x, k), BYTES_4(byte, (x) + 4, k), BYTES_4(byte, (x) + 8, k),                     \
        BYTES_4(byte, (x) + 12, k)
#define BYTES_64(byte, x, k)                                                                       \
    BYTES_16(byte, x, k), BYTES_16(byte, (x) + 16, k), BYTES_16(byte, (x) + 32, k),                \
        BYTES_16(byte, (x) + 48, k)

/* A level by a code of two bits (IQ3: three), with the sign as the `k`th bit behind it. */
#define IQ2_LEVEL(x, k)                                                                            \
    (43 + ((x) >> (2 + (k)) & 1 ? -1 : 1) * (((x)&3) == 0 ? 8 : ((x)&3) == 1 ? 25 : 43))
#define IQ3_XXS_LEVEL(x, k)                                                                        \
    (62 + ((x) >> (3 + (k)) & 1 ? -1 : 1) * (((x)&7) == 7 ? 62 : 8 * ((x)&7) + 4))
#define IQ3_S_LEVEL(x, k) (15 + ((x) >> (3 + (k)) & 1 ? -1 : 1) * (2 * ((x)&7) + 1))
#define LEVELS(level, k)                                                                           \
    { BYTES_64(level, 0, k) }
_Alignas(64) static const uint8_t iq2_levels[4][64] = {LEVELS(IQ2_LEVEL, 0), LEVELS(IQ2_LEVEL, 1),
                                                       LEVELS(IQ2_LEVEL, 2), LEVELS(IQ2_LEVEL, 3)};
_Alignas(64) static const uint8_t iq3_levels[2][3][64] = {
    {LEVELS(IQ3_XXS_LEVEL, 0), LEVELS(IQ3_XXS_LEVEL, 1), LEVELS(IQ3_XXS_LEVEL, 2)},
    {LEVELS(IQ3_S_LEVEL, 0), LEVELS(IQ3_S_LEVEL, 1), LEVELS(IQ3_S_LEVEL, 2)}};

WEFT_INLINE void halves_quads(weft_form form, q8_block s, __m512i w[8]) {
    const int width = weft_forms[form].entries == 8 ? 3 : 2;
    const __m512i code_bits = _mm512_set1_epi8((char)((1 << width) - 1));
    const __mmask64 upper = 0xccccccccccccccccu;
    __m512i high = high_lanes(form, s), signs = all_signs(form, s), codes, half[2];
    WEFT_UNROLL for (int line = 0; line < weft_forms[form].entries / 4; line++) {
        book_halves(form, s.halves, quants_load(s.q + 64 * line), high_bits(form, high, line),
                    half);
        const int n_quads = width == 2 ? 8 : 4;
        WEFT_UNROLL for (int i = 0; i < n_quads; i++) {
            const int j = 4 * line + i;
            if (width == 2) {
                codes = lane_bits(half[j % 2], 8 * (j / 2), 2);
            } else {
                codes = lane_bits(half[0], 8 * (j % 4), 4);
                codes =
                    _mm512_mask_blend_epi8(upper, codes, lane_bits(half[1], 8 * (j % 4) + 56, 4));
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

/* IQ1: of a code c the unsigned level is 8 c, and 2 more where it isn't shifted down. */
WEFT_INLINE void iq1_quads(weft_form form, q8_block s, __m512i w[8]) {
    __m512i high = high_lanes(form, s), half[2];
    book_halves(form, s.halves, quants_load(s.q), high_bits(form, high, 0), half);
    WEFT_UNROLL for (int j = 0; j < 8; j++) {
        int top = form == WEFT_FORM_IQ1_S ? 15 : j / 2 * 4 + 3;
        __m512i up = _mm512_andnot_si512(lane_bits(high, top - 1, 0), _mm512_set1_epi8(2));
        w[j] = or_masked(up, lane_bits(half[j % 2], 8 * (j / 2) - 3, 2), 24);
    }
}

/* ---- Digits ---- */

/* The bytes of a table of 256 at 64 indices. */
WEFT_INLINE __m512i looked_up(const uint8_t *table, __m512i at, __mmask64 bit_6, __mmask64 top) {
    __m512i found = _mm512_permutexvar_epi8(at, quants_load(table));
    found = _mm512_mask_permutexvar_epi8(found, bit_6, at, quants_load(table + 64));
    found = _mm512_mask_permutexvar_epi8(found, top, at, quants_load(table + 128));
    return _mm512_mask_permutexvar_epi8(found, _kand_mask64(top, bit_6), at,
                                        quants_load(table + 192));
}

/* TQ1_0: quads 0 to 3 by a byte, two bits each; and quad 4. */
#define TQ1_DIGIT(x, j) ((((x) * (j)&255) * 3) >> 8)
#define TQ1_FOUR(x, k)                                                                             \
    (TQ1_DIGIT(x, 1) | TQ1_DIGIT(x, 3) << 2 | TQ1_DIGIT(x, 9) << 4 | TQ1_DIGIT(x, 27) << 6)
#define TQ1_FIFTH(x, k) TQ1_DIGIT(x, 81)
#define BYTES_256(byte)                                                                            \
    { BYTES_64(byte, 0, 0), BYTES_64(byte, 64, 0), BYTES_64(byte, 128, 0), BYTES_64(byte, 192, 0) }
_Alignas(64) static const uint8_t tq1_digits[2][256] = {BYTES_256(TQ1_FOUR), BYTES_256(TQ1_FIFTH)};

WEFT_INLINE void five_digits(q8_block s, __m512i w[5]) {
    __m512i at = quants_load(s.q);
    const __mmask64 bit_6 = bytes_with(at, 64), top = _mm512_movepi8_mask(at);
    __m512i four = looked_up(tq1_digits[0], at, bit_6, top);
    w[4] = looked_up(tq1_digits[1], at, bit_6, top);
    WEFT_UNROLL for (int j = 0; j < 4; j++) w[j] =
        _mm512_and_si512(shift16(four, 2 * j), _mm512_set1_epi8(3));
}

#endif
