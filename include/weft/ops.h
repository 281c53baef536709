/* Ops: each borrows its inputs, never changes them, and returns a fresh tensor owned by the scope,
 * or NULL with the scope's status set. Shapes stand beside each; B… are any leading dims. Any
 * strides are accepted. Dtypes: "floats" are f32, f16, bf16; integers wrap; f16 and bf16 accumulate
 * in f32 and round once. Axes may be negative. NaN propagates; ties go to the lowest index. */
#ifndef WEFT_OPS_H
#define WEFT_OPS_H

#include <weft/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Elementwise. Plain spellings want equal shapes, broadcast_ ones apply numpy's rule. Both
 * want equal dtypes: floats, i32, i64, u8. Integer division by zero is WEFT_E_DIVISION. ---- */
WEFT_API weft_tensor *weft_add(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_sub(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_mul(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_div(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_broadcast_add(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_broadcast_sub(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_broadcast_mul(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_broadcast_div(weft_scope *s, weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_affine(weft_scope *s, weft_tensor *x, double scale, double shift);
WEFT_API weft_tensor *weft_neg(weft_scope *s, weft_tensor *x);
WEFT_API weft_tensor *weft_relu(weft_scope *s, weft_tensor *x);
WEFT_API weft_tensor *weft_clamp(weft_scope *s, weft_tensor *x, double low, double high);
/* Floats only. */
WEFT_API weft_tensor *weft_exp(weft_scope *s, weft_tensor *x);
WEFT_API weft_tensor *weft_tanh(weft_scope *s, weft_tensor *x);
WEFT_API weft_tensor *weft_silu(weft_scope *s, weft_tensor *x);
WEFT_API weft_tensor *weft_gelu_tanh(weft_scope *s, weft_tensor *x);
WEFT_API weft_tensor *weft_gelu_erf(weft_scope *s, weft_tensor *x);
/* Between all plain types. Float to integer saturates, NaN gives 0; to bool is != 0. */
WEFT_API weft_tensor *weft_cast(weft_scope *s, weft_tensor *x, weft_dtype dtype);

/* ---- Reductions over one axis, kept as extent 1 if `keep`. f32 sums accumulate in f64. ---- */
WEFT_API weft_tensor *weft_sum(weft_scope *s, weft_tensor *x, int axis, bool keep);  /* ints: i64 */
WEFT_API weft_tensor *weft_mean(weft_scope *s, weft_tensor *x, int axis, bool keep); /* floats */
WEFT_API weft_tensor *weft_max(weft_scope *s, weft_tensor *x, int axis, bool keep);
WEFT_API weft_tensor *weft_min(weft_scope *s, weft_tensor *x, int axis, bool keep);
WEFT_API weft_tensor *weft_argmax(weft_scope *s, weft_tensor *x, int axis, bool keep); /* i64 */

/* ---- Neural ---- */
WEFT_API weft_tensor *weft_softmax(weft_scope *s, weft_tensor *x, int axis); /* floats */
/* x [B…, n] / sqrt(mean(x²) + eps) * weight [n] (f32; NULL: ones). */
WEFT_API weft_tensor *weft_rms_norm(weft_scope *s, weft_tensor *x, weft_tensor *weight, float eps);
/* (x [B…, n] - mean) / sqrt(variance + eps) * weight [n] + bias [n] (f32; NULL: ones, zeros). */
WEFT_API weft_tensor *weft_layer_norm(weft_scope *s, weft_tensor *x, weft_tensor *weight,
                                      weft_tensor *bias, float eps);
/* x [B…, n_in], weight [n_out, n_in] of any float or quantised type, rows or packed panels; bias
 * [n_out] f32 or NULL. Gives [B…, n_out] f32. The rule of sums: docs/numerics.md. */
WEFT_API weft_tensor *weft_linear(weft_scope *s, weft_tensor *x, weft_tensor *weight,
                                  weft_tensor *bias);
/* table [n_rows, n] of any float or quantised type, ids [T] i32 within it: gives [T, n] f32. */
WEFT_API weft_tensor *weft_embedding(weft_scope *s, weft_tensor *table, weft_tensor *ids);
/* Rotary position embedding (Su et al. 2021). x [T, n_head, head_dim] f32; cos, sin
 * [n_positions, n_rot/2] f32; positions [T] i32. The first n_rot of each head turn, pairing i with
 * i + n_rot/2, or 2i with 2i + 1 if `interleaved`. */
WEFT_API weft_tensor *weft_rope(weft_scope *s, weft_tensor *x, weft_tensor *cos_table,
                                weft_tensor *sin_table, weft_tensor *positions, bool interleaved);

/* ---- Matrix ---- */
/* a [B…, m, k] @ b [B…, k, n], batch dims broadcast; vectors as in numpy. Floats. */
WEFT_API weft_tensor *weft_matmul(weft_scope *s, weft_tensor *a, weft_tensor *b);

/* ---- Index and whole ---- */
WEFT_API weft_tensor *weft_index_select(weft_scope *s, weft_tensor *x, int axis, weft_tensor *ids);
WEFT_API weft_tensor *weft_concat(weft_scope *s, weft_tensor *const *list, size_t n, int axis);
/* Float or block type to f32. */
WEFT_API weft_tensor *weft_dequantize(weft_scope *s, weft_tensor *x);

#ifdef __cplusplus
}
#endif
#endif
