/* Functions of float in plain C that the compiler turns into vectors, each variant's file for its
 * own instructions: one operation after the other, fma where it says fmaf, so that all give the
 * same bits. The polynomials are Chebyshev fits of our own. Greatest errors over all of float32, in
 * units of the last place: log 0.8, log1p 1.5, expm1 1.5, sin and cos 1.6, pow 0.6. The functions
 * on 16 lanes are in math_body.h. */
#ifndef WEFT_KERNELS_MATH32_H
#define WEFT_KERNELS_MATH32_H

#include <stdbool.h>
#include "base/floats.h"
#include "tensor/kernels/ref/math64.h"

/* log(1 + f) + e ln 2 for f in [sqrt 1/2 - 1, sqrt 2 - 1]. */
static inline float weft_log32_of(float f, float e) {
    float z = f * f, p = 0x1.1d8ea6p-4f;
    p = fmaf(p, f, -0x1.d635bcp-4f);
    p = fmaf(p, f, 0x1.dea282p-4f);
    p = fmaf(p, f, -0x1.fcf4c6p-4f);
    p = fmaf(p, f, 0x1.23d21ap-3f);
    p = fmaf(p, f, -0x1.555b4ap-3f);
    p = fmaf(p, f, 0x1.999d5ap-3f);
    p = fmaf(p, f, -0x1.fffffcp-3f);
    p = fmaf(p, f, 0x1.555554p-2f);
    float r = fmaf(f * z, p, e * -0x1.bd0106p-13f); /* ln 2 = 0x1.63p-1 - 0x1.bd0106p-13 */
    r = fmaf(-0.5f, z, r);
    return fmaf(e, 0x1.63p-1f, f + r);
}

static inline float weft_log32(float x) {
    bool tiny = x < 0x1p-126f;
    uint32_t v = weft_bits_of(tiny ? x * 0x1p23f : x) - 0x3f3504f3u;
    float e = (float)((int32_t)v >> 23) - (tiny ? 23.0f : 0.0f);
    float m = weft_float_of((v & 0x7fffffu) + 0x3f3504f3u);
    float y = weft_log32_of(m - 1, e);
    y = x < INFINITY ? y : x; /* NaN as well */
    y = x == 0 ? -INFINITY : y;
    return x < 0 ? NAN : y;
}

static inline float weft_log1p_32(float x) {
    float u = 1 + x, c = x > 1 ? 1 - (u - x) : x - (u - 1);
    uint32_t v = weft_bits_of(u) - 0x3f3504f3u;
    int32_t e = (int32_t)v >> 23;
    float m = weft_float_of((v & 0x7fffffu) + 0x3f3504f3u);
    float back = weft_float_of((uint32_t)(127 - e) << 23);
    float y = weft_log32_of(fmaf(c, e < 127 ? back : 0.0f, m - 1), (float)e);
    y = x < INFINITY ? y : x;
    y = x == 0 ? x : y;
    y = x == -1 ? -INFINITY : y;
    return x < -1 ? NAN : y;
}

static inline float weft_expm1_32(float x) {
    float a = x < -18 ? -18.0f : x > 89 ? 89.0f : x;
    float t = fmaf(a, 0x1.715476p+0f, 12582912.0f), n = t - 12582912.0f;
    float r = fmaf(n, -0x1.62e43p-1f, a);
    r = fmaf(n, 0x1.05c61p-29f, r);
    float p = 0x1.a12a42p-13f;
    p = fmaf(p, r, 0x1.6d4920p-10f);
    p = fmaf(p, r, 0x1.1110e0p-7f);
    p = fmaf(p, r, 0x1.5554e4p-5f);
    p = fmaf(p, r, 0x1.555556p-3f);
    p = fmaf(p, r, 0.5f);
    p = fmaf(r * r, p, r);
    uint32_t i = weft_bits_of(t) - weft_bits_of(12582912.0f);
    float s = weft_float_of((i + 126u) << 23); /* half of the power: that of 89 is finite */
    float y = fmaf(p, s, s - 0.5f) * 2;
    return x == 0 || x != x ? x : y;
}

/* sin(x + turns pi/2) for |x| < 2^20; the argument is reduced in double. */
static inline float weft_sin32_near(float x, uint32_t turns) {
    double w = (double)x, t = fma(w, 0x1.45f306dc9c883p-1, WEFT_ROUND64), j = t - WEFT_ROUND64;
    double r = fma(-j, 0x1.1a62633145c07p-54, fma(-j, 0x1.921fb54442d18p+0, w));
    uint32_t q = (uint32_t)weft_bits64(t) + turns;
    float f = (float)r, z = f * f;
    float s = 0x1.6db388p-19f, c = -0x1.251d4ap-22f;
    s = fmaf(s, z, -0x1.a01388p-13f);
    s = fmaf(s, z, 0x1.11110ep-7f);
    s = fmaf(s, z, -0x1.555556p-3f);
    s = fmaf(f * z, s, f);
    c = fmaf(c, z, 0x1.a015aep-16f);
    c = fmaf(c, z, -0x1.6c16c0p-10f);
    c = fmaf(c, z, 0x1.555556p-5f);
    c = fmaf(z * z, c, fmaf(-0.5f, z, 1.0f));
    float y = q & 1u ? c : s;
    return weft_float_of(weft_bits_of(y) ^ (q & 2u) << 30);
}

/* In double throughout; rounded once. */
static inline float weft_pow32(float x, float y) {
    double l = weft_log64(fabs((double)x)) * (double)y;
    return (float)weft_pow_signs((double)x, (double)y, l != l ? 1 : weft_exp64(l));
}

#endif
