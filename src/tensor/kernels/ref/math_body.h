/* exp, tanh, erf and the activations on 16 lanes, after a lanes_*.h header. The polynomials are
 * Chebyshev fits of our own, rounded to float32. Greatest errors against float64 over all of
 * float32, in units of the last place: exp 2, tanh 2; the activations are stated below and all of
 * it is asserted by tests/kernels/test_elementwise.c. Every function gives NaN for NaN and the
 * limit at infinity. */
#ifndef WEFT_KERNELS_MATH_BODY_H
#define WEFT_KERNELS_MATH_BODY_H

#include "tensor/kernels/lanes.h"

WEFT_INLINE v16f v16f_abs(v16f x) {
    return v16i_floats(v16i_and(v16f_bits(x), v16i_set1(0x7fffffff)));
}

/* The magnitude of a (not negative) with the sign of s. */
WEFT_INLINE v16f v16f_signed(v16f a, v16f s) {
    return v16i_floats(v16i_or(v16f_bits(a), v16i_and(v16f_bits(s), v16i_set1(INT32_MIN))));
}

/* Adding and subtracting 1.5 * 2^23 rounds to an integer, ties to even, for |x| < 2^22; the integer
 * itself stands in the low bits of the sum. */
#define WEFT_ROUND_MAGIC 12582912.0f

/* 2^n in two factors, so that results down to the last denormal are rounded once. */
WEFT_INLINE v16f v16f_ldexp(v16f p, v16i n) {
    v16i half = v16i_half(n), bias = v16i_set1(127);
    v16f f = v16i_floats(v16i_to_exponent(v16i_add(half, bias)));
    v16f g = v16i_floats(v16i_to_exponent(v16i_add(v16i_sub(n, half), bias)));
    return v16f_mul(v16f_mul(p, f), g);
}

/* e^x = 2^n e^r with |r| <= ln 2 / 2: e^r, and n. Outside of [-105, 90] the result is 0 or infinite
 * anyway. */
WEFT_INLINE v16f v16f_exp_parts(v16f x, v16i *power) {
    x = v16f_min(v16f_set1(90.0f), v16f_max(v16f_set1(-105.0f), x));
    v16f magic = v16f_set1(WEFT_ROUND_MAGIC);
    v16f t = v16f_fma(x, v16f_set1(0x1.715476p+0f), magic), n = v16f_sub(t, magic);
    v16f r = v16f_fma(n, v16f_set1(-0x1.62e43p-1f), x);
    r = v16f_fma(n, v16f_set1(0x1.05c61p-29f), r);
    v16f p = v16f_set1(0x1.6d1606p-10f);
    p = v16f_fma(p, r, v16f_set1(0x1.12106cp-7f));
    p = v16f_fma(p, r, v16f_set1(0x1.555516p-5f));
    p = v16f_fma(p, r, v16f_set1(0x1.5554d8p-3f));
    p = v16f_fma(p, r, v16f_set1(0.5f));
    p = v16f_fma(v16f_mul(r, r), p, r);
    *power = v16i_sub(v16f_bits(t), v16f_bits(magic));
    return v16f_add(p, v16f_set1(1.0f));
}

WEFT_INLINE v16f v16f_exp(v16f x) {
    v16i n;
    v16f p = v16f_exp_parts(x, &n);
    return v16f_ldexp(p, n);
}

/* The same bits without products that underflow, each of which takes a processor a hundred steps:
 * below -87.4 the result is a whole number of 2^-149, which adding 2^23 rounds; the number is its
 * bits. */
WEFT_INLINE v16f v16f_exp_low(v16f x) {
    const v16f low = v16f_set1(-87.4f), whole = v16f_set1(0x1p23f), zero = v16f_set1(0);
    v16i n, none = v16i_set1(0);
    v16f p = v16f_exp_parts(x, &n);
    v16i steps = v16i_sub(none, v16i_max(v16i_sub(none, n), v16i_set1(126))); /* at most -126 */
    v16f unit = v16i_floats(v16i_to_exponent(v16i_add(steps, v16i_set1(149 + 127))));
    v16f rounded = v16f_add(v16f_mul(p, unit), whole);
    v16f tiny = v16i_floats(v16i_sub(v16f_bits(rounded), v16f_bits(whole)));
    return v16f_if_less(x, low, tiny, v16f_ldexp(v16f_if_less(x, low, zero, p), n));
}

/* An odd polynomial near 0, 1 - 2 / (e^2x + 1) further out. */
WEFT_INLINE v16f v16f_tanh(v16f x) {
    v16f a = v16f_abs(x), z = v16f_mul(x, x), one = v16f_set1(1.0f);
    v16f p = v16f_set1(0x1.2c83c0p-9f);
    p = v16f_fma(p, z, v16f_set1(-0x1.116a16p-7f));
    p = v16f_fma(p, z, v16f_set1(0x1.64a976p-6f));
    p = v16f_fma(p, z, v16f_set1(-0x1.ba08c4p-5f));
    p = v16f_fma(p, z, v16f_set1(0x1.1110eap-3f));
    p = v16f_fma(p, z, v16f_set1(-0x1.555556p-2f));
    v16f near = v16f_fma(v16f_mul(p, z), a, a);
    v16f e = v16f_exp(v16f_add(a, a));
    v16f far = v16f_sub(one, v16f_div(v16f_set1(2.0f), v16f_add(e, one)));
    return v16f_signed(v16f_if_less(a, v16f_set1(0.625f), near, far), x);
}

/* An odd polynomial below 0.92, 1 - exp(-t^2 - g(t)) above; at 4 the result is 1. */
WEFT_INLINE v16f v16f_erf(v16f x) {
    v16f a = v16f_abs(x), z = v16f_mul(x, x);
    v16f p = v16f_set1(0x1.5d955cp-14f);
    p = v16f_fma(p, z, v16f_set1(-0x1.aa7e38p-11f));
    p = v16f_fma(p, z, v16f_set1(0x1.54cfb6p-8f));
    p = v16f_fma(p, z, v16f_set1(-0x1.b80f72p-6f));
    p = v16f_fma(p, z, v16f_set1(0x1.ce2e14p-4f));
    p = v16f_fma(p, z, v16f_set1(-0x1.812744p-2f));
    p = v16f_fma(p, z, v16f_set1(0x1.06eba8p-3f));
    v16f near = v16f_fma(p, a, a);
    v16f t = v16f_min(v16f_set1(4.0f), a);
    v16f g = v16f_set1(0x1.ba4232p-25f);
    g = v16f_fma(g, t, v16f_set1(-0x1.71badep-19f));
    g = v16f_fma(g, t, v16f_set1(0x1.da59180p-15f));
    g = v16f_fma(g, t, v16f_set1(-0x1.561df2p-11f));
    g = v16f_fma(g, t, v16f_set1(0x1.440082p-8f));
    g = v16f_fma(g, t, v16f_set1(-0x1.b74f5cp-6f));
    g = v16f_fma(g, t, v16f_set1(0x1.c51546p-4f));
    g = v16f_fma(g, t, v16f_set1(-0x1.79791ep-2f));
    g = v16f_fma(g, t, v16f_set1(0x1.2164f4p+0f));
    g = v16f_fma(g, t, v16f_set1(-0x1.7c870cp-12f));
    g = v16f_fma(t, t, g);
    v16f far = v16f_sub(v16f_set1(1.0f), v16f_exp(v16f_sub(v16f_set1(0.0f), g)));
    return v16f_signed(v16f_if_less(a, v16f_set1(0.92f), near, far), x);
}

/* x / (1 + e^-y), written so that neither sign of y loses digits; x is 0 where the other factor
 * vanishes, also at -infinity. */
WEFT_INLINE v16f v16f_times_sigmoid(v16f x, v16f y) {
    v16f e = v16f_exp(v16f_sub(v16f_set1(0.0f), v16f_abs(y))), one = v16f_set1(1.0f);
    v16f top = v16f_if_less(y, v16f_set1(0.0f), e, one);
    return v16f_div(v16f_mul(x, top), v16f_add(one, e));
}

/* x / (1 + e^-x). Within 4 units of the last place from -87 up; below, where e^x is a denormal,
 * within 1e-43. */
WEFT_INLINE v16f v16f_silu(v16f x) {
    x = v16f_max(v16f_set1(-150.0f), x);
    return v16f_times_sigmoid(x, x);
}

/* 1 / (1 + e^-x). */
WEFT_INLINE v16f v16f_sigmoid(v16f x) {
    return v16f_times_sigmoid(v16f_set1(1.0f), x);
}

/* ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|), and ln(1 + e) = 2 artanh(e / (2 + e)) as its series:
 * the argument is at most 1/3. Within 3e-7 max(1, |x|). */
WEFT_INLINE v16f v16f_softplus(v16f x) {
    v16f e = v16f_exp(v16f_sub(v16f_set1(0.0f), v16f_abs(x)));
    v16f s = v16f_div(e, v16f_add(v16f_set1(2.0f), e)), z = v16f_mul(s, s);
    v16f p = v16f_set1(2.0f / 15);
    p = v16f_fma(p, z, v16f_set1(2.0f / 13));
    p = v16f_fma(p, z, v16f_set1(2.0f / 11));
    p = v16f_fma(p, z, v16f_set1(2.0f / 9));
    p = v16f_fma(p, z, v16f_set1(2.0f / 7));
    p = v16f_fma(p, z, v16f_set1(2.0f / 5));
    p = v16f_fma(p, z, v16f_set1(2.0f / 3));
    p = v16f_fma(p, z, v16f_set1(2.0f));
    return v16f_fma(p, s, v16f_max(v16f_set1(0.0f), x));
}

/* 0.5 x (1 + tanh(u)) = x / (1 + e^-2u), u = sqrt(2 / pi) (x + 0.044715 x^3). Within
 * 3e-7 max(1, |x|). */
WEFT_INLINE v16f v16f_gelu_tanh(v16f x) {
    x = v16f_max(v16f_set1(-30.0f), x);
    v16f z = v16f_mul(x, x);
    v16f y = v16f_fma(z, v16f_set1(0.0713548162726f), v16f_set1(1.59576912161f));
    return v16f_times_sigmoid(x, v16f_mul(x, y));
}

/* 0.5 x (1 + erf(x / sqrt 2)). Within 3e-7 max(1, |x|). */
WEFT_INLINE v16f v16f_gelu_erf(v16f x) {
    x = v16f_max(v16f_set1(-30.0f), x);
    v16f e = v16f_erf(v16f_mul(x, v16f_set1(0.70710678118655f)));
    return v16f_mul(v16f_mul(x, v16f_set1(0.5f)), v16f_add(v16f_set1(1.0f), e));
}

#endif
