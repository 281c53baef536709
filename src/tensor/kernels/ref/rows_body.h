/* Kernels along a row, after a lanes_*.h header: quantisation of activations, RMS norm, softmax.
 * A row is padded to a multiple of 16 lanes with the neutral element. */
#ifndef WEFT_KERNELS_ROWS_BODY_H
#define WEFT_KERNELS_ROWS_BODY_H

#include <math.h>
#include <stdbool.h>
#include "base/floats.h"
#include "tensor/kernels/ref/elementwise_body.h"

/* q = rint(x * (127 / amax)), |q| <= 127. A block whose amax is too small for 127 / amax to be
 * finite (below 3.8e-37) counts as zeros. A block with a NaN or an infinity has q = 0 and d = NaN,
 * so that every output it meets is NaN. */
WEFT_INLINE void quantize_q8_body(const float *x, size_t n_cols, int8_t *q, float *d,
                                  int32_t *sums) {
    v16f magic = v16f_set1(WEFT_ROUND_MAGIC);
    for (size_t k = 0; k < n_cols / 32; k++, x += 32, q += 32) {
        v16f a = v16f_load(x), b = v16f_load(x + 16);
        /* Magnitudes compare as integers, NaN being the greatest. */
        uint32_t most =
            (uint32_t)v16i_largest(v16i_max(v16f_bits(v16f_abs(a)), v16f_bits(v16f_abs(b))));
        float amax = weft_float_of(most), inverse = 127.0f / amax;
        if (most >= 0x7f800000u || weft_bits_of(inverse) >= 0x7f800000u) {
            memset(q, 0, 32);
            sums[k] = 0;
            d[k] = most >= 0x7f800000u ? weft_float_of(0x7fc00000u) : 0.0f;
            continue;
        }
        v16f by = v16f_set1(inverse);
        v16i i = v16i_sub(v16f_bits(v16f_add(v16f_mul(a, by), magic)), v16f_bits(magic));
        v16i j = v16i_sub(v16f_bits(v16f_add(v16f_mul(b, by), magic)), v16f_bits(magic));
        v16i_store_s8(q, i);
        v16i_store_s8(q + 16, j);
        sums[k] = v16i_sum(v16i_add(i, j));
        d[k] = amax / 127.0f;
    }
}

/* x * (1 / sqrt(mean of squares + eps)), then times the weight. */
WEFT_INLINE void rms_norm_body(const float *x, const float *weight, size_t n, float eps, float *y) {
    v16f sum = v16f_set1(0);
    size_t i = 0;
    for (; i + WEFT_LANES <= n; i += WEFT_LANES) {
        v16f v = v16f_load(x + i);
        sum = v16f_fma(v, v, sum);
    }
    if (i < n) {
        v16f v = v16f_load_part(x + i, n - i, 0);
        sum = v16f_fma(v, v, sum);
    }
    float factor = 1.0f / sqrtf(v16f_sum(sum) / (float)n + eps);
    v16f by = v16f_set1(factor);
    for (i = 0; i + WEFT_LANES <= n; i += WEFT_LANES) {
        v16f v = v16f_mul(v16f_load(x + i), by);
        v16f_store(y + i, weight ? v16f_mul(v, v16f_load(weight + i)) : v);
    }
    for (; i < n; i++) {
        float v = x[i] * factor;
        y[i] = weight ? v * weight[i] : v;
    }
}

/* (x - mean) * (1 / sqrt(variance + eps)), then times the weight, plus the bias. The deviations are
 * taken from the rounded mean, which costs nothing where elements are nearly equal; their own mean,
 * what rounding left over, is taken off them (the corrected two-pass algorithm: Chan, Golub and
 * LeVeque 1983). */
WEFT_INLINE void layer_norm_body(const float *x, const float *weight, const float *bias, size_t n,
                                 float eps, float *y) {
    v16f sum = v16f_set1(0), zero = v16f_set1(0);
    size_t i = 0, full = n / WEFT_LANES * WEFT_LANES;
    for (; i < full; i += WEFT_LANES)
        sum = v16f_add(sum, v16f_load(x + i));
    if (i < n)
        sum = v16f_add(sum, v16f_load_part(x + i, n - i, 0));
    float mean = v16f_sum(sum) / (float)n;
    v16f middle = v16f_set1(mean), squares = zero, left = zero;
    for (i = 0; i < full; i += WEFT_LANES) {
        v16f v = v16f_sub(v16f_load(x + i), middle);
        squares = v16f_fma(v, v, squares);
        left = v16f_add(left, v);
    }
    if (i < n) {
        v16f v = v16f_sub(v16f_load_part(x + i, n - i, mean), middle);
        squares = v16f_fma(v, v, squares);
        left = v16f_add(left, v);
    }
    float off = v16f_sum(left) / (float)n;
    float variance = fmaf(-off, off, v16f_sum(squares) / (float)n);
    v16f by = v16f_set1(1.0f / sqrtf((variance > 0 ? variance : 0) + eps));
    v16f rest = v16f_set1(off);
    for (i = 0; i < full; i += WEFT_LANES) {
        v16f v = v16f_mul(v16f_sub(v16f_sub(v16f_load(x + i), middle), rest), by);
        v = weight ? v16f_mul(v, v16f_load(weight + i)) : v;
        v16f_store(y + i, bias ? v16f_add(v, v16f_load(bias + i)) : v);
    }
    if (i < n) {
        v16f v = v16f_sub(v16f_sub(v16f_load_part(x + i, n - i, mean), middle), rest);
        v = v16f_mul(v, by);
        v = weight ? v16f_mul(v, v16f_load_part(weight + i, n - i, 0)) : v;
        v = bias ? v16f_add(v, v16f_load_part(bias + i, n - i, 0)) : v;
        v16f_store_part(y + i, n - i, v);
    }
}

/* y = e^(x - m); their sums in 16 lanes. `low`: some of them may be below 2^-126. */
WEFT_INLINE v16f exp_row(const float *x, size_t n, v16f m, bool low, float *y) {
    v16f sum = v16f_set1(0);
    size_t i = 0, full = n / WEFT_LANES * WEFT_LANES;
    for (; i < full; i += WEFT_LANES) {
        v16f v = v16f_sub(v16f_load(x + i), m), e = low ? v16f_exp_low(v) : v16f_exp(v);
        sum = v16f_add(sum, e);
        v16f_store(y + i, e);
    }
    if (i < n) {
        v16f e = v16f_exp(v16f_sub(v16f_load_part(x + i, n - i, -INFINITY), m));
        sum = v16f_add(sum, e);
        v16f_store_part(y + i, n - i, e);
    }
    return sum;
}

/* The bits of e / total, e in [0, 1] and total in [1, 2^24), without quotients that underflow: one
 * below 2^-126 is rounded as a whole number of 2^-149, and what is left of the dividend then says
 * whether that is the nearest. */
WEFT_INLINE v16f quotient_low(v16f e, v16f total) {
    const v16f edge = v16f_set1(0x1p-126f), whole = v16f_set1(0x1p23f), zero = v16f_set1(0);
    const v16f one = v16f_set1(1);
    v16f tiny = v16f_sub(v16i_floats(v16i_add(v16f_bits(e), v16f_bits(whole))), whole);
    v16f usual = v16f_min(v16f_if_less(e, edge, zero, e), v16f_set1(0x1p-60f));
    usual = v16f_mul(v16f_mul(usual, v16f_set1(0x1p75f)), v16f_set1(0x1p74f));
    v16f steps = v16f_if_less(e, edge, tiny, usual), q = v16f_div(steps, total);
    v16f c = v16f_sub(v16f_add(v16f_min(q, whole), whole), whole);
    v16f left = v16f_fma(v16f_sub(zero, c), total, steps), twice = v16f_add(left, left);
    v16f up = v16f_if_less(total, twice, one, zero);
    v16f down = v16f_if_less(twice, v16f_sub(zero, total), one, zero);
    c = v16f_sub(v16f_add(c, up), down);
    v16f low = v16i_floats(v16i_sub(v16f_bits(v16f_add(c, whole)), v16f_bits(whole)));
    v16f high = v16f_div(v16f_if_less(q, whole, zero, e), total);
    /* One of them is 0. A choice would let the compiler divide the low ones as well. */
    return v16i_floats(v16i_or(v16f_bits(v16f_if_less(q, whole, low, zero)), v16f_bits(high)));
}

/* e^(x - max) / sum. NaN anywhere, or nothing but -infinity, gives NaN everywhere. */
WEFT_INLINE void softmax_body(const float *x, size_t n, float *y) {
    v16f top = v16f_set1(-INFINITY), least = v16f_set1(INFINITY);
    size_t i = 0, full = n / WEFT_LANES * WEFT_LANES;
    for (; i < full; i += WEFT_LANES) {
        v16f v = v16f_load(x + i);
        top = v16f_max(top, v);
        least = v16f_min(least, v);
    }
    if (i < n)
        top = v16f_max(top, v16f_load_part(x + i, n - i, -INFINITY));
    float most = v16f_largest(top), range = v16f_largest(v16f_sub(v16f_set1(most), least));
    v16f m = v16f_set1(most);
    const bool low = range > 87 && n < 1u << 24;
    v16f sum = low ? exp_row(x, n, m, true, y) : exp_row(x, n, m, false, y);
    v16f total = v16f_set1(v16f_sum(sum));
    for (i = 0; low && i < full; i += WEFT_LANES)
        v16f_store(y + i, quotient_low(v16f_load(y + i), total));
    for (; i < full; i += WEFT_LANES)
        v16f_store(y + i, v16f_div(v16f_load(y + i), total));
    if (i < n)
        v16f_store_part(y + i, n - i, v16f_div(v16f_load_part(y + i, n - i, 0), total));
}

#endif
