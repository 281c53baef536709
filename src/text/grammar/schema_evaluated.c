/* JSON Schema: unevaluatedProperties and unevaluatedItems. They speak of what neither their
 * neighbours nor the schemas beneath those have evaluated: schemas of allOf, $ref, choices and
 * conditions, as far as they hold. Those of the conjunction are known to; what others would
 * evaluate is taken as not evaluated. (JSON Schema 2020-12, Core, 11.) */
#include "text/grammar/schema.h"

#include <string.h>

typedef struct evaluation {
    weft_schema *s;
    const weft_conj *c;
    const char *name; /* of a member; NULL: an item */
    size_t index;     /* of the item */
    bool seen[WEFT_CONJ_MAX];
} evaluation;

static bool evaluates(evaluation *e, const weft_json *schema, bool beneath);

static bool matches_pattern(evaluation *e, const weft_json *patterns) {
    const weft_json *v;
    void *cursor = NULL;
    const char *pattern;
    while (patterns && !e->s->n->status && weft_json_next(patterns, &cursor, &pattern, &v))
        if (weft_schema_matches(e->s, pattern, strlen(pattern), e->name, strlen(e->name)))
            return true;
    return false;
}

/* By a keyword of the schema itself. */
static bool evaluates_here(evaluation *e, const weft_json *schema, bool beneath) {
    const weft_json *items = weft_json_get(schema, "items"), *prefix;
    if (e->name)
        return weft_json_get(weft_json_get(schema, "properties"), e->name) ||
               weft_json_get(schema, "additionalProperties") ||
               (beneath && weft_json_get(schema, "unevaluatedProperties")) ||
               matches_pattern(e, weft_json_get(schema, "patternProperties"));
    prefix = weft_json_get(schema, "prefixItems");
    if (items && weft_json_type_of(items) == WEFT_JSON_ARRAY) {
        prefix = items;
        items = NULL;
    }
    return items || (prefix && e->index < weft_json_length(prefix)) ||
           (beneath && weft_json_get(schema, "unevaluatedItems"));
}

/* By a schema of the conjunction that is seen the first time. */
static bool evaluates_as_part(evaluation *e, const weft_json *part) {
    for (size_t i = 0; part && i < e->c->n; i++)
        if (e->c->items[i] == part && !e->seen[i]) {
            e->seen[i] = true;
            return evaluates(e, part, true);
        }
    return false;
}

static bool evaluates(evaluation *e, const weft_json *schema, bool beneath) {
    static const char *const lists[] = {"allOf", "anyOf", "oneOf"};
    static const char *const singles[] = {"if", "then", "else"};
    const weft_json *ref = weft_json_get(schema, "$ref"), *v;
    const weft_json *dependent = weft_json_get(schema, "dependentSchemas");
    void *cursor = NULL;
    const char *name;
    if (evaluates_here(e, schema, beneath) ||
        (ref && evaluates_as_part(e, weft_schema_resolve(e->s, ref))))
        return true;
    for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++) {
        const weft_json *list = weft_json_get(schema, lists[k]);
        for (size_t i = 0; list && i < weft_json_length(list); i++)
            if (evaluates_as_part(e, weft_json_item(list, i)))
                return true;
    }
    for (size_t k = 0; k < sizeof singles / sizeof singles[0]; k++)
        if (evaluates_as_part(e, weft_json_get(schema, singles[k])))
            return true;
    while (dependent && weft_json_next(dependent, &cursor, &name, &v))
        if (evaluates_as_part(e, v))
            return true;
    return false;
}

void weft_schema_add_unevaluated(weft_schema *s, const weft_conj *c, const char *name, size_t index,
                                 weft_conj *to) {
    const char *keyword = name ? "unevaluatedProperties" : "unevaluatedItems";
    for (size_t i = 0; i < c->n && !s->n->status; i++) {
        const weft_json *said = weft_json_get(c->items[i], keyword);
        evaluation e = {.s = s, .c = c, .name = name, .index = index};
        e.seen[i] = true;
        if (said && !evaluates(&e, c->items[i], false))
            weft_conj_add(s, to, said);
    }
}
