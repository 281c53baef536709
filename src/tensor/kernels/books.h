/* Blocks of the types with codebooks (grids.h) as indices and signs: what the file and the panels
 * have in common. Private to the kernels. */
#ifndef WEFT_KERNELS_BOOKS_H
#define WEFT_KERNELS_BOOKS_H

#include "tensor/kernels/blocks.h"
#include "tensor/kernels/grids.h"

/* 32 columns of one row: four entries of eight columns, or (IQ3) eight of four. */
typedef struct weft_entries {
    uint16_t index[8]; /* numbers of our own (grids.h) */
    uint8_t signs[4];  /* bit i: column i of eight is negative; IQ1: all alike, shifted down */
    uint8_t sc;        /* as the file codes it: IQ2_XS, IQ2_S two nibbles, IQ1_M twice three bits */
    uint16_t d;
} weft_entries;

/* 32 of the 256 columns at p, in the file's layout. */
void weft_file_entries_read(weft_dtype dtype, const uint8_t *p, size_t sub, weft_entries *out);
/* Block k of row r of a panel, which has zeros before it is written. */
void weft_panel_entries_write(weft_form form, const weft_entries *e, size_t r, size_t k,
                              uint8_t *panel);
void weft_panel_entries_read(weft_form form, const uint8_t *panel, size_t r, size_t k,
                             weft_entries *out);
/* The codes (packing.c) and scales that they stand for. */
void weft_entries_block(weft_form form, const weft_entries *e, weft_block *out);

/* The codebook of a form, and the bits of its indices. */
const weft_book *weft_book_of(weft_form form);
static inline unsigned weft_book_bits(weft_form form) {
    return form < WEFT_FORM_IQ2_XXS                              ? 11
           : form == WEFT_FORM_IQ2_S                             ? 10
           : form == WEFT_FORM_IQ2_XS || form == WEFT_FORM_IQ3_S ? 9
                                                                 : 8;
}

#endif
