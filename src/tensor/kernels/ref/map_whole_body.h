/* The elementwise functions of map.h on integers as they lie, after the macros of map_body.h: what
 * wraps is computed unsigned, what compares in the type itself. bool is u8 here. */
#ifndef WEFT_KERNELS_MAP_WHOLE_BODY_H
#define WEFT_KERNELS_MAP_WHOLE_BODY_H

#include <string.h>

/* No integer is NaN or an infinity. */
static void map_never(const weft_map_args *p, const void *const *in, size_t n, void *out) {
    (void)p;
    (void)in;
    memset(out, 0, n);
}

/* `quotient` of x and z, which is not 0. What is shorter than int cannot overflow in it. */
#define MAP_DIVIDE(function, type, quotient)                                                       \
    static void function(const weft_map_args *p, const void *const *in, size_t n, void *out) {     \
        const type *a = in[0], *b = in[1];                                                         \
        type *y = out;                                                                             \
        for (size_t i = 0; i < n; i++) {                                                           \
            type x = a[i], z = b[i];                                                               \
            if (z == 0)                                                                            \
                __atomic_store_n(p->divided_by_zero, true, __ATOMIC_RELAXED);                      \
            y[i] = (type)(z == 0 ? 0 : (quotient));                                                \
        }                                                                                          \
    }

/* ---- int32_t ---- */

MAP2(add_i32, uint32_t, uint32_t, x + z)
MAP2(sub_i32, uint32_t, uint32_t, x - z)
MAP2(mul_i32, uint32_t, uint32_t, x *z)
MAP2(minimum_i32, int32_t, int32_t, x < z ? x : z)
MAP2(maximum_i32, int32_t, int32_t, x > z ? x : z)
MAP2(eq_i32, int32_t, uint8_t, x == z)
MAP2(ne_i32, int32_t, uint8_t, x != z)
MAP2(lt_i32, int32_t, uint8_t, x < z)
MAP2(le_i32, int32_t, uint8_t, x <= z)
MAP2(gt_i32, int32_t, uint8_t, x > z)
MAP2(ge_i32, int32_t, uint8_t, x >= z)
MAP1(neg_i32, uint32_t, uint32_t, 0 - x)
MAP1(square_i32, uint32_t, uint32_t, x *x)
MAP1(same_i32, int32_t, int32_t, x)
MAP1(abs_i32, int32_t, uint32_t, x < 0 ? 0 - (uint32_t)x : (uint32_t)x)
MAP1(sign_i32, int32_t, int32_t, (x > 0) - (x < 0))
MAP1(relu_i32, int32_t, int32_t, x < 0 ? 0 : x)
MAP_WITH(affine_i32, uint32_t, i0, i1, (uint32_t)(x *q0 + q1))
MAP_WITH(clamp_i32, int32_t, i0, i1, x<q0 ? q0 : x> q1 ? q1 : x)
MAP_DIVIDE(div_i32, int32_t, z == -1 ? (int32_t)(0 - (uint32_t)x) : x / z)
MAP_DIVIDE(rem_i32, int32_t, z == -1 ? 0 : x % z)

/* ---- int16_t ---- */

MAP2(add_i16, uint16_t, uint16_t, x + z)
MAP2(sub_i16, uint16_t, uint16_t, x - z)
MAP2(mul_i16, uint16_t, uint16_t, (uint32_t)x *z)
MAP2(minimum_i16, int16_t, int16_t, x < z ? x : z)
MAP2(maximum_i16, int16_t, int16_t, x > z ? x : z)
MAP2(eq_i16, int16_t, uint8_t, x == z)
MAP2(ne_i16, int16_t, uint8_t, x != z)
MAP2(lt_i16, int16_t, uint8_t, x < z)
MAP2(le_i16, int16_t, uint8_t, x <= z)
MAP2(gt_i16, int16_t, uint8_t, x > z)
MAP2(ge_i16, int16_t, uint8_t, x >= z)
MAP1(neg_i16, uint16_t, uint16_t, 0 - x)
MAP1(square_i16, uint16_t, uint16_t, (uint32_t)x *x)
MAP1(same_i16, int16_t, int16_t, x)
MAP1(abs_i16, int16_t, uint16_t, x < 0 ? 0 - (uint16_t)x : (uint16_t)x)
MAP1(sign_i16, int16_t, int16_t, (x > 0) - (x < 0))
MAP1(relu_i16, int16_t, int16_t, x < 0 ? 0 : x)
MAP_WITH(affine_i16, uint16_t, i0, i1, (uint16_t)((uint32_t)x *q0 + q1))
MAP_WITH(clamp_i16, int16_t, i0, i1, x<q0 ? q0 : x> q1 ? q1 : x)
MAP_DIVIDE(div_i16, int16_t, x / z)
MAP_DIVIDE(rem_i16, int16_t, x % z)

/* ---- int8_t ---- */

MAP2(add_i8, uint8_t, uint8_t, x + z)
MAP2(sub_i8, uint8_t, uint8_t, x - z)
MAP2(mul_i8, uint8_t, uint8_t, x *z)
MAP2(minimum_i8, int8_t, int8_t, x < z ? x : z)
MAP2(maximum_i8, int8_t, int8_t, x > z ? x : z)
MAP2(eq_i8, int8_t, uint8_t, x == z)
MAP2(ne_i8, int8_t, uint8_t, x != z)
MAP2(lt_i8, int8_t, uint8_t, x < z)
MAP2(le_i8, int8_t, uint8_t, x <= z)
MAP2(gt_i8, int8_t, uint8_t, x > z)
MAP2(ge_i8, int8_t, uint8_t, x >= z)
MAP1(neg_i8, uint8_t, uint8_t, 0 - x)
MAP1(square_i8, uint8_t, uint8_t, x *x)
MAP1(same_i8, int8_t, int8_t, x)
MAP1(abs_i8, int8_t, uint8_t, x < 0 ? 0 - (uint8_t)x : (uint8_t)x)
MAP1(sign_i8, int8_t, int8_t, (x > 0) - (x < 0))
MAP1(relu_i8, int8_t, int8_t, x < 0 ? 0 : x)
MAP_WITH(affine_i8, uint8_t, i0, i1, (uint8_t)(x *q0 + q1))
MAP_WITH(clamp_i8, int8_t, i0, i1, x<q0 ? q0 : x> q1 ? q1 : x)
MAP_DIVIDE(div_i8, int8_t, x / z)
MAP_DIVIDE(rem_i8, int8_t, x % z)

/* ---- uint8_t ---- */

MAP2(add_u8, uint8_t, uint8_t, x + z)
MAP2(sub_u8, uint8_t, uint8_t, x - z)
MAP2(mul_u8, uint8_t, uint8_t, x *z)
MAP2(minimum_u8, uint8_t, uint8_t, x < z ? x : z)
MAP2(maximum_u8, uint8_t, uint8_t, x > z ? x : z)
MAP2(eq_u8, uint8_t, uint8_t, x == z)
MAP2(ne_u8, uint8_t, uint8_t, x != z)
MAP2(lt_u8, uint8_t, uint8_t, x < z)
MAP2(le_u8, uint8_t, uint8_t, x <= z)
MAP2(gt_u8, uint8_t, uint8_t, x > z)
MAP2(ge_u8, uint8_t, uint8_t, x >= z)
MAP1(neg_u8, uint8_t, uint8_t, 0 - x)
MAP1(square_u8, uint8_t, uint8_t, x *x)
MAP1(same_u8, uint8_t, uint8_t, x) /* abs, relu, floor, … */
MAP1(sign_u8, uint8_t, uint8_t, x > 0)
MAP_WITH(affine_u8, uint8_t, i0, i1, (uint8_t)(x *q0 + q1))
MAP_WITH(clamp_u8, uint8_t, i0, i1, x<q0 ? q0 : x> q1 ? q1 : x)
MAP_DIVIDE(div_u8, uint8_t, x / z)
MAP_DIVIDE(rem_u8, uint8_t, x % z)
MAP2(and_u8, uint8_t, uint8_t, (x & z) != 0)
MAP2(or_u8, uint8_t, uint8_t, (x | z) != 0)
MAP2(xor_u8, uint8_t, uint8_t, x != z)
MAP1(not_u8, uint8_t, uint8_t, x == 0)
#endif
