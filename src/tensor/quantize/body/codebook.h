/* Searching codebooks: eight or four elements together become an entry of a grid (kernels/grids.h),
 * 16 or 32 share an odd scale of a few bits, 256 share an f16. Every entry is looked at, for a
 * number of scales; then the scales are fitted to the entries, and entries to the scales again. */
#ifndef WEFT_QUANTIZE_CODEBOOK_H
#define WEFT_QUANTIZE_CODEBOOK_H

#include "tensor/kernels/grids.h"
#include "tensor/quantize/body/fit.h"

#define BOOK_ENTRIES 2048
#define BOOK_SUBS 16  /* sub-blocks of a block, at most */
#define BOOK_GROUPS 8 /* groups of a sub-block, at most */

typedef struct book_form {
    const uint32_t *grid;
    int n, dim, bits; /* entries, elements of one, bits of an element's code */
    float level[8];   /* of the codes */
    bool has_signs;   /* levels are magnitudes, signs are kept apart */
    bool even;        /* eight signs have an even number of negatives */
    int sub;          /* elements of a sub-block */
    float most;       /* of a scale s, which stands for 2 s + 1 */
    float unit;       /* a value is d·unit·(2 s + 1)·level */
} book_form;

typedef struct book_fit { /* of a sub-block */
    float error, num, den;
    uint16_t entry[BOOK_GROUPS];
} book_fit;

typedef struct book_block {
    const book_form *form;
    float grid[BOOK_ENTRIES * 8]; /* [dim, n]: the entries' levels, `shift` added */
    float x[256];                 /* magnitudes, negative where a sign had to be wrong */
    uint8_t signs[32];            /* a bit an element: it is negative */
} book_block;

static void book_open(book_block *b, const book_form *form, float shift, const float *x,
                      const float *w) {
    b->form = form;
    for (int d = 0; d < form->dim; d++)
        for (int e = 0; e < form->n; e++) {
            unsigned code = form->grid[e] >> (8 * (d % 4) + 4 * (d / 4)) & 15;
            b->grid[d * form->n + e] = form->level[code] + shift;
        }
    memcpy(b->x, x, sizeof b->x);
    for (int k = 0; k < 32 && form->has_signs; k++) {
        int least = 0, odd = 0;
        b->signs[k] = 0;
        for (int i = 0; i < 8; i++) {
            float *v = &b->x[8 * k + i];
            if (*v < 0) {
                *v = -*v;
                b->signs[k] = (uint8_t)(b->signs[k] | 1 << i);
                odd ^= 1;
            }
            const float *o = &b->x[8 * k + least];
            if (w[8 * k + i] * *v * *v < w[8 * k + least] * *o * *o)
                least = i;
        }
        if (form->even && odd) { /* the cheapest one gets the wrong sign */
            b->signs[k] = (uint8_t)(b->signs[k] ^ 1 << least);
            b->x[8 * k + least] = -b->x[8 * k + least];
        }
    }
}

/* Lanes as compilers know them: the loops below were not vectorised when written out. A lane is an
 * entry, so that their number changes no result. */
#define BOOK_LANES 8
typedef float book_floats __attribute__((vector_size(BOOK_LANES * sizeof(float))));
typedef int32_t book_ints __attribute__((vector_size(BOOK_LANES * sizeof(int32_t))));

/* The entry that is nearest to x / a under the weights w; ties go to the lowest. */
FIT_INLINE uint16_t book_nearest(const float *grid, int n, int dim, const float *x, const float *w,
                                 float a) {
    float square[8], cross[8];
    for (int d = 0; d < dim; d++) {
        square[d] = w[d] * a * a;
        cross[d] = 2 * w[d] * a * x[d];
    }
    book_floats best, g;
    book_ints index = {0}, here;
    for (int k = 0; k < BOOK_LANES; k++) {
        best[k] = INFINITY;
        here[k] = k;
    }
    for (int e = 0; e < n; e += BOOK_LANES, here += BOOK_LANES) {
        book_floats f = {0};
        for (int d = 0; d < dim; d++) {
            memcpy(&g, grid + d * n + e, sizeof g);
            f += g * (square[d] * g - cross[d]);
        }
        book_ints better = f < best;
        best = (book_floats)(((book_ints)f & better) | ((book_ints)best & ~better));
        index = (here & better) | (index & ~better);
    }
    int at = 0;
    for (int k = 1; k < BOOK_LANES; k++)
        if (best[k] < best[at] || (best[k] == best[at] && index[k] < index[at]))
            at = k;
    return (uint16_t)index[at];
}

/* Adds a group's sums at one scale and entry. */
FIT_INLINE void book_add(const book_block *b, uint16_t entry, const float *x, const float *w,
                         float a, book_fit *f) {
    for (int d = 0; d < b->form->dim; d++) {
        float g = b->grid[d * b->form->n + entry], r = x[d] - a * g;
        f->error += w[d] * r * r;
        f->num += w[d] * x[d] * g;
        f->den += w[d] * g * g;
    }
}

FIT_INLINE book_fit book_at(const book_block *b, int n, int dim, const float *x, const float *w,
                            float a) {
    book_fit f = {0};
    for (int k = 0; k < b->form->sub / dim; k++) {
        f.entry[k] = book_nearest(b->grid, n, dim, x + dim * k, w + dim * k, a);
        book_add(b, f.entry[k], x + dim * k, w + dim * k, a, &f);
    }
    return f;
}

/* The best real scale of a sub-block: a grid, then least squares and entries in turn. */
FIT_INLINE book_fit book_search(const book_block *b, int n, int dim, const float *x, const float *w,
                                float *scale) {
    const book_form *form = b->form;
    float most = fit_largest(x, (size_t)form->sub), top = form->level[(1 << form->bits) - 1];
    book_fit best = book_at(b, n, dim, x, w, 0);
    if (form->bits == 2)
        top = form->level[2];
    *scale = 0;
    for (int k = 0; k < 12 && most > 0; k++) {
        /* Equal elements may need the lowest levels. */
        float share = k < 3 ? 0.2f * (float)(k + 1) : 0.8f + 0.125f * (float)(k - 3);
        float a = most / (top * share);
        book_fit f = book_at(b, n, dim, x, w, a);
        if (f.error < best.error) {
            best = f;
            *scale = a;
        }
    }
    for (int turn = 0; turn < 3 && best.den > 0; turn++) {
        float a = best.num / best.den;
        book_fit f = book_at(b, n, dim, x, w, a);
        if (!(f.error < best.error) || !(a > 0))
            break;
        best = f;
        *scale = a;
    }
    return best;
}

/* ---- The scales of a block ---- */

typedef struct book_scales {
    float d;
    float s[BOOK_SUBS];
    double error;
} book_scales;

/* For one d the best s of each sub-block with its entries as they are, and the d that suits them.
 * Errors are relative: what does not depend on the scales is left out. */
FIT_INLINE book_scales book_scales_at(const book_form *form, const book_fit *fits, int n_sub,
                                      float d, float *next) {
    book_scales r = {.d = d};
    double num = 0, den = 0;
    float inverse = fit_inverse(d * form->unit);
    for (int j = 0; j < n_sub; j++) {
        const book_fit *f = &fits[j];
        float ideal = f->den > 0 ? f->num / f->den : 0;
        float s = fit_round((ideal * inverse - 1) * 0.5f, 0, form->most);
        double a = (double)(2 * s + 1) * (double)form->unit;
        r.s[j] = s;
        r.error += (double)d * a * ((double)d * a * (double)f->den - 2 * (double)f->num);
        num += a * (double)f->num;
        den += a * a * (double)f->den;
    }
    *next = den > 0 ? fit_half((float)(num / den)) : d;
    return r;
}

FIT_INLINE book_scales book_fit_scales(const book_form *form, const book_fit *fits, int n_sub) {
    float most = 0, next;
    for (int j = 0; j < n_sub; j++) {
        float a = fits[j].den > 0 ? fits[j].num / fits[j].den : 0;
        most = a > most ? a : most;
    }
    book_scales best = {.error = INFINITY};
    for (int k = 0; k < 16; k++) {
        float top = (2 * form->most + 1) * (1.1f - 0.04f * (float)k);
        float d = fit_half(most / (form->unit * top));
        for (int turn = 0; turn < 4; turn++) {
            book_scales r = book_scales_at(form, fits, n_sub, d, &next);
            if (r.error < best.error)
                best = r;
            if (next == d || !(next > 0))
                break;
            d = next;
        }
    }
    return best;
}

/* Scales and entries of a block with one grid; entries are searched again at the final scales. */
FIT_INLINE book_scales book_quantize(const book_block *b, int n, int dim, const float *w,
                                     book_fit *fits) {
    const book_form *form = b->form;
    int n_sub = 256 / form->sub;
    float scale;
    for (int j = 0; j < n_sub; j++)
        fits[j] = book_search(b, n, dim, b->x + j * form->sub, w + j * form->sub, &scale);
    book_scales r = book_fit_scales(form, fits, n_sub);
    for (int turn = 0; turn < 2; turn++) {
        float next;
        for (int j = 0; j < n_sub; j++)
            fits[j] = book_at(b, n, dim, b->x + j * form->sub, w + j * form->sub,
                              r.d * form->unit * (2 * r.s[j] + 1));
        if (turn == 0)
            r = book_scales_at(form, fits, n_sub, r.d, &next);
    }
    return r;
}

#endif
