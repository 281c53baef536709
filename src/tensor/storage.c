/* Storages and headers: how they are allocated (one block for a storage, its first header and small
 * data) and when they die. */
#include "tensor/storage.h"

#include <string.h>

#define HUGE_PAGE ((size_t)2 << 20)

/* A storage with the header that was made with it. The header's memory lives as long as the
 * storage; the header itself may die before. */
typedef struct block {
    weft_storage storage;
    weft_tensor tensor;
} block;

#define WHOLE_LINES(n) (((n) + WEFT_CACHE_LINE - 1) / WEFT_CACHE_LINE * WEFT_CACHE_LINE)
#define BLOCK_BYTES WHOLE_LINES(sizeof(block))
#define HEADER_BYTES WHOLE_LINES(sizeof(weft_tensor)) /* of a view */
_Static_assert((BLOCK_BYTES + WEFT_POOL_MIN_BYTES) / WEFT_CACHE_LINE < WEFT_POOL_LISTS,
               "the pool has lists for all small blocks");

#define ID_BATCH 64

/* Ids of tensors and storages come from one counter, from which each thread takes many at a time; 0
 * is no id. */
static uint64_t next_id(void) {
    static atomic_uint_fast64_t counter = 1;
    static _Thread_local uint64_t next, end;
    if (next == end) {
        next = atomic_fetch_add_explicit(&counter, ID_BATCH, memory_order_relaxed);
        end = next + ID_BATCH;
    }
    return next++;
}

bool weft_allocator_equal(const weft_allocator *a, const weft_allocator *b) {
    return a->alloc == b->alloc && a->release == b->release && a->ctx == b->ctx;
}

/* A header with one reference; its rank, dims, strides and offset are set. Field by field: an
 * initialiser of the whole costs more than an op of a few elements has to spare. */
static void init_header(weft_tensor *t, weft_storage *storage, weft_dtype dtype, weft_layout layout,
                        const weft_allocator *a, weft_arena *arena, bool embedded) {
    t->id = next_id();
    t->dtype = dtype;
    t->layout = layout;
    t->is_var = false;
    t->storage = storage;
    t->allocator = *a;
    t->arena = arena;
    t->embedded = embedded;
    atomic_init(&t->n_refs, 1);
    atomic_init(&t->slot, 0);
    atomic_init(&t->panels, NULL);
}

/* A storage and its first header, both with one reference. */
static weft_tensor *init_block(block *b, const weft_allocator *a, weft_arena *arena,
                               size_t size_bytes, weft_dtype dtype, weft_layout layout,
                               const weft_shape *shape) {
    weft_tensor *t = &b->tensor;
    weft_storage *storage = &b->storage;
    storage->id = next_id();
    storage->size_bytes = size_bytes;
    storage->owner = arena ? WEFT_OWNER_ARENA : WEFT_OWNER_HEAP;
    storage->immutable = false;
    storage->allocator = *a;
    storage->arena = arena;
    storage->on_release = NULL;
    storage->release_ctx = NULL;
    storage->data_bytes = 0;
    atomic_init(&storage->n_refs, 1);
    atomic_init(&storage->version, 0);
    atomic_init(&storage->lock.state, 0);
    t->rank = shape->rank;
    t->offset = 0;
    memcpy(t->dims, shape->dims, sizeof t->dims);
    memcpy(t->strides, shape->strides, sizeof t->strides);
    init_header(t, storage, dtype, layout, a, arena, true);
    return t;
}

weft_tensor *weft_tensor_alloc(const weft_allocator *a, weft_pool *pool, weft_arena *arena,
                               weft_dtype dtype, weft_layout layout, const weft_shape *shape) {
    size_t data_bytes = shape->size_bytes, got = data_bytes;
    bool apart = !arena && data_bytes >= WEFT_POOL_MIN_BYTES;
    size_t block_bytes;
    if (!weft_add_size(BLOCK_BYTES, apart ? 0 : data_bytes, &block_bytes))
        return NULL;
    block *b = arena ? weft_arena_alloc(arena, block_bytes)
                     : weft_pool_take_small(pool, a, block_bytes, &block_bytes);
    if (!b)
        return NULL;
    unsigned char *data = (unsigned char *)b + BLOCK_BYTES;
    if (apart) {
        if (pool) {
            data = weft_pool_take(pool, data_bytes, &got);
        } else {
            data = weft_alloc(a, data_bytes);
            if (data && data_bytes >= HUGE_PAGE)
                weft_advise_huge(data, data_bytes);
        }
        if (!data) {
            weft_pool_give_small(pool, a, b, block_bytes);
            return NULL;
        }
    }
    weft_tensor *t = init_block(b, a, arena, data_bytes, dtype, layout, shape);
    b->storage.data = data;
    b->storage.block_bytes = arena ? 0 : block_bytes;
    b->storage.data_bytes = apart ? got : 0;
    return t;
}

weft_tensor *weft_tensor_alloc_foreign(const weft_allocator *a, weft_arena *arena, weft_dtype dtype,
                                       const weft_shape *shape, size_t size_bytes) {
    block *b = arena ? weft_arena_alloc(arena, BLOCK_BYTES) : weft_alloc(a, BLOCK_BYTES);
    if (!b)
        return NULL;
    weft_tensor *t = init_block(b, a, arena, size_bytes, dtype, WEFT_LAYOUT_STRIDED, shape);
    b->storage.block_bytes = arena ? 0 : BLOCK_BYTES;
    return t;
}

weft_tensor *weft_tensor_alloc_view(const weft_allocator *a, weft_pool *pool, weft_arena *arena,
                                    const weft_tensor *t) {
    size_t got;
    weft_tensor *v = arena ? weft_arena_alloc(arena, HEADER_BYTES)
                           : weft_pool_take_small(pool, a, HEADER_BYTES, &got);
    if (!v)
        return NULL;
    weft_storage *storage = t->storage;
    v->rank = t->rank;
    v->offset = t->offset;
    memcpy(v->dims, t->dims, sizeof v->dims);
    memcpy(v->strides, t->strides, sizeof v->strides);
    init_header(v, storage, t->dtype, t->layout, a, arena, false);
    atomic_fetch_add_explicit(&storage->n_refs, 1, memory_order_relaxed);
    if (storage->arena && storage->arena != arena)
        weft_arena_ref(storage->arena);
    return v;
}

static void destroy_storage(weft_storage *storage, weft_pool *pool) {
    if (storage->owner == WEFT_OWNER_CUSTOM)
        storage->on_release(storage->release_ctx);
    weft_allocator a = storage->allocator;
    if (storage->data_bytes > 0) {
        if (pool && weft_allocator_equal(&pool->allocator, &a))
            weft_pool_give(pool, storage->data, storage->data_bytes);
        else
            weft_dealloc(&a, storage->data, storage->data_bytes);
    }
    if (storage->block_bytes > 0)
        weft_pool_give_small(pool, &a, storage, storage->block_bytes);
}

/* Drops a reference; true when it was the last. Who holds the only one needs no atomic step. */
static bool drop_ref(atomic_size_t *n_refs) {
    return atomic_load_explicit(n_refs, memory_order_acquire) == 1 ||
           atomic_fetch_sub_explicit(n_refs, 1, memory_order_acq_rel) == 1;
}

void weft_tensor_drop(weft_tensor *t, weft_pool *pool) {
    if (!drop_ref(&t->n_refs))
        return;
    weft_storage *storage = t->storage;
    weft_arena *storage_arena = storage->arena, *own = t->arena;
    weft_tensor *panels = atomic_load_explicit(&t->panels, memory_order_relaxed);
    if (panels)
        weft_tensor_drop(panels, NULL);
    if (!t->embedded && !own) {
        weft_allocator a = t->allocator;
        weft_pool_give_small(pool, &a, t, HEADER_BYTES);
    }
    if (drop_ref(&storage->n_refs))
        destroy_storage(storage, pool);
    if (storage_arena && storage_arena != own)
        weft_arena_unref(storage_arena);
}
