/* Lists, tuples and their kin, and iterating over anything. */
#include "text/jinja/impl.h"

jinja_list *jinja_new_list(jinja *j, jinja_sequence kind, size_t room) {
    jinja_list *list = jinja_alloc(j, sizeof *list);
    if (!list)
        return NULL;
    *list = (jinja_list){.kind = kind, .room = room};
    if (room > SIZE_MAX / sizeof *list->items)
        list->items = jinja_alloc(j, SIZE_MAX);
    else if (room)
        list->items = jinja_alloc(j, room * sizeof *list->items);
    return room && !list->items ? NULL : list;
}

bool jinja_append(jinja *j, jinja_list *list, jinja_value v) {
    if (list->n == list->room) {
        size_t room = list->room ? list->room * 2 : 8;
        jinja_value *more = jinja_grow(j, list->items, list->n * sizeof *more, room * sizeof *more);
        if (!more)
            return false;
        list->items = more;
        list->room = room;
    }
    list->items[list->n++] = v;
    return true;
}

static jinja_list *characters(jinja *j, jinja_string s) {
    jinja_list *list = jinja_new_list(j, JINJA_A_LIST, jinja_count_chars(s));
    for (size_t at = 0; list && at < s.n; at += jinja_char_bytes(s.text[at]))
        list->items[list->n++] =
            jinja_str((jinja_string){s.text + at, jinja_char_bytes(s.text[at])});
    jinja_spend(j, list ? list->n / 8 : 0);
    return list;
}

jinja_list *jinja_items(jinja *j, jinja_value v) {
    jinja_list *list = NULL;
    switch (v.type) {
    case JINJA_UNDEFINED:
        return jinja_new_list(j, JINJA_A_LIST, 0);
    case JINJA_STRING:
        return characters(j, v.as.s);
    case JINJA_DICT:
        list = jinja_new_list(j, JINJA_A_LIST, v.as.dict->n);
        for (size_t i = 0; list && i < v.as.dict->n; i++)
            list->items[list->n++] = v.as.dict->entries[i].key;
        jinja_spend(j, v.as.dict->n / 8);
        return list;
    case JINJA_LIST:
        if (v.as.list->kind != JINJA_AN_ITERATOR)
            return v.as.list;
        /* The iterator hands its items over. */
        list = jinja_new_list(j, JINJA_A_LIST, 0);
        if (list) {
            list->items = v.as.list->items;
            list->n = list->room = v.as.list->n;
            v.as.list->items = NULL;
            v.as.list->n = v.as.list->room = 0;
        }
        return list;
    default:
        jinja_fail(j, JINJA_RUNTIME, "'%s' object is not iterable", jinja_type_name(v));
        return NULL;
    }
}

jinja_value jinja_pair(jinja *j, jinja_value a, jinja_value b) {
    jinja_list *pair = jinja_new_list(j, JINJA_A_TUPLE, 2);
    if (pair) {
        pair->items[0] = a;
        pair->items[1] = b;
        pair->n = 2;
    }
    return jinja_list_value(pair);
}
