/* Pre-tokenisers by name: every one compiles, covers all text, and cuts as its family does. */
#include "text/fixture.h"

#include "text/pretok.h"

static const char *const names[] = {
    "default",   "gpt-2",       "phi-2",        "roberta-bpe",    "mpt",         "olmo",
    "gpt-neox",  "llama-bpe",   "llama3",       "llama-v3",       "dbrx",        "smaug-bpe",
    "glm4",      "chatglm-bpe", "qwen2",        "stablelm2",      "qwen35",      "smollm",
    "starcoder", "refact",      "codeshell",    "command-r",      "tekken",      "gpt-4o",
    "llama4",    "falcon",      "deepseek-llm", "deepseek-coder", "deepseek-v3",
};

/* The pieces, joined by '|'. */
static void cut(const char *name, const char *text, char *out) {
    weft_allocator a = weft_allocator_system();
    weft_pretok p = {0};
    weft_pretok_kind kind;
    weft_cuts cuts = {.a = &a};
    assert_weft_ok(weft_pretok_by_name(&a, name, &p, &kind));
    assert_weft_ok(weft_pretok_cut(&p, (const unsigned char *)text, strlen(text), &cuts));
    size_t begin = 0, at = 0;
    for (size_t i = 0; i < cuts.n; i++) {
        assert_true(cuts.ends[i] > begin); /* no empty piece, none out of order */
        if (i)
            out[at++] = '|';
        memcpy(out + at, text + begin, cuts.ends[i] - begin);
        at += cuts.ends[i] - begin;
        begin = cuts.ends[i];
    }
    assert_int_equal(begin, strlen(text)); /* nothing is lost */
    out[at] = 0;
    weft_cuts_free(&cuts);
    weft_pretok_free(&p);
}

static void expect_cut(const char *name, const char *text, const char *want) {
    char out[1024];
    cut(name, text, out);
    assert_string_equal(out, want);
}

static void all_names_cover_all_text(void **state) {
    (void)state;
    char out[1024];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cut(names[i],
            "I'LL say: 12345 caf\xc3\xa9s,\r\n\n  \xe4\xb8\xad\xe6\x96\x87 \xf0\x9f\x98\x80!?  ",
            out);
        cut(names[i], " ", out);
        cut(names[i], "\xe1\xa0\x8e\xc2\x85\x1c", out);
    }
}

static void families_differ(void **state) {
    (void)state;
    expect_cut("gpt-2", "I'll 1234  x", "I|'ll| 1234| | x");
    expect_cut("llama-bpe", "I'LL 12345\n\nx", "I|'LL| |123|45|\n\n|x");
    expect_cut("qwen2", "a 12", "a| |1|2");
    expect_cut("starcoder", "v 12", "v| |1|2");
    expect_cut("smollm", "a\n\n  0", "a|\n\n | |0");
    expect_cut("falcon", "a 1234", "a| |123|4");
    expect_cut("gpt-4o", "HelloWorld's", "Hello|World's");
    expect_cut("deepseek-coder", "a\nb", "a|\n|b");
}

/* U+180E is no space in the Unicode versions that the published tokenisers follow. */
static void mongolian_vowel_separator(void **state) {
    (void)state;
    expect_cut("gpt-2", "a\xe1\xa0\x8e", "a|\xe1\xa0\x8e");
    expect_cut("gpt-2", " \xe1\xa0\x8e", " \xe1\xa0\x8e");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_names_cover_all_text),
        cmocka_unit_test(families_differ),
        cmocka_unit_test(mongolian_vowel_separator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
