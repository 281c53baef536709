/* See json.h. Nothing recurses: nesting is a counter. */
#include "json.h"

#include <stdint.h>
#include <string.h>

static size_t skip_blank(const char *s, size_t n, size_t at) {
    while (at < n && (s[at] == ' ' || s[at] == '\t' || s[at] == '\n' || s[at] == '\r'))
        at++;
    return at;
}

/* Past the string that begins at `at`; 0 if it does not end. */
static size_t skip_string(const char *s, size_t n, size_t at) {
    for (at++; at < n && s[at] != '"'; at++)
        if (s[at] == '\\')
            at++;
    return at < n ? at + 1 : 0;
}

/* Past the value that begins at `at`; 0 if there is none. */
static size_t skip_value(const char *s, size_t n, size_t at) {
    size_t depth = 0;
    do {
        if (at >= n)
            return 0;
        if (s[at] == '"') {
            at = skip_string(s, n, at);
            if (at == 0)
                return 0;
        } else if (s[at] == '{' || s[at] == '[') {
            depth++;
            at++;
        } else if (s[at] == '}' || s[at] == ']') {
            if (depth == 0)
                return 0;
            depth--;
            at++;
        } else if (depth) { /* commas, colons, numbers and names of an inner value */
            at++;
        } else {
            size_t begin = at;
            while (at < n && !strchr(",}] \t\r\n", s[at]))
                at++;
            return at > begin ? at : 0;
        }
    } while (depth);
    return at;
}

bool tool_json_member(const char *s, size_t n, const char *name, const char **value,
                      size_t *n_value) {
    size_t at = skip_blank(s, n, 0), n_name = strlen(name);
    *value = NULL;
    *n_value = 0;
    if (at == n || s[at] != '{')
        return false;
    at = skip_blank(s, n, at + 1);
    if (at < n && s[at] == '}')
        return skip_blank(s, n, at + 1) == n;
    for (;;) {
        size_t key = at;
        if (at >= n || s[at] != '"' || (at = skip_string(s, n, at)) == 0)
            return false;
        bool same = at - key == n_name + 2 && memcmp(s + key + 1, name, n_name) == 0;
        at = skip_blank(s, n, at);
        if (at >= n || s[at] != ':')
            return false;
        size_t begin = skip_blank(s, n, at + 1), end = skip_value(s, n, begin);
        if (end == 0)
            return false;
        if (same) {
            *value = s + begin;
            *n_value = end - begin;
        }
        at = skip_blank(s, n, end);
        if (at < n && s[at] == '}')
            return skip_blank(s, n, at + 1) == n;
        if (at >= n || s[at] != ',')
            return false;
        at = skip_blank(s, n, at + 1);
    }
}

/* Four hexadecimal digits; -1 if they are none. */
static int32_t hex4(const char *s, size_t n) {
    int32_t v = 0;
    if (n < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = s[i];
        int32_t d = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (d < 0)
            return -1;
        v = v * 16 + d;
    }
    return v;
}

static size_t put_utf8(int32_t c, char *out) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | c);
    return n;
}

/* One escape after its backslash at s[*at]; an escape is longer than what it decodes to. */
static bool decode_escape(const char *s, size_t n, size_t *at, char *out, size_t *n_out) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = s[(*at)++];
    const char *known = c ? strchr(from, c) : NULL;
    if (known) {
        out[(*n_out)++] = to[known - from];
        return true;
    }
    int32_t v = c == 'u' ? hex4(s + *at, n - *at) : -1;
    if (v < 0)
        return false;
    *at += 4;
    if (v >= 0xd800 && v < 0xdc00 && n - *at >= 6 && s[*at] == '\\' && s[*at + 1] == 'u') {
        int32_t low = hex4(s + *at + 2, n - *at - 2);
        if (low >= 0xdc00 && low < 0xe000) {
            v = 0x10000 + ((v - 0xd800) << 10) + (low - 0xdc00);
            *at += 6;
        }
    }
    *n_out += put_utf8(v >= 0xd800 && v < 0xe000 ? 0xfffd : v, out + *n_out);
    return true;
}

bool tool_json_string(const char *s, size_t n, char *out, size_t *n_out) {
    *n_out = 0;
    if (n < 2 || s[0] != '"' || s[n - 1] != '"')
        return false;
    for (size_t at = 1; at < n - 1;) {
        if (s[at] != '\\') {
            out[(*n_out)++] = s[at++];
            continue;
        }
        at++;
        if (!decode_escape(s, n - 1, &at, out, n_out))
            return false;
    }
    return true;
}
