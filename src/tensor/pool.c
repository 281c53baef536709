/* The pool: blocks that died in a heap scope wait here for its next results. Touching the fresh
 * pages of big ones costs more than most ops, so they are bounded in number and in age; an
 * allocation costs more than an op of a few elements, so small ones are kept up to a total. */
#include <string.h>
#include "tensor/storage.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1 /* as gcc says it */
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else /* kept blocks are no memory to the address sanitizer */
#define ASAN_POISON_MEMORY_REGION(memory, size) ((void)(memory), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(memory, size) ((void)(memory), (void)(size))
#endif

#define SMALL_TOTAL ((size_t)1 << 20) /* bytes of small blocks kept */

#define HUGE_PAGE ((size_t)2 << 20)

static void remove_at(weft_pool *pool, size_t i) {
    pool->n--;
    memmove(&pool->blocks[i], &pool->blocks[i + 1], (pool->n - i) * sizeof pool->blocks[0]);
}

static void free_at(weft_pool *pool, size_t i) {
    weft_dealloc(&pool->allocator, pool->blocks[i].memory, pool->blocks[i].size_bytes);
    remove_at(pool, i);
}

/* The first block of at least `size_bytes`. */
static size_t lower_bound(const weft_pool *pool, size_t size_bytes) {
    size_t low = 0, high = pool->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pool->blocks[middle].size_bytes < size_bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void *weft_pool_take(weft_pool *pool, size_t size_bytes, size_t *got) {
    size_t i = lower_bound(pool, size_bytes);
    if (i < pool->n && pool->blocks[i].size_bytes - size_bytes <= size_bytes / 4) {
        void *kept = pool->blocks[i].memory;
        *got = pool->blocks[i].size_bytes;
        remove_at(pool, i);
        return kept;
    }
    void *memory = weft_alloc(&pool->allocator, size_bytes);
    if (!memory && pool->n > 0) {
        weft_pool_clear(pool);
        memory = weft_alloc(&pool->allocator, size_bytes);
    }
    if (memory && size_bytes >= HUGE_PAGE)
        weft_advise_huge(memory, size_bytes);
    *got = size_bytes;
    return memory;
}

void weft_pool_give(weft_pool *pool, void *memory, size_t size_bytes) {
    if (pool->n == WEFT_POOL_SLOTS) {
        size_t oldest = 0;
        for (size_t i = 1; i < pool->n; i++)
            if (pool->n_resets - pool->blocks[i].born > pool->n_resets - pool->blocks[oldest].born)
                oldest = i;
        free_at(pool, oldest);
    }
    size_t i = lower_bound(pool, size_bytes);
    memmove(&pool->blocks[i + 1], &pool->blocks[i], (pool->n - i) * sizeof pool->blocks[0]);
    pool->blocks[i] = (weft_pool_block){memory, size_bytes, pool->n_resets};
    pool->n++;
}

void weft_pool_age(weft_pool *pool) {
    pool->n_resets++;
    for (size_t i = pool->n; i-- > 0;)
        if (pool->n_resets - pool->blocks[i].born > 2)
            free_at(pool, i);
}

static void clear_small(weft_pool *pool) {
    for (size_t list = 0; pool->small_bytes > 0 && list < WEFT_POOL_LISTS; list++) {
        size_t size_bytes = list * WEFT_CACHE_LINE;
        while (pool->small[list]) {
            void *memory = pool->small[list];
            ASAN_UNPOISON_MEMORY_REGION(memory, size_bytes);
            memcpy(&pool->small[list], memory, sizeof memory);
            pool->small_bytes -= size_bytes;
            weft_dealloc(&pool->allocator, memory, size_bytes);
        }
    }
}

void weft_pool_clear(weft_pool *pool) {
    while (pool->n > 0)
        free_at(pool, pool->n - 1);
    clear_small(pool);
}

/* ---- Small blocks ---- */

void *weft_pool_take_small(weft_pool *pool, const weft_allocator *a, size_t size_bytes,
                           size_t *got) {
    size_t list = size_bytes / WEFT_CACHE_LINE + (size_bytes % WEFT_CACHE_LINE != 0);
    if (!weft_mul_size(list, WEFT_CACHE_LINE, got))
        return NULL;
    if (!pool || list >= WEFT_POOL_LISTS || !pool->small[list] ||
        !weft_allocator_equal(&pool->allocator, a))
        return weft_alloc(a, *got);
    void *memory = pool->small[list];
    ASAN_UNPOISON_MEMORY_REGION(memory, *got);
    memcpy(&pool->small[list], memory, sizeof memory);
    pool->small_bytes -= *got;
    return memory;
}

void weft_pool_give_small(weft_pool *pool, const weft_allocator *a, void *memory,
                          size_t size_bytes) {
    size_t list = size_bytes / WEFT_CACHE_LINE;
    if (!pool || list >= WEFT_POOL_LISTS || !weft_allocator_equal(&pool->allocator, a)) {
        weft_dealloc(a, memory, size_bytes);
        return;
    }
    if (pool->small_bytes + size_bytes > SMALL_TOTAL)
        clear_small(pool); /* of sizes that are not asked for any more, perhaps */
    memcpy(memory, &pool->small[list], sizeof memory);
    pool->small[list] = memory;
    pool->small_bytes += size_bytes;
    ASAN_POISON_MEMORY_REGION(memory, size_bytes);
}
