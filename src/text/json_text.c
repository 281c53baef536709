/* A resumable scanner of JSON (RFC 8259), and reading and writing strings. */
#include "text/json_text.h"

#include <stdio.h>
#include <string.h>
#include "text/utf8.h"

enum {
    VALUE,      /* or blanks before it */
    FIRST_ITEM, /* a value or ] */
    FIRST_KEY,  /* a name or } */
    KEY,        /* a name, after a comma */
    COLON,
    NEXT, /* a comma or the closing bracket */
    STRING,
    ESCAPE,
    HEX,
    LITERAL,
    NUMBER,
    FINISHED
};

/* States of a number: what was read last. */
enum { SIGN, ZERO, DIGITS, POINT, FRACTION, EXPONENT, EXPONENT_SIGN, EXPONENT_DIGITS };

static const char *const literals[] = {"true", "false", "null"};

static bool is_blank(char c) {
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}
static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool in_object(const weft_json_scan *s) {
    unsigned level = (unsigned)s->depth - 1;
    return s->object[level / 8] >> (level % 8) & 1;
}

/* A value has ended. */
static void finish(weft_json_scan *s) {
    s->expects = s->depth ? NEXT : FINISHED;
}

static bool open(weft_json_scan *s, bool object) {
    if (s->depth == WEFT_JSON_TEXT_DEPTH)
        return false;
    unsigned bit = 1u << (s->depth % 8), byte = s->depth / 8;
    s->object[byte] = (uint8_t)(object ? s->object[byte] | bit : s->object[byte] & ~bit);
    s->depth++;
    s->expects = object ? FIRST_KEY : FIRST_ITEM;
    return true;
}

static bool close(weft_json_scan *s, char c) {
    if (s->depth == 0 || in_object(s) != (c == '}'))
        return false;
    s->depth--;
    finish(s);
    return true;
}

static void begin_string(weft_json_scan *s, bool key) {
    s->expects = STRING;
    s->in_key = key;
}

static bool begin_value(weft_json_scan *s, char c) {
    if (c == '{' || c == '[')
        return open(s, c == '{');
    if (c == '"') {
        begin_string(s, false);
        return true;
    }
    if (c == '-' || is_digit(c)) {
        s->expects = NUMBER;
        s->at = c == '-' ? SIGN : c == '0' ? ZERO : DIGITS;
        return true;
    }
    for (uint8_t i = 0; i < 3; i++)
        if (literals[i][0] == c) {
            s->expects = LITERAL;
            s->literal = i;
            s->at = 1;
            return true;
        }
    return false;
}

/* True: the byte belongs to the number. */
static bool number_goes_on(weft_json_scan *s, char c) {
    bool digit = is_digit(c), e = c == 'e' || c == 'E';
    switch (s->at) {
    case SIGN:
        s->at = c == '0' ? ZERO : DIGITS;
        return digit;
    case ZERO:
    case DIGITS:
        if (digit && s->at == DIGITS)
            return true;
        s->at = c == '.' ? POINT : EXPONENT;
        return c == '.' || e;
    case POINT:
        s->at = FRACTION;
        return digit;
    case FRACTION:
        if (digit)
            return true;
        s->at = EXPONENT;
        return e;
    case EXPONENT:
        s->at = digit ? EXPONENT_DIGITS : EXPONENT_SIGN;
        return digit || c == '-' || c == '+';
    default:
        s->at = EXPONENT_DIGITS;
        return digit;
    }
}

static bool number_is_whole(uint8_t state) {
    return state == ZERO || state == DIGITS || state == FRACTION || state == EXPONENT_DIGITS;
}

static bool string_byte(weft_json_scan *s, char c) {
    if (s->expects == STRING) {
        if (c == '\\')
            s->expects = ESCAPE;
        else if (c == '"' && s->in_key)
            s->expects = COLON;
        else if (c == '"')
            finish(s);
        return (unsigned char)c >= 0x20;
    }
    if (s->expects == ESCAPE) {
        s->expects = c == 'u' ? HEX : STRING;
        s->n_hex = 4;
        return c && strchr("\"\\/bfnrtu", c);
    }
    char low = (char)(c | 0x20);
    if (--s->n_hex == 0)
        s->expects = STRING;
    return is_digit(c) || (low >= 'a' && low <= 'f');
}

/* A byte outside of strings, numbers and literals. */
static bool structure_byte(weft_json_scan *s, char c) {
    bool ends = c == '}' || c == ']';
    if (is_blank(c))
        return true;
    switch (s->expects) {
    case VALUE:
        return begin_value(s, c);
    case FIRST_ITEM:
        return ends ? close(s, c) : begin_value(s, c);
    case FIRST_KEY:
    case KEY:
        if (ends && s->expects == FIRST_KEY)
            return close(s, c);
        begin_string(s, true);
        return c == '"';
    case COLON:
        s->expects = VALUE;
        return c == ':';
    default:
        if (ends)
            return close(s, c);
        s->expects = in_object(s) ? KEY : VALUE;
        return c == ',';
    }
}

static bool one_byte(weft_json_scan *s, char c) {
    if (s->expects == STRING || s->expects == ESCAPE || s->expects == HEX)
        return string_byte(s, c);
    if (s->expects == LITERAL) {
        const char *word = literals[s->literal];
        bool fits = word[s->at] == c;
        if (fits && word[++s->at] == 0)
            finish(s);
        return fits;
    }
    if (s->expects == NUMBER) {
        uint8_t before = s->at;
        if (number_goes_on(s, c))
            return true;
        finish(s);
        return number_is_whole(before) && (s->expects == FINISHED || structure_byte(s, c));
    }
    return structure_byte(s, c);
}

weft_json_progress weft_json_scan_on(weft_json_scan *s, const char *text, size_t n, size_t *at) {
    while (s->expects != FINISHED && *at < n) {
        bool number = s->expects == NUMBER && s->depth == 0;
        if (!one_byte(s, text[*at]))
            return WEFT_JSON_BAD;
        /* A number at the top ends before the byte that showed its end. */
        if (!(number && s->expects == FINISHED))
            ++*at;
    }
    return s->expects == FINISHED ? WEFT_JSON_DONE : WEFT_JSON_MORE;
}

bool weft_json_take(const char *text, size_t n, size_t *at, weft_slice *value) {
    weft_json_scan scan = {0};
    while (*at < n && is_blank(text[*at]))
        ++*at;
    size_t begin = *at;
    weft_json_progress progress = weft_json_scan_on(&scan, text, n, at);
    bool number = progress == WEFT_JSON_MORE && scan.expects == NUMBER && scan.depth == 0 &&
                  number_is_whole(scan.at);
    *value = (weft_slice){text + begin, *at - begin};
    return progress == WEFT_JSON_DONE || number;
}

bool weft_json_member_of(weft_slice object, const char *name, weft_slice *value) {
    size_t at = 0, n_name = strlen(name);
    while (at < object.n && is_blank(object.text[at]))
        at++;
    if (at == object.n || object.text[at] != '{')
        return false;
    at++;
    for (weft_slice key; weft_json_take(object.text, object.n, &at, &key);) {
        while (at < object.n && is_blank(object.text[at]))
            at++;
        if (at == object.n || object.text[at++] != ':' ||
            !weft_json_take(object.text, object.n, &at, value))
            return false;
        if (key.n == n_name + 2 && memcmp(key.text + 1, name, n_name) == 0)
            return true;
        while (at < object.n && is_blank(object.text[at]))
            at++;
        if (at == object.n || object.text[at++] != ',')
            return false;
    }
    return false;
}

/* ---- Strings ---- */

/* Four digits that the scanner has seen. */
static uint32_t hex4(const char *text) {
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        char low = (char)(text[i] | 0x20);
        value = value * 16 + (uint32_t)(is_digit(text[i]) ? text[i] - '0' : low - 'a' + 10);
    }
    return value;
}

static bool decode_unicode(weft_slice s, size_t *at, weft_bytes *out) {
    unsigned char bytes[4];
    uint32_t c = hex4(s.text + *at);
    *at += 4;
    bool high = c >= 0xd800 && c < 0xdc00;
    if (high && *at + 6 < s.n && s.text[*at] == '\\' && s.text[*at + 1] == 'u') {
        uint32_t low = hex4(s.text + *at + 2);
        if (low >= 0xdc00 && low < 0xe000) {
            c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
            *at += 6;
        }
    }
    if (c >= 0xd800 && c < 0xe000)
        c = 0xfffd;
    return weft_bytes_add(out, bytes, weft_utf8_encode(c, bytes));
}

bool weft_json_decode(weft_slice s, weft_bytes *out) {
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    size_t at = 0;
    weft_slice whole;
    if (s.n < 2 || s.text[0] != '"' || !weft_json_take(s.text, s.n, &at, &whole) || at != s.n)
        return false;
    bool fits = true;
    for (at = 1; at < s.n - 1 && fits;) {
        size_t run = 0;
        while (s.text[at + run] != '\\' && at + run < s.n - 1)
            run++;
        fits = weft_bytes_add(out, s.text + at, run);
        at += run;
        if (at >= s.n - 1 || !fits)
            break;
        char letter = s.text[at + 1];
        at += 2;
        if (letter == 'u')
            fits = decode_unicode(s, &at, out);
        else
            fits = weft_bytes_add(out, &meanings[strchr(letters, letter) - letters], 1);
    }
    return fits;
}

bool weft_json_encode(const char *text, size_t n, weft_bytes *out) {
    const unsigned char *s = (const unsigned char *)text;
    bool fits = weft_bytes_add(out, "\"", 1);
    for (size_t at = 0; at < n && fits;) {
        size_t length = weft_utf8_length(s + at, n - at);
        char escape[8];
        if (length == 0) {
            fits = weft_bytes_add(out, "\xef\xbf\xbd", 3);
            length = 1;
        } else if (s[at] == '"' || s[at] == '\\' || s[at] == '\n') {
            const char pair[2] = {'\\', s[at] == '\n' ? 'n' : (char)s[at]};
            fits = weft_bytes_add(out, pair, 2);
        } else if (s[at] < 0x20) {
            snprintf(escape, sizeof escape, "\\u%04x", s[at]);
            fits = weft_bytes_add(out, escape, 6);
        } else {
            fits = weft_bytes_add(out, s + at, length);
        }
        at += length;
    }
    return fits && weft_bytes_add(out, "\"", 1);
}
