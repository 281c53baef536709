/* JSON Schema: the types of values that a schema allows. */
#include "text/grammar/schema.h"

#include <math.h>
#include <string.h>

int weft_schema_type_of_value(const weft_json *v) {
    switch (weft_json_type_of(v)) {
    case WEFT_JSON_NULL:
        return WEFT_TYPE_NULL;
    case WEFT_JSON_BOOL:
        return WEFT_TYPE_BOOLEAN;
    case WEFT_JSON_OBJECT:
        return WEFT_TYPE_OBJECT;
    case WEFT_JSON_ARRAY:
        return WEFT_TYPE_ARRAY;
    case WEFT_JSON_STRING:
        return WEFT_TYPE_STRING;
    case WEFT_JSON_INTEGER:
        return WEFT_TYPE_INTEGER;
    case WEFT_JSON_REAL:
        break;
    }
    double x = weft_json_number(v);
    return x == (double)(int64_t)(x > -9e15 && x < 9e15 ? x : 0.5) ? WEFT_TYPE_INTEGER
                                                                   : WEFT_TYPE_NUMBER;
}

int weft_schema_implied_types(const weft_conj *c) {
    static const struct {
        const char *name;
        int types;
    } about[] = {
        {"properties", WEFT_TYPE_OBJECT},
        {"required", WEFT_TYPE_OBJECT},
        {"additionalProperties", WEFT_TYPE_OBJECT},
        {"patternProperties", WEFT_TYPE_OBJECT},
        {"propertyNames", WEFT_TYPE_OBJECT},
        {"unevaluatedProperties", WEFT_TYPE_OBJECT},
        {WEFT_ABSENT, WEFT_TYPE_OBJECT},
        {"minProperties", WEFT_TYPE_OBJECT},
        {"maxProperties", WEFT_TYPE_OBJECT},
        {"items", WEFT_TYPE_ARRAY},
        {"prefixItems", WEFT_TYPE_ARRAY},
        {"contains", WEFT_TYPE_ARRAY},
        {"uniqueItems", WEFT_TYPE_ARRAY},
        {"unevaluatedItems", WEFT_TYPE_ARRAY},
        {"minItems", WEFT_TYPE_ARRAY},
        {"maxItems", WEFT_TYPE_ARRAY},
        {"pattern", WEFT_TYPE_STRING},
        {"minLength", WEFT_TYPE_STRING},
        {"maxLength", WEFT_TYPE_STRING},
        {"multipleOf", WEFT_TYPE_NUMBER | WEFT_TYPE_INTEGER},
        {"minimum", WEFT_TYPE_NUMBER | WEFT_TYPE_INTEGER},
        {"maximum", WEFT_TYPE_NUMBER | WEFT_TYPE_INTEGER},
        {"exclusiveMinimum", WEFT_TYPE_NUMBER | WEFT_TYPE_INTEGER},
        {"exclusiveMaximum", WEFT_TYPE_NUMBER | WEFT_TYPE_INTEGER},
    };
    int types = 0;
    for (size_t i = 0; i < sizeof about / sizeof about[0]; i++)
        if (weft_conj_get(c, about[i].name))
            types |= about[i].types;
    if (!types && weft_conj_get(c, "format"))
        types = WEFT_TYPE_STRING;
    return types;
}

static int named_type(const char *name) {
    static const struct {
        const char *name;
        int types;
    } known[] = {
        {"null", WEFT_TYPE_NULL},       {"boolean", WEFT_TYPE_BOOLEAN},
        {"object", WEFT_TYPE_OBJECT},   {"array", WEFT_TYPE_ARRAY},
        {"string", WEFT_TYPE_STRING},   {"number", WEFT_TYPE_NUMBER | WEFT_TYPE_INTEGER},
        {"integer", WEFT_TYPE_INTEGER}, {WEFT_FRACTION, WEFT_TYPE_NUMBER},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (name && strcmp(name, known[i].name) == 0)
            return known[i].types;
    return 0;
}

int weft_schema_named_types(weft_schema *s, const weft_json *schema) {
    const weft_json *type = weft_json_get(schema, "type");
    int types = type ? 0 : WEFT_TYPE_ALL;
    bool many = type && weft_json_type_of(type) == WEFT_JSON_ARRAY;
    for (size_t i = 0; type && i < (many ? weft_json_length(type) : 1); i++) {
        int t = named_type(weft_json_string(many ? weft_json_item(type, i) : type, NULL));
        if (!t)
            weft_schema_fail(s, "'type' is none of the seven names");
        types |= t;
    }
    if (type && weft_json_bool(weft_json_get(schema, "nullable")))
        types |= WEFT_TYPE_NULL;
    const weft_json *step = weft_json_get(schema, "multipleOf");
    if (step && weft_json_number(step) == floor(weft_json_number(step)))
        types &= ~WEFT_TYPE_NUMBER;
    return types;
}

/* Those of any of the schemas that a keyword lists. */
static int types_of_choices(weft_schema *s, const weft_json *schema, const char *name) {
    const weft_json *list = weft_json_get(schema, name);
    int types = list ? 0 : WEFT_TYPE_ALL;
    for (size_t i = 0; list && i < weft_json_length(list); i++) {
        const weft_json *one = weft_json_item(list, i);
        bool all = weft_json_type_of(one) == WEFT_JSON_BOOL && weft_json_bool(one);
        if (weft_json_type_of(one) == WEFT_JSON_OBJECT)
            types |= weft_schema_types(s, one);
        else if (all)
            types = WEFT_TYPE_ALL;
    }
    return types;
}

int weft_schema_types(weft_schema *s, const weft_json *schema) {
    const weft_json *one = weft_json_get(schema, "const"), *list = weft_json_get(schema, "enum");
    int types = weft_schema_named_types(s, schema);
    int listed = one ? weft_schema_type_of_value(one) : list ? 0 : WEFT_TYPE_ALL;
    for (size_t i = 0; !one && list && i < weft_json_length(list); i++)
        listed |= weft_schema_type_of_value(weft_json_item(list, i));
    types &= types_of_choices(s, schema, "anyOf") & types_of_choices(s, schema, "oneOf");
    return types & listed;
}
