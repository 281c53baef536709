/* The metadata map: entries in insertion order, found through an open-addressing hash index. */
#include "base/metadata.h"

#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"

typedef struct weft_entry {
    char *key; /* NUL-terminated, `key_bytes` long */
    size_t key_bytes;
    weft_value value; /* strings point into `data`, which is NUL-terminated then */
    void *data;       /* string bytes, array elements, or the strings' blob */
    size_t data_bytes;
    size_t *ends; /* arrays of strings: where each ends in the blob, [n] */
} weft_entry;

struct weft_metadata {
    weft_allocator allocator;
    weft_entry *entries;
    size_t n, room;
    uint32_t *index; /* entry number + 1, 0: free; `index_size` is a power of two > n */
    size_t index_size;
};

static size_t element_bytes(weft_value_type type) {
    switch (type) {
    case WEFT_VALUE_U8:
    case WEFT_VALUE_I8:
    case WEFT_VALUE_BOOL:
        return 1;
    case WEFT_VALUE_U16:
    case WEFT_VALUE_I16:
        return 2;
    case WEFT_VALUE_U32:
    case WEFT_VALUE_I32:
    case WEFT_VALUE_F32:
        return 4;
    case WEFT_VALUE_U64:
    case WEFT_VALUE_I64:
    case WEFT_VALUE_F64:
        return 8;
    case WEFT_VALUE_STRING:
    case WEFT_VALUE_ARRAY:
        break;
    }
    return 0;
}

weft_metadata *weft_metadata_create(const weft_allocator *a) {
    weft_metadata *m = weft_alloc_zeroed(a, sizeof *m);
    if (m)
        m->allocator = *a;
    return m;
}

static void entry_free(const weft_allocator *a, weft_entry *e) {
    weft_dealloc(a, e->key, e->key_bytes + 1);
    weft_dealloc(a, e->data, e->data_bytes);
    if (e->ends)
        weft_dealloc(a, e->ends, e->value.as.array.n * sizeof *e->ends);
}

void weft_metadata_destroy(weft_metadata *m) {
    if (!m)
        return;
    weft_allocator a = m->allocator;
    for (size_t i = 0; i < m->n; i++)
        entry_free(&a, &m->entries[i]);
    weft_dealloc(&a, m->entries, m->room * sizeof *m->entries);
    weft_dealloc(&a, m->index, m->index_size * sizeof *m->index);
    weft_dealloc(&a, m, sizeof *m);
}

/* FNV-1a, started from the map's address so that a file cannot choose keys that collide. */
static uint64_t hash(const weft_metadata *m, const char *key, size_t n) {
    uint64_t h = 0xcbf29ce484222325u ^ (uint64_t)(uintptr_t)m;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)key[i]) * 0x100000001b3u;
    return h ^ (h >> 32);
}

/* The slot of a key: its entry's, or the free one where it would go. */
static size_t slot_of(const weft_metadata *m, const char *key, size_t n) {
    size_t mask = m->index_size - 1, slot = hash(m, key, n) & mask;
    for (;; slot = (slot + 1) & mask) {
        uint32_t number = m->index[slot];
        if (number == 0)
            return slot;
        const weft_entry *e = &m->entries[number - 1];
        if (e->key_bytes == n && memcmp(e->key, key, n) == 0)
            return slot;
    }
}

static bool grow_index(weft_metadata *m) {
    size_t size = m->index_size ? m->index_size * 2 : 64;
    uint32_t *index = weft_alloc_zeroed(&m->allocator, weft_size_of(size, sizeof *index));
    if (!index)
        return false;
    weft_dealloc(&m->allocator, m->index, m->index_size * sizeof *m->index);
    m->index = index;
    m->index_size = size;
    for (size_t i = 0; i < m->n; i++)
        m->index[slot_of(m, m->entries[i].key, m->entries[i].key_bytes)] = (uint32_t)i + 1;
    return true;
}

static bool make_room(weft_metadata *m) {
    if (m->n == m->room) {
        size_t room = m->room ? m->room * 2 : 32;
        weft_entry *entries = weft_realloc(&m->allocator, m->entries, m->room * sizeof *m->entries,
                                           weft_size_of(room, sizeof *m->entries));
        if (!entries)
            return false;
        m->entries = entries;
        m->room = room;
    }
    return m->n * 2 < m->index_size || grow_index(m);
}

static weft_status no_memory(void) {
    return weft_fail(WEFT_E_MEMORY, "metadata: out of memory");
}

/* Adds `e`, whose data this takes over, also on failure. */
static weft_status add(weft_metadata *m, const char *key, size_t key_bytes, weft_entry *e) {
    if (m->n >= UINT32_MAX - 1 || !make_room(m)) {
        entry_free(&m->allocator, e);
        return no_memory();
    }
    size_t slot = slot_of(m, key, key_bytes);
    if (m->index[slot]) {
        entry_free(&m->allocator, e);
        return weft_fail(WEFT_E_FORMAT, "duplicate key '%.*s'",
                         (int)(key_bytes < 200 ? key_bytes : 200), key);
    }
    e->key = weft_alloc(&m->allocator, key_bytes + 1);
    if (!e->key) {
        entry_free(&m->allocator, e);
        return no_memory();
    }
    memcpy(e->key, key, key_bytes);
    e->key[key_bytes] = 0;
    e->key_bytes = key_bytes;
    m->entries[m->n] = *e;
    m->index[slot] = (uint32_t)++m->n;
    return WEFT_OK;
}

/* A copy of n bytes with `extra` zero bytes behind; NULL only without memory. */
static void *copy_of(const weft_metadata *m, const void *data, size_t n, size_t extra) {
    size_t size = n + extra > 0 ? n + extra : 1;
    char *copy = weft_alloc(&m->allocator, size);
    if (copy) {
        if (n > 0)
            memcpy(copy, data, n);
        memset(copy + n, 0, size - n);
    }
    return copy;
}

weft_status weft_metadata_put(weft_metadata *m, const char *key, size_t key_bytes,
                              const weft_value *value) {
    weft_entry e = {.value = *value};
    if (value->type == WEFT_VALUE_STRING) {
        size_t n = value->as.s.n_bytes;
        e.data = n < SIZE_MAX ? copy_of(m, value->as.s.text, n, 1) : NULL;
        if (!e.data)
            return no_memory();
        e.data_bytes = n + 1;
        e.value.as.s.text = e.data;
    }
    return add(m, key, key_bytes, &e);
}

weft_status weft_metadata_put_array(weft_metadata *m, const char *key, size_t key_bytes,
                                    weft_value_type type, const void *data, size_t n) {
    weft_entry e = {.value = {.type = WEFT_VALUE_ARRAY, .as.array = {.type = type, .n = n}}};
    size_t size;
    if (!weft_mul_size(n, element_bytes(type), &size))
        return no_memory();
    e.data = copy_of(m, data, size, 0);
    if (!e.data)
        return no_memory();
    e.data_bytes = size > 0 ? size : 1;
    return add(m, key, key_bytes, &e);
}

weft_status weft_metadata_put_strings(weft_metadata *m, const char *key, size_t key_bytes,
                                      const char *blob, const size_t *lengths, size_t n) {
    weft_entry e = {
        .value = {.type = WEFT_VALUE_ARRAY, .as.array = {.type = WEFT_VALUE_STRING, .n = n}}};
    size_t total = 0;
    if (n > 0) {
        e.ends = weft_alloc(&m->allocator, weft_size_of(n, sizeof *e.ends));
        if (!e.ends)
            return no_memory();
    }
    for (size_t i = 0; i < n; i++) {
        if (!weft_add_size(total, lengths[i], &total)) {
            entry_free(&m->allocator, &e);
            return no_memory();
        }
        e.ends[i] = total;
    }
    e.data = copy_of(m, blob, total, 0);
    if (!e.data) {
        entry_free(&m->allocator, &e);
        return no_memory();
    }
    e.data_bytes = total > 0 ? total : 1;
    return add(m, key, key_bytes, &e);
}

weft_status weft_metadata_put_from(weft_metadata *m, const weft_metadata *from, size_t i) {
    if (i >= from->n)
        return weft_fail(WEFT_E_RANGE, "metadata: entry %zu of %zu", i, from->n);
    const weft_entry *e = &from->entries[i];
    const weft_value *v = &e->value;
    if (v->type != WEFT_VALUE_ARRAY)
        return weft_metadata_put(m, e->key, e->key_bytes, v);
    if (v->as.array.type != WEFT_VALUE_STRING)
        return weft_metadata_put_array(m, e->key, e->key_bytes, v->as.array.type, e->data,
                                       v->as.array.n);
    size_t n = v->as.array.n, bytes = weft_size_of(n, sizeof(size_t));
    size_t *lengths = weft_alloc(&m->allocator, bytes);
    if (n > 0 && !lengths)
        return no_memory();
    for (size_t j = 0; j < n; j++)
        lengths[j] = e->ends[j] - (j > 0 ? e->ends[j - 1] : 0);
    weft_status status = weft_metadata_put_strings(m, e->key, e->key_bytes, e->data, lengths, n);
    weft_dealloc(&m->allocator, lengths, bytes);
    return status;
}

size_t weft_metadata_count(const weft_metadata *m) {
    return m->n;
}

const char *weft_metadata_at(const weft_metadata *m, size_t i, weft_value *value) {
    if (i >= m->n)
        return NULL;
    if (value)
        *value = m->entries[i].value;
    return m->entries[i].key;
}

bool weft_metadata_index(const weft_metadata *m, const char *key, size_t *index) {
    if (m->n == 0)
        return false;
    uint32_t number = m->index[slot_of(m, key, strlen(key))];
    if (number == 0)
        return false;
    *index = number - 1;
    return true;
}

bool weft_metadata_find(const weft_metadata *m, const char *key, weft_value *value) {
    size_t i;
    if (!weft_metadata_index(m, key, &i))
        return false;
    if (value)
        *value = m->entries[i].value;
    return true;
}

/* Element j of native array memory. */
static weft_value element(weft_value_type type, const void *data, size_t j) {
    weft_value v = {.type = type};
    const unsigned char *p = (const unsigned char *)data + j * element_bytes(type);
    union {
        uint8_t u8;
        int8_t i8;
        uint16_t u16;
        int16_t i16;
        uint32_t u32;
        int32_t i32;
        uint64_t u64;
        int64_t i64;
        float f32;
        double f64;
    } x;
    memcpy(&x, p, element_bytes(type));
    if (type == WEFT_VALUE_U8 || type == WEFT_VALUE_BOOL)
        v.as.u = x.u8;
    else if (type == WEFT_VALUE_U16)
        v.as.u = x.u16;
    else if (type == WEFT_VALUE_U32)
        v.as.u = x.u32;
    else if (type == WEFT_VALUE_U64)
        v.as.u = x.u64;
    else if (type == WEFT_VALUE_I8)
        v.as.i = x.i8;
    else if (type == WEFT_VALUE_I16)
        v.as.i = x.i16;
    else if (type == WEFT_VALUE_I32)
        v.as.i = x.i32;
    else if (type == WEFT_VALUE_I64)
        v.as.i = x.i64;
    else
        v.as.f = type == WEFT_VALUE_F32 ? (double)x.f32 : x.f64;
    return v;
}

bool weft_metadata_item(const weft_metadata *m, size_t i, size_t j, weft_value *value) {
    if (i >= m->n || m->entries[i].value.type != WEFT_VALUE_ARRAY)
        return false;
    const weft_entry *e = &m->entries[i];
    weft_value_type type = e->value.as.array.type;
    if (j >= e->value.as.array.n || type == WEFT_VALUE_ARRAY)
        return false;
    if (type == WEFT_VALUE_STRING) {
        size_t begin = j ? e->ends[j - 1] : 0;
        *value = (weft_value){.type = WEFT_VALUE_STRING,
                              .as.s = {(const char *)e->data + begin, e->ends[j] - begin}};
    } else {
        *value = element(type, e->data, j);
    }
    return true;
}

static bool is_unsigned(weft_value_type t) {
    return t == WEFT_VALUE_U8 || t == WEFT_VALUE_U16 || t == WEFT_VALUE_U32 || t == WEFT_VALUE_U64;
}

static bool is_signed(weft_value_type t) {
    return t == WEFT_VALUE_I8 || t == WEFT_VALUE_I16 || t == WEFT_VALUE_I32 || t == WEFT_VALUE_I64;
}

weft_status weft_metadata_u32(const weft_metadata *m, const char *key, uint32_t *out) {
    weft_value v;
    if (!weft_metadata_find(m, key, &v))
        return WEFT_E_NOT_FOUND;
    bool integer = is_unsigned(v.type) || is_signed(v.type);
    if (!integer)
        return weft_fail(WEFT_E_FORMAT, "%s: an integer is expected", key);
    if (is_signed(v.type) ? v.as.i < 0 || v.as.i > UINT32_MAX : v.as.u > UINT32_MAX)
        return weft_fail(WEFT_E_FORMAT, "%s: the value does not fit into 32 bits", key);
    *out = is_signed(v.type) ? (uint32_t)v.as.i : (uint32_t)v.as.u;
    return WEFT_OK;
}

weft_status weft_metadata_f64(const weft_metadata *m, const char *key, double *out) {
    weft_value v;
    if (!weft_metadata_find(m, key, &v))
        return WEFT_E_NOT_FOUND;
    if (v.type == WEFT_VALUE_F32 || v.type == WEFT_VALUE_F64)
        *out = v.as.f;
    else if (is_unsigned(v.type))
        *out = (double)v.as.u;
    else if (is_signed(v.type))
        *out = (double)v.as.i;
    else
        return weft_fail(WEFT_E_FORMAT, "%s: a number is expected", key);
    return WEFT_OK;
}

weft_status weft_metadata_bool(const weft_metadata *m, const char *key, bool *out) {
    weft_value v;
    if (!weft_metadata_find(m, key, &v))
        return WEFT_E_NOT_FOUND;
    if (v.type != WEFT_VALUE_BOOL)
        return weft_fail(WEFT_E_FORMAT, "%s: true or false is expected", key);
    *out = v.as.u != 0;
    return WEFT_OK;
}

weft_status weft_metadata_string(const weft_metadata *m, const char *key, const char **out) {
    weft_value v;
    if (!weft_metadata_find(m, key, &v))
        return WEFT_E_NOT_FOUND;
    if (v.type != WEFT_VALUE_STRING)
        return weft_fail(WEFT_E_FORMAT, "%s: a string is expected", key);
    if (memchr(v.as.s.text, 0, v.as.s.n_bytes))
        return weft_fail(WEFT_E_FORMAT, "%s: the string has a NUL character inside", key);
    *out = v.as.s.text;
    return WEFT_OK;
}

weft_status weft_metadata_array(const weft_metadata *m, const char *key, weft_value_type *type,
                                const void **data, size_t *n) {
    size_t i;
    if (!weft_metadata_index(m, key, &i))
        return WEFT_E_NOT_FOUND;
    const weft_entry *e = &m->entries[i];
    if (e->value.type != WEFT_VALUE_ARRAY || element_bytes(e->value.as.array.type) == 0)
        return weft_fail(WEFT_E_FORMAT, "%s: an array of numbers is expected", key);
    *type = e->value.as.array.type;
    *data = e->data;
    *n = e->value.as.array.n;
    return WEFT_OK;
}
