/* The mixer of gated delta networks (Yang, Kautz and Hatamizadeh 2024), as Qwen3-Next and Qwen3.5
 * have it: a short convolution over q, k and v, the delta rule, a norm of each head and a gate. */
#include "model/mixers/states.h"

static void keeps(const weft_hparams *h, const weft_layer *l, weft_cache_layer *out) {
    (void)l;
    const weft_recurrence *r = &h->rec;
    out->states[0] = (weft_cache_state){2, {r->n_taps - 1, r->n_conv}};
    out->states[1] = (weft_cache_state){3, {r->n_head, r->n_state, r->head_dim}};
}

/* q, k, v through convolution and rule: [T, n_head, head_dim]. */
static weft_tensor *recur(const weft_pass *p, weft_scope *s, int32_t index, weft_tensor *qkv,
                          weft_tensor *alpha, weft_tensor *beta) {
    const weft_recurrence *r = &p->n->h.rec;
    const weft_layer *l = &p->n->layers[index];
    weft_states taps = weft_pass_states(p, index, 0), states = weft_pass_states(p, index, 1);
    int64_t keys = (int64_t)r->n_group * r->n_state;
    qkv = weft_short_conv(s, qkv, l->rec_conv, NULL, true, &taps);
    weft_delta_inputs in = {.q = weft_columns(s, qkv, 0, keys, r->n_group),
                            .k = weft_columns(s, qkv, keys, keys, r->n_group),
                            .v = weft_columns(s, qkv, 2 * keys, r->n_inner, r->n_head),
                            .alpha = alpha,
                            .beta = beta,
                            .a = l->rec_a,
                            .dt_bias = l->rec_dt_bias,
                            .eps = 1e-6f, /* of the models' own code, whatever their norms have */
                            .tiled = r->tiled};
    weft_tensor *o = weft_delta_rule(s, &in, &states);
    weft_pass_keep(p, s, index, 0, &taps);
    weft_pass_keep(p, s, index, 1, &states);
    return o;
}

static weft_tensor *run(const weft_pass *p, weft_scope *s, int32_t index, weft_tensor *in) {
    const weft_hparams *h = &p->n->h;
    const weft_layer *l = &p->n->layers[index];
    weft_tensor *weights[] = {l->rec_in, l->rec_gate, l->rec_alpha, l->rec_beta}, *out[4];
    /* [T, n_conv], [T, n_inner], [T, n_head] twice */
    if (weft_linear_many(s, in, weights, NULL, 4, out))
        return NULL;
    weft_tensor *o = recur(p, s, index, out[0], out[2], out[3]);
    if (weft_pass_ends(p, index))
        return NULL;
    o = weft_rms_norm(s, weft_pass_wanted(p, s, index, o), l->rec_norm, h->norm_eps);
    weft_tensor *gate = weft_pass_wanted(p, s, index, out[1]); /* [T, n_inner] */
    o = weft_gated(s, gate, weft_tensor_reshape(s, o, 2, (int64_t[]){-1, h->rec.n_inner}),
                   WEFT_ACT_SILU);
    return weft_linear(s, o, l->rec_out, NULL);
}

const weft_mixer weft_mixer_delta_net = {"delta net", run, keeps};
