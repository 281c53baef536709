/* The numbers of tensor types in GGUF files, for reader and writer. */
#ifndef WEFT_LOADER_GGUF_TYPES_H
#define WEFT_LOADER_GGUF_TYPES_H

#include <weft/tensor.h>

/* Numbers that are not listed are not in use (they read as F64, which is 28 alone). */
static const weft_dtype weft_gguf_dtypes[] = {
    [0] = WEFT_F32,      [1] = WEFT_F16,     [2] = WEFT_Q4_0,     [3] = WEFT_Q4_1,
    [6] = WEFT_Q5_0,     [7] = WEFT_Q5_1,    [8] = WEFT_Q8_0,     [9] = WEFT_Q8_1,
    [10] = WEFT_Q2_K,    [11] = WEFT_Q3_K,   [12] = WEFT_Q4_K,    [13] = WEFT_Q5_K,
    [14] = WEFT_Q6_K,    [15] = WEFT_Q8_K,   [16] = WEFT_IQ2_XXS, [17] = WEFT_IQ2_XS,
    [18] = WEFT_IQ3_XXS, [19] = WEFT_IQ1_S,  [20] = WEFT_IQ4_NL,  [21] = WEFT_IQ3_S,
    [22] = WEFT_IQ2_S,   [23] = WEFT_IQ4_XS, [24] = WEFT_I8,      [25] = WEFT_I16,
    [26] = WEFT_I32,     [27] = WEFT_I64,    [28] = WEFT_F64,     [29] = WEFT_IQ1_M,
    [30] = WEFT_BF16,    [34] = WEFT_TQ1_0,  [35] = WEFT_TQ2_0,   [39] = WEFT_MXFP4,
    [40] = WEFT_NVFP4,   [41] = WEFT_Q1_0,   [42] = WEFT_Q2_0,
};

#endif
