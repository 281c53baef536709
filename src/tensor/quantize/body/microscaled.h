/* 4-bit floats (e2m1) under small float scales: MXFP4 (32 under a power of two, E8M0) and NVFP4
 * (16 under an unsigned e4m3). The OCP Microscaling specification has both elements. */
#ifndef WEFT_QUANTIZE_MICROSCALED_H
#define WEFT_QUANTIZE_MICROSCALED_H

#include "tensor/quantize/body/scaled.h"

/* Doubled, so that they are integers; the scales are halved instead. */
static const fit_levels levels_e2m1 = {
    .n = 15,
    .level = {-12, -8, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8, 12},
    .middle = {-10, -7, -5, -3.5f, -2.5f, -1.5f, -0.5f, 0.5f, 1.5f, 2.5f, 3.5f, 5, 7, 10}};

/* The file's code of level k of the table. */
FIT_INLINE uint8_t e2m1_code(uint8_t k) {
    return (uint8_t)(k < 7 ? 8 + 7 - k : k - 7);
}

FIT_INLINE void e2m1_codes(const float *x, float a, int n, uint8_t *q) {
    nearest_codes(&levels_e2m1, 15, x, fit_inverse(a), n, q);
    for (int i = 0; i < n; i++)
        q[i] = e2m1_code(q[i]);
}

/* 2^(e - 127), halved. */
FIT_INLINE float mxfp4_scale(int e) {
    return weft_float_of(e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23);
}

static void quantize_mxfp4(const float *x, const float *w, uint8_t *out) {
    float most = fit_largest(x, 32), error = INFINITY;
    int exponent, best = 0;
    (void)frexpf(most / 12, &exponent); /* most / 12 in [2^(exponent - 1), 2^exponent) */
    for (int k = -2; k <= 1 && most > 0; k++) {
        int e = exponent + k + 128;
        if (e < 0 || e > 254)
            continue;
        fit_scale f = fit_scale_at(&levels_e2m1, 15, x, w, 32, mxfp4_scale(e));
        if (f.error < error) {
            error = f.error;
            best = e;
        }
    }
    uint8_t q[32];
    e2m1_codes(x, mxfp4_scale(best), 32, q);
    out[0] = (uint8_t)best;
    put_nibbles(q, out + 1);
}

/* As an f16 of the same fields, an e4m3 is 256 times too small; halved. */
FIT_INLINE float nvfp4_scale(unsigned u) {
    return weft_f16_to_f32((uint16_t)(u << 7)) * 128;
}

static void quantize_nvfp4(const float *x, const float *w, uint8_t *out) {
    for (size_t j = 0; j < 4; j++) {
        const float *xs = x + 16 * j, *ws = w + 16 * j;
        float most = fit_largest(xs, 16), error = INFINITY;
        unsigned near = weft_f32_to_f16(most / 12 / 128) >> 7, best = 0;
        near = near > 126 ? 126 : near;
        for (unsigned u = near > 6 ? near - 6 : 0; u <= near + 4 && u <= 126; u++) {
            fit_scale f = fit_scale_at(&levels_e2m1, 15, xs, ws, 16, nvfp4_scale(u));
            if (f.error < error) {
                error = f.error;
                best = u;
            }
        }
        uint8_t q[16];
        e2m1_codes(xs, nvfp4_scale(best), 16, q);
        out[j] = (uint8_t)best;
        for (size_t i = 0; i < 8; i++)
            out[4 + 8 * j + i] = (uint8_t)(q[i] | q[i + 8] << 4);
    }
}

#endif
