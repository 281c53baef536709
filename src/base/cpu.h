/* Which kernel variants this machine can run. */
#ifndef WEFT_BASE_CPU_H
#define WEFT_BASE_CPU_H

#include <stdbool.h>

/* Variants in ascending order within an architecture; each implies those before it in its column.
 */
typedef enum weft_isa {
    WEFT_ISA_SCALAR, /* baseline C: x86-64 v1 or armv8-a */
    WEFT_ISA_AVX2,   /* AVX2, FMA, F16C */
    WEFT_ISA_AVX512, /* AVX-512 F BW DQ VL and VNNI */
    WEFT_ISA_NEON,   /* armv8-a Advanced SIMD with fp16 conversions */
    WEFT_ISA_COUNT
} weft_isa;

/* The best variant the CPU and the operating system allow. Reads CPUID/HWCAP once. */
weft_isa weft_cpu_best(void);
/* Whether `isa` can run here. */
bool weft_cpu_has(weft_isa isa);
const char *weft_isa_name(weft_isa isa); /* "avx2" */
/* "avx2" → WEFT_ISA_AVX2; false for an unknown name. */
bool weft_isa_parse(const char *name, weft_isa *out);

#endif
