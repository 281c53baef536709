/* Values as text, as Python's str and repr print them. */
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>
#include "text/jinja/impl.h"
#include "text/jinja/number.h"

static bool put_literal(jinja *j, jinja_buffer *b, const char *text) {
    return jinja_put(j, b, text, strlen(text));
}

/* str.isprintable: no controls, no surrogates, nothing unassigned, of the spaces only " ". */
static bool is_printable(uint32_t c) {
    switch (utf8proc_category((utf8proc_int32_t)c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return false;
    case UTF8PROC_CATEGORY_ZS:
        return c == ' ';
    default:
        return true;
    }
}

static bool put_escaped(jinja *j, jinja_buffer *b, uint32_t c) {
    char text[16];
    const char *short_form = c == '\n' ? "\\n" : c == '\r' ? "\\r" : c == '\t' ? "\\t" : NULL;
    if (short_form)
        return put_literal(j, b, short_form);
    snprintf(text, sizeof text,
             c < 0x100     ? "\\x%02x"
             : c < 0x10000 ? "\\u%04x"
                           : "\\U%08x",
             (unsigned)c);
    return put_literal(j, b, text);
}

static bool put_string_repr(jinja *j, jinja_buffer *b, jinja_string s) {
    bool single = s.n && memchr(s.text, '\'', s.n), both = s.n && memchr(s.text, '"', s.n);
    char quote = single && !both ? '"' : '\'';
    size_t plain = 0;
    jinja_put(j, b, &quote, 1);
    for (size_t at = 0; at < s.n && !j->failed;) {
        uint32_t c = jinja_char_at(s.text + at);
        size_t n = jinja_char_bytes(s.text[at]);
        bool slash = c == '\\' || c == (uint32_t)quote;
        if (slash || !is_printable(c)) {
            jinja_put(j, b, s.text + plain, at - plain);
            if (slash)
                jinja_put(j, b, (const char[]){'\\', (char)c}, 2);
            else
                put_escaped(j, b, c);
            plain = at + n;
        }
        at += n;
    }
    jinja_put(j, b, s.text + plain, s.n - plain);
    return jinja_put(j, b, &quote, 1);
}

static bool put_items(jinja *j, jinja_buffer *b, const jinja_list *list, const char *open,
                      const char *close) {
    put_literal(j, b, open);
    for (size_t i = 0; i < list->n && !j->failed; i++) {
        if (i)
            put_literal(j, b, ", ");
        jinja_put_repr(j, b, list->items[i]);
    }
    return put_literal(j, b, close);
}

static bool put_list(jinja *j, jinja_buffer *b, const jinja_list *list) {
    switch (list->kind) {
    case JINJA_A_TUPLE:
        return put_items(j, b, list, "(", list->n == 1 ? ",)" : ")");
    case JINJA_A_VIEW:
        return put_literal(j, b, list->view) && put_items(j, b, list, "([", "])");
    case JINJA_AN_ITERATOR:
        return put_literal(j, b, "<generator object>");
    case JINJA_A_RANGE: {
        char text[96];
        int64_t first = list->n ? list->items[0].as.i : 0;
        int64_t step = list->n > 1 ? list->items[1].as.i - first : 1;
        snprintf(text, sizeof text, step == 1 ? "range(%lld, %lld)" : "range(%lld, %lld, %lld)",
                 (long long)first, (long long)(first + step * (int64_t)list->n), (long long)step);
        return put_literal(j, b, text);
    }
    default:
        return put_items(j, b, list, "[", "]");
    }
}

static bool put_dict(jinja *j, jinja_buffer *b, const jinja_dict *d) {
    put_literal(j, b, "{");
    for (size_t i = 0; i < d->n && !j->failed; i++) {
        if (i)
            put_literal(j, b, ", ");
        jinja_put_repr(j, b, d->entries[i].key);
        put_literal(j, b, ": ");
        jinja_put_repr(j, b, d->entries[i].value);
    }
    return put_literal(j, b, "}");
}

static bool put_value(jinja *j, jinja_buffer *b, jinja_value v) {
    char text[JINJA_FLOAT_BYTES];
    switch (v.type) {
    case JINJA_UNDEFINED:
        return put_literal(j, b, "Undefined");
    case JINJA_NONE:
        return put_literal(j, b, "None");
    case JINJA_BOOL:
        return put_literal(j, b, v.as.b ? "True" : "False");
    case JINJA_INT:
        snprintf(text, sizeof text, "%lld", (long long)v.as.i);
        return put_literal(j, b, text);
    case JINJA_BIG:
        return jinja_puts(j, b, v.as.s);
    case JINJA_FLOAT:
        return jinja_put(j, b, text, jinja_print_float(v.as.f, text));
    case JINJA_STRING:
        return put_string_repr(j, b, v.as.s);
    case JINJA_LIST:
        return put_list(j, b, v.as.list);
    case JINJA_DICT:
        return put_dict(j, b, v.as.dict);
    case JINJA_NAMESPACE:
        return put_literal(j, b, "<Namespace ") && put_dict(j, b, v.as.dict) &&
               put_literal(j, b, ">");
    case JINJA_MACRO:
        return put_literal(j, b, "<Macro '") && jinja_puts(j, b, v.as.macro->define->text) &&
               put_literal(j, b, "'>");
    default:
        return put_literal(j, b, "<") && put_literal(j, b, jinja_type_name(v)) &&
               put_literal(j, b, ">");
    }
}

bool jinja_put_repr(jinja *j, jinja_buffer *b, jinja_value v) {
    if (!jinja_spend(j, 1) || !jinja_deeper(j))
        return false;
    put_value(j, b, v);
    j->depth--;
    return !j->failed;
}

bool jinja_put_text(jinja *j, jinja_buffer *b, jinja_value v) {
    if (v.type == JINJA_STRING)
        return jinja_puts(j, b, v.as.s);
    if (v.type == JINJA_UNDEFINED)
        return !j->failed;
    return jinja_put_repr(j, b, v);
}

jinja_string jinja_to_text(jinja *j, jinja_value v) {
    jinja_buffer b = {0};
    if (v.type == JINJA_STRING)
        return v.as.s;
    jinja_put_text(j, &b, v);
    return jinja_buffer_value(&b).as.s;
}
