/* Inside of a cache, for the files of src/model. */
#ifndef WEFT_MODEL_CACHE_IMPL_H
#define WEFT_MODEL_CACHE_IMPL_H

#include <stdatomic.h>
#include "model/cache.h"
#include "model/cache_layer.h"
#include "model/network_impl.h"

#define WEFT_CACHE_N_SCRATCH 2

/* The states after the first `position` positions of a sequence. */
typedef struct weft_snapshot {
    int32_t position, slot;
    bool is_edge; /* the end of a step of several rows, or marked: worth more */
} weft_snapshot;

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
    bool longer;      /* its keys turn by the factors of longer sequences (longrope) */
    int32_t expected; /* positions that it was said to have soon */

    /* Of layers with states. Slots are counted like blocks and never change once committed: the
     * next step writes a fresh one. */
    weft_snapshot now;                                 /* slot -1: no position yet, zeros */
    int32_t next_slot;                                 /* that the running step fills; -1: none */
    int32_t held;                                      /* a position that stays reachable */
    weft_snapshot snapshots[WEFT_CACHE_SNAPSHOTS + 1]; /* [n_snapshots], ascending, before `now` */
    int32_t n_snapshots;
} weft_sequence;

/* Where one layer's part of the cache lies. */
typedef struct weft_cache_place {
    weft_cache_layer keeps;
    weft_tensor *k, *v; /* [n_blocks * WEFT_CACHE_BLOCK, n_head_kv, dim]; NULL: there is none */
    weft_tensor *states[WEFT_CACHE_STATES]; /* [n_slots, dims…] */
} weft_cache_place;

struct weft_cache {
    atomic_uint n_refs;
    weft_engine *engine; /* a reference */
    const weft_network *network;
    weft_dtype type;
    int32_t n_layer, n_sequences;
    int32_t n_blocks;
    size_t size_bytes;
    weft_cache_place *places;      /* [n_layer] */
    weft_tensor *rows, *slots;     /* the two storages: of all layers' K and V, of all states */
    int32_t n_snapshots;           /* that a sequence keeps at most */
    int32_t n_slots, n_free_slots; /* 0: no layer has states */
    uint32_t *slot_refs;           /* [n_slots] sequences that have the slot */
    int32_t *free_slots;           /* [n_free_slots], taken from the end */
    uint32_t *block_refs;          /* [n_blocks] sequences that list the block */
    int32_t *free_blocks;          /* [n_free], taken from the end */
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

/* ---- Slots and snapshots (cache_states.c) ---- */

/* Snapshots of each of so many sequences: fewer where there are many. */
int32_t weft_cache_snapshots_for(int32_t n_sequences);
/* Slots that the cache needs so that a sequence never lacks one. */
int64_t weft_cache_slots_for(int32_t n_sequences);
void weft_cache_drop_slot(weft_cache *cache, int32_t slot);
int32_t weft_cache_take_slot(weft_cache *cache);
/* What sequences do with their states when they begin, end, fork, step, and go back. */
void weft_states_begin(weft_sequence *s);
void weft_states_end(weft_cache *c, weft_sequence *s);
void weft_states_fork(weft_cache *c, weft_sequence *s, const weft_sequence *from);
void weft_states_reserve(weft_cache *c, weft_sequence *s);
void weft_states_commit(weft_cache *c, weft_sequence *s); /* before length grows by pending */
void weft_states_rollback(weft_cache *c, weft_sequence *s);
/* Goes back to the nearest snapshot at or before n: gives its position. */
int32_t weft_states_truncate(weft_cache *c, weft_sequence *s, int32_t n);

#endif
