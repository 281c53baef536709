/* Running results of a reduction: of one output ("row"), and of many side by side ("columns").
 * Internal to src/tensor. */
#ifndef WEFT_TENSOR_FOLD_H
#define WEFT_TENSOR_FOLD_H

#include "tensor/reduce.h"

#define WEFT_FOLD_LANES 16
#define WEFT_FOLD_COLUMNS 512

/* What the folds of one reduction have in common. */
typedef struct weft_folder {
    const weft_kernels *k;
    const weft_reduce_def *def;
    weft_domain domain; /* of the packed elements given to the folds */
} weft_folder;

/* One output. Sums have 16 lanes, lane = index of the reduced element mod 16. */
typedef struct weft_row_fold {
    double sum[WEFT_FOLD_LANES], square[WEFT_FOLD_LANES]; /* square: VAR only */
    double shift;                                         /* VAR: the first element */
    double best;                                          /* floats; f32 is exact in double */
    int64_t whole;                                        /* integers: sum, product or best */
    int64_t index;                                        /* of the best, in the chunk */
    size_t n;                                             /* elements so far */
} weft_row_fold;

typedef struct weft_column_fold {
    double sum[WEFT_FOLD_LANES][WEFT_FOLD_COLUMNS], square[WEFT_FOLD_LANES][WEFT_FOLD_COLUMNS];
    double shift[WEFT_FOLD_COLUMNS], best[WEFT_FOLD_COLUMNS];
    float best32[WEFT_FOLD_COLUMNS];
    int64_t whole[WEFT_FOLD_COLUMNS];
    int32_t index[WEFT_FOLD_COLUMNS]; /* chunks are short */
    size_t n, columns;
} weft_column_fold;

/* A chunk of the reduced elements, done. */
typedef struct weft_partial {
    double a, b;   /* total or best; VAR: mean and sum of squared deviations */
    int64_t whole; /* integers */
    int64_t index; /* among all reduced elements */
    size_t n;
} weft_partial;

void weft_row_begin(const weft_folder *f, weft_row_fold *st);
/* n >= 1 packed elements of the domain that follow those so far. */
void weft_row_fold_run(const weft_folder *f, weft_row_fold *st, const void *x, size_t n);
void weft_column_begin(const weft_folder *f, weft_column_fold *st, size_t columns);
/* The next element of every column. */
void weft_column_fold_step(const weft_folder *f, weft_column_fold *st, const void *x);
/* The same n times, `step` elements apart: f32 in its domain. */
void weft_column_fold_f32(const weft_folder *f, weft_column_fold *st, const float *x,
                          ptrdiff_t step, size_t n);

/* `first`: the chunk's first index. */
weft_partial weft_row_end(const weft_folder *f, weft_row_fold *st, int64_t first);
weft_partial weft_column_end(const weft_folder *f, const weft_column_fold *st, size_t column,
                             int64_t first);
/* `later` comes after `p`. */
void weft_partial_add(const weft_folder *f, weft_partial *p, const weft_partial *later);

#endif
