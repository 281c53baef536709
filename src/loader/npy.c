/* .npy files: a magic, a version, the length of a header that is a Python dict of three members,
 * and the elements. Of Python's syntax only what numpy writes is understood. */
#include "loader/npy.h"

#include <stdio.h>
#include <string.h>
#include "loader/bundle.h"
#include "tensor/scope.h"
#include "base/file.h"

#define MAX_HEADER 65536 /* bytes; numpy itself stops at 10,000 */

static const struct {
    char kind;
    size_t bytes;
    weft_dtype dtype;
} dtypes[] = {{'f', 8, WEFT_F64}, {'f', 4, WEFT_F32}, {'f', 2, WEFT_F16},
              {'i', 8, WEFT_I64}, {'i', 4, WEFT_I32}, {'i', 2, WEFT_I16},
              {'i', 1, WEFT_I8},  {'u', 1, WEFT_U8},  {'b', 1, WEFT_BOOL}};

enum { N_DTYPES = sizeof dtypes / sizeof dtypes[0] };

/* ---- Reading the header ---- */

typedef struct reader {
    const char *at, *end;
    weft_npy *npy;
} reader;

static weft_status bad(const reader *r, const char *what) {
    if (r->at >= r->end)
        return weft_fail(WEFT_E_FORMAT, "the npy header ends where %s should be", what);
    return weft_fail(WEFT_E_FORMAT, "the npy header has byte %02x where %s should be",
                     (unsigned)(unsigned char)*r->at, what);
}

static bool take(reader *r, char c) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t'))
        r->at++;
    if (r->at >= r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

/* A string without escapes, in either quotes. */
static weft_status take_string(reader *r, const char *what, const char **text, size_t *n) {
    char quote = take(r, '\'') ? '\'' : '"';
    if (quote == '"' && !take(r, '"'))
        return bad(r, what);
    const char *end = memchr(r->at, quote, (size_t)(r->end - r->at));
    if (!end || memchr(r->at, '\\', (size_t)(end - r->at)))
        return weft_fail(WEFT_E_FORMAT, "the npy header has a broken string");
    *text = r->at;
    *n = (size_t)(end - r->at);
    r->at = end + 1;
    return WEFT_OK;
}

/* "<f4": byte order, kind, bytes an element. */
static weft_status take_descr(reader *r) {
    const char *text;
    size_t n;
    if (take(r, '['))
        return weft_fail(WEFT_E_UNSUPPORTED, "records (a structured dtype) are not supported");
    weft_status status = take_string(r, "the dtype", &text, &n);
    if (status)
        return status;
    if (n >= 2 && (text[0] == '|' || text[0] == '<') && text[1] == 'O')
        return weft_fail(WEFT_E_UNSUPPORTED, "Python objects are not read");
    if (n >= 2 && text[1] == 'V')
        return weft_fail(WEFT_E_UNSUPPORTED,
                         "dtype '%.*s' is raw bytes (bf16 has no dtype in npy files)",
                         (int)(n < 20 ? n : 20), text);
    if (n == 3 && strchr("<>|=", text[0])) {
        for (size_t i = 0; i < N_DTYPES; i++) {
            if (text[1] == dtypes[i].kind && text[2] == (char)('0' + dtypes[i].bytes)) {
                r->npy->dtype = dtypes[i].dtype;
                r->npy->swapped = text[0] == '>' && dtypes[i].bytes > 1;
                return WEFT_OK;
            }
        }
    }
    return weft_fail(WEFT_E_UNSUPPORTED, "dtype '%.*s' is not supported", (int)(n < 20 ? n : 20),
                     text);
}

static weft_status take_order(reader *r) {
    static const char *const words[] = {"False", "True"};
    take(r, ' '); /* never true: skips the space */
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(r->end - r->at) >= n && memcmp(r->at, words[i], n) == 0) {
            r->npy->fortran = i == 1;
            r->at += n;
            return WEFT_OK;
        }
    }
    return bad(r, "True or False");
}

static weft_status take_extent(reader *r, int64_t *out) {
    int64_t v = 0;
    const char *first = r->at;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
        if (!weft_mul_i64(v, 10, &v) || !weft_add_i64(v, *r->at - '0', &v))
            return weft_fail(WEFT_E_FORMAT, "an extent of the npy header is too large");
    if (r->at == first)
        return bad(r, "an extent");
    if (r->at < r->end && *r->at == 'L') /* Python 2 wrote long integers so */
        r->at++;
    *out = v;
    return WEFT_OK;
}

static weft_status take_shape(reader *r) {
    if (!take(r, '('))
        return bad(r, "the shape");
    for (r->npy->rank = 0; !take(r, ')'); r->npy->rank++) {
        if (r->npy->rank == WEFT_MAX_RANK)
            return weft_fail(WEFT_E_UNSUPPORTED, "more than %d dims", WEFT_MAX_RANK);
        weft_status status = take_extent(r, &r->npy->dims[r->npy->rank]);
        if (status)
            return status;
        if (take(r, ','))
            continue;
        if (r->npy->rank == 0)
            return bad(r, "the comma of a tuple");
        r->npy->rank++;
        return take(r, ')') ? WEFT_OK : bad(r, "the end of the shape");
    }
    return WEFT_OK;
}

static weft_status take_dict(reader *r) {
    static const struct {
        const char *name;
        weft_status (*take)(reader *r);
    } members[] = {{"descr", take_descr}, {"fortran_order", take_order}, {"shape", take_shape}};
    unsigned seen = 0;
    if (!take(r, '{'))
        return bad(r, "a dict");
    while (!take(r, '}')) {
        const char *key;
        size_t n, i = 0;
        weft_status status = take_string(r, "a key", &key, &n);
        if (status)
            return status;
        while (i < 3 && (strlen(members[i].name) != n || memcmp(members[i].name, key, n) != 0))
            i++;
        if (i == 3 || seen & 1u << i)
            return weft_fail(WEFT_E_FORMAT, "the npy header has the key '%.*s'%s",
                             (int)(n < 40 ? n : 40), key, i == 3 ? "" : " twice");
        seen |= 1u << i;
        if (!take(r, ':'))
            return bad(r, "a colon");
        status = members[i].take(r);
        if (status)
            return status;
        if (!take(r, ',')) {
            if (!take(r, '}'))
                return bad(r, "the end of the dict");
            break;
        }
    }
    take(r, ' ');
    if (r->at != r->end)
        return bad(r, "nothing more");
    return seen == 7
               ? WEFT_OK
               : weft_fail(WEFT_E_FORMAT, "the npy header lacks descr, fortran_order or shape");
}

/* Bytes before the header's text, and its length. */
static weft_status take_preamble(const unsigned char *data, size_t n, size_t *begin,
                                 size_t *length) {
    if (n < 10 || memcmp(data, "\x93NUMPY", 6) != 0)
        return weft_fail(WEFT_E_FORMAT, "no npy file: it does not begin with its magic");
    if (data[6] < 1 || data[6] > 3 || data[7] != 0)
        return weft_fail(WEFT_E_UNSUPPORTED, "npy version %u.%u", (unsigned)data[6],
                         (unsigned)data[7]);
    *begin = data[6] == 1 ? 10 : 12;
    if (n < *begin)
        return weft_fail(WEFT_E_FORMAT, "the file ends inside the npy header");
    *length = (size_t)data[8] | (size_t)data[9] << 8;
    if (data[6] > 1)
        *length |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
    if (*length > MAX_HEADER)
        return weft_fail(WEFT_E_FORMAT, "the npy header is %zu bytes long; %d are the most",
                         *length, MAX_HEADER);
    if (*length > n - *begin)
        return weft_fail(WEFT_E_FORMAT, "the file ends inside the npy header");
    return WEFT_OK;
}

weft_status weft_npy_parse(const unsigned char *data, size_t n, weft_npy *out) {
    char text[256];
    size_t begin = 0, length = 0;
    weft_shape shape;
    *out = (weft_npy){0};
    weft_status status = take_preamble(data, n, &begin, &length);
    if (status)
        return status;
    reader r = {(const char *)data + begin, (const char *)data + begin + length, out};
    status = take_dict(&r);
    if (!status)
        status =
            weft_shape_contiguous(out->dtype, WEFT_LAYOUT_STRIDED, out->rank, out->dims, &shape);
    if (status)
        return status == WEFT_E_OVERFLOW ? weft_fail_in(WEFT_E_FORMAT, "the npy header") : status;
    out->data = data + begin + length;
    out->size_bytes = shape.size_bytes;
    size_t left = n - begin - length;
    if (left != out->size_bytes)
        return weft_fail(WEFT_E_FORMAT, "%s %s takes %zu bytes, and %zu follow the npy header",
                         weft_dims_text(out->rank, out->dims, text, sizeof text),
                         weft_dtype_name(out->dtype), out->size_bytes, left);
    return WEFT_OK;
}

/* ---- Elements ---- */

static void copy_item(unsigned char *to, const unsigned char *from, size_t bytes, bool swapped) {
    if (!swapped)
        memcpy(to, from, bytes);
    for (size_t i = 0; swapped && i < bytes; i++)
        to[i] = from[bytes - 1 - i];
}

/* Element by element: in C order here, and with the file's strides there. */
static void copy_strided(const weft_npy *npy, unsigned char *to) {
    size_t item = weft_dtype_block_bytes(npy->dtype), stride[WEFT_MAX_RANK], step = item, from = 0;
    int64_t at[WEFT_MAX_RANK] = {0};
    for (int i = 0; i < npy->rank; i++) {
        int d = npy->fortran ? i : npy->rank - 1 - i;
        stride[d] = step;
        step *= (size_t)npy->dims[d];
    }
    for (size_t done = 0; done < npy->size_bytes; done += item) {
        copy_item(to + done, npy->data + from, item, npy->swapped);
        int d = npy->rank - 1;
        for (; d >= 0; d--) {
            from += stride[d];
            if (++at[d] < npy->dims[d])
                break;
            from -= stride[d] * (size_t)npy->dims[d];
            at[d] = 0;
        }
    }
}

weft_status weft_npy_read(const weft_npy *npy, void *to) {
    if (npy->dtype == WEFT_BOOL) {
        weft_status status = weft_bools_check(npy->data, npy->size_bytes);
        if (status)
            return status;
    }
    if (npy->size_bytes > 0 && (npy->swapped || (npy->fortran && npy->rank > 1)))
        copy_strided(npy, to);
    else if (npy->size_bytes > 0)
        memcpy(to, npy->data, npy->size_bytes);
    return WEFT_OK;
}

/* ---- Writing ---- */

weft_status weft_npy_header(weft_dtype dtype, int rank, const int64_t *dims,
                            char out[WEFT_NPY_HEADER_ROOM], size_t *n) {
    size_t i = 0;
    while (i < N_DTYPES && dtypes[i].dtype != dtype)
        i++;
    if (i == N_DTYPES)
        return weft_fail(WEFT_E_DTYPE, "npy files have no %s%s", weft_dtype_name(dtype),
                         dtype == WEFT_BF16 ? ": cast to f32, or write safetensors" : "");
    char shape[8 * 22 + 3] = "(";
    size_t at = 1;
    for (int d = 0; d < rank; d++)
        at += (size_t)snprintf(shape + at, sizeof shape - at, "%s%lld%s", d > 0 ? ", " : "",
                               (long long)dims[d], rank == 1 ? "," : "");
    snprintf(shape + at, sizeof shape - at, ")");
    int length = snprintf(out + 10, WEFT_NPY_HEADER_ROOM - 10,
                          "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': %s, }",
                          dtypes[i].bytes > 1 ? '<' : '|', dtypes[i].kind, dtypes[i].bytes, shape);
    size_t used = 10 + (size_t)length, all = (used + 1 + 63) / 64 * 64;
    memset(out + used, ' ', all - used - 1);
    out[all - 1] = '\n';
    memcpy(out, "\x93NUMPY\x01", 8); /* with the NUL: version 1.0 */
    out[8] = (char)((all - 10) & 255);
    out[9] = (char)((all - 10) >> 8);
    *n = all;
    return WEFT_OK;
}

weft_tensor *weft_npy_load(weft_scope *s, const char *path) {
    weft_mapping map;
    weft_npy npy;
    weft_tensor *t = NULL;
    if (!weft_scope_ready(s, "npy_load", NULL, 0))
        return NULL;
    if (!path)
        return weft_scope_fail(s, WEFT_E_NULL, "npy_load", "path is NULL");
    weft_status status = weft_file_map(path, &map);
    if (status) {
        weft_scope_fail_in(s, status, "npy_load");
        return NULL;
    }
    status = weft_npy_parse(map.data, map.size_bytes, &npy);
    if (!status) {
        t = weft_scope_new(s, "npy_load", npy.dtype, npy.rank, npy.dims);
        status = t ? weft_npy_read(&npy, weft_tensor_data(t)) : WEFT_OK;
    }
    weft_file_unmap(&map);
    if (!status)
        return t;
    weft_fail_in(status, "%s", path);
    weft_scope_fail_in(s, status, "npy_load");
    return NULL;
}

static weft_status save(const weft_allocator *a, const char *path, weft_tensor *t) {
    char header[WEFT_NPY_HEADER_ROOM];
    size_t n;
    weft_elements elements;
    weft_writer *writer;
    weft_status status = weft_npy_header(t->dtype, t->rank, t->dims, header, &n);
    if (!status)
        status = weft_elements_open(a, t, &elements);
    if (status)
        return weft_fail_in(status, "%s", path);
    status = weft_writer_open(a, path, &writer);
    if (!status) {
        status = weft_writer_put(writer, header, n);
        if (!status)
            status = weft_writer_put(writer, elements.data, elements.size_bytes);
        if (!status)
            status = weft_writer_commit(&writer);
        weft_writer_abort(&writer);
    }
    weft_elements_close(&elements);
    return status;
}

weft_status weft_npy_save(weft_scope *s, const char *path, weft_tensor *t) {
    if (!s)
        return weft_fail(WEFT_E_NULL, "npy_save: the scope is NULL");
    if (!weft_scope_ready(s, "npy_save", &t, 1))
        return weft_scope_status(s);
    weft_status status =
        path ? save(&s->engine->allocator, path, t) : weft_fail(WEFT_E_NULL, "path is NULL");
    if (status)
        weft_scope_fail_in(s, status, "npy_save");
    return status;
}
