/* Pre-tokenisers by name: every one compiles, covers all text, and cuts as its family does. */
#include "text/fixture.h"
#include <time.h>

#include "base/clock.h"
#include "text/pretok.h"
#include "text/pretok_names.h"

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
        const weft_cut *c = &cuts.cuts[i];
        assert_true(c->end > begin); /* no empty piece, none out of order, nothing between them */
        assert_int_equal(c->begin, begin);
        if (i)
            out[at++] = '|';
        memcpy(out + at, text + begin, c->end - begin);
        at += c->end - begin;
        begin = c->end;
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
    char out[1024], name[64];
    size_t n_names = 0;
    for (size_t i = 0; i < sizeof weft_pretok_table / sizeof weft_pretok_table[0]; i++) {
        const char *at = weft_pretok_table[i].names;
        while (*at) {
            size_t n = strcspn(at, " ");
            memcpy(name, at, n);
            name[n] = 0;
            at += n + (at[n] == ' ');
            n_names++;
            cut(name,
                "I'LL say: 12345 caf\xc3\xa9s,\r\n\n  \xe4\xb8\xad\xe6\x96\x87 "
                "\xf0\x9f\x98\x80!?  ",
                out);
            cut(name, " ", out);
            cut(name, "\xe1\xa0\x8e\xc2\x85\x1c", out);
        }
    }
    assert_true(n_names > 80);
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
    expect_cut("bloom", "one, two", "one|,| two");
    expect_cut("viking", "one 12", "one| |1|2");
    expect_cut("superbpe", "a 1234567 b", "a |1|234|567| b");
    expect_cut("tiny_aya", "12345", "12|345");
    expect_cut("youtu", "HelloWorld's 12", "Hello|World's| |1|2");
    expect_cut("kimi-k2", "Hi\xe4\xb8\xad\xe6\x96\x87x's", "Hi|\xe4\xb8\xad\xe6\x96\x87|x's");
    expect_cut("bailingmoe", "it'S\n\nb", "it|'S|\n\n|b");
    expect_cut("seed-coder", "a!\n b", "a|!|\n| b");
    expect_cut("laguna", "a b\n\nc", "a| b|\n\n|c");
    expect_cut("ufakzeka", "it's", "it|'s");
    expect_cut("minicpm5", "1234567", "123|456|7");
    expect_cut("exaone-moe", "a b.", "a b|.");
}

/* U+180E is no space in the Unicode versions that the published tokenisers follow. */
static void mongolian_vowel_separator(void **state) {
    (void)state;
    expect_cut("gpt-2", "a\xe1\xa0\x8e", "a|\xe1\xa0\x8e");
    expect_cut("gpt-2", " \xe1\xa0\x8e", " \xe1\xa0\x8e");
}

/* Groups of three from the right, in time that grows with the run. */
static void runs_of_digits_are_grouped(void **state) {
    (void)state;
    expect_cut("superbpe",
               "12345\xc2\xbd"
               "123456 7",
               "12|345\xc2\xbd|123|456| |7");
    expect_cut("superbpe", "1234a", "1|234|a");
    expect_cut("tiny_aya", "1234 123a 12", "1|234| |123|a| |12");
    static char text[300001];
    memset(text, '7', sizeof text - 1);
    weft_allocator a = weft_allocator_system();
    static const char *const names[] = {"superbpe", "tiny_aya"};
    for (int i = 0; i < 2; i++) {
        weft_pretok p = {0};
        weft_pretok_kind kind;
        weft_cuts cuts = {.a = &a};
        assert_weft_ok(weft_pretok_by_name(&a, names[i], &p, &kind));
        double began = weft_clock_seconds();
        assert_weft_ok(weft_pretok_cut(&p, (const unsigned char *)text, sizeof text - 1, &cuts));
        assert_int_equal(cuts.n, 100000);
        assert_true(weft_clock_seconds() - began < 5); /* a minute, were it quadratic */
        weft_cuts_free(&cuts);
        weft_pretok_free(&p);
    }
}

#define HOSTILE_BYTES 65536

/* The CPU time of a text of one unit over and over. */
static double seconds_of(const weft_pretok *p, const char *unit) {
    static char text[HOSTILE_BYTES];
    size_t n_unit = strlen(unit), n = HOSTILE_BYTES / n_unit * n_unit;
    weft_allocator a = weft_allocator_system();
    weft_cuts cuts = {.a = &a};
    for (size_t i = 0; i < n; i++)
        text[i] = unit[i % n_unit];
    clock_t began = clock();
    assert_weft_ok(weft_pretok_cut(p, (const unsigned char *)text, n, &cuts));
    weft_cuts_free(&cuts);
    return (double)(clock() - began) / CLOCKS_PER_SEC;
}

/* No pre-tokeniser takes long over any of these: a few milliseconds, where the square of the length
 * would be seconds. */
static void hostile_texts_take_linear_time(void **state) {
    (void)state;
    static const char *const units[] = {
        "a",
        "A",
        "7",
        " ",
        "\n",
        "\r\n",
        "\t ",
        ".",
        "'s",
        " a",
        "a1",
        "aB",
        "\x01",
        "\xd1\x8f"
        "a\xe4\xb8\xad",    /* scripts in turn */
        "\xf0\x9f\x98\x80", /* an emoji */
        "\xcc\x81",         /* marks without a letter */
        "\xe4\xb8\xad\xe6\x96\x87",
        "\xe0\xb9\x80\xe0\xb8\x81",
    };
    weft_allocator a = weft_allocator_system();
    char name[64];
    for (size_t i = 0; weft_pretok_name_at(i, name, sizeof name); i++) {
        weft_pretok p = {0};
        weft_pretok_kind kind;
        assert_weft_ok(weft_pretok_by_name(&a, name, &p, &kind));
        for (size_t k = 0; k < sizeof units / sizeof units[0]; k++) {
            double seconds = seconds_of(&p, units[k]);
            if (seconds > 1)
                fail_msg("%s: '%s' over and over: %.1f s", name, units[k], seconds);
        }
        weft_pretok_free(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_names_cover_all_text),
        cmocka_unit_test(families_differ),
        cmocka_unit_test(mongolian_vowel_separator),
        cmocka_unit_test(runs_of_digits_are_grouped),
        cmocka_unit_test(hostile_texts_take_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
