/* Entries of the panels times floats, for the variant whose lanes_*.h header comes first: the
 * bodies over its lanes. */
#ifndef WEFT_KERNELS_PANEL_F32_ENTRIES_H
#define WEFT_KERNELS_PANEL_F32_ENTRIES_H

#include "tensor/kernels/declare.h"
#include "tensor/kernels/ref/panel_f32_body.h"

void WEFT_KERNEL(weft_kernel_panel_f32)(weft_dtype dtype, const void *panels, size_t n_panels,
                                        const float *x, size_t n, size_t n_cols, size_t ldx,
                                        float *y, size_t ldy) {
    panel_f32_body(dtype, panels, n_panels, x, n, n_cols, ldx, y, ldy);
}

#endif
