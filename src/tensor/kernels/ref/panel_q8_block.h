/* What the variants of panel_q8 share: the lines of a packed block, without any instruction of an
 * ISA. After lanes.h. */
#ifndef WEFT_KERNELS_PANEL_Q8_BLOCK_H
#define WEFT_KERNELS_PANEL_Q8_BLOCK_H

#include "tensor/kernels/blocks.h"
#include "tensor/kernels/lanes.h"

/* The 64-byte lines of a packed block: quants, 5th (and 6th) bits, and Q6_K's sub-scales. */
typedef struct q8_lines {
    const uint8_t *q, *h;
    const int8_t *sc;
} q8_lines;

WEFT_INLINE bool has_min(weft_dtype dtype) {
    return dtype == WEFT_Q4_1 || dtype == WEFT_Q5_1 || dtype == WEFT_Q4_K || dtype == WEFT_Q5_K;
}

WEFT_INLINE bool five_bits(weft_dtype dtype) {
    return dtype == WEFT_Q5_0 || dtype == WEFT_Q5_1 || dtype == WEFT_Q5_K;
}

WEFT_INLINE q8_lines packed_block(weft_dtype dtype, const void *panel, size_t k) {
    switch (dtype) {
    case WEFT_Q4_0:
        return (q8_lines){.q = ((const weft_panel_q4_0 *)panel + k)->q[0]};
    case WEFT_Q4_1:
        return (q8_lines){.q = ((const weft_panel_q4_1 *)panel + k)->q[0]};
    case WEFT_Q5_0: {
        const weft_panel_q5_0 *p = (const weft_panel_q5_0 *)panel + k;
        return (q8_lines){.q = p->q[0], .h = p->h};
    }
    case WEFT_Q5_1: {
        const weft_panel_q5_1 *p = (const weft_panel_q5_1 *)panel + k;
        return (q8_lines){.q = p->q[0], .h = p->h};
    }
    case WEFT_Q4_K:
        return (q8_lines){.q = ((const weft_panel_q4_k *)panel + k / 8)->sub[k % 8].q[0]};
    case WEFT_Q5_K: {
        const struct weft_panel_q5_k_sub *p = &((const weft_panel_q5_k *)panel + k / 8)->sub[k % 8];
        return (q8_lines){.q = p->q[0], .h = p->h};
    }
    case WEFT_Q6_K: {
        const struct weft_panel_q6_k_sub *p = &((const weft_panel_q6_k *)panel + k / 8)->sub[k % 8];
        return (q8_lines){.q = p->q[0], .h = p->h[0], .sc = p->sc[0]};
    }
    default:
        return (q8_lines){.q = (const uint8_t *)((const weft_panel_q8_0 *)panel + k)->q[0]};
    }
}

#endif
