/* JSON Schema: strings, by length, pattern and format. */
#include "text/grammar/languages.h"
#include "text/grammar/schema.h"

#include <stdio.h>
#include <string.h>

#define MAX_LENGTH 1000000 /* a larger maximum is taken as this */
#define MAX_COUNTED 8192   /* where patterns and the like count, too: states for each character */
#define BLOCK 512          /* characters of a block */

/* Formats by regular expressions; each is a part of what its definition allows, so that every text
 * is valid whatever a validator knows: days up to the 28th of February, no leap seconds. */
#define TIME "([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d"
#define DATE                                                                                       \
    "(19|20)\\d\\d-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|"      \
    "02-(0[1-9]|1\\d|2[0-8]))"
#define ZONE "(Z|[+-](0\\d|1[0-2]):[0-5]\\d)"
#define LABEL "[A-Za-z0-9]([A-Za-z0-9-]{0,30}[A-Za-z0-9])?"
#define BYTE "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
#define HEX "[0-9a-f]"
#define HOST LABEL "(\\." LABEL "){0,3}"
#define EMAIL "[A-Za-z0-9_+-]{1,30}(\\.[A-Za-z0-9_+-]{1,30}){0,3}@" LABEL "(\\." LABEL "){1,3}"
#define URI "https?://" HOST
#define PATH "(/[A-Za-z0-9._~-]{0,40})"
#define STEP "(/[A-Za-z0-9_.-]{0,40})"
/* `around` is what any reading of the definition stays within (in printable ASCII): what it does
 * not match is of another format for every validator. */
typedef struct format {
    const char *name, *pattern, *around;
} format;
static const format formats[] = {
    {"date", DATE, "\\d{4}-\\d\\d-\\d\\d"},
    {"time", TIME "(\\.\\d{1,6})?" ZONE, "\\d\\d:.*"},
    {"date-time", DATE "T" TIME "(\\.\\d{1,6})?" ZONE, "\\d{4}-\\d\\d-\\d\\d.+"},
    {"duration", "P(\\d{1,4}D(T\\d{1,2}H(\\d{1,2}M)?)?|T\\d{1,4}[HMS]|\\d{1,4}[WMY])", "[+-]?P.+"},
    {"uuid", HEX "{8}-" HEX "{4}-" HEX "{4}-" HEX "{4}-" HEX "{12}", ".*[0-9A-Fa-f-]{30,}.*"},
    {"email", EMAIL, ".*@.*"},
    {"idn-email", EMAIL, ".*@.*"},
    {"hostname", HOST, "[A-Za-z0-9._-]+"},
    {"idn-hostname", "[a-z0-9]{1,20}(\\.[a-z0-9]{1,20}){0,3}", ".+"},
    {"ipv4", BYTE "(\\." BYTE "){3}", "[0-9.]+"},
    {"ipv6", HEX "{1,4}(:" HEX "{1,4}){7}|(" HEX "{1,4}:){1,6}:" HEX "{1,4}|::1", ".*:.*:.*"},
    {"uri", URI PATH "{0,6}", "[A-Za-z].*:.*"},
    {"iri", URI PATH "{0,6}", "[A-Za-z].*:.*"},
    {"uri-reference", "(" URI ")?" PATH "{1,6}", "[^ <>]*"},
    {"iri-reference", "(" URI ")?" PATH "{1,6}", "[^ <>]*"},
    {"uri-template", URI PATH "{0,6}(\\{[a-z]{1,20}\\})?", ".*"},
    {"json-pointer", STEP "{0,8}", "(/.*)?"},
    {"relative-json-pointer", "[1-9]?\\d(#|" STEP "{1,8})", "\\d.*"},
    {"regex", "\\^?([A-Za-z0-9 _-][+*?]?){1,60}\\$?", ".*"},
};

/* A format by its name; NULL: an annotation. */
static const format *format_named(const char *name) {
    for (size_t k = 0; name && k < sizeof formats / sizeof formats[0]; k++)
        if (strcmp(name, formats[k].name) == 0)
            return &formats[k];
    return NULL;
}

bool weft_schema_knows_format(const weft_json *name) {
    return format_named(weft_json_string(name, NULL)) != NULL;
}

bool weft_schema_is_of_format(weft_schema *s, const char *name, const char *text, size_t n) {
    const format *f = format_named(name);
    if (!f)
        return true;
    char whole[512];
    for (int i = 0; i < 2; i++) {
        int length = snprintf(whole, sizeof whole, "^(%s)$", i ? f->around : f->pattern);
        bool is = weft_schema_matches(s, whole, (size_t)length, text, n);
        if (is != i) /* within the one, or outside of the other */
            return is;
    }
    weft_schema_refuse(s, "whether the listed value '%.*s' is of the format '%s'", (int)n, text,
                       name);
    return false;
}

static const char *find_format(weft_schema *s, const weft_conj *c) {
    const format *found = NULL;
    for (size_t i = 0; i < c->n; i++) {
        const format *f =
            format_named(weft_json_string(weft_json_get(c->items[i], "format"), NULL));
        if (f && found && f != found)
            weft_schema_refuse(s, "two formats for one string");
        found = f ? f : found;
    }
    return found ? found->pattern : NULL;
}

/* One character of a string, in any of JSON's spellings but surrogate pairs. */
static weft_frag character(weft_schema *s) {
    static const weft_char_range plain[] = {{0x20, 0x21}, {0x23, 0x5b}, {0x5d, 0x10ffff}};
    static const weft_char_range letters[] = {{'"', '"'}, {'/', '/'}, {'\\', '\\'}, {'b', 'b'},
                                              {'f', 'f'}, {'n', 'n'}, {'r', 'r'},   {'t', 't'}};
    static const weft_char_range hex[] = {{'0', '9'}, {'A', 'F'}, {'a', 'f'}};
    static const weft_char_range not_d[] = {
        {'0', '9'}, {'A', 'C'}, {'E', 'F'}, {'a', 'c'}, {'e', 'f'}};
    static const weft_char_range low[] = {{'0', '7'}}, d[] = {{'D', 'D'}, {'d', 'd'}};
    weft_nfa *n = s->n;
    weft_frag lead =
        weft_frag_or(n, weft_frag_then(n, weft_frag_chars(n, not_d, 5), weft_frag_chars(n, hex, 3)),
                     weft_frag_then(n, weft_frag_chars(n, d, 2), weft_frag_chars(n, low, 1)));
    weft_frag code = weft_frag_then(n, weft_frag_literal(n, "u", 1), lead);
    code = weft_frag_then(n, code, weft_frag_chars(n, hex, 3));
    code = weft_frag_then(n, code, weft_frag_chars(n, hex, 3));
    weft_frag escape = weft_frag_or(n, weft_frag_chars(n, letters, 8), code);
    escape = weft_frag_then(n, weft_frag_literal(n, "\\", 1), escape);
    return weft_frag_or(n, weft_frag_chars(n, plain, 3), escape);
}

static weft_frag quoted(weft_schema *s, weft_frag inside) {
    weft_frag f = weft_frag_then(s->n, weft_frag_literal(s->n, "\"", 1), inside);
    return weft_frag_then(s->n, f, weft_frag_literal(s->n, "\"", 1));
}

weft_frag weft_schema_free_string(weft_schema *s) {
    if (s->string == WEFT_NFA_NONE) {
        s->string = weft_nfa_add_rule(s->n, "string", 6);
        size_t mark = s->n->n_states;
        weft_frag all = weft_frag_repeat(s->n, mark, character(s), 0, WEFT_NFA_NONE);
        if (!s->n->status)
            weft_nfa_define(s->n, s->string, quoted(s, all));
    }
    return weft_frag_call(s->n, s->string);
}

/* ---- Several conditions at once ---- */

#define MAX_TERMS 24

/* Of strings in one spelling for each character, so that what is left out is left out in all of
 * them. */
typedef struct terms {
    weft_frag_term items[MAX_TERMS];
    size_t n;
    bool any;   /* one of them is not to be left out */
    bool ascii; /* a pattern is to be left out: dialects agree about printable ASCII only */
} terms;

static uint32_t here(weft_schema *s) {
    return (uint32_t)s->n->n_states;
}

static void add_term(weft_schema *s, terms *t, uint32_t first, weft_frag f, bool without) {
    if (t->n == MAX_TERMS) {
        weft_schema_refuse(s, "more than %d conditions for one string", MAX_TERMS);
        return;
    }
    t->items[t->n++] = (weft_frag_term){f, first, without};
    t->any |= !without;
}

static void add_pattern(weft_schema *s, terms *t, const weft_json *v, bool search, bool without) {
    size_t n;
    const char *text = weft_json_string(v, &n);
    uint32_t first = here(s);
    if (!text) {
        weft_schema_refuse(s, "a pattern that is no text");
        return;
    }
    s->n->json = true;
    weft_frag f = weft_regex_parse(s->n, text, n, search);
    s->n->json = false;
    add_term(s, t, first, quoted(s, f), without);
    t->ascii |= without;
}

/* A format, or (`without`) what is certainly of another. */
static void add_format(weft_schema *s, terms *t, const char *pattern, bool without) {
    uint32_t first = here(s);
    s->n->json = without; /* the spelling of what is left out */
    weft_frag f = weft_regex_parse(s->n, pattern, strlen(pattern), false);
    s->n->json = false;
    add_term(s, t, first, quoted(s, f), without);
    t->ascii |= without;
}

static void add_values(weft_schema *s, terms *t, const weft_json *list, bool without) {
    uint32_t first = here(s);
    weft_frag all = weft_frag_never(s->n);
    for (size_t i = 0; i < weft_json_length(list) && !s->n->status; i++) {
        size_t n;
        const char *text = weft_json_string(weft_json_item(list, i), &n);
        if (text)
            all = weft_frag_or(s->n, all, weft_schema_quoted(s, text, n));
    }
    add_term(s, t, first, all, without);
}

static void gather(weft_schema *s, terms *t, const weft_conj *c) {
    for (size_t i = 0; i < c->n && !s->n->status; i++) {
        const weft_json *v = weft_json_get(c->items[i], "pattern");
        const weft_json *not_pattern = weft_json_get(c->items[i], WEFT_NOT_PATTERN);
        const weft_json *not_values = weft_json_get(c->items[i], WEFT_NOT_VALUES);
        const format *not_format =
            format_named(weft_json_string(weft_json_get(c->items[i], WEFT_NOT_FORMAT), NULL));
        if (v)
            add_pattern(s, t, v, true, false);
        if (not_pattern)
            add_pattern(s, t, not_pattern, true, true);
        if (not_values && weft_json_length(not_values) > 0)
            add_values(s, t, not_values, true);
        if (not_format)
            add_format(s, t, not_format->around, true);
    }
    const char *pattern = find_format(s, c);
    if (pattern)
        add_format(s, t, pattern, false);
}

/* Strings of min … max characters that fulfil all terms. */
static weft_frag all_terms(weft_schema *s, terms *t, uint32_t min, uint32_t max) {
    static const weft_char_range every[] = {{0, 0x10ffff}}, ascii[] = {{0x20, 0x7e}};
    weft_nfa *n = s->n;
    size_t mark = n->n_states;
    if (!t->any || t->ascii) {
        uint32_t first = here(s);
        n->json = true;
        size_t one = n->n_states;
        weft_frag f = weft_frag_repeat(n, one, weft_frag_chars(n, t->ascii ? ascii : every, 1), 0,
                                       WEFT_NFA_NONE);
        n->json = false;
        add_term(s, t, first, quoted(s, f), false);
    }
    weft_frag f = t->items[0].f;
    if (t->n > 1) {
        mark = n->n_states;
        f = weft_frag_all(n, t->items, t->n);
    } else {
        mark = t->items[0].first;
    }
    if (min > MAX_COUNTED)
        weft_schema_refuse(s, "'minLength' above %d beside other conditions", MAX_COUNTED);
    if (max == WEFT_NFA_NONE && min > 0)
        max = min + 256;
    max = max != WEFT_NFA_NONE && max > MAX_COUNTED ? MAX_COUNTED : max;
    return min == 0 && max == WEFT_NFA_NONE ? f : weft_frag_count(n, mark, f, min, max);
}

/* ---- Strings ---- */

/* The bounds of the length; false: none fits. */
static bool find_length(weft_schema *s, const weft_conj *c, uint32_t *min, uint32_t *max) {
    *min = 0;
    *max = WEFT_NFA_NONE;
    (void)weft_conj_count(s, c, "minLength", false, min);
    (void)weft_conj_count(s, c, "maxLength", true, max);
    if (*min > MAX_LENGTH)
        weft_schema_refuse(s, "'minLength' above %d", MAX_LENGTH);
    if (*max != WEFT_NFA_NONE && *max > MAX_LENGTH)
        *max = MAX_LENGTH;
    return *max >= *min;
}

static weft_frag characters(weft_schema *s, uint32_t min, uint32_t max) {
    size_t mark = s->n->n_states;
    return weft_frag_repeat(s->n, mark, character(s), min, max);
}

/* min … max blocks, and behind them characters up to `rest`. */
static weft_frag blocks(weft_schema *s, uint32_t min, uint32_t max, weft_frag rest) {
    if (s->block == WEFT_NFA_NONE) {
        s->block = weft_nfa_add_rule(s->n, "characters", 10);
        if (!s->n->status)
            weft_nfa_define(s->n, s->block, characters(s, BLOCK, BLOCK));
    }
    size_t mark = s->n->n_states;
    weft_frag f = weft_frag_call(s->n, s->block);
    return weft_frag_then(s->n, weft_frag_repeat(s->n, mark, f, min, max), rest);
}

/* Less characters than a block has. */
static weft_frag part(weft_schema *s) {
    if (s->part == WEFT_NFA_NONE) {
        s->part = weft_nfa_add_rule(s->n, "characters", 10);
        if (!s->n->status)
            weft_nfa_define(s->n, s->part, characters(s, 0, BLOCK - 1));
    }
    return weft_frag_call(s->n, s->part);
}

/* Up to a number of characters that may be large: whole blocks, all of which share their states,
 * and a rest. Of very many a few less. */
static weft_frag up_to(weft_schema *s, uint32_t max) {
    if (max < 2 * BLOCK)
        return characters(s, 0, max);
    weft_frag few = blocks(s, 0, max / BLOCK - 1, part(s));
    if (max >= 16 * BLOCK)
        return few;
    weft_frag most = blocks(s, max / BLOCK, max / BLOCK, characters(s, 0, max % BLOCK));
    return weft_frag_or(s->n, few, most);
}

static weft_frag counted(weft_schema *s, uint32_t min, uint32_t max) {
    weft_frag f = blocks(s, min / BLOCK, min / BLOCK, characters(s, min % BLOCK, min % BLOCK));
    return max == WEFT_NFA_NONE ? weft_frag_then(s->n, f, characters(s, 0, max))
                                : weft_frag_then(s->n, f, up_to(s, max - min));
}

weft_frag weft_schema_string(weft_schema *s, const weft_conj *c) {
    uint32_t min, max;
    terms t = {0};
    if (!find_length(s, c, &min, &max))
        return weft_frag_never(s->n);
    gather(s, &t, c);
    if (s->n->status)
        return weft_frag_never(s->n);
    if (t.n > 0)
        return all_terms(s, &t, min, max);
    if (min == 0 && max == WEFT_NFA_NONE)
        return weft_schema_free_string(s);
    bool is_long = min >= 2 * BLOCK || (max != WEFT_NFA_NONE && max >= 2 * BLOCK);
    return quoted(s, is_long ? counted(s, min, max) : characters(s, min, max));
}

/* ---- Keys ---- */

weft_frag weft_schema_key(weft_schema *s, const weft_key *key) {
    uint32_t min = 0, max = WEFT_NFA_NONE;
    terms t = {0};
    if (key->conj && !find_length(s, key->conj, &min, &max))
        return weft_frag_never(s->n);
    if (key->conj) {
        if (weft_conj_get(key->conj, "anyOf") || weft_conj_get(key->conj, "oneOf"))
            weft_schema_refuse(s, "'propertyNames' with choices");
        gather(s, &t, key->conj);
    }
    for (size_t i = 0; i < key->n_patterns && !s->n->status; i++)
        add_pattern(s, &t, key->patterns[i], true, i != key->mine);
    uint32_t first = here(s);
    weft_frag names = weft_frag_never(s->n);
    for (size_t i = 0; i < key->n_names && !s->n->status; i++)
        names =
            weft_frag_or(s->n, names, weft_schema_quoted(s, key->names[i], strlen(key->names[i])));
    if (key->n_names > 0)
        add_term(s, &t, first, names, true);
    return s->n->status ? weft_frag_never(s->n) : all_terms(s, &t, min, max);
}
