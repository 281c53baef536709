/* What is wrong is said: each family of ops refuses wrong shapes, types, axes and indices with the
 * right status and a detail that names the op, the shapes and the dim or index. */
#include "tensor_test.h"

typedef struct inputs {
    weft_scope *s;
    weft_tensor *m23, *m24, *m32, *v3, *i23, *half; /* f32 [2, 3] …, i64 [2, 3], f16 [2, 3] */
    weft_tensor *yes;                               /* bool [2, 3] */
    weft_tensor *ids, *far;                         /* i64 [2]: 0 1, and 0 7 */
    weft_tensor *empty;                             /* f32 [2, 0] */
} inputs;

static inputs make_inputs(weft_scope *s) {
    static const int64_t good[] = {0, 1}, bad[] = {0, 7};
    return (inputs){.s = s,
                    .m23 = iota(s, 2, 3),
                    .m24 = iota(s, 2, 4),
                    .m32 = iota(s, 3, 2),
                    .v3 = iota(s, 3),
                    .i23 = weft_full(s, WEFT_I64, 2, DIMS(2, 3), 4),
                    .half = weft_full(s, WEFT_F16, 2, DIMS(2, 3), 4),
                    .yes = weft_full(s, WEFT_BOOL, 2, DIMS(2, 3), 1),
                    .ids = weft_from_data(s, WEFT_I64, 1, DIMS(2), good, sizeof good),
                    .far = weft_from_data(s, WEFT_I64, 1, DIMS(2), bad, sizeof bad),
                    .empty = zeros(s, 2, 0)};
}

/* The scope failed so, and its detail has every one of the parts, the op's name first. */
static void assert_said(weft_scope *s, int line, weft_status status, const char *const *parts) {
    const char *detail = weft_scope_detail(s);
    if (weft_scope_status(s) != status)
        fail_msg("line %d: %s (%s), not %s", line, weft_status_name(weft_scope_status(s)), detail,
                 weft_status_name(status));
    if (strncmp(detail, parts[0], strlen(parts[0])) != 0)
        fail_msg("line %d: '%s' does not begin with '%s'", line, detail, parts[0]);
    for (size_t i = 1; parts[i]; i++)
        if (!strstr(detail, parts[i]))
            fail_msg("line %d: '%s' does not mention '%s'", line, detail, parts[i]);
    assert_weft_ok(weft_scope_reset(s));
}

#define says(call, status, ...)                                                                    \
    do {                                                                                           \
        inputs in = make_inputs(s);                                                                \
        assert_weft_ok(weft_scope_status(s));                                                      \
        assert_null(call);                                                                         \
        assert_said(s, __LINE__, status, (const char *const[]){__VA_ARGS__, NULL});                \
    } while (0)

#define says_status(call, status, ...)                                                             \
    do {                                                                                           \
        inputs in = make_inputs(s);                                                                \
        assert_weft_ok(weft_scope_status(s));                                                      \
        assert_weft_fails(call, status);                                                           \
        assert_said(s, __LINE__, status, (const char *const[]){__VA_ARGS__, NULL});                \
    } while (0)

static void maps(void **state) {
    weft_scope *s = ((bench *)*state)->heap;
    says(weft_add(s, in.m23, in.m24), WEFT_E_SHAPE, "add: ", "[2, 3]", "[2, 4]", "dim 1",
         "3 and 4");
    says(weft_mul(s, in.m23, in.v3), WEFT_E_SHAPE, "mul: ", "[2, 3]", "[3]", "rank");
    says(weft_broadcast_sub(s, in.m23, in.m32), WEFT_E_SHAPE, "broadcast_sub: ", "[2, 3]", "[3, 2]",
         "dim");
    says(weft_div(s, in.m23, in.half), WEFT_E_DTYPE, "div: ", "f32", "f16");
    says(weft_pow(s, in.i23, in.i23), WEFT_E_DTYPE, "pow: ", "i64");
    says(weft_div_scalar(s, in.i23, 0), WEFT_E_DIVISION, "div");
    says(weft_add_scalar(s, in.i23, 0.5), WEFT_E_ARGUMENT, "add", "0.5");
    says(weft_lt(s, in.m23, in.m32), WEFT_E_SHAPE, "lt: ", "[2, 3]", "[3, 2]", "dim 0");
    says(weft_logical_and(s, in.m23, in.yes), WEFT_E_DTYPE, "logical_and: ", "f32");
    says(weft_exp(s, in.i23), WEFT_E_DTYPE, "exp: ", "i64");
    says(weft_logical_not(s, in.m23), WEFT_E_DTYPE, "logical_not: ", "f32");
    says(weft_where(s, in.yes, in.m23, in.m24), WEFT_E_SHAPE, "where: ", "[2, 3]", "[2, 4]",
         "dim 1");
    says(weft_where(s, in.m23, in.m23, in.m23), WEFT_E_DTYPE, "where: ", "f32", "bool");
    says(weft_masked_fill(s, in.m24, in.yes, 0), WEFT_E_SHAPE, "masked_fill: ", "[2, 4]", "[2, 3]");
    says(weft_cast(s, in.m23, WEFT_Q8_0), WEFT_E_DTYPE, "cast: ", "q8_0");
}

static void reductions_and_order(void **state) {
    weft_scope *s = ((bench *)*state)->heap;
    says(weft_sum(s, in.m23, 2, false), WEFT_E_RANGE, "sum: ", "axis 2", "[2, 3]");
    says(weft_max(s, in.m23, -3, false), WEFT_E_RANGE, "max: ", "axis -3", "[2, 3]");
    says(weft_mean(s, in.i23, 0, false), WEFT_E_DTYPE, "mean: ", "i64");
    says(weft_argmax(s, in.empty, 1, false), WEFT_E_EMPTY, "argmax: ", "[2, 0]");
    says(weft_any(s, in.m23, 0, false), WEFT_E_DTYPE, "any: ", "f32");
    says(weft_sum_dims(s, in.m23, (int[]){0, 0}, 2, false), WEFT_E_ARGUMENT,
         "sum_dims: ", "axis 0");
    says(weft_var_dims(s, in.m23, 1, (int[]){5}, 1, false), WEFT_E_RANGE, "var_dims: ", "axis 5");
    says(weft_cumsum(s, in.m23, 2), WEFT_E_RANGE, "cumsum: ", "axis 2", "[2, 3]");
    says(weft_sort(s, in.m23, 2, true), WEFT_E_RANGE, "sort: ", "axis 2", "[2, 3]");
    weft_tensor *values;
    says_status(weft_topk(s, in.m23, 1, 4, &values, NULL), WEFT_E_RANGE, "topk: ", "4", "[2, 3]");
    says(weft_histogram(s, in.m23, 0, 0, 1), WEFT_E_ARGUMENT, "histogram: ", "0");
    bool close;
    says_status(weft_allclose(s, in.m23, in.m24, 0, 0, false, &close), WEFT_E_SHAPE,
                "allclose: ", "[2, 3]", "[2, 4]", "dim 1");
}

static void neural_and_matrix(void **state) {
    weft_scope *s = ((bench *)*state)->heap;
    says(weft_softmax(s, in.m23, 2), WEFT_E_RANGE, "softmax: ", "axis 2", "[2, 3]");
    says(weft_log_softmax(s, in.i23, 1), WEFT_E_DTYPE, "log_softmax: ", "i64");
    says(weft_rms_norm(s, in.m24, in.v3, 0), WEFT_E_SHAPE, "rms_norm: ", "[3]", "4");
    says(weft_layer_norm(s, in.m24, in.v3, NULL, 0), WEFT_E_SHAPE, "layer_norm: ", "[3]", "4");
    says(weft_linear(s, in.m24, in.m23, NULL), WEFT_E_SHAPE, "linear: ", "[2, 4]", "[2, 3]");
    says(weft_linear(s, in.m23, in.m23, in.v3), WEFT_E_SHAPE, "linear: ", "[3]");
    says(weft_cross_entropy(s, in.m23, in.far), WEFT_E_RANGE, "cross_entropy: ", "7");
    says(weft_cross_entropy(s, in.m32, in.ids), WEFT_E_SHAPE, "cross_entropy: ", "[3, 2]", "[2]");
    says(weft_scaled_dot_product_attention(s, in.m23, in.m23, in.m24, NULL, 0, false, 0),
         WEFT_E_SHAPE, "scaled_dot_product_attention: ", "[2, 3]");
    says(weft_dropout(s, in.m23, 1.5, 0), WEFT_E_ARGUMENT, "dropout: ", "1.5");
    says(weft_max_pool1d(s, in.m23, 4, 1), WEFT_E_RANGE, "max_pool1d: ", "4");
    says(weft_matmul(s, in.m23, in.m24), WEFT_E_SHAPE, "matmul: ", "[2, 3]", "[2, 4]", "3 and 2");
    says(weft_matmul(s, in.m23, in.half), WEFT_E_DTYPE, "matmul: ", "f32", "f16");
    says(weft_outer(s, in.v3, in.m23), WEFT_E_SHAPE, "outer: ", "[3]", "[2, 3]");
    says(weft_einsum(s, "ij,jk->ik", in.m23, in.m24), WEFT_E_SHAPE, "einsum: ", "[2, 3]", "[2, 4]",
         "j");
    says(weft_einsum(s, "ij,jk", in.m23, in.m32), WEFT_E_ARGUMENT, "einsum: ", "ij,jk");
}

static void indices(void **state) {
    weft_scope *s = ((bench *)*state)->heap;
    says(weft_index_select(s, in.m23, 0, in.far), WEFT_E_RANGE, "index_select: ", "7", "2");
    says(weft_index_select(s, in.m23, 2, in.ids), WEFT_E_RANGE, "index_select: ", "axis 2");
    says(weft_index_select(s, in.m23, 0, in.v3), WEFT_E_DTYPE, "index_select: ", "f32");
    says(weft_gather(s, in.m23, 1, in.i23), WEFT_E_RANGE, "gather: ", "4", "dim 1");
    says(weft_gather(s, in.m23, 1, in.ids), WEFT_E_SHAPE, "gather: ", "[2]", "[2, 3]");
    says(weft_scatter(s, in.m23, 1, in.i23, in.m23), WEFT_E_RANGE, "scatter: ", "4", "dim 1");
    says(weft_scatter_add(s, in.m23, 0, in.i23, in.half), WEFT_E_DTYPE, "scatter_add: ", "f16");
    says(weft_index_put(s, in.m23, in.far, in.v3, false), WEFT_E_SHAPE, "index_put: ", "[2, 3]",
         "[2]", "[3]");
    says(weft_masked_select(s, in.m24, in.yes), WEFT_E_SHAPE, "masked_select: ", "[2, 4]", "[2, 3]",
         "dim 1");
    says(weft_concat(s, (weft_tensor *[]){in.m23, in.m24}, 2, 0), WEFT_E_SHAPE,
         "concat: ", "[2, 3]", "[2, 4]", "list[1]");
    says(weft_stack(s, (weft_tensor *[]){in.m23, in.m24}, 2, 0), WEFT_E_SHAPE, "stack: ", "[2, 3]",
         "[2, 4]");
    says(weft_flip(s, in.m23, 2), WEFT_E_RANGE, "flip: ", "axis 2", "[2, 3]");
    says(weft_roll(s, in.m23, -3, 1), WEFT_E_RANGE, "roll: ", "axis -3", "[2, 3]");
    says(weft_repeat(s, in.m23, 2, 2), WEFT_E_RANGE, "repeat: ", "axis 2", "[2, 3]");
    says(weft_pad(s, in.m23, DIMS(0, -1), DIMS(0, 0), 0), WEFT_E_RANGE, "pad: ", "-1", "dim 1");
    says(weft_tril(s, in.v3, 0), WEFT_E_SHAPE, "tril: ", "[3]");
    says(weft_one_hot(s, in.far, 2, WEFT_F32), WEFT_E_RANGE, "one_hot: ", "7", "2");
}

static void views_and_creation(void **state) {
    weft_scope *s = ((bench *)*state)->heap;
    says(weft_tensor_narrow(s, in.m23, 1, 2, 2), WEFT_E_RANGE, "narrow: ", "3");
    says(weft_tensor_select(s, in.m23, 0, 2), WEFT_E_RANGE, "select: ", "2");
    says(weft_tensor_transpose(s, in.m23, 0, 2), WEFT_E_RANGE, "transpose: ", "axis 2", "[2, 3]");
    says(weft_tensor_reshape(s, in.m23, 1, DIMS(5)), WEFT_E_SHAPE, "reshape: ", "[5]", "6");
    says(weft_tensor_expand(s, in.m23, 2, DIMS(4, 3)), WEFT_E_SHAPE, "expand: ", "[2, 3]",
         "[4, 3]");
    says(weft_tensor_squeeze(s, in.m23, 0), WEFT_E_SHAPE, "squeeze: ", "[2, 3]");
    says(weft_tensor_unfold(s, in.m23, 1, 4, 1), WEFT_E_RANGE, "unfold: ", "4");
    says(weft_tensor_diagonal(s, in.m23, 0, 1, 1), WEFT_E_ARGUMENT, "diagonal: ");
    says(weft_zeros(in.s, WEFT_F32, 2, DIMS(1, -1)), WEFT_E_SHAPE, "zeros: ", "[1, -1]");
    says(weft_linspace(in.s, WEFT_I32, 3, 0, 1), WEFT_E_DTYPE, "linspace: ", "i32");
    says(weft_random_normal(in.s, WEFT_U8, 1, DIMS(2), 0, 1, 1), WEFT_E_DTYPE,
         "random_normal: ", "u8");
    says_status(weft_slice_set(s, in.m23, in.m24, 0, 0), WEFT_E_SHAPE, "slice_set: ", "[2, 3]",
                "[2, 4]");
    says_status(weft_slice_set(s, in.m23, iota(s, 1, 3), 0, 2), WEFT_E_RANGE, "slice_set: ", "2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        bench_test(maps),    bench_test(reductions_and_order), bench_test(neural_and_matrix),
        bench_test(indices), bench_test(views_and_creation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
