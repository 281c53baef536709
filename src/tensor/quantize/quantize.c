/* Rows of floats to rows of a file's type: float types here, blocks by the searches of body/. */
#include "tensor/quantize/quantize.h"

#include <string.h>
#include "base/floats.h"

#define MOST_BLOCK 256
/* Importance is added to this share of its mean. A text says what matters to that text only: so
 * weighed, a file is nearly the best under the given importance and good without as well. */
#define PLAIN_SHARE 0.4f

static weft_quantize_fn function_of(weft_isa isa, weft_dtype dtype) {
    if ((unsigned)dtype >= WEFT_DTYPE_COUNT)
        return NULL;
#if defined(__x86_64__)
    if (weft_isa_includes(isa, WEFT_ISA_AVX2))
        return weft_quantize_avx2[dtype];
#endif
    (void)isa;
    return weft_quantize_scalar[dtype];
}

bool weft_quantize_supported(weft_dtype dtype) {
    return dtype == WEFT_F32 || dtype == WEFT_F16 || dtype == WEFT_BF16 ||
           function_of(WEFT_ISA_SCALAR, dtype);
}

static void put_halves(bool bf16, const float *x, size_t n, unsigned char *out) {
    for (size_t i = 0; i < n; i++) {
        uint16_t h = bf16 ? weft_f32_to_bf16(x[i]) : weft_f32_to_f16(x[i]);
        memcpy(out + 2 * i, &h, 2);
    }
}

static float mean_of(const float *importance, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)importance[i];
    return (float)(sum / (double)n);
}

void weft_quantize_row(weft_isa isa, weft_dtype dtype, const float *x, const float *importance,
                       size_t n_cols, void *row) {
    unsigned char *out = row;
    weft_quantize_fn quantize = function_of(isa, dtype);
    if (dtype == WEFT_F32)
        memcpy(row, x, n_cols * sizeof *x);
    else if (dtype == WEFT_F16 || dtype == WEFT_BF16)
        put_halves(dtype == WEFT_BF16, x, n_cols, row);
    if (!quantize || n_cols == 0)
        return;
    size_t block = weft_dtype_block(dtype), bytes = weft_dtype_block_bytes(dtype);
    float w[MOST_BLOCK], mean = importance ? mean_of(importance, n_cols) : 0;
    for (size_t i = 0; i < block; i++)
        w[i] = 1;
    for (size_t at = 0; at < n_cols; at += block, out += bytes) {
        for (size_t i = 0; i < block && mean > 0; i++)
            w[i] = (importance[at + i] / mean + PLAIN_SHARE) / (1 + PLAIN_SHARE);
        quantize(x + at, w, out);
    }
}
