/* Elementwise ops: numpy's arithmetic over any strides, with integers that wrap and NaN that stays.
 */
#include "ops_test.h"

typedef weft_tensor *(*binary_op)(weft_scope *, weft_tensor *, weft_tensor *);

static double reference(int op, weft_dtype dtype, double a, double b) {
    double r = op == 0 ? a + b : op == 1 ? a - b : op == 2 ? a * b : a / b;
    if (weft_dtype_is_float(dtype))
        return round_to(dtype, (float)r);
    r = trunc(r);
    return dtype == WEFT_U8 ? fmod(fmod(r, 256) + 256, 256) : r;
}

static void test_binary_over_random_views(void **state) {
    fixture *f = *state;
    static const binary_op plain[] = {weft_add, weft_sub, weft_mul, weft_div};
    static const weft_dtype types[] = {WEFT_F32, WEFT_F16, WEFT_BF16, WEFT_I32, WEFT_I64, WEFT_U8};
    for (int round = 0; round < 400; round++) {
        int64_t dims[WEFT_MAX_RANK];
        int rank = random_shape(f, dims), op = round % 4;
        weft_dtype dtype = types[round / 4 % 6];
        weft_tensor *a = random_view(f, dtype, rank, dims), *b = random_view(f, dtype, rank, dims);
        if (op == 3 && !weft_dtype_is_float(dtype))
            b = weft_clamp(f->s, b, 1, 100);
        weft_tensor *y = plain[op](f->s, a, b);
        scope_ok(f->s);
        assert_true(weft_tensor_is_contiguous(y));
        assert_int_equal(weft_tensor_dtype(y), dtype);
        double *va = elements(a), *vb = elements(b), *vy = elements(y);
        for (size_t i = 0; i < count_of(rank, dims); i++)
            assert_close(vy[i], reference(op, dtype, va[i], vb[i]), 0, "binary", i);
        free(va), free(vb), free(vy);
        assert_weft_ok(weft_scope_reset(f->s));
    }
}

static void test_broadcast_follows_numpy(void **state) {
    fixture *f = *state;
    static const binary_op ops[] = {weft_broadcast_add, weft_broadcast_sub, weft_broadcast_mul,
                                    weft_broadcast_div};
    for (int round = 0; round < 200; round++) {
        int64_t dims[WEFT_MAX_RANK], part[2][WEFT_MAX_RANK];
        int rank = random_shape(f, dims), ranks[2];
        weft_tensor *in[2], *wide[2];
        for (int i = 0; i < 2; i++) { /* drop leading dims of one, set some extents to 1 */
            int drop = i == round % 2 && rank > 0 ? (int)rng_below(&f->rng, rank) : 0;
            ranks[i] = rank - drop;
            for (int d = 0; d < ranks[i]; d++) {
                bool one = i == round % 2 && rng_below(&f->rng, 3) == 0 && dims[d + drop] > 0;
                part[i][d] = one ? 1 : dims[d + drop];
            }
            in[i] = random_view(f, WEFT_F32, ranks[i], part[i]);
            wide[i] = weft_tensor_expand(f->s, in[i], rank, dims);
        }
        weft_tensor *y = ops[round % 4](f->s, in[0], in[1]);
        scope_ok(f->s);
        assert_int_equal(weft_tensor_rank(y), rank);
        double *va = elements(wide[0]), *vb = elements(wide[1]), *vy = elements(y);
        for (size_t i = 0; i < count_of(rank, dims); i++)
            assert_close(vy[i], reference(round % 4, WEFT_F32, va[i], vb[i]), 0, "broadcast", i);
        free(va), free(vb), free(vy);
        assert_weft_ok(weft_scope_reset(f->s));
    }
}

static void test_large_transposed_sum_of_two(void **state) {
    fixture *f = *state;
    int64_t dims[] = {517, 390}, turned[] = {390, 517};
    weft_tensor *a = weft_tensor_transpose(f->s, random_packed(f, WEFT_F32, 2, turned), 0, 1);
    weft_tensor *b = random_packed(f, WEFT_F32, 2, dims), *y = weft_add(f->s, a, b);
    scope_ok(f->s);
    double *va = elements(a), *vb = elements(b), *vy = elements(y);
    for (size_t i = 0; i < count_of(2, dims); i++)
        assert_close(vy[i], (float)(va[i] + vb[i]), 0, "a^T + b", i);
    free(va), free(vb), free(vy);
}

static void test_integers_wrap_and_never_trap(void **state) {
    fixture *f = *state;
    int64_t n = 3;
    int32_t low[] = {INT32_MIN, INT32_MAX, -7}, minus[] = {-1, 1, 2}, got[3];
    weft_tensor *a = weft_from_data(f->s, WEFT_I32, 1, &n, low, sizeof low);
    weft_tensor *b = weft_from_data(f->s, WEFT_I32, 1, &n, minus, sizeof minus);
    assert_weft_ok(weft_tensor_read(weft_div(f->s, a, b), got, sizeof got));
    assert_true(got[0] == INT32_MIN && got[1] == INT32_MAX && got[2] == -3);
    assert_weft_ok(weft_tensor_read(weft_add(f->s, a, b), got, sizeof got));
    assert_true(got[0] == INT32_MAX && got[1] == INT32_MIN && got[2] == -5);
    assert_weft_ok(weft_tensor_read(weft_mul(f->s, a, a), got, sizeof got));
    assert_true(got[0] == 0 && got[1] == 1 && got[2] == 49);
    assert_weft_ok(weft_tensor_read(weft_neg(f->s, a), got, sizeof got));
    assert_true(got[0] == INT32_MIN && got[1] == -INT32_MAX && got[2] == 7);

    int64_t big[] = {INT64_MIN, INT64_MAX, 5}, ones[] = {-1, 2, 3}, wide[3];
    a = weft_from_data(f->s, WEFT_I64, 1, &n, big, sizeof big);
    b = weft_from_data(f->s, WEFT_I64, 1, &n, ones, sizeof ones);
    assert_weft_ok(weft_tensor_read(weft_div(f->s, a, b), wide, sizeof wide));
    assert_true(wide[0] == INT64_MIN && wide[1] == INT64_MAX / 2 && wide[2] == 1);
    assert_weft_ok(weft_tensor_read(weft_mul(f->s, a, b), wide, sizeof wide));
    assert_true(wide[0] == INT64_MIN && wide[1] == -2 && wide[2] == 15);

    uint8_t x[] = {255, 0, 255}, y[] = {1, 1, 255}, small[3];
    a = weft_from_data(f->s, WEFT_U8, 1, &n, x, sizeof x);
    b = weft_from_data(f->s, WEFT_U8, 1, &n, y, sizeof y);
    assert_weft_ok(weft_tensor_read(weft_add(f->s, a, b), small, sizeof small));
    assert_true(small[0] == 0 && small[1] == 1 && small[2] == 254);
    assert_weft_ok(weft_tensor_read(weft_sub(f->s, a, b), small, sizeof small));
    assert_true(small[0] == 254 && small[1] == 255 && small[2] == 0);
    assert_weft_ok(weft_tensor_read(weft_mul(f->s, a, b), small, sizeof small));
    assert_true(small[0] == 255 && small[1] == 0 && small[2] == 1);
}

static void test_division_by_zero_is_an_error(void **state) {
    fixture *f = *state;
    weft_tensor *a = vector(f->s, WEFT_I32, 3, (double[]){1, 2, 3});
    weft_tensor *b = vector(f->s, WEFT_I32, 3, (double[]){1, 0, 3});
    scope_failed(f->s, weft_div(f->s, a, b), WEFT_E_DIVISION, "div", "[3]");
    a = vector(f->s, WEFT_F32, 2, (double[]){1, 0});
    b = vector(f->s, WEFT_F32, 2, (double[]){0, 0});
    double *v = elements(weft_div(f->s, a, b));
    assert_true(isinf(v[0]) && isnan(v[1])); /* floats follow IEEE 754 */
    free(v);
}

static void test_nan_stays(void **state) {
    fixture *f = *state;
    weft_tensor *x = vector(f->s, WEFT_F32, 4, (double[]){NAN, -3, 3, -INFINITY});
    double *r = elements(weft_relu(f->s, x)), *c = elements(weft_clamp(f->s, x, -1, 2));
    assert_true(isnan(r[0]) && r[1] == 0 && r[2] == 3 && r[3] == 0);
    assert_true(isnan(c[0]) && c[1] == -1 && c[2] == 2 && c[3] == -1);
    free(r), free(c);
}

static void test_parameters(void **state) {
    fixture *f = *state;
    weft_tensor *x = vector(f->s, WEFT_F32, 3, (double[]){-1, 0.5, 4});
    double *v = elements(weft_affine(f->s, x, 2, 3));
    assert_true(v[0] == 1 && v[1] == 4 && v[2] == 11);
    free(v);
    weft_tensor *i = vector(f->s, WEFT_U8, 3, (double[]){0, 100, 255});
    v = elements(weft_affine(f->s, i, 2, -1));
    assert_true(v[0] == 255 && v[1] == 199 && v[2] == 253);
    free(v);
    v = elements(weft_clamp(f->s, i, -5.5, 99.5));
    assert_true(v[0] == 0 && v[1] == 99 && v[2] == 99);
    free(v);
    v = elements(weft_clamp(f->s, i, 300, 400)); /* bounds saturate */
    assert_true(v[0] == 255 && v[2] == 255);
    free(v);
    scope_failed(f->s, weft_affine(f->s, i, 0.5, 0), WEFT_E_ARGUMENT, "affine", "0.5");
    x = vector(f->s, WEFT_F32, 1, (double[]){1});
    scope_failed(f->s, weft_clamp(f->s, x, 2, 1), WEFT_E_ARGUMENT, "clamp", "2");
    x = vector(f->s, WEFT_F32, 1, (double[]){1});
    scope_failed(f->s, weft_clamp(f->s, x, NAN, 1), WEFT_E_ARGUMENT, "clamp", "nan");
}

static double silu(double x) {
    return x / (1 + exp(-x));
}
static double gelu_tanh(double x) {
    return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}
static double gelu_erf(double x) {
    return 0.5 * x * (1 + erf(x / sqrt(2)));
}

static void test_functions(void **state) {
    fixture *f = *state;
    static const struct {
        weft_tensor *(*op)(weft_scope *, weft_tensor *);
        double (*reference)(double);
    } ops[] = {{weft_exp, exp},
               {weft_tanh, tanh},
               {weft_silu, silu},
               {weft_gelu_tanh, gelu_tanh},
               {weft_gelu_erf, gelu_erf}};
    static const weft_dtype types[] = {WEFT_F32, WEFT_F16, WEFT_BF16};
    static const double tolerances[] = {2e-6, 1e-3, 8e-3};
    for (int round = 0; round < 150; round++) {
        int64_t dims[WEFT_MAX_RANK];
        int rank = random_shape(f, dims), op = round % 5, type = round / 5 % 3;
        weft_tensor *x = random_view(f, types[type], rank, dims), *y = ops[op].op(f->s, x);
        scope_ok(f->s);
        double *vx = elements(x), *vy = elements(y);
        for (size_t i = 0; i < count_of(rank, dims); i++) {
            double want = ops[op].reference(vx[i]);
            assert_close(vy[i], want, tolerances[type] * (1 + fabs(want)), "function", i);
        }
        free(vx), free(vy);
        assert_weft_ok(weft_scope_reset(f->s));
    }
}

static void test_refusals_name_op_shapes_and_dim(void **state) {
    fixture *f = *state;
    weft_scope *s = f->s;
    int64_t a_dims[] = {2, 3}, b_dims[] = {3, 2}, c_dims[] = {4, 3}, big[] = {2, 256};
#define A random_packed(f, WEFT_F32, 2, a_dims)
#define B random_packed(f, WEFT_F32, 2, b_dims)
#define C random_packed(f, WEFT_F32, 2, c_dims)
    scope_failed(s, weft_add(s, A, B), WEFT_E_SHAPE, "add: shapes [2, 3] and [3, 2]", "dim 0");
    scope_failed(s, weft_sub(s, A, vector(s, WEFT_F32, 3, (double[]){1, 2, 3})), WEFT_E_SHAPE,
                 "sub: shapes [2, 3] and [3]", "rank");
    scope_failed(s, weft_broadcast_mul(s, A, C), WEFT_E_SHAPE, "broadcast_mul: shapes [2, 3]",
                 "dim -2 (2 and 4)");
    scope_failed(s, weft_add(s, A, random_packed(f, WEFT_I32, 2, a_dims)), WEFT_E_DTYPE, "f32",
                 "i32");
    scope_failed(s, weft_add(s, random_packed(f, WEFT_BOOL, 2, a_dims), A), WEFT_E_DTYPE, "bool",
                 "add");
    scope_failed(s, weft_exp(s, random_packed(f, WEFT_I32, 2, a_dims)), WEFT_E_DTYPE, "exp", "i32");
    scope_failed(s, weft_neg(s, weft_zeros(s, WEFT_Q8_0, 2, big)), WEFT_E_DTYPE, "neg", "q8_0");
    scope_failed(s, weft_add(s, A, NULL), WEFT_E_NULL, "add", "");
    /* Sticky: the first error stays, and later ops do nothing. */
    assert_null(weft_add(s, A, B));
    assert_null(weft_mul(s, NULL, NULL));
    assert_int_equal(weft_scope_status(s), WEFT_E_SHAPE);
    assert_weft_ok(weft_scope_reset(s));
}

static void test_results_are_fresh_and_inputs_unchanged(void **state) {
    fixture *f = *state;
    int64_t none[] = {0, 3};
    weft_tensor *e = weft_zeros(f->s, WEFT_F32, 2, none), *y = weft_add(f->s, e, e);
    scope_ok(f->s);
    assert_true(weft_tensor_id(y) != weft_tensor_id(e));
    assert_int_equal(weft_tensor_dim(y, 1), 3);
    weft_tensor *x = vector(f->s, WEFT_F32, 2, (double[]){1, 2});
    y = weft_affine(f->s, x, 1, 0);
    assert_false(weft_tensor_same_storage(x, y));
    assert_int_equal(weft_tensor_storage_version(x), 0);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, setup_two_threads, teardown)
    const struct CMUnitTest tests[] = {
        T(test_binary_over_random_views),
        T(test_broadcast_follows_numpy),
        T(test_large_transposed_sum_of_two),
        T(test_integers_wrap_and_never_trap),
        T(test_division_by_zero_is_an_error),
        T(test_nan_stays),
        T(test_parameters),
        T(test_functions),
        T(test_refusals_name_op_shapes_and_dim),
        T(test_results_are_fresh_and_inputs_unchanged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
