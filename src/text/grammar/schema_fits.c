/* JSON Schema: whether a given value fits, for values that the schema itself lists. What cannot be
 * decided here is refused by name. */
#include "text/grammar/languages.h"
#include "text/grammar/schema.h"
#include "text/grammar/sets.h"

#include <math.h>
#include <string.h>

#define MAX_DEPTH 40

static bool fits(weft_schema *s, const weft_json *schema, const weft_json *v, int depth);

static size_t n_characters(const char *text, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

static bool is_ascii(const char *text, size_t n) {
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] < 0x20 || (unsigned char)text[i] > 0x7e)
            return false;
    return true;
}

/* By an automaton of the pattern alone, made a set of states after a byte. */
bool weft_schema_matches(weft_schema *s, const char *pattern, size_t n_pattern, const char *text,
                         size_t n) {
    weft_nfa one;
    if (!is_ascii(text, n)) { /* dialects differ */
        weft_schema_refuse(s, "a pattern beside a listed value beyond ASCII");
        return false;
    }
    weft_nfa_init(&one, &s->n->a);
    weft_frag_term terms[2];
    terms[0].first = (uint32_t)one.n_states;
    terms[0].f = weft_regex_parse(&one, pattern, n_pattern, true);
    terms[0].without = false;
    terms[1].first = (uint32_t)one.n_states;
    terms[1].f = weft_frag_literal(&one, text, n);
    terms[1].without = false;
    weft_frag f = weft_frag_all(&one, terms, 2);
    /* What both have in common is the text itself, or nothing. */
    uint32_t rule = weft_nfa_add_rule(&one, "pattern", 7);
    weft_nfa_define(&one, rule, f);
    weft_status wrong = one.status, status = weft_nfa_analyse(&one, rule);
    if (status && (wrong || status != WEFT_E_FORMAT) && !s->n->status)
        s->n->status = status;
    weft_nfa_free(&one);
    return status == WEFT_OK;
}

static bool is_multiple(weft_schema *s, double x, const weft_json *of) {
    weft_step step, units;
    if (!weft_schema_step_of(s, of, &step))
        return false;
    if (weft_step_from(x, &units))
        return weft_step_divides(step, units);
    if (step.decimals > 0)
        weft_schema_refuse(s, "'multipleOf' beside the number %g in 'enum' or 'const'", x);
    return fmod(x, (double)step.units) == 0;
}

static bool fits_number(weft_schema *s, const weft_json *schema, const weft_json *v) {
    double x = weft_json_number(v);
    const weft_json *bound;
    if ((bound = weft_json_get(schema, "minimum")) && x < weft_json_number(bound))
        return false;
    if ((bound = weft_json_get(schema, "maximum")) && x > weft_json_number(bound))
        return false;
    if ((bound = weft_json_get(schema, "exclusiveMinimum")) && x <= weft_json_number(bound))
        return false;
    if ((bound = weft_json_get(schema, "exclusiveMaximum")) && x >= weft_json_number(bound))
        return false;
    if ((bound = weft_json_get(schema, WEFT_NOT_MULTIPLE)) && is_multiple(s, x, bound))
        return false;
    return !(bound = weft_json_get(schema, "multipleOf")) || is_multiple(s, x, bound);
}

/* At least `name` (`most`: at most) of something. */
static bool is_count(const weft_json *schema, const char *name, bool most, size_t n) {
    const weft_json *bound = weft_json_get(schema, name);
    double x = weft_json_number(bound);
    return !bound || (most ? (double)n <= x : (double)n >= x);
}

static bool fits_string(weft_schema *s, const weft_json *schema, const weft_json *v) {
    size_t n, k;
    const char *text = weft_json_string(v, &n), *pattern;
    const weft_json *list = weft_json_get(schema, WEFT_NOT_VALUES);
    if (!is_count(schema, "minLength", false, n_characters(text, n)) ||
        !is_count(schema, "maxLength", true, n_characters(text, n)))
        return false;
    for (size_t i = 0; list && i < weft_json_length(list); i++)
        if (weft_json_equal(weft_json_item(list, i), v, 0))
            return false;
    const char *format = weft_json_string(weft_json_get(schema, "format"), NULL);
    const char *other = weft_json_string(weft_json_get(schema, WEFT_NOT_FORMAT), NULL);
    if ((format && !weft_schema_is_of_format(s, format, text, n)) ||
        (other && weft_schema_is_of_format(s, other, text, n)))
        return false;
    if ((pattern = weft_json_string(weft_json_get(schema, "pattern"), &k)) &&
        !weft_schema_matches(s, pattern, k, text, n))
        return false;
    return !(pattern = weft_json_string(weft_json_get(schema, WEFT_NOT_PATTERN), &k)) ||
           !weft_schema_matches(s, pattern, k, text, n);
}

static bool fits_array(weft_schema *s, const weft_json *schema, const weft_json *v, int depth) {
    size_t n = weft_json_length(v);
    const weft_json *items = weft_json_get(schema, "items");
    const weft_json *prefix = weft_json_get(schema, "prefixItems");
    const weft_json *one = weft_json_get(schema, "contains");
    size_t first = prefix ? weft_json_length(prefix) : 0, n_fit = 0;
    if (!is_count(schema, "minItems", false, n) || !is_count(schema, "maxItems", true, n))
        return false;
    for (size_t i = 0; i < n && !s->n->status; i++) {
        const weft_json *item = weft_json_item(v, i);
        const weft_json *own = i < first ? weft_json_item(prefix, i) : items;
        if (own && !fits(s, own, item, depth + 1))
            return false;
        n_fit += one && fits(s, one, item, depth + 1);
        for (size_t k = 0; weft_json_bool(weft_json_get(schema, "uniqueItems")) && k < i; k++)
            if (weft_json_equal(weft_json_item(v, k), item, 0))
                return false;
    }
    bool least = weft_json_get(schema, "minContains") != NULL;
    return !one || ((least ? is_count(schema, "minContains", false, n_fit) : n_fit > 0) &&
                    is_count(schema, "maxContains", true, n_fit));
}

static bool lists_absent(const weft_json *v, const weft_json *names, bool absent) {
    for (size_t i = 0; names && i < weft_json_length(names); i++) {
        const char *name = weft_json_string(weft_json_item(names, i), NULL);
        if (name && (weft_json_get(v, name) != NULL) == absent)
            return false;
    }
    return true;
}

static bool fits_object(weft_schema *s, const weft_json *schema, const weft_json *v, int depth) {
    const weft_json *properties = weft_json_get(schema, "properties"), *value;
    const weft_json *others = weft_json_get(schema, "additionalProperties");
    size_t n = weft_json_length(v);
    void *cursor = NULL;
    const char *name;
    if (!lists_absent(v, weft_json_get(schema, "required"), false) ||
        !lists_absent(v, weft_json_get(schema, WEFT_ABSENT), true) ||
        !is_count(schema, "minProperties", false, n) || !is_count(schema, "maxProperties", true, n))
        return false;
    while (!s->n->status && weft_json_next(v, &cursor, &name, &value)) {
        const weft_json *own = weft_json_get(properties, name);
        own = own ? own : others;
        if (own && !fits(s, own, value, depth + 1))
            return false;
    }
    return true;
}

static bool fits_choices(weft_schema *s, const weft_json *schema, const weft_json *v, int depth) {
    static const char *const names[] = {"allOf", "anyOf", "oneOf"};
    for (int k = 0; k < 3; k++) {
        const weft_json *list = weft_json_get(schema, names[k]);
        size_t n = list ? weft_json_length(list) : 0, n_fit = 0;
        for (size_t i = 0; i < n; i++)
            n_fit += fits(s, weft_json_item(list, i), v, depth + 1);
        if (list && (k == 0 ? n_fit < n : k == 1 ? n_fit == 0 : n_fit != 1))
            return false;
    }
    const weft_json *one = weft_json_get(schema, "not"), *condition = weft_json_get(schema, "if");
    if (one && fits(s, one, v, depth + 1))
        return false;
    if (!condition)
        return true;
    bool holds = fits(s, condition, v, depth + 1);
    const weft_json *then = weft_json_get(schema, holds ? "then" : "else");
    return !then || fits(s, then, v, depth + 1);
}

static void check_decidable(weft_schema *s, const weft_json *schema) {
    static const char *const names[] = {
        "patternProperties", "propertyNames",    "dependentRequired",    "dependentSchemas",
        "dependencies",      "unevaluatedItems", "unevaluatedProperties"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (weft_json_get(schema, names[i]))
            weft_schema_refuse(s, "'%s' beside 'enum' or 'const' is not supported", names[i]);
}

static bool fits(weft_schema *s, const weft_json *schema, const weft_json *v, int depth) {
    if (weft_json_type_of(schema) == WEFT_JSON_BOOL)
        return weft_json_bool(schema);
    if (depth > MAX_DEPTH)
        weft_schema_refuse(s, "a listed value of more than %d levels", MAX_DEPTH);
    check_decidable(s, schema);
    if (s->n->status || !(weft_schema_named_types(s, schema) & weft_schema_type_of_value(v)))
        return false;
    bool own = depth == 0 && s->listing && weft_json_get(schema, "enum") == s->listing &&
               !weft_json_get(schema, "const"); /* it is out of this very list */
    if (!own && !weft_schema_is_listed(schema, v))
        return false;
    const weft_json *ref = weft_json_get(schema, "$ref");
    if (ref) {
        const weft_json *target = weft_schema_resolve(s, ref);
        if (!target || !fits(s, target, v, depth + 1))
            return false;
    }
    if (!fits_choices(s, schema, v, depth))
        return false;
    switch (weft_json_type_of(v)) {
    case WEFT_JSON_INTEGER:
    case WEFT_JSON_REAL:
        return fits_number(s, schema, v);
    case WEFT_JSON_STRING:
        return fits_string(s, schema, v);
    case WEFT_JSON_ARRAY:
        return fits_array(s, schema, v, depth);
    case WEFT_JSON_OBJECT:
        return fits_object(s, schema, v, depth);
    default:
        return true;
    }
}

bool weft_schema_fits(weft_schema *s, const weft_conj *c, const weft_json *value) {
    for (size_t i = 0; i < c->n; i++)
        if (!fits(s, c->items[i], value, 0))
            return false;
    return true;
}
