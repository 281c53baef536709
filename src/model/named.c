/* Matrices by name: a field's rule in the network's own kind of file, and one for the same field in
 * the other kind. */
#include "model/named.h"

#include <string.h>
#include "model/export.h"
#include "model/network_impl.h"

/* The network as a file of one kind would describe it. */
static weft_network as_kind(const weft_network *n, weft_spelling spelling) {
    weft_network copy = *n;
    if (n->spelling != spelling)
        copy.base_bytes = 0;
    copy.spelling = spelling;
    if (spelling == WEFT_SPELL_GGUF)
        copy.arch = weft_network_exported_arch(n);
    return copy;
}

/* The first rule for a field that holds; for the network's own kind, the one whose tensor is there.
 */
static const weft_tensor_rule *rule_of(const weft_network *n, const weft_weights *weights,
                                       size_t field, int32_t layer) {
    const weft_tensor_rule *found = NULL;
    for (size_t i = 0; i < n->arch->n_layer_rules && !found; i++) {
        const weft_tensor_rule *rule = &n->arch->layer[i];
        char name[WEFT_TENSOR_NAME];
        if (rule->field != field || !weft_rule_holds(n, rule, layer))
            continue;
        weft_rule_name(n, rule, layer, 0, name);
        if (!weights || weft_weights_find(weights, name))
            found = rule;
    }
    return found;
}

static void fill(const weft_network *n, const weft_tensor_rule *rule, int32_t layer,
                 weft_named *out, char name[WEFT_TENSOR_NAME]) {
    int kind = n->spelling == WEFT_SPELL_HF ? WEFT_NAMED_HF : WEFT_NAMED_GGUF;
    name[0] = 0;
    out->name[kind] = name;
    if (!rule)
        return;
    weft_rule_shape shape = weft_rule_shape_of(n, rule, layer);
    weft_rule_name(n, rule, layer, 0, name);
    out->file_rows[kind] = shape.file_rows;
    bool together = rule->fusion == WEFT_FUSED_NOT || rule->fusion == WEFT_FUSED_ROWS;
    out->first[kind] = together && !(rule->flags & WEFT_RULE_TRANSPOSED) ? shape.first : -1;
}

static int32_t turning_heads(const weft_network *gguf, const weft_network *hf, size_t field) {
    const weft_hparams *h = &gguf->h;
    if (gguf->arch->rope_interleaved[WEFT_SPELL_GGUF] == hf->arch->rope_interleaved[WEFT_SPELL_HF])
        return 0;
    return field == WEFT_LAYER(attn_q) ? h->n_head : field == WEFT_LAYER(attn_k) ? h->n_head_kv : 0;
}

weft_status weft_network_visit(weft_network *network, const weft_weights *weights, weft_named_fn fn,
                               void *ctx) {
    weft_network kinds[WEFT_NAMED_KINDS] = {as_kind(network, WEFT_SPELL_GGUF),
                                            as_kind(network, WEFT_SPELL_HF)};
    bool hf = network->spelling == WEFT_SPELL_HF;
    char names[WEFT_NAMED_KINDS][WEFT_TENSOR_NAME];
    weft_status st = WEFT_OK;
    for (int32_t layer = 0; !st && layer < network->h.n_layer; layer++)
        for (size_t i = 0; !st && i < network->arch->n_layer_rules; i++) {
            const weft_tensor_rule *rule = &network->arch->layer[i];
            if (rule->n_rows == WEFT_EXT_NONE || rule->flags & WEFT_RULE_FLOATS ||
                rule_of(network, weights, rule->field, layer) != rule ||
                !*weft_rule_field(network, rule, layer))
                continue;
            weft_rule_shape shape = weft_rule_shape_of(network, rule, layer);
            weft_named named = {.weight = *weft_rule_field(network, rule, layer)};
            named.rows = shape.rows;
            named.cols = shape.cols;
            named.n_stacked = shape.n_stacked;
            named.rope_heads = turning_heads(&kinds[0], &kinds[1], rule->field);
            for (int k = 0; k < WEFT_NAMED_KINDS; k++)
                fill(&kinds[k],
                     (k == WEFT_NAMED_HF) == hf ? rule
                                                : rule_of(&kinds[k], NULL, rule->field, layer),
                     layer, &named, names[k]);
            st = fn(ctx, &named);
        }
    return st;
}
