/* Matrix products with numpy's semantics. In default mode OpenBLAS multiplies what it can express;
 * in reproducible mode, and without it, our own kernel: k in order, one fmaf chain an output. Since
 * a chain is symmetric in its factors, either one may take the place of the weights. */
#include "base/alloc.h"
#include "tensor/blas.h"
#include "tensor/convert.h"
#include "tensor/kernels/panel.h"
#include "tensor/map.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define PANEL WEFT_PANEL_ROWS
#define SPILL_ROWS 32 /* rows of a result panel that cannot be written in place */

/* One factor as f32; steps in elements. The batch dims are those of the result. */
typedef struct factor {
    const float *data;
    int64_t batch[WEFT_MAX_RANK];
    int64_t row, col;
} factor;

typedef struct product {
    int n_batch;
    int64_t batch[WEFT_MAX_RANK];
    int64_t m, n, k;
    factor a, b;
    float *y; /* [batch…, m, n] packed */
} product;

/* ---- Our own kernel ---- */

typedef struct own_job {
    const weft_kernels *kernels;
    const product *p;
    const factor *x, *w; /* activations [rows, k] with unit step; weights: outs of k */
    int64_t rows, outs;
    int64_t w_out, w_k; /* steps of w */
    int64_t x_row;
    int64_t y_row, y_out; /* steps of the result */
    size_t n_panels;      /* a batch element */
    size_t panel_bytes, scratch_bytes;
    unsigned char *scratch; /* [threads, scratch_bytes]: panel, then 16 rows */
} own_job;

static void own_panel(const own_job *j, size_t batch, size_t panel, unsigned char *scratch) {
    const product *p = j->p;
    size_t k = (size_t)p->k, first = panel * PANEL;
    size_t outs = (size_t)j->outs - first < PANEL ? (size_t)j->outs - first : PANEL;
    const float *x = j->x->data + weft_index_offset(p->n_batch, p->batch, j->x->batch, batch);
    const float *w = j->w->data + weft_index_offset(p->n_batch, p->batch, j->w->batch, batch) +
                     (int64_t)first * j->w_out;
    float *y = p->y + (int64_t)batch * p->m * p->n + (int64_t)first * j->y_out;
    if (j->w_k != 1 || j->w_out != p->k) {
        float *packed = (float *)(void *)(scratch + j->panel_bytes);
        weft_copy_2d(sizeof(float), outs, k, w, j->w_out * 4, j->w_k * 4, packed, p->k * 4, 4);
        w = packed;
    }
    weft_panel_pack(WEFT_F32, w, outs, k, scratch);
    if (outs == PANEL && j->y_out == 1) {
        j->kernels->panel_f32(WEFT_F32, scratch, 1, x, (size_t)j->rows, k, (size_t)j->x_row, y,
                              (size_t)j->y_row);
        return;
    }
    _Alignas(64) float spill[SPILL_ROWS * PANEL];
    for (size_t row = 0; row < (size_t)j->rows; row += SPILL_ROWS) {
        size_t rows = (size_t)j->rows - row < SPILL_ROWS ? (size_t)j->rows - row : SPILL_ROWS;
        j->kernels->panel_f32(WEFT_F32, scratch, 1, x + (int64_t)row * j->x_row, rows, k,
                              (size_t)j->x_row, spill, PANEL);
        weft_copy_2d(sizeof(float), rows, outs, spill, PANEL * 4, 4, y + (int64_t)row * j->y_row,
                     j->y_row * 4, j->y_out * 4);
    }
}

static void own_panels(void *ctx, size_t begin, size_t end, int thread) {
    const own_job *j = ctx;
    for (size_t i = begin; i < end; i++)
        own_panel(j, i / j->n_panels, i % j->n_panels,
                  j->scratch + (size_t)thread * j->scratch_bytes);
}

static bool own_product(weft_scope *s, const product *p, size_t n_products, bool swapped) {
    own_job j = {.kernels = weft_scope_kernels(s), .p = p};
    j.x = swapped ? &p->b : &p->a;
    j.w = swapped ? &p->a : &p->b;
    j.rows = swapped ? p->n : p->m;
    j.outs = swapped ? p->m : p->n;
    j.x_row = swapped ? p->b.col : p->a.row;
    j.w_out = swapped ? p->a.row : p->b.col;
    j.w_k = swapped ? p->a.col : p->b.row;
    j.y_row = swapped ? 1 : p->n;
    j.y_out = swapped ? p->n : 1;
    j.n_panels = weft_ceil_div((size_t)j.outs, PANEL);
    j.panel_bytes = weft_panel_bytes(WEFT_F32, (size_t)p->k);
    size_t rows_bytes = weft_size_of((size_t)p->k, PANEL * sizeof(float)), total;
    int n_threads = weft_team_n_threads(weft_scope_team(s));
    if (j.panel_bytes == 0 || rows_bytes == 0 ||
        !weft_add_size(j.panel_bytes, rows_bytes, &j.scratch_bytes) ||
        !weft_mul_size(j.scratch_bytes, (size_t)n_threads, &total)) {
        weft_scope_fail(s, WEFT_E_OVERFLOW, "matmul", "rows of %lld are too long", (long long)p->k);
        return false;
    }
    j.scratch = weft_scope_scratch(s, "matmul", total);
    if (j.scratch == NULL)
        return false;
    weft_op_loop(s, n_products * j.n_panels, (size_t)p->k * ((size_t)j.rows + 2), own_panels, &j);
    return true;
}

/* ---- Factors ---- */

/* Copies a factor's distinct elements to packed ones of type `to`; repeated batch dims (step 0)
 * stay repeated. */
static bool pack_factor(weft_scope *s, const product *p, weft_dtype dtype, const void *data,
                        weft_dtype to_type, int64_t rows, int64_t cols, bool by_columns,
                        factor *f) {
    int64_t dims[WEFT_MAX_RANK], from[WEFT_MAX_RANK], to[WEFT_MAX_RANK];
    size_t count = weft_dtype_block_bytes(to_type);
    bool fits = true;
    for (int d = 0; d < p->n_batch; d++) {
        dims[d] = f->batch[d] == 0 ? 1 : p->batch[d];
        from[d] = f->batch[d];
        fits = fits && weft_mul_size(count, (size_t)dims[d], &count);
    }
    int d = p->n_batch;
    dims[d] = by_columns ? cols : rows;
    dims[d + 1] = by_columns ? rows : cols;
    from[d] = by_columns ? f->col : f->row;
    from[d + 1] = by_columns ? f->row : f->col;
    fits = fits && weft_mul_size(count, (size_t)rows, &count) &&
           weft_mul_size(count, (size_t)cols, &count);
    if (!fits) {
        weft_scope_fail(s, WEFT_E_OVERFLOW, "matmul", "a packed factor would be too large");
        return false;
    }
    float *packed = weft_scope_scratch(s, "matmul", count);
    if (packed == NULL)
        return false;
    weft_strides_of(d + 2, dims, to);
    weft_cast_strided(s, d + 2, dims, dtype, data, from, to_type, packed, to);
    f->data = packed;
    for (int i = 0; i < d; i++)
        f->batch[i] = dims[i] == 1 ? 0 : to[i];
    f->row = by_columns ? 1 : cols;
    f->col = by_columns ? rows : 1;
    return true;
}

/* Batch elements that share b and follow one another in a are rows of one product. */
static void merge_batch(product *p) {
    while (p->n_batch > 0) {
        int last = p->n_batch - 1;
        int64_t extent = p->batch[last], step = p->a.batch[last];
        if (extent != 1) {
            if (p->b.batch[last] != 0 || p->m > INT32_MAX / extent || step > INT32_MAX)
                return;
            if (p->m == 1 ? p->a.col != 1 || step < p->k : step != p->m * p->a.row)
                return;
            if (p->m == 1)
                p->a.row = step;
            p->m *= extent;
        }
        p->n_batch--;
    }
}

/* The library's products, in stripes of y that the team shares: rows, or columns where there are
 * more of them. */
typedef struct blas_job {
    const product *p;
    size_t n_stripes; /* of a product */
    bool by_columns;
    atomic_bool failed;
} blas_job;

#define STRIPE 64 /* rows or columns below which a stripe does not pay */

static void blas_stripes(void *ctx, size_t begin, size_t end, int thread) {
    blas_job *j = ctx;
    const product *p = j->p;
    (void)thread;
    for (size_t item = begin; item < end; item++) {
        size_t i = item / j->n_stripes, stripe = item % j->n_stripes;
        int64_t whole = j->by_columns ? p->n : p->m, n = (int64_t)j->n_stripes;
        int64_t from = whole * (int64_t)stripe / n, to = whole * (int64_t)(stripe + 1) / n;
        int64_t row = j->by_columns ? 0 : from, col = j->by_columns ? from : 0;
        int64_t at_a = weft_index_offset(p->n_batch, p->batch, p->a.batch, i);
        int64_t at_b = weft_index_offset(p->n_batch, p->batch, p->b.batch, i);
        weft_blas_factor a = {p->a.data + at_a + row * p->a.row, p->a.row, p->a.col};
        weft_blas_factor b = {p->b.data + at_b + col * p->b.col, p->b.row, p->b.col};
        float *y = p->y + (int64_t)i * p->m * p->n + row * p->n + col;
        if (!weft_blas_product(j->by_columns ? p->m : to - from, j->by_columns ? to - from : p->n,
                               p->k, a, b, y, p->n))
            atomic_store(&j->failed, true);
    }
}

static bool blas_products(weft_scope *s, const product *p, size_t n_products) {
    int64_t most = p->m > p->n ? p->m : p->n;
    size_t n_threads = (size_t)weft_team_n_threads(weft_scope_team(s));
    blas_job j = {.p = p, .n_stripes = 1, .by_columns = p->n > p->m};
    bool alone = weft_blas_threads() > 1; /* it has threads of its own */
    if (!alone && n_products < n_threads && most >= 2 * STRIPE)
        j.n_stripes = (size_t)(most / STRIPE) < n_threads ? (size_t)(most / STRIPE) : n_threads;
    size_t cost = weft_size_of(weft_size_of((size_t)p->m, (size_t)p->n), (size_t)p->k);
    if (alone)
        blas_stripes(&j, 0, n_products, 0);
    else
        weft_op_loop(s, n_products * j.n_stripes, cost / j.n_stripes / 16, blas_stripes, &j);
    if (atomic_load(&j.failed))
        weft_scope_fail(s, WEFT_E_OVERFLOW, "matmul", "sizes beyond the library's integers");
    return !atomic_load(&j.failed);
}

static bool run_product(weft_scope *s, product *p, weft_dtype dtype) {
    const void *a = p->a.data, *b = p->b.data;
    bool blas = weft_scope_engine(s)->numbers != WEFT_NUMBERS_REPRODUCIBLE &&
                weft_blas_version() != NULL && weft_blas_suits(weft_scope_engine(s)->isa) &&
                p->m <= INT32_MAX && p->n <= INT32_MAX && p->k <= INT32_MAX;
    bool swapped = !blas && p->n < PANEL && p->m > p->n;
    bool a_fits = blas ? weft_blas_takes(p->m, p->k, p->a.row, p->a.col)
                       : swapped || (p->a.col == 1 && p->a.row >= 0);
    bool b_fits = blas ? weft_blas_takes(p->k, p->n, p->b.row, p->b.col)
                       : !swapped || (p->b.row == 1 && p->b.col >= 0);
    if ((dtype != WEFT_F32 || !a_fits) &&
        !pack_factor(s, p, dtype, a, WEFT_F32, p->m, p->k, false, &p->a))
        return false;
    if ((dtype != WEFT_F32 || !b_fits) &&
        !pack_factor(s, p, dtype, b, WEFT_F32, p->k, p->n, swapped, &p->b))
        return false;
    merge_batch(p);
    size_t n_products = 1;
    for (int d = 0; d < p->n_batch; d++)
        n_products *= (size_t)p->batch[d];
    if (!blas)
        return own_product(s, p, n_products, swapped);
    return blas_products(s, p, n_products);
}

/* ---- f64 and integers: rows of b times elements of a, k in order ---- */

typedef struct wide_job {
    const product *p;
    const double *a, *b; /* packed [batch…, m, k] and [batch…, k, n]; integers as int64 */
    factor fa, fb;
    double *y;
    bool integers;
} wide_job;

static void wide_rows(void *ctx, size_t begin, size_t end, int thread) {
    const wide_job *j = ctx;
    const product *p = j->p;
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

static bool wide_product(weft_scope *s, const product *p, weft_tensor *y) {
    wide_job j = {.p = p, .fa = p->a, .fb = p->b, .integers = y->dtype != WEFT_F64};
    weft_dtype wide = j.integers ? WEFT_I64 : WEFT_F64;
    const void *a = p->a.data, *b = p->b.data;
    size_t numel = (size_t)weft_tensor_numel(y);
    if (!pack_factor(s, p, y->dtype, a, wide, p->m, p->k, false, &j.fa) ||
        !pack_factor(s, p, y->dtype, b, wide, p->k, p->n, false, &j.fb))
        return false;
    j.a = (const double *)(const void *)j.fa.data;
    j.b = (const double *)(const void *)j.fb.data;
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
static bool broadcast_batch(weft_scope *s, const weft_tensor *a, const weft_tensor *b, product *p) {
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

static bool describe(weft_scope *s, const weft_tensor *a, const weft_tensor *b, product *p) {
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
    product p = {0};
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
        done = p.y != NULL && run_product(s, &p, a->dtype);
        if (done && y->dtype != WEFT_F32) {
            int64_t count = (int64_t)numel, one = 1;
            weft_cast_strided(s, 1, &count, WEFT_F32, p.y, &one, y->dtype, weft_tensor_data(y),
                              &one);
        }
    }
    weft_op_end(&op);
    return done ? y : NULL;
}
