/* GBNF, the grammar notation of llama.cpp (its grammars/README.md is the definition): rules of
 * literals, character classes, groups and repetitions. */
#include "base/alloc.h"
#include "base/detail.h"
#include "text/grammar/charset.h"
#include "text/grammar/languages.h"
#include "text/grammar/names.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_REPEAT 100000

typedef struct parser {
    weft_nfa *n;
    const char *text;
    size_t n_bytes, at;
    weft_names names;
    size_t *first_use; /* [uses_room] of a rule: where it is first named */
    size_t uses_room;
} parser;

/* ---- Errors ---- */

static void position(const parser *p, size_t at, size_t *line, size_t *column) {
    *line = *column = 1;
    for (size_t i = 0; i < at && i < p->n_bytes; i++) {
        if (p->text[i] == '\n') {
            ++*line;
            *column = 1;
        } else if (((unsigned char)p->text[i] & 0xc0) != 0x80) {
            ++*column;
        }
    }
}

__attribute__((format(printf, 3, 4))) static void fail_at(parser *p, size_t at, const char *format,
                                                          ...) {
    if (p->n->status)
        return;
    char why[160];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    size_t line, column;
    position(p, at, &line, &column);
    p->n->status = weft_fail(WEFT_E_FORMAT, "GBNF: line %zu, column %zu: %s", line, column, why);
}

/* ---- Characters ---- */

static char peek(const parser *p) {
    return p->at < p->n_bytes ? p->text[p->at] : 0;
}

static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

static void skip_blank(parser *p, bool lines) {
    for (;;) {
        char c = peek(p);
        if (c == '#')
            while (p->at < p->n_bytes && peek(p) != '\n' && peek(p) != '\r')
                p->at++;
        else if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r')))
            p->at++;
        else
            return;
    }
}

static uint32_t read_escape(parser *p) {
    static const char from[] = "nrt\\\"[]^-", to[] = "\n\r\t\\\"[]^-";
    size_t begin = p->at++;
    char c = peek(p);
    const char *known = c ? strchr(from, c) : NULL;
    p->at++;
    if (known)
        return (uint32_t)(unsigned char)to[known - from];
    size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    uint32_t value = 0;
    if (digits == 0 || p->at > p->n_bytes ||
        !weft_char_hex(p->text + p->at, p->n_bytes - p->at, digits, &value))
        fail_at(p, begin, "unknown escape");
    p->at += digits;
    return value;
}

/* One character of a literal or a class. */
static uint32_t read_char(parser *p) {
    if (peek(p) == '\\')
        return read_escape(p);
    size_t n;
    uint32_t c = weft_char_decode(p->text + p->at, p->n_bytes - p->at, &n);
    if (n == 0)
        fail_at(p, p->at, "invalid UTF-8");
    p->at += n ? n : 1;
    return c;
}

/* ---- Pieces ---- */

static weft_frag alternatives(parser *p, int depth);

static weft_frag read_literal(parser *p) {
    size_t begin = p->at++;
    weft_frag whole = weft_frag_empty(p->n);
    while (!p->n->status && p->at < p->n_bytes && peek(p) != '"') {
        uint32_t c = read_char(p);
        weft_char_range one = {c, c};
        whole = weft_frag_then(p->n, whole, weft_frag_chars(p->n, &one, 1));
    }
    if (p->at >= p->n_bytes)
        fail_at(p, begin, "this literal has no end");
    p->at++;
    return whole;
}

static weft_frag read_class(parser *p) {
    size_t begin = p->at++;
    bool negated = peek(p) == '^';
    p->at += negated;
    weft_charset set = {0};
    while (!p->n->status && p->at < p->n_bytes && peek(p) != ']') {
        size_t at = p->at;
        uint32_t low = read_char(p), high = low;
        if (peek(p) == '-' && p->at + 1 < p->n_bytes && p->text[p->at + 1] != ']') {
            p->at++;
            high = read_char(p);
            if (high < low)
                fail_at(p, at, "the range ends before it begins");
        }
        weft_charset_add(&set, p->n, low, high);
    }
    if (p->at >= p->n_bytes)
        fail_at(p, begin, "this class has no end");
    p->at++;
    if (negated)
        weft_charset_negate(&set, p->n, 0x10ffff);
    else
        weft_charset_sort(&set);
    weft_frag f = weft_frag_chars(p->n, set.ranges, set.n);
    weft_charset_free(&set, p->n);
    return f;
}

static uint32_t named_rule(parser *p, size_t *begin, size_t *length) {
    *begin = p->at;
    while (is_name(peek(p)))
        p->at++;
    *length = p->at - *begin;
    bool added;
    uint32_t rule = weft_names_rule(&p->names, p->n, p->text + *begin, *length, &added);
    if (p->n->status || !added)
        return rule;
    if (!weft_nfa_grow(&p->n->a, (void **)&p->first_use, &p->uses_room, p->n->n_rules,
                       sizeof *p->first_use)) {
        p->n->status = weft_fail(WEFT_E_MEMORY, "grammar: out of memory");
        return WEFT_NFA_NONE;
    }
    p->first_use[rule] = *begin;
    return rule;
}

static weft_frag read_item(parser *p, int depth) {
    size_t begin = p->at, length;
    char c = peek(p);
    if (c == '"')
        return read_literal(p);
    if (c == '[')
        return read_class(p);
    if (c == '.') {
        weft_char_range any = {0, 0x10ffff};
        p->at++;
        return weft_frag_chars(p->n, &any, 1);
    }
    if (c == '(') {
        if (depth >= WEFT_GRAMMAR_MAX_DEPTH)
            fail_at(p, begin, "more than %d groups inside of each other", WEFT_GRAMMAR_MAX_DEPTH);
        p->at++;
        skip_blank(p, true);
        weft_frag f = alternatives(p, depth + 1);
        if (!p->n->status && peek(p) != ')')
            fail_at(p, p->at, "expected ')' of the group that begins before");
        p->at++;
        return f;
    }
    if (is_name(c)) {
        uint32_t rule = named_rule(p, &begin, &length);
        return weft_frag_call(p->n, rule);
    }
    if (c == '<' || c == '!')
        fail_at(p, begin, "tokens as items ('%c') are not supported", c);
    else
        fail_at(p, begin, "expected a literal, a class, a group or a rule's name");
    return (weft_frag){0, 0};
}

static uint32_t read_number(parser *p) {
    size_t begin = p->at;
    uint32_t value = 0;
    while (peek(p) >= '0' && peek(p) <= '9' && value <= MAX_REPEAT)
        value = value * 10 + (uint32_t)(p->text[p->at++] - '0');
    if (p->at == begin)
        fail_at(p, begin, "expected a number");
    else if (value > MAX_REPEAT)
        fail_at(p, begin, "repeated more than %d times", MAX_REPEAT);
    return value;
}

/* {m}, {m,} or {m,n} */
static void read_braces(parser *p, uint32_t *min, uint32_t *max) {
    size_t begin = p->at++;
    skip_blank(p, true);
    *min = read_number(p);
    *max = *min;
    skip_blank(p, true);
    if (peek(p) == ',') {
        p->at++;
        skip_blank(p, true);
        *max = peek(p) == '}' ? WEFT_NFA_NONE : read_number(p);
        skip_blank(p, true);
    }
    if (peek(p) != '}')
        fail_at(p, p->at, "expected '}'");
    else if (*max < *min)
        fail_at(p, begin, "at least %u, but at most %u times", *min, *max);
    p->at++;
}

/* An item with the repetitions behind it. */
static weft_frag repeated_item(parser *p, int depth) {
    size_t mark = p->n->n_states;
    weft_frag f = read_item(p, depth);
    for (;;) {
        skip_blank(p, depth > 0);
        char c = p->n->status ? 0 : peek(p);
        uint32_t min = c == '+', max = c == '?' ? 1 : WEFT_NFA_NONE;
        if (c == '{')
            read_braces(p, &min, &max);
        else if (c == '*' || c == '+' || c == '?')
            p->at++;
        else
            return f;
        f = weft_frag_repeat(p->n, mark, f, min, max);
    }
}

static weft_frag sequence(parser *p, int depth) {
    weft_frag whole = weft_frag_empty(p->n);
    for (;;) {
        skip_blank(p, depth > 0);
        char c = peek(p);
        if (p->n->status || p->at >= p->n_bytes || c == '|' || c == '\n' || c == '\r' ||
            (c == ')' && depth > 0))
            return whole;
        whole = weft_frag_then(p->n, whole, repeated_item(p, depth));
    }
}

/* Whether an alternative follows, maybe on a later line. */
static bool takes_bar(parser *p) {
    size_t before = p->at;
    skip_blank(p, true);
    if (peek(p) == '|') {
        p->at++;
        skip_blank(p, true);
        return true;
    }
    p->at = before;
    return false;
}

static weft_frag alternatives(parser *p, int depth) {
    weft_frag all = sequence(p, depth);
    while (!p->n->status && takes_bar(p))
        all = weft_frag_or(p->n, all, sequence(p, depth));
    return all;
}

static void read_rule(parser *p) {
    size_t begin, length;
    if (!is_name(peek(p))) {
        fail_at(p, p->at, "expected the name of a rule");
        return;
    }
    uint32_t rule = named_rule(p, &begin, &length);
    skip_blank(p, false);
    if (p->n->status)
        return;
    if (p->n_bytes - p->at < 3 || memcmp(p->text + p->at, "::=", 3) != 0) {
        fail_at(p, p->at, "expected '::=' after '%.*s'", length > 60 ? 60 : (int)length,
                p->text + begin);
        return;
    }
    if (p->n->rules[rule].start) {
        fail_at(p, begin, "rule '%.60s' is defined twice", p->n->rules[rule].name);
        return;
    }
    p->at += 3;
    skip_blank(p, true);
    weft_frag body = alternatives(p, 0);
    weft_nfa_define(p->n, rule, body);
    skip_blank(p, false);
    if (!p->n->status && p->at < p->n_bytes && peek(p) != '\n' && peek(p) != '\r')
        fail_at(p, p->at, "expected the end of the line");
}

uint32_t weft_gbnf_parse(weft_nfa *n, const char *text, size_t n_bytes) {
    parser p = {.n = n, .text = text, .n_bytes = n_bytes};
    skip_blank(&p, true);
    while (p.at < n_bytes && !n->status) {
        read_rule(&p);
        skip_blank(&p, true);
    }
    for (size_t i = 0; i < n->n_rules && !n->status; i++)
        if (!n->rules[i].start)
            fail_at(&p, p.first_use[i], "rule '%.60s' is not defined", n->rules[i].name);
    bool added = true;
    uint32_t root = weft_names_rule(&p.names, n, "root", 4, &added);
    if (!n->status && added)
        n->status = weft_fail(WEFT_E_FORMAT, "GBNF: line 1, column 1: there is no rule 'root'");
    weft_names_free(&p.names, n);
    weft_dealloc(&n->a, p.first_use, p.uses_room * sizeof *p.first_use);
    return root;
}
