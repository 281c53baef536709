/* Baseline variants of panels times floats: the shared body over this file's lanes. */
#include "tensor/kernels/ref/lanes_scalar.h"
#include "tensor/kernels/declare.h"
#include "tensor/kernels/ref/panel_f32_body.h"

void weft_kernel_panel_f32_scalar(weft_dtype dtype, const void *panels, size_t n_panels,
                                  const float *x, size_t n, size_t n_cols, size_t ldx, float *y,
                                  size_t ldy) {
    panel_f32_body(dtype, panels, n_panels, x, n, n_cols, ldx, y, ldy);
}
