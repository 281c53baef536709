/* Attention of long steps with dpbf16ps, and what lays out its operands for AMX as well. */
#include <immintrin.h>
#include <string.h>
#include "tensor/kernels/declare.h"
#include "tensor/kernels/lanes.h"

#define ROWS 8 /* of x that share both panels' registers */

WEFT_INLINE void some_rows(const uint16_t *x, const uint16_t *w, size_t w_step, size_t n_tiles,
                           bool fresh, float *y) {
    __m512 acc[ROWS][2];
    WEFT_UNROLL for (size_t r = 0; r < ROWS; r++) WEFT_UNROLL for (size_t p = 0; p < 2; p++)
        acc[r][p] =
            fresh ? _mm512_setzero_ps() : _mm512_loadu_ps(y + r * WEFT_ATTN_BF16_QUERIES + 16 * p);
    for (size_t t = 0; t < n_tiles; t++, x += WEFT_BF16_TILE)
        for (size_t pair = 0; pair < 16; pair++, w += 32) {
            __m512bh low = (__m512bh)_mm512_loadu_si512(w);
            __m512bh high = (__m512bh)_mm512_loadu_si512(w + w_step);
            WEFT_UNROLL for (size_t r = 0; r < ROWS; r++) {
                int32_t both;
                memcpy(&both, x + 32 * r + 2 * pair, 4);
                __m512bh of = (__m512bh)_mm512_set1_epi32(both);
                acc[r][0] = _mm512_dpbf16_ps(acc[r][0], low, of);
                acc[r][1] = _mm512_dpbf16_ps(acc[r][1], high, of);
            }
        }
    WEFT_UNROLL for (size_t r = 0; r < ROWS; r++) WEFT_UNROLL for (size_t p = 0; p < 2; p++)
        _mm512_storeu_ps(y + r * WEFT_ATTN_BF16_QUERIES + 16 * p, acc[r][p]);
}

static inline void attn_products(const uint16_t *x, size_t x_step, const uint16_t *w, size_t w_step,
                                 size_t n_tiles, size_t rows, bool fresh, float *y) {
    for (size_t r = 0; r < rows; r += ROWS)
        some_rows(x + r / 16 * x_step + r % 16 * 32, w, w_step, n_tiles, fresh,
                  y + r * WEFT_ATTN_BF16_QUERIES);
}

#include "tensor/kernels/x86/attention_bf16_body.h"

#undef QUERIES
#include "tensor/kernels/ref/attention_body.h"

void weft_kernel_attn_bf16_avx512(const weft_attn_bf16 *a, const weft_attn_bf16_step *steps,
                                  size_t n_steps) {
    attn_bf16_body(a, steps, n_steps);
}

/* 16 elements from element i on of a row, zeros behind the last one; of no row: zeros. */
WEFT_INLINE v16f row_at(weft_dtype dtype, const void *row, size_t i, size_t dim) {
    if (row == NULL || i >= dim)
        return v16f_set1(0);
    return cache_load(dtype, row, i, dim - i < WEFT_LANES ? dim - i : WEFT_LANES);
}

typedef struct row_parts {
    __m512i rounded, rest, finite; /* finite: rounded, but zeros where it is not finite */
} row_parts;

WEFT_INLINE __m512 widened(__m256i x) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
}

/* Elements [i, i + 32) of a row. */
WEFT_INLINE row_parts parts_of(weft_dtype dtype, const void *row, size_t i, size_t dim) {
    const __m512 infinite = _mm512_set1_ps(INFINITY);
    __m512 low = row_at(dtype, row, i, dim), high = row_at(dtype, row, i + 16, dim);
    row_parts p = {.rounded = (__m512i)_mm512_cvtne2ps_pbh(high, low)};
    low = _mm512_sub_ps(low, widened(_mm512_castsi512_si256(p.rounded)));
    high = _mm512_sub_ps(high, widened(_mm512_extracti64x4_epi64(p.rounded, 1)));
    __mmask16 low_is = _mm512_cmp_ps_mask(_mm512_abs_ps(low), infinite, _CMP_LT_OQ);
    __mmask16 high_is = _mm512_cmp_ps_mask(_mm512_abs_ps(high), infinite, _CMP_LT_OQ);
    p.rest = (__m512i)_mm512_cvtne2ps_pbh(_mm512_maskz_mov_ps(high_is, high),
                                          _mm512_maskz_mov_ps(low_is, low));
    p.finite = _mm512_maskz_mov_epi16(_mm512_kunpackw(high_is, low_is), p.rounded);
    return p;
}

WEFT_INLINE void keys_of(weft_dtype dtype, const void *const *rows, size_t dim, uint16_t *tiles) {
    for (size_t i = 0; i < dim; i += 32, tiles += WEFT_ATTN_BF16_PARTS * WEFT_BF16_TILE)
        for (size_t r = 0; r < 16; r++) {
            row_parts p = parts_of(dtype, rows[r], i, dim);
            _mm512_storeu_si512(tiles + 32 * r, p.rounded);
            /* An infinite key times a query's rest would be NaN. */
            _mm512_storeu_si512(tiles + WEFT_BF16_TILE + 32 * r, p.finite);
            _mm512_storeu_si512(tiles + 2 * WEFT_BF16_TILE + 32 * r, p.rest);
        }
}

void weft_kernel_attn_bf16_keys_avx512(weft_dtype dtype, const void *const *rows, size_t dim,
                                       uint16_t *tiles) {
    if (dtype == WEFT_F16)
        keys_of(WEFT_F16, rows, dim, tiles);
    else if (dtype == WEFT_BF16)
        keys_of(WEFT_BF16, rows, dim, tiles);
    else if (dtype == WEFT_Q8_0)
        keys_of(WEFT_Q8_0, rows, dim, tiles);
    else
        keys_of(WEFT_F32, rows, dim, tiles);
}

void weft_kernel_attn_bf16_queries_avx512(const void *const *rows, size_t dim, uint16_t *tiles) {
    for (size_t i = 0; i < dim; i += 32, tiles += WEFT_ATTN_BF16_PARTS * WEFT_BF16_TILE) {
        v16f rounded[16], rest[16];
        WEFT_UNROLL for (size_t r = 0; r < 16; r++) {
            row_parts p = parts_of(WEFT_F32, rows[r], i, dim);
            rounded[r] = _mm512_castsi512_ps(p.rounded);
            rest[r] = _mm512_castsi512_ps(p.rest);
        }
        v16f_transpose(rounded);
        v16f_transpose(rest);
        WEFT_UNROLL for (size_t p = 0; p < 16; p++) {
            _mm512_storeu_ps(tiles + 32 * p, rounded[p]);
            _mm512_storeu_ps(tiles + WEFT_BF16_TILE + 32 * p, rest[p]);
            _mm512_storeu_ps(tiles + 2 * WEFT_BF16_TILE + 32 * p, rounded[p]);
        }
    }
}

WEFT_INLINE bool values_of(weft_dtype dtype, const void *const *rows, size_t dim, size_t step,
                           uint16_t *tiles) {
    const __m512i magnitude = _mm512_set1_epi16(0x7fff), infinite = _mm512_set1_epi16(0x7f80);
    __m512i most = _mm512_setzero_si512();
    for (size_t i = 0; i < dim; i += 16, tiles += step) {
        v16f r[16];
        WEFT_UNROLL for (size_t p = 0; p < 16; p++) {
            __m512i pairs = bf16_pairs(row_at(dtype, rows[2 * p], i, dim),
                                       row_at(dtype, rows[2 * p + 1], i, dim));
            most = _mm512_max_epu16(most, _mm512_and_si512(pairs, magnitude));
            r[p] = _mm512_castsi512_ps(pairs);
        }
        v16f_transpose(r);
        WEFT_UNROLL for (size_t e = 0; e < 16; e++)
            _mm512_storeu_si512(tiles + 32 * e, _mm512_castps_si512(r[e]));
    }
    return _mm512_cmpge_epu16_mask(most, infinite) == 0;
}

bool weft_kernel_attn_bf16_values_avx512(weft_dtype dtype, const void *const *rows, size_t dim,
                                         size_t step, uint16_t *tiles) {
    if (dtype == WEFT_F16)
        return values_of(WEFT_F16, rows, dim, step, tiles);
    if (dtype == WEFT_BF16)
        return values_of(WEFT_BF16, rows, dim, step, tiles);
    if (dtype == WEFT_Q8_0)
        return values_of(WEFT_Q8_0, rows, dim, step, tiles);
    return values_of(WEFT_F32, rows, dim, step, tiles);
}

void weft_kernel_attn_bf16_end_avx512(const float *acc, size_t dim, const float *factors,
                                      float *const *rows) {
    for (size_t lane = 0; lane < WEFT_ATTN_BF16_QUERIES; lane += 16) {
        __m512 by = _mm512_loadu_ps(factors + lane);
        for (size_t i = 0; i < dim; i += 16) {
            const float *from = acc + i * WEFT_ATTN_BF16_QUERIES + lane;
            size_t part = dim - i < 16 ? dim - i : 16;
            v16f r[16];
            WEFT_UNROLL for (size_t e = 0; e < 16; e++) r[e] =
                _mm512_mul_ps(_mm512_loadu_ps(from + e * WEFT_ATTN_BF16_QUERIES), by);
            v16f_transpose(r);
            WEFT_UNROLL for (size_t q = 0; q < 16; q++) if (rows[lane + q] != NULL)
                _mm512_mask_storeu_ps(rows[lane + q] + i, (__mmask16)((1u << part) - 1), r[q]);
        }
    }
}
