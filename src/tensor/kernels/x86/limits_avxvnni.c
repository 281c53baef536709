/* The limit of AVX-VNNI: sums of four products of bytes. */
#include <immintrin.h>
#include "tensor/kernels/limits.h"

#define CHAINS (WEFT_LIMIT_AVXVNNI_OPS / 64)

float weft_limit_int8_avxvnni(size_t rounds) {
    __m256i quants = _mm256_set1_epi8(7), x = _mm256_set1_epi8(3), acc[CHAINS];
    for (size_t c = 0; c < CHAINS; c++)
        acc[c] = _mm256_set1_epi32((int)c);
    for (size_t i = 0; i < rounds; i++) {
        __asm__ volatile("" : "+x"(quants)); /* else the sum of a round would be taken at once */
        for (size_t c = 0; c < CHAINS; c++)
            acc[c] = _mm256_dpbusd_avx_epi32(acc[c], quants, x);
    }
    for (size_t c = 1; c < CHAINS; c++)
        acc[0] = _mm256_add_epi32(acc[0], acc[c]);
    return (float)_mm256_extract_epi32(acc[0], 0);
}
