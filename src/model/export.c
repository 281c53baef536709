/* A network's tensors as GGUF files have them: the GGUF side of the rules of its description, read
 * the other way round. */
#include "model/export.h"

#include <stdio.h>
#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "model/arch/list.h"
#include "model/network_impl.h"
#include "tensor/impl.h"

#define MOST_RULES 128 /* of a layer */

typedef struct exporting {
    weft_network *n;   /* as it was read */
    weft_network gguf; /* the same with the file's description and spelling */
    weft_export_fn fn;
    void *ctx;
    weft_weights *weights;   /* of what was read; takes tensors that are made */
    size_t done[MOST_RULES]; /* fields that were written, of the layer in work */
    size_t n_done;
} exporting;

const weft_arch *weft_network_exported_arch(const weft_network *n) {
#define WEFT_ARCH_POINTER(name) &name,
    static const weft_arch *const known[] = {WEFT_ARCHS(WEFT_ARCH_POINTER)};
#undef WEFT_ARCH_POINTER
    for (size_t i = 0; n->arch->written_as && i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i]->name, n->arch->written_as) == 0)
            return known[i];
    return n->arch;
}

static bool is_done(const exporting *e, size_t field) {
    for (size_t i = 0; i < e->n_done; i++)
        if (e->done[i] == field)
            return true;
    return false;
}

static void mark(exporting *e, size_t field) {
    if (!is_done(e, field) && e->n_done < MOST_RULES)
        e->done[e->n_done++] = field;
}

/* Rows of q and k whose pairs stand side by side in one kind of file and half a head apart in the
 * other. */
static weft_status find_turning(const exporting *e, const weft_tensor_rule *rule, int32_t layer,
                                weft_exported *out) {
    const weft_hparams *h = &e->n->h;
    bool differ = e->gguf.arch->rope_interleaved[WEFT_SPELL_GGUF] !=
                  e->n->arch->rope_interleaved[e->n->spelling];
    bool q = rule->field == WEFT_LAYER(attn_q) || rule->field == WEFT_LAYER(attn_q_bias);
    bool k = rule->field == WEFT_LAYER(attn_k) || rule->field == WEFT_LAYER(attn_k_bias);
    if (layer < 0 || !differ || !(q || k) || h->rope.n_rot == 0)
        return WEFT_OK;
    if (h->rope.n_rot != h->head_dim || !e->gguf.arch->rope_interleaved[WEFT_SPELL_GGUF])
        return weft_fail(WEFT_E_UNSUPPORTED, "%s: heads that turn in part cannot be converted",
                         out->name);
    out->rope_heads = q ? h->n_head : h->n_head_kv;
    return WEFT_OK;
}

/* Value heads of a delta net that stand in another order in GGUF files. */
static weft_head_order find_order(const exporting *e, const weft_tensor_rule *rule, int32_t layer) {
    const weft_recurrence *r = &e->n->h.rec;
    weft_head_order o = {.size = r->head_dim, .n_head = r->n_head, .n_group = r->n_group};
    size_t f = rule->field;
    bool tiled = e->gguf.arch->heads_tiled[WEFT_SPELL_GGUF];
    if (layer < 0 || tiled == r->tiled || r->n_group == r->n_head)
        return (weft_head_order){0};
    if (f == WEFT_LAYER(rec_in) || f == WEFT_LAYER(rec_conv)) {
        o.first = 2 * (int64_t)r->n_group * r->n_state; /* q and k */
        return o;
    }
    if (f == WEFT_LAYER(rec_beta) || f == WEFT_LAYER(rec_alpha) || f == WEFT_LAYER(rec_a) ||
        f == WEFT_LAYER(rec_dt_bias))
        o.size = 1;
    else if (f == WEFT_LAYER(rec_out))
        o.columns = true;
    else if (f != WEFT_LAYER(rec_gate))
        o.n_group = 0;
    return o;
}

/* The other parts of a fused tensor, in order. False when one is missing. */
static bool find_parts(exporting *e, const weft_tensor_rule *rules, size_t n_rules,
                       const weft_tensor_rule *first, int32_t layer, weft_exported *out,
                       bool mark_them) {
    for (int part = 0; part < WEFT_FUSED_PARTS && first->parts[part] != WEFT_EXT_NONE; part++) {
        const weft_tensor_rule *found = NULL;
        for (size_t i = 0; i < n_rules && !found; i++)
            if (rules[i].name[WEFT_SPELL_GGUF] && rules[i].part == part &&
                rules[i].fusion == first->fusion &&
                strcmp(rules[i].name[WEFT_SPELL_GGUF], first->name[WEFT_SPELL_GGUF]) == 0)
                found = &rules[i];
        weft_tensor *t = found ? *weft_rule_field(e->n, found, layer) : NULL;
        if (!t || is_done(e, found->field))
            return false;
        out->parts[part] = t;
        out->n_parts = (size_t)part + 1;
    }
    for (size_t i = 0; mark_them && i < n_rules; i++)
        if (rules[i].name[WEFT_SPELL_GGUF] &&
            strcmp(rules[i].name[WEFT_SPELL_GGUF], first->name[WEFT_SPELL_GGUF]) == 0)
            mark(e, rules[i].field);
    return true;
}

/* A tensor whose parts come group by group in both kinds of files: the folder's own. */
static bool find_groups(exporting *e, const weft_tensor_rule *rules, size_t n_rules,
                        const weft_tensor_rule *rule, int32_t layer, weft_exported *out) {
    char name[WEFT_TENSOR_NAME];
    weft_rule_name(e->n, rule, layer, 0, name);
    weft_tensor *whole = name[0] ? weft_weights_find(e->weights, name) : NULL;
    return whole && find_parts(e, rules, n_rules, rule, layer, out, true) &&
           (out->parts[0] = whole, out->n_parts = 1, true);
}

/* Whether the folder has the weight in a tensor of its own, and GGUF files may as well. */
static bool is_apart(const exporting *e, const weft_tensor_rule *rule, int32_t layer) {
    const weft_arch *archs[] = {e->n->arch, e->gguf.arch};
    const weft_network *networks[] = {e->n, &e->gguf};
    for (int k = 0; k < 2; k++) {
        bool found = false;
        const weft_tensor_rule *rules = layer < 0 ? archs[k]->globals : archs[k]->layer;
        size_t n = layer < 0 ? archs[k]->n_globals : archs[k]->n_layer_rules;
        for (size_t i = 0; i < n && !found; i++)
            found = rules[i].field == rule->field && rules[i].fusion == WEFT_FUSED_NOT &&
                    weft_rule_holds(networks[k], &rules[i], layer);
        if (!found)
            return false;
    }
    return true;
}

static void take_shape(const exporting *e, const weft_tensor_rule *rule, int32_t layer,
                       weft_exported *out) {
    const weft_tensor *t = out->parts[0];
    if (rule->fusion == WEFT_FUSED_NOT) {
        out->rank = t->rank;
        memcpy(out->dims, t->dims, (size_t)(t->rank < 4 ? t->rank : 4) * sizeof *out->dims);
        if (rule->flags & WEFT_RULE_COLUMN && t->rank == 1) {
            out->rank = 2;
            out->dims[1] = 1;
        }
        int64_t groups = e->n->h.rec.n_group;
        if (rule->flags & WEFT_RULE_GROUPED && t->rank == 1 && groups > 0) {
            out->rank = 2;
            out->dims[0] = groups;
            out->dims[1] = t->dims[0] / groups;
        }
        return;
    }
    weft_rule_shape shape = weft_rule_shape_of(e->n, rule, layer);
    out->rank = shape.matrix ? 2 : 1;
    out->dims[0] = shape.file_rows;
    out->dims[1] = shape.cols;
}

/* Learned positions without those before the first token's, which GGUF files leave out. */
static weft_status cut_positions(const exporting *e, weft_exported *out) {
    static const char made[] = "positions(made)";
    const weft_hparams *h = &e->n->h;
    weft_tensor *t = out->parts[0];
    out->dims[0] = h->n_context;
    if ((out->parts[0] = weft_weights_find(e->weights, made)))
        return WEFT_OK;
    weft_status st =
        weft_tensor_create_part(&e->n->engine->allocator, t, (int64_t)h->first_position * h->n_embd,
                                2, out->dims, NULL, &out->parts[0]);
    return st ? st : weft_weights_take(e->weights, made, out->parts[0]);
}

static weft_status export_rule(exporting *e, const weft_tensor_rule *rules, size_t n_rules,
                               const weft_tensor_rule *rule, int32_t layer) {
    char name[WEFT_TENSOR_NAME];
    weft_exported out = {.name = name};
    weft_tensor *t = *weft_rule_field(e->n, rule, layer);
    bool fused = rule->fusion != WEFT_FUSED_NOT;
    bool groups = rule->fusion == WEFT_FUSED_GROUPS;
    bool can = !fused || groups || rule->fusion == WEFT_FUSED_ROWS;
    bool turned = rule->flags & WEFT_RULE_TRANSPOSED;
    if (!t || is_done(e, rule->field) || !weft_rule_holds(&e->gguf, rule, layer))
        return WEFT_OK;
    if (rule->flags & WEFT_RULE_OF_TWO && !e->n->layers[layer].ffn_norm)
        return WEFT_OK;
    if (rule->flags & WEFT_RULE_OUTPUT && e->n->tied_output) {
        mark(e, rule->field);
        return WEFT_OK;
    }
    if (!can || turned || (fused && (rule->part != 0 || is_apart(e, rule, layer))))
        return WEFT_OK; /* another rule may have it; else it is missed at the end */
    out.parts[0] = t;
    out.n_parts = 1;
    if (groups ? !find_groups(e, rules, n_rules, rule, layer, &out)
               : fused && !find_parts(e, rules, n_rules, rule, layer, &out, true))
        return WEFT_OK;
    mark(e, rule->field);
    weft_rule_name(&e->gguf, rule, layer, 0, name);
    take_shape(e, rule, layer, &out);
    if (rule->flags & WEFT_RULE_NORM && e->gguf.arch->norm_plus_one[WEFT_SPELL_GGUF])
        out.plus = -1;
    out.heads = find_order(e, rule, layer);
    weft_status st = find_turning(e, rule, layer, &out);
    if (!st && layer < 0 && rule->field == WEFT_GLOBAL(positions) && e->n->h.first_position > 0)
        st = cut_positions(e, &out);
    return st ? st : e->fn(e->ctx, &out);
}

/* Every field that the folder filled must have been written. */
static weft_status check_done(const exporting *e, const weft_tensor_rule *rules, size_t n_rules,
                              int32_t layer) {
    for (size_t i = 0; i < n_rules; i++) {
        char name[WEFT_TENSOR_NAME];
        if (!weft_rule_holds(e->n, &rules[i], layer) || !*weft_rule_field(e->n, &rules[i], layer) ||
            is_done(e, rules[i].field))
            continue;
        weft_rule_name(e->n, &rules[i], layer, 0, name);
        return weft_fail(WEFT_E_UNSUPPORTED, "%s: cannot be written to a GGUF file of %s", name,
                         e->gguf.arch->name);
    }
    return WEFT_OK;
}

static weft_status export_rules(exporting *e, int32_t layer) {
    const weft_arch *to = e->gguf.arch, *from = e->n->arch;
    const weft_tensor_rule *rules = layer < 0 ? to->globals : to->layer;
    size_t n_rules = layer < 0 ? to->n_globals : to->n_layer_rules;
    weft_status st = WEFT_OK;
    e->n_done = 0;
    for (size_t i = 0; !st && i < n_rules; i++)
        st = export_rule(e, rules, n_rules, &rules[i], layer);
    return st ? st
              : check_done(e, layer < 0 ? from->globals : from->layer,
                           layer < 0 ? from->n_globals : from->n_layer_rules, layer);
}

/* How much slower each pair turns than without scaling, as a tensor of its own. */
static weft_status export_factors(exporting *e, weft_weights *weights, const char *name,
                                  bool longer) {
    weft_network *n = e->n;
    char made[64];
    weft_rope_rule plain = n->h.rope;
    plain.scaling = WEFT_ROPE_PLAIN;
    int64_t half = plain.n_rot / 2;
    weft_exported out = {.name = name, .n_parts = 1, .rank = 1, .dims = {half}};
    snprintf(made, sizeof made, "%s(made)", name);
    if ((out.parts[0] = weft_weights_find(weights, made)))
        return e->fn(e->ctx, &out);
    size_t bytes = weft_size_of((size_t)half, sizeof(double));
    double *whole = weft_alloc(&n->engine->allocator, bytes);
    if (!whole)
        return weft_fail(WEFT_E_MEMORY, "%s: out of memory", name);
    weft_status st =
        weft_rope_frequencies(&plain, NULL, whole)
            ? weft_tensor_create_heap(&n->engine->allocator, WEFT_F32, WEFT_LAYOUT_STRIDED, 1,
                                      &half, true, &out.parts[0])
            : weft_fail(WEFT_E_FORMAT, "%s: the rope has no frequencies", name);
    if (!st) {
        float *factors = weft_tensor_data(out.parts[0]); /* nobody else has it yet */
        const double *scaled = weft_network_frequencies(n, 0, longer);
        for (int64_t i = 0; i < half; i++)
            factors[i] = (float)(whole[i] / scaled[i]);
        st = weft_weights_take(weights, made, out.parts[0]);
    }
    weft_dealloc(&n->engine->allocator, whole, bytes);
    return st ? st : e->fn(e->ctx, &out);
}

static weft_status export_scaling(exporting *e, weft_weights *weights) {
    weft_rope_scaling scaling = e->n->h.rope.scaling;
    if ((scaling == WEFT_ROPE_LLAMA3 || scaling == WEFT_ROPE_SHARE) && !e->n->globals.rope_factors)
        return export_factors(e, weights, "rope_freqs.weight", false);
    if (scaling != WEFT_ROPE_LONG || e->n->globals.rope_factors_long)
        return WEFT_OK;
    weft_status st = export_factors(e, weights, "rope_factors_long.weight", true);
    return st ? st : export_factors(e, weights, "rope_factors_short.weight", false);
}

weft_status weft_network_export(weft_network *network, weft_weights *weights, weft_export_fn fn,
                                void *ctx) {
    exporting e = {.n = network, .gguf = *network, .fn = fn, .ctx = ctx, .weights = weights};
    e.gguf.spelling = WEFT_SPELL_GGUF;
    e.gguf.arch = weft_network_exported_arch(network);
    if (!network->globals.output && !network->arch->bidirectional)
        return weft_fail(
            WEFT_E_UNSUPPORTED,
            "lm_head.weight: missing, and in a GGUF file of %s that means the embedding",
            e.gguf.arch->name);
    weft_status st = export_rules(&e, -1);
    if (!st)
        st = export_scaling(&e, weights);
    for (int32_t i = 0; !st && i < network->h.n_layer; i++)
        st = export_rules(&e, i);
    return st;
}
