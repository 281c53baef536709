/* Products by OpenBLAS, where our own kernels would be plain C, whose fused steps are function
 * calls on a CPU without them. Default mode only: the library adds up in its own order. */
#include "base/alloc.h"
#include "tensor/blas.h"
#include "tensor/gemm.h"

#include <stdatomic.h>

/* Stripes of y that the team shares: rows, or columns where there are more of them. */
typedef struct blas_job {
    const weft_product *p;
    size_t n_stripes; /* of a product */
    bool by_columns;
    atomic_bool failed;
} blas_job;

#define STRIPE 64 /* rows or columns below which a stripe does not pay */

static void multiply_stripes(void *ctx, size_t begin, size_t end, int thread) {
    blas_job *j = ctx;
    const weft_product *p = j->p;
    (void)thread;
    for (size_t item = begin; item < end; item++) {
        size_t i = item / j->n_stripes, stripe = item % j->n_stripes;
        int64_t whole = j->by_columns ? p->n : p->m, n = (int64_t)j->n_stripes;
        int64_t from = whole * (int64_t)stripe / n, to = whole * (int64_t)(stripe + 1) / n;
        int64_t row = j->by_columns ? 0 : from, col = j->by_columns ? from : 0;
        int64_t at_a = weft_index_offset(p->n_batch, p->batch, p->a.batch, i) + row * p->a.row;
        int64_t at_b = weft_index_offset(p->n_batch, p->batch, p->b.batch, i) + col * p->b.col;
        weft_blas_factor a = {(const float *)p->a.data + at_a, p->a.row, p->a.col};
        weft_blas_factor b = {(const float *)p->b.data + at_b, p->b.row, p->b.col};
        float *y = p->y + (int64_t)i * p->m * p->n + row * p->n + col;
        if (!weft_blas_product(j->by_columns ? p->m : to - from, j->by_columns ? to - from : p->n,
                               p->k, a, b, y, p->n))
            atomic_store(&j->failed, true);
    }
}

bool weft_gemm_by_blas(weft_scope *s, const weft_product *p, size_t n_products) {
    const weft_engine *engine = weft_scope_engine(s);
    if (engine->isa != WEFT_ISA_SCALAR || engine->numbers == WEFT_NUMBERS_REPRODUCIBLE ||
        p->dtype != WEFT_F32 || !weft_blas_takes(p->m, p->k, p->a.row, p->a.col) ||
        !weft_blas_takes(p->k, p->n, p->b.row, p->b.col))
        return false;
    int64_t most = p->m > p->n ? p->m : p->n;
    size_t n_threads = (size_t)weft_team_n_threads(weft_scope_team(s));
    blas_job j = {.p = p, .n_stripes = 1, .by_columns = p->n > p->m};
    bool alone = weft_blas_threads() > 1; /* it has threads of its own */
    if (!alone && n_products < n_threads && most >= 2 * STRIPE)
        j.n_stripes = (size_t)(most / STRIPE) < n_threads ? (size_t)(most / STRIPE) : n_threads;
    size_t cost = weft_size_of(weft_size_of((size_t)p->m, (size_t)p->n), (size_t)p->k);
    if (alone)
        multiply_stripes(&j, 0, n_products, 0);
    else
        weft_op_loop(s, n_products * j.n_stripes, cost / j.n_stripes / 16, multiply_stripes, &j);
    return !atomic_load(&j.failed);
}
