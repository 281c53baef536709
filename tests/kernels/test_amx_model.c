/* The tiles of panel_bf16 on AMX, with the instructions replaced by their definition in plain C
 * and weights that scalar code unpacks: the same products as in double, on any machine. */
#define WEFT_TILES_MODEL "kernels/amx_model.h"
#include "tensor/kernels/x86/tile_products_amx.h"
#include "tensor/kernels/ref/panel_bf16_body.h"
#include "kernels_test.h"

static void unpack(weft_dtype dtype, const void *panel, size_t n_cols, size_t begin, size_t end,
                   uint16_t *tiles) {
    float *row = test_alloc(4 * n_cols);
    for (size_t r = 0; r < 16; r++) {
        weft_panel_row(dtype, panel, r, n_cols, row);
        for (size_t k = 32 * begin; k < 32 * end; k++) {
            uint16_t value = k < n_cols ? weft_f32_to_bf16(row[k]) : 0;
            size_t pair = (k - 32 * begin) / 2;
            tiles[(pair * 16 + r) * 2 + k % 2] = value;
        }
    }
    free(row);
}

static void check(size_t n_panels, size_t n, size_t n_cols) {
    size_t ldy = 16 * n_panels + 3;
    size_t bytes = weft_panel_bytes(WEFT_F32, n_cols);
    uint8_t *panels = random_panels(WEFT_F32, ROW_PLAIN, 16 * n_panels, n_cols);
    size_t step = weft_bf16_step(n_cols), n_x = (n + 15) / 16 * step;
    uint16_t *x = test_alloc(2 * n_x);
    float *y = test_alloc(4 * n * ldy), *w = test_alloc(4 * n_cols);
    float *sums = test_alloc(4 * weft_bf16_sums(n_panels, n, n_cols));
    memset(sums, 0x7f, 4 * weft_bf16_sums(n_panels, n, n_cols));
    memset(y, 0x55, 4 * n * ldy);
    for (size_t i = 0; i < n_x; i++)
        x[i] = weft_f32_to_bf16(random_float());
    tiles_begin();
    panel_bf16_body(unpack, WEFT_F32, panels, n_panels, &(weft_bf16_rows){x, step, n, n_cols}, sums,
                    y, ldy);
    tiles_end();
    assert_false(amx.configured);
    for (size_t r = 0; r < 16 * n_panels; r++) {
        weft_panel_row(WEFT_F32, panels + r / 16 * bytes, r % 16, n_cols, w);
        for (size_t t = 0; t < n; t++) {
            double want = 0;
            for (size_t k = 0; k < n_cols; k++) {
                size_t at = t / 16 * step + k / 32 * 512 + t % 16 * 32 + k % 32;
                want += (double)weft_bf16_to_f32(x[at]) *
                        (double)weft_bf16_to_f32(weft_f32_to_bf16(w[k]));
            }
            if (!(fabs((double)y[t * ldy + r] - want) <= 1e-6 * (double)n_cols))
                fail_msg("%zu panels, %zu x %zu: y[%zu, %zu] is %g instead of %g", n_panels, n,
                         n_cols, t, r, (double)y[t * ldy + r], want);
        }
    }
    for (size_t t = 0; t < n; t++)
        for (size_t r = 16 * n_panels; r < ldy; r++)
            assert_int_equal(weft_bits_of(y[t * ldy + r]), 0x55555555);
    free(panels);
    free(x);
    free(y);
    free(w);
    free(sums);
}

static void test_products(void **state) {
    (void)state;
    static const size_t counts[] = {1, 16, 17, 31, 32, 33, 48, 50, 64};
    static const size_t cols[] = {1, 32, 45, 512, 513, 1088};
    for (size_t c = 0; c < N_ITEMS(counts); c++)
        for (size_t i = 0; i < N_ITEMS(cols); i++)
            check(1 + (c + i) % 3, counts[c], cols[i]);
}

/* The model itself, on a product by hand: c = 1 + [2, 3] [5, 7] in the even and odd columns. */
static void test_model(void **state) {
    (void)state;
    uint16_t x[512] = {0x4000, 0x4040}, w[512] = {0x40a0, 0x40e0};
    int8_t a[1024] = {1, -2, 3, -128}, b[1024] = {4, 5, -6, 127};
    float c[256] = {1};
    int32_t d[256] = {10};
    tiles_begin();
    _tile_loadd(0, c, 64);
    _tile_loadd(4, x, 64);
    _tile_loadd(6, w, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_stored(0, c, 64);
    assert_true(c[0] == 1 + 2 * 5 + 3 * 7 && c[1] == 0 && c[16] == 0);
    _tile_loadd(0, d, 64);
    _tile_loadd(4, a, 64);
    _tile_loadd(6, b, 64);
    _tile_dpbssd(0, 4, 6);
    _tile_stored(0, d, 64);
    assert_int_equal(d[0], 10 + 4 - 10 - 18 - 128 * 127);
    tiles_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
