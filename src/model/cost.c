/* Counting a token's bytes and operations over the tensors that the layers borrow. */
#include "model/cost.h"

#include "model/network_impl.h"
#include "tensor/impl.h"

static uint64_t bytes_of(const weft_tensor *t) {
    if (t->layout == WEFT_LAYOUT_PANEL16)
        return weft_tensor_storage_bytes(t);
    return (uint64_t)weft_tensor_numel(t) / weft_dtype_block(t->dtype) *
           weft_dtype_block_bytes(t->dtype);
}

/* Several rules may name one field, as alternatives. */
static bool counted_before(const weft_tensor_rule *rules, size_t i) {
    for (size_t j = 0; j < i; j++)
        if (rules[j].field == rules[i].field)
            return true;
    return false;
}

/* `base`: the struct whose fields the rules fill. Of a mixture's experts a token meets a few. */
static void add_tensors(const weft_hparams *h, const void *base, const weft_tensor_rule *rules,
                        size_t n_rules, weft_model_cost *cost, uint64_t *quantized_ops) {
    for (size_t i = 0; i < n_rules; i++) {
        weft_tensor *const *field =
            (weft_tensor *const *)(const void *)((const char *)base + rules[i].field);
        if (!*field || counted_before(rules, i))
            continue;
        const weft_tensor *t = weft_tensor_packed(*field);
        if (rules[i].flags & WEFT_RULE_GATHER) { /* one row of it */
            cost->weight_bytes += bytes_of(t) / (uint64_t)(t->dims[0] > 0 ? t->dims[0] : 1);
            continue;
        }
        uint64_t bytes = bytes_of(t), ops = 2 * (uint64_t)weft_tensor_numel(t);
        if (rules[i].flags & WEFT_RULE_EXPERTS) {
            bytes = bytes / (uint64_t)h->n_expert * (uint64_t)h->n_expert_used;
            ops = ops / (uint64_t)h->n_expert * (uint64_t)h->n_expert_used;
        }
        cost->weight_bytes += bytes;
        if (rules[i].n_rows == WEFT_EXT_NONE)
            continue;
        cost->weight_ops += ops;
        cost->output_ops += rules[i].flags & WEFT_RULE_OUTPUT ? ops : 0;
        if (weft_dtype_is_quantized(t->dtype))
            *quantized_ops += ops;
    }
}

weft_model_cost weft_network_cost(const weft_network *n, int32_t depth, weft_dtype cache_type) {
    const weft_hparams *h = &n->h;
    weft_model_cost cost = {0};
    uint64_t quantized_ops = 0, seen = depth < 0 ? 1 : (uint64_t)depth + 1;
    add_tensors(h, &n->globals, n->arch->globals, n->arch->n_globals, &cost, &quantized_ops);
    for (int32_t i = 0; i < h->n_layer; i++) {
        const weft_layer *l = &n->layers[i];
        add_tensors(h, l, n->arch->layer, n->arch->n_layer_rules, &cost, &quantized_ops);
        uint64_t window = l->kind == WEFT_LAYER_LOCAL && h->window > 0 ? (uint64_t)h->window : seen;
        uint64_t positions = window < seen ? window : seen;
        weft_cache_layer keeps = weft_network_keeps(n, l->kv_layer); /* what it reads */
        uint64_t dims = (uint64_t)keeps.dim_k + (uint64_t)(keeps.dim_v ? keeps.dim_v : keeps.dim_k);
        if (keeps.n_head_kv > 0) {
            cost.cache_bytes += positions * (uint64_t)weft_cache_layer_width(&keeps, WEFT_F32) *
                                weft_dtype_block_bytes(cache_type) / weft_dtype_block(cache_type);
            cost.cache_ops += positions * 2 * (uint64_t)h->n_head * dims;
        }
        uint64_t states = weft_cache_layer_state_bytes(&keeps);
        cost.cache_bytes += 2 * states; /* read and written */
        cost.cache_ops += states;       /* about four operations an element */
    }
    cost.quantized = quantized_ops * 2 > cost.weight_ops;
    return cost;
}
