/* Small kernels that show what a core can do at most, one set a variant: reading memory, float
 * multiply-adds, and products of bytes and of bfloat16. Nothing of a model runs through them; `weft
 * bench` divides by them. */
#ifndef WEFT_KERNELS_LIMITS_H
#define WEFT_KERNELS_LIMITS_H

#include <stddef.h>
#include <stdint.h>
#include "base/cpu.h"

#define WEFT_LIMIT_READ_STEP 1024 /* bytes; a read is a multiple of it */

/* A loop of `rounds` without memory access; the result only keeps it from being removed. */
typedef float weft_limit_loop(size_t rounds);

typedef struct weft_limit_kernels {
    /* Reads every byte once, from an address that is a multiple of 64; gives the exclusive or of
     * all words of eight bytes. */
    uint64_t (*read)(const void *memory, size_t size_bytes);
    weft_limit_loop *f32, *int8, *bf16; /* bf16: NULL where there is no such instruction */
    size_t f32_ops, int8_ops, bf16_ops; /* a round; a multiply and an add are two */
} weft_limit_kernels;

extern const weft_limit_kernels weft_limits_scalar;
#if defined(__x86_64__)
extern const weft_limit_kernels weft_limits_avx2;
extern const weft_limit_kernels weft_limits_avx512;
/* What some variants have beside: loops, and their operations a round. */
weft_limit_loop weft_limit_int8_avxvnni, weft_limit_int8_vnni;
weft_limit_loop weft_limit_bf16_avx512, weft_limit_bf16_amx;
#define WEFT_LIMIT_AVXVNNI_OPS ((size_t)12 * 64)
#define WEFT_LIMIT_VNNI_OPS ((size_t)12 * 128)
#define WEFT_LIMIT_BF16_OPS ((size_t)12 * 64)
#define WEFT_LIMIT_AMX_OPS ((size_t)4 * 2 * 16 * 16 * 32)
#elif defined(__aarch64__)
extern const weft_limit_kernels weft_limits_neon;
weft_limit_loop weft_limit_int8_dotprod, weft_limit_int8_i8mm;
#define WEFT_LIMIT_DOTPROD_OPS ((size_t)16 * 32)
#define WEFT_LIMIT_I8MM_OPS ((size_t)16 * 64)
#endif

/* Those of the variant. */
weft_limit_kernels weft_limit_kernels_of(weft_isa isa);

#endif
