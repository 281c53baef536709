/* Packing whole panels at the speed of memory. Private to the kernels. */
#ifndef WEFT_KERNELS_PACK_WORDS_H
#define WEFT_KERNELS_PACK_WORDS_H

#include "tensor/kernels/panel.h"

/* 16 rows in the file's layout as a panel, but for its padding; false: nothing is done for this
 * type or number of columns. */
bool weft_pack_words_scalar(weft_dtype dtype, const uint8_t *rows, size_t n_cols, uint8_t *panel);
bool weft_pack_words_avx2(weft_dtype dtype, const uint8_t *rows, size_t n_cols, uint8_t *panel);

#endif
