/* Regular expressions: what ECMA-262 and Python's re have in common, without what is no regular
 * language. Where the two disagree about a character, the set is what both match. */
#include "base/detail.h"
#include "text/grammar/charset.h"
#include "text/grammar/languages.h"

#include <string.h>

#define MAX_REPEAT 100000

typedef struct parser {
    weft_nfa *n;
    const char *text;
    size_t n_bytes, at;
    bool search;
} parser;

static void fail_at(parser *p, weft_status status, size_t at, const char *why) {
    if (!p->n->status)
        p->n->status = weft_fail(status, "regular expression: column %zu: %s", at + 1, why);
}

static char peek(const parser *p) {
    return p->at < p->n_bytes ? p->text[p->at] : 0;
}

static bool follows(const parser *p, const char *what) {
    size_t n = strlen(what);
    return p->n_bytes - p->at >= n && memcmp(p->text + p->at, what, n) == 0;
}

static uint32_t read_plain(parser *p) {
    size_t n;
    uint32_t c = weft_char_decode(p->text + p->at, p->n_bytes - p->at, &n);
    if (n == 0)
        fail_at(p, WEFT_E_FORMAT, p->at, "invalid UTF-8");
    p->at += n ? n : 1;
    return c;
}

/* ---- Classes ---- */

/* \d \w \s and their opposites; false for other letters. */
static bool add_shorthand(parser *p, weft_charset *set, char letter) {
    weft_charset own = {0};
    weft_nfa *n = p->n;
    char kind = letter | 0x20;
    if (kind == 'd' || kind == 'w')
        weft_charset_add(&own, n, '0', '9');
    if (kind == 'w') {
        weft_charset_add(&own, n, 'A', 'Z');
        weft_charset_add(&own, n, '_', '_');
        weft_charset_add(&own, n, 'a', 'z');
    }
    if (kind == 's') {
        weft_charset_add(&own, n, 9, 13);
        weft_charset_add(&own, n, ' ', ' ');
    }
    if (own.n == 0)
        return false;
    if (letter != kind) {
        if (kind == 's') { /* blanks beyond ASCII and Python's separators are none here */
            weft_charset_add(&own, n, 0x1c, 0x1f);
            weft_charset_add(&own, n, 0x85, 0xa0);
            weft_charset_add(&own, n, 0x1680, 0x1680);
            weft_charset_add(&own, n, 0x2000, 0x206f);
            weft_charset_add(&own, n, 0x3000, 0x3000);
            weft_charset_add(&own, n, 0xfeff, 0xfeff);
        }
        /* Python's digits and letters beyond ASCII: all of Unicode's. */
        weft_charset_negate(&own, n, kind == 's' ? 0x10ffff : kind == 'd' ? 0x65f : 0x7f);
    }
    for (size_t i = 0; i < own.n; i++)
        weft_charset_add(set, n, own.ranges[i].low, own.ranges[i].high);
    weft_charset_free(&own, n);
    return true;
}

/* After a backslash, a character that stands for one. */
static uint32_t read_escape(parser *p) {
    static const char from[] = "nrtfv0", to[] = {'\n', '\r', '\t', '\f', '\v', 0};
    size_t begin = p->at - 1;
    char c = peek(p);
    const char *known = c ? strchr(from, c) : NULL;
    uint32_t value = 0;
    if (known) {
        p->at++;
        return (uint32_t)to[known - from];
    }
    if (c == 'x' || c == 'u') {
        size_t digits = c == 'x' ? 2 : 4;
        p->at++;
        if (!weft_char_hex(p->text + p->at, p->n_bytes - p->at, digits, &value))
            fail_at(p, WEFT_E_FORMAT, begin, "expected hexadecimal digits");
        p->at += digits;
        return value;
    }
    if (p->at >= p->n_bytes) {
        fail_at(p, WEFT_E_FORMAT, begin, "the backslash stands at the end");
    } else if (c >= '1' && c <= '9') {
        fail_at(p, WEFT_E_UNSUPPORTED, begin, "back references are not supported");
    } else if (c == 'b' || c == 'B') {
        fail_at(p, WEFT_E_UNSUPPORTED, begin, "word boundaries (\\b) are not supported");
    } else if (c == 'p' || c == 'P') {
        fail_at(p, WEFT_E_UNSUPPORTED, begin, "Unicode properties (\\p) are not supported");
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        fail_at(p, WEFT_E_FORMAT, begin, "unknown escape");
    }
    return read_plain(p);
}

/* One end of a range; true if it was a shorthand, which is added. */
static bool class_item(parser *p, weft_charset *set, uint32_t *c) {
    if (peek(p) != '\\') {
        *c = read_plain(p);
        return false;
    }
    p->at++;
    if (peek(p) && add_shorthand(p, set, peek(p))) {
        p->at++;
        return true;
    }
    if (peek(p) == 'b') {
        p->at++;
        *c = '\b';
    } else {
        *c = read_escape(p);
    }
    return false;
}

static weft_frag read_class(parser *p) {
    size_t begin = p->at++;
    bool negated = peek(p) == '^', shorthand = false;
    p->at += negated;
    weft_charset set = {0};
    for (size_t first = p->at; !p->n->status && p->at < p->n_bytes;) {
        if (peek(p) == ']' && p->at > first)
            break;
        size_t at = p->at;
        uint32_t low = 0, high;
        if (class_item(p, &set, &low)) {
            shorthand = true;
            continue;
        }
        high = low;
        if (peek(p) == '-' && p->at + 1 < p->n_bytes && p->text[p->at + 1] != ']') {
            p->at++;
            if (class_item(p, &set, &high) || high < low)
                fail_at(p, WEFT_E_FORMAT, at, "a range that has no end or ends before it begins");
        }
        weft_charset_add(&set, p->n, low, high);
    }
    if (p->at >= p->n_bytes)
        fail_at(p, WEFT_E_FORMAT, begin, "this class has no end");
    p->at++;
    if (negated)
        weft_charset_negate(&set, p->n, shorthand ? 0x7f : 0x10ffff);
    else
        weft_charset_sort(&set);
    weft_frag f = weft_frag_chars(p->n, set.ranges, set.n);
    weft_charset_free(&set, p->n);
    return f;
}

static weft_frag any_character(parser *p, bool lines) {
    static const weft_char_range all[] = {{0, 0x10ffff}};
    static const weft_char_range in_line[] = {
        {0, 9}, {11, 12}, {14, 0x84}, {0x86, 0x2027}, {0x202a, 0x10ffff}};
    return lines ? weft_frag_chars(p->n, all, 1) : weft_frag_chars(p->n, in_line, 5);
}

/* ---- Pieces ---- */

static weft_frag alternatives(parser *p, int depth);

static weft_frag one_character(parser *p, uint32_t c) {
    weft_char_range one = {c, c};
    return weft_frag_chars(p->n, &one, 1);
}

static weft_frag read_group(parser *p, int depth) {
    size_t begin = p->at++;
    if (depth >= WEFT_GRAMMAR_MAX_DEPTH)
        fail_at(p, WEFT_E_FORMAT, begin, "too many groups inside of each other");
    if (follows(p, "?:")) {
        p->at += 2;
    } else if (follows(p, "?<") && !follows(p, "?<=") && !follows(p, "?<!")) {
        while (p->at < p->n_bytes && peek(p) != '>')
            p->at++;
        p->at++;
    } else if (peek(p) == '?') {
        fail_at(p, WEFT_E_UNSUPPORTED, begin,
                "groups with (? other than (?: and names are not supported");
    }
    weft_frag f = alternatives(p, depth + 1);
    if (peek(p) != ')')
        fail_at(p, WEFT_E_FORMAT, begin, "this group has no end");
    p->at++;
    return f;
}

static weft_frag read_atom(parser *p, int depth) {
    size_t begin = p->at;
    char c = peek(p);
    switch (c) {
    case '(':
        return read_group(p, depth);
    case '[':
        return read_class(p);
    case '.':
        p->at++;
        return any_character(p, false);
    case '^':
    case '$':
        fail_at(p, WEFT_E_UNSUPPORTED, begin,
                "anchors are supported at the two ends of an outer alternative only");
        return (weft_frag){0, 0};
    case '*':
    case '+':
    case '?':
        fail_at(p, WEFT_E_FORMAT, begin, "nothing stands before the repetition");
        return (weft_frag){0, 0};
    case '\\': {
        p->at++;
        weft_charset set = {0};
        if (peek(p) && add_shorthand(p, &set, peek(p))) {
            p->at++;
            weft_charset_sort(&set);
            weft_frag f = weft_frag_chars(p->n, set.ranges, set.n);
            weft_charset_free(&set, p->n);
            return f;
        }
        return one_character(p, read_escape(p));
    }
    default:
        return one_character(p, read_plain(p));
    }
}

/* {m}, {m,} or {m,n} at `at`; false: the brace is a plain one. */
static bool read_braces(parser *p, uint32_t *min, uint32_t *max) {
    size_t at = p->at + 1, digits = 0;
    uint32_t values[2] = {0, 0};
    size_t which = 0;
    bool comma = false;
    for (; at < p->n_bytes && p->text[at] != '}'; at++) {
        char c = p->text[at];
        if (c == ',' && !comma && digits > 0) {
            comma = true;
            which = 1;
            digits = 0;
        } else if (c >= '0' && c <= '9') {
            digits++;
            values[which] = values[which] * 10 + (uint32_t)(c - '0');
            if (values[which] > MAX_REPEAT) {
                fail_at(p, WEFT_E_FORMAT, p->at, "repeated too many times");
                return true;
            }
        } else {
            return false;
        }
    }
    if (at >= p->n_bytes || (!comma && digits == 0))
        return false;
    *min = values[0];
    *max = !comma ? values[0] : digits ? values[1] : WEFT_NFA_NONE;
    if (*max < *min)
        fail_at(p, WEFT_E_FORMAT, p->at, "at least more than at most");
    p->at = at + 1;
    return true;
}

static weft_frag repeated_atom(parser *p, int depth) {
    size_t mark = p->n->n_states;
    weft_frag f = read_atom(p, depth);
    while (!p->n->status) {
        char c = peek(p);
        uint32_t min = c == '+', max = c == '?' ? 1 : WEFT_NFA_NONE;
        if (c == '*' || c == '+' || c == '?')
            p->at++;
        else if (c != '{' || !read_braces(p, &min, &max))
            break;
        f = weft_frag_repeat(p->n, mark, f, min, max);
        if (peek(p) == '?' || peek(p) == '+') { /* lazy or possessive: how, not what */
            if (peek(p) == '+')
                fail_at(p, WEFT_E_UNSUPPORTED, p->at, "possessive repetition is not supported");
            p->at++;
        }
    }
    return f;
}

/* Anything, where an outer alternative of a search is not anchored. */
static weft_frag anything(parser *p) {
    size_t mark = p->n->n_states;
    return weft_frag_repeat(p->n, mark, any_character(p, true), 0, WEFT_NFA_NONE);
}

static weft_frag sequence(parser *p, int depth) {
    bool anchored = depth == 0 && peek(p) == '^';
    p->at += anchored;
    weft_frag whole = depth == 0 && p->search && !anchored ? anything(p) : weft_frag_empty(p->n);
    while (!p->n->status && p->at < p->n_bytes && peek(p) != '|') {
        if (peek(p) == ')') {
            if (depth > 0)
                break;
            fail_at(p, WEFT_E_FORMAT, p->at, "no group is open here");
        }
        bool last = p->at + 1 == p->n_bytes || p->text[p->at + 1] == '|';
        if (depth == 0 && peek(p) == '$' && last) {
            p->at++;
            return whole;
        }
        whole = weft_frag_then(p->n, whole, repeated_atom(p, depth));
    }
    return depth == 0 && p->search ? weft_frag_then(p->n, whole, anything(p)) : whole;
}

static weft_frag alternatives(parser *p, int depth) {
    weft_frag all = sequence(p, depth);
    while (!p->n->status && peek(p) == '|') {
        p->at++;
        all = weft_frag_or(p->n, all, sequence(p, depth));
    }
    return all;
}

weft_frag weft_regex_parse(weft_nfa *n, const char *text, size_t n_bytes, bool search) {
    parser p = {.n = n, .text = text, .n_bytes = n_bytes, .search = search};
    return alternatives(&p, 0);
}

uint32_t weft_regex_rule(weft_nfa *n, const char *text, size_t n_bytes) {
    uint32_t rule = weft_nfa_add_rule(n, "regular expression", 18);
    weft_nfa_define(n, rule, weft_regex_parse(n, text, n_bytes, false));
    return rule;
}
