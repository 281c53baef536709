/* Reductions: what each folds and how it ends (reduce.h). */
#include "tensor/reduce.h"

#include <math.h>

static const weft_reduce_def sum_def = {.fold = WEFT_FOLD_SUM,
                                        .types = WEFT_TYPES_ANY,
                                        .finish = WEFT_FINISH_NONE,
                                        .refuses_empty = false,
                                        .empty = 0};

weft_tensor *weft_sum(weft_scope *s, weft_tensor *x, int axis, bool keep) {
    return weft_reduce(s, "sum", &sum_def, x, &axis, 1, keep);
}
weft_tensor *weft_sum_dims(weft_scope *s, weft_tensor *x, const int *axes, int n_axes, bool keep) {
    return weft_reduce(s, "sum_dims", &sum_def, x, axes, n_axes, keep);
}

static const weft_reduce_def mean_def = {.fold = WEFT_FOLD_SUM,
                                         .types = WEFT_TYPES_FLOAT,
                                         .finish = WEFT_FINISH_MEAN,
                                         .refuses_empty = false,
                                         .empty = 0};

weft_tensor *weft_mean(weft_scope *s, weft_tensor *x, int axis, bool keep) {
    return weft_reduce(s, "mean", &mean_def, x, &axis, 1, keep);
}
weft_tensor *weft_mean_dims(weft_scope *s, weft_tensor *x, const int *axes, int n_axes, bool keep) {
    return weft_reduce(s, "mean_dims", &mean_def, x, axes, n_axes, keep);
}

static const weft_reduce_def prod_def = {.fold = WEFT_FOLD_PROD,
                                         .types = WEFT_TYPES_ANY,
                                         .finish = WEFT_FINISH_NONE,
                                         .refuses_empty = false,
                                         .empty = 0};

weft_tensor *weft_prod(weft_scope *s, weft_tensor *x, int axis, bool keep) {
    return weft_reduce(s, "prod", &prod_def, x, &axis, 1, keep);
}
weft_tensor *weft_prod_dims(weft_scope *s, weft_tensor *x, const int *axes, int n_axes, bool keep) {
    return weft_reduce(s, "prod_dims", &prod_def, x, axes, n_axes, keep);
}

static const weft_reduce_def max_def = {.fold = WEFT_FOLD_MAX,
                                        .types = WEFT_TYPES_ANY,
                                        .finish = WEFT_FINISH_NONE,
                                        .refuses_empty = true,
                                        .empty = 0};

weft_tensor *weft_max(weft_scope *s, weft_tensor *x, int axis, bool keep) {
    return weft_reduce(s, "max", &max_def, x, &axis, 1, keep);
}
weft_tensor *weft_max_dims(weft_scope *s, weft_tensor *x, const int *axes, int n_axes, bool keep) {
    return weft_reduce(s, "max_dims", &max_def, x, axes, n_axes, keep);
}

static const weft_reduce_def min_def = {.fold = WEFT_FOLD_MIN,
                                        .types = WEFT_TYPES_ANY,
                                        .finish = WEFT_FINISH_NONE,
                                        .refuses_empty = true,
                                        .empty = 0};

weft_tensor *weft_min(weft_scope *s, weft_tensor *x, int axis, bool keep) {
    return weft_reduce(s, "min", &min_def, x, &axis, 1, keep);
}
weft_tensor *weft_min_dims(weft_scope *s, weft_tensor *x, const int *axes, int n_axes, bool keep) {
    return weft_reduce(s, "min_dims", &min_def, x, axes, n_axes, keep);
}

static const weft_reduce_def argmax_def = {.fold = WEFT_FOLD_ARGMAX,
                                           .types = WEFT_TYPES_ANY,
                                           .finish = WEFT_FINISH_NONE,
                                           .refuses_empty = true,
                                           .empty = 0};

weft_tensor *weft_argmax(weft_scope *s, weft_tensor *x, int axis, bool keep) {
    return weft_reduce(s, "argmax", &argmax_def, x, &axis, 1, keep);
}
weft_tensor *weft_argmax_dims(weft_scope *s, weft_tensor *x, const int *axes, int n_axes,
                              bool keep) {
    return weft_reduce(s, "argmax_dims", &argmax_def, x, axes, n_axes, keep);
}

static const weft_reduce_def argmin_def = {.fold = WEFT_FOLD_ARGMIN,
                                           .types = WEFT_TYPES_ANY,
                                           .finish = WEFT_FINISH_NONE,
                                           .refuses_empty = true,
                                           .empty = 0};

weft_tensor *weft_argmin(weft_scope *s, weft_tensor *x, int axis, bool keep) {
    return weft_reduce(s, "argmin", &argmin_def, x, &axis, 1, keep);
}
weft_tensor *weft_argmin_dims(weft_scope *s, weft_tensor *x, const int *axes, int n_axes,
                              bool keep) {
    return weft_reduce(s, "argmin_dims", &argmin_def, x, axes, n_axes, keep);
}

static const weft_reduce_def any_def = {.fold = WEFT_FOLD_MAX,
                                        .types = WEFT_TYPES_BOOL,
                                        .finish = WEFT_FINISH_NONE,
                                        .refuses_empty = false,
                                        .empty = 0};

weft_tensor *weft_any(weft_scope *s, weft_tensor *x, int axis, bool keep) {
    return weft_reduce(s, "any", &any_def, x, &axis, 1, keep);
}
weft_tensor *weft_any_dims(weft_scope *s, weft_tensor *x, const int *axes, int n_axes, bool keep) {
    return weft_reduce(s, "any_dims", &any_def, x, axes, n_axes, keep);
}

static const weft_reduce_def all_def = {.fold = WEFT_FOLD_MIN,
                                        .types = WEFT_TYPES_BOOL,
                                        .finish = WEFT_FINISH_NONE,
                                        .refuses_empty = false,
                                        .empty = 1};

weft_tensor *weft_all(weft_scope *s, weft_tensor *x, int axis, bool keep) {
    return weft_reduce(s, "all", &all_def, x, &axis, 1, keep);
}
weft_tensor *weft_all_dims(weft_scope *s, weft_tensor *x, const int *axes, int n_axes, bool keep) {
    return weft_reduce(s, "all_dims", &all_def, x, axes, n_axes, keep);
}

static weft_reduce_def var_def(weft_finish finish, double correction) {
    return (weft_reduce_def){
        .fold = WEFT_FOLD_VAR, .types = WEFT_TYPES_FLOAT, .finish = finish, .p = correction};
}

weft_tensor *weft_var(weft_scope *s, weft_tensor *x, double correction, int axis, bool keep) {
    weft_reduce_def def = var_def(WEFT_FINISH_VAR, correction);
    return weft_reduce(s, "var", &def, x, &axis, 1, keep);
}
weft_tensor *weft_var_dims(weft_scope *s, weft_tensor *x, double correction, const int *axes,
                           int n_axes, bool keep) {
    weft_reduce_def def = var_def(WEFT_FINISH_VAR, correction);
    return weft_reduce(s, "var_dims", &def, x, axes, n_axes, keep);
}
weft_tensor *weft_std(weft_scope *s, weft_tensor *x, double correction, int axis, bool keep) {
    weft_reduce_def def = var_def(WEFT_FINISH_STD, correction);
    return weft_reduce(s, "std", &def, x, &axis, 1, keep);
}
weft_tensor *weft_std_dims(weft_scope *s, weft_tensor *x, double correction, const int *axes,
                           int n_axes, bool keep) {
    weft_reduce_def def = var_def(WEFT_FINISH_STD, correction);
    return weft_reduce(s, "std_dims", &def, x, axes, n_axes, keep);
}

/* The frequent norms need no powers. */
static weft_tensor *norm(weft_scope *s, const char *name, weft_tensor *x, double p, const int *axes,
                         int n_axes, bool keep) {
    weft_reduce_def def = {.types = WEFT_TYPES_FLOAT, .p = p};
    if (s != NULL && weft_scope_status(s) == WEFT_OK && !(p >= 0))
        return weft_scope_fail(s, WEFT_E_ARGUMENT, name, "p is %g, not 0 or above", p);
    if (isinf(p)) {
        def.fold = WEFT_FOLD_MAX;
        def.premap = WEFT_PREMAP_ABS;
    } else if (p == 2) {
        def.premap = WEFT_PREMAP_SQUARE;
        def.finish = WEFT_FINISH_SQRT;
    } else if (p == 1 || p == 0) {
        def.premap = p == 1 ? WEFT_PREMAP_ABS : WEFT_PREMAP_NOT_ZERO;
    } else {
        def.premap = WEFT_PREMAP_POWER;
        def.finish = WEFT_FINISH_ROOT;
    }
    return weft_reduce(s, name, &def, x, axes, n_axes, keep);
}

weft_tensor *weft_norm(weft_scope *s, weft_tensor *x, double p, int axis, bool keep) {
    return norm(s, "norm", x, p, &axis, 1, keep);
}
weft_tensor *weft_norm_dims(weft_scope *s, weft_tensor *x, double p, const int *axes, int n_axes,
                            bool keep) {
    return norm(s, "norm_dims", x, p, axes, n_axes, keep);
}
