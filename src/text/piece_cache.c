/* See piece_cache.h. */
#include "text/piece_cache.h"

#include <string.h>

#define SLOTS 16384 /* a power of two; 512 KiB */

void weft_piece_cache_open(weft_piece_cache *cache, const weft_tokenizer *t) {
    cache->slots = weft_alloc_zeroed(&t->a, SLOTS * sizeof *cache->slots);
}

void weft_piece_cache_close(weft_piece_cache *cache, const weft_tokenizer *t) {
    weft_dealloc(&t->a, cache->slots, SLOTS * sizeof *cache->slots);
    cache->slots = NULL;
}

weft_piece *weft_piece_cache_slot(const weft_piece_cache *cache, const weft_tokenizer *t,
                                  const unsigned char *piece, size_t n_bytes) {
    if (!cache->slots || n_bytes == 0 || n_bytes > WEFT_PIECE_BYTES)
        return NULL;
    return &cache->slots[weft_vocab_hash(t, piece, n_bytes) & (SLOTS - 1)];
}

bool weft_piece_holds(const weft_piece *slot, const unsigned char *piece, size_t n_bytes) {
    return slot->n_bytes == n_bytes && memcmp(slot->bytes, piece, n_bytes) == 0;
}

void weft_piece_keep(weft_piece *slot, const unsigned char *piece, size_t n_bytes,
                     const int32_t *ids, size_t n_ids) {
    if (n_ids > WEFT_PIECE_IDS)
        return;
    slot->n_bytes = (uint8_t)n_bytes;
    slot->n_ids = (uint8_t)n_ids;
    memcpy(slot->bytes, piece, n_bytes);
    memcpy(slot->ids, ids, n_ids * sizeof *ids);
}
