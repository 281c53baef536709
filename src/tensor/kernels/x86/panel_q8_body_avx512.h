/* Quantised panels times int8 activations with dpbusd: unsigned weights times signed activations
 * into int32, four columns a step. Sixteen rows are a register, so a block is 8 registers of
 * weights. Q8_0 enters as q + 128. A single row of x reads the packed bytes, as several do unless
 * the form must_unpack(); many read unpacked ones.
 *
 * Included behind BODY_FORMS(X), the forms that have functions, as WEFT_FORM_FUNCTIONS. */
#ifndef WEFT_KERNELS_PANEL_Q8_BODY_AVX512_H
#define WEFT_KERNELS_PANEL_Q8_BODY_AVX512_H

#include "tensor/kernels/x86/lanes_avx512.h"
#include "tensor/kernels/x86/quants_avx512.h"

/* Blocks of a panel that are unpacked at a time: 13 KiB. */
#define CHUNK 16
/* Rows of x that share a register of weights. */
#define TILE 8
/* From so many rows on, blocks that share a scale are unpacked first. */
#define UNPACK_ROWS 32
/* Rows of x whose sums are at hand: 12 KiB. */
#define GROUP 64

/* Whether the sums of both halves are wanted as a pair of int16. */
WEFT_INLINE bool pairs_count(weft_form form) {
    return form == WEFT_FORM_Q2_K;
}

#include "tensor/kernels/x86/block_sums.h"

typedef struct unpacked {
    _Alignas(64) uint8_t w[8][64]; /* quads of 16 rows: unsigned */
    float d[16], m[16];            /* d_w, and -m_w; NVFP4: of the halves */
    float sc[2][16];               /* the integer sub-scales of both halves of the block */
    uint8_t min[16][2];            /* Q2_K: the bytes with the minima of both halves */
} unpacked;

/* Where the weights of a block come from: packed lines, or an unpacked block. */
typedef struct source {
    q8_block block;
    const unpacked *u;
} source;

/* Halves that keep their own sums. */
WEFT_INLINE bool two_sums(weft_form form) {
    return weft_form_halves(form) || weft_form_floats(form);
}

/* Quad j; `all` has those of forms whose quads are made together. */
WEFT_INLINE __m512i quad_of(weft_form form, bool packed, source s, const __m512i all[8], int j) {
    if (!packed)
        return quants_load(s.u->w[j]);
    return must_unpack(form) ? all[j] : packed_quad(form, s.block, j);
}

/* Adds quad j's products to the sums of `n` rows of x; two chains for a single row, or where the
 * halves have their own scales. */
WEFT_INLINE void quad_dots(weft_form form, int n, __m512i w, int j, const int8_t *x, size_t ldx,
                           __m512i half[2][TILE]) {
    int to = n == 1 || two_sums(form) ? j / 4 : 0;
    WEFT_UNROLL for (int c = 0; c < n; c++) {
        int32_t quad;
        memcpy(&quad, x + (size_t)c * ldx + 4 * j, 4);
        half[to][c] = _mm512_dpbusd_epi32(half[to][c], w, _mm512_set1_epi32(quad));
    }
}

/* Exact dot products of one block; those of the second half by themselves in dot[1] where halves
 * have scales of their own. The quads are spelled out: in a loop around loops not every compiler
 * keeps the sums in registers. */
WEFT_INLINE void block_dots(weft_form form, bool packed, int n, source s, const int8_t *x,
                            size_t ldx, const block_sums *sums, __m512i dot[2][TILE]) {
    WEFT_UNROLL for (int c = 0; c < n; c++) {
        dot[0][c] = dot[1][c] = _mm512_setzero_si512();
        if (!offset_of(form))
            continue;
        dot[0][c] = _mm512_set1_epi32(two_sums(form) ? sums[c].part : sums[c].whole);
        if (two_sums(form))
            dot[1][c] = _mm512_set1_epi32(sums[c].whole);
    }
    __m512i w[8];
    if (packed && must_unpack(form))
        block_quads(form, s.block, w);
#define DOTS(j) quad_dots(form, n, quad_of(form, packed, s, w, j), j, x, ldx, dot)
    DOTS(0);
    DOTS(1);
    DOTS(2);
    DOTS(3);
    DOTS(4);
    DOTS(5);
    DOTS(6);
    DOTS(7);
    if (n == 1 && !two_sums(form))
        dot[0][0] = _mm512_add_epi32(dot[0][0], dot[1][0]);
}

/* The dot product of a block whose halves have integer sub-scales: a float holds all of its parts
 * exactly. It is no -0, as integers have none. */
WEFT_INLINE __m512 halves_dot(weft_form form, bool packed, source s, __m512i low, __m512i high) {
    __m512 of_low = packed ? half_scales(form, s.block.sc, 0) : _mm512_loadu_ps(s.u->sc[0]);
    __m512 of_high = packed ? half_scales(form, s.block.sc, 1) : _mm512_loadu_ps(s.u->sc[1]);
    __m512 dot = _mm512_fmadd_ps(_mm512_cvtepi32_ps(low), of_low, _mm512_setzero_ps());
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(high), of_high, dot);
}

/* One block's step of the chains of sixteen outputs, for row c of a tile. */
WEFT_INLINE __m512 block_add(weft_form form, bool packed, source s, int c, __m512i dot[2][TILE],
                             __m512 d, __m512 m, block_sums x, __m512 acc) {
    __m512 scale = _mm512_set1_ps(x.d);
    __m512 products = weft_form_halves(form) ? halves_dot(form, packed, s, dot[0][c], dot[1][c])
                                             : _mm512_cvtepi32_ps(dot[0][c]);
    acc = _mm512_fmadd_ps(products, _mm512_mul_ps(d, scale), acc);
    if (weft_form_floats(form))
        return _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot[1][c]), _mm512_mul_ps(m, scale), acc);
    if (!weft_form_has_min(form))
        return acc;
    __m512 sum = _mm512_set1_ps(x.sum);
    if (weft_form_halves(form))
        sum = _mm512_cvtepi32_ps(_mm512_madd_epi16(minimum_pairs(packed ? s.block.sc : s.u->min[0]),
                                                   _mm512_set1_epi32(x.part)));
    return _mm512_fmadd_ps(_mm512_mul_ps(m, scale), sum, acc);
}

/* Asks for the lines of a later block. */
WEFT_INLINE void prefetch(weft_form form, const uint8_t *block) {
    const int lines = (int)(weft_form_block_bytes(form) + 63) / 64;
    WEFT_UNROLL for (int i = 0; i < lines; i++)
        _mm_prefetch((const char *)block + 3072 + 64 * i, _MM_HINT_T0);
}

/* One row of x, straight from the packed bytes. */
WEFT_INLINE void vector(weft_form form, const q8_codes *codes, const uint8_t *panels, size_t bytes,
                        size_t n_panels, const weft_q8_rows *x, float *y) {
    for (size_t p = 0; p < n_panels; p++, panels += bytes) {
        __m512 acc = _mm512_setzero_ps(), d, m;
        for (size_t k = 0; k < x->n_cols / 32; k++) {
            const int8_t *q = x->q + 32 * k;
            source s = {.block = packed_block(form, codes, panels, k)};
            block_sums sums = block_sums_of(form, q, x->d[k], x->sums[k]);
            __m512i dot[2][TILE];
            block_dots(form, true, 1, s, q, 0, &sums, dot);
            prefetch(form, s.block.q);
            block_scales(form, s.block, &d, &m);
            acc = block_add(form, true, s, 0, dot, d, m, sums, acc);
        }
        _mm512_storeu_ps(y + 16 * p, acc);
    }
}

WEFT_INLINE void unpack(weft_form form, const q8_codes *codes, const uint8_t *panel, size_t k,
                        unpacked *u) {
    q8_block s = packed_block(form, codes, panel, k);
    __m512 d, m;
    __m512i w[8];
    block_quads(form, s, w);
    WEFT_UNROLL for (int j = 0; j < 8; j++) _mm512_storeu_si512(u->w[j], w[j]);
    block_scales(form, s, &d, &m);
    _mm512_storeu_ps(u->d, d);
    _mm512_storeu_ps(u->m, m);
    if (weft_form_halves(form)) {
        _mm512_storeu_ps(u->sc[0], half_scales(form, s.sc, 0));
        _mm512_storeu_ps(u->sc[1], half_scales(form, s.sc, 1));
    }
    if (form == WEFT_FORM_Q2_K)
        _mm256_storeu_si256((__m256i *)(void *)u->min, byte_pairs(s.sc));
    if (must_unpack(form))
        prefetch(form, s.q);
}

/* Blocks [begin, end) of one panel, at most CHUNK: packed, or unpacked in u; and of rows of x. */
typedef struct blocks {
    const q8_codes *codes;
    const uint8_t *panel;
    const unpacked *u;
    size_t begin, end;
    const chunk_sums *sums;
} blocks;

/* `n` rows of x from row t. */
WEFT_INLINE void tile(weft_form form, bool packed, int n, const blocks *b, const weft_q8_rows *x,
                      size_t t, float *y, size_t ldy) {
    const int8_t *q = x->q + t * x->n_cols + 32 * b->begin;
    __m512 acc[TILE], d, m;
    WEFT_UNROLL for (int c = 0; c < n; c++) acc[c] =
        b->begin ? _mm512_loadu_ps(y + (size_t)c * ldy) : _mm512_setzero_ps();
    for (size_t i = 0; i < b->end - b->begin; i++, q += 32) {
        source s = {.u = b->u + i};
        if (packed)
            s.block = packed_block(form, b->codes, b->panel, b->begin + i);
        block_sums sums[TILE];
        WEFT_UNROLL for (int c = 0; c < n; c++) sums[c] = sums_at(form, b->sums, t + (size_t)c, i);
        __m512i dot[2][TILE];
        block_dots(form, packed, n, s, q, x->n_cols, sums, dot);
        if (packed) {
            block_scales(form, s.block, &d, &m);
        } else {
            d = _mm512_loadu_ps(s.u->d);
            m = _mm512_loadu_ps(s.u->m);
        }
        WEFT_UNROLL for (int c = 0; c < n; c++) acc[c] =
            block_add(form, packed, s, c, dot, d, m, sums[c], acc[c]);
    }
    WEFT_UNROLL for (int c = 0; c < n; c++) _mm512_storeu_ps(y + (size_t)c * ldy, acc[c]);
}

/* Rows of x from row t on. */
WEFT_INLINE void tiles(weft_form form, bool packed, const blocks *b, const weft_q8_rows *x,
                       size_t t, float *y, size_t ldy) {
    for (; t + TILE <= x->n; t += TILE)
        tile(form, packed, TILE, b, x, t, y + t * ldy, ldy);
    if (t + 4 <= x->n) {
        tile(form, packed, 4, b, x, t, y + t * ldy, ldy);
        t += 4;
    }
    if (x->n - t == 3)
        tile(form, packed, 3, b, x, t, y + t * ldy, ldy);
    else if (x->n - t == 2)
        tile(form, packed, 2, b, x, t, y + t * ldy, ldy);
    else if (x->n - t == 1)
        tile(form, packed, 1, b, x, t, y + t * ldy, ldy);
}

/* Up to GROUP rows. */
WEFT_INLINE void matrix(weft_form form, const q8_codes *codes, const uint8_t *panels, size_t bytes,
                        size_t n_panels, const weft_q8_rows *x, float *y, size_t ldy) {
    size_t n_blocks = x->n_cols / 32;
    bool unpacks = must_unpack(form) || (weft_forms[form].blocks > 1 && x->n >= UNPACK_ROWS);
    unpacked u[CHUNK];
    chunk_sums sums;
    for (size_t begin = 0; begin < n_blocks || begin == 0; begin += CHUNK) {
        size_t end = n_blocks - begin < CHUNK ? n_blocks : begin + CHUNK;
        prepare(form, x, begin, end, &sums);
        for (size_t p = 0; p < n_panels; p++) {
            blocks b = {codes, panels + p * bytes, u, begin, end, &sums};
            float *to = y + 16 * p;
            size_t t = 0;
            for (size_t k = begin; k < end && unpacks; k++)
                unpack(form, codes, b.panel, k, &u[k - begin]);
            if (must_unpack(form)) {
                tiles(form, false, &b, x, t, to, ldy);
                continue;
            }
            for (; unpacks && t + TILE <= x->n; t += TILE)
                tile(form, false, TILE, &b, x, t, to + t * ldy, ldy);
            tiles(form, true, &b, x, t, to, ldy);
        }
    }
}

typedef void product(const q8_codes *codes, const void *panels, size_t bytes, size_t n_panels,
                     const weft_q8_rows *x, float *y, size_t ldy);

/* A function each, so that every form has its own tight loops. */
#define OF_FORM(name, form)                                                                        \
    static void product_##name(const q8_codes *codes, const void *panels, size_t bytes,            \
                               size_t n_panels, const weft_q8_rows *x, float *y, size_t ldy) {     \
        if (x->n == 1) {                                                                           \
            vector(form, codes, panels, bytes, n_panels, x, y);                                    \
            return;                                                                                \
        }                                                                                          \
        for (size_t t = 0; t < x->n; t += GROUP) {                                                 \
            weft_q8_rows group = rows_of_group(x, t, GROUP);                                       \
            matrix(form, codes, panels, bytes, n_panels, &group, y + t * ldy, ldy);                \
        }                                                                                          \
    }
BODY_FORMS(OF_FORM)

#define ENTRY(name, form) [form] = product_##name,
static product *const products[WEFT_FORM_COUNT] = {BODY_FORMS(ENTRY)};

static void panel_q8_body(weft_dtype dtype, const void *panels, size_t n_panels,
                          const weft_q8_rows *x, float *y, size_t ldy) {
    const weft_packing *p = weft_packing_of(dtype);
    q8_codes codes = codes_of(p, offset_of(p->form));
    products[p->form](&codes, panels, weft_panel_bytes(dtype, x->n_cols), n_panels, x, y, ldy);
}

#endif
