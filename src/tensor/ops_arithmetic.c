/* Arithmetic of two tensors of one type, and of a tensor and a number: strict shapes, numpy's
 * broadcasting, a number in the place of the second. */
#include "tensor/map.h"

static const weft_map_def add_def = {WEFT_MAP_ADD, WEFT_TYPES_NUMBER, false};

weft_tensor *weft_add(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "add", &add_def, a, b, false);
}
weft_tensor *weft_broadcast_add(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "broadcast_add", &add_def, a, b, true);
}
weft_tensor *weft_add_scalar(weft_scope *s, weft_tensor *x, double value) {
    return weft_map2_scalar(s, "add_scalar", &add_def, x, value);
}

static const weft_map_def sub_def = {WEFT_MAP_SUB, WEFT_TYPES_NUMBER, false};

weft_tensor *weft_sub(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "sub", &sub_def, a, b, false);
}
weft_tensor *weft_broadcast_sub(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "broadcast_sub", &sub_def, a, b, true);
}
weft_tensor *weft_sub_scalar(weft_scope *s, weft_tensor *x, double value) {
    return weft_map2_scalar(s, "sub_scalar", &sub_def, x, value);
}

static const weft_map_def mul_def = {WEFT_MAP_MUL, WEFT_TYPES_NUMBER, false};

weft_tensor *weft_mul(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "mul", &mul_def, a, b, false);
}
weft_tensor *weft_broadcast_mul(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "broadcast_mul", &mul_def, a, b, true);
}
weft_tensor *weft_mul_scalar(weft_scope *s, weft_tensor *x, double value) {
    return weft_map2_scalar(s, "mul_scalar", &mul_def, x, value);
}

static const weft_map_def div_def = {WEFT_MAP_DIV, WEFT_TYPES_NUMBER, false};

weft_tensor *weft_div(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "div", &div_def, a, b, false);
}
weft_tensor *weft_broadcast_div(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "broadcast_div", &div_def, a, b, true);
}
weft_tensor *weft_div_scalar(weft_scope *s, weft_tensor *x, double value) {
    return weft_map2_scalar(s, "div_scalar", &div_def, x, value);
}

static const weft_map_def rem_def = {WEFT_MAP_REM, WEFT_TYPES_NUMBER, false};

weft_tensor *weft_rem(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "rem", &rem_def, a, b, false);
}
weft_tensor *weft_broadcast_rem(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "broadcast_rem", &rem_def, a, b, true);
}
weft_tensor *weft_rem_scalar(weft_scope *s, weft_tensor *x, double value) {
    return weft_map2_scalar(s, "rem_scalar", &rem_def, x, value);
}

static const weft_map_def pow_def = {WEFT_MAP_POW, WEFT_TYPES_FLOAT, false};

weft_tensor *weft_pow(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "pow", &pow_def, a, b, false);
}
weft_tensor *weft_broadcast_pow(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "broadcast_pow", &pow_def, a, b, true);
}
weft_tensor *weft_pow_scalar(weft_scope *s, weft_tensor *x, double value) {
    return weft_map2_scalar(s, "pow_scalar", &pow_def, x, value);
}

static const weft_map_def minimum_def = {WEFT_MAP_MINIMUM, WEFT_TYPES_NUMBER, false};

weft_tensor *weft_minimum(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "minimum", &minimum_def, a, b, false);
}
weft_tensor *weft_broadcast_minimum(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "broadcast_minimum", &minimum_def, a, b, true);
}
weft_tensor *weft_minimum_scalar(weft_scope *s, weft_tensor *x, double value) {
    return weft_map2_scalar(s, "minimum_scalar", &minimum_def, x, value);
}

static const weft_map_def maximum_def = {WEFT_MAP_MAXIMUM, WEFT_TYPES_NUMBER, false};

weft_tensor *weft_maximum(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "maximum", &maximum_def, a, b, false);
}
weft_tensor *weft_broadcast_maximum(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "broadcast_maximum", &maximum_def, a, b, true);
}
weft_tensor *weft_maximum_scalar(weft_scope *s, weft_tensor *x, double value) {
    return weft_map2_scalar(s, "maximum_scalar", &maximum_def, x, value);
}
