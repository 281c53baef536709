/* What the variants of panel_q8 share: the parts of a packed block, without any instruction of an
 * ISA. After lanes.h. */
#ifndef WEFT_KERNELS_PANEL_Q8_BLOCK_H
#define WEFT_KERNELS_PANEL_Q8_BLOCK_H

#include "tensor/kernels/books.h"
#include "tensor/kernels/lanes.h"
#include "tensor/kernels/table.h"

/* The parts of a packed block (blocks.h), and the table that its codes go through. */
typedef struct q8_block {
    const uint8_t *d, *m, *sc, *min, *q, *h, *s;
    const uint8_t *table;
    const uint32_t *book;
    const uint8_t *halves;
    float unit;
    int sub; /* of the blocks that share scales */
} q8_block;

/* What a product knows of its type beside the form. */
typedef struct q8_codes {
    _Alignas(16) uint8_t table[16];
    const uint32_t *book;
    const uint8_t *halves;
    float unit;
} q8_codes;

/* `offset`: added to the levels of the table. */
WEFT_INLINE q8_codes codes_of(const weft_packing *p, int offset) {
    q8_codes c = {.unit = p->unit,
                  .book = weft_book_of(p->form)->entries,
                  .halves = weft_book_of(p->form)->halves};
    for (int i = 0; i < 16 && p->levels; i++)
        c.table[i] = (uint8_t)(p->levels[i] + offset);
    return c;
}

WEFT_INLINE q8_block packed_block(weft_form form, const q8_codes *codes, const void *panel,
                                  size_t k) {
    weft_place at = weft_place_of(form, k);
    const uint8_t *p = panel;
    return (q8_block){.d = p + at.d,
                      .m = p + at.m,
                      .sc = p + at.sc,
                      .min = p + at.min,
                      .q = p + at.q,
                      .h = p + at.h,
                      .s = p + at.s,
                      .table = codes->table,
                      .book = codes->book,
                      .halves = codes->halves,
                      .unit = codes->unit,
                      .sub = (int)(k % 8)};
}

/* Rows of x from t on, at most `most`. */
WEFT_INLINE weft_q8_rows rows_of_group(const weft_q8_rows *x, size_t t, size_t most) {
    size_t n = x->n - t < most ? x->n - t : most, blocks = x->n_cols / 32;
    return (weft_q8_rows){x->q + t * x->n_cols, x->d + t * blocks, x->sums + t * blocks, n,
                          x->n_cols};
}

/* Whether blocks are unpacked before several rows of x multiply them: their quants come from
 * codebooks or digits. */
WEFT_INLINE bool must_unpack(weft_form form) {
    return weft_forms[form].bits == 0;
}

/* How far a row's high bits of index i are shifted left, and how many there are. The `high` of
 * IQ2_XS are its line of signs. */
WEFT_INLINE int index_shift(weft_form form, int i) {
    return form == WEFT_FORM_IQ1_S    ? 8 - 3 * i
           : form == WEFT_FORM_IQ1_M  ? 8 - 4 * i
           : form == WEFT_FORM_IQ2_S  ? 8 - 2 * i
           : form == WEFT_FORM_IQ2_XS ? -17 - 2 * i
                                      : 8 - i;
}
WEFT_INLINE int index_high(weft_form form) {
    return (1 << weft_book_bits(form)) - 256;
}

/* TQ1_0's quads 5 to 7 by the low four bits of their number: two bits each. */
#define TQ1_PAIRS(x) ((x) % 3 | (x) / 3 % 3 << 2 | (x) / 9 << 4)
#define TQ1_PAIRS_OF_4(x) TQ1_PAIRS(x), TQ1_PAIRS((x) + 1), TQ1_PAIRS((x) + 2), TQ1_PAIRS((x) + 3)
#define TQ1_PAIRS_OF_16(x)                                                                         \
    TQ1_PAIRS_OF_4(x), TQ1_PAIRS_OF_4((x) + 4), TQ1_PAIRS_OF_4((x) + 8), TQ1_PAIRS_OF_4((x) + 12)
static const uint8_t tq1_pairs[2][16] = {{TQ1_PAIRS_OF_16(0)}, {TQ1_PAIRS_OF_16(16)}};

/* Quads whose products can be added before a sum could pass 32767, at most half a block where the
 * halves have their own scales. `products` of two bytes meet in an int16; 0 where sums are int32.
 * `most` is the greatest weight. */
WEFT_INLINE int quads_a_sum(weft_form form, int products, int most) {
    int n = products ? 32767 / (products * 127 * most) : 8;
    int all = weft_form_halves(form) || weft_form_floats(form) ? 4 : 8;
    return n >= all ? all : n >= 4 ? 4 : n >= 2 ? 2 : 1;
}

#endif
