/* JSON to values (RFC 8259, and NaN and the infinities as Python reads them). */
#include <math.h>
#include <string.h>
#include "text/jinja/impl.h"
#include "text/jinja/number.h"

/* Of arrays and objects inside each other. */
#define JSON_DEPTH 256

typedef struct reader {
    jinja *j;
    jinja_string text;
    size_t at;
    unsigned depth;
    const char *name;
} reader;

static jinja_value fail_here(reader *r, const char *what) {
    uint32_t line = 1;
    size_t begin = 0;
    for (size_t i = 0; i < r->at && i < r->text.n; i++)
        if (r->text.text[i] == '\n') {
            line++;
            begin = i + 1;
        }
    uint32_t column = (uint32_t)(r->at - begin) + 1;
    if (!r->name)
        jinja_fail(r->j, JINJA_RUNTIME, "%s: line %u column %u", what, line, column);
    else if (!r->j->failed)
        jinja_set_error(r->j->error, JINJA_INPUT, line, column, "%s: %s", r->name, what);
    r->j->failed = true;
    return jinja_undefined();
}

static char peek(const reader *r) {
    return r->at < r->text.n ? r->text.text[r->at] : 0;
}
static void skip_blanks(reader *r) {
    while (r->at < r->text.n && memchr(" \n\t\r", r->text.text[r->at], 4))
        r->at++;
}
static bool take(reader *r, const char *word) {
    size_t n = strlen(word);
    if (r->text.n - r->at < n || memcmp(r->text.text + r->at, word, n) != 0)
        return false;
    r->at += n;
    return true;
}

/* Four hexadecimal digits; UINT32_MAX: something else. */
static uint32_t read_unit(reader *r) {
    uint32_t unit = 0;
    if (r->text.n - r->at < 4)
        return UINT32_MAX;
    for (int i = 0; i < 4; i++) {
        char c = r->text.text[r->at++], low = (char)(c | 0x20);
        if (c >= '0' && c <= '9')
            unit = unit * 16 + (uint32_t)(c - '0');
        else if (low >= 'a' && low <= 'f')
            unit = unit * 16 + (uint32_t)(low - 'a') + 10;
        else
            return UINT32_MAX;
    }
    return unit;
}

/* After \u. Half of a pair stands for U+FFFD. */
static bool read_unicode(reader *r, uint32_t *out) {
    uint32_t c = read_unit(r);
    if (c == UINT32_MAX)
        return false;
    if (c >= 0xd800 && c < 0xdc00) {
        size_t back = r->at;
        uint32_t low = take(r, "\\u") ? read_unit(r) : 0;
        if (low == UINT32_MAX)
            return false;
        if (low >= 0xdc00 && low < 0xe000) {
            *out = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
            return true;
        }
        r->at = back;
    }
    *out = c >= 0xd800 && c < 0xe000 ? 0xfffd : c;
    return true;
}

static jinja_value read_escaped(reader *r, size_t begin, size_t end) {
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    unsigned char *to = jinja_alloc(r->j, end - begin);
    size_t n = 0;
    if (!to)
        return jinja_undefined();
    for (r->at = begin; r->at < end;) {
        char c = r->text.text[r->at++];
        if (c != '\\') {
            to[n++] = (unsigned char)c;
            continue;
        }
        char letter = peek(r);
        const char *known = letter ? strchr(letters, letter) : NULL;
        uint32_t code;
        r->at++;
        if (known)
            to[n++] = (unsigned char)meanings[known - letters];
        else if (letter == 'u' && read_unicode(r, &code))
            n += weft_utf8_encode(code, to + n); /* at most 4 bytes for 6 or 12 */
        else
            return fail_here(r, "Invalid \\escape");
    }
    return jinja_str((jinja_string){(const char *)to, n});
}

static jinja_value read_string(reader *r) {
    size_t begin = ++r->at, end = begin;
    bool escapes = false;
    for (;; end++) {
        if (end >= r->text.n)
            return fail_here(r, "Unterminated string");
        char c = r->text.text[end];
        if (c == '"')
            break;
        if ((unsigned char)c < 0x20) {
            r->at = end;
            return fail_here(r, "Invalid control character");
        }
        escapes |= c == '\\';
        end += c == '\\';
    }
    jinja_value v = jinja_str((jinja_string){r->text.text + begin, end - begin});
    if (escapes)
        v = read_escaped(r, begin, end);
    r->at = end + 1;
    return v;
}

static jinja_value read_number(reader *r) {
    size_t begin = r->at;
    bool is_float = false;
    jinja_value v;
    take(r, "-");
    if (take(r, "Infinity"))
        return jinja_float(-HUGE_VAL);
    size_t first = r->at;
    while (peek(r) >= '0' && peek(r) <= '9')
        r->at++;
    bool bad = r->at == first || (r->text.text[first] == '0' && r->at > first + 1);
    if (peek(r) == '.') {
        size_t point = r->at++;
        while (peek(r) >= '0' && peek(r) <= '9')
            r->at++;
        bad |= r->at == point + 1;
        is_float = true;
    }
    if (peek(r) == 'e' || peek(r) == 'E') {
        r->at++;
        if (peek(r) == '+' || peek(r) == '-')
            r->at++;
        size_t exponent = r->at;
        while (peek(r) >= '0' && peek(r) <= '9')
            r->at++;
        bad |= r->at == exponent;
        is_float = true;
    }
    jinja_string text = {r->text.text + begin, r->at - begin};
    if (bad || !jinja_parse_number(&r->j->arena, text, is_float, &v))
        return fail_here(r, "not a number");
    return v;
}

static jinja_value read_value(reader *r);

static jinja_value read_array(reader *r) {
    jinja_list *list = jinja_new_list(r->j, JINJA_A_LIST, 0);
    r->at++;
    skip_blanks(r);
    if (take(r, "]"))
        return jinja_list_value(list);
    while (list && !r->j->failed) {
        jinja_append(r->j, list, read_value(r));
        skip_blanks(r);
        if (r->j->failed || take(r, "]"))
            break;
        if (!take(r, ","))
            return fail_here(r, "Expecting ',' delimiter");
    }
    return jinja_list_value(list);
}

static jinja_value read_object(reader *r) {
    jinja_dict *dict = jinja_new_dict(r->j);
    r->at++;
    skip_blanks(r);
    if (take(r, "}"))
        return jinja_dict_value(dict);
    while (dict && !r->j->failed) {
        skip_blanks(r);
        if (peek(r) != '"')
            return fail_here(r, "Expecting property name enclosed in double quotes");
        jinja_value name = read_string(r);
        skip_blanks(r);
        if (!r->j->failed && !take(r, ":"))
            return fail_here(r, "Expecting ':' delimiter");
        jinja_value value = r->j->failed ? jinja_undefined() : read_value(r);
        if (r->j->failed || !jinja_dict_set(r->j, dict, name, value))
            break;
        skip_blanks(r);
        if (take(r, "}"))
            break;
        if (!take(r, ","))
            return fail_here(r, "Expecting ',' delimiter");
    }
    return jinja_dict_value(dict);
}

static jinja_value read_value(reader *r) {
    skip_blanks(r);
    if (!jinja_spend(r->j, 1))
        return jinja_undefined();
    char c = peek(r);
    if (c == '"')
        return read_string(r);
    if (c == '{' || c == '[') {
        if (r->depth >= JSON_DEPTH)
            return fail_here(r, "nested too deeply");
        r->depth++;
        jinja_value v = c == '{' ? read_object(r) : read_array(r);
        r->depth--;
        return v;
    }
    if (c == '-' || (c >= '0' && c <= '9'))
        return read_number(r);
    if (take(r, "true"))
        return jinja_bool(true);
    if (take(r, "false"))
        return jinja_bool(false);
    if (take(r, "null"))
        return jinja_none();
    if (take(r, "NaN"))
        return jinja_float(NAN);
    if (take(r, "Infinity"))
        return jinja_float(HUGE_VAL);
    return fail_here(r, "Expecting value");
}

jinja_value jinja_read_json(jinja *j, jinja_string text, const char *name) {
    reader r = {.j = j, .text = text, .name = name};
    size_t valid = weft_utf8_valid((const unsigned char *)text.text, text.n);
    if (valid != text.n) {
        r.at = valid;
        return fail_here(&r, "not valid UTF-8");
    }
    jinja_value v = read_value(&r);
    skip_blanks(&r);
    if (!j->failed && r.at < text.n)
        return fail_here(&r, "Extra data");
    return v;
}
