/* Entries of codebooks in panels (blocks.h), and the codes that they stand for. */
#include "tensor/kernels/books.h"

#include <string.h>

const weft_book *weft_book_of(weft_form form) {
    switch (form) {
    case WEFT_FORM_IQ2_XXS:
        return &weft_book_iq2_xxs;
    case WEFT_FORM_IQ2_XS:
        return &weft_book_iq2_xs;
    case WEFT_FORM_IQ2_S:
        return &weft_book_iq2_s;
    case WEFT_FORM_IQ3_XXS:
        return &weft_book_iq3_xxs;
    case WEFT_FORM_IQ3_S:
        return &weft_book_iq3_s;
    default:
        return &weft_book_iq1;
    }
}

/* ---- What an entry's bits in `high` say ---- */

/* A row's high bits of entry i: how many, and where they begin. IQ1 has a nibble an index, the
 * shift on top, but for IQ1_S's one shift and its scale above twelve bits of indices. */
static unsigned high_at(weft_form form, unsigned i) {
    return form == WEFT_FORM_IQ1_S ? 3 * i : form == WEFT_FORM_IQ1_M ? 4 * i : 0;
}

/* Bits of eight columns spread over a row's four bytes of the line of signs: column c to bit c / 4
 * of byte c % 4; and together again. */
static uint32_t spread_signs(unsigned eight) {
    uint32_t low = (eight & 15) * 0x00204081u & 0x01010101u;
    return low | ((eight >> 4) * 0x00204081u & 0x01010101u) << 1;
}

static unsigned join_signs(uint32_t word) {
    unsigned low = (word & 0x01010101u) * 0x01020408u >> 24 & 15;
    return low | ((word >> 1 & 0x01010101u) * 0x01020408u >> 24 & 15) << 4;
}

/* The place of spare bit i in a row's word of signs. */
static unsigned spare_at(unsigned i) {
    return 25 + 2 * i;
}

/* ---- Panels ---- */

void weft_panel_entries_write(weft_form form, const weft_entries *e, size_t r, size_t k,
                              uint8_t *panel) {
    const weft_form_info *f = &weft_forms[form];
    weft_place at = weft_place_of(form, k);
    uint32_t high = 0, signs = 0, spare = e->sc;
    memcpy(panel + at.d + 2 * r, &e->d, 2);
    if (form == WEFT_FORM_IQ2_XS)
        spare = 0;
    for (unsigned i = 0; i < f->entries; i++) {
        panel[at.q + 64 * (i / 4) + 4 * r + i % 4] = (uint8_t)e->index[i];
        unsigned top = e->index[i] >> 8;
        if (form == WEFT_FORM_IQ2_XS)
            spare |= top << i;
        else if (form == WEFT_FORM_IQ3_S)
            high |= top << i;
        else if (form == WEFT_FORM_IQ2_S)
            high |= top << (2 * i);
        else if (f->high == 2)
            high |= top << high_at(form, i);
        if (form == WEFT_FORM_IQ1_M)
            high |= (uint32_t)(e->signs[i] & 8) << (4 * i);
    }
    if (form == WEFT_FORM_IQ1_S)
        high |= (uint32_t)e->sc << 12 | (uint32_t)(e->signs[0] & 1) << 15;
    for (unsigned i = 0; i < 4; i++)
        signs |= spread_signs(e->signs[i]) << (2 * i);
    for (unsigned i = 0; i < 4 && f->signs == 7; i++)
        signs = (signs & ~(1u << spare_at(i))) | (spare >> i & 1) << spare_at(i);
    memcpy(panel + at.h + f->high * r, &high, f->high);
    if (f->signs)
        memcpy(panel + at.s + 4 * r, &signs, 4);
    if (f->sc)
        panel[at.sc + r] = e->sc;
}

void weft_panel_entries_read(weft_form form, const uint8_t *panel, size_t r, size_t k,
                             weft_entries *out) {
    const weft_form_info *f = &weft_forms[form];
    weft_place at = weft_place_of(form, k);
    uint32_t high = 0, signs = 0, spare = 0;
    memcpy(&out->d, panel + at.d + 2 * r, 2);
    memcpy(&high, panel + at.h + f->high * r, f->high);
    if (f->signs)
        memcpy(&signs, panel + at.s + 4 * r, 4);
    for (unsigned i = 0; i < 4; i++) {
        out->signs[i] = (uint8_t)join_signs(signs >> (2 * i));
        if (f->signs == 7) {
            unsigned seven = out->signs[i] & 127u;
            spare |= (signs >> spare_at(i) & 1) << i;
            out->signs[i] = (uint8_t)(seven | (unsigned)__builtin_parity(seven) << 7);
        } else if (f->high == 2) {
            out->signs[i] = high >> (form == WEFT_FORM_IQ1_S ? 15 : 4 * i + 3) & 1 ? 0xff : 0;
        }
    }
    out->sc = f->sc                     ? panel[at.sc + r]
              : form == WEFT_FORM_IQ1_S ? (uint8_t)(high >> 12 & 7)
                                        : (uint8_t)spare;
    for (unsigned i = 0; i < f->entries; i++) {
        unsigned top = form == WEFT_FORM_IQ2_XS  ? spare >> i & 1
                       : form == WEFT_FORM_IQ3_S ? high >> i & 1
                       : form == WEFT_FORM_IQ2_S ? high >> (2 * i) & 3
                       : f->high == 2            ? high >> high_at(form, i) & 7
                                                 : 0;
        out->index[i] = (uint16_t)(panel[at.q + 64 * (i / 4) + 4 * r + i % 4] | top << 8);
    }
}

/* ---- Codes ---- */

/* The types' scales are odd: 2 s + 1. */
static int16_t odd(unsigned s) {
    return (int16_t)(2 * s + 1);
}

void weft_entries_block(weft_form form, const weft_entries *e, weft_block *out) {
    const weft_form_info *f = &weft_forms[form];
    const uint32_t *book = weft_book_of(form)->entries;
    unsigned sign = f->entries == 8 ? 8 : 4; /* what a negative column adds to its code */
    for (unsigned i = 0; i < 8; i++) {
        uint32_t codes = f->entries == 8 ? book[e->index[i]]
                                         : book[e->index[i / 2]] >> (4 * (i % 2)) & 0x0f0f0f0f;
        codes += spread_signs(e->signs[i / 2] >> (4 * (i % 2)) & 15) * sign;
        memcpy(out->q + 4 * i, &codes, 4);
    }
    out->d = e->d;
    out->sc[0] = out->sc[1] = odd(e->sc);
    if (f->scales == WEFT_SCALES_HALVES) {
        unsigned bits = form == WEFT_FORM_IQ1_M ? 3 : 4;
        out->sc[0] = odd(e->sc & ((1u << bits) - 1));
        out->sc[1] = odd((unsigned)e->sc >> bits);
    }
}
