/* Quantised panels times int8 activations with widening multiplies: signed weights times signed
 * activations into int16, which holds a whole block of 5-bit weights (8 * 31 * 127), half a block
 * of 6-bit ones and two quads of int8 ones (2 * 128 * 127). Four rows are a register. One row of x
 * reads the packed bytes; several share them unpacked. */
#include "tensor/kernels/arm/lanes_neon.h"
#include "tensor/kernels/declare.h"
#include "tensor/kernels/ref/panel_q8_block.h"

/* Blocks of a panel that are unpacked at a time: 11 KiB. */
#define CHUNK 16
/* Rows of x that share a register of weights. */
#define TILE 2

typedef struct unpacked {
    _Alignas(64) int8_t w[8][64]; /* quads of 16 rows: signed quants */
    float d[16], m[16];           /* d_w, and -m_w */
    int8_t sc[16][2];             /* Q6_K: the sub-scales of both halves of the block */
} unpacked;

/* Where the weights of a block come from: packed lines, or an unpacked block. */
typedef struct source {
    q8_lines lines;
    const unpacked *u;
} source;

WEFT_INLINE int quads_a_sum(weft_dtype dtype) {
    return dtype == WEFT_Q8_0 ? 2 : dtype == WEFT_Q6_K ? 4 : 8;
}

/* Bytes shifted left by n, or right by -n. */
WEFT_INLINE uint8x16_t shift(uint8x16_t v, int n) {
    return vshlq_u8(v, vdupq_n_s8((int8_t)n));
}

/* Quad j of rows 4 part … 4 part + 3, from packed lines. */
WEFT_INLINE int8x16_t packed_quad(weft_dtype dtype, q8_lines s, int j, int part) {
    if (dtype == WEFT_Q8_0)
        return vreinterpretq_s8_u8(vld1q_u8(s.q + 64 * j + 16 * part));
    uint8x16_t v = vld1q_u8(s.q + 64 * (j % 4) + 16 * part);
    v = j < 4 ? vandq_u8(v, vdupq_n_u8(15)) : vshrq_n_u8(v, 4);
    if (five_bits(dtype)) {
        uint8x16_t h = shift(vld1q_u8(s.h + 16 * part), 4 - j);
        v = vorrq_u8(v, vandq_u8(h, vdupq_n_u8(16)));
    } else if (dtype == WEFT_Q6_K) {
        uint8x16_t h = shift(vld1q_u8(s.h + 64 * (j / 4) + 16 * part), 4 - 2 * (j % 4));
        v = vorrq_u8(v, vandq_u8(h, vdupq_n_u8(48)));
    }
    int8x16_t offset = vdupq_n_s8((int8_t)weft_quant_offset(dtype));
    return vsubq_s8(vreinterpretq_s8_u8(v), offset);
}

/* Q6_K's sub-scales of half h of the block, rows 4 part … 4 part + 3. */
WEFT_INLINE int32x4_t sub_scales(bool packed, source s, int h, int part) {
    const int8_t *p = packed ? s.lines.sc : s.u->sc[0];
    int16x8_t pairs = vmovl_s8(vld1_s8(p + 8 * part));
    int16x8_t one = h ? vuzp2q_s16(pairs, pairs) : vuzp1q_s16(pairs, pairs);
    return vmovl_s16(vget_low_s16(one));
}

/* Four rows' sums of four int16 each. */
WEFT_INLINE int32x4_t sums_of_fours(int16x8_t low, int16x8_t high) {
    return vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high));
}

/* Exact dot products of one block for `n` rows of x and rows 4 part … of the panel. */
WEFT_INLINE void block_dots(weft_dtype dtype, bool packed, int n, source s, int part,
                            const int8_t *x, size_t ldx, int32x4_t dot[TILE]) {
    const int group = quads_a_sum(dtype);
    WEFT_UNROLL for (int g = 0; g < 8; g += group) {
        int16x8_t low[TILE], high[TILE];
        WEFT_UNROLL for (int j = g; j < g + group; j++) {
            int8x16_t w =
                packed ? packed_quad(dtype, s.lines, j, part) : vld1q_s8(s.u->w[j] + 16 * part);
            WEFT_UNROLL for (int c = 0; c < n; c++) {
                int32_t quad;
                memcpy(&quad, x + (size_t)c * ldx + 4 * j, 4);
                int8x16_t v = vreinterpretq_s8_s32(vdupq_n_s32(quad));
                int8x8_t v_low = vget_low_s8(v);
                low[c] = j == g ? vmull_s8(vget_low_s8(w), v_low)
                                : vmlal_s8(low[c], vget_low_s8(w), v_low);
                high[c] = j == g ? vmull_high_s8(w, v) : vmlal_high_s8(high[c], w, v);
            }
        }
        WEFT_UNROLL for (int c = 0; c < n; c++) {
            int32x4_t sum = sums_of_fours(low[c], high[c]);
            if (dtype == WEFT_Q6_K)
                sum = vmulq_s32(sum, sub_scales(packed, s, g / 4, part));
            dot[c] = g ? vaddq_s32(dot[c], sum) : sum;
        }
    }
}

WEFT_INLINE float32x4_t half_floats(const uint16_t *p) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}

WEFT_INLINE float32x4_t byte_floats(const uint8_t *p) {
    uint32_t four;
    memcpy(&four, p, 4);
    uint16x8_t wide = vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(four)));
    return vcvtq_f32_u32(vmovl_u16(vget_low_u16(wide)));
}

/* d_w and -m_w of rows 4 part … 4 part + 3 in block k. */
WEFT_INLINE void block_scales(weft_dtype dtype, const void *panel, size_t k, int part,
                              float32x4_t *d, float32x4_t *m) {
    int r = 4 * part;
    *m = vdupq_n_f32(0);
    switch (dtype) {
    case WEFT_Q4_0:
        *d = half_floats(((const weft_panel_q4_0 *)panel + k)->d + r);
        break;
    case WEFT_Q4_1:
        *d = half_floats(((const weft_panel_q4_1 *)panel + k)->d + r);
        *m = half_floats(((const weft_panel_q4_1 *)panel + k)->m + r);
        break;
    case WEFT_Q5_0:
        *d = half_floats(((const weft_panel_q5_0 *)panel + k)->d + r);
        break;
    case WEFT_Q5_1:
        *d = half_floats(((const weft_panel_q5_1 *)panel + k)->d + r);
        *m = half_floats(((const weft_panel_q5_1 *)panel + k)->m + r);
        break;
    case WEFT_Q4_K: {
        const weft_panel_q4_k *p = (const weft_panel_q4_k *)panel + k / 8;
        *d = vmulq_f32(half_floats(p->d + r), byte_floats(p->sub[k % 8].sc + r));
        *m = vnegq_f32(vmulq_f32(half_floats(p->dmin + r), byte_floats(p->sub[k % 8].m + r)));
        break;
    }
    case WEFT_Q5_K: {
        const weft_panel_q5_k *p = (const weft_panel_q5_k *)panel + k / 8;
        *d = vmulq_f32(half_floats(p->d + r), byte_floats(p->sub[k % 8].sc + r));
        *m = vnegq_f32(vmulq_f32(half_floats(p->dmin + r), byte_floats(p->sub[k % 8].m + r)));
        break;
    }
    case WEFT_Q6_K:
        *d = half_floats(((const weft_panel_q6_k *)panel + k / 8)->d + r);
        break;
    default:
        *d = half_floats(((const weft_panel_q8_0 *)panel + k)->d + r);
        break;
    }
}

/* One block's step of the chains of four outputs. */
WEFT_INLINE float32x4_t block_add(weft_dtype dtype, int32x4_t dot, float32x4_t d, float32x4_t m,
                                  float d_x, int32_t sum, float32x4_t acc) {
    float32x4_t scale = vdupq_n_f32(d_x);
    acc = vfmaq_f32(acc, vcvtq_f32_s32(dot), vmulq_f32(d, scale));
    if (has_min(dtype))
        acc = vfmaq_f32(acc, vmulq_f32(m, scale), vdupq_n_f32((float)sum));
    return acc;
}

/* One row of x, straight from the packed bytes. */
WEFT_INLINE void vector(weft_dtype dtype, const uint8_t *panels, size_t bytes, size_t n_panels,
                        const weft_q8_rows *x, float *y) {
    for (size_t p = 0; p < n_panels; p++, panels += bytes) {
        float32x4_t acc[4], d, m;
        WEFT_UNROLL for (int part = 0; part < 4; part++) acc[part] = vdupq_n_f32(0);
        for (size_t k = 0; k < x->n_cols / 32; k++) {
            source s = {.lines = packed_block(dtype, panels, k)};
            WEFT_UNROLL for (int part = 0; part < 4; part++) {
                int32x4_t dot[TILE];
                block_dots(dtype, true, 1, s, part, x->q + 32 * k, 0, dot);
                block_scales(dtype, panels, k, part, &d, &m);
                acc[part] = block_add(dtype, dot[0], d, m, x->d[k], x->sums[k], acc[part]);
            }
        }
        WEFT_UNROLL for (int part = 0; part < 4; part++)
            vst1q_f32(y + 16 * p + 4 * (size_t)part, acc[part]);
    }
}

WEFT_INLINE void unpack(weft_dtype dtype, const uint8_t *panel, size_t k, unpacked *u) {
    q8_lines s = packed_block(dtype, panel, k);
    float32x4_t d, m;
    WEFT_UNROLL for (int part = 0; part < 4; part++) {
        WEFT_UNROLL for (int j = 0; j < 8; j++)
            vst1q_s8(u->w[j] + 16 * part, packed_quad(dtype, s, j, part));
        block_scales(dtype, panel, k, part, &d, &m);
        vst1q_f32(u->d + 4 * part, d);
        vst1q_f32(u->m + 4 * part, m);
    }
    if (dtype == WEFT_Q6_K)
        memcpy(u->sc, s.sc, sizeof u->sc);
}

/* `n` rows of x from row t, blocks [begin, end) of one panel, which lie unpacked in u. */
WEFT_INLINE void tile(weft_dtype dtype, int n, const unpacked *u, size_t begin, size_t end,
                      const weft_q8_rows *x, size_t t, float *y, size_t ldy) {
    size_t n_blocks = x->n_cols / 32;
    float32x4_t acc[TILE][4];
    WEFT_UNROLL for (int c = 0; c < n; c++) WEFT_UNROLL for (int part = 0; part < 4; part++)
        acc[c][part] = begin ? vld1q_f32(y + (size_t)c * ldy + 4 * (size_t)part) : vdupq_n_f32(0);
    for (size_t k = begin; k < end; k++, u++) {
        source s = {.u = u};
        WEFT_UNROLL for (int part = 0; part < 4; part++) {
            int32x4_t dot[TILE];
            block_dots(dtype, false, n, s, part, x->q + t * x->n_cols + 32 * k, x->n_cols, dot);
            float32x4_t d = vld1q_f32(u->d + 4 * part), m = vld1q_f32(u->m + 4 * part);
            WEFT_UNROLL for (int c = 0; c < n; c++) {
                size_t i = (t + (size_t)c) * n_blocks + k;
                acc[c][part] = block_add(dtype, dot[c], d, m, x->d[i], x->sums[i], acc[c][part]);
            }
        }
    }
    WEFT_UNROLL for (int c = 0; c < n; c++) WEFT_UNROLL for (int part = 0; part < 4; part++)
        vst1q_f32(y + (size_t)c * ldy + 4 * (size_t)part, acc[c][part]);
}

WEFT_INLINE void matrix(weft_dtype dtype, const uint8_t *panels, size_t bytes, size_t n_panels,
                        const weft_q8_rows *x, float *y, size_t ldy) {
    size_t n_blocks = x->n_cols / 32;
    unpacked u[CHUNK];
    for (size_t p = 0; p < n_panels; p++, panels += bytes, y += 16)
        for (size_t begin = 0; begin < n_blocks || begin == 0; begin += CHUNK) {
            size_t end = n_blocks - begin < CHUNK ? n_blocks : begin + CHUNK, t = 0;
            for (size_t k = begin; k < end; k++)
                unpack(dtype, panels, k, &u[k - begin]);
            for (; t + TILE <= x->n; t += TILE)
                tile(dtype, TILE, u, begin, end, x, t, y + t * ldy, ldy);
            if (t < x->n)
                tile(dtype, 1, u, begin, end, x, t, y + t * ldy, ldy);
        }
}

WEFT_INLINE void product(weft_dtype dtype, const void *panels, size_t n_panels,
                         const weft_q8_rows *x, float *y, size_t ldy) {
    size_t bytes = weft_panel_bytes(dtype, x->n_cols);
    if (x->n == 1)
        vector(dtype, panels, bytes, n_panels, x, y);
    else
        matrix(dtype, panels, bytes, n_panels, x, y, ldy);
}

/* A function each, so that every type has its own tight loops. */
#define OF_TYPE(name, dtype)                                                                       \
    static void name(const void *panels, size_t n_panels, const weft_q8_rows *x, float *y,         \
                     size_t ldy) {                                                                 \
        product(dtype, panels, n_panels, x, y, ldy);                                               \
    }
OF_TYPE(product_q4_0, WEFT_Q4_0)
OF_TYPE(product_q4_1, WEFT_Q4_1)
OF_TYPE(product_q5_0, WEFT_Q5_0)
OF_TYPE(product_q5_1, WEFT_Q5_1)
OF_TYPE(product_q8_0, WEFT_Q8_0)
OF_TYPE(product_q4_k, WEFT_Q4_K)
OF_TYPE(product_q5_k, WEFT_Q5_K)
OF_TYPE(product_q6_k, WEFT_Q6_K)

void weft_kernel_panel_q8_neon(weft_dtype dtype, const void *panels, size_t n_panels,
                               const weft_q8_rows *x, float *y, size_t ldy) {
    switch (dtype) {
    case WEFT_Q4_0:
        product_q4_0(panels, n_panels, x, y, ldy);
        break;
    case WEFT_Q4_1:
        product_q4_1(panels, n_panels, x, y, ldy);
        break;
    case WEFT_Q5_0:
        product_q5_0(panels, n_panels, x, y, ldy);
        break;
    case WEFT_Q5_1:
        product_q5_1(panels, n_panels, x, y, ldy);
        break;
    case WEFT_Q8_0:
        product_q8_0(panels, n_panels, x, y, ldy);
        break;
    case WEFT_Q4_K:
        product_q4_k(panels, n_panels, x, y, ldy);
        break;
    case WEFT_Q5_K:
        product_q5_k(panels, n_panels, x, y, ldy);
        break;
    case WEFT_Q6_K:
        product_q6_k(panels, n_panels, x, y, ldy);
        break;
    default:
        assert(false && "a type without quantised panels");
    }
}
