/* Quantised panels times int8 activations: the definition. A block's dot product is an exact int32;
 * per block in order acc = fmaf(dot, d_w * d_x, acc), then for the types with a minimum
 * acc = fmaf(-m_w * d_x, sum, acc). */
#include <math.h>
#include <string.h>
#include "tensor/kernels/blocks.h"
#include "tensor/kernels/declare.h"

/* Both halves times their integer sub-scales (1 where there are none): at most 16,646,144, which a
 * float holds exactly. */
static int32_t block_dot(const int8_t w[32], const int16_t sc[2], const int8_t *x) {
    int32_t low = 0, high = 0;
    for (int i = 0; i < 16; i++) {
        low += w[i] * x[i];
        high += w[i + 16] * x[i + 16];
    }
    return low * sc[0] + high * sc[1];
}

/* One block of 16 rows, ready to be multiplied. */
typedef struct unpacked {
    int8_t w[WEFT_PANEL_ROWS][32];
    int16_t sc[WEFT_PANEL_ROWS][2];
    float d[WEFT_PANEL_ROWS], m[WEFT_PANEL_ROWS];
} unpacked;

static void unpack(weft_dtype dtype, const void *panel, size_t k, unpacked *u) {
    int offset = weft_quant_offset(dtype);
    weft_file_block b;
    float d[2];
    for (size_t r = 0; r < WEFT_PANEL_ROWS; r++) {
        weft_panel_block_read(dtype, panel, r, k, &b);
        u->sc[r][0] = u->sc[r][1] = 1;
        if (dtype == WEFT_Q6_K) { /* its sub-scales stay integers */
            memcpy(u->sc[r], b.sc, sizeof b.sc);
            b.sc[0] = b.sc[1] = 1;
        }
        weft_block_scales(dtype, &b, d, &u->m[r]);
        u->d[r] = d[0];
        for (int i = 0; i < 32; i++)
            u->w[r][i] = (int8_t)(b.q[i] - offset);
    }
}

void weft_kernel_panel_q8_scalar(weft_dtype dtype, const void *panels, size_t n_panels,
                                 const weft_q8_rows *x, float *y, size_t ldy) {
    size_t bytes = weft_panel_bytes(dtype, x->n_cols), n_blocks = x->n_cols / 32;
    bool has_min =
        dtype == WEFT_Q4_1 || dtype == WEFT_Q5_1 || dtype == WEFT_Q4_K || dtype == WEFT_Q5_K;
    unpacked u;
    for (size_t p = 0; p < n_panels; p++) {
        const uint8_t *panel = (const uint8_t *)panels + p * bytes;
        for (size_t t = 0; t < x->n; t++)
            memset(y + t * ldy + 16 * p, 0, 16 * sizeof *y);
        for (size_t k = 0; k < n_blocks; k++) {
            unpack(dtype, panel, k, &u);
            for (size_t t = 0; t < x->n; t++) {
                float *acc = y + t * ldy + 16 * p, d = x->d[t * n_blocks + k];
                float sum = (float)x->sums[t * n_blocks + k];
                for (int r = 0; r < WEFT_PANEL_ROWS; r++) {
                    int32_t dot = block_dot(u.w[r], u.sc[r], x->q + t * x->n_cols + 32 * k);
                    acc[r] = fmaf((float)dot, u.d[r] * d, acc[r]);
                    if (has_min)
                        acc[r] = fmaf(-u.m[r] * d, sum, acc[r]);
                }
            }
        }
    }
}
