/* Which limit kernels belong to a variant. */
#include "tensor/kernels/limits.h"

#if defined(__x86_64__)
weft_limit_kernels weft_limit_kernels_of(weft_isa isa) {
    if (!weft_isa_includes(isa, WEFT_ISA_AVX2))
        return weft_limits_scalar;
    bool wide = weft_isa_includes(isa, WEFT_ISA_AVX512);
    weft_limit_kernels k = wide ? weft_limits_avx512 : weft_limits_avx2;
    if (isa == WEFT_ISA_AVXVNNI) {
        k.int8 = weft_limit_int8_avxvnni;
        k.int8_ops = WEFT_LIMIT_AVXVNNI_OPS;
    }
    if (weft_isa_includes(isa, WEFT_ISA_VNNI)) {
        k.int8 = weft_limit_int8_vnni;
        k.int8_ops = WEFT_LIMIT_VNNI_OPS;
    }
    if (weft_isa_includes(isa, WEFT_ISA_BF16)) {
        bool tiles = isa == WEFT_ISA_AMX;
        k.bf16 = tiles ? weft_limit_bf16_amx : weft_limit_bf16_avx512;
        k.bf16_ops = tiles ? WEFT_LIMIT_AMX_OPS : WEFT_LIMIT_BF16_OPS;
    }
    return k;
}
#elif defined(__aarch64__)
weft_limit_kernels weft_limit_kernels_of(weft_isa isa) {
    if (!weft_isa_includes(isa, WEFT_ISA_NEON))
        return weft_limits_scalar;
    weft_limit_kernels k = weft_limits_neon;
    if (weft_isa_includes(isa, WEFT_ISA_DOTPROD)) {
        bool matrix = isa == WEFT_ISA_I8MM;
        k.int8 = matrix ? weft_limit_int8_i8mm : weft_limit_int8_dotprod;
        k.int8_ops = matrix ? WEFT_LIMIT_I8MM_OPS : WEFT_LIMIT_DOTPROD_OPS;
    }
    return k;
}
#else
weft_limit_kernels weft_limit_kernels_of(weft_isa isa) {
    (void)isa;
    return weft_limits_scalar;
}
#endif
