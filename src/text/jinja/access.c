/* Attributes, items and slices: a.b looks for a method first and a key then, a['b'] the other way
 * round; what is not there is undefined. */
#include <string.h>
#include "text/jinja/impl.h"

/* "dict object": how an undefined value names its owner. */
static const char *owner_of(jinja_value v) {
    switch (v.type) {
    case JINJA_NONE:
        return "None";
    case JINJA_DICT:
        return "dict object";
    case JINJA_LIST:
        return v.as.list->kind == JINJA_A_LIST    ? "list object"
               : v.as.list->kind == JINJA_A_TUPLE ? "tuple object"
                                                  : "iterable object";
    case JINJA_STRING:
        return "str object";
    case JINJA_BOOL:
        return "bool object";
    case JINJA_INT:
    case JINJA_BIG:
        return "int object";
    case JINJA_FLOAT:
        return "float object";
    case JINJA_NAMESPACE:
        return "namespace object";
    case JINJA_LOOP:
        return "loop object";
    default:
        return "callable object";
    }
}

static jinja_value found_or_missing(jinja *j, const jinja_value *found, jinja_value owner,
                                    jinja_value key) {
    return found ? *found : jinja_missing_value(j, owner_of(owner), key);
}

jinja_value jinja_attribute(jinja *j, jinja_value v, jinja_string name) {
    if (v.type == JINJA_UNDEFINED)
        return jinja_fail_undefined(j, v);
    jinja_value found = jinja_undefined(), key = jinja_str(name);
    if (v.type == JINJA_LOOP)
        found = jinja_loop_attribute(j, v.as.loop, name);
    else if (v.type == JINJA_MACRO && jinja_is_text(name, "name"))
        found = jinja_str(v.as.macro->define->text);
    else if (v.type != JINJA_NAMESPACE)
        found = jinja_find_method(j, v, name);
    if (found.type != JINJA_UNDEFINED || j->failed)
        return found;
    bool keyed = v.type == JINJA_DICT || v.type == JINJA_NAMESPACE;
    return found_or_missing(j, keyed ? jinja_dict_get(j, v.as.dict, key) : NULL, v, key);
}

/* Index i of n items, counted from the end when negative; SIZE_MAX: out of range. */
static size_t index_in(int64_t i, size_t n) {
    if (i < 0)
        i += (int64_t)n;
    return i >= 0 && (uint64_t)i < n ? (size_t)i : SIZE_MAX;
}

static bool item_at(jinja *j, jinja_value v, int64_t i, jinja_value *out) {
    if (v.type == JINJA_LIST && v.as.list->kind <= JINJA_A_RANGE) {
        size_t at = index_in(i, v.as.list->n);
        if (at != SIZE_MAX)
            *out = v.as.list->items[at];
        return at != SIZE_MAX;
    }
    if (v.type != JINJA_STRING)
        return false;
    jinja_string s = v.as.s;
    jinja_spend(j, s.n / 32);
    size_t at = index_in(i, jinja_count_chars(s));
    if (at == SIZE_MAX)
        return false;
    const char *c = s.text + jinja_offset_of(s, at);
    *out = jinja_str((jinja_string){c, jinja_char_bytes(*c)});
    return true;
}

jinja_value jinja_item(jinja *j, jinja_value v, jinja_value key) {
    jinja_value out;
    if (v.type == JINJA_UNDEFINED)
        return jinja_fail_undefined(j, v);
    if (v.type == JINJA_DICT && key.type <= JINJA_STRING) {
        const jinja_value *found = jinja_dict_get(j, v.as.dict, key);
        if (found)
            return *found;
    }
    if ((key.type == JINJA_INT || key.type == JINJA_BOOL) &&
        item_at(j, v, key.type == JINJA_INT ? key.as.i : key.as.b, &out))
        return out;
    if (key.type == JINJA_STRING)
        return jinja_attribute(j, v, key.as.s);
    return jinja_missing_value(j, owner_of(v), key);
}

/* ---- Slices ---- */

/* A bound of Python's slices within [low, high]. */
static int64_t bound(jinja *j, const jinja_value *v, size_t n, int64_t low, int64_t high,
                     int64_t otherwise) {
    if (!v || v->type == JINJA_NONE)
        return otherwise;
    if (v->type == JINJA_UNDEFINED) {
        jinja_fail_undefined(j, *v);
        return 0;
    }
    if (v->type != JINJA_INT && v->type != JINJA_BOOL) {
        jinja_fail(j, JINJA_RUNTIME, "slice indices must be integers or None");
        return 0;
    }
    int64_t i = v->type == JINJA_INT ? v->as.i : v->as.b;
    if (i < 0)
        i += (int64_t)n;
    return i < low ? low : i > high ? high : i;
}

typedef struct range {
    int64_t start, step;
    size_t n;
} range;

static bool slice_range(jinja *j, size_t n, const jinja_value *start, const jinja_value *stop,
                        const jinja_value *step, range *out) {
    out->step = 1;
    if (step && step->type == JINJA_INT)
        out->step = step->as.i;
    if (out->step == 0) {
        jinja_fail(j, JINJA_RUNTIME, "slice step cannot be zero");
        return false;
    }
    bool back = out->step < 0;
    int64_t low = back ? -1 : 0, high = (int64_t)n - back;
    out->start = bound(j, start, n, low, high, back ? high : low);
    int64_t end = bound(j, stop, n, low, high, back ? low : high);
    int64_t distance = back ? out->start - end : end - out->start;
    uint64_t stride = back ? 0 - (uint64_t)out->step : (uint64_t)out->step;
    out->n = distance > 0 ? (size_t)(((uint64_t)distance - 1) / stride + 1) : 0;
    return !j->failed;
}

static jinja_value slice_string(jinja *j, jinja_string s, const range *r) {
    if (!jinja_spend(j, s.n / 16))
        return jinja_undefined();
    if (r->n == 0)
        return jinja_str((jinja_string){"", 0});
    if (r->step == 1) {
        size_t begin = jinja_offset_of(s, (size_t)r->start);
        jinja_string rest = {s.text + begin, s.n - begin};
        return jinja_str((jinja_string){rest.text, jinja_offset_of(rest, r->n)});
    }
    /* Characters by their offsets, then picked in order. */
    size_t n = jinja_count_chars(s), at = 0;
    size_t *offsets = jinja_alloc(j, n * sizeof *offsets);
    for (size_t i = 0; offsets && i < n; i++) {
        offsets[i] = at;
        at += jinja_char_bytes(s.text[at]);
    }
    jinja_buffer b = {0};
    for (size_t i = 0; i < r->n && !j->failed; i++) {
        const char *c = s.text + offsets[r->start + (int64_t)i * r->step];
        jinja_put(j, &b, c, jinja_char_bytes(*c));
    }
    return jinja_buffer_value(&b);
}

jinja_value jinja_slice(jinja *j, jinja_value v, const jinja_value *start, const jinja_value *stop,
                        const jinja_value *step) {
    bool list = v.type == JINJA_LIST && v.as.list->kind <= JINJA_A_RANGE;
    range r;
    if (v.type == JINJA_UNDEFINED)
        return jinja_fail_undefined(j, v);
    if (!list && v.type != JINJA_STRING)
        return jinja_missing_value(j, owner_of(v), jinja_str(JINJA_TEXT("slice")));
    if (!slice_range(j, list ? v.as.list->n : jinja_count_chars(v.as.s), start, stop, step, &r))
        return jinja_undefined();
    if (!list)
        return jinja_marked(slice_string(j, v.as.s, &r), v);
    if (!jinja_spend(j, r.n / 8))
        return jinja_undefined();
    jinja_list *out = jinja_new_list(j, v.as.list->kind, r.n);
    for (size_t i = 0; out && i < r.n; i++)
        out->items[out->n++] = v.as.list->items[r.start + (int64_t)i * r.step];
    return jinja_list_value(out);
}
