/* safetensors.h: reads safetensors files. A single header that needs nothing but the C library; C11
 * or C++.
 *
 *     #define WEFT_SAFETENSORS_IMPLEMENTATION   // in exactly one translation unit
 *     #include "safetensors.h"
 *
 * weft_safetensors_parse takes the bytes of a file (usually a mapping) and gives its tensors and
 * its metadata. Names and metadata are copied, tensor data stays where it is. Memory comes from the
 * callbacks given and from nowhere else, in proportion to the header. The JSON of the header is
 * read strictly and without recursion; every number, size and range is checked before use. After
 * WEFT_SAFETENSORS_OK names are unique and the tensors' ranges fill the data section without
 * overlap or hole.
 *
 * The format: the README of huggingface/safetensors. JSON: RFC 8259. */
#ifndef WEFT_SAFETENSORS_H
#define WEFT_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef WEFT_SAFETENSORS_DEF
#ifdef __cplusplus
#define WEFT_SAFETENSORS_DEF extern "C"
#else
#define WEFT_SAFETENSORS_DEF extern
#endif
#endif

#define WEFT_SAFETENSORS_MAX_RANK 8
#define WEFT_SAFETENSORS_MAX_HEADER 100000000 /* bytes, as the format says */
#define WEFT_SAFETENSORS_MAX_NESTING 64       /* in members that this reader does not know */

typedef enum weft_safetensors_code {
    WEFT_SAFETENSORS_OK,
    WEFT_SAFETENSORS_TRUNCATED,   /* the file ends where something should be */
    WEFT_SAFETENSORS_UNSUPPORTED, /* a dtype or rank that this reader does not know */
    WEFT_SAFETENSORS_INVALID,     /* against the format, or no JSON */
    WEFT_SAFETENSORS_MEMORY       /* the allocator gave NULL */
} weft_safetensors_code;

typedef struct weft_safetensors_error {
    weft_safetensors_code code;
    uint64_t offset;   /* in the file */
    char message[320]; /* one line; names the tensor, and offset; printable ASCII */
} weft_safetensors_error;

typedef struct weft_safetensors_allocator {
    void *(*alloc)(void *ctx, size_t size_bytes); /* aligned as malloc; NULL: no memory */
    void (*release)(void *ctx, void *memory, size_t size_bytes);
    void *ctx;
} weft_safetensors_allocator;

/* X(spelling, bits an element) */
#define WEFT_SAFETENSORS_DTYPES(X)                                                                 \
    X(BOOL, 8)                                                                                     \
    X(F4, 4)                                                                                       \
    X(F6_E2M3, 6)                                                                                  \
    X(F6_E3M2, 6)                                                                                  \
    X(U8, 8)                                                                                       \
    X(I8, 8)                                                                                       \
    X(F8_E5M2, 8)                                                                                  \
    X(F8_E4M3, 8)                                                                                  \
    X(F8_E8M0, 8)                                                                                  \
    X(I16, 16)                                                                                     \
    X(U16, 16)                                                                                     \
    X(F16, 16)                                                                                     \
    X(BF16, 16)                                                                                    \
    X(I32, 32)                                                                                     \
    X(U32, 32)                                                                                     \
    X(F32, 32)                                                                                     \
    X(C64, 64)                                                                                     \
    X(F64, 64)                                                                                     \
    X(I64, 64)                                                                                     \
    X(U64, 64)

typedef enum weft_safetensors_dtype {
#define WEFT_SAFETENSORS_ENUM_(name, bits) WEFT_SAFETENSORS_##name,
    WEFT_SAFETENSORS_DTYPES(WEFT_SAFETENSORS_ENUM_)
#undef WEFT_SAFETENSORS_ENUM_
        WEFT_SAFETENSORS_DTYPE_COUNT
} weft_safetensors_dtype;

typedef struct weft_safetensors_tensor {
    const char *name; /* NUL-terminated, without NUL inside, not empty */
    size_t name_bytes;
    weft_safetensors_dtype dtype;
    int rank;                                 /* 0 … 8 */
    uint64_t dims[WEFT_SAFETENSORS_MAX_RANK]; /* row-major: the row length comes last */
    uint64_t n_elements;                      /* at most INT64_MAX */
    uint64_t offset, n_bytes;                 /* of the data, from the start of the file */
} weft_safetensors_tensor;

typedef struct weft_safetensors_pair {
    const char *key, *value; /* NUL-terminated; `value` may have NUL inside */
    size_t key_bytes, value_bytes;
} weft_safetensors_pair;

typedef struct weft_safetensors {
    uint64_t data_offset;
    size_t n_tensors, n_pairs;
    const weft_safetensors_tensor *tensors; /* in the header's order */
    const weft_safetensors_pair *pairs;     /* of __metadata__ */
    /* The rest is the parser's own. */
    size_t tensors_room, pairs_room, text_room, text_bytes;
    size_t *by_name; /* sorted */
    char *text;
    weft_safetensors_allocator allocator;
} weft_safetensors;

/* On failure *out is empty and *error (may be NULL) says why. */
WEFT_SAFETENSORS_DEF weft_safetensors_code weft_safetensors_parse(
    const void *data, size_t size_bytes, const weft_safetensors_allocator *allocator,
    weft_safetensors *out, weft_safetensors_error *error);
/* Gives the memory back; an empty or freed one is allowed. */
WEFT_SAFETENSORS_DEF void weft_safetensors_free(weft_safetensors *file);
/* NULL where absent. O(log n). */
WEFT_SAFETENSORS_DEF const weft_safetensors_tensor *weft_safetensors_find(
    const weft_safetensors *file, const char *name);
/* "BF16"; NULL outside the enum. */
WEFT_SAFETENSORS_DEF const char *weft_safetensors_dtype_name(weft_safetensors_dtype dtype);

#endif /* WEFT_SAFETENSORS_H */

#ifdef WEFT_SAFETENSORS_IMPLEMENTATION
#undef WEFT_SAFETENSORS_IMPLEMENTATION

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Where parsing stands, and what a failure is about. Offsets count from the start of the file. */
typedef struct weft_safetensors_reader_ {
    const unsigned char *data;
    size_t end, at; /* of the header's JSON */
    weft_safetensors *file;
    const char *name; /* of the tensor at hand, or NULL */
    weft_safetensors_error *error;
} weft_safetensors_reader_;

typedef struct weft_safetensors_text_ {
    const char *text;
    size_t n_bytes;
} weft_safetensors_text_;

static const struct {
    const char *name;
    unsigned bits;
} weft_safetensors_dtypes_[] = {
#define WEFT_SAFETENSORS_ROW_(name, bits) {#name, bits},
    WEFT_SAFETENSORS_DTYPES(WEFT_SAFETENSORS_ROW_)
#undef WEFT_SAFETENSORS_ROW_
};

WEFT_SAFETENSORS_DEF const char *weft_safetensors_dtype_name(weft_safetensors_dtype dtype) {
    if ((unsigned)dtype >= WEFT_SAFETENSORS_DTYPE_COUNT)
        return NULL;
    return weft_safetensors_dtypes_[dtype].name;
}

/* ---- Failing ---- */

#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
static weft_safetensors_code
weft_safetensors_fail_(weft_safetensors_reader_ *r, weft_safetensors_code code, size_t offset,
                       const char *format, ...) {
    weft_safetensors_error *e = r->error;
    int n;
    va_list args;
    char *p;
    if (e == NULL)
        return code;
    e->code = code;
    e->offset = offset;
    if (r->name != NULL)
        n = snprintf(e->message, sizeof e->message,
                     "tensor '%.80s' at header offset %llu: ", r->name, (unsigned long long)offset);
    else
        n = snprintf(e->message, sizeof e->message,
                     "header offset %llu: ", (unsigned long long)offset);
    va_start(args, format);
    if (n >= 0 && (size_t)n < sizeof e->message)
        (void)vsnprintf(e->message + n, sizeof e->message - (size_t)n, format, args);
    va_end(args);
    for (p = e->message; *p != 0;
         p++) { /* messages go to terminals, and names come from the file */
        if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f)
            *p = '?';
    }
    return code;
}

static weft_safetensors_code weft_safetensors_bad_(weft_safetensors_reader_ *r, const char *what) {
    if (r->at >= r->end)
        return weft_safetensors_fail_(r, WEFT_SAFETENSORS_INVALID, r->at,
                                      "the header's JSON ends where %s should be", what);
    return weft_safetensors_fail_(r, WEFT_SAFETENSORS_INVALID, r->at,
                                  "the header's JSON has byte %02x where %s should be",
                                  (unsigned)r->data[r->at], what);
}

/* ---- JSON ---- */

static void weft_safetensors_space_(weft_safetensors_reader_ *r) {
    while (r->at < r->end) {
        unsigned char c = r->data[r->at];
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
            return;
        r->at++;
    }
}

/* Skips space; true (and consumes) if `c` is next. */
static bool weft_safetensors_take_(weft_safetensors_reader_ *r, char c) {
    weft_safetensors_space_(r);
    if (r->at >= r->end || r->data[r->at] != (unsigned char)c)
        return false;
    r->at++;
    return true;
}

/* Length of the well-formed UTF-8 sequence at `p`, 0 if there is none. */
static size_t weft_safetensors_utf8_(const unsigned char *p, const unsigned char *end) {
    unsigned low = 0x80, high = 0xbf;
    size_t n, i;
    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;
    n = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if ((size_t)(end - p) < n)
        return 0;
    if (p[0] == 0xe0)
        low = 0xa0;
    else if (p[0] == 0xed)
        high = 0x9f;
    else if (p[0] == 0xf0)
        low = 0x90;
    else if (p[0] == 0xf4)
        high = 0x8f;
    for (i = 1; i < n; i++, low = 0x80, high = 0xbf) {
        if (p[i] < low || p[i] > high)
            return 0;
    }
    return n;
}

/* Four hexadecimal digits after a backslash and u; -1 if they are none. */
static long weft_safetensors_hex_(weft_safetensors_reader_ *r) {
    long v = 0;
    int i;
    if (r->end - r->at < 4)
        return -1;
    for (i = 0; i < 4; i++) {
        unsigned char c = r->data[r->at + (size_t)i];
        if (c >= '0' && c <= '9')
            v = v * 16 + (c - '0');
        else if (c >= 'a' && c <= 'f')
            v = v * 16 + (c - 'a' + 10);
        else if (c >= 'A' && c <= 'F')
            v = v * 16 + (c - 'A' + 10);
        else
            return -1;
    }
    r->at += 4;
    return v;
}

static size_t weft_safetensors_encode_(unsigned long c, char *out) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | (c >> 6));
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | (c >> 12));
        out[1] = (char)(0x80 | ((c >> 6) & 63));
        out[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | (c >> 18));
    out[1] = (char)(0x80 | ((c >> 12) & 63));
    out[2] = (char)(0x80 | ((c >> 6) & 63));
    out[3] = (char)(0x80 | (c & 63));
    return 4;
}

/* What follows a backslash, appended to the text. */
static weft_safetensors_code weft_safetensors_escape_(weft_safetensors_reader_ *r) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    weft_safetensors *f = r->file;
    const char *found;
    long high, low;
    unsigned long c;
    if (r->at >= r->end)
        return weft_safetensors_bad_(r, "an escape");
    found = r->data[r->at] != 0 ? strchr(from, r->data[r->at]) : NULL;
    if (found != NULL) {
        f->text[f->text_bytes++] = to[found - from];
        r->at++;
        return WEFT_SAFETENSORS_OK;
    }
    if (r->data[r->at] != 'u')
        return weft_safetensors_bad_(r, "an escape");
    r->at++;
    high = weft_safetensors_hex_(r);
    if (high < 0)
        return weft_safetensors_bad_(r, "four hexadecimal digits");
    c = (unsigned long)high;
    if (c >= 0xd800 && c < 0xe000) {
        if (c >= 0xdc00 || r->end - r->at < 6 || r->data[r->at] != '\\' ||
            r->data[r->at + 1] != 'u')
            return weft_safetensors_bad_(r, "the second half of a surrogate pair");
        r->at += 2;
        low = weft_safetensors_hex_(r);
        if (low < 0xdc00 || low > 0xdfff)
            return weft_safetensors_bad_(r, "the second half of a surrogate pair");
        c = 0x10000 + ((c - 0xd800) << 10) + ((unsigned long)low - 0xdc00);
    }
    f->text_bytes += weft_safetensors_encode_(c, f->text + f->text_bytes);
    return WEFT_SAFETENSORS_OK;
}

/* A string, decoded to the end of the text and NUL-terminated. The text has as many bytes as the
 * header, and decoding never lengthens: the NUL takes the place of a quote. */
static weft_safetensors_code weft_safetensors_string_(weft_safetensors_reader_ *r, const char *what,
                                                      weft_safetensors_text_ *out) {
    weft_safetensors *f = r->file;
    char *start = f->text + f->text_bytes;
    if (!weft_safetensors_take_(r, '"'))
        return weft_safetensors_bad_(r, what);
    for (;;) {
        size_t n;
        unsigned char c;
        if (r->at >= r->end)
            return weft_safetensors_bad_(r, "the end of a string");
        c = r->data[r->at];
        if (c == '"')
            break;
        if (c == '\\') {
            weft_safetensors_code code;
            r->at++;
            code = weft_safetensors_escape_(r);
            if (code != WEFT_SAFETENSORS_OK)
                return code;
            continue;
        }
        n = c < 0x20 ? 0 : weft_safetensors_utf8_(r->data + r->at, r->data + r->end);
        if (n == 0)
            return weft_safetensors_bad_(r, "valid UTF-8 without control characters");
        memcpy(f->text + f->text_bytes, r->data + r->at, n);
        f->text_bytes += n;
        r->at += n;
    }
    r->at++;
    out->text = start;
    out->n_bytes = (size_t)(f->text + f->text_bytes - start);
    f->text[f->text_bytes++] = 0;
    return WEFT_SAFETENSORS_OK;
}

/* A number without sign, fraction and exponent. */
static weft_safetensors_code weft_safetensors_uint_(weft_safetensors_reader_ *r, const char *what,
                                                    uint64_t *out) {
    uint64_t v = 0;
    size_t start;
    weft_safetensors_space_(r);
    start = r->at;
    while (r->at < r->end && r->data[r->at] >= '0' && r->data[r->at] <= '9') {
        uint64_t digit = (uint64_t)(r->data[r->at] - '0');
        if (v > (UINT64_MAX - digit) / 10)
            return weft_safetensors_fail_(r, WEFT_SAFETENSORS_INVALID, start,
                                          "%s does not fit into 64 bits", what);
        v = v * 10 + digit;
        r->at++;
    }
    if (r->at == start)
        return weft_safetensors_bad_(r, what);
    if (r->data[start] == '0' && r->at - start > 1)
        return weft_safetensors_fail_(r, WEFT_SAFETENSORS_INVALID, start,
                                      "%s starts with a zero, which JSON does not allow", what);
    if (r->at < r->end && (r->data[r->at] == '.' || r->data[r->at] == 'e' || r->data[r->at] == 'E'))
        return weft_safetensors_fail_(r, WEFT_SAFETENSORS_INVALID, start,
                                      "%s is a number that is no plain integer", what);
    *out = v;
    return WEFT_SAFETENSORS_OK;
}

static size_t weft_safetensors_digits_(weft_safetensors_reader_ *r) {
    size_t start = r->at;
    while (r->at < r->end && r->data[r->at] >= '0' && r->data[r->at] <= '9')
        r->at++;
    return r->at - start;
}

/* Any number, true, false or null. */
static weft_safetensors_code weft_safetensors_skip_plain_(weft_safetensors_reader_ *r) {
    static const char *const words[] = {"true", "false", "null"};
    size_t i, start;
    for (i = 0; i < 3; i++) {
        size_t n = strlen(words[i]);
        if (r->end - r->at >= n && memcmp(r->data + r->at, words[i], n) == 0) {
            r->at += n;
            return WEFT_SAFETENSORS_OK;
        }
    }
    if (r->at < r->end && r->data[r->at] == '-')
        r->at++;
    start = r->at;
    i = weft_safetensors_digits_(r);
    if (i == 0 || (i > 1 && r->data[start] == '0'))
        return weft_safetensors_bad_(r, "a value");
    if (r->at < r->end && r->data[r->at] == '.') {
        r->at++;
        if (weft_safetensors_digits_(r) == 0)
            return weft_safetensors_bad_(r, "a digit");
    }
    if (r->at < r->end && (r->data[r->at] == 'e' || r->data[r->at] == 'E')) {
        r->at++;
        if (r->at < r->end && (r->data[r->at] == '+' || r->data[r->at] == '-'))
            r->at++;
        if (weft_safetensors_digits_(r) == 0)
            return weft_safetensors_bad_(r, "a digit");
    }
    return WEFT_SAFETENSORS_OK;
}

/* The name and colon of a member, given back from the text at once. */
static weft_safetensors_code weft_safetensors_skip_name_(weft_safetensors_reader_ *r) {
    size_t mark = r->file->text_bytes;
    weft_safetensors_text_ ignored;
    weft_safetensors_code c = weft_safetensors_string_(r, "a member's name", &ignored);
    r->file->text_bytes = mark;
    if (c == WEFT_SAFETENSORS_OK && !weft_safetensors_take_(r, ':'))
        c = weft_safetensors_bad_(r, "a colon");
    return c;
}

/* Any value: of members that this reader does not know. What is open is a stack of brackets. */
static weft_safetensors_code weft_safetensors_skip_(weft_safetensors_reader_ *r) {
    char open[WEFT_SAFETENSORS_MAX_NESTING];
    size_t depth = 0, mark;
    weft_safetensors_text_ ignored;
    weft_safetensors_code c = WEFT_SAFETENSORS_OK;
    for (;;) {
        weft_safetensors_space_(r);
        if (r->at < r->end && (r->data[r->at] == '{' || r->data[r->at] == '[')) {
            bool object = r->data[r->at] == '{';
            if (depth == WEFT_SAFETENSORS_MAX_NESTING)
                return weft_safetensors_fail_(r, WEFT_SAFETENSORS_INVALID, r->at,
                                              "the header's JSON is nested more than %d deep",
                                              WEFT_SAFETENSORS_MAX_NESTING);
            r->at++;
            open[depth++] = object ? '}' : ']';
            if (!weft_safetensors_take_(r, open[depth - 1])) {
                if (object)
                    c = weft_safetensors_skip_name_(r);
                if (c != WEFT_SAFETENSORS_OK)
                    return c;
                continue;
            }
            depth--;
        } else if (r->at < r->end && r->data[r->at] == '"') {
            mark = r->file->text_bytes;
            c = weft_safetensors_string_(r, "a string", &ignored);
            r->file->text_bytes = mark;
        } else {
            c = weft_safetensors_skip_plain_(r);
        }
        /* After a value: close what ends here, then the next one of what is still open. */
        while (c == WEFT_SAFETENSORS_OK && depth > 0 && weft_safetensors_take_(r, open[depth - 1]))
            depth--;
        if (c != WEFT_SAFETENSORS_OK || depth == 0)
            return c;
        if (!weft_safetensors_take_(r, ','))
            return weft_safetensors_bad_(r, "a comma or closing bracket");
        if (open[depth - 1] == '}')
            c = weft_safetensors_skip_name_(r);
        if (c != WEFT_SAFETENSORS_OK)
            return c;
    }
}

/* ---- Memory ---- */

static weft_safetensors_code weft_safetensors_grow_(weft_safetensors_reader_ *r, void **items,
                                                    size_t n, size_t item_bytes, size_t *room) {
    const weft_safetensors_allocator *a = &r->file->allocator;
    size_t wanted = *room == 0 ? 32 : *room * 2;
    void *fresh;
    if (n < *room)
        return WEFT_SAFETENSORS_OK;
    fresh =
        wanted > (size_t)PTRDIFF_MAX / item_bytes ? NULL : a->alloc(a->ctx, wanted * item_bytes);
    if (fresh == NULL)
        return weft_safetensors_fail_(r, WEFT_SAFETENSORS_MEMORY, r->at,
                                      "out of memory for %llu items", (unsigned long long)wanted);
    if (*items != NULL) {
        memcpy(fresh, *items, n * item_bytes);
        a->release(a->ctx, *items, *room * item_bytes);
    }
    *items = fresh;
    *room = wanted;
    return WEFT_SAFETENSORS_OK;
}

static void weft_safetensors_give_(const weft_safetensors *f, const void *memory, size_t n,
                                   size_t item_bytes) {
    if (memory != NULL)
        f->allocator.release(f->allocator.ctx, (void *)(uintptr_t)memory, n * item_bytes);
}

WEFT_SAFETENSORS_DEF void weft_safetensors_free(weft_safetensors *file) {
    if (file == NULL || file->allocator.release == NULL)
        return;
    weft_safetensors_give_(file, file->tensors, file->tensors_room, sizeof *file->tensors);
    weft_safetensors_give_(file, file->pairs, file->pairs_room, sizeof *file->pairs);
    weft_safetensors_give_(file, file->by_name, file->n_tensors, sizeof *file->by_name);
    weft_safetensors_give_(file, file->text, file->text_room, 1);
    memset(file, 0, sizeof *file);
}

/* ---- One tensor ---- */

static weft_safetensors_code weft_safetensors_dtype_(weft_safetensors_reader_ *r,
                                                     weft_safetensors_tensor *t) {
    weft_safetensors_text_ s = {NULL, 0};
    size_t mark = r->file->text_bytes, start = r->at;
    int i;
    weft_safetensors_code c = weft_safetensors_string_(r, "the dtype, a string,", &s);
    r->file->text_bytes = mark;
    if (c != WEFT_SAFETENSORS_OK)
        return c;
    for (i = 0; i < (int)WEFT_SAFETENSORS_DTYPE_COUNT; i++) {
        const char *name = weft_safetensors_dtypes_[i].name;
        if (strlen(name) == s.n_bytes && memcmp(name, s.text, s.n_bytes) == 0) {
            t->dtype = (weft_safetensors_dtype)i;
            return WEFT_SAFETENSORS_OK;
        }
    }
    return weft_safetensors_fail_(r, WEFT_SAFETENSORS_UNSUPPORTED, start, "unknown dtype '%.40s'",
                                  s.text);
}

static weft_safetensors_code weft_safetensors_shape_(weft_safetensors_reader_ *r,
                                                     weft_safetensors_tensor *t) {
    weft_safetensors_code c;
    t->rank = 0;
    if (!weft_safetensors_take_(r, '['))
        return weft_safetensors_bad_(r, "the shape, an array,");
    if (weft_safetensors_take_(r, ']'))
        return WEFT_SAFETENSORS_OK;
    for (;;) {
        if (t->rank == WEFT_SAFETENSORS_MAX_RANK)
            return weft_safetensors_fail_(r, WEFT_SAFETENSORS_UNSUPPORTED, r->at,
                                          "the shape has more than %d dimensions",
                                          WEFT_SAFETENSORS_MAX_RANK);
        c = weft_safetensors_uint_(r, "a dimension of the shape", &t->dims[t->rank]);
        if (c != WEFT_SAFETENSORS_OK)
            return c;
        t->rank++;
        if (weft_safetensors_take_(r, ']'))
            return WEFT_SAFETENSORS_OK;
        if (!weft_safetensors_take_(r, ','))
            return weft_safetensors_bad_(r, "a comma or the end of the shape");
    }
}

/* "data_offsets": [begin, end), relative to the data section. */
static weft_safetensors_code weft_safetensors_offsets_(weft_safetensors_reader_ *r,
                                                       weft_safetensors_tensor *t, size_t size) {
    uint64_t begin = 0, end = 0, room = size - r->file->data_offset;
    size_t start = r->at;
    weft_safetensors_code c;
    if (!weft_safetensors_take_(r, '['))
        return weft_safetensors_bad_(r, "data_offsets, an array,");
    c = weft_safetensors_uint_(r, "the first of data_offsets", &begin);
    if (c == WEFT_SAFETENSORS_OK && !weft_safetensors_take_(r, ','))
        c = weft_safetensors_bad_(r, "the second of data_offsets");
    if (c == WEFT_SAFETENSORS_OK)
        c = weft_safetensors_uint_(r, "the second of data_offsets", &end);
    if (c == WEFT_SAFETENSORS_OK && !weft_safetensors_take_(r, ']'))
        c = weft_safetensors_bad_(r, "the end of data_offsets");
    if (c != WEFT_SAFETENSORS_OK)
        return c;
    if (begin > end)
        return weft_safetensors_fail_(r, WEFT_SAFETENSORS_INVALID, start,
                                      "data_offsets end (%llu) before they begin (%llu)",
                                      (unsigned long long)end, (unsigned long long)begin);
    if (end > room)
        return weft_safetensors_fail_(r, WEFT_SAFETENSORS_TRUNCATED, start,
                                      "data_offsets end at %llu, past the end of the file (%llu "
                                      "bytes of data)",
                                      (unsigned long long)end, (unsigned long long)room);
    t->offset = begin; /* relative until the file's order has been checked */
    t->n_bytes = end - begin;
    return WEFT_SAFETENSORS_OK;
}

/* The shape's product must be the size that the offsets give. */
static weft_safetensors_code weft_safetensors_measure_(weft_safetensors_reader_ *r,
                                                       weft_safetensors_tensor *t, size_t start) {
    uint64_t bits = weft_safetensors_dtypes_[t->dtype].bits, n = 1;
    bool empty = false;
    int d;
    for (d = 0; d < t->rank; d++) {
        uint64_t extent = t->dims[d];
        empty = empty || extent == 0;
        if (extent > (uint64_t)INT64_MAX || (extent != 0 && n > (uint64_t)INT64_MAX / extent))
            return weft_safetensors_fail_(r, WEFT_SAFETENSORS_INVALID, start,
                                          "the shape's product overflows at dimension %d (%llu)", d,
                                          (unsigned long long)extent);
        n *= extent != 0 ? extent : 1;
    }
    t->n_elements = empty ? 0 : n;
    if (t->n_elements > UINT64_MAX / bits)
        return weft_safetensors_fail_(r, WEFT_SAFETENSORS_INVALID, start,
                                      "the shape's size in bytes overflows");
    if (t->n_elements * bits % 8 != 0)
        return weft_safetensors_fail_(r, WEFT_SAFETENSORS_INVALID, start,
                                      "the shape's elements are no whole number of bytes");
    if (t->n_elements * bits / 8 != t->n_bytes)
        return weft_safetensors_fail_(r, WEFT_SAFETENSORS_INVALID, start,
                                      "the shape takes %llu bytes of %s, data_offsets give %llu",
                                      (unsigned long long)(t->n_elements * bits / 8),
                                      weft_safetensors_dtypes_[t->dtype].name,
                                      (unsigned long long)t->n_bytes);
    return WEFT_SAFETENSORS_OK;
}

static weft_safetensors_code weft_safetensors_tensor_(weft_safetensors_reader_ *r,
                                                      weft_safetensors_tensor *t, size_t size) {
    enum { DTYPE = 1, SHAPE = 2, OFFSETS = 4 };
    static const char *const names[] = {"dtype", "shape", "data_offsets"};
    unsigned seen = 0;
    size_t start = r->at, mark, i;
    weft_safetensors_code c;
    if (!weft_safetensors_take_(r, '{'))
        return weft_safetensors_bad_(r, "the tensor's description, an object,");
    if (!weft_safetensors_take_(r, '}')) {
        do {
            weft_safetensors_text_ s;
            mark = r->file->text_bytes;
            c = weft_safetensors_string_(r, "a member's name", &s);
            r->file->text_bytes = mark;
            if (c != WEFT_SAFETENSORS_OK)
                return c;
            for (i = 0; i < 3; i++) {
                if (strlen(names[i]) == s.n_bytes && memcmp(names[i], s.text, s.n_bytes) == 0)
                    break;
            }
            if (i < 3 && (seen & (1u << i)) != 0)
                return weft_safetensors_fail_(r, WEFT_SAFETENSORS_INVALID, r->at,
                                              "duplicate member %s", names[i]);
            seen |= i < 3 ? 1u << i : 0;
            if (!weft_safetensors_take_(r, ':'))
                return weft_safetensors_bad_(r, "a colon");
            weft_safetensors_space_(r);
            c = i == 0   ? weft_safetensors_dtype_(r, t)
                : i == 1 ? weft_safetensors_shape_(r, t)
                : i == 2 ? weft_safetensors_offsets_(r, t, size)
                         : weft_safetensors_skip_(r);
            if (c != WEFT_SAFETENSORS_OK)
                return c;
        } while (weft_safetensors_take_(r, ','));
        if (!weft_safetensors_take_(r, '}'))
            return weft_safetensors_bad_(r, "a comma or the end of the tensor's description");
    }
    for (i = 0; i < 3; i++) {
        if ((seen & (1u << i)) == 0)
            return weft_safetensors_fail_(r, WEFT_SAFETENSORS_INVALID, start, "%s is missing",
                                          names[i]);
    }
    return weft_safetensors_measure_(r, t, start);
}

/* ---- The header ---- */

static weft_safetensors_code weft_safetensors_pairs_(weft_safetensors_reader_ *r) {
    weft_safetensors *f = r->file;
    void *items = NULL;
    weft_safetensors_text_ key, value;
    weft_safetensors_pair pair;
    weft_safetensors_code c;
    if (f->pairs != NULL)
        return weft_safetensors_fail_(r, WEFT_SAFETENSORS_INVALID, r->at, "duplicate __metadata__");
    if (!weft_safetensors_take_(r, '{'))
        return weft_safetensors_bad_(r, "__metadata__, an object of strings,");
    /* Room from the start marks that __metadata__ was seen, also when it is empty. */
    c = weft_safetensors_grow_(r, &items, 0, sizeof pair, &f->pairs_room);
    f->pairs = (const weft_safetensors_pair *)items;
    if (c != WEFT_SAFETENSORS_OK || weft_safetensors_take_(r, '}'))
        return c;
    do {
        c = weft_safetensors_string_(r, "a key of __metadata__", &key);
        if (c == WEFT_SAFETENSORS_OK && !weft_safetensors_take_(r, ':'))
            c = weft_safetensors_bad_(r, "a colon");
        if (c == WEFT_SAFETENSORS_OK)
            c = weft_safetensors_string_(r, "a value of __metadata__, a string,", &value);
        if (c == WEFT_SAFETENSORS_OK)
            c = weft_safetensors_grow_(r, &items, f->n_pairs, sizeof pair, &f->pairs_room);
        f->pairs = (const weft_safetensors_pair *)items;
        if (c != WEFT_SAFETENSORS_OK)
            return c;
        pair.key = key.text;
        pair.key_bytes = key.n_bytes;
        pair.value = value.text;
        pair.value_bytes = value.n_bytes;
        ((weft_safetensors_pair *)items)[f->n_pairs++] = pair;
    } while (weft_safetensors_take_(r, ','));
    if (!weft_safetensors_take_(r, '}'))
        return weft_safetensors_bad_(r, "a comma or the end of __metadata__");
    return WEFT_SAFETENSORS_OK;
}

static weft_safetensors_code weft_safetensors_members_(weft_safetensors_reader_ *r, size_t size) {
    weft_safetensors *f = r->file;
    void *items = NULL;
    weft_safetensors_code c;
    if (!weft_safetensors_take_(r, '{'))
        return weft_safetensors_bad_(r, "an object");
    if (!weft_safetensors_take_(r, '}')) {
        do {
            weft_safetensors_tensor t;
            weft_safetensors_text_ name;
            size_t start = r->at;
            memset(&t, 0, sizeof t);
            c = weft_safetensors_string_(r, "a tensor's name", &name);
            if (c == WEFT_SAFETENSORS_OK && !weft_safetensors_take_(r, ':'))
                c = weft_safetensors_bad_(r, "a colon");
            if (c != WEFT_SAFETENSORS_OK)
                return c;
            if (name.n_bytes == 12 && memcmp(name.text, "__metadata__", 12) == 0) {
                c = weft_safetensors_pairs_(r);
                if (c != WEFT_SAFETENSORS_OK)
                    return c;
                continue;
            }
            if (name.n_bytes == 0 || memchr(name.text, 0, name.n_bytes) != NULL)
                return weft_safetensors_fail_(r, WEFT_SAFETENSORS_INVALID, start,
                                              "a tensor's name is empty or has a NUL");
            r->name = t.name = name.text;
            t.name_bytes = name.n_bytes;
            c = weft_safetensors_tensor_(r, &t, size);
            if (c == WEFT_SAFETENSORS_OK)
                c = weft_safetensors_grow_(r, &items, f->n_tensors, sizeof t, &f->tensors_room);
            f->tensors = (const weft_safetensors_tensor *)items;
            if (c != WEFT_SAFETENSORS_OK)
                return c;
            ((weft_safetensors_tensor *)items)[f->n_tensors++] = t;
            r->name = NULL;
        } while (weft_safetensors_take_(r, ','));
        if (!weft_safetensors_take_(r, '}'))
            return weft_safetensors_bad_(r, "a comma or the end of the header");
    }
    weft_safetensors_space_(r);
    return r->at == r->end ? WEFT_SAFETENSORS_OK
                           : weft_safetensors_bad_(r, "nothing but padding spaces");
}

/* ---- Sorted orders: duplicates, overlaps, holes and look-up ---- */

static int weft_safetensors_compare_(const char *a, size_t n_a, const char *b, size_t n_b) {
    int c = memcmp(a, b, n_a < n_b ? n_a : n_b);
    return c != 0 ? c : n_a < n_b ? -1 : n_a > n_b;
}

typedef enum weft_safetensors_by_ {
    WEFT_SAFETENSORS_BY_NAME_,
    WEFT_SAFETENSORS_BY_OFFSET_,
    WEFT_SAFETENSORS_BY_KEY_
} weft_safetensors_by_;

static bool weft_safetensors_less_(const weft_safetensors *f, size_t i, size_t j,
                                   weft_safetensors_by_ by) {
    if (by == WEFT_SAFETENSORS_BY_KEY_) {
        const weft_safetensors_pair *a = &f->pairs[i], *b = &f->pairs[j];
        return weft_safetensors_compare_(a->key, a->key_bytes, b->key, b->key_bytes) < 0;
    } else {
        const weft_safetensors_tensor *a = &f->tensors[i], *b = &f->tensors[j];
        if (by == WEFT_SAFETENSORS_BY_OFFSET_)
            return a->offset != b->offset ? a->offset < b->offset : a->n_bytes < b->n_bytes;
        return weft_safetensors_compare_(a->name, a->name_bytes, b->name, b->name_bytes) < 0;
    }
}

static void weft_safetensors_sift_(const weft_safetensors *f, size_t *index, size_t root, size_t n,
                                   weft_safetensors_by_ by) {
    for (;;) {
        size_t child = 2 * root + 1, t;
        if (child >= n)
            return;
        if (child + 1 < n && weft_safetensors_less_(f, index[child], index[child + 1], by))
            child++;
        if (!weft_safetensors_less_(f, index[root], index[child], by))
            return;
        t = index[root];
        index[root] = index[child];
        index[child] = t;
        root = child;
    }
}

/* Heapsort: n log n at worst, in place, without recursion. */
static void weft_safetensors_sort_(const weft_safetensors *f, size_t *index, size_t n,
                                   weft_safetensors_by_ by) {
    size_t i, t;
    for (i = 0; i < n; i++)
        index[i] = i;
    for (i = n / 2; i-- > 0;)
        weft_safetensors_sift_(f, index, i, n, by);
    for (i = n; i-- > 1;) {
        t = index[0];
        index[0] = index[i];
        index[i] = t;
        weft_safetensors_sift_(f, index, 0, i, by);
    }
}

static weft_safetensors_code weft_safetensors_index_(weft_safetensors_reader_ *r, size_t n,
                                                     size_t **out) {
    const weft_safetensors_allocator *a = &r->file->allocator;
    *out = n > 0 ? (size_t *)a->alloc(a->ctx, n * sizeof **out) : NULL;
    if (n > 0 && *out == NULL)
        return weft_safetensors_fail_(r, WEFT_SAFETENSORS_MEMORY, 8, "out of memory for %llu names",
                                      (unsigned long long)n);
    return WEFT_SAFETENSORS_OK;
}

static weft_safetensors_code weft_safetensors_check_pairs_(weft_safetensors_reader_ *r) {
    const weft_safetensors *f = r->file;
    size_t i, n = f->n_pairs, *index;
    weft_safetensors_code c = weft_safetensors_index_(r, n, &index);
    if (c != WEFT_SAFETENSORS_OK)
        return c;
    weft_safetensors_sort_(f, index, n, WEFT_SAFETENSORS_BY_KEY_);
    for (i = 1; i < n && c == WEFT_SAFETENSORS_OK; i++) {
        if (!weft_safetensors_less_(f, index[i - 1], index[i], WEFT_SAFETENSORS_BY_KEY_))
            c = weft_safetensors_fail_(r, WEFT_SAFETENSORS_INVALID, 8,
                                       "duplicate key '%.80s' in __metadata__",
                                       f->pairs[index[i]].key);
    }
    weft_safetensors_give_(f, index, n, sizeof *index);
    return c;
}

static weft_safetensors_code weft_safetensors_order_(weft_safetensors_reader_ *r, size_t size) {
    weft_safetensors *f = r->file;
    weft_safetensors_tensor *tensors = (weft_safetensors_tensor *)(uintptr_t)f->tensors;
    uint64_t at = 0, room = size - f->data_offset;
    size_t i, n = f->n_tensors;
    weft_safetensors_code c = weft_safetensors_check_pairs_(r);
    if (c == WEFT_SAFETENSORS_OK)
        c = weft_safetensors_index_(r, n, &f->by_name);
    if (c != WEFT_SAFETENSORS_OK)
        return c;
    weft_safetensors_sort_(f, f->by_name, n, WEFT_SAFETENSORS_BY_NAME_);
    for (i = 1; i < n; i++) {
        const weft_safetensors_tensor *a = &tensors[f->by_name[i - 1]];
        const weft_safetensors_tensor *b = &tensors[f->by_name[i]];
        r->name = b->name;
        if (weft_safetensors_compare_(a->name, a->name_bytes, b->name, b->name_bytes) == 0)
            return weft_safetensors_fail_(r, WEFT_SAFETENSORS_INVALID, 8, "duplicate name");
    }
    weft_safetensors_sort_(f, f->by_name, n, WEFT_SAFETENSORS_BY_OFFSET_);
    for (i = 0; i < n; i++) {
        weft_safetensors_tensor *t = &tensors[f->by_name[i]];
        r->name = t->name;
        if (t->offset != at)
            return weft_safetensors_fail_(
                r, WEFT_SAFETENSORS_INVALID, 8,
                "data_offsets begin at %llu, %s the tensor before, which ends at %llu",
                (unsigned long long)t->offset,
                t->offset < at ? "overlapping" : "leaving a hole after", (unsigned long long)at);
        at += t->n_bytes;
        t->offset += f->data_offset;
    }
    r->name = NULL;
    if (at != room)
        return weft_safetensors_fail_(r, WEFT_SAFETENSORS_INVALID, 8,
                                      "the tensors fill %llu of %llu bytes of data",
                                      (unsigned long long)at, (unsigned long long)room);
    weft_safetensors_sort_(f, f->by_name, n, WEFT_SAFETENSORS_BY_NAME_);
    return WEFT_SAFETENSORS_OK;
}

static weft_safetensors_code weft_safetensors_header_(weft_safetensors_reader_ *r, size_t size) {
    weft_safetensors *f = r->file;
    uint64_t n = 0;
    int i;
    if (size < 8)
        return weft_safetensors_fail_(r, WEFT_SAFETENSORS_TRUNCATED, 0,
                                      "the file has %llu bytes, the header's length alone takes 8",
                                      (unsigned long long)size);
    for (i = 0; i < 8; i++)
        n |= (uint64_t)r->data[i] << (8 * i);
    if (n > size - 8)
        return weft_safetensors_fail_(r, WEFT_SAFETENSORS_TRUNCATED, 0,
                                      "the header's length is %llu, the file has %llu bytes%s",
                                      (unsigned long long)n, (unsigned long long)size,
                                      memcmp(r->data, "version ", 8) == 0
                                          ? " (it looks like a Git LFS pointer: fetch the model "
                                            "with git lfs pull)"
                                          : "");
    if (n < 2 || n > WEFT_SAFETENSORS_MAX_HEADER)
        return weft_safetensors_fail_(r, WEFT_SAFETENSORS_INVALID, 0,
                                      "the header's length is %llu (2 to %d are allowed)",
                                      (unsigned long long)n, WEFT_SAFETENSORS_MAX_HEADER);
    r->at = 8;
    r->end = 8 + (size_t)n;
    f->data_offset = r->end;
    if (r->data[8] != '{')
        return weft_safetensors_bad_(r, "an object");
    f->text = (char *)f->allocator.alloc(f->allocator.ctx, (size_t)n);
    if (f->text == NULL)
        return weft_safetensors_fail_(r, WEFT_SAFETENSORS_MEMORY, 0,
                                      "out of memory for a header of %llu bytes",
                                      (unsigned long long)n);
    f->text_room = (size_t)n;
    return WEFT_SAFETENSORS_OK;
}

WEFT_SAFETENSORS_DEF weft_safetensors_code weft_safetensors_parse(
    const void *data, size_t size_bytes, const weft_safetensors_allocator *allocator,
    weft_safetensors *out, weft_safetensors_error *error) {
    weft_safetensors_reader_ r;
    weft_safetensors_code c;
    memset(&r, 0, sizeof r);
    memset(out, 0, sizeof *out);
    if (error != NULL)
        memset(error, 0, sizeof *error);
    r.data = (const unsigned char *)data;
    r.file = out;
    r.error = error;
    out->allocator = *allocator;
    c = weft_safetensors_header_(&r, size_bytes);
    if (c == WEFT_SAFETENSORS_OK)
        c = weft_safetensors_members_(&r, size_bytes);
    if (c == WEFT_SAFETENSORS_OK)
        c = weft_safetensors_order_(&r, size_bytes);
    if (c != WEFT_SAFETENSORS_OK)
        weft_safetensors_free(out);
    return c;
}

WEFT_SAFETENSORS_DEF const weft_safetensors_tensor *weft_safetensors_find(
    const weft_safetensors *file, const char *name) {
    size_t low = 0, high = file->n_tensors, n = strlen(name);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const weft_safetensors_tensor *t = &file->tensors[file->by_name[middle]];
        int c = weft_safetensors_compare_(name, n, t->name, t->name_bytes);
        if (c == 0)
            return t;
        if (c < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

#endif /* WEFT_SAFETENSORS_IMPLEMENTATION */
