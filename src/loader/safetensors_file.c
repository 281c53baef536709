/* safetensors files to and from bundles. */
#include "loader/safetensors_file.h"

#include <stdio.h>
#include <string.h>
#include "base/file.h"
#include "loader/bundle.h"

static const struct {
    weft_safetensors_dtype file;
    weft_dtype dtype;
} dtypes[] = {
    {WEFT_SAFETENSORS_F64, WEFT_F64},         {WEFT_SAFETENSORS_F32, WEFT_F32},
    {WEFT_SAFETENSORS_F16, WEFT_F16},         {WEFT_SAFETENSORS_BF16, WEFT_BF16},
    {WEFT_SAFETENSORS_I64, WEFT_I64},         {WEFT_SAFETENSORS_I32, WEFT_I32},
    {WEFT_SAFETENSORS_I16, WEFT_I16},         {WEFT_SAFETENSORS_I8, WEFT_I8},
    {WEFT_SAFETENSORS_U8, WEFT_U8},           {WEFT_SAFETENSORS_BOOL, WEFT_BOOL},
    {WEFT_SAFETENSORS_U16, WEFT_U16},         {WEFT_SAFETENSORS_U32, WEFT_U32},
    {WEFT_SAFETENSORS_U64, WEFT_U64},         {WEFT_SAFETENSORS_F8_E4M3, WEFT_F8_E4M3},
    {WEFT_SAFETENSORS_F8_E5M2, WEFT_F8_E5M2}, {WEFT_SAFETENSORS_F8_E8M0, WEFT_F8_E8M0},
};

enum { N_DTYPES = sizeof dtypes / sizeof dtypes[0] };

/* ---- Reading ---- */

static void *parser_alloc(void *ctx, size_t size_bytes) {
    return weft_alloc(ctx, size_bytes);
}

static void parser_release(void *ctx, void *memory, size_t size_bytes) {
    weft_dealloc(ctx, memory, size_bytes);
}

weft_status weft_safetensors_open(const weft_allocator *a, const unsigned char *data, size_t n,
                                  weft_safetensors *out) {
    weft_safetensors_allocator memory = {parser_alloc, parser_release, (void *)(uintptr_t)a};
    weft_safetensors_error error;
    weft_safetensors_code code = weft_safetensors_parse(data, n, &memory, out, &error);
    if (code == WEFT_SAFETENSORS_OK)
        return WEFT_OK;
    return weft_fail(code == WEFT_SAFETENSORS_MEMORY        ? WEFT_E_MEMORY
                     : code == WEFT_SAFETENSORS_UNSUPPORTED ? WEFT_E_UNSUPPORTED
                                                            : WEFT_E_FORMAT,
                     "%s", error.message);
}

weft_status weft_safetensors_type(const weft_safetensors_tensor *t, weft_dtype *out) {
    for (size_t i = 0; i < N_DTYPES; i++) {
        if (dtypes[i].file == t->dtype) {
            *out = dtypes[i].dtype;
            return WEFT_OK;
        }
    }
    return weft_fail(WEFT_E_UNSUPPORTED, "tensor '%.80s': dtype %s is not supported", t->name,
                     weft_safetensors_dtype_name(t->dtype));
}

static weft_status add_tensor(weft_bundle *bundle, const unsigned char *data,
                              const weft_safetensors_tensor *t) {
    weft_dtype dtype = WEFT_F32;
    int64_t dims[WEFT_MAX_RANK] = {0};
    weft_tensor *copy;
    weft_status status = weft_safetensors_type(t, &dtype);
    for (int d = 0; d < t->rank; d++)
        dims[d] = (int64_t)t->dims[d]; /* the product fits, checked by the parser */
    if (!status && dtype == WEFT_BOOL)
        status = weft_bools_check(data + t->offset, (size_t)t->n_bytes);
    if (!status)
        status = weft_tensor_create_heap(&bundle->allocator, dtype, WEFT_LAYOUT_STRIDED, t->rank,
                                         dims, false, &copy);
    if (status)
        return weft_fail_in(status, "tensor '%.80s'", t->name);
    if (t->n_bytes > 0)
        memcpy(weft_tensor_data(copy), data + t->offset, (size_t)t->n_bytes);
    return weft_weights_take(bundle->weights, t->name, copy);
}

static weft_status add_text(weft_bundle *bundle, const weft_safetensors_pair *p) {
    if (strlen(p->key) != p->key_bytes)
        return weft_fail(WEFT_E_FORMAT, "the key '%.80s' of __metadata__ has a NUL", p->key);
    return weft_bundle_take_text(bundle, p->key, p->value, p->value_bytes);
}

weft_status weft_safetensors_load(weft_engine *engine, const char *path, weft_bundle **out) {
    weft_mapping map = {0};
    weft_safetensors file = {0};
    weft_status status = weft_bundle_create(engine, out);
    if (status)
        return weft_fail_in(status, "safetensors_load");
    status =
        path ? weft_file_map(path, &map) : weft_fail(WEFT_E_NULL, "safetensors_load: path is NULL");
    if (!status) {
        status = weft_safetensors_open(&(*out)->allocator, map.data, map.size_bytes, &file);
        for (size_t i = 0; !status && i < file.n_tensors; i++)
            status = add_tensor(*out, map.data, &file.tensors[i]);
        for (size_t i = 0; !status && i < file.n_pairs; i++)
            status = add_text(*out, &file.pairs[i]);
        if (status)
            weft_fail_in(status, "%s", path);
    }
    weft_safetensors_free(&file);
    weft_file_unmap(&map);
    if (status)
        weft_bundle_release(out);
    return status;
}

/* ---- Writing ---- */

static const char *name_of(weft_dtype dtype) {
    for (size_t i = 0; i < N_DTYPES; i++)
        if (dtypes[i].dtype == dtype)
            return weft_safetensors_dtype_name(dtypes[i].file);
    return NULL;
}

/* Tensors lie in the file by the size of their elements, greatest first, so that each is aligned;
 * those of one size in the bundle's order. The i-th of the file, given where the search stands. */
typedef struct order {
    const weft_bundle *bundle;
    size_t item, at; /* item: 8, 4, 2, 1; 0 at the end */
} order;

static weft_tensor *next_tensor(order *o, const char **name) {
    for (; o->item > 0; o->item /= 2, o->at = 0)
        while (o->at < weft_bundle_count(o->bundle)) {
            weft_tensor *t = weft_bundle_at(o->bundle, o->at++, name);
            if (weft_dtype_block_bytes(t->dtype) == o->item)
                return t;
        }
    return NULL;
}

static size_t bytes_of(const weft_tensor *t) {
    return (size_t)weft_tensor_numel(t) * weft_dtype_block_bytes(t->dtype);
}

/* A JSON string of valid UTF-8 (RFC 8259); `to` has room for 6 bytes a byte, and quotes. */
static size_t put_string(char *to, const char *text, size_t n_bytes) {
    size_t n = 0;
    to[n++] = '"';
    for (size_t i = 0; i < n_bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20)
            n += (size_t)snprintf(to + n, 7, "\\u%04x", c);
        else {
            if (c == '"' || c == '\\')
                to[n++] = '\\';
            to[n++] = (char)c;
        }
    }
    to[n++] = '"';
    return n;
}

#define TEXT_ROOM 20   /* of a text beside its key and itself, and of what is around all of them */
#define ENTRY_ROOM 320 /* of one tensor without its name: 8 extents and 2 offsets of 20 digits */

/* One member of the header; `room` is what ENTRY_ROOM and the name came to. */
static size_t put_entry(char *to, const char *name, const weft_tensor *t, uint64_t begin) {
    size_t n = put_string(to, name, strlen(name)), end = n + ENTRY_ROOM - 2;
#define PUT(...) n += (size_t)snprintf(to + n, end - n, __VA_ARGS__)
    PUT(":{\"dtype\":\"%s\",\"shape\":[", name_of(t->dtype));
    for (int d = 0; d < t->rank; d++)
        PUT("%s%lld", d > 0 ? "," : "", (long long)t->dims[d]);
    PUT("],\"data_offsets\":[%llu,%llu]}", (unsigned long long)begin,
        (unsigned long long)(begin + bytes_of(t)));
#undef PUT
    return n;
}

/* Whether the format has them all, and the room that their header takes at most. */
static weft_status check(const weft_bundle *bundle, size_t *room) {
    uint64_t total = 0;
    *room = 8 + 2 + 8 + TEXT_ROOM;
    for (size_t i = 0; i < weft_bundle_count(bundle); i++) {
        const char *name;
        const weft_tensor *t = weft_bundle_at(bundle, i, &name);
        if (!name_of(t->dtype))
            return weft_fail(WEFT_E_DTYPE, "'%.80s': safetensors files have no %s", name,
                             weft_dtype_name(t->dtype));
        if (strcmp(name, "__metadata__") == 0)
            return weft_fail(WEFT_E_ARGUMENT, "'__metadata__' is no name for a tensor there");
        size_t bytes;
        if (!weft_mul_size((size_t)weft_tensor_numel(t), weft_dtype_block_bytes(t->dtype),
                           &bytes) ||
            !weft_add_u64(total, bytes, &total) ||
            !weft_add_size(*room, 6 * strlen(name) + ENTRY_ROOM, room))
            return weft_fail(WEFT_E_OVERFLOW, "'%.80s': the file would be too large", name);
    }
    for (size_t i = 0; i < weft_bundle_n_texts(bundle); i++) {
        const char *key;
        size_t n_bytes;
        weft_bundle_text_at(bundle, i, &key, &n_bytes);
        *room += 6 * (strlen(key) + n_bytes) + TEXT_ROOM; /* of what lies in memory: fits */
    }
    return WEFT_OK;
}

/* The member of texts, where there are some; gives its length. */
static size_t put_texts(const weft_bundle *bundle, char *to) {
    static const char head[] = "\"__metadata__\":{";
    size_t n = 0, count = weft_bundle_n_texts(bundle);
    if (count == 0)
        return 0;
    memcpy(to, head, sizeof head - 1);
    n += sizeof head - 1;
    for (size_t i = 0; i < count; i++) {
        const char *key;
        size_t n_bytes;
        const char *text = weft_bundle_text_at(bundle, i, &key, &n_bytes);
        if (i > 0)
            to[n++] = ',';
        n += put_string(to + n, key, strlen(key));
        to[n++] = ':';
        n += put_string(to + n, text, n_bytes);
    }
    to[n++] = '}';
    return n;
}

/* The length of the JSON, the JSON, and spaces up to a multiple of 8. */
static size_t put_header(const weft_bundle *bundle, char *to) {
    order o = {bundle, 8, 0};
    const char *name;
    uint64_t begin = 0;
    size_t n = 8;
    to[n++] = '{';
    size_t texts = put_texts(bundle, to + n);
    const char *comma = texts ? "," : "";
    n += texts;
    for (const weft_tensor *t; (t = next_tensor(&o, &name)); comma = ",") {
        if (*comma)
            to[n++] = *comma;
        n += put_entry(to + n, name, t, begin);
        begin += bytes_of(t);
    }
    to[n++] = '}';
    while (n % 8)
        to[n++] = ' ';
    uint64_t length = n - 8;
    memcpy(to, &length, 8);
    return n;
}

static weft_status put_all(const weft_bundle *bundle, weft_writer *writer, char *header) {
    size_t n = put_header(bundle, header);
    if (n - 8 > WEFT_SAFETENSORS_MAX_HEADER)
        return weft_fail(WEFT_E_OVERFLOW, "the header takes %zu bytes; %d are the most", n - 8,
                         WEFT_SAFETENSORS_MAX_HEADER);
    weft_status status = weft_writer_put(writer, header, n);
    order o = {bundle, 8, 0};
    const char *name;
    for (weft_tensor *t; !status && (t = next_tensor(&o, &name));) {
        weft_elements elements;
        status = weft_elements_open(&bundle->allocator, t, &elements);
        if (status)
            return weft_fail_in(status, "'%.80s'", name);
        status = weft_writer_put(writer, elements.data, elements.size_bytes);
        weft_elements_close(&elements);
    }
    return status;
}

weft_status weft_safetensors_save(const weft_bundle *bundle, const char *path) {
    size_t room;
    weft_writer *writer;
    if (!bundle || !path)
        return weft_fail(WEFT_E_NULL, "safetensors_save: %s is NULL", bundle ? "path" : "bundle");
    weft_status status = check(bundle, &room);
    if (status)
        return weft_fail_in(status, "%s", path);
    char *header = weft_alloc(&bundle->allocator, room);
    if (!header)
        return weft_fail(WEFT_E_MEMORY, "%s: out of memory", path);
    status = weft_writer_open(&bundle->allocator, path, &writer);
    if (!status) {
        status = put_all(bundle, writer, header);
        if (!status)
            status = weft_writer_commit(&writer);
        else
            weft_fail_in(status, "%s", path);
        weft_writer_abort(&writer);
    }
    weft_dealloc(&bundle->allocator, header, room);
    return status;
}
