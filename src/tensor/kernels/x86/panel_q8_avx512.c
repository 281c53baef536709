/* Quantised panels times int8 activations with dpbusd: unsigned weights times signed activations
 * into int32, four columns a step. Sixteen rows are a register, so a block is 8 registers of
 * weights. Q8_0 enters as q + 128. One row of x reads the packed bytes; several share them
 * unpacked. */
#include "tensor/kernels/x86/lanes_avx512.h"
#include "tensor/kernels/declare.h"
#include "tensor/kernels/ref/panel_q8_block.h"

/* Blocks of a panel that are unpacked at a time: 12 KiB. */
#define CHUNK 16
/* Rows of x that share a register of weights. */
#define TILE 8

typedef struct unpacked {
    _Alignas(64) uint8_t w[8][64]; /* quads of 16 rows: unsigned quants */
    float d[16], m[16];            /* d_w, and -m_w */
    int8_t sc[16][2];              /* Q6_K: the sub-scales of both halves of the block */
} unpacked;

/* Where the weights of a block come from: packed lines, or an unpacked block. */
typedef struct source {
    q8_lines lines;
    const unpacked *u;
} source;

WEFT_INLINE __m512i load(const void *p) {
    return _mm512_loadu_si512(p);
}

WEFT_INLINE int offset_of(weft_dtype dtype) {
    return dtype == WEFT_Q8_0 ? 128 : weft_quant_offset(dtype);
}

/* Shifts right, or left by -n. (Compilers differ on the sign of an immediate's type.) */
WEFT_INLINE __m512i shift16(__m512i v, int n) {
    switch (n) {
    case -4:
        return _mm512_slli_epi16(v, 4);
    case -3:
        return _mm512_slli_epi16(v, 3);
    case -2:
        return _mm512_slli_epi16(v, 2);
    case -1:
        return _mm512_slli_epi16(v, 1);
    case 1:
        return _mm512_srli_epi16(v, 1);
    case 2:
        return _mm512_srli_epi16(v, 2);
    case 3:
        return _mm512_srli_epi16(v, 3);
    case 4:
        return _mm512_srli_epi16(v, 4);
    default:
        return v;
    }
}

/* a | (b & mask) */
WEFT_INLINE __m512i or_masked(__m512i a, __m512i b, char mask) {
    return _mm512_ternarylogic_epi32(a, b, _mm512_set1_epi8(mask), 0xf8);
}

/* Quad j of the 16 rows, from packed lines. */
WEFT_INLINE __m512i packed_quad(weft_dtype dtype, q8_lines s, int j) {
    if (dtype == WEFT_Q8_0)
        return _mm512_xor_si512(load(s.q + 64 * j), _mm512_set1_epi8(-128));
    __m512i v = shift16(load(s.q + 64 * (j % 4)), j < 4 ? 0 : 4);
    v = _mm512_and_si512(v, _mm512_set1_epi8(15));
    if (five_bits(dtype))
        v = or_masked(v, shift16(load(s.h), j - 4), 16);
    else if (dtype == WEFT_Q6_K)
        v = or_masked(v, shift16(load(s.h + 64 * (j / 4)), 2 * (j % 4) - 4), 48);
    return v;
}

/* Q6_K's sub-scales as pairs of int16. */
WEFT_INLINE __m512i sub_scales(bool packed, source s) {
    const void *p = packed ? s.lines.sc : s.u->sc[0];
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)p));
}

/* Adds quad j's products to the sums of `n` rows of x; two chains for a single row, or where the
 * halves have their own scales. */
WEFT_INLINE void quad_dots(weft_dtype dtype, bool packed, int n, source s, int j, const int8_t *x,
                           size_t ldx, __m512i half[2][TILE]) {
    __m512i w = packed ? packed_quad(dtype, s.lines, j) : load(s.u->w[j]);
    int to = n == 1 || dtype == WEFT_Q6_K ? j / 4 : 0;
    WEFT_UNROLL for (int c = 0; c < n; c++) {
        int32_t quad;
        memcpy(&quad, x + (size_t)c * ldx + 4 * j, 4);
        half[to][c] = _mm512_dpbusd_epi32(half[to][c], w, _mm512_set1_epi32(quad));
    }
}

/* Exact dot products of one block, before the offset. The quads are spelled out: in a loop around
 * loops not every compiler keeps the sums in registers. */
WEFT_INLINE void block_dots(weft_dtype dtype, bool packed, int n, source s, const int8_t *x,
                            size_t ldx, __m512i dot[TILE]) {
    __m512i half[2][TILE];
    WEFT_UNROLL for (int c = 0; c < n; c++) half[0][c] = half[1][c] = _mm512_setzero_si512();
    quad_dots(dtype, packed, n, s, 0, x, ldx, half);
    quad_dots(dtype, packed, n, s, 1, x, ldx, half);
    quad_dots(dtype, packed, n, s, 2, x, ldx, half);
    quad_dots(dtype, packed, n, s, 3, x, ldx, half);
    quad_dots(dtype, packed, n, s, 4, x, ldx, half);
    quad_dots(dtype, packed, n, s, 5, x, ldx, half);
    quad_dots(dtype, packed, n, s, 6, x, ldx, half);
    quad_dots(dtype, packed, n, s, 7, x, ldx, half);
    if (dtype == WEFT_Q6_K) {
        __m512i both = sub_scales(packed, s);
        __m512i high = _mm512_srai_epi32(both, 16);
        __m512i low = _mm512_srai_epi32(_mm512_slli_epi32(both, 16), 16);
        WEFT_UNROLL for (int c = 0; c < n; c++) dot[c] = _mm512_add_epi32(
            _mm512_mullo_epi32(half[0][c], low), _mm512_mullo_epi32(half[1][c], high));
    } else {
        WEFT_UNROLL for (int c = 0; c < n; c++) dot[c] =
            n == 1 ? _mm512_add_epi32(half[0][c], half[1][c]) : half[0][c];
    }
}

/* The sums of both halves of a block of x as a pair of int16. */
WEFT_INLINE __m512i half_sums(const int8_t *x, int32_t sum) {
    __m128i bytes = _mm_xor_si128(_mm_loadu_si128((const __m128i *)x), _mm_set1_epi8(-128));
    __m128i sad = _mm_sad_epu8(bytes, _mm_setzero_si128());
    int32_t low = _mm_cvtsi128_si32(sad) + _mm_extract_epi32(sad, 2) - 16 * 128;
    return _mm512_set1_epi32((int32_t)(((uint32_t)low & 0xffff) | (uint32_t)(sum - low) << 16));
}

/* What the offset of the unsigned quants adds to the dot product. */
WEFT_INLINE __m512i offset_dot(weft_dtype dtype, bool packed, source s, const int8_t *x,
                               int32_t sum) {
    if (dtype != WEFT_Q6_K)
        return _mm512_set1_epi32(offset_of(dtype) * sum);
    return _mm512_slli_epi32(_mm512_madd_epi16(sub_scales(packed, s), half_sums(x, sum)), 5);
}

WEFT_INLINE __m512 byte_floats(const uint8_t *p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p)));
}

WEFT_INLINE __m512 negate(__m512 x) {
    return _mm512_xor_ps(x, _mm512_set1_ps(-0.0f));
}

/* d_w and -m_w of block k. */
WEFT_INLINE void block_scales(weft_dtype dtype, const void *panel, size_t k, __m512 *d, __m512 *m) {
    *m = _mm512_setzero_ps();
    switch (dtype) {
    case WEFT_Q4_0:
        *d = v16f_load_f16(((const weft_panel_q4_0 *)panel + k)->d);
        break;
    case WEFT_Q4_1:
        *d = v16f_load_f16(((const weft_panel_q4_1 *)panel + k)->d);
        *m = v16f_load_f16(((const weft_panel_q4_1 *)panel + k)->m);
        break;
    case WEFT_Q5_0:
        *d = v16f_load_f16(((const weft_panel_q5_0 *)panel + k)->d);
        break;
    case WEFT_Q5_1:
        *d = v16f_load_f16(((const weft_panel_q5_1 *)panel + k)->d);
        *m = v16f_load_f16(((const weft_panel_q5_1 *)panel + k)->m);
        break;
    case WEFT_Q4_K: {
        const weft_panel_q4_k *p = (const weft_panel_q4_k *)panel + k / 8;
        *d = _mm512_mul_ps(v16f_load_f16(p->d), byte_floats(p->sub[k % 8].sc));
        *m = negate(_mm512_mul_ps(v16f_load_f16(p->dmin), byte_floats(p->sub[k % 8].m)));
        break;
    }
    case WEFT_Q5_K: {
        const weft_panel_q5_k *p = (const weft_panel_q5_k *)panel + k / 8;
        *d = _mm512_mul_ps(v16f_load_f16(p->d), byte_floats(p->sub[k % 8].sc));
        *m = negate(_mm512_mul_ps(v16f_load_f16(p->dmin), byte_floats(p->sub[k % 8].m)));
        break;
    }
    case WEFT_Q6_K:
        *d = v16f_load_f16(((const weft_panel_q6_k *)panel + k / 8)->d);
        break;
    default:
        *d = v16f_load_f16(((const weft_panel_q8_0 *)panel + k)->d);
        break;
    }
}

/* One block's step of the chains of sixteen outputs. */
WEFT_INLINE __m512 block_add(weft_dtype dtype, __m512i dot, __m512i offset, __m512 d, __m512 m,
                             float d_x, int32_t sum, __m512 acc) {
    if (offset_of(dtype))
        dot = _mm512_sub_epi32(dot, offset);
    __m512 scale = _mm512_set1_ps(d_x);
    acc = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot), _mm512_mul_ps(d, scale), acc);
    if (has_min(dtype))
        acc = _mm512_fmadd_ps(_mm512_mul_ps(m, scale), _mm512_set1_ps((float)sum), acc);
    return acc;
}

/* One row of x, straight from the packed bytes. */
WEFT_INLINE void vector(weft_dtype dtype, const uint8_t *panels, size_t bytes, size_t n_panels,
                        const weft_q8_rows *x, float *y) {
    for (size_t p = 0; p < n_panels; p++, panels += bytes) {
        __m512 acc = _mm512_setzero_ps(), d, m;
        for (size_t k = 0; k < x->n_cols / 32; k++) {
            const int8_t *q = x->q + 32 * k;
            source s = {.lines = packed_block(dtype, panels, k)};
            __m512i dot[TILE];
            block_dots(dtype, true, 1, s, q, 0, dot);
            WEFT_UNROLL for (int i = 0; i < 8; i++)
                _mm_prefetch((const char *)s.lines.q + 3072 + 64 * i, _MM_HINT_T0);
            block_scales(dtype, panels, k, &d, &m);
            acc = block_add(dtype, dot[0], offset_dot(dtype, true, s, q, x->sums[k]), d, m, x->d[k],
                            x->sums[k], acc);
        }
        _mm512_storeu_ps(y + 16 * p, acc);
    }
}

WEFT_INLINE void unpack(weft_dtype dtype, const uint8_t *panel, size_t k, unpacked *u) {
    q8_lines s = packed_block(dtype, panel, k);
    __m512 d, m;
    WEFT_UNROLL for (int j = 0; j < 8; j++) _mm512_storeu_si512(u->w[j], packed_quad(dtype, s, j));
    block_scales(dtype, panel, k, &d, &m);
    _mm512_storeu_ps(u->d, d);
    _mm512_storeu_ps(u->m, m);
    if (dtype == WEFT_Q6_K)
        memcpy(u->sc, s.sc, sizeof u->sc);
}

/* `n` rows of x from row t, blocks [begin, end) of one panel, which lie unpacked in u. */
WEFT_INLINE void tile(weft_dtype dtype, int n, const unpacked *u, size_t begin, size_t end,
                      const weft_q8_rows *x, size_t t, float *y, size_t ldy) {
    size_t n_blocks = x->n_cols / 32;
    __m512 acc[TILE];
    WEFT_UNROLL for (int c = 0; c < n; c++) acc[c] =
        begin ? _mm512_loadu_ps(y + (size_t)c * ldy) : _mm512_setzero_ps();
    for (size_t k = begin; k < end; k++, u++) {
        const int8_t *q = x->q + t * x->n_cols + 32 * k;
        source s = {.u = u};
        __m512i dot[TILE];
        block_dots(dtype, false, n, s, q, x->n_cols, dot);
        __m512 d = _mm512_loadu_ps(u->d), m = _mm512_loadu_ps(u->m);
        WEFT_UNROLL for (int c = 0; c < n; c++) {
            size_t i = (t + (size_t)c) * n_blocks + k;
            __m512i offset = offset_dot(dtype, false, s, q + (size_t)c * x->n_cols, x->sums[i]);
            acc[c] = block_add(dtype, dot[c], offset, d, m, x->d[i], x->sums[i], acc[c]);
        }
    }
    WEFT_UNROLL for (int c = 0; c < n; c++) _mm512_storeu_ps(y + (size_t)c * ldy, acc[c]);
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
            if (t + 4 <= x->n) {
                tile(dtype, 4, u, begin, end, x, t, y + t * ldy, ldy);
                t += 4;
            }
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

void weft_kernel_panel_q8_avx512(weft_dtype dtype, const void *panels, size_t n_panels,
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
