/* Packing weights into panels of 16 rows, in parallel, and reading rows of either layout. */
#include "tensor/pack.h"

#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "tensor/kernels/pack_words.h"
#include "tensor/slab.h"
#include "tensor/walk.h"

size_t weft_row_bytes(const weft_tensor *weight) {
    size_t block = weft_dtype_block(weight->dtype), cols = (size_t)weight->dims[1];
    if (block == 0 || cols % block != 0)
        return 0;
    return weft_size_of(cols / block, weft_dtype_block_bytes(weight->dtype));
}

bool weft_rows_packed(const weft_tensor *weight) {
    return (weight->strides[1] == 1 || weight->dims[1] == 1) &&
           (weight->strides[0] == weight->dims[1] || weight->dims[0] == 1);
}

const void *weft_rows_at(const weft_tensor *weight, size_t first, size_t n, void *buffer) {
    int64_t block = (int64_t)weft_dtype_block(weight->dtype);
    int64_t item = (int64_t)weft_dtype_block_bytes(weight->dtype);
    int64_t row_step = weight->strides[0] / block * item;
    const unsigned char *rows =
        (const unsigned char *)weft_tensor_data(weight) + (int64_t)first * row_step;
    if (weft_rows_packed(weight))
        return rows;
    size_t row_bytes = weft_row_bytes(weight);
    if (weight->strides[1] == 1)
        weft_copy_2d(1, n, row_bytes, rows, row_step, 1, buffer, (int64_t)row_bytes, 1);
    else
        weft_copy_2d((size_t)item, n, (size_t)weight->dims[1], rows, row_step,
                     weight->strides[1] * item, buffer, (int64_t)row_bytes, item);
    return buffer;
}

bool weft_row_floats(const weft_tensor *weight, size_t row, void *buffer, float *out) {
    size_t cols = (size_t)weight->dims[1];
    if (weight->layout == WEFT_LAYOUT_PANEL16) {
        const unsigned char *panel = (const unsigned char *)weft_tensor_data(weight) +
                                     row / WEFT_PANEL_ROWS * weft_panel_bytes(weight->dtype, cols);
        weft_panel_row(weight->dtype, panel, row % WEFT_PANEL_ROWS, cols, out);
        return true;
    }
    return weft_dequantize_row(weight->dtype, weft_rows_at(weight, row, 1, buffer), cols, out);
}

typedef struct pack_job {
    const weft_tensor *weight;
    weft_isa isa;
    unsigned char *panels, *buffers; /* [n_panels, panel_bytes]; [threads, 16 rows] or NULL */
    size_t panel_bytes, buffer_bytes;
} pack_job;

static void pack_panels(void *ctx, size_t begin, size_t end, int thread) {
    const pack_job *job = ctx;
    size_t n_out = (size_t)job->weight->dims[0], n_in = (size_t)job->weight->dims[1];
    void *buffer = job->buffers == NULL ? NULL : job->buffers + (size_t)thread * job->buffer_bytes;
    for (size_t p = begin; p < end; p++) {
        size_t first = p * WEFT_PANEL_ROWS, n = n_out - first;
        n = n < WEFT_PANEL_ROWS ? n : WEFT_PANEL_ROWS;
        weft_panel_pack_by(job->isa, job->weight->dtype,
                           weft_rows_at(job->weight, first, n, buffer), n, n_in,
                           job->panels + p * job->panel_bytes);
    }
}

/* `shape` is for details. */
static weft_status check_packable(const weft_tensor *weight, const char *shape) {
    const char *type = weft_dtype_name(weight->dtype);
    if (weight->layout != WEFT_LAYOUT_STRIDED)
        return weft_fail(WEFT_E_LAYOUT, "pack: %s %s is packed already", type, shape);
    if (weight->rank != 2)
        return weft_fail(WEFT_E_SHAPE, "pack: %s has no two dims", shape);
    if (!weft_panel_supported(weight->dtype))
        return weft_fail(WEFT_E_UNSUPPORTED, "pack: %s %s: the type has no panel form", type,
                         shape);
    if (weight->dims[1] > 0 && weft_panel_bytes(weight->dtype, (size_t)weight->dims[1]) == 0)
        return weft_fail(WEFT_E_SHAPE, "pack: %s %s: rows are not whole blocks", type, shape);
    if (weft_dtype_is_quantized(weight->dtype) && weight->strides[1] != 1 && weight->dims[1] > 1)
        return weft_fail(WEFT_E_LAYOUT, "pack: %s %s: blocks do not lie along the rows", type,
                         shape);
    return WEFT_OK;
}

weft_status weft_tensor_pack_into(weft_engine *engine, weft_tensor *weight, weft_tensor *panels,
                                  int64_t first_row) {
    char shape[128], room[128];
    if (engine == NULL || weight == NULL || panels == NULL)
        return weft_fail(WEFT_E_NULL, "pack: engine, weight or panels is NULL");
    weft_shape_text(weight, shape, sizeof shape);
    weft_status status = check_packable(weight, shape);
    if (status != WEFT_OK)
        return status;
    if (panels->layout != WEFT_LAYOUT_PANEL16 || panels->dtype != weight->dtype ||
        panels->dims[1] != weight->dims[1] || first_row < 0 || first_row % WEFT_PANEL_ROWS != 0 ||
        weight->dims[0] > panels->dims[0] - first_row)
        return weft_fail(WEFT_E_LAYOUT, "pack: %s does not fit into panels %s at row %lld", shape,
                         weft_shape_text(panels, room, sizeof room), (long long)first_row);
    pack_job job = {.weight = weight, .isa = engine->isa};
    job.panel_bytes = weft_panel_bytes(weight->dtype, (size_t)weight->dims[1]);
    job.panels = (unsigned char *)weft_tensor_data(panels) +
                 (size_t)(first_row / WEFT_PANEL_ROWS) * job.panel_bytes;
    size_t buffers_bytes = 0;
    if (!weft_rows_packed(weight) && job.panel_bytes > 0) {
        job.buffer_bytes = weft_size_of(weft_row_bytes(weight), WEFT_PANEL_ROWS);
        buffers_bytes = weft_size_of(job.buffer_bytes, (size_t)weft_team_n_threads(engine->team));
        job.buffers = weft_alloc(&engine->allocator, buffers_bytes);
        if (job.buffers == NULL)
            return weft_fail(WEFT_E_MEMORY, "pack: %zu bytes for rows of %s", buffers_bytes, shape);
    }
    weft_guard guard;
    status = weft_guard_lock(&guard, &weight, 1, 0);
    if (status == WEFT_OK) {
        if (job.panel_bytes > 0)
            weft_team_for(engine->team, weft_ceil_div((size_t)weight->dims[0], WEFT_PANEL_ROWS), 8,
                          pack_panels, &job);
        weft_guard_unlock(&guard);
    }
    weft_dealloc(&engine->allocator, job.buffers, buffers_bytes);
    return status;
}

weft_status weft_tensor_pack(weft_engine *engine, weft_slabs *slabs, weft_tensor *weight,
                             weft_tensor **out) {
    if (out != NULL)
        *out = NULL;
    if (engine == NULL || weight == NULL || out == NULL)
        return weft_fail(WEFT_E_NULL, "pack: engine, weight or out is NULL");
    char shape[128];
    weft_shape_text(weight, shape, sizeof shape);
    weft_status status = check_packable(weight, shape);
    if (status != WEFT_OK)
        return status;
    status = weft_tensor_create_panels(&engine->allocator, slabs, weight->dtype, weight->dims, out);
    if (status == WEFT_OK)
        status = weft_tensor_pack_into(engine, weight, *out, 0);
    if (status != WEFT_OK)
        weft_tensor_release(out);
    return status;
}
