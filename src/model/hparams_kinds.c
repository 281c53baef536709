/* Layers that differ in size by what they see (Gemma 4): heads of window layers and of the others,
 * last layers that see the keys and values of earlier ones, and inputs of each layer's own. */
#include <stdio.h>
#include <string.h>
#include "base/detail.h"
#include "model/config.h"

#define MAX_HEADS (1 << 16)
#define MAX_HEAD_DIM (1 << 14)
#define MAX_WIDTH (1 << 24)

/* Layers of one size each: global and local ones, or those with K and V of their own and those
 * without. */
typedef int32_t sizes[2];

#define OVERRIDES "per_layer_config." /* of config.json: "N.head_dim", "N.num_key_value_heads" */

/* Whether config.json has values of single layers; others than these two are refused. */
static weft_status find_overrides(const weft_config *c, bool *found) {
    *found = false;
    for (size_t i = 0; c->spelling == WEFT_SPELL_HF && i < weft_metadata_count(c->metadata); i++) {
        const char *key = weft_metadata_at(c->metadata, i, NULL);
        const char *member = strrchr(key, '.');
        if (strncmp(key, OVERRIDES, sizeof OVERRIDES - 1) != 0)
            continue;
        if (strcmp(member, ".head_dim") != 0 && strcmp(member, ".num_key_value_heads") != 0)
            return weft_config_fail(c, WEFT_E_UNSUPPORTED, key, "is not supported");
        *found = true;
    }
    return WEFT_OK;
}

/* Layer i's size: `value` stays where neither an array nor an override says another. */
static weft_status size_of_layer(const weft_config *c, weft_key key, const char *member, int32_t i,
                                 int64_t *value) {
    char name[WEFT_CONFIG_NAME];
    weft_value v;
    uint32_t number;
    if (c->spelling == WEFT_SPELL_GGUF) {
        if (!weft_config_name(c, key, name) || !weft_metadata_find(c->metadata, name, &v) ||
            v.type != WEFT_VALUE_ARRAY)
            return WEFT_OK;
        return weft_number_of_layer(c, key, i, value);
    }
    snprintf(name, sizeof name, OVERRIDES "%d.%s", i, member);
    weft_status st = weft_metadata_u32(c->metadata, name, &number);
    if (st == WEFT_E_NOT_FOUND)
        return WEFT_OK;
    *value = number;
    return st ? weft_fail_in(st, "config.json") : WEFT_OK;
}

/* The sizes of a key, by kind or by whether layers share; `by` as they are without a word about
 * single layers. Layers of one sort that differ are refused. */
static weft_status read_sizes(const weft_config *c, const weft_hparams *h, weft_key key,
                              const char *member, bool by_sharing, int32_t high, sizes by) {
    char name[WEFT_CONFIG_NAME];
    sizes out = {0, 0};
    weft_config_name(c, key, name);
    for (int32_t i = 0; i < h->n_layer; i++) {
        weft_layer_kind kind;
        weft_status st = weft_kind_of(c, h, i, &kind);
        bool second = by_sharing ? i >= h->n_layer - h->n_sharing : kind == WEFT_LAYER_LOCAL;
        int64_t value = by[second];
        if (st || (st = size_of_layer(c, key, member, i, &value)))
            return st;
        if (value < 1 || value > high)
            return weft_config_fail(c, WEFT_E_FORMAT, name,
                                    "%lld of layer %d is outside of [1, %d]", (long long)value, i,
                                    high);
        if (out[second] && out[second] != value)
            return weft_config_fail(c, WEFT_E_UNSUPPORTED, name,
                                    "%lld of layer %d, but %d of others of its kind",
                                    (long long)value, i, out[second]);
        out[second] = (int32_t)value;
    }
    for (int i = 0; i < 2; i++)
        by[i] = out[i] ? out[i] : out[!i]; /* there are none of that sort */
    return WEFT_OK;
}

/* ---- Heads ---- */

static weft_status check_heads(const weft_config *c, const weft_hparams *h, int32_t n_head_kv) {
    char name[WEFT_CONFIG_NAME];
    if (h->n_head % n_head_kv == 0)
        return WEFT_OK;
    weft_config_name(c, WEFT_KEY_N_HEAD_KV, name);
    return weft_config_fail(c, WEFT_E_FORMAT, name, "%d does not divide the %d heads", n_head_kv,
                            h->n_head);
}

static weft_status check_values(const weft_config *c, int32_t head_dim) {
    char name[WEFT_CONFIG_NAME];
    int32_t value_dim = head_dim;
    weft_status st =
        weft_config_i32(c, WEFT_KEY_HEAD_DIM_V_LOCAL, false, 1, MAX_HEAD_DIM, &value_dim);
    if (st || value_dim == head_dim)
        return st;
    weft_config_name(c, WEFT_KEY_HEAD_DIM_V_LOCAL, name);
    return weft_config_fail(c, WEFT_E_UNSUPPORTED, name,
                            "values of %d elements with keys of %d are not supported", value_dim,
                            head_dim);
}

static weft_status read_heads(const weft_config *c, weft_hparams *h) {
    bool overrides;
    weft_status st = find_overrides(c, &overrides);
    sizes dims = {h->head_dim, h->head_dim}, heads = {h->n_head_kv, h->n_head_kv};
    if (st || (st = weft_config_bool(c, WEFT_KEY_V_IS_K, &h->v_is_k)) ||
        (st = weft_config_i32(c, WEFT_KEY_HEAD_DIM_LOCAL, false, 1, MAX_HEAD_DIM, &dims[1])) ||
        (h->v_is_k &&
         (st = weft_config_i32(c, WEFT_KEY_N_HEAD_KV_GLOBAL, false, 1, MAX_HEADS, &heads[0]))))
        return st;
    if (overrides) { /* then they alone say in what layers differ */
        dims[0] = dims[1];
        heads[0] = heads[1];
    }
    if ((st = read_sizes(c, h, WEFT_KEY_HEAD_DIM, "head_dim", false, MAX_HEAD_DIM, dims)) ||
        (st = read_sizes(c, h, WEFT_KEY_N_HEAD_KV, "num_key_value_heads", false, MAX_HEADS,
                         heads)) ||
        (st = check_heads(c, h, heads[0])) || (st = check_heads(c, h, heads[1])) ||
        (st = check_values(c, dims[1])))
        return st;
    h->head_dim = dims[0];
    h->head_dim_local = dims[1];
    h->n_head_kv = heads[0];
    h->n_head_kv_local = heads[1];
    return WEFT_OK;
}

/* ---- Ropes: each turns heads of its layers' size ---- */

static weft_status read_widths(const weft_config *c, weft_hparams *h) {
    weft_status st;
    char name[WEFT_CONFIG_NAME];
    int32_t n_rot = h->head_dim_local;
    if ((st = weft_config_i32(c, WEFT_KEY_N_ROT_LOCAL, false, 1, h->head_dim_local, &n_rot)))
        return st;
    if (c->spelling == WEFT_SPELL_HF) {
        h->rope.n_rot = h->head_dim;
        if (h->rope.scaling == WEFT_ROPE_PLAIN) { /* GGUF files have divisors all the same */
            h->rope.scaling = WEFT_ROPE_SHARE;
            h->rope.share = 1;
        }
    }
    h->rope_local.n_rot = n_rot;
    if (n_rot % 2 == 0 && h->rope.n_rot % 2 == 0)
        return WEFT_OK;
    if (n_rot % 2 == 0 || !weft_config_name(c, WEFT_KEY_N_ROT_LOCAL, name))
        weft_config_name(c, n_rot % 2 ? WEFT_KEY_HEAD_DIM_LOCAL : WEFT_KEY_HEAD_DIM, name);
    return weft_config_fail(c, WEFT_E_FORMAT, name,
                            "rope turns pairs, but the elements of a head are not even");
}

/* ---- Layers that share ---- */

/* The last layers with keys and values of their own, of both kinds; those that share need them. */
static weft_status find_sources(const weft_config *c, weft_hparams *h) {
    char name[WEFT_CONFIG_NAME];
    int32_t first = h->n_layer - h->n_sharing, *sources[2] = {&h->kv_global, &h->kv_local};
    h->kv_global = h->kv_local = -1;
    for (int32_t i = 0; i < h->n_layer; i++) {
        weft_layer_kind kind;
        weft_status st = weft_kind_of(c, h, i, &kind);
        int32_t *source = sources[kind == WEFT_LAYER_LOCAL];
        if (st)
            return st;
        if (i < first)
            *source = i;
        if (*source >= 0)
            continue;
        weft_config_name(c, WEFT_KEY_N_SHARING, name);
        return weft_config_fail(c, WEFT_E_FORMAT, name,
                                "layer %d shares, but no layer of its kind has keys to share", i);
    }
    return WEFT_OK;
}

static weft_status read_sharing(const weft_config *c, weft_hparams *h) {
    weft_status st;
    bool wide = false;
    if ((st = weft_config_i32(c, WEFT_KEY_N_SHARING, false, 0, h->n_layer - 1, &h->n_sharing)) ||
        (st = find_sources(c, h)) || (st = weft_config_bool(c, WEFT_KEY_WIDE_SHARING, &wide)))
        return st;
    if (wide && h->n_ff > MAX_WIDTH / 2)
        return weft_fail(WEFT_E_FORMAT, "a feed-forward width of twice %d is too large", h->n_ff);
    sizes widths = {h->n_ff, wide ? 2 * h->n_ff : h->n_ff};
    if ((st = read_sizes(c, h, WEFT_KEY_N_FF, "intermediate_size", true, MAX_WIDTH, widths)))
        return st;
    h->n_ff = widths[0];
    h->n_ff_sharing = widths[1];
    return WEFT_OK;
}

/* ---- All ---- */

static weft_status refuse_later_tokens(const weft_config *c) {
    const char *text = NULL;
    weft_status st = weft_metadata_string(c->metadata, "use_bidirectional_attention", &text);
    if (c->spelling != WEFT_SPELL_HF || st == WEFT_E_NOT_FOUND)
        return WEFT_OK;
    if (!st && strcmp(text, "vision") != 0)
        return weft_config_fail(c, WEFT_E_UNSUPPORTED, "use_bidirectional_attention",
                                "\"%.64s\" is not supported", text);
    return st ? weft_fail_in(st, "config.json") : WEFT_OK;
}

/* What transformers has defaults for that published models state. */
static weft_status check_stated(const weft_config *c) {
    static const char *const members[] = {"layer_types", "rope_parameters.full_attention.rope_type",
                                          "rope_parameters.sliding_attention.rope_type"};
    for (size_t i = 0; c->spelling == WEFT_SPELL_HF && i < sizeof members / sizeof *members; i++) {
        weft_value v;
        if (!weft_metadata_find(c->metadata, members[i], &v))
            return weft_config_fail(c, WEFT_E_FORMAT, members[i], "is missing");
    }
    return WEFT_OK;
}

weft_status weft_read_kinds(const weft_config *c, weft_hparams *h) {
    weft_status st;
    bool mixture = true;
    if ((st = check_stated(c)) || (st = refuse_later_tokens(c)) || (st = read_heads(c, h)) ||
        (st = read_widths(c, h)) || (st = read_sharing(c, h)) ||
        (st = weft_config_i32(c, WEFT_KEY_N_EMBD_LAYER, false, 0, MAX_WIDTH, &h->n_embd_layer)))
        return st;
    st = weft_metadata_bool(c->metadata, "enable_moe_block", &mixture);
    if (st && st != WEFT_E_NOT_FOUND)
        return weft_fail_in(st, "config.json");
    if (!mixture)
        h->n_expert = 0;
    return WEFT_OK;
}
