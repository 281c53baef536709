/* Running results of a reduction: of one output ("row"), and of many side by side ("columns").
 * Internal to src/tensor. */
#ifndef WEFT_TENSOR_FOLD_H
#define WEFT_TENSOR_FOLD_H

#include "tensor/reduce.h"

#define WEFT_FOLD_LANES 16

/* What the folds of one reduction have in common. */
typedef struct weft_folder {
    const weft_kernels *k;
    const weft_reduce_def *def;
    weft_domain domain; /* of the packed elements given to the folds */
    weft_dtype dtype;   /* of x */
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

/* Many outputs that lie side by side in x. */
typedef struct weft_column_fold {
    size_t n, columns;       /* elements of each so far */
    double *sum, *square;    /* [LANES, columns] */
    double *shift, *best;    /* [columns], as above */
    float *shift32, *best32; /* the same in f32 */
    int64_t *whole;          /* [columns] */
    int32_t *index;          /* [columns]; chunks are short */
    float *rows;             /* [WEFT_FOLD_ROWS, columns]: 16-bit floats widened */
    void *wide;              /* [columns] elements of the domain */
} weft_column_fold;

#define WEFT_FOLD_ROWS 8 /* of a lane, which are added at once */

/* A chunk of the reduced elements, done. */
typedef struct weft_partial {
    double a, b;   /* total or best; VAR: mean and sum of squared deviations */
    int64_t whole; /* integers */
    int64_t index; /* among all reduced elements */
    size_t n;
} weft_partial;

bool weft_fold_adds_up(const weft_folder *f); /* sums and products */
bool weft_fold_has_index(const weft_folder *f);
double weft_fold_sign(const weft_folder *f); /* 1 for the greatest, -1 for the least */
/* Whether x takes the place of a best that came before it: ties do not, the first NaN does. */
static inline bool weft_fold_beats(double x, double best, double sign) {
    return best == best && (x != x || x * sign > best * sign);
}
static inline bool weft_fold_beats_whole(int64_t x, int64_t best, double sign) {
    return sign > 0 ? x > best : x < best;
}
/* Whether integers of a type are folded as they lie (kernels->whole_row and _columns). */
bool weft_fold_is_whole(const weft_folder *f, weft_whole_fold *kind);

/* n <= WEFT_FOLD_RUN packed elements of x's type as elements of the domain, premapped: as they
 * lie, or in `wide`. */
#define WEFT_FOLD_RUN 2048
const void *weft_fold_widen(const weft_folder *f, const void *x, size_t n, void *wide);

void weft_row_begin(const weft_folder *f, weft_row_fold *st);
/* n >= 1 packed elements of the domain that follow those so far. */
void weft_row_fold_run(const weft_folder *f, weft_row_fold *st, const void *x, size_t n);
/* The same of packed integers as they lie, where weft_fold_is_whole. */
void weft_row_fold_whole(const weft_folder *f, weft_row_fold *st, weft_whole_fold kind,
                         const void *x, size_t n);

/* Memory of a column's fold in bytes. */
size_t weft_column_bytes(const weft_folder *f);
/* memory: weft_column_bytes * columns, 64-byte aligned. */
void weft_column_begin(const weft_folder *f, weft_column_fold *st, void *memory, size_t columns);
/* The next n elements of every column, `step` bytes apart; columns lie packed. */
void weft_column_fold_rows(const weft_folder *f, weft_column_fold *st, const void *x,
                           ptrdiff_t step, size_t n);

/* Instead of begin, fold and end, for sums of f32 of a chunk's n <= WEFT_TREE_ROWS rows at once.
 * memory: WEFT_TREE_BYTES * columns. */
#define WEFT_TREE_ROWS 64
#define WEFT_TREE_BYTES (4 * sizeof(double))
bool weft_column_has_tree(const weft_folder *f);
void weft_column_tree(const weft_folder *f, weft_column_fold *st, void *memory, size_t columns,
                      const void *x, ptrdiff_t step, size_t n);

/* `first`: the chunk's first index. */
weft_partial weft_row_end(const weft_folder *f, weft_row_fold *st, int64_t first);
/* Once, before the columns' results are asked for. */
void weft_column_end(const weft_folder *f, weft_column_fold *st);
weft_partial weft_column_result(const weft_folder *f, const weft_column_fold *st, size_t column,
                                int64_t first);
/* `later` comes after `p`. */
void weft_partial_add(const weft_folder *f, weft_partial *p, const weft_partial *later);

#endif
