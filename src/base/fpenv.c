/* The floating environment of every entry point: round to nearest, no flush to zero, no traps. */
#include "base/floats.h"

#if defined(__x86_64__)

#define MXCSR_DEFAULT 0x1f80u /* all exceptions masked, nearest, FTZ and DAZ off */

weft_fpenv weft_fpenv_enter(void) {
    uint32_t found = __builtin_ia32_stmxcsr();
    if ((found & ~0x3fu) != MXCSR_DEFAULT)
        __builtin_ia32_ldmxcsr(MXCSR_DEFAULT);
    return (weft_fpenv){found};
}

void weft_fpenv_restore(weft_fpenv saved) {
    if (((uint32_t)saved.saved & ~0x3fu) != MXCSR_DEFAULT)
        __builtin_ia32_ldmxcsr((uint32_t)saved.saved);
}

#elif defined(__aarch64__)

weft_fpenv weft_fpenv_enter(void) {
    uint64_t found;
    __asm__ volatile("mrs %0, fpcr" : "=r"(found));
    if (found)
        __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0));
    return (weft_fpenv){found};
}

void weft_fpenv_restore(weft_fpenv saved) {
    if (saved.saved)
        __asm__ volatile("msr fpcr, %0" : : "r"(saved.saved));
}

#else

weft_fpenv weft_fpenv_enter(void) {
    return (weft_fpenv){0};
}

void weft_fpenv_restore(weft_fpenv saved) {
    (void)saved;
}

#endif
