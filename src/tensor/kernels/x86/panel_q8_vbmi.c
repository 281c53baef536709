/* Quantised panels times int8 activations, of the types whose codebooks and digits permutations of
 * bytes (AVX512-VBMI) look up; the others as with VNNI. */
#include "tensor/kernels/declare.h"

#define BODY_FORMS(X)                                                                              \
    X(tq1_0, WEFT_FORM_TQ1_0)                                                                      \
    X(iq1_s, WEFT_FORM_IQ1_S)                                                                      \
    X(iq1_m, WEFT_FORM_IQ1_M)                                                                      \
    X(iq2_xxs, WEFT_FORM_IQ2_XXS)                                                                  \
    X(iq2_xs, WEFT_FORM_IQ2_XS)                                                                    \
    X(iq2_s, WEFT_FORM_IQ2_S)                                                                      \
    X(iq3_xxs, WEFT_FORM_IQ3_XXS)                                                                  \
    X(iq3_s, WEFT_FORM_IQ3_S)

#include "tensor/kernels/x86/panel_q8_body_avx512.h"

void weft_kernel_panel_q8_vbmi(weft_dtype dtype, const void *panels, size_t n_panels,
                               const weft_q8_rows *x, float *y, size_t ldy) {
    if (products[weft_packing_of(dtype)->form])
        panel_q8_body(dtype, panels, n_panels, x, y, ldy);
    else
        weft_kernel_panel_q8_vnni(dtype, panels, n_panels, x, y, ldy);
}
