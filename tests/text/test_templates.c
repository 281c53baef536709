/* The templates of published models over 35 conversations: every rendering equals the one that was
 * recorded, byte for byte, and every error is of its kind. The table of docs/text.md is made here:
 *   test_templates table
 * prints it, and without an argument the test fails when the page has another one. */
#include "text/engine_fixture.h"

#include <dirent.h>
#include <jansson.h>

#define CHAT WEFT_SHARED_DIR "/chat/"

typedef struct counts {
    size_t renderings, refusals, failures;
    const char *format; /* of tool calls */
} counts;

static char *read_file(const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("no %s", path);
    char *text = malloc(1 << 20);
    assert_non_null(text);
    *n = fread(text, 1, (1 << 20) - 1, f);
    text[*n] = 0;
    fclose(f);
    return text;
}

static json_t *read_json(const char *path) {
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    if (!root)
        fail_msg("%s: %s", path, error.text);
    return root;
}

static const json_t *by_id(const json_t *list, const char *id) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *c = json_array_get(list, i);
        if (strcmp(json_string_value(json_object_get(c, "id")), id) == 0)
            return c;
    }
    fail_msg("no conversation %s", id);
    return NULL;
}

static char *dump(const json_t *v) {
    return json_dumps(v, JSON_ENCODE_ANY);
}

static void check(const weft_chat_template *t, const json_t *conversation, const json_t *special,
                  const json_t *record, const char *what, counts *c) {
    json_t *variables = special ? json_deep_copy(special) : json_object();
    json_object_update(variables, json_object_get(record, "options"));
    const json_t *tools = json_object_get(conversation, "tools");
    if (!json_is_null(tools) && !json_object_get(variables, "tools"))
        json_object_set(variables, "tools", json_object_get(conversation, "tools"));
    char *messages = dump(json_object_get(conversation, "messages")), *others = dump(variables);
    weft_chat_input input = {
        .messages = messages, .variables = others, .now = "2026-01-15T12:00:00"};
    char *out;
    size_t n;
    weft_status status = weft_chat_render(t, &input, &out, &n);
    const json_t *want = json_object_get(record, "output");
    const json_t *error = json_object_get(record, "error");
    const json_t *lenient = json_object_get(record, "lenient_output");
    if (status == WEFT_OK && !want)
        want = lenient;
    if (status && want)
        fail_msg("%s: %s", what, weft_detail());
    if (want) {
        if (n != json_string_length(want) || memcmp(out, json_string_value(want), n) != 0)
            fail_msg("%s: got\n%s\ninstead of\n%s", what, out, json_string_value(want));
        c->renderings++;
    } else if (strcmp(json_string_value(json_object_get(error, "kind")), "raise_exception") == 0) {
        assert_weft_fails(status, WEFT_E_ARGUMENT);
        assert_detail_has(json_string_value(json_object_get(error, "message")));
        assert_null(strstr(weft_detail(), "line "));
        c->refusals++;
    } else {
        assert_true(status == WEFT_E_ARGUMENT || status == WEFT_E_UNSUPPORTED);
        assert_detail_has("line ");
        c->failures++;
    }
    weft_chat_text_free(t, out, n);
    free(messages);
    free(others);
    json_decref(variables);
}

static counts check_template(const char *name, const json_t *conversations, const json_t *special) {
    char path[512], what[256];
    size_t n;
    counts c = {0};
    snprintf(path, sizeof path, CHAT "templates/%s.jinja", name);
    char *source = read_file(path, &n);
    weft_chat_template *t;
    assert_weft_ok(weft_chat_template_create(engine, source, n, &t));
    free(source);
    snprintf(path, sizeof path, CHAT "expected/%s.json", name);
    json_t *expected = read_json(path);
    for (size_t i = 0; i < json_array_size(expected); i++) {
        const json_t *record = json_array_get(expected, i);
        const char *id = json_string_value(json_object_get(record, "conversation"));
        snprintf(what, sizeof what, "%s, %s, record %zu", name, id, i);
        check(t, by_id(conversations, id), json_object_get(special, name), record, what, &c);
    }
    json_decref(expected);
    c.format = weft_chat_template_format(t);
    weft_chat_template_release(&t);
    return c;
}

static int is_json(const struct dirent *entry) {
    return strstr(entry->d_name, ".json") != NULL;
}

/* The rows of all templates; freed with free(). */
static char *make_table(size_t *total) {
    json_t *conversations = read_json(CHAT "conversations.json");
    json_t *special = read_json(CHAT "special_tokens.json");
    struct dirent **names;
    int n = scandir(CHAT "expected", &names, is_json, alphasort);
    assert_true(n > 0);
    char *table = malloc(1 << 16);
    assert_non_null(table);
    size_t at = 0;
    *total = 0;
    for (int i = 0; i < n; i++) {
        *strstr(names[i]->d_name, ".json") = 0;
        counts c = check_template(names[i]->d_name, conversations, special);
        *total += c.renderings + c.refusals + c.failures;
        at += (size_t)snprintf(table + at, (1 << 16) - at, "| %s | %zu | %zu | %zu | %s |\n",
                               names[i]->d_name, c.renderings, c.refusals, c.failures, c.format);
        free(names[i]);
    }
    free(names);
    json_decref(special);
    json_decref(conversations);
    return table;
}

static void all_renderings_are_equal(void **state) {
    (void)state;
    skip_without(CHAT "conversations.json");
    size_t total, n;
    char *table = make_table(&total);
    assert_true(total >= 1900);
    print_message("%zu records\n", total);
    char *page = read_file(WEFT_TEST_DATA "/../../docs/text.md", &n);
    if (!strstr(page, table))
        fail_msg("docs/text.md has another table; it should be\n%s", table);
    free(page);
    free(table);
}

/* ---- What a template writes for a turn with calls is read back as these calls ---- */

typedef struct collected {
    json_t *calls; /* of {"name": …, "arguments": …} */
} collected;

static void collect(void *ctx, const weft_chat_delta *d) {
    collected *c = ctx;
    if (d->part != WEFT_CHAT_TOOL_CALL)
        return;
    json_error_t error;
    json_t *call = json_object(), *args = json_loadb(d->text, d->n_bytes, 0, &error);
    if (!args)
        fail_msg("arguments are no JSON: %.*s", (int)d->n_bytes, d->text);
    json_object_set_new(call, "name", json_stringn(d->name, d->name_bytes));
    json_object_set_new(call, "arguments", args);
    json_array_append_new(c->calls, call);
}

static char *render_turns(const weft_chat_template *t, const json_t *conversation, size_t n_turns,
                          bool prompt, const json_t *special) {
    json_t *turns = json_array(), *variables = special ? json_deep_copy(special) : json_object();
    for (size_t i = 0; i < n_turns; i++)
        json_array_append(turns, json_array_get(json_object_get(conversation, "messages"), i));
    char *messages = dump(turns), *tools = dump(json_object_get(conversation, "tools"));
    char *others = dump(variables), *out, *copy = NULL;
    size_t n;
    weft_chat_input input = {.messages = messages,
                             .tools = tools,
                             .variables = others,
                             .add_generation_prompt = prompt,
                             .now = "2026-01-15T12:00:00"};
    if (weft_chat_render(t, &input, &out, &n) == WEFT_OK) {
        copy = strdup(out);
        weft_chat_text_free(t, out, n);
    }
    free(messages);
    free(tools);
    free(others);
    json_decref(variables);
    json_decref(turns);
    return copy;
}

/* Where the turn begins in `whole`: behind what it shares with the prompt, which may have opened
 * reasoning that the turn lacks. Not inside of a mark. */
static size_t turn_begins(const char *before, const char *whole) {
    size_t at = 0, mark;
    while (before[at] && before[at] == whole[at])
        at++;
    if (!before[at])
        return at;
    for (mark = at; mark > 0 && whole[mark - 1] != '>' && whole[mark - 1] != '<';)
        mark--;
    return mark > 0 && whole[mark - 1] == '<' ? mark - 1 : at;
}

/* False: the template does not write calls. */
static bool calls_come_back(const char *name, const json_t *conversation, const json_t *special) {
    char path[512];
    size_t n;
    weft_chat_template *t;
    snprintf(path, sizeof path, CHAT "templates/%s.jinja", name);
    char *source = read_file(path, &n);
    assert_weft_ok(weft_chat_template_create(engine, source, n, &t));
    free(source);
    const json_t *messages = json_object_get(conversation, "messages");
    size_t turn = 0;
    while (!json_object_get(json_array_get(messages, turn), "tool_calls"))
        turn++;
    char *before = render_turns(t, conversation, turn, true, special);
    char *whole = render_turns(t, conversation, turn + 1, false, special);
    const json_t *calls = json_object_get(json_array_get(messages, turn), "tool_calls");
    const json_t *first = json_object_get(json_array_get(calls, 0), "function");
    const char *called = json_string_value(json_object_get(first, "name"));
    bool plain = strcmp(weft_chat_template_format(t), "plain") == 0;
    size_t begin = !plain && before && whole ? turn_begins(before, whole) : 0;
    bool goes_on = begin && strstr(whole + begin, called);
    if (goes_on) {
        char *tools = dump(json_object_get(conversation, "tools"));
        collected c = {json_array()};
        weft_chat_parser *p;
        weft_chat_parser_options options = {
            .prompt = whole, .prompt_bytes = begin, .tool_calls = true, .tools = tools};
        const char *text = whole + begin;
        assert_weft_ok(weft_chat_parser_create(t, &options, collect, &c, &p));
        assert_weft_ok(weft_chat_parser_feed(p, text, strlen(text)));
        assert_weft_ok(weft_chat_parser_finish(p));
        weft_chat_parser_destroy(&p);
        json_t *want = json_array();
        for (size_t i = 0; i < json_array_size(calls); i++) { /* some write the first alone */
            const json_t *f = json_object_get(json_array_get(calls, i), "function");
            if (strstr(text, json_string_value(json_object_get(f, "name"))))
                json_array_append(want, json_object_get(json_array_get(calls, i), "function"));
        }
        if (!json_equal(c.calls, want))
            fail_msg("%s: %s\ngives %s", name, text, dump(c.calls));
        json_decref(want);
        json_decref(c.calls);
        free(tools);
    }
    free(before);
    free(whole);
    weft_chat_template_release(&t);
    return goes_on;
}

static void what_templates_write_is_read_back(void **state) {
    (void)state;
    skip_without(CHAT "conversations.json");
    json_t *conversations = read_json(CHAT "conversations.json");
    json_t *special = read_json(CHAT "special_tokens.json");
    static const char *const ids[] = {"tool_call", "tool_call_parallel", "reasoning_tool_call"};
    struct dirent **names;
    int n = scandir(CHAT "expected", &names, is_json, alphasort);
    assert_true(n > 0);
    size_t n_read = 0;
    for (int i = 0; i < n; i++) {
        *strstr(names[i]->d_name, ".json") = 0;
        for (size_t k = 0; k < sizeof ids / sizeof ids[0]; k++) {
            bool read = calls_come_back(names[i]->d_name, by_id(conversations, ids[k]),
                                        json_object_get(special, names[i]->d_name));
            n_read += read;
            if (!read && k == 0)
                print_message("%s: no calls to read\n", names[i]->d_name);
        }
        free(names[i]);
    }
    free(names);
    json_decref(special);
    json_decref(conversations);
    print_message("%zu turns\n", n_read);
    assert_true(n_read >= 50);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "table") == 0) {
        size_t total;
        if (set_up(NULL))
            return 1;
        char *table = make_table(&total);
        printf("| template | renderings | refused by the template | errors | calls |\n"
               "|---|---|---|---|---|\n%s",
               table);
        free(table);
        return tear_down(NULL);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_renderings_are_equal),
                                       cmocka_unit_test(what_templates_write_is_read_back)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
