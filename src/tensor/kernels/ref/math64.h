/* Functions of double, by the four operations, sqrt and fma only: the same bits on every machine.
 * Greatest errors seen against a multiple-precision reference, in units of the last place: exp 1,
 * expm1 2, log 1, log1p 1, sin and cos 1 (any argument), tanh 3, erf 4, sigmoid 2, pow 4. */
#ifndef WEFT_KERNELS_MATH64_H
#define WEFT_KERNELS_MATH64_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t weft_bits64(double x) {
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
static inline double weft_double_of(uint64_t u) {
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Adding and subtracting 1.5 * 2^52 rounds to an integer; its low bits stand in the sum. */
#define WEFT_ROUND64 0x1.8p52
#define WEFT_LN2_HIGH 0x1.62e42fee00000p-1 /* 32 bits: products with exponents are exact */
#define WEFT_LN2_LOW 0x1.a39ef35793c76p-33

/* 2^n for n in [-1022, 1023]. */
static inline double weft_exp2_64(int64_t n) {
    return weft_double_of((uint64_t)(n + 1023) << 52);
}

/* (e^r - 1 - r) / r^2 for |r| <= 0.3466: the series. */
static inline double weft_exp_tail(double r) {
    static const double c[] = {1.0 / 87178291200,
                               1.0 / 6227020800,
                               1.0 / 479001600,
                               1.0 / 39916800,
                               1.0 / 3628800,
                               1.0 / 362880,
                               1.0 / 40320,
                               1.0 / 5040,
                               1.0 / 720,
                               1.0 / 120,
                               1.0 / 24,
                               1.0 / 6,
                               0.5};
    double p = c[0];
    for (int i = 1; i < 13; i++)
        p = fma(p, r, c[i]);
    return p;
}

static inline double weft_exp64(double x) {
    double a = x < -746 ? -746 : x > 710 ? 710 : x; /* NaN stays */
    double t = fma(a, 0x1.71547652b82fep+0, WEFT_ROUND64), n = t - WEFT_ROUND64;
    double r = fma(n, -WEFT_LN2_HIGH, a);
    r = fma(n, -WEFT_LN2_LOW, r);
    double p = 1 + fma(r * r, weft_exp_tail(r), r);
    int64_t i = (int64_t)(weft_bits64(t) - weft_bits64(WEFT_ROUND64));
    int64_t half = i >> 1; /* two factors: denormal results are rounded once */
    if (a != a)
        return a;
    return p * weft_exp2_64(half) * weft_exp2_64(i - half);
}

static inline double weft_expm1_64(double x) {
    double a = x < -40 ? -40 : x > 710 ? 710 : x;
    double t = fma(a, 0x1.71547652b82fep+0, WEFT_ROUND64), n = t - WEFT_ROUND64;
    double r = fma(n, -WEFT_LN2_HIGH, a);
    r = fma(n, -WEFT_LN2_LOW, r);
    double p = fma(r * r, weft_exp_tail(r), r);
    int64_t i = (int64_t)(weft_bits64(t) - weft_bits64(WEFT_ROUND64));
    if (x != x || x == 0)
        return x;
    double s = weft_exp2_64(i - 1); /* half of the power: that of 710 is finite */
    return fma(p, s, s - 0.5) * 2;
}

/* log(1 + f) + e ln 2, |f| <= 0.4143: with s = f / (2 + f), log(1 + f) = 2 atanh(s). */
static inline double weft_log_of(double f, double e) {
    double s = f / (2 + f), z = s * s, h = 0.5 * f * f, p = 2.0 / 25;
    for (int k = 23; k >= 3; k -= 2)
        p = fma(p, z, 2.0 / k);
    return e * WEFT_LN2_HIGH - ((h - fma(s, h + p * z, e * WEFT_LN2_LOW)) - f);
}

/* x > 0 as m 2^e with m in [sqrt 1/2, sqrt 2). */
static inline double weft_split64(double x, double *e) {
    double shift = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        shift = -54;
    }
    uint64_t v = weft_bits64(x) - 0x3fe6a09e667f3bcdu;
    *e = (double)((int64_t)v >> 52) + shift;
    return weft_double_of((v & 0xfffffffffffffu) + 0x3fe6a09e667f3bcdu);
}

static inline double weft_log64(double x) {
    double e;
    if (!(x > 0) || x == (double)INFINITY)
        return x == 0 ? -(double)INFINITY : x > 0 ? x : (double)NAN;
    double m = weft_split64(x, &e);
    return weft_log_of(m - 1, e);
}

static inline double weft_log1p_64(double x) {
    double e, u = 1 + x;
    if (x == 0 || !(x > -1) || x == (double)INFINITY)
        return x == -1 ? -(double)INFINITY : x >= 0 ? x : x == 0 ? x : (double)NAN;
    double c = x > 1 ? 1 - (u - x) : x - (u - 1); /* what u has lost */
    double m = weft_split64(u, &e);
    return weft_log_of(m - 1 + (e < 1000 ? c * weft_exp2_64((int64_t)-e) : 0), e);
}

static inline double weft_tanh64(double x) {
    double a = fabs(x), t = weft_expm1_64(2 * (a > 22 ? 22 : a));
    double y = a < 0.5 ? t / (t + 2) : 1 - 2 / (t + 2);
    return copysign(x != x ? x : y, x);
}

static inline double weft_sigmoid64(double x) {
    double e = weft_exp64(-fabs(x));
    return (x < 0 ? e : x != x ? x : 1) / (1 + e);
}

/* e^(-a^2), with what a^2 loses by rounding. */
static inline double weft_exp_square(double a) {
    double h = a * a, l = fma(a, a, -h);
    return weft_exp64(-h) * (1 - l);
}

/* Below 1.75 the series 2 / sqrt(pi) e^(-x^2) sum (2 x^2)^n x / (1 3 5 … (2n + 1)), all of one
 * sign; above, the continued fraction of erfc (Abramowitz and Stegun 7.1.6 and 7.1.14). */
static inline double weft_erf64(double x) {
    double a = fabs(x), y = 1;
    if (x != x)
        return x;
    if (a < 1.75) {
        double term = a, sum = a, z = 2 * a * a;
        for (int n = 1; n < 80 && term > sum * 0x1p-58; n++) {
            term *= z / (2 * n + 1);
            sum += term;
        }
        y = 0x1.20dd750429b6dp+0 * weft_exp_square(a) * sum;
    } else if (a < 6) {
        double f = 0;
        for (int n = 100; n > 0; n--)
            f = 0.5 * n / (a + f);
        y = 1 - weft_exp_square(a) / ((a + f) * 0x1.c5bf891b4ef6ap+0);
    }
    return copysign(y, x);
}

/* ---- Sine and cosine ---- */

/* x (finite, |x| >= 2^20) as r + (q mod 4) pi/2 with |r| <= pi/4: the product of x's significand
 * with the bits of 2/pi that decide (Payne and Hanek, 1983). */
static inline int weft_reduce_large(double x, double *r) {
    static const uint64_t bits[] = {/* 64 zeros, then 2/pi */
                                    0,
                                    0xa2f9836e4e441529,
                                    0xfc2757d1f534ddc0,
                                    0xdb6295993c439041,
                                    0xfe5163abdebbc561,
                                    0xb7246e3a424dd2e0,
                                    0x06492eea09d1921c,
                                    0xfe1deb1cb129a73e,
                                    0xe88235f52ebb4484,
                                    0xe99c7026b45f7e41,
                                    0x3991d639835339f4,
                                    0x9c845f8bbdf9283b,
                                    0x1ff897ffde05980f,
                                    0xef2f118b5a0a6d1f,
                                    0x6d367ecf27cb09b7,
                                    0x4f463f669e5fea2d,
                                    0x7527bac7ebe5f17b,
                                    0x3d0739f78a5292ea,
                                    0x6bfb5fb11f8d5d08,
                                    0x56033046fc7b6bab,
                                    0xf0cfbc209af4361d};
    uint64_t u = weft_bits64(x) & 0x7fffffffffffffffu, m = (u & 0xfffffffffffffu) | 1ull << 52;
    int e = (int)(u >> 52) - 1075; /* |x| = m 2^e */
    /* 192 bits of 2/pi; those before them give multiples of 4, and the first two of the product
     * modulo 2^192 are the integer part. */
    int first = e + 62, word = first / 64, part = first % 64;
    uint64_t w[3];
    for (int i = 0; i < 3; i++)
        w[i] =
            part == 0 ? bits[word + i] : bits[word + i] << part | bits[word + i + 1] >> (64 - part);
    __extension__ typedef unsigned __int128 wide;
    wide low = (wide)m * w[2], middle = (wide)m * w[1] + (uint64_t)(low >> 64);
    uint64_t top = m * w[0] + (uint64_t)(middle >> 64);
    int q = (int)(top >> 62);
    wide f = ((wide)top << 64 | (uint64_t)middle) << 2; /* the fraction, of 2^128 */
    bool up = top >> 61 & 1;
    if (up) {
        f = ~f + 1;
        q++;
    }
    double a = (double)(int64_t)(f >> 75) * 0x1p-53;
    double b = (double)((int64_t)(f >> 22) & 0x1fffffffffffff) * 0x1p-106;
    double y = a + b, lost = (a - y) + b;
    double angle =
        fma(y, 0x1.921fb54442d18p+0, fma(y, 0x1.1a62633145c07p-54, lost * 0x1.921fb54442d18p+0));
    *r = up != (x < 0) ? -angle : angle;
    return x < 0 ? -q & 3 : q & 3;
}

/* The same, by three parts of pi/2, for |x| below 2^20. */
static inline int weft_reduce64(double x, double *r) {
    if (!(fabs(x) < 0x1p20))
        return weft_reduce_large(x, r);
    double t = fma(x, 0x1.45f306dc9c883p-1, WEFT_ROUND64), j = t - WEFT_ROUND64;
    double a = fma(-j, 0x1.921fb54400000p+0, x); /* exact */
    double b = fma(-j, 0x1.0b4611a600000p-34, a), lost = (a - b) - j * 0x1.0b4611a600000p-34;
    *r = b + (lost - j * 0x1.3198a2e037073p-69);
    return (int)(weft_bits64(t) & 3);
}

static inline double weft_sine_near(double r) {
    static const double c[] = {
        1.0 / 355687428096000, -1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800,
        1.0 / 362880,          -1.0 / 5040,          1.0 / 120,        -1.0 / 6};
    double z = r * r, p = c[0];
    for (int i = 1; i < 8; i++)
        p = fma(p, z, c[i]);
    return fma(r * z, p, r);
}
static inline double weft_cosine_near(double r) {
    static const double c[] = {
        -1.0 / 6402373705728000, 1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600,
        -1.0 / 3628800,          1.0 / 40320,          -1.0 / 720,         1.0 / 24};
    double z = r * r, p = c[0], h = 0.5 * z, w = 1 - h;
    for (int i = 1; i < 8; i++)
        p = fma(p, z, c[i]);
    return w + (((1 - w) - h) + z * z * p);
}

static inline double weft_sin64(double x) {
    double r;
    if (!(fabs(x) < (double)INFINITY))
        return (double)NAN;
    if (fabs(x) < 0x1p-28)
        return x;
    int q = weft_reduce64(x, &r);
    double y = q & 1 ? weft_cosine_near(r) : weft_sine_near(r);
    return q & 2 ? -y : y;
}
static inline double weft_cos64(double x) {
    double r;
    if (!(fabs(x) < (double)INFINITY))
        return (double)NAN;
    if (fabs(x) < 0x1p-28)
        return 1;
    int q = weft_reduce64(x, &r);
    double y = q & 1 ? weft_sine_near(r) : weft_cosine_near(r);
    return ((q + 1) & 2) ? -y : y;
}

/* ---- Power ---- */

/* |x|^y from its value by logarithms: signs, zeros and infinities (IEEE 754-2019, 9.2.1). */
static inline double weft_pow_signs(double x, double y, double value) {
    if (y == 0 || x == 1)
        return 1;
    if (x != x || y != y)
        return (double)NAN;
    double a = fabs(x);
    if (a == 1 && fabs(y) == (double)INFINITY)
        return 1;
    bool whole = fabs(y) >= 0x1p52 || y == (double)(int64_t)y;
    bool odd = whole && fabs(y) < 0x1p53 && ((int64_t)y & 1);
    if (x < 0 && !whole && a != (double)INFINITY)
        return (double)NAN;
    return signbit(x) && odd ? -value : value;
}

/* y log(a) in two doubles, then exp of both: the logarithm carries some ten bits more. */
static inline double weft_pow64(double x, double y) {
    double a = fabs(x), e, value;
    if (!(a > 0) || a == (double)INFINITY || !(fabs(y) < 0x1p70)) {
        double l = weft_log64(a) * y;
        value = l != l ? 1 : weft_exp64(l);
        return weft_pow_signs(x, y, value);
    }
    double m = weft_split64(a, &e), f = m - 1, d = 2 + f;
    double s = f / d, s_low = fma(-s, d, f);
    s_low = (s_low - s * (f - (d - 2))) / d; /* d is rounded too */
    double z = s * s, p = 2.0 / 27;
    for (int k = 25; k >= 3; k -= 2)
        p = fma(p, z, 2.0 / k);
    double high = e * WEFT_LN2_HIGH, t = high + 2 * s;
    double low = (high - t) + 2 * s + fma(e, WEFT_LN2_LOW, fma(2, s_low, s * z * p));
    if (e == 0) {
        t = 2 * s;
        low = fma(2, s_low, s * z * p);
    }
    double l = t + low, l_low = (t - l) + low;
    double w = y * l, w_low = fma(y, l, -w) + y * l_low;
    if (!(fabs(w) < 800))
        w_low = 0;
    value = weft_exp64(w);
    value = value > 0 && value < (double)INFINITY ? fma(value, w_low, value) : value;
    return weft_pow_signs(x, y, value);
}

#endif
