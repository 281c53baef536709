/* The arena: chunks that double in size up to 1 MiB, larger blocks alone in theirs. */
#include "text/jinja/arena.h"

#include <string.h>
#include "base/alloc.h"

struct jinja_chunk {
    jinja_chunk *next;
    size_t size_bytes, used_bytes; /* of the memory behind this header */
};

#define HEADER ((sizeof(jinja_chunk) + 15) & ~(size_t)15)
#define FIRST_BYTES ((size_t)4096)
#define LARGEST_BYTES ((size_t)1 << 20)

static char *memory_of(jinja_chunk *c) {
    return (char *)c + HEADER;
}

static jinja_chunk *add_chunk(jinja_arena *arena, size_t size_bytes) {
    size_t last = arena->chunks ? arena->chunks->size_bytes : FIRST_BYTES / 2;
    size_t wanted = last >= LARGEST_BYTES / 2 ? LARGEST_BYTES : last * 2;
    if (wanted < size_bytes)
        wanted = size_bytes;
    jinja_chunk *c = weft_alloc(arena->a, HEADER + wanted);
    if (!c)
        return NULL;
    *c = (jinja_chunk){.next = arena->chunks, .size_bytes = wanted};
    return arena->chunks = c;
}

void *jinja_arena_alloc(jinja_arena *arena, size_t size_bytes) {
    arena->over_limit = size_bytes > arena->limit_bytes - arena->used_bytes;
    if (arena->over_limit)
        return NULL;
    size_t rounded = size_bytes ? (size_bytes + 15) & ~(size_t)15 : 16;
    jinja_chunk *c = arena->chunks;
    if (!c || rounded > c->size_bytes - c->used_bytes)
        c = add_chunk(arena, rounded);
    if (!c)
        return NULL;
    void *memory = memory_of(c) + c->used_bytes;
    c->used_bytes += rounded;
    arena->used_bytes += size_bytes;
    return memory;
}

void *jinja_arena_grow(jinja_arena *arena, void *memory, size_t old_bytes, size_t new_bytes) {
    jinja_chunk *c = arena->chunks;
    size_t old = (old_bytes + 15) & ~(size_t)15, rounded = (new_bytes + 15) & ~(size_t)15;
    bool newest = memory && old && c && c->used_bytes >= old &&
                  (char *)memory == memory_of(c) + c->used_bytes - old;
    if (newest && new_bytes >= old_bytes && rounded - old <= c->size_bytes - c->used_bytes &&
        new_bytes - old_bytes <= arena->limit_bytes - arena->used_bytes) {
        c->used_bytes += rounded - old;
        arena->used_bytes += new_bytes - old_bytes;
        return memory;
    }
    void *grown = jinja_arena_alloc(arena, new_bytes);
    if (grown && old_bytes)
        memcpy(grown, memory, old_bytes);
    return grown;
}

void jinja_arena_free(jinja_arena *arena) {
    while (arena->chunks) {
        jinja_chunk *c = arena->chunks;
        arena->chunks = c->next;
        weft_dealloc(arena->a, c, HEADER + c->size_bytes);
    }
}
