/* weft_dequantize_row: one row in the file's layout as float32, with the values that the GGUF
 * specification's reference decoder gives, bit for bit; 8-bit floats by the formats' definitions
 * (Micikevicius et al. 2022, OCP 8-bit floating point 1.0; OCP Microscaling formats 1.0). */
#include "base/floats.h"
#include "tensor/kernels/blocks.h"

#include <string.h>

bool weft_dequantize_row(weft_dtype dtype, const void *row, size_t n_cols, float *out) {
    const uint8_t *bytes = row;
    uint16_t h;
    switch (dtype) {
    case WEFT_F32:
        memcpy(out, row, 4 * n_cols);
        return true;
    case WEFT_F16:
        for (size_t k = 0; k < n_cols; k++) {
            memcpy(&h, bytes + 2 * k, 2);
            out[k] = weft_f16_to_f32(h);
        }
        return true;
    case WEFT_BF16:
        for (size_t k = 0; k < n_cols; k++) {
            memcpy(&h, bytes + 2 * k, 2);
            out[k] = weft_bf16_to_f32(h);
        }
        return true;
    case WEFT_F8_E4M3:
        for (size_t k = 0; k < n_cols; k++)
            out[k] = weft_f8_e4m3_to_f32(bytes[k]);
        return true;
    case WEFT_F8_E5M2: /* the upper byte of an f16 */
        for (size_t k = 0; k < n_cols; k++)
            out[k] = weft_f16_to_f32((uint16_t)(bytes[k] << 8));
        return true;
    case WEFT_F8_E8M0:
        for (size_t k = 0; k < n_cols; k++)
            out[k] = weft_f8_e8m0_to_f32(bytes[k]);
        return true;
    default:
        break;
    }
    if (!weft_packing_of(dtype))
        return false;
    weft_block b;
    for (size_t k = 0; k < n_cols / 32; k++) {
        weft_file_block_read(dtype, row, k, &b);
        weft_block_values(dtype, &b, out + 32 * k);
    }
    return true;
}
