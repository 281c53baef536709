/* Quantised panels times int8 activations in registers of 256 bits: tiles of rows of x and of
 * panels. Up to eight rows of x read the packed bytes; more share them unpacked, and those that
 * must_unpack() always are. Included behind what panel_q8_block_avx2.h asks for. */
#ifndef WEFT_KERNELS_PANEL_Q8_BODY_AVX2_H
#define WEFT_KERNELS_PANEL_Q8_BODY_AVX2_H

#include "tensor/kernels/x86/panel_q8_block_avx2.h"

/* Panels that a single row of x takes at a time: two streams are read faster than one. */
#define PAIR 2
/* How far in front of a panel's block its lines are asked for. */
#define AHEAD 3072

/* Asks for the lines of the block whose quants begin at `q`. */
WEFT_INLINE void prefetch(weft_form form, const uint8_t *q) {
    const int lines = (int)(weft_form_block_bytes(form) + 63) / 64;
    WEFT_UNROLL for (int i = 0; i < lines; i++) _mm_prefetch((const char *)q + 64 * i, _MM_HINT_T0);
}

/* Asks for lines ahead of block k: behind a panel's end lies the one that goes with it. */
WEFT_INLINE void prefetch_ahead(weft_form form, const uint8_t *panel, size_t bytes, size_t k) {
    size_t at = weft_place_of(form, k).q + AHEAD;
    prefetch(form, panel + at + (at >= bytes ? bytes : 0));
}

/* Asks for block k of the next panel, which several rows of x come to after this one's chunk. */
WEFT_INLINE void prefetch_next(weft_form form, const uint8_t *panel, size_t bytes, size_t k) {
    prefetch(form, panel + bytes + weft_place_of(form, k).q);
}

/* Block k of a panel's step of the chains of sixteen outputs. */
WEFT_INLINE void vector_step(weft_form form, const q8_codes *codes, const uint8_t *panel, size_t k,
                             const operand *x, block_sums sums, __m256 acc[2]) {
    source s = {.block = packed_block(form, codes, panel, k)};
    dots dot;
    block_dots(form, true, 1, s, x, &dot);
    WEFT_UNROLL for (int h = 0; h < 2; h++) {
        __m256 d, m;
        block_scales(form, s.block, h, &d, &m);
        acc[h] = block_add(form, true, s, 0, h, &dot, d, m, sums, acc[h]);
    }
}

/* One row of x and two panels, straight from the packed bytes; of an odd number the last goes
 * twice. */
WEFT_INLINE void vector(weft_form form, const q8_codes *codes, const uint8_t *panels, size_t bytes,
                        size_t n_panels, const weft_q8_rows *x, float *y) {
    for (size_t p = 0; p < n_panels; p += PAIR) {
        const size_t other = p + 1 < n_panels;
        const uint8_t *panel[PAIR] = {panels + p * bytes, panels + (p + other) * bytes};
        __m256 acc[PAIR][2];
        WEFT_UNROLL for (int i = 0; i < PAIR; i++) acc[i][0] = acc[i][1] = _mm256_setzero_ps();
        for (size_t k = 0; k < x->n_cols / 32; k++) {
            const int8_t *q = x->q + 32 * k;
            block_sums sums = sums_at(form, x, 0, k, part_of(form, q, x->sums[k]));
            int32_t starts[2];
            if (has_starts(form))
                starts_of(form, q, starts);
            operand of_x = {.q = q, .more = starts};
            WEFT_UNROLL for (int i = 0; i < PAIR; i++) {
                vector_step(form, codes, panel[i], k, &of_x, sums, acc[i]);
                prefetch_ahead(form, panel[i], bytes, k);
            }
        }
        WEFT_UNROLL for (size_t i = 0; i < PAIR; i++) WEFT_UNROLL for (size_t h = 0; h < 2; h++)
            _mm256_storeu_ps(y + 16 * (p + i * other) + 8 * h, acc[i][h]);
    }
}

WEFT_INLINE void unpack(weft_form form, const q8_codes *codes, const uint8_t *panel, size_t k,
                        unpacked *u) {
    source s = {.block = packed_block(form, codes, panel, k)};
    WEFT_UNROLL for (int h = 0; h < 2; h++) {
        __m256 d, m;
        __m256i w[8];
        block_quads(form, s.block, h, w);
        WEFT_UNROLL for (int j = 0; j < 8; j++) {
            __m256i whole = by_pairs(form) ? even_pairs(w[j]) : w[j];
            if (by_pairs(form))
                _mm256_storeu_si256((__m256i *)(u->odd[j] + 32 * h), odd_pairs(w[j]));
            _mm256_storeu_si256((__m256i *)(u->w[j] + 32 * h), whole);
        }
        block_scales(form, s.block, h, &d, &m);
        _mm256_storeu_ps(u->d + 8 * h, d);
        _mm256_storeu_ps(u->m + 8 * h, m);
        if (weft_form_halves(form)) {
            _mm256_storeu_si256((__m256i *)u->sc[0][8 * h], sub_scale(form, true, s, 0, h));
            _mm256_storeu_si256((__m256i *)u->sc[1][8 * h], sub_scale(form, true, s, 4, h));
        }
        if (form == WEFT_FORM_Q2_K)
            _mm256_storeu_si256((__m256i *)u->min[8 * h], min_pairs(true, s, h));
    }
}

/* Blocks of a panel that are unpacked, and of x that are prepared, at a time. */
WEFT_INLINE size_t chunk_of(weft_form form) {
    return by_pairs(form) ? CHUNK / 2 : CHUNK;
}

/* Elements of an operand's `more` in a block and in a row. */
WEFT_INLINE size_t more_a_block(weft_form form) {
    return by_pairs(form) ? 16 : 2;
}
WEFT_INLINE size_t more_a_row(weft_form form) {
    return more_a_block(form) * chunk_of(form);
}

/* What a chunk of the rows of x brings beside its bytes. */
typedef struct prepared {
    int32_t parts[GROUP * CHUNK]; /* a row: chunk_of() */
    _Alignas(32) int32_t more[GROUP * 8 * CHUNK];
} prepared;

WEFT_INLINE void pairs_of(const int8_t *x, int32_t pairs[16]) {
    __m256i v = load(x), even = even_pairs(v), odd = odd_pairs(v);
    __m256i low = _mm256_unpacklo_epi32(even, odd), high = _mm256_unpackhi_epi32(even, odd);
    _mm256_storeu_si256((__m256i *)pairs, _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_storeu_si256((__m256i *)(pairs + 8), _mm256_permute2x128_si256(low, high, 0x31));
}

WEFT_INLINE void prepare_more(weft_form form, const weft_q8_rows *x, size_t begin, size_t end,
                              int32_t *more) {
    for (size_t t = 0; t < x->n; t++, more += more_a_row(form))
        for (size_t k = begin; k < end; k++) {
            const int8_t *q = x->q + t * x->n_cols + 32 * k;
            if (by_pairs(form))
                pairs_of(q, more + more_a_block(form) * (k - begin));
            else
                starts_of(form, q, more + more_a_block(form) * (k - begin));
        }
}

/* Blocks [begin, end) of one panel: packed, or unpacked in u; and of rows of x. */
typedef struct blocks {
    const q8_codes *codes;
    const uint8_t *panel;
    size_t bytes; /* of a panel */
    const unpacked *u;
    size_t begin, end;
    const prepared *x;
} blocks;

/* What block i of the chunk brings in row t of x. */
WEFT_INLINE block_sums sums_of(weft_form form, const blocks *b, const weft_q8_rows *x, size_t t,
                               size_t i) {
    int32_t part = part_counts(form) ? b->x->parts[t * chunk_of(form) + i] : 0;
    return sums_at(form, x, t, b->begin + i, part);
}

/* Row t of x and those behind it at the first block. */
WEFT_INLINE operand operand_at(weft_form form, const blocks *b, const weft_q8_rows *x, size_t t) {
    return (operand){x->q + t * x->n_cols + 32 * b->begin, b->x->more + t * more_a_row(form),
                     x->n_cols, more_a_row(form)};
}

WEFT_INLINE void next_block(weft_form form, operand *x) {
    x->q += 32;
    x->more += more_a_block(form);
}

/* `n` rows of x from row t, straight from the packed bytes. */
WEFT_INLINE void tile_packed(weft_form form, int n, const blocks *b, const weft_q8_rows *x,
                             size_t t, __m256 acc[TILE][2]) {
    operand of_x = operand_at(form, b, x, t);
    for (size_t i = 0; i < b->end - b->begin; i++) {
        source s = {.block = packed_block(form, b->codes, b->panel, b->begin + i)};
        dots dot;
        __m256 d[2], m[2];
        if (t == 0)
            prefetch_next(form, b->panel, b->bytes, b->begin + i);
        block_dots(form, true, n, s, &of_x, &dot);
        WEFT_UNROLL for (int h = 0; h < 2; h++) block_scales(form, s.block, h, &d[h], &m[h]);
        WEFT_UNROLL for (size_t c = 0; c < (size_t)n; c++) {
            block_sums of = sums_of(form, b, x, t + c, i);
            WEFT_UNROLL for (int h = 0; h < 2; h++) acc[c][h] =
                block_add(form, true, s, (int)c, h, &dot, d[h], m[h], of, acc[c][h]);
        }
        next_block(form, &of_x);
    }
}

/* The i-th output's step by a block whose dot products are known. */
WEFT_INLINE void step_output(weft_form form, int n, const blocks *b, const weft_q8_rows *x,
                             size_t t, size_t block, int i, const dots *dot, __m256 acc[TILE][2]) {
    int c = i / 2, h = i % 2;
    if (c >= n)
        return;
    source s = {.u = b->u + block};
    block_sums of = sums_of(form, b, x, t + (size_t)c, block);
    __m256 d = _mm256_loadu_ps(s.u->d + 8 * h), m = _mm256_loadu_ps(s.u->m + 8 * h);
    acc[c][h] = block_add(form, false, s, c, h, dot, d, m, of, acc[c][h]);
}

/* The same from unpacked blocks. Products of bytes keep other units busy than what is done to their
 * sums, so that an output steps by the last block beside each quad of the next. */
WEFT_INLINE void tile_unpacked(weft_form form, int n, const blocks *b, const weft_q8_rows *x,
                               size_t t, __m256 acc[TILE][2]) {
    operand of_x = operand_at(form, b, x, t);
    size_t n_blocks = b->end - b->begin;
    dots dot, last;
    if (n_blocks == 0)
        return;
    block_dots(form, false, n, (source){.u = b->u}, &of_x, &last);
    for (size_t i = 1; i < n_blocks; i++) {
        source s = {.u = b->u + i};
        __m256i sum[TILE][2];
        next_block(form, &of_x);
#define BESIDE(j)                                                                                  \
    any_dots(form, false, n, s, j, &of_x, sum, &dot);                                              \
    step_output(form, n, b, x, t, i - 1, j, &last, acc);
        EIGHT_QUADS(BESIDE)
        last = dot;
    }
#define AFTER(j) step_output(form, n, b, x, t, n_blocks - 1, j, &last, acc);
    EIGHT_QUADS(AFTER)
}

/* `n` rows of x from row t. */
WEFT_INLINE void tile(weft_form form, bool packed, int n, const blocks *b, const weft_q8_rows *x,
                      size_t t, float *y, size_t ldy) {
    __m256 acc[TILE][2];
    WEFT_UNROLL for (int c = 0; c < n; c++) WEFT_UNROLL for (int h = 0; h < 2; h++) acc[c][h] =
        b->begin ? _mm256_loadu_ps(y + (size_t)c * ldy + 8 * h) : _mm256_setzero_ps();
    if (packed)
        tile_packed(form, n, b, x, t, acc);
    else
        tile_unpacked(form, n, b, x, t, acc);
    WEFT_UNROLL for (int c = 0; c < n; c++) WEFT_UNROLL for (int h = 0; h < 2; h++)
        _mm256_storeu_ps(y + (size_t)c * ldy + 8 * h, acc[c][h]);
}

/* All rows of x. */
WEFT_INLINE void tiles(weft_form form, bool packed, const blocks *b, const weft_q8_rows *x,
                       float *y, size_t ldy) {
    size_t t = 0;
    for (; t + TILE <= x->n; t += TILE)
        tile(form, packed, TILE, b, x, t, y + t * ldy, ldy);
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
    const bool packed = x->n <= 2 * TILE && !must_unpack(form);
    size_t n_blocks = x->n_cols / 32, chunk = chunk_of(form);
    unpacked u[CHUNK];
    prepared rows;
    for (size_t begin = 0; begin < n_blocks || begin == 0; begin += chunk) {
        size_t end = n_blocks - begin < chunk ? n_blocks : begin + chunk;
        if (part_counts(form))
            prepare_parts(form, x, begin, end, chunk, rows.parts);
        if (has_starts(form) || (by_pairs(form) && !packed))
            prepare_more(form, x, begin, end, rows.more);
        for (size_t p = 0; p < n_panels; p++) {
            blocks b = {codes, panels + p * bytes, bytes, u, begin, end, &rows};
            if (packed) {
                tiles(form, true, &b, x, y + 16 * p, ldy);
                continue;
            }
            for (size_t k = begin; k < end; k++) {
                prefetch_next(form, b.panel, bytes, k);
                unpack(form, codes, b.panel, k, &u[k - begin]);
            }
            tiles(form, false, &b, x, y + 16 * p, ldy);
        }
    }
}

typedef void product(const q8_codes *codes, const void *panels, size_t bytes, size_t n_panels,
                     const weft_q8_rows *x, float *y, size_t ldy);

/* A function each, so that every form has its own tight loops. */
#define OF_FORM(name, form)                                                                        \
    static void product_##name(const q8_codes *codes, const void *panels, size_t bytes,            \
                               size_t n_panels, const weft_q8_rows *x, float *y, size_t ldy) {     \
        if (x->n == 1 && !must_unpack(form)) {                                                     \
            vector(form, codes, panels, bytes, n_panels, x, y);                                    \
            return;                                                                                \
        }                                                                                          \
        for (size_t t = 0; t < x->n; t += GROUP) {                                                 \
            weft_q8_rows group = rows_of_group(x, t, GROUP);                                       \
            matrix(form, codes, panels, bytes, n_panels, &group, y + t * ldy, ldy);                \
        }                                                                                          \
    }
WEFT_FORM_FUNCTIONS(OF_FORM)

#define ENTRY(name, form) [form] = product_##name,
static product *const products[WEFT_FORM_COUNT] = {WEFT_FORM_FUNCTIONS(ENTRY)};

static void panel_q8_body(weft_dtype dtype, const void *panels, size_t n_panels,
                          const weft_q8_rows *x, float *y, size_t ldy) {
    const weft_packing *p = weft_packing_of(dtype);
    q8_codes codes = codes_of(p, offset_of(p->form));
    products[p->form](&codes, panels, weft_panel_bytes(dtype, x->n_cols), n_panels, x, y, ldy);
}

#endif
