/* A network: one model's hyper-parameters and layers. Layers borrow tensors of the weights map;
 * after creation everything is immutable and shared by any threads. */
#ifndef WEFT_MODEL_NETWORK_H
#define WEFT_MODEL_NETWORK_H

#include "base/metadata.h"
#include "model/cache_layer.h"
#include "tensor/weights.h"
#include <weft/embed.h>
#include <weft/model.h>

typedef struct weft_network weft_network;

typedef struct weft_network_options {
    bool hugging_face; /* metadata and tensor names as published there, else as in GGUF */
    bool pack;         /* linear weights are replaced in the map by panels, one tensor at a time */
    bool lazy;         /* with pack: those that can wait stay as the file has them, and are packed
                          behind the first token, or by weft_network_pack */
    bool check_only;   /* validate everything, pack and copy nothing; *out may be NULL */
    bool defer; /* matrices that would be copies have no data: weft_network_make (export.h) */
    weft_progress_fn progress; /* bytes of weights; NULL: none */
    void *progress_ctx;
    /* Called before a packed tensor's source is released, so that its file pages can go. May be
     * NULL. */
    void (*packed)(void *ctx, const weft_tensor *source);
    /* Whether the file is still what it was; asked before it is read later. May be NULL. */
    bool (*unchanged)(void *ctx);
    void *packed_ctx; /* of both */
} weft_network_options;

/* Recognises the architecture and validates metadata and weights whole: every key's type and range,
 * every tensor's presence, dtype and shape. `weights` must outlive the network; it is changed by
 * packing and by derived tensors (gemma's 1 + w norms of Hugging Face folders, rope factors).
 * Errors: WEFT_E_FORMAT and WEFT_E_UNSUPPORTED naming key or tensor, WEFT_E_MEMORY, _CANCELLED. */
weft_status weft_network_create(weft_engine *engine, const weft_metadata *metadata,
                                weft_weights *weights, const weft_network_options *options,
                                weft_network **out);
void weft_network_destroy(weft_network **network);

/* Packs what was left for later; takes the engine's pass for a weight at a time. Sessions may run.
 * Errors: WEFT_E_IO, _MEMORY, _CANCELLED (progress); what was done stays done. */
weft_status weft_network_pack(const weft_network *network, weft_progress_fn progress, void *ctx);

/* Everything but the weights themselves; strings borrowed from the network. */
weft_model_info weft_network_info(const weft_network *network);
/* An encoder: a step must hold whole texts. */
bool weft_network_is_bidirectional(const weft_network *network);
/* How its hidden states become embeddings where the caller does not say: never DEFAULT. */
weft_pooling weft_network_pooling(const weft_network *network);
/* What layer `layer` keeps of the past. */
weft_cache_layer weft_network_keeps(const weft_network *network, int32_t layer);
/* Bytes that a cache of one sequence, `n_positions` and type `cache_type` takes; saturates at
 * UINT64_MAX. */
uint64_t weft_network_cache_bytes(const weft_network *network, int32_t n_positions,
                                  weft_dtype cache_type);
/* The same, and the other figures of a summary, from metadata alone, without validating tensors;
 * false when the architecture or a key it needs is unknown. */
bool weft_network_estimate(const weft_metadata *metadata, bool hugging_face, int32_t n_positions,
                           weft_dtype cache_type, int32_t *n_context_train, uint64_t *cache_bytes);
#endif
