/* What the four lanes_*.h headers implement: a vector of 16 float or int32 lanes, so that the
 * bodies in ref/ are written once and give the same bits in every variant. A file includes one of
 * them, then a body; all is static and inlined, so that no code of one ISA is reached from another.
 * The *_entries.h in ref/ make the entries of a family: WEFT_KERNEL(weft_kernel_add_f32) is the
 * name that kernels.list has for the variant.
 *
 * Every operation is lane by lane and correctly rounded, fma is fused. min(a, b) is a < b ? a : b
 * and max(a, b) is a > b ? a : b, so that a NaN in `b` stays. sum adds lane i and i + 8, then i +
 * 4, i + 2, i + 1; quarters takes four vectors through the first two steps of that tree,
 * quarter_sums four such results through the others, to 16 sums. */
#ifndef WEFT_KERNELS_LANES_H
#define WEFT_KERNELS_LANES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WEFT_LANES 16

/* Sanitizers check every access; without inlining their builds take seconds, not minutes. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WEFT_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WEFT_SANITIZED
#endif
#ifdef WEFT_SANITIZED
#define WEFT_INLINE static __attribute__((noinline, unused))
#else
#define WEFT_INLINE static inline __attribute__((always_inline))
#endif

/* Before a short loop whose count is constant once everything is inlined. Clang needs no hint, and
 * with one it would unroll by two before it knows the count. */
#ifdef __clang__
#define WEFT_UNROLL
#else
#define WEFT_UNROLL _Pragma("GCC unroll 16")
#endif

#endif
