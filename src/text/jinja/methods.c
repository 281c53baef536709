/* Methods of dicts and lists, and finding methods by name. Those of strings are in methods_text.c.
 * append, extend, insert, pop and update change what they are called on, which stays inside of the
 * rendering. */
#include "text/jinja/methods.h"

typedef jinja_value value; /* shortens the signatures below */
typedef const jinja_args *args_of;

static value none_of(jinja *j) {
    return j->failed ? jinja_undefined() : jinja_none();
}

/* ---- Dicts ---- */

jinja_list *jinja_dict_view(jinja *j, const jinja_dict *d, const char *view) {
    jinja_list *list = jinja_new_list(j, JINJA_A_VIEW, d->n);
    if (!list || !jinja_spend(j, d->n / 4))
        return NULL;
    list->view = view;
    for (size_t i = 0; i < d->n && !j->failed; i++) {
        const jinja_entry *e = &d->entries[i];
        list->items[list->n++] = view[5] == 'k'   ? e->key
                                 : view[5] == 'v' ? e->value
                                                  : jinja_pair(j, e->key, e->value);
    }
    return list;
}

static value dict_items(jinja *j, value self, args_of args) {
    (void)jinja_arity(j, args, "items()", 0, 0);
    return jinja_list_value(jinja_dict_view(j, self.as.dict, "dict_items"));
}
static value dict_keys(jinja *j, value self, args_of args) {
    (void)jinja_arity(j, args, "keys()", 0, 0);
    return jinja_list_value(jinja_dict_view(j, self.as.dict, "dict_keys"));
}
static value dict_values(jinja *j, value self, args_of args) {
    (void)jinja_arity(j, args, "values()", 0, 0);
    return jinja_list_value(jinja_dict_view(j, self.as.dict, "dict_values"));
}

static value dict_get(jinja *j, value self, args_of args) {
    if (!jinja_arity(j, args, "get()", 1, 2))
        return jinja_undefined();
    const value *found = jinja_dict_get(j, self.as.dict, args->items[0]);
    return found ? *found : args->n > 1 ? args->items[1] : none_of(j);
}

static value dict_setdefault(jinja *j, value self, args_of args) {
    if (!jinja_arity(j, args, "setdefault()", 1, 2))
        return jinja_undefined();
    const value *found = jinja_dict_get(j, self.as.dict, args->items[0]);
    if (found || j->failed)
        return found ? *found : jinja_undefined();
    value v = args->n > 1 ? args->items[1] : jinja_none();
    jinja_dict_set(j, self.as.dict, args->items[0], v);
    return v;
}

static value dict_pop(jinja *j, value self, args_of args) {
    if (!jinja_arity(j, args, "pop()", 1, 2))
        return jinja_undefined();
    const value *found = jinja_dict_get(j, self.as.dict, args->items[0]);
    if (!found && args->n > 1)
        return args->items[1];
    if (!found) {
        jinja_fail(j, JINJA_RUNTIME, "pop(): no such key");
        return jinja_undefined();
    }
    value v = *found;
    jinja_dict_remove(j, self.as.dict, args->items[0]);
    return v;
}

static value dict_update(jinja *j, value self, args_of args) {
    if (!jinja_arity(j, args, "update()", 0, 1))
        return jinja_undefined();
    if (args->n && args->items[0].type != JINJA_DICT)
        jinja_fail(j, JINJA_RUNTIME, "update() takes a mapping");
    const jinja_dict *from = args->n && !j->failed ? args->items[0].as.dict : NULL;
    for (size_t i = 0; from && i < from->n && jinja_spend(j, 1); i++)
        jinja_dict_set(j, self.as.dict, from->entries[i].key, from->entries[i].value);
    for (size_t i = 0; i < args->n_keywords && !j->failed; i++)
        jinja_dict_set(j, self.as.dict, jinja_str(args->keywords[i].name), args->keywords[i].value);
    return none_of(j);
}

static value dict_copy(jinja *j, value self, args_of args) {
    (void)args;
    jinja_dict *copy = jinja_new_dict(j);
    for (size_t i = 0; copy && i < self.as.dict->n && jinja_spend(j, 1); i++)
        jinja_dict_set(j, copy, self.as.dict->entries[i].key, self.as.dict->entries[i].value);
    return jinja_dict_value(copy);
}

static const jinja_method_entry dict_methods[] = {
    {"items", dict_items},   {"keys", dict_keys}, {"values", dict_values},
    {"get", dict_get},       {"pop", dict_pop},   {"setdefault", dict_setdefault},
    {"update", dict_update}, {"copy", dict_copy}, {NULL, NULL},
};

/* ---- Lists ---- */

static value list_append(jinja *j, value self, args_of args) {
    if (jinja_arity(j, args, "append()", 1, 1))
        jinja_append(j, self.as.list, args->items[0]);
    return none_of(j);
}

static value list_extend(jinja *j, value self, args_of args) {
    const jinja_list *from =
        jinja_arity(j, args, "extend()", 1, 1) ? jinja_items(j, args->items[0]) : NULL;
    for (size_t i = 0, n = from ? from->n : 0; i < n && jinja_spend(j, 1); i++)
        jinja_append(j, self.as.list, from->items[i]);
    return none_of(j);
}

/* An index as Python's list methods take it, within [0, n]. */
static size_t place(int64_t i, size_t n) {
    if (i < 0)
        i += (int64_t)n;
    return i < 0 ? 0 : (uint64_t)i > n ? n : (size_t)i;
}

static value list_insert(jinja *j, value self, args_of args) {
    jinja_list *list = self.as.list;
    if (!jinja_arity(j, args, "insert()", 2, 2))
        return jinja_undefined();
    size_t at = place(jinja_int_arg(j, &args->items[0], 0), list->n);
    if (!jinja_spend(j, list->n / 8) || !jinja_append(j, list, jinja_none()))
        return jinja_undefined();
    for (size_t i = list->n - 1; i > at; i--)
        list->items[i] = list->items[i - 1];
    list->items[at] = args->items[1];
    return none_of(j);
}

static value list_pop(jinja *j, value self, args_of args) {
    jinja_list *list = self.as.list;
    if (!jinja_arity(j, args, "pop()", 0, 1))
        return jinja_undefined();
    int64_t i = jinja_int_arg(j, jinja_arg(args, 0, NULL), -1);
    if (i < 0)
        i += (int64_t)list->n;
    if (i < 0 || (uint64_t)i >= list->n) {
        jinja_fail(j, JINJA_RUNTIME, "pop index out of range");
        return jinja_undefined();
    }
    value v = list->items[i];
    jinja_spend(j, list->n / 8);
    for (size_t k = (size_t)i + 1; k < list->n; k++)
        list->items[k - 1] = list->items[k];
    list->n--;
    return v;
}

static value list_index(jinja *j, value self, args_of args) {
    if (!jinja_arity(j, args, "index()", 1, 1))
        return jinja_undefined();
    for (size_t i = 0; i < self.as.list->n && !j->failed; i++)
        if (jinja_equal(j, self.as.list->items[i], args->items[0]))
            return jinja_int((int64_t)i);
    jinja_fail(j, JINJA_RUNTIME, "index(): the value is not in the list");
    return jinja_undefined();
}

static value list_count(jinja *j, value self, args_of args) {
    int64_t n = 0;
    if (!jinja_arity(j, args, "count()", 1, 1))
        return jinja_undefined();
    for (size_t i = 0; i < self.as.list->n && !j->failed; i++)
        n += jinja_equal(j, self.as.list->items[i], args->items[0]);
    return jinja_int(n);
}

static value list_copy(jinja *j, value self, args_of args) {
    (void)args;
    jinja_list *copy = jinja_new_list(j, JINJA_A_LIST, self.as.list->n);
    for (size_t i = 0; copy && i < self.as.list->n; i++)
        copy->items[copy->n++] = self.as.list->items[i];
    jinja_spend(j, self.as.list->n / 8);
    return jinja_list_value(copy);
}

static const jinja_method_entry list_methods[] = {
    {"append", list_append}, {"extend", list_extend}, {"insert", list_insert}, {"pop", list_pop},
    {"copy", list_copy},     {"index", list_index},   {"count", list_count},   {NULL, NULL},
};
/* Tuples cannot be changed. */
static const jinja_method_entry tuple_methods[] = {
    {"index", list_index},
    {"count", list_count},
    {NULL, NULL},
};

jinja_value jinja_find_method(jinja *j, jinja_value self, jinja_string name) {
    const jinja_method_entry *m = NULL;
    if (self.type == JINJA_DICT)
        m = dict_methods;
    else if (self.type == JINJA_STRING)
        m = jinja_text_methods;
    else if (self.type == JINJA_LIST)
        m = self.as.list->kind == JINJA_A_LIST    ? list_methods
            : self.as.list->kind == JINJA_A_TUPLE ? tuple_methods
                                                  : NULL;
    while (m && m->name && !jinja_is_text(name, m->name))
        m++;
    if (!m || !m->name)
        return jinja_undefined();
    jinja_method *method = jinja_alloc(j, sizeof *method);
    if (!method)
        return jinja_undefined();
    *method = (jinja_method){m->name, self, m->call};
    return (jinja_value){.type = JINJA_METHOD, .as.method = method};
}
