/* The sampler: history, the sorted candidates, and the chain of steps over them. Arithmetic is in
 * double with our own exponential, so that a seed gives the same tokens on every machine. */
#include <math.h>
#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "base/engine_impl.h"
#include "model/exact.h"
#include "model/sampler_impl.h"

weft_sampler_options weft_sampler_options_default(void) {
    return (weft_sampler_options){.temperature = 0.8f,
                                  .top_k = 40,
                                  .top_p = 0.95f,
                                  .min_p = 0.05f,
                                  .repeat_penalty = 1.0f,
                                  .penalty_last_n = 64,
                                  .seed = 0};
}

weft_status weft_sampler_create(weft_engine *engine, const weft_sampler_options *options,
                                weft_sampler **out) {
    if (!engine || !out)
        return weft_fail(WEFT_E_NULL, "weft_sampler_create: an argument is NULL");
    *out = NULL;
    weft_sampler_options o = options ? *options : weft_sampler_options_default();
    if (isnan(o.temperature) || isnan(o.top_p) || isnan(o.min_p))
        return weft_fail(WEFT_E_ARGUMENT, "%s is not a number",
                         isnan(o.temperature) ? "temperature"
                         : isnan(o.top_p)     ? "top_p"
                                              : "min_p");
    if (!(o.repeat_penalty > 0) || isinf(o.repeat_penalty))
        return weft_fail(WEFT_E_ARGUMENT, "repeat_penalty: %g is not a positive number",
                         (double)o.repeat_penalty);
    weft_status st = weft_engine_alive(engine);
    if (st)
        return st;
    weft_sampler *s = weft_alloc_zeroed(&engine->allocator, sizeof *s);
    if (!s)
        return weft_fail(WEFT_E_MEMORY, "no memory for a sampler");
    s->engine = weft_engine_retain(engine);
    s->options = o;
    *out = s;
    return WEFT_OK;
}

static void free_buffers(weft_sampler *s) {
    const weft_allocator *a = &s->engine->allocator;
    size_t n = s->vocab_room;
    weft_dealloc(a, s->logits, weft_size_of(n, sizeof *s->logits));
    weft_dealloc(a, s->seen, n);
    weft_dealloc(a, s->keys, weft_size_of(n, sizeof *s->keys));
    weft_dealloc(a, s->spare, weft_size_of(n, sizeof *s->spare));
    weft_dealloc(a, s->candidates.ids, weft_size_of(n, sizeof *s->candidates.ids));
    weft_dealloc(a, s->candidates.logits, weft_size_of(n, sizeof *s->candidates.logits));
    weft_dealloc(a, s->candidates.p, weft_size_of(n, sizeof *s->candidates.p));
    s->logits = NULL;
    s->seen = NULL;
    s->keys = s->spare = NULL;
    s->candidates = (weft_candidates){NULL, NULL, NULL, 0};
    s->vocab_room = 0;
}

void weft_sampler_release(weft_sampler **sampler) {
    weft_sampler *s = sampler ? *sampler : NULL;
    if (!s)
        return;
    weft_engine *engine = s->engine;
    *sampler = NULL;
    free_buffers(s);
    weft_dealloc(&engine->allocator, s->history, weft_size_of(s->history_room, sizeof *s->history));
    weft_dealloc(&engine->allocator, s, sizeof *s);
    weft_engine_release(&engine);
}

void weft_sampler_reset(weft_sampler *sampler) {
    if (!sampler)
        return;
    sampler->n_history = 0;
    sampler->n_drawn = 0;
}

/* ---- History ---- */

/* With a bounded window the room is twice the window: what slides out is moved away every n tokens.
 */
weft_status weft_sampler_accept(weft_sampler *s, int32_t token) {
    if (!s)
        return weft_fail(WEFT_E_NULL, "weft_sampler_accept: sampler is NULL");
    weft_status status = weft_engine_alive(s->engine);
    if (status)
        return status;
    int32_t last_n = s->options.penalty_last_n;
    if (last_n == 0 || s->options.repeat_penalty == 1)
        return WEFT_OK;
    if (s->n_history == s->history_room) {
        if (last_n > 0 && s->n_history >= 2 * (size_t)last_n) {
            memmove(s->history, s->history + s->n_history - (size_t)last_n,
                    (size_t)last_n * sizeof *s->history);
            s->n_history = (size_t)last_n;
        } else {
            size_t room = s->history_room ? 2 * s->history_room : 256;
            int32_t *grown =
                weft_realloc(&s->engine->allocator, s->history, s->history_room * sizeof *grown,
                             weft_size_of(room, sizeof *grown));
            if (!grown)
                return weft_fail(WEFT_E_MEMORY, "no memory for a history of %zu tokens", room);
            s->history = grown;
            s->history_room = room;
        }
    }
    s->history[s->n_history++] = token;
    return WEFT_OK;
}

static void penalise(weft_sampler *s, size_t n_vocab) {
    size_t n = s->n_history, last_n = (size_t)s->options.penalty_last_n;
    if (s->options.penalty_last_n == 0 || s->options.repeat_penalty == 1)
        return;
    if (s->options.penalty_last_n > 0 && n > last_n)
        n = last_n;
    weft_sample_penalty(s->logits, n_vocab, s->history + s->n_history - n, n,
                        s->options.repeat_penalty, s->seen);
}

/* ---- Candidates ---- */

void weft_candidates_softmax(weft_candidates *c) {
    double top = c->logits[0], sum = 0;
    for (size_t i = 0; i < c->n; i++) {
        c->p[i] = isinf(top) ? (isinf(c->logits[i]) && c->logits[i] > 0 ? 1.0 : 0.0)
                             : weft_exact_exp(c->logits[i] - top);
        sum += c->p[i];
    }
    for (size_t i = 0; i < c->n; i++)
        c->p[i] /= sum;
}

/* Descending order of keys is descending order of floats. */
static uint32_t float_key(float f) {
    uint32_t u;
    if (f == 0)
        f = 0; /* -0 and +0 tie */
    memcpy(&u, &f, sizeof u);
    return u & 0x80000000u ? ~u : u | 0x80000000u;
}

/* Sorts the upper 32 bits of keys in descending order, 11 bits at a time; equal ones keep their
 * order. The result may stand in either array. */
static uint64_t *sort_keys(uint64_t *keys, uint64_t *spare, size_t n) {
    size_t count[2048];
    for (int shift = 32; shift < 64; shift += 11) {
        memset(count, 0, sizeof count);
        for (size_t i = 0; i < n; i++)
            count[2047 - ((keys[i] >> shift) & 2047)]++;
        size_t at = 0;
        for (size_t b = 0; b < 2048; b++) {
            size_t here = count[b];
            count[b] = at;
            at += here;
        }
        for (size_t i = 0; i < n; i++)
            spare[count[2047 - ((keys[i] >> shift) & 2047)]++] = keys[i];
        uint64_t *swap = keys;
        keys = spare;
        spare = swap;
    }
    return keys;
}

/* For a top-k far smaller than the vocabulary: only keys that can be among the first k are sorted.
 * The threshold is found by counting the upper 11 bits. */
static size_t drop_hopeless(uint64_t *keys, size_t n, size_t k) {
    size_t count[2048] = {0}, above = 0, b = 2047;
    for (size_t i = 0; i < n; i++)
        count[keys[i] >> 53]++;
    for (;; b--) {
        above += count[b];
        if (above >= k || b == 0)
            break;
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (keys[i] >> 53 >= b)
            keys[kept++] = keys[i];
    return kept;
}

/* Keys are made of floats: the penalty may give doubles between two floats, whose order is then
 * settled by insertion among equal keys' neighbours. */
static void settle(weft_candidates *c) {
    for (size_t i = 1; i < c->n; i++) {
        double l = c->logits[i];
        int32_t id = c->ids[i];
        size_t j = i;
        for (; j > 0 && (c->logits[j - 1] < l || (c->logits[j - 1] == l && c->ids[j - 1] > id));
             j--) {
            c->logits[j] = c->logits[j - 1];
            c->ids[j] = c->ids[j - 1];
        }
        c->logits[j] = l;
        c->ids[j] = id;
    }
}

static weft_status sort_candidates(weft_sampler *s, size_t n_vocab) {
    weft_candidates *c = &s->candidates;
    size_t n = 0;
    for (size_t i = 0; i < n_vocab; i++)
        if (s->logits[i] > -INFINITY) /* false for NaN */
            s->keys[n++] = (uint64_t)float_key((float)s->logits[i]) << 32 | i;
    if (n == 0)
        return weft_fail(WEFT_E_NO_CANDIDATES, "all %zu logits are -inf or NaN", n_vocab);
    if (s->options.top_k > 0 && (size_t)s->options.top_k < n)
        n = drop_hopeless(s->keys, n, (size_t)s->options.top_k);
    const uint64_t *sorted = sort_keys(s->keys, s->spare, n);
    for (size_t i = 0; i < n; i++) {
        c->ids[i] = (int32_t)(uint32_t)sorted[i];
        c->logits[i] = s->logits[c->ids[i]];
    }
    c->n = n;
    settle(c);
    return WEFT_OK;
}

/* ---- Choosing ---- */

static weft_status grow(weft_sampler *s, size_t n) {
    const weft_allocator *a = &s->engine->allocator;
    if (n <= s->vocab_room)
        return WEFT_OK;
    free_buffers(s);
    s->vocab_room = n;
    s->logits = weft_alloc(a, weft_size_of(n, sizeof *s->logits));
    s->seen = weft_alloc_zeroed(a, n);
    s->keys = weft_alloc(a, weft_size_of(n, sizeof *s->keys));
    s->spare = weft_alloc(a, weft_size_of(n, sizeof *s->spare));
    s->candidates.ids = weft_alloc(a, weft_size_of(n, sizeof *s->candidates.ids));
    s->candidates.logits = weft_alloc(a, weft_size_of(n, sizeof *s->candidates.logits));
    s->candidates.p = weft_alloc(a, weft_size_of(n, sizeof *s->candidates.p));
    if (s->logits && s->seen && s->keys && s->spare && s->candidates.ids && s->candidates.logits &&
        s->candidates.p)
        return WEFT_OK;
    free_buffers(s);
    return weft_fail(WEFT_E_MEMORY, "no memory for sampling among %zu tokens", n);
}

weft_status weft_sampler_choose_with(weft_sampler *s, const float *logits, size_t n_vocab, double u,
                                     int32_t *token) {
    weft_status st = grow(s, n_vocab);
    if (st)
        return st;
    const weft_sampler_options *o = &s->options;
    for (size_t i = 0; i < n_vocab; i++)
        s->logits[i] = (double)logits[i];
    penalise(s, n_vocab);
    if ((st = sort_candidates(s, n_vocab)))
        return st;
    weft_candidates *c = &s->candidates;
    weft_sample_top_k(c, o->top_k);
    weft_sample_top_p(c, o->top_p);
    weft_sample_min_p(c, o->min_p);
    weft_sample_temperature(c, o->temperature);
    *token = c->ids[weft_sample_draw(c, u)];
    return WEFT_OK;
}

/* Greedy without a penalty, the usual case of checks: no copy, no sorting. */
static weft_status choose_first(const float *logits, size_t n_vocab, int32_t *token) {
    size_t best = n_vocab;
    for (size_t i = 0; i < n_vocab; i++)
        if (logits[i] > (best < n_vocab ? logits[best] : -INFINITY))
            best = i;
    if (best == n_vocab)
        return weft_fail(WEFT_E_NO_CANDIDATES, "all %zu logits are -inf or NaN", n_vocab);
    *token = (int32_t)best;
    return WEFT_OK;
}

weft_status weft_sampler_choose(weft_sampler *s, const float *logits, size_t n_vocab,
                                int32_t *token) {
    if (!s || !logits || !token)
        return weft_fail(WEFT_E_NULL, "weft_sampler_choose: an argument is NULL");
    if (n_vocab < 1 || n_vocab > INT32_MAX)
        return weft_fail(WEFT_E_ARGUMENT, "n_vocab: %zu is outside of [1, 2^31)", n_vocab);
    weft_status st = weft_engine_alive(s->engine);
    if (st)
        return st;
    const weft_sampler_options *o = &s->options;
    if (o->temperature <= 0 && (o->repeat_penalty == 1 || o->penalty_last_n == 0))
        return choose_first(logits, n_vocab, token);
    st = weft_sampler_choose_with(s, logits, n_vocab, weft_random_unit(o->seed, s->n_drawn), token);
    if (!st)
        s->n_drawn++;
    return st;
}
