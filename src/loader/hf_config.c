/* The JSON files beside the weights of a Hugging Face folder, flattened into the metadata map:
 * {"rope_parameters": {"rope_theta": 1e4}} becomes the key "rope_parameters.rope_theta". */
#include "loader/read.h"

#include <math.h>
#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "base/json.h"

#define MAX_DEPTH 16 /* objects in objects */
#define MAX_KEY 1024 /* bytes of a joined key */

typedef struct weft_flatten {
    weft_source *source;
    const char *path; /* for details */
    char key[MAX_KEY];
    struct {
        const weft_json *object;
        void *cursor;
        size_t key_bytes; /* of the prefix, its dot included */
    } open[MAX_DEPTH];
    int depth;
    bool skip_known; /* a key that is there already stays as it is */
} weft_flatten;

/* ---- What Python writes and JSON does not know ---- */

static size_t number_bytes(const char *p, const char *end, bool *integer) {
    const char *start = p;
    *integer = true;
    if (p < end && *p == '-')
        p++;
    while (p < end && ((*p >= '0' && *p <= '9') || strchr(".eE+-", *p))) {
        if (*p == 0)
            break;
        if (*p < '0' || *p > '9')
            *integer = false;
        p++;
    }
    return (size_t)(p - start);
}

/* Copies JSON, writing integers beyond 64 bits ("model_max_length":
 * 1000000000000000019884624838656) as reals, and the words NaN and Infinity as strings, which
 * no reader takes for a number. Needs at most 5 bytes for each 3. */
static size_t plain_json(const char *in, size_t n, char *out) {
    static const char *const words[] = {"-Infinity", "Infinity", "NaN"};
    const char *p = in, *end = in + n;
    char *o = out;
    bool in_string = false;
    while (p < end) {
        if (in_string) {
            if (*p == '\\' && end - p > 1)
                *o++ = *p++;
            else if (*p == '"')
                in_string = false;
            *o++ = *p++;
            continue;
        }
        in_string = *p == '"';
        size_t skip = 0;
        for (size_t i = 0; i < 3 && !skip && (*p == '-' || *p == 'I' || *p == 'N'); i++) {
            size_t m = strlen(words[i]);
            if ((size_t)(end - p) >= m && memcmp(p, words[i], m) == 0)
                skip = m;
        }
        if (skip) { /* "NaN" is the shortest: two bytes more */
            *o++ = '"';
            memcpy(o, p, skip);
            o += skip;
            *o++ = '"';
            p += skip;
        } else if (*p == '-' || (*p >= '0' && *p <= '9')) {
            bool integer;
            size_t m = number_bytes(p, end, &integer);
            memcpy(o, p, m);
            o += m;
            p += m;
            if (integer && m > 18) {
                memcpy(o, ".0", 2);
                o += 2;
            }
        } else {
            *o++ = *p++;
        }
    }
    return (size_t)(o - out);
}

static weft_status parse(const weft_allocator *a, const char *path, const char *text, size_t n,
                         weft_json **root) {
    size_t room;
    if (n > SIZE_MAX / 2 || !weft_add_size(n, n / 3 * 2 + 16, &room))
        return weft_fail(WEFT_E_MEMORY, "%s: out of memory", path);
    char *plain = weft_alloc(a, room);
    if (!plain)
        return weft_fail(WEFT_E_MEMORY, "%s: out of memory for %zu bytes", path, room);
    weft_status status = weft_json_parse(plain, n > 0 ? plain_json(text, n, plain) : 0, path, root);
    weft_dealloc(a, plain, room);
    if (status)
        return status;
    if (weft_json_type_of(*root) != WEFT_JSON_OBJECT) {
        weft_json_free(root);
        return weft_fail(WEFT_E_FORMAT, "%s: the file holds no JSON object", path);
    }
    return WEFT_OK;
}

/* ---- Values ---- */

/* A number, or among numbers what stands for one that JSON does not know: a word, or an object
 * {"__float__": word}. */
static bool number_of(const weft_json *v, double *out) {
    static const struct {
        const char *word;
        double value;
    } words[] = {{"Infinity", INFINITY}, {"-Infinity", -INFINITY}, {"NaN", NAN}};
    weft_json_type t = weft_json_type_of(v);
    if (t == WEFT_JSON_OBJECT) {
        v = weft_json_get(v, "__float__");
        t = v ? weft_json_type_of(v) : WEFT_JSON_NULL;
    }
    if (t == WEFT_JSON_INTEGER || t == WEFT_JSON_REAL) {
        *out = weft_json_number(v);
        return true;
    }
    for (size_t i = 0; t == WEFT_JSON_STRING && i < sizeof words / sizeof *words; i++)
        if (!strcmp(weft_json_string(v, NULL), words[i].word)) {
            *out = words[i].value;
            return true;
        }
    return false;
}

/* The one type that all elements have: integers among reals count as reals, and so does what
 * number_of knows. Other mixtures, null, arrays and objects: WEFT_VALUE_ARRAY, of which only the
 * length is kept. */
static weft_value_type element_type(const weft_json *array, size_t n) {
    bool all[] = {true, true, true, true}; /* bool, integer, number, string */
    double number;
    for (size_t i = 0; i < n; i++) {
        weft_json_type t = weft_json_type_of(weft_json_item(array, i));
        all[0] = all[0] && t == WEFT_JSON_BOOL;
        all[1] = all[1] && t == WEFT_JSON_INTEGER;
        all[2] = all[2] && number_of(weft_json_item(array, i), &number);
        all[3] = all[3] && t == WEFT_JSON_STRING;
    }
    return all[0]   ? WEFT_VALUE_BOOL
           : all[1] ? WEFT_VALUE_I64
           : all[3] ? WEFT_VALUE_STRING
           : all[2] ? WEFT_VALUE_F64
                    : WEFT_VALUE_ARRAY;
}

static weft_status put_numbers(weft_flatten *f, size_t key_bytes, weft_value_type type,
                               const weft_json *array, size_t n) {
    const weft_allocator *a = &f->source->allocator;
    size_t size = weft_size_of(n, 8);
    void *data = weft_alloc(a, size);
    if (n > 0 && !data)
        return weft_fail(WEFT_E_MEMORY, "out of memory");
    for (size_t i = 0; i < n; i++) {
        const weft_json *v = weft_json_item(array, i);
        if (type == WEFT_VALUE_BOOL)
            ((unsigned char *)data)[i] = weft_json_bool(v);
        else if (type == WEFT_VALUE_I64)
            ((int64_t *)data)[i] = weft_json_integer(v);
        else
            number_of(v, &((double *)data)[i]);
    }
    weft_status status =
        weft_metadata_put_array(f->source->metadata, f->key, key_bytes, type, data, n);
    weft_dealloc(a, data, size);
    return status;
}

static weft_status put_strings(weft_flatten *f, size_t key_bytes, const weft_json *array,
                               size_t n) {
    const weft_allocator *a = &f->source->allocator;
    size_t total = 0, used = 0, lengths_bytes = weft_size_of(n, sizeof(size_t));
    for (size_t i = 0; i < n; i++) {
        size_t length;
        weft_json_string(weft_json_item(array, i), &length);
        total += length; /* all in memory already: cannot overflow */
    }
    size_t *lengths = weft_alloc(a, lengths_bytes);
    char *blob = weft_alloc(a, total);
    weft_status status = WEFT_OK;
    if ((n > 0 && !lengths) || (total > 0 && !blob))
        status = weft_fail(WEFT_E_MEMORY, "out of memory");
    for (size_t i = 0; !status && i < n; i++) {
        const char *text = weft_json_string(weft_json_item(array, i), &lengths[i]);
        if (lengths[i] > 0)
            memcpy(blob + used, text, lengths[i]);
        used += lengths[i];
    }
    if (!status)
        status =
            weft_metadata_put_strings(f->source->metadata, f->key, key_bytes, blob, lengths, n);
    weft_dealloc(a, lengths, lengths_bytes);
    weft_dealloc(a, blob, total);
    return status;
}

/* Several chat templates, [{"name": "default", "template": "…"}, …]: the default one's text. */
static const weft_json *default_template(const weft_json *array) {
    const weft_json *found = NULL;
    for (size_t i = 0; i < weft_json_length(array); i++) {
        const weft_json *item = weft_json_item(array, i);
        if (weft_json_type_of(item) != WEFT_JSON_OBJECT)
            return NULL;
        const weft_json *name = weft_json_get(item, "name");
        const char *text = name ? weft_json_string(name, NULL) : NULL;
        if (!found || (text && strcmp(text, "default") == 0))
            found = weft_json_get(item, "template");
    }
    return found && weft_json_type_of(found) == WEFT_JSON_STRING ? found : NULL;
}

static weft_status put_value(weft_flatten *f, size_t key_bytes, const weft_json *json);

static weft_status put_array(weft_flatten *f, size_t key_bytes, const weft_json *json) {
    static const char templates[] = "tokenizer_config.chat_template";
    size_t n = weft_json_length(json);
    if (key_bytes == sizeof templates - 1 && memcmp(f->key, templates, key_bytes) == 0) {
        const weft_json *text = default_template(json);
        if (text)
            return put_value(f, key_bytes, text);
    }
    weft_value_type type = element_type(json, n);
    if (type == WEFT_VALUE_STRING)
        return put_strings(f, key_bytes, json, n);
    if (type == WEFT_VALUE_ARRAY)
        return weft_metadata_put_array(f->source->metadata, f->key, key_bytes, type, NULL, n);
    return put_numbers(f, key_bytes, type, json, n);
}

static weft_status put_value(weft_flatten *f, size_t key_bytes, const weft_json *json) {
    weft_value v = {0};
    f->key[key_bytes] = 0;
    if (f->skip_known && weft_metadata_index(f->source->metadata, f->key, &(size_t){0}))
        return WEFT_OK;
    switch (weft_json_type_of(json)) {
    case WEFT_JSON_NULL:
    case WEFT_JSON_OBJECT:
        return WEFT_OK;
    case WEFT_JSON_ARRAY:
        return put_array(f, key_bytes, json);
    case WEFT_JSON_BOOL:
        v.type = WEFT_VALUE_BOOL;
        v.as.u = weft_json_bool(json);
        break;
    case WEFT_JSON_INTEGER:
        v.type = WEFT_VALUE_I64;
        v.as.i = weft_json_integer(json);
        break;
    case WEFT_JSON_REAL:
        v.type = WEFT_VALUE_F64;
        v.as.f = weft_json_number(json);
        break;
    case WEFT_JSON_STRING:
        v.type = WEFT_VALUE_STRING;
        v.as.s.text = weft_json_string(json, &v.as.s.n_bytes);
        break;
    }
    return weft_metadata_put(f->source->metadata, f->key, key_bytes, &v);
}

/* ---- Walking ---- */

/* One member of the innermost open object; opens it when it is an object itself. */
static weft_status member(weft_flatten *f, const char *name, const weft_json *value) {
    size_t at = f->open[f->depth - 1].key_bytes, n = strlen(name);
    if (at + n > MAX_KEY - 2)
        return weft_fail(WEFT_E_FORMAT, "%s: member '%.80s': the name is longer than %d bytes",
                         f->path, name, MAX_KEY - 2);
    memcpy(f->key + at, name, n);
    at += n;
    if (weft_json_type_of(value) == WEFT_JSON_OBJECT) {
        if (f->depth == MAX_DEPTH)
            return weft_fail(WEFT_E_FORMAT, "%s: member '%.200s': nested more than %d deep",
                             f->path, name, MAX_DEPTH);
        f->key[at++] = '.';
        f->open[f->depth].object = value;
        f->open[f->depth].cursor = NULL;
        f->open[f->depth].key_bytes = at;
        f->depth++;
        return WEFT_OK;
    }
    weft_status status = put_value(f, at, value);
    return status ? weft_fail_in(status, "%s: member '%.*s'", f->path, (int)(at < 200 ? at : 200),
                                 f->key)
                  : WEFT_OK;
}

static weft_status flatten(weft_flatten *f, const weft_json *root, const char *prefix) {
    size_t n = strlen(prefix);
    memcpy(f->key, prefix, n);
    f->open[0].object = root;
    f->open[0].cursor = NULL;
    f->open[0].key_bytes = n;
    f->depth = 1;
    while (f->depth > 0) {
        const char *name;
        const weft_json *value;
        int top = f->depth - 1;
        if (!weft_json_next(f->open[top].object, &f->open[top].cursor, &name, &value)) {
            f->depth--;
            continue;
        }
        weft_status status = member(f, name, value);
        if (status)
            return status;
    }
    return WEFT_OK;
}

/* A model that sees or hears as well: what it says of its text's part stands as if alone, before
 * what it says of the whole; but whether the output is tied is said of the whole. */
static weft_status flatten_text(weft_flatten *f, const weft_json *root, const weft_json *text) {
    static const char tied[] = "tie_word_embeddings";
    weft_status status = WEFT_OK;
    f->skip_known = true;
    memcpy(f->key, tied, sizeof tied);
    if (weft_json_get(root, tied))
        status = put_value(f, sizeof tied - 1, weft_json_get(root, tied));
    if (!status)
        status = flatten(f, text, "");
    return status ? status : flatten(f, root, "");
}

weft_status weft_hf_config_read(const char *path, const char *prefix, weft_source *source) {
    weft_mapping map;
    weft_json *root = NULL;
    weft_status status = weft_file_map(path, &map);
    if (status)
        return status;
    status = parse(&source->allocator, path, (const char *)map.data, map.size_bytes, &root);
    weft_file_unmap(&map);
    if (status)
        return status;
    weft_flatten f = {.source = source, .path = path};
    const weft_json *text = weft_json_get(root, "text_config");
    if (!*prefix && text && weft_json_type_of(text) == WEFT_JSON_OBJECT)
        status = flatten_text(&f, root, text);
    else
        status = flatten(&f, root, prefix);
    weft_json_free(&root);
    return status;
}
