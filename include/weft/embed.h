/* Embeddings: a vector for each text, of a model's final hidden states. Encoders (BERT and its
 * family) give nothing else; decoders can be used so as well. */
#ifndef WEFT_EMBED_H
#define WEFT_EMBED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/model.h>
#include <weft/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How the hidden states of a text's tokens become one vector. */
typedef enum weft_pooling {
    WEFT_POOLING_DEFAULT, /* as the file says; if it doesn't: encoders the mean, decoders the last
                           */
    WEFT_POOLING_NONE,    /* a vector for each token */
    WEFT_POOLING_MEAN,    /* of all tokens, special ones included */
    WEFT_POOLING_CLS,     /* the first token's */
    WEFT_POOLING_LAST     /* the last token's */
} weft_pooling;

typedef struct weft_embed_text {
    const int32_t *tokens; /* [n], special tokens included, as weft_tokenize with add_special */
    size_t n;              /* at least 1, at most the model's n_context */
} weft_embed_text;

/* Called after each step with the texts that are done; false ends with WEFT_E_CANCELLED. */
typedef bool (*weft_embed_progress_fn)(void *ctx, size_t n_done, size_t n_texts);

typedef struct weft_embed_options {
    weft_pooling pooling;
    bool normalize;  /* vectors of length 1; zeros stay zeros */
    int32_t n_batch; /* tokens that a step takes, of several texts; 0: 512. An encoder takes a
                        longer text in one step all the same */
    const struct weft_adapter_use *adapters; /* [n_adapters] of the model that the texts go through
                                                (adapter.h); NULL: none */
    size_t n_adapters;
    weft_embed_progress_fn progress; /* NULL: none */
    void *progress_ctx;
} weft_embed_options;

/* Pooling as the file says, normalised. */
WEFT_API weft_embed_options weft_embed_options_default(void);

/* What WEFT_POOLING_DEFAULT stands for. */
WEFT_API weft_pooling weft_embed_pooling(const weft_model *model);

/* Rows that weft_embed writes: one a text, or with WEFT_POOLING_NONE one a token. */
WEFT_API size_t weft_embed_rows(const weft_embed_text *texts, size_t n_texts, weft_pooling pooling);

/* Writes the vectors of `texts` [n_texts] in order to out [weft_embed_rows, n_embd], which the
 * caller owns. `options` may be NULL: the default ones. Texts do not see each other. Under
 * reproducible numbers a text's vector has the same bits whatever stands beside it; otherwise a
 * step of 32 tokens or more may round differently from a shorter one (docs/numerics.md). Any number
 * of threads may call it with one model; they take turns on the engine's team. On an error `out` is
 * undefined. Errors: WEFT_E_NULL, WEFT_E_ARGUMENT (no tokens, an unknown pooling), WEFT_E_RANGE (an
 * id outside of the vocabulary, a text longer than n_context), WEFT_E_MEMORY, WEFT_E_CANCELLED,
 * WEFT_E_FORKED. */
WEFT_API weft_status weft_embed(weft_model *model, const weft_embed_text *texts, size_t n_texts,
                                const weft_embed_options *options, float *out);

#ifdef __cplusplus
}
#endif
#endif
