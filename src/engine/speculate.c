/* Guesses by looking the end of the text up in what stands before it (Saxena 2023, "prompt lookup
 * decoding"), or by a draft model; and the steps that evaluate them. */
#include "engine/speculate.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/detail.h"

#include <string.h>

#define DEFAULT_DRAFT 8
#define LONGEST_MATCH 16
#define SHORTEST_MATCH 2

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
                           .lookup = o->lookup,
                           .n_draft = o->n_draft ? o->n_draft : DEFAULT_DRAFT,
                           .expected = -1};
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
    g->text = weft_alloc(a, weft_size_of((size_t)session->n_context + 1, sizeof *g->text));
    return g->rows && g->text ? WEFT_OK : weft_fail(WEFT_E_MEMORY, "weft_generate: out of memory");
}

void weft_speculator_free(weft_speculator *g) {
    const weft_session *s = g->session;
    const weft_allocator *a = &s->model->engine->allocator;
    size_t row = (size_t)s->n_vocab * sizeof *g->rows;
    weft_dealloc(a, g->rows, g->rows ? row * (WEFT_GUESSES_MAX + 1) : 0);
    weft_dealloc(a, g->text, g->text ? ((size_t)s->n_context + 1) * sizeof *g->text : 0);
}

/* ---- Lookup ---- */

/* How far the text up to position i agrees with its end. */
static int32_t match_length(const int32_t *text, int32_t n, int32_t i) {
    int32_t k = 0;
    while (k < LONGEST_MATCH && k <= i && text[i - k] == text[n - 1 - k])
        k++;
    return k;
}

/* The latest of the longest earlier occurrences of the end of text [n]: where it goes on, 0 for
 * none. */
static int32_t find_earlier(const int32_t *text, int32_t n, int32_t *length) {
    int32_t found = 0;
    *length = SHORTEST_MATCH - 1;
    for (int32_t i = n - 2; i >= 0 && *length < LONGEST_MATCH; i--) {
        int32_t k = text[i] == text[n - 1] ? match_length(text, n, i) : 0;
        if (k > *length) {
            *length = k;
            found = i + 1;
        }
    }
    return found;
}

static int32_t kind_of_match(int32_t length) {
    return length < 3 ? 0 : length < 5 ? 1 : length < 10 ? 2 : 3;
}

/* Guesses for what follows the text and `tokens[0]`; gives their number. */
static int32_t look_up(weft_speculator *g, int32_t most) {
    const weft_session *s = g->session;
    int32_t n = s->n_past + 1, length;
    memcpy(g->text, s->tokens, (size_t)s->n_past * sizeof *g->text);
    g->text[s->n_past] = g->tokens[0];
    int32_t from = find_earlier(g->text, n, &length);
    if (from == 0)
        return 0;
    int32_t kind = kind_of_match(length);
    g->expected = g->text[from]; /* known to be right or wrong later, guessed or not */
    g->expected_kind = kind;
    most = most < g->lookup ? most : g->lookup;
    int32_t count = weft_gain_best(&g->gain, kind, most);
    for (int32_t i = 0; i < count; i++) /* past the end, the repetition repeats itself */
        g->tokens[1 + i] = from + i < n ? g->text[from + i] : g->tokens[1 + i - (n - from)];
    return count;
}

/* ---- Draft ---- */

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
    memcpy(g->text, s->tokens, (size_t)s->n_past * sizeof *g->text);
    g->text[s->n_past] = g->tokens[0];
    double start = weft_clock_seconds();
    weft_status status = follow(g, g->text, n);
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
    return WEFT_OK;
}

/* A lookup that was made for the place of this token shows how good lookups are. */
static void judge_lookup(weft_speculator *g, int32_t token) {
    if (g->expected >= 0 && g->n_guesses == 0)
        weft_gain_saw_guess(&g->gain, g->expected_kind, g->expected == token);
    g->expected = -1;
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
    if (n_guesses == 0)
        weft_gain_saw_step(&g->gain, 1, g->seconds);
    g->base = base;
    g->n_guesses = (size_t)n_guesses;
    g->at = 0;
    g->n_guessed += n_guesses;
    return WEFT_OK;
}

weft_status weft_speculator_advance(weft_speculator *g, int32_t token) {
    if (!g->rows)
        return weft_session_eval(g->session, &token, 1);
    if (g->n_guesses > 0 && g->at < g->n_guesses) {
        bool right = g->tokens[1 + g->at] == token;
        weft_gain_saw_guess(&g->gain, g->kind, right);
        if (right) {
            g->at++;
            g->n_right++;
            return WEFT_OK;
        }
    } else {
        judge_lookup(g, token);
    }
    weft_status status = weft_speculator_settle(g);
    if (status)
        return status;
    g->tokens[0] = token;
    g->expected = -1;
    int32_t room = weft_session_room(g->session) - 1, count = 0;
    if (room > 0 && g->lookup)
        count = look_up(g, room);
    g->kind = count ? g->expected_kind : WEFT_GUESS_DRAFT;
    if (room > 0 && count == 0 && g->draft && g->expected < 0)
        count = ask_draft(g, room);
    return step(g, count);
}
