/* Folds of reductions, one output at a time. f32 and integers go through kernels; the rest is plain
 * code. */
#include "tensor/fold.h"
#include "tensor/convert.h"
#include "tensor/kernels/ref/math64.h"

#include <math.h>
#include <string.h>

#define LANES WEFT_FOLD_LANES
#define PIECE 2048

bool weft_fold_adds_up(const weft_folder *f) {
    return f->def->fold == WEFT_FOLD_SUM || f->def->fold == WEFT_FOLD_PROD;
}
bool weft_fold_has_index(const weft_folder *f) {
    return f->def->fold == WEFT_FOLD_ARGMAX || f->def->fold == WEFT_FOLD_ARGMIN;
}
double weft_fold_sign(const weft_folder *f) {
    return f->def->fold == WEFT_FOLD_MIN || f->def->fold == WEFT_FOLD_ARGMIN ? -1 : 1;
}

bool weft_fold_is_whole(const weft_folder *f, weft_whole_fold *kind) {
    *kind = f->def->fold == WEFT_FOLD_SUM   ? WEFT_WHOLE_SUM
            : f->def->fold == WEFT_FOLD_MAX ? WEFT_WHOLE_MAX
            : f->def->fold == WEFT_FOLD_MIN ? WEFT_WHOLE_MIN
                                            : WEFT_WHOLE_FOLDS;
    return f->domain == WEFT_IN_I64 && *kind != WEFT_WHOLE_FOLDS;
}

/* ---- Elements into the domain ---- */

static void premap(const weft_reduce_def *def, double *x, size_t n) {
    switch (def->premap) {
    case WEFT_PREMAP_NONE:
        break;
    case WEFT_PREMAP_ABS:
        for (size_t i = 0; i < n; i++)
            x[i] = fabs(x[i]);
        break;
    case WEFT_PREMAP_SQUARE:
        for (size_t i = 0; i < n; i++)
            x[i] *= x[i];
        break;
    case WEFT_PREMAP_NOT_ZERO:
        for (size_t i = 0; i < n; i++)
            x[i] = x[i] != 0;
        break;
    case WEFT_PREMAP_POWER:
        for (size_t i = 0; i < n; i++)
            x[i] = weft_pow64(fabs(x[i]), def->p);
        break;
    }
}

const void *weft_fold_widen(const weft_folder *f, const void *x, size_t n, void *wide) {
    if (f->domain != WEFT_IN_F64)
        return weft_to_domain(f->k, f->dtype, x, n, wide);
    if (f->dtype == WEFT_F64 && f->def->premap == WEFT_PREMAP_NONE)
        return x;
    if (f->dtype == WEFT_F64) {
        memcpy(wide, x, n * sizeof(double));
    } else {
        float half[WEFT_FOLD_RUN];
        const float *v = weft_as_f32(f->k, f->dtype, x, n, half);
        double *w = wide;
        for (size_t i = 0; i < n; i++)
            w[i] = (double)v[i];
    }
    premap(f->def, wide, n);
    return wide;
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
    size_t i = 0;
    for (; i < n && (st->n + i) % LANES != 0; i++)
        st->sum[(st->n + i) % LANES] += x[i];
    for (; i + LANES <= n; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            st->sum[l] += x[i + l];
    for (size_t l = 0; i + l < n; l++)
        st->sum[l] += x[i + l];
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

static void fold_var_f32(const weft_folder *f, weft_row_fold *st, const float *x, size_t n) {
    size_t phase = st->n % LANES, head = phase == 0 ? 0 : LANES - phase;
    st->shift = st->n == 0 ? (double)x[0] : st->shift;
    head = head < n ? head : n;
    for (size_t i = 0; i < head; i++) {
        double d = (double)x[i] - st->shift;
        st->sum[phase + i] += d;
        st->square[phase + i] += d * d;
    }
    f->k->moments_row(x + head, n - head, st->shift, st->sum, st->square);
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
    double sign = weft_fold_sign(f);
    for (size_t at = 0; at < n; at += PIECE) {
        size_t m = n - at < PIECE ? n - at : PIECE;
        float best = f->k->best_row(x + at, m, (float)sign);
        if (st->n + at != 0 && !weft_fold_beats((double)best, st->best, sign))
            continue;
        st->best = (double)best;
        if (weft_fold_has_index(f))
            st->index = (int64_t)(st->n + at + place_of(x + at, best));
    }
}

static void fold_best_f64(const weft_folder *f, weft_row_fold *st, const double *x, size_t n) {
    double sign = weft_fold_sign(f);
    for (size_t i = 0; i < n; i++)
        if (st->n + i == 0 || weft_fold_beats(x[i], st->best, sign)) {
            st->best = x[i];
            st->index = (int64_t)(st->n + i);
        }
}

static void fold_whole(const weft_folder *f, weft_row_fold *st, const int64_t *x, size_t n) {
    double sign = weft_fold_sign(f);
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
            if (st->n + i == 0 || weft_fold_beats_whole(x[i], st->whole, sign)) {
                st->whole = x[i];
                st->index = (int64_t)(st->n + i);
            }
    }
}

void weft_row_fold_whole(const weft_folder *f, weft_row_fold *st, weft_whole_fold kind,
                         const void *x, size_t n) {
    if (st->n == 0 && kind != WEFT_WHOLE_SUM)
        st->whole = kind == WEFT_WHOLE_MAX ? INT64_MIN : INT64_MAX;
    st->whole = f->k->whole_row(weft_map_domain(f->dtype), kind, x, n, st->whole);
    st->n += n;
}

void weft_row_fold_run(const weft_folder *f, weft_row_fold *st, const void *x, size_t n) {
    bool narrow = f->domain == WEFT_IN_F32;
    if (f->domain == WEFT_IN_I64)
        fold_whole(f, st, x, n);
    else if (f->def->fold == WEFT_FOLD_VAR && narrow)
        fold_var_f32(f, st, x, n);
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

/* Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
 * variances", 1979. */
static void add_moments(weft_partial *p, const weft_partial *q) {
    double n = (double)p->n, m = (double)q->n, d = q->a - p->a;
    p->a += d * (m / (n + m));
    p->b += q->b + d * d * (n * m / (n + m));
}

void weft_partial_add(const weft_folder *f, weft_partial *p, const weft_partial *q) {
    double sign = weft_fold_sign(f);
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
        if (f->domain == WEFT_IN_I64 ? weft_fold_beats_whole(q->whole, p->whole, sign)
                                     : weft_fold_beats(q->a, p->a, sign)) {
            p->a = q->a;
            p->whole = q->whole;
            p->index = q->index;
        }
    }
    p->n += q->n;
}
