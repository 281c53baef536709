/* Quantised panels times int8 activations: every variant gives the scalar kernel's bits, for every
 * type, row count and extreme value; the scalar kernel gives what the definition says. */
#include "kernels_test.h"

static weft_q8_rows make_rows(size_t n, size_t n_cols) {
    weft_q8_rows x = {.n = n, .n_cols = n_cols};
    x.q = test_alloc(n * n_cols);
    x.d = test_alloc(n * n_cols / 32 * sizeof *x.d);
    x.sums = test_alloc(n * n_cols / 32 * sizeof *x.sums);
    return x;
}

static void free_rows(weft_q8_rows *x) {
    free(x->q);
    free(x->d);
    free(x->sums);
}

/* Random rows; `extreme` fills blocks with 127, -127 or 0 and takes odd scales. */
static weft_q8_rows random_rows(size_t n, size_t n_cols, bool extreme) {
    static const float odd[] = {0, 0x1p-149f, 1e-38f, 3e38f, 1, NAN};
    weft_q8_rows x = make_rows(n, n_cols);
    for (size_t b = 0; b < n * n_cols / 32; b++) {
        uint32_t r = random_u32();
        int32_t sum = 0;
        for (size_t i = 0; i < 32; i++) {
            int v = (int)(random_u32() % 255) - 127;
            if (extreme && r % 4)
                v = r % 4 == 1 ? 127 : r % 4 == 2 ? -127 : random_u32() % 2 ? 127 : -127;
            x.q[32 * b + i] = (int8_t)v;
            sum += v;
        }
        x.sums[b] = sum;
        x.d[b] = extreme && r / 4 % 4 == 0 ? odd[r / 16 % 6] : 0.01f * random_float();
    }
    return x;
}

static void check_type(weft_dtype dtype, row_kind kind, size_t n_rows, size_t n_cols, size_t n) {
    const weft_kernels *scalar = weft_kernels_of(WEFT_ISA_SCALAR), *variants[WEFT_ISA_COUNT];
    size_t n_variants = TEST_VARIANTS(panel_q8, variants), n_panels = (n_rows + 15) / 16;
    size_t ldy = 16 * n_panels + 3;
    uint8_t *panels = random_panels(dtype, kind, n_rows, n_cols);
    weft_q8_rows x = random_rows(n, n_cols, kind != ROW_PLAIN);
    float *want = test_alloc(4 * n * ldy), *got = test_alloc(4 * n * ldy);
    memset(want, 0x55, 4 * n * ldy);
    scalar->panel_q8(dtype, panels, n_panels, &x, want, ldy);
    for (size_t v = 0; v < n_variants; v++) {
        memset(got, 0x55, 4 * n * ldy); /* what lies between the rows must stay */
        variants[v]->panel_q8(dtype, panels, n_panels, &x, got, ldy);
        assert_same_floats(weft_dtype_name(dtype), variants[v]->isa, want, got, n * ldy);
    }
    free(panels);
    free_rows(&x);
    free(want);
    free(got);
}

static void test_variants_give_scalar_bits(void **state) {
    (void)state;
    static const size_t counts[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,
                                    13, 14, 15, 16, 17, 31, 32, 33, 41, 64, 67};
    for (size_t i = 0; i < N_ITEMS(quantized_types); i++) {
        weft_dtype dtype = quantized_types[i];
        size_t cols[] = {weft_dtype_block(dtype), 3 * weft_dtype_block(dtype), 1280};
        for (size_t c = 0; c < N_ITEMS(counts); c++) {
            check_type(dtype, ROW_PLAIN, 33, cols[c % 3], counts[c]);
            check_type(dtype, ROW_EXTREME, 48, cols[(c + 1) % 3], counts[c]);
            check_type(dtype, ROW_BROKEN, 17, cols[(c + 2) % 3], counts[c]);
        }
    }
}

/* Greatest magnitudes of weights and activations: no int16 sum of a variant may saturate. */
static void test_greatest_products_are_exact(void **state) {
    (void)state;
    const weft_kernels *variants[WEFT_ISA_COUNT];
    static const uint8_t fills[] = {0xff, 0x00, 0x80, 0x77, 0x7f, 0x08};
    size_t n_variants = TEST_VARIANTS(panel_q8, variants);
    for (size_t i = 0; i < N_ITEMS(quantized_types); i++)
        for (int sign = -1; sign <= 1; sign += 2)
            for (size_t f = 0; f < N_ITEMS(fills); f++) {
                weft_dtype dtype = quantized_types[i];
                size_t n_cols = weft_dtype_block(dtype), line = row_bytes(dtype, n_cols);
                uint8_t *row = test_alloc(line);
                memset(row, fills[f], line);
                set_scale(dtype, row, 0x3c00);
                if (dtype == WEFT_MXFP4)
                    row[0] = 0x80;
                if (has_minimum(dtype))
                    memset(row + scale_at(dtype) + 2, 0, 2);
                uint8_t *panel = test_alloc(weft_panel_bytes(dtype, n_cols));
                weft_panel_pack(dtype, row, 1, n_cols, panel);
                weft_q8_rows x = make_rows(4, n_cols);
                memset(x.q, 127 * sign, 4 * n_cols);
                float value[256], want = 0;
                assert_true(weft_dequantize_row(dtype, row, n_cols, value));
                for (size_t b = 0; b < 4 * n_cols / 32; b++) {
                    x.d[b] = 1;
                    x.sums[b] = 32 * 127 * sign;
                }
                /* Sums of integers: exact, and rounded once when one is added. */
                size_t step = dtype == WEFT_NVFP4 ? 16 : 32;
                for (size_t k = 0; k < n_cols; k += step) {
                    double dot = 0;
                    for (size_t j = k; j < k + step; j++)
                        dot += (double)value[j] * (127 * sign);
                    want = (float)(want + dot);
                }
                x.n = 1;
                for (int n = 1; n <= 4; n += 3, x.n = 4)
                    for (size_t v = 0; v <= n_variants; v++) {
                        const weft_kernels *k =
                            v ? variants[v - 1] : weft_kernels_of(WEFT_ISA_SCALAR);
                        float y[64];
                        k->panel_q8(dtype, panel, 1, &x, y, 16);
                        if (y[0] != want)
                            fail_msg("%s, %s: %.9g instead of %.9g", weft_dtype_name(dtype),
                                     weft_isa_name(k->isa), (double)y[0], (double)want);
                    }
                free(row);
                free(panel);
                free_rows(&x);
            }
}

/* The scalar kernel against dequantised weights and activations in double. */
static void test_scalar_is_the_product(void **state) {
    (void)state;
    enum { ROWS = 21, COLS = 512, N = 3 };
    for (size_t i = 0; i < N_ITEMS(quantized_types); i++) {
        weft_dtype dtype = quantized_types[i];
        uint8_t *panels = random_panels(dtype, ROW_PLAIN, ROWS, COLS);
        weft_q8_rows x = random_rows(N, COLS, false);
        float y[N][32], w[COLS];
        weft_kernels_of(WEFT_ISA_SCALAR)->panel_q8(dtype, panels, 2, &x, y[0], 32);
        for (size_t r = 0; r < 32; r++) {
            weft_panel_row(dtype, panels + r / 16 * weft_panel_bytes(dtype, COLS), r % 16, COLS, w);
            for (size_t t = 0; t < N; t++) {
                double want = 0, size = 0;
                for (size_t k = 0; k < COLS; k++) {
                    double p = (double)w[k] * x.q[t * COLS + k] * x.d[(t * COLS + k) / 32];
                    want += p;
                    size += fabs(p);
                }
                if (fabs(y[t][r] - want) > 4e-6 * size)
                    fail_msg("%s: %g instead of %g", weft_dtype_name(dtype), (double)y[t][r], want);
            }
        }
        free(panels);
        free_rows(&x);
    }
}

/* ---- --time ---- */

static void time_type(const weft_kernels *k, weft_dtype dtype) {
    enum { ROWS = 8192, COLS = 2048 };
    size_t bytes = weft_panel_bytes(dtype, COLS), copies = 1 + (64u << 20) / (bytes * ROWS / 16);
    uint8_t *one = random_panels(dtype, ROW_PLAIN, 256, COLS);
    uint8_t *panels = test_alloc(bytes * (ROWS / 16) * copies);
    for (size_t p = 0; p < ROWS / 16 * copies; p++)
        memcpy(panels + p * bytes, one + p % 16 * bytes, bytes);
    weft_q8_rows x = random_rows(128, COLS, false);
    float *y = test_alloc(4 * 128 * ROWS);
    double seconds;
    printf("%-7s %-7s", weft_isa_name(k->isa), weft_dtype_name(dtype));
    x.n = 1;
    BEST_SECONDS(seconds, 0.3,
                 for (size_t c = 0; c < copies; c++)
                     k->panel_q8(dtype, panels + c * bytes * (ROWS / 16), ROWS / 16, &x, y, ROWS));
    printf(" 1 row %6.2f GB/s;", (double)(bytes * (ROWS / 16) * copies) / seconds / 1e9);
    for (x.n = 2; x.n <= 128; x.n *= 4) {
        size_t few = k->isa == WEFT_ISA_SCALAR ? ROWS / 16 / 32 : ROWS / 16 / 4;
        BEST_SECONDS(seconds, 0.2, k->panel_q8(dtype, panels, few, &x, y, ROWS));
        printf(" %zu rows %6.1f GOPS;", x.n, 2.0 * (double)(x.n * few * 16 * COLS) / seconds / 1e9);
    }
    printf("\n");
    x.n = 128;
    free(one);
    free(panels);
    free(y);
    free_rows(&x);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variants_give_scalar_bits),
        cmocka_unit_test(test_greatest_products_are_exact),
        cmocka_unit_test(test_scalar_is_the_product),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    if (rc || !wants_timing(argc, argv))
        return rc;
    for (int isa = 0; isa < WEFT_ISA_COUNT; isa++)
        for (size_t i = 0; i < N_ITEMS(quantized_types); i++)
            if (weft_kernels_of(isa) && weft_cpu_has(isa))
                time_type(weft_kernels_of(isa), quantized_types[i]);
    return 0;
}
