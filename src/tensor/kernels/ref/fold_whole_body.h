/* Folding packed integers as they lie into int64 results, as plain code that the compiler turns
 * into vectors: sums wrap, so that their order does not matter. */
#ifndef WEFT_KERNELS_FOLD_WHOLE_BODY_H
#define WEFT_KERNELS_FOLD_WHOLE_BODY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "tensor/kernels/table.h"

/* Elements of 16 and 8 bits whose sum fits into 32. */
#define WHOLE_RUN ((size_t)1 << 15)

/* acc + the sum of x [n]; `run` elements are added in `narrow`, which wraps where it is 64 bits. */
#define SUM_ROW_WHOLE(function, type, narrow, run)                                                 \
    static int64_t function(const void *from, size_t n, int64_t acc) {                             \
        const type *x = from;                                                                      \
        uint64_t total = (uint64_t)acc;                                                            \
        for (size_t at = 0; at < n;) {                                                             \
            size_t end = n - at < (run) ? n : at + (run);                                          \
            narrow part = 0;                                                                       \
            for (; at < end; at++)                                                                 \
                part += (narrow)x[at];                                                             \
            total += (uint64_t)part;                                                               \
        }                                                                                          \
        return (int64_t)total;                                                                     \
    }
/* The greatest of x [n >= 1]. */
#define BEST_ROW_WHOLE(function, type, compare)                                                    \
    static int64_t function(const void *from, size_t n, int64_t acc) {                             \
        const type *x = from;                                                                      \
        type best = x[0];                                                                          \
        for (size_t i = 1; i < n; i++)                                                             \
            best = x[i] compare best ? x[i] : best;                                                \
        return (int64_t)best compare acc ? (int64_t)best : acc;                                    \
    }
/* The same of x [rows, n], rows `ld` elements apart, into acc [n]; up to WHOLE_ROWS rows are added
 * in `wide`, 16 columns side by side. */
#define WHOLE_ROWS 64
#define SUM_COLUMNS_WHOLE(function, type, wide)                                                    \
    static void function(const void *from, ptrdiff_t ld, size_t rows, size_t n, int64_t *acc) {    \
        const type *x = from;                                                                      \
        size_t i = 0;                                                                              \
        for (; i + 16 <= n && rows <= WHOLE_ROWS; i += 16) {                                       \
            wide part[16] = {0};                                                                   \
            for (size_t r = 0; r < rows; r++)                                                      \
                for (size_t l = 0; l < 16; l++)                                                    \
                    part[l] += (wide)x[(ptrdiff_t)r * ld + (ptrdiff_t)(i + l)];                    \
            for (size_t l = 0; l < 16; l++)                                                        \
                acc[i + l] = (int64_t)((uint64_t)acc[i + l] + (uint64_t)part[l]);                  \
        }                                                                                          \
        for (; i < n; i++)                                                                         \
            for (size_t r = 0; r < rows; r++)                                                      \
                acc[i] =                                                                           \
                    (int64_t)((uint64_t)acc[i] + (uint64_t)x[(ptrdiff_t)r * ld + (ptrdiff_t)i]);   \
    }
/* 64 bytes of columns side by side. */
#define BEST_COLUMNS_WHOLE(function, type, compare)                                                \
    static void function(const void *from, ptrdiff_t ld, size_t rows, size_t n, int64_t *acc) {    \
        typedef type vec __attribute__((vector_size(64)));                                         \
        enum { COLUMNS = 64 / sizeof(type) };                                                      \
        const type *x = from;                                                                      \
        size_t i = 0;                                                                              \
        for (; i + COLUMNS <= n; i += COLUMNS) {                                                   \
            vec best, v;                                                                           \
            memcpy(&best, x + i, sizeof best);                                                     \
            for (size_t r = 1; r < rows; r++) {                                                    \
                memcpy(&v, x + (ptrdiff_t)r * ld + (ptrdiff_t)i, sizeof v);                        \
                vec better = (vec)(v compare best);                                                \
                best = (v & better) | (best & ~better);                                            \
            }                                                                                      \
            for (size_t l = 0; l < COLUMNS; l++)                                                   \
                acc[i + l] = (int64_t)best[l] compare acc[i + l] ? (int64_t)best[l] : acc[i + l];  \
        }                                                                                          \
        for (; i < n; i++)                                                                         \
            for (size_t r = 0; r < rows; r++) {                                                    \
                int64_t v = x[(ptrdiff_t)r * ld + (ptrdiff_t)i];                                   \
                acc[i] = v compare acc[i] ? v : acc[i];                                            \
            }                                                                                      \
    }

SUM_ROW_WHOLE(sum_row_i64, uint64_t, uint64_t, n)
BEST_ROW_WHOLE(max_row_i64, int64_t, >)
BEST_ROW_WHOLE(min_row_i64, int64_t, <)
SUM_COLUMNS_WHOLE(sum_columns_i64, uint64_t, uint64_t)
BEST_COLUMNS_WHOLE(max_columns_i64, int64_t, >)
BEST_COLUMNS_WHOLE(min_columns_i64, int64_t, <)
SUM_ROW_WHOLE(sum_row_i32, int32_t, int64_t, n)
BEST_ROW_WHOLE(max_row_i32, int32_t, >)
BEST_ROW_WHOLE(min_row_i32, int32_t, <)
SUM_COLUMNS_WHOLE(sum_columns_i32, int32_t, int64_t)
BEST_COLUMNS_WHOLE(max_columns_i32, int32_t, >)
BEST_COLUMNS_WHOLE(min_columns_i32, int32_t, <)
SUM_ROW_WHOLE(sum_row_i16, int16_t, int32_t, WHOLE_RUN)
BEST_ROW_WHOLE(max_row_i16, int16_t, >)
BEST_ROW_WHOLE(min_row_i16, int16_t, <)
SUM_COLUMNS_WHOLE(sum_columns_i16, int16_t, int32_t)
BEST_COLUMNS_WHOLE(max_columns_i16, int16_t, >)
BEST_COLUMNS_WHOLE(min_columns_i16, int16_t, <)
SUM_ROW_WHOLE(sum_row_i8, int8_t, int32_t, WHOLE_RUN)
BEST_ROW_WHOLE(max_row_i8, int8_t, >)
BEST_ROW_WHOLE(min_row_i8, int8_t, <)
SUM_COLUMNS_WHOLE(sum_columns_i8, int8_t, int32_t)
BEST_COLUMNS_WHOLE(max_columns_i8, int8_t, >)
BEST_COLUMNS_WHOLE(min_columns_i8, int8_t, <)
SUM_ROW_WHOLE(sum_row_u8, uint8_t, int32_t, WHOLE_RUN)
BEST_ROW_WHOLE(max_row_u8, uint8_t, >)
BEST_ROW_WHOLE(min_row_u8, uint8_t, <)
SUM_COLUMNS_WHOLE(sum_columns_u8, uint8_t, int32_t)
BEST_COLUMNS_WHOLE(max_columns_u8, uint8_t, >)
BEST_COLUMNS_WHOLE(min_columns_u8, uint8_t, <)

typedef int64_t whole_row_fn(const void *from, size_t n, int64_t acc);
typedef void whole_columns_fn(const void *from, ptrdiff_t ld, size_t rows, size_t n, int64_t *acc);

/* By the type's place after WEFT_IN_I64. */
static int64_t whole_row_body(weft_domain domain, weft_whole_fold fold, const void *x, size_t n,
                              int64_t acc) {
    static whole_row_fn *const row[][WEFT_WHOLE_FOLDS] = {
        {sum_row_i64, max_row_i64, min_row_i64}, {sum_row_i32, max_row_i32, min_row_i32},
        {sum_row_i16, max_row_i16, min_row_i16}, {sum_row_i8, max_row_i8, min_row_i8},
        {sum_row_u8, max_row_u8, min_row_u8},
    };
    return row[domain - WEFT_IN_I64][fold](x, n, acc);
}

static void whole_columns_body(weft_domain domain, weft_whole_fold fold, const void *x,
                               ptrdiff_t ld, size_t rows, size_t n, int64_t *acc) {
    static whole_columns_fn *const columns[][WEFT_WHOLE_FOLDS] = {
        {sum_columns_i64, max_columns_i64, min_columns_i64},
        {sum_columns_i32, max_columns_i32, min_columns_i32},
        {sum_columns_i16, max_columns_i16, min_columns_i16},
        {sum_columns_i8, max_columns_i8, min_columns_i8},
        {sum_columns_u8, max_columns_u8, min_columns_u8},
    };
    columns[domain - WEFT_IN_I64][fold](x, ld, rows, n, acc);
}

#endif
