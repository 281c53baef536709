/* A network's hyper-parameters as keys of a GGUF file: every key that the description spells, then
 * the rope's scaling; all read back and compared. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/detail.h"
#include "model/config.h"
#include "model/exact.h"
#include "model/export.h"
#include "model/network_impl.h"

typedef struct keys {
    const weft_network *n;
    const weft_arch *arch; /* of the file */
    weft_metadata *out;
    weft_status status; /* first error */
} keys;

static void put(keys *k, const char *member, const weft_value *v) {
    char key[WEFT_CONFIG_NAME];
    snprintf(key, sizeof key, "%s.%s", k->arch->name, member);
    if (!k->status && !weft_metadata_find(k->out, key, NULL))
        k->status = weft_metadata_put(k->out, key, strlen(key), v);
}

static void put_u32(keys *k, const char *member, int64_t number) {
    weft_value v = {.type = WEFT_VALUE_U32, .as.u = (uint64_t)number};
    put(k, member, &v);
}

static void put_f32(keys *k, const char *member, double number) {
    weft_value v = {.type = WEFT_VALUE_F32, .as.f = number};
    put(k, member, &v);
}

static void put_bool(keys *k, const char *member, bool on) {
    weft_value v = {.type = WEFT_VALUE_BOOL, .as.u = on};
    put(k, member, &v);
}

static void put_text(keys *k, const char *member, const char *text) {
    weft_value v = {.type = WEFT_VALUE_STRING, .as.s = {text, strlen(text)}};
    put(k, member, &v);
}

/* Counts; false for other keys. 0 is not written. */
static bool count_of(const keys *k, weft_key key, int64_t *out) {
    const weft_hparams *h = &k->n->h;
    weft_scores usual = k->arch->router.scores;
    switch (key) {
    case WEFT_KEY_N_LAYER:
        return *out = h->n_layer, true;
    case WEFT_KEY_N_EMBD:
        return *out = h->n_embd, true;
    case WEFT_KEY_N_FF:
        return *out = h->n_ff > 0 ? h->n_ff : h->n_ff_expert, true;
    case WEFT_KEY_N_HEAD:
        return *out = h->n_head, true;
    case WEFT_KEY_N_HEAD_KV:
        return *out = h->n_head_kv, true;
    case WEFT_KEY_HEAD_DIM:
        return *out = h->head_dim, true;
    case WEFT_KEY_HEAD_DIM_LOCAL:
    case WEFT_KEY_HEAD_DIM_V_LOCAL:
        return *out = h->head_dim_local, true;
    case WEFT_KEY_N_SHARING:
        return *out = h->n_sharing, true;
    case WEFT_KEY_N_EMBD_LAYER:
        return *out = h->n_embd_layer, true;
    case WEFT_KEY_HEAD_DIM_V:
        return *out = h->latent.dim_v > 0 ? h->latent.dim_v : h->head_dim, true;
    case WEFT_KEY_N_CONTEXT:
        return *out = h->n_context, true;
    case WEFT_KEY_N_ROT_LOCAL:
        return *out = h->rope_local.n_rot, true;
    case WEFT_KEY_N_ROT:
        return *out = h->rope.n_rot, true;
    case WEFT_KEY_WINDOW:
        /* Encoders' files say the width, both sides together. */
        return *out = k->arch->bidirectional && h->window > 0 ? 2 * (h->window - 1) : h->window,
               true;
    case WEFT_KEY_N_EXPERT:
        return *out = h->n_expert, true;
    case WEFT_KEY_N_EXPERT_USED:
        return *out = h->n_expert_used, true;
    case WEFT_KEY_N_FF_EXPERT:
        return *out = h->n_ff_expert, true;
    case WEFT_KEY_N_FF_SHARED:
        return *out = h->n_ff_shared, true;
    case WEFT_KEY_N_SHARED:
        return *out = h->n_ff_expert > 0 ? h->n_ff_shared / h->n_ff_expert : 0, true;
    case WEFT_KEY_N_DENSE_LEAD:
        return *out = h->n_dense_lead, true;
    case WEFT_KEY_ROUTER_SCORES:
        /* 1 softmax, 2 sigmoid, 3 softmax of the chosen; only where it is not the family's own */
        return *out =
                   h->n_expert > 0 && h->router.scores != usual ? (int64_t)h->router.scores + 1 : 0,
               true;
    case WEFT_KEY_ROUTER_GROUPS:
        return *out = h->router.n_group, true;
    case WEFT_KEY_ROUTER_GROUPS_USED:
        return *out = h->router.n_group_used, true;
    case WEFT_KEY_REC_INTERVAL:
        *out = 0;
        while (*out < h->n_layer && k->n->layers[*out].kind == WEFT_LAYER_RECURRENT)
            ++*out;
        return ++*out, true;
    case WEFT_KEY_REC_TAPS:
        return *out = h->rec.n_taps, true;
    case WEFT_KEY_REC_INNER:
        return *out = h->rec.n_inner, true;
    case WEFT_KEY_REC_HEADS:
        return *out = h->rec.n_head, true;
    case WEFT_KEY_REC_HEAD_DIM:
        return *out = h->rec.head_dim, true;
    case WEFT_KEY_REC_GROUPS:
        return *out = h->rec.n_group, true;
    case WEFT_KEY_REC_STATE:
        return *out = h->rec.n_state, true;
    case WEFT_KEY_REC_RANK:
        return *out = h->rec.n_rank, true;
    case WEFT_KEY_Q_LATENT:
        return *out = h->latent.n_q, true;
    case WEFT_KEY_KV_LATENT:
        return *out = h->latent.n_kv, true;
    case WEFT_KEY_LATENT_V:
        return *out = h->latent.dim_v, true;
    default:
        return false;
    }
}

/* Reals; false for other keys. Those equal to `usual` are not written. */
static bool real_of(const keys *k, weft_key key, double *out, double *usual) {
    const weft_hparams *h = &k->n->h;
    *usual = 0;
    switch (key) {
    case WEFT_KEY_NORM_EPS:
        return *out = h->norm == WEFT_NORM_RMS ? (double)h->norm_eps : 0, true;
    case WEFT_KEY_LAYER_NORM_EPS:
        return *out = h->norm == WEFT_NORM_LAYER ? (double)h->norm_eps : 0, true;
    case WEFT_KEY_ROPE_BASE:
        return *out = h->rope.n_rot > 0 ? h->rope.base : 0, true;
    case WEFT_KEY_ROPE_BASE_LOCAL:
        return *out = h->rope_local.base, *usual = h->rope.base, true;
    case WEFT_KEY_ATTN_SCALE:
        return *out = (double)h->attn_scale,
               *usual = k->arch->attn_scale > 0 ? k->arch->attn_scale
                                                : (double)(float)(1 / sqrt((double)h->head_dim)),
               true;
    case WEFT_KEY_ATTN_SOFTCAP:
        return *out = (double)h->attn_softcap, true;
    case WEFT_KEY_FINAL_SOFTCAP:
        return *out = (double)h->final_softcap, true;
    case WEFT_KEY_EMBD_SCALE:
        return *out = (double)h->embd_scale, *usual = 1, true;
    case WEFT_KEY_RESIDUAL_SCALE:
        return *out = (double)h->residual_scale, *usual = 1, true;
    case WEFT_KEY_LOGIT_SCALE:
        *out = (double)h->logit_scale;
        *out = k->arch->logit_scale_divides ? 1 / *out : *out;
        return *usual = 1, true;
    case WEFT_KEY_CLIP_QKV:
        return *out = (double)h->clip_qkv, true;
    case WEFT_KEY_Q_GROWTH:
        return *out = (double)h->q_growth, true;
    case WEFT_KEY_ALIBI:
        return *out = h->alibi, *usual = k->arch->alibi ? -1 : 0, true;
    case WEFT_KEY_ROUTER_SCALE:
        return *out = h->n_expert > 0 ? (double)h->router.scale : 1, *usual = 1, true;
    default:
        return false;
    }
}

/* Heads of K and V of a layer: none without attention, where no interval says which these are; and
 * those that a layer would have if it shared no other's. */
static int32_t kv_heads_of(const keys *k, const weft_layer *l) {
    bool interval = false;
    for (const weft_key_name *o = k->arch->keys; o && o->key != WEFT_KEY_COUNT; o++)
        interval = interval || (o->key == WEFT_KEY_REC_INTERVAL && o->gguf);
    if (l->kind == WEFT_LAYER_RECURRENT && !interval)
        return 0;
    bool local = l->kind == WEFT_LAYER_LOCAL && k->n->h.n_head_kv_local > 0;
    return local ? k->n->h.n_head_kv_local : k->n->h.n_head_kv;
}

/* An array of a number a layer, where layers differ in it. */
static bool put_layers(keys *k, const weft_key_name *name) {
    char key[WEFT_CONFIG_NAME];
    int32_t numbers[1024];
    size_t n = (size_t)k->n->h.n_layer;
    bool mixed = false;
    if (n > 1024 || (name->key != WEFT_KEY_N_HEAD_KV && name->key != WEFT_KEY_N_FF))
        return false;
    for (size_t i = 0; i < n; i++) {
        const weft_layer *l = &k->n->layers[i];
        numbers[i] = name->key == WEFT_KEY_N_FF ? l->n_ff : kv_heads_of(k, l);
        mixed = mixed || numbers[i] != numbers[0];
    }
    if (!mixed)
        return false;
    snprintf(key, sizeof key, "%s.%s", k->arch->name, name->gguf);
    if (!k->status)
        k->status = weft_metadata_put_array(k->out, key, strlen(key), WEFT_VALUE_I32, numbers, n);
    return true;
}

/* Layers that are a recurrent mixer and nothing else: other programs want these keys all the same.
 */
static bool put_nothing(keys *k, const weft_key_name *name) {
    if (name->key == WEFT_KEY_N_FF || name->key == WEFT_KEY_N_HEAD)
        put_u32(k, name->gguf, 0);
    return name->key == WEFT_KEY_N_FF || name->key == WEFT_KEY_N_HEAD ||
           name->key == WEFT_KEY_N_HEAD_KV || name->key == WEFT_KEY_HEAD_DIM ||
           name->key == WEFT_KEY_HEAD_DIM_V;
}

static void put_key(keys *k, const weft_key_name *name) {
    const weft_hparams *h = &k->n->h;
    int64_t count;
    double real, usual;
    if (!name->gguf || (k->arch->recurrent_only && put_nothing(k, name)))
        return;
    if (put_layers(k, name))
        return;
    if (count_of(k, name->key, &count)) {
        /* Another reader wants this one even where there is no such thing. */
        if (count > 0 || name->key == WEFT_KEY_N_EMBD_LAYER)
            put_u32(k, name->gguf, count); /* of layers without those left aside */
    } else if (real_of(k, name->key, &real, &usual)) {
        if (real != usual)
            put_f32(k, name->gguf, real);
    } else if (name->key == WEFT_KEY_PARALLEL) {
        put_bool(k, name->gguf, h->parallel);
    } else if (name->key == WEFT_KEY_ROUTER_NORMALISE && h->n_expert > 0 &&
               h->router.normalise != k->arch->router.normalise) {
        put_bool(k, name->gguf, h->router.normalise);
    }
}

/* ---- Rope ---- */

/* Whether a file has divisors of this rule's, as a tensor, and no word of the rule. */
static bool by_factors(const weft_rope_rule *r) {
    return r->scaling == WEFT_ROPE_LLAMA3 || r->scaling == WEFT_ROPE_SHARE;
}

/* Latent attention: q·k is scaled by (1 + it · ln factor)². */
static void put_yarn_scale(keys *k) {
    const weft_hparams *h = &k->n->h;
    double factor = sqrt((double)h->attn_scale * sqrt((double)h->head_dim));
    if (h->rope.factor > 1 && fabs(factor - 1) > 1e-6)
        put_f32(k, "rope.scaling.yarn_log_multiplier",
                (factor - 1) / weft_exact_log(h->rope.factor));
}

static void put_rope(keys *k) {
    const weft_rope_rule *r = &k->n->h.rope;
    double usual = r->factor <= 1 ? 1 : 0.1 * weft_exact_log(r->factor) + 1;
    if (r->n_rot == 0 && k->n->h.alibi <= 0 && k->arch->rope_base_default[WEFT_SPELL_GGUF] > 0)
        put_bool(k, "rope.scaling.finetuned", false); /* no rope where the family has one */
    if (r->n_rot == 0 || r->scaling == WEFT_ROPE_PLAIN || by_factors(r))
        return;
    if (r->scaling == WEFT_ROPE_LONG) {
        if (!k->arch->longrope_unnamed)
            put_text(k, "rope.scaling.type", "longrope");
        put_u32(k, "rope.scaling.original_context_length", (int64_t)r->n_original);
        put_f32(k, "rope.scaling.attn_factor", r->magnitude);
        return;
    }
    put_text(k, "rope.scaling.type", r->scaling == WEFT_ROPE_YARN ? "yarn" : "linear");
    put_f32(k, "rope.scaling.factor", r->factor);
    if (r->scaling != WEFT_ROPE_YARN)
        return;
    put_u32(k, "rope.scaling.original_context_length", (int64_t)r->n_original);
    double magnitude = r->magnitude;
    if (k->n->h.latent.n_kv > 0) { /* whose scale has it; readers divide by the usual one */
        put_yarn_scale(k);
        magnitude *= usual;
    }
    if (fabs(magnitude - usual) > 1e-6 * usual)
        put_f32(k, "rope.scaling.attn_factor", magnitude / usual);
    if (r->beta_fast != 32)
        put_f32(k, "rope.scaling.yarn_beta_fast", r->beta_fast);
    if (r->beta_slow != 1)
        put_f32(k, "rope.scaling.yarn_beta_slow", r->beta_slow);
}

/* ---- Encoders ---- */

/* "pooling_type" counts as hparams_encoder.c reads it. */
static void put_pooling(keys *k) {
    static const uint32_t types[] = {
        [WEFT_POOLING_MEAN] = 1, [WEFT_POOLING_CLS] = 2, [WEFT_POOLING_LAST] = 3};
    if (k->n->h.pooling != WEFT_POOLING_DEFAULT)
        put_u32(k, "pooling_type", types[k->n->h.pooling]);
}

static void put_encoder(keys *k) {
    static const char types[] = "tokenizer.ggml.token_type_count";
    weft_value v = {.type = WEFT_VALUE_U32, .as.u = (uint64_t)k->n->h.n_types};
    if (!k->arch->bidirectional)
        return;
    put_bool(k, "attention.causal", false);
    if (!k->status && k->n->h.n_types > 0)
        k->status = weft_metadata_put(k->out, types, sizeof types - 1, &v);
}

/* ---- Reading back ---- */

static weft_status differs(const keys *k, const char *what) {
    return weft_fail(WEFT_E_UNSUPPORTED, "%s: a GGUF file of %s cannot say this model's %s",
                     k->n->name[0] ? k->n->name : "the folder", k->arch->name, what);
}

static bool near(double a, double b) {
    return fabs(a - b) <= 1e-6 * fmax(fabs(a), fabs(b));
}

static bool same_rope(const weft_rope_rule *a, const weft_rope_rule *b) {
    if (a->n_rot == 0 && b->n_rot == 0)
        return true;
    bool factors = by_factors(a) && b->scaling == WEFT_ROPE_PLAIN;
    if (a->n_rot != b->n_rot || !near(a->base, b->base) || (!factors && a->scaling != b->scaling))
        return false;
    if (a->scaling == WEFT_ROPE_LONG)
        return near(a->n_original, b->n_original) && near(a->magnitude, b->magnitude);
    if (a->scaling == WEFT_ROPE_YARN &&
        (!near(a->n_original, b->n_original) || a->beta_fast != b->beta_fast ||
         a->beta_slow != b->beta_slow || a->truncate != b->truncate))
        return false;
    return factors || a->scaling == WEFT_ROPE_PLAIN ||
           (near(a->factor, b->factor) && near(a->magnitude, b->magnitude));
}

static weft_status compare(const keys *k, const weft_hparams *b) {
    const weft_hparams *a = &k->n->h;
    if (a->n_layer != b->n_layer || a->n_embd != b->n_embd || a->n_context != b->n_context ||
        a->n_embd_layer != b->n_embd_layer)
        return differs(k, "counts");
    if (a->n_head != b->n_head || a->n_head_kv != b->n_head_kv || a->head_dim != b->head_dim ||
        memcmp(&a->latent, &b->latent, sizeof a->latent) != 0)
        return differs(k, "heads");
    if (a->n_types != b->n_types || a->pooling != b->pooling)
        return differs(k, "types of tokens");
    weft_recurrence rec = b->rec;
    rec.tiled = a->rec.tiled; /* heads are put into the file's order */
    if (memcmp(&a->rec, &rec, sizeof rec) != 0)
        return differs(k, "recurrence");
    if (a->norm != b->norm || !near((double)a->norm_eps, (double)b->norm_eps))
        return differs(k, "norm");
    if (a->activation != b->activation)
        return differs(k, "activation");
    if (!near((double)a->embd_scale, (double)b->embd_scale) ||
        !near((double)a->residual_scale, (double)b->residual_scale) ||
        !near((double)a->logit_scale, (double)b->logit_scale) ||
        !near((double)a->attn_scale, (double)b->attn_scale) ||
        !near((double)a->attn_softcap, (double)b->attn_softcap) ||
        !near((double)a->final_softcap, (double)b->final_softcap) || a->parallel != b->parallel ||
        !near((double)a->clip_qkv, (double)b->clip_qkv) || a->alibi != b->alibi ||
        !near((double)a->alibi_scale, (double)b->alibi_scale) ||
        !near((double)a->q_growth, (double)b->q_growth))
        return differs(k, "scales");
    if (!same_rope(&a->rope, &b->rope) || (a->window && !same_rope(&a->rope_local, &b->rope_local)))
        return differs(k, "rope");
    if (a->n_expert != b->n_expert ||
        (a->n_expert && (a->n_expert_used != b->n_expert_used || a->n_ff_expert != b->n_ff_expert ||
                         a->n_ff_shared != b->n_ff_shared || a->router.scores != b->router.scores ||
                         a->router.normalise != b->router.normalise ||
                         !near((double)a->router.scale, (double)b->router.scale) ||
                         a->router.n_group != b->router.n_group ||
                         a->router.n_group_used != b->router.n_group_used)))
        return differs(k, "mixture");
    return WEFT_OK;
}

/* Whether every layer comes back as it is. */
static bool same_layers(const keys *k, const weft_hparams *h, weft_status *status) {
    for (int32_t i = 0; i < h->n_layer; i++) {
        weft_layer l = {0};
        const weft_layer *own = &k->n->layers[i];
        *status = weft_hparams_layer(k->out, k->arch, WEFT_SPELL_GGUF, h, i, &l);
        if (*status || l.kind != own->kind || l.has_rope != own->has_rope ||
            l.is_mixture != own->is_mixture || l.head_dim != own->head_dim ||
            l.n_head_kv != own->n_head_kv || l.kv_layer != own->kv_layer ||
            (l.n_ff != own->n_ff && own->n_ff > 0) || /* a mixture alone has no width beside it */
            (l.kind == WEFT_LAYER_LOCAL && h->window != k->n->h.window))
            return false;
    }
    return true;
}

/* The window of each layer, where the description has a key for it. */
static void put_pattern(keys *k) {
    char key[WEFT_CONFIG_NAME];
    unsigned char local[1024];
    size_t n = (size_t)k->n->h.n_layer;
    for (const weft_key_name *name = k->arch->keys; name && name->key != WEFT_KEY_COUNT; name++) {
        if (name->key != WEFT_KEY_WINDOW_PATTERN || !name->gguf || n > sizeof local)
            continue;
        for (size_t i = 0; i < n; i++)
            local[i] = k->n->layers[i].kind == WEFT_LAYER_LOCAL;
        snprintf(key, sizeof key, "%s.%s", k->arch->name, name->gguf);
        if (!k->status)
            k->status =
                weft_metadata_put_array(k->out, key, strlen(key), WEFT_VALUE_BOOL, local, n);
    }
}

static weft_status read_back(keys *k) {
    weft_hparams h;
    weft_status st = weft_hparams_read(k->out, k->arch, WEFT_SPELL_GGUF, &h);
    if (st || (st = compare(k, &h)) || same_layers(k, &h, &st))
        return st;
    put_pattern(k);
    if (k->status || (st = weft_hparams_read(k->out, k->arch, WEFT_SPELL_GGUF, &h)))
        return k->status ? k->status : st;
    return same_layers(k, &h, &st) ? WEFT_OK : st ? st : differs(k, "layers");
}

weft_status weft_network_export_keys(const weft_network *network, weft_metadata *out) {
    keys k = {.n = network, .out = out};
    const char *name = weft_network_exported_arch(network)->name;
    weft_value v = {.type = WEFT_VALUE_STRING, .as.s = {name, strlen(name)}};
    weft_status st = weft_metadata_put(out, "general.architecture", 20, &v);
    if (!st)
        st = weft_arch_find(out, WEFT_SPELL_GGUF, &k.arch);
    if (st)
        return st;
    for (const weft_key_name *key = k.arch->keys; key && key->key != WEFT_KEY_COUNT; key++)
        put_key(&k, key);
    for (const weft_key_name *key = weft_keys_usual; key->key != WEFT_KEY_COUNT; key++) {
        bool own = false;
        for (const weft_key_name *o = k.arch->keys; o && o->key != WEFT_KEY_COUNT; o++)
            own = own || o->key == key->key;
        if (!own)
            put_key(&k, key);
    }
    put_u32(&k, "vocab_size", network->h.n_vocab);
    if (network->h.latent.n_kv > 0) { /* of what is cached */
        put_u32(&k, "attention.key_length", network->h.latent.n_kv + network->h.rope.n_rot);
        put_u32(&k, "attention.value_length", network->h.latent.n_kv);
    }
    put_rope(&k);
    put_pooling(&k);
    put_encoder(&k);
    if (k.arch->layers_differ) /* other keys need it */
        put_pattern(&k);
    return k.status ? k.status : read_back(&k);
}
