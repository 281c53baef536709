/* Casts between all plain types, tile by tile over any strides. */
#include "tensor/convert.h"
#include "tensor/walk.h"

typedef struct cast_job {
    weft_walk walk;
    const weft_kernels *k;
    weft_dtype from, to;
} cast_job;

static void cast_tiles(void *ctx, size_t begin, size_t end, int thread) {
    const cast_job *job = ctx;
    (void)thread;
    _Alignas(64) unsigned char in[WEFT_TILE * 8], out[WEFT_TILE * 8];
    for (size_t t = begin; t < end; t++) {
        weft_tile_at at;
        weft_walk_tile(&job->walk, t, &at);
        const void *x = weft_tile_load(&job->walk, &at, 1, in);
        void *y = weft_tile_result(&job->walk, &at, out);
        weft_convert(job->k, job->from, x, job->to, y, at.rows * at.cols);
        weft_tile_store(&job->walk, &at, y);
    }
}

void weft_cast_strided(weft_scope *s, int rank, const int64_t *dims, weft_dtype from_type,
                       const void *from, const int64_t *from_strides, weft_dtype to_type, void *to,
                       const int64_t *to_strides) {
    cast_job job = {.k = weft_scope_kernels(s), .from = from_type, .to = to_type};
    union {
        const void *in;
        void *out;
    } source = {.in = from}; /* operand 1 is only read */
    void *data[] = {to, source.out};
    const int64_t *strides[] = {to_strides, from_strides};
    size_t items[] = {weft_dtype_block_bytes(to_type), weft_dtype_block_bytes(from_type)};
    weft_walk_init(&job.walk, rank, dims, 2, data, strides, items);
    weft_walk_run(s, &job.walk, cast_tiles, &job);
}

weft_tensor *weft_cast(weft_scope *s, weft_tensor *x, weft_dtype dtype) {
    if (!weft_scope_ready(s, "cast", &x, 1) || !weft_op_plain(s, "cast", x))
        return NULL;
    if (!weft_dtype_is_plain(dtype))
        return weft_scope_fail(s, WEFT_E_DTYPE, "cast",
                               "%s to %s is not a cast between plain types",
                               weft_dtype_name(x->dtype), weft_dtype_name(dtype));
    weft_tensor *y = weft_scope_new(s, "cast", dtype, x->rank, x->dims);
    weft_op op;
    if (y == NULL || !weft_op_begin(&op, s, "cast", &x, 1))
        return NULL;
    weft_cast_strided(s, x->rank, x->dims, x->dtype, weft_tensor_data(x), x->strides, dtype,
                      weft_tensor_data(y), y->strides);
    weft_op_end(&op);
    return y;
}
