/* Quantised panels times int8 activations: the definition. A block's dot product is an exact int32;
 * per block in order acc = fmaf(dot, d_w * d_x, acc), then for the types with a minimum
 * acc = fmaf(-m_w * d_x, sum, acc). */
#include <math.h>
#include <string.h>
#include "base/floats.h"
#include "tensor/kernels/blocks.h"
#include "tensor/kernels/declare.h"

/* One block of 16 rows, ready to be multiplied. */
typedef struct unpacked {
    int8_t w[WEFT_PANEL_ROWS][32];
    int32_t sc[WEFT_PANEL_ROWS][2], min[WEFT_PANEL_ROWS][2]; /* 1 where they are no integers */
    float d[WEFT_PANEL_ROWS][2], m[WEFT_PANEL_ROWS];
} unpacked;

static void unpack(weft_dtype dtype, weft_form form, const void *panel, size_t k, unpacked *u) {
    weft_block b;
    for (size_t r = 0; r < WEFT_PANEL_ROWS; r++) {
        weft_panel_block_read(dtype, panel, r, k, &b);
        weft_block_levels(dtype, &b, u->w[r]);
        float m = weft_f16_to_f32(b.m);
        if (weft_forms[form].scales == WEFT_SCALES_SUB)
            m *= (float)b.min[0];
        u->m[r] = weft_forms[form].blocks == 1 ? -m : m;
        for (int h = 0; h < 2; h++) {
            bool integer = weft_form_halves(form);
            u->d[r][h] = weft_block_scale(dtype, &b, h);
            if (weft_forms[form].scales == WEFT_SCALES_SUB)
                u->d[r][h] *= (float)b.sc[0];
            u->sc[r][h] = integer ? b.sc[h] : 1;
            u->min[r][h] = integer ? b.min[h] : 1;
        }
    }
}

/* Both halves: dot products, and sums of the activations. Every dot product is at most 16,646,144,
 * which a float holds exactly. */
static void half_dots(const int8_t w[32], const int8_t *x, int32_t dot[2], int32_t sum[2]) {
    for (int h = 0; h < 2; h++) {
        dot[h] = sum[h] = 0;
        for (int i = 16 * h; i < 16 * h + 16; i++) {
            dot[h] += w[i] * x[i];
            sum[h] += x[i];
        }
    }
}

static float block_add(weft_form form, const unpacked *u, int r, const int8_t *x, float d_x,
                       float acc) {
    const int32_t *sc = u->sc[r], *min = u->min[r];
    int32_t dot[2], sum[2];
    half_dots(u->w[r], x, dot, sum);
    if (weft_form_floats(form)) {
        acc = fmaf((float)dot[0], u->d[r][0] * d_x, acc);
        return fmaf((float)dot[1], u->d[r][1] * d_x, acc);
    }
    acc = fmaf((float)(sc[0] * dot[0] + sc[1] * dot[1]), u->d[r][0] * d_x, acc);
    if (weft_form_has_min(form))
        acc = fmaf(-u->m[r] * d_x, (float)(min[0] * sum[0] + min[1] * sum[1]), acc);
    return acc;
}

void weft_kernel_panel_q8_scalar(weft_dtype dtype, const void *panels, size_t n_panels,
                                 const weft_q8_rows *x, float *y, size_t ldy) {
    size_t bytes = weft_panel_bytes(dtype, x->n_cols), n_blocks = x->n_cols / 32;
    weft_form form = weft_packing_of(dtype)->form;
    unpacked u;
    for (size_t p = 0; p < n_panels; p++) {
        const uint8_t *panel = (const uint8_t *)panels + p * bytes;
        for (size_t t = 0; t < x->n; t++)
            memset(y + t * ldy + 16 * p, 0, 16 * sizeof *y);
        for (size_t k = 0; k < n_blocks; k++) {
            unpack(dtype, form, panel, k, &u);
            for (size_t t = 0; t < x->n; t++) {
                float *acc = y + t * ldy + 16 * p, d = x->d[t * n_blocks + k];
                for (int r = 0; r < WEFT_PANEL_ROWS; r++)
                    acc[r] = block_add(form, &u, r, x->q + t * x->n_cols + 32 * k, d, acc[r]);
            }
        }
    }
}
