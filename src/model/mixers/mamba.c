/* The mixers of Mamba (Gu and Dao 2023) and Mamba-2 (Dao and Gu 2024): a gated state space whose
 * steps, inputs and outputs are projected from a short convolution of the input. */
#include "model/mixers/states.h"

/* ---- Mamba: a decay of its own for each element of each channel's state ---- */

static void keeps_1(const weft_hparams *h, const weft_layer *l, weft_cache_layer *out) {
    (void)l;
    const weft_recurrence *r = &h->rec;
    out->states[0] = (weft_cache_state){2, {r->n_taps - 1, r->n_conv}};
    out->states[1] = (weft_cache_state){2, {r->n_inner, r->n_state}};
}

static weft_tensor *run_1(const weft_pass *p, weft_scope *s, int32_t index, weft_tensor *in) {
    const weft_recurrence *r = &p->n->h.rec;
    const weft_layer *l = &p->n->layers[index];
    weft_states taps = weft_pass_states(p, index, 0), states = weft_pass_states(p, index, 1);
    weft_tensor *xz = weft_linear(s, in, l->rec_in, l->rec_in_bias); /* [T, 2 n_inner] */
    weft_tensor *x = weft_columns(s, xz, 0, r->n_inner, 0);
    x = weft_short_conv(s, x, l->rec_conv, l->rec_conv_bias, true, &taps); /* [T, n_inner] */
    weft_tensor *dbc = weft_linear(s, x, l->rec_x, NULL); /* [T, n_rank + 2 n_state] */
    weft_tensor *dt = weft_linear(s, weft_columns(s, dbc, 0, r->n_rank, 0), l->rec_dt, NULL);
    weft_ssm_inputs ssm = {.x = x,
                           .dt = dt, /* [T, n_inner] */
                           .dt_bias = l->rec_dt_bias,
                           .a = l->rec_a,
                           .b = weft_columns(s, dbc, r->n_rank, r->n_state, 1),
                           .c = weft_columns(s, dbc, r->n_rank + r->n_state, r->n_state, 1),
                           .d = l->rec_d,
                           .dt_low = r->dt_low,
                           .dt_high = r->dt_high};
    x = weft_ssm(s, &ssm, &states);
    weft_pass_keep(p, s, index, 0, &taps);
    weft_pass_keep(p, s, index, 1, &states);
    if (weft_pass_ends(p, index))
        return NULL;
    x = weft_gated(s, weft_columns(s, xz, r->n_inner, r->n_inner, 0), x, WEFT_ACT_SILU);
    return weft_linear(s, weft_pass_wanted(p, s, index, x), l->rec_out, l->rec_out_bias);
}

const weft_mixer weft_mixer_mamba = {"mamba", run_1, keeps_1};

/* ---- Mamba-2: a decay a head, inputs and outputs shared by groups of heads ---- */

static void keeps_2(const weft_hparams *h, const weft_layer *l, weft_cache_layer *out) {
    (void)l;
    const weft_recurrence *r = &h->rec;
    out->states[0] = (weft_cache_state){2, {r->n_taps - 1, r->n_conv}};
    out->states[1] = (weft_cache_state){3, {r->n_head, r->head_dim, r->n_state}};
}

/* y [T, n_inner] gated by z, each group normed by itself. */
static weft_tensor *gated_norm(const weft_pass *p, weft_scope *s, const weft_layer *l,
                               weft_tensor *z, weft_tensor *y) {
    const weft_recurrence *r = &p->n->h.rec;
    y = weft_gated(s, z, y, WEFT_ACT_SILU);
    if (!l->rec_norm)
        return y;
    y = weft_tensor_reshape(s, y, 3, (int64_t[]){-1, r->n_group, r->n_inner / r->n_group});
    y = weft_rms_norm(s, y, NULL, p->n->h.norm_eps);
    y = weft_tensor_reshape(s, y, 2, (int64_t[]){-1, r->n_inner});
    return weft_broadcast_mul(s, y, l->rec_norm);
}

static weft_tensor *run_2(const weft_pass *p, weft_scope *s, int32_t index, weft_tensor *in) {
    const weft_recurrence *r = &p->n->h.rec;
    const weft_layer *l = &p->n->layers[index];
    weft_states taps = weft_pass_states(p, index, 0), states = weft_pass_states(p, index, 1);
    int64_t inner = r->n_inner, keys = (int64_t)r->n_group * r->n_state;
    weft_tensor *all = weft_linear(s, in, l->rec_in, l->rec_in_bias); /* z, x, b, c, dt */
    weft_tensor *z = weft_columns(s, all, 0, inner, 0);
    weft_tensor *xbc = weft_columns(s, all, inner, r->n_conv, 0);
    xbc = weft_short_conv(s, xbc, l->rec_conv, l->rec_conv_bias, true, &taps); /* [T, n_conv] */
    weft_ssm_inputs ssm = {.x = weft_columns(s, xbc, 0, inner, r->n_head),
                           .dt = weft_columns(s, all, inner + r->n_conv, r->n_head, 0),
                           .dt_bias = l->rec_dt_bias,
                           .a = l->rec_a,
                           .b = weft_columns(s, xbc, inner, keys, r->n_group),
                           .c = weft_columns(s, xbc, inner + keys, keys, r->n_group),
                           .d = l->rec_d,
                           .dt_low = r->dt_low,
                           .dt_high = r->dt_high};
    weft_tensor *y = weft_ssm(s, &ssm, &states); /* [T, n_head, head_dim] */
    weft_pass_keep(p, s, index, 0, &taps);
    weft_pass_keep(p, s, index, 1, &states);
    if (weft_pass_ends(p, index))
        return NULL;
    y = weft_tensor_reshape(s, y, 2, (int64_t[]){-1, inner});
    y = gated_norm(p, s, l, weft_pass_wanted(p, s, index, z), weft_pass_wanted(p, s, index, y));
    return weft_linear(s, y, l->rec_out, l->rec_out_bias);
}

const weft_mixer weft_mixer_mamba2 = {"mamba-2", run_2, keeps_2};
