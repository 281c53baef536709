/* Grammars from strangers: what is not supported is refused by name, what is too large by size;
 * nothing takes long, and every allocation may fail. */
#include "grammar_fixture.h"
#include <time.h>

/* The status, within a bounded time (two seconds of CPU; sanitizers slow down by far less than the
 * hundredfold that is asked for in practice). */
static weft_status try(weft_grammar_kind kind, const char *source, size_t n) {
    weft_grammar *g;
    clock_t start = clock();
    weft_status status = weft_grammar_create(tokenizer, kind, source, n, &g);
    const uint64_t *bits;
    for (int i = 0; i < 20 && !status && !weft_grammar_is_over(g); i++) {
        status = weft_grammar_mask(g, 400, &bits);
        int32_t token = 0;
        while (!status && token < 300 && !(bits[token / 64] >> (token % 64) & 1))
            token++;
        if (!status)
            status = weft_grammar_accept(g, token);
    }
    weft_grammar_release(&g);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (getenv("WEFT_SHOW_TIMES"))
        print_message("%.2f s: %.60s\n", seconds, source);
    if (seconds > 20)
        fail_msg("'%.60s…' takes %.1f s", source, seconds);
    return status;
}

static void test_schemas_are_refused_by_name(void **state) {
    (void)state;
    const struct {
        const char *source, *says;
    } cases[] = {
        {"{\"if\": {\"multipleOf\": 3000}, \"then\": {\"minimum\": 2}}", "'multipleOf' above"},
        {"{\"enum\": [\"a-b@[::1]\"], \"format\": \"email\"}",
         "'a-b@[::1]' is of the format 'email'"},
        {"{\"$defs\": {\"a\": {\"not\": {\"items\": {\"$ref\": \"#/$defs/b\"}}}, \"b\": "
         "{\"items\": {\"$ref\": \"#/$defs/b\"}}}, \"$ref\": \"#/$defs/a\"}",
         "refers to itself"},
        {"{\"type\": \"array\", \"uniqueItems\": true}", "'uniqueItems'"},
        {"{\"allOf\": [{\"format\": \"date\"}, {\"format\": \"time\"}]}", "two formats"},
        {"{\"type\": \"number\", \"multipleOf\": 0.12345}", "'multipleOf'"},
        {"{\"type\": \"number\", \"multipleOf\": 1e-12}", "'multipleOf'"},
        {"{\"type\": \"number\", \"multipleOf\": -0.5}", "'multipleOf'"},
        {"{\"type\": \"integer\", \"multipleOf\": 0}", "'multipleOf'"},
        {"{\"type\": \"array\", \"contains\": {}, \"minContains\": 99}", "'minContains'"},
        {"{\"type\": \"object\", \"propertyNames\": {\"anyOf\": [{\"maxLength\": 2}, "
         "{\"pattern\": \"^a\"}]}}",
         "'propertyNames'"},
        {"{\"type\": \"string\", \"pattern\": \"(?=a)\"}", "(?"},
        {"{\"$ref\": \"https://example.org/x.json\"}", "https://example.org/x.json"},
        {"{\"$dynamicRef\": \"#n\"}", "'$dynamicRef'"},
        {"{\"type\": \"object\", \"minProperties\": 2}", "'minProperties'"},
        {"{\"type\": \"number\", \"minimum\": 1e-300}", "digits"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(try(WEFT_GRAMMAR_JSON_SCHEMA, cases[i].source, strlen(cases[i].source)),
                         WEFT_E_UNSUPPORTED);
        assert_detail_has(cases[i].says);
    }
    const struct {
        const char *source, *says;
    } wrong[] = {
        {"", "invalid JSON"},
        {"{\"type\": \"strin\"}", "type"},
        {"{\"type\": \"string\",}", "line 1"},
        {"[1]", "schema"},
        {"3", "schema"},
        {"false", "no text at all"},
        {"{\"$ref\": \"#/$defs/x\"}", "#/$defs/x"},
        {"{\"$ref\": \"#name\"}", "#name"},
        {"{\"allOf\": [{\"type\": \"string\"}, {\"type\": \"null\"}]}", "no text at all"},
        {"{\"type\": \"integer\", \"minimum\": 3, \"maximum\": 2}", "no text at all"},
        {"{\"oneOf\": [{\"type\": \"object\"}, {\"type\": \"object\"}]}", "no text at all"},
        {"{\"enum\": [\"a\"], \"minLength\": 3}", "no text at all"},
        {"{\"not\": {}}", "no text at all"},
        {"{\"type\": \"object\", \"properties\": {\"a\": false}, \"required\": [\"a\"]}",
         "no text at all"},
        {"{\"type\": \"object\", \"properties\": {\"a\": {\"$ref\": \"#\"}}, \"required\": "
         "[\"a\"]}",
         "no text at all"},
        {"{\"type\": \"string\", \"pattern\": \"(a\"}", "column 1"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        weft_status status =
            try(WEFT_GRAMMAR_JSON_SCHEMA, wrong[i].source, strlen(wrong[i].source));
        if (status != WEFT_E_FORMAT || !strstr(weft_detail(), wrong[i].says))
            fail_msg("'%s': %s: '%s'", wrong[i].source, weft_status_name(status), weft_detail());
    }
}

/* `unit` n times between two texts. */
static char *repeated(const char *before, const char *unit, size_t n, const char *after) {
    size_t k = strlen(unit);
    char *text = malloc(strlen(before) + n * k + strlen(after) + 1), *at = text;
    at = stpcpy(at, before);
    for (size_t i = 0; i < n; i++)
        at = stpcpy(at, unit);
    strcpy(at, after);
    return text;
}

static void expect_end(weft_grammar_kind kind, char *source) {
    weft_status status = try(kind, source, strlen(source));
    if (status != WEFT_OK && status != WEFT_E_FORMAT && status != WEFT_E_OVERFLOW &&
        status != WEFT_E_UNSUPPORTED)
        fail_msg("'%.60s…': %s: %s", source, weft_status_name(status), weft_detail());
    free(source);
}

static void test_large_and_twisted_ones_end(void **state) {
    (void)state;
    weft_grammar_kind gbnf = WEFT_GRAMMAR_GBNF, regex = WEFT_GRAMMAR_REGEX,
                      schema = WEFT_GRAMMAR_JSON_SCHEMA;
    expect_end(gbnf, repeated("root ::= ", "(", 100000, ""));
    expect_end(gbnf, repeated("root ::= ", "( \"a\"", 150, ""));
    expect_end(gbnf, repeated("root ::= ", "\"a\" | ", 100000, "\"b\""));
    expect_end(gbnf, repeated("root ::= \"a\"", "*", 3000, ""));
    expect_end(gbnf, repeated("root ::= \"a\"", "?", 3000, ""));
    expect_end(gbnf, repeated("root ::= \"a\"", "{2}", 40, ""));
    expect_end(gbnf, repeated("root ::= \"a\"", "{0,3}", 12, ""));
    expect_end(gbnf, repeated("root ::= ", "a b ", 20000, "\na ::= \"\"\nb ::= \"\" | \"x\"\n"));
    expect_end(gbnf, repeated("root ::= ", "a | ", 20000, "a\na ::= \"\" | \"x\" a a a\n"));
    expect_end(gbnf, repeated("root ::= \"", "long ", 100000, "\""));
    expect_end(gbnf, repeated("root ::= [", "az-", 100000, "]"));
    expect_end(regex, repeated("", "(a*)*", 2000, "b"));
    expect_end(regex, repeated("", "(", 50000, "a"));
    expect_end(regex, repeated("(a|", "aa|", 5000, "b)*c"));
    expect_end(regex, repeated("", "a?", 5000, "aaaa"));
    expect_end(regex, repeated("((a{100}){100}){", "1", 5, "}"));
    expect_end(regex, strdup("(a|b|c|[a-z ]{1,30}|[a-d ]*|[ -~]{0,25}){0,400}"));
    expect_end(regex, strdup("((([a-z ]{0,40}){0,40}){0,20})"));
    expect_end(schema, repeated("", "[", 100000, ""));
    expect_end(schema, repeated("", "{\"items\":", 1500, "{}"));
    expect_end(schema,
               repeated("{\"anyOf\":[", "{\"anyOf\":[{},{\"type\":\"null\"}]},", 200, "{}]}"));
    expect_end(schema, repeated("{\"allOf\":[", "{\"anyOf\":[{\"minimum\":1},{\"maximum\":2}]},",
                                20, "{\"type\":\"integer\"}]}"));
    expect_end(schema, repeated("{\"enum\":[", "\"value\",", 100000, "1]}"));
    expect_end(schema, repeated("{\"type\":\"string\",\"maxLength\":", "9", 15, "}"));
    expect_end(schema,
               repeated("{\"type\":\"array\",\"minItems\":4000,\"maxItems\":", "9", 15, "}"));
    expect_end(schema, repeated("{\"required\":[", "\"x\",", 100000, "\"y\"]}"));
    expect_end(schema, strdup("{\"$ref\": \"#\"}"));
    expect_end(schema, strdup("{\"$defs\": {\"a\": {\"$ref\": \"#/$defs/b\"}, \"b\": {\"$ref\": "
                              "\"#/$defs/a\"}}, \"$ref\": \"#/$defs/a\"}"));
    expect_end(schema, strdup("{\"anyOf\": [{\"$ref\": \"#\"}, {\"type\": \"null\"}]}"));
    expect_end(schema, strdup("{\"type\": \"string\", \"pattern\": \"(a{1000}){1000}\"}"));
    expect_end(schema, strdup("{\"type\": \"string\", \"pattern\": \"^(a|b)*$\", \"minLength\": "
                              "8000, \"maxLength\": 8000}"));
}

/* Chains of rules, each calling others. */
static void test_many_rules(void **state) {
    (void)state;
    char *source = malloc(1 << 22), *at = source;
    at += sprintf(at, "root ::= r0\n");
    for (int i = 0; i < 30000; i++)
        at += sprintf(at, "r%d ::= r%d | \"x\" r%d\n", i, i + 1, (i * 7919) % 30000);
    sprintf(at, "r30000 ::= \"end\"\n");
    expect_end(WEFT_GRAMMAR_GBNF, source);
    source = malloc(1 << 22);
    at = source + sprintf(source, "{\"properties\": {");
    for (int i = 0; i < 3000; i++)
        at += sprintf(at, "%s\"name%d\": {\"type\": \"integer\"}", i ? ", " : "", i);
    sprintf(at, "}, \"additionalProperties\": {\"type\": \"string\"}}");
    expect_end(WEFT_GRAMMAR_JSON_SCHEMA, source);
}

/* ---- Memory ---- */

typedef struct ramp {
    size_t left, live;
} ramp;

static void *ramp_alloc(void *ctx, size_t size_bytes, size_t align) {
    ramp *r = ctx;
    void *memory;
    if (r->left == 0 || posix_memalign(&memory, align, size_bytes))
        return NULL;
    r->left--;
    r->live += size_bytes;
    return memory;
}

static void ramp_release(void *ctx, void *memory, size_t size_bytes) {
    ramp *r = ctx;
    r->live -= size_bytes;
    free(memory);
}

/* The memory of a text nested 60,000 deep, beyond what its grammar takes. */
static void test_depth_takes_little_memory(void **state) {
    (void)state;
    ramp r = {.left = SIZE_MAX};
    weft_allocator a = {ramp_alloc, ramp_release, &r};
    weft_engine *own = make_engine(&a);
    weft_tokenizer *t = grammar_tokenizer(own);
    weft_grammar *g = grammar_open(t, WEFT_GRAMMAR_GBNF, "root ::= \"[\" root \"]\" | \"\"");
    size_t before = r.live, most = before;
    for (int i = 0; i < 120000; i++) {
        assert_weft_ok(weft_grammar_accept_bytes(g, i < 60000 ? "[" : "]", 1));
        most = r.live > most ? r.live : most;
    }
    assert_true(weft_grammar_may_end(g));
    print_message("60,000 levels: %zu KiB\n", (most - before) / 1024);
    assert_true(most - before < (size_t)16 << 20);
    weft_grammar_release(&g);
    weft_tokenizer_release(&t);
    weft_engine_release(&own);
}

static weft_status use(const weft_tokenizer *t, weft_grammar_kind kind, const char *source,
                       const char *text) {
    weft_grammar *g;
    weft_status status = weft_grammar_create(t, kind, source, strlen(source), &g);
    for (; *text && !status; text++) {
        const uint64_t *bits;
        status = weft_grammar_mask(g, 400, &bits);
        if (!status)
            status = weft_grammar_accept_bytes(g, text, 1);
    }
    weft_grammar_reset(g); /* also after a failure */
    weft_grammar_release(&g);
    return status;
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    const struct {
        weft_grammar_kind kind;
        const char *source, *text;
    } cases[] = {
        {WEFT_GRAMMAR_GBNF,
         "root ::= e\ne ::= e \"+\" t | t\nt ::= [a-z]{1,30} | \"(\" e \")\" | [^a-z]? \"!\"",
         "a+(b+c)+!"},
        {WEFT_GRAMMAR_REGEX, "(a|b[^c]\\d{2,40})+(?:x|yy)*", "abz123xyy"},
        {WEFT_GRAMMAR_JSON_SCHEMA,
         "{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"array\", \"items\": "
         "{\"type\": \"number\", \"minimum\": 0.5}}, \"b\": {\"type\": \"string\", \"pattern\": "
         "\"^x+$\"}, \"c\": {\"anyOf\": [{\"enum\": [1, \"y\"]}, {\"$ref\": \"#\"}]}}, "
         "\"additionalProperties\": true, \"required\": [\"b\"]}",
         "{\"a\":[1.25],\"b\":\"xx\",\"c\":{\"b\":\"x\"},\"d\":null}"},
        {WEFT_GRAMMAR_JSON_SCHEMA,
         "{\"type\": \"object\", \"properties\": {\"a\": {\"enum\": [\"x\", \"yy\", 3], \"not\": "
         "{\"pattern\": \"^x\"}}, \"b\": {\"type\": \"array\", \"items\": {\"enum\": [1, 2]}, "
         "\"uniqueItems\": true}}, \"patternProperties\": {\"^p\": {\"multipleOf\": 3}}, \"if\": "
         "{\"required\": [\"a\"]}, \"then\": {\"required\": [\"b\"]}}",
         "{\"a\":\"yy\",\"b\":[1,2],\"pq\":9}"},
        {WEFT_GRAMMAR_JSON_SCHEMA,
         "{\"type\": \"object\", \"properties\": {\"a\": {\"oneOf\": [{\"type\": \"integer\"}, "
         "{\"type\": \"number\"}]}, \"b\": {\"$ref\": \"#t\"}}, \"minProperties\": 2, \"allOf\": "
         "[{\"$anchor\": \"t\", \"maxProperties\": 5}], \"unevaluatedProperties\": false, "
         "\"propertyNames\": {\"enum\": [\"a\", \"b\", \"c\"]}}",
         "{\"a\":1.5,\"b\":{}}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool done = false;
        for (size_t k = 0; !done; k++) {
            ramp r = {.left = SIZE_MAX};
            weft_allocator a = {ramp_alloc, ramp_release, &r};
            weft_engine *own = make_engine(&a);
            weft_tokenizer *t = grammar_tokenizer(own);
            r.left = k;
            weft_status status = use(t, cases[i].kind, cases[i].source, cases[i].text);
            done = status == WEFT_OK;
            if (!done && status != WEFT_E_MEMORY)
                fail_msg("allocation %zu fails: %s: %s", k, weft_status_name(status),
                         weft_detail());
            r.left = SIZE_MAX;
            weft_tokenizer_release(&t);
            weft_engine_release(&own);
            assert_int_equal(r.live, 0);
            assert_true(k < 3000);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schemas_are_refused_by_name),
        cmocka_unit_test(test_large_and_twisted_ones_end),
        cmocka_unit_test(test_many_rules),
        cmocka_unit_test(test_depth_takes_little_memory),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
