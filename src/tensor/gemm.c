/* Products of float matrices, cut to blocks that fit the caches: a part of k and of the columns at
 * a time, b is packed into panels that lie in a level-2 cache, and the rows of a go over them,
 * which reads and writes y once for each part of k. Threads take parts of y, or whole products
 * where there are many. The kernels' chains of fmaf do not depend on any of it. After Goto and van
 * de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008. */
#include "tensor/gemm.h"
#include "base/alloc.h"
#include "tensor/convert.h"
#include "tensor/kernels/panel.h"

#define PANEL WEFT_PANEL_ROWS
#define DEPTH 512                 /* of k at a time, at most */
#define ROWS 48                   /* of a at a time where it is copied */
#define LEAST_ROWS 96             /* a share below it would pack b too often */
#define LEAST_COLUMNS 128         /* and below it read the rows of a too often */
#define B_NEAR 256                /* between rows of b, which need no panels */
#define B_ROWS 8                  /* of a, below which panels do not pay */
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
    uint16_t raw[DEPTH * PACK_COLUMNS];
} room;

/* A product and how it is cut. Items: (columns, rows), rows fastest. */
typedef struct product {
    const weft_kernels *kernels;
    const weft_product *p;
    matrix a, b;
    float *y;
    bool a_lies, b_lies;             /* is read in place */
    size_t depth, width;             /* of a block of b */
    size_t rows, columns, row_parts; /* of an item */
    room *rooms;                     /* one a thread */
    float *panels;                   /* panel_floats a thread */
    size_t panel_floats;
} product;

/* A block of b: k from k0 on, columns from n0 on. */
typedef struct block {
    size_t k0, depth, n0, columns;
} block;

/* Columns `first` to first + n of the block, at most PACK_COLUMNS. */
static void pack_columns(const product *t, const block *at, size_t first, size_t n, room *own,
                         float *panels) {
    bool by_columns = t->b.row == 1 && t->b.col != 1;
    bool lies = t->b.dtype == WEFT_F32 && (t->b.row == 1 || t->b.col == 1);
    int64_t step = by_columns ? t->b.col : t->b.row;
    size_t column = at->n0 + first;
    const void *from = element(&t->b, at->k0, column);
    if (!lies && by_columns) {
        matrix columns = turned(&t->b);
        copy_block(t->kernels, &columns, column, n, at->k0, at->depth, own->b, DEPTH, own->raw);
    } else if (!lies) {
        copy_block(t->kernels, &t->b, at->k0, at->depth, column, n, own->b, PACK_COLUMNS, own->raw);
    }
    if (!lies) {
        from = own->b;
        step = by_columns ? DEPTH : PACK_COLUMNS;
    }
    t->kernels->gemm_pack(from, (ptrdiff_t)step, by_columns, at->depth, n,
                          panels + first * at->depth);
}

/* Rows [row, end) of a times a block of b. */
static void multiply_block(const product *t, const block *at, size_t row, size_t end, room *own,
                           float *panels) {
    const float *b = panels;
    size_t b_row = PANEL, b_vector = PANEL * at->depth, n = (size_t)t->p->n;
    if (t->b_lies) {
        b = (const float *)(const void *)element(&t->b, at->k0, at->n0);
        b_row = (size_t)t->b.row;
        b_vector = PANEL;
    }
    for (size_t c = 0; c < at->columns && !t->b_lies; c += PACK_COLUMNS)
        pack_columns(t, at, c, at->columns - c < PACK_COLUMNS ? at->columns - c : PACK_COLUMNS, own,
                     panels);
    for (size_t m; row < end; row += m) {
        const float *a = own->a;
        size_t a_row = A_STEP;
        m = t->a_lies || end - row < ROWS ? end - row : ROWS;
        if (t->a_lies) {
            a = (const float *)(const void *)element(&t->a, row, at->k0);
            a_row = (size_t)t->a.row;
        } else {
            copy_block(t->kernels, &t->a, row, m, at->k0, at->depth, own->a, A_STEP, own->raw);
        }
        t->kernels->gemm(a, a_row, m, at->depth, b, b_row, b_vector, at->columns,
                         t->y + row * n + at->n0, n, at->k0 == 0);
    }
}

static void multiply_items(void *ctx, size_t begin, size_t end, int thread) {
    const product *t = ctx;
    size_t m = (size_t)t->p->m, n = (size_t)t->p->n, k = (size_t)t->p->k;
    float *panels = t->panels + (size_t)thread * t->panel_floats;
    for (size_t i = begin; i < end; i++) {
        size_t row = i % t->row_parts * t->rows, first = i / t->row_parts * t->columns;
        size_t last_row = m - row < t->rows ? m : row + t->rows;
        size_t last = n - first < t->columns ? n : first + t->columns;
        for (block at = {.n0 = first}; at.n0 < last; at.n0 += t->width) {
            at.columns = last - at.n0 < t->width ? last - at.n0 : t->width;
            for (at.k0 = 0; at.k0 < k; at.k0 += t->depth) {
                at.depth = k - at.k0 < t->depth ? k - at.k0 : t->depth;
                multiply_block(t, &at, row, last_row, &t->rooms[thread], panels);
            }
        }
    }
}

/* The places of the factors of product `batch`, and whether they are read there. */
static void place(product *t, size_t batch) {
    const weft_product *p = t->p;
    t->a = matrix_of(p, &p->a, batch);
    t->b = matrix_of(p, &p->b, batch);
    t->y = p->y + batch * (size_t)p->m * (size_t)p->n;
    t->a_lies = p->dtype == WEFT_F32 && t->a.col == 1 && t->a.row >= 0;
    t->b_lies = p->dtype == WEFT_F32 && t->b.col == 1 && t->b.row >= 0 && p->n % PANEL == 0 &&
                (t->b.row <= B_NEAR || p->m < B_ROWS);
}

/* Equal parts of at most `most`, in multiples of `unit`. */
static size_t even_share(size_t n, size_t most, size_t unit) {
    size_t parts = weft_ceil_div(n, most);
    return weft_ceil_div(weft_ceil_div(n, parts), unit) * unit;
}

/* Blocks of b that take two thirds of a level-2 cache, and items of which each of `threads` finds
 * two. */
static void cut(product *t, size_t level2_bytes, size_t threads) {
    size_t m = (size_t)t->p->m, n = (size_t)t->p->n, k = (size_t)t->p->k;
    size_t cache = level2_bytes / 3 * 2 / sizeof(float), parts;
    t->depth = even_share(k, DEPTH, 1);
    t->width = cache / t->depth / PANEL * PANEL;
    t->width = even_share(n, t->width < PANEL ? PANEL : t->width, PANEL);
    t->columns = n;
    t->rows = m;
    if (threads > 1) {
        parts = weft_ceil_div(weft_ceil_div(n, t->width), threads) * threads;
        t->columns = even_share(n, weft_ceil_div(n, parts), PANEL);
        t->columns = t->columns < LEAST_COLUMNS ? LEAST_COLUMNS : t->columns;
        parts = weft_ceil_div(2 * threads, weft_ceil_div(n, t->columns));
        t->rows = even_share(m, weft_ceil_div(m, parts), LEAST_ROWS);
        t->width = t->width < t->columns ? t->width : t->columns;
    }
    t->row_parts = weft_ceil_div(m, t->rows);
    t->panel_floats = t->width * t->depth;
}

/* ---- Many products ---- */

static void multiply_batch(void *ctx, size_t begin, size_t end, int thread) {
    product own = *(const product *)ctx;
    for (size_t i = begin; i < end; i++) {
        place(&own, i);
        multiply_items(&own, 0, 1, thread);
    }
}

static bool products(weft_scope *s, const char *op, const weft_product *p, size_t n_products) {
    size_t threads = (size_t)weft_team_n_threads(weft_scope_team(s));
    size_t work = weft_size_of(weft_size_of((size_t)p->m, (size_t)p->n), (size_t)p->k);
    bool apart = n_products >= 2 * threads || (work > 0 && work < LITTLE);
    product t = {.kernels = weft_scope_kernels(s), .p = p};
    cut(&t, weft_scope_engine(s)->level2_bytes, apart ? 1 : threads);
    t.panels = weft_scope_scratch(s, op, weft_size_of(threads, t.panel_floats * sizeof(float)));
    t.rooms = weft_scope_scratch(s, op, weft_size_of(threads, sizeof(room)));
    if (t.panels == NULL || t.rooms == NULL)
        return false;
    if (apart)
        weft_op_loop(s, n_products, work / 16 + 64, multiply_batch, &t);
    for (size_t i = 0; i < n_products && !apart; i++) {
        place(&t, i);
        weft_op_loop(s, t.row_parts * weft_ceil_div((size_t)p->n, t.columns),
                     t.rows * t.columns / 16 * (size_t)p->k, multiply_items, &t);
    }
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
