/* Panels times bfloat16 activations: the product of rounded weights and rounded activations, as
 * exact as sums of float32 are, for every type and any number of rows; and what rounding costs,
 * as docs/numerics.md states it. */
#include "kernels_test.h"

static size_t tiles_of(size_t n) {
    return (n + 31) / 32;
}

/* x [n, n_cols] as a variant's tiles. */
static uint16_t *make_tiles(const weft_kernels *k, const float *x, size_t n, size_t n_cols) {
    size_t step = weft_bf16_step(n_cols);
    uint16_t *tiles = test_alloc((n + 15) / 16 * step * sizeof *tiles);
    memset(tiles, 0x7f, (n + 15) / 16 * step * sizeof *tiles);
    for (size_t t = 0; t < n; t += 16)
        k->rows_bf16(x + t * n_cols, n - t < 16 ? n - t : 16, n_cols, n_cols,
                     tiles + t / 16 * step);
    return tiles;
}

/* y [n, 16 n_panels] of what make_tiles gave. */
static void multiply(const weft_kernels *k, weft_dtype dtype, const void *panels, size_t n_panels,
                     const uint16_t *tiles, size_t n, size_t n_cols, float *y, size_t ldy) {
    weft_bf16_rows x = {tiles, weft_bf16_step(n_cols), n, n_cols};
    size_t bytes = weft_bf16_sums(n_panels, n, n_cols) * sizeof(float);
    float *sums = test_alloc(bytes);
    memset(sums, 0x7f, bytes);
    k->panel_bf16(dtype, panels, n_panels, &x, sums, y, ldy);
    free(sums);
}

static void test_rows(void **state) {
    (void)state;
    const weft_kernels *variants[WEFT_ISA_COUNT];
    size_t n_variants = TEST_VARIANTS(rows_bf16, variants);
    for (size_t v = 0; v < n_variants; v++)
        for (size_t n_cols = 1; n_cols < 100; n_cols += 1 + n_cols / 4) {
            size_t n = 21;
            float *x = test_alloc(4 * n * n_cols);
            random_floats(x, n * n_cols);
            x[0] = INFINITY;
            uint16_t *tiles = make_tiles(variants[v], x, n, n_cols);
            for (size_t t = 0; t < 32; t++)
                for (size_t c = 0; c < 32 * tiles_of(n_cols); c++) {
                    size_t at = t / 16 * weft_bf16_step(n_cols) + c / 32 * WEFT_BF16_TILE;
                    uint16_t want = 0;
                    if (t < n && c < n_cols)
                        want = weft_f32_to_bf16(x[t * n_cols + c]);
                    assert_int_equal(tiles[at + t % 16 * 32 + c % 32], want);
                }
            free(x);
            free(tiles);
        }
}

typedef struct error_sums {
    double wrong, all; /* squares */
} error_sums;

/* `against` double: weights and activations that are rounded; `e` of those that are not. */
static void check(const weft_kernels *k, weft_dtype dtype, size_t n_rows, size_t n_cols, size_t n,
                  error_sums *e) {
    size_t n_panels = (n_rows + 15) / 16, ldy = 16 * n_panels + 3;
    size_t bytes = weft_panel_bytes(dtype, n_cols);
    uint8_t *panels = random_panels(dtype, ROW_PLAIN, n_rows, n_cols);
    float *x = test_alloc(4 * n * n_cols), *w = test_alloc(4 * n_cols);
    float *y = test_alloc(4 * (n * ldy + 1));
    random_floats(x, n * n_cols);
    memset(y, 0x55, 4 * (n * ldy + 1));
    uint16_t *tiles = make_tiles(k, x, n, n_cols);
    multiply(k, dtype, panels, n_panels, tiles, n, n_cols, y, ldy);
    for (size_t r = 0; r < 16 * n_panels; r++) {
        weft_panel_row(dtype, panels + r / 16 * bytes, r % 16, n_cols, w);
        for (size_t t = 0; t < n; t++) {
            double rounded = 0, exact = 0, size = 0;
            for (size_t i = 0; i < n_cols; i++) {
                float xi = x[t * n_cols + i];
                double p = (double)weft_bf16_to_f32(weft_f32_to_bf16(w[i])) *
                           (double)weft_bf16_to_f32(weft_f32_to_bf16(xi));
                rounded += p;
                size += fabs(p);
                exact += (double)w[i] * (double)xi;
            }
            /* A value at the middle of two may go either way. */
            double got = (double)y[t * ldy + r];
            if (!(fabs(got - rounded) <= 2e-4 * size + 1e-30))
                fail_msg("%s, %s: row %zu of x, output %zu: %g instead of %g",
                         weft_dtype_name(dtype), weft_isa_name(k->isa), t, r, got, rounded);
            e->wrong += (got - exact) * (got - exact);
            e->all += exact * exact;
        }
    }
    for (size_t t = 0; t + 1 < n; t++) /* between the rows, and behind them */
        for (size_t r = 16 * n_panels; r < ldy; r++)
            assert_int_equal(weft_bits_of(y[t * ldy + r]), 0x55555555);
    assert_int_equal(weft_bits_of(y[(n - 1) * ldy + 16 * n_panels]), 0x55555555);
    free(panels);
    free(x);
    free(w);
    free(y);
    free(tiles);
}

static void check_type(const weft_kernels *k, weft_dtype dtype, error_sums *e) {
    static const size_t counts[] = {1, 15, 16, 17, 32, 33, 48, 63};
    size_t block = weft_dtype_is_quantized(dtype) ? weft_dtype_block(dtype) : 7;
    size_t cols[] = {block, 3 * block, 1280, block == 7 ? 547 : 768};
    for (size_t c = 0; c < N_ITEMS(counts); c++)
        check(k, dtype, 16 * (1 + c % 3), cols[c % 4], counts[c], e);
}

/* Half an ulp of 8 bits in either factor; measured: 0.0023 to 0.0024 of the outputs' size. */
#define MOST_ERROR 0.003

static void test_products(void **state) {
    (void)state;
    const weft_kernels *variants[WEFT_ISA_COUNT];
    size_t n_variants = TEST_VARIANTS(panel_bf16, variants);
    double most = 0;
    for (size_t v = 0; v < n_variants; v++)
        for (size_t i = 0; i < N_ITEMS(quantized_types) + N_ITEMS(float_types); i++) {
            weft_dtype dtype = i < N_ITEMS(quantized_types)
                                   ? quantized_types[i]
                                   : float_types[i - N_ITEMS(quantized_types)];
            error_sums e = {0};
            check_type(variants[v], dtype, &e);
            double error = sqrt(e.wrong / e.all);
            most = error > most ? error : most;
            if (error > MOST_ERROR)
                fail_msg("%s: error %g", weft_dtype_name(dtype), error);
        }
    if (n_variants)
        printf("greatest error of a type: %.5f\n", most);
    else
        printf("no variant of panel_bf16 runs here\n");
}

/* A scale that is infinite, or a NaN in x, reaches the outputs that depend on it. */
static void test_nan_and_infinity(void **state) {
    (void)state;
    const weft_kernels *variants[WEFT_ISA_COUNT];
    size_t n_variants = TEST_VARIANTS(panel_bf16, variants);
    enum { COLS = 64, N = 33 };
    for (size_t v = 0; v < n_variants; v++) {
        uint8_t row[16 * 34 * COLS / 32], panel[16 * 34 * COLS / 32 + 64];
        float x[N * COLS], y[N * 16];
        memset(row, 1, sizeof row);
        for (size_t b = 0; b < 16 * COLS / 32; b++)
            set_scale(WEFT_Q8_0, row + 34 * b, b == 6 ? 0x7c00 : 0x3c00); /* row 3 */
        weft_panel_pack(WEFT_Q8_0, row, 16, COLS, panel);
        for (size_t i = 0; i < N * COLS; i++)
            x[i] = 1;
        x[32 * COLS + 5] = NAN;
        uint16_t *tiles = make_tiles(variants[v], x, N, COLS);
        multiply(variants[v], WEFT_Q8_0, panel, 1, tiles, N, COLS, y, 16);
        for (size_t t = 0; t < N; t++)
            for (size_t r = 0; r < 16; r++)
                if (r == 3 || t == 32)
                    assert_false(isfinite(y[16 * t + r]));
                else
                    assert_true(y[16 * t + r] == COLS);
        free(tiles);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_nan_and_infinity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
