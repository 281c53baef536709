/* Quantised panels times int8 activations with maddubs: unsigned weights times signed activations
 * into int16, widened to int32 before a sum could pass 32767. Eight rows are a register, so a block
 * is 16 registers of weights. One row of x reads the packed bytes; several share them unpacked. */
#include "tensor/kernels/x86/lanes_avx2.h"
#include "base/floats.h"
#include "tensor/kernels/declare.h"
#include "tensor/kernels/ref/panel_q8_block.h"

/* Blocks of a panel that are unpacked at a time: 13 KiB. */
#define CHUNK 16
/* Rows of x that share a register of weights. */
#define TILE 4

typedef struct unpacked {
    _Alignas(32) uint8_t w[8][64]; /* quads of 16 rows: unsigned quants, or int8 of Q8_0 */
    float d[16], m[16];            /* d_w, and -m_w */
    int16_t sc[2][16][2];          /* Q6_K: the sub-scale of each half of the block, twice */
} unpacked;

/* Where the weights of a block come from: packed lines, or an unpacked block. */
typedef struct source {
    q8_lines lines;
    const unpacked *u;
} source;

/* Quads whose int16 sums fit: 8 * 2 * 15 * 127, 4 * 2 * 31 * 127, 2 * 2 * 63 * 127, 2 * 128 * 127.
 */
WEFT_INLINE int quads_a_sum(weft_dtype dtype) {
    return dtype == WEFT_Q8_0 ? 1 : dtype == WEFT_Q6_K ? 2 : five_bits(dtype) ? 4 : 8;
}

WEFT_INLINE __m256i load(const void *p) {
    return _mm256_loadu_si256((const __m256i *)p);
}

/* Shifts right, or left by -n. */
WEFT_INLINE __m256i shift16(__m256i v, int n) {
    return n > 0 ? _mm256_srli_epi16(v, n) : n < 0 ? _mm256_slli_epi16(v, -n) : v;
}

/* Quad j of rows 8 half … 8 half + 7, from packed lines. */
WEFT_INLINE __m256i packed_quad(weft_dtype dtype, q8_lines s, int j, int half) {
    if (dtype == WEFT_Q8_0)
        return load(s.q + 64 * j + 32 * half);
    __m256i v = load(s.q + 64 * (j % 4) + 32 * half);
    v = _mm256_and_si256(shift16(v, j < 4 ? 0 : 4), _mm256_set1_epi8(15));
    if (five_bits(dtype)) {
        __m256i h = shift16(load(s.h + 32 * half), j - 4);
        v = _mm256_or_si256(v, _mm256_and_si256(h, _mm256_set1_epi8(16)));
    } else if (dtype == WEFT_Q6_K) {
        __m256i h = shift16(load(s.h + 64 * (j / 4) + 32 * half), 2 * (j % 4) - 4);
        v = _mm256_or_si256(v, _mm256_and_si256(h, _mm256_set1_epi8(48)));
    }
    return v;
}

/* The sub-scale of the block's half that quad j belongs to, twice a lane, as int16. */
WEFT_INLINE __m256i sub_scale(bool packed, source s, int j, int half) {
    if (!packed)
        return load(s.u->sc[j / 4][8 * half]);
    __m256i both = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(s.lines.sc + 16 * half)));
    __m256i one = j < 4 ? _mm256_slli_epi32(both, 16) : _mm256_srli_epi32(both, 16);
    return _mm256_or_si256(one, j < 4 ? _mm256_srli_epi32(one, 16) : _mm256_slli_epi32(one, 16));
}

/* Adds quad j's products, of `n` rows of x and rows 8 h0 … 8 h1 - 1 of the panel, to int16 sums;
 * the last quad of a sum widens it and adds it to the dot product. */
WEFT_INLINE void quad_dots(weft_dtype dtype, bool packed, int n, int h0, int h1, source s, int j,
                           const int8_t *x, size_t ldx, __m256i sum[TILE][2],
                           __m256i dot[TILE][2]) {
    const int group = quads_a_sum(dtype);
    __m256i w[2], mag[2];
    WEFT_UNROLL for (int h = h0; h < h1; h++) {
        w[h] = packed ? packed_quad(dtype, s.lines, j, h) : load(s.u->w[j] + 32 * h);
        mag[h] = dtype == WEFT_Q8_0 ? _mm256_abs_epi8(w[h]) : w[h];
    }
    WEFT_UNROLL for (int c = 0; c < n; c++) {
        int32_t quad;
        memcpy(&quad, x + (size_t)c * ldx + 4 * j, 4);
        __m256i v = _mm256_set1_epi32(quad);
        WEFT_UNROLL for (int h = h0; h < h1; h++) {
            __m256i a = dtype == WEFT_Q8_0 ? _mm256_sign_epi8(v, w[h]) : v;
            a = _mm256_maddubs_epi16(mag[h], a);
            sum[c][h] = j % group == 0 ? a : _mm256_add_epi16(sum[c][h], a);
        }
    }
    if ((j + 1) % group)
        return;
    WEFT_UNROLL for (int h = h0; h < h1; h++) {
        __m256i by = dtype == WEFT_Q6_K ? sub_scale(packed, s, j, h) : _mm256_set1_epi16(1);
        WEFT_UNROLL for (int c = 0; c < n; c++) {
            __m256i wide = _mm256_madd_epi16(sum[c][h], by);
            dot[c][h] = j < group ? wide : _mm256_add_epi32(dot[c][h], wide);
        }
    }
}

/* Exact dot products of one block, before the offset. The quads are spelled out: in a loop around
 * loops not every compiler keeps the sums in registers. */
WEFT_INLINE void block_dots(weft_dtype dtype, bool packed, int n, int h0, int h1, source s,
                            const int8_t *x, size_t ldx, __m256i dot[TILE][2]) {
    __m256i sum[TILE][2];
    quad_dots(dtype, packed, n, h0, h1, s, 0, x, ldx, sum, dot);
    quad_dots(dtype, packed, n, h0, h1, s, 1, x, ldx, sum, dot);
    quad_dots(dtype, packed, n, h0, h1, s, 2, x, ldx, sum, dot);
    quad_dots(dtype, packed, n, h0, h1, s, 3, x, ldx, sum, dot);
    quad_dots(dtype, packed, n, h0, h1, s, 4, x, ldx, sum, dot);
    quad_dots(dtype, packed, n, h0, h1, s, 5, x, ldx, sum, dot);
    quad_dots(dtype, packed, n, h0, h1, s, 6, x, ldx, sum, dot);
    quad_dots(dtype, packed, n, h0, h1, s, 7, x, ldx, sum, dot);
}

/* The sums of both halves of a block of x as a pair of int16. */
WEFT_INLINE __m256i half_sums(const int8_t *x, int32_t sum) {
    __m128i bytes = _mm_xor_si128(_mm_loadu_si128((const __m128i *)x), _mm_set1_epi8(-128));
    __m128i sad = _mm_sad_epu8(bytes, _mm_setzero_si128());
    int32_t low = _mm_cvtsi128_si32(sad) + _mm_extract_epi32(sad, 2) - 16 * 128;
    return _mm256_set1_epi32((int32_t)(((uint32_t)low & 0xffff) | (uint32_t)(sum - low) << 16));
}

/* What the offset of the unsigned quants adds to the dot product. */
WEFT_INLINE __m256i offset_dot(weft_dtype dtype, bool packed, source s, int half, const int8_t *x,
                               int32_t sum) {
    if (dtype != WEFT_Q6_K)
        return _mm256_set1_epi32(weft_quant_offset(dtype) * sum);
    __m256i low = sub_scale(packed, s, 0, half), high = sub_scale(packed, s, 4, half);
    __m256i pair = _mm256_blend_epi16(low, high, 0xaa);
    return _mm256_slli_epi32(_mm256_madd_epi16(pair, half_sums(x, sum)), 5);
}

WEFT_INLINE __m256 half_floats(const uint16_t *p) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}

WEFT_INLINE __m256 byte_floats(const uint8_t *p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}

WEFT_INLINE __m256 negate(__m256 x) {
    return _mm256_xor_ps(x, _mm256_set1_ps(-0.0f));
}

/* d_w and -m_w of rows 8 half … 8 half + 7 in block k. */
WEFT_INLINE void block_scales(weft_dtype dtype, const void *panel, size_t k, int half, __m256 *d,
                              __m256 *m) {
    int r = 8 * half;
    *m = _mm256_setzero_ps();
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
        *d = _mm256_mul_ps(half_floats(p->d + r), byte_floats(p->sub[k % 8].sc + r));
        *m = negate(_mm256_mul_ps(half_floats(p->dmin + r), byte_floats(p->sub[k % 8].m + r)));
        break;
    }
    case WEFT_Q5_K: {
        const weft_panel_q5_k *p = (const weft_panel_q5_k *)panel + k / 8;
        *d = _mm256_mul_ps(half_floats(p->d + r), byte_floats(p->sub[k % 8].sc + r));
        *m = negate(_mm256_mul_ps(half_floats(p->dmin + r), byte_floats(p->sub[k % 8].m + r)));
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

/* One block's step of the chains of eight outputs. */
WEFT_INLINE __m256 block_add(weft_dtype dtype, __m256i dot, __m256i offset, __m256 d, __m256 m,
                             float d_x, int32_t sum, __m256 acc) {
    if (weft_quant_offset(dtype))
        dot = _mm256_sub_epi32(dot, offset);
    __m256 scale = _mm256_set1_ps(d_x);
    acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), _mm256_mul_ps(d, scale), acc);
    if (has_min(dtype))
        acc = _mm256_fmadd_ps(_mm256_mul_ps(m, scale), _mm256_set1_ps((float)sum), acc);
    return acc;
}

/* One row of x, straight from the packed bytes. */
WEFT_INLINE void vector(weft_dtype dtype, const uint8_t *panels, size_t bytes, size_t n_panels,
                        const weft_q8_rows *x, float *y) {
    for (size_t p = 0; p < n_panels; p++, panels += bytes) {
        __m256 acc[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
        for (size_t k = 0; k < x->n_cols / 32; k++) {
            const int8_t *q = x->q + 32 * k;
            source s = {.lines = packed_block(dtype, panels, k)};
            __m256i dot[TILE][2];
            block_dots(dtype, true, 1, 0, 2, s, q, 0, dot);
            WEFT_UNROLL for (int i = 0; i < 8; i++)
                _mm_prefetch((const char *)s.lines.q + 3072 + 64 * i, _MM_HINT_T0);
            WEFT_UNROLL for (int h = 0; h < 2; h++) {
                __m256 d, m;
                block_scales(dtype, panels, k, h, &d, &m);
                acc[h] = block_add(dtype, dot[0][h], offset_dot(dtype, true, s, h, q, x->sums[k]),
                                   d, m, x->d[k], x->sums[k], acc[h]);
            }
        }
        _mm256_storeu_ps(y + 16 * p, acc[0]);
        _mm256_storeu_ps(y + 16 * p + 8, acc[1]);
    }
}

WEFT_INLINE void unpack(weft_dtype dtype, const uint8_t *panel, size_t k, unpacked *u) {
    source s = {.lines = packed_block(dtype, panel, k)};
    WEFT_UNROLL for (int h = 0; h < 2; h++) {
        __m256 d, m;
        WEFT_UNROLL for (int j = 0; j < 8; j++)
            _mm256_storeu_si256((__m256i *)(u->w[j] + 32 * h), packed_quad(dtype, s.lines, j, h));
        block_scales(dtype, panel, k, h, &d, &m);
        _mm256_storeu_ps(u->d + 8 * h, d);
        _mm256_storeu_ps(u->m + 8 * h, m);
        if (dtype == WEFT_Q6_K) {
            _mm256_storeu_si256((__m256i *)u->sc[0][8 * h], sub_scale(true, s, 0, h));
            _mm256_storeu_si256((__m256i *)u->sc[1][8 * h], sub_scale(true, s, 4, h));
        }
    }
}

/* `n` rows of x from row t, blocks [begin, end) of one panel, which lie unpacked in u. */
WEFT_INLINE void tile(weft_dtype dtype, int n, const unpacked *u, size_t begin, size_t end,
                      const weft_q8_rows *x, size_t t, float *y, size_t ldy) {
    size_t n_blocks = x->n_cols / 32;
    __m256 acc[TILE][2];
    WEFT_UNROLL for (int c = 0; c < n; c++) WEFT_UNROLL for (int h = 0; h < 2; h++) acc[c][h] =
        begin ? _mm256_loadu_ps(y + (size_t)c * ldy + 8 * h) : _mm256_setzero_ps();
    for (size_t k = begin; k < end; k++, u++) {
        const int8_t *q = x->q + t * x->n_cols + 32 * k;
        source s = {.u = u};
        __m256i dot[TILE][2];
        if (quads_a_sum(dtype) < 4) { /* half of the rows at a time: fewer registers */
            block_dots(dtype, false, n, 0, 1, s, q, x->n_cols, dot);
            block_dots(dtype, false, n, 1, 2, s, q, x->n_cols, dot);
        } else {
            block_dots(dtype, false, n, 0, 2, s, q, x->n_cols, dot);
        }
        WEFT_UNROLL for (int c = 0; c < n; c++) {
            size_t i = (t + (size_t)c) * n_blocks + k;
            WEFT_UNROLL for (int h = 0; h < 2; h++) acc[c][h] =
                block_add(dtype, dot[c][h],
                          offset_dot(dtype, false, s, h, q + (size_t)c * x->n_cols, x->sums[i]),
                          _mm256_loadu_ps(u->d + 8 * h), _mm256_loadu_ps(u->m + 8 * h), x->d[i],
                          x->sums[i], acc[c][h]);
        }
    }
    WEFT_UNROLL for (int c = 0; c < n; c++) WEFT_UNROLL for (int h = 0; h < 2; h++)
        _mm256_storeu_ps(y + (size_t)c * ldy + 8 * h, acc[c][h]);
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
            if (t + 2 <= x->n) {
                tile(dtype, 2, u, begin, end, x, t, y + t * ldy, ldy);
                t += 2;
            }
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

void weft_kernel_panel_q8_avx2(weft_dtype dtype, const void *panels, size_t n_panels,
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
