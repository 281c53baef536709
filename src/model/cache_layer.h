/* What a layer keeps of the past: appendable tensors, a row a position, and recurrent states of
 * fixed size, one a sequence. Plain data; a layer's mixer states it, the cache makes room for it.
 */
#ifndef WEFT_MODEL_CACHE_LAYER_H
#define WEFT_MODEL_CACHE_LAYER_H

#include <weft/tensor.h>

#define WEFT_CACHE_STATES 2

typedef struct weft_cache_state {
    int rank;        /* 0: no such state */
    int64_t dims[3]; /* of f32 */
} weft_cache_state;

typedef struct weft_cache_layer {
    int32_t n_head_kv;    /* 0: nothing is appended */
    int32_t dim_k, dim_v; /* of a head's rows; dim_v 0: values are the first columns of the keys */
    weft_cache_state states[WEFT_CACHE_STATES];
} weft_cache_layer;

/* Elements of one position in a cache of this type, K and V together: rows of q8_0 are padded. */
int64_t weft_cache_layer_width(const weft_cache_layer *layer, weft_dtype type);
/* Bytes of one position; 0 where nothing is appended. */
uint64_t weft_cache_layer_bytes(const weft_cache_layer *layer, weft_dtype type);
/* Floats of one state, each rounded up to whole cache lines. */
int64_t weft_cache_state_floats(const weft_cache_state *state);
/* Bytes of all states of one sequence at one position. */
uint64_t weft_cache_layer_state_bytes(const weft_cache_layer *layer);

#endif
