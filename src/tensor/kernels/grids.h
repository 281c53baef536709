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

/* The same codes in two bytes: two bits each of columns 0 … 3 and of 4 … 7; IQ3: nibbles of
 * columns 0 and 1 and of 2 and 3. */
extern const uint8_t weft_halves_iq2_xxs[2][256];
extern const uint8_t weft_halves_iq2_xs[2][512];
extern const uint8_t weft_halves_iq2_s[2][1024];
extern const uint8_t weft_halves_iq3_xxs[2][256];
extern const uint8_t weft_halves_iq3_s[2][512];

/* IQ1's entries have other numbers in panels, so that tables of 64 bytes find their second halves.
 * Of a number n the lowest six bits choose a bin, and (n >> 6 & 3) * 8 + (n >> 8) is the place in
 * it: the half is second[0] of the bin for places below second[2] / 8, and else second[1]. */
extern const uint16_t weft_iq1_numbers[2048]; /* of the file's index */
extern const uint32_t weft_iq1_entries[2048]; /* by number, as in weft_grid_iq1 */
extern const uint8_t weft_iq1_first[2048];    /* the first halves by number */
extern const uint8_t weft_iq1_second[3][64];

#endif
