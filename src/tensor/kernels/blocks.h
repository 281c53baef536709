/* The bytes of a quantised panel, form by form, and blocks of 32 columns as plain integers. Private
 * to the kernels. A panel interleaves 16 rows: a 64-byte line holds four consecutive columns (a
 * quad) of each row, so that a 32-bit lane is a row. Quad j of a block holds its columns 4 j … 4 j
 * + 3.
 *
 * Bits of a quant   lines of a block
 * 8                 line j: quad j
 * 4, 5, 6           line j (j < 4): quad j in the low nibbles, quad j + 4 in the high ones
 * 2, 3              line h (h < 2): quads 4 h … 4 h + 3, two bits each, lowest first
 * then 3, 5         a line of the highest bit: bit j of byte 4 r + b is that of row r, column 4 j +
 * b then 6            two lines of the highest two bits, like those of 2 bits
 *
 * In front of 1 or 8 blocks lie the 16 rows' scales and minima, as in the file; in front of a
 * block's lines its integer sub-scales and minima, a byte each. Several types share a form: their
 * quants are codes of levels. Resident sizes are the file's, but for those in docs/models.md.
 *
 * Types with codebooks (books.h) keep their indices. Behind a block's sub-scales, as the file
 * codes them, lie 0, 1 or 2 bytes a row with the high bits of its indices; a line of the low bytes,
 * that of row r's index i (of four) at 4 r + i, or two lines for eight; and a line of signs, like
 * that of 3 and 5 bits. Where the file has seven signs of eight columns, an even number of which
 * are negative, the bits of the eighth columns have something else: bit i of byte 4 r + 3, i odd,
 * is bit i / 2 of the row's scale (IQ2_XXS, IQ3_XXS) or the highest bit of index i / 2 (IQ2_XS).
 *
 * TQ1_0: behind the scales of 8 blocks lie five lines with quads 5, 6 and 7 of each, of every
 * column a number q5 + 3 q6 + 9 q7, whose low four bits are nibble k % 2 of line k / 2 and whose
 * highest is bit k of the fifth line; then each block's line of quads 0 to 4, a byte for five
 * columns as in the file: the fraction 0.q0 q1 q2 q3 q4 in base 3, times 256, rounded up. */
#ifndef WEFT_KERNELS_BLOCKS_H
#define WEFT_KERNELS_BLOCKS_H

#include <assert.h>
#include "tensor/kernels/panel.h"

typedef enum weft_form {
    WEFT_FORM_Q4_0,
    WEFT_FORM_Q4_1,
    WEFT_FORM_Q5_0,
    WEFT_FORM_Q5_1,
    WEFT_FORM_Q8_0,
    WEFT_FORM_Q2_K,
    WEFT_FORM_Q3_K,
    WEFT_FORM_Q4_K,
    WEFT_FORM_Q5_K,
    WEFT_FORM_Q6_K,
    WEFT_FORM_TQ1_0,
    WEFT_FORM_TQ2_0,
    WEFT_FORM_IQ4_XS, /* from here on codes of levels */
    WEFT_FORM_IQ4_NL,
    WEFT_FORM_MXFP4,
    WEFT_FORM_NVFP4,
    WEFT_FORM_IQ1_S, /* from here on entries of codebooks */
    WEFT_FORM_IQ1_M,
    WEFT_FORM_IQ2_XXS,
    WEFT_FORM_IQ2_XS,
    WEFT_FORM_IQ2_S,
    WEFT_FORM_IQ3_XXS,
    WEFT_FORM_IQ3_S,
    WEFT_FORM_COUNT
} weft_form;

/* A function of each form, for tables of them. */
#define WEFT_FORM_FUNCTIONS(X)                                                                     \
    X(q4_0, WEFT_FORM_Q4_0)                                                                        \
    X(q4_1, WEFT_FORM_Q4_1)                                                                        \
    X(q5_0, WEFT_FORM_Q5_0)                                                                        \
    X(q5_1, WEFT_FORM_Q5_1)                                                                        \
    X(q8_0, WEFT_FORM_Q8_0)                                                                        \
    X(q2_k, WEFT_FORM_Q2_K)                                                                        \
    X(q3_k, WEFT_FORM_Q3_K)                                                                        \
    X(q4_k, WEFT_FORM_Q4_K)                                                                        \
    X(q5_k, WEFT_FORM_Q5_K)                                                                        \
    X(q6_k, WEFT_FORM_Q6_K)                                                                        \
    X(tq1_0, WEFT_FORM_TQ1_0)                                                                      \
    X(tq2_0, WEFT_FORM_TQ2_0)                                                                      \
    X(iq4_xs, WEFT_FORM_IQ4_XS)                                                                    \
    X(iq4_nl, WEFT_FORM_IQ4_NL)                                                                    \
    X(mxfp4, WEFT_FORM_MXFP4)                                                                      \
    X(nvfp4, WEFT_FORM_NVFP4)                                                                      \
    X(iq1_s, WEFT_FORM_IQ1_S)                                                                      \
    X(iq1_m, WEFT_FORM_IQ1_M)                                                                      \
    X(iq2_xxs, WEFT_FORM_IQ2_XXS)                                                                  \
    X(iq2_xs, WEFT_FORM_IQ2_XS)                                                                    \
    X(iq2_s, WEFT_FORM_IQ2_S)                                                                      \
    X(iq3_xxs, WEFT_FORM_IQ3_XXS)                                                                  \
    X(iq3_s, WEFT_FORM_IQ3_S)

typedef enum weft_form_scales {
    WEFT_SCALES_BLOCK,  /* d_w = d */
    WEFT_SCALES_SUB,    /* d_w = d * sc; m_w = dmin * min */
    WEFT_SCALES_HALVES, /* d_w = d; integer sub-scales of 16 columns enter the dot product */
    WEFT_SCALES_FLOATS /* the sub-scales of 16 columns are floats: halves are blocks of their own */
} weft_form_scales;

typedef struct weft_form_info {
    uint8_t bits;    /* of a quant; 0: the quants are not in lines of their own */
    uint8_t blocks;  /* that share the scales in front */
    uint8_t d, m;    /* bytes of a row's scale and minimum in front; d 1: an E8M0 power of two */
    uint8_t sc;      /* sub-scales of a row in a block: FLOATS all of the first halves first */
    uint8_t min;     /* minima of a row in a block; Q2_K has them in the sub-scales' high bits */
    uint8_t offset;  /* makes quants and levels unsigned: they are stored or looked up with it */
    uint8_t most;    /* the greatest unsigned quant; 128: signed bytes instead */
    uint8_t scales;  /* weft_form_scales */
    uint8_t entries; /* of a codebook in a row's block */
    uint8_t high;    /* bytes with the high bits of a row's indices */
    uint8_t signs;   /* of eight columns: 7, 8; 0: none, or in `high` (IQ1's shifts) */
} weft_form_info;

static const weft_form_info weft_forms[WEFT_FORM_COUNT] = {
    [WEFT_FORM_Q4_0] = {4, 1, 2, 0, 0, 0, 8, 15, WEFT_SCALES_BLOCK},
    [WEFT_FORM_Q4_1] = {4, 1, 2, 2, 0, 0, 0, 15, WEFT_SCALES_BLOCK},
    [WEFT_FORM_Q5_0] = {5, 1, 2, 0, 0, 0, 16, 31, WEFT_SCALES_BLOCK},
    [WEFT_FORM_Q5_1] = {5, 1, 2, 2, 0, 0, 0, 31, WEFT_SCALES_BLOCK},
    [WEFT_FORM_Q8_0] = {8, 1, 2, 0, 0, 0, 0, 128, WEFT_SCALES_BLOCK},
    [WEFT_FORM_Q2_K] = {2, 8, 2, 2, 2, 0, 0, 3, WEFT_SCALES_HALVES},
    [WEFT_FORM_Q3_K] = {3, 8, 2, 0, 2, 0, 4, 7, WEFT_SCALES_HALVES},
    [WEFT_FORM_Q4_K] = {4, 8, 2, 2, 1, 1, 0, 15, WEFT_SCALES_SUB},
    [WEFT_FORM_Q5_K] = {5, 8, 2, 2, 1, 1, 0, 31, WEFT_SCALES_SUB},
    [WEFT_FORM_Q6_K] = {6, 8, 2, 0, 2, 0, 32, 63, WEFT_SCALES_HALVES},
    [WEFT_FORM_TQ1_0] = {0, 8, 2, 0, 0, 0, 1, 2, WEFT_SCALES_BLOCK},
    [WEFT_FORM_TQ2_0] = {2, 8, 2, 0, 0, 0, 1, 3, WEFT_SCALES_BLOCK},
    [WEFT_FORM_IQ4_XS] = {4, 8, 2, 0, 1, 0, 0, 128, WEFT_SCALES_SUB},
    [WEFT_FORM_IQ4_NL] = {4, 1, 2, 0, 0, 0, 0, 128, WEFT_SCALES_BLOCK},
    [WEFT_FORM_MXFP4] = {4, 1, 1, 0, 0, 0, 12, 24, WEFT_SCALES_BLOCK},
    [WEFT_FORM_NVFP4] = {4, 1, 0, 0, 2, 0, 12, 24, WEFT_SCALES_FLOATS},
    [WEFT_FORM_IQ1_S] = {0, 8, 2, 0, 0, 0, 9, 18, WEFT_SCALES_SUB, 4, 2, 0},
    [WEFT_FORM_IQ1_M] = {0, 8, 2, 0, 1, 0, 9, 18, WEFT_SCALES_HALVES, 4, 2, 0},
    [WEFT_FORM_IQ2_XXS] = {0, 8, 2, 0, 0, 0, 43, 86, WEFT_SCALES_SUB, 4, 0, 7},
    [WEFT_FORM_IQ2_XS] = {0, 8, 2, 0, 1, 0, 43, 86, WEFT_SCALES_HALVES, 4, 0, 7},
    [WEFT_FORM_IQ2_S] = {0, 8, 2, 0, 1, 0, 43, 86, WEFT_SCALES_HALVES, 4, 1, 8},
    [WEFT_FORM_IQ3_XXS] = {0, 8, 2, 0, 0, 0, 62, 124, WEFT_SCALES_SUB, 8, 0, 7},
    [WEFT_FORM_IQ3_S] = {0, 8, 2, 0, 1, 0, 15, 30, WEFT_SCALES_SUB, 8, 1, 8},
};

/* How a type's rows become panels. */
typedef struct weft_packing {
    weft_form form;
    const int8_t *levels; /* [16] of the codes; NULL: a quant stands for itself less the offset */
    float unit;           /* a power of two: d is the file's times this */
} weft_packing;

/* NULL: the type has no quantised panels. */
const weft_packing *weft_packing_of(weft_dtype dtype);

/* ---- Places in a panel ---- */

static inline bool weft_form_signed(weft_form form) {
    return weft_forms[form].most == 128;
}
static inline bool weft_form_has_min(weft_form form) {
    return weft_forms[form].m > 0;
}
static inline bool weft_form_has_codes(weft_form form) {
    return form >= WEFT_FORM_IQ4_XS;
}
static inline bool weft_form_has_book(weft_form form) {
    return form >= WEFT_FORM_IQ1_S;
}
static inline bool weft_form_halves(weft_form form) {
    return weft_forms[form].scales == WEFT_SCALES_HALVES;
}
static inline bool weft_form_floats(weft_form form) {
    return weft_forms[form].scales == WEFT_SCALES_FLOATS;
}

static inline size_t weft_form_low_lines(weft_form form) {
    unsigned bits = weft_forms[form].bits;
    return bits == 8 ? 8 : bits >= 4 ? 4 : 2;
}
/* Lines of 8 blocks behind the scales in front. */
static inline size_t weft_form_shared_lines(weft_form form) {
    return form == WEFT_FORM_TQ1_0 ? 5 : 0;
}
/* Bytes of a block behind the scales in front. */
static inline size_t weft_form_block_bytes(weft_form form) {
    const weft_form_info *f = &weft_forms[form];
    if (form == WEFT_FORM_TQ1_0)
        return 64;
    if (f->bits == 0)
        return 16 * ((size_t)f->sc + f->high + f->entries) + (f->signs ? 64 : 0);
    size_t high = f->bits == 6 ? 2 : f->bits == 5 || f->bits == 3 ? 1 : 0;
    return 16u * (f->sc + f->min) + 64 * (weft_form_low_lines(form) + high);
}
/* Bytes of the scales in front and the blocks that share them. */
static inline size_t weft_form_bytes(weft_form form) {
    const weft_form_info *f = &weft_forms[form];
    size_t shared = 64 * weft_form_shared_lines(form);
    return 16u * (f->d + f->m) + shared + f->blocks * weft_form_block_bytes(form);
}

/* Where the parts of block k begin, in bytes from the panel's start. Of a block with entries: q the
 * low bytes of indices, h their high bits, s the signs. TQ1_0: h the shared lines. */
typedef struct weft_place {
    size_t d, m, sc, min, q, h, s;
} weft_place;

static inline weft_place weft_place_of(weft_form form, size_t k) {
    const weft_form_info *f = &weft_forms[form];
    weft_place p;
    p.d = k / f->blocks * weft_form_bytes(form);
    p.m = p.d + 16u * f->d;
    p.s = p.m + 16u * f->m;
    p.sc = p.s + 64 * weft_form_shared_lines(form) + k % f->blocks * weft_form_block_bytes(form);
    p.min = p.sc + 16u * f->sc;
    p.q = p.min + 16 * ((size_t)f->min + f->high);
    p.h = f->bits ? p.q + 64 * weft_form_low_lines(form) : f->high ? p.min : p.s;
    p.s = p.q + 16u * f->entries;
    return p;
}

/* ---- Blocks ---- */

/* Block k (32 columns) of one row. A value is d_w * level - m_w, where d_w = d * unit * sc and m_w
 * = dmin * min of the column's half, or m_w = -m for the types with an f16 minimum. */
typedef struct weft_block {
    uint8_t q[32];  /* unsigned quants or codes; Q8_0: the int8 as a byte */
    uint16_t d, m;  /* f16, or MXFP4's E8M0; m: the minimum, or dmin of the K types */
    int16_t sc[2];  /* of each half; 1 where the type has none; NVFP4: codes of its floats */
    uint8_t min[2]; /* Q2_K, Q4_K, Q5_K */
} weft_block;

/* Bit i of eight as byte i. */
static inline uint64_t weft_spread_bits(unsigned bits) {
    uint64_t each = (bits & 255) * 0x0101010101010101u & 0x8040201008040201u;
    return (each + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u;
}

/* Block k of a row in the file's layout, and of row r of a panel. */
void weft_file_block_read(weft_dtype dtype, const void *row, size_t k, weft_block *out);
void weft_panel_block_read(weft_dtype dtype, const void *panel, size_t r, size_t k,
                           weft_block *out);

/* The levels of the 32 columns, in -128 … 127. */
void weft_block_levels(weft_dtype dtype, const weft_block *b, int8_t out[32]);
/* d * unit, and NVFP4's scale of half h. */
float weft_block_scale(weft_dtype dtype, const weft_block *b, int h);
/* The 32 values. */
void weft_block_values(weft_dtype dtype, const weft_block *b, float out[32]);
/* Block k of a quantised panel as 32 columns of 16 floats. */
void weft_panel_block_values(weft_dtype dtype, const void *panel, size_t k,
                             float out[32 * WEFT_PANEL_ROWS]);

#endif
