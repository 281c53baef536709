/* Binding: the fields of a network's layers borrow tensors of the weights map, each checked for
 * presence, type and shape. Nothing is changed in the map. */
#include <stdio.h>
#include <string.h>
#include "base/detail.h"
#include "model/derive.h"
#include "model/network_impl.h"
#include "tensor/kernels/panel.h"

static const char *base_of(const weft_network *n) {
    return n->arch->hf_base ? n->arch->hf_base : "model.";
}

/* The first part of names in this model's files that they leave out. */
static size_t left_out(const weft_network *n, const char *name) {
    return n->base_bytes > 0 && !strncmp(name, base_of(n), n->base_bytes) ? n->base_bytes : 0;
}

static const char *layers_of(const weft_network *n) {
    return n->arch->hf_layers ? n->arch->hf_layers : "model.layers.";
}

/* Folders of models that see or hear as well: "model.layers.…" goes by one of these before or
 * after its first part. */
static const char INSIDE[] = "model.language_model.", BEFORE[] = "language_model.model.";

/* A name of a folder as this one has it. */
static void folder_name(const weft_network *n, const char *name, char *out, size_t room) {
    bool inside = n->wrap == INSIDE && !strncmp(name, "model.", 6);
    if (inside)
        snprintf(out, room, "%s%s", INSIDE, name + 6);
    else
        snprintf(out, room, "%s%s", n->wrap == BEFORE ? "language_model." : "",
                 name + left_out(n, name));
}

static void layer_prefix(const weft_network *n, char out[96]) {
    if (n->spelling == WEFT_SPELL_HF)
        folder_name(n, layers_of(n), out, 96);
    else
        snprintf(out, 96, "blk.");
}

void weft_rule_name(const weft_network *n, const weft_tensor_rule *rule, int32_t layer,
                    int32_t expert, char name[WEFT_TENSOR_NAME]) {
    const char *own = rule->name[n->spelling];
    char prefix[96] = "", full[WEFT_TENSOR_NAME], number[16] = "";
    name[0] = 0;
    if (!own)
        return;
    if (layer < 0 && n->spelling == WEFT_SPELL_HF) {
        folder_name(n, own, full, sizeof full);
        own = full;
    } else if (layer >= 0) {
        layer_prefix(n, prefix);
        size_t at = strlen(prefix);
        snprintf(prefix + at, sizeof prefix - at, "%d.", layer);
    }
    const char *star = strchr(own, '*');
    if (star)
        snprintf(number, sizeof number, "%d", expert);
    snprintf(name, WEFT_TENSOR_NAME, "%s%.*s%s%s", prefix, star ? (int)(star - own) : 96, own,
             number, star ? star + 1 : "");
}

bool weft_rule_holds(const weft_network *n, const weft_tensor_rule *rule, int32_t layer) {
    if (!rule->name[n->spelling])
        return false;
    weft_rule_shape shape = weft_rule_shape_of(n, rule, layer);
    /* The size of the vocabulary is not known before its table is bound. */
    if ((shape.rows == 0 && rule->n_rows != WEFT_EXT_VOCAB) ||
        (shape.cols == 0 && rule->n_cols != WEFT_EXT_VOCAB))
        return false;
    if (layer < 0)
        return true;
    const weft_layer *l = &n->layers[layer];
    bool recurrent = l->kind == WEFT_LAYER_RECURRENT;
    unsigned other = (recurrent ? WEFT_RULE_ATTENTION : WEFT_RULE_RECURRENT) |
                     (l->is_mixture ? WEFT_RULE_DENSE : WEFT_RULE_MIXTURE);
    return !(rule->flags & other);
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
        if (weft_rule_holds(b->network, &arch->globals[i], -1) &&
            (st = fn(b, &arch->globals[i], -1)))
            return st;
    for (int32_t layer = 0; layer < b->network->h.n_layer; layer++)
        for (size_t i = 0; i < arch->n_layer_rules; i++)
            if (weft_rule_holds(b->network, &arch->layer[i], layer) &&
                (st = fn(b, &arch->layer[i], layer)))
                return st;
    return WEFT_OK;
}

static int64_t recurrent_extent(const weft_recurrence *r, weft_extent e) {
    switch (e) {
    case WEFT_EXT_REC_TAPS:
        return r->n_taps;
    case WEFT_EXT_REC_INNER:
        return r->n_inner;
    case WEFT_EXT_REC_HEADS:
        return r->n_head;
    case WEFT_EXT_REC_HEAD_DIM:
        return r->head_dim;
    case WEFT_EXT_REC_STATE:
        return r->n_state;
    case WEFT_EXT_REC_KEYS:
        return (int64_t)r->n_group * r->n_state;
    case WEFT_EXT_REC_CONV:
        return r->n_conv;
    case WEFT_EXT_REC_IN:
        return r->n_in;
    case WEFT_EXT_REC_RANK:
        return r->n_rank;
    case WEFT_EXT_REC_X:
        return r->n_rank + 2 * (int64_t)r->n_state;
    default:
        return 0;
    }
}

/* Of a layer's attention and dense network. */
static int64_t layer_extent(const weft_hparams *h, const weft_layer *l, weft_extent e) {
    switch (e) {
    case WEFT_EXT_FF:
        return l->n_ff;
    case WEFT_EXT_Q:
        return (int64_t)h->n_head * l->head_dim;
    case WEFT_EXT_KV:
        return (int64_t)l->n_head_kv * l->head_dim;
    case WEFT_EXT_V:
        return l->v_is_k ? 0 : (int64_t)l->n_head_kv * l->head_dim;
    case WEFT_EXT_N_HEAD_KV:
        return l->n_head_kv;
    case WEFT_EXT_HEAD:
        return l->head_dim;
    case WEFT_EXT_K_HEAD:
        return l->n_head_kv > 0 ? l->head_dim : 0;
    case WEFT_EXT_Q_GATED:
        return 2 * (int64_t)h->n_head * l->head_dim;
    default:
        return -1;
    }
}

int64_t weft_extent_of(const weft_network *n, int32_t layer, weft_extent e) {
    const weft_hparams *h = &n->h;
    int64_t own = layer < 0 ? -1 : layer_extent(h, &n->layers[layer], e);
    if (own >= 0)
        return own;
    switch (e) {
    case WEFT_EXT_ONE:
        return 1;
    case WEFT_EXT_VOCAB:
        return h->n_vocab;
    case WEFT_EXT_EMBD:
        return h->n_embd;
    case WEFT_EXT_N_HEAD:
        return h->n_head;
    case WEFT_EXT_ROT_HALF:
        return h->rope.n_rot / 2;
    case WEFT_EXT_CONTEXT:
        return (int64_t)h->first_position + h->n_context;
    case WEFT_EXT_TYPES:
        return h->n_types;
    case WEFT_EXT_EXPERTS:
        return h->n_expert;
    case WEFT_EXT_FF_EXPERT:
        return h->n_ff_expert;
    case WEFT_EXT_FF_SHARED:
        return h->n_ff_shared;
    case WEFT_EXT_LAYER_INPUT:
        return h->n_embd_layer;
    case WEFT_EXT_LAYER_INPUTS:
        return (int64_t)h->n_layer * h->n_embd_layer;
    case WEFT_EXT_Q_WHOLE:
        return h->latent.n_q ? 0 : (int64_t)h->n_head * h->head_dim;
    case WEFT_EXT_Q_LATENT:
        return h->latent.n_q;
    case WEFT_EXT_KV_LATENT:
        return h->latent.n_kv;
    case WEFT_EXT_KV_A:
        return h->latent.n_kv + h->rope.n_rot;
    case WEFT_EXT_LATENT_PLAIN:
        return h->head_dim - h->rope.n_rot;
    case WEFT_EXT_LATENT_V:
        return h->latent.dim_v;
    case WEFT_EXT_V_ALL:
        return (int64_t)h->n_head * h->latent.dim_v;
    default:
        return recurrent_extent(&h->rec, e);
    }
}

weft_rule_shape weft_rule_shape_of(const weft_network *n, const weft_tensor_rule *rule,
                                   int32_t layer) {
    weft_rule_shape shape = {.matrix = rule->n_rows != WEFT_EXT_NONE, .n_stacked = 1};
    shape.cols = weft_extent_of(n, layer, rule->n_cols);
    shape.rows = shape.matrix ? weft_extent_of(n, layer, rule->n_rows) : 1;
    shape.file_rows = shape.matrix ? shape.rows : shape.cols;
    if (rule->fusion != WEFT_FUSED_NOT) {
        shape.file_rows = 0;
        for (int i = 0; i < WEFT_FUSED_PARTS && rule->parts[i] != WEFT_EXT_NONE; i++) {
            if (i < rule->part)
                shape.first += weft_extent_of(n, layer, rule->parts[i]);
            shape.file_rows += weft_extent_of(n, layer, rule->parts[i]);
            shape.n_parts++;
        }
    }
    if (rule->flags & WEFT_RULE_EXPERTS)
        shape.n_stacked = n->h.n_expert;
    if (rule->flags & WEFT_RULE_HEADS)
        shape.n_stacked = n->h.n_head;
    return shape;
}

static bool vector_type(weft_dtype t) {
    return t == WEFT_F32 || t == WEFT_F16 || t == WEFT_BF16;
}

/* What the file's tensor must look like: a part's is the whole that the parts share. */
static int expected_dims(const weft_network *n, const weft_tensor_rule *rule, int32_t layer,
                         bool apart, int64_t dims[3]) {
    weft_rule_shape shape = weft_rule_shape_of(n, rule, layer);
    int rank = 0;
    if (rule->fusion == WEFT_FUSED_STACK) {
        dims[rank++] = shape.n_stacked * shape.file_rows;
        dims[rank++] = rule->flags & WEFT_RULE_TRANSPOSED ? shape.rows : shape.cols;
        return rank;
    }
    if (rule->flags & (WEFT_RULE_EXPERTS | WEFT_RULE_HEADS) && !apart)
        dims[rank++] = shape.n_stacked;
    bool transposed = rule->flags & WEFT_RULE_TRANSPOSED;
    if (shape.matrix && transposed)
        dims[rank++] = shape.cols;
    dims[rank++] = shape.file_rows;
    if (shape.matrix && !transposed)
        dims[rank++] = shape.cols;
    return rank;
}

static void shape_text(int rank, const int64_t *dims, char *text, size_t room) {
    size_t at = 0;
    for (int i = 0; i < rank && at + 24 < room; i++)
        at += (size_t)snprintf(text + at, room - at, "%s%lld", i ? ", " : "", (long long)dims[i]);
    text[at] = 0;
}

static weft_status check_tensor(const weft_binding *b, const weft_tensor_rule *rule, int32_t layer,
                                bool apart, const char *name, const weft_tensor *t) {
    const weft_network *n = b->network;
    bool matrix = rule->n_rows != WEFT_EXT_NONE;
    weft_dtype type = weft_tensor_dtype(t);
    bool transposed = rule->flags & WEFT_RULE_TRANSPOSED && rule->fusion != WEFT_FUSED_STACK;
    bool floats = !matrix || transposed || rule->flags & WEFT_RULE_FLOATS;
    bool known = floats ? vector_type(type) : weft_panel_supported(type);
    bool f8 = matrix && !(rule->flags & WEFT_RULE_FLOATS) && weft_is_f8(t);
    if (!known && !(f8 && weft_tensor_rank(t) >= 2))
        return weft_fail(WEFT_E_UNSUPPORTED, "%s: the type %s is not supported for a %s", name,
                         weft_dtype_name(type), matrix ? "matrix" : "vector");
    int64_t want[3], have[WEFT_MAX_RANK];
    int n_want = expected_dims(n, rule, layer, apart, want), rank = weft_tensor_rank(t);
    for (int i = 0; i < rank; i++)
        have[i] = weft_tensor_dim(t, i);
    int64_t n_floats = apart ? want[n_want - 1] : want[0] * (n_want > 1 ? want[1] : 1);
    if (rule->flags & WEFT_RULE_FLOATS && weft_tensor_numel(t) == n_floats)
        return WEFT_OK;
    int skip = n_want == 2 && rank == 1 && want[0] == 1; /* one row may be a vector */
    if (rank == n_want - skip && !memcmp(have, want + skip, (size_t)rank * sizeof *have))
        return f8 ? weft_f8_check(b, name, t) : WEFT_OK;
    char shape[96], expected[96];
    shape_text(rank, have, shape, sizeof shape);
    shape_text(n_want, want, expected, sizeof expected);
    return weft_fail(WEFT_E_FORMAT, "%s: the shape is [%s], not [%s] as the hyper-parameters say",
                     name, shape, expected);
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

/* Whether an optional alternative after this one, or the required one, names the same field. */
static bool has_alternative(const weft_network *n, const weft_tensor_rule *rule, int32_t layer) {
    const weft_tensor_rule *end =
        layer < 0 ? n->arch->globals + n->arch->n_globals : n->arch->layer + n->arch->n_layer_rules;
    for (const weft_tensor_rule *other = rule + 1; other < end; other++)
        if (other->field == rule->field && weft_rule_holds(n, other, layer))
            return true;
    return false;
}

static weft_status missing(const weft_binding *b, const weft_tensor_rule *rule, int32_t layer,
                           const char *name) {
    bool headless = rule->flags & WEFT_RULE_OUTPUT && b->network->base_bytes > 0;
    if (headless || rule->flags & WEFT_RULE_OPTIONAL || has_alternative(b->network, rule, layer))
        return WEFT_OK;
    if (layer >= 0)
        return weft_fail(WEFT_E_FORMAT, "%s: the tensor is missing (the model has %d layers)", name,
                         b->network->h.n_layer);
    return weft_fail(WEFT_E_FORMAT, "%s: the tensor is missing", name);
}

/* Experts, or rows of floats, that the file keeps apart: all of them must be there. The field
 * borrows the first. */
static weft_status check_apart(const weft_binding *b, const weft_tensor_rule *rule, int32_t layer) {
    char name[WEFT_TENSOR_NAME];
    weft_status st;
    bool rows = rule->flags & WEFT_RULE_FLOATS;
    int64_t n = rows ? weft_rule_shape_of(b->network, rule, layer).rows : b->network->h.n_expert;
    for (int32_t e = 1; e < n; e++) {
        weft_rule_name(b->network, rule, layer, e, name);
        const weft_tensor *t = weft_weights_find(b->weights, name);
        if (!t)
            return weft_fail(WEFT_E_FORMAT, "%s: the tensor is missing (the model has %d %s)", name,
                             (int32_t)n, rows ? "heads" : "experts");
        if ((st = check_tensor(b, rule, layer, true, name, t)))
            return st;
    }
    return WEFT_OK;
}

/* Whether another field of the layer borrows the rule's tensor already: some files give a tensor
 * one name whose meaning depends on what else is there. */
static bool is_taken(weft_network *n, const weft_tensor_rule *rule, int32_t layer,
                     const weft_tensor *t) {
    const weft_tensor_rule *first = layer < 0 ? n->arch->globals : n->arch->layer;
    for (const weft_tensor_rule *other = first; other < rule; other++)
        if (weft_rule_holds(n, other, layer) && other->fusion == WEFT_FUSED_NOT &&
            other->field != rule->field && *weft_rule_field(n, other, layer) == t)
            return true;
    return false;
}

static weft_status bind_rule(weft_binding *b, const weft_tensor_rule *rule, int32_t layer) {
    weft_network *n = b->network;
    weft_tensor **field = weft_rule_field(n, rule, layer);
    char name[WEFT_TENSOR_NAME];
    if (*field)
        return WEFT_OK; /* an alternative is there */
    weft_rule_name(n, rule, layer, 0, name);
    bool apart = strchr(rule->name[n->spelling], '*') != NULL;
    weft_tensor *t = weft_weights_find(b->weights, name);
    if (rule->flags & WEFT_RULE_OUTPUT && is_tied(b, t)) {
        *field = n->globals.embedding;
        n->tied_output = true;
        return WEFT_OK;
    }
    if (!t)
        return missing(b, rule, layer, name);
    if (rule->flags & WEFT_RULE_OPTIONAL && rule->fusion == WEFT_FUSED_NOT &&
        is_taken(n, rule, layer, t))
        return WEFT_OK;
    weft_status st;
    if (rule->flags & WEFT_RULE_GATHER && rule->n_rows == WEFT_EXT_VOCAB &&
        (st = take_vocab(&n->h, name, t)))
        return st;
    if (rule->flags & WEFT_RULE_MXFP4) {
        if ((st = weft_mxfp4_check(b, rule, layer, name, t)))
            return st;
    } else if ((st = check_tensor(b, rule, layer, apart, name, t)) ||
               (apart && (st = check_apart(b, rule, layer))))
        return st;
    *field = t;
    return WEFT_OK;
}

/* config.json may promise biases and norms; running without them would be silently wrong. */
static weft_status check_biases(const weft_network *n) {
    for (int32_t i = 0; i < n->h.n_layer; i++) {
        const weft_layer *l = &n->layers[i];
        if (n->h.attn_bias && l->attn_q && !(l->attn_q_bias && l->attn_k_bias && l->attn_v_bias))
            return weft_fail(WEFT_E_FORMAT,
                             "model.layers.%d.self_attn.q_proj.bias: missing, but "
                             "config.json: attention_bias is true",
                             i);
        if (n->h.head_norms && l->attn_q && !(l->attn_q_norm && l->attn_k_norm))
            return weft_fail(WEFT_E_FORMAT,
                             "model.layers.%d.self_attn: norms of q and k are missing, but "
                             "config.json promises them",
                             i);
        if (n->h.mlp_bias && l->ffn_up && !(l->ffn_up_bias && l->ffn_down_bias))
            return weft_fail(WEFT_E_FORMAT,
                             "model.layers.%d.mlp.up_proj.bias: missing, but "
                             "config.json: mlp_bias is true",
                             i);
    }
    return WEFT_OK;
}

/* Whether `rest` is `own`, where a '*' stands for a number. */
static bool matches(const char *own, const char *rest) {
    for (; *own; own++) {
        if (*own != '*') {
            if (*own != *rest++)
                return false;
            continue;
        }
        const char *digits = rest;
        while (*rest >= '0' && *rest <= '9')
            rest++;
        if (rest == digits)
            return false;
    }
    return *rest == 0;
}

/* "…_scales" beside "…_blocks". */
static bool is_scales(const char *own, const char *rest) {
    size_t n = strlen(own), end = strlen("_blocks");
    return n > end && !strncmp(own, rest, n - end) && !strcmp(rest + n - end, "_scales");
}

static bool rule_named(const weft_network *n, const char *rest) {
    static const char *const tables[] = {"self_attn.rotary_emb.inv_freq",
                                         "attn_rot_embd.weight",
                                         "attention.rotary_emb.inv_freq",
                                         "attention.bias",
                                         "attention.masked_bias",
                                         "attn.bias",
                                         "attn.masked_bias"};
    for (size_t i = 0; i < n->arch->n_layer_rules; i++) {
        const char *own = n->arch->layer[i].name[n->spelling];
        if (own && n->arch->layer[i].flags & WEFT_RULE_MXFP4 && is_scales(own, rest))
            return true;
        if (own && matches(own, rest))
            return true;
    }
    /* Tables that old exporters wrote and nobody needs. */
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (!strcmp(rest, tables[i]))
            return true;
    return false;
}

/* A tensor of a layer that no rule knows means a model that is not what its architecture says. */
static weft_status refuse_strangers(const weft_binding *b) {
    const weft_network *n = b->network;
    char prefix[96];
    layer_prefix(n, prefix);
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
        if (layer >= n->h.n_layer && layer - n->h.n_layer < n->h.n_extra)
            continue;
        if (layer >= n->h.n_layer)
            return weft_fail(WEFT_E_FORMAT,
                             "%s: the tensor belongs to layer %ld, but the model has "
                             "%d layers",
                             name, layer, n->h.n_layer);
        if (strchr(p, '('))
            continue; /* derived by an earlier network over the same map */
        if (!rule_named(n, p + 1) && !weft_f8_is_beside(b, name))
            return weft_fail(WEFT_E_UNSUPPORTED,
                             "%s: the architecture %s has no such tensor, so the model is a "
                             "variant that is not supported",
                             name, n->arch->name);
    }
    return WEFT_OK;
}

/* Some folders name the tensors as those of the model without its head: "h.0.…", not
 * "transformer.h.0.…". They may have no output matrix, and give embeddings only, then. */
static void find_base(weft_binding *b) {
    weft_network *n = b->network;
    n->base_bytes = 0;
    n->wrap = NULL;
    for (size_t i = 0; n->spelling == WEFT_SPELL_HF && i < weft_weights_count(b->weights); i++) {
        const char *name;
        weft_weights_at(b->weights, i, &name);
        if (!strncmp(name, INSIDE, sizeof INSIDE - 1))
            n->wrap = INSIDE;
        else if (!strncmp(name, BEFORE, sizeof BEFORE - 1))
            n->wrap = BEFORE;
    }
    size_t bytes = strlen(base_of(n));
    const char *layers = layers_of(n) + bytes;
    bool found = false;
    if (n->spelling != WEFT_SPELL_HF || n->wrap || strncmp(layers_of(n), base_of(n), bytes) != 0)
        return;
    for (size_t i = 0; i < weft_weights_count(b->weights); i++) {
        const char *name;
        weft_weights_at(b->weights, i, &name);
        if (!strncmp(name, base_of(n), bytes))
            return;
        found = found || !strncmp(name, layers, strlen(layers));
    }
    if (found)
        n->base_bytes = bytes;
}

weft_status weft_network_bind(weft_binding *b) {
    find_base(b);
    weft_status st = weft_rules_visit(b, bind_rule);
    if (st || (st = check_biases(b->network)))
        return st;
    return refuse_strangers(b);
}
