/* The IQ types of two and three bits: signs apart, magnitudes from a codebook. */
#ifndef WEFT_QUANTIZE_IQ_H
#define WEFT_QUANTIZE_IQ_H

#include "tensor/quantize/body/codebook.h"

#define IQ2_LEVELS                                                                                 \
    { 8, 25, 43, 43 }

FIT_INLINE void put_u16(uint8_t *out, unsigned v) {
    out[0] = (uint8_t)v;
    out[1] = (uint8_t)(v >> 8);
}

FIT_INLINE void put_u32(uint8_t *out, uint32_t v) {
    put_u16(out, v & 0xffff);
    put_u16(out + 2, v >> 16);
}

/* Four times seven signs, and the scale above them. */
FIT_INLINE uint32_t signs_and_scale(const uint8_t *signs, float s) {
    uint32_t v = (uint32_t)s << 28;
    for (int k = 0; k < 4; k++)
        v |= (uint32_t)(signs[k] & 127) << (7 * k);
    return v;
}

static void quantize_iq2_xxs(const float *x, const float *w, uint8_t *out) {
    static const book_form form = {
        weft_grid_iq2_xxs, 256, 8, 2, IQ2_LEVELS, true, true, 32, 15, 0.125f};
    book_block b;
    book_fit fits[BOOK_SUBS];
    book_open(&b, &form, 0, x, w);
    book_scales r = book_quantize(&b, 256, 8, w, fits);
    fit_put_half(r.d, out);
    for (int j = 0; j < 8; j++) {
        for (int k = 0; k < 4; k++)
            out[2 + 8 * j + k] = (uint8_t)fits[j].entry[k];
        put_u32(out + 6 + 8 * j, signs_and_scale(b.signs + 4 * j, r.s[j]));
    }
}

static void quantize_iq2_xs(const float *x, const float *w, uint8_t *out) {
    static const book_form form = {
        weft_grid_iq2_xs, 512, 8, 2, IQ2_LEVELS, true, true, 16, 15, 0.125f};
    book_block b;
    book_fit fits[BOOK_SUBS];
    book_open(&b, &form, 0, x, w);
    book_scales r = book_quantize(&b, 512, 8, w, fits);
    fit_put_half(r.d, out);
    for (int k = 0; k < 32; k++)
        put_u16(out + 2 + 2 * k, fits[k / 2].entry[k % 2] | (unsigned)(b.signs[k] & 127) << 9);
    for (int j = 0; j < 8; j++)
        out[66 + j] = (uint8_t)((int)r.s[2 * j] | (int)r.s[2 * j + 1] << 4);
}

static void quantize_iq2_s(const float *x, const float *w, uint8_t *out) {
    static const book_form form = {weft_grid_iq2_s, 1024, 8,  2,     IQ2_LEVELS, true,
                                   false,           16,   15, 0.125f};
    book_block b;
    book_fit fits[BOOK_SUBS];
    book_open(&b, &form, 0, x, w);
    book_scales r = book_quantize(&b, 1024, 8, w, fits);
    fit_put_half(r.d, out);
    memset(out + 66, 0, 8);
    for (int k = 0; k < 32; k++) {
        unsigned entry = fits[k / 2].entry[k % 2];
        out[2 + k] = (uint8_t)entry;
        out[34 + k] = b.signs[k];
        out[66 + k / 4] = (uint8_t)(out[66 + k / 4] | (entry >> 8) << (k % 4 * 2));
    }
    for (int j = 0; j < 8; j++)
        out[74 + j] = (uint8_t)((int)r.s[2 * j] | (int)r.s[2 * j + 1] << 4);
}

static void quantize_iq3_xxs(const float *x, const float *w, uint8_t *out) {
    static const book_form form = {
        weft_grid_iq3_xxs, 256, 4, 3, {4, 12, 20, 28, 36, 44, 52, 62}, true, true, 32, 15, 0.25f};
    book_block b;
    book_fit fits[BOOK_SUBS];
    book_open(&b, &form, 0, x, w);
    book_scales r = book_quantize(&b, 256, 4, w, fits);
    fit_put_half(r.d, out);
    for (int j = 0; j < 8; j++) {
        for (int k = 0; k < 8; k++)
            out[2 + 8 * j + k] = (uint8_t)fits[j].entry[k];
        put_u32(out + 66 + 4 * j, signs_and_scale(b.signs + 4 * j, r.s[j]));
    }
}

static void quantize_iq3_s(const float *x, const float *w, uint8_t *out) {
    static const book_form form = {weft_grid_iq3_s, 512, 4,  3, {1, 3, 5, 7, 9, 11, 13, 15}, true,
                                   false,           32,  15, 1};
    book_block b;
    book_fit fits[BOOK_SUBS];
    book_open(&b, &form, 0, x, w);
    book_scales r = book_quantize(&b, 512, 4, w, fits);
    fit_put_half(r.d, out);
    memset(out + 66, 0, 8);
    memcpy(out + 74, b.signs, 32);
    for (int k = 0; k < 64; k++) {
        unsigned entry = fits[k / 8].entry[k % 8];
        out[2 + k] = (uint8_t)entry;
        out[66 + k / 8] = (uint8_t)(out[66 + k / 8] | (entry >> 8) << (k % 8));
    }
    for (int j = 0; j < 4; j++)
        out[106 + j] = (uint8_t)((int)r.s[2 * j] | (int)r.s[2 * j + 1] << 4);
}

#endif
