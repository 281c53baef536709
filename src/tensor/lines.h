/* Ops along one axis: every line of x, packed, through one function that writes a line of each
 * result. Internal to src/tensor. */
#ifndef WEFT_TENSOR_LINES_H
#define WEFT_TENSOR_LINES_H

#include "tensor/map.h"

#define WEFT_LINES_OUT 2

typedef struct weft_lines weft_lines;

/* x [n] packed, of x's type; out[i] packed, of result i's type and extent; `own`: own_bytes of the
 * calling thread's, 64-byte aligned. */
typedef void (*weft_line_fn)(const weft_lines *l, const void *x, size_t n, void *const *out,
                             void *own);

/* Several f32 lines side by side: element i of column c of x at x[i * x_step + c], of result 0 at
 * y[i * y_step + c]. The same bits as the lines alone. */
typedef struct weft_line_columns {
    const float *x;
    float *y;
    ptrdiff_t x_step, y_step;
    size_t n, columns;
} weft_line_columns;
typedef void (*weft_columns_fn)(const weft_lines *l, const weft_line_columns *c, void *own);

#define WEFT_LINE_COLUMNS 128 /* at most together */

struct weft_lines {
    const char *name;
    const weft_kernels *k;
    weft_dtype dtype; /* of x */
    int axis;
    weft_line_fn fn;
    const void *ctx;                  /* of fn */
    weft_tensor *out[WEFT_LINES_OUT]; /* contiguous, x's dims but along the axis; NULL: none */
    size_t own_bytes;
    weft_columns_fn columns_fn; /* or NULL: lines are gathered */
    size_t column_bytes;        /* of what it keeps of a column */
    size_t columns_own_bytes;   /* and besides */
    size_t work;                /* element steps an element is like */
};

/* Under the guard of the op. False: the status is set. */
bool weft_lines_run(weft_scope *s, weft_lines *l, const weft_tensor *x);

#endif
