/* Shapes, strides and offsets: the one place where they are computed, with every product and sum
 * checked. All functions set the thread's detail on failure. */
#ifndef WEFT_TENSOR_SHAPE_H
#define WEFT_TENSOR_SHAPE_H

#include "tensor/impl.h"

typedef struct weft_shape {
    int rank;
    int64_t dims[WEFT_MAX_RANK];
    int64_t strides[WEFT_MAX_RANK]; /* elements */
    int64_t offset;                 /* elements */
    int64_t numel;
    size_t size_bytes; /* of a contiguous storage of these dims */
} weft_shape;

/* Row-major strides, offset 0. Errors: WEFT_E_SHAPE (rank, a negative extent, rows that are no
 * whole number of blocks), WEFT_E_DTYPE (no such type), WEFT_E_OVERFLOW, WEFT_E_LAYOUT (panels). */
weft_status weft_shape_contiguous(weft_dtype dtype, weft_layout layout, int rank,
                                  const int64_t *dims, weft_shape *out);

/* Another window onto the storage of `t`: every element lies in the storage, blocks and panels stay
 * whole. Errors: WEFT_E_SHAPE, _OVERFLOW, _RANGE, _LAYOUT. */
weft_status weft_shape_view(const weft_tensor *t, int rank, const int64_t *dims,
                            const int64_t *strides, int64_t offset, weft_shape *out);

/* Resolves one extent of -1 so that the product is `numel`, and checks the product.
 * Errors: WEFT_E_SHAPE, WEFT_E_OVERFLOW. */
weft_status weft_shape_resolve(int64_t numel, int rank, const int64_t *dims, int64_t *out);

/* Strides for `dims` (same number of elements) over the elements of `t`; false where only a copy
 * can have that shape. */
bool weft_shape_restride(const weft_tensor *t, int rank, const int64_t *dims, int64_t *strides);

bool weft_shape_is_contiguous(int rank, const int64_t *dims, const int64_t *strides);

#endif
