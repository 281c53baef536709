/* weft_dequantize_row: one row in the file's layout as float32, with the values that the GGUF
 * specification's reference decoder gives, bit for bit. Types with panels come through
 * file_block.c; the further block types are decoded here. */
#include "tensor/kernels/blocks.h"
#include "base/floats.h"

static float f16_at(const uint8_t *p) {
    return weft_f16_to_f32((uint16_t)(p[0] | p[1] << 8));
}

/* 16 sub-scales of 4 bits and as many minima; quants of 2 bits, four columns 32 apart in a byte. */
static void block_q2_k(const uint8_t *p, float *out) {
    const uint8_t *scales = p, *qs = p + 16;
    float d = f16_at(p + 80), dmin = f16_at(p + 82);
    for (int k = 0; k < 256; k++) {
        int s = scales[k / 16], q = (qs[k / 128 * 32 + k % 32] >> (k % 128 / 32 * 2)) & 3;
        out[k] = d * (float)(s & 15) * (float)q - dmin * (float)(s >> 4);
    }
}

/* 16 signed sub-scales of 6 bits; quants of 2 bits, and a third, inverted, in a mask. */
static void block_q3_k(const uint8_t *p, float *out) {
    const uint8_t *mask = p, *qs = p + 32, *s = p + 96;
    float d = f16_at(p + 108);
    for (int k = 0; k < 256; k++) {
        int j = k / 16, low = j < 8 ? s[j] & 15 : s[j - 8] >> 4;
        int scale = (low | ((s[8 + j % 4] >> (j / 4 * 2)) & 3) << 4) - 32;
        int q = (qs[k / 128 * 32 + k % 32] >> (k % 128 / 32 * 2)) & 3;
        if (!((mask[k % 32] >> (k / 32)) & 1))
            q -= 4;
        out[k] = d * (float)scale * (float)q;
    }
}

/* The 16 levels of the non-linear 4-bit types, and of 4-bit floats (e2m1, doubled). */
static const int8_t levels_nl[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                     1,    13,   25,  38,  53,  69,  89,  113};
static const int8_t levels_e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

static void levels_block(const int8_t levels[16], float d, const uint8_t *qs, float *out) {
    for (int i = 0; i < 16; i++) {
        out[i] = d * (float)levels[qs[i] & 15];
        out[i + 16] = d * (float)levels[qs[i] >> 4];
    }
}

static void block_iq4_nl(const uint8_t *p, float *out) {
    levels_block(levels_nl, f16_at(p), p + 2, out);
}

static void block_iq4_xs(const uint8_t *p, float *out) {
    float d = f16_at(p);
    int high = p[2] | p[3] << 8;
    for (int j = 0; j < 8; j++) {
        int s = ((p[4 + j / 2] >> (j % 2 * 4)) & 15) | ((high >> (2 * j)) & 3) << 4;
        levels_block(levels_nl, d * (float)(s - 32), p + 8 + 16 * j, out + 32 * j);
    }
}

/* The scale is a power of two, 2^(e - 127), halved because the levels are doubled. */
static void block_mxfp4(const uint8_t *p, float *out) {
    uint32_t bits = p[0] < 2 ? 0x00200000u << p[0] : (uint32_t)(p[0] - 1) << 23;
    levels_block(levels_e2m1, weft_float_of(bits), p + 1, out);
}

static void rows_of_blocks(void (*block)(const uint8_t *, float *), const uint8_t *p, size_t bytes,
                           size_t columns, size_t n_cols, float *out) {
    for (size_t k = 0; k + columns <= n_cols; k += columns, p += bytes)
        block(p, out + k);
}

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
    case WEFT_Q2_K:
        rows_of_blocks(block_q2_k, row, 84, 256, n_cols, out);
        return true;
    case WEFT_Q3_K:
        rows_of_blocks(block_q3_k, row, 110, 256, n_cols, out);
        return true;
    case WEFT_IQ4_NL:
        rows_of_blocks(block_iq4_nl, row, 18, 32, n_cols, out);
        return true;
    case WEFT_IQ4_XS:
        rows_of_blocks(block_iq4_xs, row, 136, 256, n_cols, out);
        return true;
    case WEFT_MXFP4:
        rows_of_blocks(block_mxfp4, row, 17, 32, n_cols, out);
        return true;
    default:
        break;
    }
    if (!weft_panel_supported(dtype))
        return false;
    weft_file_block b;
    for (size_t k = 0; k < n_cols / 32; k++) {
        weft_file_block_read(dtype, row, k, &b);
        weft_file_block_values(dtype, &b, out + 32 * k);
    }
    return true;
}
