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

/* Asks for the cache lines of the rows that a caller comes to next. */
WEFT_INLINE void fold_ahead(const float *x, ptrdiff_t ld, size_t rows, ptrdiff_t ahead) {
    for (size_t r = 0; r < rows; r++)
        __builtin_prefetch(x + (ptrdiff_t)r * ld + ahead);
}

/* `rows` steps of n sums side by side; a sum stays in its register for all of them. */
static void sum_columns_body(const float *x, ptrdiff_t ld, size_t rows, ptrdiff_t ahead, size_t n,
                             double *sums) {
    size_t i = 0;
    for (; i + WEFT_LANES <= n; i += WEFT_LANES) {
        double acc[WEFT_LANES];
        memcpy(acc, sums + i, sizeof acc);
        fold_ahead(x + i, ld, rows, ahead);
        for (size_t r = 0; r < rows; r++)
            for (size_t l = 0; l < WEFT_LANES; l++)
                acc[l] += (double)x[(ptrdiff_t)r * ld + (ptrdiff_t)(i + l)];
        memcpy(sums + i, acc, sizeof acc);
    }
    for (; i < n; i++)
        for (size_t r = 0; r < rows; r++)
            sums[i] += (double)x[(ptrdiff_t)r * ld + (ptrdiff_t)i];
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

WEFT_INLINE float better_of(float v, float b, float sign) {
    return (v * sign > b * sign || v != v) && b == b ? v : b;
}

static void best_columns_plain(const float *x, ptrdiff_t ld, size_t rows, size_t n, float sign,
                               float *best) {
    for (size_t i = 0; i < n; i++)
        for (size_t r = 0; r < rows; r++)
            best[i] = better_of(x[(ptrdiff_t)r * ld + (ptrdiff_t)i], best[i], sign);
}

/* `rows` steps of n such results side by side; those so far come first. */
static void best_columns_body(const float *x, ptrdiff_t ld, size_t rows, ptrdiff_t ahead, size_t n,
                              float sign, float *best) {
    size_t i = 0;
    for (; i + WEFT_LANES <= n; i += WEFT_LANES) {
        v16f by = v16f_set1(sign), most = v16f_mul(v16f_load(best + i), by);
        v16i nan = v16i_set1(0);
        fold_ahead(x + i, ld, rows, ahead);
        for (size_t r = 0; r < rows; r++) {
            v16f v = v16f_load(x + (ptrdiff_t)r * ld + i);
            most = v16f_max(v16f_mul(v, by), most); /* a NaN so far stays, one in v does not come */
            nan = v16i_max(nan, v16f_bits(v16f_abs(v)));
        }
        if (v16i_largest(nan) > 0x7f800000)
            best_columns_plain(x + i, ld, rows, WEFT_LANES, sign, best + i);
        else
            v16f_store(best + i, v16f_mul(most, by));
    }
    best_columns_plain(x + i, ld, rows, n - i, sign, best + i);
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
