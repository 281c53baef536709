/* Conversions between the plain types, by way of double for floats and int64 for integers, with the
 * frequent pairs done directly. */
#include "tensor/convert.h"

#include <string.h>
#include "base/floats.h"

#define PIECE 256

/* Rounds to float so that a second rounding to fewer bits is right: toward zero, and odd if inexact
 * (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using
 * rounding to odd", 2008). */
static float to_odd(double d) {
    float f = (float)d;
    double back = (double)f;
    if (back == d || d != d)
        return f;
    uint32_t u = weft_bits_of(f);
    if ((back > d) == (d > 0))
        u--; /* the magnitude was rounded up */
    return weft_float_of(u | 1u);
}

/* The same from int64 to double; below 2^53 it is exact. */
static double wide_to_odd(int64_t v) {
    uint64_t m = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    if (m >> 53 == 0)
        return (double)v;
    double r = (double)((m >> 11) | ((m & 2047u) != 0)) * 2048.0;
    return v < 0 ? -r : r;
}

static int64_t saturate(double x, double low, double high, int64_t min, int64_t max) {
    if (x != x)
        return 0;
    if (x <= low)
        return min;
    return x >= high ? max : (int64_t)x;
}

static void floats_to_f64(const weft_kernels *k, weft_dtype from, const void *x, size_t n,
                          double *y) {
    float f[PIECE];
    if (from == WEFT_F64) {
        memcpy(y, x, n * sizeof *y);
        return;
    }
    const float *w = weft_as_f32(k, from, x, n, f);
    for (size_t i = 0; i < n; i++)
        y[i] = (double)w[i];
}

static void f64_to_integers(const double *x, weft_dtype to, void *y, size_t n) {
    int64_t v[PIECE];
    double low = 0, high = 255;
    int64_t min = 0, max = 255;
    if (to == WEFT_I64) {
        low = -0x1p63, high = 0x1p63, min = INT64_MIN, max = INT64_MAX;
    } else if (to == WEFT_I32) {
        min = INT32_MIN, max = INT32_MAX;
    } else if (to == WEFT_I16) {
        min = INT16_MIN, max = INT16_MAX;
    } else if (to == WEFT_I8) {
        min = INT8_MIN, max = INT8_MAX;
    }
    if (to != WEFT_I64) {
        low = (double)min;
        high = (double)max;
    }
    for (size_t i = 0; i < n; i++)
        v[i] = saturate(x[i], low, high, min, max);
    weft_from_i64(v, to, y, n);
}

static void store_f64(const double *x, weft_dtype to, void *y, size_t n) {
    switch (to) {
    case WEFT_F64:
        memcpy(y, x, n * sizeof *x);
        break;
    case WEFT_F32:
        for (size_t i = 0; i < n; i++)
            ((float *)y)[i] = (float)x[i];
        break;
    case WEFT_F16:
        for (size_t i = 0; i < n; i++)
            ((uint16_t *)y)[i] = weft_f32_to_f16(to_odd(x[i]));
        break;
    case WEFT_BF16:
        for (size_t i = 0; i < n; i++)
            ((uint16_t *)y)[i] = weft_f32_to_bf16(to_odd(x[i]));
        break;
    case WEFT_BOOL:
        for (size_t i = 0; i < n; i++)
            ((uint8_t *)y)[i] = x[i] != 0; /* NaN is not 0 */
        break;
    default:
        f64_to_integers(x, to, y, n);
    }
}

static void store_i64(const int64_t *x, weft_dtype to, void *y, size_t n) {
    double d[PIECE];
    switch (to) {
    case WEFT_F64:
        for (size_t i = 0; i < n; i++)
            ((double *)y)[i] = (double)x[i];
        break;
    case WEFT_F32:
        for (size_t i = 0; i < n; i++)
            ((float *)y)[i] = (float)x[i];
        break;
    case WEFT_F16:
    case WEFT_BF16:
        for (size_t i = 0; i < n; i++)
            d[i] = wide_to_odd(x[i]);
        store_f64(d, to, y, n);
        break;
    default:
        weft_from_i64(x, to, y, n);
    }
}

void weft_to_i64(weft_dtype dtype, const void *x, size_t n, int64_t *y) {
    switch (dtype) {
    case WEFT_I64:
        memcpy(y, x, n * sizeof *y);
        break;
    case WEFT_I32:
        for (size_t i = 0; i < n; i++)
            y[i] = ((const int32_t *)x)[i];
        break;
    case WEFT_I16:
        for (size_t i = 0; i < n; i++)
            y[i] = ((const int16_t *)x)[i];
        break;
    case WEFT_I8:
        for (size_t i = 0; i < n; i++)
            y[i] = ((const int8_t *)x)[i];
        break;
    case WEFT_BOOL:
        for (size_t i = 0; i < n; i++)
            y[i] = ((const uint8_t *)x)[i] != 0;
        break;
    default: /* u8 */
        for (size_t i = 0; i < n; i++)
            y[i] = ((const uint8_t *)x)[i];
    }
}

void weft_from_i64(const int64_t *x, weft_dtype dtype, void *y, size_t n) {
    switch (dtype) {
    case WEFT_I64:
        memcpy(y, x, n * sizeof *x);
        break;
    case WEFT_I32:
        for (size_t i = 0; i < n; i++)
            ((uint32_t *)y)[i] = (uint32_t)(uint64_t)x[i];
        break;
    case WEFT_I16:
        for (size_t i = 0; i < n; i++)
            ((uint16_t *)y)[i] = (uint16_t)(uint64_t)x[i];
        break;
    case WEFT_BOOL:
        for (size_t i = 0; i < n; i++)
            ((uint8_t *)y)[i] = x[i] != 0;
        break;
    default: /* i8, u8 */
        for (size_t i = 0; i < n; i++)
            ((uint8_t *)y)[i] = (uint8_t)(uint64_t)x[i];
    }
}

const float *weft_as_f32(const weft_kernels *k, weft_dtype dtype, const void *x, size_t n,
                         float *buffer) {
    if (dtype == WEFT_F32)
        return x;
    if (dtype == WEFT_F16) {
        k->f16_to_f32(x, n, buffer);
    } else {
        k->bf16_to_f32(x, n, buffer);
    }
    return buffer;
}

void weft_from_f32(const weft_kernels *k, const float *x, weft_dtype dtype, void *y, size_t n) {
    if (dtype == WEFT_F16) {
        k->f32_to_f16(x, n, y);
    } else if (dtype == WEFT_BF16) {
        k->f32_to_bf16(x, n, y);
    } else if (x != y && n > 0) {
        memcpy(y, x, n * sizeof *x);
    }
}

static bool is_float32_like(weft_dtype d) {
    return d == WEFT_F32 || d == WEFT_F16 || d == WEFT_BF16;
}

void weft_convert(const weft_kernels *k, weft_dtype from, const void *x, weft_dtype to, void *y,
                  size_t n) {
    size_t in = weft_dtype_block_bytes(from), out = weft_dtype_block_bytes(to);
    if (from == to && from != WEFT_BOOL) {
        memcpy(y, x, n * in);
        return;
    }
    for (size_t i = 0; i < n; i += PIECE) {
        size_t m = n - i < PIECE ? n - i : PIECE;
        const unsigned char *from_at = (const unsigned char *)x + i * in;
        unsigned char *to_at = (unsigned char *)y + i * out;
        if (is_float32_like(from) && is_float32_like(to)) {
            float f[PIECE];
            weft_from_f32(k, weft_as_f32(k, from, from_at, m, f), to, to_at, m);
        } else if (weft_dtype_is_float(from)) {
            double d[PIECE];
            floats_to_f64(k, from, from_at, m, d);
            store_f64(d, to, to_at, m);
        } else {
            int64_t v[PIECE];
            weft_to_i64(from, from_at, m, v);
            store_i64(v, to, to_at, m);
        }
    }
}
