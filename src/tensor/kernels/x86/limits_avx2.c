/* Limits of AVX2: fused multiply-adds, and products of bytes summed in 16 bits, which is as far as
 * a block of 32 allows. */
#include <immintrin.h>
#define LIMIT_VECTOR 32
#include "tensor/kernels/ref/limits_read.h"

/* Twelve chains hide the latency of four or five cycles on two units. */
#define CHAINS 12

static float loop_f32(size_t rounds) {
    __m256 factor = _mm256_set1_ps(0.5f), one = _mm256_set1_ps(1), acc[CHAINS];
    for (int c = 0; c < CHAINS; c++)
        acc[c] = _mm256_set1_ps((float)c);
    for (size_t i = 0; i < rounds; i++)
        for (int c = 0; c < CHAINS; c++)
            acc[c] = _mm256_fmadd_ps(acc[c], factor, one);
    for (int c = 1; c < CHAINS; c++)
        acc[0] = _mm256_add_ps(acc[0], acc[c]);
    return _mm256_cvtss_f32(acc[0]);
}

/* One factor may be anything in each round, so that no product is taken out of the loop; the others
 * differ, so that all are computed. */
#define BYTE_CHAINS 6

static float loop_int8(size_t rounds) {
    __m256i quants = _mm256_set1_epi8(7), x[BYTE_CHAINS], acc[BYTE_CHAINS];
    for (int c = 0; c < BYTE_CHAINS; c++) {
        x[c] = _mm256_set1_epi8((char)c);
        acc[c] = _mm256_setzero_si256();
    }
    for (size_t i = 0; i < rounds; i++) {
        __asm__ volatile("" : "+x"(quants));
        for (int c = 0; c < BYTE_CHAINS; c++)
            acc[c] = _mm256_add_epi16(acc[c], _mm256_maddubs_epi16(quants, x[c]));
    }
    for (int c = 1; c < BYTE_CHAINS; c++)
        acc[0] = _mm256_add_epi16(acc[0], acc[c]);
    return (float)_mm256_extract_epi16(acc[0], 0);
}

const weft_limit_kernels weft_limits_avx2 = {
    .read = read_memory,
    .f32 = loop_f32,
    .f32_ops = (size_t)CHAINS * 8 * 2,
    .int8 = loop_int8,
    .int8_ops = (size_t)BYTE_CHAINS * 32 * 2,
};
