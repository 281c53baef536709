/* Folds of reductions, many outputs side by side. Rows of x are read whole, a few of them at once,
 * so that the results so far pass through the cache seldom and the processor sees a few long
 * streams to fetch ahead. */
#include <string.h>
#include "tensor/convert.h"
#include "tensor/fold.h"

#define LANES WEFT_FOLD_LANES
#define ROWS WEFT_FOLD_ROWS

/* ---- Memory ---- */

/* What a fold keeps of a column; [LANES] of the first two. */
typedef struct column_parts {
    bool sum, square, shift, best, shift32, best32, whole, index, rows, wide;
} column_parts;

static column_parts parts_of(const weft_folder *f) {
    bool whole = f->domain == WEFT_IN_I64, narrow = f->domain == WEFT_IN_F32;
    bool var = f->def->fold == WEFT_FOLD_VAR, best = !weft_fold_adds_up(f) && !var && !whole;
    return (column_parts){.sum = !whole && !best,
                          .square = var,
                          .shift = var && !narrow,
                          .best = best && !narrow,
                          .shift32 = var && narrow,
                          .best32 = best && narrow,
                          .whole = whole,
                          .index = weft_fold_has_index(f),
                          .rows = narrow && f->dtype != WEFT_F32,
                          .wide = !narrow};
}

size_t weft_column_bytes(const weft_folder *f) {
    column_parts p = parts_of(f);
    return 8 * (LANES * ((size_t)p.sum + p.square) + p.shift + p.best + p.whole + p.wide) +
           4 * ((size_t)p.shift32 + p.best32 + p.index + ROWS * (size_t)p.rows);
}

/* Takes `item` bytes for each of n columns off *at. */
static void *take(unsigned char **at, bool wanted, size_t item, size_t n) {
    void *memory = wanted ? *at : NULL;
    *at += wanted ? item * n : 0;
    return memory;
}

void weft_column_begin(const weft_folder *f, weft_column_fold *st, void *memory, size_t columns) {
    column_parts p = parts_of(f);
    unsigned char *at = memory;
    weft_whole_fold kind;
    *st = (weft_column_fold){.columns = columns};
    st->sum = take(&at, p.sum, 8 * LANES, columns);
    st->square = take(&at, p.square, 8 * LANES, columns);
    st->shift = take(&at, p.shift, 8, columns);
    st->best = take(&at, p.best, 8, columns);
    st->whole = take(&at, p.whole, 8, columns);
    st->wide = take(&at, p.wide, 8, columns);
    st->shift32 = take(&at, p.shift32, 4, columns);
    st->best32 = take(&at, p.best32, 4, columns);
    st->index = take(&at, p.index, 4, columns);
    st->rows = take(&at, p.rows, 4 * ROWS, columns);
    double start = f->def->fold == WEFT_FOLD_PROD;
    if (p.sum)
        memset(st->sum, 0, LANES * columns * sizeof *st->sum);
    for (size_t i = 0; start > 0 && p.sum && i < LANES * columns; i++)
        st->sum[i] = start;
    if (p.square)
        memset(st->square, 0, LANES * columns * sizeof *st->square);
    int64_t whole = (int64_t)start;
    if (weft_fold_is_whole(f, &kind) && kind != WEFT_WHOLE_SUM)
        whole = kind == WEFT_WHOLE_MAX ? INT64_MIN : INT64_MAX;
    for (size_t i = 0; p.whole && i < columns; i++)
        st->whole[i] = whole;
}

/* ---- A row ---- */

static void step_f64(const weft_folder *f, weft_column_fold *st, const double *x) {
    size_t n = st->columns, lane = st->n % LANES * n;
    double *sum = st->sum + lane, *square = st->square + lane, sign = weft_fold_sign(f);
    switch (f->def->fold) {
    case WEFT_FOLD_SUM:
        for (size_t c = 0; c < n; c++)
            sum[c] += x[c];
        break;
    case WEFT_FOLD_PROD:
        for (size_t c = 0; c < n; c++)
            sum[c] *= x[c];
        break;
    case WEFT_FOLD_VAR:
        if (st->n == 0)
            memcpy(st->shift, x, n * sizeof *x);
        for (size_t c = 0; c < n; c++) {
            double d = x[c] - st->shift[c];
            sum[c] += d;
            square[c] += d * d;
        }
        break;
    default:
        for (size_t c = 0; c < n; c++)
            if (st->n == 0 || weft_fold_beats(x[c], st->best[c], sign)) {
                st->best[c] = x[c];
                if (st->index)
                    st->index[c] = (int32_t)st->n;
            }
    }
}

/* Products, and best places of integers. */
static void step_whole(const weft_folder *f, weft_column_fold *st, const int64_t *x) {
    double sign = weft_fold_sign(f);
    for (size_t c = 0; c < st->columns; c++) {
        if (f->def->fold == WEFT_FOLD_PROD) {
            st->whole[c] = (int64_t)((uint64_t)st->whole[c] * (uint64_t)x[c]);
        } else if (st->n == 0 || weft_fold_beats_whole(x[c], st->whole[c], sign)) {
            st->whole[c] = x[c];
            st->index[c] = (int32_t)st->n;
        }
    }
}

/* One row, brought into the domain piece by piece. */
static void step_wide(const weft_folder *f, weft_column_fold *st, const unsigned char *x) {
    size_t item = weft_dtype_block_bytes(f->dtype);
    const void *row = x;
    for (size_t at = 0; at < st->columns; at += WEFT_FOLD_RUN) {
        size_t m = st->columns - at < WEFT_FOLD_RUN ? st->columns - at : WEFT_FOLD_RUN;
        double *wide = (double *)st->wide + at; /* or as many int64 */
        const void *got = weft_fold_widen(f, x + at * item, m, wide);
        if (got == wide)
            row = st->wide;
    }
    if (f->domain == WEFT_IN_F64)
        step_f64(f, st, row);
    else
        step_whole(f, st, row);
}

/* ---- Rows in f32 ---- */

/* `rows` rows from x on, `step` bytes apart, as f32 rows *ld elements apart. */
static const float *rows_f32(const weft_folder *f, const weft_column_fold *st,
                             const unsigned char *x, ptrdiff_t step, size_t rows, ptrdiff_t *ld) {
    const void *as_it_lies = x;
    *ld = step / (ptrdiff_t)sizeof(float);
    if (f->dtype == WEFT_F32)
        return as_it_lies;
    *ld = (ptrdiff_t)st->columns;
    for (size_t r = 0; r < rows; r++)
        weft_as_f32(f->k, f->dtype, x + (ptrdiff_t)r * step, st->columns,
                    st->rows + r * st->columns);
    return st->rows;
}

/* Rows of one lane are taken together: LANES * rows of them. */
static void add_lanes(const weft_folder *f, weft_column_fold *st, const unsigned char *x,
                      ptrdiff_t step, size_t lanes, size_t rows) {
    ptrdiff_t ld;
    if (f->def->fold == WEFT_FOLD_VAR && st->n == 0)
        memcpy(st->shift32, rows_f32(f, st, x, 0, 1, &ld), st->columns * sizeof(float));
    for (size_t l = 0; l < lanes; l++) {
        size_t lane = (st->n + l) % LANES * st->columns;
        const float *v = rows_f32(f, st, x + (ptrdiff_t)l * step, LANES * step, rows, &ld);
        if (f->def->fold == WEFT_FOLD_VAR)
            f->k->moments_columns(v, ld, rows, st->columns, st->shift32, st->sum + lane,
                                  st->square + lane);
        else
            f->k->sum_columns(v, ld, rows, 0, st->columns, st->sum + lane);
    }
    st->n += lanes * rows;
}

static void multiply_row(const weft_folder *f, weft_column_fold *st, const unsigned char *x) {
    ptrdiff_t ld;
    const float *v = rows_f32(f, st, x, 0, 1, &ld);
    double *product = st->sum + st->n % LANES * st->columns;
    for (size_t c = 0; c < st->columns; c++)
        product[c] *= (double)v[c];
    st->n++;
}

static void best_rows(const weft_folder *f, weft_column_fold *st, const unsigned char *x,
                      ptrdiff_t step, size_t rows) {
    ptrdiff_t ld;
    const float *v = rows_f32(f, st, x, step, rows, &ld);
    float sign = (float)weft_fold_sign(f);
    if (st->n == 0) {
        memcpy(st->best32, v, st->columns * sizeof *v);
        if (st->index)
            memset(st->index, 0, st->columns * sizeof *st->index);
    }
    if (st->index)
        f->k->arg_columns(v, ld, rows, st->columns, sign, (int32_t)st->n, st->best32, st->index);
    else
        f->k->best_columns(v, ld, rows, 0, st->columns, sign, st->best32);
    st->n += rows;
}

static size_t fold_f32(const weft_folder *f, weft_column_fold *st, const unsigned char *x,
                       ptrdiff_t step, size_t left) {
    size_t done = left < ROWS ? left : ROWS;
    if (f->def->fold == WEFT_FOLD_PROD) {
        multiply_row(f, st, x);
        return 1;
    }
    if (st->best32) {
        best_rows(f, st, x, step, done);
        return done;
    }
    if (left < LANES) {
        add_lanes(f, st, x, step, left, 1);
        return left;
    }
    size_t rows = left / LANES < ROWS ? left / LANES : ROWS;
    add_lanes(f, st, x, step, LANES, rows);
    return LANES * rows;
}

void weft_column_fold_rows(const weft_folder *f, weft_column_fold *st, const void *x,
                           ptrdiff_t step, size_t n) {
    const unsigned char *from = x;
    weft_whole_fold kind;
    if (weft_fold_is_whole(f, &kind)) {
        ptrdiff_t ld = step / (ptrdiff_t)weft_dtype_block_bytes(f->dtype);
        for (size_t i = 0; i < n; i += LANES)
            f->k->whole_columns(weft_map_domain(f->dtype), kind, from + (ptrdiff_t)i * step, ld,
                                n - i < LANES ? n - i : LANES, st->columns, st->whole);
        st->n += n;
        return;
    }
    for (size_t i = 0; i < n;) {
        const unsigned char *row = from + (ptrdiff_t)i * step;
        if (f->domain == WEFT_IN_F32) {
            i += fold_f32(f, st, row, step, n - i);
        } else {
            step_wide(f, st, row);
            st->n++;
            i++;
        }
    }
}

/* ---- Ends ---- */

/* The tree of lanes (weft_row_end), for all columns at once. */
static void add_tree(const weft_folder *f, double *lanes, size_t columns) {
    weft_map_fn *add = f->k->map(WEFT_MAP_ADD, WEFT_IN_F64);
    const weft_map_args none = {0};
    for (size_t half = LANES / 2; half > 0; half /= 2) {
        const void *in[] = {lanes, lanes + half * columns};
        add(&none, in, half * columns, lanes);
    }
}

void weft_column_end(const weft_folder *f, weft_column_fold *st) {
    if (st->sum && f->def->fold != WEFT_FOLD_PROD)
        add_tree(f, st->sum, st->columns);
    if (st->square)
        add_tree(f, st->square, st->columns);
}

bool weft_column_has_tree(const weft_folder *f) {
    return f->def->fold == WEFT_FOLD_SUM && f->domain == WEFT_IN_F32 && f->dtype == WEFT_F32;
}

void weft_column_tree(const weft_folder *f, weft_column_fold *st, void *memory, size_t columns,
                      const void *x, ptrdiff_t step, size_t n) {
    double *parts = memory;
    *st = (weft_column_fold){.n = n, .columns = columns, .sum = parts + 3 * columns};
    f->k->sum_tree(x, step / (ptrdiff_t)sizeof(float), n, columns, parts, st->sum);
}

weft_partial weft_column_result(const weft_folder *f, const weft_column_fold *st, size_t column,
                                int64_t first) {
    weft_row_fold row = {.n = st->n};
    row.whole = st->whole ? st->whole[column] : 0;
    row.best = st->best32 ? (double)st->best32[column] : st->best ? st->best[column] : 0;
    row.index = st->index ? st->index[column] : 0;
    row.shift = st->shift32 ? (double)st->shift32[column] : st->shift ? st->shift[column] : 0;
    bool product = f->def->fold == WEFT_FOLD_PROD; /* the one tree that is still to come */
    for (size_t l = 0; st->sum && product && l < LANES; l++)
        row.sum[l] = st->sum[l * st->columns + column];
    if (st->sum && !product) /* zeros beside it do not change it */
        row.sum[0] = st->sum[column];
    if (st->square)
        row.square[0] = st->square[column];
    return weft_row_end(f, &row, first);
}
