/* Guesses out of the text itself (speculate_lookup.c) or by a draft model, and the steps that
 * evaluate them. */
#include "engine/speculate.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/detail.h"

#include <string.h>

#define DEFAULT_DRAFT 8

/* ---- Life ---- */

/* Whether ids mean the same to both models. */
static bool same_vocabulary(const weft_model *x, const weft_model *y) {
    const weft_tokenizer *a = x->tokenizer, *b = y->tokenizer;
    int32_t n = weft_tokenizer_n_tokens(a);
    if (a == b)
        return weft_network_info(x->network).n_vocab == weft_network_info(y->network).n_vocab;
    if (!a || !b || n != weft_tokenizer_n_tokens(b))
        return false;
    for (int32_t i = 0; i < n; i++) {
        const char *s, *t;
        size_t k, m;
        weft_token_bytes(a, i, true, &s, &k);
        weft_token_bytes(b, i, true, &t, &m);
        if (k != m || memcmp(s, t, k) != 0)
            return false;
    }
    return true;
}

weft_status weft_speculator_init(weft_speculator *g, weft_session *session,
                                 const weft_generate_options *o) {
    *g = (weft_speculator){.session = session,
                           .draft = o->draft,
                           .n_lookup = o->lookup,
                           .n_draft = o->n_draft ? o->n_draft : DEFAULT_DRAFT};
    weft_lookup_init(&g->lookup);
    weft_gain_init(&g->gain);
    if (o->lookup < 0 || o->lookup > WEFT_GUESSES_MAX || o->n_draft < 0 ||
        o->n_draft > WEFT_GUESSES_MAX)
        return weft_fail(WEFT_E_ARGUMENT,
                         "weft_generate: lookup %d, n_draft %d: 0 to %d are allowed", o->lookup,
                         o->n_draft, WEFT_GUESSES_MAX);
    if (o->draft && (o->draft == session || o->draft->cache == session->cache))
        return weft_fail(WEFT_E_ARGUMENT, "weft_generate: the draft is the same session");
    if (o->draft && !same_vocabulary(session->model, o->draft->model))
        return weft_fail(WEFT_E_ARGUMENT, "weft_generate: the draft has another vocabulary");
    if (!o->lookup && !o->draft)
        return WEFT_OK;
    const weft_allocator *a = &session->model->engine->allocator;
    size_t row = weft_size_of((size_t)session->n_vocab, sizeof *g->rows), size;
    if (!weft_mul_size(row, WEFT_GUESSES_MAX + 1, &size))
        size = 0;
    g->rows = weft_alloc(a, size);
    return g->rows ? WEFT_OK : weft_fail(WEFT_E_MEMORY, "weft_generate: out of memory");
}

void weft_speculator_free(weft_speculator *g) {
    const weft_session *s = g->session;
    const weft_allocator *a = &s->model->engine->allocator;
    size_t row = (size_t)s->n_vocab * sizeof *g->rows;
    weft_dealloc(a, g->rows, g->rows ? row * (WEFT_GUESSES_MAX + 1) : 0);
}

/* ---- Guesses ---- */

/* Guesses for what follows the text, whose last token is not evaluated yet; gives their number. */
static int32_t look_up(weft_speculator *g, int32_t most) {
    const weft_session *s = g->session;
    double chances[WEFT_GUESSES_MAX];
    weft_lookup_find(&g->lookup, s->tokens, s->n_past + 1);
    if (g->lookup.from == 0)
        return 0;
    most = most < g->n_lookup ? most : g->n_lookup;
    for (int32_t i = 0; i < most; i++)
        chances[i] = weft_lookup_chance(&g->lookup, i);
    int32_t count = weft_gain_best(&g->gain, chances, most);
    for (int32_t i = 0; i < count; i++)
        g->tokens[1 + i] = weft_lookup_token(&g->lookup, i);
    return count;
}

static int32_t highest(const float *logits, int32_t n) {
    int32_t best = 0;
    for (int32_t i = 1; i < n; i++)
        if (logits[i] > logits[best])
            best = i;
    return best;
}

/* Makes the draft's text equal to this one, keeping what they share. */
static weft_status follow(weft_speculator *g, const int32_t *text, int32_t n) {
    weft_session *d = g->draft;
    int32_t same = 0;
    while (same < n - 1 && same < d->n_past && d->tokens[same] == text[same])
        same++;
    weft_status status = weft_session_truncate(d, same, &same);
    return status ? status : weft_session_eval(d, text + same, (size_t)(n - same));
}

/* Guesses of the draft model; what fails there only means that none are made. */
static int32_t ask_draft(weft_speculator *g, int32_t most) {
    const weft_session *s = g->session;
    weft_session *d = g->draft;
    int32_t n = s->n_past + 1, limit = s->n_vocab < d->n_vocab ? s->n_vocab : d->n_vocab;
    most = most < g->n_draft ? most : g->n_draft;
    if (n + most > d->n_context)
        return 0;
    int32_t count = weft_gain_best_draft(&g->gain, most);
    if (count == 0)
        return 0;
    double start = weft_clock_seconds();
    weft_status status = follow(g, s->tokens, n);
    for (int32_t i = 0; i < count && !status; i++) {
        g->tokens[1 + i] = highest(d->logits, limit);
        if (i + 1 < count)
            status = weft_session_eval(d, &g->tokens[1 + i], 1);
    }
    if (status)
        return 0;
    weft_gain_saw_draft(&g->gain, count, weft_clock_seconds() - start);
    return count;
}

/* ---- Steps ---- */

const float *weft_speculator_logits(const weft_speculator *g) {
    return g->n_guesses ? g->rows + g->at * (size_t)g->session->n_vocab : g->session->logits;
}

weft_status weft_speculator_settle(weft_speculator *g) {
    weft_session *s = g->session;
    size_t row = (size_t)s->n_vocab * sizeof *g->rows, at = g->at, n = g->n_guesses;
    if (n == 0)
        return WEFT_OK;
    g->n_guesses = g->at = 0;
    double start = weft_clock_seconds();
    int32_t keep = g->base + 1 + (int32_t)at, from = keep;
    weft_status status = WEFT_OK;
    if (at < n) {
        status = weft_session_truncate(s, keep, &from);
        /* Where the model's state cannot go back by itself, some are evaluated again. */
        if (!status && from < keep)
            status = weft_session_eval(s, s->tokens + from, (size_t)(keep - from));
        if (status)
            return status;
        memcpy(s->logits, g->rows + at * (size_t)s->n_vocab, row);
        s->has_logits = true;
    }
    /* Going back is a part of what the guesses cost. */
    weft_gain_saw_step(&g->gain, (int32_t)n + 1, g->seconds + weft_clock_seconds() - start);
    weft_gain_saw_round(&g->gain, (int32_t)n, (int32_t)at, g->by_draft);
    return WEFT_OK;
}

static weft_status step(weft_speculator *g, int32_t n_guesses) {
    weft_session *s = g->session;
    int32_t base = s->n_past;
    double start = weft_clock_seconds();
    weft_status status = n_guesses
                             ? weft_session_eval_all(s, g->tokens, (size_t)n_guesses + 1, g->rows)
                             : weft_session_eval(s, g->tokens, 1);
    if (status)
        return status;
    g->seconds = weft_clock_seconds() - start;
    if (n_guesses == 0) {
        weft_gain_saw_step(&g->gain, 1, g->seconds);
        weft_gain_saw_round(&g->gain, 0, 0, false);
    }
    g->base = base;
    g->n_guesses = (size_t)n_guesses;
    g->at = 0;
    g->n_guessed += n_guesses;
    return WEFT_OK;
}

/* The text is the session's and, behind it, the chosen token. */
static int32_t guess(weft_speculator *g, int32_t token) {
    weft_session *s = g->session;
    int32_t room = weft_session_room(s) - 1, count = 0;
    g->tokens[0] = token;
    g->by_draft = false;
    if (room <= 0)
        return 0;
    s->tokens[s->n_past] = token;
    if (g->n_lookup)
        count = look_up(g, room);
    if (count == 0 && g->draft) {
        count = ask_draft(g, room);
        g->by_draft = true;
    }
    return count;
}

weft_status weft_speculator_advance(weft_speculator *g, int32_t token) {
    if (!g->rows)
        return weft_session_eval(g->session, &token, 1);
    weft_lookup_saw(&g->lookup, token);
    if (g->at < g->n_guesses) {
        bool right = g->tokens[1 + g->at] == token;
        if (g->by_draft)
            weft_gain_saw_draft_guess(&g->gain, right);
        if (right) {
            g->at++;
            g->n_right++;
            return WEFT_OK;
        }
    }
    weft_status status = weft_speculator_settle(g);
    return status ? status : step(g, guess(g, token));
}
