/* JSON Schema: strings, by length, pattern and format. */
#include "text/grammar/languages.h"
#include "text/grammar/schema.h"

#include <string.h>

#define MAX_LENGTH 8192 /* states for each character; a larger maximum is taken as this */

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
static const struct {
    const char *name, *pattern;
} formats[] = {
    {"date", DATE},
    {"time", TIME "(\\.\\d{1,6})?" ZONE},
    {"date-time", DATE "T" TIME "(\\.\\d{1,6})?" ZONE},
    {"duration", "P(\\d{1,4}D(T\\d{1,2}H(\\d{1,2}M)?)?|T\\d{1,4}[HMS]|\\d{1,4}[WMY])"},
    {"uuid", HEX "{8}-" HEX "{4}-" HEX "{4}-" HEX "{4}-" HEX "{12}"},
    {"email", "[A-Za-z0-9_+-]{1,30}(\\.[A-Za-z0-9_+-]{1,30}){0,3}@" LABEL "(\\." LABEL "){1,3}"},
    {"hostname", LABEL "(\\." LABEL "){0,3}"},
    {"ipv4", BYTE "(\\." BYTE "){3}"},
    {"ipv6", HEX "{1,4}(:" HEX "{1,4}){7}|(" HEX "{1,4}:){1,6}:" HEX "{1,4}|::1"},
    {"uri", "https?://" LABEL "(\\." LABEL "){0,3}(/[A-Za-z0-9._~-]{0,40}){0,6}"},
    {"uri-reference", "(https?://" LABEL "(\\." LABEL "){0,3})?(/[A-Za-z0-9._~-]{0,40}){1,6}"},
    {"json-pointer", "(/[A-Za-z0-9_.-]{0,40}){0,8}"},
};

/* Formats of the specification that are not there. Other names are annotations. */
static const char *const unknown[] = {"idn-email",     "idn-hostname", "iri",
                                      "iri-reference", "uri-template", "relative-json-pointer",
                                      "regex"};

static const char *find_format(weft_schema *s, const weft_conj *c) {
    const char *pattern = NULL;
    for (size_t i = 0; i < c->n; i++) {
        const char *name = weft_json_string(weft_json_get(c->items[i], "format"), NULL);
        for (size_t k = 0; name && k < sizeof unknown / sizeof unknown[0]; k++)
            if (strcmp(name, unknown[k]) == 0)
                weft_schema_refuse(s, "the format '%s' is not supported", name);
        for (size_t k = 0; name && k < sizeof formats / sizeof formats[0]; k++) {
            if (strcmp(name, formats[k].name) != 0)
                continue;
            if (pattern && pattern != formats[k].pattern)
                weft_schema_refuse(s, "two formats for one string");
            pattern = formats[k].pattern;
        }
    }
    return pattern;
}

/* The pattern of all schemas; more than one is refused. */
static const char *find_pattern(weft_schema *s, const weft_conj *c, size_t *n_bytes) {
    const char *found = NULL;
    *n_bytes = 0;
    for (size_t i = 0; i < c->n; i++) {
        const weft_json *v = weft_json_get(c->items[i], "pattern");
        size_t n;
        const char *text = weft_json_string(v, &n);
        if (!v)
            continue;
        if (!text || (found && (n != *n_bytes || memcmp(text, found, n) != 0))) {
            weft_schema_refuse(s, "two patterns for one string, or one that is no text");
            return found;
        }
        found = text;
        *n_bytes = n;
    }
    return found;
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

static weft_frag matching(weft_schema *s, const char *pattern, size_t n_bytes, bool search,
                          uint32_t min, uint32_t max) {
    weft_nfa *n = s->n;
    size_t mark = n->n_states;
    n->json = true;
    weft_frag f = weft_regex_parse(n, pattern, n_bytes, search);
    n->json = false;
    if (max == WEFT_NFA_NONE && min > 0)
        max = min + 256 < MAX_LENGTH ? min + 256 : MAX_LENGTH;
    return quoted(s, min == 0 && max == WEFT_NFA_NONE ? f : weft_frag_count(n, mark, f, min, max));
}

weft_frag weft_schema_string(weft_schema *s, const weft_conj *c) {
    uint32_t min = 0, max = WEFT_NFA_NONE;
    size_t n_bytes;
    (void)weft_conj_count(s, c, "minLength", false, &min);
    (void)weft_conj_count(s, c, "maxLength", true, &max);
    if (min > MAX_LENGTH)
        weft_schema_refuse(s, "'minLength' above %d", MAX_LENGTH);
    if (max != WEFT_NFA_NONE && max > MAX_LENGTH)
        max = MAX_LENGTH;
    if (max < min)
        return weft_frag_never(s->n);
    const char *format = find_format(s, c), *pattern = find_pattern(s, c, &n_bytes);
    if (format && pattern)
        weft_schema_refuse(s, "'pattern' beside 'format' is not supported");
    if (format)
        return matching(s, format, strlen(format), false, min, max);
    if (pattern)
        return matching(s, pattern, n_bytes, true, min, max);
    if (min == 0 && max == WEFT_NFA_NONE)
        return weft_schema_free_string(s);
    size_t mark = s->n->n_states;
    return quoted(s, weft_frag_repeat(s->n, mark, character(s), min, max));
}
