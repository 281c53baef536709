/* Filters that go through items: choosing, changing, sorting and joining them. */
#include "text/jinja/impl.h"

typedef jinja_value value; /* shortens the signatures below */
typedef const jinja_args *args_of;

/* The items of a filter's operand; iterating undefined gives none. */
static jinja_list *copy_items(jinja *j, value v, jinja_sequence kind) {
    const jinja_list *items = jinja_items(j, v);
    jinja_list *copy = items ? jinja_new_list(j, kind, items->n) : NULL;
    for (size_t i = 0; copy && i < items->n; i++)
        copy->items[copy->n++] = items->items[i];
    jinja_spend(j, copy ? copy->n / 8 : 0);
    return copy;
}

/* "a.b.0": each part by item. An integer is an index. */
static value item_by_path(jinja *j, value v, value path) {
    if (path.type != JINJA_STRING)
        return jinja_item(j, v, path);
    jinja_string rest = path.as.s;
    for (bool more = true; more && jinja_spend(j, 1);) {
        size_t dot = jinja_find(rest, JINJA_TEXT("."), 0);
        jinja_string part = {rest.text, dot == SIZE_MAX ? rest.n : dot};
        more = dot != SIZE_MAX;
        if (more)
            rest = (jinja_string){rest.text + dot + 1, rest.n - dot - 1};
        int64_t index = 0;
        bool digits = part.n > 0 && part.n < 10;
        for (size_t i = 0; i < part.n && digits; i++) {
            digits = part.text[i] >= '0' && part.text[i] <= '9';
            index = index * 10 + (part.text[i] - '0');
        }
        v = jinja_item(j, v, digits ? jinja_int(index) : jinja_str(part));
    }
    return v;
}

static value path_or_self(jinja *j, value v, const value *path) {
    return path && path->type != JINJA_NONE ? item_by_path(j, v, *path) : v;
}

/* ---- Conversions ---- */

static value list(jinja *j, value v, args_of args) {
    (void)args;
    return jinja_list_value(copy_items(j, v, JINJA_A_LIST));
}

static value items(jinja *j, value v, args_of args) {
    (void)args;
    if (v.type == JINJA_UNDEFINED)
        return jinja_list_value(jinja_new_list(j, JINJA_AN_ITERATOR, 0));
    if (v.type != JINJA_DICT) {
        jinja_fail(j, JINJA_RUNTIME, "Can only get item pairs from a mapping.");
        return jinja_undefined();
    }
    jinja_list *pairs = jinja_dict_view(j, v.as.dict, "dict_items");
    if (pairs) {
        pairs->kind = JINJA_AN_ITERATOR;
        pairs->view = NULL;
    }
    return jinja_list_value(pairs);
}

static value join(jinja *j, value v, args_of args) {
    const value *by = jinja_arg(args, 0, "d"), *path = jinja_arg(args, 1, "attribute");
    jinja_string separator = by ? jinja_to_text(j, *by) : JINJA_TEXT("");
    const jinja_list *all = jinja_items(j, v);
    jinja_buffer b = {0};
    for (size_t i = 0; all && i < all->n && jinja_spend(j, 1); i++) {
        if (i)
            jinja_puts(j, &b, separator);
        jinja_put_text(j, &b, path_or_self(j, all->items[i], path));
    }
    return jinja_buffer_value(&b);
}

/* ---- One of them ---- */

static value first(jinja *j, value v, args_of args) {
    (void)args;
    const jinja_list *all = jinja_items(j, v);
    if (all && all->n)
        return all->items[0];
    return jinja_missing_value(j, "", jinja_str(JINJA_TEXT("No first item, sequence was empty.")));
}
static value last(jinja *j, value v, args_of args) {
    (void)args;
    const jinja_list *all = jinja_items(j, v);
    if (all && all->n)
        return all->items[all->n - 1];
    return jinja_missing_value(j, "", jinja_str(JINJA_TEXT("No last item, sequence was empty.")));
}

/* What items are compared by: their attribute, strings without case unless `case_sensitive`. */
static value sort_key(jinja *j, value v, const value *path, const value *sensitive) {
    v = path_or_self(j, v, path);
    bool fold = v.type == JINJA_STRING && !(sensitive && jinja_truth(*sensitive));
    return fold && !j->failed ? jinja_change_case(j, v.as.s, JINJA_LOWER) : v;
}

static value extreme(jinja *j, value v, args_of args, bool largest) {
    const value *sensitive = jinja_arg(args, 0, "case_sensitive");
    const value *path = jinja_arg(args, 1, "attribute");
    const jinja_list *all = jinja_items(j, v);
    if (!all || all->n == 0)
        return jinja_missing_value(
            j, "", jinja_str(JINJA_TEXT("No aggregated item, sequence was empty.")));
    size_t best = 0;
    value best_key = sort_key(j, all->items[0], path, sensitive);
    for (size_t i = 1; i < all->n && jinja_spend(j, 1); i++) {
        value key = sort_key(j, all->items[i], path, sensitive);
        int order = jinja_order(j, key, best_key, largest ? ">" : "<");
        if (largest ? order > 0 : order < 0) {
            best = i;
            best_key = key;
        }
    }
    return all->items[best];
}
static value smallest(jinja *j, value v, args_of args) {
    return extreme(j, v, args, false);
}
static value largest(jinja *j, value v, args_of args) {
    return extreme(j, v, args, true);
}

static value sum(jinja *j, value v, args_of args) {
    const value *path = jinja_arg(args, 0, "attribute"), *start = jinja_arg(args, 1, "start");
    const jinja_list *all = jinja_items(j, v);
    value total = start ? *start : jinja_int(0);
    for (size_t i = 0; all && i < all->n && jinja_spend(j, 1); i++) {
        value item = path_or_self(j, all->items[i], path);
        if (!j->failed)
            total = jinja_binary(j, JINJA_ADD, total, item);
    }
    return total;
}

/* ---- Order ---- */

static value sorted(jinja *j, jinja_list *all, const value *keys, bool reverse) {
    size_t *order = jinja_alloc(j, all->n * sizeof *order);
    jinja_list *out = jinja_new_list(j, JINJA_A_LIST, all->n);
    if (!order || !out)
        return jinja_undefined();
    jinja_sort(j, keys, order, all->n, reverse);
    for (size_t i = 0; i < all->n && !j->failed; i++)
        out->items[out->n++] = all->items[order[i]];
    return jinja_list_value(out);
}

static value sort(jinja *j, value v, args_of args) {
    const value *reverse = jinja_arg(args, 0, "reverse");
    const value *sensitive = jinja_arg(args, 1, "case_sensitive");
    const value *path = jinja_arg(args, 2, "attribute");
    jinja_list *all = jinja_items(j, v);
    value *keys = all ? jinja_alloc(j, all->n * sizeof *keys) : NULL;
    for (size_t i = 0; keys && i < all->n && jinja_spend(j, 1); i++)
        keys[i] = sort_key(j, all->items[i], path, sensitive);
    return keys && !j->failed ? sorted(j, all, keys, reverse && jinja_truth(*reverse))
                              : jinja_undefined();
}

static value dict_sort(jinja *j, value v, args_of args) {
    const value *sensitive = jinja_arg(args, 0, "case_sensitive"), *by = jinja_arg(args, 1, "by");
    const value *reverse = jinja_arg(args, 2, "reverse");
    jinja_string what = jinja_text_arg(j, by, JINJA_TEXT("key"));
    if (v.type == JINJA_UNDEFINED)
        return jinja_fail_undefined(j, v);
    if (v.type != JINJA_DICT) {
        jinja_fail(j, JINJA_RUNTIME, "'%s' object has no attribute 'items'", jinja_type_name(v));
        return jinja_undefined();
    }
    jinja_list *pairs = jinja_dict_view(j, v.as.dict, "dict_items");
    value *keys = pairs ? jinja_alloc(j, pairs->n * sizeof *keys) : NULL;
    for (size_t i = 0; keys && i < pairs->n && jinja_spend(j, 1); i++) {
        const jinja_entry *e = &v.as.dict->entries[i];
        keys[i] = sort_key(j, jinja_is_text(what, "value") ? e->value : e->key, NULL, sensitive);
    }
    return keys && !j->failed ? sorted(j, pairs, keys, reverse && jinja_truth(*reverse))
                              : jinja_undefined();
}

static value reverse(jinja *j, value v, args_of args) {
    (void)args;
    if (v.type == JINJA_STRING) {
        const value minus = jinja_int(-1);
        return jinja_slice(j, v, NULL, NULL, &minus);
    }
    jinja_list *all = copy_items(j, v, JINJA_AN_ITERATOR);
    for (size_t i = 0; all && i < all->n / 2; i++) {
        value other = all->items[i];
        all->items[i] = all->items[all->n - 1 - i];
        all->items[all->n - 1 - i] = other;
    }
    return jinja_list_value(all);
}

/* The first of each kind. Keys that have a hash are looked up. */
static value unique(jinja *j, value v, args_of args) {
    const value *sensitive = jinja_arg(args, 0, "case_sensitive");
    const value *path = jinja_arg(args, 1, "attribute");
    const jinja_list *all = jinja_items(j, v);
    jinja_list *out = jinja_new_list(j, JINJA_AN_ITERATOR, 0);
    jinja_dict *seen = jinja_new_dict(j);
    for (size_t i = 0; all && out && seen && i < all->n && jinja_spend(j, 1); i++) {
        value key = sort_key(j, all->items[i], path, sensitive);
        if (j->failed || jinja_dict_get(j, seen, key))
            continue;
        if (!j->failed && jinja_dict_set(j, seen, key, jinja_none()))
            jinja_append(j, out, all->items[i]);
    }
    return jinja_list_value(out);
}

/* ---- Choosing and changing ---- */

/* Arguments from `from` on, for the filter or test that is applied to each item. */
static jinja_args rest_of(args_of args, size_t from) {
    jinja_args rest = *args;
    if (from <= rest.n) {
        rest.items = rest.items ? rest.items + from : NULL;
        rest.n -= from;
    }
    return rest;
}

/* What is false has no items, none included. */
static const jinja_list *items_or_none(jinja *j, value v) {
    return jinja_truth(v) ? jinja_items(j, v) : jinja_new_list(j, JINJA_A_LIST, 0);
}

/* select and reject, by attribute or not: the items for which the test's result is `wanted`. */
static value choose(jinja *j, value v, args_of args, bool by_attribute, bool wanted) {
    size_t at = by_attribute;
    if (args->n < at) {
        jinja_fail(j, JINJA_RUNTIME, "the attribute is missing");
        return jinja_undefined();
    }
    const value *test = args->n > at ? &args->items[at] : NULL;
    jinja_string name = jinja_text_arg(j, test, JINJA_TEXT(""));
    jinja_args rest = rest_of(args, test ? at + 1 : at);
    const jinja_list *all = j->failed ? NULL : items_or_none(j, v);
    jinja_list *out = jinja_new_list(j, JINJA_AN_ITERATOR, 0);
    for (size_t i = 0; all && out && i < all->n && jinja_spend(j, 1); i++) {
        value item = all->items[i];
        if (by_attribute)
            item = item_by_path(j, item, args->items[0]);
        if (j->failed)
            break;
        bool holds = test ? jinja_apply_test(j, name, item, &rest) : jinja_truth(item);
        if (holds == wanted)
            jinja_append(j, out, all->items[i]);
    }
    return jinja_list_value(out);
}
static value select(jinja *j, value v, args_of args) {
    return choose(j, v, args, false, true);
}
static value reject(jinja *j, value v, args_of args) {
    return choose(j, v, args, false, false);
}
static value select_attribute(jinja *j, value v, args_of args) {
    return choose(j, v, args, true, true);
}
static value reject_attribute(jinja *j, value v, args_of args) {
    return choose(j, v, args, true, false);
}

static value map(jinja *j, value v, args_of args) {
    const value *path = args->n ? NULL : jinja_arg(args, 0, "attribute");
    const value *otherwise = jinja_arg(args, SIZE_MAX, "default");
    if (!path && args->n == 0) {
        jinja_fail(j, JINJA_RUNTIME, "map requires a filter argument");
        return jinja_undefined();
    }
    jinja_string name = jinja_text_arg(j, path ? NULL : &args->items[0], JINJA_TEXT(""));
    jinja_args rest = rest_of(args, path ? 0 : 1);
    const jinja_list *all = j->failed ? NULL : items_or_none(j, v);
    jinja_list *out = jinja_new_list(j, JINJA_AN_ITERATOR, 0);
    for (size_t i = 0; all && out && i < all->n && jinja_spend(j, 1); i++) {
        value item = path ? item_by_path(j, all->items[i], *path)
                          : jinja_apply_filter(j, name, all->items[i], &rest);
        bool absent = path && otherwise && item.type == JINJA_UNDEFINED;
        if (!j->failed)
            jinja_append(j, out, absent ? *otherwise : item);
    }
    return jinja_list_value(out);
}

const jinja_filter jinja_list_filters[] = {
    {"list", list},
    {"items", items},
    {"join", join},
    {"first", first},
    {"last", last},
    {"min", smallest},
    {"max", largest},
    {"sum", sum},
    {"sort", sort},
    {"dictsort", dict_sort},
    {"reverse", reverse},
    {"unique", unique},
    {"select", select},
    {"reject", reject},
    {"selectattr", select_attribute},
    {"rejectattr", reject_attribute},
    {"map", map},
    {NULL, NULL},
};
