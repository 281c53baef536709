/* Blocks of quantised panels in registers of 256 bits: exact products with up to TILE rows of int8
 * activations, from packed or unpacked bytes, and one step of the outputs' chains. Eight rows are a
 * register, so a block is 16 registers of weights.
 *
 * Included behind sum_bytes(sum, w, x), which adds products of unsigned and signed bytes, and
 * SUMS_ARE_WIDE: to int32, else in pairs to int16, which are widened before a sum could pass 32767.
 * Then signed bytes are multiplied by magnitude, and unpacked to int16. */
#ifndef WEFT_KERNELS_PANEL_Q8_BLOCK_AVX2_H
#define WEFT_KERNELS_PANEL_Q8_BLOCK_AVX2_H

#include <immintrin.h>
#include "tensor/kernels/ref/panel_q8_block.h"
#include "tensor/kernels/x86/entries_avx2.h"

/* Blocks of a panel that are unpacked at a time: 20 KiB. */
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
    _Alignas(32) uint8_t w[8][64]; /* quads of 16 rows, unsigned; by_pairs: columns 0 and 2 */
    uint8_t odd[8][64];            /* by_pairs: columns 1 and 3 of a quad, as int16 too */
    float d[16], m[16];            /* d_w, and -m_w; NVFP4: of the halves */
    int16_t sc[2][16][2];          /* the integer sub-scale of each half of the block, twice */
    int16_t min[16][2];            /* Q2_K: the minima of both halves */
} unpacked;

/* Where the weights of a block come from: packed lines, or an unpacked block. */
typedef struct source {
    q8_block block;
    const unpacked *u;
} source;

/* Whether a second product of bytes would pass 32767. */
WEFT_INLINE bool by_pairs(weft_form form) {
    return weft_form_signed(form) && !SUMS_ARE_WIDE;
}

/* Other signed bytes become unsigned by 128. */
WEFT_INLINE int offset_of(weft_form form) {
    if (weft_form_signed(form))
        return by_pairs(form) ? 0 : 128;
    return weft_forms[form].offset;
}

/* Whether the sums of both halves are wanted as a pair of int16. */
WEFT_INLINE bool pairs_count(weft_form form) {
    return weft_form_halves(form);
}

#include "tensor/kernels/x86/block_sums.h"

/* Whether int16 sums of half a block begin with what the offset takes away. They may wrap on their
 * way to the sum of the signed levels, which fits. */
WEFT_INLINE bool has_starts(weft_form form) {
    return !SUMS_ARE_WIDE && weft_form_halves(form) && weft_forms[form].offset > 0 &&
           weft_forms[form].most < 2 * weft_forms[form].offset &&
           8 * 127 * weft_forms[form].offset <= 32767;
}

/* Quads of a sum. */
WEFT_INLINE int group_of(weft_form form) {
    return has_starts(form) ? 4 : quads_a_sum(form, SUMS_ARE_WIDE ? 0 : 2, weft_forms[form].most);
}

/* The bits of `mask` of bytes shifted right by n. */
WEFT_INLINE __m256i shifted_bits(const uint8_t *p, int n, char mask) {
    return _mm256_and_si256(shift16(load(p), n), _mm256_set1_epi8(mask));
}

/* Quad j of rows 8 half … 8 half + 7, from packed lines. */
WEFT_INLINE __m256i packed_quad(weft_form form, q8_block s, int j, int half) {
    const int bits = weft_forms[form].bits;
    __m256i v;
    if (bits == 8) {
        v = load(s.q + 64 * j + 32 * half);
        return by_pairs(form) ? v : _mm256_xor_si256(v, _mm256_set1_epi8(-128));
    }
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

/* The eight quads of rows 8 half … 8 half + 7. */
WEFT_INLINE void block_quads(weft_form form, q8_block s, int half, __m256i w[8]) {
    if (weft_form_has_book(form)) {
        entry_quads(form, s, half, w);
    } else if (form == WEFT_FORM_TQ1_0) {
        digit_quads(s, half, w);
    } else {
        WEFT_UNROLL for (int j = 0; j < 8; j++) w[j] = packed_quad(form, s, j, half);
    }
}

/* The integer sub-scales of rows 8 half … of both halves of the block, as pairs of int16. */
WEFT_INLINE __m256i scale_pairs(weft_form form, q8_block s, int half) {
    if (weft_form_has_book(form))
        return _mm256_cvtepi8_epi16(odd_scale_pairs(form, s.sc + 8 * half));
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

/* What a tile's rows of x bring to a block, a step of `ld` from row to row. */
typedef struct operand {
    const int8_t *q;
    const int32_t *more; /* has_starts: two starts; by_pairs unpacked: 16 pairs of int16 */
    size_t ldq, ld_more;
} operand;

/* Four bytes of row c of x in every lane. */
WEFT_INLINE __m256i spread_quad(const operand *x, int c, int j) {
    int32_t quad;
    memcpy(&quad, x->q + (size_t)c * x->ldq + 4 * j, 4);
    return _mm256_set1_epi32(quad);
}

/* The i-th of what else row c brings. */
WEFT_INLINE __m256i spread_more(const operand *x, int c, int i) {
    return _mm256_set1_epi32(x->more[(size_t)c * x->ld_more + (size_t)i]);
}

/* -offset times the sums of the columns that meet in an int16, as pairs, of both halves. */
WEFT_INLINE void starts_of(weft_form form, const int8_t *x, int32_t starts[2]) {
    __m256i sums = _mm256_maddubs_epi16(_mm256_set1_epi8(1), load(x));
    sums = _mm256_add_epi16(sums, _mm256_shuffle_epi32(sums, 0x4e));
    sums = _mm256_add_epi16(sums, _mm256_shuffle_epi32(sums, 0xb1));
    sums = _mm256_mullo_epi16(sums, _mm256_set1_epi16((int16_t)-offset_of(form)));
    starts[0] = _mm_cvtsi128_si32(_mm256_castsi256_si128(sums));
    starts[1] = _mm_cvtsi128_si32(_mm256_extracti128_si256(sums, 1));
}

/* Columns 0 and 2, and 1 and 3 of quads of bytes, as int16. */
WEFT_INLINE __m256i even_pairs(__m256i v) {
    return _mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8);
}
WEFT_INLINE __m256i odd_pairs(__m256i v) {
    return _mm256_srai_epi16(v, 8);
}

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
WEFT_INLINE void quad_dots(weft_form form, bool packed, int n, source s, int j, const operand *x,
                           __m256i sum[TILE][2], dots *dot) {
    const int group = group_of(form);
    __m256i w[2];
    WEFT_UNROLL for (int h = 0; h < 2; h++) w[h] =
        packed ? packed_quad(form, s.block, j, h) : load(s.u->w[j] + 32 * h);
    WEFT_UNROLL for (int c = 0; c < n; c++) {
        __m256i v = spread_quad(x, c, j), start = _mm256_setzero_si256();
        if (has_starts(form) && j % group == 0)
            start = spread_more(x, c, j / group);
        WEFT_UNROLL for (int h = 0; h < 2; h++) {
            sum[c][h] = sum_bytes(j % group ? sum[c][h] : start, w[h], v);
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

/* Adds the sums of two or four products to dot products. */
WEFT_INLINE void add_wide(bool fresh, __m256i sums, __m256i *dot) {
    *dot = fresh ? sums : _mm256_add_epi32(*dot, sums);
    IN_ORDER(*dot);
}

/* Quad j of signed bytes: the magnitude of w times x with the sign of w. */
WEFT_INLINE void signed_dots(weft_form form, int n, source s, int j, const operand *x, dots *dot) {
    WEFT_UNROLL for (int h = 0; h < 2; h++) {
        __m256i w = packed_quad(form, s.block, j, h), magnitude = _mm256_abs_epi8(w);
        WEFT_UNROLL for (int c = 0; c < n; c++) {
            __m256i v = _mm256_sign_epi8(spread_quad(x, c, j), w);
            __m256i sums = _mm256_maddubs_epi16(magnitude, v);
            add_wide(j == 0, _mm256_madd_epi16(sums, _mm256_set1_epi16(1)), &dot->low[c][h]);
        }
    }
}

/* The same unpacked. */
WEFT_INLINE void pair_dots(int n, source s, int j, const operand *x, dots *dot) {
    WEFT_UNROLL for (int odd = 0; odd < 2; odd++) {
        const uint8_t *w = odd ? s.u->odd[j] : s.u->w[j];
        __m256i left = load(w), right = load(w + 32);
        WEFT_UNROLL for (int c = 0; c < n; c++) {
            __m256i v = spread_more(x, c, 2 * j + odd);
            add_wide(j + odd == 0, _mm256_madd_epi16(left, v), &dot->low[c][0]);
            add_wide(j + odd == 0, _mm256_madd_epi16(right, v), &dot->low[c][1]);
        }
    }
}

/* The quads are spelled out: in a loop around loops not every compiler keeps the sums in
 * registers. */
#define EIGHT_QUADS(quad) quad(0) quad(1) quad(2) quad(3) quad(4) quad(5) quad(6) quad(7)

WEFT_INLINE void any_dots(weft_form form, bool packed, int n, source s, int j, const operand *x,
                          __m256i sum[TILE][2], dots *dot) {
    if (!by_pairs(form))
        quad_dots(form, packed, n, s, j, x, sum, dot);
    else if (packed)
        signed_dots(form, n, s, j, x, dot);
    else
        pair_dots(n, s, j, x, dot);
}

WEFT_INLINE void block_dots(weft_form form, bool packed, int n, source s, const operand *x,
                            dots *dot) {
    __m256i sum[TILE][2];
#define DOTS(j) any_dots(form, packed, n, s, j, x, sum, dot);
    EIGHT_QUADS(DOTS)
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
    if (weft_form_has_book(form))
        *d = _mm256_mul_ps(*d, _mm256_set1_ps(s.unit));
    if (f->scales == WEFT_SCALES_SUB)
        *d = _mm256_mul_ps(*d, weft_form_has_book(form) ? odd_scales(form, s, half)
                                                        : byte_floats(s.sc + r));
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
        low = _mm256_add_epi32(low, _mm256_set1_epi32(x.part));
        __m256i high = _mm256_add_epi32(dot->high[c][half], whole);
        acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(low), _mm256_mul_ps(d, scale), acc);
        return _mm256_fmadd_ps(_mm256_cvtepi32_ps(high), _mm256_mul_ps(m, scale), acc);
    }
    __m256i halves = _mm256_set1_epi32(x.part);
    if (weft_form_halves(form) && offset_of(form) && !has_starts(form))
        low = _mm256_sub_epi32(low, halves_offset(form, packed, s, half, halves));
    else if (whole_counts(form))
        low = _mm256_add_epi32(low, whole);
    acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(low), _mm256_mul_ps(d, scale), acc);
    if (!weft_form_has_min(form))
        return acc;
    __m256i sum = _mm256_set1_epi32(x.sum);
    if (weft_form_halves(form))
        sum = _mm256_madd_epi16(min_pairs(packed, s, half), halves);
    return _mm256_fmadd_ps(_mm256_mul_ps(m, scale), _mm256_cvtepi32_ps(sum), acc);
}

#endif
