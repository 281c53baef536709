/* The limit of the dot product extension: sums of four products of bytes. */
#include <arm_neon.h>
#include "tensor/kernels/limits.h"

#define CHAINS (WEFT_LIMIT_DOTPROD_OPS / 32)

float weft_limit_int8_dotprod(size_t rounds) {
    int8x16_t quants = vdupq_n_s8(7), x = vdupq_n_s8(3);
    int32x4_t acc[CHAINS];
    for (size_t c = 0; c < CHAINS; c++)
        acc[c] = vdupq_n_s32((int32_t)c);
    for (size_t i = 0; i < rounds; i++) {
        __asm__ volatile("" : "+w"(quants));
        for (size_t c = 0; c < CHAINS; c++)
            acc[c] = vdotq_s32(acc[c], quants, x);
    }
    for (size_t c = 1; c < CHAINS; c++)
        acc[0] = vaddq_s32(acc[0], acc[c]);
    return (float)vgetq_lane_s32(acc[0], 0);
}
