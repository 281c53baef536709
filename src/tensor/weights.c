/* The weights map: an open-addressed table of indices into a list in insertion order. The hash is
 * keyed by the map's address, so that a file cannot aim for collisions. */
#include "tensor/weights.h"

#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"

typedef struct entry {
    char *name;
    size_t name_bytes; /* its terminator included */
    uint64_t hash;
    weft_tensor *tensor;
} entry;

struct weft_weights {
    weft_allocator allocator;
    entry *entries;
    size_t n, room;
    size_t *slots; /* index + 1; 0: free. A power of two, at most half full */
    size_t n_slots;
    uint64_t key;
    weft_slabs slabs;
};

static uint64_t mix(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_of(const weft_weights *w, const char *name, size_t n) {
    uint64_t h = w->key ^ n, word;
    for (; n >= 8; n -= 8, name += 8) {
        memcpy(&word, name, 8);
        h = mix(h ^ word, 0x9e3779b97f4a7c15u ^ w->key);
    }
    word = 0;
    memcpy(&word, name, n);
    return mix(h ^ word, 0xd1b54a32d192ed03u ^ (w->key << 1));
}

weft_weights *weft_weights_create(const weft_allocator *a) {
    weft_weights *w = weft_alloc_zeroed(a, sizeof *w);
    if (!w)
        return NULL;
    w->allocator = *a;
    w->slabs.allocator = *a;
    w->key = mix((uint64_t)(uintptr_t)w, 0xbf58476d1ce4e5b9u);
    return w;
}

void weft_weights_destroy(weft_weights *w) {
    if (!w)
        return;
    weft_allocator a = w->allocator;
    for (size_t i = 0; i < w->n; i++) {
        weft_tensor_release(&w->entries[i].tensor);
        weft_dealloc(&a, w->entries[i].name, w->entries[i].name_bytes);
    }
    weft_slabs_close(&w->slabs);
    weft_dealloc(&a, w->entries, w->room * sizeof w->entries[0]);
    weft_dealloc(&a, w->slots, w->n_slots * sizeof w->slots[0]);
    weft_dealloc(&a, w, sizeof *w);
}

/* The slot of `name`, or the free one where it belongs. There is always a free one. */
static size_t *slot_of(const weft_weights *w, const char *name, size_t n, uint64_t hash) {
    size_t at = (size_t)hash & (w->n_slots - 1);
    while (w->slots[at]) {
        const entry *e = &w->entries[w->slots[at] - 1];
        if (e->hash == hash && e->name_bytes == n + 1 && memcmp(e->name, name, n) == 0)
            break;
        at = (at + 1) & (w->n_slots - 1);
    }
    return &w->slots[at];
}

static entry *find(const weft_weights *w, const char *name) {
    if (w->n_slots == 0)
        return NULL;
    size_t n = strlen(name), at = *slot_of(w, name, n, hash_of(w, name, n));
    return at ? &w->entries[at - 1] : NULL;
}

static bool grow(weft_weights *w) {
    if (w->n < w->room)
        return true;
    size_t room = w->room ? w->room * 2 : 64, n_slots = room * 2;
    size_t *slots = weft_alloc_zeroed(&w->allocator, weft_size_of(n_slots, sizeof *slots));
    entry *entries = slots ? weft_realloc(&w->allocator, w->entries, w->room * sizeof *entries,
                                          weft_size_of(room, sizeof *entries))
                           : NULL;
    if (!entries) {
        weft_dealloc(&w->allocator, slots, n_slots * sizeof *slots);
        return false;
    }
    weft_dealloc(&w->allocator, w->slots, w->n_slots * sizeof *slots);
    w->entries = entries;
    w->room = room;
    w->slots = slots;
    w->n_slots = n_slots;
    for (size_t i = 0; i < w->n; i++)
        *slot_of(w, entries[i].name, entries[i].name_bytes - 1, entries[i].hash) = i + 1;
    return true;
}

weft_status weft_weights_take(weft_weights *w, const char *name, weft_tensor *tensor) {
    size_t n = strlen(name);
    if (find(w, name)) {
        weft_tensor_release(&tensor);
        return weft_fail(WEFT_E_FORMAT, "tensor '%s' comes twice", name);
    }
    char *copy = grow(w) ? weft_alloc(&w->allocator, n + 1) : NULL;
    if (!copy) {
        weft_tensor_release(&tensor);
        return weft_fail(WEFT_E_MEMORY, "no memory for the name of tensor '%s'", name);
    }
    memcpy(copy, name, n + 1);
    uint64_t hash = hash_of(w, name, n);
    *slot_of(w, name, n, hash) = w->n + 1;
    w->entries[w->n++] = (entry){.name = copy, .name_bytes = n + 1, .hash = hash, .tensor = tensor};
    return WEFT_OK;
}

weft_status weft_weights_replace(weft_weights *w, const char *name, weft_tensor *tensor) {
    entry *e = find(w, name);
    if (!e) {
        weft_tensor_release(&tensor);
        return weft_fail(WEFT_E_NOT_FOUND, "there is no tensor '%s'", name);
    }
    weft_tensor_release(&e->tensor);
    e->tensor = tensor;
    return WEFT_OK;
}

size_t weft_weights_count(const weft_weights *w) {
    return w->n;
}

weft_tensor *weft_weights_find(const weft_weights *w, const char *name) {
    const entry *e = find(w, name);
    return e ? e->tensor : NULL;
}

weft_slabs *weft_weights_slabs(weft_weights *w) {
    return &w->slabs;
}

weft_tensor *weft_weights_at(const weft_weights *w, size_t i, const char **name) {
    if (i >= w->n)
        return NULL;
    if (name)
        *name = w->entries[i].name;
    return w->entries[i].tensor;
}
