/* The forward pass of decoders and encoders (Vaswani et al. 2017, in the forms of today): reads an
 * architecture's description through the layers it filled, and asks no model's name.
 *
 * The two halves of a layer alternate between the cache's two scratch arenas: each half reads what
 * the other left, so that a step holds the activations of one layer, not of all. */
#include <string.h>
#include "base/detail.h"
#include "model/pass.h"
#include "tensor/profile.h"
#include "tensor/tap.h"

/* What the first half of a layer hands to the second. */
typedef struct halfway {
    weft_tensor *x;  /* [T, n_embd]: the residual stream, the mixer's part added */
    weft_tensor *in; /* [T, n_embd]: what the feed-forward network reads; NULL: the norm of x */
} halfway;

static weft_tensor *scaled(weft_scope *s, weft_tensor *x, float scale) {
    return scale == 1 ? x : weft_affine(s, x, (double)scale, 0);
}

/* x + the mixer's contribution. In parallel schemes both halves read x (Wang and Komatsuzaki 2021),
 * by one norm or by one each. */
static halfway mix(const weft_pass *p, weft_scope *s, int32_t i, weft_tensor *x) {
    const weft_hparams *h = &p->n->h;
    const weft_layer *l = &p->n->layers[i];
    weft_tensor *in = weft_pass_norm(p, s, x, l->attn_norm, l->attn_norm_bias);
    weft_tensor *out = l->mixer->run(p, s, i, in);
    if (weft_pass_ends(p, i))
        return (halfway){x, x};
    x = weft_pass_wanted(p, s, i, x);
    out = weft_pass_norm(p, s, out, l->attn_post_norm, NULL);
    weft_tensor *sum = weft_add(s, x, scaled(s, out, h->residual_scale));
    halfway half = {weft_pass_norm(p, s, sum, l->attn_out_norm, l->attn_out_norm_bias), NULL};
    if (h->parallel)
        half.in = l->ffn_norm ? weft_pass_norm(p, s, x, l->ffn_norm, l->ffn_norm_bias)
                              : weft_pass_wanted(p, s, i, in);
    return half;
}

static weft_tensor *feed(const weft_pass *p, weft_scope *s, int32_t i, halfway half) {
    const weft_layer *l = &p->n->layers[i];
    weft_tensor *in = half.in;
    if (!l->ffn_up && !l->is_mixture)
        return weft_tensor_copy(s, half.x); /* the arena of the first half is used again */
    if (!in)
        in = weft_pass_norm(p, s, half.x, l->ffn_norm, l->ffn_norm_bias);
    weft_tensor *out = weft_feed_forward(p, s, i, half.x, in);
    out = weft_pass_norm(p, s, out, l->ffn_post_norm, NULL);
    out = weft_add(s, half.x, scaled(s, out, p->n->h.residual_scale));
    out = weft_pass_norm(p, s, out, l->ffn_out_norm, l->ffn_out_norm_bias);
    return weft_layer_end(p, s, i, out);
}

static weft_tensor *embed(const weft_pass *p, weft_scope *s) {
    const weft_globals *g = &p->n->globals;
    int64_t dims[1] = {(int64_t)p->step->n}, one[1] = {1};
    weft_tensor *ids =
        weft_from_data(s, WEFT_I32, 1, dims, p->step->tokens, p->step->n * sizeof *p->step->tokens);
    weft_tensor *x = weft_embedding(s, g->embedding, ids); /* [T, n_embd] */
    x = scaled(s, x, p->n->h.embd_scale);
    if (g->token_types) { /* of one text alone: all of type 0 */
        int64_t all[2] = {dims[0], p->n->h.n_embd};
        weft_tensor *type = weft_embedding(s, g->token_types, weft_zeros(s, WEFT_I32, 1, one));
        x = weft_add(s, x, weft_tensor_expand(s, type, 2, all));
    }
    if (g->positions)
        x = weft_add(s, x, weft_embedding(s, g->positions, p->positions));
    return weft_pass_norm(p, s, x, g->embedding_norm, g->embedding_norm_bias);
}

static weft_tensor *unembed(const weft_pass *p, weft_scope *s, weft_tensor *x) {
    const weft_globals *g = &p->n->globals;
    weft_tensor *last = x;
    x = weft_pass_norm(p, s, x, g->output_norm, g->output_norm_bias);
    if (p->step->hidden) /* what was not normed lies in an arena that the next step uses again */
        return x == last ? weft_tensor_copy(s, x) : x;
    weft_tensor *logits = scaled(s, weft_linear(s, x, g->output, g->output_bias),
                                 p->n->h.logit_scale); /* [rows wanted, n_vocab] */
    return p->n->h.final_softcap > 0 ? weft_softcap(s, logits, p->n->h.final_softcap) : logits;
}

static weft_status failed(const weft_scope *s) {
    return weft_scope_status(s) ? weft_fail(weft_scope_status(s), "%s", weft_scope_detail(s))
                                : WEFT_OK;
}

weft_status weft_pass_run(weft_pass *p, weft_scope *scope, const atomic_bool *cancel,
                          weft_tensor **out) {
    weft_scope *a = p->cache->scratch[0], *b = p->cache->scratch[1];
    const weft_engine *engine = p->n->engine;
    weft_scope_set_tap(a, weft_scope_tap(scope));
    weft_scope_set_tap(b, weft_scope_tap(scope));
    weft_profile_mark(engine, "embedding", -1);
    weft_tensor *x = embed(p, b);
    p->layer_inputs = weft_layer_inputs(p, scope, x);
    weft_status st = failed(b);
    if (!st)
        st = failed(scope);
    for (int32_t i = 0; !st && i < p->n->h.n_layer; i++) {
        if (cancel && atomic_load_explicit(cancel, memory_order_relaxed))
            return weft_fail(WEFT_E_CANCELLED, "cancelled before layer %d", i);
        if ((st = weft_scope_reset(a)))
            return st;
        weft_profile_mark(engine, p->n->layers[i].mixer->name, i);
        halfway half = mix(p, a, i, x);
        if ((st = failed(a)) || weft_pass_ends(p, i))
            return st;
        if ((st = weft_scope_reset(b)))
            return st;
        weft_profile_mark(engine, "feed forward", i);
        x = feed(p, b, i, half);
        weft_pass_narrow(p, scope, i);
        st = failed(b);
    }
    if (st)
        return st;
    weft_profile_mark(engine, "output", -1);
    *out = unembed(p, scope, x);
    return failed(scope);
}
