/* Inside of a cache, for the files of src/model. */
#ifndef WEFT_MODEL_CACHE_IMPL_H
#define WEFT_MODEL_CACHE_IMPL_H

#include <stdatomic.h>
#include "model/cache.h"
#include "model/network_impl.h"

#define WEFT_CACHE_N_SCRATCH 2

/* A list of blocks in order of position. While a step runs, positions [length, length + pending)
 * are reserved: `saved_blocks` and `shared_block` tell how to go back. */
typedef struct weft_sequence {
    int32_t *blocks; /* [n_blocks of the cache] */
    int32_t n_blocks;
    int32_t length; /* committed positions */
    int32_t pending;
    int32_t saved_blocks; /* n_blocks before the reserve */
    int32_t shared_block; /* the block that a private copy replaced, still referenced; -1: none */
    bool live;
} weft_sequence;

struct weft_cache {
    atomic_uint n_refs;
    weft_engine *engine; /* a reference */
    const weft_network *network;
    weft_dtype type;
    int32_t n_layer, n_sequences;
    int32_t n_blocks;
    int64_t width; /* n_head_kv * head_dim, which q8_0 pads */
    size_t size_bytes;
    weft_tensor **k, **v; /* [n_layer] of [n_blocks * WEFT_CACHE_BLOCK, n_head_kv, head_dim] */
    uint32_t *block_refs; /* [n_blocks] sequences that list the block */
    int32_t *free_blocks; /* [n_free], taken from the end */
    int32_t n_free;
    weft_sequence *sequences; /* [n_sequences] */
    int32_t *lists;           /* [n_sequences, n_blocks]: what the sequences' blocks point into */
    weft_scope *scratch[WEFT_CACHE_N_SCRATCH]; /* arenas of a step's activations */
};

/* NULL with a detail when `sequence` is no live one (`what` names the caller). */
weft_sequence *weft_cache_live(const weft_cache *cache, int32_t sequence, const char *what);
/* A free block with one reference; -1 when there is none. */
int32_t weft_cache_take_block(weft_cache *cache);
/* Drops one reference; the block is free when it was the last. */
void weft_cache_drop_block(weft_cache *cache, int32_t block);

#endif
