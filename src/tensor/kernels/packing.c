/* Which form of panel each block type has, and what its quants stand for: blocks as levels, scales
 * and values. */
#include "tensor/kernels/blocks.h"
#include "base/floats.h"

/* The non-linear 4-bit types; 4-bit floats (e2m1), doubled; IQ3 with the sign as the fourth bit;
 * IQ2 with it as the third; IQ1 eightfold: a step of 8, and 1 more, or 1 less behind. */
static const int8_t iq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                               1,    13,   25,  38,  53,  69,  89,  113};
static const int8_t e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
static const int8_t iq3_xxs[16] = {4,  12,  20,  28,  36,  44,  52,  62,
                                   -4, -12, -20, -28, -36, -44, -52, -62};
static const int8_t iq3_s[16] = {1, 3, 5, 7, 9, 11, 13, 15, -1, -3, -5, -7, -9, -11, -13, -15};
static const int8_t iq2[16] = {8, 25, 43, 0, -8, -25, -43};
static const int8_t iq1[16] = {-7, 1, 9, 0, -9, -1, 7};

static const weft_packing packings[WEFT_DTYPE_COUNT] = {
    [WEFT_Q4_0] = {WEFT_FORM_Q4_0, NULL, 1},
    [WEFT_Q4_1] = {WEFT_FORM_Q4_1, NULL, 1},
    [WEFT_Q5_0] = {WEFT_FORM_Q5_0, NULL, 1},
    [WEFT_Q5_1] = {WEFT_FORM_Q5_1, NULL, 1},
    [WEFT_Q8_0] = {WEFT_FORM_Q8_0, NULL, 1},
    [WEFT_Q2_K] = {WEFT_FORM_Q2_K, NULL, 1},
    [WEFT_Q3_K] = {WEFT_FORM_Q3_K, NULL, 1},
    [WEFT_Q4_K] = {WEFT_FORM_Q4_K, NULL, 1},
    [WEFT_Q5_K] = {WEFT_FORM_Q5_K, NULL, 1},
    [WEFT_Q6_K] = {WEFT_FORM_Q6_K, NULL, 1},
    [WEFT_TQ1_0] = {WEFT_FORM_TQ1_0, NULL, 1},
    [WEFT_TQ2_0] = {WEFT_FORM_TQ2_0, NULL, 1},
    [WEFT_IQ1_S] = {WEFT_FORM_IQ1_S, iq1, 0.125f},
    [WEFT_IQ1_M] = {WEFT_FORM_IQ1_M, iq1, 0.125f},
    [WEFT_IQ2_XXS] = {WEFT_FORM_IQ2_XXS, iq2, 0.125f},
    [WEFT_IQ2_XS] = {WEFT_FORM_IQ2_XS, iq2, 0.125f},
    [WEFT_IQ2_S] = {WEFT_FORM_IQ2_S, iq2, 0.125f},
    [WEFT_IQ3_XXS] = {WEFT_FORM_IQ3_XXS, iq3_xxs, 0.25f},
    [WEFT_IQ3_S] = {WEFT_FORM_IQ3_S, iq3_s, 1},
    [WEFT_IQ4_XS] = {WEFT_FORM_IQ4_XS, iq4, 1},
    [WEFT_IQ4_NL] = {WEFT_FORM_IQ4_NL, iq4, 1},
    [WEFT_MXFP4] = {WEFT_FORM_MXFP4, e2m1, 1},
    [WEFT_NVFP4] = {WEFT_FORM_NVFP4, e2m1, 1},
};

const weft_packing *weft_packing_of(weft_dtype dtype) {
    bool known = (unsigned)dtype < WEFT_DTYPE_COUNT && packings[dtype].unit > 0;
    return known ? &packings[dtype] : NULL;
}

void weft_block_levels(weft_dtype dtype, const weft_block *b, int8_t out[32]) {
    const weft_packing *p = &packings[dtype];
    int offset = weft_forms[p->form].offset;
    for (int i = 0; i < 32; i++)
        out[i] = p->levels ? p->levels[b->q[i]] : (int8_t)(b->q[i] - offset);
}

/* 2^(e - 127), halved because the levels are doubled. */
static float e8m0(unsigned e) {
    return weft_float_of(e < 2 ? 0x00200000u << e : (e - 1) << 23);
}

/* A float of four bits of exponent and three of mantissa, halved because the levels are doubled. As
 * an f16 of the same fields it is 128 times too small. */
static float ue4m3(unsigned u) {
    return weft_f16_to_f32((uint16_t)(u << 7)) * 128;
}

float weft_block_scale(weft_dtype dtype, const weft_block *b, int h) {
    const weft_packing *p = &packings[dtype];
    if (weft_form_floats(p->form))
        return ue4m3((unsigned)b->sc[h]);
    return (weft_forms[p->form].d == 1 ? e8m0(b->d) : weft_f16_to_f32(b->d)) * p->unit;
}

void weft_block_values(weft_dtype dtype, const weft_block *b, float out[32]) {
    weft_form form = packings[dtype].form;
    bool floats = weft_form_floats(form), has_min = weft_form_has_min(form);
    bool minima = has_min && weft_forms[form].blocks > 1;
    int8_t level[32];
    weft_block_levels(dtype, b, level);
    for (int h = 0; h < 2; h++) {
        float d = weft_block_scale(dtype, b, h) * (floats ? 1 : (float)b->sc[h]);
        float m = weft_f16_to_f32(b->m);
        m = minima ? m * (float)b->min[h] : -m;
        for (int i = 16 * h; i < 16 * h + 16; i++) {
            float v = d * (float)level[i];
            out[i] = has_min ? v - m : v;
        }
    }
}
