/* Limits of baseline C, as the compiler vectorises it for every CPU of the architecture. */
#define LIMIT_VECTOR 16
#include "tensor/kernels/ref/limits_read.h"

enum { LANES = 32, BYTES = 256 };

/* What stands in `memory` may be anything from here on. */
#define ANYTHING(memory) __asm__ volatile("" : : "r"(memory) : "memory")

static float loop_f32(size_t rounds) {
    float acc[LANES] = {0}, factor[1] = {0.5f};
    for (size_t i = 0; i < rounds; i++) {
        ANYTHING(factor);
        for (size_t repeat = 0; repeat < 8; repeat++)
            for (size_t l = 0; l < LANES; l++)
                acc[l] = acc[l] * factor[0] + 1.0f;
    }
    float all = 0;
    for (size_t l = 0; l < LANES; l++)
        all += acc[l];
    return all;
}

static float loop_int8(size_t rounds) {
    int8_t a[BYTES], b[BYTES];
    int32_t sum = 0;
    for (size_t l = 0; l < BYTES; l++)
        a[l] = b[l] = (int8_t)l;
    for (size_t i = 0; i < rounds; i++) {
        ANYTHING(a);
        for (size_t l = 0; l < BYTES; l++)
            sum = (int32_t)((uint32_t)sum + (uint32_t)((int32_t)a[l] * b[l]));
    }
    return (float)sum;
}

const weft_limit_kernels weft_limits_scalar = {
    .read = read_memory,
    .f32 = loop_f32,
    .f32_ops = (size_t)2 * 8 * LANES,
    .int8 = loop_int8,
    .int8_ops = (size_t)2 * BYTES,
};
