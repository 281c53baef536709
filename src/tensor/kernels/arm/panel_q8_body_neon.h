/* Quantised panels times int8 activations on NEON: signed weights times signed activations. Four
 * rows are a register. One row of x reads the packed bytes, but for those that must_unpack();
 * several share them unpacked.
 *
 * Included behind BYTE_PRODUCTS, how bytes are multiplied: WIDENING into int16, which holds a whole
 * block of 5-bit weights (8 * 31 * 127), half a block of 6-bit ones and two quads of int8 ones (2 *
 * 128 * 127); DOTS of four into int32; or MATRICES, where two rows of x meet two of the panel. */
#ifndef WEFT_KERNELS_PANEL_Q8_BODY_NEON_H
#define WEFT_KERNELS_PANEL_Q8_BODY_NEON_H

#include <arm_neon.h>
#include "tensor/kernels/ref/panel_q8_block.h"

#define WIDENING 0
#define DOTS 1
#define MATRICES 2

/* Blocks of a panel that are unpacked at a time: 11 KiB. */
#define CHUNK 16
/* Rows of x that share a register of weights. */
#define TILE (BYTE_PRODUCTS == WIDENING ? 2 : 4)

typedef struct unpacked {
    _Alignas(64) int8_t w[8][64]; /* quads of 16 rows: signed levels */
    float d[16], m[16];           /* d_w, and -m_w; NVFP4: of the halves */
    uint8_t sc[16][2];            /* the integer sub-scales of both halves of the block */
} unpacked;

/* Where the weights of a block come from: packed lines, or an unpacked block. */
typedef struct source {
    q8_block block;
    const unpacked *u;
} source;

/* The greatest magnitude: an unsigned quant less its offset, or a level. */
WEFT_INLINE int group_of(weft_form form) {
    if (BYTE_PRODUCTS != WIDENING)
        return quads_a_sum(form, 0, 0);
    int most = weft_forms[form].most, offset = weft_forms[form].offset;
    return quads_a_sum(form, 1, most - offset > offset ? most - offset : offset);
}

/* Four bytes. */
WEFT_INLINE uint16x4_t wide_bytes(const uint8_t *p) {
    uint32_t four;
    memcpy(&four, p, 4);
    return vget_low_u16(vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(four))));
}

/* Bytes shifted left by n, or right by -n. */
WEFT_INLINE uint8x16_t shift(uint8x16_t v, int n) {
    return vshlq_u8(v, vdupq_n_s8((int8_t)n));
}

/* Quad j of rows 4 part … 4 part + 3, from packed lines. */
WEFT_INLINE int8x16_t packed_quad(weft_form form, q8_block s, int j, int part) {
    const int bits = weft_forms[form].bits;
    if (bits == 8)
        return vreinterpretq_s8_u8(vld1q_u8(s.q + 64 * j + 16 * part));
    uint8x16_t v;
    if (bits >= 4) {
        v = vld1q_u8(s.q + 64 * (j % 4) + 16 * part);
        v = j < 4 ? vandq_u8(v, vdupq_n_u8(15)) : vshrq_n_u8(v, 4);
    } else {
        v = shift(vld1q_u8(s.q + 64 * (j / 4) + 16 * part), -2 * (j % 4));
        v = vandq_u8(v, vdupq_n_u8(3));
    }
    if (bits == 5) {
        uint8x16_t h = shift(vld1q_u8(s.h + 16 * part), 4 - j);
        v = vorrq_u8(v, vandq_u8(h, vdupq_n_u8(16)));
    } else if (bits == 3) {
        uint8x16_t h = shift(vld1q_u8(s.h + 16 * part), 2 - j);
        v = vorrq_u8(v, vandq_u8(h, vdupq_n_u8(4)));
    } else if (bits == 6) {
        uint8x16_t h = shift(vld1q_u8(s.h + 64 * (j / 4) + 16 * part), 4 - 2 * (j % 4));
        v = vorrq_u8(v, vandq_u8(h, vdupq_n_u8(48)));
    }
    if (weft_form_has_codes(form))
        return vqtbl1q_s8(vreinterpretq_s8_u8(vld1q_u8(s.table)), v);
    int8x16_t offset = vdupq_n_s8((int8_t)weft_forms[form].offset);
    return vsubq_s8(vreinterpretq_s8_u8(v), offset);
}

/* ---- Entries of codebooks, and digits ---- */

/* 32-bit lanes shifted left, or right by -n. */
WEFT_INLINE uint32x4_t shift32(uint32x4_t v, int n) {
    return vshlq_u32(v, vdupq_n_s32(n));
}

/* The high bits of the rows' indices, a lane a row. */
WEFT_INLINE uint32x4_t high_lanes(weft_form form, q8_block s, int part) {
    if (weft_forms[form].high == 2)
        return vmovl_u16(vreinterpret_u16_u8(vld1_u8(s.h + 8 * part)));
    if (weft_forms[form].high == 1)
        return vmovl_u16(wide_bytes(s.h + 4 * part));
    return weft_forms[form].signs ? vreinterpretq_u32_u8(vld1q_u8(s.s + 16 * part))
                                  : vdupq_n_u32(0);
}

/* A line of signs with those of the eighth columns, which make the number of negative ones even. */
WEFT_INLINE uint8x16_t all_signs(weft_form form, q8_block s, int part) {
    uint32x4_t line = vreinterpretq_u32_u8(vld1q_u8(s.s + 16 * part));
    if (weft_forms[form].signs == 8)
        return vreinterpretq_u8_u32(line);
    line = vandq_u32(line, vdupq_n_u32(0x55ffffff));
    uint32x4_t odd = veorq_u32(line, vshrq_n_u32(line, 16));
    odd = veorq_u32(odd, vshrq_n_u32(odd, 8));
    odd = vandq_u32(veorq_u32(odd, vshrq_n_u32(odd, 1)), vdupq_n_u32(0x55));
    return vreinterpretq_u8_u32(vorrq_u32(line, vshlq_n_u32(odd, 25)));
}

/* Entry i of each row. */
WEFT_INLINE uint8x16_t entry_words(weft_form form, q8_block s, uint32x4_t high, int i, int part) {
    uint32x4_t index = vreinterpretq_u32_u8(vld1q_u8(s.q + 64 * (i / 4) + 16 * part));
    index = vandq_u32(shift32(index, -8 * (i % 4)), vdupq_n_u32(255));
    if (index_high(form)) {
        uint32x4_t mask = vdupq_n_u32((uint32_t)index_high(form));
        index = vorrq_u32(index, vandq_u32(shift32(high, index_shift(form, i)), mask));
    }
    uint32x4_t word = vdupq_n_u32(s.book[vgetq_lane_u32(index, 0)]);
    word = vsetq_lane_u32(s.book[vgetq_lane_u32(index, 1)], word, 1);
    word = vsetq_lane_u32(s.book[vgetq_lane_u32(index, 2)], word, 2);
    word = vsetq_lane_u32(s.book[vgetq_lane_u32(index, 3)], word, 3);
    return vreinterpretq_u8_u32(word);
}

/* Ones where entry i of IQ1 is shifted down, as the third bit of its codes. */
WEFT_INLINE uint8x16_t shifted_down(weft_form form, uint32x4_t high, int i) {
    uint32_t top = form == WEFT_FORM_IQ1_S ? 1u << 15 : 8u << (4 * i);
    return vandq_u8(vreinterpretq_u8_u32(vtstq_u32(high, vdupq_n_u32(top))), vdupq_n_u8(4));
}

/* The eight quads of a block of entries, of rows 4 part … 4 part + 3. */
WEFT_INLINE void entry_quads(weft_form form, q8_block s, int part, int8x16_t w[8]) {
    const int8x16_t table = vreinterpretq_s8_u8(vld1q_u8(s.table));
    uint32x4_t high = high_lanes(form, s, part);
    uint8x16_t signs = vdupq_n_u8(0);
    if (weft_forms[form].signs)
        signs = all_signs(form, s, part);
    WEFT_UNROLL for (int i = 0; i < weft_forms[form].entries; i++) {
        uint8x16_t word = entry_words(form, s, high, i, part);
        if (weft_forms[form].entries == 8) {
            uint8x16_t sign = vandq_u8(shift(signs, 3 - i), vdupq_n_u8(8));
            w[i] = vqtbl1q_s8(table, vorrq_u8(word, sign));
            continue;
        }
        WEFT_UNROLL for (int j = 2 * i; j < 2 * i + 2; j++) {
            uint8x16_t codes = vandq_u8(shift(word, -4 * (j % 2)), vdupq_n_u8(3));
            if (weft_forms[form].signs)
                codes = vorrq_u8(codes, vandq_u8(shift(signs, 2 - j), vdupq_n_u8(4)));
            else
                codes = vorrq_u8(codes, shifted_down(form, high, i));
            w[j] = vqtbl1q_s8(table, codes);
        }
    }
}

/* TQ1_0's: the digit in front of the point of a byte's triple is how many thirds it holds. */
WEFT_INLINE void digit_quads(q8_block s, int part, int8x16_t w[8]) {
    const int8x16_t less = vdupq_n_s8(-1);
    uint8x16_t v = vld1q_u8(s.q + 16 * part);
    WEFT_UNROLL for (int j = 0; j < 5; j++) {
        uint8x16_t thirds = vaddq_u8(vcgeq_u8(v, vdupq_n_u8(86)), vcgeq_u8(v, vdupq_n_u8(171)));
        w[j] = vsubq_s8(less, vreinterpretq_s8_u8(thirds));
        v = vaddq_u8(vaddq_u8(v, v), v);
    }
    uint8x16_t low = shift(vld1q_u8(s.h + 64 * (s.sub / 2) + 16 * part), -4 * (s.sub % 2));
    uint8x16_t top = vtstq_u8(vld1q_u8(s.h + 256 + 16 * part), vdupq_n_u8((uint8_t)(1 << s.sub)));
    low = vandq_u8(low, vdupq_n_u8(15));
    uint8x16_t pairs = vbslq_u8(top, vqtbl1q_u8(vld1q_u8(tq1_pairs[1]), low),
                                vqtbl1q_u8(vld1q_u8(tq1_pairs[0]), low));
    WEFT_UNROLL for (int j = 0; j < 3; j++) {
        uint8x16_t digit = vandq_u8(shift(pairs, -2 * j), vdupq_n_u8(3));
        w[5 + j] = vaddq_s8(vreinterpretq_s8_u8(digit), less);
    }
}

/* The eight quads of rows 4 part … 4 part + 3. */
WEFT_INLINE void block_quads(weft_form form, q8_block s, int part, int8x16_t w[8]) {
    if (weft_form_has_book(form)) {
        entry_quads(form, s, part, w);
    } else if (form == WEFT_FORM_TQ1_0) {
        digit_quads(s, part, w);
    } else {
        WEFT_UNROLL for (int j = 0; j < 8; j++) w[j] = packed_quad(form, s, j, part);
    }
}

/* ---- Scales ---- */

/* The odd sub-scales of both halves, a byte each, from the file's codes. */
WEFT_INLINE uint8x16x2_t odd_pairs(weft_form form, const uint8_t *sc) {
    const int8_t bits = form == WEFT_FORM_IQ1_M ? 3 : 4;
    const uint8x16_t mask = vdupq_n_u8((uint8_t)((1 << bits) - 1)), one = vdupq_n_u8(1);
    uint8x16_t both = vld1q_u8(sc);
    uint8x16_t low = vandq_u8(both, mask), high = vandq_u8(shift(both, -bits), mask);
    low = vaddq_u8(vaddq_u8(low, low), one);
    high = vaddq_u8(vaddq_u8(high, high), one);
    return (uint8x16x2_t){{low, high}};
}

/* The eight bytes of sub-scales of rows 4 part … 4 part + 3. */
WEFT_INLINE uint8x8_t pair_bytes(bool packed, source s, int part) {
    return vld1_u8((packed ? s.block.sc : s.u->sc[0]) + 8 * part);
}

/* Of pairs, those of half h. */
WEFT_INLINE int32x4_t of_half(uint8x8_t bytes, int h) {
    int16x8_t pairs = vmovl_s8(vreinterpret_s8_u8(bytes));
    int16x8_t one = h ? vuzp2q_s16(pairs, pairs) : vuzp1q_s16(pairs, pairs);
    return vmovl_s16(vget_low_s16(one));
}

/* The integer sub-scales of half h of the block. */
WEFT_INLINE int32x4_t sub_scales(weft_form form, bool packed, source s, int h, int part) {
    uint8x8_t bytes = pair_bytes(packed, s, part);
    return of_half(form == WEFT_FORM_Q2_K ? vand_u8(bytes, vdup_n_u8(15)) : bytes, h);
}

/* Q2_K's minima times the sums of x. */
WEFT_INLINE int32x4_t minima_sums(bool packed, source s, int part, int32_t low, int32_t high) {
    uint8x8_t bytes = vshr_n_u8(pair_bytes(packed, s, part), 4);
    return vmlaq_n_s32(vmulq_n_s32(of_half(bytes, 0), low), of_half(bytes, 1), high);
}

WEFT_INLINE int8x16_t quad_of(weft_form form, bool packed, source s, int j, int part) {
    return packed ? packed_quad(form, s.block, j, part) : vld1q_s8(s.u->w[j] + 16 * part);
}

#if BYTE_PRODUCTS == WIDENING
/* Four rows' sums of four int16 each. */
WEFT_INLINE int32x4_t sums_of_fours(int16x8_t low, int16x8_t high) {
    return vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high));
}

/* Sums of quads [g, g + group) for `n` rows of x: in pairs, widened at the end. */
WEFT_INLINE void wide_sums(weft_form form, bool packed, int n, source s, int part, int g,
                           const int8_t *x, size_t ldx, int32x4_t sum[TILE]) {
    int16x8_t low[TILE], high[TILE];
    WEFT_UNROLL for (int j = g; j < g + group_of(form); j++) {
        int8x16_t w = quad_of(form, packed, s, j, part);
        WEFT_UNROLL for (int c = 0; c < n; c++) {
            int32_t quad;
            memcpy(&quad, x + (size_t)c * ldx + 4 * j, 4);
            int8x16_t v = vreinterpretq_s8_s32(vdupq_n_s32(quad));
            int8x8_t v_low = vget_low_s8(v);
            low[c] =
                j == g ? vmull_s8(vget_low_s8(w), v_low) : vmlal_s8(low[c], vget_low_s8(w), v_low);
            high[c] = j == g ? vmull_high_s8(w, v) : vmlal_high_s8(high[c], w, v);
        }
    }
    WEFT_UNROLL for (int c = 0; c < n; c++) sum[c] = sums_of_fours(low[c], high[c]);
}
#else
/* Sums of quads [g, g + group) for `n` rows of x. */
WEFT_INLINE void dot_sums(weft_form form, bool packed, int n, source s, int part, int g,
                          const int8_t *x, size_t ldx, int32x4_t sum[TILE]) {
    WEFT_UNROLL for (int j = g; j < g + group_of(form); j++) {
        int8x16_t w = quad_of(form, packed, s, j, part);
        WEFT_UNROLL for (int c = 0; c < n; c++) {
            int32_t quad;
            memcpy(&quad, x + (size_t)c * ldx + 4 * j, 4);
            int8x16_t v = vreinterpretq_s8_s32(vdupq_n_s32(quad));
            sum[c] = vdotq_s32(j == g ? vdupq_n_s32(0) : sum[c], w, v);
        }
    }
}
#endif

#if BYTE_PRODUCTS == MATRICES
/* The same with products of 2 x 8 and 8 x 2 bytes, for an even number of rows of x. */
WEFT_INLINE void matrix_sums(weft_form form, bool packed, int n, source s, int part, int g,
                             const int8_t *x, size_t ldx, int32x4_t sum[TILE]) {
    int32x4_t first[TILE / 2], second[TILE / 2]; /* of two rows of the panel: [row, row of x] */
    WEFT_UNROLL for (int j = g; j < g + group_of(form); j += 2) {
        int32x4_t w = vreinterpretq_s32_s8(quad_of(form, packed, s, j, part));
        int32x4_t next = vreinterpretq_s32_s8(quad_of(form, packed, s, j + 1, part));
        int8x16_t w0 = vreinterpretq_s8_s32(vzip1q_s32(w, next));
        int8x16_t w1 = vreinterpretq_s8_s32(vzip2q_s32(w, next));
        WEFT_UNROLL for (int c = 0; c < n; c += 2) {
            const int8_t *p = x + (size_t)c * ldx + 4 * j;
            int8x16_t v = vcombine_s8(vld1_s8(p), vld1_s8(p + ldx));
            int32x4_t zero = vdupq_n_s32(0);
            first[c / 2] = vmmlaq_s32(j == g ? zero : first[c / 2], w0, v);
            second[c / 2] = vmmlaq_s32(j == g ? zero : second[c / 2], w1, v);
        }
    }
    WEFT_UNROLL for (int c = 0; c < n; c += 2) {
        sum[c] = vuzp1q_s32(first[c / 2], second[c / 2]);
        sum[c + 1] = vuzp2q_s32(first[c / 2], second[c / 2]);
    }
}
#endif

/* Exact dot products of one block for `n` rows of x and rows 4 part … of the panel; those of the
 * second half by themselves in dot[1] where they have a float scale of their own. */
WEFT_INLINE void block_dots(weft_form form, bool packed, int n, source s, int part, const int8_t *x,
                            size_t ldx, int32x4_t dot[2][TILE]) {
    const int group = group_of(form);
    WEFT_UNROLL for (int g = 0; g < 8; g += group) {
        int32x4_t sums[TILE];
#if BYTE_PRODUCTS == WIDENING
        wide_sums(form, packed, n, s, part, g, x, ldx, sums);
#elif BYTE_PRODUCTS == DOTS
        dot_sums(form, packed, n, s, part, g, x, ldx, sums);
#else
        if (n % 2)
            dot_sums(form, packed, n, s, part, g, x, ldx, sums);
        else
            matrix_sums(form, packed, n, s, part, g, x, ldx, sums);
#endif
        WEFT_UNROLL for (int c = 0; c < n; c++) {
            int32x4_t sum = sums[c];
            if (weft_form_halves(form))
                sum = vmulq_s32(sum, sub_scales(form, packed, s, g / 4, part));
            const int own = weft_form_floats(form) && g >= 4;
            dot[own][c] = g && !own ? vaddq_s32(dot[own][c], sum) : sum;
        }
    }
}

WEFT_INLINE float32x4_t half_floats(const uint8_t *p) {
    return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(p)));
}

/* Four signed bytes. */
WEFT_INLINE float32x4_t byte_floats(const uint8_t *p) {
    uint32_t four;
    memcpy(&four, p, 4);
    int16x8_t wide = vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(four)));
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide)));
}

/* E8M0, halved: 2^(e - 128). */
WEFT_INLINE float32x4_t power_floats(const uint8_t *p) {
    uint32x4_t e = vmovl_u16(wide_bytes(p));
    uint32x4_t normal = vshlq_n_u32(vsubq_u32(e, vdupq_n_u32(1)), 23);
    uint32x4_t small = vshlq_u32(vdupq_n_u32(0x00200000), vreinterpretq_s32_u32(e));
    return vreinterpretq_f32_u32(vbslq_u32(vcltq_u32(e, vdupq_n_u32(2)), small, normal));
}

/* UE4M3, halved: the fields of an f16 that is 128 times too small. */
WEFT_INLINE float32x4_t ue4m3_floats(const uint8_t *p) {
    float16x4_t small = vreinterpret_f16_u16(vshl_n_u16(wide_bytes(p), 7));
    return vmulq_n_f32(vcvt_f32_f16(small), 128);
}

/* The odd sub-scales of entries: of a byte, IQ1_S's three high bits, or the spare bits of signs. */
WEFT_INLINE float32x4_t odd_scales(weft_form form, q8_block s, int part) {
    uint32x4_t v;
    if (weft_forms[form].sc) {
        v = vmovl_u16(wide_bytes(s.sc + 4 * part));
    } else if (form == WEFT_FORM_IQ1_S) {
        v = vandq_u32(vshrq_n_u32(high_lanes(form, s, part), 12), vdupq_n_u32(7));
    } else {
        v = vreinterpretq_u32_u8(vld1q_u8(s.s + 16 * part));
        v = vandq_u32(vshrq_n_u32(v, 25), vdupq_n_u32(0x55));
        v = vandq_u32(vorrq_u32(v, vshrq_n_u32(v, 1)), vdupq_n_u32(0x33));
        v = vandq_u32(vorrq_u32(v, vshrq_n_u32(v, 2)), vdupq_n_u32(15));
    }
    return vcvtq_f32_u32(vaddq_u32(vaddq_u32(v, v), vdupq_n_u32(1)));
}

/* d_w and -m_w of rows 4 part … 4 part + 3; NVFP4: the scales of both halves of the block. */
WEFT_INLINE void block_scales(weft_form form, q8_block s, int part, float32x4_t *d,
                              float32x4_t *m) {
    const weft_form_info *f = &weft_forms[form];
    int r = 4 * part;
    *m = vdupq_n_f32(0);
    if (weft_form_floats(form)) {
        *d = ue4m3_floats(s.sc + r);
        *m = ue4m3_floats(s.sc + 16 + r);
        return;
    }
    *d = f->d == 1 ? power_floats(s.d + r) : half_floats(s.d + 2 * r);
    if (weft_form_has_book(form))
        *d = vmulq_n_f32(*d, s.unit);
    if (f->scales == WEFT_SCALES_SUB)
        *d = vmulq_f32(*d, weft_form_has_book(form) ? odd_scales(form, s, part)
                                                    : byte_floats(s.sc + r));
    if (!f->m)
        return;
    *m = half_floats(s.m + 2 * r);
    if (f->scales == WEFT_SCALES_SUB)
        *m = vmulq_f32(*m, byte_floats(s.min + r));
    if (f->blocks > 1) /* dmin counts down, an f16 minimum up */
        *m = vnegq_f32(*m);
}

/* The sum of the first half of a block of x. */
WEFT_INLINE int32_t low_sum(const int8_t *x) {
    return vaddlvq_s8(vld1q_s8(x));
}

/* One block's step of the chains of four outputs, for row c of a tile. */
WEFT_INLINE float32x4_t block_add(weft_form form, bool packed, source s, int part, int c,
                                  int32x4_t dot[2][TILE], float32x4_t d, float32x4_t m,
                                  const int8_t *x, float d_x, int32_t sum, float32x4_t acc) {
    float32x4_t scale = vdupq_n_f32(d_x);
    acc = vfmaq_f32(acc, vcvtq_f32_s32(dot[0][c]), vmulq_f32(d, scale));
    if (weft_form_floats(form))
        return vfmaq_f32(acc, vcvtq_f32_s32(dot[1][c]), vmulq_f32(m, scale));
    if (!weft_form_has_min(form))
        return acc;
    float32x4_t of = vdupq_n_f32((float)sum);
    if (weft_form_halves(form)) {
        int32_t low = low_sum(x);
        of = vcvtq_f32_s32(minima_sums(packed, s, part, low, sum - low));
    }
    return vfmaq_f32(acc, vmulq_f32(m, scale), of);
}

/* One row of x, straight from the packed bytes. */
WEFT_INLINE void vector(weft_form form, const q8_codes *codes, const uint8_t *panels, size_t bytes,
                        size_t n_panels, const weft_q8_rows *x, float *y) {
    for (size_t p = 0; p < n_panels; p++, panels += bytes) {
        float32x4_t acc[4], d, m;
        WEFT_UNROLL for (int part = 0; part < 4; part++) acc[part] = vdupq_n_f32(0);
        for (size_t k = 0; k < x->n_cols / 32; k++) {
            const int8_t *q = x->q + 32 * k;
            source s = {.block = packed_block(form, codes, panels, k)};
            WEFT_UNROLL for (int part = 0; part < 4; part++) {
                int32x4_t dot[2][TILE];
                block_dots(form, true, 1, s, part, q, 0, dot);
                block_scales(form, s.block, part, &d, &m);
                acc[part] =
                    block_add(form, true, s, part, 0, dot, d, m, q, x->d[k], x->sums[k], acc[part]);
            }
        }
        WEFT_UNROLL for (int part = 0; part < 4; part++)
            vst1q_f32(y + 16 * p + 4 * (size_t)part, acc[part]);
    }
}

WEFT_INLINE void unpack(weft_form form, const q8_codes *codes, const uint8_t *panel, size_t k,
                        unpacked *u) {
    q8_block s = packed_block(form, codes, panel, k);
    float32x4_t d, m;
    WEFT_UNROLL for (int part = 0; part < 4; part++) {
        int8x16_t w[8];
        block_quads(form, s, part, w);
        WEFT_UNROLL for (int j = 0; j < 8; j++) vst1q_s8(u->w[j] + 16 * part, w[j]);
        block_scales(form, s, part, &d, &m);
        vst1q_f32(u->d + 4 * part, d);
        vst1q_f32(u->m + 4 * part, m);
    }
    if (weft_form_halves(form) && weft_form_has_book(form))
        vst2q_u8(u->sc[0], odd_pairs(form, s.sc));
    else if (weft_form_halves(form))
        memcpy(u->sc, s.sc, sizeof u->sc);
}

/* `n` rows of x from row t, blocks [begin, end) of one panel, which lie unpacked in u. */
WEFT_INLINE void tile(weft_form form, int n, const unpacked *u, size_t begin, size_t end,
                      const weft_q8_rows *x, size_t t, float *y, size_t ldy) {
    size_t n_blocks = x->n_cols / 32;
    float32x4_t acc[TILE][4];
    WEFT_UNROLL for (int c = 0; c < n; c++) WEFT_UNROLL for (int part = 0; part < 4; part++)
        acc[c][part] = begin ? vld1q_f32(y + (size_t)c * ldy + 4 * (size_t)part) : vdupq_n_f32(0);
    for (size_t k = begin; k < end; k++, u++) {
        const int8_t *q = x->q + t * x->n_cols + 32 * k;
        source s = {.u = u};
        WEFT_UNROLL for (int part = 0; part < 4; part++) {
            int32x4_t dot[2][TILE];
            block_dots(form, false, n, s, part, q, x->n_cols, dot);
            float32x4_t d = vld1q_f32(u->d + 4 * part), m = vld1q_f32(u->m + 4 * part);
            WEFT_UNROLL for (int c = 0; c < n; c++) {
                size_t i = (t + (size_t)c) * n_blocks + k;
                acc[c][part] =
                    block_add(form, false, s, part, c, dot, d, m, q + (size_t)c * x->n_cols,
                              x->d[i], x->sums[i], acc[c][part]);
            }
        }
    }
    WEFT_UNROLL for (int c = 0; c < n; c++) WEFT_UNROLL for (int part = 0; part < 4; part++)
        vst1q_f32(y + (size_t)c * ldy + 4 * (size_t)part, acc[c][part]);
}

WEFT_INLINE void matrix(weft_form form, const q8_codes *codes, const uint8_t *panels, size_t bytes,
                        size_t n_panels, const weft_q8_rows *x, float *y, size_t ldy) {
    size_t n_blocks = x->n_cols / 32;
    unpacked u[CHUNK];
    for (size_t p = 0; p < n_panels; p++, panels += bytes, y += 16)
        for (size_t begin = 0; begin < n_blocks || begin == 0; begin += CHUNK) {
            size_t end = n_blocks - begin < CHUNK ? n_blocks : begin + CHUNK, t = 0;
            for (size_t k = begin; k < end; k++)
                unpack(form, codes, panels, k, &u[k - begin]);
            for (; t + TILE <= x->n; t += TILE)
                tile(form, TILE, u, begin, end, x, t, y + t * ldy, ldy);
            if (TILE > 2 && t + 2 <= x->n) {
                tile(form, 2, u, begin, end, x, t, y + t * ldy, ldy);
                t += 2;
            }
            if (t < x->n)
                tile(form, 1, u, begin, end, x, t, y + t * ldy, ldy);
        }
}

typedef void product(const q8_codes *codes, const void *panels, size_t bytes, size_t n_panels,
                     const weft_q8_rows *x, float *y, size_t ldy);

/* A function each, so that every form has its own tight loops. */
#define OF_FORM(name, form)                                                                        \
    static void product_##name(const q8_codes *codes, const void *panels, size_t bytes,            \
                               size_t n_panels, const weft_q8_rows *x, float *y, size_t ldy) {     \
        if (x->n == 1 && !must_unpack(form))                                                       \
            vector(form, codes, panels, bytes, n_panels, x, y);                                    \
        else                                                                                       \
            matrix(form, codes, panels, bytes, n_panels, x, y, ldy);                               \
    }
WEFT_FORM_FUNCTIONS(OF_FORM)

#define ENTRY(name, form) [form] = product_##name,
static product *const products[WEFT_FORM_COUNT] = {WEFT_FORM_FUNCTIONS(ENTRY)};

static void panel_q8_body(weft_dtype dtype, const void *panels, size_t n_panels,
                          const weft_q8_rows *x, float *y, size_t ldy) {
    const weft_packing *p = weft_packing_of(dtype);
    q8_codes codes = codes_of(p, 0);
    products[p->form](&codes, panels, weft_panel_bytes(dtype, x->n_cols), n_panels, x, y, ldy);
}

#endif
