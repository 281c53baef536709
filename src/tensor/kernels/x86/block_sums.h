/* What each block of x adds to its products on x86, for a group of rows at a time. Included behind
 * offset_of(form), what makes quants unsigned; pairs_count(form); CHUNK, blocks, and GROUP, rows
 * that are at hand. */
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
    float sum;     /* where there is a float minimum */
    int32_t whole; /* the sum times the offset that makes quants unsigned, negative */
    int32_t part;  /* halves: the sums of both as a pair of int16; or `whole` of the first alone,
                      and `whole` is that of the second */
} block_sums;

/* Which of them a form needs. */
WEFT_INLINE bool sum_counts(weft_form form) {
    return weft_form_has_min(form) && !weft_form_halves(form);
}
WEFT_INLINE bool whole_counts(weft_form form) {
    return offset_of(form) && !pairs_count(form);
}
WEFT_INLINE bool part_counts(weft_form form) {
    return weft_form_halves(form) || weft_form_floats(form);
}

WEFT_INLINE int32_t part_of(weft_form form, int32_t low, int32_t sum) {
    if (!part_counts(form))
        return 0;
    if (!pairs_count(form))
        return -offset_of(form) * low;
    return (int32_t)(((uint32_t)low & 0xffff) | (uint32_t)(sum - low) << 16);
}

WEFT_INLINE int32_t whole_of(weft_form form, int32_t low, int32_t sum) {
    return -offset_of(form) * (part_counts(form) ? sum - low : sum);
}

WEFT_INLINE block_sums block_sums_of(weft_form form, const int8_t *x, float d, int32_t sum) {
    int32_t low = part_counts(form) ? low_sum(x) : 0;
    return (block_sums){d, (float)sum, whole_of(form, low, sum), part_of(form, low, sum)};
}

/* The same of CHUNK blocks of some rows. */
typedef struct chunk_sums {
    float d[GROUP][CHUNK], sum[GROUP][CHUNK];
    int32_t whole[GROUP][CHUNK], part[GROUP][CHUNK];
} chunk_sums;

WEFT_INLINE void prepare(weft_form form, const weft_q8_rows *x, size_t begin, size_t end,
                         chunk_sums *s) {
    for (size_t t = 0; t < x->n; t++) {
        size_t at = t * (x->n_cols / 32) + begin, n = end - begin;
        for (size_t i = 0; i < n; i++)
            s->d[t][i] = x->d[at + i];
        for (size_t i = 0; i < n && sum_counts(form); i++)
            s->sum[t][i] = (float)x->sums[at + i];
        for (size_t i = 0; i < n && whole_counts(form) && !part_counts(form); i++)
            s->whole[t][i] = whole_of(form, 0, x->sums[at + i]);
        for (size_t i = 0; i < n && part_counts(form); i++) {
            int32_t low = low_sum(x->q + 32 * (at + i)), sum = x->sums[at + i];
            s->whole[t][i] = whole_of(form, low, sum);
            s->part[t][i] = part_of(form, low, sum);
        }
    }
}

/* Those of block i of row t. */
WEFT_INLINE block_sums sums_at(weft_form form, const chunk_sums *s, size_t t, size_t i) {
    return (block_sums){s->d[t][i], sum_counts(form) ? s->sum[t][i] : 0,
                        whole_counts(form) ? s->whole[t][i] : 0,
                        part_counts(form) ? s->part[t][i] : 0};
}

#endif
