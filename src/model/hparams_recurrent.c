/* The hyper-parameters of recurrent layers and of latent attention: what descriptions name as their
 * `read`. All products that later arithmetic forms are bounded here. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/detail.h"
#include "model/config.h"
#include "model/exact.h"

#define MOST_TAPS 16
#define MOST_HEADS (1 << 16)
#define MOST_WIDTH (1 << 24)

static weft_status misfit(const weft_config *c, weft_key key, const char *text) {
    char name[WEFT_CONFIG_NAME];
    weft_config_name(c, key, name);
    return weft_config_fail(c, WEFT_E_FORMAT, name, "%s", text);
}

/* Taps, heads, groups and the state's width; those that are 0 in *r are required. */
static weft_status read_shape(const weft_config *c, weft_recurrence *r) {
    weft_status st;
    if ((st = weft_config_i32(c, WEFT_KEY_REC_TAPS, true, 1, MOST_TAPS, &r->n_taps)) ||
        (st = weft_config_i32(c, WEFT_KEY_REC_HEADS, !r->n_head, 1, MOST_HEADS, &r->n_head)) ||
        (st = weft_config_i32(c, WEFT_KEY_REC_GROUPS, !r->n_group, 1, MOST_HEADS, &r->n_group)) ||
        (st = weft_config_i32(c, WEFT_KEY_REC_STATE, true, 1, MOST_HEADS, &r->n_state)))
        return st;
    if (r->n_head % r->n_group)
        return misfit(c, WEFT_KEY_REC_GROUPS, "does not divide the heads");
    r->dt_low = 0;
    r->dt_high = INFINITY;
    return WEFT_OK;
}

/* The output's channels, of all heads: said as such, or by a head's or the network's width. */
static weft_status read_inner(const weft_config *c, const weft_hparams *h, weft_recurrence *r) {
    char name[WEFT_CONFIG_NAME];
    weft_status st;
    double expand = 2;
    if (weft_config_name(c, WEFT_KEY_REC_INNER, name)) {
        st = weft_config_i32(c, WEFT_KEY_REC_INNER, true, 1, MOST_WIDTH, &r->n_inner);
        r->head_dim = r->n_inner / r->n_head;
        return st ? st
               : r->n_inner % r->n_head
                   ? misfit(c, WEFT_KEY_REC_INNER, "is no multiple of the heads")
                   : WEFT_OK;
    }
    if (weft_config_name(c, WEFT_KEY_REC_HEAD_DIM, name)) {
        st = weft_config_i32(c, WEFT_KEY_REC_HEAD_DIM, true, 1, MOST_WIDTH / r->n_head,
                             &r->head_dim);
        r->n_inner = r->n_head * r->head_dim;
        return st;
    }
    if ((st = weft_config_f64(c, WEFT_KEY_REC_EXPAND, false, 0.01, 64, &expand)))
        return st;
    r->n_inner = (int32_t)(expand * h->n_embd);
    r->head_dim = r->n_inner / r->n_head;
    if (r->n_inner < 1 || r->n_inner > MOST_WIDTH || r->n_inner % r->n_head)
        return misfit(c, WEFT_KEY_REC_HEADS, "does not divide the inner width");
    return WEFT_OK;
}

/* Channels of a convolution over keys twice and all heads. */
static weft_status read_conv(const weft_config *c, weft_recurrence *r) {
    int64_t n_conv = r->n_inner + 2 * (int64_t)r->n_group * r->n_state;
    if (n_conv > MOST_WIDTH)
        return misfit(c, WEFT_KEY_REC_STATE, "is too large");
    r->n_conv = (int32_t)n_conv;
    return WEFT_OK;
}

weft_status weft_read_delta_net(const weft_config *c, weft_hparams *h) {
    weft_status st;
    h->rec.tiled = c->arch->heads_tiled[c->spelling];
    if ((st = read_shape(c, &h->rec)) || (st = read_inner(c, h, &h->rec)) ||
        (st = weft_read_extra_layers(c, h)))
        return st;
    return read_conv(c, &h->rec);
}

/* Bounds of a step: an array of two in config.json, whose upper one may be infinite. */
static weft_status read_limits(const weft_config *c, weft_recurrence *r) {
    size_t index;
    weft_value v;
    const char *name = "time_step_limit";
    if (c->spelling != WEFT_SPELL_HF || !weft_metadata_index(c->metadata, name, &index))
        return WEFT_OK;
    float *bounds[] = {&r->dt_low, &r->dt_high};
    for (size_t i = 0; i < 2; i++) {
        if (!weft_metadata_item(c->metadata, index, i, &v))
            continue; /* an object, as infinity is written */
        if (v.type == WEFT_VALUE_F64)
            *bounds[i] = (float)v.as.f;
        else if (v.type == WEFT_VALUE_I64)
            *bounds[i] = (float)v.as.i;
    }
    if (!(r->dt_low >= 0 && r->dt_low <= r->dt_high))
        return weft_config_fail(c, WEFT_E_FORMAT, name, "is not a range");
    return WEFT_OK;
}

/* Options of other state spaces under the same names. */
static weft_status refuse_variants(const weft_config *c, const weft_hparams *h) {
    char name[WEFT_CONFIG_NAME];
    bool normed = false;
    if (h->activation != WEFT_ACT_SILU) {
        weft_config_name(c, WEFT_KEY_ACTIVATION, name);
        return weft_config_fail(c, WEFT_E_UNSUPPORTED, name, "only SiLU is supported");
    }
    snprintf(name, sizeof name, "%s.ssm.dt_b_c_rms", c->arch->name);
    weft_status st = weft_metadata_bool(c->metadata, name, &normed);
    if (st && st != WEFT_E_NOT_FOUND)
        return st;
    return normed ? weft_config_fail(c, WEFT_E_UNSUPPORTED, name,
                                     "norms of dt, B and C are not supported")
                  : WEFT_OK;
}

weft_status weft_read_mamba2(const weft_config *c, weft_hparams *h) {
    weft_recurrence *r = &h->rec;
    weft_status st;
    if ((st = refuse_variants(c, h)) || (st = read_shape(c, r)) || (st = read_inner(c, h, r)) ||
        (st = read_conv(c, r)) || (st = read_limits(c, r)))
        return st;
    r->n_in = r->n_inner + r->n_conv + r->n_head;
    return WEFT_OK;
}

weft_status weft_read_mamba(const weft_config *c, weft_hparams *h) {
    char name[WEFT_CONFIG_NAME];
    weft_value v;
    weft_status st;
    weft_recurrence *r = &h->rec;
    r->n_head = r->n_group = 1;
    if ((st = refuse_variants(c, h)) || (st = read_shape(c, r)) || (st = read_inner(c, h, r)))
        return st;
    r->n_conv = r->n_inner;
    r->n_in = 2 * r->n_inner;
    r->n_rank = (h->n_embd + 15) / 16; /* "auto" */
    bool is_text = weft_config_name(c, WEFT_KEY_REC_RANK, name) &&
                   weft_metadata_find(c->metadata, name, &v) && v.type == WEFT_VALUE_STRING;
    return is_text ? WEFT_OK
                   : weft_config_i32(c, WEFT_KEY_REC_RANK, false, 1, MOST_WIDTH, &r->n_rank);
}

/* LFM2's width of the feed-forward network: its files' number, or in folders that say so two
 * thirds of it, scaled and rounded up. */
static weft_status adjust_ff(const weft_config *c, weft_hparams *h) {
    bool adjust = c->spelling == WEFT_SPELL_HF, present;
    double factor = 1, multiple = 256;
    weft_status st = weft_metadata_bool(c->metadata, "block_auto_adjust_ff_dim", &adjust);
    if (c->spelling != WEFT_SPELL_HF)
        return WEFT_OK;
    if (st && st != WEFT_E_NOT_FOUND)
        return weft_fail_in(st, "config.json");
    if ((st = weft_config_number(c, "block_ffn_dim_multiplier", 1e-3, 64, &present, &factor)) ||
        (st = weft_config_number(c, "block_multiple_of", 1, 1 << 20, &present, &multiple)))
        return st;
    if (adjust) {
        double width = floor(factor * floor(2.0 * h->n_ff / 3));
        width = ceil(width / multiple) * multiple;
        if (width < 1 || width > MOST_WIDTH)
            return weft_config_fail(c, WEFT_E_FORMAT, "block_multiple_of", "gives a width of %g",
                                    width);
        h->n_ff = (int32_t)width;
    }
    return WEFT_OK;
}

weft_status weft_read_short_conv(const weft_config *c, weft_hparams *h) {
    weft_recurrence *r = &h->rec;
    r->n_conv = r->n_inner = h->n_embd;
    if (h->n_embd > MOST_WIDTH / 3)
        return misfit(c, WEFT_KEY_N_EMBD, "is too large");
    r->n_in = 3 * h->n_embd;
    return weft_config_i32(c, WEFT_KEY_REC_TAPS, true, 1, MOST_TAPS, &r->n_taps);
}

weft_status weft_read_short_conv_adjusted(const weft_config *c, weft_hparams *h) {
    weft_status st = weft_read_short_conv(c, h);
    return st ? st : adjust_ff(c, h);
}

/* ---- Which layers ---- */

weft_status weft_kind_recurrent(const weft_config *c, const weft_hparams *h, int32_t i,
                                weft_layer_kind *kind) {
    (void)c, (void)h, (void)i;
    *kind = WEFT_LAYER_RECURRENT;
    return WEFT_OK;
}

weft_status weft_kind_by_interval(const weft_config *c, const weft_hparams *h, int32_t i,
                                  weft_layer_kind *kind) {
    int32_t interval = 4;
    int64_t recurrent;
    size_t index;
    (void)h;
    weft_status st = weft_config_i32(c, WEFT_KEY_REC_INTERVAL, false, 1, INT32_MAX, &interval);
    if (st)
        return st;
    recurrent = (i + 1) % interval != 0;
    char name[WEFT_CONFIG_NAME];
    snprintf(name, sizeof name, "%s.attention.recurrent_layers", c->arch->name);
    if (c->spelling == WEFT_SPELL_GGUF && weft_metadata_index(c->metadata, name, &index) &&
        !weft_config_item(c->metadata, index, (size_t)i, &recurrent))
        return weft_config_fail(c, WEFT_E_FORMAT, name, "has no bool for layer %d", i);
    *kind = recurrent ? WEFT_LAYER_RECURRENT : WEFT_LAYER_GLOBAL;
    return WEFT_OK;
}

/* GGUF: layers without KV heads; folders: those that full_attn_idxs does not list. The others have
 * a window where the file names one. */
weft_status weft_kind_by_heads(const weft_config *c, const weft_hparams *h, int32_t i,
                               weft_layer_kind *kind) {
    char name[WEFT_CONFIG_NAME];
    size_t index;
    int64_t value = 0;
    *kind = h->window > 0 ? WEFT_LAYER_LOCAL : WEFT_LAYER_GLOBAL;
    if (c->spelling == WEFT_SPELL_GGUF) {
        if (weft_config_name(c, WEFT_KEY_N_HEAD_KV, name) &&
            weft_metadata_index(c->metadata, name, &index) &&
            weft_config_item(c->metadata, index, (size_t)i, &value) && value == 0)
            *kind = WEFT_LAYER_RECURRENT;
        return WEFT_OK;
    }
    if (!weft_metadata_index(c->metadata, "full_attn_idxs", &index))
        return WEFT_OK;
    bool listed = false;
    for (size_t j = 0; weft_config_item(c->metadata, index, j, &value); j++)
        listed = listed || value == i;
    if (!listed)
        *kind = WEFT_LAYER_RECURRENT;
    return WEFT_OK;
}

/* ---- Latent attention ---- */

static double log_scale(const weft_hparams *h, double scale) {
    return h->rope.factor <= 1 ? 1 : 1 + scale * weft_exact_log(h->rope.factor);
}

/* YaRN scales q·k instead of the cosines and sines: by the square of what `mscale_all_dim` says. */
static weft_status scale_scores(const weft_config *c, weft_hparams *h) {
    bool present;
    double all = 0;
    char name[WEFT_CONFIG_NAME];
    h->attn_scale = 1 / sqrtf((float)h->head_dim);
    if (h->rope.scaling != WEFT_ROPE_YARN)
        return WEFT_OK;
    snprintf(name, sizeof name, "%s.rope.scaling.yarn_log_multiplier", c->arch->name);
    if (c->spelling == WEFT_SPELL_HF) {
        const char *parameters = "rope_parameters.mscale_all_dim";
        weft_value v;
        bool newer = weft_metadata_find(c->metadata, parameters, &v);
        snprintf(name, sizeof name, "%s", newer ? parameters : "rope_scaling.mscale_all_dim");
    }
    weft_status st = weft_config_number(c, name, 0, 1e3, &present, &all);
    if (st)
        return st;
    if (c->spelling == WEFT_SPELL_HF)
        all *= 0.1;
    else
        h->rope.magnitude /= log_scale(h, 0.1); /* which files of GGUF count on */
    double factor = log_scale(h, all);
    h->attn_scale = (float)(factor * factor / sqrt((double)h->head_dim));
    return WEFT_OK;
}

/* Files from before latent attention was spelled out have a head's widths as others do. */
static weft_status read_older_head(const weft_config *c, weft_hparams *h) {
    char name[WEFT_CONFIG_NAME];
    bool has_k, has_v;
    double k, v;
    weft_status st;
    if (weft_config_name(c, WEFT_KEY_HEAD_DIM, name))
        return WEFT_OK;
    snprintf(name, sizeof name, "%s.attention.key_length", c->arch->name);
    if ((st = weft_config_number(c, name, 1, 1 << 14, &has_k, &k)))
        return st;
    snprintf(name, sizeof name, "%s.attention.value_length", c->arch->name);
    if ((st = weft_config_number(c, name, 1, 1 << 14, &has_v, &v)))
        return st;
    if (has_k)
        h->head_dim = (int32_t)k;
    if (has_v)
        h->latent.dim_v = (int32_t)v;
    return WEFT_OK;
}

/* A head's width: folders give its two parts, files the whole, and the turning part beside. */
static weft_status read_latent_head(const weft_config *c, weft_hparams *h) {
    weft_status st;
    int32_t plain = 0, n_rot = h->rope.n_rot;
    if (c->spelling == WEFT_SPELL_HF) {
        if ((st = weft_config_i32(c, WEFT_KEY_LATENT_PLAIN, true, 1, 1 << 13, &plain)) ||
            (st = weft_config_i32(c, WEFT_KEY_LATENT_ROT, true, 2, 1 << 13, &n_rot)))
            return st;
        if (n_rot % 2)
            return misfit(c, WEFT_KEY_LATENT_ROT, "is not even");
        h->head_dim = plain + n_rot;
        h->rope.n_rot = h->rope_local.n_rot = n_rot;
    }
    if (c->spelling == WEFT_SPELL_GGUF && (st = read_older_head(c, h)))
        return st;
    if (h->head_dim <= n_rot)
        return misfit(c, WEFT_KEY_HEAD_DIM, "leaves nothing that does not turn");
    return weft_config_i32(c, WEFT_KEY_LATENT_V, !h->latent.dim_v, 1, 1 << 14, &h->latent.dim_v);
}

weft_status weft_read_latent(const weft_config *c, weft_hparams *h) {
    weft_status st;
    bool interleave = true;
    if ((st = read_latent_head(c, h)) ||
        (st = weft_config_i32(c, WEFT_KEY_Q_LATENT, false, 0, MOST_WIDTH, &h->latent.n_q)) ||
        (st = weft_config_i32(c, WEFT_KEY_KV_LATENT, true, 1, 1 << 14, &h->latent.n_kv)) ||
        (st = weft_read_extra_layers(c, h)) || (st = scale_scores(c, h)))
        return st;
    h->n_head_kv = 1;
    h->router.group_by_two = h->router.scores == WEFT_SCORES_SIGMOID;
    if (c->spelling == WEFT_SPELL_GGUF)
        return WEFT_OK;
    const char *method = NULL;
    st = weft_metadata_string(c->metadata, "topk_method", &method);
    if (st && st != WEFT_E_NOT_FOUND)
        return weft_fail_in(st, "config.json");
    if (!st && !strcmp(method, "greedy"))
        h->router.n_group = 0;
    else if (!st && strcmp(method, "group_limited_greedy") != 0 && strcmp(method, "noaux_tc") != 0)
        return weft_config_fail(c, WEFT_E_UNSUPPORTED, "topk_method", "\"%.64s\" is not supported",
                                method);
    st = weft_metadata_bool(c->metadata, "rope_interleave", &interleave);
    if (st && st != WEFT_E_NOT_FOUND)
        return weft_fail_in(st, "config.json");
    return interleave ? WEFT_OK
                      : weft_config_fail(c, WEFT_E_UNSUPPORTED, "rope_interleave",
                                         "false is not supported");
}
