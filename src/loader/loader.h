/* Reads a model file or folder into the two maps, and the bytes of a tokenizer.json. */
#ifndef WEFT_LOADER_LOADER_H
#define WEFT_LOADER_LOADER_H

#include "base/metadata.h"
#include "tensor/weights.h"
#include <weft/model.h>

typedef enum weft_format { WEFT_FORMAT_GGUF, WEFT_FORMAT_HF } weft_format;

/* What a file or folder holds. Tensors are immutable, in the file's layout, over mappings that live
 * as long as they do (mode MAP), or over own memory (COPY). Metadata is owned memory. */
typedef struct weft_source {
    weft_allocator allocator;
    weft_format format;
    char format_name[32]; /* "GGUF v3", "safetensors" */
    weft_metadata *metadata;
    weft_weights *weights;
    uint64_t weight_bytes;
    char *tokenizer_json; /* HF: the file's bytes; NULL if absent */
    size_t tokenizer_json_bytes;
    /* HF: tokenizer_config.json's and generation_config.json's members are in the metadata under
     * "tokenizer_config." and "generation_config."; chat_template.jinja as "chat_template". Members
     * that are null are absent. __metadata__ of the weights' file is under "safetensors."; what
     * sentence-transformers adds, under "modules." and "pooling." (hf_modules.c). */
    struct weft_shard **shards; /* the mapped files; NULL in mode COPY */
    size_t n_shards, shards_room;
    uint64_t *offsets; /* of tensor i of `weights` as opened, in its file */
    size_t n_offsets, offsets_room;
} weft_source;

/* `path` as in weft_model_open; one safetensors file of a folder, or its index, stands for the
 * folder (with the weights of that file only). `copy`: read into memory instead of mapping.
 * `progress` may be NULL. On failure *out is zeroed and nothing is held. */
weft_status weft_source_open(weft_engine *engine, const char *path, bool copy,
                             weft_progress_fn progress, void *progress_ctx, weft_source *out);
void weft_source_close(weft_source *source);

/* Tells the system that a mapped tensor's file pages can go (after repacking); others: no effect.
 */
void weft_source_drop(const weft_source *source, const weft_tensor *tensor);

/* Whether no mapped file was written to or cut since it was opened, as far as its size and time of
 * change tell. */
bool weft_source_unchanged(const weft_source *source);

/* File offset of a tensor's data in its file, for inspect; 0 if unknown. */
uint64_t weft_source_offset(const weft_source *source, const weft_tensor *tensor);

#endif
