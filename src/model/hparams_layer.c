/* What each layer is, by the file's lists and patterns or the description's: attention to
 * everything, to a window or a recurrent state, with rope or without, dense or a mixture. */
#include <stdio.h>
#include <string.h>
#include "base/detail.h"
#include "model/config.h"
#include "model/pass.h"

weft_status weft_read_extra_layers(const weft_config *c, weft_hparams *h) {
    char name[WEFT_CONFIG_NAME];
    weft_status st = weft_config_i32(c, WEFT_KEY_N_EXTRA, false, 0, 1 << 10, &h->n_extra);
    if (st || c->spelling != WEFT_SPELL_GGUF)
        return st;
    if (h->n_extra >= h->n_layer) {
        weft_config_name(c, WEFT_KEY_N_EXTRA, name);
        return weft_config_fail(c, WEFT_E_FORMAT, name, "%d of %d layers predict further tokens",
                                h->n_extra, h->n_layer);
    }
    h->n_layer -= h->n_extra;
    return WEFT_OK;
}

/* The names of config.json's layer_types. */
static const struct {
    const char *name;
    weft_layer_kind kind;
} types[] = {
    {"full_attention", WEFT_LAYER_GLOBAL},   {"attention", WEFT_LAYER_GLOBAL},
    {"sliding_attention", WEFT_LAYER_LOCAL}, {"linear_attention", WEFT_LAYER_RECURRENT},
    {"conv", WEFT_LAYER_RECURRENT},          {"mamba", WEFT_LAYER_RECURRENT},
};

static weft_status kind_of_type(const weft_config *c, const char *name, size_t index, int32_t i,
                                weft_layer_kind *kind) {
    weft_value v;
    if (!weft_metadata_item(c->metadata, index, (size_t)i, &v) || v.type != WEFT_VALUE_STRING)
        return weft_config_fail(c, WEFT_E_FORMAT, name, "has no name for layer %d", i);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        if (v.as.s.n_bytes != strlen(types[t].name) ||
            memcmp(v.as.s.text, types[t].name, v.as.s.n_bytes) != 0 ||
            (types[t].kind == WEFT_LAYER_RECURRENT && !c->arch->recurrent))
            continue;
        *kind = types[t].kind;
        return WEFT_OK;
    }
    return weft_config_fail(c, WEFT_E_UNSUPPORTED, name,
                            "the type \"%.*s\" of layer %d is not known",
                            v.as.s.n_bytes > 64 ? 64 : (int)v.as.s.n_bytes, v.as.s.text, i);
}

weft_status weft_kind_of(const weft_config *c, const weft_hparams *h, int32_t i,
                         weft_layer_kind *kind) {
    char name[WEFT_CONFIG_NAME];
    size_t index;
    weft_value v;
    *kind = WEFT_LAYER_GLOBAL;
    if (weft_config_name(c, WEFT_KEY_LAYER_TYPES, name) &&
        weft_metadata_index(c->metadata, name, &index))
        return kind_of_type(c, name, index, i, kind);
    if (weft_config_name(c, WEFT_KEY_WINDOW_PATTERN, name) &&
        weft_metadata_find(c->metadata, name, &v) && v.type == WEFT_VALUE_ARRAY) {
        if (!weft_metadata_index(c->metadata, name, &index) ||
            !weft_metadata_item(c->metadata, index, (size_t)i, &v) || v.type != WEFT_VALUE_BOOL)
            return weft_config_fail(c, WEFT_E_FORMAT, name, "has no bool for layer %d", i);
        if (v.as.u)
            *kind = WEFT_LAYER_LOCAL;
    } else if (c->arch->kind_of) {
        return c->arch->kind_of(c, h, i, kind);
    } else if (h->window_pattern ? (i + 1) % h->window_pattern != 0 : i >= h->first_window_layer) {
        *kind = WEFT_LAYER_LOCAL;
    }
    return WEFT_OK;
}

weft_status weft_number_of_layer(const weft_config *c, weft_key key, int32_t i, int64_t *value) {
    char name[WEFT_CONFIG_NAME];
    size_t index;
    if (!weft_config_name(c, key, name) || !weft_metadata_index(c->metadata, name, &index))
        return WEFT_OK;
    if (!weft_config_item(c->metadata, index, (size_t)i, value))
        return weft_config_fail(c, WEFT_E_FORMAT, name, "has no number for layer %d", i);
    return WEFT_OK;
}

static bool listed(const weft_config *c, weft_key key, int32_t i) {
    char name[WEFT_CONFIG_NAME];
    size_t index;
    int64_t value;
    if (!weft_config_name(c, key, name) || !weft_metadata_index(c->metadata, name, &index))
        return false;
    for (size_t j = 0; weft_config_item(c->metadata, index, j, &value); j++)
        if (value == i)
            return true;
    return false;
}

/* By "dense" and "sparse" of config.json, where it has them; a list that names anything else, or
 * too few, is refused. */
static weft_status read_network_type(const weft_config *c, int32_t i, bool *sparse) {
    char name[WEFT_CONFIG_NAME];
    size_t index;
    weft_value v;
    if (!weft_config_name(c, WEFT_KEY_NETWORK_TYPES, name) ||
        !weft_metadata_index(c->metadata, name, &index) ||
        !weft_metadata_find(c->metadata, name, &v) || v.type != WEFT_VALUE_ARRAY)
        return WEFT_OK;
    if (!weft_metadata_item(c->metadata, index, (size_t)i, &v) || v.type != WEFT_VALUE_STRING)
        return weft_config_fail(c, WEFT_E_FORMAT, name, "has no name for layer %d", i);
    *sparse = v.as.s.n_bytes == 6 && !memcmp(v.as.s.text, "sparse", 6);
    if (*sparse || (v.as.s.n_bytes == 5 && !memcmp(v.as.s.text, "dense", 5)))
        return WEFT_OK;
    return weft_config_fail(c, WEFT_E_UNSUPPORTED, name,
                            "the type \"%.*s\" of layer %d is not known",
                            v.as.s.n_bytes > 64 ? 64 : (int)v.as.s.n_bytes, v.as.s.text, i);
}

/* Sizes by the layer's kind and by whether it has keys and values of its own. */
static void take_sizes(const weft_hparams *h, int32_t i, weft_layer *out) {
    bool local = out->kind == WEFT_LAYER_LOCAL, shares = i >= h->n_layer - h->n_sharing;
    out->head_dim = local && h->head_dim_local ? h->head_dim_local : h->head_dim;
    out->n_head_kv = local && h->n_head_kv_local ? h->n_head_kv_local : h->n_head_kv;
    out->n_ff = shares && h->n_ff_sharing ? h->n_ff_sharing : h->n_ff;
    out->v_is_k = h->v_is_k && !local;
    out->kv_layer = i;
    if (shares) {
        out->n_head_kv = 0;
        out->kv_layer = local ? h->kv_local : h->kv_global;
    }
}

weft_status weft_hparams_layer(const weft_metadata *metadata, const weft_arch *arch, int spelling,
                               const weft_hparams *h, int32_t i, weft_layer *out) {
    weft_config c = {metadata, arch, (weft_spelling)spelling};
    char name[WEFT_CONFIG_NAME];
    weft_status st = weft_kind_of(&c, h, i, &out->kind);
    if (st)
        return st;
    if (out->kind == WEFT_LAYER_LOCAL && !h->window) {
        weft_config_name(&c, WEFT_KEY_WINDOW, name);
        return weft_config_fail(&c, WEFT_E_FORMAT, name, "is missing, but layer %d has a window",
                                i);
    }
    out->mixer = arch->mixer ? arch->mixer : &weft_mixer_attention;
    if (out->kind == WEFT_LAYER_RECURRENT)
        out->mixer = arch->recurrent;
    int64_t rope = h->rope_interval == 0 || (i + 1) % h->rope_interval != 0;
    if ((st = weft_number_of_layer(&c, WEFT_KEY_ROPE_LAYERS, i, &rope)))
        return st;
    bool may_turn = out->kind == WEFT_LAYER_LOCAL || !arch->rope_local_only || h->rope_everywhere;
    out->has_rope = rope != 0 && h->rope.n_rot > 0 && may_turn;
    take_sizes(h, i, out);
    out->is_mixture = h->n_expert > 0 && i >= h->n_dense_lead && (i + 1) % h->mixture_step == 0 &&
                      !listed(&c, WEFT_KEY_DENSE_LAYERS, i);
    if (h->n_expert > 0 && (st = read_network_type(&c, i, &out->is_mixture)))
        return st;
    if (!out->is_mixture && h->n_ff == 0 && !arch->recurrent_only) {
        weft_config_name(&c, WEFT_KEY_N_FF, name);
        return weft_config_fail(&c, WEFT_E_FORMAT, name, "is missing, but layer %d is dense", i);
    }
    return WEFT_OK;
}
