/* Rows and panels of rank-2 weights, whatever their storage. Internal to src/tensor. */
#ifndef WEFT_TENSOR_PACK_H
#define WEFT_TENSOR_PACK_H

#include "tensor/impl.h"
#include "tensor/kernels/panel.h"

/* Bytes of a row in the file's layout; 0 where there are no whole blocks. */
size_t weft_row_bytes(const weft_tensor *weight);
/* Whether 16 rows at a time can be handed out without a copy. */
bool weft_rows_packed(const weft_tensor *weight);
/* Rows [first, first + n) of a strided weight, one after the other as in a file: where they lie, or
 * copied to `buffer` (n * weft_row_bytes). Block types have an inner stride of 1. */
const void *weft_rows_at(const weft_tensor *weight, size_t first, size_t n, void *buffer);
/* Row `row` of any layout as f32; `buffer` takes one row's bytes. False: the type has no definition
 * here. Hold the guard. */
bool weft_row_floats(const weft_tensor *weight, size_t row, void *buffer, float *out);

#endif
