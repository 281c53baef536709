/* What values are: truth, names of types, length, equality, order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "text/jinja/impl.h"
#include "text/jinja/number.h"

bool jinja_truth(jinja_value v) {
    switch (v.type) {
    case JINJA_UNDEFINED:
    case JINJA_NONE:
        return false;
    case JINJA_BOOL:
        return v.as.b;
    case JINJA_INT:
        return v.as.i != 0;
    case JINJA_FLOAT:
        return v.as.f != 0;
    case JINJA_STRING:
        return v.as.s.n != 0;
    case JINJA_LIST:
        return v.as.list->n != 0 || v.as.list->kind == JINJA_AN_ITERATOR;
    case JINJA_DICT:
        return v.as.dict->n != 0;
    default:
        return true;
    }
}

const char *jinja_type_name(jinja_value v) {
    static const char *const sequences[] = {"list", "tuple", "range", "dict_items", "generator"};
    static const char *const names[] = {"Undefined",   "NoneType",
                                        "bool",        "int",
                                        "int",         "float",
                                        "str",         "list",
                                        "dict",        "Namespace",
                                        "LoopContext", "Macro",
                                        "function",    "builtin_function_or_method"};
    if (v.type == JINJA_LIST)
        return v.as.list->view ? v.as.list->view : sequences[v.as.list->kind];
    return names[v.type];
}

double jinja_number(jinja_value v) {
    switch (v.type) {
    case JINJA_BOOL:
        return v.as.b;
    case JINJA_INT:
        return (double)v.as.i;
    case JINJA_FLOAT:
        return v.as.f;
    case JINJA_BIG: {
        jinja_value f;
        /* More digits than that are beyond any double. */
        if (v.as.s.n > 400 || !jinja_parse_number(NULL, v.as.s, true, &f))
            return *v.as.s.text == '-' ? -HUGE_VAL : HUGE_VAL;
        return f.as.f;
    }
    default:
        return 0;
    }
}

jinja_value jinja_missing_value(jinja *j, const char *owner, jinja_value key) {
    jinja_missing *missing = jinja_alloc(j, sizeof *missing);
    if (missing)
        *missing = (jinja_missing){owner, key};
    return (jinja_value){.type = JINJA_UNDEFINED, .as.missing = missing};
}

jinja_value jinja_fail_undefined(jinja *j, jinja_value v) {
    const jinja_missing *m = v.as.missing;
    jinja_buffer key = {0};
    if (!m || j->failed) {
        jinja_fail(j, JINJA_RUNTIME, "an undefined value is used");
        return jinja_undefined();
    }
    bool text = m->key.type == JINJA_STRING;
    if (text)
        jinja_puts(j, &key, m->key.as.s);
    else
        jinja_put_repr(j, &key, m->key);
    int n = (int)(key.n < 300 ? key.n : 300);
    const char *name = key.n ? key.text : "";
    if (!m->owner)
        jinja_fail(j, JINJA_RUNTIME, "'%.*s' is undefined", n, name);
    else if (!*m->owner)
        jinja_fail(j, JINJA_RUNTIME, "%.*s", n, name);
    else if (text)
        jinja_fail(j, JINJA_RUNTIME, "'%s' has no attribute '%.*s'", m->owner, n, name);
    else
        jinja_fail(j, JINJA_RUNTIME, "%s has no element %.*s", m->owner, n, name);
    return jinja_undefined();
}

size_t jinja_length(jinja *j, jinja_value v) {
    switch (v.type) {
    case JINJA_UNDEFINED:
        return 0;
    case JINJA_STRING:
        jinja_spend(j, v.as.s.n / 64);
        return jinja_count_chars(v.as.s);
    case JINJA_DICT:
        return v.as.dict->n;
    case JINJA_LIST:
        if (v.as.list->kind != JINJA_AN_ITERATOR)
            return v.as.list->n;
        break;
    case JINJA_LOOP:
        return v.as.loop->items->n;
    default:
        break;
    }
    jinja_fail(j, JINJA_RUNTIME, "object of type '%s' has no len()", jinja_type_name(v));
    return 0;
}

/* ---- Equality ---- */

static bool equal_dicts(jinja *j, const jinja_dict *a, const jinja_dict *b) {
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n && !j->failed; i++) {
        const jinja_value *other = jinja_dict_get(j, b, a->entries[i].key);
        if (!other || !jinja_equal(j, a->entries[i].value, *other))
            return false;
    }
    return true;
}

static bool equal_lists(jinja *j, const jinja_list *a, const jinja_list *b) {
    if (a->kind == JINJA_AN_ITERATOR || b->kind == JINJA_AN_ITERATOR)
        return a == b;
    if (a->n != b->n || a->kind != b->kind)
        return false;
    for (size_t i = 0; i < a->n && !j->failed; i++)
        if (!jinja_equal(j, a->items[i], b->items[i]))
            return false;
    return true;
}

bool jinja_equal(jinja *j, jinja_value a, jinja_value b) {
    bool same = false;
    if (!jinja_spend(j, 1))
        return false;
    if (jinja_is_number(a) && jinja_is_number(b)) {
        if (a.type == JINJA_BIG && b.type == JINJA_BIG)
            return jinja_same(a.as.s, b.as.s);
        if (a.type == JINJA_INT && b.type == JINJA_INT)
            return a.as.i == b.as.i;
        return jinja_number(a) == jinja_number(b);
    }
    if (a.type != b.type || !jinja_deeper(j))
        return false;
    switch (a.type) {
    case JINJA_UNDEFINED:
    case JINJA_NONE:
        same = true;
        break;
    case JINJA_STRING:
        jinja_spend(j, a.as.s.n / 64);
        same = jinja_same(a.as.s, b.as.s);
        break;
    case JINJA_LIST:
        same = a.as.list == b.as.list || equal_lists(j, a.as.list, b.as.list);
        break;
    case JINJA_DICT:
        same = a.as.dict == b.as.dict || equal_dicts(j, a.as.dict, b.as.dict);
        break;
    case JINJA_NAMESPACE:
        same = a.as.dict == b.as.dict;
        break;
    case JINJA_MACRO:
        same = a.as.macro == b.as.macro;
        break;
    case JINJA_FUNCTION:
        same = a.as.fn == b.as.fn;
        break;
    default:
        break;
    }
    j->depth--;
    return same;
}

/* ---- Order ---- */

static int order_lists(jinja *j, const jinja_list *a, const jinja_list *b, const char *op) {
    size_t n = a->n < b->n ? a->n : b->n;
    for (size_t i = 0; i < n && !j->failed; i++)
        if (!jinja_equal(j, a->items[i], b->items[i]))
            return jinja_order(j, a->items[i], b->items[i], op);
    return (a->n > b->n) - (a->n < b->n);
}

int jinja_order(jinja *j, jinja_value a, jinja_value b, const char *op) {
    int order = 0;
    if (!jinja_spend(j, 1) || !jinja_deeper(j))
        return 0;
    if (a.type == JINJA_INT && b.type == JINJA_INT) {
        order = (a.as.i > b.as.i) - (a.as.i < b.as.i);
    } else if (jinja_is_number(a) && jinja_is_number(b)) {
        double x = jinja_number(a), y = jinja_number(b);
        order = (x > y) - (x < y);
    } else if (a.type == JINJA_STRING && b.type == JINJA_STRING) {
        size_t n = a.as.s.n < b.as.s.n ? a.as.s.n : b.as.s.n;
        jinja_spend(j, n / 64);
        order = n ? memcmp(a.as.s.text, b.as.s.text, n) : 0;
        if (order == 0)
            order = (a.as.s.n > b.as.s.n) - (a.as.s.n < b.as.s.n);
    } else if (a.type == JINJA_LIST && b.type == JINJA_LIST && a.as.list->kind == b.as.list->kind &&
               a.as.list->kind <= JINJA_A_TUPLE) {
        order = order_lists(j, a.as.list, b.as.list, op);
    } else if (a.type == JINJA_UNDEFINED || b.type == JINJA_UNDEFINED) {
        jinja_fail_undefined(j, a.type == JINJA_UNDEFINED ? a : b);
    } else {
        jinja_fail(j, JINJA_RUNTIME, "'%s' not supported between instances of '%s' and '%s'", op,
                   jinja_type_name(a), jinja_type_name(b));
    }
    j->depth--;
    return order;
}

bool jinja_contains(jinja *j, jinja_value container, jinja_value item) {
    switch (container.type) {
    case JINJA_UNDEFINED:
        return false;
    case JINJA_STRING:
        if (item.type == JINJA_STRING) {
            jinja_spend(j, container.as.s.n / 32);
            return jinja_find(container.as.s, item.as.s, 0) != SIZE_MAX;
        }
        jinja_fail(j, JINJA_RUNTIME, "'in <string>' requires string as left operand, not %s",
                   jinja_type_name(item));
        return false;
    case JINJA_DICT:
        return jinja_dict_get(j, container.as.dict, item) != NULL;
    case JINJA_LIST: {
        const jinja_list *list = jinja_items(j, container);
        for (size_t i = 0; list && i < list->n && !j->failed; i++)
            if (jinja_equal(j, list->items[i], item))
                return true;
        return false;
    }
    default:
        jinja_fail(j, JINJA_RUNTIME, "argument of type '%s' is not iterable",
                   jinja_type_name(container));
        return false;
    }
}
