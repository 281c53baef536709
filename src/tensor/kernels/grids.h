/* The codebooks of GGUF's IQ types: facts of the format. An entry has the codes of eight columns,
 * two bits each and the first column lowest, or (IQ3) of four columns, three bits each. Code c
 * stands for -1, 0, 1 in IQ1; 8, 25, 43 in IQ2; 4, 12, 20, 28, 36, 44, 52, 62 in IQ3_XXS; and
 * 2 c + 1 in IQ3_S. */
#ifndef WEFT_KERNELS_GRIDS_H
#define WEFT_KERNELS_GRIDS_H

#include <stdint.h>

extern const uint16_t weft_grid_iq1[2048];
extern const uint16_t weft_grid_iq2_xxs[256];
extern const uint16_t weft_grid_iq2_xs[512];
extern const uint16_t weft_grid_iq2_s[1024];
extern const uint16_t weft_grid_iq3_xxs[256];
extern const uint16_t weft_grid_iq3_s[512];

#endif
