/* Ops that lay whole tensors out anew: stack, repeat, tile, flip, roll, pad, the triangles,
 * one_hot. Each is a few strided copies. */
#include "tensor/convert.h"
#include "tensor/copy.h"
#include "tensor/map.h"

#include <inttypes.h>
#include <string.h>

/* Copies `dims` of elements from x (with its strides) to y at an offset (elements). */
static void put(weft_scope *s, const weft_tensor *y, int64_t offset, const int64_t *y_strides,
                const weft_tensor *x, const int64_t *dims, int64_t x_offset,
                const int64_t *x_strides) {
    int64_t item = (int64_t)weft_dtype_block_bytes(y->dtype);
    weft_copy_strided(s, (size_t)item, x->rank, dims,
                      (const unsigned char *)weft_tensor_data(x) + x_offset * item, x_strides,
                      (unsigned char *)weft_tensor_data(y) + offset * item, y_strides);
}

/* A result of x's type, and the guard of x. False: the status is set. */
static bool begin(weft_op *op, weft_scope *s, const char *name, weft_tensor *x, int rank,
                  const int64_t *dims, weft_tensor **y) {
    *y = weft_scope_new(s, name, x->dtype, rank, dims);
    return *y != NULL && weft_op_begin(op, s, name, &x, 1);
}

static bool ready(weft_scope *s, const char *name, weft_tensor *x) {
    return weft_scope_ready(s, name, &x, 1) && weft_op_plain(s, name, x);
}

weft_tensor *weft_stack(weft_scope *s, weft_tensor *const *list, size_t n, int axis) {
    const char *name = "stack";
    char shape[128];
    if (!weft_scope_ready(s, name, list, list == NULL ? 0 : n))
        return NULL;
    if (n == 0 || list == NULL || n > INT64_MAX)
        return weft_scope_fail(s, list == NULL && n > 0 ? WEFT_E_NULL : WEFT_E_ARGUMENT, name,
                               "at least one tensor is needed");
    const weft_tensor *first = list[0];
    int at = axis < 0 ? axis + first->rank + 1 : axis;
    if (first->rank == WEFT_MAX_RANK || at < 0 || at > first->rank)
        return weft_scope_fail(s, first->rank == WEFT_MAX_RANK ? WEFT_E_SHAPE : WEFT_E_RANGE, name,
                               "axis %d of a stack of %s", axis,
                               weft_shape_text(first, shape, sizeof shape));
    for (size_t i = 0; i < n; i++)
        if (!weft_op_plain(s, name, list[i]) || !weft_op_same_dtype(s, name, first, list[i]) ||
            !weft_op_same_shape(s, name, first, list[i]))
            return NULL;
    int64_t dims[WEFT_MAX_RANK], strides[WEFT_MAX_RANK];
    for (int d = 0; d <= first->rank; d++)
        dims[d] = d < at ? first->dims[d] : d == at ? (int64_t)n : first->dims[d - 1];
    weft_tensor *y = weft_scope_new(s, name, first->dtype, first->rank + 1, dims);
    if (y == NULL)
        return NULL;
    for (int d = 0; d < first->rank; d++)
        strides[d] = y->strides[d < at ? d : d + 1];
    for (size_t i = 0; i < n; i++) {
        weft_op op;
        if (!weft_op_begin(&op, s, name, list + i, 1))
            return NULL;
        put(s, y, (int64_t)i * y->strides[at], strides, list[i], first->dims, 0, list[i]->strides);
        weft_op_end(&op);
    }
    return y;
}

/* An extent times over; false: the status is set. */
static bool grow(weft_scope *s, const char *name, int64_t *extent, uint64_t times) {
    if (times <= INT64_MAX && weft_mul_i64(*extent, (int64_t)times, extent))
        return true;
    weft_scope_fail(s, WEFT_E_OVERFLOW, name, "%" PRIu64 " times %lld overflows", times,
                    (long long)*extent);
    return false;
}

weft_tensor *weft_repeat(weft_scope *s, weft_tensor *x, int axis, size_t times) {
    const char *name = "repeat";
    int64_t dims[WEFT_MAX_RANK], strides[WEFT_MAX_RANK];
    weft_tensor *y;
    weft_op op;
    if (!ready(s, name, x) || !weft_op_axis(s, name, x, &axis))
        return NULL;
    memcpy(dims, x->dims, sizeof dims);
    if (!grow(s, name, &dims[axis], times) || !begin(&op, s, name, x, x->rank, dims, &y))
        return NULL;
    memcpy(strides, y->strides, sizeof strides);
    strides[axis] *= (int64_t)times;
    for (int64_t i = 0; i < (int64_t)times && weft_tensor_numel(x) > 0; i++)
        put(s, y, i * y->strides[axis], strides, x, x->dims, 0, x->strides);
    weft_op_end(&op);
    return y;
}

/* The first tile is x; then, from the last axis on, what is there is repeated along it. */
weft_tensor *weft_tile(weft_scope *s, weft_tensor *x, int rank, const int64_t *reps) {
    const char *name = "tile";
    int64_t dims[WEFT_MAX_RANK], done[WEFT_MAX_RANK];
    weft_tensor *y;
    weft_op op;
    if (!ready(s, name, x))
        return NULL;
    if (rank < 0 || rank > WEFT_MAX_RANK || (reps == NULL && rank > 0))
        return weft_scope_fail(s, rank < 0 || rank > WEFT_MAX_RANK ? WEFT_E_SHAPE : WEFT_E_NULL,
                               name, "%d repetitions", rank);
    int n = rank > x->rank ? rank : x->rank;
    for (int d = 0; d < n; d++) {
        int from = d - (n - x->rank), rep = d - (n - rank);
        dims[d] = done[d] = from < 0 ? 1 : x->dims[from];
        if (rep >= 0 && reps[rep] < 0)
            return weft_scope_fail(s, WEFT_E_ARGUMENT, name, "%lld repetitions of dim %d",
                                   (long long)reps[rep], d);
        if (rep >= 0 && !grow(s, name, &dims[d], (uint64_t)reps[rep]))
            return NULL;
    }
    if (!begin(&op, s, name, x, n, dims, &y))
        return NULL;
    if (weft_tensor_numel(y) > 0) {
        weft_tensor corner = *y; /* what is there already, as an operand */
        put(s, y, 0, y->strides + (n - x->rank), x, x->dims, 0, x->strides);
        for (int d = n - 1; d >= 0; d--) {
            for (int64_t at = done[d]; at < dims[d]; at += done[d])
                put(s, y, at * y->strides[d], y->strides, &corner, done, 0, y->strides);
            done[d] = dims[d];
        }
    }
    weft_op_end(&op);
    return y;
}

weft_tensor *weft_flip(weft_scope *s, weft_tensor *x, int axis) {
    const char *name = "flip";
    weft_tensor *y;
    weft_op op;
    if (!ready(s, name, x) || !weft_op_axis(s, name, x, &axis) ||
        !begin(&op, s, name, x, x->rank, x->dims, &y))
        return NULL;
    int64_t strides[WEFT_MAX_RANK];
    memcpy(strides, x->strides, sizeof strides);
    strides[axis] = -strides[axis];
    if (weft_tensor_numel(x) > 0)
        put(s, y, 0, y->strides, x, x->dims, (x->dims[axis] - 1) * x->strides[axis], strides);
    weft_op_end(&op);
    return y;
}

weft_tensor *weft_roll(weft_scope *s, weft_tensor *x, int axis, int64_t shift) {
    const char *name = "roll";
    weft_tensor *y;
    weft_op op;
    if (!ready(s, name, x) || !weft_op_axis(s, name, x, &axis) ||
        !begin(&op, s, name, x, x->rank, x->dims, &y))
        return NULL;
    if (weft_tensor_numel(x) > 0) {
        int64_t n = x->dims[axis], by = (shift % n + n) % n, dims[WEFT_MAX_RANK];
        memcpy(dims, x->dims, sizeof dims);
        dims[axis] = n - by;
        put(s, y, by * y->strides[axis], y->strides, x, dims, 0, x->strides);
        dims[axis] = by;
        put(s, y, 0, y->strides, x, dims, (n - by) * x->strides[axis], x->strides);
    }
    weft_op_end(&op);
    return y;
}

weft_tensor *weft_pad(weft_scope *s, weft_tensor *x, const int64_t *before, const int64_t *after,
                      double value) {
    const char *name = "pad";
    int64_t dims[WEFT_MAX_RANK], at = 0;
    uint64_t item;
    weft_op op;
    if (!ready(s, name, x))
        return NULL;
    if ((before == NULL || after == NULL) && x->rank > 0)
        return weft_scope_fail(s, WEFT_E_NULL, name, "before or after is NULL");
    if (!weft_encode(x->dtype, value, &item))
        return weft_scope_fail(s, WEFT_E_ARGUMENT, name, "%g is no number of %s", value,
                               weft_dtype_name(x->dtype));
    for (int d = 0; d < x->rank; d++)
        if (before[d] < 0 || after[d] < 0 || !weft_add_i64(x->dims[d], before[d], &dims[d]) ||
            !weft_add_i64(dims[d], after[d], &dims[d]))
            return weft_scope_fail(s, WEFT_E_RANGE, name, "%lld before and %lld after dim %d",
                                   (long long)before[d], (long long)after[d], d);
    weft_tensor *y = weft_full(s, x->dtype, x->rank, dims, value);
    if (y == NULL || !weft_op_begin(&op, s, name, &x, 1))
        return NULL;
    for (int d = 0; d < x->rank; d++)
        at += before[d] * y->strides[d];
    if (weft_tensor_numel(x) > 0)
        put(s, y, at, y->strides, x, x->dims, 0, x->strides);
    weft_op_end(&op);
    return y;
}

/* ---- Triangles ---- */

static weft_tensor *triangle(weft_scope *s, const char *name, weft_tensor *x, int64_t diagonal,
                             bool lower) {
    char shape[128];
    weft_tensor *y;
    weft_op op;
    if (!ready(s, name, x))
        return NULL;
    if (x->rank < 2)
        return weft_scope_fail(s, WEFT_E_SHAPE, name, "%s has no last two dims",
                               weft_shape_text(x, shape, sizeof shape));
    if (!begin(&op, s, name, x, x->rank, x->dims, &y))
        return NULL;
    size_t item = weft_dtype_block_bytes(x->dtype);
    int64_t rows = x->dims[x->rank - 2], cols = x->dims[x->rank - 1];
    weft_copy_elements(s, x, weft_tensor_data(y));
    int64_t n = weft_tensor_numel(y) > 0 ? weft_tensor_numel(y) / cols : 0;
    for (int64_t r = 0; r < n; r++) {
        /* The first column beyond the diagonal, within [0, cols]. */
        int64_t row = r % rows, edge = lower ? 1 : 0;
        int64_t from = diagonal > cols ? cols : diagonal < -rows ? 0 : row + diagonal + edge;
        from = from < 0 ? 0 : from > cols ? cols : from;
        unsigned char *at = (unsigned char *)weft_tensor_data(y) + (size_t)(r * cols) * item;
        if (lower)
            memset(at + (size_t)from * item, 0, (size_t)(cols - from) * item);
        else
            memset(at, 0, (size_t)from * item);
    }
    weft_op_end(&op);
    return y;
}

weft_tensor *weft_tril(weft_scope *s, weft_tensor *x, int64_t diagonal) {
    return triangle(s, "tril", x, diagonal, true);
}
weft_tensor *weft_triu(weft_scope *s, weft_tensor *x, int64_t diagonal) {
    return triangle(s, "triu", x, diagonal, false);
}

/* ---- one_hot ---- */

weft_tensor *weft_one_hot(weft_scope *s, weft_tensor *ids, int64_t n, weft_dtype dtype) {
    const char *name = "one_hot";
    char shape[128];
    int64_t dims[WEFT_MAX_RANK];
    uint64_t one;
    weft_op op;
    if (!ready(s, name, ids) || !weft_op_types(s, name, ids, WEFT_TYPES_INTEGER))
        return NULL;
    if (ids->rank == WEFT_MAX_RANK)
        return weft_scope_fail(s, WEFT_E_SHAPE, name, "%s has the highest rank already",
                               weft_shape_text(ids, shape, sizeof shape));
    if (!weft_dtype_is_plain(dtype))
        return weft_scope_fail(s, WEFT_E_DTYPE, name, "%s cannot be filled with numbers",
                               weft_dtype_name(dtype));
    weft_encode(dtype, 1, &one);
    memcpy(dims, ids->dims, sizeof dims);
    dims[ids->rank] = n;
    weft_tensor *y = weft_zeros(s, dtype, ids->rank + 1, dims);
    if (y == NULL || !weft_op_begin(&op, s, name, &ids, 1))
        return NULL;
    size_t count = (size_t)weft_tensor_numel(ids), item = weft_dtype_block_bytes(dtype);
    const unsigned char *list = weft_packed_elements(s, name, ids);
    bool done = list != NULL;
    for (size_t i = 0; done && i < count; i++) {
        int64_t id;
        weft_to_i64(ids->dtype, list + i * weft_dtype_block_bytes(ids->dtype), 1, &id);
        if (id < 0 || id >= n) {
            weft_scope_fail(s, WEFT_E_RANGE, name, "ids[%zu] is %" PRId64 ", not below %lld", i, id,
                            (long long)n);
            done = false;
        } else {
            memcpy((unsigned char *)weft_tensor_data(y) + (i * (size_t)n + (size_t)id) * item, &one,
                   item);
        }
    }
    weft_op_end(&op);
    return done ? y : NULL;
}
