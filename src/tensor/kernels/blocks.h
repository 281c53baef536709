/* The bytes of a panel, type by type, and the reader of a block of a file's row. Private to the
 * kernels. A panel interleaves 16 rows: a 64-byte line holds four consecutive columns (a quad) of
 * each row, so that a 32-bit lane is a row. Quad j of a 32-block holds its columns 4 j … 4 j + 3.
 *
 * 4-bit quants: line j (j < 4) has quad j in the low nibbles and quad j + 4 in the high ones.
 * 5th bits:     bit j of byte 4 r + b is that of row r, column 4 j + b.
 * 5th and 6th:  line h (h < 2) has those of quads 4 h … 4 h + 3, two bits each, lowest first.
 * Scales are f16 as in the file. The types of 256 columns keep their integer sub-scales, a byte
 * each, and the two f16 scales once; that makes Q4_K 2.8% and Q5_K 2.3% larger than the file, all
 * others are equal in size. */
#ifndef WEFT_KERNELS_BLOCKS_H
#define WEFT_KERNELS_BLOCKS_H

#include <assert.h>
#include "tensor/kernels/panel.h"

typedef struct weft_panel_q4_0 {
    uint16_t d[16];
    uint8_t q[4][64];
} weft_panel_q4_0;

typedef struct weft_panel_q4_1 {
    uint16_t d[16], m[16];
    uint8_t q[4][64];
} weft_panel_q4_1;

typedef struct weft_panel_q5_0 {
    uint16_t d[16];
    uint8_t q[4][64], h[64];
} weft_panel_q5_0;

typedef struct weft_panel_q5_1 {
    uint16_t d[16], m[16];
    uint8_t q[4][64], h[64];
} weft_panel_q5_1;

typedef struct weft_panel_q8_0 {
    uint16_t d[16];
    int8_t q[8][64];
} weft_panel_q8_0;

typedef struct weft_panel_q4_k {
    uint16_t d[16], dmin[16];
    struct weft_panel_q4_k_sub {
        uint8_t sc[16], m[16];
        uint8_t q[4][64];
    } sub[8];
} weft_panel_q4_k;

typedef struct weft_panel_q5_k {
    uint16_t d[16], dmin[16];
    struct weft_panel_q5_k_sub {
        uint8_t sc[16], m[16];
        uint8_t q[4][64], h[64];
    } sub[8];
} weft_panel_q5_k;

typedef struct weft_panel_q6_k {
    uint16_t d[16];
    struct weft_panel_q6_k_sub {
        int8_t sc[16][2]; /* of columns 0 … 15 and 16 … 31 */
        uint8_t q[4][64], h[2][64];
    } sub[8];
} weft_panel_q6_k;

static_assert(sizeof(weft_panel_q4_0) == 16 * 18, "as large as the file's rows");
static_assert(sizeof(weft_panel_q4_1) == 16 * 20, "as large as the file's rows");
static_assert(sizeof(weft_panel_q5_0) == 16 * 22, "as large as the file's rows");
static_assert(sizeof(weft_panel_q5_1) == 16 * 24, "as large as the file's rows");
static_assert(sizeof(weft_panel_q8_0) == 16 * 34, "as large as the file's rows");
static_assert(sizeof(weft_panel_q4_k) == 16 * 144 + 64, "a byte a sub-scale instead of six bits");
static_assert(sizeof(weft_panel_q5_k) == 16 * 176 + 64, "a byte a sub-scale instead of six bits");
static_assert(sizeof(weft_panel_q6_k) == 16 * 210, "as large as the file's rows");

/* Block k (32 columns) of one row in the file's layout. A value is d_w * (q - offset) - m_w with
 * d_w = d (* sc[column / 16]), m_w = dmin * min, or m_w = -m for the types with an f16 minimum. */
typedef struct weft_file_block {
    uint8_t q[32]; /* unsigned quants; Q8_0: the int8 as a byte */
    uint16_t d, m; /* f16; m: the minimum, or dmin of the K types */
    int16_t sc[2]; /* 1 where the type has no sub-scale */
    uint8_t min;   /* Q4_K, Q5_K */
} weft_file_block;

void weft_file_block_read(weft_dtype dtype, const void *row, size_t k, weft_file_block *out);
/* Of a type with panels: its 32 values. */
void weft_file_block_values(weft_dtype dtype, const weft_file_block *b, float out[32]);

/* Block k (32 columns) of row r of a panel, in the same terms. */
void weft_panel_block_read(weft_dtype dtype, const void *panel, size_t r, size_t k,
                           weft_file_block *out);
/* Block k of a quantised panel as 32 columns of 16 floats. */
void weft_panel_block_values(weft_dtype dtype, const void *panel, size_t k,
                             float out[32 * WEFT_PANEL_ROWS]);

/* What is subtracted from an unsigned quant; 0 for the types with a minimum and for Q8_0. */
static inline int weft_quant_offset(weft_dtype dtype) {
    return dtype == WEFT_Q4_0 ? 8 : dtype == WEFT_Q5_0 ? 16 : dtype == WEFT_Q6_K ? 32 : 0;
}
/* d_w (of each half of the block) and m_w. */
void weft_block_scales(weft_dtype dtype, const weft_file_block *b, float d[2], float *m);

#endif
