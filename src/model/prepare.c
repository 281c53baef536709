/* Preparing bound weights: vectors become f32 (and 1 + w where the norm is stored so), matrices
 * become panels if asked, one tensor at a time, so that never more than one is there twice. */
#include <stdio.h>
#include <string.h>
#include "base/detail.h"
#include "base/floats.h"
#include "model/network_impl.h"
#include "tensor/impl.h"

static float element(weft_dtype type, const void *data, size_t i) {
    uint16_t h;
    float f;
    if (type == WEFT_F32) {
        memcpy(&f, (const char *)data + i * sizeof f, sizeof f);
        return f;
    }
    memcpy(&h, (const char *)data + i * sizeof h, sizeof h);
    return type == WEFT_F16 ? weft_f16_to_f32(h) : weft_bf16_to_f32(h);
}

static weft_status copy_vector(weft_engine *engine, weft_tensor *source, float plus,
                               weft_tensor **out) {
    const void *data;
    int64_t dims[1] = {weft_tensor_dim(source, 0)};
    weft_status st = weft_tensor_create_heap(&engine->allocator, WEFT_F32, WEFT_LAYOUT_STRIDED, 1,
                                             dims, true, out);
    if (st)
        return st;
    if ((st = weft_tensor_map_read(source, &data))) {
        weft_tensor_release(out);
        return st;
    }
    float *to = weft_tensor_data(*out); /* nobody else has it yet */
    for (size_t i = 0; i < (size_t)dims[0]; i++)
        to[i] = element(weft_tensor_dtype(source), data, i) + plus;
    weft_tensor_unmap(source);
    return WEFT_OK;
}

/* A derived vector has a name of its own, so that a second network over the map finds it. */
static weft_status derive_vector(weft_binding *b, const char *name, weft_tensor **field) {
    char derived[WEFT_TENSOR_NAME + 8];
    weft_tensor *t;
    snprintf(derived, sizeof derived, "%s(+1)", name);
    if ((*field = weft_weights_find(b->weights, derived)))
        return WEFT_OK;
    weft_tensor *source = weft_weights_find(b->weights, name);
    weft_status st = copy_vector(b->engine, source, 1.0f, &t);
    if (st || (st = weft_weights_take(b->weights, derived, t)))
        return st;
    *field = t;
    return WEFT_OK;
}

static weft_status prepare_vector(weft_binding *b, const weft_tensor_rule *rule, const char *name,
                                  weft_tensor **field) {
    weft_tensor *source = *field, *t;
    if (rule->flags & WEFT_RULE_NORM && b->network->arch->norm_plus_one[b->network->spelling])
        return derive_vector(b, name, field);
    if (weft_tensor_dtype(source) == WEFT_F32 && !b->options->pack)
        return WEFT_OK;
    weft_status st = copy_vector(b->engine, source, 0, &t);
    if (st)
        return st;
    *field = t;
    return weft_weights_replace(b->weights, name, t);
}

static weft_status pack_matrix(weft_binding *b, const char *name, weft_tensor **field) {
    weft_tensor *source = *field, *packed;
    if (source->layout == WEFT_LAYOUT_PANEL16)
        return WEFT_OK;
    weft_status st = weft_tensor_pack(b->engine, source, &packed);
    if (st)
        return weft_fail_in(st, "%s", name);
    if (b->options->packed)
        b->options->packed(b->options->packed_ctx, source);
    *field = packed;
    return weft_weights_replace(b->weights, name, packed);
}

static uint64_t bytes_of(const weft_tensor *t) {
    uint64_t block = weft_dtype_block(weft_tensor_dtype(t));
    return (uint64_t)weft_tensor_numel(t) / block * weft_dtype_block_bytes(weft_tensor_dtype(t));
}

static weft_status prepare_rule(weft_binding *b, const weft_tensor_rule *rule, int32_t layer) {
    char name[WEFT_TENSOR_NAME];
    weft_network *n = b->network;
    weft_tensor **field = weft_rule_field(n, rule, layer);
    weft_status st = WEFT_OK;
    if (!*field)
        return WEFT_OK;
    if (rule->flags & WEFT_RULE_OUTPUT && n->tied_output) {
        *field = n->globals.embedding; /* packed already, as the embedding */
        return WEFT_OK;
    }
    weft_rule_name(n, rule, layer, name);
    uint64_t bytes = bytes_of(*field);
    if (rule->n_rows == WEFT_EXT_NONE)
        st = prepare_vector(b, rule, name, field);
    else if (b->options->pack)
        st = pack_matrix(b, name, field);
    if (st)
        return st;
    b->done_bytes += bytes;
    if (b->options->progress &&
        !b->options->progress(b->options->progress_ctx, b->done_bytes, b->total_bytes))
        return weft_fail(WEFT_E_CANCELLED, "loading was cancelled at %s", name);
    return WEFT_OK;
}

static weft_status add_bytes(weft_binding *b, const weft_tensor_rule *rule, int32_t layer) {
    weft_tensor *t = *weft_rule_field(b->network, rule, layer);
    bool alias = rule->flags & WEFT_RULE_OUTPUT && b->network->tied_output;
    if (t && !alias)
        b->total_bytes += bytes_of(t);
    return WEFT_OK;
}

weft_status weft_network_prepare(weft_binding *b) {
    b->total_bytes = b->done_bytes = 0;
    weft_status st = weft_rules_visit(b, add_bytes);
    return st ? st : weft_rules_visit(b, prepare_rule);
}
