/* Casts between all plain types, and whole tensors of block types. */
#include "ops_test.h"
#include "tensor/kernels/panel.h"

static const weft_dtype plain[] = {WEFT_F64, WEFT_F32, WEFT_F16, WEFT_BF16, WEFT_I64,
                                   WEFT_I32, WEFT_I16, WEFT_I8,  WEFT_U8,   WEFT_BOOL};

/* What `v`, exactly represented in the source type, becomes. */
static double expected(weft_dtype from, weft_dtype to, double v) {
    static const double low[] = {-0x1p63, -0x1p31, -0x1p15, -128, 0};
    static const double high[] = {0x1p63, 0x1p31 - 1, 0x1p15 - 1, 127, 255};
    if (to == WEFT_BOOL)
        return v != 0;
    if (weft_dtype_is_float(to))
        return round_to(to, v);
    if (!weft_dtype_is_float(from)) { /* integers wrap */
        int64_t wide = (int64_t)v;
        return to == WEFT_I64   ? (double)wide
               : to == WEFT_I32 ? (int32_t)wide
               : to == WEFT_I16 ? (int16_t)wide
               : to == WEFT_I8  ? (int8_t)wide
                                : (uint8_t)wide;
    }
    if (isnan(v))
        return 0;
    int i = (int)(to - WEFT_I64);
    return v < low[i] ? low[i] : v > high[i] ? high[i] : trunc(v);
}

static void test_every_pair_over_views(void **state) {
    fixture *f = *state;
    for (int from = 0; from < 10; from++)
        for (int to = 0; to < 10; to++)
            for (int round = 0; round < 4; round++) {
                int64_t dims[WEFT_MAX_RANK];
                int rank = random_shape(f, dims);
                weft_tensor *x = random_view(f, plain[from], rank, dims);
                weft_tensor *y = weft_cast(f->s, x, plain[to]);
                scope_ok(f->s);
                assert_int_equal(weft_tensor_dtype(y), plain[to]);
                double *vx = elements(x), *vy = elements(y);
                for (size_t i = 0; i < count_of(rank, dims); i++)
                    assert_close(vy[i], expected(plain[from], plain[to], vx[i]), 0, "cast", i);
                free(vx), free(vy);
                assert_weft_ok(weft_scope_reset(f->s));
            }
}

static void test_floats_saturate_and_nan_gives_zero(void **state) {
    fixture *f = *state;
    double values[] = {NAN, INFINITY, -INFINITY, 1e30, -1e30, 3.99, -3.99, 0.0};
    for (int from = 0; from < 4; from++)
        for (int to = 4; to < 10; to++) {
            weft_tensor *x = vector(f->s, plain[from], 8, values);
            double *vx = elements(x), *vy = elements(weft_cast(f->s, x, plain[to]));
            for (size_t i = 0; i < 8; i++)
                assert_close(vy[i], expected(plain[from], plain[to], vx[i]), 0, "saturate", i);
            free(vx), free(vy);
        }
    int64_t edges[3], n = 3;
    double big[] = {0x1p63, -0x1p63, 9223372036854774784.0};
    weft_tensor *x = weft_from_data(f->s, WEFT_F64, 1, &n, big, sizeof big);
    assert_weft_ok(weft_tensor_read(weft_cast(f->s, x, WEFT_I64), edges, sizeof edges));
    assert_true(edges[0] == INT64_MAX && edges[1] == INT64_MIN &&
                edges[2] == INT64_C(9223372036854774784));
}

/* Values just beside the middle of two neighbours: rounding twice would go the wrong way. */
static void test_one_rounding(void **state) {
    fixture *f = *state;
    double values[] = {1 + 0x1p-11 + 0x1p-40,  1 + 0x1p-11 - 0x1p-40, 1 + 0x1p-11,
                       -1 - 0x1p-11 - 0x1p-40, 0x1.ffep15 + 0x1p-20,  0x1p-25 + 0x1p-60};
    double want[] = {1 + 0x1p-10, 1, 1, -1 - 0x1p-10, INFINITY, 0x1p-24};
    double *v = elements(weft_cast(f->s, vector(f->s, WEFT_F64, 6, values), WEFT_F16));
    for (size_t i = 0; i < 6; i++)
        assert_close(v[i], want[i], 0, "f64 to f16", i);
    free(v);
    double near_bf16[] = {1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8};
    v = elements(weft_cast(f->s, vector(f->s, WEFT_F64, 2, near_bf16), WEFT_BF16));
    assert_true(v[0] == 1 + 0x1p-7 && v[1] == 1);
    free(v);
    int64_t n = 2, wide[] = {(INT64_C(1) << 62) + (INT64_C(1) << 54) + 1,
                             (INT64_C(1) << 62) + (INT64_C(1) << 54)};
    v = elements(
        weft_cast(f->s, weft_from_data(f->s, WEFT_I64, 1, &n, wide, sizeof wide), WEFT_BF16));
    assert_true(v[0] == 0x1p62 + 0x1p55 && v[1] == 0x1p62);
    free(v);
}

static void test_large_cast_goes_through_all_elements(void **state) {
    fixture *f = *state;
    int64_t dims[] = {301, 1003};
    weft_tensor *x = random_packed(f, WEFT_F32, 2, dims);
    weft_tensor *half = weft_cast(f->s, weft_tensor_transpose(f->s, x, 0, 1), WEFT_F16);
    weft_tensor *back = weft_tensor_transpose(f->s, weft_cast(f->s, half, WEFT_F32), 0, 1);
    scope_ok(f->s);
    double *vx = elements(x), *vy = elements(back);
    for (size_t i = 0; i < count_of(2, dims); i++)
        assert_close(vy[i], round_to(WEFT_F16, vx[i]), 0, "f16", i);
    free(vx), free(vy);
}

static void test_dequantize(void **state) {
    fixture *f = *state;
    static const weft_dtype types[] = {WEFT_Q4_0, WEFT_Q4_1, WEFT_Q5_0, WEFT_Q5_1,
                                       WEFT_Q8_0, WEFT_Q4_K, WEFT_Q5_K, WEFT_Q6_K};
    for (int t = 0; t < 8; t++) {
        int64_t dims[] = {2, 19, 512};
        size_t row = 512 / weft_dtype_block(types[t]) * weft_dtype_block_bytes(types[t]);
        unsigned char *data = malloc(38 * row);
        for (size_t i = 0; i < 38 * row; i++)
            data[i] = (unsigned char)(rng_next(&f->rng) & 0x3f); /* scales stay finite */
        weft_tensor *x = weft_from_data(f->s, types[t], 3, dims, data, 38 * row);
        weft_tensor *y = weft_dequantize(f->s, x);
        weft_tensor *part = weft_dequantize(f->s, weft_tensor_narrow(f->s, x, 2, 256, 256));
        scope_ok(f->s);
        double *v = elements(y), *p = elements(part);
        float want[512];
        for (size_t r = 0; r < 38; r++) {
            assert_true(weft_dequantize_row(types[t], data + r * row, 512, want));
            for (size_t c = 0; c < 512; c++)
                assert_close(v[r * 512 + c], want[c], 0, "dequantize", c);
            for (size_t c = 0; c < 256; c++)
                assert_close(p[r * 256 + c], want[256 + c], 0, "narrowed", c);
        }
        free(v), free(p), free(data);
        assert_weft_ok(weft_scope_reset(f->s));
    }
}

static void test_refusals(void **state) {
    fixture *f = *state;
    int64_t dims[] = {2, 256};
    scope_failed(f->s, weft_cast(f->s, random_packed(f, WEFT_F32, 2, dims), WEFT_Q4_0),
                 WEFT_E_DTYPE, "cast: f32", "q4_0");
    scope_failed(f->s, weft_cast(f->s, weft_zeros(f->s, WEFT_Q8_0, 2, dims), WEFT_F32),
                 WEFT_E_DTYPE, "cast", "q8_0");
    scope_failed(f->s, weft_dequantize(f->s, random_packed(f, WEFT_I32, 2, dims)), WEFT_E_DTYPE,
                 "dequantize", "i32");
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, setup_two_threads, teardown)
    const struct CMUnitTest tests[] = {
        T(test_every_pair_over_views),
        T(test_floats_saturate_and_nan_gives_zero),
        T(test_one_rounding),
        T(test_large_cast_goes_through_all_elements),
        T(test_dequantize),
        T(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
