/* Products of float matrices of any strides, and of batches of them. Internal to src/tensor. */
#ifndef WEFT_TENSOR_GEMM_H
#define WEFT_TENSOR_GEMM_H

#include "tensor/walk.h"

/* One factor; steps in elements, 0 where it is repeated. The batch dims are those of the result. */
typedef struct weft_factor {
    const void *data;
    int64_t batch[WEFT_MAX_RANK];
    int64_t row, col;
} weft_factor;

typedef struct weft_product {
    int n_batch;
    int64_t batch[WEFT_MAX_RANK];
    int64_t m, n, k;  /* >= 1 */
    weft_dtype dtype; /* of both factors: f32, f16, bf16 */
    weft_factor a, b; /* [batch…, m, k], [batch…, k, n] */
    float *y;         /* [batch…, m, n] packed */
} weft_product;

/* y = a @ b on the scope's team: each output is one chain of fmaf over k in order, the same for
 * every variant, thread count, batch and layout; but for weft_gemm_by_blas. False: the status is
 * set. `p` may change. */
bool weft_gemm(weft_scope *s, const char *op, weft_product *p);

/* The same by OpenBLAS, in its own order; false where that is not called for: in reproducible mode,
 * with kernels of any vector instructions, for what it cannot express, or without the library. */
bool weft_gemm_by_blas(weft_scope *s, const weft_product *p, size_t n_products);

#endif
