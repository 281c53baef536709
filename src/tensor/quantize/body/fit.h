/* What the searches of body/ share: how well a scale, or a scale and an offset, fit a run of
 * elements. Sums have 16 virtual lanes and a fixed tree, so that vector width cannot change them.
 * Included by one file for each instruction set. */
#ifndef WEFT_QUANTIZE_FIT_H
#define WEFT_QUANTIZE_FIT_H

#include <math.h>
#include <string.h>
#include "base/floats.h"
#include "tensor/quantize/quantize.h"

#define FIT_LANES 16
#define FIT_INLINE static inline __attribute__((always_inline))

/* Levels that a code can stand for: all integers low … high, or a table of n. */
typedef struct fit_levels {
    float low, high;
    int n; /* 0: integers */
    float level[16], middle[15];
} fit_levels;

FIT_INLINE float fit_sum(const float lane[FIT_LANES]) {
    float a[8];
    for (int i = 0; i < 8; i++)
        a[i] = lane[i] + lane[i + 8];
    return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
}

/* To the nearest integer within [low, high], ties to even; |low|, |high| < 2^22. */
FIT_INLINE float fit_round(float v, float low, float high) {
    v = v < low ? low : v;
    v = v > high ? high : v;
    return (v + 12582912.0f) - 12582912.0f;
}

FIT_INLINE float fit_nearest(const fit_levels *l, int n, float v) {
    if (n == 0)
        return fit_round(v, l->low, l->high);
    float r = l->level[0];
    for (int k = 0; k < n - 1; k++)
        r = v > l->middle[k] ? l->level[k + 1] : r;
    return r;
}

/* 1 / a; 0 where that is no finite number. */
FIT_INLINE float fit_inverse(float a) {
    return fabsf(a) > 1e-30f ? 1 / a : 0;
}

/* A scale that a file's f16 can hold. */
FIT_INLINE float fit_half(float a) {
    a = a > 65504 ? 65504 : a < -65504 ? -65504 : a;
    return weft_f16_to_f32(weft_f32_to_f16(a));
}

FIT_INLINE void fit_put_half(float a, uint8_t *out) {
    uint16_t h = weft_f32_to_f16(a);
    out[0] = (uint8_t)h;
    out[1] = (uint8_t)(h >> 8);
}

FIT_INLINE float fit_largest(const float *x, size_t n) {
    float most = 0;
    for (size_t i = 0; i < n; i++)
        most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
    return most;
}

/* ---- A scale: y = a·level ---- */

typedef struct fit_scale {
    float a;
    float error;    /* Σ w (x - a·level)² */
    float num, den; /* Σ w·x·level, Σ w·level²: num / den is the best scale for these levels */
} fit_scale;

/* Levels nearest to x / a. n is a multiple of 16; n_levels is l->n, as a constant. */
FIT_INLINE fit_scale fit_scale_at(const fit_levels *l, int n_levels, const float *x, const float *w,
                                  size_t n, float a) {
    float inverse = fit_inverse(a);
    float e[FIT_LANES] = {0}, num[FIT_LANES] = {0}, den[FIT_LANES] = {0};
    for (size_t i = 0; i < n; i += FIT_LANES)
        for (size_t k = 0; k < FIT_LANES; k++) {
            float v = x[i + k], level = fit_nearest(l, n_levels, v * inverse);
            float r = v - a * level, wl = w[i + k] * level;
            e[k] += w[i + k] * r * r;
            num[k] += wl * v;
            den[k] += wl * level;
        }
    return (fit_scale){a, fit_sum(e), fit_sum(num), fit_sum(den)};
}

/* The error when the scale moves to the best one for the same levels. */
FIT_INLINE float fit_scale_promise(const fit_scale *f) {
    if (!(f->den > 0))
        return f->error;
    float g = f->num - f->a * f->den;
    return f->error - g * g / f->den;
}

/* Where a search looks: the largest element at level from, from + step, … (count of them). */
typedef struct fit_range {
    float from, step;
    int count;
    bool both_signs; /* of the scale: levels are not symmetric */
} fit_range;

/* The best scale as a real number: a grid, then least squares and levels in turn. */
FIT_INLINE fit_scale fit_scale_search(const fit_levels *l, int n_levels, const fit_range *range,
                                      const float *x, const float *w, size_t n) {
    float most = fit_largest(x, n), best_promise = 0;
    fit_scale best = fit_scale_at(l, n_levels, x, w, n, 0);
    best_promise = best.error;
    for (int k = 0; k < range->count && most > 0; k++) {
        float a = most / (range->from + range->step * (float)k);
        for (int sign = 0; sign < (range->both_signs ? 2 : 1); sign++, a = -a) {
            fit_scale f = fit_scale_at(l, n_levels, x, w, n, a);
            float promise = fit_scale_promise(&f);
            if (promise < best_promise) {
                best_promise = promise;
                best = f;
            }
        }
    }
    for (int turn = 0; turn < 8 && best.den > 0; turn++) {
        fit_scale f = fit_scale_at(l, n_levels, x, w, n, best.num / best.den);
        if (!(f.error < best.error))
            break;
        best = f;
    }
    return best;
}

/* ---- A scale and an offset: y = a·q + b, q in 0 … top ---- */

typedef struct fit_line {
    float a, b;
    float error;
    float wq, wqq, wqx; /* Σ w·q, Σ w·q², Σ w·q·x */
} fit_line;

typedef struct fit_sums { /* of the elements alone */
    float w, wx;
} fit_sums;

FIT_INLINE fit_sums fit_sums_of(const float *x, const float *w, size_t n) {
    float sw[FIT_LANES] = {0}, swx[FIT_LANES] = {0};
    for (size_t i = 0; i < n; i += FIT_LANES)
        for (size_t k = 0; k < FIT_LANES; k++) {
            sw[k] += w[i + k];
            swx[k] += w[i + k] * x[i + k];
        }
    return (fit_sums){fit_sum(sw), fit_sum(swx)};
}

FIT_INLINE fit_line fit_line_at(float top, const float *x, const float *w, size_t n, float a,
                                float b) {
    float inverse = fit_inverse(a);
    float e[FIT_LANES] = {0}, wq[FIT_LANES] = {0}, wqq[FIT_LANES] = {0}, wqx[FIT_LANES] = {0};
    for (size_t i = 0; i < n; i += FIT_LANES)
        for (size_t k = 0; k < FIT_LANES; k++) {
            float v = x[i + k], q = fit_round((v - b) * inverse, 0, top);
            float r = v - (a * q + b), p = w[i + k] * q;
            e[k] += w[i + k] * r * r;
            wq[k] += p;
            wqq[k] += p * q;
            wqx[k] += p * v;
        }
    return (fit_line){a, b, fit_sum(e), fit_sum(wq), fit_sum(wqq), fit_sum(wqx)};
}

/* The line that fits best with the same q; `below`: its offset must not be positive. Gives the
 * error there. */
FIT_INLINE double fit_line_promise(const fit_line *f, fit_sums s, bool below, float *a, float *b) {
    double wq = (double)f->wq, wqq = (double)f->wqq, wqx = (double)f->wqx, sw = (double)s.w;
    double det = wqq * sw - wq * wq, wx = (double)s.wx;
    double na = (double)f->a, nb = (double)f->b;
    if (det > 1e-12 * wqq * sw) {
        na = (wqx * sw - wx * wq) / det;
        nb = (wqq * wx - wq * wqx) / det;
    }
    if (below && nb > 0 && wqq > 0) {
        nb = 0;
        na = wqx / wqq;
    }
    double da = na - (double)f->a, db = nb - (double)f->b;
    double ga = wqx - (double)f->a * wqq - (double)f->b * wq;
    double gb = wx - (double)f->a * wq - (double)f->b * sw;
    *a = (float)na;
    *b = (float)nb;
    return (double)f->error - 2 * (ga * da + gb * db) + wqq * da * da + 2 * wq * da * db +
           sw * db * db;
}

/* The best line as real numbers. Grid: the elements' range at top + from, top + from + step, … */
FIT_INLINE fit_line fit_line_search(float top, const fit_range *range, bool below, fit_sums s,
                                    const float *x, const float *w, size_t n) {
    float low = x[0], high = x[0], a, b;
    for (size_t i = 1; i < n; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    if (below && low > 0)
        low = 0;
    fit_line best = fit_line_at(top, x, w, n, (high - low) / top, low);
    double least = fit_line_promise(&best, s, below, &a, &b);
    for (int k = 0; k < range->count && high > low; k++) {
        float scale = (high - low) / (top + range->from + range->step * (float)k);
        /* What does not fit is cut off above, or half of it on each side. */
        float rest = 0.5f * ((high - low) - scale * top);
        for (int side = 0; side < 2; side++) {
            float offset = side ? low + rest : low;
            if (below && offset > 0)
                continue;
            fit_line f = fit_line_at(top, x, w, n, scale, offset);
            double promise = fit_line_promise(&f, s, below, &a, &b);
            if (promise < least) {
                least = promise;
                best = f;
            }
        }
    }
    for (int turn = 0; turn < 6; turn++) {
        fit_line_promise(&best, s, below, &a, &b);
        fit_line f = fit_line_at(top, x, w, n, a, b);
        if (!(f.error < best.error))
            break;
        best = f;
    }
    return best;
}

#endif
