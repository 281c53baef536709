/* Comparisons and logic, which give bool, and choosing by one. NaN compares as IEEE 754 says. */
#include "tensor/map.h"

static const weft_map_def eq_def = {WEFT_MAP_EQ, WEFT_TYPES_ANY, true};

weft_tensor *weft_eq(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "eq", &eq_def, a, b, false);
}
weft_tensor *weft_broadcast_eq(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "broadcast_eq", &eq_def, a, b, true);
}
weft_tensor *weft_eq_scalar(weft_scope *s, weft_tensor *x, double value) {
    return weft_map2_scalar(s, "eq_scalar", &eq_def, x, value);
}

static const weft_map_def ne_def = {WEFT_MAP_NE, WEFT_TYPES_ANY, true};

weft_tensor *weft_ne(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "ne", &ne_def, a, b, false);
}
weft_tensor *weft_broadcast_ne(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "broadcast_ne", &ne_def, a, b, true);
}
weft_tensor *weft_ne_scalar(weft_scope *s, weft_tensor *x, double value) {
    return weft_map2_scalar(s, "ne_scalar", &ne_def, x, value);
}

static const weft_map_def lt_def = {WEFT_MAP_LT, WEFT_TYPES_ANY, true};

weft_tensor *weft_lt(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "lt", &lt_def, a, b, false);
}
weft_tensor *weft_broadcast_lt(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "broadcast_lt", &lt_def, a, b, true);
}
weft_tensor *weft_lt_scalar(weft_scope *s, weft_tensor *x, double value) {
    return weft_map2_scalar(s, "lt_scalar", &lt_def, x, value);
}

static const weft_map_def le_def = {WEFT_MAP_LE, WEFT_TYPES_ANY, true};

weft_tensor *weft_le(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "le", &le_def, a, b, false);
}
weft_tensor *weft_broadcast_le(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "broadcast_le", &le_def, a, b, true);
}
weft_tensor *weft_le_scalar(weft_scope *s, weft_tensor *x, double value) {
    return weft_map2_scalar(s, "le_scalar", &le_def, x, value);
}

static const weft_map_def gt_def = {WEFT_MAP_GT, WEFT_TYPES_ANY, true};

weft_tensor *weft_gt(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "gt", &gt_def, a, b, false);
}
weft_tensor *weft_broadcast_gt(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "broadcast_gt", &gt_def, a, b, true);
}
weft_tensor *weft_gt_scalar(weft_scope *s, weft_tensor *x, double value) {
    return weft_map2_scalar(s, "gt_scalar", &gt_def, x, value);
}

static const weft_map_def ge_def = {WEFT_MAP_GE, WEFT_TYPES_ANY, true};

weft_tensor *weft_ge(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "ge", &ge_def, a, b, false);
}
weft_tensor *weft_broadcast_ge(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "broadcast_ge", &ge_def, a, b, true);
}
weft_tensor *weft_ge_scalar(weft_scope *s, weft_tensor *x, double value) {
    return weft_map2_scalar(s, "ge_scalar", &ge_def, x, value);
}

static const weft_map_def logical_and_def = {WEFT_MAP_AND, WEFT_TYPES_BOOL, true};

weft_tensor *weft_logical_and(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "logical_and", &logical_and_def, a, b, false);
}
weft_tensor *weft_broadcast_logical_and(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "broadcast_logical_and", &logical_and_def, a, b, true);
}

static const weft_map_def logical_or_def = {WEFT_MAP_OR, WEFT_TYPES_BOOL, true};

weft_tensor *weft_logical_or(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "logical_or", &logical_or_def, a, b, false);
}
weft_tensor *weft_broadcast_logical_or(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "broadcast_logical_or", &logical_or_def, a, b, true);
}

static const weft_map_def logical_xor_def = {WEFT_MAP_XOR, WEFT_TYPES_BOOL, true};

weft_tensor *weft_logical_xor(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "logical_xor", &logical_xor_def, a, b, false);
}
weft_tensor *weft_broadcast_logical_xor(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    return weft_map2(s, "broadcast_logical_xor", &logical_xor_def, a, b, true);
}

weft_tensor *weft_logical_not(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_NOT, WEFT_TYPES_BOOL, true};
    return weft_map1(s, "logical_not", &def, x, NULL);
}
weft_tensor *weft_is_nan(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_IS_NAN, WEFT_TYPES_NUMBER, true};
    return weft_map1(s, "is_nan", &def, x, NULL);
}
weft_tensor *weft_is_inf(weft_scope *s, weft_tensor *x) {
    static const weft_map_def def = {WEFT_MAP_IS_INF, WEFT_TYPES_NUMBER, true};
    return weft_map1(s, "is_inf", &def, x, NULL);
}

weft_tensor *weft_where(weft_scope *s, weft_tensor *cond, weft_tensor *a, weft_tensor *b) {
    return weft_map_where(s, "where", cond, a, b, false);
}
weft_tensor *weft_broadcast_where(weft_scope *s, weft_tensor *cond, weft_tensor *a,
                                  weft_tensor *b) {
    return weft_map_where(s, "broadcast_where", cond, a, b, true);
}
weft_tensor *weft_masked_fill(weft_scope *s, weft_tensor *x, weft_tensor *mask, double value) {
    return weft_map_fill(s, "masked_fill", x, mask, value);
}
