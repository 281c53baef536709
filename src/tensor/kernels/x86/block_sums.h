/* What each block of x adds to its products on x86. Included behind offset_of(form), what makes
 * quants unsigned, and pairs_count(form). */
#ifndef WEFT_KERNELS_BLOCK_SUMS_H
#define WEFT_KERNELS_BLOCK_SUMS_H

#include <smmintrin.h>
#include "tensor/kernels/ref/panel_q8_block.h"

/* The sum of the first half of a block of x. */
WEFT_INLINE int32_t low_sum(const int8_t *x) {
    __m128i bytes =
        _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)x), _mm_set1_epi8(-128));
    __m128i sad = _mm_sad_epu8(bytes, _mm_setzero_si128());
    return _mm_cvtsi128_si32(sad) + _mm_extract_epi32(sad, 2) - 16 * 128;
}

/* What a block of x adds beside its products. */
typedef struct block_sums {
    float d;
    int32_t sum;
    int32_t whole; /* the sum times the offset that makes quants unsigned, negative */
    int32_t part;  /* halves: the sums of both as a pair of int16; or `whole` of the first alone,
                      and `whole` is that of the second */
} block_sums;

/* Which of them a form needs beside the sum. */
WEFT_INLINE bool whole_counts(weft_form form) {
    return offset_of(form) && !pairs_count(form);
}
WEFT_INLINE bool part_counts(weft_form form) {
    return weft_form_halves(form) || weft_form_floats(form);
}

WEFT_INLINE int32_t part_of(weft_form form, const int8_t *x, int32_t sum) {
    if (!part_counts(form))
        return 0;
    int32_t low = low_sum(x);
    if (!pairs_count(form))
        return -offset_of(form) * low;
    return (int32_t)(((uint32_t)low & 0xffff) | (uint32_t)(sum - low) << 16);
}

WEFT_INLINE block_sums block_sums_of(weft_form form, float d, int32_t sum, int32_t part) {
    int32_t whole = -offset_of(form) * sum;
    if (part_counts(form) && !pairs_count(form))
        whole -= part;
    return (block_sums){d, sum, whole, part};
}

/* The parts of blocks [begin, end) of all rows, `ld` apart. */
WEFT_INLINE void prepare_parts(weft_form form, const weft_q8_rows *x, size_t begin, size_t end,
                               size_t ld, int32_t *parts) {
    for (size_t t = 0; t < x->n; t++) {
        size_t at = t * (x->n_cols / 32) + begin;
        for (size_t i = 0; i < end - begin; i++)
            parts[t * ld + i] = part_of(form, x->q + 32 * (at + i), x->sums[at + i]);
    }
}

/* What block k of row t adds; its part is given. */
WEFT_INLINE block_sums sums_at(weft_form form, const weft_q8_rows *x, size_t t, size_t k,
                               int32_t part) {
    size_t at = t * (x->n_cols / 32) + k;
    return block_sums_of(form, x->d[at], x->sums[at], part);
}

#endif
