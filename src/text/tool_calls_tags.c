/* Calls written with tags, and those that put a name beside JSON. */
#include <string.h>
#include "text/tool_calls.h"

/* Takes the text up to `end` off *rest, and `end` too. */
static bool take_until(weft_slice *rest, const char *end, weft_slice *out) {
    size_t at = weft_slice_find(*rest, end, 0), skip = at + strlen(end);
    if (at == SIZE_MAX)
        return false;
    *out = (weft_slice){rest->text, at};
    *rest = (weft_slice){rest->text + skip, rest->n - skip};
    return true;
}

static bool take(weft_slice *rest, const char *text) {
    size_t n = strlen(text);
    if (!weft_slice_begins(*rest, text))
        return false;
    *rest = (weft_slice){rest->text + n, rest->n - n};
    return true;
}

static void skip_blanks(weft_slice *rest) {
    while (rest->n && weft_is_blank(rest->text[0]))
        *rest = (weft_slice){rest->text + 1, rest->n - 1};
}

/* Names of tools: what models make of them without spaces. */
static bool is_name(weft_slice s) {
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.text[i] <= ' ' || strchr("<>{}[]\"'", s.text[i]))
            return false;
    return s.n > 0 && s.n <= 256;
}

/* ---- Types of values ---- */

static bool same(const weft_json *string, weft_slice s) {
    size_t n;
    const char *text = string ? weft_json_string(string, &n) : NULL;
    return text && n == s.n && memcmp(text, s.text, n) == 0;
}

/* The schema of a tool's parameter; NULL: unknown. */
static const weft_json *schema_of(const weft_json *tools, weft_slice tool, weft_slice parameter) {
    for (size_t i = 0; tools && i < weft_json_length(tools); i++) {
        const weft_json *t = weft_json_item(tools, i), *f = weft_json_get(t, "function");
        if (!f)
            f = t;
        if (!same(weft_json_get(f, "name"), tool))
            continue;
        const weft_json *all = weft_json_get(weft_json_get(f, "parameters"), "properties"), *value;
        const char *name;
        if (!all || weft_json_type_of(all) != WEFT_JSON_OBJECT)
            return NULL;
        for (void *cursor = NULL; weft_json_next(all, &cursor, &name, &value);)
            if (strlen(name) == parameter.n && memcmp(name, parameter.text, parameter.n) == 0)
                return value;
    }
    return NULL;
}

static bool is_string_type(const weft_json *schema) {
    size_t n;
    const weft_json *type = weft_json_get(schema, "type");
    const char *text = type ? weft_json_string(type, &n) : NULL;
    return text && strcmp(text, "string") == 0;
}

/* A value that is not said to be a string: JSON where it is JSON, Python's constants as well. */
static bool put_value(weft_bytes *out, weft_slice value, bool string) {
    static const char *const constants[][2] = {
        {"True", "true"}, {"False", "false"}, {"None", "null"}};
    weft_slice trimmed = weft_slice_trim(value), whole;
    size_t at = 0;
    for (size_t i = 0; i < 3 && !string; i++)
        if (trimmed.n == strlen(constants[i][0]) && weft_slice_begins(trimmed, constants[i][0]))
            return weft_bytes_add(out, constants[i][1], strlen(constants[i][1]));
    if (!string && trimmed.n && weft_json_take(trimmed.text, trimmed.n, &at, &whole) &&
        at == trimmed.n)
        return weft_bytes_add(out, trimmed.text, trimmed.n);
    return weft_json_encode(value.text, value.n, out);
}

static bool put_member(weft_calls *c, weft_bytes *args, weft_slice tool, weft_slice key,
                       weft_slice value, bool string) {
    bool fits = (args->n == 1 || weft_bytes_add(args, ", ", 2)) &&
                weft_json_encode(key.text, key.n, args) && weft_bytes_add(args, ": ", 2) &&
                put_value(args, value, string || is_string_type(schema_of(c->tools, tool, key)));
    c->no_memory |= !fits;
    return fits;
}

/* `args` is a whole object but for its closing bracket. */
static bool add_made(weft_calls *c, weft_slice name, weft_bytes *args) {
    c->no_memory |= !weft_bytes_add(args, "}", 1);
    return !c->no_memory && weft_calls_add(c, name, (weft_slice){(const char *)args->data, args->n},
                                           (weft_slice){"", 0});
}

static bool begin_made(weft_calls *c, weft_bytes *args) {
    args->n = 0;
    c->no_memory |= !weft_bytes_add(args, "{", 1);
    return !c->no_memory;
}

/* One newline at each edge belongs to the layout. */
static weft_slice without_layout(weft_slice value) {
    if (value.n && value.text[0] == '\n')
        value = (weft_slice){value.text + 1, value.n - 1};
    if (value.n && value.text[value.n - 1] == '\n')
        value.n--;
    return value;
}

/* ---- Tags around parameters ---- */

typedef struct tags {
    const char *function, *function_end; /* around the function's name … */
    const char *function_rest;           /* … whose attributes this ends; NULL: it has none */
    const char *parameter, *parameter_end, *parameter_rest;
    const char *value_end, *body_end;
    const char *json, *json_end; /* around all arguments at once, or NULL */
    bool exact;                  /* values have no newlines of the layout's */
} tags;

/* Parameters up to the end of the function. */
static bool read_parameters(weft_calls *c, const tags *t, weft_slice name, weft_slice *rest,
                            weft_bytes *args) {
    for (;;) {
        weft_slice key, attributes = {"", 0}, value;
        skip_blanks(rest);
        if (take(rest, t->body_end))
            return true;
        if (!take(rest, t->parameter) || !take_until(rest, t->parameter_end, &key) ||
            (t->parameter_rest && !take_until(rest, t->parameter_rest, &attributes)) ||
            !take_until(rest, t->value_end, &value))
            return false;
        bool string = weft_slice_find(attributes, "string=\"true\"", 0) != SIZE_MAX ||
                      weft_slice_find(attributes, "type=\"string\"", 0) != SIZE_MAX;
        value = t->exact ? value : without_layout(value);
        if (!put_member(c, args, name, weft_slice_trim(key), value, string))
            return false;
    }
}

/* All arguments as JSON, and the end of the function. */
static bool read_block(weft_calls *c, const tags *t, weft_slice name, weft_slice *rest) {
    weft_slice args;
    if (!take_until(rest, t->json_end, &args))
        return false;
    skip_blanks(rest);
    return take(rest, t->body_end) &&
           weft_calls_add(c, name, weft_slice_trim(args), (weft_slice){"", 0});
}

static bool read_functions(weft_calls *c, const tags *t, weft_slice rest) {
    weft_bytes args = {.a = c->text.a};
    bool fits = true;
    size_t n = 0;
    for (skip_blanks(&rest); fits && rest.n; skip_blanks(&rest), n++) {
        weft_slice name, attributes;
        fits = take(&rest, t->function) && take_until(&rest, t->function_end, &name) &&
               is_name(name) &&
               (!t->function_rest || take_until(&rest, t->function_rest, &attributes));
        if (fits && t->json && take(&rest, t->json))
            fits = read_block(c, t, name, &rest);
        else
            fits = fits && begin_made(c, &args) && read_parameters(c, t, name, &rest, &args) &&
                   add_made(c, name, &args);
    }
    weft_bytes_free(&args);
    return fits && n > 0;
}

/* name, then pairs of <arg_key> and <arg_value> */
static bool read_pairs(weft_calls *c, weft_slice rest) {
    size_t n = 0;
    while (n < rest.n && rest.text[n] != '<' && rest.text[n] != '\n')
        n++;
    weft_slice name = weft_slice_trim((weft_slice){rest.text, n});
    weft_bytes args = {.a = c->text.a};
    rest = (weft_slice){rest.text + n, rest.n - n};
    bool fits = is_name(name) && begin_made(c, &args);
    for (skip_blanks(&rest); fits && rest.n; skip_blanks(&rest)) {
        weft_slice key, value;
        fits = take(&rest, "<arg_key>") && take_until(&rest, "</arg_key>", &key);
        skip_blanks(&rest);
        fits = fits && take(&rest, "<arg_value>") && take_until(&rest, "</arg_value>", &value) &&
               put_member(c, &args, name, weft_slice_trim(key), value, false);
    }
    fits = fits && add_made(c, name, &args);
    weft_bytes_free(&args);
    return fits;
}

bool weft_calls_read_tags(weft_calls *c, weft_slice body) {
    static const tags t = {.function = "<function=",
                           .function_end = ">",
                           .parameter = "<parameter=",
                           .parameter_end = ">",
                           .value_end = "</parameter>",
                           .body_end = "</function>"};
    skip_blanks(&body);
    return weft_slice_begins(body, "<") ? read_functions(c, &t, body) : read_pairs(c, body);
}

bool weft_calls_read_invokes(weft_calls *c, weft_slice body) {
    static const tags t = {.function = "<invoke name=\"",
                           .function_end = "\"",
                           .function_rest = ">",
                           .parameter = "<parameter name=\"",
                           .parameter_end = "\"",
                           .parameter_rest = ">",
                           .value_end = "</parameter>",
                           .body_end = "</invoke>"};
    return read_functions(c, &t, body);
}

bool weft_calls_read_dsml(weft_calls *c, weft_slice body) {
    static const tags t = {.function = "<｜DSML｜invoke name=\"",
                           .function_end = "\"",
                           .function_rest = ">",
                           .parameter = "<｜DSML｜parameter name=\"",
                           .parameter_end = "\"",
                           .parameter_rest = ">",
                           .value_end = "</｜DSML｜parameter>",
                           .body_end = "</｜DSML｜invoke>"};
    return read_functions(c, &t, body);
}

bool weft_calls_read_hunyuan(weft_calls *c, weft_slice body) {
    static const tags t = {.function = "<tool_call:opensource>",
                           .function_end = "<tool_sep:opensource>",
                           .parameter = "<arg_key:opensource>",
                           .parameter_end = "</arg_key:opensource>",
                           .parameter_rest = "<arg_value:opensource>",
                           .value_end = "</arg_value:opensource>",
                           .body_end = "</tool_call:opensource>",
                           .exact = true};
    return read_functions(c, &t, body);
}

bool weft_calls_read_kimi_tags(weft_calls *c, weft_slice body) {
    static const tags t = {.function = "<|open|>call tool=\"",
                           .function_end = "\"",
                           .function_rest = "<|sep|>",
                           .parameter = "<|open|>argument key=\"",
                           .parameter_end = "\"",
                           .parameter_rest = "<|sep|>",
                           .value_end = "<|close|>argument<|sep|>",
                           .body_end = "<|close|>call<|sep|>",
                           .json = "<|open|>json type=\"object\"<|sep|>",
                           .json_end = "<|close|>json<|sep|>",
                           .exact = true};
    return read_functions(c, &t, body);
}

/* ---- A name beside JSON ---- */

bool weft_calls_read_function(weft_calls *c, weft_slice body) {
    weft_slice name;
    return take_until(&body, ">", &name) && is_name(name) &&
           weft_calls_add(c, name, weft_slice_trim(body), (weft_slice){"", 0});
}

bool weft_calls_read_deepseek(weft_calls *c, weft_slice body) {
    weft_slice name, fence;
    if (!take_until(&body, "<｜tool▁sep｜>", &name))
        return false;
    skip_blanks(&body);
    if (!weft_slice_begins(body, "{")) { /* the type came first, the name is a line */
        if (!take_until(&body, "```json", &name))
            return false;
        if (!take_until(&body, "```", &fence))
            return false;
        body = fence;
    }
    name = weft_slice_trim(name);
    return is_name(name) && weft_calls_add(c, name, weft_slice_trim(body), (weft_slice){"", 0});
}

bool weft_calls_read_kimi(weft_calls *c, weft_slice body) {
    weft_slice id, name;
    if (!take_until(&body, "<|tool_call_argument_begin|>", &id))
        return false;
    name = id = weft_slice_trim(id);
    take(&name, "functions.");
    size_t n = name.n;
    while (n > 0 && name.text[n - 1] >= '0' && name.text[n - 1] <= '9')
        n--;
    if (n > 0 && n < name.n && name.text[n - 1] == ':')
        name.n = n - 1;
    return is_name(name) && weft_calls_add(c, name, weft_slice_trim(body), id);
}
