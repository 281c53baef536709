/* Binding: the fields of a network's layers borrow tensors of the weights map, each checked for
 * presence, type and shape. Nothing is changed in the map. */
#include <stdio.h>
#include <string.h>
#include "base/detail.h"
#include "model/network_impl.h"
#include "tensor/kernels/panel.h"

static const char *const layer_prefix[WEFT_SPELL_COUNT] = {"blk.", "model.layers."};

void weft_rule_name(const weft_network *n, const weft_tensor_rule *rule, int32_t layer,
                    char name[WEFT_TENSOR_NAME]) {
    const char *own = rule->name[n->spelling];
    if (!own)
        name[0] = 0;
    else if (layer < 0)
        snprintf(name, WEFT_TENSOR_NAME, "%s", own);
    else
        snprintf(name, WEFT_TENSOR_NAME, "%s%d.%s", layer_prefix[n->spelling], layer, own);
}

weft_tensor **weft_rule_field(weft_network *n, const weft_tensor_rule *rule, int32_t layer) {
    unsigned char *base =
        layer < 0 ? (unsigned char *)&n->globals : (unsigned char *)&n->layers[layer];
    return (weft_tensor **)(void *)(base + rule->field);
}

weft_status weft_rules_visit(weft_binding *b, weft_rule_fn fn) {
    const weft_arch *arch = b->network->arch;
    weft_status st;
    for (size_t i = 0; i < arch->n_globals; i++)
        if ((st = fn(b, &arch->globals[i], -1)))
            return st;
    for (int32_t layer = 0; layer < b->network->h.n_layer; layer++)
        for (size_t i = 0; i < arch->n_layer_rules; i++)
            if ((st = fn(b, &arch->layer[i], layer)))
                return st;
    return WEFT_OK;
}

static int64_t extent(const weft_hparams *h, weft_extent e) {
    switch (e) {
    case WEFT_EXT_VOCAB:
        return h->n_vocab;
    case WEFT_EXT_EMBD:
        return h->n_embd;
    case WEFT_EXT_FF:
        return h->n_ff;
    case WEFT_EXT_Q:
        return (int64_t)h->n_head * h->head_dim;
    case WEFT_EXT_KV:
        return (int64_t)h->n_head_kv * h->head_dim;
    case WEFT_EXT_HEAD:
        return h->head_dim;
    case WEFT_EXT_ROT_HALF:
        return h->rope.n_rot / 2;
    case WEFT_EXT_NONE:
        break;
    }
    return 0;
}

static bool vector_type(weft_dtype t) {
    return t == WEFT_F32 || t == WEFT_F16 || t == WEFT_BF16;
}

static weft_status check_tensor(const weft_hparams *h, const weft_tensor_rule *rule,
                                const char *name, const weft_tensor *t) {
    bool matrix = rule->n_rows != WEFT_EXT_NONE;
    int64_t rows = extent(h, rule->n_rows), cols = extent(h, rule->n_cols);
    weft_dtype type = weft_tensor_dtype(t);
    if (matrix ? !weft_panel_supported(type) : !vector_type(type))
        return weft_fail(WEFT_E_UNSUPPORTED, "%s: the type %s is not supported for a %s", name,
                         weft_dtype_name(type), matrix ? "matrix" : "vector");
    int rank = weft_tensor_rank(t);
    if (rank == (matrix ? 2 : 1) && weft_tensor_dim(t, -1) == cols &&
        (!matrix || weft_tensor_dim(t, 0) == rows))
        return WEFT_OK;
    char shape[96];
    size_t at = 0;
    for (int i = 0; i < rank && at < sizeof shape - 24; i++)
        at += (size_t)snprintf(shape + at, sizeof shape - at, "%s%lld", i ? ", " : "",
                               (long long)weft_tensor_dim(t, i));
    shape[at] = 0;
    if (matrix)
        return weft_fail(WEFT_E_FORMAT,
                         "%s: the shape is [%s], not [%lld, %lld] as the "
                         "hyper-parameters say",
                         name, shape, (long long)rows, (long long)cols);
    return weft_fail(WEFT_E_FORMAT, "%s: the shape is [%s], not [%lld] as the hyper-parameters say",
                     name, shape, (long long)cols);
}

/* The embedding's rows decide the size of the vocabulary. */
static weft_status take_vocab(weft_hparams *h, const char *name, const weft_tensor *t) {
    int64_t rows = weft_tensor_rank(t) == 2 ? weft_tensor_dim(t, 0) : 0;
    if (rows < 1 || rows > INT32_MAX)
        return weft_fail(WEFT_E_FORMAT, "%s: not a matrix of one row per token", name);
    if (h->n_vocab && h->n_vocab != rows)
        return weft_fail(WEFT_E_FORMAT, "config.json: vocab_size: is %d, but %s has %lld rows",
                         h->n_vocab, name, (long long)rows);
    h->n_vocab = (int32_t)rows;
    return WEFT_OK;
}

static bool is_tied(const weft_binding *b, const weft_tensor *own) {
    return b->network->spelling == WEFT_SPELL_HF ? b->network->h.tied : !own;
}

static weft_status bind_rule(weft_binding *b, const weft_tensor_rule *rule, int32_t layer) {
    weft_network *n = b->network;
    char name[WEFT_TENSOR_NAME];
    weft_rule_name(n, rule, layer, name);
    weft_tensor *t = name[0] ? weft_weights_find(b->weights, name) : NULL;
    if (rule->flags & WEFT_RULE_OUTPUT && is_tied(b, t)) {
        *weft_rule_field(n, rule, layer) = n->globals.embedding;
        n->tied_output = true;
        return WEFT_OK;
    }
    if (!t) {
        if (rule->flags & WEFT_RULE_OPTIONAL)
            return WEFT_OK;
        if (layer >= 0)
            return weft_fail(WEFT_E_FORMAT, "%s: the tensor is missing (the model has %d layers)",
                             name, n->h.n_layer);
        return weft_fail(WEFT_E_FORMAT, "%s: the tensor is missing", name);
    }
    weft_status st;
    if (rule->flags & WEFT_RULE_GATHER && (st = take_vocab(&n->h, name, t)))
        return st;
    if ((st = check_tensor(&n->h, rule, name, t)))
        return st;
    *weft_rule_field(n, rule, layer) = t;
    return WEFT_OK;
}

/* config.json may promise biases; running without them would be silently wrong. */
static weft_status check_biases(const weft_network *n) {
    for (int32_t i = 0; i < n->h.n_layer; i++) {
        const weft_layer *l = &n->layers[i];
        if (n->h.attn_bias && !(l->attn_q_bias && l->attn_k_bias && l->attn_v_bias))
            return weft_fail(WEFT_E_FORMAT,
                             "model.layers.%d.self_attn.q_proj.bias: missing, but "
                             "config.json: attention_bias is true",
                             i);
        if (n->h.mlp_bias && !(l->ffn_up_bias && l->ffn_down_bias))
            return weft_fail(WEFT_E_FORMAT,
                             "model.layers.%d.mlp.up_proj.bias: missing, but "
                             "config.json: mlp_bias is true",
                             i);
    }
    return WEFT_OK;
}

static bool rule_named(const weft_network *n, const char *rest) {
    for (size_t i = 0; i < n->arch->n_layer_rules; i++) {
        const char *own = n->arch->layer[i].name[n->spelling];
        if (own && !strcmp(own, rest))
            return true;
    }
    /* Tables that old exporters wrote and nobody needs. */
    return !strcmp(rest, "self_attn.rotary_emb.inv_freq") || !strcmp(rest, "attn_rot_embd.weight");
}

/* A tensor of a layer that no rule knows means a model that is not what its architecture says. */
static weft_status refuse_strangers(const weft_binding *b) {
    const weft_network *n = b->network;
    const char *prefix = layer_prefix[n->spelling];
    size_t n_prefix = strlen(prefix);
    for (size_t i = 0; i < weft_weights_count(b->weights); i++) {
        const char *name;
        weft_weights_at(b->weights, i, &name);
        if (strncmp(name, prefix, n_prefix) != 0)
            continue;
        long layer = 0; /* of any number of digits: stays large once it is */
        const char *p = name + n_prefix;
        for (; *p >= '0' && *p <= '9'; p++)
            layer = layer < (1 << 20) ? layer * 10 + (*p - '0') : layer;
        if (*p != '.')
            continue;
        if (layer >= n->h.n_layer)
            return weft_fail(WEFT_E_FORMAT,
                             "%s: the tensor belongs to layer %ld, but the model has "
                             "%d layers",
                             name, layer, n->h.n_layer);
        size_t end = strlen(p + 1);
        if (end > 4 && !strcmp(p + 1 + end - 4, "(+1)"))
            continue; /* derived by an earlier network over the same map */
        if (!rule_named(n, p + 1))
            return weft_fail(WEFT_E_UNSUPPORTED,
                             "%s: the architecture %s has no such tensor, so the model is a "
                             "variant that is not supported",
                             name, n->arch->name);
    }
    return WEFT_OK;
}

weft_status weft_network_bind(weft_binding *b) {
    weft_status st = weft_rules_visit(b, bind_rule);
    if (st || (st = check_biases(b->network)))
        return st;
    return refuse_strangers(b);
}
