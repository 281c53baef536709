/* The panels of AVX-VNNI with its instruction in AVX2, so that other machines see the kernel's
 * logic: the scalar kernel's bits for every type. */
#include <immintrin.h>
#include "tensor/kernels/lanes.h"

#define SUMS_ARE_WIDE 1

/* VPDPBUSD: four products of an unsigned and a signed byte into each int32. */
WEFT_INLINE __m256i sum_bytes(__m256i sum, __m256i w, __m256i x) {
    __m256i w_even = _mm256_and_si256(w, _mm256_set1_epi16(255));
    __m256i x_even = _mm256_srai_epi16(_mm256_slli_epi16(x, 8), 8);
    __m256i even = _mm256_madd_epi16(w_even, x_even);
    __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(w, 8), _mm256_srai_epi16(x, 8));
    return _mm256_add_epi32(sum, _mm256_add_epi32(even, odd));
}

#include "tensor/kernels/x86/panel_q8_body_avx2.h"
#include "kernels_test.h"

static void check(weft_dtype dtype, row_kind kind, size_t n_panels, size_t n_cols, size_t n) {
    size_t ldy = 16 * n_panels + 3;
    uint8_t *panels = random_panels(dtype, kind, 16 * n_panels, n_cols);
    weft_q8_rows x = {.n = n, .n_cols = n_cols};
    x.q = test_alloc(n * n_cols);
    x.d = test_alloc(n * n_cols / 8);
    x.sums = test_alloc(n * n_cols / 8);
    for (size_t b = 0; b < n * n_cols / 32; b++) {
        x.d[b] = random_float();
        x.sums[b] = 0;
        for (size_t i = 0; i < 32; i++) {
            uint32_t r = random_u32();
            x.q[32 * b + i] = r % 3 ? (int8_t)(r / 3 % 255 - 127) : r % 2 ? 127 : -127;
            x.sums[b] += x.q[32 * b + i];
        }
    }
    float *want = test_alloc(4 * n * ldy), *got = test_alloc(4 * n * ldy);
    memset(want, 0x55, 4 * n * ldy);
    memset(got, 0x55, 4 * n * ldy);
    weft_kernels_of(WEFT_ISA_SCALAR)->panel_q8(dtype, panels, n_panels, &x, want, ldy);
    panel_q8_body(dtype, panels, n_panels, &x, got, ldy);
    assert_same_floats(weft_dtype_name(dtype), WEFT_ISA_AVXVNNI, want, got, n * ldy);
    free(panels);
    free(x.q);
    free(x.d);
    free(x.sums);
    free(want);
    free(got);
}

static void test_scalar_bits(void **state) {
    (void)state;
    if (!weft_cpu_has(WEFT_ISA_AVX2)) {
        printf("this CPU lacks AVX2\n");
        skip();
    }
    static const size_t counts[] = {1, 2, 3, 4, 5, 9, 67};
    for (size_t i = 0; i < N_ITEMS(quantized_types); i++) {
        size_t block = weft_dtype_block(quantized_types[i]);
        for (size_t c = 0; c < N_ITEMS(counts); c++)
            check(quantized_types[i], (row_kind)(c % 3), 1 + c % 2, c % 2 ? 768 : block, counts[c]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scalar_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
