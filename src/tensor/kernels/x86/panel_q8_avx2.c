/* Quantised panels times int8 activations with maddubs: pairs of products in int16. */
#include <immintrin.h>
#include "tensor/kernels/declare.h"
#include "tensor/kernels/lanes.h"

#define SUMS_ARE_WIDE 0

WEFT_INLINE __m256i sum_bytes(__m256i sum, __m256i w, __m256i x) {
    return _mm256_add_epi16(sum, _mm256_maddubs_epi16(w, x));
}

#include "tensor/kernels/x86/panel_q8_body_avx2.h"

void weft_kernel_panel_q8_avx2(weft_dtype dtype, const void *panels, size_t n_panels,
                               const weft_q8_rows *x, float *y, size_t ldy) {
    panel_q8_body(dtype, panels, n_panels, x, y, ldy);
}
