/* Reading LoRA adapters for a network: pairs of matrices for its weights, whatever kind of file
 * each comes from. */
#ifndef WEFT_ENGINE_LORA_H
#define WEFT_ENGINE_LORA_H

#include "loader/loader.h"
#include "model/named.h"

/* What one weight gets: W [rows, cols] + B [rows, rank] A [rank, cols]. */
typedef struct weft_lora_pair {
    const weft_named *named;
    int64_t rank;
    const float *a; /* [rank, cols] */
    const float *b; /* [rows, rank], times alpha / rank; rows as `order` has them */
} weft_lora_pair;

typedef weft_status (*weft_lora_fn)(void *ctx,
                                    const weft_lora_pair *pair); /* copies what it keeps */

/* Calls fn for each weight of the network that the adapter at `path` has. `order`: WEFT_NAMED_GGUF
 * or WEFT_NAMED_HF, the kind of file whose order of rows b has. Errors name the tensor. */
weft_status weft_lora_read(weft_engine *engine, weft_network *network, const weft_weights *weights,
                           const char *path, int order, weft_lora_fn fn, void *ctx);

#endif
