/* The template language: what Jinja makes of templates (tests/data/jinja), where errors are, and
 * that no template takes more than its bounds. */
#include "text/engine_fixture.h"

#include <jansson.h>
#include "base/clock.h"

static weft_status render(const char *source, const char *variables, char **out, size_t *n) {
    weft_chat_template *t = NULL;
    *out = NULL;
    weft_status status = weft_chat_template_create(engine, source, strlen(source), &t);
    weft_chat_input input = {.variables = variables, .now = "2026-01-05T14:07:09"};
    if (status == WEFT_OK)
        status = weft_chat_render(t, &input, out, n);
    if (*out) {
        char *copy = strdup(*out);
        weft_chat_text_free(t, *out, *n);
        *out = copy;
    }
    weft_chat_template_release(&t);
    return status;
}

static void as_jinja_does_it(void **state) {
    (void)state;
    json_error_t error;
    json_t *root = json_load_file(WEFT_TEST_DATA "/jinja/cases.json", 0, &error);
    assert_non_null(root);
    char *variables = json_dumps(json_object_get(root, "variables"), 0);
    const json_t *cases = json_object_get(root, "cases");
    assert_true(json_array_size(cases) > 150);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *c = json_array_get(cases, i);
        const char *source = json_string_value(json_object_get(c, "template"));
        const json_t *output = json_object_get(c, "output");
        char *out;
        size_t n;
        weft_status status = render(source, variables, &out, &n);
        if (!output && status == WEFT_OK)
            fail_msg("no error in %s", source);
        if (output && status)
            fail_msg("%s: %s", source, weft_detail());
        if (output) {
            assert_string_equal(out, json_string_value(output));
            assert_int_equal(n, json_string_length(output));
        }
        free(out);
    }
    free(variables);
    json_decref(root);
}

/* What Jinja as its authors set it up refuses, but templates use. */
static void beyond_jinja(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"{% set l = [] %}{% set _ = l.append(1) %}{{ l }}", "[1]"},
        {"{% set l = [1, 2] %}{{ l.pop() }}{{ l.pop(0) }}{{ l }}", "21[]"},
        {"{% set d = {'a': 1} %}{% set _ = d.update({'b': 2}, c=3) %}{{ d.pop('a') }}{{ d }}",
         "1{'b': 2, 'c': 3}"},
        {"{{ ('{\"a\": [1, 2.5, null, \"\\\\u00e9\"]}' | from_json).a }}", "[1, 2.5, None, 'é']"},
        {"{{ bos_token }}|{{ messages }}|{{ tools }}|{{ add_generation_prompt }}",
         "|None|None|False"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *out;
        size_t n;
        assert_weft_ok(render(cases[i][0], NULL, &out, &n));
        assert_string_equal(out, cases[i][1]);
        free(out);
    }
}

static void errors_say_where(void **state) {
    (void)state;
    static const struct {
        const char *source, *variables;
        weft_status status;
        const char *detail;
    } cases[] = {
        {"a\n{% if x %}\n  {{ 1 + }}{% endif %}", NULL, WEFT_E_FORMAT,
         "template: line 3, column 10: unexpected '}}'"},
        {"{% nonsense %}", NULL, WEFT_E_FORMAT, "line 1, column 4: unknown tag 'nonsense'"},
        {"\n\n{{ x.y }}", NULL, WEFT_E_ARGUMENT, "template: line 3, column 5: 'x' is undefined"},
        {"{{ messages[0].content + 1 }}", "{\"messages\": [{\"role\": \"user\"}]}", WEFT_E_ARGUMENT,
         "'dict object' has no attribute 'content'"},
        {"{{ raise_exception('No: ' + 'thanks') }}", NULL, WEFT_E_ARGUMENT, "template: No: thanks"},
        {"{{ 1 }}", "{\"a\": 1,\n \"b\": }", WEFT_E_ARGUMENT,
         "template: line 2, column 7: variables: Expecting value"},
        {"{{ 1 }}", "[1]", WEFT_E_ARGUMENT, "no JSON object"},
        {"\xff", NULL, WEFT_E_FORMAT, "UTF-8"},
        {"{{ nothing() }}", NULL, WEFT_E_ARGUMENT, "'nothing' is undefined"},
        {"{{ 'a' | unheard_of }}", NULL, WEFT_E_ARGUMENT, "No filter named 'unheard_of' found."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *out;
        size_t n;
        assert_weft_fails(render(cases[i].source, cases[i].variables, &out, &n), cases[i].status);
        assert_detail_has(cases[i].detail);
    }
    char *out;
    size_t n;
    weft_chat_template *t;
    assert_weft_ok(weft_chat_template_create(engine, "x", 1, &t));
    weft_chat_input input = {.now = "2026-02-30T00:00:00"};
    assert_weft_fails(weft_chat_render(t, &input, &out, &n), WEFT_E_ARGUMENT);
    assert_weft_fails(weft_chat_render(t, NULL, &out, &n), WEFT_E_NULL);
    weft_chat_template_release(&t);
}

/* ---- Templates that would take for ever, or all memory ---- */

static char *repeated(const char *part, size_t times, const char *end) {
    size_t n = strlen(part);
    char *text = malloc(n * times + strlen(end) + 1);
    assert_non_null(text);
    for (size_t i = 0; i < times; i++)
        memcpy(text + i * n, part, n);
    memcpy(text + n * times, end, strlen(end) + 1);
    return text;
}

static void expect_bounded(const char *source, const char *variables) {
    double begin = weft_clock_seconds();
    char *out;
    size_t n;
    weft_status status = render(source, variables, &out, &n);
    if (status == WEFT_OK)
        fail_msg("%.200s: %zu bytes came out", source, n);
    assert_true(status == WEFT_E_UNSUPPORTED || status == WEFT_E_FORMAT ||
                status == WEFT_E_ARGUMENT);
    if (weft_clock_seconds() - begin > 20)
        fail_msg("%.200s took %.1f s", source, weft_clock_seconds() - begin);
}

static void every_template_ends(void **state) {
    (void)state;
    static const char *const sources[] = {
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
        "{% for a in range(10000) %}{% for b in range(10000) %}x{{ b }}{% endfor %}{% endfor %}",
        "{{ range(10 ** 18) }}",
        "{% macro f(n) %}{{ f(n) }}{% endmacro %}{{ f(1) }}",
        "{% macro f(n) %}{{ f(n) }}{{ f(n) }}{% endmacro %}{{ f(1) }}",
        "{% set ns = namespace(s='x') %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}"
        "{% endfor %}",
        "{% set ns = namespace(s='x') %}{% for i in range(100000) %}{% set ns.s = ns.s ~ 'abcdefgh'"
        " * 1000 %}{% endfor %}",
        "{{ 'x' * 10 ** 12 }}",
        "{{ [0] * 10 ** 12 }}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(100) %}{% set ns.l = [ns.l, ns.l] %}"
        "{% endfor %}{{ ns.l }}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(100) %}{% set ns.l = ns.l + ns.l %}"
        "{% endfor %}",
        "{% set l = [1] %}{% set _ = l.append(l) %}{{ l }}",
        "{% set l = [1] %}{% set _ = l.append(l) %}{{ l | tojson }}",
        "{% set l = [1] %}{% set k = [1] %}{% set _ = l.append(k) %}{% set _ = k.append(l) %}"
        "{{ l == k }}{{ l < k }}",
        "{% set l = [1] %}{% for v in l %}{% set _ = l.append(v) %}{% endfor %}",
        "{% set n = namespace() %}{% set n.n = n %}{{ n }}",
        "{% for v in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}",
        "{{ 'a' | replace('', 'b' * 1000000) | replace('b', 'c' * 1000000) }}",
        "{% set s = 'a' * 1000000 %}{% for i in range(100000) %}{{ s[::-1] | length }}{% endfor %}",
        "{% set s = 'a' * 1000000 %}{% for i in range(100000) %}{% set x = 'b' in s %}{% endfor %}",
        "{% set s = 'a' * 1000000 %}{% for i in range(100000) %}{% set x = s | trim('b') | upper "
        "%}{% endfor %}",
        "{% set s = 'a' * 1000000 %}{{ s.rfind('b' + s[:500000]) }}{{ s.rfind(s[:500000] + 'b') }}",
        "{{ '%4095s' % 'a' * 100000000 }}",
        "{{ [1] | tojson(indent=1000000000) }}",
        "{{ 'a\nb' | indent(10 ** 15) }}",
        "{{ 2 ** 10 ** 18 }}",
        "{{ (1 - 2) ** 10 ** 18 - (2 ** 62 + 2 ** 62) }}",
        "{% set s = range(100000) | list %}{{ s | sort | sort | sort | map('string') | join | "
        "length }}{% for i in range(1000) %}{% set x = s | sort %}{% endfor %}",
        "{% for i in range(100000) %}{% set d = dict(a=1) %}{% for k in range(100000) %}{% set _ = "
        "d.update({k: i}) %}{% endfor %}{% endfor %}",
        "{% call f() %}{% endcall %}",
        "{% macro f() %}{{ caller() }}{% call f() %}{{ caller() }}{% endcall %}{% endmacro %}"
        "{% call f() %}x{% endcall %}",
        "{% macro f(a=f()) %}{% endmacro %}{{ f() }}",
    };
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
        expect_bounded(sources[i], NULL);
}

static void deep_nesting_ends(void **state) {
    (void)state;
    static const struct {
        const char *part, *end;
    } cases[] = {
        {"(", ""},
        {"{{ (", ""},
        {"{", ""},
        {"{{ [", "]}}"},
        {"{% if x %}", ""},
        {"{% for a in b %}", ""},
        {"{% macro f() %}", ""},
        {"{% set x %}", ""},
        {"{#", ""},
        {"{% raw %}", ""},
        {"{% filter upper %}", ""},
        {"{% call f() %}", ""},
        {"{% if a %}{% elif b %}", ""},
        {"{% with %}", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *source = repeated(cases[i].part, 60000, cases[i].end);
        if (strcmp(cases[i].part, "(") != 0 && strcmp(cases[i].part, "{") != 0)
            expect_bounded(source, NULL);
        free(source);
    }
    static const char *const inside[] = {"not ",   "- ",           "(",  "[",  "{'a':", "1 + ",
                                         "1 ~ (",  "1 if 1 else ", "x[", "x(", "f(a=",  "1 ** ",
                                         "1 and ", "1 == (",       "-("};
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
        char *expression = repeated(inside[i], 30000, "1 }}");
        char *source = malloc(strlen(expression) + 4);
        assert_non_null(source);
        memcpy(source, "{{ ", 3);
        memcpy(source + 3, expression, strlen(expression) + 1);
        expect_bounded(source, NULL);
        free(source);
        free(expression);
    }
    char *json = repeated("[", 60000, "");
    expect_bounded("{{ 1 }}", json);
    free(json);
}

/* Long, but not deep: this must work. */
static void long_templates_work(void **state) {
    (void)state;
    char *source = repeated("{% if a %}x{% else %}{{ 1 }}{% endif %}", 10000, "");
    char *out;
    size_t n;
    assert_weft_ok(render(source, NULL, &out, &n));
    assert_int_equal(n, 10000);
    free(out);
    free(source);
    source = repeated("[1,", 80, "1");
    char *whole = repeated("]", 80, " }}{{ 2 }}");
    char *all = malloc(strlen(source) + strlen(whole) + 8);
    assert_non_null(all);
    snprintf(all, strlen(source) + strlen(whole) + 8, "{{ %s%s", source, whole);
    assert_weft_ok(render(all, NULL, &out, &n));
    free(out);
    free(all);
    free(whole);
    free(source);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_jinja_does_it),  cmocka_unit_test(beyond_jinja),
        cmocka_unit_test(errors_say_where),  cmocka_unit_test(every_template_ends),
        cmocka_unit_test(deep_nesting_ends), cmocka_unit_test(long_templates_work),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
