/* Preparing bound weights: vectors become f32 (and 1 + w where the norm is stored so), matrices
 * become panels if asked, one tensor at a time, so that never more than one is there twice. */
#include <stdio.h>
#include "base/detail.h"
#include "model/derive.h"
#include "model/unpacked.h"
#include "tensor/impl.h"

/* A derived vector has a name of its own, so that a second network over the map finds it. */
static weft_status derive_vector(weft_binding *b, const char *name, weft_tensor **field) {
    char derived[WEFT_TENSOR_NAME + 8];
    weft_tensor *t;
    snprintf(derived, sizeof derived, "%s(+1)", name);
    if ((*field = weft_weights_find(b->weights, derived)))
        return WEFT_OK;
    weft_tensor *source = weft_weights_find(b->weights, name);
    weft_status st = weft_derive_floats(b->engine, source, 1.0f, &t);
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
    weft_status st = weft_derive_floats(b->engine, source, 0, &t);
    if (st)
        return st;
    *field = t;
    return weft_weights_replace(b->weights, name, t);
}

/* A matrix of 16-bit floats as f32, beside its source in the map. */
static weft_status widen_matrix(weft_binding *b, const char *name, weft_tensor **field) {
    char derived[WEFT_TENSOR_NAME + 8];
    weft_tensor *floats, *t;
    snprintf(derived, sizeof derived, "%s(%s)", name, b->options->pack ? "f32p" : "f32");
    weft_tensor *source = *field;
    if ((*field = weft_weights_find(b->weights, derived)))
        return WEFT_OK;
    weft_status st = weft_derive_floats(b->engine, source, 0, &floats);
    if (st)
        return st;
    t = floats;
    if (b->options->pack) {
        st = weft_tensor_pack(b->engine, weft_weights_slabs(b->weights), floats, &t);
        weft_tensor_release(&floats);
    }
    if (st || (st = weft_weights_take(b->weights, derived, t)))
        return weft_fail_in(st, "%s", name);
    *field = t;
    return WEFT_OK;
}

static bool is_narrow(const weft_tensor *t) {
    return t->dtype == WEFT_F16 || t->dtype == WEFT_BF16;
}

static weft_status pack_matrix(weft_binding *b, const char *name, weft_tensor **field) {
    weft_tensor *source = *field, *packed;
    if (source->layout == WEFT_LAYOUT_PANEL16)
        return WEFT_OK;
    if (weft_can_wait(b, source))
        return weft_unpacked_add(b, source);
    weft_status st = weft_tensor_pack(b->engine, weft_weights_slabs(b->weights), source, &packed);
    if (st)
        return weft_fail_in(st, "%s", name);
    if (b->options->packed)
        b->options->packed(b->options->packed_ctx, source);
    *field = packed;
    return weft_weights_replace(b->weights, name, packed);
}

/* Of the weight itself, where it is a part of a fused tensor or one of several. */
static uint64_t bytes_of(const weft_binding *b, const weft_tensor_rule *rule, int32_t layer) {
    const weft_tensor *t = *weft_rule_field(b->network, rule, layer);
    weft_rule_shape shape = weft_rule_shape_of(b->network, rule, layer);
    uint64_t n = (uint64_t)shape.n_stacked * (uint64_t)shape.rows * (uint64_t)shape.cols;
    return n / weft_dtype_block(t->dtype) * weft_dtype_block_bytes(t->dtype);
}

/* Whether it was this rule, not an alternative, whose tensor the field holds. */
static bool is_bound(const weft_binding *b, const weft_tensor_rule *rule, int32_t layer) {
    char name[WEFT_TENSOR_NAME];
    weft_tensor *t = *weft_rule_field(b->network, rule, layer);
    weft_rule_name(b->network, rule, layer, 0, name);
    bool alias = rule->flags & WEFT_RULE_OUTPUT && b->network->tied_output;
    return t && (alias || weft_weights_find(b->weights, name) == t);
}

static weft_status prepare_rule(weft_binding *b, const weft_tensor_rule *rule, int32_t layer) {
    char name[WEFT_TENSOR_NAME];
    weft_network *n = b->network;
    weft_tensor **field = weft_rule_field(n, rule, layer);
    weft_status st = WEFT_OK;
    if (!is_bound(b, rule, layer))
        return WEFT_OK;
    if (rule->flags & WEFT_RULE_OUTPUT && n->tied_output) {
        *field = n->globals.embedding; /* packed already, as the embedding */
        return WEFT_OK;
    }
    weft_rule_name(n, rule, layer, 0, name);
    uint64_t bytes = bytes_of(b, rule, layer);
    if (rule->flags & WEFT_RULE_MXFP4)
        st = weft_derive_mxfp4(b, rule, layer, name, field);
    else if (weft_rule_derives(n, rule) || weft_is_f8(*field))
        st = weft_derive(b, rule, layer, field);
    else if (rule->flags & WEFT_RULE_FLOATS)
        st = weft_derive_table(b, rule, layer, name, field);
    else if (rule->n_rows == WEFT_EXT_NONE)
        st = prepare_vector(b, rule, name, field);
    else if (rule->flags & WEFT_RULE_WIDE && is_narrow(*field))
        st = widen_matrix(b, name, field);
    else if (b->options->pack && !(rule->flags & WEFT_RULE_LOOKUP))
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
    bool alias = rule->flags & WEFT_RULE_OUTPUT && b->network->tied_output;
    if (is_bound(b, rule, layer) && !alias)
        b->total_bytes += bytes_of(b, rule, layer);
    return WEFT_OK;
}

/* Norms that have no weights: a vector of ones serves them all. */
static weft_status make_plain_norms(weft_binding *b) {
    static const char made[] = "norm(ones)";
    weft_network *n = b->network;
    int64_t dims[1] = {n->h.n_embd};
    weft_tensor *ones = weft_weights_find(b->weights, made);
    if (!ones) {
        weft_status st = weft_tensor_create_heap(&b->engine->allocator, WEFT_F32,
                                                 WEFT_LAYOUT_STRIDED, 1, dims, true, &ones);
        if (st)
            return st;
        float *x = weft_tensor_data(ones);
        for (int64_t i = 0; i < dims[0]; i++)
            x[i] = 1;
        if ((st = weft_weights_take(b->weights, made, ones)))
            return st;
    }
    n->globals.output_norm = ones;
    for (int32_t i = 0; i < n->h.n_layer; i++)
        n->layers[i].attn_norm = n->layers[i].ffn_norm = ones;
    return WEFT_OK;
}

weft_status weft_network_prepare(weft_binding *b) {
    b->total_bytes = b->done_bytes = 0;
    weft_status st = weft_rules_visit(b, add_bytes);
    if (!st)
        st = weft_rules_visit(b, prepare_rule);
    return st || !b->network->arch->unweighted_norms ? st : make_plain_norms(b);
}
