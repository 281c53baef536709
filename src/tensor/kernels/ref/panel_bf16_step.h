/* What panel_bf16_body.h asks of a variant: tile_products, of up to 32 rows and two panels. */
#ifndef WEFT_KERNELS_PANEL_BF16_STEP_H
#define WEFT_KERNELS_PANEL_BF16_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BF16_SUMS (32 * 32) /* of a step */

/* What is wanted after a step, asked for meanwhile: packed weights, which come from memory and of
 * which no hardware sees where the next part lies, and lines of y, whose distance it cannot
 * foresee. */
typedef struct bf16_ahead {
    const char *weights;          /* from here on; NULL: none */
    size_t step_bytes, end_bytes; /* with each tile along the columns; all */
    size_t panels, panel_bytes;
    float *y;      /* rows of the next step */
    size_t y_rows; /* with each tile; 0: none */
} bf16_ahead;

typedef struct bf16_step {
    const uint16_t *x; /* tiles of the first 16 rows; those of the next `x_step` elements on */
    size_t x_step;
    const uint16_t *w[2]; /* tiles of each panel */
    size_t n_tiles;       /* along the columns */
    size_t rows, panels; /* of y that are wanted: 1 … 32, 1 or 2; there are tiles for all of them */
    const float *from;   /* [32, 32], to which the products are added; NULL: zeros */
    float *y;            /* [rows, 16 panels] with a step of `ldy` */
    size_t ldy;
    size_t done_bytes; /* of the weights ahead, asked for in steps before */
    const bf16_ahead *ahead;
} bf16_step;

/* With tile t of a step along the columns. */
static inline void bf16_ask(const bf16_step *s, size_t t) {
    const bf16_ahead *a = s->ahead;
    size_t from = s->done_bytes + t * a->step_bytes, end = from + a->step_bytes;
    end = end < a->end_bytes ? end : a->end_bytes;
    for (; from < end; from += 64)
        for (size_t p = 0; p < a->panels; p++)
            __builtin_prefetch(a->weights + p * a->panel_bytes + from, 0, 2);
    for (size_t r = t * a->y_rows; r < (t + 1) * a->y_rows; r++) {
        __builtin_prefetch(a->y + r * s->ldy, 1, 2);
        __builtin_prefetch(a->y + r * s->ldy + 16, 1, 2);
    }
}

#endif
