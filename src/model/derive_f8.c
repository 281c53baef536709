/* Matrices that a folder holds in 8-bit floats beside their scales, as 16-bit floats: one scale for
 * a tensor, for a row, or for each block of rows and columns, of which the last may be cut short.
 *
 * f16 halves are exact for unscaled values, and with a scale 8 times closer than bf16; bf16 serves
 * where scales lead out of f16's range. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "base/floats.h"
#include "model/derive.h"
#include "tensor/impl.h"
#include "tensor/kernels/panel.h"

#define PIECE 256 /* elements at a time */

/* The largest values of a block between which f16 is the closer one: beyond the first it overflows,
 * and much of a block that stays below the second is denormal. */
#define F16_MOST 65504.0f
#define F16_LEAST 0x1p-12f

/* Scales of [n_matrices, rows, cols]: one for each block of block_rows × block_cols. */
typedef struct scales {
    weft_tensor *t; /* NULL: all are 1 */
    size_t n_matrices, rows, cols;
    size_t block_rows, block_cols;
    size_t n_down, n_across; /* blocks of a matrix */
    bool shared;             /* by all matrices */
} scales;

bool weft_is_f8(const weft_tensor *t) {
    return t->dtype == WEFT_F8_E4M3 || t->dtype == WEFT_F8_E5M2;
}

/* ---- Names ---- */

static const char *const ends[] = {"_scale_inv", "_scale"};

static weft_tensor *scale_of(const weft_binding *b, const char *name,
                             char other[WEFT_TENSOR_NAME]) {
    weft_tensor *t = NULL;
    for (size_t i = 0; i < sizeof ends / sizeof *ends && !t; i++) {
        snprintf(other, WEFT_TENSOR_NAME, "%s%s", name, ends[i]);
        t = weft_weights_find(b->weights, other);
    }
    return t;
}

bool weft_f8_is_beside(const weft_binding *b, const char *name) {
    /* "input_scale": of activations, which are not quantised here. */
    static const char *const forms[][2] = {
        {"_scale_inv", ""}, {"_scale", ""}, {".input_scale", ".weight"}};
    char base[WEFT_TENSOR_NAME];
    size_t n = strlen(name);
    if (!b->network->h.f8.scaled)
        return false;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        size_t end = strlen(forms[i][0]);
        if (n <= end || strcmp(name + n - end, forms[i][0]) != 0)
            continue;
        snprintf(base, sizeof base, "%.*s%s", (int)(n - end), name, forms[i][1]);
        const weft_tensor *t = weft_weights_find(b->weights, base);
        if (t && weft_is_f8(t))
            return true;
    }
    return false;
}

/* ---- Checking ---- */

static size_t blocks_of(size_t n, size_t block) {
    return n / block + (n % block != 0);
}

/* Whether the scales' dims, those of 1 left aside, are [n_matrices (or none), down, across]. */
static bool fits(scales *s, size_t block_rows, size_t block_cols) {
    s->block_rows = block_rows ? block_rows : 1;
    s->block_cols = block_cols ? block_cols : 1;
    s->n_down = blocks_of(s->rows, s->block_rows);
    s->n_across = blocks_of(s->cols, s->block_cols);
    size_t want[3] = {s->n_matrices, s->n_down, s->n_across}, have[WEFT_MAX_RANK], n = 0;
    for (int i = 0; i < s->t->rank; i++)
        if (s->t->dims[i] != 1)
            have[n++] = (size_t)s->t->dims[i];
    for (int whole = 1; whole >= 0; whole--) {
        size_t at = 0;
        bool same = true;
        for (int k = whole ? 0 : 1; k < 3 && same; k++)
            if (want[k] != 1)
                same = at < n && have[at++] == want[k];
        s->shared = !whole;
        if (same && at == n)
            return true;
    }
    return false;
}

static bool scale_type(weft_dtype t) {
    return t == WEFT_F32 || t == WEFT_F16 || t == WEFT_BF16 || t == WEFT_F8_E8M0;
}

/* The scales of tensor `t` [(n_matrices,) rows, cols], with their shape checked. */
static weft_status find_scales(const weft_binding *b, const char *name, const weft_tensor *t,
                               scales *out) {
    char other[WEFT_TENSOR_NAME], shape[96], whole[96];
    const weft_f8_rule *rule = &b->network->h.f8;
    *out = (scales){.t = scale_of(b, name, other), .n_matrices = 1};
    out->rows = (size_t)t->dims[t->rank - 2];
    out->cols = (size_t)t->dims[t->rank - 1];
    for (int i = 0; i < t->rank - 2; i++)
        out->n_matrices *= (size_t)t->dims[i]; /* checked when the tensor was made */
    if (!out->t && rule->scaled)
        return weft_fail(WEFT_E_FORMAT, "%s: the scale %s_scale_inv or %s_scale is missing", name,
                         name, name);
    if (out->t && !rule->scaled)
        return weft_fail(WEFT_E_UNSUPPORTED,
                         "%s: a scale without a quantization_config in config.json", other);
    if (!out->t) {
        out->block_rows = out->rows ? out->rows : 1;
        out->block_cols = out->cols ? out->cols : 1;
        return WEFT_OK;
    }
    if (!scale_type(out->t->dtype))
        return weft_fail(WEFT_E_UNSUPPORTED, "%s: the type %s is not supported for a scale", other,
                         weft_dtype_name(out->t->dtype));
    bool blocks = rule->block_rows > 0;
    if (blocks ? fits(out, (size_t)rule->block_rows, (size_t)rule->block_cols)
               : fits(out, out->rows, out->cols) || fits(out, 1, out->cols))
        return WEFT_OK;
    return weft_fail(WEFT_E_FORMAT, "%s: the shape is %s, which is not one for %s of %s", other,
                     weft_shape_text(out->t, shape, sizeof shape),
                     blocks ? "each block" : "the tensor nor for each row",
                     weft_shape_text(t, whole, sizeof whole));
}

weft_status weft_f8_check(const weft_binding *b, const char *name, const weft_tensor *t) {
    scales s;
    return find_scales(b, name, t, &s);
}

/* ---- Values ---- */

static float scale_at(const scales *s, size_t i) {
    float f = 1;
    size_t bytes = weft_dtype_block_bytes(s->t->dtype);
    weft_dequantize_row(s->t->dtype, (const char *)weft_tensor_data(s->t) + i * bytes, 1, &f);
    return f;
}

static size_t n_scales(const scales *s) {
    return (s->shared ? 1 : s->n_matrices) * s->n_down * s->n_across;
}

weft_status weft_f8_range(const weft_binding *b, const char *name, const weft_tensor *t,
                          bool *fits_f16) {
    scales s;
    weft_status st = find_scales(b, name, t, &s);
    if (st || !s.t)
        return st;
    float most = t->dtype == WEFT_F8_E4M3 ? 448.0f : 57344.0f;
    for (size_t i = 0; i < n_scales(&s); i++) {
        float a = fabsf(scale_at(&s, i));
        if (!isfinite(a))
            return weft_fail(WEFT_E_FORMAT, "%s: scale %zu is not finite", name, i);
        *fits_f16 = *fits_f16 && (a == 0 || (a * most >= F16_LEAST && a * most <= F16_MOST));
    }
    return WEFT_OK;
}

typedef struct conversion {
    const scales *s;
    weft_dtype from, to;
    const unsigned char *codes; /* [n_matrices * rows, cols] */
    unsigned char *out;         /* [rows asked for, cols] */
    size_t first;               /* row of `codes` that comes first in `out` */
    atomic_bool not_finite;
} conversion;

static bool put_piece(const conversion *c, const float *x, size_t n, size_t at) {
    uint16_t *half = (uint16_t *)(void *)c->out + at;
    float sum = 0; /* x - x is 0 or NaN */
    for (size_t i = 0; i < n; i++)
        sum += x[i] - x[i];
    if (c->to == WEFT_F32)
        memcpy((float *)(void *)c->out + at, x, n * sizeof *x);
    else if (c->to == WEFT_F16)
        for (size_t i = 0; i < n; i++)
            half[i] = weft_f32_to_f16(x[i]);
    else
        for (size_t i = 0; i < n; i++)
            half[i] = weft_f32_to_bf16(x[i]);
    return sum == 0;
}

/* Elements from `begin` to `end` of row `row`, all under one scale. */
static bool convert_block(const conversion *c, size_t row, size_t begin, size_t end, size_t to) {
    const scales *s = c->s;
    float x[PIECE], scale = 1;
    size_t matrix = s->shared ? 0 : row / s->rows, down = row % s->rows / s->block_rows;
    if (s->t)
        scale = scale_at(s, (matrix * s->n_down + down) * s->n_across + begin / s->block_cols);
    bool finite = true;
    for (size_t k = begin; k < end;) {
        size_t n = end - k < PIECE ? end - k : PIECE;
        weft_dequantize_row(c->from, c->codes + row * s->cols + k, n, x);
        for (size_t i = 0; i < n; i++)
            x[i] *= scale;
        finite = put_piece(c, x, n, to * s->cols + k) && finite;
        k += n;
    }
    return finite;
}

static void convert_rows(void *ctx, size_t begin, size_t end, int thread) {
    conversion *c = ctx;
    (void)thread;
    for (size_t i = begin; i < end; i++)
        for (size_t k = 0; k < c->s->cols;) {
            size_t next = c->s->cols - k > c->s->block_cols ? k + c->s->block_cols : c->s->cols;
            if (!convert_block(c, c->first + i, k, next, i))
                atomic_store(&c->not_finite, true);
            k = next;
        }
}

weft_tensor *weft_f8_rows(const weft_binding *b, weft_scope *scope, const char *name,
                          const weft_tensor *t, weft_dtype type, int64_t first, int64_t n) {
    scales s;
    weft_status st = find_scales(b, name, t, &s);
    if (st)
        return weft_scope_fail(scope, st, "float8", "%s", weft_detail());
    int64_t dims[2] = {n, (int64_t)s.cols};
    weft_tensor *out = weft_scope_new(scope, "float8", type, 2, dims);
    if (!out)
        return NULL;
    conversion c = {.s = &s,
                    .from = t->dtype,
                    .to = type,
                    .codes = weft_tensor_data(t),
                    .out = weft_tensor_data(out), /* nobody else has it yet */
                    .first = (size_t)first};
    atomic_init(&c.not_finite, false);
    weft_team_for(b->engine->team, (size_t)n, 1 + 16384 / (s.cols + 1), convert_rows, &c);
    if (atomic_load(&c.not_finite))
        return weft_scope_fail(scope, WEFT_E_FORMAT, "float8",
                               "%s: an element is not finite, or its scale is not", name);
    return out;
}
