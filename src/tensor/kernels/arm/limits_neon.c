/* Limits of NEON without the later extensions: fused multiply-adds, and products of bytes summed in
 * 16 bits. */
#include <arm_neon.h>
#define LIMIT_VECTOR 16
#include "tensor/kernels/ref/limits_read.h"

#define CHAINS 16
#define BYTE_CHAINS 8

static float loop_f32(size_t rounds) {
    float32x4_t factor = vdupq_n_f32(0.5f), x = vdupq_n_f32(1), acc[CHAINS];
    for (int c = 0; c < CHAINS; c++)
        acc[c] = vdupq_n_f32((float)c);
    for (size_t i = 0; i < rounds; i++) {
        __asm__ volatile("" : "+w"(x));
        for (int c = 0; c < CHAINS; c++)
            acc[c] = vfmaq_f32(acc[c], x, factor);
    }
    for (int c = 1; c < CHAINS; c++)
        acc[0] = vaddq_f32(acc[0], acc[c]);
    return vgetq_lane_f32(acc[0], 0);
}

static float loop_int8(size_t rounds) {
    int8x8_t quants = vdup_n_s8(7), x = vdup_n_s8(3);
    int16x8_t acc[BYTE_CHAINS];
    for (int c = 0; c < BYTE_CHAINS; c++)
        acc[c] = vdupq_n_s16((int16_t)c);
    for (size_t i = 0; i < rounds; i++) {
        __asm__ volatile("" : "+w"(quants));
        for (int c = 0; c < BYTE_CHAINS; c++)
            acc[c] = vmlal_s8(acc[c], quants, x);
    }
    for (int c = 1; c < BYTE_CHAINS; c++)
        acc[0] = vaddq_s16(acc[0], acc[c]);
    return (float)vgetq_lane_s16(acc[0], 0);
}

const weft_limit_kernels weft_limits_neon = {
    .read = read_memory,
    .f32 = loop_f32,
    .f32_ops = (size_t)CHAINS * 4 * 2,
    .int8 = loop_int8,
    .int8_ops = (size_t)BYTE_CHAINS * 8 * 2,
};
