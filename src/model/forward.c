/* The forward pass of a decoder (Vaswani et al. 2017, in the pre-norm form of today): reads an
 * architecture's description through the layers it filled, and asks no model's name.
 *
 * The two halves of a layer alternate between the cache's two scratch arenas: each half reads the
 * stream that the other left, so that a step holds the activations of one layer, not of all. */
#include "model/forward.h"

#include <string.h>
#include "base/detail.h"
#include "base/floats.h"
#include "model/cache_impl.h"
#include "tensor/impl.h"
#include "tensor/profile.h"

/* What the layers of one step share. */
typedef struct pass {
    const weft_network *n;
    weft_cache *cache;
    const weft_step *step;
    weft_attn_row *rows;     /* [T] */
    weft_tensor *row_ids;    /* [T] i32: 0, 1, … into the rope rows */
    weft_tensor *cosines[2]; /* [T, n_rot / 2] f32, of global and local layers */
    weft_tensor *sines[2];
    weft_tensor *wanted; /* [rows wanted] i32 */
} pass;

static weft_tensor *heads(weft_scope *s, weft_tensor *x, int32_t head_dim) {
    if (!x)
        return NULL;
    int64_t dims[3] = {weft_tensor_dim(x, 0), -1, head_dim};
    return weft_tensor_reshape(s, x, 3, dims);
}

static weft_tensor *optional_norm(weft_scope *s, weft_tensor *x, weft_tensor *weight, float eps) {
    return weight ? weft_rms_norm(s, x, weight, eps) : x;
}

/* Hands each sequence's rows to the cache. */
static void append(const pass *p, weft_scope *s, int32_t layer, weft_tensor *k, weft_tensor *v) {
    for (size_t first = 0, end; first < p->step->n; first = end) {
        int32_t sequence = p->step->sequences[first];
        for (end = first + 1; end < p->step->n && p->step->sequences[end] == sequence;)
            end++;
        weft_cache_append(p->cache, s, layer, sequence, p->rows[first].position,
                          weft_tensor_narrow(s, k, 0, first, end - first),
                          weft_tensor_narrow(s, v, 0, first, end - first));
    }
}

/* x [T, n_embd] + attention of its norm. In the last layer only the rows wanted go on. */
static weft_tensor *attention(const pass *p, weft_scope *s, int32_t index, weft_tensor *x) {
    const weft_hparams *h = &p->n->h;
    const weft_layer *l = &p->n->layers[index];
    int which = l->is_local;
    bool interleaved = p->n->arch->rope_interleaved[p->n->spelling];
    weft_attn_params params = {.scale = h->attn_scale,
                               .softcap = h->attn_softcap,
                               .window = l->is_local ? h->window : 0,
                               .block_size = WEFT_CACHE_BLOCK,
                               .dim_v = h->head_dim};

    weft_tensor *in = weft_rms_norm(s, x, l->attn_norm, h->norm_eps); /* [T, n_embd] */
    weft_tensor *weights[] = {l->attn_q, l->attn_k, l->attn_v}, *qkv[3];
    weft_tensor *biases[] = {l->attn_q_bias, l->attn_k_bias, l->attn_v_bias};
    if (weft_linear_many(s, in, weights, biases, 3, qkv))
        return NULL;
    weft_tensor *q = heads(s, qkv[0], h->head_dim); /* [T, n_head, head_dim] */
    weft_tensor *k = heads(s, qkv[1], h->head_dim); /* [T, n_head_kv, head_dim] */
    weft_tensor *v = heads(s, qkv[2], h->head_dim); /* [T, n_head_kv, head_dim] */
    q = optional_norm(s, q, l->attn_q_norm, h->norm_eps);
    k = optional_norm(s, k, l->attn_k_norm, h->norm_eps);
    q = weft_rope(s, q, p->cosines[which], p->sines[which], p->row_ids, interleaved);
    k = weft_rope(s, k, p->cosines[which], p->sines[which], p->row_ids, interleaved);
    append(p, s, index, k, v);
    weft_tensor *o = weft_attention(s, q, weft_cache_k(p->cache, index),
                                    weft_cache_v(p->cache, index), p->rows, &params);
    if (index == h->n_layer - 1) {
        if (!p->wanted)
            return x; /* K and V are what the step was for */
        o = weft_index_select(s, o, 0, p->wanted);
        x = weft_index_select(s, x, 0, p->wanted);
    }
    o = weft_linear(s, o, l->attn_out, l->attn_out_bias); /* [T, n_embd] */
    return weft_add(s, x, optional_norm(s, o, l->attn_post_norm, h->norm_eps));
}

/* x [T, n_embd] + the gated feed-forward network of its norm. */
static weft_tensor *feed_forward(const pass *p, weft_scope *s, int32_t index, weft_tensor *x) {
    const weft_hparams *h = &p->n->h;
    const weft_layer *l = &p->n->layers[index];
    weft_tensor *in = weft_rms_norm(s, x, l->ffn_norm, h->norm_eps);
    weft_tensor *weights[] = {l->ffn_gate, l->ffn_up}, *gate_up[2]; /* [T, n_ff] each */
    weft_tensor *biases[] = {l->ffn_gate_bias, l->ffn_up_bias};
    if (weft_linear_many(s, in, weights, biases, 2, gate_up))
        return NULL;
    weft_tensor *out = weft_gated(s, gate_up[0], gate_up[1], h->activation);
    out = weft_linear(s, out, l->ffn_down, l->ffn_down_bias);
    return weft_add(s, x, optional_norm(s, out, l->ffn_post_norm, h->norm_eps));
}

static weft_tensor *embed(const pass *p, weft_scope *s) {
    int64_t dims[1] = {(int64_t)p->step->n};
    weft_tensor *ids =
        weft_from_data(s, WEFT_I32, 1, dims, p->step->tokens, p->step->n * sizeof *p->step->tokens);
    weft_tensor *x = weft_embedding(s, p->n->globals.embedding, ids); /* [T, n_embd] */
    return p->n->h.embd_scale == 1 ? x : weft_affine(s, x, (double)p->n->h.embd_scale, 0);
}

static weft_tensor *unembed(const pass *p, weft_scope *s, weft_tensor *x) {
    const weft_globals *g = &p->n->globals;
    x = weft_rms_norm(s, x, g->output_norm, p->n->h.norm_eps);
    weft_tensor *logits = weft_linear(s, x, g->output, g->output_bias);
    return p->n->h.final_softcap > 0 ? weft_softcap(s, logits, p->n->h.final_softcap) : logits;
}

/* ---- The step around the layers ---- */

static weft_status failed(const weft_scope *s) {
    return weft_scope_status(s) ? weft_fail(weft_scope_status(s), "%s", weft_scope_detail(s))
                                : WEFT_OK;
}

static weft_status run_layers(const pass *p, weft_scope *scope, const atomic_bool *cancel,
                              weft_tensor **logits) {
    weft_scope *a = p->cache->scratch[0], *b = p->cache->scratch[1];
    const weft_engine *engine = p->n->engine;
    weft_profile_mark(engine, "embedding", -1);
    weft_tensor *x = embed(p, b);
    weft_status st = failed(b);
    for (int32_t i = 0; !st && i < p->n->h.n_layer; i++) {
        if (cancel && atomic_load_explicit(cancel, memory_order_relaxed))
            return weft_fail(WEFT_E_CANCELLED, "cancelled before layer %d", i);
        if ((st = weft_scope_reset(a)))
            return st;
        weft_profile_mark(engine, "attention", i);
        x = attention(p, a, i, x);
        if ((st = failed(a)))
            return st;
        if (i == p->n->h.n_layer - 1 && !p->wanted)
            return WEFT_OK;
        if ((st = weft_scope_reset(b)))
            return st;
        weft_profile_mark(engine, "feed forward", i);
        x = feed_forward(p, b, i, x);
        st = failed(b);
    }
    if (st)
        return st;
    weft_profile_mark(engine, "output", -1);
    *logits = unembed(p, scope, x);
    return failed(scope);
}

static weft_status check_tokens(const weft_network *n, const weft_step *step) {
    for (size_t i = 0; i < step->n; i++)
        if (step->tokens[i] < 0 || step->tokens[i] >= n->h.n_vocab)
            return weft_fail(WEFT_E_RANGE, "token %zu: the id %d is outside of [0, %d)", i,
                             step->tokens[i], n->h.n_vocab);
    return WEFT_OK;
}

static weft_status reserve(weft_cache *cache, const weft_step *step) {
    for (size_t first = 0, end; first < step->n; first = end) {
        for (end = first + 1; end < step->n && step->sequences[end] == step->sequences[first];)
            end++;
        weft_status st = weft_cache_reserve(cache, cache->scratch[0], step->sequences[first],
                                            (int32_t)(end - first));
        if (st)
            return st;
    }
    return WEFT_OK;
}

static bool wants(const weft_step *step, size_t i) {
    return step->wants_logits ? step->wants_logits[i] : i == step->n - 1;
}

/* Places and rope rows of the step's rows, in the caller's arena. */
static weft_status prepare(pass *p, weft_scope *scope) {
    const weft_network *n = p->n;
    const weft_step *step = p->step;
    p->rows = weft_scope_scratch(scope, "forward", step->n * sizeof *p->rows);
    int32_t *ids = weft_scope_scratch(scope, "forward", step->n * sizeof *ids);
    if (!p->rows || !ids)
        return failed(scope);
    for (size_t i = 0; i < step->n; i++) {
        int32_t sequence = step->sequences[i];
        bool first = i == 0 || step->sequences[i - 1] != sequence;
        p->rows[i].blocks = weft_cache_blocks(p->cache, sequence);
        p->rows[i].position =
            first ? weft_cache_length(p->cache, sequence) : p->rows[i - 1].position + 1;
        ids[i] = p->rows[i].position;
    }
    const double *frequencies[2] = {n->frequencies, n->frequencies_local};
    const weft_rope_rule *rules[2] = {&n->h.rope, &n->h.rope_local};
    for (int i = 0; i < 2; i++)
        if (i == 0 || n->h.window)
            weft_rope_rows(scope, frequencies[i], rules[i]->n_rot, rules[i]->magnitude, ids,
                           step->n, &p->cosines[i], &p->sines[i]);
    p->row_ids = weft_arange(scope, WEFT_I32, (int64_t)step->n, 0, 1);
    int64_t n_wanted[1] = {0};
    for (size_t i = 0; i < step->n; i++)
        if (wants(step, i))
            ids[n_wanted[0]++] = (int32_t)i;
    if (n_wanted[0])
        p->wanted =
            weft_from_data(scope, WEFT_I32, 1, n_wanted, ids, (size_t)n_wanted[0] * sizeof *ids);
    return failed(scope);
}

static weft_status check(const weft_network *network, const weft_cache *cache,
                         const weft_scope *scope, const weft_step *step) {
    if (!network || !cache || !scope || !step || !step->tokens || !step->sequences)
        return weft_fail(WEFT_E_NULL, "weft_forward: an argument is NULL");
    if (cache->network != network)
        return weft_fail(WEFT_E_ARGUMENT, "weft_forward: the cache belongs to another network");
    if (step->n < 1 || step->n > (size_t)cache->n_blocks * WEFT_CACHE_BLOCK)
        return weft_fail(step->n < 1 ? WEFT_E_ARGUMENT : WEFT_E_CACHE_FULL,
                         "a step of %zu tokens, and the cache holds %d", step->n,
                         cache->n_blocks * WEFT_CACHE_BLOCK);
    weft_status st = weft_engine_alive(network->engine);
    if (st || (st = failed(scope)))
        return st;
    return check_tokens(network, step);
}

weft_status weft_forward(const weft_network *network, weft_cache *cache, weft_scope *scope,
                         const weft_step *step, const atomic_bool *cancel, weft_tensor **logits) {
    *logits = NULL;
    weft_status st = check(network, cache, scope, step);
    if (st)
        return st;
    for (int i = 0; i < WEFT_CACHE_N_SCRATCH; i++)
        if ((st = weft_scope_reset(cache->scratch[i])))
            return st;
    pass p = {.n = network, .cache = cache, .step = step};
    pthread_mutex_lock(&network->engine->pass);
    weft_timing timing = weft_timing_begin(network->engine, "step", NULL, 0);
    weft_fpenv saved = weft_fpenv_enter();
    if (!(st = reserve(cache, step)) && !(st = prepare(&p, scope)))
        st = run_layers(&p, scope, cancel, logits);
    if (st) {
        weft_cache_rollback(cache);
        *logits = NULL;
    } else {
        weft_cache_commit(cache);
    }
    weft_fpenv_restore(saved);
    weft_profile_mark(network->engine, "step", -1);
    weft_timing_end(&timing);
    weft_profile_mark(network->engine, "other", -1);
    pthread_mutex_unlock(&network->engine->pass);
    return st;
}
