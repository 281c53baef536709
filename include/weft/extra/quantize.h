/* Quantising models, and the importance matrices that make it better. Public, but not ABI-stable.
 * Every file appears by rename when it is whole. */
#ifndef WEFT_EXTRA_QUANTIZE_H
#define WEFT_EXTRA_QUANTIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/engine.h>
#include <weft/model.h>
#include <weft/status.h>
#include <weft/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A mix of types by the tensors' roles, or one type for all matrices. */
typedef struct weft_mix_info {
    const char *name;        /* "Q4_K_M" */
    const char *description; /* one line */
} weft_mix_info;

/* Those that weft_quantize takes, in the order of a help text. False past the end. */
WEFT_API bool weft_mix_at(size_t i, weft_mix_info *out);
/* The type of that name ("Q4_K", "f16", any case) if weights can be written in it. */
WEFT_API bool weft_quantize_type(const char *name, weft_dtype *out);

/* Tensors whose name matches the POSIX extended regular expression somewhere get this type. */
typedef struct weft_tensor_type {
    const char *pattern;
    weft_dtype dtype;
} weft_tensor_type;

/* An adapter to merge: W + scale * (alpha / rank) * B A. */
typedef struct weft_lora_file {
    const char *path; /* as in weft_adapter_open */
    float scale;
} weft_lora_file;

typedef struct weft_quantize_options {
    const char *mix;                 /* "Q4_K_M", "F16"; any case; required */
    const char *imatrix;             /* path of an importance matrix; NULL: none */
    const weft_tensor_type *tensors; /* the first that matches counts; before the mix */
    size_t n_tensors;
    bool pure;                   /* one type for all matrices, no mix by role */
    bool keep_types;             /* matrices keep their types; the mix does not matter */
    bool folders_only;           /* a GGUF file is WEFT_E_ARGUMENT */
    const char *pre;             /* folders: name of the pre-tokeniser; NULL: found */
    const weft_lora_file *loras; /* merged before */
    size_t n_loras;
    weft_progress_fn progress; /* bytes of the source; NULL: none */
    void *progress_ctx;
} weft_quantize_options;

typedef struct weft_quantize_result {
    uint64_t bytes_before, bytes_after; /* of the weights */
    uint64_t n_parameters;
    size_t n_chosen;    /* tensors that were to get a type; the others keep theirs */
    size_t n_fallback;  /* of these, rows did not fit the blocks of the type wanted */
    size_t n_quantized; /* tensors of block types that were made */
    size_t n_important; /* had an entry in the importance matrix */
} weft_quantize_result;

/* Reads a model (a GGUF file, any shard of a split one, or a Hugging Face folder) and writes one
 * GGUF file. Matrices become what the mix says; rows that are no whole blocks of it the nearest
 * type of smaller blocks; vectors and what must stay exact keep their type. One tensor's pieces are
 * in memory at a time. `result` may be NULL. Errors: WEFT_E_ARGUMENT (mix, pattern), WEFT_E_FORMAT
 * (an element that is not finite; an importance matrix of another model), WEFT_E_UNSUPPORTED,
 * WEFT_E_IO, WEFT_E_MEMORY, WEFT_E_CANCELLED. */
WEFT_API weft_status weft_quantize(weft_engine *engine, const char *from, const char *to,
                                   const weft_quantize_options *options,
                                   weft_quantize_result *result);

/* ---- Importance matrices ---- */

/* Mean squares of what each matrix of a model is multiplied by, over texts. */
typedef struct weft_imatrix weft_imatrix;

/* `n_context`: the longest text added at once. The model is borrowed. */
WEFT_API weft_status weft_imatrix_create(weft_model *model, int32_t n_context, weft_imatrix **out);
/* Evaluates tokens [n] from an empty cache and adds what it sees. */
WEFT_API weft_status weft_imatrix_add(weft_imatrix *m, const int32_t *tokens, size_t n);
/* A GGUF file as llama.cpp's tools write and read it. `text` names where the tokens come from. */
WEFT_API weft_status weft_imatrix_write(const weft_imatrix *m, const char *path, const char *text);
WEFT_API void weft_imatrix_release(weft_imatrix **m);

#ifdef __cplusplus
}
#endif
#endif
