/* Calls written as JSON, and collecting calls. */
#include <string.h>
#include "text/tool_calls.h"

/* ---- Slices ---- */

weft_slice weft_slice_of(const char *text) {
    return (weft_slice){text, strlen(text)};
}

weft_slice weft_slice_trim(weft_slice s) {
    while (s.n && weft_is_blank(s.text[0]))
        s = (weft_slice){s.text + 1, s.n - 1};
    while (s.n && weft_is_blank(s.text[s.n - 1]))
        s.n--;
    return s;
}

bool weft_slice_begins(weft_slice s, const char *text) {
    size_t n = strlen(text);
    return s.n >= n && memcmp(s.text, text, n) == 0;
}

size_t weft_slice_find(weft_slice s, const char *text, size_t from) {
    size_t n = strlen(text);
    if (from > s.n || s.n - from < n)
        return SIZE_MAX;
    const char *found = memmem(s.text + from, s.n - from, text, n);
    return found ? (size_t)(found - s.text) : SIZE_MAX;
}

/* ---- Collecting ---- */

void weft_calls_clear(weft_calls *c) {
    c->text.n = 0;
    c->list.n = 0;
}

static bool keep(weft_calls *c, weft_slice s, size_t *at, size_t *n) {
    *at = c->text.n;
    *n = s.n;
    c->no_memory |= !weft_bytes_add(&c->text, s.n ? s.text : "", s.n);
    return !c->no_memory;
}

/* What may stand for the arguments: an object as it is, one in a string, or nothing. */
static bool keep_arguments(weft_calls *c, weft_slice args, weft_call *call) {
    size_t begin = c->text.n, at = 0;
    weft_slice whole;
    if (args.n == 0 || weft_slice_begins(args, "null"))
        args = weft_slice_of("{}");
    if (args.text[0] != '"') {
        bool fits = args.text[0] == '{' && weft_json_take(args.text, args.n, &at, &whole);
        return fits && at == args.n && keep(c, args, &call->args, &call->n_args);
    }
    if (!weft_json_decode(args, &c->text))
        return false;
    weft_slice inside =
        weft_slice_trim((weft_slice){(const char *)c->text.data + begin, c->text.n - begin});
    call->args = (size_t)(inside.text - (const char *)c->text.data);
    call->n_args = inside.n;
    return inside.n && inside.text[0] == '{' &&
           weft_json_take(inside.text, inside.n, &at, &whole) && at == inside.n;
}

bool weft_calls_add(weft_calls *c, weft_slice name, weft_slice args, weft_slice id) {
    weft_call call;
    if (name.n == 0 || !keep(c, name, &call.name, &call.n_name) ||
        !keep(c, id, &call.id, &call.n_id) || !keep_arguments(c, args, &call))
        return false;
    c->no_memory |= !weft_bytes_add(&c->list, &call, sizeof call);
    return !c->no_memory;
}

/* ---- Reading ---- */

static bool first_member(weft_slice object, const char *const *names, weft_slice *value) {
    for (; *names; names++)
        if (weft_json_member_of(object, *names, value))
            return true;
    *value = (weft_slice){"", 0};
    return false;
}

static bool read_object(weft_calls *c, weft_slice object, bool strict) {
    static const char *const names[] = {"name", "tool_name", "function", NULL};
    static const char *const arguments[] = {"arguments", "parameters", "args", NULL};
    static const char *const ids[] = {"id", "tool_call_id", "call_id", NULL};
    weft_slice name, args, id, inner;
    if (!first_member(object, names, &name))
        return false;
    first_member(object, ids, &id);
    if (name.text[0] == '{') { /* {"function": {"name": …, "arguments": …}} */
        inner = name;
        if (!weft_json_member_of(inner, "name", &name))
            return false;
        object = inner;
    }
    if (!first_member(object, arguments, &args) && strict)
        return false;
    /* Decoded texts stand at the end of `text` and are copied once more: its memory moves. */
    weft_bytes decoded = {.a = c->text.a};
    bool fits = weft_json_decode(name, &decoded);
    size_t n_name = decoded.n;
    if (fits && id.n && id.text[0] == '"')
        fits = weft_json_decode(id, &decoded);
    else if (fits && id.n)
        fits = weft_bytes_add(&decoded, id.text, id.n); /* a number */
    const char *text = (const char *)decoded.data;
    fits = fits && n_name &&
           weft_calls_add(c, (weft_slice){text, n_name}, args,
                          (weft_slice){text + n_name, decoded.n - n_name});
    weft_bytes_free(&decoded);
    return fits;
}

bool weft_calls_read_json(weft_calls *c, weft_slice value, bool strict) {
    value = weft_slice_trim(value);
    if (value.n == 0 || value.text[0] != '[')
        return value.n && value.text[0] == '{' && read_object(c, value, strict);
    size_t n = 0;
    for (size_t at = 1; at + 1 < value.n; n++) { /* the last byte is the closing bracket */
        weft_slice item;
        if (!weft_json_take(value.text, value.n, &at, &item) || item.text[0] != '{' ||
            !read_object(c, item, strict))
            return false;
        while (at < value.n && (weft_is_blank(value.text[at]) || value.text[at] == ','))
            at++;
    }
    return n > 0;
}
