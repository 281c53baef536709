/* AMX's instructions in plain C, after the operation sections of Intel's Software Developer's
 * Manual (volume 2: LDTILECFG, TILELOADD, TILESTORED, TILEZERO, TDPBF16PS, TDPBSSD), under the
 * names of the compilers' intrinsics. What the processor would refuse fails the test. */
#ifndef WEFT_TESTS_AMX_MODEL_H
#define WEFT_TESTS_AMX_MODEL_H

#include <math.h>
#include "test.h"
#include "base/floats.h"

enum { MODEL_TILES = 8, MODEL_ROWS = 16, MODEL_BYTES = 64 };

typedef struct amx_model {
    bool configured;
    unsigned rows[MODEL_TILES], bytes[MODEL_TILES]; /* of a row */
    uint8_t tile[MODEL_TILES][MODEL_ROWS][MODEL_BYTES];
} amx_model;

static amx_model amx;

static inline void _tile_loadconfig(const void *memory) {
    const uint8_t *p = memory;
    assert_int_equal(p[0], 1); /* palette */
    assert_int_equal(p[1], 0); /* start row */
    for (int i = 2; i < 16; i++)
        assert_int_equal(p[i], 0);
    memset(&amx, 0, sizeof amx);
    for (int t = 0; t < 16; t++) {
        unsigned bytes = p[16 + 2 * t] | (unsigned)p[17 + 2 * t] << 8, rows = p[48 + t];
        assert_true(t < MODEL_TILES ? bytes <= MODEL_BYTES && rows <= MODEL_ROWS
                                    : bytes == 0 && rows == 0);
        if (t < MODEL_TILES) {
            amx.rows[t] = rows;
            amx.bytes[t] = bytes;
        }
    }
    amx.configured = true;
}

static inline void _tile_release(void) {
    amx.configured = false;
}

static inline void model_tile(int t) {
    assert_true(amx.configured && t >= 0 && t < MODEL_TILES && amx.rows[t] > 0);
}

static inline void _tile_zero(int t) {
    model_tile(t);
    memset(amx.tile[t], 0, sizeof amx.tile[t]);
}

static inline void _tile_loadd(int t, const void *base, size_t stride) {
    model_tile(t);
    memset(amx.tile[t], 0, sizeof amx.tile[t]);
    for (unsigned r = 0; r < amx.rows[t]; r++)
        memcpy(amx.tile[t][r], (const char *)base + r * stride, amx.bytes[t]);
}

/* The hint to the caches is none to a model. */
static inline void _tile_stream_loadd(int t, const void *base, size_t stride) {
    _tile_loadd(t, base, stride);
}

static inline void _tile_stored(int t, void *base, size_t stride) {
    model_tile(t);
    for (unsigned r = 0; r < amx.rows[t]; r++)
        memcpy((char *)base + r * stride, amx.tile[t][r], amx.bytes[t]);
}

/* Shapes of c += a b: c [m, n], a [m, k], b [k, n] in groups of four bytes. */
static inline void model_shapes(int c, int a, int b) {
    model_tile(c);
    model_tile(a);
    model_tile(b);
    assert_true(c != a && c != b && a != b);
    assert_true(amx.rows[c] == amx.rows[a] && amx.bytes[c] == amx.bytes[b]);
    assert_true(amx.bytes[a] / 4 == amx.rows[b]);
}

static inline float model_bf16(int t, unsigned r, unsigned i) {
    uint16_t h;
    memcpy(&h, &amx.tile[t][r][2 * i], 2);
    float f = weft_bf16_to_f32(h);
    return fpclassify(f) == FP_SUBNORMAL ? copysignf(0, f) : f;
}

/* Even and odd products have chains of their own, which are added at the end. */
static inline void _tile_dpbf16ps(int c, int a, int b) {
    model_shapes(c, a, b);
    for (unsigned m = 0; m < amx.rows[c]; m++)
        for (unsigned n = 0; n < amx.bytes[c] / 4; n++) {
            float even = 0, odd = 0, sum;
            for (unsigned k = 0; k < amx.bytes[a] / 4; k++) {
                even = fmaf(model_bf16(a, m, 2 * k), model_bf16(b, k, 2 * n), even);
                odd = fmaf(model_bf16(a, m, 2 * k + 1), model_bf16(b, k, 2 * n + 1), odd);
            }
            memcpy(&sum, &amx.tile[c][m][4 * n], 4);
            sum += even + odd;
            memcpy(&amx.tile[c][m][4 * n], &sum, 4);
        }
}

static inline void _tile_dpbssd(int c, int a, int b) {
    model_shapes(c, a, b);
    for (unsigned m = 0; m < amx.rows[c]; m++)
        for (unsigned n = 0; n < amx.bytes[c] / 4; n++) {
            int32_t sum;
            memcpy(&sum, &amx.tile[c][m][4 * n], 4);
            for (unsigned i = 0; i < amx.bytes[a]; i++)
                sum += (int8_t)amx.tile[a][m][i] * (int8_t)amx.tile[b][i / 4][4 * n + i % 4];
            memcpy(&amx.tile[c][m][4 * n], &sum, 4);
        }
}

#endif
