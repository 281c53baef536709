/* Folding packed runs into running results, after a lanes_*.h header: the inner loops of
 * reductions, as plain code that the compiler turns into vectors. A sum has 16 lanes of double,
 * lane = index of the reduced element mod 16. Also the 16-bit conversions. */
#ifndef WEFT_KERNELS_FOLD_BODY_H
#define WEFT_KERNELS_FOLD_BODY_H

#include <math.h>
#include "base/floats.h"
#include "tensor/kernels/ref/elementwise_body.h"

/* A row is asked for this many elements ahead, a page of 4 KiB, into which the processor does not
 * fetch by itself. */
#define WEFT_FOLD_AHEAD 1024

/* n elements of one row, the first of which belongs to lane 0. */
static void sum_row_body(const float *x, size_t n, double *lanes) {
    double acc[WEFT_LANES];
    size_t i = 0;
    memcpy(acc, lanes, sizeof acc);
    for (; i + WEFT_LANES <= n; i += WEFT_LANES) {
        __builtin_prefetch(x + i + WEFT_FOLD_AHEAD);
        for (size_t l = 0; l < WEFT_LANES; l++)
            acc[l] += (double)x[i + l];
    }
    memcpy(lanes, acc, sizeof acc);
    for (size_t l = 0; i + l < n; l++)
        lanes[l] += (double)x[i + l];
}

/* Asks for the cache lines of the rows that a caller comes to next; 0: the processor does. */
WEFT_INLINE void fold_ahead(const float *x, ptrdiff_t ld, size_t rows, ptrdiff_t ahead) {
    for (size_t r = 0; r < rows && ahead != 0; r++)
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

/* Lanes l and l + 8 of `rows` rows, m <= 16 columns; then the tree's sums so far before them, the
 * nearest first: parts [depth], `step` apart. */
WEFT_INLINE void sum_tree_step(const float *x, ptrdiff_t ld, size_t rows, size_t lane, size_t m,
                               const double *parts, size_t step, size_t depth, double *to) {
    double low[WEFT_LANES] = {0}, high[WEFT_LANES] = {0};
    for (size_t r = lane; r < rows; r += WEFT_LANES)
        for (size_t l = 0; l < m; l++)
            low[l] += (double)x[(ptrdiff_t)r * ld + (ptrdiff_t)l];
    for (size_t r = lane + 8; r < rows; r += WEFT_LANES)
        for (size_t l = 0; l < m; l++)
            high[l] += (double)x[(ptrdiff_t)r * ld + (ptrdiff_t)l];
    for (size_t l = 0; l < m; l++)
        low[l] += high[l];
    for (size_t d = 0; d < depth; d++)
        for (size_t l = 0; l < m; l++)
            low[l] = parts[d * step + l] + low[l];
    memcpy(to, low, m * sizeof *to);
}

/* Whole sums of a few rows: pairs of lanes in the order in which the tree can be added up with
 * three sums kept, parts [3, n], so that rows are read as long streams. */
static void sum_tree_body(const float *x, ptrdiff_t ld, size_t rows, size_t n, double *parts,
                          double *sums) {
    static const size_t lanes[] = {0, 4, 2, 6, 1, 5, 3, 7}, depths[] = {0, 1, 0, 2, 0, 1, 0, 3};
    for (size_t j = 0; j < 8; j++) {
        double *to = depths[j] < 3 ? parts + depths[j] * n : sums;
        size_t i = 0;
        for (; i + WEFT_LANES <= n; i += WEFT_LANES)
            sum_tree_step(x + i, ld, rows, lanes[j], WEFT_LANES, parts + i, n, depths[j], to + i);
        if (i < n)
            sum_tree_step(x + i, ld, rows, lanes[j], n - i, parts + i, n, depths[j], to + i);
    }
}

WEFT_INLINE void moments_one(float x, double from, double *sum, double *square) {
    double d = (double)x - from;
    *sum += d;
    *square += d * d;
}

/* The columns that are left over. Apart: beside it GCC leaves the loops of whole vectors without.
 */
static __attribute__((noinline)) void moments_rest(const float *x, ptrdiff_t ld, size_t rows,
                                                   size_t n, const float *shift, double *sums,
                                                   double *squares) {
    for (size_t i = 0; i < n; i++)
        for (size_t r = 0; r < rows; r++)
            moments_one(x[(ptrdiff_t)r * ld + (ptrdiff_t)i], (double)shift[i], sums + i,
                        squares + i);
}

/* The elements behind a row's last whole 16. */
static __attribute__((noinline)) void moments_row_rest(const float *x, size_t n, double shift,
                                                       double *sums, double *squares) {
    for (size_t l = 0; l < n; l++)
        moments_one(x[l], shift, sums + l, squares + l);
}

/* Deviations from `shift` and their squares, in 16 lanes. */
static void moments_row_body(const float *x, size_t n, double shift, double *sums,
                             double *squares) {
    double acc[WEFT_LANES], square[WEFT_LANES];
    size_t whole = n / WEFT_LANES * WEFT_LANES;
    memcpy(acc, sums, sizeof acc);
    memcpy(square, squares, sizeof square);
    for (size_t i = 0; i < whole; i += WEFT_LANES) {
        __builtin_prefetch(x + i + WEFT_FOLD_AHEAD);
        for (size_t l = 0; l < WEFT_LANES; l++) {
            double d = (double)x[i + l] - shift;
            acc[l] += d;
            square[l] += d * d;
        }
    }
    memcpy(sums, acc, sizeof acc);
    memcpy(squares, square, sizeof square);
    moments_row_rest(x + whole, n - whole, shift, sums, squares);
}

#define WEFT_MOMENT_COLUMNS 8 /* that keep both sums and the shift in registers */

/* The same of columns side by side, each from its own shift, row by row. */
static void moments_columns_body(const float *x, ptrdiff_t ld, size_t rows, size_t n,
                                 const float *shift, double *sums, double *squares) {
    size_t whole = n / WEFT_MOMENT_COLUMNS * WEFT_MOMENT_COLUMNS;
    for (size_t i = 0; i < whole; i += WEFT_MOMENT_COLUMNS) {
        double acc[WEFT_MOMENT_COLUMNS], square[WEFT_MOMENT_COLUMNS], from[WEFT_MOMENT_COLUMNS];
        memcpy(acc, sums + i, sizeof acc);
        memcpy(square, squares + i, sizeof square);
        for (size_t l = 0; l < WEFT_MOMENT_COLUMNS; l++)
            from[l] = (double)shift[i + l];
        for (size_t r = 0; r < rows; r++)
            for (size_t l = 0; l < WEFT_MOMENT_COLUMNS; l++) {
                double d = (double)x[(ptrdiff_t)r * ld + (ptrdiff_t)(i + l)] - from[l];
                acc[l] += d;
                square[l] += d * d;
            }
        memcpy(sums + i, acc, sizeof acc);
        memcpy(squares + i, square, sizeof square);
    }
    moments_rest(x + whole, ld, rows, n - whole, shift + whole, sums + whole, squares + whole);
}

/* The greatest (or, with a sign of -1, the least) of n >= 1 elements; NaN if there is one. */
static float best_row_body(const float *x, size_t n, float sign) {
    v16f most = v16f_set1(-INFINITY), by = v16f_set1(sign);
    v16i nan = v16i_set1(0);
    size_t i = 0;
    for (; i + WEFT_LANES <= n; i += WEFT_LANES) {
        v16f v = v16f_load(x + i);
        __builtin_prefetch(x + i + WEFT_FOLD_AHEAD);
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

/* The same with the row in which each stands, of those that count from `at`. */
WEFT_INLINE void arg_columns_step(const float *x, ptrdiff_t ld, size_t rows, size_t n, float sign,
                                  int32_t at, float *best, int32_t *index) {
    float most[WEFT_LANES];
    int32_t place[WEFT_LANES];
    memcpy(most, best, n * sizeof *most);
    memcpy(place, index, n * sizeof *place);
    for (size_t r = 0; r < rows; r++)
        for (size_t l = 0; l < n; l++) {
            float v = x[(ptrdiff_t)r * ld + (ptrdiff_t)l], b = most[l];
            int better = ((v * sign > b * sign) | (v != v)) & (b == b);
            most[l] = better ? v : b;
            place[l] = better ? at + (int32_t)r : place[l];
        }
    memcpy(best, most, n * sizeof *most);
    memcpy(index, place, n * sizeof *place);
}

static void arg_columns_body(const float *x, ptrdiff_t ld, size_t rows, size_t n, float sign,
                             int32_t at, float *best, int32_t *index) {
    size_t i = 0;
    for (; i + WEFT_LANES <= n; i += WEFT_LANES)
        arg_columns_step(x + i, ld, rows, WEFT_LANES, sign, at, best + i, index + i);
    if (i < n)
        arg_columns_step(x + i, ld, rows, n - i, sign, at, best + i, index + i);
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
