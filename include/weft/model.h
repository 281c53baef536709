/* Models: weights, hyper-parameters and tokeniser of a file or folder. Immutable after loading;
 * shared by any number of sessions and threads. */
#ifndef WEFT_MODEL_H
#define WEFT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/engine.h>
#include <weft/status.h>
#include <weft/tokenizer.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_model weft_model;

typedef enum weft_load_mode {
    WEFT_LOAD_REPACK, /* panels made straight from the mapping: fastest to run, one resident copy */
    WEFT_LOAD_MAP,    /* the file's own layout, shared between processes; truncating the file while
                         it is mapped faults the process */
    WEFT_LOAD_COPY,   /* the file's own layout, read into memory */
    /* As REPACK, but the panels are made behind the first token, which comes several times sooner:
     * the first steps multiply by the mapped file, those after it pack a share each
     * (weft_model_pack: all at once). Until then a step fails with WEFT_E_IO if the file was
     * changed, and truncating it in the middle of a step faults the process. */
    WEFT_LOAD_LAZY
} weft_load_mode;

/* `done` of `total` bytes; false stops the load with WEFT_E_CANCELLED. Called on the loading
 * thread. */
typedef bool (*weft_progress_fn)(void *ctx, uint64_t done, uint64_t total);

typedef struct weft_model_options {
    weft_load_mode mode;
    const char *pre;           /* pre-tokeniser for an unknown name; NULL: the file's */
    bool without_tokenizer;    /* for use by ids only: a folder or file without one is accepted */
    weft_progress_fn progress; /* NULL: none */
    void *progress_ctx;
} weft_model_options;

WEFT_API weft_model_options weft_model_options_default(void);

/* `path`: a GGUF file (any shard of a split one) or a Hugging Face folder. `options` may be NULL.
 * On success *out is owned by the caller and holds a reference to `engine`. Errors: WEFT_E_IO,
 * _NOT_FOUND, _FORMAT, _UNSUPPORTED, _MEMORY, _CANCELLED, each with a detail naming file and field.
 */
WEFT_API weft_status weft_model_open(weft_engine *engine, const char *path,
                                     const weft_model_options *options, weft_model **out);
/* Packs what WEFT_LOAD_LAZY left for later, as a server may before its first request; else, and
 * when nothing is left, there is nothing to do. Sessions may run meanwhile. `progress` may be NULL.
 * Errors: WEFT_E_IO (the file was changed), _MEMORY, _CANCELLED; what was packed stays so. */
WEFT_API weft_status weft_model_pack(weft_model *model, weft_progress_fn progress,
                                     void *progress_ctx);
WEFT_API weft_model *weft_model_retain(weft_model *model);
WEFT_API void weft_model_release(weft_model **model);

typedef struct weft_model_info {
    const char *architecture; /* "llama"; borrowed from the model, as are the names below */
    const char *name;         /* "" where the file has none */
    uint64_t n_parameters;
    uint64_t weight_bytes; /* as stored in the file */
    int32_t n_layer, n_embd, n_head, n_head_kv, n_vocab;
    int32_t n_context; /* the longest the model was trained for */
    bool embeds_only;  /* an encoder, or without its head: it embeds texts (embed.h), no more */
} weft_model_info;

WEFT_API weft_model_info weft_model_get_info(const weft_model *model);
/* Borrowed; NULL with `without_tokenizer`. */
WEFT_API const weft_tokenizer *weft_model_tokenizer(const weft_model *model);

#ifdef __cplusplus
}
#endif
#endif
