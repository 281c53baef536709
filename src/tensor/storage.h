/* Lifetimes inside of src/tensor: arenas, the pool of freed blocks, storages and headers. */
#ifndef WEFT_TENSOR_STORAGE_H
#define WEFT_TENSOR_STORAGE_H

#include "tensor/impl.h"
#include "tensor/shape.h"

/* ---- Arena: memory that a scope bumps through and reuses. Allocation and reset by the scope's
 * thread only; references are counted from any. ---- */

weft_arena *weft_arena_create(const weft_allocator *a); /* NULL: no memory */
/* 64-byte aligned, never NULL for size 0; NULL when there is no memory. */
void *weft_arena_alloc(weft_arena *arena, size_t size_bytes);
/* A reference from outside: a retained header, or a header elsewhere over a storage in here. */
void weft_arena_ref(weft_arena *arena);
void weft_arena_unref(weft_arena *arena); /* the last one, the scope's included, frees everything */
bool weft_arena_in_use(const weft_arena *arena); /* by anyone but the scope */
/* Makes all memory available again; nothing may lie in it any more. */
void weft_arena_reset(weft_arena *arena);

/* ---- Pool: freed blocks that a heap scope keeps for its next results: big ones of data alone, and
 * small ones of headers, storages and the data in them. Used by the scope's thread only. ---- */

#define WEFT_POOL_MIN_BYTES ((size_t)32 << 10) /* smaller data lies in its storage's block */
#define WEFT_POOL_SLOTS 64
#define WEFT_POOL_LISTS 521 /* sizes of whole cache lines, up to a storage with small data */

typedef struct weft_pool_block {
    void *memory;
    size_t size_bytes;
    unsigned born; /* the reset count at which it was put here */
} weft_pool_block;

typedef struct weft_pool {
    weft_allocator allocator;
    weft_pool_block blocks[WEFT_POOL_SLOTS]; /* ascending by size */
    size_t n;
    unsigned n_resets;
    void *small[WEFT_POOL_LISTS]; /* lists of blocks of equal size, linked by their first word */
    size_t small_bytes;
} weft_pool;

/* A kept block of at least `size_bytes` and at most a quarter more, else a new one of exactly that
 * size. *got is its true size. NULL when there is no memory, even after emptying the pool. */
void *weft_pool_take(weft_pool *pool, size_t size_bytes, size_t *got);
void weft_pool_give(weft_pool *pool, void *memory, size_t size_bytes);
void weft_pool_age(weft_pool *pool); /* on each reset: frees what lay unused for two of them */

/* A small block of at least `size_bytes`; *got (whole cache lines) is what goes back with it. Where
 * `pool` is NULL, of another allocator or without such a block: by `a`. NULL: no memory. */
void *weft_pool_take_small(weft_pool *pool, const weft_allocator *a, size_t size_bytes,
                           size_t *got);
void weft_pool_give_small(weft_pool *pool, const weft_allocator *a, void *memory,
                          size_t size_bytes);
void weft_pool_clear(weft_pool *pool);

/* ---- Storages and headers ---- */

bool weft_allocator_equal(const weft_allocator *a, const weft_allocator *b);

/* A storage of `data_bytes` with its first header, both with one reference. In a pool's allocator
 * (pool may be NULL) or, when `arena` is given, in there. NULL: no memory; no detail is set. */
weft_tensor *weft_tensor_alloc(const weft_allocator *a, weft_pool *pool, weft_arena *arena,
                               weft_dtype dtype, weft_layout layout, const weft_shape *shape);
/* The same without data: the caller sets data, owner and immutable. */
weft_tensor *weft_tensor_alloc_foreign(const weft_allocator *a, weft_arena *arena, weft_dtype dtype,
                                       const weft_shape *shape, size_t size_bytes);
/* A header over the storage of `t`, otherwise a copy of it with a fresh id; in `arena` if given. */
weft_tensor *weft_tensor_alloc_view(const weft_allocator *a, weft_pool *pool, weft_arena *arena,
                                    const weft_tensor *t);
/* Drops one reference that is no outside one; dead data goes to `pool` (may be NULL). */
void weft_tensor_drop(weft_tensor *t, weft_pool *pool);

#endif
