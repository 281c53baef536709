/* The generator: makes a session's text equal to a prompt, reusing what the cache shares with it,
 * then chooses, shows and evaluates one token after the other. */
#include "engine/constrain.h"
#include "engine/impl.h"
#include "engine/speculate.h"
#include "engine/stops.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/detail.h"
#include "model/sampler_impl.h"

#include <math.h>
#include <string.h>

#define KEEP_DEFAULT WEFT_CACHE_BLOCK
#define REPLACED_BYTES 3 /* U+FFFD, for a byte that cannot be UTF-8 */
#define FINISH_BYTES 24
#define TOP_MAX 1000

typedef struct generation {
    weft_session *session;
    weft_sampler *sampler;
    const weft_tokenizer *tokenizer; /* NULL: ids only */
    weft_generate_options options;
    weft_text_fn on_text;
    void *ctx;
    weft_constraint constraint;
    weft_speculator speculator;
    weft_logprob *top; /* [n_top] */
    weft_detok detok;
    weft_stops stops;
    char *piece; /* [room] of the detokeniser */
    size_t room;
    int32_t *scratch; /* [n_context] for a shifted text; NULL without context_shift */
    weft_generate_result result;
    bool over;
} generation;

weft_generate_options weft_generate_options_default(void) {
    weft_generate_options options = {.max_tokens = -1, .n_keep = KEEP_DEFAULT};
    return options;
}

static weft_status check(const weft_session *s, const int32_t *prompt, size_t n_prompt,
                         const weft_generate_options *o) {
    if (n_prompt == 0)
        return weft_fail(WEFT_E_ARGUMENT, "weft_generate: the prompt has no tokens");
    if (o->n_stops > 0 && !o->stops)
        return weft_fail(WEFT_E_NULL, "weft_generate: stops is NULL, n_stops is %zu", o->n_stops);
    if (o->n_stops > 0 && !s->model->tokenizer)
        return weft_fail(WEFT_E_ARGUMENT,
                         "weft_generate: stop strings need a model with a tokeniser");
    if (o->n_keep < 0 || o->n_top < 0 || o->n_top > TOP_MAX)
        return weft_fail(WEFT_E_ARGUMENT, "weft_generate: n_keep is %d, n_top is %d", o->n_keep,
                         o->n_top);
    if (o->n_stop_tokens > 0 && !o->stop_tokens)
        return weft_fail(WEFT_E_NULL, "weft_generate: stop_tokens is NULL, n_stop_tokens is %zu",
                         o->n_stop_tokens);
    if (o->grammar && !s->model->tokenizer)
        return weft_fail(WEFT_E_ARGUMENT,
                         "weft_generate: a grammar needs a model with a tokeniser");
    if (n_prompt > (size_t)s->n_context && !o->context_shift)
        return weft_fail(WEFT_E_CACHE_FULL,
                         "the prompt of %zu tokens does not fit into a context of %d", n_prompt,
                         s->n_context);
    if (n_prompt > INT32_MAX)
        return weft_fail(WEFT_E_RANGE, "weft_generate: a prompt of %zu tokens", n_prompt);
    return weft_session_check_ids(s, prompt, n_prompt);
}

/* Rows of the output beyond the tokeniser's ids have no meaning. */
static size_t n_choices(const generation *g) {
    size_t n = (size_t)g->session->n_vocab;
    size_t known = g->tokenizer ? (size_t)weft_tokenizer_n_tokens(g->tokenizer) : n;
    return known < n ? known : n;
}

/* What chooses: masks, guesses, the sampler's own mask within ours. */
static weft_status begin_choosing(generation *g, const weft_allocator *a) {
    weft_status status =
        weft_constraint_init(&g->constraint, a, g->tokenizer, &g->options, n_choices(g));
    if (!status)
        status = weft_speculator_init(&g->speculator, g->session, &g->options);
    if (!status && g->options.n_top > 0) {
        g->top = weft_alloc(a, weft_size_of((size_t)g->options.n_top, sizeof *g->top));
        if (!g->top)
            status = weft_fail(WEFT_E_MEMORY, "weft_generate: out of memory");
    }
    if (!status && g->sampler) {
        g->constraint.outer = g->sampler->mask;
        g->constraint.outer_ctx = g->sampler->mask_ctx;
        weft_sampler_set_mask(g->sampler, weft_constraint_mask, &g->constraint);
    }
    return status;
}

static weft_status begin(generation *g) {
    const weft_allocator *a = &g->session->model->engine->allocator;
    size_t longest = g->session->model->max_piece_bytes;
    if (!weft_mul_size(longest, REPLACED_BYTES, &g->room) ||
        !weft_add_size(g->room, FINISH_BYTES, &g->room))
        return weft_fail(WEFT_E_OVERFLOW, "weft_generate: a token of %zu bytes", longest);
    weft_status status =
        weft_stops_init(&g->stops, a, g->options.stops, g->options.n_stops, g->room);
    if (status)
        return status;
    g->piece = weft_alloc(a, g->room);
    bool shifts = g->options.context_shift;
    if (shifts)
        g->scratch = weft_alloc(a, (size_t)g->session->n_context * sizeof *g->scratch);
    if (!g->piece || (shifts && !g->scratch))
        return weft_fail(WEFT_E_MEMORY, "weft_generate: out of memory");
    return begin_choosing(g, a);
}

static void end(generation *g) {
    const weft_allocator *a = &g->session->model->engine->allocator;
    if (g->sampler && g->sampler->mask == weft_constraint_mask &&
        g->sampler->mask_ctx == &g->constraint)
        weft_sampler_set_mask(g->sampler, g->constraint.outer, g->constraint.outer_ctx);
    weft_constraint_free(&g->constraint);
    if (g->speculator.session)
        weft_speculator_free(&g->speculator);
    weft_dealloc(a, g->top, g->top ? (size_t)g->options.n_top * sizeof *g->top : 0);
    weft_stops_free(&g->stops);
    weft_dealloc(a, g->piece, g->room);
    weft_dealloc(a, g->scratch, (size_t)g->session->n_context * sizeof *g->scratch);
}

static void stop(generation *g, weft_stop_reason reason) {
    g->result.reason = reason;
    g->over = true;
}

/* ---- Context shift ---- */

/* Of a text of `n` tokens that does not fit, the kept front and the newest stay, so that half of
 * the rest of the context is free again. Gives the length of the tail. */
static int32_t shifted_tail(const generation *g, size_t n, int32_t *keep) {
    int32_t context = g->session->n_context;
    *keep = g->options.n_keep < context / 2 ? g->options.n_keep : context / 2;
    int32_t tail = (context - *keep) / 2;
    tail = tail > 0 ? tail : 1;
    return (size_t)tail < n - (size_t)*keep ? tail : (int32_t)(n - (size_t)*keep);
}

/* The text in the session, plus `token`, with its oldest part dropped: what stays is evaluated
 * anew. */
static weft_status shift(generation *g, int32_t token) {
    weft_session *s = g->session;
    int32_t keep, tail = shifted_tail(g, (size_t)s->n_past + 1, &keep);
    memcpy(g->scratch, s->tokens + s->n_past + 1 - tail, (size_t)(tail - 1) * sizeof token);
    g->scratch[tail - 1] = token;
    weft_status status = weft_session_truncate(s, keep, NULL);
    return status ? status : weft_session_eval(s, g->scratch, (size_t)tail);
}

/* ---- The prompt ---- */

static size_t common_prefix(const weft_session *s, const int32_t *prompt, size_t n) {
    size_t i = 0;
    while (i < n && i < (size_t)s->n_past && s->tokens[i] == prompt[i])
        i++;
    return i;
}

/* Makes the session's text equal to the prompt, with logits for what follows. */
static weft_status take_prompt(generation *g, const int32_t *prompt, size_t n) {
    weft_session *s = g->session;
    if (n > (size_t)s->n_context) {
        int32_t keep, tail = shifted_tail(g, n, &keep);
        memcpy(g->scratch, prompt, (size_t)keep * sizeof *prompt);
        memcpy(g->scratch + keep, prompt + n - (size_t)tail, (size_t)tail * sizeof *prompt);
        prompt = g->scratch;
        n = (size_t)keep + (size_t)tail;
    }
    bool states = weft_cache_has_states(s->cache);
    size_t same = common_prefix(s, prompt, n);
    if (same == n && !(s->has_logits && (size_t)s->n_past == n))
        same = n - 1; /* the last one is evaluated again, for its logits */
    int32_t from = (int32_t)same;
    weft_status status = weft_session_truncate(s, from, &from);
    g->result.n_cached = from;
    /* Where going back needs a snapshot, the last token is a step of its own: the same prompt,
     * asked again, then finds all but that one. */
    if (!status && states && (size_t)from + 1 < n) {
        status = weft_session_eval(s, prompt + from, n - 1 - (size_t)from);
        from = (int32_t)n - 1;
        weft_cache_mark(s->cache, s->sequence);
    }
    if (!status && (size_t)from < n)
        status = weft_session_eval(s, prompt + from, n - (size_t)from);
    return status;
}

/* ---- One token ---- */

static weft_status greedy(generation *g, const float *logits, size_t n, int32_t *token) {
    const uint64_t *bits;
    weft_status status = weft_constraint_mask(&g->constraint, n, &bits);
    if (status)
        return status;
    float best = -INFINITY;
    *token = -1;
    for (size_t i = 0; i < n; i++)
        if (logits[i] > best && (!bits || bits[i / 64] >> (i % 64) & 1)) {
            best = logits[i]; /* not for NaN; ties stay with the lowest id */
            *token = (int32_t)i;
        }
    return *token < 0 ? weft_fail(WEFT_E_NO_CANDIDATES, "no logit is a number above -inf")
                      : WEFT_OK;
}

/* Tells of a token, before its text. */
static weft_status tell(generation *g, const float *logits, size_t n, int32_t token) {
    weft_token_info info = {.token = token, .top = g->top, .text = ""};
    weft_status status = weft_logprobs(logits, n, token, &info.logprob, g->top,
                                       (size_t)g->options.n_top, &info.n_top);
    if (status)
        return status;
    if (g->tokenizer)
        weft_token_bytes(g->tokenizer, token, true, &info.text, &info.n_bytes);
    g->options.on_token(g->ctx, &info);
    return WEFT_OK;
}

static weft_status choose(generation *g, int32_t *token) {
    size_t n = n_choices(g);
    const float *logits = weft_speculator_logits(&g->speculator);
    weft_status status = g->sampler ? weft_sampler_choose(g->sampler, logits, n, token)
                                    : greedy(g, logits, n, token);
    if (!status && g->sampler)
        status = weft_sampler_accept(g->sampler, *token);
    if (!status)
        status = weft_constraint_accept(&g->constraint, *token);
    if (!status && g->options.on_token)
        status = tell(g, logits, n, *token);
    return status;
}

/* Text of the detokeniser through the stop strings to the callback. */
static void show(generation *g, int32_t token, size_t n_bytes) {
    const char *text;
    size_t n;
    bool found = weft_stops_push(&g->stops, g->piece, n_bytes, &text, &n);
    if (found)
        stop(g, WEFT_STOP_STRING);
    if ((n > 0 || token >= 0) && g->on_text && !g->on_text(g->ctx, token, text, n) && !found)
        stop(g, WEFT_STOP_CALLBACK);
}

static void show_token(generation *g, int32_t token) {
    size_t n = 0;
    if (g->tokenizer)
        n = weft_detok_next(g->tokenizer, &g->detok, token, g->options.show_special, true, g->piece,
                            g->room);
    show(g, token, n);
}

/* Releases what detokeniser and stop strings hold back. */
static void show_rest(generation *g) {
    if (g->result.reason == WEFT_STOP_STRING || g->result.reason == WEFT_STOP_CALLBACK)
        return;
    size_t n = weft_detok_finish(&g->detok, true, g->piece, g->room);
    if (n > 0)
        show(g, -1, n);
    if (g->result.reason == WEFT_STOP_STRING || g->result.reason == WEFT_STOP_CALLBACK)
        return;
    const char *text;
    weft_stops_finish(&g->stops, &text, &n);
    if (n > 0 && g->on_text)
        g->on_text(g->ctx, -1, text, n);
}

static bool is_end(const generation *g, int32_t token) {
    return g->tokenizer && !g->options.ignore_eos && weft_tokenizer_is_eog(g->tokenizer, token);
}

/* Puts the chosen token into the cache, for the logits of the next. */
static weft_status evaluate(generation *g, int32_t token) {
    weft_status status = weft_speculator_advance(&g->speculator, token);
    if (status == WEFT_E_CACHE_FULL && g->scratch && g->session->n_past == g->session->n_context)
        status = shift(g, token);
    if (status == WEFT_E_CACHE_FULL || status == WEFT_E_CANCELLED) {
        stop(g, status == WEFT_E_CANCELLED ? WEFT_STOP_CANCELLED : WEFT_STOP_CONTEXT);
        status = WEFT_OK;
    }
    return status;
}

static weft_status one_token(generation *g) {
    if (weft_session_take_cancel(g->session)) {
        stop(g, WEFT_STOP_CANCELLED);
        return WEFT_OK;
    }
    if (weft_constraint_is_over(&g->constraint)) {
        stop(g, WEFT_STOP_END);
        return WEFT_OK;
    }
    int32_t token;
    weft_status status = choose(g, &token);
    if (status)
        return status;
    if (is_end(g, token) || weft_constraint_stops(&g->constraint, token)) {
        stop(g, is_end(g, token) ? WEFT_STOP_END : WEFT_STOP_TOKEN);
        return WEFT_OK;
    }
    g->result.n_generated++;
    show_token(g, token);
    bool enough = g->options.max_tokens >= 0 && g->result.n_generated >= g->options.max_tokens;
    if (!g->over && enough)
        stop(g, WEFT_STOP_LENGTH);
    return g->over ? WEFT_OK : evaluate(g, token);
}

static weft_status generate(generation *g, const int32_t *prompt, size_t n_prompt) {
    double start = weft_clock_seconds();
    weft_status status = take_prompt(g, prompt, n_prompt);
    for (size_t i = 0; g->sampler && !status && i < n_prompt; i++)
        status = weft_sampler_accept(g->sampler, prompt[i]);
    double first = weft_clock_seconds();
    g->result.prompt_seconds = first - start;
    if (status == WEFT_E_CANCELLED) {
        stop(g, WEFT_STOP_CANCELLED);
        return WEFT_OK;
    }
    if (!status && g->options.max_tokens == 0)
        stop(g, WEFT_STOP_LENGTH);
    while (!status && !g->over)
        status = one_token(g);
    weft_status settled = weft_speculator_settle(&g->speculator);
    status = status ? status : settled;
    g->result.generate_seconds = weft_clock_seconds() - first;
    g->result.n_guessed = g->speculator.n_guessed;
    g->result.n_right = g->speculator.n_right;
    g->result.grammar_seconds = g->constraint.seconds;
    if (!status)
        show_rest(g);
    return status;
}

weft_status weft_generate(weft_session *session, const int32_t *prompt, size_t n_prompt,
                          weft_sampler *sampler, const weft_generate_options *options,
                          weft_text_fn on_text, void *ctx, weft_generate_result *result) {
    if (!session || (!prompt && n_prompt > 0))
        return weft_fail(WEFT_E_NULL, "weft_generate: session and prompt are required");
    generation g = {
        .session = session,
        .sampler = sampler,
        .tokenizer = session->model->tokenizer,
        .options = options ? *options : weft_generate_options_default(),
        .on_text = on_text,
        .ctx = ctx,
        .detok = {.started = true}, /* goes on from a text: a first space belongs to it */
        .result = {.n_prompt = (int32_t)n_prompt},
    };
    weft_status status = weft_engine_alive(session->model->engine);
    if (!status)
        status = check(session, prompt, n_prompt, &g.options);
    if (status)
        return status;
    status = begin(&g);
    if (!status)
        status = generate(&g, prompt, n_prompt);
    end(&g);
    if (result)
        *result = g.result;
    return status;
}
