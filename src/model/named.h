/* A network's matrices by the names that files give them, in either kind of file. */
#ifndef WEFT_MODEL_NAMED_H
#define WEFT_MODEL_NAMED_H

#include "model/network.h"

enum { WEFT_NAMED_GGUF, WEFT_NAMED_HF, WEFT_NAMED_KINDS };

typedef struct weft_named {
    weft_tensor *weight; /* what the forward pass multiplies by, borrowed */
    int64_t rows, cols;  /* of one matrix */
    int64_t n_stacked;   /* experts or heads; 1: a matrix */
    int32_t rope_heads;  /* heads whose halves GGUF files interleave and folders do not; 0 */
    const char *name[WEFT_NAMED_KINDS]; /* of the file's tensor; "" where it has none. Valid during
                                           the call */
    int64_t first[WEFT_NAMED_KINDS];    /* its rows begin there in that tensor; -1: they do not lie
                                           together */
    int64_t file_rows[WEFT_NAMED_KINDS];
} weft_named;

typedef weft_status (*weft_named_fn)(void *ctx, const weft_named *weight);

/* Calls fn for each matrix of the layers that linears multiply by; stops at the first error.
 * `weights` is the map that the network borrows from. */
weft_status weft_network_visit(weft_network *network, const weft_weights *weights, weft_named_fn fn,
                               void *ctx);

#endif
