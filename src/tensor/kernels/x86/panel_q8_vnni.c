/* Quantised panels times int8 activations with AVX512-VNNI. */
#include "tensor/kernels/declare.h"

#define BODY_FORMS WEFT_FORM_FUNCTIONS

#include "tensor/kernels/x86/panel_q8_body_avx512.h"

void weft_kernel_panel_q8_vnni(weft_dtype dtype, const void *panels, size_t n_panels,
                               const weft_q8_rows *x, float *y, size_t ldy) {
    panel_q8_body(dtype, panels, n_panels, x, y, ldy);
}
