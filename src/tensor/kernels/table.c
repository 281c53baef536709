/* The tables of the variants that were compiled in, filled from kernels.list. */
#include "tensor/kernels/declare.h"

/* A kernel serves its own variant and all that build on it, until one of theirs, further down the
 * list, takes its place: initialising twice is meant. */
#pragma GCC diagnostic push
#ifdef __clang__
#pragma GCC diagnostic ignored "-Winitializer-overrides"
#else
#pragma GCC diagnostic ignored "-Woverride-init"
#endif

#define OF(variant, entry, name) [WEFT_ISA_##variant].entry = name,
#if defined(__x86_64__)
#define KERNEL_AMX(entry, name) OF(AMX, entry, name)
#define KERNEL_BF16(entry, name) OF(BF16, entry, name) KERNEL_AMX(entry, name)
#define KERNEL_VBMI(entry, name) OF(VBMI, entry, name) KERNEL_BF16(entry, name)
#define KERNEL_VNNI(entry, name) OF(VNNI, entry, name) KERNEL_VBMI(entry, name)
#define KERNEL_AVX512(entry, name) OF(AVX512, entry, name) KERNEL_VNNI(entry, name)
#define KERNEL_AVXVNNI(entry, name) OF(AVXVNNI, entry, name)
#define KERNEL_AVX2(entry, name)                                                                   \
    OF(AVX2, entry, name) KERNEL_AVXVNNI(entry, name) KERNEL_AVX512(entry, name)
#define KERNEL_SCALAR(entry, name) OF(SCALAR, entry, name) KERNEL_AVX2(entry, name)
#elif defined(__aarch64__)
#define KERNEL_I8MM(entry, name) OF(I8MM, entry, name)
#define KERNEL_DOTPROD(entry, name) OF(DOTPROD, entry, name) KERNEL_I8MM(entry, name)
#define KERNEL_NEON(entry, name) OF(NEON, entry, name) KERNEL_DOTPROD(entry, name)
#define KERNEL_SCALAR(entry, name) OF(SCALAR, entry, name) KERNEL_NEON(entry, name)
#else
#define KERNEL_SCALAR(entry, name) OF(SCALAR, entry, name)
#endif

static const weft_kernels tables[WEFT_ISA_COUNT] = {
#include "tensor/kernels/kernels.list"
    OF(SCALAR, isa, WEFT_ISA_SCALAR)
#if defined(__x86_64__)
        OF(AVX2, isa, WEFT_ISA_AVX2) OF(AVXVNNI, isa, WEFT_ISA_AVXVNNI)
            OF(AVX512, isa, WEFT_ISA_AVX512) OF(VNNI, isa, WEFT_ISA_VNNI)
                OF(VBMI, isa, WEFT_ISA_VBMI) OF(BF16, isa, WEFT_ISA_BF16) OF(AMX, isa, WEFT_ISA_AMX)
#elif defined(__aarch64__)
        OF(NEON, isa, WEFT_ISA_NEON) OF(DOTPROD, isa, WEFT_ISA_DOTPROD) OF(I8MM, isa, WEFT_ISA_I8MM)
#endif
};
#pragma GCC diagnostic pop

const weft_kernels *weft_kernels_of(weft_isa isa) {
    bool compiled_in = (unsigned)isa < WEFT_ISA_COUNT && tables[isa].quantize_q8 != NULL;
    return compiled_in ? &tables[isa] : NULL;
}

static size_t tiles_of(size_t n_cols) {
    return (n_cols + 31) / 32;
}

static size_t parts_of(size_t n_cols) {
    return (tiles_of(n_cols) + WEFT_BF16_DEPTH - 1) / WEFT_BF16_DEPTH;
}

size_t weft_bf16_depth(size_t n_cols) {
    size_t parts = parts_of(n_cols);
    return parts > 0 ? (tiles_of(n_cols) + parts - 1) / parts : 1;
}

/* An odd number of parts: rows whose distance is a power of two would meet in few sets. */
size_t weft_bf16_step(size_t n_cols) {
    return (parts_of(n_cols) | 1) * weft_bf16_depth(n_cols) * WEFT_BF16_TILE;
}

size_t weft_bf16_sums(size_t n_panels, size_t n, size_t n_cols) {
    if (parts_of(n_cols) < 2)
        return 0;
    return (n_panels + 1) / 2 * ((n + 31) / 32) * 1024;
}

bool weft_bf16_serves(const weft_kernels *k, weft_dtype dtype) {
    if (k->panel_bf16 == NULL || dtype == WEFT_F32)
        return false;
    return weft_isa_includes(k->isa, WEFT_ISA_AMX) || !weft_dtype_is_quantized(dtype);
}
