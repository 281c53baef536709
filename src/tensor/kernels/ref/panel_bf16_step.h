/* What panel_bf16_body.h asks of a variant: tile_products, of up to 32 rows and two panels. */
#ifndef WEFT_KERNELS_PANEL_BF16_STEP_H
#define WEFT_KERNELS_PANEL_BF16_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bf16_step {
    const uint16_t *x; /* tiles of the first 16 rows; those of the next `x_step` elements on */
    size_t x_step;
    const uint16_t *w[2]; /* tiles of each panel */
    size_t n_tiles;       /* along the columns */
    size_t rows, panels; /* of y that are wanted: 1 … 32, 1 or 2; there are tiles for all of them */
    bool fresh;          /* y is written, else added to */
    float *y;            /* [rows, 16 panels] with a step of `ldy` */
    size_t ldy;
} bf16_step;

#endif
