/* Packs rows of a weight into panels and reads rows back. blocks.h has the bytes of each quantised
 * type; a float panel is n_cols lines of 16 elements in the file's type (F32, F16 or BF16). Nothing
 * here is specific to an ISA. */
#include "tensor/kernels/blocks.h"
#include "base/alloc.h"
#include "base/floats.h"

static size_t float_bytes(weft_dtype dtype) {
    return dtype == WEFT_F32 ? 4 : dtype == WEFT_F16 || dtype == WEFT_BF16 ? 2 : 0;
}

static size_t block_columns(weft_dtype dtype) {
    return dtype == WEFT_Q4_K || dtype == WEFT_Q5_K || dtype == WEFT_Q6_K ? 256 : 32;
}

static size_t block_bytes(weft_dtype dtype) {
    switch (dtype) {
    case WEFT_Q4_0:
        return sizeof(weft_panel_q4_0);
    case WEFT_Q4_1:
        return sizeof(weft_panel_q4_1);
    case WEFT_Q5_0:
        return sizeof(weft_panel_q5_0);
    case WEFT_Q5_1:
        return sizeof(weft_panel_q5_1);
    case WEFT_Q8_0:
        return sizeof(weft_panel_q8_0);
    case WEFT_Q4_K:
        return sizeof(weft_panel_q4_k);
    case WEFT_Q5_K:
        return sizeof(weft_panel_q5_k);
    case WEFT_Q6_K:
        return sizeof(weft_panel_q6_k);
    default:
        return 0;
    }
}

bool weft_panel_supported(weft_dtype dtype) {
    return float_bytes(dtype) || block_bytes(dtype);
}

size_t weft_panel_bytes(weft_dtype dtype, size_t n_cols) {
    size_t item = float_bytes(dtype) * WEFT_PANEL_ROWS, n = n_cols, bytes;
    if (!item) {
        item = block_bytes(dtype);
        if (!item || n_cols % block_columns(dtype))
            return 0;
        n = n_cols / block_columns(dtype);
    }
    if (!weft_mul_size(n, item, &bytes) || !weft_add_size(bytes, 63, &bytes))
        return 0;
    return bytes & ~(size_t)63;
}

/* ---- Packing ---- */

static void put_nibbles(const uint8_t q[32], size_t r, uint8_t lines[4][64]) {
    for (size_t j = 0; j < 4; j++)
        for (size_t b = 0; b < 4; b++) {
            size_t k = 4 * j + b;
            lines[j][4 * r + b] = (uint8_t)((q[k] & 15) | (q[k + 16] & 15) << 4);
        }
}

static void put_fifth_bits(const uint8_t q[32], size_t r, uint8_t line[64]) {
    for (size_t b = 0; b < 4; b++) {
        unsigned bits = 0;
        for (size_t j = 0; j < 8; j++)
            bits |= ((q[4 * j + b] >> 4) & 1u) << j;
        line[4 * r + b] = (uint8_t)bits;
    }
}

static void put_high_pairs(const uint8_t q[32], size_t r, uint8_t lines[2][64]) {
    for (size_t h = 0; h < 2; h++)
        for (size_t b = 0; b < 4; b++) {
            unsigned bits = 0;
            for (size_t j = 0; j < 4; j++)
                bits |= (q[16 * h + 4 * j + b] >> 4 & 3u) << (2 * j);
            lines[h][4 * r + b] = (uint8_t)bits;
        }
}

static void put_block(weft_dtype dtype, const weft_file_block *f, size_t r, size_t k, void *panel) {
    switch (dtype) {
    case WEFT_Q4_0: {
        weft_panel_q4_0 *p = (weft_panel_q4_0 *)panel + k;
        p->d[r] = f->d;
        put_nibbles(f->q, r, p->q);
        break;
    }
    case WEFT_Q4_1: {
        weft_panel_q4_1 *p = (weft_panel_q4_1 *)panel + k;
        p->d[r] = f->d;
        p->m[r] = f->m;
        put_nibbles(f->q, r, p->q);
        break;
    }
    case WEFT_Q5_0: {
        weft_panel_q5_0 *p = (weft_panel_q5_0 *)panel + k;
        p->d[r] = f->d;
        put_nibbles(f->q, r, p->q);
        put_fifth_bits(f->q, r, p->h);
        break;
    }
    case WEFT_Q5_1: {
        weft_panel_q5_1 *p = (weft_panel_q5_1 *)panel + k;
        p->d[r] = f->d;
        p->m[r] = f->m;
        put_nibbles(f->q, r, p->q);
        put_fifth_bits(f->q, r, p->h);
        break;
    }
    case WEFT_Q8_0: {
        weft_panel_q8_0 *p = (weft_panel_q8_0 *)panel + k;
        p->d[r] = f->d;
        for (size_t j = 0; j < 8; j++)
            memcpy(p->q[j] + 4 * r, f->q + 4 * j, 4);
        break;
    }
    case WEFT_Q4_K: {
        weft_panel_q4_k *p = (weft_panel_q4_k *)panel + k / 8;
        p->d[r] = f->d;
        p->dmin[r] = f->m;
        p->sub[k % 8].sc[r] = (uint8_t)f->sc[0];
        p->sub[k % 8].m[r] = f->min;
        put_nibbles(f->q, r, p->sub[k % 8].q);
        break;
    }
    case WEFT_Q5_K: {
        weft_panel_q5_k *p = (weft_panel_q5_k *)panel + k / 8;
        p->d[r] = f->d;
        p->dmin[r] = f->m;
        p->sub[k % 8].sc[r] = (uint8_t)f->sc[0];
        p->sub[k % 8].m[r] = f->min;
        put_nibbles(f->q, r, p->sub[k % 8].q);
        put_fifth_bits(f->q, r, p->sub[k % 8].h);
        break;
    }
    case WEFT_Q6_K: {
        weft_panel_q6_k *p = (weft_panel_q6_k *)panel + k / 8;
        p->d[r] = f->d;
        p->sub[k % 8].sc[r][0] = (int8_t)f->sc[0];
        p->sub[k % 8].sc[r][1] = (int8_t)f->sc[1];
        put_nibbles(f->q, r, p->sub[k % 8].q);
        put_high_pairs(f->q, r, p->sub[k % 8].h);
        break;
    }
    default:
        assert(false && "a type without panels");
    }
}

static void pack_floats(size_t item, const uint8_t *rows, size_t n_rows, size_t n_cols,
                        uint8_t *panel) {
    for (size_t r = 0; r < n_rows; r++)
        for (size_t k = 0; k < n_cols; k++)
            memcpy(panel + (k * WEFT_PANEL_ROWS + r) * item, rows + (r * n_cols + k) * item, item);
}

void weft_panel_pack(weft_dtype dtype, const void *rows, size_t n_rows, size_t n_cols,
                     void *panel) {
    size_t item = float_bytes(dtype), bytes = weft_panel_bytes(dtype, n_cols);
    if (n_rows < WEFT_PANEL_ROWS || bytes < 64)
        memset(panel, 0, bytes);
    else /* the padding behind the last block */
        memset((uint8_t *)panel + bytes - 64, 0, 64);
    if (item) {
        pack_floats(item, rows, n_rows, n_cols, panel);
        return;
    }
    /* Block by block over all rows, so that the panel is written in order. */
    size_t row_bytes = n_cols / weft_dtype_block(dtype) * weft_dtype_block_bytes(dtype);
    weft_file_block b;
    for (size_t k = 0; k < n_cols / 32; k++)
        for (size_t r = 0; r < n_rows; r++) {
            weft_file_block_read(dtype, (const uint8_t *)rows + r * row_bytes, k, &b);
            put_block(dtype, &b, r, k, panel);
        }
}

/* ---- Reading back ---- */

static void get_nibbles(const uint8_t lines[4][64], size_t r, uint8_t q[32]) {
    for (size_t k = 0; k < 16; k++) {
        q[k] = lines[k / 4][4 * r + k % 4] & 15;
        q[k + 16] = lines[k / 4][4 * r + k % 4] >> 4;
    }
}

static void get_fifth_bits(const uint8_t line[64], size_t r, uint8_t q[32]) {
    for (size_t k = 0; k < 32; k++)
        q[k] = (uint8_t)(q[k] | ((line[4 * r + k % 4] >> (k / 4)) & 1) << 4);
}

static void get_high_pairs(const uint8_t lines[2][64], size_t r, uint8_t q[32]) {
    for (size_t k = 0; k < 32; k++)
        q[k] = (uint8_t)(q[k] | ((lines[k / 16][4 * r + k % 4] >> (k % 16 / 4 * 2)) & 3) << 4);
}

void weft_panel_block_read(weft_dtype dtype, const void *panel, size_t r, size_t k,
                           weft_file_block *f) {
    f->sc[0] = f->sc[1] = 1;
    f->m = 0;
    f->min = 0;
    switch (dtype) {
    case WEFT_Q4_0: {
        const weft_panel_q4_0 *p = (const weft_panel_q4_0 *)panel + k;
        f->d = p->d[r];
        get_nibbles(p->q, r, f->q);
        break;
    }
    case WEFT_Q4_1: {
        const weft_panel_q4_1 *p = (const weft_panel_q4_1 *)panel + k;
        f->d = p->d[r];
        f->m = p->m[r];
        get_nibbles(p->q, r, f->q);
        break;
    }
    case WEFT_Q5_0: {
        const weft_panel_q5_0 *p = (const weft_panel_q5_0 *)panel + k;
        f->d = p->d[r];
        get_nibbles(p->q, r, f->q);
        get_fifth_bits(p->h, r, f->q);
        break;
    }
    case WEFT_Q5_1: {
        const weft_panel_q5_1 *p = (const weft_panel_q5_1 *)panel + k;
        f->d = p->d[r];
        f->m = p->m[r];
        get_nibbles(p->q, r, f->q);
        get_fifth_bits(p->h, r, f->q);
        break;
    }
    case WEFT_Q8_0: {
        const weft_panel_q8_0 *p = (const weft_panel_q8_0 *)panel + k;
        f->d = p->d[r];
        for (size_t j = 0; j < 8; j++)
            memcpy(f->q + 4 * j, p->q[j] + 4 * r, 4);
        break;
    }
    case WEFT_Q4_K: {
        const weft_panel_q4_k *p = (const weft_panel_q4_k *)panel + k / 8;
        f->d = p->d[r];
        f->m = p->dmin[r];
        f->sc[0] = f->sc[1] = p->sub[k % 8].sc[r];
        f->min = p->sub[k % 8].m[r];
        get_nibbles(p->sub[k % 8].q, r, f->q);
        break;
    }
    case WEFT_Q5_K: {
        const weft_panel_q5_k *p = (const weft_panel_q5_k *)panel + k / 8;
        f->d = p->d[r];
        f->m = p->dmin[r];
        f->sc[0] = f->sc[1] = p->sub[k % 8].sc[r];
        f->min = p->sub[k % 8].m[r];
        get_nibbles(p->sub[k % 8].q, r, f->q);
        get_fifth_bits(p->sub[k % 8].h, r, f->q);
        break;
    }
    case WEFT_Q6_K: {
        const weft_panel_q6_k *p = (const weft_panel_q6_k *)panel + k / 8;
        f->d = p->d[r];
        f->sc[0] = p->sub[k % 8].sc[r][0];
        f->sc[1] = p->sub[k % 8].sc[r][1];
        get_nibbles(p->sub[k % 8].q, r, f->q);
        get_high_pairs(p->sub[k % 8].h, r, f->q);
        break;
    }
    default:
        assert(false && "a type without panels");
    }
}

void weft_panel_block_values(weft_dtype dtype, const void *panel, size_t k,
                             float out[32 * WEFT_PANEL_ROWS]) {
    weft_file_block b;
    float row[32];
    for (size_t r = 0; r < WEFT_PANEL_ROWS; r++) {
        weft_panel_block_read(dtype, panel, r, k, &b);
        weft_file_block_values(dtype, &b, row);
        for (size_t i = 0; i < 32; i++)
            out[i * WEFT_PANEL_ROWS + r] = row[i];
    }
}

void weft_panel_row(weft_dtype dtype, const void *panel, size_t row, size_t n_cols, float *out) {
    if (dtype == WEFT_F32 || dtype == WEFT_F16 || dtype == WEFT_BF16) {
        for (size_t k = 0; k < n_cols; k++) {
            size_t i = k * WEFT_PANEL_ROWS + row;
            out[k] = dtype == WEFT_F32   ? ((const float *)panel)[i]
                     : dtype == WEFT_F16 ? weft_f16_to_f32(((const uint16_t *)panel)[i])
                                         : weft_bf16_to_f32(((const uint16_t *)panel)[i]);
        }
        return;
    }
    weft_file_block b;
    for (size_t k = 0; k < n_cols / 32; k++) {
        weft_panel_block_read(dtype, panel, row, k, &b);
        weft_file_block_values(dtype, &b, out + 32 * k);
    }
}
