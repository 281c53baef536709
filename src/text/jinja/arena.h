/* Memory of one template or one rendering: handed out in order, bounded, freed as a whole. */
#ifndef WEFT_TEXT_JINJA_ARENA_H
#define WEFT_TEXT_JINJA_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <weft/engine.h>

typedef struct jinja_chunk jinja_chunk;

typedef struct jinja_arena {
    const weft_allocator *a;
    jinja_chunk *chunks; /* the newest first */
    size_t limit_bytes, used_bytes;
    bool over_limit; /* the last failure was the limit, not the allocator */
} jinja_arena;

/* 16-byte aligned, not cleared. NULL: no memory, or beyond the limit. Size 0 gives a pointer. */
void *jinja_arena_alloc(jinja_arena *arena, size_t size_bytes);
/* Grows the block `memory` of old_bytes, in place where it is the newest. */
void *jinja_arena_grow(jinja_arena *arena, void *memory, size_t old_bytes, size_t new_bytes);
void jinja_arena_free(jinja_arena *arena);

#endif
