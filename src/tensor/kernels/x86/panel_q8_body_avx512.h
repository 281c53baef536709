/* Quantised panels times int8 activations with dpbusd: unsigned weights times signed activations
 * into int32, four columns a step. Sixteen rows are a register, so a block is 8 registers of
 * weights. Q8_0 enters as q + 128. Panels go in pairs, so that four bytes of x, once they are
 * spread over a register, serve both: a core loads a register or two a cycle and multiplies two.
 * Few rows of x read the packed bytes, as a single one does always; many read unpacked ones, and
 * several where the form must_unpack().
 *
 * Included behind BODY_FORMS(X), the forms that have functions, as WEFT_FORM_FUNCTIONS. */
#ifndef WEFT_KERNELS_PANEL_Q8_BODY_AVX512_H
#define WEFT_KERNELS_PANEL_Q8_BODY_AVX512_H

#include "tensor/kernels/x86/lanes_avx512.h"
#include "tensor/kernels/x86/quants_avx512.h"

/* Blocks of two panels that are unpacked at a time: 26 KiB. */
#define CHUNK 16
/* Panels that share a register of x. */
#define PAIR 2
/* Rows of x that share a register of weights, at most. */
#define TILE 8
/* Rows that keep a pair at hand while it is read from memory once; more stay at hand themselves. */
#define FEW (2 * TILE)
/* From so many rows on, blocks that share a scale are unpacked first. */
#define UNPACK_ROWS 32
/* Rows of x that go together. */
#define GROUP 64
/* Sums of halves of blocks that are at hand: 8 KiB. */
#define PARTS 2048
/* How far in front of a panel's block its lines are asked for. */
#define AHEAD 2048

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

/* Sums of a tile by half of the block, panel and row. */
typedef __m512i tile_dots[2][PAIR][TILE];

/* Halves that keep their own sums. */
WEFT_INLINE bool two_sums(weft_form form) {
    return weft_form_halves(form) || weft_form_floats(form);
}

/* Rows whose sums a tile of two panels keeps in registers. */
WEFT_INLINE int most_rows(weft_form form) {
    return two_sums(form) ? TILE * 3 / 4 : TILE;
}

/* Quad j of a panel; `all` has those of forms whose quads are made together. */
WEFT_INLINE __m512i quad_of(weft_form form, bool packed, const source *s, const __m512i all[8],
                            int j) {
    if (!packed)
        return quants_load(s->u->w[j]);
    return must_unpack(form) ? all[j] : packed_quad(form, s->block, j);
}

/* Adds quad j's products of two panels and `n` rows of x. */
WEFT_INLINE void quad_dots(weft_form form, bool packed, int n, const source s[PAIR],
                           const __m512i all[PAIR][8], int j, const int8_t *x, size_t ldx,
                           tile_dots dot) {
    const int half = two_sums(form) ? j / 4 : 0;
    __m512i w[PAIR];
    WEFT_UNROLL for (int p = 0; p < PAIR; p++) w[p] = quad_of(form, packed, &s[p], all[p], j);
    WEFT_UNROLL for (int c = 0; c < n; c++) {
        int32_t quad;
        memcpy(&quad, x + (size_t)c * ldx + 4 * j, 4);
        __m512i v = _mm512_set1_epi32(quad);
        WEFT_UNROLL for (int p = 0; p < PAIR; p++) dot[half][p][c] =
            _mm512_dpbusd_epi32(dot[half][p][c], w[p], v);
    }
}

/* Exact dot products of one block; those of the second half by themselves in dot[1] where halves
 * have scales. The quads are spelled out: in a loop around loops not every compiler keeps the sums
 * in registers. */
WEFT_INLINE void block_dots(weft_form form, bool packed, int n, const source s[PAIR],
                            const int8_t *x, size_t ldx, const block_sums *sums, tile_dots dot) {
    WEFT_UNROLL for (int p = 0; p < PAIR; p++) WEFT_UNROLL for (int c = 0; c < n; c++) {
        dot[0][p][c] = dot[1][p][c] = _mm512_setzero_si512();
        if (offset_of(form) && two_sums(form)) {
            dot[0][p][c] = _mm512_set1_epi32(sums[c].part);
            dot[1][p][c] = _mm512_set1_epi32(sums[c].whole);
        } else if (offset_of(form)) {
            dot[0][p][c] = _mm512_set1_epi32(sums[c].whole);
        }
    }
    __m512i all[PAIR][8];
    WEFT_UNROLL for (int p = 0; p < PAIR; p++) {
        if (packed && must_unpack(form))
            block_quads(form, s[p].block, all[p]);
    }
#define DOTS(j) quad_dots(form, packed, n, s, all, j, x, ldx, dot);
    DOTS(0) DOTS(1) DOTS(2) DOTS(3) DOTS(4) DOTS(5) DOTS(6) DOTS(7)
}

/* The scales of a block. */
typedef struct scales {
    __m512 d, m;    /* d_w, and -m_w; NVFP4: of the halves */
    __m512 half[2]; /* the integer sub-scales of the halves */
    __m512i min;    /* Q2_K: the minima of the halves, pairs of int16 */
} scales;

WEFT_INLINE scales scales_of(weft_form form, bool packed, source s) {
    scales v = {.min = _mm512_setzero_si512()};
    if (packed) {
        block_scales(form, s.block, &v.d, &v.m);
    } else {
        v.d = _mm512_loadu_ps(s.u->d);
        v.m = _mm512_loadu_ps(s.u->m);
    }
    WEFT_UNROLL for (int h = 0; h < 2; h++) {
        if (weft_form_halves(form))
            v.half[h] = packed ? half_scales(form, s.block.sc, h) : _mm512_loadu_ps(s.u->sc[h]);
    }
    if (form == WEFT_FORM_Q2_K)
        v.min = minimum_pairs(packed ? s.block.sc : s.u->min[0]);
    return v;
}

/* The dot product of a block whose halves have integer sub-scales: a float holds all of its parts
 * exactly. It is no -0, as integers have none. */
WEFT_INLINE __m512 scaled_dot(const scales *v, __m512 low, __m512 high) {
    return _mm512_fmadd_ps(high, v->half[1], _mm512_fmadd_ps(low, v->half[0], _mm512_setzero_ps()));
}

/* One block's step of the chains of sixteen outputs. */
WEFT_INLINE __m512 block_add(weft_form form, const scales *v, __m512i low_dot, __m512i high_dot,
                             block_sums x, __m512 acc) {
    __m512 scale = _mm512_set1_ps(x.d), dot = _mm512_cvtepi32_ps(low_dot);
    if (weft_form_halves(form))
        dot = scaled_dot(v, dot, _mm512_cvtepi32_ps(high_dot));
    acc = _mm512_fmadd_ps(dot, _mm512_mul_ps(v->d, scale), acc);
    if (weft_form_floats(form))
        return _mm512_fmadd_ps(_mm512_cvtepi32_ps(high_dot), _mm512_mul_ps(v->m, scale), acc);
    if (!weft_form_has_min(form))
        return acc;
    __m512i sum = _mm512_set1_epi32(weft_form_halves(form) ? x.part : x.sum);
    if (weft_form_halves(form))
        sum = _mm512_madd_epi16(v->min, sum);
    return _mm512_fmadd_ps(_mm512_mul_ps(v->m, scale), _mm512_cvtepi32_ps(sum), acc);
}

/* Asks for the lines of a block. */
WEFT_INLINE void prefetch(weft_form form, const uint8_t *block) {
    const int lines = (int)(weft_form_block_bytes(form) + 63) / 64;
    WEFT_UNROLL for (int i = 0; i < lines; i++)
        _mm_prefetch((const char *)block + 64 * i, _MM_HINT_T0);
}

/* Blocks [begin, end) of two panels (of the last alone, it is both), at most CHUNK where they are
 * unpacked; and of rows of x. */
typedef struct blocks {
    const q8_codes *codes;
    const uint8_t *panel[PAIR];
    size_t bytes; /* of a panel */
    const unpacked *u[PAIR];
    float *y[PAIR]; /* rows ldy apart */
    size_t ldy, begin, end;
    const int32_t *parts; /* of each row of x from block `first` on, ld_parts apart */
    size_t ld_parts, first;
    size_t ahead; /* bytes from a block to the one that is asked for in the same panel */
} blocks;

/* Asks for lines ahead of block k: behind a panel's end lies the one that goes with it. */
WEFT_INLINE void prefetch_ahead(weft_form form, const blocks *b, int p, size_t k) {
    size_t at = weft_place_of(form, k).q + b->ahead;
    prefetch(form, b->panel[p] + at + (at >= b->bytes ? b->bytes : 0));
}

WEFT_INLINE void unpack(weft_form form, const blocks *b, int p, size_t k, unpacked *u) {
    q8_block s = packed_block(form, b->codes, b->panel[p], k);
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
    prefetch_ahead(form, b, p, k);
}

/* Of block k of row t of x. */
WEFT_INLINE block_sums sums_of(weft_form form, const blocks *b, const weft_q8_rows *x, size_t t,
                               size_t k) {
    return sums_at(form, x, t, k, part_counts(form) ? b->parts[t * b->ld_parts + k - b->first] : 0);
}

/* `n` rows of x from row t. The first tile of a pair asks for what is read next. */
WEFT_INLINE void tile(weft_form form, bool packed, int n, const blocks *b, const weft_q8_rows *x,
                      size_t t) {
    const int8_t *q = x->q + t * x->n_cols + 32 * b->begin;
    __m512 acc[PAIR][TILE];
    WEFT_UNROLL for (int p = 0; p < PAIR; p++) WEFT_UNROLL for (int c = 0; c < n; c++) acc[p][c] =
        b->begin ? _mm512_loadu_ps(b->y[p] + (t + (size_t)c) * b->ldy) : _mm512_setzero_ps();
    for (size_t k = b->begin; k < b->end; k++, q += 32) {
        source s[PAIR];
        WEFT_UNROLL for (int p = 0; p < PAIR; p++) {
            s[p].u = b->u[p] + (k - b->begin);
            if (packed)
                s[p].block = packed_block(form, b->codes, b->panel[p], k);
            if (packed && t == 0)
                prefetch_ahead(form, b, p, k);
        }
        block_sums sums[TILE];
        WEFT_UNROLL for (size_t c = 0; c < (size_t)n; c++) sums[c] = sums_of(form, b, x, t + c, k);
        tile_dots dot;
        block_dots(form, packed, n, s, q, x->n_cols, sums, dot);
        WEFT_UNROLL for (int p = 0; p < PAIR; p++) {
            scales v = scales_of(form, packed, s[p]);
            WEFT_UNROLL for (int c = 0; c < n; c++) acc[p][c] =
                block_add(form, &v, dot[0][p][c], dot[1][p][c], sums[c], acc[p][c]);
        }
    }
    WEFT_UNROLL for (int p = 0; p < PAIR; p++) WEFT_UNROLL for (int c = 0; c < n; c++)
        _mm512_storeu_ps(b->y[p] + (t + (size_t)c) * b->ldy, acc[p][c]);
}

/* Whether tiles of `rows` occur. */
WEFT_INLINE bool has_tile(weft_form form, bool packed, int rows) {
    if (rows > most_rows(form))
        return false;
    return must_unpack(form) ? !packed || rows == 1 : packed || 2 * rows >= most_rows(form);
}

/* All rows of x, in tiles of about the same size. */
WEFT_INLINE void tiles(weft_form form, bool packed, const blocks *b, const weft_q8_rows *x) {
    const size_t most = (size_t)most_rows(form);
    for (size_t t = 0, n; t < x->n; t += n) {
        size_t left = x->n - t;
        n = left > 2 * most ? most : left > most ? (left + 1) / 2 : left;
#define TILE_OF(rows)                                                                              \
    case rows:                                                                                     \
        if (has_tile(form, packed, rows))                                                          \
            tile(form, packed, rows, b, x, t);                                                     \
        break;
        switch (n) {
            TILE_OF(1)
            TILE_OF(2)
            TILE_OF(3)
            TILE_OF(4)
            TILE_OF(5)
            TILE_OF(6)
            TILE_OF(7)
            TILE_OF(8)
        }
    }
}

/* Blocks [begin, end) of two panels. */
WEFT_INLINE void pair(weft_form form, bool unpacks, size_t step, blocks *b, const weft_q8_rows *x,
                      size_t begin, size_t end, unpacked u[PAIR][CHUNK]) {
    for (size_t k = begin; k < end || k == 0; k += step) {
        b->begin = k;
        b->end = end - k < step ? end : k + step;
        for (int p = 0; p < PAIR && unpacks; p++)
            for (size_t i = b->begin; i < b->end; i++)
                unpack(form, b, p, i, &u[p][i - b->begin]);
        tiles(form, !unpacks, b, x);
    }
}

/* Whether `rows` of x read unpacked blocks. */
WEFT_INLINE bool has_unpacked(weft_form form, size_t rows) {
    return must_unpack(form) ? rows > 1 : weft_forms[form].blocks > 1 && rows >= UNPACK_ROWS;
}

/* Up to GROUP rows. Few of them take each pair of panels to its end, in as long steps as one tile
 * allows; of many, a chunk stays at hand for all panels. */
WEFT_INLINE void matrix(weft_form form, const q8_codes *codes, const uint8_t *panels, size_t bytes,
                        size_t n_panels, const weft_q8_rows *x, float *y, size_t ldy) {
    const size_t n_blocks = x->n_cols / 32;
    const bool few = x->n <= FEW;
    const bool unpacks = has_unpacked(form, x->n);
    const size_t all = n_blocks > CHUNK ? n_blocks : CHUNK;
    const size_t wide = !few ? CHUNK : part_counts(form) ? PARTS / x->n : all;
    const size_t step = unpacks || x->n > (size_t)most_rows(form) ? CHUNK : wide;
    unpacked u[PAIR][CHUNK];
    int32_t parts[PARTS];
    for (size_t begin = 0; begin < n_blocks || begin == 0; begin += wide) {
        size_t end = n_blocks - begin < wide ? n_blocks : begin + wide;
        if (part_counts(form))
            prepare_parts(form, x, begin, end, wide, parts);
        for (size_t p = 0; p < n_panels; p += PAIR) {
            const size_t other = p + 1 < n_panels;
            const uint8_t *panel = panels + p * bytes;
            blocks b = {.codes = codes,
                        .panel = {panel, panel + other * bytes},
                        .bytes = bytes,
                        .u = {u[0], u[1]},
                        .y = {y + 16 * p, y + 16 * (p + other)},
                        .ldy = ldy,
                        .parts = parts,
                        .ld_parts = wide,
                        .first = begin,
                        .ahead = few ? AHEAD : bytes};
            if (unpacks)
                pair(form, true, step, &b, x, begin, end, u);
            else
                pair(form, false, step, &b, x, begin, end, u);
        }
    }
}

typedef void product(const q8_codes *codes, const void *panels, size_t bytes, size_t n_panels,
                     const weft_q8_rows *x, float *y, size_t ldy);

/* A function each, so that every form has its own tight loops. */
#define OF_FORM(name, form)                                                                        \
    static void product_##name(const q8_codes *codes, const void *panels, size_t bytes,            \
                               size_t n_panels, const weft_q8_rows *x, float *y, size_t ldy) {     \
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
