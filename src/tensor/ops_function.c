/* Functions of one tensor. */
#include "tensor/convert.h"
#include "tensor/map.h"

#include <math.h>

weft_tensor *weft_neg(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_NEG, WEFT_TYPES_NUMBER, false};
    return weft_map1(s, "neg", &def, x, NULL);
}
weft_tensor *weft_abs(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_ABS, WEFT_TYPES_NUMBER, false};
    return weft_map1(s, "abs", &def, x, NULL);
}
weft_tensor *weft_sign(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_SIGN, WEFT_TYPES_NUMBER, false};
    return weft_map1(s, "sign", &def, x, NULL);
}
weft_tensor *weft_square(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_SQUARE, WEFT_TYPES_NUMBER, false};
    return weft_map1(s, "square", &def, x, NULL);
}
weft_tensor *weft_relu(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_RELU, WEFT_TYPES_NUMBER, false};
    return weft_map1(s, "relu", &def, x, NULL);
}
weft_tensor *weft_floor(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_FLOOR, WEFT_TYPES_NUMBER, false};
    return weft_map1(s, "floor", &def, x, NULL);
}
weft_tensor *weft_ceil(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_CEIL, WEFT_TYPES_NUMBER, false};
    return weft_map1(s, "ceil", &def, x, NULL);
}
weft_tensor *weft_round(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_ROUND, WEFT_TYPES_NUMBER, false};
    return weft_map1(s, "round", &def, x, NULL);
}
weft_tensor *weft_trunc(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_TRUNC, WEFT_TYPES_NUMBER, false};
    return weft_map1(s, "trunc", &def, x, NULL);
}
weft_tensor *weft_sqrt(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_SQRT, WEFT_TYPES_FLOAT, false};
    return weft_map1(s, "sqrt", &def, x, NULL);
}
weft_tensor *weft_rsqrt(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_RSQRT, WEFT_TYPES_FLOAT, false};
    return weft_map1(s, "rsqrt", &def, x, NULL);
}
weft_tensor *weft_exp(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_EXP, WEFT_TYPES_FLOAT, false};
    return weft_map1(s, "exp", &def, x, NULL);
}
weft_tensor *weft_expm1(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_EXPM1, WEFT_TYPES_FLOAT, false};
    return weft_map1(s, "expm1", &def, x, NULL);
}
weft_tensor *weft_log(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_LOG, WEFT_TYPES_FLOAT, false};
    return weft_map1(s, "log", &def, x, NULL);
}
weft_tensor *weft_log1p(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_LOG1P, WEFT_TYPES_FLOAT, false};
    return weft_map1(s, "log1p", &def, x, NULL);
}
weft_tensor *weft_sin(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_SIN, WEFT_TYPES_FLOAT, false};
    return weft_map1(s, "sin", &def, x, NULL);
}
weft_tensor *weft_cos(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_COS, WEFT_TYPES_FLOAT, false};
    return weft_map1(s, "cos", &def, x, NULL);
}
weft_tensor *weft_tanh(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_TANH, WEFT_TYPES_FLOAT, false};
    return weft_map1(s, "tanh", &def, x, NULL);
}
weft_tensor *weft_erf(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_ERF, WEFT_TYPES_FLOAT, false};
    return weft_map1(s, "erf", &def, x, NULL);
}
weft_tensor *weft_sigmoid(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_SIGMOID, WEFT_TYPES_FLOAT, false};
    return weft_map1(s, "sigmoid", &def, x, NULL);
}
weft_tensor *weft_silu(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_SILU, WEFT_TYPES_FLOAT, false};
    return weft_map1(s, "silu", &def, x, NULL);
}
weft_tensor *weft_gelu_tanh(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_GELU_TANH, WEFT_TYPES_FLOAT, false};
    return weft_map1(s, "gelu_tanh", &def, x, NULL);
}
weft_tensor *weft_gelu_erf(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_GELU_ERF, WEFT_TYPES_FLOAT, false};
    return weft_map1(s, "gelu_erf", &def, x, NULL);
}
weft_tensor *weft_softplus(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_SOFTPLUS, WEFT_TYPES_FLOAT, false};
    return weft_map1(s, "softplus", &def, x, NULL);
}

/* True when v is a whole number that an int64 holds. */
static bool whole(double v, int64_t *out) {
    if (!(v >= -0x1p63 && v < 0x1p63) || v != floor(v))
        return false;
    *out = (int64_t)v;
    return true;
}

static bool alive(const weft_scope *s, const weft_tensor *x) {
    return s != NULL && weft_scope_status(s) == WEFT_OK && x != NULL;
}

weft_tensor *weft_affine(weft_scope *s, weft_tensor *x, double scale, double shift) {
    static const weft_map_def def = {WEFT_MAP_AFFINE, WEFT_TYPES_NUMBER, false};
    weft_map_args args = {.f0 = scale, .f1 = shift};
    if (alive(s, x) && weft_dtype_is_integer(x->dtype) &&
        (!whole(scale, &args.i0) || !whole(shift, &args.i1)))
        return weft_scope_fail(s, WEFT_E_ARGUMENT, "affine",
                               "scale %g and shift %g must be whole numbers for %s", scale, shift,
                               weft_dtype_name(x->dtype));
    return weft_map1(s, "affine", &def, x, &args);
}

weft_tensor *weft_clamp(weft_scope *s, weft_tensor *x, double low, double high) {
    static const weft_map_def def = {WEFT_MAP_CLAMP, WEFT_TYPES_NUMBER, false};
    weft_map_args args = {.f0 = low, .f1 = high};
    if (alive(s, x) && !(low <= high))
        return weft_scope_fail(s, WEFT_E_ARGUMENT, "clamp", "low %g is not <= high %g", low, high);
    if (alive(s, x) && weft_dtype_is_integer(x->dtype)) { /* bounds saturate to the type's range */
        double bounds[2] = {ceil(low), floor(high)};
        int64_t stored[2], wide[2]; /* large enough for any integer type */
        weft_convert(NULL, WEFT_F64, bounds, x->dtype, stored, 2);
        weft_to_i64(x->dtype, stored, 2, wide);
        args.i0 = wide[0];
        args.i1 = wide[1];
    }
    return weft_map1(s, "clamp", &def, x, &args);
}

weft_tensor *weft_leaky_relu(weft_scope *s, weft_tensor *x, double slope) {
    static const weft_map_def def = {WEFT_MAP_LEAKY_RELU, WEFT_TYPES_FLOAT, false};
    return weft_map1(s, "leaky_relu", &def, x, &(weft_map_args){.f0 = slope});
}
