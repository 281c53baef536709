/* Memory through the engine's allocator, and the only arithmetic on sizes: checked. */
#ifndef WEFT_BASE_ALLOC_H
#define WEFT_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/engine.h>

#define WEFT_CACHE_LINE 64

/* malloc and free behind the weft_allocator interface. */
weft_allocator weft_allocator_system(void);

/* 64-byte aligned; contents undefined. NULL when there is no memory (no detail is set) or size 0.
 */
void *weft_alloc(const weft_allocator *a, size_t size_bytes);
void *weft_alloc_zeroed(const weft_allocator *a, size_t size_bytes);
/* Copies min(old, new) bytes; on failure returns NULL and `memory` stays valid. */
void *weft_realloc(const weft_allocator *a, void *memory, size_t old_bytes, size_t new_bytes);
void weft_dealloc(const weft_allocator *a, void *memory, size_t size_bytes); /* NULL is allowed */

/* Advises huge pages for the 2 MiB-aligned inside of a block; harmless where unsupported. */
void weft_advise_huge(void *memory, size_t size_bytes);

/* False on overflow, and *out is then untouched. */
static inline bool weft_mul_size(size_t a, size_t b, size_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool weft_add_size(size_t a, size_t b, size_t *out) {
    return !__builtin_add_overflow(a, b, out);
}
static inline bool weft_mul_u64(uint64_t a, uint64_t b, uint64_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool weft_add_u64(uint64_t a, uint64_t b, uint64_t *out) {
    return !__builtin_add_overflow(a, b, out);
}
static inline bool weft_mul_i64(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool weft_add_i64(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_add_overflow(a, b, out);
}
/* Bytes of `n` items, or 0 (which weft_alloc refuses) on overflow. */
static inline size_t weft_size_of(size_t n, size_t item_bytes) {
    size_t r;
    return weft_mul_size(n, item_bytes, &r) ? r : 0;
}

#endif
