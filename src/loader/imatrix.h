/* Importance matrices: for each weight the mean square of its inputs, as gathered by `weft imatrix`
 * or llama.cpp. */
#ifndef WEFT_LOADER_IMATRIX_H
#define WEFT_LOADER_IMATRIX_H

#include "loader/loader.h"

/* Reads a GGUF file of type "imatrix" (tensors NAME.in_sum2 [n_matrices, n_cols] and NAME.counts)
 * or one of the older format. *out maps the weight's name to f32 [n_matrices, n_cols] (the older
 * format: [1, all]); owned by the caller. Every value is finite and >= 0; a matrix that was never
 * used has ones. *n_chunks: how much text went in, 0 where not said. */
weft_status weft_imatrix_read(weft_engine *engine, const char *path, weft_weights **out,
                              uint32_t *n_chunks);

#endif
