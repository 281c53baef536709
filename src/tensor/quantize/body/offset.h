/* Blocks of 32 with an f16 scale and an f16 minimum: Q4_1, Q5_1. */
#ifndef WEFT_QUANTIZE_OFFSET_H
#define WEFT_QUANTIZE_OFFSET_H

#include "tensor/quantize/body/scaled.h"

/* Scale and minimum as f16: around the best real scale, the best minimum for each. */
FIT_INLINE fit_line offset_halves(float top, const fit_range *range, const float *x,
                                  const float *w) {
    fit_sums s = fit_sums_of(x, w, 32);
    fit_line f = fit_line_search(top, range, false, s, x, w, 32), best = {.error = INFINITY};
    float a0 = fit_half(f.a), ulp = fabsf(a0) * 0x1p-10f;
    for (int k = -2; k <= 2; k++) {
        float a = fit_half(a0 + ulp * (float)k), b = fit_half(f.b);
        for (int turn = 0; turn < 3; turn++) {
            fit_line g = fit_line_at(top, x, w, 32, a, b);
            if (g.error < best.error)
                best = g;
            float next = fit_half((s.wx - a * g.wq) / s.w);
            if (next == b)
                break;
            b = next;
        }
    }
    return best;
}

FIT_INLINE void offset_codes(const fit_line *f, float top, const float *x, uint8_t q[32]) {
    float inverse = fit_inverse(f->a);
    for (int i = 0; i < 32; i++)
        q[i] = (uint8_t)fit_round((x[i] - f->b) * inverse, 0, top);
}

static void quantize_q4_1(const float *x, const float *w, uint8_t *out) {
    static const fit_range range = {-1, 0.125f, 26, false};
    fit_line f = offset_halves(15, &range, x, w);
    uint8_t q[32];
    offset_codes(&f, 15, x, q);
    fit_put_half(f.a, out);
    fit_put_half(f.b, out + 2);
    put_nibbles(q, out + 4);
}

static void quantize_q5_1(const float *x, const float *w, uint8_t *out) {
    static const fit_range range = {-1, 0.15f, 26, false};
    fit_line f = offset_halves(31, &range, x, w);
    uint8_t q[32];
    offset_codes(&f, 31, x, q);
    fit_put_half(f.a, out);
    fit_put_half(f.b, out + 2);
    put_fifth_bits(q, out + 4);
    put_nibbles(q, out + 8);
}

#endif
