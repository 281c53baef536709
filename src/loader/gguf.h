/* gguf.h: reads GGUF files, versions 2 and 3, little endian. A single header that needs nothing but
 * the C library; C11 or C++.
 *
 *     #define WEFT_GGUF_IMPLEMENTATION   // in exactly one translation unit
 *     #include "gguf.h"
 *
 * weft_gguf_parse takes the bytes of a file (usually a mapping) and gives its metadata and tensor
 * infos. Strings, arrays and tensor data stay where they are and are pointed at, so the bytes must
 * outlive the result. Memory comes from the callbacks given and from nowhere else, in proportion to
 * what the file really holds, never to what it claims. Every length, count, offset and product is
 * checked before use; nothing recurses. After WEFT_GGUF_OK every pointer and range in the result is
 * inside the bytes given, names and keys are unique, and tensors do not overlap.
 *
 * The format: the GGUF specification in the documentation of ggml. */
#ifndef WEFT_GGUF_H
#define WEFT_GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef WEFT_GGUF_DEF
#ifdef __cplusplus
#define WEFT_GGUF_DEF extern "C"
#else
#define WEFT_GGUF_DEF extern
#endif
#endif

#define WEFT_GGUF_MAX_RANK 4
#define WEFT_GGUF_MAX_NAME 64    /* bytes of a tensor's name */
#define WEFT_GGUF_MAX_KEY 65535  /* bytes of a key */
#define WEFT_GGUF_MAX_NESTING 16 /* arrays in arrays */

typedef enum weft_gguf_code {
    WEFT_GGUF_OK,
    WEFT_GGUF_TRUNCATED,   /* the file ends where something should be */
    WEFT_GGUF_NOT_GGUF,    /* other magic */
    WEFT_GGUF_UNSUPPORTED, /* version, byte order, type, nesting that this reader does not know */
    WEFT_GGUF_INVALID,     /* against the format */
    WEFT_GGUF_MEMORY       /* the allocator gave NULL */
} weft_gguf_code;

typedef struct weft_gguf_error {
    weft_gguf_code code;
    uint64_t offset;   /* in the file */
    char message[320]; /* one line; names key or tensor, and offset; printable ASCII */
} weft_gguf_error;

typedef struct weft_gguf_allocator {
    void *(*alloc)(void *ctx, size_t size_bytes); /* aligned as malloc; NULL: no memory */
    void (*release)(void *ctx, void *memory, size_t size_bytes);
    void *ctx;
} weft_gguf_allocator;

typedef enum weft_gguf_type {
    WEFT_GGUF_U8,
    WEFT_GGUF_I8,
    WEFT_GGUF_U16,
    WEFT_GGUF_I16,
    WEFT_GGUF_U32,
    WEFT_GGUF_I32,
    WEFT_GGUF_F32,
    WEFT_GGUF_BOOL,
    WEFT_GGUF_STRING,
    WEFT_GGUF_ARRAY,
    WEFT_GGUF_U64,
    WEFT_GGUF_I64,
    WEFT_GGUF_F64,
    WEFT_GGUF_TYPE_COUNT
} weft_gguf_type;

typedef struct weft_gguf_string {
    const char *text; /* in the file's bytes, not NUL-terminated */
    size_t n_bytes;
} weft_gguf_string;

typedef struct weft_gguf_array {
    weft_gguf_type type; /* of the elements */
    size_t n;
    const unsigned char *data; /* as in the file: unaligned, little endian */
    size_t n_bytes;
} weft_gguf_array;

typedef struct weft_gguf_value {
    weft_gguf_type type;
    union {
        uint64_t u; /* U8 U16 U32 U64 BOOL */
        int64_t i;  /* I8 I16 I32 I64 */
        double f;   /* F32 F64 */
        weft_gguf_string s;
        weft_gguf_array a;
    } as;
} weft_gguf_value;

typedef struct weft_gguf_entry {
    weft_gguf_string key; /* valid UTF-8 without NUL, not empty */
    weft_gguf_value value;
    size_t offset, n_bytes; /* where the value lies in the file, its type excluded */
} weft_gguf_entry;

typedef struct weft_gguf_tensor {
    weft_gguf_string name;             /* without NUL, 1 … 64 bytes */
    uint32_t type;                     /* weft_gguf_tensor_type(type) is not NULL */
    int rank;                          /* 1 … 4 */
    uint64_t dims[WEFT_GGUF_MAX_RANK]; /* dims[0] is the row length; none is 0 */
    uint64_t n_elements, n_bytes;      /* both at most INT64_MAX */
    uint64_t offset;                   /* of the data, from the start of the file */
} weft_gguf_tensor;

typedef struct weft_gguf {
    uint32_t version;
    uint32_t alignment;
    uint64_t data_offset; /* start of the data section */
    size_t n_entries, n_tensors;
    const weft_gguf_entry *entries;  /* in file order */
    const weft_gguf_tensor *tensors; /* in file order */
    /* The rest is the parser's own. */
    size_t entries_room, tensors_room;
    size_t *entries_by_key, *tensors_by_name; /* sorted */
    weft_gguf_allocator allocator;
} weft_gguf;

typedef struct weft_gguf_tensor_info {
    const char *name; /* "Q4_K" */
    uint32_t block_elements, block_bytes;
} weft_gguf_tensor_info;

/* On failure *out is empty and *error (may be NULL) says why. */
WEFT_GGUF_DEF weft_gguf_code weft_gguf_parse(const void *data, size_t size_bytes,
                                             const weft_gguf_allocator *allocator, weft_gguf *out,
                                             weft_gguf_error *error);
/* Gives the memory back; an empty or freed one is allowed. */
WEFT_GGUF_DEF void weft_gguf_free(weft_gguf *gguf);

/* NULL where absent. O(log n). `key` and `name` are NUL-terminated. */
WEFT_GGUF_DEF const weft_gguf_entry *weft_gguf_find(const weft_gguf *gguf, const char *key);
WEFT_GGUF_DEF const weft_gguf_tensor *weft_gguf_find_tensor(const weft_gguf *gguf,
                                                            const char *name);

/* The elements of an array in order: start with *cursor = 0; false at the end. */
WEFT_GGUF_DEF bool weft_gguf_next(const weft_gguf_array *array, size_t *cursor,
                                  weft_gguf_value *element);
/* Bytes of one scalar; 0 for strings and arrays. */
WEFT_GGUF_DEF size_t weft_gguf_scalar_bytes(weft_gguf_type type);
/* Any integer type, BOOL excluded; false for other types and values that do not fit. */
WEFT_GGUF_DEF bool weft_gguf_integer(const weft_gguf_value *value, int64_t *out);
/* What a tensor type's blocks are; NULL for ids that are unknown or were removed. */
WEFT_GGUF_DEF const weft_gguf_tensor_info *weft_gguf_tensor_type(uint32_t type);

#endif /* WEFT_GGUF_H */

#ifdef WEFT_GGUF_IMPLEMENTATION
#undef WEFT_GGUF_IMPLEMENTATION

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Where parsing stands, and what a failure is about. */
typedef struct weft_gguf_reader_ {
    const unsigned char *data;
    size_t size, at;
    const char *kind; /* "key", "tensor" or NULL */
    weft_gguf_string name;
    weft_gguf_error *error;
} weft_gguf_reader_;

/* ---- Tensor types ---- */

static const weft_gguf_tensor_info weft_gguf_tensor_types_[] = {
    {"F32", 1, 4},        {"F16", 1, 2},       {"Q4_0", 32, 18},     {"Q4_1", 32, 20},
    {NULL, 0, 0},         {NULL, 0, 0},        {"Q5_0", 32, 22},     {"Q5_1", 32, 24},
    {"Q8_0", 32, 34},     {"Q8_1", 32, 36},    {"Q2_K", 256, 84},    {"Q3_K", 256, 110},
    {"Q4_K", 256, 144},   {"Q5_K", 256, 176},  {"Q6_K", 256, 210},   {"Q8_K", 256, 292},
    {"IQ2_XXS", 256, 66}, {"IQ2_XS", 256, 74}, {"IQ3_XXS", 256, 98}, {"IQ1_S", 256, 50},
    {"IQ4_NL", 32, 18},   {"IQ3_S", 256, 110}, {"IQ2_S", 256, 82},   {"IQ4_XS", 256, 136},
    {"I8", 1, 1},         {"I16", 1, 2},       {"I32", 1, 4},        {"I64", 1, 8},
    {"F64", 1, 8},        {"IQ1_M", 256, 56},  {"BF16", 1, 2},       {NULL, 0, 0},
    {NULL, 0, 0},         {NULL, 0, 0},        {"TQ1_0", 256, 54},   {"TQ2_0", 256, 66},
    {NULL, 0, 0},         {NULL, 0, 0},        {NULL, 0, 0},         {"MXFP4", 32, 17},
    {"NVFP4", 64, 36},    {"Q1_0", 128, 18},   {"Q2_0", 64, 18},
};
enum {
    WEFT_GGUF_N_TENSOR_TYPES_ =
        (int)(sizeof weft_gguf_tensor_types_ / sizeof weft_gguf_tensor_types_[0])
};

WEFT_GGUF_DEF const weft_gguf_tensor_info *weft_gguf_tensor_type(uint32_t type) {
    if (type >= (uint32_t)WEFT_GGUF_N_TENSOR_TYPES_ || weft_gguf_tensor_types_[type].name == NULL)
        return NULL;
    return &weft_gguf_tensor_types_[type];
}

WEFT_GGUF_DEF size_t weft_gguf_scalar_bytes(weft_gguf_type type) {
    static const unsigned char bytes[WEFT_GGUF_TYPE_COUNT] = {1, 1, 2, 2, 4, 4, 4,
                                                              1, 0, 0, 8, 8, 8};
    return (unsigned)type < WEFT_GGUF_TYPE_COUNT ? bytes[type] : 0;
}

/* ---- Failing ---- */

/* Printable ASCII only: messages go to terminals, and names come from the file. */
static void weft_gguf_printable_(weft_gguf_string s, char *out, size_t room) {
    size_t n = s.n_bytes, i;
    bool cut = n > room - 1;
    if (cut)
        n = room - 1;
    for (i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s.text[i];
        out[i] = c >= 0x20 && c < 0x7f ? (char)c : '?';
    }
    for (i = 0; cut && i < 3; i++)
        out[n - 1 - i] = '.';
    out[n] = 0;
}

#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
static weft_gguf_code
weft_gguf_fail_(weft_gguf_reader_ *r, weft_gguf_code code, size_t offset, const char *format, ...) {
    weft_gguf_error *e = r->error;
    char name[80];
    int n = 0;
    va_list args;
    if (e == NULL)
        return code;
    e->code = code;
    e->offset = offset;
    if (r->kind != NULL) {
        weft_gguf_printable_(r->name, name, sizeof name);
        n = snprintf(e->message, sizeof e->message, "%s '%s' at offset %llu: ", r->kind, name,
                     (unsigned long long)offset);
    } else {
        n = snprintf(e->message, sizeof e->message, "offset %llu: ", (unsigned long long)offset);
    }
    va_start(args, format);
    if (n >= 0 && (size_t)n < sizeof e->message)
        (void)vsnprintf(e->message + n, sizeof e->message - (size_t)n, format, args);
    va_end(args);
    return code;
}

static weft_gguf_code weft_gguf_short_(weft_gguf_reader_ *r, const char *what, uint64_t need) {
    return weft_gguf_fail_(r, WEFT_GGUF_TRUNCATED, r->at,
                           "%s needs %llu bytes, the file has %llu left", what,
                           (unsigned long long)need, (unsigned long long)(r->size - r->at));
}

/* ---- Reading ---- */

static uint64_t weft_gguf_le_(const unsigned char *p, size_t n) {
    uint64_t v = 0;
    size_t i;
    for (i = 0; i < n; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static weft_gguf_code weft_gguf_uint_(weft_gguf_reader_ *r, const char *what, size_t n,
                                      uint64_t *out) {
    *out = 0;
    if (r->size - r->at < n)
        return weft_gguf_short_(r, what, n);
    *out = weft_gguf_le_(r->data + r->at, n);
    r->at += n;
    return WEFT_GGUF_OK;
}

static weft_gguf_code weft_gguf_string_(weft_gguf_reader_ *r, const char *what,
                                        weft_gguf_string *out) {
    uint64_t n;
    size_t start = r->at;
    weft_gguf_code c = weft_gguf_uint_(r, what, 8, &n);
    if (c != WEFT_GGUF_OK)
        return c;
    if (n > r->size - r->at)
        return weft_gguf_fail_(r, WEFT_GGUF_TRUNCATED, start,
                               "%s has length %llu, the file has %llu bytes left", what,
                               (unsigned long long)n, (unsigned long long)(r->size - r->at));
    out->text = (const char *)r->data + r->at;
    out->n_bytes = (size_t)n;
    r->at += (size_t)n;
    return WEFT_GGUF_OK;
}

/* The bytes of one scalar, already known to be inside, as a value. */
static void weft_gguf_scalar_(weft_gguf_type type, const unsigned char *p, weft_gguf_value *out) {
    uint64_t bits = weft_gguf_le_(p, weft_gguf_scalar_bytes(type));
    uint32_t bits32 = (uint32_t)bits;
    float f32;
    out->type = type;
    switch (type) {
    case WEFT_GGUF_I8:
        out->as.i = (int8_t)(uint8_t)bits;
        break;
    case WEFT_GGUF_I16:
        out->as.i = (int16_t)(uint16_t)bits;
        break;
    case WEFT_GGUF_I32:
        out->as.i = (int32_t)bits32;
        break;
    case WEFT_GGUF_I64:
        out->as.i = (int64_t)bits;
        break;
    case WEFT_GGUF_F32:
        memcpy(&f32, &bits32, 4);
        out->as.f = f32;
        break;
    case WEFT_GGUF_F64:
        memcpy(&out->as.f, &bits, 8);
        break;
    default:
        out->as.u = bits;
        break;
    }
}

static weft_gguf_code weft_gguf_bools_(weft_gguf_reader_ *r, size_t n) {
    size_t i;
    for (i = 0; i < n; i++) {
        if (r->data[r->at + i] > 1)
            return weft_gguf_fail_(r, WEFT_GGUF_INVALID, r->at + i, "a bool is %u, not 0 or 1",
                                   (unsigned)r->data[r->at + i]);
    }
    return WEFT_GGUF_OK;
}

/* Element type and count of an array, then its elements, unless these are arrays themselves. */
static weft_gguf_code weft_gguf_array_head_(weft_gguf_reader_ *r, weft_gguf_array *out) {
    uint64_t type, n, least, i;
    size_t start = r->at;
    weft_gguf_string s;
    weft_gguf_code c = weft_gguf_uint_(r, "an array's element type", 4, &type);
    if (c == WEFT_GGUF_OK && type >= WEFT_GGUF_TYPE_COUNT)
        c = weft_gguf_fail_(r, WEFT_GGUF_INVALID, start, "array of unknown element type %llu",
                            (unsigned long long)type);
    if (c == WEFT_GGUF_OK)
        c = weft_gguf_uint_(r, "an array's length", 8, &n);
    if (c != WEFT_GGUF_OK)
        return c;
    out->type = (weft_gguf_type)type;
    least = weft_gguf_scalar_bytes(out->type);
    if (least == 0)
        least = out->type == WEFT_GGUF_STRING ? 8 : 12;
    if (n > (r->size - r->at) / least)
        return weft_gguf_fail_(r, WEFT_GGUF_TRUNCATED, start,
                               "array length %llu is more than the file's %llu bytes left can hold",
                               (unsigned long long)n, (unsigned long long)(r->size - r->at));
    out->n = (size_t)n;
    out->data = r->data + r->at;
    if (out->type == WEFT_GGUF_STRING) {
        for (i = 0; i < n; i++) {
            c = weft_gguf_string_(r, "a string of the array", &s);
            if (c != WEFT_GGUF_OK)
                return c;
        }
    } else if (out->type != WEFT_GGUF_ARRAY) {
        if (out->type == WEFT_GGUF_BOOL) {
            c = weft_gguf_bools_(r, out->n);
            if (c != WEFT_GGUF_OK)
                return c;
        }
        r->at += out->n * (size_t)least;
    }
    return WEFT_GGUF_OK;
}

/* A whole array. Arrays in arrays are walked with a stack of what is left in each. */
static weft_gguf_code weft_gguf_array_(weft_gguf_reader_ *r, weft_gguf_array *out) {
    size_t left[WEFT_GGUF_MAX_NESTING];
    size_t depth = 0;
    weft_gguf_array inner;
    weft_gguf_code c = weft_gguf_array_head_(r, out);
    if (c != WEFT_GGUF_OK)
        return c;
    if (out->type == WEFT_GGUF_ARRAY)
        left[depth++] = out->n;
    while (depth > 0) {
        if (left[depth - 1] == 0) {
            depth--;
            continue;
        }
        left[depth - 1]--;
        c = weft_gguf_array_head_(r, &inner);
        if (c != WEFT_GGUF_OK)
            return c;
        if (inner.type != WEFT_GGUF_ARRAY)
            continue;
        if (depth == WEFT_GGUF_MAX_NESTING)
            return weft_gguf_fail_(r, WEFT_GGUF_UNSUPPORTED, r->at,
                                   "arrays are nested more than %d deep", WEFT_GGUF_MAX_NESTING);
        left[depth++] = inner.n;
    }
    out->n_bytes = (size_t)(r->data + r->at - out->data);
    return WEFT_GGUF_OK;
}

static weft_gguf_code weft_gguf_value_(weft_gguf_reader_ *r, weft_gguf_type type,
                                       weft_gguf_value *out) {
    size_t n = weft_gguf_scalar_bytes(type);
    out->type = type;
    if (type == WEFT_GGUF_STRING)
        return weft_gguf_string_(r, "a string", &out->as.s);
    if (type == WEFT_GGUF_ARRAY)
        return weft_gguf_array_(r, &out->as.a);
    if (r->size - r->at < n)
        return weft_gguf_short_(r, "the value", n);
    if (type == WEFT_GGUF_BOOL) {
        weft_gguf_code c = weft_gguf_bools_(r, 1);
        if (c != WEFT_GGUF_OK)
            return c;
    }
    weft_gguf_scalar_(type, r->data + r->at, out);
    r->at += n;
    return WEFT_GGUF_OK;
}

WEFT_GGUF_DEF bool weft_gguf_next(const weft_gguf_array *array, size_t *cursor,
                                  weft_gguf_value *element) {
    weft_gguf_reader_ r;
    memset(&r, 0, sizeof r);
    if (*cursor >= array->n_bytes)
        return false;
    r.data = array->data;
    r.size = array->n_bytes;
    r.at = *cursor;
    if (weft_gguf_value_(&r, array->type, element) != WEFT_GGUF_OK)
        return false;
    *cursor = r.at;
    return true;
}

WEFT_GGUF_DEF bool weft_gguf_integer(const weft_gguf_value *value, int64_t *out) {
    switch (value->type) {
    case WEFT_GGUF_U8:
    case WEFT_GGUF_U16:
    case WEFT_GGUF_U32:
    case WEFT_GGUF_U64:
        if (value->as.u > (uint64_t)INT64_MAX)
            return false;
        *out = (int64_t)value->as.u;
        return true;
    case WEFT_GGUF_I8:
    case WEFT_GGUF_I16:
    case WEFT_GGUF_I32:
    case WEFT_GGUF_I64:
        *out = value->as.i;
        return true;
    default:
        return false;
    }
}

/* ---- Sorted orders: duplicates, overlaps and look-up without a hash that a file could attack ----
 */

static int weft_gguf_compare_(weft_gguf_string a, weft_gguf_string b) {
    size_t n = a.n_bytes < b.n_bytes ? a.n_bytes : b.n_bytes;
    int c = n > 0 ? memcmp(a.text, b.text, n) : 0;
    if (c != 0)
        return c;
    return a.n_bytes < b.n_bytes ? -1 : a.n_bytes > b.n_bytes;
}

typedef int (*weft_gguf_order_)(const weft_gguf *g, size_t a, size_t b);

static int weft_gguf_order_keys_(const weft_gguf *g, size_t a, size_t b) {
    return weft_gguf_compare_(g->entries[a].key, g->entries[b].key);
}
static int weft_gguf_order_names_(const weft_gguf *g, size_t a, size_t b) {
    return weft_gguf_compare_(g->tensors[a].name, g->tensors[b].name);
}
static int weft_gguf_order_offsets_(const weft_gguf *g, size_t a, size_t b) {
    uint64_t x = g->tensors[a].offset, y = g->tensors[b].offset;
    return x < y ? -1 : x > y;
}

static void weft_gguf_sift_(const weft_gguf *g, size_t *index, size_t root, size_t n,
                            weft_gguf_order_ order) {
    for (;;) {
        size_t child = 2 * root + 1, t;
        if (child >= n)
            return;
        if (child + 1 < n && order(g, index[child], index[child + 1]) < 0)
            child++;
        if (order(g, index[root], index[child]) >= 0)
            return;
        t = index[root];
        index[root] = index[child];
        index[child] = t;
        root = child;
    }
}

/* Heapsort: n log n at worst, in place, without recursion. */
static void weft_gguf_sort_(const weft_gguf *g, size_t *index, size_t n, weft_gguf_order_ order) {
    size_t i, t;
    for (i = 0; i < n; i++)
        index[i] = i;
    for (i = n / 2; i-- > 0;)
        weft_gguf_sift_(g, index, i, n, order);
    for (i = n; i-- > 1;) {
        t = index[0];
        index[0] = index[i];
        index[i] = t;
        weft_gguf_sift_(g, index, 0, i, order);
    }
}

/* ---- Memory ---- */

/* Room for one more item; doubles, so that memory follows what was read and not what was claimed.
 */
static weft_gguf_code weft_gguf_grow_(weft_gguf_reader_ *r, const weft_gguf *g, void **items,
                                      size_t n, size_t item_bytes, size_t *room) {
    size_t wanted = *room == 0 ? 32 : *room * 2;
    void *fresh;
    if (n < *room)
        return WEFT_GGUF_OK;
    if (wanted > (size_t)PTRDIFF_MAX / item_bytes)
        return weft_gguf_fail_(r, WEFT_GGUF_MEMORY, r->at, "out of memory");
    fresh = g->allocator.alloc(g->allocator.ctx, wanted * item_bytes);
    if (fresh == NULL)
        return weft_gguf_fail_(r, WEFT_GGUF_MEMORY, r->at, "out of memory for %llu items",
                               (unsigned long long)wanted);
    if (*items != NULL) {
        memcpy(fresh, *items, n * item_bytes);
        g->allocator.release(g->allocator.ctx, *items, *room * item_bytes);
    }
    *items = fresh;
    *room = wanted;
    return WEFT_GGUF_OK;
}

static void weft_gguf_give_(const weft_gguf *g, const void *memory, size_t n, size_t item_bytes) {
    if (memory != NULL)
        g->allocator.release(g->allocator.ctx, (void *)(uintptr_t)memory, n * item_bytes);
}

WEFT_GGUF_DEF void weft_gguf_free(weft_gguf *gguf) {
    if (gguf == NULL || gguf->allocator.release == NULL)
        return;
    weft_gguf_give_(gguf, gguf->entries, gguf->entries_room, sizeof *gguf->entries);
    weft_gguf_give_(gguf, gguf->tensors, gguf->tensors_room, sizeof *gguf->tensors);
    weft_gguf_give_(gguf, gguf->entries_by_key, gguf->n_entries, sizeof(size_t));
    weft_gguf_give_(gguf, gguf->tensors_by_name, gguf->n_tensors, sizeof(size_t));
    memset(gguf, 0, sizeof *gguf);
}

static weft_gguf_code weft_gguf_index_(weft_gguf_reader_ *r, const weft_gguf *g, size_t n,
                                       size_t **out) {
    if (n == 0)
        return WEFT_GGUF_OK;
    *out = (size_t *)g->allocator.alloc(g->allocator.ctx, n * sizeof **out);
    if (*out == NULL)
        return weft_gguf_fail_(r, WEFT_GGUF_MEMORY, r->at, "out of memory for %llu names",
                               (unsigned long long)n);
    return WEFT_GGUF_OK;
}

/* ---- Header ---- */

static weft_gguf_code weft_gguf_magic_(weft_gguf_reader_ *r) {
    static const struct {
        const char *text;
        size_t at;
        const char *what;
    } known[] = {
        {"version https://git-lfs", 0,
         "a Git LFS pointer, not the model itself: fetch it with git lfs pull"},
        {"<!DOCTYPE", 0, "an HTML page, not a model"},
        {"<!doctype", 0, "an HTML page, not a model"},
        {"<html", 0, "an HTML page, not a model"},
        {"<?xml", 0, "an XML document, not a model"},
        {"tjgg", 0, "a GGJT file, a predecessor of GGUF that needs converting"},
        {"ggjt", 0, "a GGJT file, a predecessor of GGUF that needs converting"},
        {"lmgg", 0, "a GGML file, a predecessor of GGUF that needs converting"},
        {"ggml", 0, "a GGML file, a predecessor of GGUF that needs converting"},
        {"fmgg", 0, "a GGMF file, a predecessor of GGUF that needs converting"},
        {"algg", 0, "a GGLA adapter, a predecessor of GGUF that needs converting"},
        {"FUGG", 0, "a GGUF file with its bytes swapped"},
        {"PK\x03\x04", 0, "a zip archive (perhaps a PyTorch checkpoint)"},
        {"\x1f\x8b", 0, "compressed with gzip"},
        {"{\"", 8, "a safetensors file: give the folder that it lies in"},
    };
    size_t i, n = r->size < 4 ? r->size : 4;
    char hex[16];
    if (r->size == 0)
        return weft_gguf_fail_(r, WEFT_GGUF_TRUNCATED, 0, "the file is empty, no GGUF magic");
    if (n == 4 && memcmp(r->data, "GGUF", 4) == 0) {
        r->at = 4;
        return WEFT_GGUF_OK;
    }
    for (i = 0; i < sizeof known / sizeof known[0]; i++) {
        size_t length = strlen(known[i].text);
        if (r->size >= known[i].at + length &&
            memcmp(r->data + known[i].at, known[i].text, length) == 0)
            return weft_gguf_fail_(r, WEFT_GGUF_NOT_GGUF, 0, "no GGUF magic: the file is %s",
                                   known[i].what);
    }
    if (memcmp(r->data, "GGUF", n) == 0)
        return weft_gguf_fail_(r, WEFT_GGUF_TRUNCATED, 0, "the file ends inside the GGUF magic");
    hex[0] = 0;
    for (i = 0; i < n; i++)
        (void)snprintf(hex + 3 * i, 4, "%02x ", (unsigned)r->data[i]);
    if (n > 0)
        hex[3 * n - 1] = 0;
    return weft_gguf_fail_(r, WEFT_GGUF_NOT_GGUF, 0, "no GGUF magic: the file starts with %s", hex);
}

static weft_gguf_code weft_gguf_header_(weft_gguf_reader_ *r, weft_gguf *g, uint64_t *n_tensors,
                                        uint64_t *n_entries) {
    uint64_t version;
    weft_gguf_code c = weft_gguf_magic_(r);
    if (c == WEFT_GGUF_OK)
        c = weft_gguf_uint_(r, "the version", 4, &version);
    if (c != WEFT_GGUF_OK)
        return c;
    if (version != 0 && (version & 0xffff) == 0)
        return weft_gguf_fail_(r, WEFT_GGUF_UNSUPPORTED, 4,
                               "the file is big endian (version bytes %08llx); only little endian "
                               "is supported",
                               (unsigned long long)version);
    if (version != 2 && version != 3)
        return weft_gguf_fail_(r, WEFT_GGUF_UNSUPPORTED, 4,
                               "GGUF version %llu is not supported (2 and 3 are)",
                               (unsigned long long)version);
    g->version = (uint32_t)version;
    c = weft_gguf_uint_(r, "the number of tensors", 8, n_tensors);
    if (c == WEFT_GGUF_OK)
        c = weft_gguf_uint_(r, "the number of metadata keys", 8, n_entries);
    if (c != WEFT_GGUF_OK)
        return c;
    /* The least a key takes: length, one byte, type, one byte. A tensor: length, one byte, rank,
     * one dimension, type, offset. */
    if (*n_entries > (r->size - r->at) / 14)
        return weft_gguf_fail_(r, WEFT_GGUF_TRUNCATED, 16,
                               "%llu metadata keys are more than the file's %llu bytes can hold",
                               (unsigned long long)*n_entries, (unsigned long long)r->size);
    if (*n_tensors > (r->size - r->at) / 33)
        return weft_gguf_fail_(r, WEFT_GGUF_TRUNCATED, 8,
                               "%llu tensors are more than the file's %llu bytes can hold",
                               (unsigned long long)*n_tensors, (unsigned long long)r->size);
    return WEFT_GGUF_OK;
}

/* ---- Metadata ---- */

/* Well-formed UTF-8 (no overlong forms, surrogates, or values past 10FFFF). */
static bool weft_gguf_utf8_(weft_gguf_string s) {
    const unsigned char *p = (const unsigned char *)s.text, *end = p + s.n_bytes;
    while (p < end) {
        unsigned lead = *p++, low = 0x80, high = 0xbf;
        int more;
        if (lead < 0x80)
            continue;
        if (lead < 0xc2 || lead > 0xf4)
            return false;
        more = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
        if (lead == 0xe0)
            low = 0xa0;
        else if (lead == 0xed)
            high = 0x9f;
        else if (lead == 0xf0)
            low = 0x90;
        else if (lead == 0xf4)
            high = 0x8f;
        for (; more > 0; more--, low = 0x80, high = 0xbf) {
            if (p == end || *p < low || *p > high)
                return false;
            p++;
        }
    }
    return true;
}

static weft_gguf_code weft_gguf_entry_(weft_gguf_reader_ *r, weft_gguf_entry *e) {
    uint64_t type;
    size_t start = r->at;
    weft_gguf_code c;
    r->kind = NULL;
    c = weft_gguf_string_(r, "a metadata key", &e->key);
    if (c != WEFT_GGUF_OK)
        return c;
    if (e->key.n_bytes == 0 || e->key.n_bytes > WEFT_GGUF_MAX_KEY)
        return weft_gguf_fail_(r, WEFT_GGUF_INVALID, start,
                               "a metadata key has %llu bytes (1 to %d are allowed)",
                               (unsigned long long)e->key.n_bytes, WEFT_GGUF_MAX_KEY);
    r->kind = "key";
    r->name = e->key;
    if (memchr(e->key.text, 0, e->key.n_bytes) != NULL)
        return weft_gguf_fail_(r, WEFT_GGUF_INVALID, start, "the key has a NUL byte");
    if (!weft_gguf_utf8_(e->key))
        return weft_gguf_fail_(r, WEFT_GGUF_INVALID, start, "the key is not valid UTF-8");
    start = r->at;
    c = weft_gguf_uint_(r, "the value's type", 4, &type);
    if (c != WEFT_GGUF_OK)
        return c;
    if (type >= WEFT_GGUF_TYPE_COUNT)
        return weft_gguf_fail_(r, WEFT_GGUF_INVALID, start, "unknown value type %llu",
                               (unsigned long long)type);
    e->offset = r->at;
    c = weft_gguf_value_(r, (weft_gguf_type)type, &e->value);
    e->n_bytes = r->at - e->offset;
    return c;
}

static weft_gguf_code weft_gguf_entries_(weft_gguf_reader_ *r, weft_gguf *g, uint64_t n) {
    void *items = NULL;
    weft_gguf_entry e;
    weft_gguf_code c = WEFT_GGUF_OK;
    size_t i;
    memset(&e, 0, sizeof e);
    while (c == WEFT_GGUF_OK && g->n_entries < n) {
        c = weft_gguf_entry_(r, &e);
        if (c == WEFT_GGUF_OK)
            c = weft_gguf_grow_(r, g, &items, g->n_entries, sizeof e, &g->entries_room);
        g->entries = (const weft_gguf_entry *)items;
        if (c == WEFT_GGUF_OK)
            ((weft_gguf_entry *)items)[g->n_entries++] = e;
    }
    r->kind = NULL;
    if (c == WEFT_GGUF_OK)
        c = weft_gguf_index_(r, g, g->n_entries, &g->entries_by_key);
    if (c != WEFT_GGUF_OK)
        return c;
    weft_gguf_sort_(g, g->entries_by_key, g->n_entries, weft_gguf_order_keys_);
    for (i = 1; i < g->n_entries; i++) {
        const weft_gguf_entry *a = &g->entries[g->entries_by_key[i - 1]];
        const weft_gguf_entry *b = &g->entries[g->entries_by_key[i]];
        if (weft_gguf_compare_(a->key, b->key) == 0) {
            r->kind = "key";
            r->name = b->key;
            return weft_gguf_fail_(r, WEFT_GGUF_INVALID,
                                   a->offset > b->offset ? a->offset : b->offset, "duplicate key");
        }
    }
    return WEFT_GGUF_OK;
}

static weft_gguf_code weft_gguf_alignment_(weft_gguf_reader_ *r, weft_gguf *g) {
    const weft_gguf_entry *e = weft_gguf_find(g, "general.alignment");
    int64_t v;
    g->alignment = 32;
    if (e == NULL)
        return WEFT_GGUF_OK;
    r->kind = "key";
    r->name = e->key;
    if (!weft_gguf_integer(&e->value, &v))
        return weft_gguf_fail_(r, WEFT_GGUF_INVALID, e->offset, "the alignment is not an integer");
    if (v <= 0 || v > (int64_t)UINT32_MAX || (v & (v - 1)) != 0)
        return weft_gguf_fail_(r, WEFT_GGUF_INVALID, e->offset,
                               "alignment %lld is not a power of two of 32 bits", (long long)v);
    g->alignment = (uint32_t)v;
    r->kind = NULL;
    return WEFT_GGUF_OK;
}

/* ---- Tensors ---- */

/* Elements and bytes from dims and type; every product checked. */
static weft_gguf_code weft_gguf_measure_(weft_gguf_reader_ *r, weft_gguf_tensor *t, size_t start) {
    const weft_gguf_tensor_info *info = weft_gguf_tensor_type(t->type);
    uint64_t blocks;
    int d;
    if (info == NULL)
        return weft_gguf_fail_(
            r, WEFT_GGUF_UNSUPPORTED, start, "tensor type %lu is %s", (unsigned long)t->type,
            t->type < (uint32_t)WEFT_GGUF_N_TENSOR_TYPES_ ? "no longer part of the format"
                                                          : "unknown");
    t->n_elements = 1;
    for (d = 0; d < t->rank; d++) {
        if (t->dims[d] == 0)
            return weft_gguf_fail_(r, WEFT_GGUF_INVALID, start, "dimension %d is 0", d);
        if (t->dims[d] > (uint64_t)INT64_MAX / t->n_elements)
            return weft_gguf_fail_(r, WEFT_GGUF_INVALID, start,
                                   "the shape's product overflows at dimension %d (%llu)", d,
                                   (unsigned long long)t->dims[d]);
        t->n_elements *= t->dims[d];
    }
    if (t->dims[0] % info->block_elements != 0)
        return weft_gguf_fail_(
            r, WEFT_GGUF_INVALID, start, "rows of %llu elements are no whole %s blocks of %lu",
            (unsigned long long)t->dims[0], info->name, (unsigned long)info->block_elements);
    blocks = t->n_elements / info->block_elements;
    if (blocks > (uint64_t)INT64_MAX / info->block_bytes)
        return weft_gguf_fail_(r, WEFT_GGUF_INVALID, start, "the size in bytes overflows");
    t->n_bytes = blocks * info->block_bytes;
    return WEFT_GGUF_OK;
}

static weft_gguf_code weft_gguf_info_(weft_gguf_reader_ *r, weft_gguf_tensor *t) {
    uint64_t rank, type;
    size_t start = r->at;
    weft_gguf_code c;
    int d;
    memset(t, 0, sizeof *t);
    r->kind = NULL;
    c = weft_gguf_string_(r, "a tensor's name", &t->name);
    if (c != WEFT_GGUF_OK)
        return c;
    r->kind = "tensor";
    r->name = t->name;
    if (t->name.n_bytes == 0 || t->name.n_bytes > WEFT_GGUF_MAX_NAME)
        return weft_gguf_fail_(r, WEFT_GGUF_INVALID, start,
                               "the name has %llu bytes (1 to %d are allowed)",
                               (unsigned long long)t->name.n_bytes, WEFT_GGUF_MAX_NAME);
    if (memchr(t->name.text, 0, t->name.n_bytes) != NULL)
        return weft_gguf_fail_(r, WEFT_GGUF_INVALID, start, "the name has a NUL byte");
    if (!weft_gguf_utf8_(t->name))
        return weft_gguf_fail_(r, WEFT_GGUF_INVALID, start, "the name is not valid UTF-8");
    c = weft_gguf_uint_(r, "the number of dimensions", 4, &rank);
    if (c != WEFT_GGUF_OK)
        return c;
    if (rank == 0 || rank > WEFT_GGUF_MAX_RANK)
        return weft_gguf_fail_(r, WEFT_GGUF_INVALID, start, "%llu dimensions (1 to %d are allowed)",
                               (unsigned long long)rank, WEFT_GGUF_MAX_RANK);
    t->rank = (int)rank;
    for (d = 0; d < t->rank; d++) {
        c = weft_gguf_uint_(r, "a dimension", 8, &t->dims[d]);
        if (c != WEFT_GGUF_OK)
            return c;
    }
    c = weft_gguf_uint_(r, "the tensor's type", 4, &type);
    if (c == WEFT_GGUF_OK)
        c = weft_gguf_uint_(r, "the tensor's offset", 8, &t->offset);
    if (c != WEFT_GGUF_OK)
        return c;
    t->type = (uint32_t)type;
    return weft_gguf_measure_(r, t, start);
}

static weft_gguf_code weft_gguf_infos_(weft_gguf_reader_ *r, weft_gguf *g, uint64_t n) {
    void *items = NULL;
    weft_gguf_tensor t;
    weft_gguf_code c = WEFT_GGUF_OK;
    while (c == WEFT_GGUF_OK && g->n_tensors < n) {
        c = weft_gguf_info_(r, &t);
        if (c == WEFT_GGUF_OK)
            c = weft_gguf_grow_(r, g, &items, g->n_tensors, sizeof t, &g->tensors_room);
        g->tensors = (const weft_gguf_tensor *)items;
        if (c == WEFT_GGUF_OK)
            ((weft_gguf_tensor *)items)[g->n_tensors++] = t;
    }
    return c;
}

/* The data section: offsets become file offsets and are checked against its bounds. */
static weft_gguf_code weft_gguf_place_(weft_gguf_reader_ *r, weft_gguf *g) {
    weft_gguf_tensor *tensors = (weft_gguf_tensor *)(uintptr_t)g->tensors;
    uint64_t mask = (uint64_t)g->alignment - 1, room;
    size_t i;
    g->data_offset = ((uint64_t)r->at + mask) & ~mask;
    if (g->data_offset > r->size) {
        if (g->n_tensors > 0) {
            r->kind = NULL;
            return weft_gguf_fail_(
                r, WEFT_GGUF_TRUNCATED, r->at,
                "the data section starts at %llu, past the end of the file (%llu "
                "bytes)",
                (unsigned long long)g->data_offset, (unsigned long long)r->size);
        }
        g->data_offset = r->size;
    }
    room = r->size - g->data_offset;
    r->kind = "tensor";
    for (i = 0; i < g->n_tensors; i++) {
        weft_gguf_tensor *t = &tensors[i];
        r->name = t->name;
        if ((t->offset & mask) != 0)
            return weft_gguf_fail_(r, WEFT_GGUF_INVALID, (size_t)g->data_offset,
                                   "data offset %llu is no multiple of the alignment %lu",
                                   (unsigned long long)t->offset, (unsigned long)g->alignment);
        if (t->offset > room || t->n_bytes > room - t->offset)
            return weft_gguf_fail_(r, WEFT_GGUF_TRUNCATED, (size_t)g->data_offset,
                                   "data offset %llu + size %llu passes the end of the file (%llu "
                                   "bytes of data)",
                                   (unsigned long long)t->offset, (unsigned long long)t->n_bytes,
                                   (unsigned long long)room);
        t->offset += g->data_offset;
    }
    return WEFT_GGUF_OK;
}

static weft_gguf_code weft_gguf_check_names_(weft_gguf_reader_ *r, weft_gguf *g) {
    size_t i, *order;
    weft_gguf_code c = weft_gguf_index_(r, g, g->n_tensors, &g->tensors_by_name);
    if (c != WEFT_GGUF_OK)
        return c;
    order = g->tensors_by_name;
    r->kind = "tensor";
    weft_gguf_sort_(g, order, g->n_tensors, weft_gguf_order_offsets_);
    for (i = 1; i < g->n_tensors; i++) {
        const weft_gguf_tensor *a = &g->tensors[order[i - 1]], *b = &g->tensors[order[i]];
        char name[WEFT_GGUF_MAX_NAME + 1];
        if (a->offset + a->n_bytes <= b->offset)
            continue;
        if (weft_gguf_compare_(a->name, b->name) == 0)
            continue; /* a duplicate, named below */
        weft_gguf_printable_(a->name, name, sizeof name);
        r->name = b->name;
        return weft_gguf_fail_(r, WEFT_GGUF_INVALID, (size_t)b->offset,
                               "its data overlaps that of tensor '%s'", name);
    }
    weft_gguf_sort_(g, order, g->n_tensors, weft_gguf_order_names_);
    for (i = 1; i < g->n_tensors; i++) {
        const weft_gguf_tensor *a = &g->tensors[order[i - 1]], *b = &g->tensors[order[i]];
        if (weft_gguf_compare_(a->name, b->name) == 0) {
            r->name = b->name;
            return weft_gguf_fail_(r, WEFT_GGUF_INVALID, (size_t)b->offset, "duplicate tensor");
        }
    }
    return WEFT_GGUF_OK;
}

WEFT_GGUF_DEF weft_gguf_code weft_gguf_parse(const void *data, size_t size_bytes,
                                             const weft_gguf_allocator *allocator, weft_gguf *out,
                                             weft_gguf_error *error) {
    weft_gguf_reader_ r;
    uint64_t n_tensors = 0, n_entries = 0;
    weft_gguf_code c;
    memset(&r, 0, sizeof r);
    memset(out, 0, sizeof *out);
    if (error != NULL)
        memset(error, 0, sizeof *error);
    r.data = (const unsigned char *)data;
    r.size = size_bytes;
    r.error = error;
    out->allocator = *allocator;
    c = weft_gguf_header_(&r, out, &n_tensors, &n_entries);
    if (c == WEFT_GGUF_OK)
        c = weft_gguf_entries_(&r, out, n_entries);
    if (c == WEFT_GGUF_OK)
        c = weft_gguf_alignment_(&r, out);
    if (c == WEFT_GGUF_OK)
        c = weft_gguf_infos_(&r, out, n_tensors);
    if (c == WEFT_GGUF_OK)
        c = weft_gguf_place_(&r, out);
    if (c == WEFT_GGUF_OK)
        c = weft_gguf_check_names_(&r, out);
    if (c != WEFT_GGUF_OK)
        weft_gguf_free(out);
    return c;
}

/* ---- Look-up ---- */

WEFT_GGUF_DEF const weft_gguf_entry *weft_gguf_find(const weft_gguf *gguf, const char *key) {
    weft_gguf_string wanted;
    size_t low = 0, high = gguf->n_entries;
    wanted.text = key;
    wanted.n_bytes = strlen(key);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const weft_gguf_entry *e = &gguf->entries[gguf->entries_by_key[middle]];
        int c = weft_gguf_compare_(wanted, e->key);
        if (c == 0)
            return e;
        if (c < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

WEFT_GGUF_DEF const weft_gguf_tensor *weft_gguf_find_tensor(const weft_gguf *gguf,
                                                            const char *name) {
    weft_gguf_string wanted;
    size_t low = 0, high = gguf->n_tensors;
    wanted.text = name;
    wanted.n_bytes = strlen(name);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const weft_gguf_tensor *t = &gguf->tensors[gguf->tensors_by_name[middle]];
        int c = weft_gguf_compare_(wanted, t->name);
        if (c == 0)
            return t;
        if (c < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

#endif /* WEFT_GGUF_IMPLEMENTATION */
