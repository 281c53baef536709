/* JSON Schema: values as text, equality of values, and whether two schemas exclude each other. */
#include "text/grammar/schema.h"

#include <string.h>

#define MAX_DEPTH 100

weft_frag weft_schema_quoted(weft_schema *s, const char *text, size_t n_bytes) {
    weft_nfa *n = s->n;
    weft_frag whole = weft_frag_literal(n, "\"", 1);
    static const char hex[] = "0123456789abcdef", named[] = "\b\t\n\f\r\"\\",
                      letters[] = "btnfr\"\\";
    for (size_t i = 0; i < n_bytes && !n->status; i++) {
        unsigned char c = (unsigned char)text[i];
        const char *known = c ? strchr(named, c) : NULL;
        char out[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
        if (known)
            out[1] = letters[known - named];
        weft_frag f = known      ? weft_frag_literal(n, out, 2)
                      : c < 0x20 ? weft_frag_literal(n, out, 6)
                                 : weft_frag_bytes(n, c, c);
        whole = weft_frag_then(n, whole, f);
    }
    return weft_frag_then(n, whole, weft_frag_literal(n, "\"", 1));
}

/* Decimal digits of a whole number. */
static weft_frag whole_number(weft_schema *s, int64_t x) {
    char text[24];
    size_t at = sizeof text;
    uint64_t rest = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    do
        text[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (x < 0)
        text[--at] = '-';
    return weft_frag_literal(s->n, text + at, sizeof text - at);
}

/* Reals that are a whole number or have few decimals; others are refused. */
static weft_frag real_number(weft_schema *s, double x) {
    double scale = 1;
    for (int decimals = 0; decimals <= 15; decimals++, scale *= 10) {
        double k = x * scale;
        if (k > 9e15 || k < -9e15)
            break;
        int64_t whole = (int64_t)(k < 0 ? k - 0.5 : k + 0.5);
        if ((double)whole / scale != x)
            continue;
        int64_t unit = (int64_t)scale, part = whole % unit < 0 ? -(whole % unit) : whole % unit;
        weft_frag f = x < 0 ? weft_frag_literal(s->n, "-", 1) : weft_frag_empty(s->n);
        f = weft_frag_then(s->n, f,
                           whole_number(s, whole / unit < 0 ? -(whole / unit) : whole / unit));
        if (decimals > 0)
            f = weft_frag_then(s->n, f, weft_frag_literal(s->n, ".", 1));
        for (int64_t u = unit / 10; u > 0; u /= 10)
            f = weft_frag_then(s->n, f, whole_number(s, part / u % 10));
        return f;
    }
    weft_schema_refuse(s, "the number %g in 'enum' or 'const'", x);
    return weft_frag_never(s->n);
}

static weft_frag literal(weft_schema *s, const weft_json *v, int depth) {
    weft_nfa *n = s->n;
    size_t length;
    const char *text;
    if (depth > MAX_DEPTH)
        weft_schema_refuse(s, "a value of more than %d levels", MAX_DEPTH);
    if (n->status)
        return weft_frag_never(n);
    weft_json_type type = weft_json_type_of(v);
    switch (type) {
    case WEFT_JSON_NULL:
        return weft_frag_literal(n, "null", 4);
    case WEFT_JSON_BOOL:
        return weft_json_bool(v) ? weft_frag_literal(n, "true", 4)
                                 : weft_frag_literal(n, "false", 5);
    case WEFT_JSON_INTEGER:
        return whole_number(s, weft_json_integer(v));
    case WEFT_JSON_REAL:
        return real_number(s, weft_json_number(v));
    case WEFT_JSON_STRING:
        text = weft_json_string(v, &length);
        return weft_schema_quoted(s, text, length);
    case WEFT_JSON_ARRAY:
    case WEFT_JSON_OBJECT:
        break;
    }
    bool object = type == WEFT_JSON_OBJECT;
    weft_frag whole = weft_frag_literal(n, object ? "{" : "[", 1);
    void *cursor = NULL;
    const char *name = NULL;
    for (size_t i = 0; i < weft_json_length(v) && !n->status; i++) {
        const weft_json *item = object ? NULL : weft_json_item(v, i);
        if (i)
            whole = weft_frag_then(n, whole, weft_frag_literal(n, ", ", 2));
        if (object) {
            weft_json_next(v, &cursor, &name, &item);
            whole = weft_frag_then(n, whole, weft_schema_quoted(s, name, strlen(name)));
            whole = weft_frag_then(n, whole, weft_frag_literal(n, ": ", 2));
        }
        whole = weft_frag_then(n, whole, literal(s, item, depth + 1));
    }
    return weft_frag_then(n, whole, weft_frag_literal(n, object ? "}" : "]", 1));
}

weft_frag weft_schema_literal(weft_schema *s, const weft_json *value) {
    return literal(s, value, 0);
}

/* ---- Equality ---- */

static bool is_number(const weft_json *v) {
    return weft_json_type_of(v) == WEFT_JSON_INTEGER || weft_json_type_of(v) == WEFT_JSON_REAL;
}

bool weft_json_equal(const weft_json *x, const weft_json *y, int depth) {
    if (is_number(x) && is_number(y))
        return weft_json_integer(x) == weft_json_integer(y) &&
               weft_json_number(x) == weft_json_number(y);
    if (weft_json_type_of(x) != weft_json_type_of(y) || depth > MAX_DEPTH)
        return false;
    size_t n = weft_json_length(x), k;
    switch (weft_json_type_of(x)) {
    case WEFT_JSON_BOOL:
        return weft_json_bool(x) == weft_json_bool(y);
    case WEFT_JSON_STRING: {
        const char *a = weft_json_string(x, &n), *b = weft_json_string(y, &k);
        return n == k && memcmp(a, b, n) == 0;
    }
    case WEFT_JSON_ARRAY:
        if (n != weft_json_length(y))
            return false;
        for (size_t i = 0; i < n; i++)
            if (!weft_json_equal(weft_json_item(x, i), weft_json_item(y, i), depth + 1))
                return false;
        return true;
    case WEFT_JSON_OBJECT: {
        void *cursor = NULL;
        const char *name;
        const weft_json *v;
        if (n != weft_json_length(y))
            return false;
        while (weft_json_next(x, &cursor, &name, &v)) {
            const weft_json *other = weft_json_get(y, name);
            if (!other || !weft_json_equal(v, other, depth + 1))
                return false;
        }
        return true;
    }
    default:
        return true;
    }
}

/* ---- Disjoint schemas ---- */

/* The values that const or enum allow, as a count and item; 0: no list. */
static size_t n_listed(const weft_json *schema, const weft_json **list) {
    const weft_json *one = weft_json_get(schema, "const"), *many = weft_json_get(schema, "enum");
    *list = one ? one : many;
    return one ? 1 : many ? weft_json_length(many) : 0;
}

static const weft_json *listed(const weft_json *schema, const weft_json *list, size_t i) {
    return weft_json_get(schema, "const") ? list : weft_json_item(list, i);
}

static bool lists_differ(const weft_json *x, const weft_json *y) {
    const weft_json *a, *b;
    size_t n = n_listed(x, &a), k = n_listed(y, &b);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < k; j++)
            if (weft_json_equal(listed(x, a, i), listed(y, b, j), 0))
                return false;
    return n > 0 && k > 0;
}

bool weft_conj_requires(const weft_conj *c, const char *name) {
    for (size_t i = 0; i < c->n; i++) {
        const weft_json *list = weft_json_get(c->items[i], "required");
        for (size_t k = 0; list && k < weft_json_length(list); k++) {
            const char *text = weft_json_string(weft_json_item(list, k), NULL);
            if (text && name && strcmp(text, name) == 0)
                return true;
        }
    }
    return false;
}

/* A member that both objects must have, with values that exclude each other. */
static bool tags_differ(weft_schema *s, const weft_conj *x, const weft_conj *y) {
    for (size_t i = 0; i < x->n; i++) {
        const weft_json *properties = weft_json_get(x->items[i], "properties"), *mine;
        void *cursor = NULL;
        const char *name;
        if (!properties || weft_json_type_of(properties) != WEFT_JSON_OBJECT)
            continue;
        while (weft_json_next(properties, &cursor, &name, &mine)) {
            if (!weft_conj_requires(x, name) || !weft_conj_requires(y, name))
                continue;
            for (size_t k = 0; k < y->n; k++) {
                const weft_json *yours =
                    weft_json_get(weft_json_get(y->items[k], "properties"), name);
                if (yours && weft_json_type_of(mine) == WEFT_JSON_OBJECT &&
                    weft_json_type_of(yours) == WEFT_JSON_OBJECT &&
                    (lists_differ(mine, yours) ||
                     !(weft_schema_types(s, mine) & weft_schema_types(s, yours))))
                    return true;
            }
        }
    }
    return false;
}

/* Whether a schema of the conjunction lets no member of the name come. */
static bool forbids(const weft_conj *c, const char *name) {
    for (size_t i = 0; i < c->n; i++) {
        const weft_json *others = weft_json_get(c->items[i], "additionalProperties");
        if (others && weft_json_type_of(others) == WEFT_JSON_BOOL && !weft_json_bool(others) &&
            !weft_json_get(c->items[i], "patternProperties") &&
            !weft_json_get(weft_json_get(c->items[i], "properties"), name))
            return true;
    }
    return false;
}

/* A member that the one objects must have and the others can't. */
static bool requires_forbidden(const weft_conj *x, const weft_conj *y) {
    for (size_t i = 0; i < x->n; i++) {
        const weft_json *list = weft_json_get(x->items[i], "required");
        for (size_t k = 0; list && k < weft_json_length(list); k++) {
            const char *name = weft_json_string(weft_json_item(list, k), NULL);
            if (name && forbids(y, name))
                return true;
        }
    }
    return false;
}

bool weft_schema_disjoint(weft_schema *s, const weft_json *x, const weft_json *y) {
    weft_conj a = {0}, b = {0};
    weft_conj_add(s, &a, x);
    weft_conj_add(s, &b, y);
    int mine = WEFT_TYPE_ALL, yours = WEFT_TYPE_ALL;
    if (s->n->status || a.never || b.never)
        return true;
    for (size_t i = 0; i < a.n; i++)
        mine &= weft_schema_types(s, a.items[i]);
    for (size_t i = 0; i < b.n; i++)
        yours &= weft_schema_types(s, b.items[i]);
    if (!(mine & yours))
        return true;
    for (size_t i = 0; i < a.n; i++)
        for (size_t k = 0; k < b.n; k++)
            if (lists_differ(a.items[i], b.items[k]))
                return true;
    return (mine & yours) == WEFT_TYPE_OBJECT &&
           (requires_forbidden(&a, &b) || requires_forbidden(&b, &a) || tags_differ(s, &a, &b));
}
