/* What the variants of panel_q8 share: the parts of a packed block, without any instruction of an
 * ISA. After lanes.h. */
#ifndef WEFT_KERNELS_PANEL_Q8_BLOCK_H
#define WEFT_KERNELS_PANEL_Q8_BLOCK_H

#include "tensor/kernels/blocks.h"
#include "tensor/kernels/lanes.h"
#include "tensor/kernels/table.h"

/* The parts of a packed block (blocks.h), and the table that its codes go through. */
typedef struct q8_block {
    const uint8_t *d, *m, *sc, *min, *q, *h;
    const uint8_t *table;
    float unit;
} q8_block;

/* What a product knows of its type beside the form. */
typedef struct q8_codes {
    _Alignas(16) uint8_t table[16];
    float unit;
} q8_codes;

/* `offset`: added to the levels of the table. */
WEFT_INLINE q8_codes codes_of(const weft_packing *p, int offset) {
    q8_codes c = {.unit = p->unit};
    for (int i = 0; i < 16 && p->levels; i++)
        c.table[i] = (uint8_t)(p->levels[i] + offset);
    return c;
}

WEFT_INLINE q8_block packed_block(weft_form form, const q8_codes *codes, const void *panel,
                                  size_t k) {
    weft_place at = weft_place_of(form, k);
    const uint8_t *p = panel;
    return (q8_block){p + at.d, p + at.m, p + at.sc,    p + at.min,
                      p + at.q, p + at.h, codes->table, codes->unit};
}

/* Rows of x from t on, at most `most`. */
WEFT_INLINE weft_q8_rows rows_of_group(const weft_q8_rows *x, size_t t, size_t most) {
    size_t n = x->n - t < most ? x->n - t : most, blocks = x->n_cols / 32;
    return (weft_q8_rows){x->q + t * x->n_cols, x->d + t * blocks, x->sums + t * blocks, n,
                          x->n_cols};
}

/* Whether d is times a unit, which is 1 for the other forms. */
WEFT_INLINE bool has_unit(weft_form form) {
    return form == WEFT_FORM_CODES_3 || form == WEFT_FORM_CODES_4;
}

/* Quads whose products can be added before a sum could pass 32767, at most half a block where the
 * halves have their own scales. `products` of two bytes meet in an int16; 0 where sums are int32.
 * `most` is the greatest weight. */
WEFT_INLINE int quads_a_sum(weft_form form, int products, int most) {
    int n = products ? 32767 / (products * 127 * most) : 8;
    int all = weft_form_halves(form) || weft_form_floats(form) ? 4 : 8;
    return n >= all ? all : n >= 4 ? 4 : n >= 2 ? 2 : 1;
}

#endif
