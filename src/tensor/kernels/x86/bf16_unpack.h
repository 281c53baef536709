/* Panels of every type as tiles of bfloat16, for the variants of panel_bf16 on x86. */
#ifndef WEFT_KERNELS_BF16_UNPACK_H
#define WEFT_KERNELS_BF16_UNPACK_H

#include "tensor/kernels/panel.h"

/* Columns [32 begin, 32 end) of a panel: a tile of 32 columns is [16 pairs of columns, 16 rows, 2],
 * zeros behind the last column. Values are rounded to nearest, denormals to zero. */
void weft_bf16_unpack(weft_dtype dtype, const void *panel, size_t n_cols, size_t begin, size_t end,
                      uint16_t *tiles);

#endif
