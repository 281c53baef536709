/* Exact conversions between float32 and the 16-bit and 8-bit floats, and the floating environment
 * that every entry point works in. */
#ifndef WEFT_BASE_FLOATS_H
#define WEFT_BASE_FLOATS_H

#include <stdint.h>
#include <string.h>

static inline uint32_t weft_bits_of(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}
static inline float weft_float_of(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}
/* IEEE binary16; NaN stays NaN (quiet), denormals exact. */
static inline float weft_f16_to_f32(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exp = (h >> 10) & 31u, man = h & 1023u;
    if (exp == 31)
        return weft_float_of(sign | 0x7f800000u | (man << 13) | (man ? 0x400000u : 0));
    if (exp == 0) {
        float f = (float)man * 0x1p-24f;
        return weft_float_of(sign | weft_bits_of(f));
    }
    return weft_float_of(sign | ((exp + 112u) << 23) | (man << 13));
}
/* Round to nearest, ties to even; overflow to infinity; NaN keeps its top bits, quiet. */
static inline uint16_t weft_f32_to_f16(float f) {
    uint32_t u = weft_bits_of(f), sign = (u >> 16) & 0x8000u, a = u & 0x7fffffffu;
    if (a > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | ((a >> 13) & 0x3ffu));
    if (a >= 0x477ff000u) /* rounds to 2^16 or more */
        return (uint16_t)(sign | 0x7c00u);
    if (a < 0x38800000u) { /* a denormal or zero: the addition rounds at 2^-24 */
        float r = weft_float_of(a) + 0.5f;
        return (uint16_t)(sign | (weft_bits_of(r) - weft_bits_of(0.5f)));
    }
    a += 0xfffu + ((a >> 13) & 1u);
    return (uint16_t)(sign | ((a - 0x38000000u) >> 13));
}
static inline float weft_bf16_to_f32(uint16_t h) {
    return weft_float_of((uint32_t)h << 16);
}
static inline uint16_t weft_f32_to_bf16(float f) {
    uint32_t u = weft_bits_of(f);
    if ((u & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)((u >> 16) | 0x40u);
    return (uint16_t)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

/* E4M3FN: no infinities, all bits of exponent and fraction set is NaN; denormals exact. */
static inline float weft_f8_e4m3_to_f32(uint8_t b) {
    uint32_t sign = (uint32_t)(b & 0x80u) << 24, a = b & 0x7fu;
    if (a == 0x7f)
        return weft_float_of(sign | 0x7fc00000u);
    if (a < 8)
        return weft_float_of(sign | weft_bits_of((float)a * 0x1p-9f));
    return weft_float_of(sign | ((a << 20) + (120u << 23)));
}
/* 2^(b - 127); 255 is NaN. */
static inline float weft_f8_e8m0_to_f32(uint8_t b) {
    return weft_float_of(b == 0 ? 0x400000u : b == 255 ? 0x7fc00000u : (uint32_t)b << 23);
}

/* Round to nearest, no flush to zero, exceptions masked; `restore` puts back what `enter` found. */
typedef struct weft_fpenv {
    uint64_t saved;
} weft_fpenv;
weft_fpenv weft_fpenv_enter(void);
void weft_fpenv_restore(weft_fpenv saved);

#endif
