/* Ops: each borrows its inputs, never changes them, and returns a fresh tensor owned by the scope,
 * or NULL with the scope's status set (those that give a status return it as well). Any strides are
 * accepted. Types: "float" is f64, f32, f16, bf16; "half" f32, f16, bf16; "number" these and i64,
 * i32, i16, i8, u8; "any" also bool. f16 and bf16 compute in f32 or wider and round once. Axes may
 * be negative. Shapes stand beside each op; B… are any leading dims.
 *
 * Written by src/tensor/make_ops.py from ops.table; docs/ops.md is the list. */
#ifndef WEFT_OPS_H
#define WEFT_OPS_H

#include <weft/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Creation ---- Contiguous results of the given dims. Random numbers come from a counter
 * (Philox4x32-10, Salmon et al. 2011; docs/ops.md): element i depends on seed and i alone,
 * whatever the machine and threads. */

/* ones. Any */
WEFT_API weft_tensor *weft_ones(weft_scope *s, weft_dtype dtype, int rank, const int64_t *dims);
/* n equal steps, both ends included. Float; [n] */
WEFT_API weft_tensor *weft_linspace(weft_scope *s, weft_dtype dtype, int64_t n, double start,
                                    double stop);
/* ones on the diagonal, zeros elsewhere. Any; [rows, cols] */
WEFT_API weft_tensor *weft_eye(weft_scope *s, weft_dtype dtype, int64_t rows, int64_t cols);
/* uniform in [low, high). Float */
WEFT_API weft_tensor *weft_random_uniform(weft_scope *s, weft_dtype dtype, int rank,
                                          const int64_t *dims, double low, double high,
                                          uint64_t seed);
/* normal (Box and Muller 1958). Float */
WEFT_API weft_tensor *weft_random_normal(weft_scope *s, weft_dtype dtype, int rank,
                                         const int64_t *dims, double mean, double std,
                                         uint64_t seed);
/* 0 … n - 1 in random order. I64; [n] */
WEFT_API weft_tensor *weft_random_permutation(weft_scope *s, int64_t n, uint64_t seed);

/* ---- Arithmetic ---- Two tensors of one type. Plain spellings want equal shapes, broadcast_ ones
 * apply numpy's rule, _scalar ones take a number for the second, which must be a whole number of
 * the type for integers. Integers wrap; an integer divisor of 0 is WEFT_E_DIVISION. NaN
 * propagates. */

/* a + b. Number */
WEFT_API weft_tensor *weft_add(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_broadcast_add(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_add_scalar(weft_scope *s, weft_tensor *x, double value);
/* a - b. Number */
WEFT_API weft_tensor *weft_sub(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_broadcast_sub(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_sub_scalar(weft_scope *s, weft_tensor *x, double value);
/* a b. Number */
WEFT_API weft_tensor *weft_mul(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_broadcast_mul(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_mul_scalar(weft_scope *s, weft_tensor *x, double value);
/* a / b; integers toward zero, INT_MIN / -1 = INT_MIN. Number */
WEFT_API weft_tensor *weft_div(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_broadcast_div(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_div_scalar(weft_scope *s, weft_tensor *x, double value);
/* a - b trunc(a / b): the sign of a, as C's fmod. Number */
WEFT_API weft_tensor *weft_rem(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_broadcast_rem(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_rem_scalar(weft_scope *s, weft_tensor *x, double value);
/* a to the power of b (IEEE 754-2019, pow). Float */
WEFT_API weft_tensor *weft_pow(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_broadcast_pow(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_pow_scalar(weft_scope *s, weft_tensor *x, double value);
/* the lesser one, NaN where either is. Number */
WEFT_API weft_tensor *weft_minimum(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_broadcast_minimum(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_minimum_scalar(weft_scope *s, weft_tensor *x, double value);
/* the greater one, NaN where either is. Number */
WEFT_API weft_tensor *weft_maximum(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_broadcast_maximum(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_maximum_scalar(weft_scope *s, weft_tensor *x, double value);

/* ---- Comparison and choice ---- Results are bool; comparisons with NaN are false, but for ne. */

/* a = b. Any */
WEFT_API weft_tensor *weft_eq(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_broadcast_eq(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_eq_scalar(weft_scope *s, weft_tensor *x, double value);
/* a differs from b. Any */
WEFT_API weft_tensor *weft_ne(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_broadcast_ne(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_ne_scalar(weft_scope *s, weft_tensor *x, double value);
/* a < b. Any */
WEFT_API weft_tensor *weft_lt(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_broadcast_lt(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_lt_scalar(weft_scope *s, weft_tensor *x, double value);
/* a <= b. Any */
WEFT_API weft_tensor *weft_le(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_broadcast_le(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_le_scalar(weft_scope *s, weft_tensor *x, double value);
/* a > b. Any */
WEFT_API weft_tensor *weft_gt(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_broadcast_gt(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_gt_scalar(weft_scope *s, weft_tensor *x, double value);
/* a >= b. Any */
WEFT_API weft_tensor *weft_ge(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_broadcast_ge(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_ge_scalar(weft_scope *s, weft_tensor *x, double value);
/* both. Bool */
WEFT_API weft_tensor *weft_logical_and(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_broadcast_logical_and(weft_scope *s, weft_tensor *a, weft_tensor *b);
/* either. Bool */
WEFT_API weft_tensor *weft_logical_or(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_broadcast_logical_or(weft_scope *s, weft_tensor *a, weft_tensor *b);
/* one of the two. Bool */
WEFT_API weft_tensor *weft_logical_xor(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_broadcast_logical_xor(weft_scope *s, weft_tensor *a, weft_tensor *b);
/* the other one. Bool */
WEFT_API weft_tensor *weft_logical_not(weft_scope *s, weft_tensor *x);
/* is x NaN. Number */
WEFT_API weft_tensor *weft_is_nan(weft_scope *s, weft_tensor *x);
/* is x an infinity. Number */
WEFT_API weft_tensor *weft_is_inf(weft_scope *s, weft_tensor *x);
/* cond ? a : b; cond is bool, a and b of one type. Any */
WEFT_API weft_tensor *weft_where(weft_scope *s, weft_tensor *cond, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_broadcast_where(weft_scope *s, weft_tensor *cond, weft_tensor *a,
                                           weft_tensor *b);
/* mask ? value : x; the mask is broadcast to x. Any */
WEFT_API weft_tensor *weft_masked_fill(weft_scope *s, weft_tensor *x, weft_tensor *mask,
                                       double value);

/* ---- Functions ---- Of one tensor. Errors of the f32 functions in units of the last place:
 * docs/numerics.md. */

/* -x. Number */
WEFT_API weft_tensor *weft_neg(weft_scope *s, weft_tensor *x);
/* magnitude; that of INT_MIN is INT_MIN. Number */
WEFT_API weft_tensor *weft_abs(weft_scope *s, weft_tensor *x);
/* -1, 0, 1. Number */
WEFT_API weft_tensor *weft_sign(weft_scope *s, weft_tensor *x);
/* x x. Number */
WEFT_API weft_tensor *weft_square(weft_scope *s, weft_tensor *x);
/* x scale + shift; whole numbers for integers. Number */
WEFT_API weft_tensor *weft_affine(weft_scope *s, weft_tensor *x, double scale, double shift);
/* to [low, high]. Number */
WEFT_API weft_tensor *weft_clamp(weft_scope *s, weft_tensor *x, double low, double high);
/* down to whole numbers. Number */
WEFT_API weft_tensor *weft_floor(weft_scope *s, weft_tensor *x);
/* up to whole numbers. Number */
WEFT_API weft_tensor *weft_ceil(weft_scope *s, weft_tensor *x);
/* to the nearest whole number, ties to even. Number */
WEFT_API weft_tensor *weft_round(weft_scope *s, weft_tensor *x);
/* toward zero. Number */
WEFT_API weft_tensor *weft_trunc(weft_scope *s, weft_tensor *x);
/* square root. Float */
WEFT_API weft_tensor *weft_sqrt(weft_scope *s, weft_tensor *x);
/* 1 / square root. Float */
WEFT_API weft_tensor *weft_rsqrt(weft_scope *s, weft_tensor *x);
/* e^x. Float */
WEFT_API weft_tensor *weft_exp(weft_scope *s, weft_tensor *x);
/* e^x - 1. Float */
WEFT_API weft_tensor *weft_expm1(weft_scope *s, weft_tensor *x);
/* natural logarithm. Float */
WEFT_API weft_tensor *weft_log(weft_scope *s, weft_tensor *x);
/* log(1 + x). Float */
WEFT_API weft_tensor *weft_log1p(weft_scope *s, weft_tensor *x);
/* sine, any argument. Float */
WEFT_API weft_tensor *weft_sin(weft_scope *s, weft_tensor *x);
/* cosine, any argument. Float */
WEFT_API weft_tensor *weft_cos(weft_scope *s, weft_tensor *x);
/* hyperbolic tangent. Float */
WEFT_API weft_tensor *weft_tanh(weft_scope *s, weft_tensor *x);
/* error function. Float */
WEFT_API weft_tensor *weft_erf(weft_scope *s, weft_tensor *x);
/* 1 / (1 + e^-x). Float */
WEFT_API weft_tensor *weft_sigmoid(weft_scope *s, weft_tensor *x);
/* max(x, 0). Number */
WEFT_API weft_tensor *weft_relu(weft_scope *s, weft_tensor *x);
/* x < 0 ? slope x : x. Float */
WEFT_API weft_tensor *weft_leaky_relu(weft_scope *s, weft_tensor *x, double slope);
/* x sigmoid(x). Float */
WEFT_API weft_tensor *weft_silu(weft_scope *s, weft_tensor *x);
/* GELU by tanh. Float */
WEFT_API weft_tensor *weft_gelu_tanh(weft_scope *s, weft_tensor *x);
/* GELU by erf. Float */
WEFT_API weft_tensor *weft_gelu_erf(weft_scope *s, weft_tensor *x);
/* log(1 + e^x). Float */
WEFT_API weft_tensor *weft_softplus(weft_scope *s, weft_tensor *x);
/* to another plain type: float to integer saturates, NaN gives 0; integers wrap; to bool is != 0.
 * Any */
WEFT_API weft_tensor *weft_cast(weft_scope *s, weft_tensor *x, weft_dtype dtype);

/* ---- Reductions ---- Over one axis, or with _dims over any set of them (axes NULL and n_axes 0:
 * all), kept as extent 1 if `keep`. Sums are 16 lanes in double (docs/numerics.md), the same bits
 * whatever the strides. Empty extents: sum 0, prod 1, mean, var and std NaN, norm 0, any false,
 * all true; max, min, argmax, argmin are WEFT_E_EMPTY. */

/* sum; integers and bool give i64. Any */
WEFT_API weft_tensor *weft_sum(weft_scope *s, weft_tensor *x, int axis, bool keep);
WEFT_API weft_tensor *weft_sum_dims(weft_scope *s, weft_tensor *x, const int *axes, int n_axes,
                                    bool keep);
/* arithmetic mean. Float */
WEFT_API weft_tensor *weft_mean(weft_scope *s, weft_tensor *x, int axis, bool keep);
WEFT_API weft_tensor *weft_mean_dims(weft_scope *s, weft_tensor *x, const int *axes, int n_axes,
                                     bool keep);
/* product; integers and bool give i64. Any */
WEFT_API weft_tensor *weft_prod(weft_scope *s, weft_tensor *x, int axis, bool keep);
WEFT_API weft_tensor *weft_prod_dims(weft_scope *s, weft_tensor *x, const int *axes, int n_axes,
                                     bool keep);
/* greatest; NaN where there is one. Any */
WEFT_API weft_tensor *weft_max(weft_scope *s, weft_tensor *x, int axis, bool keep);
WEFT_API weft_tensor *weft_max_dims(weft_scope *s, weft_tensor *x, const int *axes, int n_axes,
                                    bool keep);
/* least; NaN where there is one. Any */
WEFT_API weft_tensor *weft_min(weft_scope *s, weft_tensor *x, int axis, bool keep);
WEFT_API weft_tensor *weft_min_dims(weft_scope *s, weft_tensor *x, const int *axes, int n_axes,
                                    bool keep);
/* i64 index of the greatest, the first of equal ones, the first NaN; over several dims row-major
 * among them. Any */
WEFT_API weft_tensor *weft_argmax(weft_scope *s, weft_tensor *x, int axis, bool keep);
WEFT_API weft_tensor *weft_argmax_dims(weft_scope *s, weft_tensor *x, const int *axes, int n_axes,
                                       bool keep);
/* i64 index of the least, likewise. Any */
WEFT_API weft_tensor *weft_argmin(weft_scope *s, weft_tensor *x, int axis, bool keep);
WEFT_API weft_tensor *weft_argmin_dims(weft_scope *s, weft_tensor *x, const int *axes, int n_axes,
                                       bool keep);
/* sum of squared deviations / (n - correction). Float */
WEFT_API weft_tensor *weft_var(weft_scope *s, weft_tensor *x, double correction, int axis,
                               bool keep);
WEFT_API weft_tensor *weft_var_dims(weft_scope *s, weft_tensor *x, double correction,
                                    const int *axes, int n_axes, bool keep);
/* square root of var. Float */
WEFT_API weft_tensor *weft_std(weft_scope *s, weft_tensor *x, double correction, int axis,
                               bool keep);
WEFT_API weft_tensor *weft_std_dims(weft_scope *s, weft_tensor *x, double correction,
                                    const int *axes, int n_axes, bool keep);
/* (sum of |x|^p)^(1/p); p = 0 counts what is not 0, p = infinity is the greatest. Float */
WEFT_API weft_tensor *weft_norm(weft_scope *s, weft_tensor *x, double p, int axis, bool keep);
WEFT_API weft_tensor *weft_norm_dims(weft_scope *s, weft_tensor *x, double p, const int *axes,
                                     int n_axes, bool keep);
/* log of the sum of e^x. Float */
WEFT_API weft_tensor *weft_logsumexp(weft_scope *s, weft_tensor *x, int axis, bool keep);
WEFT_API weft_tensor *weft_logsumexp_dims(weft_scope *s, weft_tensor *x, const int *axes,
                                          int n_axes, bool keep);
/* is any true. Bool */
WEFT_API weft_tensor *weft_any(weft_scope *s, weft_tensor *x, int axis, bool keep);
WEFT_API weft_tensor *weft_any_dims(weft_scope *s, weft_tensor *x, const int *axes, int n_axes,
                                    bool keep);
/* are all true. Bool */
WEFT_API weft_tensor *weft_all(weft_scope *s, weft_tensor *x, int axis, bool keep);
WEFT_API weft_tensor *weft_all_dims(weft_scope *s, weft_tensor *x, const int *axes, int n_axes,
                                    bool keep);
/* running sums; integers and bool give i64. Any */
WEFT_API weft_tensor *weft_cumsum(weft_scope *s, weft_tensor *x, int axis);
/* running products; integers and bool give i64. Any */
WEFT_API weft_tensor *weft_cumprod(weft_scope *s, weft_tensor *x, int axis);

/* ---- Order ---- NaN counts as the greatest; equal elements stay in order, with `descending` as
 * well. */

/* sorted along an axis. Any */
WEFT_API weft_tensor *weft_sort(weft_scope *s, weft_tensor *x, int axis, bool descending);
/* i64 indices that sort. Any */
WEFT_API weft_tensor *weft_argsort(weft_scope *s, weft_tensor *x, int axis, bool descending);
/* the k greatest, in descending order, and their i64 indices; either may be NULL. Any; axis: k */
WEFT_API weft_status weft_topk(weft_scope *s, weft_tensor *x, int axis, size_t k,
                               weft_tensor **values, weft_tensor **indices);
/* distinct elements ascending, the i64 place of each of x among them, i64 counts; each may be
 * NULL. NaNs are one. Any; [n], as x, [n] */
WEFT_API weft_status weft_unique(weft_scope *s, weft_tensor *x, weft_tensor **values,
                                 weft_tensor **inverse, weft_tensor **counts);
/* i64 counts of equal bins over [low, high]; others and NaN are left out. Number; [bins] */
WEFT_API weft_tensor *weft_histogram(weft_scope *s, weft_tensor *x, int64_t bins, double low,
                                     double high);

/* ---- Neural ---- */

/* e^x / sum; a row of -infinity gives NaN. Float */
WEFT_API weft_tensor *weft_softmax(weft_scope *s, weft_tensor *x, int axis);
/* x - logsumexp(x). Float */
WEFT_API weft_tensor *weft_log_softmax(weft_scope *s, weft_tensor *x, int axis);
/* x [B…, n] / sqrt(mean(x²) + eps) weight [n] (f32; NULL: ones). Half */
WEFT_API weft_tensor *weft_rms_norm(weft_scope *s, weft_tensor *x, weft_tensor *weight, float eps);
/* (x [B…, n] - mean) / sqrt(var + eps) weight [n] + bias [n] (f32, f64 for f64; NULL: ones,
 * zeros). Float */
WEFT_API weft_tensor *weft_layer_norm(weft_scope *s, weft_tensor *x, weft_tensor *weight,
                                      weft_tensor *bias, double eps);
/* x [B…, n_in], weight [n_out, n_in] of any float or quantised type, rows or packed panels; bias
 * [n_out] f32. Half, blocks; [B…, n_out] f32 */
WEFT_API weft_tensor *weft_linear(weft_scope *s, weft_tensor *x, weft_tensor *weight,
                                  weft_tensor *bias);
/* act(linear(x)), with its bits and without a second pass: SiLU, GELU (both), ReLU, its square or
 * the sigmoid. Half, blocks; [B…, n_out] f32 */
WEFT_API weft_tensor *weft_linear_act(weft_scope *s, weft_tensor *x, weft_tensor *weight,
                                      weft_tensor *bias, weft_activation act);
/* rows of table [n_rows, n] of any float or quantised type by ids [T] i32. Half, blocks; [T, n]
 * f32 */
WEFT_API weft_tensor *weft_embedding(weft_scope *s, weft_tensor *table, weft_tensor *ids);
/* rotary position embedding (Su et al. 2021): x [T, n_head, head_dim], tables [n_positions, n_rot
 * / 2], positions [T] i32; the first n_rot of each head turn, pairing i with i + n_rot / 2, or 2i
 * with 2i + 1 if interleaved. F32 */
WEFT_API weft_tensor *weft_rope(weft_scope *s, weft_tensor *x, weft_tensor *cos_table,
                                weft_tensor *sin_table, weft_tensor *positions, bool interleaved);
/* -log softmax(logits [B…, n])[target]; targets [B…] i32 or i64. Float; [B…] */
WEFT_API weft_tensor *weft_cross_entropy(weft_scope *s, weft_tensor *logits, weft_tensor *targets);
/* softmax(scale q kᵀ) v: q [B…, H, T, D], k [B…, G, S, D], v [B…, G, S, D_v], H a multiple of G;
 * mask broadcasts to [B…, H, T, S]: bool (true: visible) or added. scale 0: 1/sqrt(D). causal: j
 * <= i + S - T; window > 0: j > i + S - T - window as well. A row without a visible key gives
 * zeros. Float; [B…, H, T, D_v] */
WEFT_API weft_tensor *weft_scaled_dot_product_attention(weft_scope *s, weft_tensor *q,
                                                        weft_tensor *k, weft_tensor *v,
                                                        weft_tensor *mask, double scale,
                                                        bool causal, int64_t window);
/* zero with probability p, else x / (1 - p); by random_uniform's numbers. Float */
WEFT_API weft_tensor *weft_dropout(weft_scope *s, weft_tensor *x, double p, uint64_t seed);
/* x [B, C, L], weight [O, C, K], bias [O]; through windows and matmul. Float; [B, O, L_out] */
WEFT_API weft_tensor *weft_conv1d(weft_scope *s, weft_tensor *x, weft_tensor *weight,
                                  weft_tensor *bias, size_t stride, size_t padding,
                                  size_t dilation);
/* greatest of each window of x [B…, L]. Any; [B…, L_out] */
WEFT_API weft_tensor *weft_max_pool1d(weft_scope *s, weft_tensor *x, size_t size, size_t step);
/* mean of each window. Float; [B…, L_out] */
WEFT_API weft_tensor *weft_avg_pool1d(weft_scope *s, weft_tensor *x, size_t size, size_t step);
/* greatest of each square window of x [B…, H, W]. Any; [B…, H_out, W_out] */
WEFT_API weft_tensor *weft_max_pool2d(weft_scope *s, weft_tensor *x, size_t size, size_t step);
/* mean of each square window. Float; [B…, H_out, W_out] */
WEFT_API weft_tensor *weft_avg_pool2d(weft_scope *s, weft_tensor *x, size_t size, size_t step);
/* float or block type to f32. Half, blocks; as x, f32 */
WEFT_API weft_tensor *weft_dequantize(weft_scope *s, weft_tensor *x);

/* ---- Matrix ---- */

/* a [B…, m, k] @ b [B…, k, n], batch dims broadcast; vectors as in numpy. Number; [B…, m, n] */
WEFT_API weft_tensor *weft_matmul(weft_scope *s, weft_tensor *a, weft_tensor *b);
/* a [m] times b [n]. Number; [m, n] */
WEFT_API weft_tensor *weft_outer(weft_scope *s, weft_tensor *a, weft_tensor *b);
/* sums of products of two operands by "ij,jk->ik"; a letter twice in one operand takes its
 * diagonal. Number; as spec says */
WEFT_API weft_tensor *weft_einsum(weft_scope *s, const char *spec, weft_tensor *a, weft_tensor *b);

/* ---- Index ---- Indices are i32 or i64 and within their dim; a wrong one is WEFT_E_RANGE. */

/* x at ids [n] of an axis. Any; axis: n */
WEFT_API weft_tensor *weft_index_select(weft_scope *s, weft_tensor *x, int axis, weft_tensor *ids);
/* y[…, i, …] = x[…, ids[…, i, …], …]; ids may be smaller in the other dims. Any; as ids */
WEFT_API weft_tensor *weft_gather(weft_scope *s, weft_tensor *x, int axis, weft_tensor *ids);
/* x with y[…, ids[…, i, …], …] = src[…, i, …]; of equal indices the last wins. Any */
WEFT_API weft_tensor *weft_scatter(weft_scope *s, weft_tensor *x, int axis, weft_tensor *ids,
                                   weft_tensor *src);
/* the same, adding. Number */
WEFT_API weft_tensor *weft_scatter_add(weft_scope *s, weft_tensor *x, int axis, weft_tensor *ids,
                                       weft_tensor *src);
/* x with values [n, …] at ids [n, m], which name the first m dims. Any */
WEFT_API weft_tensor *weft_index_put(weft_scope *s, weft_tensor *x, weft_tensor *ids,
                                     weft_tensor *values, bool accumulate);
/* elements of x where the mask (of x's shape) is true. Any; [n] */
WEFT_API weft_tensor *weft_masked_select(weft_scope *s, weft_tensor *x, weft_tensor *mask);
/* one after another along an axis. Any; axis: the sum */
WEFT_API weft_tensor *weft_concat(weft_scope *s, weft_tensor *const *list, size_t n, int axis);
/* side by side along a new axis. Any; one dim more */
WEFT_API weft_tensor *weft_stack(weft_scope *s, weft_tensor *const *list, size_t n, int axis);
/* each element of an axis times over. Any; axis: times as long */
WEFT_API weft_tensor *weft_repeat(weft_scope *s, weft_tensor *x, int axis, size_t times);
/* the whole repeated, numpy's rule. Any; each dim reps times */
WEFT_API weft_tensor *weft_tile(weft_scope *s, weft_tensor *x, int rank, const int64_t *reps);
/* backwards along an axis. Any */
WEFT_API weft_tensor *weft_flip(weft_scope *s, weft_tensor *x, int axis);
/* turned by shift places along an axis. Any */
WEFT_API weft_tensor *weft_roll(weft_scope *s, weft_tensor *x, int axis, int64_t shift);
/* with a number around. Any; each dim longer */
WEFT_API weft_tensor *weft_pad(weft_scope *s, weft_tensor *x, const int64_t *before,
                               const int64_t *after, double value);
/* the last two dims: zeros above the diagonal. Any */
WEFT_API weft_tensor *weft_tril(weft_scope *s, weft_tensor *x, int64_t diagonal);
/* zeros below it. Any */
WEFT_API weft_tensor *weft_triu(weft_scope *s, weft_tensor *x, int64_t diagonal);
/* 1 at each id, 0 elsewhere. Any; [B…, n] */
WEFT_API weft_tensor *weft_one_hot(weft_scope *s, weft_tensor *ids, int64_t n, weft_dtype dtype);

/* ---- Whole ---- */

/* is |a - b| <= atol + rtol |b| everywhere. Any */
WEFT_API weft_status weft_allclose(weft_scope *s, weft_tensor *a, weft_tensor *b, double rtol,
                                   double atol, bool equal_nan, bool *out);

#ifdef __cplusplus
}
#endif
#endif
