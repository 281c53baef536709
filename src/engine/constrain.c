/* Masks of the generator. */
#include "engine/constrain.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/detail.h"

#include <string.h>

/* The tokens that end a text: a list, so that not all are asked each time. */
static weft_status find_ends(weft_constraint *c) {
    int32_t n = c->tokenizer ? weft_tokenizer_n_tokens(c->tokenizer) : 0;
    for (int pass = 0; pass < 2; pass++) {
        size_t count = 0;
        for (int32_t i = 0; i < n; i++)
            if (weft_tokenizer_is_eog(c->tokenizer, i)) {
                if (pass)
                    c->ends[count] = i;
                count++;
            }
        if (pass || count == 0)
            break;
        c->ends = weft_alloc(&c->a, weft_size_of(count, sizeof *c->ends));
        if (!c->ends)
            return weft_fail(WEFT_E_MEMORY, "weft_generate: out of memory");
        c->n_ends = count;
    }
    return WEFT_OK;
}

weft_status weft_constraint_init(weft_constraint *c, const weft_allocator *a,
                                 const weft_tokenizer *tokenizer,
                                 const weft_generate_options *options, size_t n_vocab) {
    *c = (weft_constraint){.a = *a, .tokenizer = tokenizer, .options = options};
    c->n_words = (n_vocab + 63) / 64;
    c->bits = weft_alloc(a, weft_size_of(c->n_words, sizeof *c->bits));
    if (!c->bits)
        return weft_fail(WEFT_E_MEMORY, "weft_generate: out of memory");
    weft_grammar_reset(options->grammar);
    return options->min_tokens > 0 || options->ban_eos ? find_ends(c) : WEFT_OK;
}

void weft_constraint_free(weft_constraint *c) {
    weft_dealloc(&c->a, c->bits, c->bits ? c->n_words * sizeof *c->bits : 0);
    weft_dealloc(&c->a, c->ends, c->n_ends * sizeof *c->ends);
    c->bits = NULL;
    c->ends = NULL;
}

static void clear(weft_constraint *c, int32_t token, size_t n_vocab) {
    if (token >= 0 && (size_t)token < n_vocab)
        c->bits[token / 64] &= ~(UINT64_C(1) << (token % 64));
}

/* Takes out what would end the text. */
static void clear_ends(weft_constraint *c, size_t n_vocab, bool early) {
    for (size_t i = 0; i < c->n_ends; i++)
        clear(c, c->ends[i], n_vocab);
    for (size_t i = 0; early && i < c->options->n_stop_tokens; i++)
        clear(c, c->options->stop_tokens[i], n_vocab);
}

weft_status weft_constraint_mask(void *ctx, size_t n_vocab, const uint64_t **bits) {
    weft_constraint *c = ctx;
    const uint64_t *grammar = NULL, *outer = NULL;
    bool early = c->n_generated < c->options->min_tokens, ends = early || c->options->ban_eos;
    weft_status status = WEFT_OK;
    *bits = NULL;
    if (c->options->grammar) {
        double start = weft_clock_seconds();
        status = weft_grammar_mask(c->options->grammar, n_vocab, &grammar);
        c->seconds += weft_clock_seconds() - start;
    }
    if (!status && c->outer)
        status = c->outer(c->outer_ctx, n_vocab, &outer);
    if (status || (!ends && (!grammar || !outer))) {
        *bits = grammar ? grammar : outer;
        return status;
    }
    for (size_t i = 0; i < c->n_words; i++)
        c->bits[i] = (grammar ? grammar[i] : UINT64_MAX) & (outer ? outer[i] : UINT64_MAX);
    if (ends)
        clear_ends(c, n_vocab, early);
    *bits = c->bits;
    return WEFT_OK;
}

weft_status weft_constraint_accept(weft_constraint *c, int32_t token) {
    c->n_generated++;
    if (!c->options->grammar)
        return WEFT_OK;
    double start = weft_clock_seconds();
    weft_status status = weft_grammar_accept(c->options->grammar, token);
    c->seconds += weft_clock_seconds() - start;
    return status;
}

bool weft_constraint_is_over(const weft_constraint *c) {
    return c->options->grammar && weft_grammar_is_over(c->options->grammar);
}

bool weft_constraint_stops(const weft_constraint *c, int32_t token) {
    for (size_t i = 0; i < c->options->n_stop_tokens; i++)
        if (c->options->stop_tokens[i] == token)
            return true;
    return false;
}
