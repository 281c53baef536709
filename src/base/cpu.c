/* CPU features as kernel variants. */
#include "base/cpu.h"

#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>

/* Which register states the operating system saves (XCR0). */
#define STATES_AVX 0x6u
#define STATES_AVX512 0xe6u
#define STATES_AMX 0x60000u

typedef struct cpu_leaf {
    unsigned eax, ebx, ecx, edx;
} cpu_leaf;

/* Zeros where the CPU has no such leaf. */
static cpu_leaf leaf(unsigned number, unsigned sub) {
    cpu_leaf l = {0};
    if (!__get_cpuid_count(number, sub, &l.eax, &l.ebx, &l.ecx, &l.edx))
        return (cpu_leaf){0};
    return l;
}

static bool saves_states(unsigned states) {
    if (!(leaf(1, 0).ecx & (1u << 27)))
        return false;
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & states) == states;
}

static bool has_avx2(void) {
    unsigned c1 = leaf(1, 0).ecx;
    bool fma = c1 & (1u << 12), avx = c1 & (1u << 28), f16c = c1 & (1u << 29);
    bool avx2 = leaf(7, 0).ebx & (1u << 5);
    return fma && avx && f16c && avx2 && saves_states(STATES_AVX);
}

static bool has_avx512(void) {
    unsigned b7 = leaf(7, 0).ebx;
    bool f = b7 & (1u << 16), dq = b7 & (1u << 17), bw = b7 & (1u << 30), vl = b7 & (1u << 31);
    return f && dq && bw && vl && saves_states(STATES_AVX512);
}

/* Linux hands out the tiles' state on request only, once a process (Documentation/arch/x86/xstate).
 */
static bool tiles_allowed(void) {
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

static bool has_amx(void) {
    unsigned d7 = leaf(7, 0).edx;
    bool bf16 = d7 & (1u << 22), tile = d7 & (1u << 24);
    return bf16 && tile && saves_states(STATES_AMX) && tiles_allowed();
}

/* What `isa` needs beside that on which it builds. */
static bool has_own(weft_isa isa) {
    switch (isa) {
    case WEFT_ISA_SCALAR:
        return true;
    case WEFT_ISA_AVX2:
        return has_avx2();
    case WEFT_ISA_AVXVNNI:
        return leaf(7, 1).eax & (1u << 4);
    case WEFT_ISA_AVX512:
        return has_avx512();
    case WEFT_ISA_VNNI:
        return leaf(7, 0).ecx & (1u << 11);
    case WEFT_ISA_VBMI:
        return leaf(7, 0).ecx & (1u << 1);
    case WEFT_ISA_BF16:
        return leaf(7, 1).eax & (1u << 5);
    case WEFT_ISA_AMX:
        return has_amx();
    default:
        return false;
    }
}
#elif defined(__aarch64__)
#include <sys/auxv.h>

/* The kernel's bits, which older C libraries do not name. */
#define HAS_ASIMDDP (1ul << 20) /* AT_HWCAP */
#define HAS_I8MM (1ul << 13)    /* AT_HWCAP2 */

static bool has_own(weft_isa isa) {
    switch (isa) {
    case WEFT_ISA_SCALAR:
    case WEFT_ISA_NEON: /* part of the armv8-a baseline */
        return true;
    case WEFT_ISA_DOTPROD:
        return getauxval(AT_HWCAP) & HAS_ASIMDDP;
    case WEFT_ISA_I8MM:
        return getauxval(AT_HWCAP2) & HAS_I8MM;
    default:
        return false;
    }
}
#else
static bool has_own(weft_isa isa) {
    return isa == WEFT_ISA_SCALAR;
}
#endif

static const struct {
    const char *name;
    weft_isa base;
} variants[WEFT_ISA_COUNT] = {
    [WEFT_ISA_SCALAR] = {"scalar", WEFT_ISA_SCALAR},
    [WEFT_ISA_AVX2] = {"avx2", WEFT_ISA_SCALAR},
    [WEFT_ISA_AVXVNNI] = {"avxvnni", WEFT_ISA_AVX2},
    [WEFT_ISA_AVX512] = {"avx512", WEFT_ISA_AVX2},
    [WEFT_ISA_VNNI] = {"vnni", WEFT_ISA_AVX512},
    [WEFT_ISA_VBMI] = {"vbmi", WEFT_ISA_VNNI},
    [WEFT_ISA_BF16] = {"bf16", WEFT_ISA_VBMI},
    [WEFT_ISA_AMX] = {"amx", WEFT_ISA_BF16},
    [WEFT_ISA_NEON] = {"neon", WEFT_ISA_SCALAR},
    [WEFT_ISA_DOTPROD] = {"dotprod", WEFT_ISA_NEON},
    [WEFT_ISA_I8MM] = {"i8mm", WEFT_ISA_DOTPROD},
};

static bool known(weft_isa isa) {
    return (unsigned)isa < WEFT_ISA_COUNT;
}

bool weft_cpu_has(weft_isa isa) {
    if (!known(isa))
        return false;
    for (; isa != WEFT_ISA_SCALAR; isa = weft_isa_base(isa))
        if (!has_own(isa))
            return false;
    return true;
}

weft_isa weft_cpu_best(void) {
    weft_isa best = WEFT_ISA_SCALAR;
    for (int isa = 0; isa < WEFT_ISA_COUNT; isa++)
        if (weft_cpu_has((weft_isa)isa))
            best = (weft_isa)isa;
    return best;
}

weft_isa weft_isa_base(weft_isa isa) {
    return known(isa) ? variants[isa].base : WEFT_ISA_SCALAR;
}

bool weft_isa_includes(weft_isa isa, weft_isa part) {
    while (isa != part && isa != WEFT_ISA_SCALAR)
        isa = weft_isa_base(isa);
    return isa == part;
}

size_t weft_cpu_level2_bytes(void) {
    long said = 0;
#ifdef _SC_LEVEL2_CACHE_SIZE
    said = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    return said > 0 ? (size_t)said : (size_t)512 << 10;
}

const char *weft_isa_name(weft_isa isa) {
    return known(isa) ? variants[isa].name : "?";
}

bool weft_isa_parse(const char *name, weft_isa *out) {
    for (int isa = 0; isa < WEFT_ISA_COUNT; isa++) {
        if (strcmp(name, variants[isa].name) == 0) {
            *out = (weft_isa)isa;
            return true;
        }
    }
    return false;
}
