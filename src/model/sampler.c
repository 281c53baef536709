/* The sampler: its life, the history of the text, and the chain of steps over the candidates. */
#include <math.h>
#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "base/engine_impl.h"
#include "model/sampler_impl.h"

/* The random numbers of XTC are another sequence of the same seed, so that it changes no draw. */
#define XTC_STREAM UINT64_C(0x5854435854435854)

/* ---- Life ---- */

/* Copies of the caller's lists. */
static weft_status copy_lists(weft_sampler *s) {
    const weft_allocator *a = &s->engine->allocator;
    weft_sampler_options *o = &s->options;
    size_t bias = weft_size_of(o->n_logit_bias, sizeof *s->bias);
    size_t breakers = weft_size_of(o->n_dry_breakers, sizeof *s->breakers);
    s->bias = weft_alloc(a, bias);
    s->breakers = weft_alloc(a, breakers);
    if ((o->n_logit_bias && !s->bias) || (o->n_dry_breakers && !s->breakers))
        return weft_fail(WEFT_E_MEMORY, "no memory for a sampler");
    if (s->bias)
        memcpy(s->bias, o->logit_bias, bias);
    if (s->breakers)
        memcpy(s->breakers, o->dry_breakers, breakers);
    o->logit_bias = NULL;
    o->dry_breakers = NULL;
    return WEFT_OK;
}

weft_status weft_sampler_create(weft_engine *engine, const weft_sampler_options *options,
                                weft_sampler **out) {
    if (!engine || !out)
        return weft_fail(WEFT_E_NULL, "weft_sampler_create: an argument is NULL");
    *out = NULL;
    weft_sampler_options o = options ? *options : weft_sampler_options_default();
    weft_status st = weft_sampler_check_options(&o);
    if (!st)
        st = weft_engine_alive(engine);
    if (st)
        return st;
    weft_sampler *s = weft_alloc_zeroed(&engine->allocator, sizeof *s);
    if (!s)
        return weft_fail(WEFT_E_MEMORY, "no memory for a sampler");
    s->engine = weft_engine_retain(engine);
    s->options = o;
    st = weft_sampler_read_chain(s);
    if (!st)
        st = copy_lists(s);
    if (st) {
        weft_sampler_release(&s);
        return st;
    }
    weft_sampler_reset(s);
    *out = s;
    return WEFT_OK;
}

static void free_buffers(weft_sampler *s) {
    const weft_allocator *a = &s->engine->allocator;
    size_t n = s->vocab_room;
    weft_dealloc(a, s->logits, weft_size_of(n, sizeof *s->logits));
    weft_dealloc(a, s->counts, weft_size_of(n, sizeof *s->counts));
    weft_dealloc(a, s->keys, weft_size_of(n, sizeof *s->keys));
    weft_dealloc(a, s->spare, weft_size_of(n, sizeof *s->spare));
    weft_dealloc(a, s->candidates.ids, weft_size_of(n, sizeof *s->candidates.ids));
    weft_dealloc(a, s->candidates.logits, weft_size_of(n, sizeof *s->candidates.logits));
    weft_dealloc(a, s->candidates.p, weft_size_of(n, sizeof *s->candidates.p));
    s->logits = NULL;
    s->counts = NULL;
    s->keys = s->spare = NULL;
    s->candidates = (weft_candidates){0};
    s->vocab_room = 0;
}

void weft_sampler_release(weft_sampler **sampler) {
    weft_sampler *s = sampler ? *sampler : NULL;
    if (!s)
        return;
    weft_engine *engine = s->engine;
    const weft_allocator *a = &engine->allocator;
    *sampler = NULL;
    free_buffers(s);
    weft_dealloc(a, s->history, weft_size_of(s->history_room, sizeof *s->history));
    weft_dealloc(a, s->matches, weft_size_of(s->history_room, sizeof *s->matches));
    weft_dealloc(a, s->bias, weft_size_of(s->options.n_logit_bias, sizeof *s->bias));
    weft_dealloc(a, s->breakers, weft_size_of(s->options.n_dry_breakers, sizeof *s->breakers));
    weft_dealloc(a, s, sizeof *s);
    weft_engine_release(&engine);
}

void weft_sampler_reset(weft_sampler *sampler) {
    if (!sampler)
        return;
    sampler->n_history = 0;
    sampler->n_drawn = 0;
    sampler->mu = 2 * (double)sampler->options.mirostat_tau;
}

void weft_sampler_set_mask(weft_sampler *sampler, weft_mask_fn mask, void *ctx) {
    if (!sampler)
        return;
    sampler->mask = mask;
    sampler->mask_ctx = ctx;
}

/* ---- History ---- */

/* The longest window that a step looks at; SIZE_MAX: all of the text. */
static size_t longest_window(const weft_sampler_options *o) {
    size_t n = 0;
    if (weft_sampler_penalises(o))
        n = o->penalty_last_n < 0 ? SIZE_MAX : (size_t)o->penalty_last_n;
    if (weft_sampler_dries(o)) {
        size_t dry = o->dry_last_n < 0 ? SIZE_MAX : (size_t)o->dry_last_n;
        n = dry > n ? dry : n;
    }
    return n;
}

size_t weft_sampler_window(const weft_sampler *s, int32_t last_n, const int32_t **tokens) {
    size_t n = s->n_history;
    if (last_n >= 0 && (size_t)last_n < n)
        n = (size_t)last_n;
    *tokens = n ? s->history + s->n_history - n : NULL;
    return n;
}

static weft_status grow_history(weft_sampler *s) {
    const weft_allocator *a = &s->engine->allocator;
    size_t old = s->history_room, room = old ? 2 * old : 256;
    size_t bytes = weft_size_of(room, sizeof *s->history);
    int32_t *history = weft_alloc(a, bytes), *matches = weft_alloc(a, bytes);
    if (!history || !matches) {
        weft_dealloc(a, history, bytes);
        weft_dealloc(a, matches, bytes);
        return weft_fail(WEFT_E_MEMORY, "no memory for a history of %zu tokens", room);
    }
    if (old)
        memcpy(history, s->history, old * sizeof *history);
    weft_dealloc(a, s->history, old * sizeof *history);
    weft_dealloc(a, s->matches, old * sizeof *matches);
    s->history = history;
    s->matches = matches;
    s->history_room = room;
    return WEFT_OK;
}

/* With a bounded window the room is twice the window: what slides out is moved away every n tokens.
 */
weft_status weft_sampler_accept(weft_sampler *s, int32_t token) {
    if (!s)
        return weft_fail(WEFT_E_NULL, "weft_sampler_accept: sampler is NULL");
    weft_status status = weft_engine_alive(s->engine);
    size_t window = longest_window(&s->options);
    if (status || window == 0)
        return status;
    if (s->n_history == s->history_room) {
        if (s->n_history / 2 >= window) {
            memmove(s->history, s->history + s->n_history - window, window * sizeof *s->history);
            s->n_history = window;
        } else if ((status = grow_history(s))) {
            return status;
        }
    }
    s->history[s->n_history++] = token;
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
    s->counts = weft_alloc_zeroed(a, weft_size_of(n, sizeof *s->counts));
    s->keys = weft_alloc(a, weft_size_of(n, sizeof *s->keys));
    s->spare = weft_alloc(a, weft_size_of(n, sizeof *s->spare));
    s->candidates.ids = weft_alloc(a, weft_size_of(n, sizeof *s->candidates.ids));
    s->candidates.logits = weft_alloc(a, weft_size_of(n, sizeof *s->candidates.logits));
    s->candidates.p = weft_alloc(a, weft_size_of(n, sizeof *s->candidates.p));
    if (s->logits && s->counts && s->keys && s->spare && s->candidates.ids &&
        s->candidates.logits && s->candidates.p)
        return WEFT_OK;
    free_buffers(s);
    return weft_fail(WEFT_E_MEMORY, "no memory for sampling among %zu tokens", n);
}

/* Fills s->logits: what the mask allows; -inf for all else. */
static void make_dense(weft_sampler *s) {
    for (size_t i = 0; i < s->n_vocab; i++)
        s->logits[i] = isnan(s->given[i]) ? -INFINITY : (double)s->given[i];
    for (size_t w = 0; s->bits && w * 64 < s->n_vocab; w++) {
        size_t end = w * 64 + 64 < s->n_vocab ? w * 64 + 64 : s->n_vocab;
        for (size_t i = w * 64; i < end && s->bits[w] != UINT64_MAX; i++)
            if (!(s->bits[w] >> (i % 64) & 1))
                s->logits[i] = -INFINITY;
    }
    s->dense = true;
}

static weft_status add_bias(weft_sampler *s) {
    if (s->options.n_logit_bias > 0)
        make_dense(s);
    for (size_t i = 0; i < s->options.n_logit_bias; i++) {
        if ((size_t)s->bias[i].token >= s->n_vocab)
            return weft_fail(WEFT_E_RANGE,
                             "logit_bias: token %d is outside of the vocabulary of %zu",
                             s->bias[i].token, s->n_vocab);
        s->logits[s->bias[i].token] += (double)s->bias[i].bias;
    }
    return WEFT_OK;
}

/* The logits are a row until the first step that narrows candidates down, and again for one that
 * changes logits. A row that was not touched stays the caller's. */
static weft_status run_chain(weft_sampler *s) {
    bool gathered = false;
    weft_status st = WEFT_OK;
    for (size_t i = 0; i < s->n_steps && !st; i++) {
        const weft_sample_step *step = &weft_sample_steps[s->steps[i]];
        if (step->is_on && !step->is_on(&s->options))
            continue;
        bool ranks = step->apply == weft_sample_top_k;
        if (step->on_logits && gathered)
            weft_candidates_scatter(s);
        else if (step->on_logits && !s->dense)
            make_dense(s);
        else if (!step->on_logits && !gathered)
            st = weft_candidates_gather(s, ranks ? (size_t)s->options.top_k : SIZE_MAX);
        gathered = !step->on_logits;
        if (!st)
            step->apply(s);
    }
    return st || gathered ? st : weft_candidates_gather(s, SIZE_MAX);
}

static weft_status choose(weft_sampler *s, const float *logits, const uint64_t *bits, double u,
                          int32_t *token) {
    s->given = logits;
    s->bits = bits;
    s->dense = false;
    weft_status st = add_bias(s);
    if (!st)
        st = run_chain(s);
    if (st)
        return st;
    size_t i = weft_sample_draw(s, u);
    if (s->options.mirostat)
        weft_sample_mirostat_learn(s, i);
    *token = s->candidates.ids[i];
    return WEFT_OK;
}

static weft_status ask_mask(const weft_sampler *s, size_t n_vocab, const uint64_t **bits) {
    *bits = NULL;
    return s->mask ? s->mask(s->mask_ctx, n_vocab, bits) : WEFT_OK;
}

weft_status weft_sampler_choose_with(weft_sampler *s, const float *logits, size_t n_vocab, double u,
                                     double u_xtc, int32_t *token) {
    const uint64_t *bits;
    weft_status st = grow(s, n_vocab);
    if (!st)
        st = ask_mask(s, n_vocab, &bits);
    if (st)
        return st;
    s->n_vocab = n_vocab;
    s->u_xtc = u_xtc;
    return choose(s, logits, bits, u, token);
}

/* Greedy without a change of logits, the usual case of checks: no copy, no sorting. */
static weft_status choose_first(const weft_sampler *s, const float *logits, size_t n_vocab,
                                int32_t *token) {
    const uint64_t *bits;
    weft_status st = ask_mask(s, n_vocab, &bits);
    if (st)
        return st;
    size_t best = n_vocab;
    for (size_t i = 0; i < n_vocab; i++)
        if (logits[i] > (best < n_vocab ? logits[best] : -INFINITY) &&
            (!bits || bits[i / 64] >> (i % 64) & 1))
            best = i;
    if (best == n_vocab)
        return weft_fail(WEFT_E_NO_CANDIDATES, "all %zu logits are -inf, NaN or masked", n_vocab);
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
    if (weft_sampler_is_greedy(s))
        return choose_first(s, logits, n_vocab, token);
    uint64_t seed = s->options.seed;
    st = weft_sampler_choose_with(s, logits, n_vocab, weft_random_unit(seed, s->n_drawn),
                                  weft_random_unit(seed ^ XTC_STREAM, s->n_drawn), token);
    if (!st)
        s->n_drawn++;
    return st;
}
