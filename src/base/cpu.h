/* Which kernel variants this machine can run. */
#ifndef WEFT_BASE_CPU_H
#define WEFT_BASE_CPU_H

#include <stdbool.h>
#include <stddef.h>

/* Variants in ascending order within an architecture. Each builds on another one (weft_isa_base):
 * it runs the other's kernels but for those that it replaces. */
typedef enum weft_isa {
    WEFT_ISA_SCALAR,  /* baseline C: x86-64 v1 or armv8-a */
    WEFT_ISA_AVX2,    /* AVX2, FMA, F16C */
    WEFT_ISA_AVXVNNI, /* on AVX2: the 256-bit VNNI of CPUs without AVX-512 */
    WEFT_ISA_AVX512,  /* on AVX2: AVX-512 F BW DQ VL */
    WEFT_ISA_VNNI,    /* on AVX512: AVX512-VNNI */
    WEFT_ISA_VBMI,    /* on VNNI: AVX512-VBMI */
    WEFT_ISA_BF16,    /* on VBMI: AVX512-BF16 */
    WEFT_ISA_AMX,     /* on BF16: AMX-TILE and AMX-BF16, with the system's permission */
    WEFT_ISA_NEON,    /* armv8-a Advanced SIMD with fp16 conversions */
    WEFT_ISA_DOTPROD, /* on NEON: sdot */
    WEFT_ISA_I8MM,    /* on DOTPROD: smmla */
    WEFT_ISA_COUNT
} weft_isa;

/* The best variant the CPU and the operating system allow. */
weft_isa weft_cpu_best(void);
/* Whether `isa` can run here. Asks Linux for AMX's state, for the process, the first time that the
 * CPU has it; false where that is refused. */
bool weft_cpu_has(weft_isa isa);
/* What `isa` builds on; WEFT_ISA_SCALAR builds on itself. */
weft_isa weft_isa_base(weft_isa isa);
/* Whether `isa` is `part` or builds on it. */
bool weft_isa_includes(weft_isa isa, weft_isa part);
/* Of one core, as the system says; half a MiB where it says nothing. Asking takes microseconds in a
 * virtual machine. */
size_t weft_cpu_level2_bytes(void);
const char *weft_isa_name(weft_isa isa); /* "avx2" */
/* "avx2" → WEFT_ISA_AVX2; false for an unknown name. */
bool weft_isa_parse(const char *name, weft_isa *out);

#endif
