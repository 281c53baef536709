/* Folding packed runs into running results, after a lanes_*.h header: the inner loops of
 * reductions, as plain code that the compiler turns into vectors. A sum has 16 lanes of double,
 * lane = index of the reduced element mod 16. Also the 16-bit conversions. */
#ifndef WEFT_KERNELS_FOLD_BODY_H
#define WEFT_KERNELS_FOLD_BODY_H

#include <math.h>
#include "base/floats.h"
#include "tensor/kernels/ref/elementwise_body.h"

/* n elements of one row, the first of which belongs to lane 0. */
static void sum_row_body(const float *x, size_t n, double *lanes) {
    double acc[WEFT_LANES];
    size_t i = 0;
    memcpy(acc, lanes, sizeof acc);
    for (; i + WEFT_LANES <= n; i += WEFT_LANES)
        for (size_t l = 0; l < WEFT_LANES; l++)
            acc[l] += (double)x[i + l];
    for (size_t l = 0; i + l < n; l++)
        acc[l] += (double)x[i + l];
    memcpy(lanes, acc, sizeof acc);
}

/* One step of n sums side by side. */
static void sum_columns_body(const float *restrict x, size_t n, double *restrict sums) {
    for (size_t i = 0; i < n; i++)
        sums[i] += (double)x[i];
}

/* The greatest (or, with a sign of -1, the least) of n >= 1 elements; NaN if there is one. */
static float best_row_body(const float *x, size_t n, float sign) {
    v16f most = v16f_set1(-INFINITY), by = v16f_set1(sign);
    v16i nan = v16i_set1(0);
    size_t i = 0;
    for (; i + WEFT_LANES <= n; i += WEFT_LANES) {
        v16f v = v16f_load(x + i);
        most = v16f_max(v16f_mul(v, by), most);
        nan = v16i_max(nan, v16f_bits(v16f_abs(v)));
    }
    if (i < n) {
        v16f v = v16f_load_part(x + i, n - i, x[0]);
        most = v16f_max(v16f_mul(v, by), most);
        nan = v16i_max(nan, v16f_bits(v16f_abs(v)));
    }
    if (v16i_largest(nan) > 0x7f800000)
        return weft_float_of(0x7fc00000u);
    return v16f_largest(most) * sign;
}

/* One step of n such results side by side; best[i] = x[i] comes first. */
static void best_columns_body(const float *restrict x, size_t n, float sign, float *restrict best) {
    for (size_t i = 0; i < n; i++) {
        float v = x[i], b = best[i];
        best[i] = (v * sign > b * sign || v != v) && b == b ? v : b;
    }
}

static void bf16_to_f32_body(const uint16_t *restrict x, size_t n, float *restrict y) {
    for (size_t i = 0; i < n; i++)
        y[i] = weft_bf16_to_f32(x[i]);
}
static void f32_to_bf16_body(const float *restrict x, size_t n, uint16_t *restrict y) {
    for (size_t i = 0; i < n; i++)
        y[i] = weft_f32_to_bf16(x[i]);
}

#endif
