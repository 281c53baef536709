/* Experts that a folder holds in MXFP4 as two tensors, blocks of 32 values (OCP Microscaling
 * formats 1.0) and their scales: brought into the blocks of GGUF files, which have a scale before
 * its values and the values of a block's halves in one byte, not neighbours. */
#include <stdio.h>
#include <string.h>
#include "base/detail.h"
#include "model/derive.h"
#include "tensor/impl.h"

#define BLOCK 32
#define BLOCK_BYTES 17

typedef struct conversion {
    const unsigned char *blocks; /* [n_expert, file_rows, n_blocks, 16] */
    const unsigned char *scales; /* [n_expert, file_rows, n_blocks] */
    unsigned char *out;          /* [n_expert, rows, n_blocks] of BLOCK_BYTES */
    size_t rows, file_rows, n_blocks, first, step;
} conversion;

static void convert_rows(void *ctx, size_t begin, size_t end, int thread) {
    const conversion *c = ctx;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        size_t from = i / c->rows * c->file_rows + c->first + i % c->rows * c->step;
        const unsigned char *q = c->blocks + from * c->n_blocks * 16;
        unsigned char *to = c->out + i * c->n_blocks * BLOCK_BYTES;
        for (size_t b = 0; b < c->n_blocks; b++, q += 16, to += BLOCK_BYTES) {
            to[0] = c->scales[from * c->n_blocks + b];
            for (size_t j = 0; j < 16; j++) { /* values j and j + 16 */
                unsigned low = (unsigned)q[j / 2] >> (j % 2 * 4) & 15u;
                unsigned high = (unsigned)q[8 + j / 2] >> (j % 2 * 4) & 15u;
                to[1 + j] = (unsigned char)(low | high << 4);
            }
        }
    }
}

/* "…_blocks" → "…_scales" */
static weft_tensor *scales_of(const weft_binding *b, const char *name) {
    char other[WEFT_TENSOR_NAME];
    size_t n = strlen(name), end = strlen("_blocks");
    if (n < end || strcmp(name + n - end, "_blocks") != 0)
        return NULL;
    snprintf(other, sizeof other, "%.*s_scales", (int)(n - end), name);
    return weft_weights_find(b->weights, other);
}

static bool has_dims(const weft_tensor *t, int rank, const int64_t *dims) {
    if (!t || weft_tensor_dtype(t) != WEFT_U8 || weft_tensor_rank(t) != rank)
        return false;
    for (int i = 0; i < rank; i++)
        if (weft_tensor_dim(t, i) != dims[i])
            return false;
    return true;
}

weft_status weft_mxfp4_check(const weft_binding *b, const weft_tensor_rule *rule, int32_t layer,
                             const char *name, const weft_tensor *blocks) {
    weft_rule_shape s = weft_rule_shape_of(b->network, rule, layer);
    int64_t dims[4] = {s.n_stacked, s.file_rows, s.cols / BLOCK, BLOCK / 2};
    if (s.cols % BLOCK == 0 && has_dims(blocks, 4, dims) && has_dims(scales_of(b, name), 3, dims))
        return WEFT_OK;
    return weft_fail(WEFT_E_FORMAT,
                     "%s: blocks of bytes [%lld, %lld, %lld, 16] and scales of the same rows are "
                     "needed",
                     name, (long long)dims[0], (long long)dims[1], (long long)dims[2]);
}

weft_status weft_mxfp4_make(weft_binding *b, const weft_tensor_rule *rule, int32_t layer,
                            const char *name, weft_tensor *blocks, weft_tensor **out) {
    weft_rule_shape s = weft_rule_shape_of(b->network, rule, layer);
    bool turns = rule->fusion == WEFT_FUSED_TURNS;
    int64_t dims[3] = {s.n_stacked, s.rows, s.cols};
    conversion c = {.rows = (size_t)s.rows,
                    .file_rows = (size_t)s.file_rows,
                    .n_blocks = (size_t)s.cols / BLOCK,
                    .first = turns ? (size_t)rule->part : (size_t)s.first,
                    .step = turns ? (size_t)s.n_parts : 1};
    weft_status st = weft_tensor_create_heap(&b->engine->allocator, WEFT_MXFP4, WEFT_LAYOUT_STRIDED,
                                             3, dims, true, out);
    if (st)
        return st;
    weft_access access[2] = {{.tensor = blocks}, {.tensor = scales_of(b, name)}};
    if ((st = weft_tensor_map_all(access, 2))) {
        weft_tensor_release(out);
        return st;
    }
    c.blocks = access[0].data;
    c.scales = access[1].data;
    c.out = weft_tensor_data(*out); /* nobody else has it yet */
    weft_team_for(b->engine->team, (size_t)(s.n_stacked * s.rows), 16, convert_rows, &c);
    weft_tensor_unmap_all(access, 2);
    return WEFT_OK;
}

weft_status weft_derive_mxfp4(weft_binding *b, const weft_tensor_rule *rule, int32_t layer,
                              const char *name, weft_tensor **field) {
    char derived[WEFT_TENSOR_NAME + 16];
    weft_tensor *source = *field, *t, *panels;
    snprintf(derived, sizeof derived, "%s(%d%s)", name, rule->part, b->options->pack ? "p" : "");
    if ((*field = weft_weights_find(b->weights, derived)))
        return WEFT_OK;
    if (b->options->defer)
        return weft_derive_later(b, rule, layer, derived, WEFT_MXFP4, field);
    weft_status st = weft_mxfp4_make(b, rule, layer, name, source, &t);
    if (st)
        return weft_fail_in(st, "%s", name);
    if (b->options->pack) {
        st = weft_derive_panels(b->engine, weft_weights_slabs(b->weights), t, &panels);
        weft_tensor_release(&t);
        if (st)
            return weft_fail_in(st, "%s", name);
        if (b->options->packed)
            b->options->packed(b->options->packed_ctx, source);
        t = panels;
    }
    if ((st = weft_weights_take(b->weights, derived, t)))
        return st;
    *field = t;
    return WEFT_OK;
}
