/* Quantised panels times int8 activations with the dpbusd of AVX-VNNI: four products in int32. */
#include <immintrin.h>
#include "tensor/kernels/declare.h"
#include "tensor/kernels/lanes.h"

#define SUMS_ARE_WIDE 1

WEFT_INLINE __m256i sum_bytes(__m256i sum, __m256i w, __m256i x) {
    return _mm256_dpbusd_avx_epi32(sum, w, x);
}

#include "tensor/kernels/x86/panel_q8_body_avx2.h"

void weft_kernel_panel_q8_avxvnni(weft_dtype dtype, const void *panels, size_t n_panels,
                                  const weft_q8_rows *x, float *y, size_t ldy) {
    panel_q8_body(dtype, panels, n_panels, x, y, ldy);
}
