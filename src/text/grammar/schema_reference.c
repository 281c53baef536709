/* JSON Schema: what $ref refers to, within the schema: a JSON pointer (RFC 6901) or the name of an
 * anchor, behind nothing or the schema's own $id. */
#include "base/detail.h"
#include "text/grammar/schema.h"

#include <stdio.h>
#include <string.h>

#define MAX_DEPTH 100 /* at which anchors are looked for */

/* One segment of a JSON pointer (RFC 6901) inside of a URI fragment, decoded. */
static size_t decode_segment(const char *from, size_t n, char *out, size_t room) {
    size_t at = 0;
    for (size_t i = 0; i < n && at + 1 < room; i++) {
        char c = from[i];
        if (c == '%' && i + 2 < n) {
            unsigned value;
            if (sscanf(from + i + 1, "%2x", &value) == 1) {
                c = (char)value;
                i += 2;
            }
        }
        if (c == '~' && i + 1 < n && (from[i + 1] == '0' || from[i + 1] == '1'))
            c = from[++i] == '0' ? '~' : '/';
        out[at++] = c;
    }
    out[at] = 0;
    return at;
}

/* The first part of a schema with a $anchor of this name; NULL: none. */
static const weft_json *find_anchor(const weft_json *part, const char *name, int depth) {
    bool is_list = weft_json_type_of(part) == WEFT_JSON_ARRAY;
    void *cursor = NULL;
    const char *key;
    const weft_json *item, *found = NULL;
    if (depth > MAX_DEPTH || (!is_list && weft_json_type_of(part) != WEFT_JSON_OBJECT))
        return NULL;
    const char *anchor = is_list ? NULL : weft_json_string(weft_json_get(part, "$anchor"), NULL);
    if (anchor && strcmp(anchor, name) == 0)
        return part;
    for (size_t i = 0; is_list && !found && i < weft_json_length(part); i++)
        found = find_anchor(weft_json_item(part, i), name, depth + 1);
    while (!is_list && !found && weft_json_next(part, &cursor, &key, &item))
        if (strcmp(key, "const") != 0 && strcmp(key, "enum") != 0)
            found = find_anchor(item, name, depth + 1);
    return found;
}

/* What a JSON pointer [n] points at; NULL: nothing. */
static const weft_json *follow_pointer(const weft_json *at, const char *pointer, size_t n) {
    for (size_t i = 0; i < n && at;) {
        size_t length = strcspn(pointer + i + 1, "/");
        char segment[256];
        decode_segment(pointer + i + 1, length, segment, sizeof segment);
        if (weft_json_type_of(at) == WEFT_JSON_ARRAY) {
            size_t index = 0;
            bool digits = *segment != 0;
            for (const char *c = segment; *c && digits; c++) {
                digits = *c >= '0' && *c <= '9' && index < 1000000;
                index = index * 10 + (size_t)(*c - '0');
            }
            at = digits && index < weft_json_length(at) ? weft_json_item(at, index) : NULL;
        } else {
            at = weft_json_type_of(at) == WEFT_JSON_OBJECT ? weft_json_get(at, segment) : NULL;
        }
        i += length + 1;
    }
    return at;
}

const weft_json *weft_schema_resolve(weft_schema *s, const weft_json *reference) {
    size_t n_bytes, n_own;
    const char *text = weft_json_string(reference, &n_bytes), *ref = text ? text : "";
    const char *own = weft_json_string(weft_json_get(s->root, "$id"), &n_own);
    if (own && n_own > 0 && strncmp(ref, own, n_own) == 0 && (!ref[n_own] || ref[n_own] == '#')) {
        if (!ref[n_own])
            return s->root;
        ref += n_own;
        n_bytes -= n_own;
    }
    if (n_bytes == 0 || ref[0] != '#') {
        weft_schema_refuse(s, "$ref '%.80s': only references into the same schema are supported",
                           ref);
        return NULL;
    }
    const weft_json *at = ref[1] && ref[1] != '/' ? find_anchor(s->root, ref + 1, 0)
                                                  : follow_pointer(s->root, ref + 1, n_bytes - 1);
    if (!at && !s->n->status)
        s->n->status = weft_fail(WEFT_E_FORMAT, "JSON Schema: $ref '%.80s': no such schema", ref);
    return at;
}
