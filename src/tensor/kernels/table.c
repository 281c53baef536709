/* The tables of the variants that were compiled in, filled from kernels.list. */
#include "tensor/kernels/declare.h"

#define ENTRY(entry, name) .entry = name,
#define NO_ENTRY(entry, name)

#define KERNEL_SCALAR ENTRY
#define KERNEL_AVX2 NO_ENTRY
#define KERNEL_AVX512 NO_ENTRY
#define KERNEL_NEON NO_ENTRY
static const weft_kernels table_scalar = {
    .isa = WEFT_ISA_SCALAR,
#include "tensor/kernels/kernels.list"
};

#if defined(__x86_64__)

#undef KERNEL_SCALAR
#define KERNEL_SCALAR NO_ENTRY
#undef KERNEL_AVX2
#define KERNEL_AVX2 ENTRY
static const weft_kernels table_avx2 = {
    .isa = WEFT_ISA_AVX2,
#include "tensor/kernels/kernels.list"
};

#undef KERNEL_AVX2
#define KERNEL_AVX2 NO_ENTRY
#undef KERNEL_AVX512
#define KERNEL_AVX512 ENTRY
static const weft_kernels table_avx512 = {
    .isa = WEFT_ISA_AVX512,
#include "tensor/kernels/kernels.list"
};

#elif defined(__aarch64__)

#undef KERNEL_SCALAR
#define KERNEL_SCALAR NO_ENTRY
#undef KERNEL_NEON
#define KERNEL_NEON ENTRY
static const weft_kernels table_neon = {
    .isa = WEFT_ISA_NEON,
#include "tensor/kernels/kernels.list"
};

#endif

const weft_kernels *weft_kernels_of(weft_isa isa) {
    switch (isa) {
    case WEFT_ISA_SCALAR:
        return &table_scalar;
#if defined(__x86_64__)
    case WEFT_ISA_AVX2:
        return &table_avx2;
    case WEFT_ISA_AVX512:
        return &table_avx512;
#elif defined(__aarch64__)
    case WEFT_ISA_NEON:
        return &table_neon;
#endif
    default:
        return NULL;
    }
}
