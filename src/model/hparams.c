/* Hyper-parameters out of metadata: counts, then what depends on them. Every limit here is one that
 * later arithmetic relies on. */
#include "model/hparams.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/detail.h"
#include "model/config.h"

#define MAX_LAYERS (1 << 16)
#define MAX_WIDTH (1 << 24)
#define MAX_HEADS (1 << 16)
#define MAX_HEAD_DIM (1 << 14)

static weft_status read_ff(const weft_config *c, weft_hparams *h) {
    int32_t factor = c->arch->ff_factor, n_expert = 0;
    if (factor && h->n_embd <= MAX_WIDTH / factor)
        h->n_ff = factor * h->n_embd;
    /* With experts all layers may be mixtures: see weft_hparams_layer. */
    weft_status st = weft_config_i32(c, WEFT_KEY_N_EXPERT, false, 0, INT32_MAX, &n_expert);
    return st ? st
              : weft_config_layers_i32(c, WEFT_KEY_N_FF, !factor && n_expert == 0, MAX_WIDTH,
                                       h->n_layer, &h->n_ff);
}

/* Of layers that are a recurrent mixer and nothing else. */
static weft_status read_counts_alone(const weft_config *c, weft_hparams *h) {
    weft_status st;
    h->n_context = 1 << 20; /* config.json has no length, and nothing ends */
    h->n_head = h->n_head_kv = h->head_dim = 1;
    if ((st = weft_config_i32(c, WEFT_KEY_N_LAYER, true, 1, MAX_LAYERS, &h->n_layer)) ||
        (st = weft_config_i32(c, WEFT_KEY_N_EMBD, true, 1, MAX_WIDTH, &h->n_embd)) ||
        (st = weft_config_i32(c, WEFT_KEY_N_CONTEXT, false, 1, INT32_MAX, &h->n_context)))
        return st;
    return weft_config_i32(c, WEFT_KEY_N_VOCAB, false, 1, INT32_MAX, &h->n_vocab);
}

static weft_status read_counts(const weft_config *c, weft_hparams *h) {
    weft_status st;
    char name[WEFT_CONFIG_NAME];
    if (c->arch->recurrent_only)
        return read_counts_alone(c, h);
    h->n_context = c->arch->context_default;
    /* The number of layers is compared with the tensors of the file before anything is allocated.
     */
    if ((st = weft_config_i32(c, WEFT_KEY_N_LAYER, true, 1, MAX_LAYERS, &h->n_layer)) ||
        (st = weft_config_i32(c, WEFT_KEY_N_EMBD, true, 1, MAX_WIDTH, &h->n_embd)) ||
        (st = read_ff(c, h)) ||
        (st =
             weft_config_layers_i32(c, WEFT_KEY_N_HEAD, true, MAX_HEADS, h->n_layer, &h->n_head)) ||
        (st = weft_config_length(c, WEFT_KEY_N_CONTEXT, !c->arch->context_default, &h->n_context)))
        return st;
    h->n_head_kv = h->n_head;
    if ((st = weft_config_layers_i32(c, WEFT_KEY_N_HEAD_KV, false, MAX_HEADS, h->n_layer,
                                     &h->n_head_kv)) ||
        (st = weft_config_i32(c, WEFT_KEY_N_VOCAB, false, 1, INT32_MAX, &h->n_vocab)))
        return st;
    if (h->n_head % h->n_head_kv) {
        weft_config_name(c, WEFT_KEY_N_HEAD_KV, name);
        return weft_config_fail(c, WEFT_E_FORMAT, name, "%d does not divide the %d heads",
                                h->n_head_kv, h->n_head);
    }
    return WEFT_OK;
}

static weft_status read_head(const weft_config *c, weft_hparams *h) {
    weft_status st;
    char name[WEFT_CONFIG_NAME];
    bool hf = c->spelling == WEFT_SPELL_HF;
    if (c->arch->recurrent_only)
        return WEFT_OK;
    if (hf)
        h->head_dim = c->arch->head_dim_default;
    if ((st = weft_config_i32(c, WEFT_KEY_HEAD_DIM, false, 1, MAX_HEAD_DIM, &h->head_dim)))
        return st;
    if (!h->head_dim) {
        if (h->n_embd % h->n_head) {
            weft_config_name(c, WEFT_KEY_N_HEAD, name);
            return weft_config_fail(c, WEFT_E_FORMAT, name, "%d does not divide the width %d",
                                    h->n_head, h->n_embd);
        }
        h->head_dim = h->n_embd / h->n_head;
    }
    if (h->head_dim > MAX_HEAD_DIM)
        return weft_fail(WEFT_E_UNSUPPORTED, "heads of %d elements are more than %d", h->head_dim,
                         MAX_HEAD_DIM);
    int32_t value_dim = h->head_dim;
    if ((st = weft_config_i32(c, WEFT_KEY_HEAD_DIM_V, false, 1, MAX_HEAD_DIM, &value_dim)))
        return st;
    if (value_dim != h->head_dim) {
        weft_config_name(c, WEFT_KEY_HEAD_DIM_V, name);
        return weft_config_fail(c, WEFT_E_UNSUPPORTED, name,
                                "values of %d elements with keys of %d are not supported",
                                value_dim, h->head_dim);
    }
    return WEFT_OK;
}

static weft_status read_activation(const weft_config *c, weft_hparams *h) {
    static const struct {
        const char *name;
        weft_activation activation;
    } table[] = {{"silu", WEFT_ACT_SILU},          {"swish", WEFT_ACT_SILU},
                 {"swiglu", WEFT_ACT_SILU},        {"gelu", WEFT_ACT_GELU_ERF},
                 {"gelu_new", WEFT_ACT_GELU_TANH}, {"gelu_pytorch_tanh", WEFT_ACT_GELU_TANH},
                 {"relu", WEFT_ACT_RELU},          {"relu2", WEFT_ACT_RELU_SQUARED}};
    const char *text;
    weft_status st = weft_config_string(c, WEFT_KEY_ACTIVATION, &text);
    h->activation = c->arch->activation;
    if (st || !text)
        return st;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].name, text)) {
            h->activation = table[i].activation;
            return WEFT_OK;
        }
    char name[WEFT_CONFIG_NAME];
    weft_config_name(c, WEFT_KEY_ACTIVATION, name);
    return weft_config_fail(c, WEFT_E_UNSUPPORTED, name, "the activation \"%.64s\" is not known",
                            text);
}

static weft_status read_scales(const weft_config *c, weft_hparams *h) {
    weft_status st;
    double embedding = c->arch->scale_embedding ? sqrt((double)h->n_embd) : 1;
    double residual = 1, logits = 1, scale = 0, square = 0;
    if ((st = weft_config_f64(c, WEFT_KEY_EMBD_SCALE, false, 1e-6, 1e6, &embedding)) ||
        (st = weft_config_f64(c, WEFT_KEY_RESIDUAL_SCALE, false, 1e-6, 1e6, &residual)) ||
        (st = weft_config_f64(c, WEFT_KEY_LOGIT_SCALE, false, 1e-6, 1e6, &logits)) ||
        (st = weft_config_f64(c, WEFT_KEY_ATTN_SCALE, false, 0, 1e6, &scale)) ||
        (st = weft_config_f64(c, WEFT_KEY_ATTN_SCALE_SQUARE, false, 1e-6, 1e12, &square)))
        return st;
    h->embd_scale = (float)embedding;
    h->residual_scale = (float)residual;
    h->logit_scale = (float)(c->arch->logit_scale_divides ? 1 / logits : logits);
    if (square == 0) {
        square = h->head_dim;
        if (c->spelling == WEFT_SPELL_GGUF && c->arch->scale_by_width_layers == h->n_layer)
            square = (double)h->n_embd / h->n_head;
    }
    if (scale == 0)
        scale = c->arch->attn_scale > 0 ? c->arch->attn_scale : 1 / sqrt(square);
    h->attn_scale = (float)scale;
    return WEFT_OK;
}

static weft_status read_numbers(const weft_config *c, weft_hparams *h) {
    weft_status st;
    double eps = 0, attn_cap = 0, final_cap = 0, clip = 0;
    h->norm = c->arch->norm;
    h->parallel = c->arch->parallel;
    weft_key key = h->norm == WEFT_NORM_LAYER ? WEFT_KEY_LAYER_NORM_EPS : WEFT_KEY_NORM_EPS;
    if (c->spelling == WEFT_SPELL_HF)
        eps = c->arch->norm_eps_default;
    if ((st = weft_config_f64(c, key, eps == 0, 1e-30, 1, &eps)) ||
        (st = weft_config_f64(c, WEFT_KEY_ATTN_SOFTCAP, false, 0, 1e6, &attn_cap)) ||
        (st = weft_config_f64(c, WEFT_KEY_FINAL_SOFTCAP, false, 0, 1e6, &final_cap)) ||
        (st = weft_config_bool(c, WEFT_KEY_PARALLEL, &h->parallel)) || (st = read_scales(c, h)))
        return st;
    h->norm_eps = (float)eps;
    if ((st = weft_config_f64(c, WEFT_KEY_CLIP_QKV, false, 0, 1e6, &clip)))
        return st;
    h->clip_qkv = (float)clip;
    h->alibi = c->arch->alibi;
    h->alibi_scale = 1;
    h->attn_softcap = (float)attn_cap;
    h->final_softcap = (float)final_cap;
    return read_activation(c, h);
}

/* A window, and which layers have it: see weft_hparams_layer. */
static weft_status read_window(const weft_config *c, weft_hparams *h) {
    weft_status st;
    char name[WEFT_CONFIG_NAME];
    weft_value v;
    bool use = true;
    h->first_window_layer = h->n_layer;
    if ((st = weft_config_bool(c, WEFT_KEY_USE_WINDOW, &use)))
        return st;
    if (!use)
        return WEFT_OK;
    if ((st = weft_config_i32(c, WEFT_KEY_WINDOW, false, 0, INT32_MAX, &h->window)))
        return st;
    h->window_pattern = c->arch->window_pattern;
    if (weft_config_name(c, WEFT_KEY_WINDOW_PATTERN, name) &&
        weft_metadata_find(c->metadata, name, &v) && v.type != WEFT_VALUE_ARRAY &&
        (st =
             weft_config_i32(c, WEFT_KEY_WINDOW_PATTERN, false, 1, MAX_LAYERS, &h->window_pattern)))
        return st;
    if (h->window && c->arch->window_everywhere)
        h->first_window_layer = 0;
    /* Qwen: absent means that no layer has a window, unless the list of layer types says so. */
    return weft_config_i32(c, WEFT_KEY_FIRST_WINDOW_LAYER, false, 0, INT32_MAX,
                           &h->first_window_layer);
}

/* A model whose tokens see what follows them where those of its architecture do not, or the other
 * way round. */
static weft_status refuse_other_ways(const weft_config *c) {
    char name[WEFT_CONFIG_NAME] = "is_causal";
    bool causal = !c->arch->bidirectional;
    if (c->spelling == WEFT_SPELL_GGUF)
        snprintf(name, sizeof name, "%s.attention.causal", c->arch->name);
    weft_status st = weft_metadata_bool(c->metadata, name, &causal);
    if (st && st != WEFT_E_NOT_FOUND)
        return st;
    return causal == !c->arch->bidirectional
               ? WEFT_OK
               : weft_config_fail(c, WEFT_E_UNSUPPORTED, name, "%s is not supported for %s",
                                  causal ? "attention to earlier tokens only"
                                         : "attention to later tokens",
                                  c->arch->name);
}

/* Options that would change the result and are not implemented. */
static weft_status refuse_options(const weft_config *c) {
    weft_status st;
    bool bidirectional = false;
    if ((st = weft_config_bool(c, WEFT_KEY_BIDIRECTIONAL, &bidirectional)))
        return st;
    if (bidirectional)
        return weft_config_fail(c, WEFT_E_UNSUPPORTED, "use_bidirectional_attention",
                                "is not supported");
    if ((st = refuse_other_ways(c)) || c->spelling == WEFT_SPELL_GGUF)
        return st;
    for (size_t i = 0; c->arch->refused && c->arch->refused[i]; i++) {
        bool on = false;
        st = weft_metadata_bool(c->metadata, c->arch->refused[i], &on);
        if (st && st != WEFT_E_NOT_FOUND)
            return weft_fail_in(st, "config.json");
        if (on)
            return weft_config_fail(c, WEFT_E_UNSUPPORTED, c->arch->refused[i],
                                    "is not supported for %s", c->arch->name);
    }
    return WEFT_OK;
}

weft_status weft_hparams_read(const weft_metadata *metadata, const weft_arch *arch, int spelling,
                              weft_hparams *out) {
    weft_config c = {metadata, arch, (weft_spelling)spelling};
    weft_status st;
    memset(out, 0, sizeof *out);
    out->tied = arch->tied_default;
    if ((st = refuse_options(&c)) || (st = weft_hparams_read_quantized(&c, &out->f8)) ||
        (st = read_counts(&c, out)) || (st = read_head(&c, out)) || (st = read_numbers(&c, out)) ||
        (st = read_window(&c, out)) || (st = weft_config_bool(&c, WEFT_KEY_TIED, &out->tied)) ||
        (st = weft_config_bool(&c, WEFT_KEY_ATTN_BIAS, &out->attn_bias)) ||
        (st = weft_config_bool(&c, WEFT_KEY_MLP_BIAS, &out->mlp_bias)) ||
        (st = weft_config_bool(&c, WEFT_KEY_HEAD_NORMS, &out->head_norms)) ||
        (st = weft_hparams_read_mixture(&c, out)) || (st = weft_hparams_read_pooling(&c, out)))
        return st;
    if (!arch->no_rope && (st = weft_hparams_read_rope(&c, out)))
        return st;
    return arch->read ? arch->read(&c, out) : WEFT_OK;
}
