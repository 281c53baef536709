/* Sets of places by number (hash consing). */
#include "text/grammar/sets.h"
#include "base/alloc.h"

#include <string.h>

#define FIRST_TABLE 256

bool weft_sets_init(weft_sets *s, const weft_allocator *a) {
    memset(s, 0, sizeof *s);
    s->table = weft_alloc_zeroed(a, FIRST_TABLE * sizeof *s->table);
    if (!s->table || !weft_nfa_grow(a, (void **)&s->sets, &s->room, 1, sizeof *s->sets)) {
        weft_dealloc(a, s->table, s->table ? FIRST_TABLE * sizeof *s->table : 0);
        s->table = NULL;
        return false;
    }
    s->n_table = FIRST_TABLE;
    s->sets[0] = (weft_set){0};
    s->n = 1;
    return true;
}

void weft_sets_free(weft_sets *s, const weft_allocator *a) {
    weft_dealloc(a, s->sets, s->room * sizeof *s->sets);
    weft_dealloc(a, s->places, s->places_room * sizeof *s->places);
    weft_dealloc(a, s->table, s->n_table * sizeof *s->table);
    memset(s, 0, sizeof *s);
}

size_t weft_sets_bytes(const weft_sets *s) {
    return s->room * sizeof *s->sets + s->places_room * sizeof *s->places +
           s->n_table * sizeof *s->table;
}

static uint32_t hash_of(const weft_place *places, size_t n, bool ends) {
    uint64_t h = UINT64_C(0x9e3779b97f4a7c15) + ends;
    for (size_t i = 0; i < n; i++) {
        h ^= (uint64_t)places[i].state << 32 | places[i].node;
        h *= UINT64_C(0xd6e8feb86659fd93);
        h ^= h >> 32;
    }
    return (uint32_t)(h ^ h >> 29);
}

static bool rehash(weft_sets *s, const weft_allocator *a) {
    size_t n = s->n_table * 2;
    uint32_t *table = weft_alloc_zeroed(a, weft_size_of(n, sizeof *table));
    if (!table)
        return false;
    for (size_t i = 1; i < s->n; i++) {
        size_t at = s->sets[i].hash & (n - 1);
        while (table[at])
            at = (at + 1) & (n - 1);
        table[at] = (uint32_t)i;
    }
    weft_dealloc(a, s->table, s->n_table * sizeof *table);
    s->table = table;
    s->n_table = n;
    return true;
}

uint32_t weft_sets_number(weft_sets *s, const weft_allocator *a, const weft_place *places, size_t n,
                          bool ends) {
    if (n == 0 && !ends)
        return 0;
    uint32_t hash = hash_of(places, n, ends);
    size_t at = hash & (s->n_table - 1);
    for (; s->table[at]; at = (at + 1) & (s->n_table - 1)) {
        const weft_set *set = &s->sets[s->table[at]];
        if (set->hash == hash && set->n == n && set->ends == ends &&
            (n == 0 || memcmp(s->places + set->at, places, n * sizeof *places) == 0))
            return s->table[at];
    }
    if (!weft_nfa_grow(a, (void **)&s->sets, &s->room, s->n + 1, sizeof *s->sets) ||
        !weft_nfa_grow(a, (void **)&s->places, &s->places_room, s->n_places + n,
                       sizeof *s->places) ||
        (s->n * 2 > s->n_table && !rehash(s, a)))
        return UINT32_MAX;
    at = hash & (s->n_table - 1);
    while (s->table[at])
        at = (at + 1) & (s->n_table - 1);
    s->sets[s->n] = (weft_set){(uint32_t)s->n_places, (uint32_t)n, hash, ends};
    if (n)
        memcpy(s->places + s->n_places, places, n * sizeof *places);
    s->n_places += n;
    s->table[at] = (uint32_t)s->n;
    return (uint32_t)s->n++;
}
