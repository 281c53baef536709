/* Views: fresh headers over the same storage. Each computes dims, strides and an offset; make_view
 * checks them in one place. */
#include <stdio.h>
#include <string.h>
#include "tensor/scope.h"
#include "tensor/walk.h"

/* What a view starts from: the header's own dims, strides and offset. */
static weft_shape shape_of(const weft_tensor *t) {
    weft_shape shape;
    shape.rank = t->rank;
    shape.offset = t->offset;
    memcpy(shape.dims, t->dims, sizeof shape.dims);
    memcpy(shape.strides, t->strides, sizeof shape.strides);
    return shape;
}

static weft_tensor *make_view(weft_scope *s, const char *op, weft_tensor *t,
                              const weft_shape *wanted) {
    weft_shape shape;
    weft_status status =
        weft_shape_view(t, wanted->rank, wanted->dims, wanted->strides, wanted->offset, &shape);
    if (status) {
        weft_scope_fail_in(s, status, op);
        return NULL;
    }
    weft_tensor *v = weft_scope_view(s, op, t);
    if (!v)
        return NULL;
    v->rank = shape.rank;
    v->offset = shape.offset;
    for (int i = 0; i < shape.rank; i++) {
        v->dims[i] = shape.dims[i];
        v->strides[i] = shape.strides[i];
    }
    return v;
}

/* The same of a view that lies within `t` by its making: plain elements need no second check. */
static weft_tensor *make_part(weft_scope *s, const char *op, weft_tensor *t,
                              const weft_shape *wanted) {
    bool empty = false;
    if (t->layout != WEFT_LAYOUT_STRIDED || weft_dtype_block(t->dtype) > 1)
        return make_view(s, op, t, wanted);
    weft_tensor *v = weft_scope_view(s, op, t);
    if (!v)
        return NULL;
    v->rank = wanted->rank;
    for (int i = 0; i < wanted->rank; i++) {
        v->dims[i] = wanted->dims[i];
        v->strides[i] = wanted->strides[i];
        empty |= wanted->dims[i] == 0;
    }
    if (!empty)
        v->offset = wanted->offset;
    return v;
}

/* Moves the window's start by `n` steps of an axis; extents of nothing move nowhere. */
static bool advance(weft_scope *s, const char *op, weft_shape *shape, int axis, int64_t n) {
    int64_t span;
    for (int i = 0; i < shape->rank; i++)
        if (shape->dims[i] == 0)
            return true;
    if (weft_mul_i64(n, shape->strides[axis], &span) &&
        weft_add_i64(shape->offset, span, &shape->offset))
        return true;
    weft_scope_fail(s, WEFT_E_OVERFLOW, op, "the offset of element %lld of axis %d overflows",
                    (long long)n, axis);
    return false;
}

static void remove_axis(weft_shape *shape, int axis) {
    shape->rank--;
    for (int i = axis; i < shape->rank; i++) {
        shape->dims[i] = shape->dims[i + 1];
        shape->strides[i] = shape->strides[i + 1];
    }
}

weft_tensor *weft_tensor_narrow(weft_scope *s, weft_tensor *t, int axis, size_t start,
                                size_t length) {
    char text[256];
    if (!weft_scope_ready(s, "narrow", &t, 1) || !weft_scope_axis(s, "narrow", t, axis, &axis))
        return NULL;
    uint64_t extent = (uint64_t)t->dims[axis];
    if (length > extent || start > extent - length)
        return weft_scope_fail(s, WEFT_E_RANGE, "narrow",
                               "%zu elements from %zu on leave axis %d of %s", length, start, axis,
                               weft_shape_text(t, text, sizeof text));
    if (t->layout == WEFT_LAYOUT_STRIDED && weft_dtype_block(t->dtype) == 1) {
        weft_tensor *v = weft_scope_view(s, "narrow", t); /* lies within t: nothing to check */
        bool empty = length == 0;
        for (int i = 0; i < t->rank; i++)
            empty |= t->dims[i] == 0;
        if (v) {
            v->dims[axis] = (int64_t)length;
            v->offset += empty ? 0 : (int64_t)start * t->strides[axis];
        }
        return v;
    }
    weft_shape shape = shape_of(t);
    shape.dims[axis] = (int64_t)length;
    if (!advance(s, "narrow", &shape, axis, (int64_t)start))
        return NULL;
    return make_part(s, "narrow", t, &shape);
}

/* Elements of start, start + step, … before stop; all are in range, step is not 0. */
static int64_t slice_length(int64_t start, int64_t stop, int64_t step) {
    uint64_t span, pace;
    if (step > 0) {
        if (stop <= start)
            return 0;
        span = (uint64_t)stop - (uint64_t)start;
        pace = (uint64_t)step;
    } else {
        if (stop >= start)
            return 0;
        span = (uint64_t)start - (uint64_t)stop;
        pace = 0 - (uint64_t)step;
    }
    return (int64_t)((span - 1) / pace + 1);
}

weft_tensor *weft_tensor_slice(weft_scope *s, weft_tensor *t, int axis, int64_t start, int64_t stop,
                               int64_t step) {
    char text[256];
    if (!weft_scope_ready(s, "slice", &t, 1) || !weft_scope_axis(s, "slice", t, axis, &axis))
        return NULL;
    if (step == 0)
        return weft_scope_fail(s, WEFT_E_ARGUMENT, "slice", "step is 0");
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? t->dims[axis] : t->dims[axis] - 1;
    if (start < low || start > high || stop < low || stop > high)
        return weft_scope_fail(s, WEFT_E_RANGE, "slice", "%lld:%lld:%lld leaves axis %d of %s",
                               (long long)start, (long long)stop, (long long)step, axis,
                               weft_shape_text(t, text, sizeof text));
    weft_shape shape = shape_of(t);
    shape.dims[axis] = slice_length(start, stop, step);
    if (!advance(s, "slice", &shape, axis, start))
        return NULL;
    /* With one element or none the step goes nowhere, and it may be huge. */
    if (shape.dims[axis] > 1 && !weft_mul_i64(shape.strides[axis], step, &shape.strides[axis]))
        return weft_scope_fail(s, WEFT_E_OVERFLOW, "slice", "step %lld overflows", (long long)step);
    return make_part(s, "slice", t, &shape);
}

weft_tensor *weft_tensor_select(weft_scope *s, weft_tensor *t, int axis, size_t index) {
    char text[256];
    if (!weft_scope_ready(s, "select", &t, 1) || !weft_scope_axis(s, "select", t, axis, &axis))
        return NULL;
    if (index >= (uint64_t)t->dims[axis])
        return weft_scope_fail(s, WEFT_E_RANGE, "select", "index %zu of axis %d of %s", index, axis,
                               weft_shape_text(t, text, sizeof text));
    if (weft_dtype_block(t->dtype) > 1 && axis == t->rank - 1)
        return weft_scope_fail(s, WEFT_E_LAYOUT, "select",
                               "a single element of a row of %s cannot be viewed",
                               weft_dtype_name(t->dtype));
    weft_shape shape = shape_of(t);
    if (!advance(s, "select", &shape, axis, (int64_t)index))
        return NULL;
    remove_axis(&shape, axis);
    return make_part(s, "select", t, &shape);
}

weft_tensor *weft_tensor_transpose(weft_scope *s, weft_tensor *t, int axis_a, int axis_b) {
    if (!weft_scope_ready(s, "transpose", &t, 1) ||
        !weft_scope_axis(s, "transpose", t, axis_a, &axis_a) ||
        !weft_scope_axis(s, "transpose", t, axis_b, &axis_b))
        return NULL;
    weft_shape shape = shape_of(t);
    shape.dims[axis_a] = t->dims[axis_b];
    shape.strides[axis_a] = t->strides[axis_b];
    shape.dims[axis_b] = t->dims[axis_a];
    shape.strides[axis_b] = t->strides[axis_a];
    return make_part(s, "transpose", t, &shape);
}

weft_tensor *weft_tensor_permute(weft_scope *s, weft_tensor *t, const int *axes) {
    unsigned seen = 0;
    if (!weft_scope_ready(s, "permute", &t, 1))
        return NULL;
    if (!axes && t->rank > 0)
        return weft_scope_fail(s, WEFT_E_NULL, "permute", "axes is NULL");
    weft_shape shape = shape_of(t);
    for (int i = 0; i < t->rank; i++) {
        int axis;
        if (!weft_scope_axis(s, "permute", t, axes[i], &axis))
            return NULL;
        if (seen & (1u << axis))
            return weft_scope_fail(s, WEFT_E_ARGUMENT, "permute", "axis %d comes twice", axis);
        seen |= 1u << axis;
        shape.dims[i] = t->dims[axis];
        shape.strides[i] = t->strides[axis];
    }
    return make_part(s, "permute", t, &shape);
}

/* The view of `t` with the resolved `dims`, NULL with *possible = false where only a copy serves.
 */
static weft_tensor *reshape_view(weft_scope *s, const char *op, weft_tensor *t, int rank,
                                 const int64_t *dims, bool *possible) {
    weft_shape shape = {.rank = rank, .offset = t->offset};
    *possible = true;
    bool inner_kept = rank > 0 && t->rank > 0 && dims[rank - 1] == t->dims[t->rank - 1];
    if (t->layout != WEFT_LAYOUT_STRIDED || (weft_dtype_block(t->dtype) > 1 && !inner_kept))
        return weft_scope_fail(s, WEFT_E_LAYOUT, op, "rows of %s%s keep their length",
                               weft_dtype_name(t->dtype),
                               t->layout == WEFT_LAYOUT_PANEL16 ? " panels" : "");
    for (int i = 0; i < rank; i++)
        shape.dims[i] = dims[i];
    *possible = weft_shape_restride(t, rank, dims, shape.strides);
    return *possible ? make_view(s, op, t, &shape) : NULL;
}

weft_tensor *weft_tensor_reshape(weft_scope *s, weft_tensor *t, int rank, const int64_t *dims) {
    int64_t resolved[WEFT_MAX_RANK];
    char old_text[256], strides_text[256], new_text[256];
    bool possible;
    if (!weft_scope_ready(s, "reshape", &t, 1))
        return NULL;
    weft_status status = weft_shape_resolve(weft_tensor_numel(t), rank, dims, resolved);
    if (status) {
        weft_scope_fail_in(s, status, "reshape");
        return NULL;
    }
    weft_tensor *v = reshape_view(s, "reshape", t, rank, resolved, &possible);
    if (!possible)
        weft_scope_fail(s, WEFT_E_NOT_A_VIEW, "reshape",
                        "%s with strides %s cannot be viewed as %s; reshape_copy copies",
                        weft_shape_text(t, old_text, sizeof old_text),
                        weft_dims_text(t->rank, t->strides, strides_text, sizeof strides_text),
                        weft_dims_text(rank, resolved, new_text, sizeof new_text));
    return v;
}

weft_tensor *weft_tensor_reshape_copy(weft_scope *s, weft_tensor *t, int rank,
                                      const int64_t *dims) {
    int64_t resolved[WEFT_MAX_RANK], row_major[WEFT_MAX_RANK];
    bool possible;
    weft_guard guard;
    if (!weft_scope_ready(s, "reshape_copy", &t, 1))
        return NULL;
    weft_status status = weft_shape_resolve(weft_tensor_numel(t), rank, dims, resolved);
    if (status) {
        weft_scope_fail_in(s, status, "reshape_copy");
        return NULL;
    }
    weft_tensor *v = reshape_view(s, "reshape_copy", t, rank, resolved, &possible);
    if (possible)
        return v;
    /* Same order of elements, so the fresh storage is filled as if it had the old dims. */
    v = weft_scope_new(s, "reshape_copy", t->dtype, rank, resolved);
    if (!v)
        return NULL;
    status = weft_guard_lock(&guard, &t, 1, 0);
    if (status) {
        weft_scope_fail_in(s, status, "reshape_copy");
        weft_scope_discard(s, &v);
        return NULL;
    }
    weft_strides_of(t->rank, t->dims, row_major);
    weft_copy_strided(s, weft_dtype_block_bytes(t->dtype), t->rank, t->dims, weft_tensor_data(t),
                      t->strides, weft_tensor_data(v), row_major);
    weft_guard_unlock(&guard);
    return v;
}

weft_tensor *weft_tensor_squeeze(weft_scope *s, weft_tensor *t, int axis) {
    char text[256];
    if (!weft_scope_ready(s, "squeeze", &t, 1) || !weft_scope_axis(s, "squeeze", t, axis, &axis))
        return NULL;
    if (t->dims[axis] != 1)
        return weft_scope_fail(s, WEFT_E_SHAPE, "squeeze", "axis %d of %s is not 1", axis,
                               weft_shape_text(t, text, sizeof text));
    weft_shape shape = shape_of(t);
    remove_axis(&shape, axis);
    return make_part(s, "squeeze", t, &shape);
}

weft_tensor *weft_tensor_unsqueeze(weft_scope *s, weft_tensor *t, int axis) {
    char text[256];
    if (!weft_scope_ready(s, "unsqueeze", &t, 1))
        return NULL;
    if (t->rank == WEFT_MAX_RANK)
        return weft_scope_fail(s, WEFT_E_SHAPE, "unsqueeze", "%s has the highest rank already",
                               weft_shape_text(t, text, sizeof text));
    int at = axis < 0 ? axis + t->rank + 1 : axis; /* -1: after the last */
    if (at < 0 || at > t->rank)
        return weft_scope_fail(s, WEFT_E_RANGE, "unsqueeze", "axis %d is outside of %s", axis,
                               weft_shape_text(t, text, sizeof text));
    weft_shape shape = shape_of(t);
    shape.rank++;
    for (int i = t->rank; i > at; i--) {
        shape.dims[i] = t->dims[i - 1];
        shape.strides[i] = t->strides[i - 1];
    }
    shape.dims[at] = 1;
    /* The stride that a contiguous tensor has here; an extent of 1 is never walked. */
    if (at == t->rank || !weft_mul_i64(t->strides[at], t->dims[at], &shape.strides[at]))
        shape.strides[at] = 1;
    return make_part(s, "unsqueeze", t, &shape);
}

weft_tensor *weft_tensor_expand(weft_scope *s, weft_tensor *t, int rank, const int64_t *dims) {
    char old_text[256], new_text[256];
    if (!weft_scope_ready(s, "expand", &t, 1))
        return NULL;
    if (!dims && rank > 0)
        return weft_scope_fail(s, WEFT_E_NULL, "expand", "dims is NULL");
    if (rank < t->rank || rank > WEFT_MAX_RANK)
        return weft_scope_fail(s, WEFT_E_SHAPE, "expand", "%s cannot be expanded to rank %d",
                               weft_shape_text(t, old_text, sizeof old_text), rank);
    weft_shape shape = {.rank = rank, .offset = t->offset};
    for (int i = 0; i < rank; i++) {
        int from = i - (rank - t->rank);
        shape.dims[i] = dims[i];
        if (from >= 0 && t->dims[from] == dims[i])
            shape.strides[i] = t->strides[from];
        else if (from >= 0 && t->dims[from] != 1)
            return weft_scope_fail(s, WEFT_E_SHAPE, "expand",
                                   "%s cannot be expanded to %s: axis %d is %lld",
                                   weft_shape_text(t, old_text, sizeof old_text),
                                   weft_dims_text(rank, dims, new_text, sizeof new_text), from,
                                   (long long)t->dims[from]);
    }
    return make_view(s, "expand", t, &shape);
}

weft_status weft_tensor_split(weft_scope *s, weft_tensor *t, int axis, const size_t *lengths,
                              size_t n, weft_tensor **out) {
    char text[256];
    if (out)
        for (size_t i = 0; i < n; i++)
            out[i] = NULL;
    if (!weft_scope_ready(s, "split", &t, 1))
        return s ? s->status : WEFT_E_NULL;
    if ((!lengths || !out) && n > 0)
        weft_scope_fail(s, WEFT_E_NULL, "split", "%s is NULL", out ? "lengths" : "out");
    else if (weft_scope_axis(s, "split", t, axis, &axis)) {
        size_t sum = 0;
        for (size_t i = 0; i < n; i++)
            if (!weft_add_size(sum, lengths[i], &sum)) {
                weft_scope_fail(s, WEFT_E_OVERFLOW, "split", "the lengths' sum overflows");
                return s->status;
            }
        if (sum != (uint64_t)t->dims[axis])
            weft_scope_fail(s, WEFT_E_SHAPE, "split", "lengths of %zu for axis %d of %s", sum, axis,
                            weft_shape_text(t, text, sizeof text));
    }
    size_t start = 0;
    for (size_t i = 0; i < n && s->status == WEFT_OK; i++) {
        out[i] = weft_tensor_narrow(s, t, axis, start, lengths[i]);
        start += lengths[i];
    }
    if (s->status != WEFT_OK && out)
        for (size_t i = 0; i < n; i++)
            if (out[i])
                weft_scope_discard(s, &out[i]);
    return s->status;
}

weft_status weft_tensor_chunk(weft_scope *s, weft_tensor *t, int axis, size_t n,
                              weft_tensor **out) {
    if (out)
        for (size_t i = 0; i < n; i++)
            out[i] = NULL;
    if (!weft_scope_ready(s, "chunk", &t, 1))
        return s ? s->status : WEFT_E_NULL;
    if (n == 0)
        weft_scope_fail(s, WEFT_E_ARGUMENT, "chunk", "0 parts");
    else if (!out)
        weft_scope_fail(s, WEFT_E_NULL, "chunk", "out is NULL");
    else
        (void)weft_scope_axis(s, "chunk", t, axis, &axis);
    if (s->status != WEFT_OK)
        return s->status;
    size_t extent = (size_t)t->dims[axis], start = 0;
    for (size_t i = 0; i < n && s->status == WEFT_OK; i++) {
        size_t length = extent / n + (i < extent % n);
        out[i] = weft_tensor_narrow(s, t, axis, start, length);
        start += length;
    }
    if (s->status != WEFT_OK)
        for (size_t i = 0; i < n; i++)
            if (out[i])
                weft_scope_discard(s, &out[i]);
    return s->status;
}

weft_tensor *weft_tensor_detach(weft_scope *s, weft_tensor *t) {
    if (!weft_scope_ready(s, "detach", &t, 1))
        return NULL;
    return weft_scope_view(s, "detach", t);
}

weft_tensor *weft_tensor_flatten(weft_scope *s, weft_tensor *t, int first, int last) {
    int64_t dims[WEFT_MAX_RANK] = {1};
    char text[256];
    if (!weft_scope_ready(s, "flatten", &t, 1))
        return NULL;
    if (t->rank == 0)
        return weft_tensor_reshape(s, t, 1, dims);
    if (!weft_scope_axis(s, "flatten", t, first, &first) ||
        !weft_scope_axis(s, "flatten", t, last, &last))
        return NULL;
    if (first > last)
        return weft_scope_fail(s, WEFT_E_ARGUMENT, "flatten", "axes %d to %d of %s", first, last,
                               weft_shape_text(t, text, sizeof text));
    int rank = 0;
    for (int i = 0; i < t->rank; i++) {
        if (i > first && i <= last)
            dims[rank - 1] *= t->dims[i]; /* fits: all dims do */
        else
            dims[rank++] = t->dims[i];
    }
    return weft_tensor_reshape(s, t, rank, dims);
}

weft_tensor *weft_tensor_unfold(weft_scope *s, weft_tensor *t, int axis, size_t size, size_t step) {
    char text[256];
    if (!weft_scope_ready(s, "unfold", &t, 1) || !weft_op_plain(s, "unfold", t) ||
        !weft_scope_axis(s, "unfold", t, axis, &axis))
        return NULL;
    if (t->rank == WEFT_MAX_RANK || step == 0 || step > INT64_MAX)
        return weft_scope_fail(s, step == 0 ? WEFT_E_ARGUMENT : WEFT_E_SHAPE, "unfold",
                               "windows of %zu every %zu of %s", size, step,
                               weft_shape_text(t, text, sizeof text));
    if (size > (uint64_t)t->dims[axis])
        return weft_scope_fail(s, WEFT_E_RANGE, "unfold", "windows of %zu leave axis %d of %s",
                               size, axis, weft_shape_text(t, text, sizeof text));
    weft_shape shape = shape_of(t);
    shape.dims[axis] = (t->dims[axis] - (int64_t)size) / (int64_t)step + 1;
    shape.dims[shape.rank] = (int64_t)size;
    shape.strides[shape.rank++] = t->strides[axis];
    if (shape.dims[axis] > 1 &&
        !weft_mul_i64(t->strides[axis], (int64_t)step, &shape.strides[axis]))
        return weft_scope_fail(s, WEFT_E_OVERFLOW, "unfold", "step %zu overflows", step);
    return make_view(s, "unfold", t, &shape);
}

weft_tensor *weft_tensor_diagonal(weft_scope *s, weft_tensor *t, int64_t offset, int axis_a,
                                  int axis_b) {
    char text[256];
    if (!weft_scope_ready(s, "diagonal", &t, 1) || !weft_op_plain(s, "diagonal", t) ||
        !weft_scope_axis(s, "diagonal", t, axis_a, &axis_a) ||
        !weft_scope_axis(s, "diagonal", t, axis_b, &axis_b))
        return NULL;
    int64_t rows = t->dims[axis_a], cols = t->dims[axis_b];
    if (axis_a == axis_b || offset < -rows || offset > cols)
        return weft_scope_fail(s, axis_a == axis_b ? WEFT_E_ARGUMENT : WEFT_E_RANGE, "diagonal",
                               "offset %lld of axes %d and %d of %s", (long long)offset, axis_a,
                               axis_b, weft_shape_text(t, text, sizeof text));
    int64_t down = offset < 0 ? -offset : 0, right = offset > 0 ? offset : 0;
    int64_t n = rows - down < cols - right ? rows - down : cols - right, stride;
    weft_shape shape = shape_of(t);
    shape.dims[axis_a] = n;
    if (!weft_add_i64(t->strides[axis_a], t->strides[axis_b], &stride))
        return weft_scope_fail(s, WEFT_E_OVERFLOW, "diagonal", "strides overflow");
    if (n > 0 && (!advance(s, "diagonal", &shape, axis_a, down) ||
                  !advance(s, "diagonal", &shape, axis_b, right)))
        return NULL;
    remove_axis(&shape, axis_a > axis_b ? axis_a : axis_b);
    remove_axis(&shape, axis_a > axis_b ? axis_b : axis_a);
    shape.dims[shape.rank] = n;
    shape.strides[shape.rank++] = stride;
    return make_part(s, "diagonal", t, &shape);
}
