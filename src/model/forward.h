/* The forward pass: one step over rows of one or many sequences. */
#ifndef WEFT_MODEL_FORWARD_H
#define WEFT_MODEL_FORWARD_H

#include <stdatomic.h>
#include "model/cache.h"
#include "model/network.h"

typedef struct weft_step {
    const int32_t *tokens;    /* [n] */
    const int32_t *sequences; /* [n]; rows of a sequence are consecutive, at its next positions */
    const bool *wants_logits; /* [n]: whose output is wanted; NULL: the last row only */
    size_t n;
    bool hidden; /* the rows wanted are final hidden states, not logits */
} weft_step;

/* Reserves, evaluates, commits; on any error the cache is as before. Results lie in `scope` (an
 * arena that the caller resets between steps). *out: [rows wanted, n_vocab] f32,
 * or with `hidden` [rows wanted, n_embd] after the last norm, borrowed from
 * the scope. `cancel` (may be NULL) is looked at between layers: WEFT_E_CANCELLED. In steady state
 * no heap allocation. Takes the engine's pass lock.
 *
 * An encoder sees whole texts: each sequence is empty before the step, and what the step leaves in
 * the cache is of no further use. A network without an output matrix
 * gives no logits (WEFT_E_UNSUPPORTED). */
weft_status weft_forward(const weft_network *network, weft_cache *cache, weft_scope *scope,
                         const weft_step *step, const atomic_bool *cancel, weft_tensor **out);

#endif
