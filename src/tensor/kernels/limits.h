/* Small kernels that show what a core can do at most, one set a variant: reading memory, float
 * multiply-adds, and products of bytes. Nothing of a model runs through them; `weft bench` divides
 * by them. */
#ifndef WEFT_KERNELS_LIMITS_H
#define WEFT_KERNELS_LIMITS_H

#include <stddef.h>
#include <stdint.h>
#include "base/cpu.h"

#define WEFT_LIMIT_READ_STEP 1024 /* bytes; a read is a multiple of it */

/* A loop of `rounds` without memory access; the result only keeps it from being removed. */
typedef float weft_limit_loop(size_t rounds);

typedef struct weft_limit_kernels {
    weft_isa isa;
    /* Reads every byte once; gives something that depends on all of them. */
    uint64_t (*read)(const void *memory, size_t size_bytes);
    weft_limit_loop *f32, *int8;
    size_t f32_ops, int8_ops; /* a round; a multiply and an add are two */
} weft_limit_kernels;

extern const weft_limit_kernels weft_limits_scalar;
#if defined(__x86_64__)
extern const weft_limit_kernels weft_limits_avx2;
extern const weft_limit_kernels weft_limits_avx512;
weft_limit_loop weft_limit_bf16_avx512; /* needs AVX512-BF16 beside the variant's own */
#define WEFT_LIMIT_BF16_OPS ((size_t)12 * 64)
#elif defined(__aarch64__)
extern const weft_limit_kernels weft_limits_neon;
#endif

/* Of the variant, or of the best one below it; never NULL. */
const weft_limit_kernels *weft_limit_kernels_of(weft_isa isa);
/* The loop of bfloat16 products where this CPU has them and `isa` allows it, else NULL. */
weft_limit_loop *weft_limit_bf16_of(weft_isa isa, size_t *ops);

#endif
