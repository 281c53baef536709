/* Panels times float activations: every variant gives the scalar kernel's bits for float weights
 * and for quantised ones; the scalar kernel is one chain of fmaf over the columns in order. */
#include "kernels_test.h"

static void check(weft_dtype dtype, row_kind kind, size_t n_rows, size_t n_cols, size_t n) {
    const weft_kernels *scalar = weft_kernels_of(WEFT_ISA_SCALAR), *variants[WEFT_ISA_COUNT];
    size_t n_variants = TEST_VARIANTS(panel_f32, variants), n_panels = (n_rows + 15) / 16;
    size_t ldx = n_cols + 5, ldy = 16 * n_panels + 3, bytes = weft_panel_bytes(dtype, n_cols);
    uint8_t *panels = random_panels(dtype, kind, n_rows, n_cols);
    float *x = test_alloc(4 * n * ldx), *w = test_alloc(4 * n_cols);
    float *want = test_alloc(4 * n * ldy), *got = test_alloc(4 * n * ldy);
    random_floats(x, n * ldx);
    if (kind != ROW_PLAIN)
        x[random_u32() % n_cols] = kind == ROW_BROKEN ? NAN : 0x1p-149f;
    memset(want, 0x55, 4 * n * ldy);
    for (size_t r = 0; r < 16 * n_panels; r++) {
        weft_panel_row(dtype, panels + r / 16 * bytes, r % 16, n_cols, w);
        for (size_t t = 0; t < n; t++) {
            float acc = 0;
            for (size_t k = 0; k < n_cols; k++)
                acc = fmaf(x[t * ldx + k], w[k], acc);
            want[t * ldy + r] = acc;
        }
    }
    for (size_t v = 0; v <= n_variants; v++) {
        const weft_kernels *k = v ? variants[v - 1] : scalar;
        memset(got, 0x55, 4 * n * ldy);
        k->panel_f32(dtype, panels, n_panels, x, n, n_cols, ldx, got, ldy);
        assert_same_floats(weft_dtype_name(dtype), k->isa, want, got, n * ldy);
    }
    free(panels);
    free(x);
    free(w);
    free(want);
    free(got);
}

static void test_float_weights(void **state) {
    (void)state;
    static const size_t counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 33};
    static const size_t cols[] = {1, 17, 256, 257, 520};
    for (size_t i = 0; i < N_ITEMS(float_types); i++)
        for (size_t c = 0; c < N_ITEMS(counts); c++) {
            check(float_types[i], ROW_PLAIN, 33, cols[c % 5], counts[c]);
            check(float_types[i], ROW_EXTREME, 48, cols[(c + 2) % 5], counts[c]);
            check(float_types[i], ROW_BROKEN, 17, cols[(c + 3) % 5], counts[c]);
        }
}

static void test_quantised_weights(void **state) {
    (void)state;
    for (size_t i = 0; i < N_ITEMS(quantized_types); i++)
        for (size_t n = 1; n <= 7; n += 3) {
            check(quantized_types[i], ROW_PLAIN, 17, 512, n);
            check(quantized_types[i], ROW_BROKEN, 17, 256, n);
        }
}

static void time_type(const weft_kernels *k, weft_dtype dtype) {
    enum { ROWS = 4096, COLS = 2048, N = 128 };
    size_t bytes = weft_panel_bytes(dtype, COLS), copies = 1 + (64u << 20) / (bytes * ROWS / 16);
    uint8_t *one = random_panels(dtype, ROW_PLAIN, 256, COLS);
    uint8_t *panels = test_alloc(bytes * (ROWS / 16) * copies);
    for (size_t p = 0; p < ROWS / 16 * copies; p++)
        memcpy(panels + p * bytes, one + p % 16 * bytes, bytes);
    float *x = test_alloc(4 * N * COLS), *y = test_alloc(4 * N * ROWS);
    random_floats(x, N * COLS);
    double seconds;
    printf("%-7s %-5s", weft_isa_name(k->isa), weft_dtype_name(dtype));
    BEST_SECONDS(seconds, 0.3,
                 for (size_t c = 0; c < copies; c++)
                     k->panel_f32(dtype, panels + c * bytes * (ROWS / 16), ROWS / 16, x, 1, COLS,
                                  COLS, y, ROWS));
    printf(" 1 row %6.2f GB/s;", (double)(bytes * (ROWS / 16) * copies) / seconds / 1e9);
    for (size_t n = 2; n <= N; n *= 4) {
        BEST_SECONDS(seconds, 0.2, k->panel_f32(dtype, panels, 32, x, n, COLS, COLS, y, ROWS));
        printf(" %zu rows %6.1f GFLOPS;", n, 2.0 * (double)(n * 32 * 16 * COLS) / seconds / 1e9);
    }
    printf("\n");
    free(one);
    free(panels);
    free(x);
    free(y);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_float_weights),
        cmocka_unit_test(test_quantised_weights),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    if (rc || !wants_timing(argc, argv))
        return rc;
    for (int isa = 0; isa < WEFT_ISA_COUNT; isa++)
        for (size_t i = 0; i < N_ITEMS(float_types); i++)
            if (weft_kernels_of(isa) && weft_cpu_has(isa))
                time_type(weft_kernels_of(isa), float_types[i]);
    return 0;
}
