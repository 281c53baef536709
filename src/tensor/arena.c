/* Arenas: chunks that are bumped through. A reset after several chunks were needed merges them into
 * one, so that a steady state allocates nothing. Lives until its scope and every outside reference
 * are gone. */
#include "tensor/storage.h"

#define ARENA_MIN_CHUNK ((size_t)256 << 10)
#define HUGE_PAGE ((size_t)2 << 20)

typedef struct chunk {
    struct chunk *next;
    size_t size_bytes; /* this header's line included */
    size_t used;
} chunk;

struct weft_arena {
    atomic_size_t n_refs; /* the scope's one and those from outside */
    weft_allocator allocator;
    chunk *chunks; /* the one being filled comes first */
    size_t n_chunks;
    size_t total_bytes; /* of all chunks */
    size_t next_bytes;  /* of the next chunk */
};

weft_arena *weft_arena_create(const weft_allocator *a) {
    weft_arena *arena = weft_alloc_zeroed(a, sizeof *arena);
    if (!arena)
        return NULL;
    atomic_init(&arena->n_refs, 1);
    arena->allocator = *a;
    arena->next_bytes = ARENA_MIN_CHUNK;
    return arena;
}

static void free_chunks(weft_arena *arena) {
    while (arena->chunks) {
        chunk *c = arena->chunks;
        arena->chunks = c->next;
        weft_dealloc(&arena->allocator, c, c->size_bytes);
    }
    arena->n_chunks = 0;
    arena->total_bytes = 0;
}

static chunk *add_chunk(weft_arena *arena, size_t size_bytes) {
    chunk *c = weft_alloc(&arena->allocator, size_bytes);
    if (!c)
        return NULL;
    if (size_bytes >= HUGE_PAGE)
        weft_advise_huge(c, size_bytes);
    *c = (chunk){.next = arena->chunks, .size_bytes = size_bytes, .used = WEFT_CACHE_LINE};
    arena->chunks = c;
    arena->n_chunks++;
    arena->total_bytes += size_bytes;
    return c;
}

void *weft_arena_alloc(weft_arena *arena, size_t size_bytes) {
    size_t need;
    if (!weft_add_size(size_bytes, WEFT_CACHE_LINE - 1, &need))
        return NULL;
    need = (need & ~(size_t)(WEFT_CACHE_LINE - 1));
    if (need == 0)
        need = WEFT_CACHE_LINE;
    chunk *c = arena->chunks;
    if (!c || c->size_bytes - c->used < need) {
        size_t whole;
        if (!weft_add_size(need, WEFT_CACHE_LINE, &whole))
            return NULL;
        c = whole <= arena->next_bytes ? add_chunk(arena, arena->next_bytes) : NULL;
        if (!c)
            c = add_chunk(arena, whole);
        if (!c)
            return NULL;
        arena->next_bytes =
            arena->total_bytes < ARENA_MIN_CHUNK ? ARENA_MIN_CHUNK : arena->total_bytes / 2;
        if (arena->next_bytes < ARENA_MIN_CHUNK)
            arena->next_bytes = ARENA_MIN_CHUNK;
    }
    void *memory = (unsigned char *)c + c->used;
    c->used += need;
    return memory;
}

void weft_arena_reset(weft_arena *arena) {
    if (arena->n_chunks > 1) {
        size_t total = arena->total_bytes;
        free_chunks(arena);
        arena->next_bytes = total;
    }
    if (arena->chunks)
        arena->chunks->used = WEFT_CACHE_LINE;
}

void weft_arena_ref(weft_arena *arena) {
    atomic_fetch_add_explicit(&arena->n_refs, 1, memory_order_relaxed);
}

void weft_arena_unref(weft_arena *arena) {
    if (atomic_fetch_sub_explicit(&arena->n_refs, 1, memory_order_acq_rel) != 1)
        return;
    free_chunks(arena);
    weft_allocator a = arena->allocator;
    weft_dealloc(&a, arena, sizeof *arena);
}

bool weft_arena_in_use(const weft_arena *arena) {
    return atomic_load_explicit(&arena->n_refs, memory_order_acquire) > 1;
}
