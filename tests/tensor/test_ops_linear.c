/* Products with weights of every type: close to f64 by the stated rule, and the same bits for rows
 * and panels, for any number of threads and for any batch. */
#include "ops_test.h"
#include "tensor/kernels/panel.h"

static const weft_dtype types[] = {WEFT_F32,  WEFT_F16,  WEFT_BF16, WEFT_Q4_0, WEFT_Q4_1, WEFT_Q5_0,
                                   WEFT_Q5_1, WEFT_Q8_0, WEFT_Q4_K, WEFT_Q5_K, WEFT_Q6_K};
#define N_TYPES (sizeof types / sizeof types[0])

/* Random weights in the file's layout; scales are small and finite. */
static weft_tensor *random_weight(fixture *f, weft_dtype dtype, int64_t n_out, int64_t n_in) {
    int64_t dims[] = {n_out, n_in};
    if (!weft_dtype_is_quantized(dtype))
        return random_packed(f, dtype, 2, dims);
    size_t block = weft_dtype_block_bytes(dtype);
    size_t n = (size_t)(n_out * n_in) / weft_dtype_block(dtype);
    unsigned char *data = malloc(n * block + 1);
    bool has_min =
        dtype == WEFT_Q4_1 || dtype == WEFT_Q5_1 || dtype == WEFT_Q4_K || dtype == WEFT_Q5_K;
    for (size_t i = 0; i < n; i++) {
        for (size_t b = 0; b < block; b++)
            data[i * block + b] = (unsigned char)(rng_next(&f->rng) >> 20);
        for (size_t j = 0; j < (has_min ? 2u : 1u); j++) {
            uint16_t scale = weft_f32_to_f16((float)(rng_unit(&f->rng) * 0.01));
            memcpy(data + i * block + (dtype == WEFT_Q6_K ? 208 : 2 * j), &scale, 2);
        }
    }
    weft_tensor *t = weft_from_data(f->s, dtype, 2, dims, data, n * block);
    free(data);
    scope_ok(f->s);
    return t;
}

static weft_tensor *packed(fixture *f, weft_tensor *weight) {
    weft_tensor *panels = NULL;
    assert_weft_ok(weft_tensor_pack(f->engine, NULL, weight, &panels));
    return panels;
}

/* x [T, n_in] as the product sees it: rounded to int8 blocks unless weights or mode are float. */
static double *activations(fixture *f, weft_tensor *x, bool quantized) {
    size_t n_in = (size_t)weft_tensor_dim(x, -1), rows = (size_t)weft_tensor_numel(x) / n_in;
    double *v = elements(x);
    int8_t *q = malloc(n_in);
    float *row = malloc(n_in * sizeof *row), *d = malloc(n_in * sizeof *d);
    int32_t *sums = malloc(n_in * sizeof *sums);
    for (size_t r = 0; r < rows && quantized; r++) {
        for (size_t c = 0; c < n_in; c++)
            row[c] = (float)v[r * n_in + c];
        weft_scope_kernels(f->s)->quantize_q8(row, n_in, q, d, sums);
        for (size_t c = 0; c < n_in; c++)
            v[r * n_in + c] = (double)d[c / 32] * q[c];
    }
    free(q), free(row), free(d), free(sums);
    return v;
}

static void check_linear(fixture *f, weft_tensor *x, weft_tensor *w, weft_tensor *bias,
                         bool float_mode) {
    weft_tensor *y = weft_linear(f->s, x, w, bias), *wf = weft_dequantize(f->s, w);
    scope_ok(f->s);
    size_t n_in = (size_t)weft_tensor_dim(x, -1), n_out = (size_t)weft_tensor_dim(w, 0);
    assert_int_equal(weft_tensor_dtype(y), WEFT_F32);
    assert_int_equal(weft_tensor_dim(y, -1), n_out);
    double *a = activations(f, x, weft_dtype_is_quantized(weft_tensor_dtype(w)) && !float_mode);
    double *b = elements(wf), *r = elements(y), *c = bias ? elements(bias) : NULL;
    for (size_t i = 0; i < (size_t)weft_tensor_numel(y); i++) {
        double want = 0, size = 0;
        for (size_t k = 0; k < n_in; k++) {
            double p = a[i / n_out * n_in + k] * b[i % n_out * n_in + k];
            want += p;
            size += fabs(p);
        }
        want += c ? c[i % n_out] : 0;
        assert_close(r[i], want, 2e-6 * (size + 1), weft_dtype_name(weft_tensor_dtype(w)), i);
    }
    free(a), free(b), free(r), free(c);
}

static void test_close_to_f64(void **state) {
    (void)state;
    for (int mode = 0; mode < 3; mode++) {
        fixture *f =
            open_fixture(2, (weft_numbers[]){WEFT_NUMBERS_DEFAULT, WEFT_NUMBERS_REPRODUCIBLE,
                                             WEFT_NUMBERS_FLOAT}[mode]);
        for (size_t t = 0; t < N_TYPES; t++) {
            int64_t x_dims[] = {2, 3, 512}, n_out = 83;
            weft_tensor *x = random_packed(f, WEFT_F32, 3, x_dims);
            weft_tensor *w = random_weight(f, types[t], n_out, 512);
            weft_tensor *bias = random_packed(f, WEFT_F32, 1, &n_out), *panels = packed(f, w);
            check_linear(f, x, w, NULL, mode == 2);
            check_linear(f, x, panels, bias, mode == 2);
            weft_tensor_release(&panels);
            assert_weft_ok(weft_scope_reset(f->s));
        }
        close_fixture(f);
    }
}

static void test_same_bits_for_layouts_threads_and_batches(void **state) {
    (void)state;
    fixture *one = open_fixture(1, WEFT_NUMBERS_REPRODUCIBLE),
            *four = open_fixture(4, WEFT_NUMBERS_REPRODUCIBLE);
    for (size_t t = 0; t < N_TYPES; t++) {
        int64_t x_dims[] = {37, 768};
        weft_tensor *x = random_packed(one, WEFT_F32, 2, x_dims);
        weft_tensor *w = random_weight(one, types[t], 331, 768), *panels = packed(four, w);
        weft_tensor *y = weft_linear(one->s, x, w, NULL);
        assert_same_bits(weft_linear(one->s, x, panels, NULL), y);
        assert_same_bits(weft_linear(four->s, x, panels, NULL), y);
        assert_same_bits(weft_linear(four->s, x, w, NULL), y);
        for (size_t r = 0; r < 37; r += 6) {
            weft_tensor *row = weft_tensor_narrow(four->s, x, 0, r, 1);
            weft_tensor *want = weft_tensor_narrow(one->s, y, 0, r, 1);
            assert_same_bits(weft_linear(four->s, row, panels, NULL), want);
            assert_same_bits(weft_linear(one->s, row, w, NULL), want);
        }
        scope_ok(one->s);
        scope_ok(four->s);
        weft_tensor_release(&panels);
        assert_weft_ok(weft_scope_reset(four->s));
        assert_weft_ok(weft_scope_reset(one->s));
    }
    close_fixture(one);
    close_fixture(four);
}

/* Root mean square of y's distance to float64, in parts of y's own. */
static double error_of(weft_tensor *y, weft_tensor *x, weft_tensor *w, weft_scope *s) {
    size_t n_in = (size_t)weft_tensor_dim(x, -1), n_out = (size_t)weft_tensor_dim(w, 0);
    double *a = elements(x), *b = elements(weft_dequantize(s, w)), *r = elements(y);
    double wrong = 0, all = 0;
    for (size_t i = 0; i < (size_t)weft_tensor_numel(y); i++) {
        double want = 0;
        for (size_t k = 0; k < n_in; k++)
            want += a[i / n_out * n_in + k] * b[i % n_out * n_in + k];
        wrong += (r[i] - want) * (r[i] - want);
        all += want * want;
    }
    free(a), free(b), free(r);
    return sqrt(wrong / all);
}

/* What default mode may do from 32 rows on: at most the errors that docs/numerics.md states. The
 * same with bfloat16 for all types where the CPU has it. */
static void test_long_steps_in_default_mode(void **state) {
    (void)state;
    fixture *f = open_fixture(3, WEFT_NUMBERS_DEFAULT);
    fixture *exact = open_fixture(1, WEFT_NUMBERS_REPRODUCIBLE);
    const weft_kernels *k = weft_scope_kernels(f->s);
    double most[2] = {0, 0}, error;
    for (size_t t = 0; t < N_TYPES; t++)
        for (int64_t rows = 31; rows <= 530; rows += rows < 33 ? 1 : 497) {
            bool large = rows > 33; /* several parts of the columns, several tiles of rows */
            int64_t n_in = large ? 1536 : 512, n_out = large ? 37 : 83, x_dims[] = {rows, n_in};
            weft_tensor *x = random_packed(f, WEFT_F32, 2, x_dims);
            weft_tensor *w = random_weight(f, types[t], n_out, n_in), *panels = packed(f, w);
            weft_tensor *want = weft_linear(exact->s, x, panels, NULL);
            for (int always = 0; always < 2; always++) {
                f->engine->bf16_always = always;
                bool bf16 =
                    rows >= 32 && (weft_bf16_serves(k, types[t]) || (always && k->panel_bf16));
                weft_tensor *y = weft_linear(f->s, x, panels, NULL);
                scope_ok(f->s);
                assert_same_bits(weft_linear(f->s, x, w, NULL), y);
                if (!bf16)
                    assert_same_bits(y, want);
                error = error_of(y, x, w, f->s);
                bool int8 = !bf16 && weft_dtype_is_quantized(types[t]);
                assert_true(error < (bf16 ? 0.003 : int8 ? 0.006 : 1e-5));
                most[int8] = error > most[int8] ? error : most[int8];
            }
            weft_tensor_release(&panels);
            assert_weft_ok(weft_scope_reset(f->s));
            assert_weft_ok(weft_scope_reset(exact->s));
        }
    printf("greatest errors: bf16 %.4f, int8 %.4f\n", most[0], most[1]);
    close_fixture(f);
    close_fixture(exact);
}

static void test_many_rows_with_few_panels(void **state) {
    (void)state;
    fixture *f = open_fixture(4, WEFT_NUMBERS_REPRODUCIBLE);
    int64_t x_dims[] = {300, 256};
    for (size_t t = 0; t < N_TYPES; t += 3) {
        weft_tensor *x = random_packed(f, WEFT_F32, 2, x_dims),
                    *w = random_weight(f, types[t], 21, 256);
        check_linear(f, x, w, NULL, false);
        assert_weft_ok(weft_scope_reset(f->s));
    }
    close_fixture(f);
}

static void test_bias_is_added_with_one_rounding(void **state) {
    fixture *f = *state;
    int64_t x_dims[] = {5, 256}, n_out = 40;
    weft_tensor *x = random_packed(f, WEFT_F32, 2, x_dims),
                *w = random_weight(f, WEFT_Q4_1, n_out, 256);
    weft_tensor *bias = random_packed(f, WEFT_F32, 1, &n_out);
    assert_same_bits(weft_linear(f->s, x, w, bias),
                     weft_broadcast_add(f->s, weft_linear(f->s, x, w, NULL), bias));
    scope_ok(f->s);
}

static void test_views_of_x_weight_and_bias(void **state) {
    fixture *f = *state;
    weft_scope *s = f->s;
    int64_t wide[] = {3, 512, 4}, w_dims[] = {200, 600}, b_dims[] = {80};
    weft_tensor *x = weft_tensor_transpose(s, random_packed(f, WEFT_F32, 3, wide), 1, 2);
    weft_tensor *bias = weft_tensor_slice(s, random_packed(f, WEFT_F32, 1, b_dims), 0, 79, -1, -2);
    weft_tensor *w = random_packed(f, WEFT_F16, 2, w_dims); /* rows of a wider matrix */
    w = weft_tensor_narrow(s, weft_tensor_narrow(s, w, 1, 40, 512), 0, 60, 40);
    check_linear(f, x, w, bias, false);
    weft_tensor *turned = weft_tensor_transpose(s, random_weight(f, WEFT_F32, 512, 40), 0, 1);
    check_linear(f, x, turned, bias, false);
    weft_tensor *panels = packed(f, turned);
    assert_same_bits(weft_linear(s, x, panels, NULL), weft_linear(s, x, turned, NULL));
    weft_tensor_release(&panels);
    weft_tensor *last = weft_tensor_narrow(s, x, 2, 0, 512); /* rows at a stride */
    check_linear(f, last, w, NULL, false);
    check_linear(f, weft_cast(s, x, WEFT_F16), w, NULL, false);
    check_linear(f,
                 weft_tensor_expand(s, weft_tensor_narrow(s, weft_tensor_copy(s, x), 1, 1, 1), 3,
                                    (int64_t[]){3, 9, 512}),
                 w, NULL, false);

    /* Quantised: an inner range at block bounds, and whole panels of a packed weight. */
    weft_tensor *q = random_weight(f, WEFT_Q5_K, 64, 1024);
    check_linear(f, x, weft_tensor_narrow(s, weft_tensor_narrow(s, q, 1, 256, 512), 0, 3, 20), NULL,
                 false);
    panels = packed(f, random_weight(f, WEFT_Q4_0, 75, 512));
    weft_tensor *y = weft_linear(s, x, panels, NULL);
    assert_same_bits(weft_linear(s, x, weft_tensor_narrow(s, panels, 0, 16, 32), NULL),
                     weft_tensor_narrow(s, y, 2, 16, 32));
    scope_ok(s);
    weft_tensor_release(&panels);
}

static void test_several_at_once_are_the_same(void **state) {
    fixture *f = *state;
    weft_scope *s = f->s;
    int64_t x_dims[] = {3, 512}, n_out[] = {192, 33, 70};
    weft_tensor *x = random_packed(f, WEFT_F32, 2, x_dims), *w[3], *bias[3], *out[3];
    w[0] = packed(f, random_weight(f, WEFT_Q4_1, n_out[0], 512));
    w[1] = random_weight(f, WEFT_Q6_K, n_out[1], 512);
    w[2] = random_weight(f, WEFT_F16, n_out[2], 512);
    for (int i = 0; i < 3; i++)
        bias[i] = i == 1 ? NULL : random_packed(f, WEFT_F32, 1, &n_out[i]);
    assert_weft_ok(weft_linear_many(s, x, w, bias, 3, out));
    for (int i = 0; i < 3; i++)
        assert_same_bits(out[i], weft_linear(s, x, w[i], bias[i]));
    assert_weft_ok(weft_linear_many(s, x, w, NULL, 2, out));
    assert_same_bits(out[1], weft_linear(s, x, w[1], NULL));
    scope_ok(s);
    w[2] = w[1];
    w[1] = NULL;
    assert_int_equal(weft_linear_many(s, x, w, NULL, 3, out), WEFT_E_NULL);
    assert_true(out[0] == NULL && out[1] == NULL && out[2] == NULL);
    weft_tensor_release(&w[0]);
}

/* The gate within the product: bits of the two ops, for float and quantised weights. */
static void test_gated(void **state) {
    fixture *f = *state;
    static const weft_dtype of[] = {WEFT_F32, WEFT_F16, WEFT_Q4_1, WEFT_Q6_K};
    for (int round = 0; round < 24; round++) {
        weft_scope *s = f->s;
        weft_activation act = (weft_activation)(round % (WEFT_ACT_SWIGLU_CLAMPED + 1));
        int64_t n_in = round % 2 ? 512 : 2304, n_out = 19, dims[] = {1 + round % 5 * 11, 2 * n_in};
        weft_tensor *w = random_weight(f, of[round % 4], n_out, n_in);
        weft_tensor *bias = round % 3 ? NULL : random_packed(f, WEFT_F32, 1, &n_out);
        weft_tensor *both = random_packed(f, WEFT_F32, 2, dims);
        weft_tensor *gate = weft_tensor_narrow(s, both, 1, 0, (size_t)n_in);
        weft_tensor *up = weft_tensor_narrow(s, both, 1, (size_t)n_in, (size_t)n_in);
        if (round % 5 == 4) /* turned: columns are not neighbours */
            up = weft_tensor_transpose(
                s, weft_tensor_contiguous(s, weft_tensor_transpose(s, up, 0, 1)), 0, 1);
        weft_tensor *want = weft_linear(s, weft_gated(s, gate, up, act), w, bias);
        assert_same_bits(weft_gated_linear(s, gate, up, act, w, bias), want);
        weft_tensor *panels = packed(f, w);
        assert_same_bits(weft_gated_linear(s, gate, up, act, panels, bias), want);
        weft_tensor_release(&panels);
        scope_ok(s);
        assert_weft_ok(weft_scope_reset(s));
    }
    int64_t a[] = {2, 256}, b[] = {2, 255};
    weft_tensor *x = random_packed(f, WEFT_F32, 2, a), *w = random_weight(f, WEFT_F32, 3, 256);
    scope_failed(f->s, weft_gated_linear(f->s, x, random_packed(f, WEFT_F32, 2, b), 0, w, NULL),
                 WEFT_E_SHAPE, "gated_linear: shapes [2, 256] and [2, 255]", "dim 1");
}

/* The activation behind the product: bits of the two ops, for rows and panels, with a bias or not.
 */
static void test_activated(void **state) {
    fixture *f = *state;
    weft_scope *s = f->s;
    static const weft_dtype of[] = {WEFT_F32, WEFT_BF16, WEFT_Q4_0, WEFT_Q6_K};
    for (int round = 0; round < 20; round++) {
        weft_activation act = (weft_activation)(round % WEFT_ACT_SWIGLU_CLAMPED);
        int64_t n_in = 256, n_out = 35, dims[] = {1 + round % 3 * 20, n_in};
        weft_tensor *w = random_weight(f, of[round % 4], n_out, n_in), *panels = packed(f, w);
        weft_tensor *bias = round % 3 ? NULL : random_packed(f, WEFT_F32, 1, &n_out);
        weft_tensor *x = random_packed(f, WEFT_F32, 2, dims);
        weft_tensor *want = weft_activate(s, weft_linear(s, x, w, bias), act);
        assert_same_bits(weft_linear_act(s, x, w, bias, act), want);
        assert_same_bits(weft_linear_act(s, x, panels, bias, act), want);
        weft_tensor_release(&panels);
        scope_ok(s);
        assert_weft_ok(weft_scope_reset(s));
    }
    int64_t no_in[] = {3, 0}, empty[] = {2, 0};
    weft_tensor *bias = vector(s, WEFT_F32, 3, (double[]){1, -2, 0});
    weft_tensor *y = weft_linear_act(s, weft_zeros(s, WEFT_F32, 2, empty),
                                     weft_zeros(s, WEFT_F32, 2, no_in), bias, WEFT_ACT_RELU);
    float got[6];
    assert_weft_ok(weft_tensor_read(y, got, sizeof got));
    assert_memory_equal(got, ((float[]){1, 0, 0, 1, 0, 0}), sizeof got);
    scope_failed(s, weft_linear_act(s, y, y, NULL, WEFT_ACT_SWIGLU_CLAMPED), WEFT_E_ARGUMENT,
                 "linear_act: activation 6", "one input");
}

static void test_zero_extents(void **state) {
    fixture *f = *state;
    weft_scope *s = f->s;
    int64_t none[] = {0, 256}, empty[] = {2, 0}, no_in[] = {3, 0};
    weft_tensor *y = weft_linear(s, weft_zeros(s, WEFT_F32, 2, none),
                                 random_weight(f, WEFT_Q4_0, 20, 256), NULL);
    scope_ok(s);
    assert_true(weft_tensor_dim(y, 0) == 0 && weft_tensor_dim(y, 1) == 20);
    weft_tensor *bias = vector(s, WEFT_F32, 3, (double[]){1, 2, 3});
    double *v = elements(
        weft_linear(s, weft_zeros(s, WEFT_F32, 2, empty), weft_zeros(s, WEFT_F32, 2, no_in), bias));
    assert_true(v[0] == 1 && v[5] == 3);
    free(v);
}

static void test_refusals(void **state) {
    fixture *f = *state;
    weft_scope *s = f->s;
    int64_t x_dims[] = {2, 256}, short_bias = 9;
#define X random_packed(f, WEFT_F32, 2, x_dims)
    scope_failed(s, weft_linear(s, X, random_weight(f, WEFT_F32, 4, 255), NULL), WEFT_E_SHAPE,
                 "linear: x [2, 256] and weight [4, 255]", "dim 1");
    scope_failed(s, weft_linear(s, X, X, random_packed(f, WEFT_F32, 1, &short_bias)), WEFT_E_SHAPE,
                 "bias [9]", "weight [2, 256]");
    scope_failed(s, weft_linear(s, X, random_packed(f, WEFT_I32, 2, x_dims), NULL), WEFT_E_DTYPE,
                 "linear", "i32");
    scope_failed(s, weft_linear(s, X, weft_zeros(s, WEFT_Q8_K, 2, x_dims), NULL),
                 WEFT_E_UNSUPPORTED, "linear", "q8_K");
    scope_failed(s, weft_linear(s, random_packed(f, WEFT_I32, 2, x_dims), X, NULL), WEFT_E_DTYPE,
                 "linear", "i32");
    scope_failed(s, weft_linear(s, X, NULL, NULL), WEFT_E_NULL, "linear", "");
    weft_tensor *out = NULL;
    assert_weft_fails(weft_tensor_pack(f->engine, NULL, weft_zeros(s, WEFT_I32, 2, x_dims), &out),
                      WEFT_E_UNSUPPORTED);
    assert_detail_has("i32 [2, 256]");
    weft_tensor *panels = packed(f, X);
    assert_weft_fails(weft_tensor_pack(f->engine, NULL, panels, &out), WEFT_E_LAYOUT);
    scope_failed(s, weft_add(s, panels, panels), WEFT_E_LAYOUT, "add", "panels");
    weft_tensor_release(&panels);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, setup_two_threads, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_close_to_f64),
        cmocka_unit_test(test_same_bits_for_layouts_threads_and_batches),
        cmocka_unit_test(test_long_steps_in_default_mode),
        cmocka_unit_test(test_many_rows_with_few_panels),
        T(test_bias_is_added_with_one_rounding),
        T(test_views_of_x_weight_and_bias),
        T(test_several_at_once_are_the_same),
        T(test_gated),
        T(test_activated),
        T(test_zero_extents),
        T(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
