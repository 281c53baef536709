/* Rows of a table by id, and whole tensors of block types, as f32. */
#include "base/alloc.h"
#include "tensor/pack.h"
#include "tensor/walk.h"

#include <string.h>

typedef struct rows_job {
    const weft_tensor *table; /* rank 2 */
    const unsigned char *ids; /* NULL: row i */
    int64_t id_step;          /* bytes */
    float *y;
    unsigned char *buffers; /* a thread: one row in the file's layout; NULL where rows lie packed */
    size_t row_bytes;
} rows_job;

static int32_t id_at(const rows_job *job, size_t i) {
    int32_t id;
    memcpy(&id, job->ids + (int64_t)i * job->id_step, sizeof id);
    return id;
}

static void copy_rows(void *ctx, size_t begin, size_t end, int thread) {
    const rows_job *job = ctx;
    size_t cols = (size_t)job->table->dims[1];
    void *buffer = job->buffers ? job->buffers + (size_t)thread * job->row_bytes : NULL;
    for (size_t i = begin; i < end; i++) {
        size_t row = job->ids != NULL ? (size_t)id_at(job, i) : i;
        weft_row_floats(job->table, row, buffer, job->y + i * cols);
    }
}

/* Whether rows of this type can become f32; else the status is set. */
static bool check_table(weft_scope *s, const char *name, const weft_tensor *t) {
    char shape[128];
    const char *type = weft_dtype_name(t->dtype);
    bool quantized = weft_dtype_is_quantized(t->dtype);
    if (!quantized && t->dtype != WEFT_F32 && t->dtype != WEFT_F16 && t->dtype != WEFT_BF16) {
        weft_scope_fail(s, WEFT_E_DTYPE, name, "%s of shape %s is not a float or block type", type,
                        weft_shape_text(t, shape, sizeof shape));
        return false;
    }
    if (t->layout != WEFT_LAYOUT_STRIDED || !quantized)
        return true;
    if (t->rank > 0 && t->strides[t->rank - 1] != 1 && t->dims[t->rank - 1] > 1) {
        weft_scope_fail(s, WEFT_E_LAYOUT, name, "%s of shape %s: blocks do not lie along the rows",
                        type, weft_shape_text(t, shape, sizeof shape));
        return false;
    }
    float none;
    if (!weft_dequantize_row(t->dtype, "", 0, &none)) {
        weft_scope_fail(s, WEFT_E_UNSUPPORTED, name, "%s of shape %s has no definition here", type,
                        weft_shape_text(t, shape, sizeof shape));
        return false;
    }
    return true;
}

static bool run_rows(weft_scope *s, const char *name, rows_job *job, size_t n) {
    const weft_tensor *t = job->table;
    if (n == 0 || t->dims[1] == 0)
        return true;
    if (t->layout == WEFT_LAYOUT_STRIDED && !weft_rows_packed(t)) {
        job->row_bytes = (weft_row_bytes(t) + 63) / 64 * 64;
        size_t threads = (size_t)weft_team_n_threads(weft_scope_team(s));
        job->buffers = weft_scope_scratch(s, name, weft_size_of(threads, job->row_bytes));
        if (job->buffers == NULL)
            return false;
    }
    weft_op_loop(s, n, (size_t)t->dims[1], copy_rows, job);
    return true;
}

static bool ids_in_range(weft_scope *s, const rows_job *job, size_t n) {
    for (size_t i = 0; i < n; i++) {
        int32_t id = id_at(job, i);
        if (id >= 0 && id < job->table->dims[0])
            continue;
        char shape[128];
        weft_scope_fail(s, WEFT_E_RANGE, "embedding",
                        "ids[%zu] is %d, out of range for dim 0 of the table %s", i, id,
                        weft_shape_text(job->table, shape, sizeof shape));
        return false;
    }
    return true;
}

weft_tensor *weft_embedding(weft_scope *s, weft_tensor *table, weft_tensor *ids) {
    const char *name = "embedding";
    weft_tensor *inputs[] = {table, ids};
    char st[128], si[128];
    if (!weft_scope_ready(s, name, inputs, 2) || !weft_op_plain(s, name, ids) ||
        !check_table(s, name, table))
        return NULL;
    if (table->rank != 2 || ids->rank != 1)
        return weft_scope_fail(s, WEFT_E_SHAPE, name, "table %s must have two dims, ids %s one",
                               weft_shape_text(table, st, sizeof st),
                               weft_shape_text(ids, si, sizeof si));
    if (ids->dtype != WEFT_I32)
        return weft_scope_fail(s, WEFT_E_DTYPE, name, "ids are %s: i32 is needed",
                               weft_dtype_name(ids->dtype));
    int64_t dims[] = {ids->dims[0], table->dims[1]};
    weft_tensor *y = weft_scope_new(s, name, WEFT_F32, 2, dims);
    weft_op op;
    if (y == NULL || !weft_op_begin(&op, s, name, inputs, 2))
        return NULL;
    weft_op_reads(&op, (uint64_t)weft_tensor_numel(y) / weft_dtype_block(table->dtype) *
                           weft_dtype_block_bytes(table->dtype));
    rows_job job = {
        .table = weft_tensor_packed(table), .ids = weft_tensor_data(ids), .y = weft_tensor_data(y)};
    job.id_step = ids->strides[0] * (int64_t)sizeof(int32_t);
    size_t n = (size_t)ids->dims[0];
    bool done = ids_in_range(s, &job, n) && run_rows(s, name, &job, n);
    weft_op_end(&op);
    return done ? y : NULL;
}

/* Block types of more than two dims: every matrix of the last two dims in turn. */
static bool dequantize_matrices(weft_scope *s, const weft_tensor *x, float *y) {
    int outer = x->rank > 2 ? x->rank - 2 : 0;
    size_t n = 1;
    for (int d = 0; d < outer; d++)
        n *= (size_t)x->dims[d];
    weft_tensor matrix = {.dtype = x->dtype, .layout = x->layout, .rank = 2, .storage = x->storage};
    matrix.dims[0] = x->rank > 1 ? x->dims[x->rank - 2] : 1;
    matrix.dims[1] = x->rank > 0 ? x->dims[x->rank - 1] : 1;
    matrix.strides[0] = x->rank > 1 ? x->strides[x->rank - 2] : matrix.dims[1];
    matrix.strides[1] = 1;
    for (size_t i = 0; i < n; i++) {
        matrix.offset = x->offset + weft_index_offset(outer, x->dims, x->strides, i);
        rows_job job = {.table = &matrix, .y = y + (int64_t)i * matrix.dims[0] * matrix.dims[1]};
        if (!run_rows(s, "dequantize", &job, (size_t)matrix.dims[0]))
            return false;
    }
    return true;
}

weft_tensor *weft_dequantize(weft_scope *s, weft_tensor *x) {
    const char *name = "dequantize";
    if (!weft_scope_ready(s, name, &x, 1) || !check_table(s, name, x))
        return NULL;
    weft_tensor *y = weft_scope_new(s, name, WEFT_F32, x->rank, x->dims);
    weft_op op;
    if (y == NULL || !weft_op_begin(&op, s, name, &x, 1))
        return NULL;
    bool done = true;
    if (x->layout == WEFT_LAYOUT_STRIDED && !weft_dtype_is_quantized(x->dtype)) {
        weft_cast_strided(s, x->rank, x->dims, x->dtype, weft_tensor_data(x), x->strides, WEFT_F32,
                          weft_tensor_data(y), y->strides);
    } else if (weft_tensor_numel(y) > 0) {
        done = dequantize_matrices(s, x, weft_tensor_data(y));
    }
    weft_op_end(&op);
    return done ? y : NULL;
}
