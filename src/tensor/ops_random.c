/* Random tensors: element i depends on the seed and on i alone. */
#include "tensor/convert.h"
#include "tensor/kernels/ref/math64.h"
#include "tensor/map.h"
#include "tensor/random.h"

#include <math.h>

#define PIECE 512 /* elements; a multiple of a block's */

typedef struct random_job {
    const weft_kernels *k;
    weft_tensor *y;
    uint64_t seed;
    double a, b; /* low and width, or mean and deviation */
    size_t n;
} random_job;

static void uniform_pieces(void *ctx, size_t begin, size_t end, int thread) {
    const random_job *j = ctx;
    weft_dtype dtype = j->y->dtype;
    size_t item = weft_dtype_block_bytes(dtype), each = dtype == WEFT_F64 ? 2 : 4;
    (void)thread;
    for (size_t p = begin; p < end; p++) {
        double wide[PIECE];
        float narrow[PIECE];
        size_t first = p * PIECE, n = j->n - first < PIECE ? j->n - first : PIECE;
        unsigned char *y = (unsigned char *)weft_tensor_data(j->y) + first * item;
        for (size_t i = 0; i < n; i += each) {
            uint32_t w[4];
            weft_philox(j->seed, (first + i) / each, w);
            for (size_t l = 0; l < each && i + l < n; l++) {
                if (each == 4)
                    narrow[i + l] = (float)j->a + (float)j->b * weft_unit32(w[l]);
                else
                    wide[i + l] = j->a + j->b * weft_unit64(w[2 * l], w[2 * l + 1]);
            }
        }
        if (each == 4)
            weft_convert(j->k, WEFT_F32, narrow, dtype, y, n);
        else
            weft_convert(j->k, WEFT_F64, wide, dtype, y, n);
    }
}

static void normal_pieces(void *ctx, size_t begin, size_t end, int thread) {
    const random_job *j = ctx;
    size_t item = weft_dtype_block_bytes(j->y->dtype);
    (void)thread;
    for (size_t p = begin; p < end; p++) {
        double wide[PIECE];
        size_t first = p * PIECE, n = j->n - first < PIECE ? j->n - first : PIECE;
        for (size_t i = 0; i < n; i++) {
            uint32_t w[4];
            weft_philox(j->seed, first + i, w);
            double u = 1 - weft_unit64(w[0], w[1]), v = weft_unit64(w[2], w[3]); /* u > 0 */
            double r = sqrt(-2 * weft_log64(u));
            wide[i] = j->a + j->b * (r * weft_cos64(6.283185307179586 * v));
        }
        weft_convert(j->k, WEFT_F64, wide, j->y->dtype,
                     (unsigned char *)weft_tensor_data(j->y) + first * item, n);
    }
}

static weft_tensor *make(weft_scope *s, const char *name, weft_dtype dtype, int rank,
                         const int64_t *dims, double a, double b, uint64_t seed, weft_team_fn fn) {
    if (!weft_scope_ready(s, name, NULL, 0))
        return NULL;
    if (!weft_dtype_is_float(dtype))
        return weft_scope_fail(s, WEFT_E_DTYPE, name, "f64, f32, f16 or bf16, not %s",
                               weft_dtype_name(dtype));
    weft_tensor *y = weft_scope_new(s, name, dtype, rank, dims);
    weft_op op;
    if (y == NULL || !weft_op_begin(&op, s, name, NULL, 0))
        return NULL;
    random_job j = {.k = weft_scope_kernels(s), .y = y, .seed = seed, .a = a, .b = b};
    j.n = (size_t)weft_tensor_numel(y);
    weft_op_loop(s, weft_ceil_div(j.n, PIECE), PIECE * 16, fn, &j);
    weft_op_end(&op);
    return y;
}

weft_tensor *weft_random_uniform(weft_scope *s, weft_dtype dtype, int rank, const int64_t *dims,
                                 double low, double high, uint64_t seed) {
    if (s != NULL && weft_scope_status(s) == WEFT_OK && !(low <= high))
        return weft_scope_fail(s, WEFT_E_ARGUMENT, "random_uniform", "low %g is not <= high %g",
                               low, high);
    return make(s, "random_uniform", dtype, rank, dims, low, high - low, seed, uniform_pieces);
}

weft_tensor *weft_random_normal(weft_scope *s, weft_dtype dtype, int rank, const int64_t *dims,
                                double mean, double std, uint64_t seed) {
    return make(s, "random_normal", dtype, rank, dims, mean, std, seed, normal_pieces);
}

/* Fisher and Yates: the last of those left changes places with any of them. */
weft_tensor *weft_random_permutation(weft_scope *s, int64_t n, uint64_t seed) {
    if (!weft_scope_ready(s, "random_permutation", NULL, 0))
        return NULL;
    weft_tensor *y = weft_scope_new(s, "random_permutation", WEFT_I64, 1, &n);
    if (y == NULL)
        return NULL;
    int64_t *v = weft_tensor_data(y);
    for (int64_t i = 0; i < n; i++)
        v[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        uint32_t w[4];
        weft_philox(seed, (uint64_t)i, w);
        __extension__ typedef unsigned __int128 wide;
        wide product = (wide)((uint64_t)w[0] << 32 | w[1]) * (uint64_t)(i + 1);
        int64_t other = (int64_t)(uint64_t)(product >> 64), kept = v[i];
        v[i] = v[other];
        v[other] = kept;
    }
    return y;
}

/* ---- Dropout ---- */

typedef struct dropout_job {
    const weft_kernels *k;
    weft_dtype dtype;
    uint64_t seed;
    float p;
    double factor;
    weft_tensor *y;
    size_t n;
} dropout_job;

/* y holds a packed copy of x already. */
static void dropout_pieces(void *ctx, size_t begin, size_t end, int thread) {
    const dropout_job *j = ctx;
    size_t item = weft_dtype_block_bytes(j->dtype);
    (void)thread;
    for (size_t p = begin; p < end; p++) {
        double wide[PIECE];
        size_t first = p * PIECE, n = j->n - first < PIECE ? j->n - first : PIECE;
        unsigned char *y = (unsigned char *)weft_tensor_data(j->y) + first * item;
        weft_convert(j->k, j->dtype, y, WEFT_F64, wide, n);
        for (size_t i = 0; i < n; i += 4) {
            uint32_t w[4];
            weft_philox(j->seed, (first + i) / 4, w);
            for (size_t l = 0; l < 4 && i + l < n; l++)
                wide[i + l] = weft_unit32(w[l]) < j->p ? 0 : wide[i + l] * j->factor;
        }
        weft_convert(j->k, WEFT_F64, wide, j->dtype, y, n);
    }
}

weft_tensor *weft_dropout(weft_scope *s, weft_tensor *x, double p, uint64_t seed) {
    const char *name = "dropout";
    if (!weft_scope_ready(s, name, &x, 1) || !weft_op_types(s, name, x, WEFT_TYPES_FLOAT))
        return NULL;
    if (!(p >= 0 && p <= 1))
        return weft_scope_fail(s, WEFT_E_ARGUMENT, name, "p is %g, not within [0, 1]", p);
    weft_tensor *y = weft_scope_new(s, name, x->dtype, x->rank, x->dims);
    weft_op op;
    if (y == NULL || !weft_op_begin(&op, s, name, &x, 1))
        return NULL;
    dropout_job j = {.k = weft_scope_kernels(s), .dtype = x->dtype, .seed = seed, .p = (float)p};
    j.factor = p < 1 ? 1 / (1 - p) : 0;
    j.y = y;
    j.n = (size_t)weft_tensor_numel(y);
    weft_copy_strided(s, weft_dtype_block_bytes(x->dtype), x->rank, x->dims, weft_tensor_data(x),
                      x->strides, weft_tensor_data(y), y->strides);
    weft_op_loop(s, weft_ceil_div(j.n, PIECE), PIECE * 8, dropout_pieces, &j);
    weft_op_end(&op);
    return y;
}
