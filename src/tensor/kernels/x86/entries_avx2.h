/* Quants of the types with codebooks and of TQ1_0 in registers of 256 bits: eight rows, from the
 * indices and digits of a panel. Included behind panel_q8_block.h. */
#ifndef WEFT_KERNELS_ENTRIES_AVX2_H
#define WEFT_KERNELS_ENTRIES_AVX2_H

#include <immintrin.h>

WEFT_INLINE __m256i load(const void *p) {
    return _mm256_loadu_si256((const __m256i *)p);
}
WEFT_INLINE __m128i load16(const void *p) {
    return _mm_loadu_si128((const __m128i *)p);
}

/* Shifts right, or left by -n. */
WEFT_INLINE __m256i shift16(__m256i v, int n) {
    return n > 0 ? _mm256_srli_epi16(v, n) : n < 0 ? _mm256_slli_epi16(v, -n) : v;
}

/* 32-bit lanes shifted left, or right by -n. */
WEFT_INLINE __m256i shift32(__m256i v, int n) {
    return n >= 0 ? _mm256_slli_epi32(v, n) : _mm256_srli_epi32(v, -n);
}

/* a | (b & mask) */
WEFT_INLINE __m256i or_masked(__m256i a, __m256i b, __m256i mask) {
    return _mm256_or_si256(a, _mm256_and_si256(b, mask));
}

/* The high bits of the rows' indices, a lane a row. */
WEFT_INLINE __m256i high_lanes(weft_form form, q8_block s, int half) {
    if (weft_forms[form].high == 2)
        return _mm256_cvtepu16_epi32(load16(s.h + 16 * half));
    if (weft_forms[form].high == 1)
        return _mm256_cvtepu8_epi32(
            _mm_loadl_epi64((const __m128i *)(const void *)(s.h + 8 * half)));
    return weft_forms[form].signs ? load(s.s + 32 * half) : _mm256_setzero_si256();
}

/* A line of signs with those of the eighth columns, which make the number of negative ones even. */
WEFT_INLINE __m256i all_signs(weft_form form, q8_block s, int half) {
    __m256i line = load(s.s + 32 * half);
    if (weft_forms[form].signs == 8)
        return line;
    line = _mm256_and_si256(line, _mm256_set1_epi32(0x55ffffff));
    __m256i odd = _mm256_xor_si256(line, _mm256_srli_epi32(line, 16));
    odd = _mm256_xor_si256(odd, _mm256_srli_epi32(odd, 8));
    odd = _mm256_xor_si256(odd, _mm256_srli_epi32(odd, 1));
    odd = _mm256_and_si256(odd, _mm256_set1_epi32(0x55));
    return _mm256_or_si256(line, _mm256_slli_epi32(odd, 25));
}

/* Words of a table in the first level of caches: loads of eight are faster than a gather, which
 * many CPUs run by microcode. */
WEFT_INLINE __m256i words_at(const uint32_t *table, __m256i index) {
    _Alignas(32) uint32_t at[8];
    _mm256_store_si256((__m256i *)(void *)at, index);
#define WORD(r) ((int32_t)table[at[r]])
    return _mm256_setr_epi32(WORD(0), WORD(1), WORD(2), WORD(3), WORD(4), WORD(5), WORD(6),
                             WORD(7));
#undef WORD
}

/* Entry i of each row. */
WEFT_INLINE __m256i entry_words(weft_form form, q8_block s, __m256i high, int i, int half) {
    __m256i index = shift32(load(s.q + 64 * (i / 4) + 32 * half), -8 * (i % 4));
    index = _mm256_and_si256(index, _mm256_set1_epi32(255));
    if (index_high(form))
        index = or_masked(index, shift32(high, index_shift(form, i)),
                          _mm256_set1_epi32(index_high(form)));
    return words_at(s.book, index);
}

/* Ones where entry i of IQ1 is shifted down, as the third bit of its codes. */
WEFT_INLINE __m256i shifted_down(weft_form form, __m256i high, int i) {
    int top = form == WEFT_FORM_IQ1_S ? 15 : 4 * i + 3;
    __m256i all = _mm256_srai_epi32(_mm256_slli_epi32(high, 31 - top), 31);
    return _mm256_and_si256(all, _mm256_set1_epi8(4));
}

/* The eight quads of a block of entries, of rows 8 half … 8 half + 7. */
WEFT_INLINE void entry_quads(weft_form form, q8_block s, int half, __m256i w[8]) {
    const __m256i table = _mm256_broadcastsi128_si256(load16(s.table));
    const __m256i two_bits = _mm256_set1_epi8(3);
    __m256i high = high_lanes(form, s, half), signs = _mm256_setzero_si256(), codes;
    if (weft_forms[form].signs)
        signs = all_signs(form, s, half);
    WEFT_UNROLL for (int i = 0; i < weft_forms[form].entries; i++) {
        __m256i word = entry_words(form, s, high, i, half);
        if (weft_forms[form].entries == 8) {
            codes = or_masked(word, shift16(signs, i - 3), _mm256_set1_epi8(8));
            w[i] = _mm256_shuffle_epi8(table, codes);
            continue;
        }
        WEFT_UNROLL for (int j = 2 * i; j < 2 * i + 2; j++) {
            codes = _mm256_and_si256(shift16(word, 4 * (j % 2)), two_bits);
            if (weft_forms[form].signs)
                codes = or_masked(codes, shift16(signs, j - 2), _mm256_set1_epi8(4));
            else
                codes = _mm256_or_si256(codes, shifted_down(form, high, i));
            w[j] = _mm256_shuffle_epi8(table, codes);
        }
    }
}

/* -1 in bytes of v that are at least `least`. */
WEFT_INLINE __m256i at_least(__m256i v, int least) {
    return _mm256_cmpeq_epi8(_mm256_max_epu8(v, _mm256_set1_epi8((char)least)), v);
}

/* TQ1_0's: the digit in front of the point of a byte's triple is how many thirds it holds. */
WEFT_INLINE void digit_quads(q8_block s, int half, __m256i w[8]) {
    const __m256i fifteen = _mm256_set1_epi8(15), top_bit = _mm256_set1_epi8((char)(1 << s.sub));
    __m256i v = load(s.q + 32 * half);
    WEFT_UNROLL for (int j = 0; j < 5; j++) {
        w[j] = _mm256_abs_epi8(_mm256_add_epi8(at_least(v, 86), at_least(v, 171)));
        v = _mm256_add_epi8(_mm256_add_epi8(v, v), v);
    }
    __m256i low = load(s.h + 64 * (s.sub / 2) + 32 * half);
    low = _mm256_and_si256(_mm256_srl_epi16(low, _mm_cvtsi32_si128(4 * (s.sub % 2))), fifteen);
    __m256i top = _mm256_and_si256(load(s.h + 256 + 32 * half), top_bit);
    top = _mm256_cmpeq_epi8(top, top_bit);
    __m256i pairs = _mm256_blendv_epi8(
        _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load16(tq1_pairs[0])), low),
        _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load16(tq1_pairs[1])), low), top);
    WEFT_UNROLL for (int j = 0; j < 3; j++) w[5 + j] =
        _mm256_and_si256(shift16(pairs, 2 * j), _mm256_set1_epi8(3));
}

/* The odd sub-scales of both halves, a byte each, from eight of the file's codes. */
WEFT_INLINE __m128i odd_scale_pairs(weft_form form, const uint8_t *sc) {
    const int bits = form == WEFT_FORM_IQ1_M ? 3 : 4;
    const __m128i mask = _mm_set1_epi8((char)((1 << bits) - 1));
    __m128i both = _mm_loadl_epi64((const __m128i *)(const void *)sc);
    __m128i s = _mm_unpacklo_epi8(_mm_and_si128(both, mask),
                                  _mm_and_si128(_mm_srli_epi16(both, bits), mask));
    return _mm_or_si128(_mm_add_epi8(s, s), _mm_set1_epi8(1));
}

/* The odd sub-scales of entries: of a byte, IQ1_S's three high bits, or the spare bits of signs. */
WEFT_INLINE __m256 odd_scales(weft_form form, q8_block s, int half) {
    __m256i v;
    if (weft_forms[form].sc) {
        v = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(s.sc + 8 * half)));
    } else if (form == WEFT_FORM_IQ1_S) {
        v = _mm256_srli_epi32(high_lanes(form, s, half), 12);
        v = _mm256_and_si256(v, _mm256_set1_epi32(7));
    } else {
        v = _mm256_srli_epi32(load(s.s + 32 * half), 25);
        v = _mm256_and_si256(v, _mm256_set1_epi32(0x55));
        v = _mm256_and_si256(_mm256_or_si256(v, _mm256_srli_epi32(v, 1)), _mm256_set1_epi32(0x33));
        v = _mm256_and_si256(_mm256_or_si256(v, _mm256_srli_epi32(v, 2)), _mm256_set1_epi32(15));
    }
    return _mm256_cvtepi32_ps(_mm256_add_epi32(_mm256_add_epi32(v, v), _mm256_set1_epi32(1)));
}

#endif
