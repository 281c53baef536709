/* Grammars: GBNF and regular expressions take what they should, masks agree with a token by token
 * check, hostile ones stay within their bounds. */
#include "grammar_fixture.h"

static const char json[] = "root   ::= object\n"
                           "value  ::= object | array | string | number | (\"true\" | \"false\" | "
                           "\"null\") ws\n"
                           "object ::= \"{\" ws (string \":\" ws value (\",\" ws string \":\" ws "
                           "value)*)? \"}\" ws\n"
                           "array  ::= \"[\" ws (value (\",\" ws value)*)? \"]\" ws\n"
                           "string ::= \"\\\"\" ([^\"\\\\\\x7F\\x00-\\x1F] | \"\\\\\" "
                           "([\"\\\\bfnrt] | \"u\" [0-9a-fA-F]{4}))* \"\\\"\" ws\n"
                           "number ::= (\"-\"? ([0-9] | [1-9] [0-9]{0,15})) (\".\" [0-9]+)? "
                           "([eE] [-+]? [0-9] [1-9]{0,15})? ws\n"
                           "# a rule that ends in itself\n"
                           "ws ::= ([ \\t\\n] ws)?\n";

static void expect_gbnf(const char *source, const char *const *yes, const char *const *no) {
    expect_texts(tokenizer, WEFT_GRAMMAR_GBNF, source, yes, no);
}

static void expect_regex(const char *source, const char *const *yes, const char *const *no) {
    expect_texts(tokenizer, WEFT_GRAMMAR_REGEX, source, yes, no);
}

/* The schema is written with ' for each ". */
static void expect_schema(const char *source, const char *const *yes, const char *const *no) {
    char text[1024];
    size_t n = strlen(source);
    assert_true(n < sizeof text);
    for (size_t i = 0; i <= n; i++)
        text[i] = (char)(source[i] == '\'' ? '"' : source[i]);
    expect_texts(tokenizer, WEFT_GRAMMAR_JSON_SCHEMA, text, yes, no);
}

static void test_gbnf(void **state) {
    (void)state;
    expect_gbnf(
        json,
        TEXTS("{}", "{ \"a\": [1, 2.5e-3, {\"b\":null}] }  \n", "{\"é\\u00e9\\\"\":\"日本\"}"),
        TEXTS("", "{", "{\"a\":}", "[1]", "{\"a\":01}", "{\"\xe6\":1}", "{} x"));
    expect_gbnf("root ::= \"a\"{2,4} | [x-z]+ \"!\"?", TEXTS("aa", "aaa", "aaaa", "x", "zyx!"),
                TEXTS("a", "aaaaa", "!", "ax"));
    expect_gbnf("root ::= a |\n  b\na ::= \"1\" # one\n\nb ::= \"\\u00e9\" | [^a-z\\]] \"\\x41\"",
                TEXTS("1", "é", "日A"), TEXTS("aA", "]A", "2"));
    expect_gbnf("root ::= (\"a\" \"b\")* .", TEXTS("x", "abé"), TEXTS("", "ab\xc3"));
    expect_gbnf("root ::= \"a\"{0} \"b\"{0,0} \"c\"{3} \"d\"{1,}", TEXTS("cccd", "cccddddd"),
                TEXTS("ccc", "accc", "ccd"));
}

/* Characters of one to four bytes, around the bounds of their lengths. */
static void test_characters(void **state) {
    (void)state;
    expect_gbnf("root ::= [\\u007f-\\u0800\\U00010000-\\U0010FFFF]",
                TEXTS("\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xf0\x90\x80\x80",
                      "\xf4\x8f\xbf\xbf"),
                TEXTS("~", "\xe0\xa0\x81", "\xef\xbf\xbf", "\xf4\x90\x80\x80", "\xc1\xbf",
                      "\xe0\x9f\xbf", "\xf0\x8f\x80\x80"));
    expect_gbnf("root ::= [^a]", TEXTS("\xed\x9f\xbf", "\xee\x80\x80", "b"),
                TEXTS("\xed\xa0\x80", "a", "\xff"));
    for (uint32_t c = 0x20; c < 0x11000; c += 97) { /* a class of one */
        char source[64], text[5] = {0};
        if (c >= 0xd800 && c < 0xe000)
            continue;
        snprintf(source, sizeof source, "root ::= [\\U%08x-\\U%08x]", c, c + 70);
        weft_grammar *g = grammar_open(tokenizer, WEFT_GRAMMAR_GBNF, source);
        for (uint32_t d = c < 0x60 ? 1 : c - 60; d < c + 130; d += 5) {
            size_t n = d < 0x80 ? 1 : d < 0x800 ? 2 : d < 0x10000 ? 3 : 4;
            uint32_t rest = d;
            for (size_t i = n - 1; i > 0; i--, rest >>= 6)
                text[i] = (char)(0x80 | (rest & 63));
            text[0] = (char)((n == 1 ? 0 : n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | rest);
            text[n] = 0;
            expect_takes(g, text, d >= c && d <= c + 70 && (d < 0xd800 || d > 0xdfff));
        }
        weft_grammar_release(&g);
    }
}

static void expect_error(weft_grammar_kind kind, const char *source, weft_status want,
                         const char *says) {
    weft_grammar *g;
    weft_status status = weft_grammar_create(tokenizer, kind, source, strlen(source), &g);
    if (status != want || !strstr(weft_detail(), says))
        fail_msg("'%s': %s: '%s' does not say '%s'", source, weft_status_name(status),
                 weft_detail(), says);
    assert_null(g);
}

static void test_gbnf_errors_have_a_place(void **state) {
    (void)state;
    const struct {
        const char *source, *says;
    } cases[] = {
        {"", "no rule 'root'"},
        {"a ::= \"x\"", "no rule 'root'"},
        {"root ::= \"x", "line 1, column 10: this literal has no end"},
        {"root ::= [a-", "line 1, column 10"},
        {"root ::= \"é\" b\n", "line 1, column 14: rule 'b' is not defined"},
        {"root ::= \"x\"\nroot ::= \"y\"", "line 2, column 1: rule 'root' is defined twice"},
        {"root = \"x\"", "line 1, column 6: expected '::='"},
        {"\n\nroot ::= (\"x\"", "line 3, column 14: expected ')'"},
        {"root ::= \"x\" )", "line 1, column 14"},
        {"root ::= \"x\"{3,2}", "at least 3, but at most 2"},
        {"root ::= \"x\"{2,1000000}", "more than 100000"},
        {"root ::= \"\\q\"", "line 1, column 11: unknown escape"},
        {"root ::= [z-a]", "line 1, column 11: the range ends before it begins"},
        {"root ::= \"\xff\"", "invalid UTF-8"},
        {"root ::= <think>", "tokens as items"},
        {"root ::= * \"a\"", "line 1, column 10"},
        {"root ::= \"a\" root", "no text at all"},
        {"root ::= []", "no text at all"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_error(WEFT_GRAMMAR_GBNF, cases[i].source, WEFT_E_FORMAT, cases[i].says);
    expect_error(WEFT_GRAMMAR_GBNF, "root ::= ((((\"a\"{1000}){1000}){1000}){1000})",
                 WEFT_E_OVERFLOW, "states");
}

/* Left recursion within a rule becomes a loop, also behind something that may be empty. */
static void test_recursion(void **state) {
    (void)state;
    expect_gbnf("root ::= root \"+\" [0-9] | [0-9]", TEXTS("1", "1+2", "1+2+3"),
                TEXTS("", "1+", "+1", "12"));
    expect_gbnf("root ::= e\ne ::= e \"+\" t | e \"-\" t | t\nt ::= t \"*\" f | f\n"
                "f ::= \"(\" e \")\" | [a-z]",
                TEXTS("a", "a+b*c", "(a-b)*c+(d)", "((a))"), TEXTS("a+", "(a", "a**b", "()"));
    expect_gbnf("root ::= o root \"x\" | \"y\"\no ::= \"a\"?",
                TEXTS("y", "yx", "ayx", "aayxx", "ayxxx"), TEXTS("x", "ay", "aayx"));
    expect_gbnf("root ::= root root | \"a\"", TEXTS("a", "aa", "aaaaaaaaaaaaaaaaaaaaaa"),
                TEXTS("", "ab"));
    expect_gbnf("root ::= root | \"a\" | root root root", TEXTS("a", "aaa", "aaaaa"),
                TEXTS("", "b", "aa"));
    expect_gbnf("root ::= ((\"a\"*)*)* | (\"\" | \"b\"*)+", TEXTS("", "aaa", "bb"), TEXTS("ab"));
    expect_gbnf("root ::= n n n \"x\"\nn ::= m m\nm ::= \"\" | \"a\"", TEXTS("x", "ax", "aaaaaax"),
                TEXTS("aaaaaaax", "a"));
    expect_gbnf("root ::= \"(\" root \")\" root | \"\"", TEXTS("", "()", "(())()", "()()()"),
                TEXTS("(", ")", "())"));
    expect_error(WEFT_GRAMMAR_GBNF, "root ::= b \"x\" | \"y\"\nb ::= root \"z\" | \"w\"",
                 WEFT_E_UNSUPPORTED, "rule 'root' begins with itself through rule 'b'");
    expect_error(WEFT_GRAMMAR_GBNF,
                 "root ::= one\none ::= two \"x\" | \"y\"\ntwo ::= three\nthree ::= \"\"? one",
                 WEFT_E_UNSUPPORTED, "rule 'one' begins with itself through rule 'three'");
}

/* The number of ways to read a text does not matter, nor does its depth. */
static void test_ambiguity_and_depth_are_bounded(void **state) {
    (void)state;
    static const char *const sources[] = {
        "root ::= \"[\" root \"]\" | \"\"",
        "root ::= \"[\" root \"]\" | \"[\" root \"]\" \"\" | \"[\" root \"]\" root | \"\"",
        "root ::= a\na ::= \"[\" (a | \"\") \"]\" | b\nb ::= \"[\" (b | a) \"]\" | \"\"",
    };
    for (size_t s = 0; s < 3; s++) {
        weft_grammar *g = grammar_open(tokenizer, WEFT_GRAMMAR_GBNF, sources[s]);
        const uint64_t *bits;
        for (int i = 0; i < 60000; i++)
            assert_weft_ok(weft_grammar_accept_bytes(g, "[", 1));
        assert_weft_ok(weft_grammar_mask(g, 300, &bits));
        assert_false(weft_grammar_may_end(g));
        for (int i = 0; i < 60000; i++)
            assert_weft_ok(weft_grammar_accept_bytes(g, "]", 1));
        assert_true(weft_grammar_may_end(g));
        weft_grammar_release(&g);
    }
    weft_grammar *g =
        grammar_open(tokenizer, WEFT_GRAMMAR_GBNF, "root ::= \"a\" root | root root | \"\"");
    for (int i = 0; i < 250; i++)
        assert_weft_ok(weft_grammar_accept_bytes(g, "a", 1));
    assert_true(weft_grammar_may_end(g));
    weft_grammar_release(&g);
}

/* Ten million levels are too many: an error that can be left again, not the machine's memory. */
static void test_a_text_too_deep_is_an_error(void **state) {
    (void)state;
    weft_grammar *g =
        grammar_open(tokenizer, WEFT_GRAMMAR_GBNF, "root ::= \"[\" root \"]\" | \"\"");
    weft_status status = WEFT_OK;
    for (int i = 0; i < 10000000 && !status; i++)
        status = weft_grammar_accept_bytes(g, "[[[[", 4);
    assert_int_equal(status, WEFT_E_OVERFLOW);
    const uint64_t *bits;
    assert_weft_fails(weft_grammar_mask(g, 300, &bits), WEFT_E_OVERFLOW);
    expect_takes(g, "[[]]", true);
    weft_grammar_release(&g);
}

static void test_masks(void **state) {
    (void)state;
    static const char *const sources[] = {
        json,
        "root ::= root \"+\" (\"a\"+ | \"(\" root \")\") | \"a\"",
        "root ::= item+\nitem ::= [a-z]+ [ ]* | \"é\" | \"日\" .",
        "root ::= \"a\" root \"a\" | \"\"",
        "root ::= (\"ab\" | \"a\" \"\\\"\" | \"1\"? \"0\"{1,3} \".\")*",
    };
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        weft_grammar *g = grammar_open(tokenizer, WEFT_GRAMMAR_GBNF, sources[i]);
        for (uint64_t seed = 0; seed < 6; seed++)
            expect_masks(tokenizer, g, 30, seed);
        weft_grammar_release(&g);
    }
}

/* Long repetitions, whose copies share masks where they are far from both ends. */
static void test_masks_of_long_repetitions(void **state) {
    (void)state;
    static const char *const sources[] = {
        "root ::= [a+1]{70,140} \"\\\"\"",         "root ::= ([a+] | \"11\"){0,90} \"\\\"\" \",\"",
        "root ::= ([a+]? \"1\"?){30,60} \"\\\"\"", "root ::= \"a\"{100,} \")\"",
        "root ::= ([a+]{0,30} \"1\"){2,60}",
    };
    static const char text[] = "aa+a1";
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        weft_grammar *g = grammar_open(tokenizer, WEFT_GRAMMAR_GBNF, sources[i]);
        for (uint64_t seed = 0; seed < 2; seed++)
            expect_masks(tokenizer, g, 80, seed);
        weft_grammar_release(&g);
    }
    /* As one by one: a text of every length is followed by what may follow. */
    weft_grammar *g = grammar_open(tokenizer, WEFT_GRAMMAR_GBNF, sources[0]);
    for (int n = 0; n <= 140; n++) {
        const uint64_t *bits;
        assert_weft_ok(weft_grammar_mask(g, 256, &bits));
        assert_int_equal(bits['"' / 64] >> ('"' % 64) & 1, n >= 70);
        assert_int_equal(bits['a' / 64] >> ('a' % 64) & 1, n < 140);
        if (n < 140)
            assert_weft_ok(weft_grammar_accept_bytes(g, &text[n % 5], 1));
    }
    weft_grammar_release(&g);
}

static void test_ends(void **state) {
    (void)state;
    weft_grammar *g = grammar_open(tokenizer, WEFT_GRAMMAR_GBNF, "root ::= \"ab\" \"c\"?");
    int32_t eos = weft_tokenizer_eos(tokenizer);
    const uint64_t *bits;
    assert_weft_fails(weft_grammar_accept(g, eos), WEFT_E_ARGUMENT);
    assert_weft_ok(weft_grammar_accept_bytes(g, "ab", 2));
    assert_true(weft_grammar_may_end(g) && !weft_grammar_is_over(g));
    assert_weft_ok(weft_grammar_mask(g, 1000, &bits)); /* more rows than the tokeniser has ids */
    assert_true(bits[eos / 64] >> (eos % 64) & 1);
    assert_true(bits['c' / 64] >> ('c' % 64) & 1);
    assert_weft_fails(weft_grammar_accept(g, 'd'), WEFT_E_ARGUMENT);
    assert_weft_ok(weft_grammar_accept(g, 'c'));
    assert_true(weft_grammar_is_over(g));
    assert_weft_ok(weft_grammar_accept(g, eos));
    assert_weft_fails(weft_grammar_accept(g, eos + 1), WEFT_E_ARGUMENT);
    weft_grammar_release(&g);
}

static void test_regex(void **state) {
    (void)state;
    expect_regex("(\\d{3}-)?\\d{4}", TEXTS("1234", "555-1234"), TEXTS("123", "555-123", "a1234"));
    expect_regex("^(?:yes|no|(?<x>may)be)$", TEXTS("yes", "no", "maybe"), TEXTS("may", "yess", ""));
    expect_regex("[^\\d\\s]+?\\.\\x41\\u00e9*[a\\]-]{2,}", TEXTS("b.A]-", "zz.Aéé-a"),
                 TEXTS("1.Aaa", "b.Aa", "é.Aaa"));
    expect_regex("a{,3}|a{2|.\\S", TEXTS("a{,3}", "a{2", "éé"), TEXTS("a", "\n1", "é "));
    expect_regex("", TEXTS(""), TEXTS("a"));
    expect_error(WEFT_GRAMMAR_REGEX, "a(b", WEFT_E_FORMAT, "column 2: this group has no end");
    expect_error(WEFT_GRAMMAR_REGEX, "a)b", WEFT_E_FORMAT, "column 2");
    expect_error(WEFT_GRAMMAR_REGEX, "(?=a)", WEFT_E_UNSUPPORTED, "column 1");
    expect_error(WEFT_GRAMMAR_REGEX, "(a)\\1", WEFT_E_UNSUPPORTED, "back references");
    expect_error(WEFT_GRAMMAR_REGEX, "\\bword", WEFT_E_UNSUPPORTED, "word boundaries");
    expect_error(WEFT_GRAMMAR_REGEX, "(^a)", WEFT_E_UNSUPPORTED, "anchors");
    expect_error(WEFT_GRAMMAR_REGEX, "*a", WEFT_E_FORMAT, "column 1");
    expect_error(WEFT_GRAMMAR_REGEX, "[b-a]", WEFT_E_FORMAT, "column 2");
    expect_error(WEFT_GRAMMAR_REGEX, "[ab", WEFT_E_FORMAT, "column 1");
    expect_error(WEFT_GRAMMAR_REGEX, "a\\", WEFT_E_FORMAT, "column 2");
}

static void test_multiples(void **state) {
    (void)state;
    expect_schema("{'type': 'integer', 'multipleOf': 7}",
                  TEXTS("0", "7", "-14", "700000007", "343"), TEXTS("1", "-0", "07", "8", "7.0"));
    expect_schema("{'type': 'number', 'multipleOf': 0.25}",
                  TEXTS("0", "7", "-0.25", "1234.75", "0.5", "0.50", "-3"),
                  TEXTS("0.3", "-0", "07.5", "0.125", "1.7", "1.", ".5", "1e3"));
    expect_schema("{'type': 'number', 'multipleOf': 0.01, 'minimum': 0, 'exclusiveMaximum': 20}",
                  TEXTS("0", "0.01", "0.07", "0.29", "19.99", "4.35"),
                  TEXTS("20", "-0.01", "20.00", "0.001", "19.999"));
    expect_schema("{'allOf': [{'multipleOf': 0.4}, {'multipleOf': 0.5}], 'type': 'number'}",
                  TEXTS("0", "2", "4", "-10"), TEXTS("1", "0.4", "2.5", "3"));
    expect_schema("{'type': 'integer', 'multipleOf': 1.5, 'minimum': 1}", TEXTS("3", "6", "99"),
                  TEXTS("1", "1.5", "0", "4"));
    /* Exactly one of them, whatever the spelling. */
    expect_schema("{'type': 'number', 'oneOf': [{'multipleOf': 5}, {'multipleOf': 3}]}",
                  TEXTS("5", "3", "-9", "20"), TEXTS("15", "0", "-0", "4", "15.0", "2.5", "30"));
    /* What a double would round to a multiple is none either. */
    expect_schema("{'type': 'number', 'minimum': 1, 'not': {'multipleOf': 5}}",
                  TEXTS("4.99999", "14.999999", "123456789.012345", "7", "100000000000001"),
                  TEXTS("14.9999999999999999", "5.00000000000000001", "15", "10.000000"));
    expect_schema("{'type': 'number', 'minimum': 0, 'maximum': 2, 'not': {'multipleOf': 0.5}}",
                  TEXTS("0.25", "1.2", "0.05", "1.51"),
                  TEXTS("0", "0.5", "1.50", "1.000", "2", "2.0"));
    expect_schema("{'multipleOf': 0.1, 'enum': [0.3, 0.7, 0.25, 2, 1e3]}", TEXTS("0.3", "0.7", "2"),
                  TEXTS("0.25"));
}

/* A format that must not be met, and one beside listed values. */
static void test_formats(void **state) {
    (void)state;
    expect_schema("{'type': 'string', 'oneOf': [{'format': 'ipv4'}, {'format': 'email'}]}",
                  TEXTS("\"127.0.0.1\"", "\"a@b.c\""), TEXTS("\"127.0.0\"", "\"a\"", "\"\""));
    expect_schema("{'type': 'string', 'not': {'format': 'date'}, 'maxLength': 12}",
                  TEXTS("\"\"", "\"2024-1-1\"", "\"today\""),
                  TEXTS("\"2024-01-01\"", "\"2024-02-30\"", "\"\\u0032024-01-01\""));
    /* A name that nobody knows is an annotation: nothing fails it. */
    expect_schema("{'type': ['string', 'null'], 'not': {'type': 'string', 'format': 'my'}}",
                  TEXTS("null"), TEXTS("\"\"", "\"a\""));
    expect_schema("{'format': 'date', 'enum': ['2024-01-01', 'now', 7]}",
                  TEXTS("\"2024-01-01\"", "7"), TEXTS("\"now\""));
}

/* Conditions, exclusions and rules of numbers, items and members. */
static void test_schemas_by_other_keywords(void **state) {
    (void)state;
    expect_schema("{'type': 'string', 'not': {'enum': ['ab', 'a\\n']}}",
                  TEXTS("\"\"", "\"a\"", "\"abc\"", "\"a\\t\"", "\"é\""),
                  TEXTS("\"ab\"", "\"a\\n\"", "\"\\u0061b\""));
    expect_schema("{'type': 'integer', 'oneOf': [{'minimum': 0, 'maximum': 9},"
                  " {'minimum': 5, 'maximum': 20}]}",
                  TEXTS("0", "4", "10", "20"), TEXTS("5", "9", "21", "-1"));
    expect_schema("{'type': 'object', 'properties': {'k': {'enum': ['a', 'b']},"
                  " 'x': {'type': 'integer'}}, 'required': ['k'],"
                  " 'if': {'properties': {'k': {'const': 'a'}}},"
                  " 'then': {'required': ['x']}}",
                  TEXTS("{\"k\":\"a\",\"x\":1}", "{\"k\":\"b\"}", "{\"k\":\"b\",\"x\":1}"),
                  TEXTS("{\"k\":\"a\"}", "{\"x\":1}"));
    expect_schema("{'type': 'object', 'properties': {'a': {}, 'b': {}},"
                  " 'dependentRequired': {'a': ['b']}}",
                  TEXTS("{}", "{\"b\":1}", "{\"a\":1,\"b\":1}"), TEXTS("{\"a\":1}"));
    expect_schema("{'type': 'array', 'items': {'enum': [1, 2, 3]}, 'contains':"
                  " {'const': 2}, 'maxContains': 2}",
                  TEXTS("[2]", "[1,2]", "[2,3,2]", "[1,2,3,1]"), TEXTS("[]", "[1,3]", "[2,2,2]"));
    expect_schema("{'type': 'array', 'uniqueItems': true, 'items': {'enum': ['a', 'b',"
                  " 'c']}, 'minItems': 1, 'maxItems': 2}",
                  TEXTS("[\"a\"]", "[\"a\",\"c\"]", "[\"b\", \"c\"]"),
                  TEXTS("[]", "[\"a\",\"a\"]", "[\"a\",\"b\",\"c\"]"));
    expect_schema(
        "{'type': 'object', 'properties': {'xa': {}}, 'patternProperties':"
        " {'^x': {'type': 'integer'}, 'y$': {'type': 'boolean'}},"
        " 'additionalProperties': false}",
        TEXTS("{}", "{\"xa\":1}", "{\"xb\":3,\"ay\":true}"),
        TEXTS("{\"xa\":true}", "{\"xb\":true}", "{\"a\":1}", "{\"xy\":1}", "{\"\\u0078b\":true}"));
    expect_schema("{'type': 'object', 'propertyNames': {'pattern': '^[a-c]+$'},"
                  " 'properties': {'ab': {'const': 1}, 'xy': {}},"
                  " 'additionalProperties': true}",
                  TEXTS("{\"ab\":1}", "{\"ba\":2}", "{\"ab\":1,\"c\":{}}"),
                  TEXTS("{\"ab\":2}", "{\"xy\":1}", "{\"d\":1}"));
    expect_schema("{'enum': ['a', 'bb', 3, [1]], 'not': {'minLength': 2}}", TEXTS("\"a\""),
                  TEXTS("\"bb\""));
}

/* A choice of which exactly one holds, numbers beside a bound, members that nothing has evaluated,
 * and their number. */
static void test_schemas_with_exact_edges(void **state) {
    (void)state;
    const char *const fractions[] = {"1.5", "-0.25", "0.000001", NULL};
    const char *const others[] = {"1", "-3", "0", "1.0", "2.50", "1e3", "\"a\"", NULL};
    expect_schema("{'oneOf': [{'type': 'integer'}, {'type': 'number'}]}", fractions, others);
    expect_schema("{'type': 'number', 'not': {'type': 'integer'}}", fractions, others);
    /* 3.1400000000000001 and 3.14 are one double. */
    expect_schema("{'type': 'number', 'exclusiveMinimum': 3.14, 'exclusiveMaximum': 90}",
                  TEXTS("3.141", "3.15", "3.140001", "89.9999999", "4"),
                  TEXTS("3.14", "3.1400000000000001", "90", "89.9999999999999999"));
    expect_schema("{'type': 'integer', 'minimum': -9007199254740991,"
                  " 'maximum': 9007199254740991}",
                  TEXTS("9007199254740991", "-9007199254740991", "0"),
                  TEXTS("9007199254740992", "-9007199254740992"));
    expect_schema("{'properties': {'b': {}}, 'allOf': [{'type': 'object', 'properties':"
                  " {'a': {}}, 'unevaluatedProperties': false}]}",
                  TEXTS("{}", "{\"a\":1}"), TEXTS("{\"b\":1}", "{\"b\":1,\"a\":1}"));
    expect_schema("{'type': 'object', 'properties': {'b': {}}, 'allOf': [{'properties':"
                  " {'a': {}}}], 'unevaluatedProperties': false}",
                  TEXTS("{}", "{\"b\":1,\"a\":1}"), TEXTS("{\"c\":1}"));
    expect_schema("{'type': 'array', 'prefixItems': [{'type': 'integer'}],"
                  " 'unevaluatedItems': {'type': 'boolean'}}",
                  TEXTS("[]", "[1]", "[1,true]"), TEXTS("[1,2]", "[true]"));
    expect_schema("{'type': 'object', 'properties': {'a': {}, 'b': {}, 'c': {}},"
                  " 'required': ['b'], 'minProperties': 2, 'maxProperties': 2}",
                  TEXTS("{\"a\":1,\"b\":2}", "{\"b\":1,\"c\":2}"),
                  TEXTS("{}", "{\"b\":1}", "{\"a\":1,\"c\":2}", "{\"a\":1,\"b\":2,\"c\":3}"));
    expect_schema("{'type': 'object', 'propertyNames': {'enum': ['en', 'de']},"
                  " 'additionalProperties': {'type': 'integer'}, 'minProperties': 1}",
                  TEXTS("{\"en\":1}", "{\"de\":1}", "{\"en\":1,\"de\":2}"),
                  TEXTS("{}", "{\"fr\":1}", "{\"en\":true}"));
    expect_schema("{'$id': 'urn:x', '$defs': {'a': {'$anchor': 'n', 'type': 'null'}},"
                  " 'anyOf': [{'$ref': '#n'}, {'$ref': 'urn:x#/$defs/a'}]}",
                  TEXTS("null"), TEXTS("1"));
}

/* Long texts with a limit share their states. */
static void test_long_strings_are_counted(void **state) {
    (void)state;
    weft_grammar *g =
        grammar_open(tokenizer, WEFT_GRAMMAR_JSON_SCHEMA,
                     "{\"type\": \"string\", \"minLength\": 1030, \"maxLength\": 2500}");
    static const size_t lengths[] = {0, 1029, 1030, 1535, 1536, 2047, 2048, 2499, 2500, 2501, 3000};
    char text[3003] = "\"";
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        memset(text + 1, 'x', lengths[i]);
        memcpy(text + 1 + lengths[i], "\"", 2);
        expect_takes(g, text, lengths[i] >= 1030 && lengths[i] <= 2500);
    }
    weft_grammar_release(&g);
}

/* Inside of a text all plain tokens are alike; where characters are counted, by their number. */
static void test_masks_of_texts(void **state) {
    (void)state;
    static const char *const schemas[] = {
        "{\"type\": \"string\"}", "{\"type\": \"string\", \"maxLength\": 3}",
        "{\"type\": \"string\", \"pattern\": \"^a.{2,5}$\"}",
        "{\"type\": \"object\", \"additionalProperties\": {\"type\": \"string\"}}",
        "{\"type\": \"string\", \"not\": {\"const\": \"aa\"}, \"maxLength\": 20}"};
    for (size_t i = 0; i < sizeof schemas / sizeof schemas[0]; i++)
        for (uint64_t seed = 1; seed < 6; seed++) {
            weft_grammar *g = grammar_open(tokenizer, WEFT_GRAMMAR_JSON_SCHEMA, schemas[i]);
            expect_masks(tokenizer, g, 12, seed);
            weft_grammar_release(&g);
        }
    weft_grammar *g = grammar_open(tokenizer, WEFT_GRAMMAR_REGEX, "\"[^\"\\\\]{0,4}\"|x.*");
    expect_masks(tokenizer, g, 12, 3);
    weft_grammar_release(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gbnf),
        cmocka_unit_test(test_characters),
        cmocka_unit_test(test_gbnf_errors_have_a_place),
        cmocka_unit_test(test_recursion),
        cmocka_unit_test(test_ambiguity_and_depth_are_bounded),
        cmocka_unit_test(test_a_text_too_deep_is_an_error),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_masks_of_long_repetitions),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_regex),
        cmocka_unit_test(test_multiples),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_schemas_by_other_keywords),
        cmocka_unit_test(test_schemas_with_exact_edges),
        cmocka_unit_test(test_long_strings_are_counted),
        cmocka_unit_test(test_masks_of_texts),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
