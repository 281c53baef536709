/* The pool: big blocks that died in a heap scope wait here for its next results, because touching
 * fresh pages costs more than most ops. Bounded in number and in age. */
#include <string.h>
#include "tensor/storage.h"

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

void weft_pool_clear(weft_pool *pool) {
    while (pool->n > 0)
        free_at(pool, pool->n - 1);
}
