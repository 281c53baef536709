/* Elements by their indices: gather, scatter, index_put, masked_select. Indices are checked before
 * anything else happens; what is written goes in row-major order of the indices, one after the
 * other, so that equal ones have a defined result. */
#include "tensor/convert.h"
#include "tensor/copy.h"
#include "tensor/map.h"

#include <inttypes.h>
#include <string.h>

/* ids as packed int64; NULL: the status is set. */
static const int64_t *packed_ids(weft_scope *s, const char *name, const weft_tensor *ids) {
    const void *raw = weft_packed_elements(s, name, ids);
    size_t n = (size_t)weft_tensor_numel(ids);
    if (raw == NULL || ids->dtype == WEFT_I64)
        return raw;
    int64_t *wide = weft_scope_scratch(s, name, weft_size_of(n + 1, sizeof *wide));
    if (wide)
        weft_to_i64(ids->dtype, raw, n, wide);
    return wide;
}

static bool ids_within(weft_scope *s, const char *name, const int64_t *ids, size_t n,
                       const weft_tensor *x, int axis) {
    for (size_t i = 0; i < n; i++) {
        if (ids[i] >= 0 && ids[i] < x->dims[axis])
            continue;
        char shape[128];
        weft_scope_fail(s, WEFT_E_RANGE, name,
                        "ids[%zu] is %" PRId64 ", out of range for dim %d of shape %s", i, ids[i],
                        axis, weft_shape_text(x, shape, sizeof shape));
        return false;
    }
    return true;
}

static bool ids_type(weft_scope *s, const char *name, const weft_tensor *ids) {
    if (!weft_op_plain(s, name, ids))
        return false;
    if (ids->dtype == WEFT_I32 || ids->dtype == WEFT_I64)
        return true;
    weft_scope_fail(s, WEFT_E_DTYPE, name, "ids are %s: i32 or i64 is needed",
                    weft_dtype_name(ids->dtype));
    return false;
}

/* ids has x's rank and fits into it but along the axis. */
static bool ids_fit(weft_scope *s, const char *name, const weft_tensor *x, const weft_tensor *ids,
                    int axis) {
    char sx[128], si[128];
    if (!ids_type(s, name, ids))
        return false;
    int bad = ids->rank == x->rank ? -1 : 0;
    for (int d = 0; d < x->rank && bad < 0; d++)
        if (d != axis && ids->dims[d] > x->dims[d])
            bad = d;
    if (bad < 0)
        return true;
    weft_scope_fail(s, WEFT_E_SHAPE, name, "ids %s do not fit into x %s in dim %d",
                    weft_shape_text(ids, si, sizeof si), weft_shape_text(x, sx, sizeof sx), bad);
    return false;
}

/* ---- gather ---- */

typedef struct gather_job {
    const weft_tensor *x, *ids, *y;
    const int64_t *list;
    int axis;
    size_t item;
} gather_job;

static void gather_rows(void *ctx, size_t begin, size_t end, int thread) {
    const gather_job *j = ctx;
    int last = j->ids->rank - 1;
    size_t n = (size_t)j->ids->dims[last];
    const unsigned char *x = weft_tensor_data(j->x);
    unsigned char *y = weft_tensor_data(j->y);
    int64_t strides[WEFT_MAX_RANK], item = (int64_t)j->item;
    (void)thread;
    for (int d = 0; d <= last; d++)
        strides[d] = d == j->axis ? 0 : j->x->strides[d];
    for (size_t r = begin; r < end; r++) {
        int64_t base = weft_index_offset(last, j->ids->dims, strides, r);
        for (size_t i = 0; i < n; i++) {
            int64_t at =
                base + (int64_t)i * strides[last] + j->list[r * n + i] * j->x->strides[j->axis];
            memcpy(y + (r * n + i) * j->item, x + at * item, j->item);
        }
    }
}

weft_tensor *weft_gather(weft_scope *s, weft_tensor *x, int axis, weft_tensor *ids) {
    const char *name = "gather";
    weft_tensor *inputs[] = {x, ids};
    if (!weft_scope_ready(s, name, inputs, 2) || !weft_op_plain(s, name, x) ||
        !weft_op_axis(s, name, x, &axis) || !ids_fit(s, name, x, ids, axis))
        return NULL;
    weft_tensor *y = weft_scope_new(s, name, x->dtype, ids->rank, ids->dims);
    weft_op op;
    if (y == NULL || !weft_op_begin(&op, s, name, inputs, 2))
        return NULL;
    size_t n = (size_t)weft_tensor_numel(ids);
    gather_job j = {x, ids, y, packed_ids(s, name, ids), axis, weft_dtype_block_bytes(x->dtype)};
    bool done = j.list != NULL && ids_within(s, name, j.list, n, x, axis);
    if (done && n > 0) {
        size_t row = (size_t)ids->dims[ids->rank - 1];
        weft_op_loop(s, n / row, 4 * row, gather_rows, &j);
    }
    weft_op_end(&op);
    return done ? y : NULL;
}

/* ---- scatter ---- */

/* y += x, of any plain type but bool, rounded to it. */
static void add_item(const weft_kernels *k, weft_dtype dtype, void *y, const void *x) {
    if (dtype == WEFT_F64) {
        double a, b;
        memcpy(&a, y, sizeof a);
        memcpy(&b, x, sizeof b);
        a += b;
        memcpy(y, &a, sizeof a);
    } else if (weft_dtype_is_float(dtype)) {
        float f[2], sum;
        weft_convert(k, dtype, y, WEFT_F32, &f[0], 1);
        weft_convert(k, dtype, x, WEFT_F32, &f[1], 1);
        sum = f[0] + f[1];
        weft_from_f32(k, &sum, dtype, y, 1);
    } else {
        int64_t a, b;
        weft_to_i64(dtype, y, 1, &a);
        weft_to_i64(dtype, x, 1, &b);
        a = (int64_t)((uint64_t)a + (uint64_t)b);
        weft_from_i64(&a, dtype, y, 1);
    }
}

static weft_tensor *scatter(weft_scope *s, const char *name, weft_tensor *x, int axis,
                            weft_tensor *ids, weft_tensor *src, bool add) {
    weft_tensor *inputs[] = {x, ids, src};
    if (!weft_scope_ready(s, name, inputs, 3) ||
        !weft_op_types(s, name, x, add ? WEFT_TYPES_NUMBER : WEFT_TYPES_ANY) ||
        !weft_op_plain(s, name, src) || !weft_op_axis(s, name, x, &axis) ||
        !ids_fit(s, name, x, ids, axis) || !weft_op_same_dtype(s, name, x, src) ||
        !weft_op_same_shape(s, name, ids, src))
        return NULL;
    weft_tensor *y = weft_scope_new(s, name, x->dtype, x->rank, x->dims);
    weft_op op;
    if (y == NULL || !weft_op_begin(&op, s, name, inputs, 3))
        return NULL;
    size_t n = (size_t)weft_tensor_numel(ids), item = weft_dtype_block_bytes(x->dtype);
    const int64_t *list = packed_ids(s, name, ids);
    const unsigned char *from = list ? weft_packed_elements(s, name, src) : NULL;
    bool done = from != NULL && ids_within(s, name, list, n, x, axis);
    if (done) {
        int64_t strides[WEFT_MAX_RANK];
        unsigned char *to = weft_tensor_data(y);
        weft_copy_elements(s, x, to);
        memcpy(strides, y->strides, sizeof strides);
        strides[axis] = 0;
        for (size_t i = 0; i < n; i++) {
            int64_t at =
                weft_index_offset(ids->rank, ids->dims, strides, i) + list[i] * y->strides[axis];
            if (add)
                add_item(weft_scope_kernels(s), x->dtype, to + at * (int64_t)item, from + i * item);
            else
                memcpy(to + at * (int64_t)item, from + i * item, item);
        }
    }
    weft_op_end(&op);
    return done ? y : NULL;
}

weft_tensor *weft_scatter(weft_scope *s, weft_tensor *x, int axis, weft_tensor *ids,
                          weft_tensor *src) {
    return scatter(s, "scatter", x, axis, ids, src, false);
}
weft_tensor *weft_scatter_add(weft_scope *s, weft_tensor *x, int axis, weft_tensor *ids,
                              weft_tensor *src) {
    return scatter(s, "scatter_add", x, axis, ids, src, true);
}

/* ---- index_put ---- */

/* ids [n, m] with m <= x's rank; values [n, x's dims from m on]. */
static bool put_fits(weft_scope *s, const weft_tensor *x, const weft_tensor *ids,
                     const weft_tensor *values) {
    char sx[128], si[128], sv[128];
    bool fits = ids->rank == 2 && ids->dims[1] <= x->rank;
    int m = fits ? (int)ids->dims[1] : 0;
    fits = fits && values->rank == 1 + x->rank - m && values->dims[0] == ids->dims[0];
    for (int d = m; fits && d < x->rank; d++)
        fits = values->dims[1 + d - m] == x->dims[d];
    if (!fits)
        weft_scope_fail(s, WEFT_E_SHAPE, "index_put", "x %s, ids %s and values %s do not fit",
                        weft_shape_text(x, sx, sizeof sx), weft_shape_text(ids, si, sizeof si),
                        weft_shape_text(values, sv, sizeof sv));
    return fits;
}

weft_tensor *weft_index_put(weft_scope *s, weft_tensor *x, weft_tensor *ids, weft_tensor *values,
                            bool accumulate) {
    const char *name = "index_put";
    weft_tensor *inputs[] = {x, ids, values};
    if (!weft_scope_ready(s, name, inputs, 3) ||
        !weft_op_types(s, name, x, accumulate ? WEFT_TYPES_NUMBER : WEFT_TYPES_ANY) ||
        !weft_op_plain(s, name, values) || !ids_type(s, name, ids) ||
        !weft_op_same_dtype(s, name, x, values) || !put_fits(s, x, ids, values))
        return NULL;
    weft_tensor *y = weft_scope_new(s, name, x->dtype, x->rank, x->dims);
    weft_op op;
    if (y == NULL || !weft_op_begin(&op, s, name, inputs, 3))
        return NULL;
    size_t n = (size_t)ids->dims[0], m = (size_t)ids->dims[1], run = 1;
    size_t item = weft_dtype_block_bytes(x->dtype);
    const int64_t *list = packed_ids(s, name, ids);
    const unsigned char *from = list ? weft_packed_elements(s, name, values) : NULL;
    bool done = from != NULL;
    for (size_t i = 0; done && i < n * m; i++)
        if (list[i] < 0 || list[i] >= x->dims[i % m])
            done = ids_within(s, name, list + i, 1, x, (int)(i % m));
    for (int d = (int)m; d < x->rank; d++)
        run *= (size_t)x->dims[d];
    if (done) {
        unsigned char *to = weft_tensor_data(y);
        weft_copy_elements(s, x, to);
        for (size_t i = 0; i < n; i++) {
            int64_t at = 0;
            for (size_t d = 0; d < m; d++)
                at += list[i * m + d] * y->strides[d];
            unsigned char *row = to + at * (int64_t)item;
            if (!accumulate)
                memcpy(row, from + i * run * item, run * item);
            for (size_t r = 0; accumulate && r < run; r++)
                add_item(weft_scope_kernels(s), x->dtype, row + r * item,
                         from + (i * run + r) * item);
        }
    }
    weft_op_end(&op);
    return done ? y : NULL;
}

/* ---- masked_select ---- */

weft_tensor *weft_masked_select(weft_scope *s, weft_tensor *x, weft_tensor *mask) {
    const char *name = "masked_select";
    weft_tensor *inputs[] = {x, mask}, *y = NULL;
    weft_op op;
    if (!weft_scope_ready(s, name, inputs, 2) || !weft_op_plain(s, name, x) ||
        !weft_op_types(s, name, mask, WEFT_TYPES_BOOL) || !weft_op_same_shape(s, name, x, mask) ||
        !weft_op_begin(&op, s, name, inputs, 2))
        return NULL;
    size_t n = (size_t)weft_tensor_numel(x), item = weft_dtype_block_bytes(x->dtype), at = 0;
    const unsigned char *from = weft_packed_elements(s, name, x);
    const uint8_t *chosen = from ? weft_packed_elements(s, name, mask) : NULL;
    int64_t count = 0;
    for (size_t i = 0; chosen && i < n; i++)
        count += chosen[i] != 0;
    if (chosen)
        y = weft_scope_new(s, name, x->dtype, 1, &count);
    unsigned char *to = y ? weft_tensor_data(y) : NULL;
    for (size_t i = 0; y && i < n; i++)
        if (chosen[i])
            memcpy(to + at++ * item, from + i * item, item);
    weft_op_end(&op);
    return y;
}
