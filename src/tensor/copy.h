/* Copies of elements, of blocks and of panels, inside of src/tensor. */
#ifndef WEFT_TENSOR_COPY_H
#define WEFT_TENSOR_COPY_H

#include "tensor/scope.h"

/* Dims and strides counted in items: elements, or blocks along the last axis. */
typedef struct weft_items {
    size_t item_bytes;
    int rank;
    int64_t dims[WEFT_MAX_RANK];
    int64_t strides[WEFT_MAX_RANK];
} weft_items;
weft_items weft_items_of(const weft_tensor *t);

/* The elements of `t`, row by row, to `to` (row-major). `s` NULL: on this thread. Hold the guard.
 */
void weft_copy_elements(weft_scope *s, const weft_tensor *t, void *to);

/* The elements of a plain tensor, row-major: its own data where it is contiguous, else a copy in
 * scratch of the scope. Under the guard. NULL: the status is set. */
const void *weft_packed_elements(weft_scope *s, const char *op, const weft_tensor *t);

#endif
