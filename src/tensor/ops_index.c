/* index_select and concat: copies of whole pieces of their inputs. */
#include "tensor/walk.h"

#include <inttypes.h>
#include <string.h>

/* ---- index_select ---- */

typedef struct select_job {
    const unsigned char *x, *ids;
    unsigned char *y;
    weft_dtype id_dtype;
    size_t item, n_ids;
    int64_t id_step;        /* bytes */
    int64_t x_axis, y_axis; /* bytes a step of the axis */
    int outer_rank;         /* dims before the axis */
    int64_t outer_dims[WEFT_MAX_RANK], outer_x[WEFT_MAX_RANK], outer_y[WEFT_MAX_RANK];
    int inner_rank; /* dims after it but the last two, which are copied at once */
    int64_t inner_dims[WEFT_MAX_RANK], inner_x[WEFT_MAX_RANK], inner_y[WEFT_MAX_RANK];
    size_t n_inner, rows, cols;
    int64_t x_row, x_col, y_row, y_col;
} select_job;

static int64_t id_at(const select_job *j, size_t i) {
    const unsigned char *at = j->ids + (int64_t)i * j->id_step;
    if (j->id_dtype == WEFT_I64) {
        int64_t v;
        memcpy(&v, at, sizeof v);
        return v;
    }
    int32_t v;
    memcpy(&v, at, sizeof v);
    return v;
}

/* An item is one index within one outer position. */
static void select_items(void *ctx, size_t begin, size_t end, int thread) {
    const select_job *j = ctx;
    (void)thread;
    for (size_t t = begin; t < end; t++) {
        size_t outer = t / j->n_ids, i = t % j->n_ids;
        const unsigned char *x =
            j->x + weft_index_offset(j->outer_rank, j->outer_dims, j->outer_x, outer) +
            id_at(j, i) * j->x_axis;
        unsigned char *y = j->y +
                           weft_index_offset(j->outer_rank, j->outer_dims, j->outer_y, outer) +
                           (int64_t)i * j->y_axis;
        for (size_t p = 0; p < j->n_inner; p++)
            weft_copy_2d(j->item, j->rows, j->cols,
                         x + weft_index_offset(j->inner_rank, j->inner_dims, j->inner_x, p),
                         j->x_row, j->x_col,
                         y + weft_index_offset(j->inner_rank, j->inner_dims, j->inner_y, p),
                         j->y_row, j->y_col);
    }
}

/* Splits the inner dims into the two that are copied at once and those that are counted through. */
static void plan_inner(select_job *j, const weft_tensor *x, const weft_tensor *y, int axis) {
    int64_t item = (int64_t)j->item;
    j->rows = j->cols = j->n_inner = 1;
    j->x_row = j->y_row = 0;
    j->x_col = j->y_col = item;
    int n = x->rank - axis - 1, plain = n;
    /* Trailing dims that are packed in x (y always is) make one run. */
    int64_t run = 1;
    while (plain > 0 && x->strides[axis + plain] == run)
        run *= x->dims[axis + plain--];
    j->cols = (size_t)run;
    if (plain == n && n > 0) { /* not even the last one: element by element within it */
        j->cols = (size_t)x->dims[axis + n];
        j->x_col = x->strides[axis + n] * item;
        plain--;
    }
    if (plain > 0) {
        j->rows = (size_t)x->dims[axis + plain];
        j->x_row = x->strides[axis + plain] * item;
        j->y_row = y->strides[axis + plain] * item;
        plain--;
    }
    for (int d = 0; d < plain; d++) {
        j->inner_dims[d] = x->dims[axis + 1 + d];
        j->inner_x[d] = x->strides[axis + 1 + d] * item;
        j->inner_y[d] = y->strides[axis + 1 + d] * item;
        j->n_inner *= (size_t)j->inner_dims[d];
    }
    j->inner_rank = plain;
}

static bool ids_in_range(weft_scope *s, const select_job *j, const weft_tensor *x, int axis) {
    for (size_t i = 0; i < j->n_ids; i++) {
        int64_t id = id_at(j, i);
        if (id >= 0 && id < x->dims[axis])
            continue;
        char shape[128];
        weft_scope_fail(s, WEFT_E_RANGE, "index_select",
                        "ids[%zu] is %" PRId64 ", out of range for dim %d of shape %s", i, id, axis,
                        weft_shape_text(x, shape, sizeof shape));
        return false;
    }
    return true;
}

weft_tensor *weft_index_select(weft_scope *s, weft_tensor *x, int axis, weft_tensor *ids) {
    const char *name = "index_select";
    weft_tensor *inputs[] = {x, ids};
    char shape[128];
    if (!weft_scope_ready(s, name, inputs, 2) || !weft_op_plain(s, name, x) ||
        !weft_op_plain(s, name, ids) || !weft_op_axis(s, name, x, &axis))
        return NULL;
    if (ids->dtype != WEFT_I32 && ids->dtype != WEFT_I64)
        return weft_scope_fail(s, WEFT_E_DTYPE, name, "ids are %s: i32 or i64 is needed",
                               weft_dtype_name(ids->dtype));
    if (ids->rank != 1)
        return weft_scope_fail(s, WEFT_E_SHAPE, name, "ids have shape %s: rank 1 is needed",
                               weft_shape_text(ids, shape, sizeof shape));
    int64_t dims[WEFT_MAX_RANK];
    for (int d = 0; d < x->rank; d++)
        dims[d] = d == axis ? ids->dims[0] : x->dims[d];
    weft_tensor *y = weft_scope_new(s, name, x->dtype, x->rank, dims);
    weft_op op;
    if (y == NULL || !weft_op_begin(&op, s, name, inputs, 2))
        return NULL;
    int64_t item = (int64_t)weft_dtype_block_bytes(x->dtype);
    select_job j = {.x = weft_tensor_data(x),
                    .y = weft_tensor_data(y),
                    .ids = weft_tensor_data(ids),
                    .id_dtype = ids->dtype,
                    .item = (size_t)item,
                    .n_ids = (size_t)ids->dims[0],
                    .x_axis = x->strides[axis] * item,
                    .y_axis = y->strides[axis] * item,
                    .outer_rank = axis};
    j.id_step = ids->strides[0] * (int64_t)weft_dtype_block_bytes(ids->dtype);
    size_t outer = 1;
    for (int d = 0; d < axis; d++) {
        j.outer_dims[d] = x->dims[d];
        j.outer_x[d] = x->strides[d] * item;
        j.outer_y[d] = y->strides[d] * item;
        outer *= (size_t)x->dims[d];
    }
    bool fits = ids_in_range(s, &j, x, axis);
    if (fits && weft_tensor_numel(y) > 0) {
        plan_inner(&j, x, y, axis);
        weft_op_loop(s, outer * j.n_ids, j.n_inner * j.rows * j.cols, select_items, &j);
    }
    weft_op_end(&op);
    return fits ? y : NULL;
}

/* ---- concat ---- */

static bool concat_fits(weft_scope *s, const weft_tensor *first, const weft_tensor *t, size_t i,
                        int axis) {
    char a[128], b[128];
    weft_shape_text(first, a, sizeof a);
    weft_shape_text(t, b, sizeof b);
    if (!weft_op_plain(s, "concat", t))
        return false;
    if (t->dtype != first->dtype) {
        weft_scope_fail(s, WEFT_E_DTYPE, "concat", "list[0] is %s %s, list[%zu] is %s %s",
                        weft_dtype_name(first->dtype), a, i, weft_dtype_name(t->dtype), b);
        return false;
    }
    if (t->rank != first->rank) {
        weft_scope_fail(s, WEFT_E_SHAPE, "concat", "list[0] has shape %s, list[%zu] shape %s", a, i,
                        b);
        return false;
    }
    for (int d = 0; d < t->rank; d++) {
        if (d == axis || t->dims[d] == first->dims[d])
            continue;
        weft_scope_fail(s, WEFT_E_SHAPE, "concat",
                        "list[0] has shape %s, list[%zu] shape %s: they differ in dim %d (%lld and "
                        "%lld)",
                        a, i, b, d, (long long)first->dims[d], (long long)t->dims[d]);
        return false;
    }
    return true;
}

weft_tensor *weft_concat(weft_scope *s, weft_tensor *const *list, size_t n, int axis) {
    const char *name = "concat";
    if (!weft_scope_ready(s, name, list, list == NULL ? 0 : n))
        return NULL;
    if (n == 0 || list == NULL)
        return weft_scope_fail(s, list == NULL && n > 0 ? WEFT_E_NULL : WEFT_E_ARGUMENT, name,
                               "at least one tensor is needed");
    const weft_tensor *first = list[0];
    if (!weft_op_axis(s, name, first, &axis))
        return NULL;
    int64_t dims[WEFT_MAX_RANK], total = 0;
    for (size_t i = 0; i < n; i++) {
        if (!concat_fits(s, first, list[i], i, axis))
            return NULL;
        if (__builtin_add_overflow(total, list[i]->dims[axis], &total))
            return weft_scope_fail(s, WEFT_E_OVERFLOW, name,
                                   "the extents of dim %d add up to more "
                                   "than an integer holds",
                                   axis);
    }
    for (int d = 0; d < first->rank; d++)
        dims[d] = d == axis ? total : first->dims[d];
    weft_tensor *y = weft_scope_new(s, name, first->dtype, first->rank, dims);
    if (y == NULL)
        return NULL;
    size_t item = weft_dtype_block_bytes(y->dtype);
    unsigned char *to = weft_tensor_data(y);
    for (size_t i = 0; i < n; i += 16) { /* as many as one guard takes */
        size_t m = n - i < 16 ? n - i : 16;
        weft_op op;
        if (!weft_op_begin(&op, s, name, list + i, m))
            return NULL;
        for (size_t p = i; p < i + m; p++) {
            weft_copy_strided(s, item, y->rank, list[p]->dims, weft_tensor_data(list[p]),
                              list[p]->strides, to, y->strides);
            to += list[p]->dims[axis] * y->strides[axis] * (int64_t)item;
        }
        weft_op_end(&op);
    }
    return y;
}
