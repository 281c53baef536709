/* Products of float matrices, cut to blocks that fit the caches: a part of k at a time, b is
 * packed into panels, and blocks of rows of a go over them. Threads share the packing and then the
 * blocks, or whole products where there are many. The kernels' chains of fmaf do not depend on any
 * of it. After Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008. */
#include "tensor/gemm.h"
#include "base/alloc.h"
#include "tensor/convert.h"
#include "tensor/kernels/panel.h"

#define PANEL WEFT_PANEL_ROWS
#define DEPTH 256                 /* of k at a time: two panels of it fit a level-1 cache */
#define ROWS 240                  /* of a at a time: a quarter of a MiB, for a level-2 cache */
#define COLUMNS 2048              /* of b at a time: 2 MiB of panels, which all threads share */
#define LEAST_ROWS 48             /* a share below it would read the panels too often */
#define LEAST_COLUMNS 128         /* and below it the rows of a */
#define A_NEAR 512                /* between rows of a, which share pages and need no copy */
#define A_STEP (DEPTH + PANEL)    /* of a block's rows: not a power of two */
#define PACK_COLUMNS (4 * PANEL)  /* that are packed at a time */
#define VECTOR_ROWS 64            /* of a product with a vector, an item */
#define VECTOR_COLUMNS 512        /* long enough a stream */
#define LITTLE ((size_t)64 << 10) /* multiplications of a product that is not worth sharing */

/* ---- Blocks of factors as f32 ---- */

/* One of the factors of one product. */
typedef struct matrix {
    const unsigned char *data;
    weft_dtype dtype;
    int64_t row, col; /* steps in elements */
} matrix;

static const unsigned char *element(const matrix *x, size_t row, size_t col) {
    return x->data + ((int64_t)row * x->row + (int64_t)col * x->col) *
                         (int64_t)weft_dtype_block_bytes(x->dtype);
}

static matrix matrix_of(const weft_product *p, const weft_factor *f, size_t batch) {
    matrix x = {f->data, p->dtype, f->row, f->col};
    x.data += weft_index_offset(p->n_batch, p->batch, f->batch, batch) *
              (int64_t)weft_dtype_block_bytes(p->dtype);
    return x;
}

static matrix turned(const matrix *x) {
    return (matrix){x->data, x->dtype, x->col, x->row};
}

/* x's [rows, cols] from (row, col) on, as f32 rows `step` apart. `raw`: room for rows * cols. */
static void copy_block(const weft_kernels *k, const matrix *x, size_t row, size_t rows, size_t col,
                       size_t cols, float *to, size_t step, void *raw) {
    size_t item = weft_dtype_block_bytes(x->dtype);
    const unsigned char *from = element(x, row, col);
    int64_t x_row = x->row * (int64_t)item, x_col = x->col * (int64_t)item;
    if (x->dtype == WEFT_F32) {
        weft_copy_2d(item, rows, cols, from, x_row, x_col, to, (int64_t)(step * sizeof *to),
                     sizeof *to);
        return;
    }
    if (x->col != 1) {
        weft_copy_2d(item, rows, cols, from, x_row, x_col, raw, (int64_t)(cols * item),
                     (int64_t)item);
        from = raw;
        x_row = (int64_t)(cols * item);
    }
    for (size_t r = 0; r < rows; r++)
        weft_as_f32(k, x->dtype, from + (int64_t)r * x_row, cols, to + r * step);
}

/* ---- One product ---- */

/* What a thread has of its own. */
typedef struct room {
    float a[ROWS * A_STEP];
    float b[DEPTH * PACK_COLUMNS];
    uint16_t raw[ROWS * DEPTH];
} room;

/* The part of a product that is multiplied at a time: k and columns from k0 and n0 on. */
typedef struct part {
    const weft_kernels *kernels;
    const weft_product *p;
    matrix a, b;
    float *y, *panels;
    bool a_lies; /* its rows are read in place */
    size_t k0, depth, n0, columns;
    size_t rows, row_blocks; /* of an item, and how many of them */
    size_t width;            /* columns of an item */
    room *rooms;             /* one a thread */
} part;

/* Items: PACK_COLUMNS columns of b. */
static void pack_columns(void *ctx, size_t begin, size_t end, int thread) {
    const part *t = ctx;
    room *own = &t->rooms[thread];
    for (size_t i = begin; i < end; i++) {
        size_t first = i * PACK_COLUMNS, left = t->columns - first;
        size_t n = left < PACK_COLUMNS ? left : PACK_COLUMNS;
        bool by_columns = t->b.row == 1 && t->b.col != 1;
        bool lies = t->b.dtype == WEFT_F32 && (t->b.row == 1 || t->b.col == 1);
        int64_t step = by_columns ? t->b.col : t->b.row;
        const void *from = element(&t->b, t->k0, t->n0 + first);
        if (!lies && by_columns) {
            matrix columns = turned(&t->b);
            copy_block(t->kernels, &columns, t->n0 + first, n, t->k0, t->depth, own->b, DEPTH,
                       own->raw);
        } else if (!lies) {
            copy_block(t->kernels, &t->b, t->k0, t->depth, t->n0 + first, n, own->b, PACK_COLUMNS,
                       own->raw);
        }
        if (!lies) {
            from = own->b;
            step = by_columns ? DEPTH : PACK_COLUMNS;
        }
        t->kernels->gemm_pack(from, (ptrdiff_t)step, by_columns, t->depth, n,
                              t->panels + first * t->depth);
    }
}

/* Items: (columns, rows), rows fastest. */
static void multiply_blocks(void *ctx, size_t begin, size_t end, int thread) {
    const part *t = ctx;
    room *own = &t->rooms[thread];
    for (size_t i = begin; i < end; i++) {
        size_t row = i % t->row_blocks * t->rows, first = i / t->row_blocks * t->width;
        size_t m = (size_t)t->p->m - row, n = t->columns - first;
        m = m < t->rows ? m : t->rows;
        n = n < t->width ? n : t->width;
        const float *a = own->a;
        size_t step = A_STEP;
        if (t->a_lies) {
            a = (const float *)(const void *)element(&t->a, row, t->k0);
            step = (size_t)t->a.row;
        } else {
            copy_block(t->kernels, &t->a, row, m, t->k0, t->depth, own->a, A_STEP, own->raw);
        }
        t->kernels->gemm(a, step, m, t->depth, t->panels + first * t->depth, n,
                         t->y + row * (size_t)t->p->n + t->n0 + first, (size_t)t->p->n, t->k0 == 0);
    }
}

/* Rows and columns of an item, such that each thread finds a few. */
static void share_out(part *t, size_t threads) {
    size_t m = (size_t)t->p->m, wanted = threads > 1 ? 4 * threads : 1;
    t->rows = weft_ceil_div(weft_ceil_div(m, wanted), LEAST_ROWS) * LEAST_ROWS;
    t->rows = t->rows < ROWS ? t->rows : ROWS;
    t->row_blocks = weft_ceil_div(m, t->rows);
    size_t strips = weft_ceil_div(wanted, t->row_blocks);
    t->width = weft_ceil_div(weft_ceil_div(t->columns, strips), LEAST_COLUMNS) * LEAST_COLUMNS;
}

static void run(weft_scope *s, size_t n, size_t work, weft_team_fn fn, part *t, int alone) {
    if (alone < 0)
        weft_op_loop(s, n, work, fn, t);
    else
        fn(t, 0, n, alone);
}

/* `alone`: the thread that does it all, or -1. */
static void multiply(weft_scope *s, part *t, size_t batch, int alone) {
    const weft_product *p = t->p;
    size_t n = (size_t)p->n, k = (size_t)p->k, m = (size_t)p->m;
    size_t threads = alone < 0 ? (size_t)weft_team_n_threads(weft_scope_team(s)) : 1;
    t->a = matrix_of(p, &p->a, batch);
    t->b = matrix_of(p, &p->b, batch);
    t->a_lies = p->dtype == WEFT_F32 && t->a.col == 1 && t->a.row >= 0 && t->a.row <= A_NEAR;
    t->y = p->y + batch * m * n;
    for (t->n0 = 0; t->n0 < n; t->n0 += COLUMNS) {
        t->columns = n - t->n0 < COLUMNS ? n - t->n0 : COLUMNS;
        share_out(t, threads);
        for (t->k0 = 0; t->k0 < k; t->k0 += DEPTH) {
            t->depth = k - t->k0 < DEPTH ? k - t->k0 : DEPTH;
            run(s, weft_ceil_div(t->columns, PACK_COLUMNS), t->depth * PACK_COLUMNS, pack_columns,
                t, alone);
            run(s, t->row_blocks * weft_ceil_div(t->columns, t->width),
                t->rows * t->depth * (t->columns < t->width ? t->columns : t->width) / 16,
                multiply_blocks, t, alone);
        }
    }
}

/* ---- Many products ---- */

typedef struct batch_job {
    weft_scope *s;
    part t;
    size_t panel_floats; /* of a thread */
} batch_job;

static void multiply_batch(void *ctx, size_t begin, size_t end, int thread) {
    const batch_job *j = ctx;
    part own = j->t;
    own.panels += (size_t)thread * j->panel_floats;
    for (size_t i = begin; i < end; i++)
        multiply(j->s, &own, i, thread);
}

static bool products(weft_scope *s, const char *op, const weft_product *p, size_t n_products) {
    size_t threads = (size_t)weft_team_n_threads(weft_scope_team(s));
    size_t n = (size_t)p->n < COLUMNS ? (size_t)p->n : COLUMNS;
    size_t depth = (size_t)p->k < DEPTH ? (size_t)p->k : DEPTH;
    size_t work = weft_size_of(weft_size_of((size_t)p->m, (size_t)p->n), (size_t)p->k);
    bool apart = n_products >= 2 * threads || (work > 0 && work < LITTLE);
    batch_job j = {.s = s, .t = {.kernels = weft_scope_kernels(s), .p = p}};
    j.panel_floats = weft_ceil_div(n, PANEL) * PANEL * depth;
    size_t panels = weft_size_of(apart ? threads : 1, j.panel_floats * sizeof(float));
    j.t.panels = weft_scope_scratch(s, op, panels);
    j.t.rooms = weft_scope_scratch(s, op, weft_size_of(threads, sizeof(room)));
    if (j.t.panels == NULL || j.t.rooms == NULL)
        return false;
    if (apart)
        weft_op_loop(s, n_products, work / 16 + 64, multiply_batch, &j);
    for (size_t i = 0; i < n_products && !apart; i++)
        multiply(s, &j.t, i, -1);
    return true;
}

/* ---- A matrix times a vector ---- */

typedef struct vector_job {
    const weft_kernels *kernels;
    const weft_product *p;
    const weft_factor *matrix, *vector;
    int64_t step;   /* from row to row of the matrix as it lies */
    size_t outputs; /* of a product */
    bool columns;   /* the outputs' columns lie packed; else their rows */
    size_t item, n_items;
    const float *x; /* [products, k] packed */
} vector_job;

static void multiply_vectors(void *ctx, size_t begin, size_t end, int thread) {
    const vector_job *j = ctx;
    const weft_product *p = j->p;
    size_t k = (size_t)p->k;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        size_t batch = i / j->n_items, first = i % j->n_items * j->item;
        size_t n = j->outputs - first < j->item ? j->outputs - first : j->item;
        const float *a = (const float *)j->matrix->data +
                         weft_index_offset(p->n_batch, p->batch, j->matrix->batch, batch);
        const float *x = j->x + batch * k;
        float *y = p->y + batch * j->outputs + first;
        if (j->columns)
            j->kernels->gemv_columns(a + first, (ptrdiff_t)j->step, k, n, x, y);
        else
            j->kernels->gemv_rows(a + (int64_t)first * j->step, (ptrdiff_t)j->step, n, k, x, y);
    }
}

/* The vectors of all products, packed; NULL: the status is set. */
static const float *pack_vectors(weft_scope *s, const char *op, const weft_product *p,
                                 const weft_factor *v, int64_t step, size_t n_products) {
    int64_t dims[WEFT_MAX_RANK + 1], from[WEFT_MAX_RANK + 1], to[WEFT_MAX_RANK + 1];
    float *x = weft_scope_scratch(
        s, op, weft_size_of(weft_size_of(n_products, (size_t)p->k), sizeof(float)));
    for (int d = 0; d < p->n_batch; d++) {
        dims[d] = p->batch[d];
        from[d] = v->batch[d];
    }
    dims[p->n_batch] = p->k;
    from[p->n_batch] = step;
    weft_strides_of(p->n_batch + 1, dims, to);
    if (x != NULL)
        weft_copy_strided(s, sizeof(float), p->n_batch + 1, dims, v->data, from, x, to);
    return x;
}

/* Whether the product is one that reads a matrix of f32 once, as it lies. */
static bool suits_vector(const weft_product *p) {
    const weft_factor *f = p->m == 1 ? &p->b : &p->a;
    return p->dtype == WEFT_F32 && (p->m == 1 || p->n == 1) && (f->row == 1 || f->col == 1);
}

static bool vectors(weft_scope *s, const char *op, const weft_product *p, size_t n_products) {
    vector_job j = {.kernels = weft_scope_kernels(s), .p = p};
    bool row = p->m == 1; /* [1, k] @ [k, n] */
    size_t threads = (size_t)weft_team_n_threads(weft_scope_team(s));
    j.matrix = row ? &p->b : &p->a;
    j.vector = row ? &p->a : &p->b;
    j.outputs = (size_t)(row ? p->n : p->m);
    int64_t out_step = row ? p->b.col : p->a.row, k_step = row ? p->b.row : p->a.col;
    j.columns = out_step == 1;
    j.step = j.columns ? k_step : out_step;
    j.item = VECTOR_ROWS;
    if (j.columns) {
        size_t share = weft_ceil_div(weft_ceil_div(j.outputs, 2 * threads), PANEL) * PANEL;
        j.item = share < VECTOR_COLUMNS ? VECTOR_COLUMNS : share;
    }
    j.n_items = weft_ceil_div(j.outputs, j.item);
    j.x = pack_vectors(s, op, p, j.vector, row ? p->a.col : p->b.row, n_products);
    if (j.x == NULL)
        return false;
    weft_op_loop(s, n_products * j.n_items, (size_t)p->k * j.item / 4 + 64, multiply_vectors, &j);
    return true;
}

/* ---- The whole ---- */

/* Batch elements that share b and follow one another in a are rows of one product. */
static void merge_batch(weft_product *p) {
    while (p->n_batch > 0) {
        int last = p->n_batch - 1;
        int64_t extent = p->batch[last], step = p->a.batch[last];
        if (extent != 1) {
            if (p->b.batch[last] != 0 || p->m > INT32_MAX / extent)
                return;
            if (p->m != 1 && step != p->m * p->a.row)
                return;
            p->a.row = p->m == 1 ? step : p->a.row;
            p->m *= extent;
        }
        p->n_batch--;
    }
}

bool weft_gemm(weft_scope *s, const char *op, weft_product *p) {
    merge_batch(p);
    size_t n_products = 1;
    for (int d = 0; d < p->n_batch; d++)
        n_products *= (size_t)p->batch[d];
    if (weft_gemm_by_blas(s, p, n_products))
        return true;
    return suits_vector(p) ? vectors(s, op, p, n_products) : products(s, op, p, n_products);
}
