/* Searching and comparing strings; the escapes of string literals. */
#include "text/jinja/chars.h"

#include <string.h>
#include "text/jinja/lex.h"

size_t jinja_find(jinja_string s, jinja_string part, size_t from) {
    if (from > s.n || part.n > s.n - from)
        return SIZE_MAX;
    if (part.n == 0)
        return from;
    const char *found = memmem(s.text + from, s.n - from, part.text, part.n);
    return found ? (size_t)(found - s.text) : SIZE_MAX;
}

bool jinja_same(jinja_string a, jinja_string b) {
    return a.n == b.n && (a.n == 0 || memcmp(a.text, b.text, a.n) == 0);
}

bool jinja_is_text(jinja_string s, const char *literal) {
    return jinja_same(s, (jinja_string){literal, strlen(literal)});
}

static int digit_of(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    char low = (char)(c | 0x20);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : 99;
}

/* Up to `most` digits from *at on. */
static uint32_t digits(jinja_string s, size_t *at, size_t most, int base) {
    uint32_t value = 0;
    for (size_t i = 0; i < most && *at < s.n && digit_of(s.text[*at]) < base; i++)
        value = value * (uint32_t)base + (uint32_t)digit_of(s.text[(*at)++]);
    return value;
}

/* The escapes of Python's string literals; those it does not know stay as they are. */
bool jinja_unescape(jinja_arena *arena, jinja_string s, jinja_string *out) {
    static const char letters[] = "ntrabfv\\'\"", meanings[] = "\n\t\r\a\b\f\v\\'\"";
    /* An escape is never shorter than what it stands for, but for \1: 2 bytes are 1 character of at
     * most 2 bytes. Half a surrogate pair becomes U+FFFD, of 3. */
    unsigned char *to = jinja_arena_alloc(arena, s.n + 4);
    if (!to)
        return false;
    size_t n = 0;
    for (size_t i = 0; i < s.n;) {
        if (s.text[i] != '\\' || i + 1 == s.n) {
            to[n++] = (unsigned char)s.text[i++];
            continue;
        }
        char c = s.text[i + 1];
        const char *known = memchr(letters, c, sizeof letters - 1);
        size_t at = i + 2, wanted = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
        if (known) {
            to[n++] = (unsigned char)meanings[known - letters];
        } else if (c == '\n') {
            /* a line that goes on */
        } else if (c >= '0' && c <= '7') {
            at = i + 1;
            n += weft_utf8_encode(digits(s, &at, 3, 8), to + n);
        } else {
            uint32_t value = wanted ? digits(s, &at, wanted, 16) : 0;
            if (wanted && at == i + 2 + wanted) {
                bool bad = value > 0x10ffff || (value >= 0xd800 && value < 0xe000);
                n += weft_utf8_encode(bad ? 0xfffd : value, to + n);
            } else {
                at = i + 1;
                to[n++] = '\\';
            }
        }
        i = at;
    }
    *out = (jinja_string){(const char *)to, n};
    return true;
}
