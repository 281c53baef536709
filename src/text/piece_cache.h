/* The ids of short pieces that one call has already merged: words of a text repeat. Direct-mapped,
 * of fixed size; owns its memory. */
#ifndef WEFT_TEXT_PIECE_CACHE_H
#define WEFT_TEXT_PIECE_CACHE_H

#include "text/tokenizer_impl.h"

#define WEFT_PIECE_BYTES 14 /* longer pieces and more ids are not kept */
#define WEFT_PIECE_IDS 4

typedef struct weft_piece {
    uint8_t n_bytes, n_ids; /* n_bytes 0: free */
    unsigned char bytes[WEFT_PIECE_BYTES];
    int32_t ids[WEFT_PIECE_IDS];
} weft_piece;

typedef struct weft_piece_cache {
    weft_piece *slots; /* NULL: off */
} weft_piece_cache;

/* Without memory the cache stays off: it only makes things faster. */
void weft_piece_cache_open(weft_piece_cache *cache, const weft_tokenizer *t);
void weft_piece_cache_close(weft_piece_cache *cache, const weft_tokenizer *t);
/* The slot of a piece; it may hold another one. NULL where the piece is not kept. */
weft_piece *weft_piece_cache_slot(const weft_piece_cache *cache, const weft_tokenizer *t,
                                  const unsigned char *piece, size_t n_bytes);
/* Whether the slot holds this piece. */
bool weft_piece_holds(const weft_piece *slot, const unsigned char *piece, size_t n_bytes);
void weft_piece_keep(weft_piece *slot, const unsigned char *piece, size_t n_bytes,
                     const int32_t *ids, size_t n_ids);
#endif
