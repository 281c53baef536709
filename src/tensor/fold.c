/* Folds of reductions. f32 sums and extremes go through kernels; the rest is plain code. */
#include "tensor/fold.h"

#include <math.h>
#include <string.h>

#define LANES WEFT_FOLD_LANES
#define PIECE 2048
#define ROWS 8 /* of a lane, whose columns are added at once: a block has LANES * ROWS rows */

static bool adds_up(const weft_folder *f) {
    return f->def->fold == WEFT_FOLD_SUM || f->def->fold == WEFT_FOLD_PROD;
}
static bool has_index(const weft_folder *f) {
    return f->def->fold == WEFT_FOLD_ARGMAX || f->def->fold == WEFT_FOLD_ARGMIN;
}
static double sign_of(const weft_folder *f) {
    return f->def->fold == WEFT_FOLD_MIN || f->def->fold == WEFT_FOLD_ARGMIN ? -1 : 1;
}

/* Whether x takes the place of a best that came before it: ties do not, the first NaN does. */
static inline bool beats(double x, double best, double sign) {
    return best == best && (x != x || x * sign > best * sign);
}
static inline bool beats_whole(int64_t x, int64_t best, double sign) {
    return sign > 0 ? x > best : x < best;
}

/* ---- One output ---- */

void weft_row_begin(const weft_folder *f, weft_row_fold *st) {
    double start = f->def->fold == WEFT_FOLD_PROD;
    st->n = 0;
    st->index = 0;
    st->whole = (int64_t)start;
    for (size_t l = 0; l < LANES; l++)
        st->sum[l] = start;
    if (f->def->fold == WEFT_FOLD_VAR)
        memset(st->square, 0, sizeof st->square);
}

static void fold_sum_f32(const weft_folder *f, weft_row_fold *st, const float *x, size_t n) {
    size_t phase = st->n % LANES, head = phase == 0 ? 0 : LANES - phase;
    head = head < n ? head : n;
    for (size_t i = 0; i < head; i++)
        st->sum[phase + i] += (double)x[i];
    f->k->sum_row(x + head, n - head, st->sum);
}

static void fold_sum_f64(weft_row_fold *st, const double *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        st->sum[(st->n + i) % LANES] += x[i];
}

static void fold_prod_f64(weft_row_fold *st, const double *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        st->sum[(st->n + i) % LANES] *= x[i];
}

static void fold_prod_f32(weft_row_fold *st, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        st->sum[(st->n + i) % LANES] *= (double)x[i];
}

static void fold_var(weft_row_fold *st, const double *x, size_t n) {
    double shift = st->n == 0 ? x[0] : st->shift;
    for (size_t i = 0; i < n; i++) {
        double d = x[i] - shift;
        st->sum[(st->n + i) % LANES] += d;
        st->square[(st->n + i) % LANES] += d * d;
    }
    st->shift = shift;
}

/* Where in x the best stands, given that it does. */
static size_t place_of(const float *x, float best) {
    size_t i = 0;
    if (best != best)
        while (x[i] == x[i])
            i++;
    else
        while (!(x[i] == best))
            i++;
    return i;
}

static void fold_best_f32(const weft_folder *f, weft_row_fold *st, const float *x, size_t n) {
    double sign = sign_of(f);
    for (size_t at = 0; at < n; at += PIECE) {
        size_t m = n - at < PIECE ? n - at : PIECE;
        float best = f->k->best_row(x + at, m, (float)sign);
        if (st->n + at != 0 && !beats((double)best, st->best, sign))
            continue;
        st->best = (double)best;
        if (has_index(f))
            st->index = (int64_t)(st->n + at + place_of(x + at, best));
    }
}

static void fold_best_f64(const weft_folder *f, weft_row_fold *st, const double *x, size_t n) {
    double sign = sign_of(f);
    for (size_t i = 0; i < n; i++)
        if (st->n + i == 0 || beats(x[i], st->best, sign)) {
            st->best = x[i];
            st->index = (int64_t)(st->n + i);
        }
}

static void fold_whole(const weft_folder *f, weft_row_fold *st, const int64_t *x, size_t n) {
    double sign = sign_of(f);
    uint64_t total = (uint64_t)st->whole; /* wraps the same in any order */
    if (f->def->fold == WEFT_FOLD_SUM) {
        for (size_t i = 0; i < n; i++)
            total += (uint64_t)x[i];
        st->whole = (int64_t)total;
    } else if (f->def->fold == WEFT_FOLD_PROD) {
        for (size_t i = 0; i < n; i++)
            total *= (uint64_t)x[i];
        st->whole = (int64_t)total;
    } else {
        for (size_t i = 0; i < n; i++)
            if (st->n + i == 0 || beats_whole(x[i], st->whole, sign)) {
                st->whole = x[i];
                st->index = (int64_t)(st->n + i);
            }
    }
}

void weft_row_fold_run(const weft_folder *f, weft_row_fold *st, const void *x, size_t n) {
    bool narrow = f->domain == WEFT_IN_F32;
    if (f->domain == WEFT_IN_I64)
        fold_whole(f, st, x, n);
    else if (f->def->fold == WEFT_FOLD_VAR)
        fold_var(st, x, n);
    else if (f->def->fold == WEFT_FOLD_SUM && narrow)
        fold_sum_f32(f, st, x, n);
    else if (f->def->fold == WEFT_FOLD_SUM)
        fold_sum_f64(st, x, n);
    else if (f->def->fold == WEFT_FOLD_PROD && narrow)
        fold_prod_f32(st, x, n);
    else if (f->def->fold == WEFT_FOLD_PROD)
        fold_prod_f64(st, x, n);
    else if (narrow)
        fold_best_f32(f, st, x, n);
    else
        fold_best_f64(f, st, x, n);
    st->n += n;
}

/* ---- Many outputs ---- */

void weft_column_begin(const weft_folder *f, weft_column_fold *st, size_t columns) {
    double start = f->def->fold == WEFT_FOLD_PROD;
    st->n = 0;
    st->columns = columns;
    if (f->domain == WEFT_IN_I64) {
        for (size_t c = 0; c < columns; c++)
            st->whole[c] = (int64_t)start;
        return;
    }
    for (size_t l = 0; l < LANES && (adds_up(f) || f->def->fold == WEFT_FOLD_VAR); l++)
        for (size_t c = 0; c < columns; c++)
            st->sum[l][c] = start;
    for (size_t l = 0; l < LANES && f->def->fold == WEFT_FOLD_VAR; l++)
        memset(st->square[l], 0, columns * sizeof st->square[l][0]);
}

static void step_f64(const weft_folder *f, weft_column_fold *st, const double *x) {
    double *sum = st->sum[st->n % LANES], *square = st->square[st->n % LANES];
    double sign = sign_of(f);
    size_t n = st->columns;
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
            if (st->n == 0 || beats(x[c], st->best[c], sign)) {
                st->best[c] = x[c];
                st->index[c] = (int32_t)st->n;
            }
    }
}

static void step_f32(const weft_folder *f, weft_column_fold *st, const float *x) {
    double *sum = st->sum[st->n % LANES];
    float sign = (float)sign_of(f), *best = st->best32;
    int32_t at = (int32_t)st->n, *index = st->index;
    size_t n = st->columns;
    if (f->def->fold == WEFT_FOLD_SUM) {
        f->k->sum_columns(x, 0, 1, 0, n, sum);
    } else if (f->def->fold == WEFT_FOLD_PROD) {
        for (size_t c = 0; c < n; c++)
            sum[c] *= (double)x[c];
    } else if (st->n == 0) {
        memcpy(best, x, n * sizeof *x);
        memset(index, 0, n * sizeof *index);
    } else if (!has_index(f)) {
        f->k->best_columns(x, 0, 1, 0, n, sign, best);
    } else {
        for (size_t c = 0; c < n; c++) {
            float v = x[c], b = best[c];
            int better = ((v * sign > b * sign) | (v != v)) & (b == b);
            best[c] = better ? v : b;
            index[c] = better ? at : index[c];
        }
    }
}

static void step_whole(const weft_folder *f, weft_column_fold *st, const int64_t *x) {
    double sign = sign_of(f);
    for (size_t c = 0; c < st->columns; c++) {
        if (f->def->fold == WEFT_FOLD_SUM) {
            st->whole[c] = (int64_t)((uint64_t)st->whole[c] + (uint64_t)x[c]);
        } else if (f->def->fold == WEFT_FOLD_PROD) {
            st->whole[c] = (int64_t)((uint64_t)st->whole[c] * (uint64_t)x[c]);
        } else if (st->n == 0 || beats_whole(x[c], st->whole[c], sign)) {
            st->whole[c] = x[c];
            st->index[c] = (int32_t)st->n;
        }
    }
}

void weft_column_fold_step(const weft_folder *f, weft_column_fold *st, const void *x) {
    if (f->domain == WEFT_IN_F32)
        step_f32(f, st, x);
    else if (f->domain == WEFT_IN_F64)
        step_f64(f, st, x);
    else
        step_whole(f, st, x);
    st->n++;
}

/* Rows of one lane are added together, so that sums pass through the cache once in ROWS rows. */
static void sum_block(const weft_folder *f, weft_column_fold *st, const float *x, ptrdiff_t step,
                      size_t rows) {
    for (size_t l = 0; l < LANES; l++) {
        double *sum = st->sum[(st->n + l) % LANES];
        f->k->sum_columns(x + (ptrdiff_t)l * step, LANES * step, rows, step, st->columns, sum);
    }
    st->n += LANES * rows;
}

void weft_column_fold_f32(const weft_folder *f, weft_column_fold *st, const float *x,
                          ptrdiff_t step, size_t n) {
    bool sums = f->def->fold == WEFT_FOLD_SUM;
    bool best = !adds_up(f) && !has_index(f);
    size_t i = 0;
    if (best && n > 0 && st->n == 0)
        weft_column_fold_step(f, st, x + (ptrdiff_t)i++ * step);
    while (i < n) {
        const float *row = x + (ptrdiff_t)i * step;
        size_t left = n - i, done = 1;
        if (sums && left >= LANES) {
            done = left / LANES < ROWS ? left / LANES * LANES : LANES * ROWS;
            sum_block(f, st, row, step, done / LANES);
        } else if (best) {
            done = left < LANES ? left : LANES;
            f->k->best_columns(row, step, done, (ptrdiff_t)done * step, st->columns,
                               (float)sign_of(f), st->best32);
            st->n += done;
        } else {
            weft_column_fold_step(f, st, row);
        }
        i += done;
    }
}

/* ---- Ends ---- */

static double tree_sum(double *lane) {
    for (size_t half = LANES / 2; half > 0; half /= 2)
        for (size_t l = 0; l < half; l++)
            lane[l] += lane[l + half];
    return lane[0];
}

static double tree_prod(double *lane) {
    for (size_t half = LANES / 2; half > 0; half /= 2)
        for (size_t l = 0; l < half; l++)
            lane[l] *= lane[l + half];
    return lane[0];
}

weft_partial weft_row_end(const weft_folder *f, weft_row_fold *st, int64_t first) {
    weft_partial p = {.n = st->n, .whole = st->whole, .index = first + st->index};
    if (f->domain == WEFT_IN_I64)
        return p;
    if (f->def->fold == WEFT_FOLD_SUM) {
        p.a = tree_sum(st->sum);
    } else if (f->def->fold == WEFT_FOLD_PROD) {
        p.a = tree_prod(st->sum);
    } else if (f->def->fold == WEFT_FOLD_VAR) {
        /* The first element is one of the data, so that its distance from the mean costs no more
         * digits than n has. */
        double total = tree_sum(st->sum), squares = tree_sum(st->square), n = (double)st->n;
        p.a = st->shift + total / n;
        p.b = squares - total * (total / n);
        p.b = p.b < 0 ? 0 : p.b;
    } else {
        p.a = st->best != st->best ? (double)NAN : st->best;
    }
    return p;
}

weft_partial weft_column_end(const weft_folder *f, const weft_column_fold *st, size_t column,
                             int64_t first) {
    weft_row_fold row = {.n = st->n, .whole = st->whole[column]};
    if (f->domain != WEFT_IN_I64 && (adds_up(f) || f->def->fold == WEFT_FOLD_VAR)) {
        for (size_t l = 0; l < LANES; l++) {
            row.sum[l] = st->sum[l][column];
            row.square[l] = f->def->fold == WEFT_FOLD_VAR ? st->square[l][column] : 0;
        }
        row.shift = f->def->fold == WEFT_FOLD_VAR ? st->shift[column] : 0;
    } else if (!adds_up(f)) {
        row.best = f->domain == WEFT_IN_F32   ? (double)st->best32[column]
                   : f->domain == WEFT_IN_F64 ? st->best[column]
                                              : 0;
        row.index = has_index(f) ? st->index[column] : 0;
    }
    return weft_row_end(f, &row, first);
}

/* Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
 * variances", 1979. */
static void add_moments(weft_partial *p, const weft_partial *q) {
    double n = (double)p->n, m = (double)q->n, d = q->a - p->a;
    p->a += d * (m / (n + m));
    p->b += q->b + d * d * (n * m / (n + m));
}

void weft_partial_add(const weft_folder *f, weft_partial *p, const weft_partial *q) {
    double sign = sign_of(f);
    switch (f->def->fold) {
    case WEFT_FOLD_SUM:
        p->a += q->a;
        p->whole = (int64_t)((uint64_t)p->whole + (uint64_t)q->whole);
        break;
    case WEFT_FOLD_PROD:
        p->a *= q->a;
        p->whole = (int64_t)((uint64_t)p->whole * (uint64_t)q->whole);
        break;
    case WEFT_FOLD_VAR:
        add_moments(p, q);
        break;
    default:
        if (f->domain == WEFT_IN_I64 ? beats_whole(q->whole, p->whole, sign)
                                     : beats(q->a, p->a, sign)) {
            p->a = q->a;
            p->whole = q->whole;
            p->index = q->index;
        }
    }
    p->n += q->n;
}
