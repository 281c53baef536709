/* What filters and methods do to strings. */
#include <string.h>
#include <utf8proc.h>
#include "text/jinja/impl.h"

static bool is_among(uint32_t c, const jinja_string *chars) {
    if (!chars)
        return jinja_is_space(c);
    for (size_t at = 0; at < chars->n; at += jinja_char_bytes(chars->text[at]))
        if (jinja_char_at(chars->text + at) == c)
            return true;
    return false;
}

jinja_string jinja_strip(jinja_string s, const jinja_string *chars, bool left, bool right) {
    while (left && s.n && is_among(jinja_char_at(s.text), chars)) {
        size_t n = jinja_char_bytes(*s.text);
        s = (jinja_string){s.text + n, s.n - n};
    }
    while (right && s.n) {
        size_t at = jinja_char_before(s.text, s.n);
        if (!is_among(jinja_char_at(s.text + at), chars))
            break;
        s.n = at;
    }
    return s;
}

jinja_value jinja_replace(jinja *j, jinja_string s, jinja_string from, jinja_string to,
                          int64_t most) {
    jinja_buffer b = {0};
    size_t at = 0;
    if (!jinja_spend(j, s.n / 32))
        return jinja_undefined();
    while (most != 0 && jinja_spend(j, 1)) {
        /* An empty `from` is found before every character and at the end. */
        size_t found = jinja_find(s, from, at);
        if (found == SIZE_MAX)
            break;
        jinja_put(j, &b, s.text + at, found - at);
        jinja_puts(j, &b, to);
        at = found + from.n;
        most -= most > 0;
        if (from.n == 0) {
            if (at == s.n)
                return jinja_buffer_value(&b);
            jinja_put(j, &b, s.text + at, jinja_char_bytes(s.text[at]));
            at += jinja_char_bytes(s.text[at]);
        }
    }
    if (at == 0)
        return jinja_str(s);
    jinja_put(j, &b, s.text + at, s.n - at);
    return jinja_buffer_value(&b);
}

jinja_value jinja_escape(jinja *j, jinja_string s) {
    static const char special[] = "&<>\"'";
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&#34;", "&#39;"};
    jinja_buffer b = {0};
    for (size_t i = 0; i < s.n && !j->failed; i++) {
        const char *found = memchr(special, s.text[i], sizeof special - 1);
        const char *entity = found ? entities[found - special] : NULL;
        jinja_put(j, &b, entity ? entity : s.text + i, entity ? strlen(entity) : 1);
    }
    jinja_value v = jinja_buffer_value(&b);
    v.safe = true;
    return v;
}

static bool ends_word(uint32_t c, jinja_case how) {
    if (how == JINJA_TITLE)
        return jinja_is_space(c) || (c < 0x80 && memchr("-({[<", (int)c, 5));
    return how == JINJA_EVERY_WORD &&
           utf8proc_toupper((utf8proc_int32_t)c) == utf8proc_tolower((utf8proc_int32_t)c);
}

jinja_value jinja_change_case(jinja *j, jinja_string s, jinja_case how) {
    jinja_buffer b = {0};
    bool first = true;
    for (size_t at = 0; at < s.n && jinja_spend(j, 1); at += jinja_char_bytes(s.text[at])) {
        uint32_t c = jinja_char_at(s.text + at);
        unsigned char out[4];
        bool upper = how == JINJA_UPPER || (how >= JINJA_CAPITAL && first);
        if (upper && c == 0xdf) { /* the one usual letter whose capital is two */
            jinja_put(j, &b, how == JINJA_UPPER ? "SS" : "Ss", 2);
            first = false;
            continue;
        }
        utf8proc_int32_t changed =
            upper ? utf8proc_toupper((utf8proc_int32_t)c) : utf8proc_tolower((utf8proc_int32_t)c);
        jinja_put(j, &b, (const char *)out, weft_utf8_encode((uint32_t)changed, out));
        first = ends_word(c, how);
    }
    return jinja_buffer_value(&b);
}

bool jinja_next_line(jinja_string *rest, jinja_string *line) {
    if (rest->n == 0)
        return false;
    *line = (jinja_string){rest->text, rest->n};
    size_t after = rest->n;
    for (size_t at = 0; at < rest->n; at += jinja_char_bytes(rest->text[at])) {
        uint32_t c = jinja_char_at(rest->text + at);
        bool ends = (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 ||
                    c == 0x2028 || c == 0x2029;
        if (!ends)
            continue;
        line->n = at;
        after = at + jinja_char_bytes(rest->text[at]);
        if (c == '\r' && after < rest->n && rest->text[after] == '\n')
            after++;
        break;
    }
    *rest = (jinja_string){rest->text + after, rest->n - after};
    return true;
}
