/* JSON Schema: arrays. */
#include "text/grammar/schema.h"
#include "base/alloc.h"
#include "base/detail.h"

#include <string.h>

#define MAX_ITEMS 4096 /* of an array, one state each; a larger maximum is taken as this */

static weft_frag text(weft_schema *s, const char *bytes) {
    return weft_frag_literal(s->n, bytes, strlen(bytes));
}

static weft_frag then(weft_schema *s, weft_frag first, weft_frag second) {
    return weft_frag_then(s->n, first, second);
}

/* What all schemas say of item i: prefixItems (or a list in `items`), else `items`. */
static weft_conj item_schemas(weft_schema *s, const weft_conj *c, size_t i) {
    weft_conj inner = {0};
    for (size_t k = 0; k < c->n; k++) {
        const weft_json *items = weft_json_get(c->items[k], "items");
        const weft_json *prefix = weft_json_get(c->items[k], "prefixItems");
        if (items && weft_json_type_of(items) == WEFT_JSON_ARRAY) {
            prefix = items;
            items = NULL;
        }
        if (prefix && i < weft_json_length(prefix))
            weft_conj_add(s, &inner, weft_json_item(prefix, i));
        else if (items)
            weft_conj_add(s, &inner, items);
    }
    weft_schema_add_unevaluated(s, c, NULL, i, &inner);
    return inner;
}

static weft_frag value_of(weft_schema *s, const weft_conj *inner) {
    if (inner->never)
        return weft_frag_never(s->n);
    if (inner->n == 0)
        return weft_schema_any(s);
    return weft_frag_call(s->n, weft_schema_rule(s, inner));
}

static weft_frag item_value(weft_schema *s, const weft_conj *c, size_t i) {
    weft_conj inner = item_schemas(s, c, i);
    return value_of(s, &inner);
}

static size_t prefix_length(const weft_conj *c) {
    size_t longest = 0;
    for (size_t k = 0; k < c->n; k++) {
        const weft_json *lists[] = {weft_json_get(c->items[k], "prefixItems"),
                                    weft_json_get(c->items[k], "items")};
        for (size_t i = 0; i < 2; i++)
            if (lists[i] && weft_json_type_of(lists[i]) == WEFT_JSON_ARRAY &&
                weft_json_length(lists[i]) > longest)
                longest = weft_json_length(lists[i]);
    }
    return longest;
}

/* Items from number `i` on, each but number 0 behind a comma; built from the last one back. */
static weft_frag items(weft_schema *s, const weft_conj *c, size_t prefix, uint32_t min,
                       uint32_t max) {
    weft_nfa *n = s->n;
    bool endless = max == WEFT_NFA_NONE;
    size_t last = endless ? (min > prefix ? min : prefix) : max;
    weft_frag rest = weft_frag_empty(n);
    if (endless) {
        if (last == 0)
            last = 1; /* the first has no comma */
        size_t mark = n->n_states;
        weft_frag comma = then(s, text(s, ","), weft_schema_blank(s));
        rest = weft_frag_repeat(n, mark, then(s, comma, item_value(s, c, last)), 0, WEFT_NFA_NONE);
    }
    for (size_t i = last; i-- > 0 && !n->status;) {
        weft_frag one = item_value(s, c, i);
        if (i > 0)
            one = then(s, then(s, text(s, ","), weft_schema_blank(s)), one);
        rest = then(s, one, rest);
        if (i >= min)
            rest = weft_frag_optional(n, rest);
    }
    return rest;
}

/* ---- Items that are told apart by what came before ---- */

static weft_frag behind_comma(weft_schema *s, bool first, weft_frag f) {
    return first ? f : then(s, then(s, text(s, ","), weft_schema_blank(s)), f);
}

/* What must be among the items. */
typedef struct contained {
    const weft_json *schema; /* NULL: nothing */
    uint32_t min, max;
} contained;

static contained find_contained(weft_schema *s, const weft_conj *c) {
    contained found = {NULL, 1, WEFT_NFA_NONE};
    for (size_t i = 0; i < c->n; i++) {
        const weft_json *v = weft_json_get(c->items[i], "contains");
        if (!v)
            continue;
        if (found.schema)
            weft_schema_refuse(s, "two 'contains' for one array");
        weft_conj one = {.items = {c->items[i]}, .n = 1};
        found.schema = v;
        (void)weft_conj_count(s, &one, "minContains", false, &found.min);
        (void)weft_conj_count(s, &one, "maxContains", true, &found.max);
    }
    if (found.schema && found.min == 0 && found.max == WEFT_NFA_NONE)
        found.schema = NULL;
    return found;
}

#define MAX_CONTAINED 32
#define COUNTED_ITEMS 64 /* of an array without maxItems; a larger maximum is taken as this */

/* Items of which some fit a schema: a place for each number of items and of those that fit. Without
 * an upper bound, others may fit it, too. */
static weft_frag counted_items(weft_schema *s, const weft_conj *c, const contained *what,
                               uint32_t min, uint32_t max) {
    weft_nfa *n = s->n;
    bool bounded = what->max != WEFT_NFA_NONE;
    uint32_t most = bounded ? what->max : what->min;
    if (most > MAX_CONTAINED)
        weft_schema_refuse(s, "'minContains' or 'maxContains' above %d", MAX_CONTAINED);
    if (min > COUNTED_ITEMS)
        weft_schema_refuse(s, "'minItems' above %d beside 'contains'", COUNTED_ITEMS);
    max = max < COUNTED_ITEMS ? max : COUNTED_ITEMS;
    weft_frag end = weft_frag_empty(n), at[MAX_CONTAINED + 1], next[MAX_CONTAINED + 1];
    const weft_json *unlike = bounded && !n->status ? weft_schema_not(s, what->schema) : NULL;
    for (uint32_t k = 0; k <= most && !n->status; k++)
        at[k] = weft_frag_empty(n);
    weft_frag start = n->status ? end : at[0];
    for (uint32_t i = 0; i <= max && !n->status; i++) {
        for (uint32_t k = 0; k <= most && !n->status; k++)
            next[k] = weft_frag_empty(n);
        for (uint32_t k = 0; k <= most && !n->status; k++) {
            weft_frag ways = weft_frag_never(n);
            if (i >= min && k >= what->min)
                ways = weft_frag_or(n, ways, then(s, weft_frag_empty(n), end));
            uint32_t leave = ways.start;
            weft_conj like = item_schemas(s, c, i), other = like;
            weft_conj_add(s, &like, what->schema);
            if (unlike)
                weft_conj_add(s, &other, unlike);
            weft_frag same = behind_comma(s, i == 0, value_of(s, &other));
            weft_frag more = behind_comma(s, i == 0, value_of(s, &like));
            if (n->status || i == max) {
                if (!n->status)
                    n->states[at[k].end].a = leave;
                continue;
            }
            n->states[same.end].a = next[k].start;
            n->states[more.end].a = k < most ? next[k + 1].start : bounded ? 0 : next[k].start;
            uint32_t both = weft_nfa_add(
                n, (weft_nfa_state){.kind = WEFT_NFA_SPLIT, .a = same.start, .b = more.start});
            uint32_t all =
                weft_nfa_add(n, (weft_nfa_state){.kind = WEFT_NFA_SPLIT, .a = leave, .b = both});
            if (!n->status)
                n->states[at[k].end].a = all;
        }
        memcpy(at, next, sizeof at);
    }
    return (weft_frag){start.start, end.end};
}

#define MAX_UNIQUE 4096 /* values that are listed; each comes once */

static bool wants_unique(const weft_conj *c) {
    for (size_t i = 0; i < c->n; i++)
        if (weft_json_bool(weft_json_get(c->items[i], "uniqueItems")))
            return true;
    return false;
}

/* Different items out of a list, in the order of the list: a place for each value and number of
 * items so far. */
static weft_frag ascending_items(weft_schema *s, const weft_json *const *values, size_t n_values,
                                 uint32_t min, uint32_t max) {
    weft_nfa *n = s->n;
    size_t counts = (max < n_values ? max : n_values) + 1, size = counts * 2 * sizeof(uint32_t);
    weft_frag end = weft_frag_empty(n);
    uint32_t *at = weft_alloc(&n->a, size), *below = at ? at + counts : NULL;
    if (!at) {
        if (!n->status)
            n->status = weft_fail(WEFT_E_MEMORY, "grammar: out of memory");
        return end;
    }
    /* From the last value back; at[k]: where k items have come, and only later values may. */
    for (size_t k = 0; k < counts; k++)
        at[k] = k >= min ? end.start : 0;
    for (size_t v = n_values; v-- > 0 && !n->status;) {
        memcpy(below, at, counts * sizeof *at);
        for (size_t k = 0; k + 1 < counts && !n->status; k++) {
            weft_frag take = behind_comma(s, k == 0, weft_schema_literal(s, values[v]));
            if (n->status)
                break;
            n->states[take.end].a = below[k + 1];
            at[k] = weft_nfa_add(
                n, (weft_nfa_state){.kind = WEFT_NFA_SPLIT, .a = take.start, .b = below[k]});
        }
    }
    weft_frag all = {at[0], end.end};
    weft_dealloc(&n->a, at, size);
    return all;
}

/* Items that are all different: of few values, which a list or two types name. */
static weft_frag unique_items(weft_schema *s, const weft_conj *c, uint32_t min, uint32_t max) {
    weft_conj inner = item_schemas(s, c, prefix_length(c));
    if (prefix_length(c) > 0)
        weft_schema_refuse(s, "'uniqueItems' beside 'prefixItems'");
    if (!weft_conj_get(&inner, "enum") && !weft_conj_get(&inner, "const")) {
        weft_schema_refuse(s, "'uniqueItems' of items that are no 'enum'");
        return weft_frag_never(s->n);
    }
    size_t n = weft_schema_listed(s, &inner, NULL, 0);
    if (n > MAX_UNIQUE)
        weft_schema_refuse(s, "'uniqueItems' of more than %d values", MAX_UNIQUE);
    size_t size = weft_size_of(n + 1, sizeof(weft_json *));
    const weft_json **listed = weft_alloc(&s->n->a, size);
    if (!listed) {
        if (!s->n->status)
            s->n->status = weft_fail(WEFT_E_MEMORY, "grammar: out of memory");
        return weft_frag_never(s->n);
    }
    n = weft_schema_listed(s, &inner, listed, n);
    weft_frag f = min > n ? weft_frag_never(s->n) : ascending_items(s, listed, n, min, max);
    weft_dealloc(&s->n->a, listed, size);
    return f;
}

weft_frag weft_schema_array(weft_schema *s, const weft_conj *c) {
    uint32_t min = 0, max = WEFT_NFA_NONE;
    (void)weft_conj_count(s, c, "minItems", false, &min);
    (void)weft_conj_count(s, c, "maxItems", true, &max);
    if (min > MAX_ITEMS)
        weft_schema_refuse(s, "'minItems' above %d", MAX_ITEMS);
    if (max != WEFT_NFA_NONE && max > MAX_ITEMS)
        max = MAX_ITEMS;
    if (max < min)
        return weft_frag_never(s->n);
    weft_frag f = then(s, text(s, "["), weft_schema_blank(s));
    contained what = find_contained(s, c);
    bool unique = wants_unique(c) && max > 1;
    if (what.schema && unique)
        weft_schema_refuse(s, "'uniqueItems' beside 'contains'");
    f = then(s, f,
             what.schema ? counted_items(s, c, &what, min, max)
             : unique    ? unique_items(s, c, min, max)
                         : items(s, c, prefix_length(c), min, max));
    return then(s, f, then(s, weft_schema_blank(s), text(s, "]")));
}
