/* The types that a KV cache may hold, and rows on their way into it. */
#include "base/floats.h"
#include "tensor/nn.h"
#include "tensor/walk.h"

#include <string.h>

#define BLOCK 32
#define BLOCK_BYTES 34 /* an f16 scale, 32 int8 */

bool weft_cache_type_allowed(weft_dtype type) {
    return type == WEFT_F32 || type == WEFT_F16 || type == WEFT_BF16 || type == WEFT_Q8_0;
}

int64_t weft_cache_width(weft_dtype type, int64_t head_dim) {
    return type == WEFT_Q8_0 && head_dim <= INT64_MAX - BLOCK
               ? (head_dim + BLOCK - 1) / BLOCK * BLOCK
               : head_dim;
}

typedef struct job {
    const weft_kernels *k;
    const float *x;
    int64_t row, head, step; /* of x, elements */
    size_t n_head, dim, n_blocks;
    unsigned char *y; /* [T, n_head, n_blocks, BLOCK_BYTES] */
} job;

static void quantize_block(const job *j, const float *x, size_t n, unsigned char *to) {
    float padded[BLOCK] = {0}, d;
    int8_t q[BLOCK];
    int32_t sum;
    for (size_t i = 0; i < n; i++)
        padded[i] = x[(int64_t)i * j->step];
    j->k->quantize_q8(padded, BLOCK, q, &d, &sum);
    uint16_t scale = weft_f32_to_f16(d);
    to[0] = (unsigned char)(scale & 255);
    to[1] = (unsigned char)(scale >> 8);
    memcpy(to + 2, q, BLOCK);
}

static void quantize_heads(void *ctx, size_t begin, size_t end, int thread) {
    const job *j = ctx;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        const float *x =
            j->x + (int64_t)(i / j->n_head) * j->row + (int64_t)(i % j->n_head) * j->head;
        unsigned char *to = j->y + i * j->n_blocks * BLOCK_BYTES;
        for (size_t at = 0; at < j->dim; at += BLOCK, to += BLOCK_BYTES)
            quantize_block(j, x + (int64_t)at * j->step, j->dim - at < BLOCK ? j->dim - at : BLOCK,
                           to);
    }
}

weft_tensor *weft_cache_rows(weft_scope *s, weft_tensor *x, weft_dtype type) {
    const char *name = "cache_rows";
    if (type != WEFT_Q8_0)
        return type == WEFT_F32 ? x : weft_cast(s, x, type);
    if (!weft_scope_ready(s, name, &x, 1) || !weft_op_plain(s, name, x))
        return NULL;
    if (x->dtype != WEFT_F32 || x->rank != 3)
        return weft_scope_fail(s, x->rank == 3 ? WEFT_E_DTYPE : WEFT_E_SHAPE, name,
                               "x is %s of rank %d: f32 [T, n_head, head_dim] is needed",
                               weft_dtype_name(x->dtype), x->rank);
    int64_t width = weft_cache_width(type, x->dims[2]);
    weft_tensor *y = weft_scope_new(s, name, type, 3, (int64_t[]){x->dims[0], x->dims[1], width});
    weft_op op;
    if (y == NULL || !weft_op_begin(&op, s, name, &x, 1))
        return NULL;
    job j = {.k = weft_scope_kernels(s),
             .x = weft_tensor_data(x),
             .row = x->strides[0],
             .head = x->strides[1],
             .step = x->strides[2],
             .n_head = (size_t)x->dims[1],
             .dim = (size_t)x->dims[2],
             .n_blocks = (size_t)width / BLOCK,
             .y = weft_tensor_data(y)};
    if (j.dim > 0)
        weft_op_loop(s, (size_t)x->dims[0] * j.n_head, 4 * j.dim, quantize_heads, &j);
    weft_op_end(&op);
    return y;
}
