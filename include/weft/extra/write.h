/* Writing model files: folders to GGUF, splitting and joining. Public, but not ABI-stable. Every
 * file appears by rename when it is whole. */
#ifndef WEFT_EXTRA_WRITE_H
#define WEFT_EXTRA_WRITE_H

#include <stddef.h>
#include <stdint.h>
#include <weft/engine.h>
#include <weft/model.h>
#include <weft/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_convert_options {
    const char *type; /* of matrices: "F16", "BF16", "F32", "Q8_0", or another that weft_quantize
                         takes; NULL: as in the folder */
    const char *pre;  /* name of the pre-tokeniser; NULL: the known one that cuts text alike */
    weft_progress_fn progress; /* NULL: none */
    void *progress_ctx;
} weft_convert_options;

/* Writes the model of a Hugging Face folder as a GGUF file: tensors renamed and laid out as those
 * files have them, keys of hyper-parameters and tokeniser, the chat template. What the file could
 * not say exactly is WEFT_E_UNSUPPORTED, and nothing is written. */
WEFT_API weft_status weft_convert_folder(weft_engine *engine, const char *folder, const char *to,
                                         const weft_convert_options *options);

typedef struct weft_split_options {
    uint64_t most_bytes;       /* of a shard's tensors; 0: no limit. A tensor is never divided */
    size_t most_tensors;       /* of a shard; 0: no limit. At least one of both is given */
    weft_progress_fn progress; /* NULL: none */
    void *progress_ctx;
} weft_split_options;

/* Writes the GGUF file `from` as PREFIX-00001-of-0000N.gguf …, each of which opens the whole.
 * *n_shards (may be NULL) is N. On failure no shard is left. */
WEFT_API weft_status weft_split(weft_engine *engine, const char *from, const char *prefix,
                                const weft_split_options *options, size_t *n_shards);

/* Writes all shards of the split file that `from` is one of as one file. */
WEFT_API weft_status weft_merge(weft_engine *engine, const char *from, const char *to,
                                weft_progress_fn progress, void *progress_ctx);

#ifdef __cplusplus
}
#endif
#endif
