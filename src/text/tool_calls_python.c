/* Calls as LFM2 writes them: a list of calls in Python's words, [name(key='text', other=3), …].
 * Values may also be JSON, as may the whole list. */
#include <string.h>
#include "text/tool_calls.h"

#define DEPTH_MAX 64

typedef struct reader {
    weft_slice rest;
    weft_bytes *out;  /* the JSON that it stands for */
    weft_bytes *text; /* a string being read */
    unsigned depth;
    bool no_memory;
} reader;

static bool put(reader *r, const char *text, size_t n) {
    bool fits = weft_bytes_add(r->out, text, n);
    r->no_memory |= !fits;
    return fits;
}

static void skip(reader *r, size_t n) {
    r->rest = (weft_slice){r->rest.text + n, r->rest.n - n};
}

static void skip_blanks(reader *r) {
    while (r->rest.n && weft_is_blank(r->rest.text[0]))
        skip(r, 1);
}

/* One byte, and blanks before it. */
static bool take(reader *r, char c) {
    skip_blanks(r);
    if (r->rest.n == 0 || r->rest.text[0] != c)
        return false;
    skip(r, 1);
    return true;
}

static weft_slice take_word(reader *r) {
    size_t n = 0;
    skip_blanks(r);
    while (n < r->rest.n && !strchr("()[]{}=,:'\" \t\r\n", r->rest.text[n]))
        n++;
    weft_slice word = {r->rest.text, n};
    skip(r, n);
    return word;
}

/* Whether a value may end before byte `at`: some templates write quotes inside of texts as they
 * are, so that only one with this behind it is the last. */
static bool may_end(const reader *r, size_t at) {
    while (at < r->rest.n && weft_is_blank(r->rest.text[at]))
        at++;
    return at == r->rest.n || strchr(",)]}:", r->rest.text[at]) != NULL;
}

/* After the opening quote. A backslash that escapes nothing stands for itself. */
static bool read_string(reader *r, char quote) {
    static const char escapes[] = "n\nt\tr\r\\\\'\'\"\"";
    r->text->n = 0;
    for (size_t at = 0; at < r->rest.n; at++) {
        char c = r->rest.text[at];
        if (c == quote && may_end(r, at + 1)) {
            skip(r, at + 1);
            bool fits = weft_json_encode((const char *)r->text->data, r->text->n, r->out);
            r->no_memory |= !fits;
            return fits;
        }
        for (size_t i = 0; c == '\\' && at + 1 < r->rest.n && i + 1 < sizeof escapes; i += 2)
            if (r->rest.text[at + 1] == escapes[i]) {
                c = escapes[i + 1];
                at++;
                break;
            }
        if (!weft_bytes_add(r->text, &c, 1)) {
            r->no_memory = true;
            return false;
        }
    }
    return false;
}

/* A value that is JSON already, as it stands. */
static bool read_json(reader *r) {
    size_t at = 0;
    weft_slice value;
    if (!weft_json_take(r->rest.text, r->rest.n, &at, &value) || !may_end(r, at))
        return false;
    skip(r, at);
    return put(r, value.text, value.n);
}

static bool read_value(reader *r);

/* Values after the opening bracket; of an object each behind its key, a string. */
static bool read_items(reader *r, char close, bool object) {
    if (!put(r, object ? "{" : "[", 1))
        return false;
    for (size_t n = 0; !take(r, close); n++) {
        if (n && (!take(r, ',') || !put(r, ", ", 2)))
            return false;
        if (object) {
            bool single = take(r, '\'');
            if ((!single && !take(r, '"')) || !read_string(r, single ? '\'' : '"') ||
                !take(r, ':') || !put(r, ": ", 2))
                return false;
        }
        if (!read_value(r))
            return false;
    }
    return put(r, object ? "}" : "]", 1);
}

static bool read_word(reader *r) {
    static const char *const constants[][2] = {
        {"True", "true"}, {"False", "false"}, {"None", "null"}};
    weft_slice word = take_word(r);
    for (size_t i = 0; i < 3; i++)
        if (word.n == strlen(constants[i][0]) && weft_slice_begins(word, constants[i][0]))
            return put(r, constants[i][1], strlen(constants[i][1]));
    return false;
}

static bool read_value(reader *r) {
    skip_blanks(r);
    if (read_json(r))
        return true;
    if (r->no_memory || r->rest.n == 0)
        return false;
    char first = r->rest.text[0];
    if (first == '\'' || first == '"') {
        skip(r, 1);
        return read_string(r, first);
    }
    if (first != '[' && first != '(' && first != '{')
        return read_word(r);
    skip(r, 1);
    if (++r->depth > DEPTH_MAX)
        return false;
    bool fits = read_items(r, first == '[' ? ']' : first == '(' ? ')' : '}', first == '{');
    r->depth--;
    return fits;
}

/* key=value, … up to the closing bracket, as an object. */
static bool read_arguments(reader *r) {
    if (!take(r, '(') || !put(r, "{", 1))
        return false;
    for (size_t n = 0; !take(r, ')'); n++) {
        if (n && (!take(r, ',') || !put(r, ", ", 2)))
            return false;
        weft_slice key = take_word(r);
        bool fits = key.n && weft_json_encode(key.text, key.n, r->out);
        r->no_memory |= key.n && !fits;
        if (!fits || !take(r, '=') || !put(r, ": ", 2) || !read_value(r))
            return false;
    }
    return put(r, "}", 1);
}

bool weft_calls_read_python(weft_calls *c, weft_slice body) {
    weft_bytes args = {.a = c->text.a}, text = {.a = c->text.a};
    reader r = {.rest = weft_slice_trim(body), .out = &args, .text = &text};
    size_t n = 0, at = 0;
    weft_slice value;
    if (weft_json_take(r.rest.text, r.rest.n, &at, &value) && at == r.rest.n)
        return weft_calls_read_json(c, value, true);
    bool fits = take(&r, '[');
    for (; fits && !take(&r, ']'); n++) {
        fits = n == 0 || take(&r, ',');
        weft_slice name = take_word(&r);
        args.n = 0;
        fits = fits && name.n && read_arguments(&r) &&
               weft_calls_add(c, name, (weft_slice){(const char *)args.data, args.n},
                              (weft_slice){"", 0});
    }
    c->no_memory |= r.no_memory;
    weft_bytes_free(&args);
    weft_bytes_free(&text);
    return fits && n > 0 && r.rest.n == 0;
}
