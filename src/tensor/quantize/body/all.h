/* The table of quantisers, for the file of each instruction set. */
#ifndef WEFT_QUANTIZE_ALL_H
#define WEFT_QUANTIZE_ALL_H

#include "tensor/quantize/body/iq.h"
#include "tensor/quantize/body/iq1.h"
#include "tensor/quantize/body/microscaled.h"
#include "tensor/quantize/body/offset.h"
#include "tensor/quantize/body/offset_k.h"
#include "tensor/quantize/body/scaled.h"
#include "tensor/quantize/body/scaled_k.h"

#define WEFT_QUANTIZERS                                                                            \
    {                                                                                              \
        [WEFT_Q4_0] = quantize_q4_0, [WEFT_Q4_1] = quantize_q4_1, [WEFT_Q5_0] = quantize_q5_0,     \
        [WEFT_Q5_1] = quantize_q5_1, [WEFT_Q8_0] = quantize_q8_0, [WEFT_Q2_K] = quantize_q2_k,     \
        [WEFT_Q3_K] = quantize_q3_k, [WEFT_Q4_K] = quantize_q4_k, [WEFT_Q5_K] = quantize_q5_k,     \
        [WEFT_Q6_K] = quantize_q6_k, [WEFT_IQ4_NL] = quantize_iq4_nl,                              \
        [WEFT_IQ4_XS] = quantize_iq4_xs, [WEFT_TQ1_0] = quantize_tq1_0,                            \
        [WEFT_TQ2_0] = quantize_tq2_0, [WEFT_MXFP4] = quantize_mxfp4,                              \
        [WEFT_NVFP4] = quantize_nvfp4, [WEFT_IQ2_XXS] = quantize_iq2_xxs,                          \
        [WEFT_IQ2_XS] = quantize_iq2_xs, [WEFT_IQ2_S] = quantize_iq2_s,                            \
        [WEFT_IQ3_XXS] = quantize_iq3_xxs, [WEFT_IQ3_S] = quantize_iq3_s,                          \
        [WEFT_IQ1_S] = quantize_iq1_s, [WEFT_IQ1_M] = quantize_iq1_m,                              \
    }

#endif
