/* The quantisers, compiled for AVX2: the same sums, eight lanes at a time. */
#include "tensor/quantize/body/all.h"

const weft_quantize_fn weft_quantize_avx2[WEFT_DTYPE_COUNT] = WEFT_QUANTIZERS;
