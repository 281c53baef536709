/* Memory through a replaceable allocator. */
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

static void *system_alloc(void *ctx, size_t size_bytes, size_t align) {
    (void)ctx;
    void *memory = NULL;
    return posix_memalign(&memory, align, size_bytes) == 0 ? memory : NULL;
}

static void system_release(void *ctx, void *memory, size_t size_bytes) {
    (void)ctx;
    (void)size_bytes;
    free(memory);
}

weft_allocator weft_allocator_system(void) {
    return (weft_allocator){.alloc = system_alloc, .release = system_release, .ctx = NULL};
}

void *weft_alloc(const weft_allocator *a, size_t size_bytes) {
    if (size_bytes == 0 || size_bytes > PTRDIFF_MAX)
        return NULL;
    return a->alloc(a->ctx, size_bytes, WEFT_CACHE_LINE);
}

void *weft_alloc_zeroed(const weft_allocator *a, size_t size_bytes) {
    void *memory = weft_alloc(a, size_bytes);
    if (memory)
        memset(memory, 0, size_bytes);
    return memory;
}

void *weft_realloc(const weft_allocator *a, void *memory, size_t old_bytes, size_t new_bytes) {
    void *grown = weft_alloc(a, new_bytes);
    if (!grown)
        return NULL;
    if (memory)
        memcpy(grown, memory, old_bytes < new_bytes ? old_bytes : new_bytes);
    weft_dealloc(a, memory, old_bytes);
    return grown;
}

void weft_dealloc(const weft_allocator *a, void *memory, size_t size_bytes) {
    if (memory)
        a->release(a->ctx, memory, size_bytes);
}

void weft_advise_huge(void *memory, size_t size_bytes) {
    uintptr_t begin = ((uintptr_t)memory + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
    uintptr_t end = ((uintptr_t)memory + size_bytes) & ~(uintptr_t)(HUGE_PAGE - 1);
    if (begin < end)
        (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}
