/* The rope's part of the hyper-parameters: base, width, and the scaling rules with their many
 * spellings ("llama.rope.scaling.…", "rope_parameters.…", the older "rope_scaling.…"). */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/detail.h"
#include "model/config.h"
#include "model/exact.h"

typedef struct reader {
    const weft_config *config;
    const char *prefix; /* of the scaling's members */
    weft_status status; /* first error; later reads do nothing */
} reader;

static bool number(reader *r, const char *member, double low, double high, double *out) {
    char name[WEFT_CONFIG_NAME];
    bool present = false;
    if (r->status)
        return false;
    snprintf(name, sizeof name, "%s%s", r->prefix, member);
    r->status = weft_config_number(r->config, name, low, high, &present, out);
    return present && !r->status;
}

/* A member that the rule cannot do without. */
static void need(reader *r, const char *member, double low, double high, double *out) {
    char name[WEFT_CONFIG_NAME];
    if (number(r, member, low, high, out) || r->status)
        return;
    snprintf(name, sizeof name, "%s%s", r->prefix, member);
    r->status = weft_config_fail(r->config, WEFT_E_FORMAT, name, "is missing");
}

static bool text(reader *r, const char *member, const char **out) {
    char name[WEFT_CONFIG_NAME];
    if (r->status)
        return false;
    snprintf(name, sizeof name, "%s%s", r->prefix, member);
    weft_status st = weft_metadata_string(r->config->metadata, name, out);
    if (st && st != WEFT_E_NOT_FOUND)
        r->status = st;
    return !st;
}

static double yarn_magnitude(double factor, double scale) {
    return factor <= 1 ? 1 : 0.1 * scale * weft_exact_log(factor) + 1;
}

/* Members of YaRN in config.json. The factor may be given by the two lengths alone. */
static void yarn_hf(reader *r, const weft_hparams *h, weft_rope_rule *rope) {
    char name[WEFT_CONFIG_NAME];
    double m = 0, m_all = 0;
    rope->n_original = h->n_context;
    bool has_original = number(r, "original_max_position_embeddings", 1, 1e12, &rope->n_original);
    if (!number(r, "factor", 1e-3, 1e6, &rope->factor)) {
        if (!has_original)
            need(r, "factor", 1e-3, 1e6, &rope->factor);
        else
            rope->factor = h->n_context / rope->n_original;
    }
    number(r, "beta_fast", 1e-3, 1e6, &rope->beta_fast);
    number(r, "beta_slow", 1e-3, 1e6, &rope->beta_slow);
    number(r, "mscale", 0, 1e3, &m);
    number(r, "mscale_all_dim", 0, 1e3, &m_all);
    rope->magnitude = m > 0 && m_all > 0
                          ? yarn_magnitude(rope->factor, m) / yarn_magnitude(rope->factor, m_all)
                          : yarn_magnitude(rope->factor, 1);
    number(r, "attention_factor", 1e-6, 1e6, &rope->magnitude);
    snprintf(name, sizeof name, "%struncate", r->prefix);
    weft_status st = weft_metadata_bool(r->config->metadata, name, &rope->truncate);
    if (st && st != WEFT_E_NOT_FOUND && !r->status)
        r->status = st;
}

static void yarn_gguf(reader *r, const weft_hparams *h, weft_rope_rule *rope) {
    double attn_factor = 1, extrapolation = 1;
    rope->n_original = h->n_context;
    need(r, "scaling.factor", 1e-3, 1e6, &rope->factor);
    number(r, "scaling.original_context_length", 1, 1e12, &rope->n_original);
    number(r, "scaling.yarn_beta_fast", 1e-3, 1e6, &rope->beta_fast);
    number(r, "scaling.yarn_beta_slow", 1e-3, 1e6, &rope->beta_slow);
    if (!number(r, "scaling.attn_factor", 1e-6, 1e6, &attn_factor))
        number(r, "scaling.yarn_attn_factor", 1e-6, 1e6, &attn_factor);
    number(r, "scaling.yarn_ext_factor", -1, 1e6, &extrapolation);
    if (!r->status && extrapolation != 1)
        r->status = weft_fail(WEFT_E_UNSUPPORTED, "%sscaling.yarn_ext_factor: %g is not supported",
                              r->prefix, extrapolation);
    rope->magnitude = attn_factor * yarn_magnitude(rope->factor, 1);
}

/* Cosines and sines grow with the share by which the context was stretched (Ding et al. 2024). */
static double long_magnitude(double factor, double n_original) {
    return factor <= 1 ? 1 : sqrt(1 + weft_exact_log(factor) / weft_exact_log(n_original));
}

/* Phi writes the original length beside the scaling's members. */
static void longrope_hf(reader *r, const weft_hparams *h, weft_rope_rule *rope) {
    bool present = false;
    rope->n_original = h->n_context;
    if (!number(r, "original_max_position_embeddings", 1, 1e12, &rope->n_original) && !r->status)
        r->status = weft_config_number(r->config, "original_max_position_embeddings", 1, 1e12,
                                       &present, &rope->n_original);
    double factor = h->n_context / rope->n_original;
    number(r, "factor", 1e-3, 1e6, &factor);
    rope->magnitude = long_magnitude(factor, rope->n_original);
    number(r, "attention_factor", 1e-6, 1e6, &rope->magnitude);
    for (int i = 0; i < 2 && !r->status; i++) {
        double scale = 1;
        const char *name = i ? "long_mscale" : "short_mscale";
        if (number(r, name, 0, 1e6, &scale) && scale != 1)
            r->status = weft_config_fail(r->config, WEFT_E_UNSUPPORTED, name, "is not supported");
    }
}

/* Files without a type: those of the architectures that have it, where the context was stretched.
 */
static bool is_longrope(reader *r, const weft_hparams *h) {
    double n_original = h->n_context;
    return r->config->arch->longrope_unnamed &&
           number(r, "scaling.original_context_length", 1, 1e12, &n_original) &&
           n_original < h->n_context;
}

static void longrope_gguf(reader *r, const weft_hparams *h, weft_rope_rule *rope) {
    rope->scaling = WEFT_ROPE_LONG;
    rope->n_original = h->n_context;
    number(r, "scaling.original_context_length", 1, 1e12, &rope->n_original);
    rope->magnitude = long_magnitude(h->n_context / rope->n_original, rope->n_original);
    number(r, "scaling.attn_factor", 1e-6, 1e6, &rope->magnitude);
}

static void scaling_gguf(reader *r, const weft_hparams *h, weft_rope_rule *rope) {
    const char *type = NULL;
    double factor = 1;
    bool has_type = text(r, "scaling.type", &type);
    if (!has_type && number(r, "scale_linear", 1e-3, 1e6, &factor)) {
        rope->scaling = WEFT_ROPE_LINEAR; /* the spelling of early files */
        rope->factor = factor;
    } else if (has_type ? !strcmp(type, "longrope") : is_longrope(r, h)) {
        longrope_gguf(r, h, rope);
    } else if (!has_type || !strcmp(type, "none")) {
        /* A factor without a type is linear. */
        if (!has_type && number(r, "scaling.factor", 1e-3, 1e6, &factor) && factor != 1) {
            rope->scaling = WEFT_ROPE_LINEAR;
            rope->factor = factor;
        }
    } else if (!strcmp(type, "linear")) {
        rope->scaling = WEFT_ROPE_LINEAR;
        need(r, "scaling.factor", 1e-3, 1e6, &rope->factor);
    } else if (!strcmp(type, "yarn")) {
        rope->scaling = WEFT_ROPE_YARN;
        yarn_gguf(r, h, rope);
    } else if (!r->status) {
        r->status = weft_fail(WEFT_E_UNSUPPORTED,
                              "%sscaling.type: the rope scaling \"%.64s\" is not supported",
                              r->prefix, type);
    }
}

/* "dynamic" with an alpha: a base that is the same for texts of every length. False without one:
 * frequencies would depend on the length. */
static bool stretch_base(reader *r, weft_rope_rule *rope) {
    double alpha = 1;
    if (!number(r, "alpha", 1, 1e9, &alpha))
        return false;
    if (rope->n_rot > 2)
        rope->base *= weft_exact_exp(weft_exact_log(alpha) * rope->n_rot / (rope->n_rot - 2));
    return true;
}

static void scaling_hf(reader *r, const weft_hparams *h, weft_rope_rule *rope) {
    const char *type = "default";
    if (!text(r, "rope_type", &type))
        text(r, "type", &type);
    if (r->status || !strcmp(type, "default"))
        return;
    if (!strcmp(type, "linear")) {
        rope->scaling = WEFT_ROPE_LINEAR;
        need(r, "factor", 1e-3, 1e6, &rope->factor);
    } else if (!strcmp(type, "llama3")) {
        rope->scaling = WEFT_ROPE_LLAMA3;
        need(r, "factor", 1e-3, 1e6, &rope->factor);
        need(r, "original_max_position_embeddings", 1, 1e12, &rope->n_original);
        need(r, "low_freq_factor", 1e-6, 1e6, &rope->low);
        need(r, "high_freq_factor", 1e-6, 1e6, &rope->high);
        if (!r->status && rope->high <= rope->low)
            r->status = weft_fail(WEFT_E_FORMAT,
                                  "config.json: %shigh_freq_factor: %g is not above "
                                  "low_freq_factor %g",
                                  r->prefix, rope->high, rope->low);
    } else if (!strcmp(type, "yarn")) {
        rope->scaling = WEFT_ROPE_YARN;
        yarn_hf(r, h, rope);
    } else if (!strcmp(type, "proportional")) {
        rope->scaling = WEFT_ROPE_SHARE;
        rope->share = 1;
        number(r, "factor", 1e-3, 1e6, &rope->factor);
        number(r, "partial_rotary_factor", 0, 1, &rope->share);
    } else if (!strcmp(type, "longrope") || !strcmp(type, "su")) {
        rope->scaling = WEFT_ROPE_LONG;
        longrope_hf(r, h, rope);
    } else if ((strcmp(type, "dynamic") != 0 || !stretch_base(r, rope)) && !r->status) {
        r->status = weft_fail(WEFT_E_UNSUPPORTED,
                              "config.json: %srope_type: the rope type \"%.64s\" is not supported",
                              r->prefix, type);
    }
}

static weft_status read_scaling(const weft_config *c, const weft_hparams *h, const char *prefix,
                                weft_rope_rule *rope) {
    reader r = {c, prefix, WEFT_OK};
    if (c->spelling == WEFT_SPELL_GGUF)
        scaling_gguf(&r, h, rope);
    else
        scaling_hf(&r, h, rope);
    return r.status;
}

/* Null or an object: a value of another kind says something that is not understood. */
static weft_status check_objects(const weft_config *c) {
    static const char *const objects[] = {"rope_scaling", "rope_parameters",
                                          "rope_parameters.full_attention",
                                          "rope_parameters.sliding_attention"};
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        if (weft_metadata_find(c->metadata, objects[i], NULL))
            return weft_config_fail(c, WEFT_E_FORMAT, objects[i], "an object is expected");
    return WEFT_OK;
}

/* Where the scaling's members stand in this config.json: beside the base in the newer spelling. */
static const char *scaling_prefix(const weft_config *c, const weft_arch *arch) {
    weft_value v;
    if (weft_metadata_find(c->metadata, "rope_parameters.full_attention.rope_type", &v) ||
        weft_metadata_find(c->metadata, "rope_parameters.full_attention.rope_theta", &v))
        return arch->local_rope ? "rope_parameters.full_attention." : "rope_parameters.";
    if (weft_metadata_find(c->metadata, "rope_parameters.rope_type", &v) ||
        weft_metadata_find(c->metadata, "rope_parameters.rope_theta", &v))
        return "rope_parameters.";
    return "rope_scaling.";
}

weft_status weft_hparams_rope_divisors(const weft_config *c, bool longer, size_t half, float *out) {
    char name[WEFT_CONFIG_NAME];
    weft_value_type type;
    const void *data;
    size_t n;
    snprintf(name, sizeof name, "%s%s", scaling_prefix(c, c->arch),
             longer ? "long_factor" : "short_factor");
    weft_status st = weft_metadata_array(c->metadata, name, &type, &data, &n);
    if (st == WEFT_E_NOT_FOUND)
        return weft_config_fail(c, WEFT_E_FORMAT, name, "is missing");
    if (st)
        return weft_fail_in(st, "config.json");
    if (n != half)
        return weft_config_fail(c, WEFT_E_FORMAT, name, "has %zu numbers, not %zu", n, half);
    size_t index;
    weft_metadata_index(c->metadata, name, &index);
    for (size_t i = 0; i < half; i++) {
        weft_value v;
        int64_t whole;
        bool real = weft_metadata_item(c->metadata, index, i, &v) &&
                    (v.type == WEFT_VALUE_F64 || v.type == WEFT_VALUE_F32);
        if (!real && !weft_config_item(c->metadata, index, i, &whole))
            return weft_config_fail(c, WEFT_E_FORMAT, name, "element %zu is no number", i);
        out[i] = real ? (float)v.as.f : (float)whole;
    }
    return WEFT_OK;
}

static weft_status read_width(const weft_config *c, const weft_hparams *h, int32_t *n_rot) {
    weft_status st;
    char name[WEFT_CONFIG_NAME];
    double share = c->arch->rot_factor > 0 ? c->arch->rot_factor : 1;
    *n_rot = h->head_dim;
    weft_key key = WEFT_KEY_N_ROT;
    if (c->spelling == WEFT_SPELL_HF) {
        key = WEFT_KEY_ROT_FACTOR;
        if ((st = weft_config_f64(c, key, false, 1e-6, 1, &share)))
            return st;
        *n_rot = (int32_t)(h->head_dim * share);
        if ((st = weft_config_i32(c, WEFT_KEY_N_ROT, false, 1, h->head_dim, n_rot)))
            return st;
    } else if ((st = weft_config_i32(c, key, false, 1, h->head_dim, n_rot))) {
        return st;
    }
    if (*n_rot > 0 && *n_rot % 2 == 0)
        return WEFT_OK;
    if (!weft_config_name(c, key, name))
        weft_config_name(c, WEFT_KEY_HEAD_DIM, name);
    return weft_config_fail(c, WEFT_E_FORMAT, name,
                            "rope turns pairs, but %d elements of a head are not even", *n_rot);
}

weft_status weft_hparams_read_rope(const weft_config *c, weft_hparams *h) {
    weft_rope_rule *global = &h->rope, *local = &h->rope_local;
    *global = (weft_rope_rule){.base = c->arch->rope_base_default[c->spelling],
                               .factor = 1,
                               .beta_fast = 32,
                               .beta_slow = 1,
                               .truncate = true,
                               .magnitude = 1};
    char prefix[96];
    weft_status st = c->spelling == WEFT_SPELL_HF ? check_objects(c) : WEFT_OK;
    if (st || (st = read_width(c, h, &global->n_rot)) ||
        (st = weft_config_f64(c, WEFT_KEY_ROPE_BASE, false, 1, 1e15, &global->base)))
        return st;
    if (c->spelling == WEFT_SPELL_GGUF)
        snprintf(prefix, sizeof prefix, "%s.rope.", c->arch->name);
    else
        snprintf(prefix, sizeof prefix, "%s", scaling_prefix(c, c->arch));
    *local = *global;
    double growth = 0;
    if ((st = read_scaling(c, h, prefix, global)) ||
        (st = weft_config_f64(c, WEFT_KEY_Q_GROWTH, false, 0, 1e3, &growth)))
        return st;
    h->q_growth = (float)growth;
    h->q_growth_step = global->n_original;
    if (growth > 0 && global->n_original < 1)
        return weft_fail(WEFT_E_FORMAT, "queries grow, but the original context is not stated");
    h->rope_interval = c->arch->rope_interval;
    if ((st = weft_config_i32(c, WEFT_KEY_ROPE_INTERVAL, false, 0, INT32_MAX, &h->rope_interval)))
        return st;
    if (c->arch->rope_base_local == 0) {
        if (c->arch->rope_local_plain)
            return weft_config_f64(c, WEFT_KEY_ROPE_BASE_LOCAL, false, 1, 1e15, &local->base);
        *local = *global;
        return WEFT_OK;
    }
    local->base = c->arch->rope_base_local;
    if ((st = weft_config_f64(c, WEFT_KEY_ROPE_BASE_LOCAL, false, 1, 1e15, &local->base)))
        return st;
    return c->spelling == WEFT_SPELL_HF ? read_scaling(c, h, c->arch->local_rope, local) : WEFT_OK;
}
