/* Panels: how weights lie in memory for the integer and float kernels. 16 consecutive rows of a
 * weight [n_out, n_in] are interleaved, so that a vector lane is an output row, reads are in order
 * and no sum crosses lanes. The last panel is padded with zero rows.
 *
 * A quantised panel is n_in / 32 blocks; block k holds the 16 rows' scales (and minima) and their
 * 32 quants of columns [32 k, 32 k + 32). A float panel is n_in columns of 16 elements. The exact
 * bytes are documented in blocks.h; nothing outside src/tensor/kernels may depend on them. They are
 * about as many as the file's; the panels of types with codebooks are larger (docs/models.md). */
#ifndef WEFT_KERNELS_PANEL_H
#define WEFT_KERNELS_PANEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/tensor.h>

#define WEFT_PANEL_ROWS 16

bool weft_panel_supported(weft_dtype dtype);
/* Bytes of one panel with rows of n_cols; 0 if unsupported, on overflow, or when n_cols is not a
 * multiple of the type's block. A multiple of 64. */
size_t weft_panel_bytes(weft_dtype dtype, size_t n_cols);
/* Packs `n_rows` (1 … 16) consecutive rows in the file's layout into one panel. */
void weft_panel_pack(weft_dtype dtype, const void *rows, size_t n_rows, size_t n_cols, void *panel);
/* One row of a panel as float32: the same values as dequantising the file's row. */
void weft_panel_row(weft_dtype dtype, const void *panel, size_t row, size_t n_cols, float *out);
/* One row in the file's layout as float32, exactly as the GGUF specification's reference code
 * (f32: product of the float scale and the integer). False where the type has no definition here.
 */
bool weft_dequantize_row(weft_dtype dtype, const void *row, size_t n_cols, float *out);

#endif
