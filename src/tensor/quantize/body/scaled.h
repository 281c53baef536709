/* Blocks of 32 with one f16 scale: Q4_0, Q5_0, Q8_0, IQ4_NL; and ternary ones of 256: TQ1_0, TQ2_0.
 */
#ifndef WEFT_QUANTIZE_SCALED_H
#define WEFT_QUANTIZE_SCALED_H

#include "tensor/quantize/body/fit.h"

/* The non-linear levels of IQ4_NL and IQ4_XS, and the middles between them. */
static const fit_levels levels_iq4 = {
    .n = 16,
    .level = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113},
    .middle = {-115.5f, -93.5f, -74, -57, -42, -28.5f, -16, -4.5f, 7, 19, 31.5f, 45.5f, 61, 79,
               101}};

/* The best scale that an f16 can hold: around the best real one. */
FIT_INLINE float scaled_half(const fit_levels *l, int n_levels, const fit_range *range,
                             const float *x, const float *w, size_t n) {
    fit_scale f = fit_scale_search(l, n_levels, range, x, w, n);
    float a = fit_half(f.a), best = a, error = INFINITY;
    float ulp = fabsf(a) * 0x1p-10f;
    for (int k = -1; k <= 1; k++) {
        fit_scale g = fit_scale_at(l, n_levels, x, w, n, fit_half(a + ulp * (float)k));
        if (g.error < error) {
            error = g.error;
            best = g.a;
        }
    }
    return best;
}

/* Nibbles of 32 codes: 0 … 15 in the low ones, 16 … 31 in the high ones. */
FIT_INLINE void put_nibbles(const uint8_t *q, uint8_t *out) {
    for (int i = 0; i < 16; i++)
        out[i] = (uint8_t)((q[i] & 15) | (q[i + 16] & 15) << 4);
}

/* The fifth bits of 32 codes. */
FIT_INLINE void put_fifth_bits(const uint8_t *q, uint8_t *out) {
    memset(out, 0, 4);
    for (int i = 0; i < 32; i++)
        out[i / 8] = (uint8_t)(out[i / 8] | (q[i] >> 4 & 1) << (i % 8));
}

static void quantize_q4_0(const float *x, const float *w, uint8_t *out) {
    static const fit_levels levels = {.low = -8, .high = 7};
    static const fit_range range = {6.4f, 0.2f, 19, true};
    float a = scaled_half(&levels, 0, &range, x, w, 32), inverse = fit_inverse(a);
    uint8_t q[32];
    for (int i = 0; i < 32; i++)
        q[i] = (uint8_t)(fit_round(x[i] * inverse, -8, 7) + 8);
    fit_put_half(a, out);
    put_nibbles(q, out + 2);
}

static void quantize_q5_0(const float *x, const float *w, uint8_t *out) {
    static const fit_levels levels = {.low = -16, .high = 15};
    static const fit_range range = {13.8f, 0.25f, 19, true};
    float a = scaled_half(&levels, 0, &range, x, w, 32), inverse = fit_inverse(a);
    uint8_t q[32];
    for (int i = 0; i < 32; i++)
        q[i] = (uint8_t)(fit_round(x[i] * inverse, -16, 15) + 16);
    fit_put_half(a, out);
    put_fifth_bits(q, out + 2);
    put_nibbles(q, out + 6);
}

static void quantize_q8_0(const float *x, const float *w, uint8_t *out) {
    static const fit_levels levels = {.low = -127, .high = 127};
    static const fit_range range = {125.8f, 0.2f, 12, false};
    float a = scaled_half(&levels, 0, &range, x, w, 32), inverse = fit_inverse(a);
    fit_put_half(a, out);
    for (int i = 0; i < 32; i++)
        out[2 + i] = (uint8_t)(int8_t)fit_round(x[i] * inverse, -127, 127);
}

/* The codes of the levels nearest to x·inverse. */
FIT_INLINE void nearest_codes(const fit_levels *l, int n_levels, const float *x, float inverse,
                              int n, uint8_t *q) {
    for (int i = 0; i < n; i++) {
        int code = 0;
        for (int k = 0; k < n_levels - 1; k++)
            code += x[i] * inverse > l->middle[k];
        q[i] = (uint8_t)code;
    }
}

static const fit_range range_iq4 = {98, 3, 21, true};

static void quantize_iq4_nl(const float *x, const float *w, uint8_t *out) {
    float a = scaled_half(&levels_iq4, 16, &range_iq4, x, w, 32);
    uint8_t q[32];
    nearest_codes(&levels_iq4, 16, x, fit_inverse(a), 32, q);
    fit_put_half(a, out);
    put_nibbles(q, out + 2);
}

/* ---- Ternary ---- */

FIT_INLINE float ternary(const float *x, const float *w, uint8_t q[256]) {
    static const fit_levels levels = {.low = -1, .high = 1};
    static const fit_range range = {1, 0.1f, 40, false};
    float a = scaled_half(&levels, 0, &range, x, w, 256), inverse = fit_inverse(a);
    for (int i = 0; i < 256; i++)
        q[i] = (uint8_t)(fit_round(x[i] * inverse, -1, 1) + 1);
    return a;
}

/* Five digits in base 3 as the fraction byte / 256, rounded up: digit n comes out in front of the
 * point when the byte is multiplied by 3^(n + 1). */
FIT_INLINE uint8_t put_digits(const uint8_t *q, size_t step, int n) {
    unsigned v = 0;
    for (int i = 0; i < 5; i++)
        v = v * 3 + (i < n ? q[(size_t)i * step] : 0);
    return (uint8_t)((v * 256 + 242) / 243);
}

static void quantize_tq1_0(const float *x, const float *w, uint8_t *out) {
    uint8_t q[256];
    fit_put_half(ternary(x, w, q), out + 52);
    for (size_t i = 0; i < 32; i++)
        out[i] = put_digits(q + i, 32, 5);
    for (size_t i = 0; i < 16; i++)
        out[32 + i] = put_digits(q + 160 + i, 16, 5);
    for (size_t i = 0; i < 4; i++)
        out[48 + i] = put_digits(q + 240 + i, 4, 4);
}

/* Two bits of 256 codes: a byte has columns 32 apart. */
FIT_INLINE void put_pairs(const uint8_t *q, uint8_t *out) {
    for (size_t i = 0; i < 64; i++) {
        const uint8_t *p = q + i / 32 * 128 + i % 32;
        out[i] = (uint8_t)((p[0] & 3) | (p[32] & 3) << 2 | (p[64] & 3) << 4 | (p[96] & 3) << 6);
    }
}

static void quantize_tq2_0(const float *x, const float *w, uint8_t *out) {
    uint8_t q[256];
    fit_put_half(ternary(x, w, q), out + 64);
    put_pairs(q, out);
}

#endif
