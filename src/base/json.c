/* JSON through Jansson: a weft_json is one of its values under another name. */
#include "base/json.h"

#include <jansson.h>
#include "base/detail.h"

static const json_t *inner(const weft_json *v) {
    return (const json_t *)v;
}

weft_status weft_json_parse(const char *text, size_t size_bytes, const char *what,
                            weft_json **root) {
    *root = NULL;
    json_error_t error;
    json_t *v = json_loadb(text ? text : "", size_bytes,
                           JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (!v) {
        bool memory = json_error_code(&error) == json_error_out_of_memory;
        return weft_fail(memory ? WEFT_E_MEMORY : WEFT_E_FORMAT,
                         "%s: line %d, column %d: invalid JSON: %s", what, error.line, error.column,
                         error.text);
    }
    *root = (weft_json *)v;
    return WEFT_OK;
}

void weft_json_free(weft_json **root) {
    if (root && *root) {
        json_decref((json_t *)*root);
        *root = NULL;
    }
}

weft_json_type weft_json_type_of(const weft_json *v) {
    switch (json_typeof(inner(v))) {
    case JSON_OBJECT:
        return WEFT_JSON_OBJECT;
    case JSON_ARRAY:
        return WEFT_JSON_ARRAY;
    case JSON_STRING:
        return WEFT_JSON_STRING;
    case JSON_INTEGER:
        return WEFT_JSON_INTEGER;
    case JSON_REAL:
        return WEFT_JSON_REAL;
    case JSON_TRUE:
    case JSON_FALSE:
        return WEFT_JSON_BOOL;
    case JSON_NULL:
        break;
    }
    return WEFT_JSON_NULL;
}

bool weft_json_bool(const weft_json *v) {
    return v && json_is_true(inner(v));
}

int64_t weft_json_integer(const weft_json *v) {
    return v ? json_integer_value(inner(v)) : 0;
}

double weft_json_number(const weft_json *v) {
    return v ? json_number_value(inner(v)) : 0;
}

const char *weft_json_string(const weft_json *v, size_t *n_bytes) {
    const char *text = v ? json_string_value(inner(v)) : NULL;
    if (n_bytes)
        *n_bytes = text ? json_string_length(inner(v)) : 0;
    return text;
}

size_t weft_json_length(const weft_json *v) {
    if (!v)
        return 0;
    return json_is_array(inner(v)) ? json_array_size(inner(v)) : json_object_size(inner(v));
}

const weft_json *weft_json_item(const weft_json *array, size_t i) {
    return array ? (const weft_json *)json_array_get(inner(array), i) : NULL;
}

const weft_json *weft_json_get(const weft_json *object, const char *name) {
    return object ? (const weft_json *)json_object_get(inner(object), name) : NULL;
}

bool weft_json_next(const weft_json *object, void **cursor, const char **name,
                    const weft_json **value) {
    /* Jansson's iterators are for mutable objects; nothing is changed here. */
    json_t *o = (json_t *)(uintptr_t)object;
    *cursor = *cursor ? json_object_iter_next(o, *cursor) : json_object_iter(o);
    if (!*cursor)
        return false;
    *name = json_object_iter_key(*cursor);
    *value = (const weft_json *)json_object_iter_value(*cursor);
    return true;
}

weft_json *weft_json_new_object(void) {
    return (weft_json *)json_object();
}

weft_json *weft_json_new_array(void) {
    return (weft_json *)json_array();
}

weft_json *weft_json_new_string(const char *text) {
    return (weft_json *)json_string(text);
}

weft_json *weft_json_new_real(double x) {
    return (weft_json *)json_real(x);
}

weft_json *weft_json_new_bool(bool b) {
    return (weft_json *)json_boolean(b);
}

weft_json *weft_json_share(const weft_json *v) {
    return (weft_json *)json_incref((json_t *)(uintptr_t)v);
}

/* `whole`, or NULL where it could not take the value. */
static weft_json *kept(weft_json *whole, bool taken) {
    if (!taken)
        weft_json_free(&whole);
    return whole;
}

weft_json *weft_json_with(weft_json *object, const char *name, weft_json *value) {
    bool taken =
        object && value && json_object_set_new((json_t *)object, name, (json_t *)value) == 0;
    if (!object)
        weft_json_free(&value);
    return kept(object, taken);
}

weft_json *weft_json_append(weft_json *array, weft_json *value) {
    bool taken = array && value && json_array_append_new((json_t *)array, (json_t *)value) == 0;
    if (!array)
        weft_json_free(&value);
    return kept(array, taken);
}
