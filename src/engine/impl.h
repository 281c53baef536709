/* Inside of models and sessions, for the files of src/engine. */
#ifndef WEFT_ENGINE_IMPL_H
#define WEFT_ENGINE_IMPL_H

#include <stdatomic.h>
#include "base/engine_impl.h"
#include "loader/loader.h"
#include "model/cache.h"
#include "model/forward.h"
#include "model/network.h"
#include <weft/model.h>
#include <weft/session.h>

struct weft_model {
    atomic_uint n_refs;
    weft_engine *engine;
    weft_source source; /* the network borrows its weights */
    weft_network *network;
    weft_tokenizer *tokenizer; /* NULL: opened for use by ids only */
    size_t max_piece_bytes;    /* longest spelling of one token */
};

struct weft_session {
    weft_model *model;
    weft_cache *cache; /* shared with forks */
    weft_scope *scope; /* arena of the steps */
    int32_t sequence;
    int32_t n_context, n_batch, n_vocab;
    int32_t n_past;
    int32_t *tokens;        /* [n_context], the first n_past of them in the cache */
    int32_t *row_sequences; /* [n_batch], all `sequence` */
    bool *no_logits;        /* [n_batch], all false */
    bool *all_logits;       /* [n_batch], all true */
    float *logits;          /* [n_vocab] after the last token */
    bool has_logits;
    struct weft_adapters *adapters; /* adapter.h; NULL: none */
    atomic_bool cancel;
};

/* What distinguishes one model's cache from another's of the same shape. */
uint64_t weft_model_fingerprint(const weft_model *model);

/* FNV-1a, going on from `hash` (start with WEFT_HASH_START). */
#define WEFT_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t weft_hash_bytes(uint64_t hash, const void *data, size_t size_bytes);

/* Positions that the session could still take, by its own context and by the shared cache. */
int32_t weft_session_room(const weft_session *session);

/* True once for each weft_session_cancel. */
bool weft_session_take_cancel(weft_session *session);

/* WEFT_E_RANGE with a detail when one of the ids is outside of the vocabulary. */
weft_status weft_session_check_ids(const weft_session *session, const int32_t *ids, size_t n);

#endif
