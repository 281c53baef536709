/* The checked constructor of shapes: contiguous ones and windows onto a storage. */
#include "tensor/shape.h"

#include <stdio.h>
#include <string.h>
#include "tensor/kernels/panel.h"

static weft_status check_extents(int rank, const int64_t *dims) {
    char text[256];
    if (rank < 0 || rank > WEFT_MAX_RANK)
        return weft_fail(WEFT_E_SHAPE, "rank %d is outside 0 … %d", rank, WEFT_MAX_RANK);
    if (rank > 0 && !dims)
        return weft_fail(WEFT_E_NULL, "dims is NULL");
    for (int i = 0; i < rank; i++)
        if (dims[i] < 0)
            return weft_fail(WEFT_E_SHAPE, "extent %lld of axis %d in %s is negative",
                             (long long)dims[i], i, weft_dims_text(rank, dims, text, sizeof text));
    return WEFT_OK;
}

/* Elements and bytes of `dims` when stored row by row. Zero extents count as 1 for the overflow
 * check, so that strides always fit. */
static weft_status measure(weft_dtype dtype, weft_layout layout, weft_shape *shape) {
    char text[256];
    int64_t n = 1, rows = 1;
    size_t block = weft_dtype_block(dtype), bytes;
    bool empty = false;
    for (int i = 0; i < shape->rank; i++) {
        int64_t extent = shape->dims[i] ? shape->dims[i] : 1;
        empty |= shape->dims[i] == 0;
        rows = n;
        if (!weft_mul_i64(n, extent, &n))
            goto overflow;
    }
    if (layout == WEFT_LAYOUT_PANEL16) {
        size_t panel = weft_panel_bytes(dtype, (size_t)shape->dims[1]);
        if (panel == 0 && shape->dims[1] != 0)
            return weft_fail(WEFT_E_LAYOUT, "%s rows of %lld have no panel form",
                             weft_dtype_name(dtype), (long long)shape->dims[1]);
        size_t n_panels = ((size_t)rows + WEFT_PANEL_ROWS - 1) / WEFT_PANEL_ROWS;
        if (!weft_mul_size(n_panels, panel, &bytes))
            goto overflow;
    } else {
        size_t n_blocks = block == 1 ? (size_t)n : (size_t)n / block + ((size_t)n % block != 0);
        if (!weft_mul_size(n_blocks, weft_dtype_block_bytes(dtype), &bytes))
            goto overflow;
    }
    if (bytes > PTRDIFF_MAX)
        goto overflow;
    shape->numel = empty ? 0 : n;
    shape->size_bytes = empty ? 0 : bytes;
    return WEFT_OK;
overflow:
    return weft_fail(WEFT_E_OVERFLOW, "the size of %s %s does not fit",
                     weft_dims_text(shape->rank, shape->dims, text, sizeof text),
                     weft_dtype_name(dtype));
}

static void set_row_major(weft_shape *shape) {
    int64_t stride = 1; /* cannot overflow: measured before */
    for (int i = shape->rank - 1; i >= 0; i--) {
        shape->strides[i] = stride;
        stride *= shape->dims[i] ? shape->dims[i] : 1;
    }
}

/* Dims and strides beyond the rank are zeros. */
static void begin_shape(weft_shape *shape, int rank, int64_t offset) {
    shape->rank = rank;
    shape->offset = offset;
    memset(shape->dims, 0, sizeof shape->dims);
    memset(shape->strides, 0, sizeof shape->strides);
}

weft_status weft_shape_contiguous(weft_dtype dtype, weft_layout layout, int rank,
                                  const int64_t *dims, weft_shape *out) {
    char text[256];
    weft_status status = check_extents(rank, dims);
    if (status)
        return status;
    if ((unsigned)dtype >= WEFT_DTYPE_COUNT)
        return weft_fail(WEFT_E_DTYPE, "there is no data type %d", (int)dtype);
    begin_shape(out, rank, 0);
    for (int i = 0; i < rank; i++)
        out->dims[i] = dims[i];
    if (layout == WEFT_LAYOUT_PANEL16 && rank != 2)
        return weft_fail(WEFT_E_LAYOUT, "panels have rank 2, not %d", rank);
    size_t block = weft_dtype_block(dtype);
    if (block > 1 && (rank == 0 || (uint64_t)dims[rank - 1] % block != 0))
        return weft_fail(WEFT_E_SHAPE, "rows of %s %s are no whole number of blocks of %zu",
                         weft_dims_text(rank, dims, text, sizeof text), weft_dtype_name(dtype),
                         block);
    status = measure(dtype, layout, out);
    if (!status)
        set_row_major(out);
    return status;
}

/* Lowest and highest element that the window reaches. */
static bool reach(const weft_shape *shape, int64_t *low, int64_t *high) {
    *low = *high = shape->offset;
    for (int i = 0; i < shape->rank; i++) {
        int64_t span;
        if (!weft_mul_i64(shape->dims[i] - 1, shape->strides[i], &span))
            return false;
        int64_t *end = span < 0 ? low : high;
        if (!weft_add_i64(*end, span, end))
            return false;
    }
    return true;
}

static weft_status check_blocks(const weft_tensor *t, const weft_shape *shape) {
    int64_t block = (int64_t)weft_dtype_block(t->dtype);
    const char *name = weft_dtype_name(t->dtype);
    int inner = shape->rank - 1;
    if (inner < 0 || (shape->strides[inner] != 1 && shape->dims[inner] > 1))
        return weft_fail(WEFT_E_LAYOUT,
                         "blocks of %s run along the last axis, which must stay last", name);
    if (shape->offset % block != 0 || shape->dims[inner] % block != 0)
        return weft_fail(
            WEFT_E_LAYOUT, "a range of %lld elements at element %lld cuts blocks of %lld (%s)",
            (long long)shape->dims[inner], (long long)shape->offset, (long long)block, name);
    for (int i = 0; i < inner; i++)
        if (shape->strides[i] % block != 0 && shape->dims[i] > 1)
            return weft_fail(WEFT_E_LAYOUT, "stride %lld of axis %d cuts blocks of %lld (%s)",
                             (long long)shape->strides[i], i, (long long)block, name);
    return WEFT_OK;
}

static weft_status check_panels(const weft_tensor *t, const weft_shape *shape) {
    int64_t columns = t->dims[1];
    if (shape->rank != 2 || shape->dims[1] != columns || shape->strides[1] != 1 ||
        shape->strides[0] != t->strides[0])
        return weft_fail(WEFT_E_LAYOUT, "packed panels can only be narrowed by rows");
    int64_t first = columns ? (shape->offset - t->offset) / columns : 0;
    bool to_the_end = first + shape->dims[0] == t->dims[0];
    if (first % WEFT_PANEL_ROWS != 0 || (shape->dims[0] % WEFT_PANEL_ROWS != 0 && !to_the_end))
        return weft_fail(WEFT_E_LAYOUT, "rows [%lld, %lld) cut panels of %d rows", (long long)first,
                         (long long)(first + shape->dims[0]), WEFT_PANEL_ROWS);
    return WEFT_OK;
}

weft_status weft_shape_view(const weft_tensor *t, int rank, const int64_t *dims,
                            const int64_t *strides, int64_t offset, weft_shape *out) {
    char text[256];
    weft_status status = check_extents(rank, dims);
    if (status)
        return status;
    begin_shape(out, rank, offset);
    for (int i = 0; i < rank; i++) {
        out->dims[i] = dims[i];
        out->strides[i] = strides[i];
    }
    if (t->layout == WEFT_LAYOUT_PANEL16)
        status = check_panels(t, out);
    else if (weft_dtype_block(t->dtype) > 1)
        status = check_blocks(t, out);
    if (!status)
        status = measure(t->dtype, t->layout, out);
    if (status)
        return status;
    if (out->numel == 0) {
        out->offset = t->offset;
        return WEFT_OK;
    }
    if (t->layout == WEFT_LAYOUT_PANEL16) {
        if (offset < t->offset || offset - t->offset > t->dims[0] * t->dims[1] - out->numel)
            return weft_fail(WEFT_E_RANGE, "the view leaves its storage");
        return WEFT_OK;
    }
    int64_t low, high;
    if (!reach(out, &low, &high))
        return weft_fail(WEFT_E_OVERFLOW, "strides of %s at offset %lld overflow",
                         weft_dims_text(rank, dims, text, sizeof text), (long long)offset);
    size_t block = weft_dtype_block(t->dtype);
    uint64_t room = (uint64_t)(t->storage->size_bytes / weft_dtype_block_bytes(t->dtype)) * block;
    if (low < 0 || (uint64_t)high >= room)
        return weft_fail(WEFT_E_RANGE, "elements %lld … %lld of a storage of %llu", (long long)low,
                         (long long)high, (unsigned long long)room);
    return WEFT_OK;
}

bool weft_shape_is_contiguous(int rank, const int64_t *dims, const int64_t *strides) {
    int64_t expected = 1;
    for (int i = 0; i < rank; i++)
        if (dims[i] == 0)
            return true;
    for (int i = rank - 1; i >= 0; i--) {
        if (dims[i] != 1 && strides[i] != expected)
            return false;
        expected *= dims[i];
    }
    return true;
}
