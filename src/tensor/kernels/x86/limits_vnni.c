/* The limit of AVX512-VNNI: sums of four products of bytes. */
#include <immintrin.h>
#include "tensor/kernels/limits.h"

#define CHAINS (WEFT_LIMIT_VNNI_OPS / 128)

float weft_limit_int8_vnni(size_t rounds) {
    __m512i quants = _mm512_set1_epi8(7), x = _mm512_set1_epi8(3), acc[CHAINS];
    for (size_t c = 0; c < CHAINS; c++)
        acc[c] = _mm512_set1_epi32((int)c);
    for (size_t i = 0; i < rounds; i++) {
        __asm__ volatile("" : "+v"(quants)); /* else the sum of a round would be taken at once */
        for (size_t c = 0; c < CHAINS; c++)
            acc[c] = _mm512_dpbusd_epi32(acc[c], quants, x);
    }
    for (size_t c = 1; c < CHAINS; c++)
        acc[0] = _mm512_add_epi32(acc[0], acc[c]);
    return (float)_mm_cvtsi128_si32(_mm512_castsi512_si128(acc[0]));
}
