/* The second half of a layer: a dense network with a gate (Shazeer 2020) or without one, or a
 * mixture of such networks beside shared ones that every row goes through. */
#include <math.h>
#include "model/pass.h"
#include "tensor/experts.h"

/* in [T, n_embd] through one network; gate NULL: none. */
static weft_tensor *network(weft_scope *s, weft_activation act, weft_tensor *in,
                            weft_tensor *const weights[3], weft_tensor *const biases[3]) {
    weft_tensor *gate_up[2]; /* [T, n_ff] each */
    if (!weights[0]) {
        weft_tensor *up = weft_linear(s, in, weights[1], biases[1]);
        return weft_linear(s, weft_activate(s, up, act), weights[2], biases[2]);
    }
    if (weft_linear_many(s, in, weights, biases, 2, gate_up))
        return NULL;
    return weft_gated_linear(s, gate_up[0], gate_up[1], act, weights[2], biases[2]);
}

static weft_tensor *dense(const weft_pass *p, weft_scope *s, const weft_layer *l, weft_tensor *in) {
    weft_tensor *const weights[3] = {l->ffn_gate, l->ffn_up, l->ffn_down};
    weft_tensor *const biases[3] = {l->ffn_gate_bias, l->ffn_up_bias, l->ffn_down_bias};
    return network(s, p->n->h.activation, in, weights, biases);
}

/* The network that all rows share; weighed by a sigmoid of its own where it has one. */
static weft_tensor *shared(const weft_pass *p, weft_scope *s, const weft_layer *l,
                           weft_tensor *in) {
    weft_tensor *const weights[3] = {l->shared_gate, l->shared_up, l->shared_down};
    weft_tensor *const biases[3] = {NULL, NULL, NULL};
    weft_tensor *out = network(s, p->n->h.activation, in, weights, biases);
    if (!out || !l->shared_scale)
        return out;
    int64_t dims[2] = {weft_tensor_dim(out, 0), weft_tensor_dim(out, 1)};
    weft_tensor *weight = weft_linear(s, in, l->shared_scale, NULL); /* [T, 1] */
    return weft_gated(s, weft_tensor_expand(s, weight, 2, dims), out, WEFT_ACT_SIGMOID);
}

/* Each expert's own scale, weights [T, n_expert_used] of the chosen. */
static weft_tensor *scale_experts(weft_scope *s, const weft_layer *l, weft_tensor *chosen,
                                  weft_tensor *weights) {
    int64_t flat[1] = {-1}, dims[2] = {weft_tensor_dim(chosen, 0), -1};
    if (!l->experts_scale)
        return weights;
    weft_tensor *ids = weft_tensor_reshape(s, chosen, 1, flat);
    weft_tensor *scales = weft_index_select(s, l->experts_scale, 0, ids);
    return weft_mul(s, weights, weft_tensor_reshape(s, scales, 2, dims));
}

/* Each row through the experts that its router chose by `routed`, both [T, n_embd]. */
static weft_tensor *mixture(const weft_pass *p, weft_scope *s, const weft_layer *l, weft_tensor *in,
                            weft_tensor *routed) {
    const weft_hparams *h = &p->n->h;
    weft_expert_stack gate_up[2] = {{l->experts_gate, l->experts_gate_bias, h->n_ff_expert},
                                    {l->experts_up, l->experts_up_bias, h->n_ff_expert}};
    weft_expert_stack down = {l->experts_down, l->experts_down_bias, h->n_embd};
    weft_tensor *chosen, *weights;  /* [T, n_expert_used] */
    weft_tensor *inner[2], *out[1]; /* [T, n_expert_used, n_ff_expert], then [.., n_embd] */
    weft_tensor *scores = weft_linear(s, routed, l->router, l->router_bias); /* [T, n_expert] */
    if (weft_route(s, scores, l->router_correction, h->n_expert_used, &h->router, &chosen,
                   &weights) ||
        weft_experts(s, in, chosen, h->n_expert, gate_up, 2, inner) ||
        weft_experts(s, weft_gated(s, inner[0], inner[1], h->activation), chosen, h->n_expert,
                     &down, 1, out))
        return NULL;
    weights = scale_experts(s, l, chosen, weights);
    weft_tensor *sum = weft_experts_sum(s, out[0], weights); /* [T, n_embd] */
    return l->shared_up ? weft_add(s, sum, shared(p, s, l, in)) : sum;
}

/* A dense network and a mixture side by side, whose router reads a norm of its own. */
static weft_tensor *both(const weft_pass *p, weft_scope *s, const weft_layer *l, weft_tensor *x,
                         weft_tensor *in) {
    weft_tensor *routed = weft_pass_norm(p, s, x, l->router_norm, NULL);
    routed = weft_affine(s, routed, 1 / sqrt((double)p->n->h.n_embd), 0);
    weft_tensor *out = mixture(p, s, l, weft_pass_norm(p, s, x, l->experts_norm, NULL), routed);
    return weft_add(s, weft_pass_norm(p, s, dense(p, s, l, in), l->dense_out_norm, NULL),
                    weft_pass_norm(p, s, out, l->experts_out_norm, NULL));
}

weft_tensor *weft_feed_forward(const weft_pass *p, weft_scope *s, int32_t layer, weft_tensor *x,
                               weft_tensor *in) {
    const weft_layer *l = &p->n->layers[layer];
    if (!l->is_mixture)
        return dense(p, s, l, in);
    return l->ffn_up ? both(p, s, l, x, in) : mixture(p, s, l, in, in);
}
