/* JSON Schema (2020-12): conjunctions, choices, and the dispatch by type. */
#include "text/grammar/schema.h"
#include "base/alloc.h"
#include "base/detail.h"
#include "text/grammar/languages.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_CHOICES 24    /* lists of choices inside of each other */
#define MAX_EXCLUSIVE 200 /* schemas of oneOf: each is compared with all others */
#define MAX_COMBINATIONS 20000

/* A rule whose body is still to be made. */
typedef struct weft_schema_work {
    uint32_t rule;
    size_t n_items;
    const weft_json **items; /* owned */
} weft_schema_work;

void weft_schema_refuse(weft_schema *s, const char *format, ...) {
    if (s->n->status)
        return;
    char why[200];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    s->n->status = weft_fail(WEFT_E_UNSUPPORTED, "JSON Schema: %s", why);
}

void weft_schema_fail(weft_schema *s, const char *what) {
    if (!s->n->status)
        s->n->status = weft_fail(WEFT_E_FORMAT, "JSON Schema: %s", what);
}

/* ---- Keywords ---- */

static const char *const refused[] = {"$dynamicRef", "$recursiveRef", "additionalItems"};

static void check_keywords(weft_schema *s, const weft_json *schema) {
    void *cursor = NULL;
    const char *name;
    const weft_json *v;
    while (!s->n->status && weft_json_next(schema, &cursor, &name, &v))
        for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
            if (strcmp(name, refused[i]) == 0)
                weft_schema_refuse(s, "'%s' is not supported", name);
}

/* ---- Conjunctions ---- */

/* Adds one schema itself; false: it is there already, or says nothing. */
static bool put(weft_schema *s, weft_conj *c, const weft_json *schema) {
    if (weft_json_type_of(schema) == WEFT_JSON_BOOL) {
        c->never |= !weft_json_bool(schema);
        return false;
    }
    if (weft_json_type_of(schema) != WEFT_JSON_OBJECT) {
        weft_schema_fail(s, "a schema is neither an object nor true or false");
        return false;
    }
    for (size_t i = 0; i < c->n; i++)
        if (c->items[i] == schema)
            return false;
    if (c->n == WEFT_CONJ_MAX) {
        weft_schema_refuse(s, "more than %d schemas for one value", WEFT_CONJ_MAX);
        return false;
    }
    c->items[c->n++] = schema;
    return true;
}

/* What a schema says by not, if and dependent…, in other words. */
static void add_conditions(weft_schema *s, weft_conj *c, const weft_json *schema) {
    static const char *const dependent[] = {"dependentRequired", "dependentSchemas",
                                            "dependencies"};
    const weft_json *said = weft_json_get(schema, "not");
    if (said && (said = weft_schema_not(s, said)))
        put(s, c, said);
    said = weft_json_get(schema, "if");
    if (said && (weft_json_get(schema, "then") || weft_json_get(schema, "else")) &&
        (said = weft_schema_if(s, schema)))
        put(s, c, said);
    for (size_t i = 0; i < sizeof dependent / sizeof dependent[0]; i++) {
        said = weft_json_get(schema, dependent[i]);
        if (said && weft_json_length(said) > 0 && (said = weft_schema_dependent(s, said)))
            put(s, c, said);
    }
}

void weft_conj_add(weft_schema *s, weft_conj *c, const weft_json *schema) {
    size_t at = c->n;
    if (!put(s, c, schema))
        return;
    for (; at < c->n && !s->n->status; at++) { /* what is added is looked at in turn */
        const weft_json *ref = weft_json_get(c->items[at], "$ref");
        const weft_json *all = weft_json_get(c->items[at], "allOf");
        check_keywords(s, c->items[at]);
        if (ref) {
            const weft_json *target = weft_schema_resolve(s, ref);
            if (target)
                put(s, c, target);
        }
        add_conditions(s, c, c->items[at]);
        for (size_t i = 0; all && i < weft_json_length(all) && !s->n->status; i++)
            put(s, c, weft_json_item(all, i));
    }
}

const weft_json *weft_conj_get(const weft_conj *c, const char *name) {
    for (size_t i = 0; i < c->n; i++) {
        const weft_json *v = weft_json_get(c->items[i], name);
        if (v)
            return v;
    }
    return NULL;
}

bool weft_conj_count(weft_schema *s, const weft_conj *c, const char *name, bool upper,
                     uint32_t *out) {
    bool any = false;
    for (size_t i = 0; i < c->n; i++) {
        const weft_json *v = weft_json_get(c->items[i], name);
        if (!v)
            continue;
        double x = weft_json_number(v);
        if (!(x >= 0) || x != (double)(uint64_t)(x < 1e15 ? x : 0)) {
            weft_schema_refuse(s, "'%s' must be a whole number from 0", name);
            return false;
        }
        uint32_t value = x < 4e9 ? (uint32_t)x : WEFT_NFA_NONE - 1;
        if (!any || (upper ? value < *out : value > *out))
            *out = value;
        any = true;
    }
    return any;
}

uint32_t weft_schema_rule(weft_schema *s, const weft_conj *c) {
    weft_nfa *n = s->n;
    const weft_json *sorted[WEFT_CONJ_MAX + 1]; /* for the name: any order is one conjunction */
    size_t k = 0;
    for (size_t i = 0; i < c->n; i++) {
        size_t j = k++;
        for (; j > 0 && (uintptr_t)sorted[j - 1] > (uintptr_t)c->items[i]; j--)
            sorted[j] = sorted[j - 1];
        sorted[j] = c->items[i];
    }
    if (c->never)
        sorted[k++] = NULL;
    bool added;
    uint32_t rule = weft_names_rule(&s->names, n, (const char *)sorted, k * sizeof *sorted, &added);
    if (n->status || !added)
        return rule;
    size_t bytes = k * sizeof *sorted;
    const weft_json **copy = weft_alloc(&n->a, bytes);
    if ((k && !copy) ||
        !weft_nfa_grow(&n->a, (void **)&s->work, &s->work_room, s->n_work + 1, sizeof *s->work)) {
        weft_dealloc(&n->a, copy, copy ? bytes : 0);
        n->status = weft_fail(WEFT_E_MEMORY, "grammar: out of memory");
        return WEFT_NFA_NONE;
    }
    if (c->n) /* in their own order, which is that of members */
        memcpy(copy, c->items, c->n * sizeof *copy);
    if (c->never)
        copy[c->n] = NULL;
    s->work[s->n_work++] = (weft_schema_work){rule, k, copy};
    return rule;
}

/* ---- Values ---- */

static weft_frag one_of_types(weft_schema *s, const weft_conj *c, int types) {
    weft_nfa *n = s->n;
    weft_frag all = {0, 0};
    bool any = false;
    for (int type = WEFT_TYPE_NULL; type <= WEFT_TYPE_INTEGER && !n->status; type <<= 1) {
        if (!(types & type))
            continue;
        if (type == WEFT_TYPE_INTEGER && types & WEFT_TYPE_NUMBER)
            continue; /* they came with the others */
        int numbers = types & (WEFT_TYPE_NUMBER | WEFT_TYPE_INTEGER);
        weft_frag one =
            type == WEFT_TYPE_NULL ? weft_frag_literal(n, "null", 4)
            : type == WEFT_TYPE_BOOLEAN
                ? weft_frag_or(n, weft_frag_literal(n, "true", 4), weft_frag_literal(n, "false", 5))
            : type == WEFT_TYPE_OBJECT ? weft_schema_object(s, c)
            : type == WEFT_TYPE_ARRAY  ? weft_schema_array(s, c)
            : type == WEFT_TYPE_STRING ? weft_schema_string(s, c)
                                       : weft_schema_number(s, c, numbers);
        all = any ? weft_frag_or(n, all, one) : one;
        any = true;
    }
    return any ? all : weft_frag_never(n);
}

bool weft_schema_is_listed(const weft_json *schema, const weft_json *value) {
    const weft_json *one = weft_json_get(schema, "const"), *list = weft_json_get(schema, "enum");
    if (one && !weft_json_equal(one, value, 0))
        return false;
    bool found = !list;
    for (size_t k = 0; list && k < weft_json_length(list) && !found; k++)
        found = weft_json_equal(weft_json_item(list, k), value, 0);
    return found;
}

size_t weft_schema_listed(weft_schema *s, const weft_conj *c, const weft_json **out, size_t room) {
    const weft_json *one = weft_conj_get(c, "const"), *list = weft_conj_get(c, "enum");
    size_t n = 0;
    s->listing = one ? NULL : list;
    for (size_t i = 0; i < (one ? 1 : weft_json_length(list)) && !s->n->status; i++) {
        const weft_json *value = one ? one : weft_json_item(list, i);
        bool again = false;
        if (!weft_schema_fits(s, c, value))
            continue;
        for (size_t k = 0; k < n && k < room && !again; k++)
            again = weft_json_equal(out[k], value, 0);
        if (again)
            continue;
        if (n < room)
            out[n] = value;
        n++;
    }
    return n;
}

static weft_frag listed_values(weft_schema *s, const weft_conj *c) {
    const weft_json *one = weft_conj_get(c, "const"), *list = weft_conj_get(c, "enum");
    weft_frag all = {0, 0};
    bool any = false;
    s->listing = one ? NULL : list;
    for (size_t i = 0; i < (one ? 1 : weft_json_length(list)) && !s->n->status; i++) {
        const weft_json *value = one ? one : weft_json_item(list, i);
        if (!weft_schema_fits(s, c, value))
            continue;
        weft_frag f = weft_schema_literal(s, value);
        all = any ? weft_frag_or(s->n, all, f) : f;
        any = true;
    }
    return any ? all : weft_frag_never(s->n);
}

static weft_frag plain_value(weft_schema *s, const weft_conj *c) {
    int types = WEFT_TYPE_ALL;
    bool typed = false;
    for (size_t i = 0; i < c->n; i++) {
        types &= weft_schema_types(s, c->items[i]);
        typed |= weft_json_get(c->items[i], "type") != NULL;
    }
    int implied = weft_schema_implied_types(c);
    if (!typed && implied)
        types &= implied;
    if (types == WEFT_TYPE_ALL)
        return weft_schema_any(s);
    return one_of_types(s, c, types);
}

/* ---- Choices ---- */

/* The first list of choices that is not made yet; `exactly`: oneOf. */
static const weft_json *open_choice(const weft_conj *c, bool *exactly) {
    static const char *const names[] = {"anyOf", "oneOf"};
    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < 2; k++) {
            const weft_json *list = weft_json_get(c->items[i], names[k]);
            bool done = !list;
            for (size_t d = 0; d < c->n_done; d++)
                done |= c->done[d] == list;
            if (!done) {
                *exactly = k == 1;
                return list;
            }
        }
    return NULL;
}

/* Whether nothing can fit, as far as types and members tell. */
static bool is_hopeless(weft_schema *s, const weft_conj *c) {
    int types = WEFT_TYPE_ALL;
    for (size_t i = 0; i < c->n; i++)
        types &= weft_schema_types(s, c->items[i]);
    if (!types)
        return true;
    for (size_t i = 0; i < c->n && types == WEFT_TYPE_OBJECT; i++) {
        const weft_json *absent = weft_json_get(c->items[i], WEFT_ABSENT);
        for (size_t k = 0; absent && k < weft_json_length(absent); k++)
            if (weft_conj_requires(c, weft_json_string(weft_json_item(absent, k), NULL)))
                return true;
    }
    return false;
}

/* The choice of item i of a list: of oneOf, what excludes the others is added where it cannot be
 * seen to hold already. */
static void choose(weft_schema *s, weft_conj *c, const weft_json *list, size_t i, bool exactly) {
    const weft_json *mine = weft_json_item(list, i);
    c->done[c->n_done++] = list;
    weft_conj_add(s, c, mine);
    for (size_t k = 0; exactly && k < weft_json_length(list) && !s->n->status; k++) {
        const weft_json *other = weft_json_item(list, k);
        if (k == i || weft_schema_disjoint(s, mine, other))
            continue;
        const weft_json *not_other = weft_schema_not(s, other);
        if (not_other)
            weft_conj_add(s, c, not_other);
    }
}

static weft_frag value(weft_schema *s, const weft_conj *c) {
    bool exactly = false;
    if (c->never || s->n->status || is_hopeless(s, c))
        return weft_frag_never(s->n);
    if (weft_conj_get(c, "const") || weft_conj_get(c, "enum"))
        return listed_values(s, c);
    const weft_json *list = open_choice(c, &exactly);
    if (!list)
        return plain_value(s, c);
    if (weft_json_type_of(list) != WEFT_JSON_ARRAY || weft_json_length(list) == 0)
        weft_schema_fail(s, "anyOf and oneOf are lists of schemas");
    if (c->n_done >= MAX_CHOICES)
        weft_schema_refuse(s, "more than %d anyOf or oneOf for one value", MAX_CHOICES);
    if (exactly && weft_json_length(list) > MAX_EXCLUSIVE)
        weft_schema_refuse(s, "oneOf of more than %d schemas", MAX_EXCLUSIVE);
    weft_frag all = {0, 0};
    for (size_t i = 0; i < weft_json_length(list) && !s->n->status; i++) {
        weft_conj with = *c;
        if (++s->n_combinations > MAX_COMBINATIONS)
            weft_schema_refuse(s, "anyOf, oneOf, not and if have too many combinations");
        choose(s, &with, list, i, exactly);
        weft_frag one = value(s, &with);
        all = i ? weft_frag_or(s->n, all, one) : one;
    }
    return all;
}

/* ---- The whole ---- */

/* Nothing, a space, or a line break and its indentation. */
static void define_blank(weft_schema *s) {
    weft_nfa *n = s->n;
    weft_frag line = weft_frag_literal(n, "\n", 1);
    size_t mark = n->n_states;
    weft_frag indent = weft_frag_repeat(n, mark, weft_frag_bytes(n, ' ', ' '), 0, 20);
    weft_frag some = weft_frag_or(n, weft_frag_literal(n, " ", 1), weft_frag_then(n, line, indent));
    weft_nfa_define(n, s->blank, weft_frag_optional(n, some));
}

weft_frag weft_schema_blank(weft_schema *s) {
    if (s->blank == WEFT_NFA_NONE) {
        s->blank = weft_nfa_add_rule(s->n, "blank", 5);
        if (!s->n->status)
            define_blank(s);
    }
    return weft_frag_call(s->n, s->blank);
}

weft_frag weft_schema_any(weft_schema *s) {
    if (s->any == WEFT_NFA_NONE) {
        weft_conj none = {0};
        s->any = weft_nfa_add_rule(s->n, "any value", 9);
        if (!s->n->status)
            weft_nfa_define(s->n, s->any, one_of_types(s, &none, WEFT_TYPE_ALL));
    }
    return weft_frag_call(s->n, s->any);
}

static void make_bodies(weft_schema *s) {
    while (s->n_work > 0) {
        weft_schema_work w = s->work[--s->n_work];
        weft_conj c = {0};
        for (size_t i = 0; i < w.n_items; i++) {
            if (w.items[i])
                c.items[c.n++] = w.items[i];
            else
                c.never = true;
        }
        weft_dealloc(&s->n->a, w.items, w.n_items * sizeof *w.items);
        if (!s->n->status)
            weft_nfa_define(s->n, w.rule, value(s, &c));
    }
}

uint32_t weft_schema_parse(weft_nfa *n, const char *text, size_t n_bytes) {
    weft_json *root;
    n->status = weft_json_parse(text, n_bytes, "JSON Schema", &root);
    if (n->status)
        return WEFT_NFA_NONE;
    weft_schema s = {.n = n,
                     .root = root,
                     .blank = WEFT_NFA_NONE,
                     .string = WEFT_NFA_NONE,
                     .any = WEFT_NFA_NONE,
                     .block = WEFT_NFA_NONE,
                     .part = WEFT_NFA_NONE};
    uint32_t rule = weft_nfa_add_rule(n, "JSON Schema", 11);
    weft_conj c = {0};
    weft_conj_add(&s, &c, root);
    uint32_t inner = weft_schema_rule(&s, &c);
    if (!n->status)
        weft_nfa_define(n, rule, weft_frag_call(n, inner));
    make_bodies(&s);
    weft_schema_free_made(&s);
    weft_names_free(&s.names, n);
    weft_dealloc(&n->a, s.work, s.work_room * sizeof *s.work);
    weft_json_free(&root);
    return rule;
}
