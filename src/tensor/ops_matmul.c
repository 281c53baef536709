/* Matrix products with numpy's semantics: of 16-bit and 32-bit floats by gemm.c, of the other types
 * here. */
#include "base/alloc.h"
#include "tensor/gemm.h"
#include "tensor/map.h"

#include <stdio.h>
#include <string.h>

/* ---- f64 and integers: rows of b times elements of a, k in order ---- */

/* Copies a factor's distinct elements to packed ones of type `to`; repeated batch dims (step 0)
 * stay repeated. */
static bool pack_factor(weft_scope *s, const weft_product *p, weft_dtype to_type, int64_t rows,
                        int64_t cols, weft_factor *f) {
    int64_t dims[WEFT_MAX_RANK], from[WEFT_MAX_RANK], to[WEFT_MAX_RANK];
    size_t count = weft_dtype_block_bytes(to_type);
    bool fits = true;
    for (int d = 0; d < p->n_batch; d++) {
        dims[d] = f->batch[d] == 0 ? 1 : p->batch[d];
        from[d] = f->batch[d];
        fits = fits && weft_mul_size(count, (size_t)dims[d], &count);
    }
    int d = p->n_batch;
    dims[d] = rows;
    dims[d + 1] = cols;
    from[d] = f->row;
    from[d + 1] = f->col;
    fits = fits && weft_mul_size(count, (size_t)rows, &count) &&
           weft_mul_size(count, (size_t)cols, &count);
    if (!fits) {
        weft_scope_fail(s, WEFT_E_OVERFLOW, "matmul", "a packed factor would be too large");
        return false;
    }
    void *packed = weft_scope_scratch(s, "matmul", count);
    if (packed == NULL)
        return false;
    weft_strides_of(d + 2, dims, to);
    weft_cast_strided(s, d + 2, dims, p->dtype, f->data, from, to_type, packed, to);
    f->data = packed;
    for (int i = 0; i < d; i++)
        f->batch[i] = dims[i] == 1 ? 0 : to[i];
    f->row = cols;
    f->col = 1;
    return true;
}

typedef struct wide_job {
    const weft_product *p;
    const double *a, *b; /* packed [batch…, m, k] and [batch…, k, n]; integers as int64 */
    weft_factor fa, fb;
    double *y;
    bool integers;
} wide_job;

static void wide_rows(void *ctx, size_t begin, size_t end, int thread) {
    const wide_job *j = ctx;
    const weft_product *p = j->p;
    size_t m = (size_t)p->m, n = (size_t)p->n, k = (size_t)p->k;
    (void)thread;
    for (size_t r = begin; r < end; r++) {
        int64_t a_at = weft_index_offset(p->n_batch, p->batch, j->fa.batch, r / m);
        const double *a = j->a + a_at + (int64_t)(r % m * k);
        const double *b = j->b + weft_index_offset(p->n_batch, p->batch, j->fb.batch, r / m);
        double *y = j->y + r * n;
        memset(y, 0, n * sizeof *y);
        for (size_t i = 0; i < k; i++, b += n) {
            if (j->integers) {
                uint64_t x, *sums = (uint64_t *)(void *)y;
                const uint64_t *row = (const uint64_t *)(const void *)b;
                memcpy(&x, a + i, sizeof x);
                for (size_t c = 0; c < n; c++)
                    sums[c] += x * row[c];
            } else {
                double x = a[i];
                for (size_t c = 0; c < n; c++)
                    y[c] += x * b[c];
            }
        }
    }
}

static bool wide_product(weft_scope *s, const weft_product *p, weft_tensor *y) {
    wide_job j = {.p = p, .fa = p->a, .fb = p->b, .integers = y->dtype != WEFT_F64};
    weft_dtype wide = j.integers ? WEFT_I64 : WEFT_F64;
    size_t numel = (size_t)weft_tensor_numel(y);
    if (!pack_factor(s, p, wide, p->m, p->k, &j.fa) || !pack_factor(s, p, wide, p->k, p->n, &j.fb))
        return false;
    j.a = j.fa.data;
    j.b = j.fb.data;
    j.y = y->dtype == wide ? weft_tensor_data(y)
                           : weft_scope_scratch(s, "matmul", weft_size_of(numel, sizeof(double)));
    if (j.y == NULL)
        return false;
    weft_op_loop(s, numel / (size_t)p->n, (size_t)p->n * (size_t)p->k, wide_rows, &j);
    if (y->dtype != wide) {
        int64_t count = (int64_t)numel, one = 1;
        weft_cast_strided(s, 1, &count, wide, j.y, &one, y->dtype, weft_tensor_data(y), &one);
    }
    return true;
}

/* ---- The op ---- */

static void *shapes_fail(weft_scope *s, const weft_tensor *a, const weft_tensor *b,
                         const char *what, int64_t x, int64_t y) {
    char sa[128], sb[128];
    return weft_scope_fail(s, WEFT_E_SHAPE, "matmul",
                           "shapes %s and %s do not fit: %s (%lld and %lld)",
                           weft_shape_text(a, sa, sizeof sa), weft_shape_text(b, sb, sizeof sb),
                           what, (long long)x, (long long)y);
}

/* Batch dims of a and b by numpy's rule; false: the status is set. */
static bool broadcast_batch(weft_scope *s, const weft_tensor *a, const weft_tensor *b,
                            weft_product *p) {
    int na = a->rank > 2 ? a->rank - 2 : 0, nb = b->rank > 2 ? b->rank - 2 : 0;
    p->n_batch = na > nb ? na : nb;
    for (int d = 0; d < p->n_batch; d++) {
        int ia = d - (p->n_batch - na), ib = d - (p->n_batch - nb);
        int64_t ea = ia < 0 ? 1 : a->dims[ia], eb = ib < 0 ? 1 : b->dims[ib];
        if (ea != eb && ea != 1 && eb != 1) {
            char what[48];
            snprintf(what, sizeof what, "batch dim %d differs", d - p->n_batch - 2);
            shapes_fail(s, a, b, what, ea, eb);
            return false;
        }
        p->batch[d] = ea == 1 ? eb : ea;
        p->a.batch[d] = ea == 1 ? 0 : a->strides[ia];
        p->b.batch[d] = eb == 1 ? 0 : b->strides[ib];
    }
    return true;
}

static bool describe(weft_scope *s, const weft_tensor *a, const weft_tensor *b, weft_product *p) {
    if (a->rank == 0 || b->rank == 0) {
        shapes_fail(s, a, b, "both need a dim (ranks)", a->rank, b->rank);
        return false;
    }
    p->m = a->rank > 1 ? a->dims[a->rank - 2] : 1;
    p->k = a->dims[a->rank - 1];
    p->a.row = a->rank > 1 ? a->strides[a->rank - 2] : p->k;
    p->a.col = a->strides[a->rank - 1];
    int64_t kb = b->rank > 1 ? b->dims[b->rank - 2] : b->dims[0];
    p->n = b->rank > 1 ? b->dims[b->rank - 1] : 1;
    p->b.row = b->rank > 1 ? b->strides[b->rank - 2] : b->strides[0];
    p->b.col = b->rank > 1 ? b->strides[b->rank - 1] : 1;
    if (kb != p->k) {
        char what[64];
        snprintf(what, sizeof what, "dim %d of the first, %d of the second", a->rank - 1,
                 b->rank > 1 ? b->rank - 2 : 0);
        shapes_fail(s, a, b, what, p->k, kb);
        return false;
    }
    return broadcast_batch(s, a, b, p);
}

weft_tensor *weft_matmul(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    const char *name = "matmul";
    weft_tensor *inputs[] = {a, b};
    weft_product p = {.dtype = a ? a->dtype : WEFT_F32};
    if (!weft_scope_ready(s, name, inputs, 2) || !weft_op_types(s, name, a, WEFT_TYPES_NUMBER) ||
        !weft_op_types(s, name, b, WEFT_TYPES_NUMBER) || !weft_op_same_dtype(s, name, a, b) ||
        !describe(s, a, b, &p))
        return NULL;
    int64_t dims[WEFT_MAX_RANK];
    int rank = p.n_batch;
    memcpy(dims, p.batch, sizeof dims);
    if (a->rank > 1)
        dims[rank++] = p.m;
    if (b->rank > 1)
        dims[rank++] = p.n;
    weft_tensor *y = weft_scope_new(s, name, a->dtype, rank, dims);
    if (y == NULL)
        return NULL;
    size_t numel = (size_t)weft_tensor_numel(y);
    weft_op op;
    if (!weft_op_begin(&op, s, name, inputs, 2))
        return NULL;
    p.a.data = weft_tensor_data(a);
    p.b.data = weft_tensor_data(b);
    p.y = weft_tensor_data(y);
    bool done = true;
    if (numel > 0 && p.k == 0) {
        memset(weft_tensor_data(y), 0, numel * weft_dtype_block_bytes(y->dtype));
    } else if (numel > 0 && weft_domain_of(y->dtype) != WEFT_IN_F32) {
        done = wide_product(s, &p, y);
    } else if (numel > 0) {
        if (y->dtype != WEFT_F32)
            p.y = weft_scope_scratch(s, name, weft_size_of(numel, sizeof(float)));
        done = p.y != NULL && weft_gemm(s, name, &p);
        if (done && y->dtype != WEFT_F32) {
            int64_t count = (int64_t)numel, one = 1;
            weft_cast_strided(s, 1, &count, WEFT_F32, p.y, &one, y->dtype, weft_tensor_data(y),
                              &one);
        }
    }
    weft_op_end(&op);
    return done ? y : NULL;
}
