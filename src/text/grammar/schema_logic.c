/* JSON Schema: not, if, dependent… and oneOf, said by other keywords. What a schema must not be is
 * an anyOf of what is wrong with it; like all that is generated, a part of what is allowed. */
#include "text/grammar/schema.h"
#include "base/alloc.h"
#include "base/detail.h"

#include <string.h>

#define MAX_NOT_DEPTH 24

/* ---- Schemas that are made ---- */

/* One that was made for `source` before; NULL: none. */
static const weft_json *find_made(const weft_schema *s, const void *source, int kind) {
    for (size_t i = 0; i < s->n_made; i++)
        if (s->made[i].source == source && s->made[i].kind == kind)
            return s->made[i].schema;
    return NULL;
}

/* Takes a schema that was made and keeps it until the end; NULL: the status is set. */
static const weft_json *keep(weft_schema *s, const void *source, int kind, weft_json *schema) {
    weft_nfa *n = s->n;
    if (!schema ||
        !weft_nfa_grow(&n->a, (void **)&s->made, &s->made_room, s->n_made + 1, sizeof *s->made)) {
        weft_json_free(&schema);
        if (!n->status)
            n->status = weft_fail(WEFT_E_MEMORY, "grammar: out of memory");
        return NULL;
    }
    s->made[s->n_made++] = (weft_schema_made){source, kind, schema};
    return schema;
}

void weft_schema_free_made(weft_schema *s) {
    for (size_t i = 0; i < s->n_made; i++)
        weft_json_free(&s->made[i].schema);
    weft_dealloc(&s->n->a, s->made, s->made_room * sizeof *s->made);
}

static weft_json *one_member(const char *name, weft_json *value) {
    return weft_json_with(weft_json_new_object(), name, value);
}

static weft_json *list_of(weft_json *one) {
    return weft_json_append(weft_json_new_array(), one);
}

static weft_json *names_of(const char *name) {
    return list_of(weft_json_new_string(name));
}

/* {"type": type, name: value} */
static weft_json *typed(const char *type, const char *name, weft_json *value) {
    return weft_json_with(one_member("type", weft_json_new_string(type)), name, value);
}

static weft_json *both(weft_json *one, weft_json *other) {
    return one_member("allOf", weft_json_append(list_of(one), other));
}

/* ---- Not ---- */

static weft_json *negate(weft_schema *s, const weft_json *schema, int depth);

/* A list of types as one of their names each, without those in `mask`. */
static weft_json *types_but(int mask) {
    static const struct {
        const char *name;
        int types;
    } names[] = {{"null", WEFT_TYPE_NULL},         {"boolean", WEFT_TYPE_BOOLEAN},
                 {"object", WEFT_TYPE_OBJECT},     {"array", WEFT_TYPE_ARRAY},
                 {"string", WEFT_TYPE_STRING},     {"integer", WEFT_TYPE_INTEGER},
                 {WEFT_FRACTION, WEFT_TYPE_NUMBER}};
    weft_json *list = weft_json_new_array();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!(mask & names[i].types))
            list = weft_json_append(list, weft_json_new_string(names[i].name));
    return list;
}

static const weft_json *item_of(const weft_json *list, bool is_list, size_t i) {
    return is_list ? weft_json_item(list, i) : list;
}

/* The numbers that are none of the list: below, between and above them. */
static weft_json *other_numbers(weft_json *all, const weft_json *list, bool is_list) {
    size_t n = is_list ? weft_json_length(list) : 1;
    double below = 0;
    bool any = false, found = true;
    while (found && all) {
        double next = 0;
        found = false;
        for (size_t i = 0; i < n; i++) {
            const weft_json *v = item_of(list, is_list, i);
            weft_json_type t = weft_json_type_of(v);
            double x = weft_json_number(v);
            if ((t == WEFT_JSON_INTEGER || t == WEFT_JSON_REAL) && (!any || x > below) &&
                (!found || x < next)) {
                next = x;
                found = true;
            }
        }
        weft_json *between = one_member("type", weft_json_new_string("number"));
        if (any)
            between = weft_json_with(between, "exclusiveMinimum", weft_json_new_real(below));
        if (found)
            between = weft_json_with(between, "exclusiveMaximum", weft_json_new_real(next));
        all = weft_json_append(all, between);
        below = next;
        any = true;
    }
    return all;
}

/* What is none of the values of const or enum. Of objects and arrays: nothing where one is listed.
 */
static weft_json *other_values(weft_json *all, const weft_json *list, bool is_list) {
    size_t n = is_list ? weft_json_length(list) : 1;
    bool seen[WEFT_JSON_OBJECT + 1] = {0}, truth[2] = {0};
    weft_json *texts = weft_json_new_array();
    for (size_t i = 0; i < n; i++) {
        const weft_json *v = item_of(list, is_list, i);
        weft_json_type t = weft_json_type_of(v);
        seen[t] = true;
        if (t == WEFT_JSON_BOOL)
            truth[weft_json_bool(v)] = true;
        if (t == WEFT_JSON_STRING)
            texts = weft_json_append(texts, weft_json_share(v));
    }
    all = weft_json_append(all, typed("string", WEFT_NOT_VALUES, texts));
    if (!seen[WEFT_JSON_NULL])
        all = weft_json_append(all, one_member("type", weft_json_new_string("null")));
    for (int b = 0; b < 2; b++)
        if (!truth[b])
            all = weft_json_append(all, one_member("const", weft_json_new_bool(b)));
    if (!seen[WEFT_JSON_OBJECT])
        all = weft_json_append(all, one_member("type", weft_json_new_string("object")));
    if (!seen[WEFT_JSON_ARRAY])
        all = weft_json_append(all, one_member("type", weft_json_new_string("array")));
    return other_numbers(all, list, is_list);
}

/* A bound and what is beyond it. `step` is added to counts. */
static weft_json *beyond(weft_json *all, const weft_json *schema, const char *name,
                         const char *type, const char *opposite, int step) {
    const weft_json *v = weft_json_get(schema, name);
    double x = weft_json_number(v) + step;
    if (!v || (step < 0 && x < 0))
        return all;
    return weft_json_append(all, typed(type, opposite, weft_json_new_real(x)));
}

static weft_json *beyond_bounds(weft_json *all, const weft_json *schema) {
    all = beyond(all, schema, "minimum", "number", "exclusiveMaximum", 0);
    all = beyond(all, schema, "exclusiveMinimum", "number", "maximum", 0);
    all = beyond(all, schema, "maximum", "number", "exclusiveMinimum", 0);
    all = beyond(all, schema, "exclusiveMaximum", "number", "minimum", 0);
    all = beyond(all, schema, "minLength", "string", "maxLength", -1);
    all = beyond(all, schema, "maxLength", "string", "minLength", 1);
    all = beyond(all, schema, "minItems", "array", "maxItems", -1);
    return beyond(all, schema, "maxItems", "array", "minItems", 1);
}

static weft_json *other_members(weft_schema *s, weft_json *all, const weft_json *schema,
                                int depth) {
    const weft_json *required = weft_json_get(schema, "required"), *v;
    const weft_json *properties = weft_json_get(schema, "properties");
    void *cursor = NULL;
    const char *name;
    for (size_t i = 0; required && i < weft_json_length(required); i++)
        if ((name = weft_json_string(weft_json_item(required, i), NULL)))
            all = weft_json_append(all, typed("object", WEFT_ABSENT, names_of(name)));
    while (properties && weft_json_next(properties, &cursor, &name, &v)) {
        weft_json *member = one_member(name, negate(s, v, depth + 1));
        weft_json *with = typed("object", "required", names_of(name));
        all = weft_json_append(all, weft_json_with(with, "properties", member));
    }
    return all;
}

/* ¬anyOf is allOf of ¬; ¬allOf is anyOf of ¬. */
static weft_json *other_choices(weft_schema *s, weft_json *all, const weft_json *schema,
                                int depth) {
    const weft_json *choices = weft_json_get(schema, "anyOf"), *parts, *condition, *one;
    if (choices) {
        weft_json *none = weft_json_new_array();
        for (size_t i = 0; i < weft_json_length(choices); i++)
            none = weft_json_append(none, negate(s, weft_json_item(choices, i), depth + 1));
        all = weft_json_append(all, one_member("allOf", none));
    }
    parts = weft_json_get(schema, "allOf");
    for (size_t i = 0; parts && i < weft_json_length(parts); i++)
        all = weft_json_append(all, negate(s, weft_json_item(parts, i), depth + 1));
    if ((one = weft_json_get(schema, "not")))
        all = weft_json_append(all, weft_json_share(one));
    if ((condition = weft_json_get(schema, "if"))) {
        const weft_json *then = weft_json_get(schema, "then");
        const weft_json *otherwise = weft_json_get(schema, "else");
        if (then)
            all =
                weft_json_append(all, both(weft_json_share(condition), negate(s, then, depth + 1)));
        if (otherwise)
            all = weft_json_append(
                all, both(negate(s, condition, depth + 1), negate(s, otherwise, depth + 1)));
    }
    return all;
}

static weft_json *other_items(weft_schema *s, weft_json *all, const weft_json *schema, int depth) {
    const weft_json *items = weft_json_get(schema, "items"), *one;
    if (items && !weft_json_get(schema, "prefixItems"))
        all = weft_json_append(all, typed("array", "contains", negate(s, items, depth + 1)));
    if ((one = weft_json_get(schema, "contains")))
        all = weft_json_append(all, typed("array", "items", negate(s, one, depth + 1)));
    return all;
}

/* Keywords whose opposite cannot be said. */
static void check_negation(weft_schema *s, const weft_json *schema) {
    static const char *const names[] = {"oneOf",
                                        "additionalProperties",
                                        "uniqueItems",
                                        "prefixItems",
                                        "minProperties",
                                        "maxProperties",
                                        "minContains",
                                        "maxContains",
                                        "propertyNames",
                                        "patternProperties",
                                        "$dynamicRef",
                                        "dependentRequired",
                                        "dependentSchemas",
                                        "dependencies",
                                        "unevaluatedProperties",
                                        "unevaluatedItems"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (weft_json_get(schema, names[i]))
            weft_schema_refuse(s, "'%s' inside of 'not', 'if' or an alternative of oneOf",
                               names[i]);
}

/* A new value: what fits nothing of the schema. */
static weft_json *negate(weft_schema *s, const weft_json *schema, int depth) {
    if (weft_json_type_of(schema) == WEFT_JSON_BOOL)
        return weft_json_new_bool(!weft_json_bool(schema));
    if (depth > MAX_NOT_DEPTH)
        weft_schema_refuse(s, "'not' or 'if' of a schema that is too deep or refers to itself");
    if (s->n->status)
        return weft_json_new_bool(false);
    check_negation(s, schema);
    const weft_json *ref = weft_json_get(schema, "$ref"), *v;
    weft_json *all = weft_json_new_array();
    if (ref) {
        const weft_json *target = weft_schema_resolve(s, ref);
        if (target)
            all = weft_json_append(all, negate(s, target, depth + 1));
    }
    if (weft_json_get(schema, "type")) {
        weft_json *types = one_member("type", weft_json_share(weft_json_get(schema, "type")));
        if ((v = weft_json_get(schema, "nullable")))
            types = weft_json_with(types, "nullable", weft_json_share(v));
        int mask = types ? weft_schema_types(s, types) : 0;
        weft_json_free(&types);
        all = weft_json_append(all, one_member("type", types_but(mask)));
    }
    if ((v = weft_json_get(schema, "const")))
        all = other_values(all, v, false);
    else if ((v = weft_json_get(schema, "enum")))
        all = other_values(all, v, true);
    if ((v = weft_json_get(schema, "pattern")))
        all = weft_json_append(all, typed("string", WEFT_NOT_PATTERN, weft_json_share(v)));
    if ((v = weft_json_get(schema, "format")) && weft_schema_knows_format(v))
        all = weft_json_append(all, typed("string", WEFT_NOT_FORMAT, weft_json_share(v)));
    if ((v = weft_json_get(schema, "multipleOf")))
        all = weft_json_append(all, typed("number", WEFT_NOT_MULTIPLE, weft_json_share(v)));
    all = beyond_bounds(all, schema);
    all = other_members(s, all, schema, depth);
    all = other_items(s, all, schema, depth);
    all = other_choices(s, all, schema, depth);
    if (all && weft_json_length(all) == 0) { /* anything fits the schema */
        weft_json_free(&all);
        return weft_json_new_bool(false);
    }
    return one_member("anyOf", all);
}

const weft_json *weft_schema_not(weft_schema *s, const weft_json *schema) {
    const weft_json *made = find_made(s, schema, 'n');
    return made ? made : keep(s, schema, 'n', negate(s, schema, 0));
}

/* ---- Conditions ---- */

const weft_json *weft_schema_if(weft_schema *s, const weft_json *schema) {
    const weft_json *made = find_made(s, schema, 'i'), *condition = weft_json_get(schema, "if");
    const weft_json *then = weft_json_get(schema, "then"), *other = weft_json_get(schema, "else");
    if (made)
        return made;
    weft_json *yes = weft_json_share(condition), *no = negate(s, condition, 0);
    if (then)
        yes = both(yes, weft_json_share(then));
    if (other)
        no = both(no, weft_json_share(other));
    return keep(s, schema, 'i', one_member("anyOf", weft_json_append(list_of(yes), no)));
}

/* Either the member is absent, or what depends on it fits as well. */
const weft_json *weft_schema_dependent(weft_schema *s, const weft_json *dependencies) {
    const weft_json *made = find_made(s, dependencies, 'd'), *v;
    void *cursor = NULL;
    const char *name;
    if (made)
        return made;
    weft_json *all = weft_json_new_array();
    while (all && weft_json_next(dependencies, &cursor, &name, &v)) {
        bool names = weft_json_type_of(v) == WEFT_JSON_ARRAY;
        weft_json *with = one_member("required", names_of(name));
        with = both(with, names ? one_member("required", weft_json_share(v)) : weft_json_share(v));
        weft_json *without = one_member(WEFT_ABSENT, names_of(name));
        all = weft_json_append(all, one_member("anyOf", weft_json_append(list_of(without), with)));
    }
    return keep(s, dependencies, 'd', one_member("allOf", all));
}
