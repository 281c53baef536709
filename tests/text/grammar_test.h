/* A vocabulary for tests of grammars: the bytes, and tokens that go across what grammars tell
 * apart. */
#ifndef WEFT_TESTS_TEXT_GRAMMAR_TEST_H
#define WEFT_TESTS_TEXT_GRAMMAR_TEST_H

#include <weft/grammar.h>
#include "fixture.h"

static inline weft_tokenizer *grammar_tokenizer(weft_engine *engine) {
    static const char *const more[] = {
        "\"}",  "\",\"", "\":",  "\": ", "{\"",  "},{",  "[[",  "]]",   "]}",       "[{",
        "true", "false", "null", "10",   "00",   "0.",   "1.5", "-1",   "abc",      "name",
        "e+",   "\\\"",  "\\u",  "  ",   "    ", "\xc3", "é",   "日本", "\xe6\x97", "::=",
        "aa",   "aaaa",  "ab",   "(a",   "))",   "+a",   "a+",  "\"a",  "a\"",      "\",",
    };
    static words w, merges;
    memset(&w, 0, sizeof w);
    memset(&merges, 0, sizeof merges);
    for (int b = 0; b < 256; b++) {
        char text[8];
        byte_char(b, text);
        word(&w, text, NORMAL, 0);
    }
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        char text[64] = "";
        for (const char *c = more[i]; *c; c++) {
            char one[8];
            byte_char((unsigned char)*c, one);
            strcat(text, one);
        }
        word(&w, text, NORMAL, 0);
    }
    word(&w, "</s>", CONTROL, 0);
    word(&w, "<|im_start|>", CONTROL, 0);
    word(&merges, "a a", 0, 0);
    weft_metadata *m = new_metadata();
    put_string(m, "tokenizer.ggml.model", "gpt2");
    put_string(m, "tokenizer.ggml.pre", "gpt-2");
    put_words(m, "tokenizer.ggml.tokens", &w);
    put_array(m, "tokenizer.ggml.token_type", WEFT_VALUE_I32, w.types, w.n);
    put_words(m, "tokenizer.ggml.merges", &merges);
    put_u32(m, "tokenizer.ggml.eos_token_id", (uint32_t)w.n - 2);
    return open_gguf(engine, m, NULL);
}

static inline weft_grammar *grammar_open(const weft_tokenizer *t, weft_grammar_kind kind,
                                         const char *text) {
    weft_grammar *g;
    weft_status status = weft_grammar_create(t, kind, text, strlen(text), &g);
    if (status)
        fail_msg("%s: %s: %s", text, weft_status_name(status), weft_detail());
    return g;
}

/* Whether the whole text is one of the grammar's. */
static inline bool grammar_takes(weft_grammar *g, const char *text) {
    weft_grammar_reset(g);
    return weft_grammar_accept_bytes(g, text, strlen(text)) == WEFT_OK && weft_grammar_may_end(g);
}

static inline void expect_takes(weft_grammar *g, const char *text, bool want) {
    if (grammar_takes(g, text) != want)
        fail_msg("'%s' is %s", text, want ? "refused" : "taken");
}

/* `yes` and `no` are lists that end with NULL. */
static inline void expect_texts(const weft_tokenizer *t, weft_grammar_kind kind, const char *source,
                                const char *const *yes, const char *const *no) {
    weft_grammar *g = grammar_open(t, kind, source);
    for (; *yes; yes++)
        expect_takes(g, *yes, true);
    for (; *no; no++)
        expect_takes(g, *no, false);
    weft_grammar_release(&g);
}
#define TEXTS(...) ((const char *const[]){__VA_ARGS__, NULL})

static inline uint32_t test_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

/* The mask allows a token exactly if the grammar accepts it. Walks at random for `n_steps`. */
static inline void expect_masks(const weft_tokenizer *t, weft_grammar *g, int n_steps,
                                uint64_t seed) {
    int32_t n = weft_tokenizer_n_tokens(t), allowed[1024];
    char text[4096];
    size_t length = 0;
    weft_grammar_reset(g);
    for (int step = 0; step < n_steps; step++) {
        const uint64_t *bits;
        assert_weft_ok(weft_grammar_mask(g, (size_t)n, &bits));
        uint64_t copy[16];
        memcpy(copy, bits, (size_t)(n + 63) / 64 * 8);
        int n_allowed = 0;
        for (int32_t i = 0; i < n; i++) {
            weft_grammar_reset(g);
            assert_weft_ok(weft_grammar_accept_bytes(g, text, length));
            bool takes = weft_grammar_accept(g, i) == WEFT_OK;
            if (takes != (copy[i / 64] >> (i % 64) & 1))
                fail_msg("after '%.*s': token %d is %s, the mask says otherwise", (int)length, text,
                         i, takes ? "taken" : "refused");
            if (takes && !weft_tokenizer_is_eog(t, i))
                allowed[n_allowed++] = i;
        }
        weft_grammar_reset(g);
        assert_weft_ok(weft_grammar_accept_bytes(g, text, length));
        if (n_allowed == 0) {
            assert_true(weft_grammar_is_over(g));
            return;
        }
        const char *bytes;
        size_t n_bytes;
        int32_t token = allowed[test_random(&seed) % (uint32_t)n_allowed];
        weft_token_bytes(t, token, false, &bytes, &n_bytes);
        assert_true(length + n_bytes < sizeof text);
        memcpy(text + length, bytes, n_bytes);
        length += n_bytes;
        assert_weft_ok(weft_grammar_accept(g, token));
    }
}

#endif
