/* Quantising: float rows to the block formats of GGUF files. Every format minimises the sum of
 * w (x - y)² over its blocks, y being what a reader gets back and w the importance of a column; the
 * result depends neither on the CPU nor on the number of threads. The searches are in body/. */
#ifndef WEFT_TENSOR_QUANTIZE_H
#define WEFT_TENSOR_QUANTIZE_H

#include "base/cpu.h"
#include <weft/tensor.h>

/* Block formats and F32, F16, BF16. */
bool weft_quantize_supported(weft_dtype dtype);

/* One row: x [n_cols] finite, n_cols a multiple of the format's block; importance [n_cols], >= 0,
 * or NULL: every column counts the same. Writes the row's bytes in the file's layout. */
void weft_quantize_row(weft_isa isa, weft_dtype dtype, const float *x, const float *importance,
                       size_t n_cols, void *row);

/* ---- Between the files of this folder ---- */

/* One block: x and w have as many elements as the format's block. */
typedef void (*weft_quantize_fn)(const float *x, const float *w, uint8_t *out);

/* The same functions, compiled for each instruction set; NULL: no such format. */
extern const weft_quantize_fn weft_quantize_scalar[WEFT_DTYPE_COUNT];
extern const weft_quantize_fn weft_quantize_avx2[WEFT_DTYPE_COUNT];

#endif
