/* A step: checks, reserving in the cache, the rows' places and rope, then the layers (forward.c),
 * and commit or rollback. */
#include <math.h>
#include <string.h>
#include "base/detail.h"
#include "base/floats.h"
#include "model/exact.h"
#include "model/pass.h"
#include "model/unpacked.h"
#include "tensor/impl.h"
#include "tensor/profile.h"

static weft_status failed(const weft_scope *s) {
    return weft_scope_status(s) ? weft_fail(weft_scope_status(s), "%s", weft_scope_detail(s))
                                : WEFT_OK;
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

/* The rows of each sequence, for layers with a state. */
static bool find_runs(weft_pass *p, weft_scope *scope) {
    const weft_step *step = p->step;
    p->runs = weft_scope_scratch(scope, "forward", step->n * sizeof *p->runs);
    for (size_t i = 0; i < step->n && p->runs; i++) {
        if (i == 0 || step->sequences[i - 1] != step->sequences[i])
            p->runs[p->n_runs++] =
                (weft_state_run){i, 0, weft_cache_state_slot(p->cache, step->sequences[i])};
        p->runs[p->n_runs - 1].n++;
    }
    return p->runs != NULL;
}

/* In an encoder every row sees what its text's last one does; in window layers the rows that are
 * less than a window away on either side. */
static bool see_whole_texts(weft_pass *p, weft_scope *scope) {
    const weft_step *step = p->step;
    int32_t reach = p->n->h.window - 1;
    if (p->n->h.window > 0) {
        p->near_rows = weft_scope_scratch(scope, "forward", step->n * sizeof *p->near_rows);
        p->near_firsts = weft_scope_scratch(scope, "forward", step->n * sizeof *p->near_firsts);
        if (!p->near_rows || !p->near_firsts)
            return false;
    }
    for (size_t i = step->n; i-- > 0;) {
        int32_t own = p->rows[i].position;
        if (i + 1 < step->n && step->sequences[i] == step->sequences[i + 1])
            p->rows[i].position = p->rows[i + 1].position;
        if (!p->near_rows)
            continue;
        int32_t last = p->rows[i].position;
        p->near_rows[i].blocks = p->rows[i].blocks;
        p->near_rows[i].position = last - own > reach ? own + reach : last;
        p->near_firsts[i] = own > reach ? own - reach : 0;
    }
    return true;
}

/* Queries of later positions are weighed more, in steps (Nakanishi 2025). */
static bool weigh_queries(weft_pass *p, weft_scope *scope) {
    const weft_hparams *h = &p->n->h;
    size_t n = p->step->n;
    int64_t dims[3] = {(int64_t)n, 1, 1};
    if (h->q_growth == 0)
        return true;
    float *weights = weft_scope_scratch(scope, "forward", n * sizeof *weights);
    for (size_t i = 0; i < n && weights; i++) {
        double steps = floor(p->rows[i].position / h->q_growth_step);
        weights[i] = (float)(1 + (double)h->q_growth * weft_exact_log(1 + steps));
    }
    if (weights)
        p->q_weights = weft_from_data(scope, WEFT_F32, 3, dims, weights, n * sizeof *weights);
    return p->q_weights != NULL;
}

/* Places and rope rows of the step's rows, in the caller's arena. */
static weft_status prepare(weft_pass *p, weft_scope *scope) {
    const weft_network *n = p->n;
    const weft_step *step = p->step;
    p->rows = weft_scope_scratch(scope, "forward", step->n * sizeof *p->rows);
    int32_t *ids = weft_scope_scratch(scope, "forward", step->n * sizeof *ids);
    const double **frequencies =
        weft_scope_scratch(scope, "forward", step->n * sizeof *frequencies);
    if (!p->rows || !ids || !frequencies)
        return failed(scope);
    for (size_t i = 0; i < step->n; i++) {
        int32_t sequence = step->sequences[i];
        bool first = i == 0 || step->sequences[i - 1] != sequence;
        p->rows[i].blocks = weft_cache_blocks(p->cache, sequence);
        p->rows[i].position =
            first ? weft_cache_length(p->cache, sequence) : p->rows[i - 1].position + 1;
        ids[i] = p->rows[i].position + n->h.first_position;
    }
    if (!weigh_queries(p, scope))
        return failed(scope);
    if (n->arch->bidirectional && !see_whole_texts(p, scope))
        return failed(scope);
    if (weft_cache_has_states(p->cache) && !find_runs(p, scope))
        return failed(scope);
    int64_t n_rows[1] = {(int64_t)step->n};
    p->positions = weft_from_data(scope, WEFT_I32, 1, n_rows, ids, step->n * sizeof *ids);
    const weft_rope_rule *rules[WEFT_ROPES] = {&n->h.rope, &n->h.rope_local};
    for (int i = 0; i < WEFT_ROPES; i++) {
        if (rules[i]->n_rot == 0 || (i > 0 && !n->h.window))
            continue;
        for (size_t t = 0; t < step->n; t++)
            frequencies[t] =
                weft_network_frequencies(n, i, p->cache->sequences[step->sequences[t]].longer);
        weft_rope_rows(scope, frequencies, rules[i]->n_rot, rules[i]->magnitude, ids, step->n,
                       &p->cosines[i], &p->sines[i]);
    }
    p->row_ids = weft_arange(scope, WEFT_I32, (int64_t)step->n, 0, 1);
    int64_t n_wanted[1] = {0};
    for (size_t i = 0; i < step->n; i++)
        if (wants(step, i))
            ids[n_wanted[0]++] = (int32_t)i;
    p->wanted_ids = ids;
    p->n_wanted = (size_t)n_wanted[0];
    if (n_wanted[0])
        p->wanted =
            weft_from_data(scope, WEFT_I32, 1, n_wanted, ids, (size_t)n_wanted[0] * sizeof *ids);
    return failed(scope);
}

/* Models without an output matrix have no logits; encoders see whole texts. */
static weft_status check_kind(const weft_network *n, const weft_cache *cache,
                              const weft_step *step) {
    if (!step->hidden && !n->globals.output)
        return weft_fail(WEFT_E_UNSUPPORTED, "this %s gives hidden states, no logits",
                         n->arch->name);
    for (size_t i = 0; n->arch->bidirectional && i < step->n; i++)
        if (weft_cache_length(cache, step->sequences[i]) > 0)
            return weft_fail(WEFT_E_ARGUMENT, "%s is an encoder: a text must be evaluated whole",
                             n->arch->name);
    return WEFT_OK;
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
    st = check_tokens(network, step);
    return st ? st : check_kind(network, cache, step);
}

weft_status weft_forward(const weft_network *network, weft_cache *cache, weft_scope *scope,
                         const weft_step *step, const atomic_bool *cancel, weft_tensor **out) {
    *out = NULL;
    weft_status st = check(network, cache, scope, step);
    if (st)
        return st;
    for (int i = 0; i < WEFT_CACHE_N_SCRATCH; i++)
        if ((st = weft_scope_reset(cache->scratch[i])))
            return st;
    weft_pass p = {.n = network, .cache = cache, .step = step};
    pthread_mutex_lock(&network->engine->pass);
    weft_engine_limit(network->engine, step->n);
    weft_timing timing = weft_timing_begin(network->engine, "step", NULL, 0);
    weft_fpenv saved = weft_fpenv_enter();
    if (!(st = weft_unpacked_step(network)) && !(st = reserve(cache, step)) &&
        !(st = prepare(&p, scope)))
        st = weft_pass_run(&p, scope, cancel, out);
    if (!st && p.wanted)
        weft_unpacked_answered(network);
    if (st) {
        weft_cache_rollback(cache);
        *out = NULL;
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
