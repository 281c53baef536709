/* A chunk of positions for 32 queries with products of bfloat16 tiles, included behind
 * attn_products, which adds to y [rows, 32], or to zeros if `fresh`, x times w: x has 16 or 32
 * rows, tiles of 16 of them x_step elements apart, w two panels, w_step apart, both n_tiles along
 * the sum. Scores are turned, [positions, queries]: a lane is a query, so that greatest,
 * exponential and sum need no step across lanes, a query's mask is a comparison, and two rows of
 * probabilities are the pairs that the product with values wants. */
#ifndef WEFT_KERNELS_ATTENTION_BF16_BODY_H
#define WEFT_KERNELS_ATTENTION_BF16_BODY_H

#include <math.h>
#include "tensor/kernels/table.h"
#include "tensor/kernels/x86/bf16_pairs.h"
#include "tensor/kernels/x86/lanes_avx512.h"
#include "tensor/kernels/ref/math_body.h"

#define QUERIES WEFT_ATTN_BF16_QUERIES /* two panels of 16 */
#define LOG2_E 0x1.715476p+0f

static inline void score_products(const weft_attn_bf16 *a, const weft_attn_bf16_step *s) {
    size_t row = a->key_tiles * WEFT_BF16_TILE;
    for (size_t j = 0; j < s->n; j += 32)
        attn_products(s->keys + j / 16 * row, row, s->queries, row, a->key_tiles, 32, true,
                      a->scores + QUERIES * j);
}

/* acc += values times probabilities. */
static inline void value_products(const weft_attn_bf16 *a, const weft_attn_bf16_step *s) {
    for (size_t i = 0; i < a->dim_v16; i += 32)
        attn_products(s->values + i / 16 * a->values_step, a->values_step, a->probabilities,
                      s->n / 32 * WEFT_BF16_TILE, s->n / 32, a->dim_v16 - i < 32 ? 16 : 32, false,
                      s->acc + QUERIES * i);
}

/* What a query does not see is -inf. */
static inline void mask_scores(const weft_attn_bf16_step *s, float *scores, size_t lane) {
    __m512i low = _mm512_loadu_si512(s->low + lane), high = _mm512_loadu_si512(s->high + lane);
    for (size_t j = 0; j < s->n; j++, scores += QUERIES) {
        __m512i at = _mm512_set1_epi32(s->first + (int32_t)j);
        __mmask16 seen = _mm512_cmple_epi32_mask(low, at) & _mm512_cmple_epi32_mask(at, high);
        __m512 hidden = _mm512_set1_ps(-INFINITY);
        _mm512_storeu_ps(scores, _mm512_mask_loadu_ps(hidden, seen, scores));
    }
}

static inline void cap_scores(const weft_attn_bf16 *a, float *scores, size_t n) {
    v16f by = v16f_set1(a->scale), cap = v16f_set1(a->softcap);
    for (size_t j = 0; j < n; j++, scores += QUERIES) {
        v16f x = v16f_mul(v16f_load(scores), by);
        v16f_store(scores, v16f_mul(v16f_tanh(v16f_div(x, cap)), cap));
    }
}

static inline __m512 greatest(const float *scores, size_t n) {
    __m512 top[4];
    WEFT_UNROLL for (size_t i = 0; i < 4; i++) top[i] = _mm512_set1_ps(-INFINITY);
    for (size_t j = 0; j < n; j += 4, scores += 4 * QUERIES)
        WEFT_UNROLL for (size_t i = 0; i < 4; i++) top[i] =
            _mm512_max_ps(_mm512_loadu_ps(scores + i * QUERIES), top[i]); /* NaN: passed over */
    return _mm512_max_ps(_mm512_max_ps(top[0], top[1]), _mm512_max_ps(top[2], top[3]));
}

/* 2^x to 2^-18: a polynomial in x - floor(x), fit by Remez's algorithm. */
static inline __m512 short_exp2(__m512 x) {
    __m512 f = _mm512_reduce_ps(x, 9); /* downwards, quietly */
    __m512 p = _mm512_set1_ps(0x1.bb7cd4p-7f);
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0x1.aa13f0p-5f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0x1.ee798ap-3f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0x1.62d166p-1f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0x1.00002cp+0f));
    return _mm512_scalef_ps(p, x);
}

/* Two rows of scores become 16 pairs of probabilities e^(by * score - most). */
static inline __m512 probabilities(const float *scores, size_t n, float by, __m512 most,
                                   uint16_t *pairs) {
    __m512 scale = _mm512_set1_ps(by * LOG2_E), sums[2] = {_mm512_setzero_ps(), sums[0]};
    __m512 top = _mm512_mul_ps(most, _mm512_set1_ps(LOG2_E));
    for (size_t j = 0; j < n; j += 2, scores += 2 * QUERIES, pairs += 32) {
        __m512 e[2];
        WEFT_UNROLL for (size_t i = 0; i < 2; i++) {
            e[i] = short_exp2(_mm512_fmsub_ps(_mm512_loadu_ps(scores + i * QUERIES), scale, top));
            sums[i] = _mm512_add_ps(sums[i], e[i]);
        }
        _mm512_storeu_si512(pairs, bf16_pairs(e[0], e[1]));
    }
    return _mm512_add_ps(sums[0], sums[1]);
}

/* Probabilities of 16 queries, with their state's greatest score and sum; what the state's values
 * must be scaled by. */
static inline __m512 soften(const weft_attn_bf16 *a, const weft_attn_bf16_step *s, size_t lane) {
    float *scores = a->scores + lane, by = a->softcap > 0 ? 1 : a->scale;
    if (a->softcap > 0)
        cap_scores(a, scores, s->n);
    if (s->low != NULL)
        mask_scores(s, scores, lane);
    __m512 before = _mm512_loadu_ps(s->most + lane);
    __m512 most = _mm512_mul_ps(greatest(scores, s->n), _mm512_set1_ps(by));
    most = _mm512_max_ps(most, before);
    _mm512_storeu_ps(s->most + lane, most);
    __mmask16 none = _mm512_cmp_ps_mask(most, _mm512_set1_ps(-INFINITY), _CMP_EQ_OQ);
    most = _mm512_mask_mov_ps(most, none, _mm512_setzero_ps());
    __m512 sum = probabilities(scores, s->n, by, most,
                               a->probabilities + lane / 16 * (s->n / 32) * WEFT_BF16_TILE);
    __m512 factor = v16f_exp(_mm512_sub_ps(before, most));
    __m512 old = _mm512_loadu_ps(s->sum + lane);
    _mm512_storeu_ps(s->sum + lane, _mm512_fmadd_ps(old, factor, sum));
    return factor;
}

static inline void scale_values(const weft_attn_bf16 *a, float *acc, const __m512 factors[2]) {
    __m512 one = _mm512_set1_ps(1);
    if (_mm512_cmp_ps_mask(factors[0], one, _CMP_EQ_OQ) == 0xffff &&
        _mm512_cmp_ps_mask(factors[1], one, _CMP_EQ_OQ) == 0xffff)
        return;
    for (size_t i = 0; i < a->dim_v16; i++, acc += QUERIES)
        WEFT_UNROLL for (size_t p = 0; p < 2; p++) _mm512_storeu_ps(
            acc + 16 * p, _mm512_mul_ps(_mm512_loadu_ps(acc + 16 * p), factors[p]));
}

static inline void attn_bf16_body(const weft_attn_bf16 *a, const weft_attn_bf16_step *steps,
                                  size_t n_steps) {
    for (const weft_attn_bf16_step *s = steps; s < steps + n_steps; s++) {
        score_products(a, s);
        const __m512 factors[2] = {soften(a, s, 0), soften(a, s, 16)};
        scale_values(a, s->acc, factors);
        value_products(a, s);
    }
}

#endif
