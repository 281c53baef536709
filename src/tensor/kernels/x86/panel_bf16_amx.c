/* Panels times bfloat16 activations on AMX. tests/kernels/test_amx_model.c runs the same tiles in
 * plain C on any machine. */
#include "tensor/kernels/declare.h"
#include "tensor/kernels/x86/bf16_unpack.h"
#include "tensor/kernels/x86/tile_products_amx.h"
#include "tensor/kernels/ref/panel_bf16_body.h"

void weft_kernel_panel_bf16_amx(weft_dtype dtype, const void *panels, size_t n_panels,
                                const weft_bf16_rows *x, float *sums, float *y, size_t ldy) {
    tiles_begin();
    panel_bf16_body(weft_bf16_unpack, dtype, panels, n_panels, x, sums, y, ldy);
    tiles_end();
}
