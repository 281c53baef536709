/* The mixer of attention layers: grouped-query attention (Ainslie et al. 2023) over the KV cache,
 * with rotary positions, and norms, biases, a window, sinks or a soft cap where the description has
 * them. */
#include <string.h>
#include "model/pass.h"

/* x [T, n * head_dim] as [T, n, head_dim]. */
static weft_tensor *heads(weft_scope *s, weft_tensor *x, int32_t head_dim) {
    if (!x)
        return NULL;
    int64_t dims[3] = {weft_tensor_dim(x, 0), -1, head_dim};
    return weft_tensor_reshape(s, x, 3, dims);
}

/* Each head's norm, then a weight for each. */
static weft_tensor *weighed_heads(const weft_pass *p, weft_scope *s, weft_tensor *x,
                                  weft_tensor *weight) {
    x = p->n->h.norm == WEFT_NORM_LAYER ? weft_layer_norm(s, x, NULL, NULL, p->n->h.norm_eps)
                                        : weft_rms_norm(s, x, NULL, p->n->h.norm_eps);
    return weft_broadcast_mul(s, x, weight);
}

/* The norm of q or k [T, n * head_dim]: over each head, or over all of them where the weight is so
 * wide. Gives [T, n, head_dim]. */
static weft_tensor *normed_heads(const weft_pass *p, weft_scope *s, weft_tensor *x,
                                 weft_tensor *weight, weft_tensor *bias, int32_t head_dim) {
    if (weight && weft_tensor_rank(weight) == 2)
        return weighed_heads(p, s, heads(s, x, head_dim), weight);
    if (weight && weft_tensor_dim(weight, 0) != head_dim)
        return heads(s, weft_pass_norm(p, s, x, weight, NULL), head_dim);
    return weft_pass_norm(p, s, heads(s, x, head_dim), weight, bias);
}

static weft_tensor *turn(const weft_pass *p, weft_scope *s, const weft_layer *l, weft_tensor *x) {
    int which = l->kind == WEFT_LAYER_LOCAL;
    bool interleaved = p->n->arch->rope_interleaved[p->n->spelling];
    if (!l->has_rope)
        return x;
    return weft_rope(s, x, p->cosines[which], p->sines[which], p->row_ids, interleaved);
}

/* q or k [T, n * head_dim] as projected, normed and turned in the architecture's order: [T, n,
 * head_dim]. */
static weft_tensor *placed(const weft_pass *p, weft_scope *s, const weft_layer *l, weft_tensor *x,
                           weft_tensor *norm, weft_tensor *bias) {
    if (!p->n->arch->norm_after_turning)
        return turn(p, s, l, normed_heads(p, s, x, norm, bias, l->head_dim));
    return weft_pass_norm(p, s, turn(p, s, l, heads(s, x, l->head_dim)), norm, bias);
}

/* o [T, n_head * head_dim] weighed by the sigmoid of gate, as wide or one number a head. */
static weft_tensor *gated(weft_scope *s, weft_tensor *gate, weft_tensor *o, int32_t n_head) {
    if (weft_tensor_dim(gate, 1) == weft_tensor_dim(o, 1))
        return weft_gated(s, gate, o, WEFT_ACT_SIGMOID);
    int64_t by_head[3] = {weft_tensor_dim(o, 0), n_head, 1}, flat[2] = {weft_tensor_dim(o, 0), -1};
    weft_tensor *weights = weft_activate(s, gate, WEFT_ACT_SIGMOID);
    int32_t head_dim = (int32_t)(weft_tensor_dim(o, 1) / n_head);
    o = weft_broadcast_mul(s, heads(s, o, head_dim), weft_tensor_reshape(s, weights, 3, by_head));
    return weft_tensor_reshape(s, o, 2, flat);
}

/* *q [T, n_head * 2 * head_dim] becomes its first halves, gives the second ones, both [T, n_head *
 * head_dim]. */
static weft_tensor *split_gate(const weft_pass *p, weft_scope *s, const weft_layer *l,
                               weft_tensor **q) {
    size_t head_dim = (size_t)l->head_dim;
    weft_tensor *both = heads(s, *q, 2 * l->head_dim);
    int64_t flat[2] = {-1, (int64_t)p->n->h.n_head * l->head_dim};
    *q = weft_tensor_reshape_copy(s, weft_tensor_narrow(s, both, 2, 0, head_dim), 2, flat);
    return weft_tensor_reshape_copy(s, weft_tensor_narrow(s, both, 2, head_dim, head_dim), 2, flat);
}

/* k and v [T, n_head_kv * head_dim] as projected, into the cache; v NULL: values are the keys. */
static void keep(const weft_pass *p, weft_scope *s, int32_t index, weft_tensor *k, weft_tensor *v) {
    const weft_layer *l = &p->n->layers[index];
    v = heads(s, v ? v : k, l->head_dim); /* [T, n_head_kv, head_dim] */
    if (p->n->arch->v_normed)
        v = weft_rms_norm(s, v, NULL, p->n->h.norm_eps);
    weft_pass_append(p, s, index, placed(p, s, l, k, l->attn_k_norm, l->attn_k_norm_bias), v);
}

static weft_tensor *run(const weft_pass *p, weft_scope *s, int32_t index, weft_tensor *in) {
    const weft_hparams *h = &p->n->h;
    const weft_layer *l = &p->n->layers[index];
    bool local = l->kind == WEFT_LAYER_LOCAL, near = local && p->near_rows;
    weft_attn_params params = {.scale = h->attn_scale,
                               .softcap = h->attn_softcap,
                               .window = local && !near ? h->window : 0,
                               .firsts = near ? p->near_firsts : NULL,
                               .block_size = WEFT_CACHE_BLOCK,
                               .dim_v = l->head_dim,
                               .alibi = h->alibi,
                               .alibi_scale = h->alibi_scale,
                               .sinks = l->attn_sinks};

    weft_tensor *weights[] = {l->attn_q, l->attn_k, l->attn_v}, *qkv[3] = {NULL};
    weft_tensor *gate = l->attn_gate ? weft_linear(s, in, l->attn_gate, NULL) : NULL;
    weft_tensor *biases[] = {l->attn_q_bias, l->attn_k_bias, l->attn_v_bias};
    size_t n = !l->attn_k ? 1 : !l->attn_v ? 2 : 3; /* projections that the layer has */
    if (weft_linear_many(s, in, weights, biases, n, qkv))
        return NULL;
    for (size_t i = 0; i < n && h->clip_qkv > 0; i++)
        qkv[i] = weft_clamp(s, qkv[i], -(double)h->clip_qkv, (double)h->clip_qkv);
    if (p->n->arch->attn_gated)
        gate = split_gate(p, s, l, &qkv[0]);
    /* [T, n_head, head_dim] */
    weft_tensor *q = placed(p, s, l, qkv[0], l->attn_q_norm, l->attn_q_norm_bias);
    if (p->q_weights)
        q = weft_broadcast_mul(s, q, weft_index_select(s, p->q_weights, 0, p->row_ids));
    if (l->attn_k)
        keep(p, s, index, qkv[1], qkv[2]);
    weft_tensor *o =
        weft_attention(s, q, weft_cache_k(p->cache, l->kv_layer),
                       weft_cache_v(p->cache, l->kv_layer), near ? p->near_rows : p->rows, &params);
    if (weft_pass_ends(p, index))
        return NULL;
    o = weft_pass_wanted(p, s, index, o);
    if (gate)
        o = gated(s, weft_pass_wanted(p, s, index, gate), o, h->n_head);
    return weft_linear(s, o, l->attn_out, l->attn_out_bias);
}

static void keeps(const weft_hparams *h, const weft_layer *l, weft_cache_layer *out) {
    (void)h;
    out->n_head_kv = l->n_head_kv;
    out->dim_k = out->dim_v = l->head_dim;
}

const weft_mixer weft_mixer_attention = {"attention", run, keeps};
