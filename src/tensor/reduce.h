/* The engine of reductions: any set of dims, any strides. Internal to src/tensor. */
#ifndef WEFT_TENSOR_REDUCE_H
#define WEFT_TENSOR_REDUCE_H

#include "tensor/map.h"

typedef enum weft_fold {
    WEFT_FOLD_SUM, /* floats in double, 16 lanes; integers and bool in int64 */
    WEFT_FOLD_PROD,
    WEFT_FOLD_MAX,
    WEFT_FOLD_MIN,
    WEFT_FOLD_ARGMAX,
    WEFT_FOLD_ARGMIN,
    WEFT_FOLD_VAR /* sums of deviations from the first element and of their squares */
} weft_fold;

/* What is done to each element first (floats, in double). */
typedef enum weft_premap {
    WEFT_PREMAP_NONE,
    WEFT_PREMAP_ABS,
    WEFT_PREMAP_SQUARE,
    WEFT_PREMAP_NOT_ZERO,
    WEFT_PREMAP_POWER
} weft_premap;

/* And to the total last. */
typedef enum weft_finish {
    WEFT_FINISH_NONE,
    WEFT_FINISH_MEAN,
    WEFT_FINISH_SQRT,
    WEFT_FINISH_ROOT, /* total^(1/p) */
    WEFT_FINISH_VAR,  /* (sum of squared deviations) / (n - p) */
    WEFT_FINISH_STD
} weft_finish;

typedef struct weft_reduce_def {
    weft_fold fold;
    weft_types types;
    weft_finish finish;
    weft_premap premap;
    double p;
    bool refuses_empty; /* WEFT_E_EMPTY where the reduced extent is 0 */
    double empty;       /* else the result of MAX and MIN then */
} weft_reduce_def;

/* Over axes[n_axes], or all of them with NULL and 0. */
weft_tensor *weft_reduce(weft_scope *s, const char *name, const weft_reduce_def *def,
                         weft_tensor *x, const int *axes, int n_axes, bool keep);

#endif
