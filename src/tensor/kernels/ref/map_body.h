/* The elementwise functions of map.h, after a lanes_*.h header. Plain loops, which the compiler
 * turns into vectors of the including file's instructions; what needs an exponential in f32 runs on
 * lanes. */
#ifndef WEFT_KERNELS_MAP_BODY_H
#define WEFT_KERNELS_MAP_BODY_H

#include "tensor/kernels/map.h"
#include "tensor/kernels/ref/elementwise_body.h"
#include "tensor/kernels/ref/math32.h"

/* One loop: `from` and `to` are the element types, `value` an expression of x (one input). */
#define MAP1(function, from, to, value)                                                            \
    static void function(const weft_map_args *p, const void *const *in, size_t n, void *out) {     \
        const from *a = in[0];                                                                     \
        to *y = out;                                                                               \
        (void)p;                                                                                   \
        for (size_t i = 0; i < n; i++) {                                                           \
            from x = a[i];                                                                         \
            y[i] = (to)(value);                                                                    \
        }                                                                                          \
    }
/* An expression of x and z (two inputs). */
#define MAP2(function, from, to, value)                                                            \
    static void function(const weft_map_args *p, const void *const *in, size_t n, void *out) {     \
        const from *a = in[0], *b = in[1];                                                         \
        to *y = out;                                                                               \
        (void)p;                                                                                   \
        for (size_t i = 0; i < n; i++) {                                                           \
            from x = a[i], z = b[i];                                                               \
            y[i] = (to)(value);                                                                    \
        }                                                                                          \
    }
/* Parameters are read once, before the loop. */
#define MAP_WITH(function, type, p0, p1, value)                                                    \
    static void function(const weft_map_args *p, const void *const *in, size_t n, void *out) {     \
        const type *a = in[0];                                                                     \
        type *y = out, q0 = (type)p->p0, q1 = (type)p->p1;                                         \
        (void)q1;                                                                                  \
        for (size_t i = 0; i < n; i++) {                                                           \
            type x = a[i];                                                                         \
            y[i] = (value);                                                                        \
        }                                                                                          \
    }
/* f32 on 16 lanes. */
#define MAP_LANES(function, lanes)                                                                 \
    static void function(const weft_map_args *p, const void *const *in, size_t n, void *out) {     \
        (void)p;                                                                                   \
        map1_body(lanes, in[0], n, out);                                                           \
    }

#include "tensor/kernels/ref/map_whole_body.h"

/* ---- Two inputs ---- */

MAP2(add_f32, float, float, x + z)
MAP2(add_f64, double, double, x + z)
MAP2(add_i64, uint64_t, uint64_t, x + z) /* unsigned arithmetic wraps by definition */
MAP2(sub_f32, float, float, x - z)
MAP2(sub_f64, double, double, x - z)
MAP2(sub_i64, uint64_t, uint64_t, x - z)
MAP2(mul_f32, float, float, x *z)
MAP2(mul_f64, double, double, x *z)
MAP2(mul_i64, uint64_t, uint64_t, x *z)
MAP2(div_f32, float, float, x / z)
MAP2(div_f64, double, double, x / z)
MAP2(rem_f32, float, float, fmodf(x, z)) /* exact by its definition */
MAP2(rem_f64, double, double, fmod(x, z))
MAP2(pow_f32, float, float, weft_pow32(x, z))
MAP2(pow_f64, double, double, weft_pow64(x, z))
MAP2(minimum_f32, float, float, x < z || x != x ? x : z)
MAP2(minimum_f64, double, double, x < z || x != x ? x : z)
MAP2(minimum_i64, int64_t, int64_t, x < z ? x : z)
MAP2(maximum_f32, float, float, x > z || x != x ? x : z)
MAP2(maximum_f64, double, double, x > z || x != x ? x : z)
MAP2(maximum_i64, int64_t, int64_t, x > z ? x : z)

/* INT64_MIN / -1 traps on some machines, and so does a divisor of 0. */
static void div_i64(const weft_map_args *p, const void *const *in, size_t n, void *out) {
    const int64_t *a = in[0], *b = in[1];
    int64_t *y = out;
    for (size_t i = 0; i < n; i++) {
        if (b[i] == 0)
            __atomic_store_n(p->divided_by_zero, true, __ATOMIC_RELAXED);
        y[i] = b[i] == 0 ? 0 : b[i] == -1 ? (int64_t)(0 - (uint64_t)a[i]) : a[i] / b[i];
    }
}
static void rem_i64(const weft_map_args *p, const void *const *in, size_t n, void *out) {
    const int64_t *a = in[0], *b = in[1];
    int64_t *y = out;
    for (size_t i = 0; i < n; i++) {
        if (b[i] == 0)
            __atomic_store_n(p->divided_by_zero, true, __ATOMIC_RELAXED);
        y[i] = b[i] == 0 || b[i] == -1 ? 0 : a[i] % b[i];
    }
}

/* ---- Bytes out ---- */

MAP2(eq_f32, float, uint8_t, x == z)
MAP2(eq_f64, double, uint8_t, x == z)
MAP2(eq_i64, int64_t, uint8_t, x == z)
MAP2(ne_f32, float, uint8_t, x != z)
MAP2(ne_f64, double, uint8_t, x != z)
MAP2(ne_i64, int64_t, uint8_t, x != z)
MAP2(lt_f32, float, uint8_t, x < z)
MAP2(lt_f64, double, uint8_t, x < z)
MAP2(lt_i64, int64_t, uint8_t, x < z)
MAP2(le_f32, float, uint8_t, x <= z)
MAP2(le_f64, double, uint8_t, x <= z)
MAP2(le_i64, int64_t, uint8_t, x <= z)
MAP2(gt_f32, float, uint8_t, x > z)
MAP2(gt_f64, double, uint8_t, x > z)
MAP2(gt_i64, int64_t, uint8_t, x > z)
MAP2(ge_f32, float, uint8_t, x >= z)
MAP2(ge_f64, double, uint8_t, x >= z)
MAP2(ge_i64, int64_t, uint8_t, x >= z)
MAP2(and_i64, int64_t, uint8_t, (x & z) != 0)
MAP2(or_i64, int64_t, uint8_t, (x | z) != 0)
MAP2(xor_i64, int64_t, uint8_t, x != z)
MAP1(not_i64, int64_t, uint8_t, x == 0)
MAP1(is_nan_f32, float, uint8_t, x != x)
MAP1(is_nan_f64, double, uint8_t, x != x)
MAP1(is_inf_f32, float, uint8_t, fabsf(x) == INFINITY)
MAP1(is_inf_f64, double, uint8_t, fabs(x) == (double)INFINITY)

/* ---- One input ---- */

MAP1(neg_f32, float, float, -x)
MAP1(neg_f64, double, double, -x)
MAP1(neg_i64, uint64_t, uint64_t, 0 - x)
MAP1(abs_f32, float, float, fabsf(x))
MAP1(abs_f64, double, double, fabs(x))
MAP1(abs_i64, int64_t, uint64_t, x < 0 ? 0 - (uint64_t)x : (uint64_t)x)
MAP1(sign_f32, float, float, x > 0 ? 1.0f : x < 0 ? -1.0f : x)
MAP1(sign_f64, double, double, x > 0 ? 1.0 : x < 0 ? -1.0 : x)
MAP1(sign_i64, int64_t, int64_t, (x > 0) - (x < 0))
MAP1(square_f32, float, float, x *x)
MAP1(square_f64, double, double, x *x)
MAP1(square_i64, uint64_t, uint64_t, x *x)
MAP_WITH(affine_f32, float, f0, f1, x *q0 + q1)
MAP_WITH(affine_f64, double, f0, f1, x *q0 + q1)
MAP_WITH(affine_i64, uint64_t, i0, i1, x *q0 + q1)
MAP_WITH(clamp_f32, float, f0, f1, x<q0 ? q0 : x> q1 ? q1 : x)
MAP_WITH(clamp_f64, double, f0, f1, x<q0 ? q0 : x> q1 ? q1 : x)
MAP_WITH(clamp_i64, int64_t, i0, i1, x<q0 ? q0 : x> q1 ? q1 : x)
MAP1(relu_f32, float, float, x < 0 ? 0.0f : x) /* NaN stays */
MAP1(relu_f64, double, double, x < 0 ? 0.0 : x)
MAP1(relu_i64, int64_t, int64_t, x < 0 ? 0 : x)
MAP_WITH(leaky_relu_f32, float, f0, f1, x < 0 ? x * q0 : x)
MAP_WITH(leaky_relu_f64, double, f0, f1, x < 0 ? x * q0 : x)
MAP1(floor_f32, float, float, floorf(x))
MAP1(floor_f64, double, double, floor(x))
MAP1(ceil_f32, float, float, ceilf(x))
MAP1(ceil_f64, double, double, ceil(x))
MAP1(round_f32, float, float, rintf(x)) /* the floating environment rounds to nearest, even */
MAP1(round_f64, double, double, rint(x))
MAP1(trunc_f32, float, float, truncf(x))
MAP1(trunc_f64, double, double, trunc(x))
MAP1(same_i64, int64_t, int64_t, x)
MAP1(sqrt_f32, float, float, sqrtf(x))
MAP1(sqrt_f64, double, double, sqrt(x))
MAP1(rsqrt_f32, float, float, 1.0f / sqrtf(x))
MAP1(rsqrt_f64, double, double, 1.0 / sqrt(x))

MAP_LANES(exp_f32, v16f_exp)
MAP1(exp_f64, double, double, weft_exp64(x))
MAP1(expm1_f32, float, float, weft_expm1_32(x))
MAP1(expm1_f64, double, double, weft_expm1_64(x))
MAP1(log_f32, float, float, weft_log32(x))
MAP1(log_f64, double, double, weft_log64(x))
MAP1(log1p_f32, float, float, weft_log1p_32(x))
MAP1(log1p_f64, double, double, weft_log1p_64(x))
MAP1(sin_f64, double, double, weft_sin64(x))
MAP1(cos_f64, double, double, weft_cos64(x))
MAP_LANES(tanh_f32, v16f_tanh)
MAP1(tanh_f64, double, double, weft_tanh64(x))
MAP_LANES(erf_f32, v16f_erf)
MAP1(erf_f64, double, double, weft_erf64(x))
MAP_LANES(sigmoid_f32, v16f_sigmoid)
MAP1(sigmoid_f64, double, double, weft_sigmoid64(x))
MAP_LANES(silu_f32, v16f_silu)
MAP1(silu_f64, double, double, x < -746 ? -0.0 : x * weft_sigmoid64(x))
MAP_LANES(gelu_tanh_f32, v16f_gelu_tanh)
MAP1(gelu_tanh_f64, double, double,
     x < -30 ? -0.0 : x * weft_sigmoid64(1.5957691216057308 * (x + 0.044715 * x * x * x)))
MAP_LANES(gelu_erf_f32, v16f_gelu_erf)
MAP1(gelu_erf_f64, double, double,
     x < -40 ? -0.0 : 0.5 * x * (1 + weft_erf64(x * 0.7071067811865476)))
MAP_LANES(softplus_f32, v16f_softplus)
MAP1(softplus_f64, double, double, (x < 0 ? 0 : x) + weft_log1p_64(weft_exp64(-fabs(x))))

/* Great and infinite arguments are rare, and go one by one. */
static void sines_f32(const float *x, size_t n, uint32_t turns, float *y) {
    float kept[256];
    for (size_t at = 0; at < n; at += 256) {
        size_t m = n - at < 256 ? n - at : 256;
        bool great = false;
        memcpy(kept, x + at, m * sizeof *x);
        for (size_t i = 0; i < m; i++)
            y[at + i] = weft_sin32_near(kept[i], turns);
        for (size_t i = 0; i < m; i++)
            great |= !(fabsf(kept[i]) < 0x1p20f);
        for (size_t i = 0; great && i < m; i++)
            if (!(fabsf(kept[i]) < 0x1p20f))
                y[at + i] =
                    (float)(turns ? weft_cos64((double)kept[i]) : weft_sin64((double)kept[i]));
    }
}
static void sin_f32(const weft_map_args *p, const void *const *in, size_t n, void *out) {
    (void)p;
    sines_f32(in[0], n, 0, out);
}
static void cos_f32(const weft_map_args *p, const void *const *in, size_t n, void *out) {
    (void)p;
    sines_f32(in[0], n, 1, out);
}

static weft_map_fn *const map_table[WEFT_MAP_COUNT][WEFT_DOMAINS] = {
    [WEFT_MAP_ADD] = {add_f32, add_f64, add_i64, add_i32, add_i16, add_i8, add_u8},
    [WEFT_MAP_SUB] = {sub_f32, sub_f64, sub_i64, sub_i32, sub_i16, sub_i8, sub_u8},
    [WEFT_MAP_MUL] = {mul_f32, mul_f64, mul_i64, mul_i32, mul_i16, mul_i8, mul_u8},
    [WEFT_MAP_DIV] = {div_f32, div_f64, div_i64, div_i32, div_i16, div_i8, div_u8},
    [WEFT_MAP_REM] = {rem_f32, rem_f64, rem_i64, rem_i32, rem_i16, rem_i8, rem_u8},
    [WEFT_MAP_POW] = {pow_f32, pow_f64, NULL},
    [WEFT_MAP_MINIMUM] = {minimum_f32, minimum_f64, minimum_i64, minimum_i32, minimum_i16,
                          minimum_i8, minimum_u8},
    [WEFT_MAP_MAXIMUM] = {maximum_f32, maximum_f64, maximum_i64, maximum_i32, maximum_i16,
                          maximum_i8, maximum_u8},
    [WEFT_MAP_EQ] = {eq_f32, eq_f64, eq_i64, eq_i32, eq_i16, eq_i8, eq_u8},
    [WEFT_MAP_NE] = {ne_f32, ne_f64, ne_i64, ne_i32, ne_i16, ne_i8, ne_u8},
    [WEFT_MAP_LT] = {lt_f32, lt_f64, lt_i64, lt_i32, lt_i16, lt_i8, lt_u8},
    [WEFT_MAP_LE] = {le_f32, le_f64, le_i64, le_i32, le_i16, le_i8, le_u8},
    [WEFT_MAP_GT] = {gt_f32, gt_f64, gt_i64, gt_i32, gt_i16, gt_i8, gt_u8},
    [WEFT_MAP_GE] = {ge_f32, ge_f64, ge_i64, ge_i32, ge_i16, ge_i8, ge_u8},
    [WEFT_MAP_AND] = {NULL, NULL, and_i64, NULL, NULL, NULL, and_u8},
    [WEFT_MAP_OR] = {NULL, NULL, or_i64, NULL, NULL, NULL, or_u8},
    [WEFT_MAP_XOR] = {NULL, NULL, xor_i64, NULL, NULL, NULL, xor_u8},
    [WEFT_MAP_NOT] = {NULL, NULL, not_i64, NULL, NULL, NULL, not_u8},
    [WEFT_MAP_IS_NAN] = {is_nan_f32, is_nan_f64, map_never, map_never, map_never, map_never,
                         map_never},
    [WEFT_MAP_IS_INF] = {is_inf_f32, is_inf_f64, map_never, map_never, map_never, map_never,
                         map_never},
    [WEFT_MAP_NEG] = {neg_f32, neg_f64, neg_i64, neg_i32, neg_i16, neg_i8, neg_u8},
    [WEFT_MAP_ABS] = {abs_f32, abs_f64, abs_i64, abs_i32, abs_i16, abs_i8, same_u8},
    [WEFT_MAP_SIGN] = {sign_f32, sign_f64, sign_i64, sign_i32, sign_i16, sign_i8, sign_u8},
    [WEFT_MAP_SQUARE] = {square_f32, square_f64, square_i64, square_i32, square_i16, square_i8,
                         square_u8},
    [WEFT_MAP_AFFINE] = {affine_f32, affine_f64, affine_i64, affine_i32, affine_i16, affine_i8,
                         affine_u8},
    [WEFT_MAP_CLAMP] = {clamp_f32, clamp_f64, clamp_i64, clamp_i32, clamp_i16, clamp_i8, clamp_u8},
    [WEFT_MAP_RELU] = {relu_f32, relu_f64, relu_i64, relu_i32, relu_i16, relu_i8, same_u8},
    [WEFT_MAP_LEAKY_RELU] = {leaky_relu_f32, leaky_relu_f64, NULL},
    [WEFT_MAP_FLOOR] = {floor_f32, floor_f64, same_i64, same_i32, same_i16, same_i8, same_u8},
    [WEFT_MAP_CEIL] = {ceil_f32, ceil_f64, same_i64, same_i32, same_i16, same_i8, same_u8},
    [WEFT_MAP_ROUND] = {round_f32, round_f64, same_i64, same_i32, same_i16, same_i8, same_u8},
    [WEFT_MAP_TRUNC] = {trunc_f32, trunc_f64, same_i64, same_i32, same_i16, same_i8, same_u8},
    [WEFT_MAP_SQRT] = {sqrt_f32, sqrt_f64, NULL},
    [WEFT_MAP_RSQRT] = {rsqrt_f32, rsqrt_f64, NULL},
    [WEFT_MAP_EXP] = {exp_f32, exp_f64, NULL},
    [WEFT_MAP_EXPM1] = {expm1_f32, expm1_f64, NULL},
    [WEFT_MAP_LOG] = {log_f32, log_f64, NULL},
    [WEFT_MAP_LOG1P] = {log1p_f32, log1p_f64, NULL},
    [WEFT_MAP_SIN] = {sin_f32, sin_f64, NULL},
    [WEFT_MAP_COS] = {cos_f32, cos_f64, NULL},
    [WEFT_MAP_TANH] = {tanh_f32, tanh_f64, NULL},
    [WEFT_MAP_ERF] = {erf_f32, erf_f64, NULL},
    [WEFT_MAP_SIGMOID] = {sigmoid_f32, sigmoid_f64, NULL},
    [WEFT_MAP_SILU] = {silu_f32, silu_f64, NULL},
    [WEFT_MAP_GELU_TANH] = {gelu_tanh_f32, gelu_tanh_f64, NULL},
    [WEFT_MAP_GELU_ERF] = {gelu_erf_f32, gelu_erf_f64, NULL},
    [WEFT_MAP_SOFTPLUS] = {softplus_f32, softplus_f64, NULL},
};

#endif
