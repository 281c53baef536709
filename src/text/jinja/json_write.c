/* Values as JSON, as Python's json.dumps writes it. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "text/jinja/impl.h"
#include "text/jinja/number.h"

static bool put_literal(jinja *j, jinja_buffer *b, const char *text) {
    return jinja_put(j, b, text, strlen(text));
}

static bool put_unit(jinja *j, jinja_buffer *b, uint32_t unit) {
    char text[8];
    snprintf(text, sizeof text, "\\u%04x", (unsigned)unit & 0xffff);
    return put_literal(j, b, text);
}

static bool put_escape(jinja *j, jinja_buffer *b, uint32_t c) {
    static const char letters[] = "\"\\\n\r\t\f\b", escapes[] = "\"\\nrtfb";
    const char *known = c < 0x80 ? memchr(letters, (int)c, sizeof letters - 1) : NULL;
    if (known)
        return jinja_put(j, b, (const char[]){'\\', escapes[known - letters]}, 2);
    if (c < 0x10000)
        return put_unit(j, b, c);
    return put_unit(j, b, 0xd800 + ((c - 0x10000) >> 10)) &&
           put_unit(j, b, 0xdc00 + ((c - 0x10000) & 0x3ff));
}

static bool put_string(jinja *j, jinja_buffer *b, jinja_string s, bool ascii) {
    size_t plain = 0;
    put_literal(j, b, "\"");
    for (size_t at = 0; at < s.n && !j->failed;) {
        size_t n = jinja_char_bytes(s.text[at]);
        uint32_t c = jinja_char_at(s.text + at);
        if (c < 0x20 || c == '"' || c == '\\' || (ascii && c >= 0x80)) {
            jinja_put(j, b, s.text + plain, at - plain);
            put_escape(j, b, c);
            plain = at + n;
        }
        at += n;
    }
    jinja_put(j, b, s.text + plain, s.n - plain);
    return put_literal(j, b, "\"");
}

typedef struct writer {
    jinja *j;
    jinja_buffer *b;
    const jinja_json_style *style;
    size_t level;
} writer;

static bool put_json(writer *w, jinja_value v);

static bool new_line(writer *w) {
    if (!w->style->indented)
        return true;
    put_literal(w->j, w->b, "\n");
    for (size_t i = 0; i < w->level && !w->j->failed; i++)
        jinja_puts(w->j, w->b, w->style->indent);
    return !w->j->failed;
}

static bool put_list(writer *w, const jinja_list *list) {
    if (list->n == 0)
        return put_literal(w->j, w->b, "[]");
    put_literal(w->j, w->b, "[");
    w->level++;
    for (size_t i = 0; i < list->n && !w->j->failed; i++) {
        if (i)
            jinja_puts(w->j, w->b, w->style->item);
        new_line(w);
        put_json(w, list->items[i]);
    }
    w->level--;
    return new_line(w) && put_literal(w->j, w->b, "]");
}

static bool put_number(writer *w, jinja_value v) {
    char text[JINJA_FLOAT_BYTES];
    if (v.type != JINJA_FLOAT)
        return jinja_put_repr(w->j, w->b, v);
    if (isnan(v.as.f) || isinf(v.as.f))
        return put_literal(w->j, w->b,
                           isnan(v.as.f) ? "NaN"
                           : v.as.f < 0  ? "-Infinity"
                                         : "Infinity");
    return jinja_put(w->j, w->b, text, jinja_print_float(v.as.f, text));
}

static bool put_atom(writer *w, jinja_value v) {
    if (v.type == JINJA_STRING)
        return put_string(w->j, w->b, v.as.s, w->style->ascii);
    if (v.type == JINJA_NONE)
        return put_literal(w->j, w->b, "null");
    if (v.type == JINJA_BOOL)
        return put_literal(w->j, w->b, v.as.b ? "true" : "false");
    return put_number(w, v);
}

/* The order of a dict's entries; NULL: as they are. */
static bool key_order(writer *w, const jinja_dict *d, size_t **order) {
    jinja *j = w->j;
    *order = NULL;
    if (!w->style->sort_keys || d->n < 2)
        return true;
    *order = jinja_alloc(j, d->n * sizeof **order);
    jinja_value *keys = jinja_alloc(j, d->n * sizeof *keys);
    for (size_t i = 0; keys && i < d->n; i++)
        keys[i] = d->entries[i].key;
    if (keys)
        jinja_sort(j, keys, *order, d->n, false);
    return !j->failed;
}

static bool put_dict(writer *w, const jinja_dict *d) {
    size_t *order;
    if (d->n == 0)
        return put_literal(w->j, w->b, "{}");
    put_literal(w->j, w->b, "{");
    w->level++;
    if (!key_order(w, d, &order))
        return false;
    for (size_t i = 0; i < d->n && !w->j->failed; i++) {
        const jinja_entry *e = &d->entries[order ? order[i] : i];
        bool text = e->key.type == JINJA_STRING;
        if (i)
            jinja_puts(w->j, w->b, w->style->item);
        new_line(w);
        if (!text)
            put_literal(w->j, w->b, "\"");
        put_atom(w, e->key);
        if (!text)
            put_literal(w->j, w->b, "\"");
        jinja_puts(w->j, w->b, w->style->colon);
        put_json(w, e->value);
    }
    w->level--;
    return new_line(w) && put_literal(w->j, w->b, "}");
}

static bool put_json(writer *w, jinja_value v) {
    jinja *j = w->j;
    if (!jinja_spend(j, 1) || !jinja_deeper(j))
        return false;
    if (v.type == JINJA_DICT)
        put_dict(w, v.as.dict);
    else if (v.type == JINJA_LIST && v.as.list->kind <= JINJA_A_TUPLE)
        put_list(w, v.as.list);
    else if (v.type == JINJA_STRING || v.type == JINJA_NONE || jinja_is_number(v))
        put_atom(w, v);
    else
        jinja_fail(j, JINJA_RUNTIME, "Object of type %s is not JSON serializable",
                   jinja_type_name(v));
    j->depth--;
    return !j->failed;
}

bool jinja_put_json(jinja *j, jinja_buffer *b, jinja_value v, const jinja_json_style *style) {
    writer w = {j, b, style, 0};
    return put_json(&w, v);
}
