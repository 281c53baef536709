/* Characters of strings, which are valid UTF-8: counting, stepping, white space as Python has it.
 */
#ifndef WEFT_TEXT_JINJA_CHARS_H
#define WEFT_TEXT_JINJA_CHARS_H

#include "text/jinja/value.h"
#include "text/utf8.h"

/* Bytes of the character that begins with `c`. */
static inline size_t jinja_char_bytes(char c) {
    unsigned char u = (unsigned char)c;
    return u < 0x80 ? 1 : u < 0xe0 ? 2 : u < 0xf0 ? 3 : 4;
}
static inline uint32_t jinja_char_at(const char *text) {
    return weft_utf8_decode((const unsigned char *)text, jinja_char_bytes(*text));
}
/* str.isspace of one character: White_Space and the four separators of ASCII. */
static inline bool jinja_is_space(uint32_t c) {
    return (c >= 0x1c && c <= 0x1f) || weft_is_space(c);
}
/* Where the character before `at` begins; at > 0. */
static inline size_t jinja_char_before(const char *text, size_t at) {
    do
        at--;
    while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80);
    return at;
}
static inline size_t jinja_count_chars(jinja_string s) {
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.text[i] & 0xc0) != 0x80;
    return n;
}
/* The byte offset of character `index`, s.n when there are fewer. */
static inline size_t jinja_offset_of(jinja_string s, size_t index) {
    size_t at = 0;
    while (index-- > 0 && at < s.n)
        at += jinja_char_bytes(s.text[at]);
    return at;
}
static inline jinja_string jinja_strip_left(jinja_string s) {
    while (s.n && jinja_is_space(jinja_char_at(s.text))) {
        size_t n = jinja_char_bytes(*s.text);
        s = (jinja_string){s.text + n, s.n - n};
    }
    return s;
}
static inline jinja_string jinja_strip_right(jinja_string s) {
    while (s.n) {
        size_t at = jinja_char_before(s.text, s.n);
        if (!jinja_is_space(jinja_char_at(s.text + at)))
            break;
        s.n = at;
    }
    return s;
}
/* The offset of `part` in `s` from byte `from` on; SIZE_MAX: none. */
size_t jinja_find(jinja_string s, jinja_string part, size_t from);
bool jinja_same(jinja_string a, jinja_string b);
bool jinja_is_text(jinja_string s, const char *literal);

#endif
