/* Limits of AVX-512: fused multiply-adds, and products of bytes summed in 16 bits. */
#include <immintrin.h>
#define LIMIT_VECTOR 64
#include "tensor/kernels/ref/limits_read.h"

#define CHAINS 12

static float loop_f32(size_t rounds) {
    __m512 factor = _mm512_set1_ps(0.5f), one = _mm512_set1_ps(1), acc[CHAINS];
    for (int c = 0; c < CHAINS; c++)
        acc[c] = _mm512_set1_ps((float)c);
    for (size_t i = 0; i < rounds; i++)
        for (int c = 0; c < CHAINS; c++)
            acc[c] = _mm512_fmadd_ps(acc[c], factor, one);
    for (int c = 1; c < CHAINS; c++)
        acc[0] = _mm512_add_ps(acc[0], acc[c]);
    return _mm512_cvtss_f32(acc[0]);
}

#define BYTE_CHAINS 6

/* As that of AVX2. */
static float loop_int8(size_t rounds) {
    __m512i quants = _mm512_set1_epi8(7), x[BYTE_CHAINS], acc[BYTE_CHAINS];
    for (int c = 0; c < BYTE_CHAINS; c++) {
        x[c] = _mm512_set1_epi8((char)c);
        acc[c] = _mm512_setzero_si512();
    }
    for (size_t i = 0; i < rounds; i++) {
        __asm__ volatile("" : "+v"(quants));
        for (int c = 0; c < BYTE_CHAINS; c++)
            acc[c] = _mm512_add_epi16(acc[c], _mm512_maddubs_epi16(quants, x[c]));
    }
    for (int c = 1; c < BYTE_CHAINS; c++)
        acc[0] = _mm512_add_epi16(acc[0], acc[c]);
    return (float)_mm_cvtsi128_si32(_mm512_castsi512_si128(acc[0]));
}

const weft_limit_kernels weft_limits_avx512 = {
    .read = read_memory,
    .f32 = loop_f32,
    .f32_ops = (size_t)CHAINS * 16 * 2,
    .int8 = loop_int8,
    .int8_ops = (size_t)BYTE_CHAINS * 64 * 2,
};
