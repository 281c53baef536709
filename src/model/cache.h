/* The cache: what each layer keeps of the past (cache_layer.h). Appended rows, [capacity,
 * n_head_kv, head_dim] a layer, are divided into blocks of WEFT_CACHE_BLOCK positions; a sequence
 * is a list of blocks. Recurrent states lie in slots, one slot a sequence and position; besides the
 * state at its end a sequence keeps a few of earlier positions, snapshots, to which it can go back.
 * Owns its storages, preallocated. Stepped by one thread at a time. */
#ifndef WEFT_MODEL_CACHE_H
#define WEFT_MODEL_CACHE_H

#include "base/file.h"
#include "model/network.h"
#include "tensor/nn.h"

#define WEFT_CACHE_BLOCK 64 /* positions; also the chunk by which attention adds up */

#define WEFT_CACHE_SNAPSHOTS 6 /* of a sequence alone, where layers have states */

typedef struct weft_cache weft_cache;

typedef struct weft_cache_options {
    int32_t n_positions; /* shared by all sequences; rounded up to whole blocks, and one block more
                            for each sequence beyond the first */
    weft_dtype type;     /* WEFT_F32, WEFT_F16, WEFT_BF16 or WEFT_Q8_0 */
    int32_t n_sequences; /* that may live at once, >= 1 */
} weft_cache_options;

/* `network` must outlive the cache. More than the machine's (or cgroup's) memory is WEFT_E_MEMORY
 * with the size needed. Pages are touched as they fill. */
weft_status weft_cache_create(weft_engine *engine, const weft_network *network,
                              const weft_cache_options *options, weft_cache **out);
weft_cache *weft_cache_retain(weft_cache *cache);
void weft_cache_release(weft_cache **cache);
size_t weft_cache_bytes(const weft_cache *cache);

/* An empty sequence. WEFT_E_CACHE_FULL when n_sequences live already. */
weft_status weft_cache_sequence_create(weft_cache *cache, int32_t *sequence);
/* Shares the full blocks, the states and the snapshots; the last block is copied on its first
 * write.
 */
weft_status weft_cache_sequence_fork(weft_cache *cache, int32_t from, int32_t *sequence);
void weft_cache_sequence_free(weft_cache *cache, int32_t sequence);
int32_t weft_cache_length(const weft_cache *cache, int32_t sequence); /* committed positions */
/* The sequence is likely to come back to where it is now: its state is kept longer than others. */
void weft_cache_mark(weft_cache *cache, int32_t sequence);
/* Positions that a sequence could still grow by. */
int32_t weft_cache_room(const weft_cache *cache, int32_t sequence);
/* Keeps the first n positions, or where layers have states as many of them as the nearest snapshot
 * below has (0 is always one): *resume (may be NULL), from which evaluation must go on. */
weft_status weft_cache_truncate(weft_cache *cache, int32_t sequence, int32_t n, int32_t *resume);
/* Says that the sequence will have `n` positions in all, fed in whatever pieces. Where the rope of
 * longer sequences differs (longrope) and it becomes one, nothing of it is kept: *resume, from
 * which evaluation must go on, is 0 then, else its length. Without this call a step that makes such
 * a sequence longer than n_original fails. */
weft_status weft_cache_expect(weft_cache *cache, int32_t sequence, int32_t n, int32_t *resume);
/* Whether any layer has a recurrent state. */
bool weft_cache_has_states(const weft_cache *cache);
/* Until the next call the sequence can go back to exactly where it is now, whatever else it drops.
 */
void weft_cache_hold(weft_cache *cache, int32_t sequence);

/* Protocol of a step: reserve for each sequence, write every layer, commit. Rollback (or a failed
 * reserve) leaves the cache as it was. No heap use. */
weft_status weft_cache_reserve(weft_cache *cache, weft_scope *scope, int32_t sequence, int32_t n);
void weft_cache_commit(weft_cache *cache);
void weft_cache_rollback(weft_cache *cache);
/* The block list of a sequence, reserved blocks included; valid until the next reserve. */
const int32_t *weft_cache_blocks(const weft_cache *cache, int32_t sequence);
/* A layer's rows, borrowed: [capacity, n_head_kv, dim], which q8_0 pads to 32; NULL where nothing
 * is appended. All lie in one storage. A layer whose values are columns of its keys has K for V. */
weft_tensor *weft_cache_k(const weft_cache *cache, int32_t layer);
weft_tensor *weft_cache_v(const weft_cache *cache, int32_t layer);
/* Appends rows [n, n_head_kv, dim] f32 at `position` (reserved) of a sequence: cast to the cache's
 * type, then one slice_set into a narrowed view per block touched. v: NULL where values are columns
 * of the keys. Sets the scope's status. */
void weft_cache_append(weft_cache *cache, weft_scope *scope, int32_t layer, int32_t sequence,
                       int32_t position, weft_tensor *k, weft_tensor *v);

/* A layer's state `which`, borrowed: [n_slots, dims…] f32. */
weft_tensor *weft_cache_states(const weft_cache *cache, int32_t layer, int which);
/* The slot of the sequence's state at its committed length; -1: nothing was evaluated, zeros. */
int32_t weft_cache_state_slot(const weft_cache *cache, int32_t sequence);
/* Keeps `state` [1, dims…] f32 as that after the reserved positions. Every state of every layer is
 * to be set before the commit. Sets the scope's status. */
void weft_cache_state_set(weft_cache *cache, weft_scope *scope, int32_t layer, int which,
                          int32_t sequence, weft_tensor *state);

/* The committed positions and the snapshots of one sequence, with a header that names shape and
 * type. */
weft_status weft_cache_save(const weft_cache *cache, int32_t sequence, weft_writer *writer);
/* Replaces the sequence's content from `size_bytes` of saved data. WEFT_E_FORMAT (other model,
 * damaged: checksummed), WEFT_E_CACHE_FULL; nothing is changed then. */
weft_status weft_cache_load(weft_cache *cache, int32_t sequence, const void *data,
                            size_t size_bytes);
#endif
