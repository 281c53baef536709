/* Super-blocks of 256 whose sub-blocks have integer scales: Q3_K, Q6_K (sub-blocks of 16) and
 * IQ4_XS (of 32). A value is d·sc·level. */
#ifndef WEFT_QUANTIZE_SCALED_K_H
#define WEFT_QUANTIZE_SCALED_K_H

#include "tensor/quantize/body/scaled.h"

typedef struct scaled_k_form {
    fit_levels levels;
    fit_range range;   /* of a sub-block's search */
    int n_sub, sub;    /* sub-blocks and their elements */
    float least, most; /* of the integer scales */
} scaled_k_form;

typedef struct scaled_k {
    float d;
    float sc[16];
    double error;
} scaled_k;

/* The best integer scales for one d, and the best d for them in *next. */
FIT_INLINE scaled_k scaled_k_sweep(const scaled_k_form *form, int n_levels, const float *x,
                                   const float *w, const float *ideal, float d, float *next) {
    scaled_k r = {.d = d};
    double num = 0, den = 0;
    float inverse = fit_inverse(d);
    for (int j = 0; j < form->n_sub; j++) {
        const float *xs = x + j * form->sub, *ws = w + j * form->sub;
        float middle = fit_round(ideal[j] * inverse, form->least, form->most);
        fit_scale best = {.error = INFINITY};
        for (int k = -1; k <= 1; k++) {
            float sc = middle + (float)k;
            if (sc < form->least || sc > form->most)
                continue;
            fit_scale f = fit_scale_at(&form->levels, n_levels, xs, ws, (size_t)form->sub, d * sc);
            if (f.error < best.error) {
                best = f;
                r.sc[j] = sc;
            }
        }
        r.error += (double)best.error;
        num += (double)best.num * (double)r.sc[j];
        den += (double)best.den * (double)r.sc[j] * (double)r.sc[j];
    }
    *next = den > 0 ? fit_half((float)(num / den)) : d;
    return r;
}

/* Several starts for d; from each, integer scales and d in turn. */
FIT_INLINE scaled_k scaled_k_search(const scaled_k_form *form, int n_levels, const float *x,
                                    const float *w, const float *starts, int n_starts) {
    float ideal[16], largest = 0;
    scaled_k best = {.error = INFINITY};
    for (int j = 0; j < form->n_sub; j++) {
        ideal[j] = fit_scale_search(&form->levels, n_levels, &form->range, x + j * form->sub,
                                    w + j * form->sub, (size_t)form->sub)
                       .a;
        largest = fabsf(ideal[j]) > fabsf(largest) ? ideal[j] : largest;
    }
    for (int k = 0; k < n_starts; k++) {
        float d = fit_half(largest / starts[k]), next;
        double before = INFINITY;
        for (int turn = 0; turn < 5; turn++) {
            scaled_k r = scaled_k_sweep(form, n_levels, x, w, ideal, d, &next);
            if (r.error < best.error)
                best = r;
            if (!(r.error < before) || next == d)
                break;
            before = r.error;
            d = next;
        }
    }
    return best;
}

/* Integer codes, from 0 up, of all elements. */
FIT_INLINE void scaled_k_codes(const scaled_k *r, int sub, float low, float high, const float *x,
                               uint8_t q[256]) {
    for (int i = 0; i < 256; i++) {
        float inverse = fit_inverse(r->d * r->sc[i / sub]);
        q[i] = (uint8_t)(fit_round(x[i] * inverse, low, high) - low);
    }
}

static void quantize_q3_k(const float *x, const float *w, uint8_t *out) {
    static const scaled_k_form form = {
        {.low = -4, .high = 3}, {2.5f, 0.2f, 16, true}, 16, 16, -32, 31};
    static const float starts[] = {-32, 31, -30, 29, -27};
    scaled_k r = scaled_k_search(&form, 0, x, w, starts, 5);
    uint8_t q[256], *s = out + 96;
    scaled_k_codes(&r, 16, -4, 3, x, q);
    memset(out, 0, 110);
    for (int i = 0; i < 256; i++)
        out[i % 32] = (uint8_t)(out[i % 32] | (q[i] >> 2) << (i / 32));
    put_pairs(q, out + 32);
    for (int j = 0; j < 16; j++) {
        int v = (int)r.sc[j] + 32;
        s[j % 8] = (uint8_t)(s[j % 8] | (v & 15) << (j / 8 * 4));
        s[8 + j % 4] = (uint8_t)(s[8 + j % 4] | (v >> 4) << (j / 4 * 2));
    }
    fit_put_half(r.d, out + 108);
}

static void quantize_q6_k(const float *x, const float *w, uint8_t *out) {
    static const scaled_k_form form = {
        {.low = -32, .high = 31}, {29.5f, 0.3f, 13, true}, 16, 16, -128, 127};
    static const float starts[] = {-128, 127, -120};
    scaled_k r = scaled_k_search(&form, 0, x, w, starts, 3);
    uint8_t q[256];
    scaled_k_codes(&r, 16, -32, 31, x, q);
    memset(out, 0, 192);
    for (int i = 0; i < 256; i++) {
        int sub = i / 32, ql = 64 * (sub / 4) + 32 * (sub % 2) + i % 32;
        int qh = 128 + 32 * (sub / 4) + i % 32;
        out[ql] = (uint8_t)(out[ql] | (q[i] & 15) << (sub % 4 < 2 ? 0 : 4));
        out[qh] = (uint8_t)(out[qh] | (q[i] >> 4) << (2 * (sub % 4)));
    }
    for (int j = 0; j < 16; j++)
        out[192 + j] = (uint8_t)(int8_t)r.sc[j];
    fit_put_half(r.d, out + 208);
}

static void quantize_iq4_xs(const float *x, const float *w, uint8_t *out) {
    static const float starts[] = {-32, 31, -30, 29};
    scaled_k_form form = {levels_iq4, range_iq4, 8, 32, -32, 31};
    scaled_k r = scaled_k_search(&form, 16, x, w, starts, 4);
    unsigned high = 0;
    fit_put_half(r.d, out);
    memset(out + 4, 0, 4);
    for (int j = 0; j < 8; j++) {
        uint8_t q[32];
        unsigned v = (unsigned)((int)r.sc[j] + 32);
        nearest_codes(&levels_iq4, 16, x + 32 * j, fit_inverse(r.d * r.sc[j]), 32, q);
        put_nibbles(q, out + 8 + 16 * j);
        out[4 + j / 2] = (uint8_t)(out[4 + j / 2] | (v & 15) << (j % 2 * 4));
        high |= (v >> 4) << (2 * j);
    }
    out[2] = (uint8_t)high;
    out[3] = (uint8_t)(high >> 8);
}

#endif
