/* CPU features as kernel variants. */
#include "base/cpu.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

/* Which register states the operating system saves (XCR0); AVX needs bits 1–2, AVX-512 5–7 too. */
static unsigned long long enabled_states(void) {
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & (1u << 27)))
        return 0;
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return ((unsigned long long)high << 32) | low;
}

static bool has_avx2(void) {
    unsigned a1, b1, c1, d1, a7, b7, c7, d7;
    if (!__get_cpuid(1, &a1, &b1, &c1, &d1) || !__get_cpuid_count(7, 0, &a7, &b7, &c7, &d7))
        return false;
    bool fma = c1 & (1u << 12), avx = c1 & (1u << 28), f16c = c1 & (1u << 29);
    bool avx2 = b7 & (1u << 5);
    return fma && avx && f16c && avx2 && (enabled_states() & 0x6) == 0x6;
}

static bool has_avx512(void) {
    unsigned a7, b7, c7, d7;
    if (!has_avx2() || !__get_cpuid_count(7, 0, &a7, &b7, &c7, &d7))
        return false;
    bool f = b7 & (1u << 16), dq = b7 & (1u << 17), bw = b7 & (1u << 30), vl = b7 & (1u << 31);
    bool vnni = c7 & (1u << 11);
    return f && dq && bw && vl && vnni && (enabled_states() & 0xe6) == 0xe6;
}

bool weft_cpu_has(weft_isa isa) {
    switch (isa) {
    case WEFT_ISA_SCALAR:
        return true;
    case WEFT_ISA_AVX2:
        return has_avx2();
    case WEFT_ISA_AVX512:
        return has_avx512();
    case WEFT_ISA_NEON:
    case WEFT_ISA_COUNT:
        break;
    }
    return false;
}
#elif defined(__aarch64__)
bool weft_cpu_has(weft_isa isa) {
    return isa == WEFT_ISA_SCALAR || isa == WEFT_ISA_NEON; /* part of the armv8-a baseline */
}
#else
bool weft_cpu_has(weft_isa isa) {
    return isa == WEFT_ISA_SCALAR;
}
#endif

weft_isa weft_cpu_best(void) {
    weft_isa best = WEFT_ISA_SCALAR;
    for (int isa = 0; isa < WEFT_ISA_COUNT; isa++)
        if (weft_cpu_has((weft_isa)isa))
            best = (weft_isa)isa;
    return best;
}

static const char *const names[WEFT_ISA_COUNT] = {"scalar", "avx2", "avx512", "neon"};

const char *weft_isa_name(weft_isa isa) {
    return isa < WEFT_ISA_COUNT ? names[isa] : "?";
}

bool weft_isa_parse(const char *name, weft_isa *out) {
    for (int isa = 0; isa < WEFT_ISA_COUNT; isa++) {
        if (strcmp(name, names[isa]) == 0) {
            *out = (weft_isa)isa;
            return true;
        }
    }
    return false;
}
