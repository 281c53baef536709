/* The public grammar: source to automaton, and the place of one text in it. */
#include <weft/grammar.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "text/grammar/languages.h"
#include "text/grammar/mask.h"
#include "text/tokenizer_impl.h"

#include <string.h>

struct weft_grammar {
    weft_tokenizer *tokenizer; /* a reference */
    weft_allocator a;
    weft_nfa nfa;
    weft_machine machine;
    weft_masks masks;
    uint32_t root, config; /* the text so far */
    size_t collect_above;  /* bytes of the machine at which it is asked to forget */
    uint64_t *bits;        /* [n_words] handed out */
    size_t n_words;
    int32_t *ends; /* [n_ends] tokens that end a text */
    size_t n_ends, ends_room;
};

/* ---- The vocabulary ---- */

/* The trie of a tokeniser, made by whoever needs it first. */
static weft_status token_trie(weft_tokenizer *t, const weft_token_trie **out) {
    struct weft_token_trie *there = atomic_load(&t->token_trie), *made;
    if (!there) {
        weft_status status = weft_token_trie_create(t, &t->a, &made);
        if (status)
            return status;
        if (atomic_compare_exchange_strong(&t->token_trie, &there, made))
            there = made;
        else
            weft_token_trie_free(&made); /* another thread was faster */
    }
    *out = there;
    return WEFT_OK;
}

static weft_status find_ends(weft_grammar *g) {
    for (int32_t i = 0; i < g->tokenizer->n; i++) {
        if (!g->tokenizer->eog[i])
            continue;
        if (!weft_nfa_grow(&g->a, (void **)&g->ends, &g->ends_room, g->n_ends + 1, sizeof *g->ends))
            return weft_fail(WEFT_E_MEMORY, "grammar: out of memory");
        g->ends[g->n_ends++] = i;
    }
    return WEFT_OK;
}

/* ---- Life ---- */

static uint32_t parse(weft_nfa *n, weft_grammar_kind kind, const char *text, size_t n_bytes) {
    switch (kind) {
    case WEFT_GRAMMAR_GBNF:
        return weft_gbnf_parse(n, text, n_bytes);
    case WEFT_GRAMMAR_JSON_SCHEMA:
        return weft_schema_parse(n, text, n_bytes);
    case WEFT_GRAMMAR_REGEX:
        return weft_regex_rule(n, text, n_bytes);
    }
    n->status = weft_fail(WEFT_E_ARGUMENT, "weft_grammar_create: no kind %d", (int)kind);
    return WEFT_NFA_NONE;
}

static weft_status compile(weft_grammar *g, weft_grammar_kind kind, const char *text,
                           size_t n_bytes) {
    const weft_token_trie *trie;
    weft_nfa_init(&g->nfa, &g->a);
    g->root = parse(&g->nfa, kind, text, n_bytes);
    weft_status status = weft_nfa_analyse(&g->nfa, g->root);
    if (!status)
        status = token_trie(g->tokenizer, &trie);
    if (!status)
        status = find_ends(g);
    if (!status)
        status = weft_machine_init(&g->machine, &g->a, &g->nfa);
    if (!status)
        status = weft_masks_init(&g->masks, &g->a, &g->machine, trie);
    if (status)
        return status;
    weft_grammar_reset(g);
    return g->machine.status;
}

weft_status weft_grammar_create(const weft_tokenizer *tokenizer, weft_grammar_kind kind,
                                const char *text, size_t n_bytes, weft_grammar **out) {
    if (!tokenizer || (!text && n_bytes > 0) || !out)
        return weft_fail(WEFT_E_NULL, "weft_grammar_create: an argument is NULL");
    *out = NULL;
    weft_status status = weft_engine_alive(tokenizer->engine);
    if (status)
        return status;
    weft_grammar *g = weft_alloc_zeroed(&tokenizer->a, sizeof *g);
    if (!g)
        return weft_fail(WEFT_E_MEMORY, "grammar: out of memory");
    g->a = tokenizer->a;
    /* Only its count of references and its trie change. */
    g->tokenizer = weft_tokenizer_retain((weft_tokenizer *)(uintptr_t)tokenizer);
    status = compile(g, kind, text ? text : "", n_bytes);
    if (status) {
        weft_grammar_release(&g);
        return status;
    }
    *out = g;
    return WEFT_OK;
}

void weft_grammar_release(weft_grammar **grammar) {
    if (!grammar || !*grammar)
        return;
    weft_grammar *g = *grammar;
    *grammar = NULL;
    weft_tokenizer *t = g->tokenizer;
    weft_masks_free(&g->masks);
    weft_machine_free(&g->machine);
    weft_nfa_free(&g->nfa);
    weft_dealloc(&t->a, g->bits, g->n_words * sizeof *g->bits);
    weft_dealloc(&t->a, g->ends, g->ends_room * sizeof *g->ends);
    weft_dealloc(&t->a, g, sizeof *g);
    weft_tokenizer_release(&t);
}

/* ---- The place of a text ---- */

static void forget(weft_grammar *g, uint32_t config) {
    g->config = weft_machine_collect(&g->machine, config);
    weft_masks_forget(&g->masks);
    g->collect_above = weft_machine_bytes(&g->machine) + WEFT_MACHINE_MAX_BYTES / 4;
}

void weft_grammar_reset(weft_grammar *g) {
    if (!g)
        return;
    if (g->machine.status || g->collect_above == 0) {
        g->machine.status = WEFT_OK;
        forget(g, 0);
    }
    g->config = weft_machine_begin(&g->machine, g->root);
}

/* Between two tokens is the time to forget what the text has left behind. */
static weft_status tidy(weft_grammar *g) {
    g->machine.work = 0;
    if (!g->machine.status && weft_machine_bytes(&g->machine) > g->collect_above)
        forget(g, g->config);
    if (g->machine.status)
        return weft_fail(g->machine.status, "grammar: %s",
                         g->machine.status == WEFT_E_MEMORY
                             ? "out of memory"
                             : "the text is too deep, or the grammar too ambiguous: more than 64 "
                               "MiB, or half a second for a token");
    return WEFT_OK;
}

bool weft_grammar_may_end(const weft_grammar *g) {
    return g && weft_machine_ends(&g->machine, g->config);
}

bool weft_grammar_is_over(const weft_grammar *g) {
    size_t n = 0;
    if (g)
        weft_machine_places(&g->machine, g->config, &n);
    return g && n == 0;
}

weft_status weft_grammar_accept_bytes(weft_grammar *g, const char *bytes, size_t n_bytes) {
    if (!g || (!bytes && n_bytes > 0))
        return weft_fail(WEFT_E_NULL, "weft_grammar_accept_bytes: an argument is NULL");
    weft_status status = tidy(g);
    uint32_t config = g->config;
    for (size_t i = 0; i < n_bytes && config && !status; i++)
        config = weft_machine_step(&g->machine, config, (uint8_t)bytes[i]);
    if (status || g->machine.status)
        return status ? status : tidy(g);
    if (config == 0)
        return weft_fail(WEFT_E_ARGUMENT, "grammar: '%.*s' cannot come here",
                         n_bytes > 60 ? 60 : (int)n_bytes, bytes);
    g->config = config;
    return WEFT_OK;
}

weft_status weft_grammar_accept(weft_grammar *g, int32_t token) {
    if (!g)
        return weft_fail(WEFT_E_NULL, "weft_grammar_accept: grammar is NULL");
    if (weft_tokenizer_is_eog(g->tokenizer, token))
        return weft_grammar_may_end(g)
                   ? WEFT_OK
                   : weft_fail(WEFT_E_ARGUMENT, "grammar: the text may not end here");
    const char *text;
    size_t n_bytes;
    weft_token_bytes(g->tokenizer, token, false, &text, &n_bytes);
    if (n_bytes == 0)
        return weft_fail(WEFT_E_ARGUMENT, "grammar: token %d stands for no text", token);
    return weft_grammar_accept_bytes(g, text, n_bytes);
}

weft_status weft_grammar_mask(weft_grammar *g, size_t n_vocab, const uint64_t **bits) {
    if (!g || !bits)
        return weft_fail(WEFT_E_NULL, "weft_grammar_mask: an argument is NULL");
    size_t n_words = (n_vocab + 63) / 64;
    if (n_words > g->n_words) {
        uint64_t *more = weft_realloc(&g->a, g->bits, g->n_words * sizeof *more,
                                      weft_size_of(n_words, sizeof *more));
        if (!more)
            return weft_fail(WEFT_E_MEMORY, "grammar: out of memory");
        g->bits = more;
        g->n_words = n_words;
    }
    const uint64_t *found = NULL;
    weft_status status = tidy(g);
    if (!status)
        status = weft_masks_get(&g->masks, g->config, &found);
    if (status)
        return g->machine.status ? tidy(g) : status;
    size_t known = g->masks.n_words < n_words ? g->masks.n_words : n_words;
    memset(g->bits, 0, n_words * sizeof *g->bits);
    memcpy(g->bits, found, known * sizeof *g->bits);
    for (size_t i = 0; i < g->n_ends && weft_grammar_may_end(g); i++)
        if ((size_t)g->ends[i] < n_vocab)
            g->bits[g->ends[i] / 64] |= UINT64_C(1) << (g->ends[i] % 64);
    *bits = g->bits;
    return WEFT_OK;
}
