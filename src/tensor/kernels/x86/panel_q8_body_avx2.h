/* Quantised panels times int8 activations in registers of 256 bits: unsigned weights times signed
 * activations. Eight rows are a register, so a block is 16 registers of weights. Up to eight rows
 * of x read the packed bytes; more share them unpacked.
 *
 * Included behind sum_bytes(sum, w, x), which adds products of bytes, and SUMS_ARE_WIDE: to int32,
 * else in pairs to int16, which are widened before a sum could pass 32767. */
#ifndef WEFT_KERNELS_PANEL_Q8_BODY_AVX2_H
#define WEFT_KERNELS_PANEL_Q8_BODY_AVX2_H

#include <immintrin.h>
#include "tensor/kernels/ref/panel_q8_block.h"

/* Blocks of a panel that are unpacked at a time: 14 KiB. */
#define CHUNK 16
/* Rows of x that share a register of weights. */
#define TILE 4
/* Rows of x whose sums are at hand: 16 KiB. */
#define GROUP 64

/* gcc adds integers as a tree, for which it computes all products first and keeps them in memory;
 * so it is not told that this is a sum. */
#ifdef __clang__
#define IN_ORDER(sum) ((void)0)
#else
#define IN_ORDER(sum) __asm__ volatile("" : "+x"(sum))
#endif

typedef struct unpacked {
    _Alignas(32) uint8_t w[8][64]; /* quads of 16 rows, unsigned; in_nibbles: the low ones */
    uint8_t high[8][64];           /* in_nibbles: the high ones */
    float d[16], m[16];            /* d_w, and -m_w; NVFP4: of the halves */
    int16_t sc[2][16][2];          /* the integer sub-scale of each half of the block, twice */
    int16_t min[16][2];            /* Q2_K: the minima of both halves */
} unpacked;

/* Where the weights of a block come from: packed lines, or an unpacked block. */
typedef struct source {
    q8_block block;
    const unpacked *u;
} source;

/* Signed bytes become unsigned by 128. */
WEFT_INLINE int offset_of(weft_form form) {
    return weft_form_signed(form) ? 128 : weft_forms[form].offset;
}

#include "tensor/kernels/x86/block_sums.h"

/* Whether products of bytes would pass 32767 at once: the weights' low and high nibbles have sums
 * of their own, in `low` and `high` of dots. */
WEFT_INLINE bool in_nibbles(weft_form form) {
    return weft_form_signed(form) && !SUMS_ARE_WIDE;
}

/* Quads of a sum. */
WEFT_INLINE int group_of(weft_form form) {
    return quads_a_sum(form, SUMS_ARE_WIDE ? 0 : 2, in_nibbles(form) ? 15 : weft_forms[form].most);
}

WEFT_INLINE __m256i load(const void *p) {
    return _mm256_loadu_si256((const __m256i *)p);
}
WEFT_INLINE __m128i load16(const void *p) {
    return _mm_loadu_si128((const __m128i *)p);
}

/* Shifts right, or left by -n. */
WEFT_INLINE __m256i shift16(__m256i v, int n) {
    return n > 0 ? _mm256_srli_epi16(v, n) : n < 0 ? _mm256_slli_epi16(v, -n) : v;
}

/* The bits of `mask` of bytes shifted right by n. */
WEFT_INLINE __m256i shifted_bits(const uint8_t *p, int n, char mask) {
    return _mm256_and_si256(shift16(load(p), n), _mm256_set1_epi8(mask));
}

/* Quad j of rows 8 half … 8 half + 7, from packed lines. */
WEFT_INLINE __m256i packed_quad(weft_form form, q8_block s, int j, int half) {
    const int bits = weft_forms[form].bits;
    __m256i v;
    if (bits == 8)
        return _mm256_xor_si256(load(s.q + 64 * j + 32 * half), _mm256_set1_epi8(-128));
    if (bits >= 4)
        v = shifted_bits(s.q + 64 * (j % 4) + 32 * half, j < 4 ? 0 : 4, 15);
    else
        v = shifted_bits(s.q + 64 * (j / 4) + 32 * half, 2 * (j % 4), 3);
    if (bits == 5)
        v = _mm256_or_si256(v, shifted_bits(s.h + 32 * half, j - 4, 16));
    else if (bits == 3)
        v = _mm256_or_si256(v, shifted_bits(s.h + 32 * half, j - 2, 4));
    else if (bits == 6)
        v = _mm256_or_si256(v, shifted_bits(s.h + 64 * (j / 4) + 32 * half, 2 * (j % 4) - 4, 48));
    if (weft_form_has_codes(form))
        v = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load16(s.table)), v);
    return v;
}

/* The integer sub-scales of rows 8 half … of both halves of the block, as pairs of int16. */
WEFT_INLINE __m256i scale_pairs(weft_form form, q8_block s, int half) {
    __m128i bytes = load16(s.sc + 16 * half);
    if (form == WEFT_FORM_Q2_K)
        bytes = _mm_and_si128(bytes, _mm_set1_epi8(15));
    return _mm256_cvtepi8_epi16(bytes);
}

/* The minima of Q2_K in the same way. */
WEFT_INLINE __m256i min_pairs(bool packed, source s, int half) {
    if (!packed)
        return load(s.u->min[8 * half]);
    __m128i bytes = _mm_srli_epi16(load16(s.block.sc + 16 * half), 4);
    return _mm256_cvtepi8_epi16(_mm_and_si128(bytes, _mm_set1_epi8(15)));
}

/* The sub-scale of the block's half that quad j belongs to, twice a lane, as int16. */
WEFT_INLINE __m256i sub_scale(weft_form form, bool packed, source s, int j, int half) {
    if (!packed)
        return load(s.u->sc[j / 4][8 * half]);
    __m256i both = scale_pairs(form, s.block, half);
    __m256i one = j < 4 ? _mm256_slli_epi32(both, 16) : _mm256_srli_epi32(both, 16);
    return _mm256_or_si256(one, j < 4 ? _mm256_srli_epi32(one, 16) : _mm256_slli_epi32(one, 16));
}

/* Exact dot products of a block before the offset; `high`: of its second half, where that has a
 * float scale of its own. */
typedef struct dots {
    __m256i low[TILE][2], high[TILE][2];
} dots;

/* A sum of quads, the last of them j, as int32 times the sub-scale of that half of the block. */
WEFT_INLINE __m256i widen(weft_form form, bool packed, source s, int j, int half, __m256i sum) {
    if (!weft_form_halves(form))
        return SUMS_ARE_WIDE ? sum : _mm256_madd_epi16(sum, _mm256_set1_epi16(1));
    __m256i by = sub_scale(form, packed, s, j, half);
    if (SUMS_ARE_WIDE)
        return _mm256_mullo_epi32(sum, _mm256_srai_epi32(by, 16));
    return _mm256_madd_epi16(sum, by);
}

/* Adds quad j's products of `n` rows of x and the panel to sums; the last quad of a sum adds it to
 * the dot product. */
WEFT_INLINE void quad_dots(weft_form form, bool packed, int n, source s, int j, const int8_t *x,
                           size_t ldx, __m256i sum[TILE][2], dots *dot) {
    const int group = group_of(form);
    __m256i w[2];
    WEFT_UNROLL for (int h = 0; h < 2; h++) w[h] =
        packed ? packed_quad(form, s.block, j, h) : load(s.u->w[j] + 32 * h);
    WEFT_UNROLL for (int c = 0; c < n; c++) {
        int32_t quad;
        memcpy(&quad, x + (size_t)c * ldx + 4 * j, 4);
        __m256i v = _mm256_set1_epi32(quad);
        WEFT_UNROLL for (int h = 0; h < 2; h++) {
            __m256i before = j % group ? sum[c][h] : _mm256_setzero_si256();
            sum[c][h] = sum_bytes(before, w[h], v);
            IN_ORDER(sum[c][h]);
        }
    }
    if ((j + 1) % group)
        return;
    const bool own = weft_form_floats(form) && j >= 4;
    const bool fresh = j < group || (own && j < 4 + group);
    WEFT_UNROLL for (int h = 0; h < 2; h++) {
        WEFT_UNROLL for (int c = 0; c < n; c++) {
            __m256i wide = widen(form, packed, s, j, h, sum[c][h]);
            __m256i *to = own ? &dot->high[c][h] : &dot->low[c][h];
            *to = fresh ? wide : _mm256_add_epi32(*to, wide);
            IN_ORDER(*to);
        }
    }
}

/* The nibbles of quad j, a byte each. */
WEFT_INLINE void nibbles(weft_form form, bool packed, source s, int j, int half, __m256i *low,
                         __m256i *high) {
    if (packed) {
        __m256i w = packed_quad(form, s.block, j, half), mask = _mm256_set1_epi8(15);
        *low = _mm256_and_si256(w, mask);
        *high = _mm256_and_si256(shift16(w, 4), mask);
    } else {
        *low = load(s.u->w[j] + 32 * half);
        *high = load(s.u->high[j] + 32 * half);
    }
}

/* The same in nibbles, for one half of the panel's rows. */
WEFT_INLINE void nibble_dots(weft_form form, bool packed, int n, source s, int j, int h,
                             const int8_t *x, size_t ldx, dots *dot) {
    __m256i low, high;
    nibbles(form, packed, s, j, h, &low, &high);
    WEFT_UNROLL for (int c = 0; c < n; c++) {
        int32_t quad;
        memcpy(&quad, x + (size_t)c * ldx + 4 * j, 4);
        __m256i v = _mm256_set1_epi32(quad), zero = _mm256_setzero_si256();
        IN_ORDER(v); /* to be read again by the other half instead of being kept in memory */
        dot->low[c][h] = sum_bytes(j ? dot->low[c][h] : zero, low, v);
        IN_ORDER(dot->low[c][h]);
        dot->high[c][h] = sum_bytes(j ? dot->high[c][h] : zero, high, v);
        IN_ORDER(dot->high[c][h]);
    }
    WEFT_UNROLL for (int c = 0; c < n && j == 7; c++) dot->low[c][h] =
        _mm256_add_epi32(_mm256_madd_epi16(dot->low[c][h], _mm256_set1_epi16(1)),
                         _mm256_madd_epi16(dot->high[c][h], _mm256_set1_epi16(16)));
}

/* The quads are spelled out: in a loop around loops not every compiler keeps the sums in
 * registers. */
#define EIGHT_QUADS(quad) quad(0) quad(1) quad(2) quad(3) quad(4) quad(5) quad(6) quad(7)

WEFT_INLINE void block_dots(weft_form form, bool packed, int n, source s, const int8_t *x,
                            size_t ldx, dots *dot) {
    __m256i sum[TILE][2];
#define WHOLE(j) quad_dots(form, packed, n, s, j, x, ldx, sum, dot);
#define LEFT(j) nibble_dots(form, packed, n, s, j, 0, x, ldx, dot);
#define RIGHT(j) nibble_dots(form, packed, n, s, j, 1, x, ldx, dot);
    if (in_nibbles(form)) {
        EIGHT_QUADS(LEFT)
        EIGHT_QUADS(RIGHT)
    } else {
        EIGHT_QUADS(WHOLE)
    }
}

/* What the offset of the unsigned quants adds to the dot product, where halves have scales. */
WEFT_INLINE __m256i halves_offset(weft_form form, bool packed, source s, int half, __m256i sums) {
    __m256i pair =
        packed ? scale_pairs(form, s.block, half)
               : _mm256_blend_epi16(load(s.u->sc[0][8 * half]), load(s.u->sc[1][8 * half]), 0xaa);
    return _mm256_mullo_epi32(_mm256_madd_epi16(pair, sums), _mm256_set1_epi32(offset_of(form)));
}

WEFT_INLINE __m256 half_floats(const uint8_t *p) {
    return _mm256_cvtph_ps(load16(p));
}

WEFT_INLINE __m256i wide_bytes(const uint8_t *p) {
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p));
}

WEFT_INLINE __m256 byte_floats(const uint8_t *p) {
    return _mm256_cvtepi32_ps(wide_bytes(p));
}

/* E8M0, halved: 2^(e - 128). */
WEFT_INLINE __m256 power_floats(const uint8_t *p) {
    __m256i e = _mm256_and_si256(wide_bytes(p), _mm256_set1_epi32(255));
    __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(e, _mm256_set1_epi32(1)), 23);
    __m256i small = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), e);
    __m256i is_small = _mm256_cmpgt_epi32(_mm256_set1_epi32(2), e);
    return _mm256_castsi256_ps(_mm256_blendv_epi8(normal, small, is_small));
}

/* UE4M3, halved: the fields of an f16 that is 128 times too small. */
WEFT_INLINE __m256 ue4m3_floats(const uint8_t *p) {
    __m128i wide = _mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)p));
    return _mm256_mul_ps(_mm256_cvtph_ps(_mm_slli_epi16(wide, 7)), _mm256_set1_ps(128));
}

/* d_w and -m_w of rows 8 half … 8 half + 7; NVFP4: the scales of both halves of the block. */
WEFT_INLINE void block_scales(weft_form form, q8_block s, int half, __m256 *d, __m256 *m) {
    const weft_form_info *f = &weft_forms[form];
    int r = 8 * half;
    *m = _mm256_setzero_ps();
    if (weft_form_floats(form)) {
        *d = ue4m3_floats(s.sc + r);
        *m = ue4m3_floats(s.sc + 16 + r);
        return;
    }
    *d = f->d == 1 ? power_floats(s.d + r) : half_floats(s.d + 2 * r);
    if (has_unit(form))
        *d = _mm256_mul_ps(*d, _mm256_set1_ps(s.unit));
    if (f->scales == WEFT_SCALES_SUB)
        *d = _mm256_mul_ps(*d, byte_floats(s.sc + r));
    if (!f->m)
        return;
    *m = half_floats(s.m + 2 * r);
    if (f->scales == WEFT_SCALES_SUB)
        *m = _mm256_mul_ps(*m, byte_floats(s.min + r));
    if (f->blocks > 1) /* dmin counts down, an f16 minimum up */
        *m = _mm256_xor_ps(*m, _mm256_set1_ps(-0.0f));
}

/* One block's step of the chains of eight outputs, for row c of a tile. */
WEFT_INLINE __m256 block_add(weft_form form, bool packed, source s, int c, int half,
                             const dots *dot, __m256 d, __m256 m, block_sums x, __m256 acc) {
    __m256 scale = _mm256_set1_ps(x.d);
    __m256i low = dot->low[c][half], whole = _mm256_set1_epi32(x.whole);
    if (weft_form_floats(form)) {
        __m256i first = _mm256_set1_epi32(x.part);
        low = _mm256_add_epi32(low, first);
        __m256i high = _mm256_add_epi32(dot->high[c][half], _mm256_sub_epi32(whole, first));
        acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(low), _mm256_mul_ps(d, scale), acc);
        return _mm256_fmadd_ps(_mm256_cvtepi32_ps(high), _mm256_mul_ps(m, scale), acc);
    }
    __m256i halves = _mm256_set1_epi32(x.part);
    if (weft_form_halves(form) && offset_of(form))
        low = _mm256_sub_epi32(low, halves_offset(form, packed, s, half, halves));
    else if (offset_of(form))
        low = _mm256_add_epi32(low, whole);
    acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(low), _mm256_mul_ps(d, scale), acc);
    if (!weft_form_has_min(form))
        return acc;
    if (weft_form_halves(form))
        whole = _mm256_madd_epi16(min_pairs(packed, s, half), halves);
    return _mm256_fmadd_ps(_mm256_mul_ps(m, scale), _mm256_cvtepi32_ps(whole), acc);
}

/* One row of x, straight from the packed bytes. */
WEFT_INLINE void vector(weft_form form, const q8_codes *codes, const uint8_t *panels, size_t bytes,
                        size_t n_panels, const weft_q8_rows *x, float *y) {
    const int lines = (int)(weft_form_block_bytes(form) + 63) / 64;
    for (size_t p = 0; p < n_panels; p++, panels += bytes) {
        __m256 acc[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
        for (size_t k = 0; k < x->n_cols / 32; k++) {
            const int8_t *q = x->q + 32 * k;
            source s = {.block = packed_block(form, codes, panels, k)};
            int32_t sum = x->sums[k];
            block_sums sums = {x->d[k], whole_of(form, sum), part_of(form, q, sum)};
            dots dot;
            block_dots(form, true, 1, s, q, 0, &dot);
            WEFT_UNROLL for (int i = 0; i < lines; i++)
                _mm_prefetch((const char *)s.block.q + 3072 + 64 * i, _MM_HINT_T0);
            WEFT_UNROLL for (int h = 0; h < 2; h++) {
                __m256 d, m;
                block_scales(form, s.block, h, &d, &m);
                acc[h] = block_add(form, true, s, 0, h, &dot, d, m, sums, acc[h]);
            }
        }
        _mm256_storeu_ps(y + 16 * p, acc[0]);
        _mm256_storeu_ps(y + 16 * p + 8, acc[1]);
    }
}

WEFT_INLINE void unpack(weft_form form, const q8_codes *codes, const uint8_t *panel, size_t k,
                        unpacked *u) {
    source s = {.block = packed_block(form, codes, panel, k)};
    WEFT_UNROLL for (int h = 0; h < 2; h++) {
        __m256 d, m;
        WEFT_UNROLL for (int j = 0; j < 8; j++) {
            __m256i w = packed_quad(form, s.block, j, h), high;
            if (in_nibbles(form)) {
                nibbles(form, true, s, j, h, &w, &high);
                _mm256_storeu_si256((__m256i *)(u->high[j] + 32 * h), high);
            }
            _mm256_storeu_si256((__m256i *)(u->w[j] + 32 * h), w);
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
    const chunk_sums *sums = b->sums;
    __m256 acc[TILE][2], d[2], m[2];
    WEFT_UNROLL for (int c = 0; c < n; c++) WEFT_UNROLL for (int h = 0; h < 2; h++) acc[c][h] =
        b->begin ? _mm256_loadu_ps(y + (size_t)c * ldy + 8 * h) : _mm256_setzero_ps();
    for (size_t i = 0; i < b->end - b->begin; i++, q += 32) {
        source s = {.u = b->u + i};
        if (packed)
            s.block = packed_block(form, b->codes, b->panel, b->begin + i);
        dots dot;
        block_dots(form, packed, n, s, q, x->n_cols, &dot);
        WEFT_UNROLL for (int h = 0; h < 2; h++) {
            if (packed) {
                block_scales(form, s.block, h, &d[h], &m[h]);
            } else {
                d[h] = _mm256_loadu_ps(s.u->d + 8 * h);
                m[h] = _mm256_loadu_ps(s.u->m + 8 * h);
            }
        }
        WEFT_UNROLL for (size_t c = 0; c < (size_t)n; c++) {
            block_sums of = sums_at(form, sums, t + c, i);
            WEFT_UNROLL for (int h = 0; h < 2; h++) acc[c][h] =
                block_add(form, packed, s, (int)c, h, &dot, d[h], m[h], of, acc[c][h]);
        }
    }
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
    size_t n_blocks = x->n_cols / 32;
    unpacked u[CHUNK];
    chunk_sums sums;
    for (size_t begin = 0; begin < n_blocks || begin == 0; begin += CHUNK) {
        size_t end = n_blocks - begin < CHUNK ? n_blocks : begin + CHUNK;
        prepare(form, x, begin, end, &sums);
        for (size_t p = 0; p < n_panels; p++) {
            blocks b = {codes, panels + p * bytes, u, begin, end, &sums};
            if (x->n <= 2 * TILE) {
                tiles(form, true, &b, x, y + 16 * p, ldy);
                continue;
            }
            for (size_t k = begin; k < end; k++)
                unpack(form, codes, b.panel, k, &u[k - begin]);
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
        if (x->n == 1) {                                                                           \
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
