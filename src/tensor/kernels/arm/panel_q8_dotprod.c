/* Quantised panels times int8 activations with the dot product extension (sdot). */
#define BYTE_PRODUCTS DOTS
#include "tensor/kernels/arm/panel_q8_body_neon.h"
#include "tensor/kernels/declare.h"

void weft_kernel_panel_q8_dotprod(weft_dtype dtype, const void *panels, size_t n_panels,
                                  const weft_q8_rows *x, float *y, size_t ldy) {
    panel_q8_body(dtype, panels, n_panels, x, y, ldy);
}
