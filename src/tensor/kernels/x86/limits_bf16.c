/* The limit of AVX512-BF16: sums of two products of bfloat16. */
#include <immintrin.h>
#include "tensor/kernels/limits.h"

#define CHAINS (WEFT_LIMIT_BF16_OPS / 64)

float weft_limit_bf16_avx512(size_t rounds) {
    __m512bh weights = (__m512bh)_mm512_set1_epi16(0x3f00), x = weights; /* 0.5 */
    __m512 acc[CHAINS];
    for (size_t c = 0; c < CHAINS; c++)
        acc[c] = _mm512_set1_ps((float)c);
    for (size_t i = 0; i < rounds; i++) {
        __asm__ volatile("" : "+v"(weights));
        for (size_t c = 0; c < CHAINS; c++)
            acc[c] = _mm512_dpbf16_ps(acc[c], weights, x);
    }
    for (size_t c = 1; c < CHAINS; c++)
        acc[0] = _mm512_add_ps(acc[0], acc[c]);
    return _mm512_cvtss_f32(acc[0]);
}
