/* The quantisers for any CPU. */
#include "tensor/quantize/body/all.h"

const weft_quantize_fn weft_quantize_scalar[WEFT_DTYPE_COUNT] = WEFT_QUANTIZERS;
