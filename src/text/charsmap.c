/* See charsmap.h. A unit of the trie has a label in its low byte, a leaf flag in bit 8, and an
 * offset in bits 10 … 30 (bit 9: times 256); the unit of a leaf holds the value. */
#include "text/charsmap.h"

#include <string.h>

static uint32_t load(const unsigned char *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static weft_status damaged(const char *how) {
    return weft_fail(WEFT_E_FORMAT, "precompiled character map: %s", how);
}

weft_status weft_charsmap_open(const weft_allocator *a, const void *data, size_t n_bytes,
                               weft_charsmap *out) {
    const unsigned char *p = data;
    memset(out, 0, sizeof *out);
    if (n_bytes < 8)
        return damaged("too short");
    size_t trie = load(p);
    if (trie == 0 || trie % 4 || trie > n_bytes - 4)
        return damaged("the trie's size is not that of the data");
    size_t n_strings = n_bytes - 4 - trie;
    if (n_strings == 0 || p[n_bytes - 1] != 0)
        return damaged("the last replacement has no end");
    out->bytes = n_bytes;
    out->data = weft_alloc(a, n_bytes);
    if (!out->data)
        return weft_fail(WEFT_E_MEMORY, "precompiled character map: no memory");
    memcpy(out->data, data, n_bytes);
    out->n_units = trie / 4;
    out->n_strings = n_strings;
    return WEFT_OK;
}

void weft_charsmap_close(const weft_allocator *a, weft_charsmap *map) {
    weft_dealloc(a, map->data, map->bytes);
    memset(map, 0, sizeof *map);
}

static size_t offset_of(uint32_t unit) {
    return (size_t)(unit >> 10) << ((unit & (1u << 9)) >> 6);
}

const char *weft_charsmap_find(const weft_charsmap *map, const unsigned char *text, size_t n_bytes,
                               bool longest, size_t *taken) {
    const unsigned char *units = map->data + 4;
    const char *strings = (const char *)units + map->n_units * 4, *found = NULL;
    size_t at = offset_of(load(units));
    for (size_t i = 0; i < n_bytes; i++) {
        at ^= text[i];
        if (at >= map->n_units)
            break;
        uint32_t unit = load(units + at * 4);
        if ((unit & 0x800000ffu) != text[i])
            break;
        at ^= offset_of(unit);
        if (!(unit >> 8 & 1))
            continue;
        size_t value = at < map->n_units ? load(units + at * 4) & 0x7fffffffu : map->n_strings;
        if (value >= map->n_strings)
            break;
        found = strings + value;
        *taken = i + 1;
        if (!longest)
            break;
    }
    return found;
}
