/* Super-blocks of 256 whose sub-blocks have integer scales and minima: Q2_K (sub-blocks of 16),
 * Q4_K and Q5_K (of 32). A value is d·sc·q - dmin·m. */
#ifndef WEFT_QUANTIZE_OFFSET_K_H
#define WEFT_QUANTIZE_OFFSET_K_H

#include "tensor/quantize/body/scaled.h"

typedef struct offset_k_form {
    float top; /* of a quant */
    fit_range range;
    int n_sub, sub;
    float most; /* of integer scales and minima */
} offset_k_form;

typedef struct offset_k {
    float d, dmin;
    float sc[16], m[16];
    double error;
} offset_k;

typedef struct offset_k_ideal { /* of the sub-blocks, as real numbers */
    float a[16], b[16];
    fit_sums sums[16];
} offset_k_ideal;

/* Sums for the d and dmin that fit best with the same integers. */
typedef struct offset_k_system {
    double dd, dm, mm, dx, mx;
} offset_k_system;

/* The best integers of one sub-block: each scale near the ideal with the minimum that suits it. */
FIT_INLINE fit_line offset_k_sub(const offset_k_form *form, const float *x, const float *w,
                                 fit_sums s, float a, float b, const offset_k *r, float *sc_out,
                                 float *m_out) {
    float middle = fit_round(a * fit_inverse(r->d), 0, form->most), dmin = r->dmin;
    float m_first = fit_round(-b * fit_inverse(dmin), 0, form->most);
    fit_line best = {.error = INFINITY};
    for (int k = -1; k <= 1; k++) {
        float sc = middle + (float)k, m = m_first;
        if (sc < 0 || sc > form->most)
            continue;
        for (int turn = 0; turn < 3; turn++) {
            fit_line f = fit_line_at(form->top, x, w, (size_t)form->sub, r->d * sc, -(dmin * m));
            if (f.error < best.error) {
                best = f;
                *sc_out = sc;
                *m_out = m;
            }
            float next = (r->d * sc * f.wq - s.wx) * fit_inverse(s.w * dmin);
            next = fit_round(next, 0, form->most);
            if (next == m)
                break;
            m = next;
        }
    }
    return best;
}

FIT_INLINE offset_k offset_k_sweep(const offset_k_form *form, const float *x, const float *w,
                                   const offset_k_ideal *ideal, float d, float dmin,
                                   offset_k_system *e) {
    offset_k r = {.d = d, .dmin = dmin};
    *e = (offset_k_system){0};
    for (int j = 0; j < form->n_sub; j++) {
        fit_sums s = ideal->sums[j];
        fit_line f = offset_k_sub(form, x + j * form->sub, w + j * form->sub, s, ideal->a[j],
                                  ideal->b[j], &r, &r.sc[j], &r.m[j]);
        double sc = (double)r.sc[j], m = (double)r.m[j];
        r.error += (double)f.error;
        e->dd += sc * sc * (double)f.wqq;
        e->dm -= sc * m * (double)f.wq;
        e->mm += m * m * (double)s.w;
        e->dx += sc * (double)f.wqx;
        e->mx -= m * (double)s.wx;
    }
    return r;
}

/* False: d and dmin stay. */
FIT_INLINE bool offset_k_solve(const offset_k_system *e, float *d, float *dmin) {
    double det = e->dd * e->mm - e->dm * e->dm;
    double nd = e->dd > 0 ? e->dx / e->dd : 0, nm = (double)*dmin;
    if (det > 1e-10 * e->dd * e->mm) {
        nd = (e->dx * e->mm - e->mx * e->dm) / det;
        nm = (e->dd * e->mx - e->dm * e->dx) / det;
    }
    if (!(nd > 0) || nm < 0)
        return false;
    float a = fit_half((float)nd), b = fit_half((float)nm);
    bool moved = a != *d || b != *dmin;
    *d = a;
    *dmin = b;
    return moved;
}

FIT_INLINE offset_k offset_k_search(const offset_k_form *form, const float *x, const float *w) {
    static const float shares[] = {1, 0.97f, 0.92f};
    offset_k_ideal ideal;
    offset_k best = {.error = INFINITY};
    float most_a = 0, most_b = 0;
    for (int j = 0; j < form->n_sub; j++) {
        const float *xs = x + j * form->sub, *ws = w + j * form->sub;
        ideal.sums[j] = fit_sums_of(xs, ws, (size_t)form->sub);
        fit_line f = fit_line_search(form->top, &form->range, true, ideal.sums[j], xs, ws,
                                     (size_t)form->sub);
        ideal.a[j] = f.a > 0 ? f.a : 0;
        ideal.b[j] = f.b < 0 ? f.b : 0;
        most_a = ideal.a[j] > most_a ? ideal.a[j] : most_a;
        most_b = -ideal.b[j] > most_b ? -ideal.b[j] : most_b;
    }
    for (int k = 0; k < 3; k++) {
        float d = fit_half(most_a / (form->most * shares[k]));
        float dmin = fit_half(most_b / (form->most * shares[k]));
        double before = INFINITY;
        for (int turn = 0; turn < 5; turn++) {
            offset_k_system e;
            offset_k r = offset_k_sweep(form, x, w, &ideal, d, dmin, &e);
            if (r.error < best.error)
                best = r;
            if (!(r.error < before) || !offset_k_solve(&e, &d, &dmin))
                break;
            before = r.error;
        }
    }
    return best;
}

FIT_INLINE void offset_k_codes(const offset_k *r, int sub, float top, const float *x,
                               uint8_t q[256]) {
    for (int i = 0; i < 256; i++) {
        int j = i / sub;
        float inverse = fit_inverse(r->d * r->sc[j]);
        q[i] = (uint8_t)fit_round((x[i] + r->dmin * r->m[j]) * inverse, 0, top);
    }
}

static void quantize_q2_k(const float *x, const float *w, uint8_t *out) {
    static const offset_k_form form = {3, {-0.6f, 0.1f, 20, false}, 16, 16, 15};
    offset_k r = offset_k_search(&form, x, w);
    uint8_t q[256];
    offset_k_codes(&r, 16, 3, x, q);
    for (int j = 0; j < 16; j++)
        out[j] = (uint8_t)((int)r.sc[j] | (int)r.m[j] << 4);
    put_pairs(q, out + 16);
    fit_put_half(r.d, out + 80);
    fit_put_half(r.dmin, out + 82);
}

/* d, dmin, and the 6-bit scales and minima of Q4_K and Q5_K in 12 bytes. */
FIT_INLINE void put_scales_and_minima(const offset_k *r, uint8_t *out) {
    uint8_t *s = out + 4;
    fit_put_half(r->d, out);
    fit_put_half(r->dmin, out + 2);
    for (int j = 0; j < 4; j++) {
        int sc = (int)r->sc[j + 4], m = (int)r->m[j + 4];
        s[j] = (uint8_t)((int)r->sc[j] | (sc >> 4) << 6);
        s[j + 4] = (uint8_t)((int)r->m[j] | (m >> 4) << 6);
        s[j + 8] = (uint8_t)((sc & 15) | (m & 15) << 4);
    }
}

/* Nibbles of 256 codes: a byte has columns 32 apart. */
FIT_INLINE void put_nibbles_k(const uint8_t *q, uint8_t *out) {
    for (int i = 0; i < 128; i++) {
        const uint8_t *p = q + i / 32 * 64 + i % 32;
        out[i] = (uint8_t)((p[0] & 15) | (p[32] & 15) << 4);
    }
}

static void quantize_q4_k(const float *x, const float *w, uint8_t *out) {
    static const offset_k_form form = {15, {-1, 0.2f, 15, false}, 8, 32, 63};
    offset_k r = offset_k_search(&form, x, w);
    uint8_t q[256];
    offset_k_codes(&r, 32, 15, x, q);
    put_scales_and_minima(&r, out);
    put_nibbles_k(q, out + 16);
}

static void quantize_q5_k(const float *x, const float *w, uint8_t *out) {
    static const offset_k_form form = {31, {-1, 0.25f, 15, false}, 8, 32, 63};
    offset_k r = offset_k_search(&form, x, w);
    uint8_t q[256];
    offset_k_codes(&r, 32, 31, x, q);
    put_scales_and_minima(&r, out);
    memset(out + 16, 0, 32);
    for (int i = 0; i < 256; i++)
        out[16 + i % 32] = (uint8_t)(out[16 + i % 32] | (q[i] >> 4) << (i / 32));
    put_nibbles_k(q, out + 48);
}

#endif
