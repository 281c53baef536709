/* Runs of packed elements between the plain types. Float to integer saturates and NaN gives 0;
 * everything else rounds once, to nearest even. Internal to src/tensor. */
#ifndef WEFT_TENSOR_CONVERT_H
#define WEFT_TENSOR_CONVERT_H

#include "tensor/kernels/table.h"

/* Any plain type to any other; also the same one (a copy). */
void weft_convert(const weft_kernels *k, weft_dtype from, const void *x, weft_dtype to, void *y,
                  size_t n);

/* f32, f16, bf16 to f32: `x` itself where it is f32, else converted into `buffer`. */
const float *weft_as_f32(const weft_kernels *k, weft_dtype dtype, const void *x, size_t n,
                         float *buffer);
/* f32 to f32, f16, bf16; y may be x for f32. */
void weft_from_f32(const weft_kernels *k, const float *x, weft_dtype dtype, void *y, size_t n);

/* Integers and bool; storing wraps. */
void weft_to_i64(weft_dtype dtype, const void *x, size_t n, int64_t *y);
void weft_from_i64(const int64_t *x, weft_dtype dtype, void *y, size_t n);

#endif
