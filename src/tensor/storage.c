/* Storages and headers: how they are allocated (one block for a storage, its first header and small
 * data) and when they die. */
#include "tensor/storage.h"

#define HUGE_PAGE ((size_t)2 << 20)

/* A storage with the header that was made with it. The header's memory lives as long as the
 * storage; the header itself may die before. */
typedef struct block {
    weft_storage storage;
    weft_tensor tensor;
} block;

#define BLOCK_BYTES ((sizeof(block) + WEFT_CACHE_LINE - 1) / WEFT_CACHE_LINE * WEFT_CACHE_LINE)

/* Ids of tensors and storages come from one counter; 0 is no id. */
static uint64_t next_id(void) {
    static atomic_uint_fast64_t counter = 1;
    return atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
}

bool weft_allocator_equal(const weft_allocator *a, const weft_allocator *b) {
    return a->alloc == b->alloc && a->release == b->release && a->ctx == b->ctx;
}

static void init_lock(pthread_rwlock_t *lock) {
#ifdef PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
    /* Readers must not starve a writer. Safe here: no thread takes the same lock twice. */
    *lock = (pthread_rwlock_t)PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
#else
    pthread_rwlock_init(lock, NULL); /* cannot fail with default attributes on Linux */
#endif
}

static void init_storage(weft_storage *storage, const weft_allocator *a, weft_arena *arena,
                         size_t size_bytes) {
    *storage = (weft_storage){.id = next_id(),
                              .size_bytes = size_bytes,
                              .owner = arena ? WEFT_OWNER_ARENA : WEFT_OWNER_HEAP,
                              .allocator = *a,
                              .arena = arena};
    atomic_init(&storage->n_refs, 1);
    atomic_init(&storage->version, 0);
    init_lock(&storage->lock);
}

static void init_header(weft_tensor *t, weft_storage *storage, weft_dtype dtype, weft_layout layout,
                        const weft_shape *shape) {
    *t = (weft_tensor){.id = next_id(),
                       .dtype = dtype,
                       .layout = layout,
                       .rank = shape->rank,
                       .storage = storage,
                       .arena = storage->arena,
                       .embedded = true};
    atomic_init(&t->n_refs, 1);
    atomic_init(&t->slot, 0);
    atomic_init(&t->panels, NULL);
    for (int i = 0; i < shape->rank; i++) {
        t->dims[i] = shape->dims[i];
        t->strides[i] = shape->strides[i];
    }
}

weft_tensor *weft_tensor_alloc(const weft_allocator *a, weft_pool *pool, weft_arena *arena,
                               weft_dtype dtype, weft_layout layout, const weft_shape *shape) {
    size_t data_bytes = shape->size_bytes, got = data_bytes;
    bool apart = !arena && data_bytes >= WEFT_POOL_MIN_BYTES;
    size_t block_bytes;
    if (!weft_add_size(BLOCK_BYTES, apart ? 0 : data_bytes, &block_bytes))
        return NULL;
    block *b = arena ? weft_arena_alloc(arena, block_bytes) : weft_alloc(a, block_bytes);
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
            weft_dealloc(a, b, block_bytes);
            return NULL;
        }
    }
    init_storage(&b->storage, a, arena, data_bytes);
    b->storage.data = data;
    b->storage.block_bytes = arena ? 0 : block_bytes;
    b->storage.data_bytes = apart ? got : 0;
    init_header(&b->tensor, &b->storage, dtype, layout, shape);
    return &b->tensor;
}

weft_tensor *weft_tensor_alloc_foreign(const weft_allocator *a, weft_arena *arena, weft_dtype dtype,
                                       const weft_shape *shape, size_t size_bytes) {
    block *b = arena ? weft_arena_alloc(arena, BLOCK_BYTES) : weft_alloc(a, BLOCK_BYTES);
    if (!b)
        return NULL;
    init_storage(&b->storage, a, arena, size_bytes);
    b->storage.block_bytes = arena ? 0 : BLOCK_BYTES;
    init_header(&b->tensor, &b->storage, dtype, WEFT_LAYOUT_STRIDED, shape);
    return &b->tensor;
}

weft_tensor *weft_tensor_alloc_view(const weft_allocator *a, weft_arena *arena,
                                    const weft_tensor *t) {
    weft_tensor *v = arena ? weft_arena_alloc(arena, sizeof *v) : weft_alloc(a, sizeof *v);
    if (!v)
        return NULL;
    weft_storage *storage = t->storage;
    *v = (weft_tensor){.id = next_id(),
                       .dtype = t->dtype,
                       .layout = t->layout,
                       .rank = t->rank,
                       .offset = t->offset,
                       .storage = storage,
                       .allocator = *a,
                       .arena = arena};
    atomic_init(&v->n_refs, 1);
    atomic_init(&v->slot, 0);
    atomic_init(&v->panels, NULL);
    for (int i = 0; i < t->rank; i++) {
        v->dims[i] = t->dims[i];
        v->strides[i] = t->strides[i];
    }
    atomic_fetch_add_explicit(&storage->n_refs, 1, memory_order_relaxed);
    if (storage->arena && storage->arena != arena)
        weft_arena_ref(storage->arena);
    return v;
}

static void destroy_storage(weft_storage *storage, weft_pool *pool) {
    pthread_rwlock_destroy(&storage->lock);
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
        weft_dealloc(&a, storage, storage->block_bytes);
}

void weft_tensor_drop(weft_tensor *t, weft_pool *pool) {
    if (atomic_fetch_sub_explicit(&t->n_refs, 1, memory_order_acq_rel) != 1)
        return;
    weft_storage *storage = t->storage;
    weft_arena *storage_arena = storage->arena, *own = t->arena;
    weft_tensor *panels = atomic_load_explicit(&t->panels, memory_order_relaxed);
    if (panels)
        weft_tensor_drop(panels, NULL);
    if (!t->embedded && !own) {
        weft_allocator a = t->allocator;
        weft_dealloc(&a, t, sizeof *t);
    }
    if (atomic_fetch_sub_explicit(&storage->n_refs, 1, memory_order_acq_rel) == 1)
        destroy_storage(storage, pool);
    if (storage_arena && storage_arena != own)
        weft_arena_unref(storage_arena);
}
