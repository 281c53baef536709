/* Packing 16 whole rows of the types that files mostly have, at the speed of memory: the bytes of
 * several rows are transposed by words, then every step takes the same bits of these rows at once.
 * The vectors are the compiler's own, of 16 bytes, which every CPU that weft runs on has, or of 32.
 * panel.c packs the other types and shapes block by block, to the same bytes. */
#ifndef WEFT_KERNELS_PACK_WORDS_BODY_H
#define WEFT_KERNELS_PACK_WORDS_BODY_H

#include "base/alloc.h"
#include "tensor/kernels/blocks.h"
#include "tensor/kernels/lanes.h"

#ifdef __AVX2__
#define GROUP 8 /* rows that a vector holds a word of; the later half lies in the upper lane */
#define FIRST(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define LAST(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#else
#define GROUP 4
#define FIRST(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define LAST(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#endif

typedef uint32_t words __attribute__((vector_size(4 * GROUP)));
typedef uint32_t words4 __attribute__((vector_size(16)));
typedef uint16_t halves __attribute__((vector_size(16)));
typedef uint8_t bytes16 __attribute__((vector_size(16)));

#define ROWS WEFT_PANEL_ROWS

/* ---- Transposing ---- */

/* 16 bytes of one row, and of the one four behind it if the group has so many. */
WEFT_INLINE words words_load(const uint8_t *p, size_t step) {
#if GROUP == 8
    words4 low, high;
    memcpy(&low, p, 16);
    memcpy(&high, p + 4 * step, 16);
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
#else
    words w;
    (void)step;
    memcpy(&w, p, 16);
    return w;
#endif
}

WEFT_INLINE void words_store(uint8_t *p, words w) {
    memcpy(p, &w, sizeof w);
}

WEFT_INLINE words mask_of(uint32_t word) {
    return word - (words){0};
}

/* Words [n] of a group's rows: to[w] has word w of each. n is a multiple of 4. */
WEFT_INLINE void words_of(const uint8_t *rows, size_t step, size_t n, words *to) {
    WEFT_UNROLL for (size_t w = 0; w < n; w += 4) {
        words a = words_load(rows + 4 * w, step), b = words_load(rows + step + 4 * w, step);
        words c = words_load(rows + 2 * step + 4 * w, step);
        words d = words_load(rows + 3 * step + 4 * w, step);
        words ac0 = FIRST(a, c), ac1 = LAST(a, c), bd0 = FIRST(b, d), bd1 = LAST(b, d);
        to[w] = FIRST(ac0, bd0);
        to[w + 1] = LAST(ac0, bd0);
        to[w + 2] = FIRST(ac1, bd1);
        to[w + 3] = LAST(ac1, bd1);
    }
}

/* One step of transposing: items of the first half of the vectors alternate with those of the
 * second. */
#define MIX(v, w, n, FIRST_OF, LAST_OF)                                                            \
    WEFT_UNROLL for (size_t i = 0; i < (n) / 2; i++) {                                             \
        (w)[2 * i] = FIRST_OF((v)[i], (v)[i + (n) / 2]);                                           \
        (w)[2 * i + 1] = LAST_OF((v)[i], (v)[i + (n) / 2]);                                        \
    }

#define FIRST_HALVES(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define LAST_HALVES(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)

/* Items 0 … 7 of two bytes of eight rows: to[i] has item i of each. */
WEFT_INLINE void halves_of(const uint8_t *rows, size_t step, halves to[8]) {
    halves v[8], w[8];
    WEFT_UNROLL for (size_t r = 0; r < 8; r++) memcpy(&v[r], rows + r * step, 16);
    MIX(v, w, 8, FIRST_HALVES, LAST_HALVES)
    MIX(w, v, 8, FIRST_HALVES, LAST_HALVES)
    MIX(v, to, 8, FIRST_HALVES, LAST_HALVES)
}

/* HALVES columns of eight rows into a panel of them. */
#ifdef __AVX2__
#define HALVES 16
#define FIRST_BOTH(a, b)                                                                           \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 8, 24, 9, 25, 10, 26, 11, 27)
#define LAST_BOTH(a, b)                                                                            \
    __builtin_shufflevector(a, b, 4, 20, 5, 21, 6, 22, 7, 23, 12, 28, 13, 29, 14, 30, 15, 31)

typedef uint16_t halves16 __attribute__((vector_size(32)));

WEFT_INLINE void put_columns(const uint8_t *rows, size_t step, uint8_t *panel) {
    halves16 v[8], w[8];
    WEFT_UNROLL for (size_t r = 0; r < 8; r++) memcpy(&v[r], rows + r * step, 32);
    MIX(v, w, 8, FIRST_BOTH, LAST_BOTH)
    MIX(w, v, 8, FIRST_BOTH, LAST_BOTH)
    MIX(v, w, 8, FIRST_BOTH, LAST_BOTH)
    WEFT_UNROLL for (size_t i = 0; i < 8; i++) {
        halves low = __builtin_shufflevector(w[i], w[i], 0, 1, 2, 3, 4, 5, 6, 7);
        halves high = __builtin_shufflevector(w[i], w[i], 8, 9, 10, 11, 12, 13, 14, 15);
        memcpy(panel + 32 * i, &low, 16);
        memcpy(panel + 32 * (i + 8), &high, 16);
    }
}
#else
#define HALVES 8

WEFT_INLINE void put_columns(const uint8_t *rows, size_t step, uint8_t *panel) {
    halves v[8];
    halves_of(rows, step, v);
    WEFT_UNROLL for (size_t i = 0; i < 8; i++) memcpy(panel + 32 * i, &v[i], 16);
}
#endif

#define FIRST_BYTES(a, b)                                                                          \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define LAST_BYTES(a, b)                                                                           \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)

/* 16 bytes of 16 rows, in place. */
WEFT_INLINE void transpose_bytes(bytes16 v[16]) {
    bytes16 w[16];
    MIX(v, w, 16, FIRST_BYTES, LAST_BYTES)
    MIX(w, v, 16, FIRST_BYTES, LAST_BYTES)
    MIX(v, w, 16, FIRST_BYTES, LAST_BYTES)
    MIX(w, v, 16, FIRST_BYTES, LAST_BYTES)
}

/* ---- Lines ---- */

/* An item of two bytes of each row. */
WEFT_INLINE void put_halves(const uint8_t *rows, size_t step, uint8_t *to) {
    WEFT_UNROLL for (size_t r = 0; r < ROWS; r++) memcpy(to + 2 * r, rows + r * step, 2);
}

/* Words [n] as they are. */
WEFT_INLINE void put_words(const uint8_t *rows, size_t step, size_t n, uint8_t *lines) {
    words w[8];
    WEFT_UNROLL for (size_t r = 0; r < ROWS; r += GROUP) {
        words_of(rows + r * step, step, n, w);
        WEFT_UNROLL for (size_t i = 0; i < n; i++) words_store(lines + 64 * i + 4 * r, w[i]);
    }
}

/* Nibbles of 32 columns, each in a byte of w [8] from bit `from` up. */
WEFT_INLINE void put_nibbles(const words *w, unsigned from, uint8_t *lines) {
    const words low = mask_of(0x0f0f0f0fu);
    WEFT_UNROLL for (size_t j = 0; j < 4; j++) {
        words a = w[j] >> from & low, b = w[j + 4] >> from & low;
        words_store(lines + 64 * j, a | b << 4);
    }
}

/* Likewise two bits each: two lines. */
WEFT_INLINE void put_pairs(const words *w, unsigned from, uint8_t *lines) {
    const words low = mask_of(0x03030303u);
    WEFT_UNROLL for (size_t h = 0; h < 2; h++) {
        words all = w[4 * h] >> from & low;
        WEFT_UNROLL for (unsigned j = 1; j < 4; j++) all |= (w[4 * h + j] >> from & low) << 2 * j;
        words_store(lines + 64 * h, all);
    }
}

/* Likewise one bit each: one line. */
WEFT_INLINE void put_bits(const words *w, unsigned from, uint8_t *line) {
    const words low = mask_of(0x01010101u);
    words all = w[0] >> from & low;
    WEFT_UNROLL for (unsigned j = 1; j < 8; j++) all |= (w[j] >> from & low) << j;
    words_store(line, all);
}

/* Sub-scales of two bytes, a pair for each of eight blocks. */
WEFT_INLINE void put_scale_pairs(weft_form form, const uint8_t *rows, size_t step, uint8_t *panel) {
    halves v[8];
    for (size_t g = 0; g < 2; g++) {
        halves_of(rows + 8 * g * step, step, v);
        for (size_t k = 0; k < 8; k++)
            memcpy(panel + weft_place_of(form, k).sc + 16 * g, &v[k], 16);
    }
}

/* ---- Types of 32 columns: block k of 16 rows ---- */

/* `nibbles`: where they begin in the file's block. */
WEFT_INLINE void put_plain(weft_form form, const uint8_t *rows, size_t step, size_t nibbles,
                           uint8_t *panel) {
    const weft_place at = weft_place_of(form, 0);
    put_halves(rows, step, panel + at.d);
    if (weft_form_has_min(form))
        put_halves(rows + 2, step, panel + at.m);
    put_words(rows + nibbles, step, form == WEFT_FORM_Q8_0 ? 8 : 4, panel + at.q);
}

/* Swaps the bits of `mask` with those `by` above them. */
WEFT_INLINE words swap_bits(words x, uint32_t mask, unsigned by) {
    words t = ((x >> by) ^ x) & mask_of(mask);
    return x ^ t ^ t << by;
}

/* Bit 4 j + b of a word becomes bit j of its byte b: the bits of an index go round by two. */
WEFT_INLINE words fifth_bits(words x) {
    x = swap_bits(x, 0x0a0a0a0au, 3);  /* index bits 0 and 2 */
    x = swap_bits(x, 0x00cc00ccu, 6);  /* 1 and 3 */
    x = swap_bits(x, 0x0000f0f0u, 12); /* 2 and 4 */
    x = swap_bits(x, 0x0000ff00u, 8);  /* 3 and 4 */
    return x;
}

/* `high`: where the fifth bits lie in the file's block. */
WEFT_INLINE void put_fifth(weft_form form, const uint8_t *rows, size_t step, size_t high,
                           uint8_t *panel) {
    const weft_place at = weft_place_of(form, 0);
    for (size_t first = 0; first < ROWS; first += GROUP) {
        words w;
        for (size_t r = 0; r < GROUP; r++) {
            uint32_t bits;
            memcpy(&bits, rows + (first + r) * step + high, 4);
            w[r] = bits;
        }
        words_store(panel + at.h + 4 * first, fifth_bits(w));
    }
}

static void put_q4_0(const uint8_t *rows, size_t step, uint8_t *panel) {
    put_plain(WEFT_FORM_Q4_0, rows, step, 2, panel);
}

static void put_q4_1(const uint8_t *rows, size_t step, uint8_t *panel) {
    put_plain(WEFT_FORM_Q4_1, rows, step, 4, panel);
}

static void put_q5_0(const uint8_t *rows, size_t step, uint8_t *panel) {
    put_plain(WEFT_FORM_Q5_0, rows, step, 6, panel);
    put_fifth(WEFT_FORM_Q5_0, rows, step, 2, panel);
}

static void put_q5_1(const uint8_t *rows, size_t step, uint8_t *panel) {
    put_plain(WEFT_FORM_Q5_1, rows, step, 8, panel);
    put_fifth(WEFT_FORM_Q5_1, rows, step, 4, panel);
}

static void put_q8_0(const uint8_t *rows, size_t step, uint8_t *panel) {
    put_plain(WEFT_FORM_Q8_0, rows, step, 2, panel);
}

static void put_mxfp4(const uint8_t *rows, size_t step, uint8_t *panel) {
    const weft_place at = weft_place_of(WEFT_FORM_MXFP4, 0);
    for (size_t r = 0; r < ROWS; r++)
        panel[at.d + r] = rows[r * step];
    put_words(rows + 1, step, 4, panel + at.q);
}

/* ---- Types of 256 columns: eight blocks of 16 rows ---- */

/* 6-bit scales and minima in 12 bytes a row: of Q4_K and Q5_K. */
WEFT_INLINE void put_scales_minima(weft_form form, const uint8_t *rows, size_t step,
                                   uint8_t *panel) {
    bytes16 v[ROWS];
    for (size_t r = 0; r < ROWS; r++) {
        uint32_t s[3], out[4];
        memcpy(s, rows + r * step, 12);
        out[0] = s[0] & 0x3f3f3f3fu;
        out[1] = (s[2] & 0x0f0f0f0fu) | (s[0] >> 6 & 0x03030303u) << 4;
        out[2] = s[1] & 0x3f3f3f3fu;
        out[3] = (s[2] >> 4 & 0x0f0f0f0fu) | (s[1] >> 6 & 0x03030303u) << 4;
        memcpy(&v[r], out, 16);
    }
    transpose_bytes(v);
    for (size_t k = 0; k < 8; k++) {
        const weft_place at = weft_place_of(form, k);
        memcpy(panel + at.sc, &v[k], 16);
        memcpy(panel + at.min, &v[8 + k], 16);
    }
}

WEFT_INLINE void put_q45_k(weft_form form, const uint8_t *rows, size_t step, uint8_t *panel) {
    bool fifth = form == WEFT_FORM_Q5_K;
    put_halves(rows, step, panel + weft_place_of(form, 0).d);
    put_halves(rows + 2, step, panel + weft_place_of(form, 0).m);
    put_scales_minima(form, rows + 4, step, panel);
    for (size_t r = 0; r < ROWS; r += GROUP) {
        const uint8_t *group = rows + r * step + 16;
        words w[8], high[8];
        if (fifth)
            words_of(group, step, 8, high);
        for (size_t k = 0; k < 8; k += 2) {
            uint8_t *even = panel + weft_place_of(form, k).q + 4 * r;
            uint8_t *odd = panel + weft_place_of(form, k + 1).q + 4 * r;
            words_of(group + (fifth ? 32 : 0) + 16 * k, step, 8, w);
            put_nibbles(w, 0, even);
            put_nibbles(w, 4, odd);
        }
        for (size_t k = 0; k < 8 && fifth; k++)
            put_bits(high, (unsigned)k, panel + weft_place_of(form, k).h + 4 * r);
    }
}

static void put_q4_k(const uint8_t *rows, size_t step, uint8_t *panel) {
    put_q45_k(WEFT_FORM_Q4_K, rows, step, panel);
}

static void put_q5_k(const uint8_t *rows, size_t step, uint8_t *panel) {
    put_q45_k(WEFT_FORM_Q5_K, rows, step, panel);
}

static void put_q6_k(const uint8_t *rows, size_t step, uint8_t *panel) {
    const weft_form form = WEFT_FORM_Q6_K;
    put_halves(rows + 208, step, panel + weft_place_of(form, 0).d);
    put_scale_pairs(form, rows + 192, step, panel);
    for (size_t r = 0; r < ROWS; r += GROUP)
        for (size_t half = 0; half < 2; half++) {
            const uint8_t *group = rows + r * step;
            words low[16], high[8];
            words_of(group + 64 * half, step, 16, low);
            words_of(group + 128 + 32 * half, step, 8, high);
            for (size_t k = 0; k < 4; k++) {
                const weft_place at = weft_place_of(form, 4 * half + k);
                put_nibbles(low + 8 * (k % 2), k < 2 ? 0 : 4, panel + at.q + 4 * r);
                put_pairs(high, 2 * (unsigned)k, panel + at.h + 4 * r);
            }
        }
}

/* The two bits of Q2_K and Q3_K. */
WEFT_INLINE void put_low_pairs(weft_form form, const uint8_t *rows, size_t step, uint8_t *panel) {
    for (size_t r = 0; r < ROWS; r += GROUP)
        for (size_t half = 0; half < 2; half++) {
            words w[8];
            words_of(rows + r * step + 32 * half, step, 8, w);
            for (size_t k = 0; k < 4; k++)
                put_pairs(w, 2 * (unsigned)k, panel + weft_place_of(form, 4 * half + k).q + 4 * r);
        }
}

static void put_q2_k(const uint8_t *rows, size_t step, uint8_t *panel) {
    const weft_form form = WEFT_FORM_Q2_K;
    put_halves(rows + 80, step, panel + weft_place_of(form, 0).d);
    put_halves(rows + 82, step, panel + weft_place_of(form, 0).m);
    put_scale_pairs(form, rows, step, panel);
    put_low_pairs(form, rows + 16, step, panel);
}

static void put_q3_k(const uint8_t *rows, size_t step, uint8_t *panel) {
    const weft_form form = WEFT_FORM_Q3_K;
    uint8_t scales[ROWS][16];
    for (size_t r = 0; r < ROWS; r++)
        for (size_t j = 0; j < 16; j++) { /* low nibbles in 8 bytes, high pairs in 4 */
            const uint8_t *s = rows + r * step + 96;
            int low = j < 8 ? s[j] & 15 : s[j - 8] >> 4, high = (s[8 + j % 4] >> (j / 4 * 2)) & 3;
            scales[r][j] = (uint8_t)((low | high << 4) - 32);
        }
    put_halves(rows + 108, step, panel + weft_place_of(form, 0).d);
    put_scale_pairs(form, scales[0], 16, panel);
    put_low_pairs(form, rows + 32, step, panel);
    for (size_t r = 0; r < ROWS; r += GROUP) {
        words w[8];
        words_of(rows + r * step, step, 8, w);
        for (size_t k = 0; k < 8; k++)
            put_bits(w, (unsigned)k, panel + weft_place_of(form, k).h + 4 * r);
    }
}

/* ---- Rows ---- */

typedef void put_function(const uint8_t *rows, size_t step, uint8_t *panel);

static put_function *const put_functions[WEFT_DTYPE_COUNT] = {
    [WEFT_Q4_0] = put_q4_0, [WEFT_Q4_1] = put_q4_1,   [WEFT_Q5_0] = put_q5_0,
    [WEFT_Q5_1] = put_q5_1, [WEFT_Q8_0] = put_q8_0,   [WEFT_IQ4_NL] = put_q4_0,
    [WEFT_Q2_K] = put_q2_k, [WEFT_Q3_K] = put_q3_k,   [WEFT_Q4_K] = put_q4_k,
    [WEFT_Q5_K] = put_q5_k, [WEFT_MXFP4] = put_mxfp4, [WEFT_Q6_K] = put_q6_k,
};

/* Columns go by lines of the file, so that each is read whole, however the rows fall into the sets
 * of a cache. */
static void pack_halves(const uint8_t *rows, size_t n_cols, uint8_t *panel) {
    for (size_t k = 0; k < n_cols; k += 32)
        for (size_t g = 0; g < 2; g++)
            for (size_t c = k; c < k + 32; c += HALVES)
                put_columns(rows + 2 * (8 * g * n_cols + c), 2 * n_cols, panel + 32 * c + 16 * g);
}

static void pack_floats(const uint8_t *rows, size_t n_cols, uint8_t *panel) {
    for (size_t k = 0; k < n_cols; k += 16)
        for (size_t c = k; c < k + 16; c += 4)
            put_words(rows + 4 * c, 4 * n_cols, 4, panel + 64 * c);
}

/* Asks for rows of the next panel in order while this one's are read 16 at a time, of which no
 * processor sees what comes next when rows are short. Behind the last panel it may ask for what is
 * not there, which is no fault. */
WEFT_INLINE void ask_for(const uint8_t *rows, size_t at, size_t n) {
    uintptr_t p = (uintptr_t)rows + at;
    for (size_t i = 0; i < n; i += WEFT_CACHE_LINE)
        __builtin_prefetch((const void *)(p + i), 0, 2);
}

WEFT_INLINE bool pack_words_body(weft_dtype dtype, const uint8_t *rows, size_t n_cols,
                                 uint8_t *panel) {
    if (n_cols % 32 != 0 || (unsigned)dtype >= WEFT_DTYPE_COUNT)
        return false;
    if (dtype == WEFT_F16 || dtype == WEFT_BF16) {
        pack_halves(rows, n_cols, panel);
        return true;
    }
    if (dtype == WEFT_F32) {
        pack_floats(rows, n_cols, panel);
        return true;
    }
    put_function *put = put_functions[dtype];
    if (!put)
        return false;
    size_t block = weft_dtype_block(dtype), bytes = weft_dtype_block_bytes(dtype);
    size_t step = n_cols / block * bytes;
    size_t panel_step = weft_form_bytes(weft_packing_of(dtype)->form);
    for (size_t k = 0; k < n_cols / block; k++) {
        ask_for(rows, ROWS * (step + k * bytes), ROWS * bytes);
        put(rows + k * bytes, step, panel + k * panel_step);
    }
    return true;
}

#endif
