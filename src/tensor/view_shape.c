/* Shapes of reshaped tensors: the extent that is left open, and strides without a copy. */
#include "tensor/shape.h"

weft_status weft_shape_resolve(int64_t numel, int rank, const int64_t *dims, int64_t *out) {
    char text[256];
    int64_t known = 1;
    int open = -1;
    bool empty = false;
    if (rank < 0 || rank > WEFT_MAX_RANK)
        return weft_fail(WEFT_E_SHAPE, "rank %d is outside 0 … %d", rank, WEFT_MAX_RANK);
    if (rank > 0 && !dims)
        return weft_fail(WEFT_E_NULL, "dims is NULL");
    for (int i = 0; i < rank; i++) {
        out[i] = dims[i];
        if (dims[i] == -1 && open < 0) {
            open = i;
            continue;
        }
        if (dims[i] < 0)
            return weft_fail(WEFT_E_SHAPE, "%s has a negative extent or two open ones",
                             weft_dims_text(rank, dims, text, sizeof text));
        empty |= dims[i] == 0;
        if (!weft_mul_i64(known, dims[i] ? dims[i] : 1, &known))
            return weft_fail(WEFT_E_OVERFLOW, "the product of %s does not fit",
                             weft_dims_text(rank, dims, text, sizeof text));
    }
    if (empty)
        known = 0;
    if (open >= 0) {
        if (known == 0 || numel % known != 0)
            return weft_fail(WEFT_E_SHAPE, "%lld elements leave no extent for the -1 of %s",
                             (long long)numel, weft_dims_text(rank, dims, text, sizeof text));
        out[open] = numel / known;
    } else if (known != numel) {
        return weft_fail(WEFT_E_SHAPE, "%lld elements cannot have the shape %s", (long long)numel,
                         weft_dims_text(rank, dims, text, sizeof text));
    }
    return WEFT_OK;
}

bool weft_shape_restride(const weft_tensor *t, int rank, const int64_t *dims, int64_t *strides) {
    int64_t old_dims[WEFT_MAX_RANK], old_strides[WEFT_MAX_RANK];
    int n_old = 0;
    for (int i = 0; i < t->rank; i++) {
        if (t->dims[i] == 1)
            continue;
        old_dims[n_old] = t->dims[i];
        old_strides[n_old++] = t->strides[i];
    }
    int64_t row_major = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = row_major;
        row_major *= dims[i] ? dims[i] : 1;
    }
    if (weft_tensor_numel(t) == 0)
        return true;
    /* Walks both shapes from the left, in groups of axes with equal products. */
    int o = 0, d = 0;
    while (o < n_old) {
        int o_end = o + 1, d_end = d;
        int64_t old_product = old_dims[o], new_product = 1;
        while (new_product != old_product || d_end == d) {
            if (new_product < old_product || d_end == d)
                new_product *= dims[d_end++];
            else
                old_product *= old_dims[o_end++];
        }
        for (int i = o; i + 1 < o_end; i++)
            if (old_strides[i] != old_strides[i + 1] * old_dims[i + 1])
                return false;
        int64_t stride = old_strides[o_end - 1];
        for (int i = d_end - 1; i >= d; i--) {
            strides[i] = stride;
            stride *= dims[i];
        }
        o = o_end;
        d = d_end;
    }
    for (int last = d; last < rank; last++) /* trailing extents of 1 */
        strides[last] = d > 0 ? strides[d - 1] : 1;
    return true;
}
