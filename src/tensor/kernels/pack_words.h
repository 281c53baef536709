/* Packing whole panels at the speed of memory. Internal to src/tensor. */
#ifndef WEFT_KERNELS_PACK_WORDS_H
#define WEFT_KERNELS_PACK_WORDS_H

#include "base/cpu.h"
#include "tensor/kernels/panel.h"

/* weft_panel_pack with the instructions of `isa`, which the CPU has: the same bytes sooner. */
void weft_panel_pack_by(weft_isa isa, weft_dtype dtype, const void *rows, size_t n_rows,
                        size_t n_cols, void *panel);

/* 16 rows in the file's layout as a panel, but for its padding; false: nothing is done for this
 * type or number of columns. */
bool weft_pack_words_scalar(weft_dtype dtype, const uint8_t *rows, size_t n_cols, uint8_t *panel);
bool weft_pack_words_avx2(weft_dtype dtype, const uint8_t *rows, size_t n_cols, uint8_t *panel);

#endif
