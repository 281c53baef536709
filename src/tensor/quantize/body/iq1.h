/* The IQ types of one and a half bits: -1, 0, 1 from a codebook, all of a group shifted by an
 * eighth up or down. IQ1_S shifts 32 elements together, IQ1_M each eight. */
#ifndef WEFT_QUANTIZE_IQ1_H
#define WEFT_QUANTIZE_IQ1_H

#include "tensor/quantize/body/codebook.h"
#include "tensor/quantize/body/iq.h"

#define IQ1_SHIFT 0.125f
#define IQ1_ENTRIES 2048

typedef struct iq1_block {
    book_block up, down; /* the same elements under both shifts */
} iq1_block;

/* A sub-block at one scale: the better shift of each `together` groups; bit k: group k is down. */
FIT_INLINE book_fit iq1_at(const iq1_block *b, int together, const float *x, const float *w,
                           float a, unsigned *down) {
    book_fit best = {0};
    int n_groups = b->up.form->sub / 8;
    *down = 0;
    for (int first = 0; first < n_groups; first += together) {
        book_fit fits[2];
        memset(fits, 0, sizeof fits);
        for (int shift = 0; shift < 2; shift++)
            for (int k = first; k < first + together; k++) {
                const book_block *book = shift ? &b->down : &b->up;
                uint16_t entry = book_nearest(book->grid, IQ1_ENTRIES, 8, x + 8 * k, w + 8 * k, a);
                fits[shift].entry[k] = entry;
                book_add(book, entry, x + 8 * k, w + 8 * k, a, &fits[shift]);
            }
        int chosen = fits[1].error < fits[0].error;
        for (int k = first; k < first + together; k++) {
            best.entry[k] = fits[chosen].entry[k];
            *down |= (unsigned)chosen << k;
        }
        best.error += fits[chosen].error;
        best.num += fits[chosen].num;
        best.den += fits[chosen].den;
    }
    return best;
}

FIT_INLINE book_scales iq1_quantize(const iq1_block *b, int together, const float *x,
                                    const float *w, book_fit *fits, unsigned *down) {
    const book_form *form = b->up.form;
    int n_sub = 256 / form->sub;
    for (int j = 0; j < n_sub; j++) {
        const float *xs = x + j * form->sub, *ws = w + j * form->sub;
        float most = fit_largest(xs, (size_t)form->sub);
        fits[j] = iq1_at(b, together, xs, ws, 0, &down[j]);
        for (int k = 0; k < 6 && most > 0; k++) {
            unsigned shifts;
            book_fit f = iq1_at(b, together, xs, ws, most / (1 + 0.3f * (float)k), &shifts);
            if (f.error < fits[j].error) {
                fits[j] = f;
                down[j] = shifts;
            }
        }
        for (int turn = 0; turn < 2 && fits[j].den > 0 && fits[j].num > 0; turn++) {
            unsigned shifts;
            book_fit f = iq1_at(b, together, xs, ws, fits[j].num / fits[j].den, &shifts);
            if (!(f.error < fits[j].error))
                break;
            fits[j] = f;
            down[j] = shifts;
        }
    }
    book_scales r = book_fit_scales(form, fits, n_sub);
    for (int turn = 0; turn < 2; turn++) {
        float next;
        for (int j = 0; j < n_sub; j++)
            fits[j] = iq1_at(b, together, x + j * form->sub, w + j * form->sub,
                             r.d * (2 * r.s[j] + 1), &down[j]);
        if (turn == 0)
            r = book_scales_at(form, fits, n_sub, r.d, &next);
    }
    return r;
}

static void quantize_iq1_s(const float *x, const float *w, uint8_t *out) {
    static const book_form form = {weft_grid_iq1, IQ1_ENTRIES, 8,  2, {-1, 0, 1, 1},
                                   false,         false,       32, 7, 1};
    iq1_block b;
    book_fit fits[BOOK_SUBS];
    unsigned down[BOOK_SUBS];
    book_open(&b.up, &form, IQ1_SHIFT, x, w);
    book_open(&b.down, &form, -IQ1_SHIFT, x, w);
    book_scales r = iq1_quantize(&b, 4, x, w, fits, down);
    fit_put_half(r.d, out);
    for (int j = 0; j < 8; j++) {
        unsigned rest = (unsigned)r.s[j] << 12 | (down[j] & 1) << 15;
        for (int k = 0; k < 4; k++) {
            out[2 + 4 * j + k] = (uint8_t)fits[j].entry[k];
            rest |= (unsigned)(fits[j].entry[k] >> 8) << (3 * k);
        }
        put_u16(out + 34 + 2 * j, rest);
    }
}

static void quantize_iq1_m(const float *x, const float *w, uint8_t *out) {
    static const book_form form = {weft_grid_iq1, IQ1_ENTRIES, 8,  2, {-1, 0, 1, 1},
                                   false,         false,       16, 7, 1};
    iq1_block b;
    book_fit fits[BOOK_SUBS];
    unsigned down[BOOK_SUBS], words[4] = {0};
    book_open(&b.up, &form, IQ1_SHIFT, x, w);
    book_open(&b.down, &form, -IQ1_SHIFT, x, w);
    book_scales r = iq1_quantize(&b, 1, x, w, fits, down);
    memset(out + 32, 0, 16);
    for (int k = 0; k < 32; k++) {
        unsigned entry = fits[k / 2].entry[k % 2], is_down = down[k / 2] >> (k % 2) & 1;
        out[k] = (uint8_t)entry;
        out[32 + k / 2] = (uint8_t)(out[32 + k / 2] | (entry >> 8 | is_down << 3) << (k % 2 * 4));
    }
    for (int j = 0; j < 16; j++)
        words[j / 4] |= (unsigned)r.s[j] << (3 * (j % 4));
    unsigned d = weft_f32_to_f16(r.d);
    for (int k = 0; k < 4; k++)
        put_u16(out + 48 + 2 * k, words[k] | (d >> (4 * k) & 15) << 12);
}

#endif
