/* The codebooks of GGUF's IQ types: facts of the format. An entry is a word of four bytes with the
 * codes of eight columns, column c in the low nibble of byte c and column c + 4 in the high one, or
 * (IQ3) of four columns, a byte each. Code c stands for -1, 0, 1 in IQ1; 8, 25, 43 in IQ2; 4, 12,
 * 20, 28, 36, 44, 52, 62 in IQ3_XXS; and 2 c + 1 in IQ3_S. */
#ifndef WEFT_KERNELS_GRIDS_H
#define WEFT_KERNELS_GRIDS_H

#include <stdint.h>

extern const uint32_t weft_grid_iq1[2048];
extern const uint32_t weft_grid_iq2_xxs[256];
extern const uint32_t weft_grid_iq2_xs[512];
extern const uint32_t weft_grid_iq2_s[1024];
extern const uint32_t weft_grid_iq3_xxs[256];
extern const uint32_t weft_grid_iq3_s[512];

/* In panels entries have numbers of our own, by which permutations of bytes find their halves
 * (columns 0 to 3 and 4 to 7; IQ3: 0 and 1, and 2 and 3) in few tables of 64 bytes. An entry is an
 * edge between its first and its second half. A tile is 2 × 2 or 4 × 4 halves all of whose pairs
 * are entries: bits that both halves have in common choose the tile, further ones a half in it.
 * Each 256 numbers are a region; low byte L of the number, bits in brackets:
 *
 * region                    first half by                  second half by
 * 0, L < 128: 32 of 2 × 2   table 0 at L[0..5]             table 0 at L[1..6]
 * 0, L ≥ 128: single ones   table 1 + L[6] at L[0..5]      table 1 + L[0] at L[1..6]
 * then 64 of 2 × 2          its table 0 + L[6] at L[0..5]  its table 0 + L[7] at L[1..6]
 * then 16 of 4 × 4          its table at L[0..5]           its table at L[2..7]
 *
 * Regions of 2 × 2 tiles: 2 of IQ1's 8, 1 of IQ2_S's 4 and of IQ3_S's 2, none of the others. */
typedef struct weft_book {
    const uint16_t *numbers; /* of the file's indices */
    const uint32_t *entries; /* by number, as in the grids above */
    const uint8_t *halves;   /* tables of 64 bytes of the first halves, then as many of the second:
                                two bits a column, IQ3: nibbles */
    uint16_t n;
    uint8_t n_pairs; /* regions of 2 × 2 tiles */
} weft_book;

extern const uint32_t weft_entries_iq1[];
extern const uint32_t weft_entries_iq2_xxs[];
extern const uint32_t weft_entries_iq2_xs[];
extern const uint32_t weft_entries_iq2_s[];
extern const uint32_t weft_entries_iq3_xxs[];
extern const uint32_t weft_entries_iq3_s[];

extern const weft_book weft_book_iq1;
extern const weft_book weft_book_iq2_xxs;
extern const weft_book weft_book_iq2_xs;
extern const weft_book weft_book_iq2_s;
extern const weft_book weft_book_iq3_xxs;
extern const weft_book weft_book_iq3_s;

#endif
