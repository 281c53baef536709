/* Which set of limit kernels belongs to a variant. */
#include "tensor/kernels/limits.h"

#if defined(__x86_64__)
#include <cpuid.h>

const weft_limit_kernels *weft_limit_kernels_of(weft_isa isa) {
    if (isa >= WEFT_ISA_AVX512 && weft_cpu_has(WEFT_ISA_AVX512))
        return &weft_limits_avx512;
    return isa >= WEFT_ISA_AVX2 && weft_cpu_has(WEFT_ISA_AVX2) ? &weft_limits_avx2
                                                               : &weft_limits_scalar;
}

weft_limit_loop *weft_limit_bf16_of(weft_isa isa, size_t *ops) {
    unsigned a, b, c, d;
    *ops = WEFT_LIMIT_BF16_OPS;
    if (isa < WEFT_ISA_AVX512 || !weft_cpu_has(WEFT_ISA_AVX512) ||
        !__get_cpuid_count(7, 1, &a, &b, &c, &d) || !(a & (1u << 5)))
        return NULL;
    return weft_limit_bf16_avx512;
}
#else
const weft_limit_kernels *weft_limit_kernels_of(weft_isa isa) {
#if defined(__aarch64__)
    if (isa != WEFT_ISA_SCALAR)
        return &weft_limits_neon;
#endif
    (void)isa;
    return &weft_limits_scalar;
}

weft_limit_loop *weft_limit_bf16_of(weft_isa isa, size_t *ops) {
    (void)isa;
    *ops = 0;
    return NULL;
}
#endif
