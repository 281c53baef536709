/* Multi-head latent attention (DeepSeek-AI 2024): keys and values of all heads are linear in one
 * latent of each position, which alone is cached beside a key that turns. Instead of expanding the
 * latents, queries are taken into their space and what attention gives out of it, so that a layer
 * is attention with one KV head whose values are the first columns of its keys. */
#include "model/mixers/states.h"

static void keeps(const weft_hparams *h, const weft_layer *l, weft_cache_layer *out) {
    (void)l;
    out->n_head_kv = 1;
    out->dim_k = h->latent.n_kv + h->rope.n_rot;
    out->dim_v = 0; /* values are columns of the keys */
}

static weft_tensor *heads(weft_scope *s, weft_tensor *x, int32_t n_head) {
    return x ? weft_columns(s, x, 0, weft_tensor_dim(x, 1), n_head) : NULL;
}

/* A matrix a head: x [T, n_head, n_in] by weight, n_head of [n_out, n_in]. */
static weft_tensor *by_head(const weft_pass *p, weft_scope *s, weft_tensor *x, weft_tensor *weight,
                            int64_t n_out) {
    int32_t n_head = p->n->h.n_head;
    weft_tensor *ids = weft_arange(s, WEFT_I32, n_head, 0, 1), *y = NULL;
    ids = weft_tensor_expand(s, ids, 2, (int64_t[]){weft_tensor_dim(x, 0), n_head});
    weft_expert_stack stack = {weight, NULL, n_out};
    x = weft_tensor_contiguous(s, x);
    ids = weft_tensor_contiguous(s, ids);
    return weft_experts(s, x, ids, n_head, &stack, 1, &y) ? NULL : y;
}

static weft_tensor *turn(const weft_pass *p, weft_scope *s, weft_tensor *x) {
    return weft_rope(s, x, p->cosines[0], p->sines[0], p->row_ids,
                     p->n->arch->rope_interleaved[p->n->spelling]);
}

/* The latent of each row, normed, and its key that turns: a row of the cache [T, 1, n_kv + n_rot].
 */
static weft_tensor *latents(const weft_pass *p, weft_scope *s, const weft_layer *l,
                            weft_tensor *kv) {
    const weft_hparams *h = &p->n->h;
    weft_tensor *latent = weft_columns(s, kv, 0, h->latent.n_kv, 1);
    latent = weft_rms_norm(s, latent, l->attn_kv_a_norm, h->norm_eps);
    weft_tensor *key = turn(p, s, weft_columns(s, kv, h->latent.n_kv, h->rope.n_rot, 1));
    return weft_concat(s, (weft_tensor *[]){latent, key}, 2, 2);
}

/* q [T, n_head * head_dim] in the space of the latents: [T, n_head, n_kv + n_rot]. */
static weft_tensor *queries(const weft_pass *p, weft_scope *s, const weft_layer *l,
                            weft_tensor *q) {
    const weft_hparams *h = &p->n->h;
    size_t plain = (size_t)(h->head_dim - h->rope.n_rot);
    q = heads(s, q, h->n_head);
    weft_tensor *still = weft_tensor_narrow(s, q, 2, 0, plain);
    weft_tensor *turned = weft_tensor_narrow(s, q, 2, plain, (size_t)h->rope.n_rot);
    weft_tensor *parts[] = {by_head(p, s, still, l->attn_k_b, h->latent.n_kv), turn(p, s, turned)};
    return weft_concat(s, parts, 2, 2);
}

static weft_tensor *run(const weft_pass *p, weft_scope *s, int32_t index, weft_tensor *in) {
    const weft_hparams *h = &p->n->h;
    const weft_layer *l = &p->n->layers[index];
    weft_attn_params params = {
        .scale = h->attn_scale, .block_size = WEFT_CACHE_BLOCK, .dim_v = h->latent.n_kv};
    weft_tensor *weights[] = {l->attn_q_a ? l->attn_q_a : l->attn_q, l->attn_kv_a}, *qkv[2];
    if (weft_linear_many(s, in, weights, NULL, 2, qkv))
        return NULL;
    weft_pass_append(p, s, index, latents(p, s, l, qkv[1]), NULL);
    weft_tensor *q = qkv[0];
    if (l->attn_q_a)
        q = weft_linear(s, weft_rms_norm(s, q, l->attn_q_a_norm, h->norm_eps), l->attn_q_b, NULL);
    weft_tensor *keys = weft_cache_k(p->cache, index);
    weft_tensor *o = weft_attention(s, queries(p, s, l, q), keys, keys, p->rows, &params);
    if (weft_pass_ends(p, index))
        return NULL;
    o = heads(s, weft_pass_wanted(p, s, index, o), h->n_head); /* [T, n_head, n_kv] */
    o = by_head(p, s, o, l->attn_v_b, h->latent.dim_v);
    o = weft_tensor_reshape(s, o, 2, (int64_t[]){-1, (int64_t)h->n_head * h->latent.dim_v});
    return weft_linear(s, o, l->attn_out, NULL);
}

const weft_mixer weft_mixer_latent = {"latent attention", run, keeps};
