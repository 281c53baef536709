/* Codebooks and digits by permutations of bytes (AVX512-VBMI): 64 indices are looked up at once, in
 * tables of bytes that hold four columns or, of IQ3, two. Included within quants_avx512.h. */
#ifndef WEFT_KERNELS_LOOKUPS_VBMI_H
#define WEFT_KERNELS_LOOKUPS_VBMI_H

#include <immintrin.h>
#include "tensor/kernels/grids.h"

/* Of 64 indices: low bytes, and masks of those that have the seventh bit only, the eighth only,
 * both; and the ninth, the tenth, the eleventh. */
typedef struct indices {
    __m512i low;
    __mmask64 quarter[3], high[3];
} indices;

WEFT_INLINE indices indices_of(__m512i low) {
    __mmask64 seventh = _mm512_test_epi8_mask(low, _mm512_set1_epi8(64));
    __mmask64 eighth = _mm512_movepi8_mask(low);
    return (indices){low,
                     {_kandn_mask64(eighth, seventh), _kandn_mask64(seventh, eighth),
                      _kand_mask64(seventh, eighth)},
                     {0, 0, 0}};
}

/* The bytes of a table of `n` at 64 indices. */
WEFT_INLINE __m512i looked_up(const uint8_t *table, int n, const indices *at) {
    __m512i found[8];
    WEFT_UNROLL for (int k = 0; k < n / 256; k++) {
        const uint8_t *t = table + 256 * k;
        found[k] = _mm512_permutexvar_epi8(at->low, quants_load(t));
        WEFT_UNROLL for (int i = 0; i < 3; i++) found[k] = _mm512_mask_permutexvar_epi8(
            found[k], at->quarter[i], at->low, quants_load(t + 64 + 64 * i));
    }
    int left = n / 256;
    WEFT_UNROLL for (int b = 0; left > 1; b++, left /= 2) {
        WEFT_UNROLL for (int k = 0; k < left / 2; k++) found[k] =
            _mm512_mask_mov_epi8(found[2 * k], at->high[b], found[2 * k + 1]);
    }
    return found[0];
}

/* Eight bits for each byte b of a lane: from bit `from` + `step` * b of the lane on. */
WEFT_INLINE __m512i lane_bits(__m512i v, int from, int step) {
    uint64_t at = 0;
    WEFT_UNROLL for (int b = 0; b < 8; b++) at |=
        (uint64_t)((from + b % 4 * step + b / 4 * 32) & 63) << (8 * b);
    return _mm512_multishift_epi64_epi8(_mm512_set1_epi64((int64_t)at), v);
}

/* Line `line` of indices: those that have their ninth and tenth bits. */
WEFT_INLINE void high_masks(weft_form form, __m512i high, int line, __mmask64 out[3]) {
    __m512i bits = form == WEFT_FORM_IQ2_XS  ? lane_bits(high, 25, 2)
                   : form == WEFT_FORM_IQ2_S ? lane_bits(high, 0, 2)
                                             : lane_bits(high, 4 * line, 1);
    out[0] = _mm512_test_epi8_mask(bits, _mm512_set1_epi8(1));
    out[1] = _mm512_test_epi8_mask(bits, _mm512_set1_epi8(2));
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
    const int n = 1 << weft_book_bits(form), width = weft_forms[form].entries == 8 ? 3 : 2;
    const __m512i code_bits = _mm512_set1_epi8((char)((1 << width) - 1));
    const __mmask64 upper = 0xccccccccccccccccu;
    __m512i high = high_lanes(form, s), signs = all_signs(form, s), codes;
    WEFT_UNROLL for (int line = 0; line < weft_forms[form].entries / 4; line++) {
        __m512i low = quants_load(s.q + 64 * line);
        indices at = indices_of(low);
        if (n > 256)
            high_masks(form, high, line, at.high);
        __m512i first = looked_up(s.halves, n, &at), second = looked_up(s.halves + n, n, &at);
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

/* IQ1: the first halves of entries are looked up, the second ones by bin and place (grids.h). Of a
 * code c the unsigned level is 8 c, and 2 more where it isn't shifted down. */
WEFT_INLINE void iq1_quads(weft_form form, q8_block s, __m512i w[8]) {
    const int step = form == WEFT_FORM_IQ1_S ? 3 : 4;
    __m512i low = quants_load(s.q), high = high_lanes(form, s);
    indices at = indices_of(low);
    __m512i place = lane_bits(high, -3, step); /* the high bits of indices to bits 3 to 5 */
    WEFT_UNROLL for (int b = 0; b < 3; b++) at.high[b] =
        _mm512_test_epi8_mask(place, _mm512_set1_epi8((char)(8 << b)));
    place = select_bits(0xc0, low, place);
    __m512i bound = _mm512_permutexvar_epi8(low, quants_load(weft_iq1_second[2]));
    __mmask64 above = _mm512_cmpge_epu8_mask(place, bound);
    __m512i half[2] = {looked_up(s.halves, 2048, &at),
                       _mm512_permutexvar_epi8(low, quants_load(weft_iq1_second[0]))};
    half[1] = _mm512_mask_permutexvar_epi8(half[1], above, low, quants_load(weft_iq1_second[1]));
    WEFT_UNROLL for (int j = 0; j < 8; j++) {
        int top = form == WEFT_FORM_IQ1_S ? 15 : j / 2 * 4 + 3;
        __m512i up = _mm512_andnot_si512(lane_bits(high, top - 1, 0), _mm512_set1_epi8(2));
        w[j] = or_masked(up, lane_bits(half[j % 2], 8 * (j / 2) - 3, 2), 24);
    }
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
    indices at = indices_of(quants_load(s.q));
    __m512i four = looked_up(tq1_digits[0], 256, &at);
    w[4] = looked_up(tq1_digits[1], 256, &at);
    WEFT_UNROLL for (int j = 0; j < 4; j++) w[j] =
        _mm512_and_si512(shift16(four, 2 * j), _mm512_set1_epi8(3));
}

#endif
