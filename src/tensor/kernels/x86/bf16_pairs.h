/* Pairs of bfloat16, as products of bfloat16 want their second operand: what lies in two vectors of
 * 16 elements becomes 16 pairs (AVX512-BF16). */
#ifndef WEFT_KERNELS_BF16_PAIRS_H
#define WEFT_KERNELS_BF16_PAIRS_H

#include <immintrin.h>
#include "tensor/kernels/lanes.h"

/* Two columns of 16 rows, one behind the other, as pairs. */
WEFT_INLINE __m512i bf16_interleave(__m512i columns) {
    const __m512i order =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(order, columns);
}

WEFT_INLINE __m512i bf16_pairs(__m512 first, __m512 second) {
    return bf16_interleave((__m512i)_mm512_cvtne2ps_pbh(second, first));
}

#endif
