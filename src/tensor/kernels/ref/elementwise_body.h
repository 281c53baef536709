/* Loops of the elementwise kernels over lanes, after a lanes_*.h header. The last lanes of a row
 * pass through a padded buffer. y may be x. */
#ifndef WEFT_KERNELS_ELEMENTWISE_BODY_H
#define WEFT_KERNELS_ELEMENTWISE_BODY_H

#include "tensor/kernels/ref/math_body.h"

/* Sixteen floats of which `n` are there; the others are `fill`. */
WEFT_INLINE v16f v16f_load_part(const float *p, size_t n, float fill) {
    float buf[WEFT_LANES];
    for (size_t i = 0; i < WEFT_LANES; i++)
        buf[i] = fill;
    memcpy(buf, p, n * sizeof *p);
    return v16f_load(buf);
}

WEFT_INLINE void v16f_store_part(float *p, size_t n, v16f x) {
    float buf[WEFT_LANES];
    v16f_store(buf, x);
    memcpy(p, buf, n * sizeof *p);
}

WEFT_INLINE void map1_body(v16f (*f)(v16f), const float *x, size_t n, float *y) {
    size_t i = 0;
    for (; i + WEFT_LANES <= n; i += WEFT_LANES)
        v16f_store(y + i, f(v16f_load(x + i)));
    if (i < n)
        v16f_store_part(y + i, n - i, f(v16f_load_part(x + i, n - i, 0)));
}

WEFT_INLINE void map2_body(v16f (*f)(v16f, v16f), const float *a, const float *b, size_t n,
                           float *y) {
    size_t i = 0;
    for (; i + WEFT_LANES <= n; i += WEFT_LANES)
        v16f_store(y + i, f(v16f_load(a + i), v16f_load(b + i)));
    if (i < n)
        v16f_store_part(y + i, n - i,
                        f(v16f_load_part(a + i, n - i, 0), v16f_load_part(b + i, n - i, 0)));
}

WEFT_INLINE void scale_body(const float *x, size_t n, float factor, float *y) {
    v16f by = v16f_set1(factor);
    size_t i = 0;
    for (; i + WEFT_LANES <= n; i += WEFT_LANES)
        v16f_store(y + i, v16f_mul(v16f_load(x + i), by));
    if (i < n)
        v16f_store_part(y + i, n - i, v16f_mul(v16f_load_part(x + i, n - i, 0), by));
}

WEFT_INLINE void f16_to_f32_body(const uint16_t *x, size_t n, float *y) {
    uint16_t buf[WEFT_LANES] = {0};
    size_t i = 0;
    for (; i + WEFT_LANES <= n; i += WEFT_LANES)
        v16f_store(y + i, v16f_load_f16(x + i));
    if (i < n) {
        memcpy(buf, x + i, (n - i) * sizeof *x);
        v16f_store_part(y + i, n - i, v16f_load_f16(buf));
    }
}

WEFT_INLINE void f32_to_f16_body(const float *x, size_t n, uint16_t *y) {
    uint16_t buf[WEFT_LANES];
    size_t i = 0;
    for (; i + WEFT_LANES <= n; i += WEFT_LANES)
        v16f_store_f16(y + i, v16f_load(x + i));
    if (i < n) {
        v16f_store_f16(buf, v16f_load_part(x + i, n - i, 0));
        memcpy(y + i, buf, (n - i) * sizeof *y);
    }
}

#endif
