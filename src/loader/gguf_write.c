/* The writer of GGUF files. The header is made in memory (a vocabulary's strings are megabytes),
 * tensors pass through. */
#include "loader/gguf_write.h"

#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "base/file.h"
#include "loader/gguf_types.h"

#define DEFAULT_ALIGNMENT 32

struct weft_gguf_out {
    weft_allocator allocator;
    weft_writer *writer;
    uint64_t *sizes; /* [n] */
    size_t n, at;    /* items; the one in work */
    uint64_t done;   /* bytes of it */
    uint64_t alignment;
};

/* ---- The header's bytes ---- */

typedef struct weft_bytes {
    const weft_allocator *a;
    unsigned char *data; /* NULL: only counting */
    size_t n, room;
    bool counting;
    weft_status status; /* first error; later puts do nothing */
} weft_bytes;

static void put(weft_bytes *b, const void *data, size_t n) {
    size_t end;
    if (b->status || n == 0)
        return;
    if (!weft_add_size(b->n, n, &end)) {
        b->status = weft_fail(WEFT_E_OVERFLOW, "the header is too long");
        return;
    }
    if (!b->counting && end > b->room) {
        size_t room = b->room ? b->room : 4096;
        while (room < end && room <= SIZE_MAX / 2)
            room *= 2;
        unsigned char *more = room >= end ? weft_realloc(b->a, b->data, b->room, room) : NULL;
        if (!more) {
            b->status = weft_fail(WEFT_E_MEMORY, "out of memory for a header of %zu bytes", end);
            return;
        }
        b->data = more;
        b->room = room;
    }
    if (!b->counting)
        memcpy(b->data + b->n, data, n);
    b->n = end;
}

static void put_u32(weft_bytes *b, uint32_t v) {
    put(b, &v, sizeof v); /* weft runs on little-endian machines */
}

static void put_u64(weft_bytes *b, uint64_t v) {
    put(b, &v, sizeof v);
}

static void put_string(weft_bytes *b, const char *text, size_t n) {
    put_u64(b, n);
    put(b, text, n);
}

static void put_zeros(weft_bytes *b, size_t n) {
    static const unsigned char zeros[64];
    for (size_t k; n > 0 && !b->status; n -= k) {
        k = n < sizeof zeros ? n : sizeof zeros;
        put(b, zeros, k);
    }
}

static void put_scalar(weft_bytes *b, const weft_value *v) {
    float f32;
    uint64_t bits;
    switch (v->type) {
    case WEFT_VALUE_STRING:
        put_string(b, v->as.s.text, v->as.s.n_bytes);
        break;
    case WEFT_VALUE_F32:
        f32 = (float)v->as.f;
        put(b, &f32, 4);
        break;
    case WEFT_VALUE_F64:
        put(b, &v->as.f, 8);
        break;
    default: /* the low bytes of an integer */
        bits = v->as.u;
        if (v->type == WEFT_VALUE_I8 || v->type == WEFT_VALUE_I16 || v->type == WEFT_VALUE_I32 ||
            v->type == WEFT_VALUE_I64)
            bits = (uint64_t)v->as.i;
        put(b, &bits,
            v->type == WEFT_VALUE_U8 || v->type == WEFT_VALUE_I8 || v->type == WEFT_VALUE_BOOL ? 1
            : v->type == WEFT_VALUE_U16 || v->type == WEFT_VALUE_I16                           ? 2
            : v->type == WEFT_VALUE_U32 || v->type == WEFT_VALUE_I32                           ? 4
                                                                                               : 8);
    }
}

static void put_entry(weft_bytes *b, const weft_metadata *m, size_t i) {
    weft_value v, item;
    const char *key = weft_metadata_at(m, i, &v);
    put_string(b, key, strlen(key));
    put_u32(b, (uint32_t)v.type); /* numbered alike */
    if (v.type != WEFT_VALUE_ARRAY) {
        put_scalar(b, &v);
        return;
    }
    if (v.as.array.type == WEFT_VALUE_ARRAY && v.as.array.n > 0 && !b->status) {
        b->status =
            weft_fail(WEFT_E_FORMAT, "key '%.200s': an array of arrays cannot be written", key);
        return;
    }
    put_u32(b, (uint32_t)v.as.array.type);
    put_u64(b, v.as.array.n);
    for (size_t j = 0; weft_metadata_item(m, i, j, &item); j++)
        put_scalar(b, &item);
}

static bool number_of(weft_dtype dtype, uint32_t *number) {
    size_t n = sizeof weft_gguf_dtypes / sizeof weft_gguf_dtypes[0];
    for (size_t i = 0; i < n; i++)
        if (weft_gguf_dtypes[i] == dtype && (dtype != WEFT_F64 || i == 28)) {
            *number = (uint32_t)i;
            return true;
        }
    return false;
}

static uint64_t padded(uint64_t n, uint64_t alignment) {
    return (n + alignment - 1) / alignment * alignment;
}

weft_status weft_gguf_item_bytes(const weft_gguf_item *item, uint64_t *size_bytes) {
    uint64_t block = weft_dtype_block(item->dtype), n = 1;
    uint32_t number;
    if (!number_of(item->dtype, &number))
        return weft_fail(WEFT_E_UNSUPPORTED, "tensor '%s': GGUF has no type %s", item->name,
                         weft_dtype_name(item->dtype));
    if (item->rank < 1 || item->rank > 4)
        return weft_fail(WEFT_E_SHAPE, "tensor '%s': %d dims, GGUF has 1 to 4", item->name,
                         item->rank);
    for (int d = 0; d < item->rank; d++)
        if (item->dims[d] < 1)
            return weft_fail(WEFT_E_SHAPE, "tensor '%s': dim %d is %lld", item->name, d,
                             (long long)item->dims[d]);
    for (int d = 0; d < item->rank; d++)
        if (!weft_mul_u64(n, (uint64_t)item->dims[d], &n))
            return weft_fail(WEFT_E_OVERFLOW, "tensor '%s': too large", item->name);
    if ((uint64_t)item->dims[item->rank - 1] % block != 0)
        return weft_fail(WEFT_E_SHAPE, "tensor '%s': rows of %lld are not whole blocks of %s",
                         item->name, (long long)item->dims[item->rank - 1],
                         weft_dtype_name(item->dtype));
    if (!weft_mul_u64(n / block, weft_dtype_block_bytes(item->dtype), size_bytes) ||
        *size_bytes > UINT64_MAX / 4)
        return weft_fail(WEFT_E_OVERFLOW, "tensor '%s': too large", item->name);
    return WEFT_OK;
}

static void put_item(weft_bytes *b, const weft_gguf_item *item, uint64_t offset) {
    uint32_t number = 0;
    number_of(item->dtype, &number);
    put_string(b, item->name, strlen(item->name));
    put_u32(b, (uint32_t)item->rank);
    for (int d = item->rank - 1; d >= 0; d--) /* the row length first */
        put_u64(b, (uint64_t)item->dims[d]);
    put_u32(b, number);
    put_u64(b, offset);
}

static weft_status alignment_of(const weft_metadata *metadata, uint64_t *alignment) {
    uint32_t said = DEFAULT_ALIGNMENT;
    weft_status status = weft_metadata_u32(metadata, "general.alignment", &said);
    if (status && status != WEFT_E_NOT_FOUND)
        return status;
    if (said == 0 || (said & (said - 1)) != 0 || said > 1u << 20)
        return weft_fail(WEFT_E_FORMAT, "general.alignment: %u cannot be used", said);
    *alignment = said;
    return WEFT_OK;
}

static weft_status make_header(weft_bytes *b, const weft_metadata *metadata,
                               const weft_gguf_item *items, size_t n, uint64_t alignment) {
    uint64_t offset = 0, size_bytes;
    put(b, "GGUF", 4);
    put_u32(b, 3);
    put_u64(b, n);
    put_u64(b, weft_metadata_count(metadata));
    for (size_t i = 0; i < weft_metadata_count(metadata); i++)
        put_entry(b, metadata, i);
    for (size_t i = 0; i < n && !b->status; i++) {
        b->status = weft_gguf_item_bytes(&items[i], &size_bytes);
        put_item(b, &items[i], offset);
        if (!b->status && !weft_add_u64(offset, padded(size_bytes, alignment), &offset))
            b->status = weft_fail(WEFT_E_OVERFLOW, "the tensors are too large");
    }
    put_zeros(b, (size_t)(padded(b->n, alignment) - b->n));
    return b->status;
}

weft_status weft_gguf_header_bytes(const weft_metadata *metadata, const weft_gguf_item *items,
                                   size_t n, uint64_t *size_bytes) {
    weft_bytes b = {.counting = true};
    uint64_t alignment = 0;
    weft_status status = alignment_of(metadata, &alignment);
    if (!status)
        status = make_header(&b, metadata, items, n, alignment);
    *size_bytes = b.n;
    return status;
}

/* ---- Writing ---- */

static weft_status fill(weft_gguf_out *o, const char *path, const weft_metadata *metadata,
                        const weft_gguf_item *items) {
    weft_status status = alignment_of(metadata, &o->alignment);
    for (size_t i = 0; !status && i < o->n; i++)
        status = weft_gguf_item_bytes(&items[i], &o->sizes[i]);
    weft_bytes header = {.a = &o->allocator};
    if (!status)
        status = make_header(&header, metadata, items, o->n, o->alignment);
    if (!status)
        status = weft_writer_open(&o->allocator, path, &o->writer);
    if (!status)
        status = weft_writer_put(o->writer, header.data, header.n);
    weft_dealloc(&o->allocator, header.data, header.room);
    return status;
}

weft_status weft_gguf_create(const weft_allocator *a, const char *path,
                             const weft_metadata *metadata, const weft_gguf_item *items, size_t n,
                             weft_gguf_out **out) {
    *out = NULL;
    weft_gguf_out *o = weft_alloc_zeroed(a, sizeof *o);
    if (!o)
        return weft_fail(WEFT_E_MEMORY, "%s: out of memory", path);
    o->allocator = *a;
    o->n = n;
    o->sizes = weft_alloc_zeroed(a, weft_size_of(n, sizeof *o->sizes));
    weft_status status = n > 0 && !o->sizes ? weft_fail(WEFT_E_MEMORY, "out of memory")
                                            : fill(o, path, metadata, items);
    if (status) {
        weft_gguf_abort(&o);
        return strncmp(weft_detail(), path, strlen(path)) == 0 ? status
                                                               : weft_fail_in(status, "%s", path);
    }
    *out = o;
    return WEFT_OK;
}

/* Items that are whole are padded and done with. */
static weft_status finish_items(weft_gguf_out *o) {
    static const unsigned char zeros[64];
    weft_status status = WEFT_OK;
    while (!status && o->at < o->n && o->done == o->sizes[o->at]) {
        uint64_t rest = padded(o->done, o->alignment) - o->done;
        for (size_t k; !status && rest > 0; rest -= k) {
            k = rest < sizeof zeros ? (size_t)rest : sizeof zeros;
            status = weft_writer_put(o->writer, zeros, k);
        }
        o->at++;
        o->done = 0;
    }
    return status;
}

weft_status weft_gguf_put(weft_gguf_out *o, const void *data, size_t size_bytes) {
    const unsigned char *from = data;
    weft_status status = finish_items(o);
    while (!status && size_bytes > 0) {
        if (o->at == o->n)
            return weft_fail(WEFT_E_FORMAT, "more bytes than the tensors have");
        uint64_t left = o->sizes[o->at] - o->done;
        size_t piece = size_bytes < left ? size_bytes : (size_t)left;
        status = weft_writer_put(o->writer, from, piece);
        from += piece;
        size_bytes -= piece;
        o->done += piece;
        if (!status)
            status = finish_items(o);
    }
    return status;
}

static void out_free(weft_gguf_out **out) {
    weft_gguf_out *o = *out;
    *out = NULL;
    weft_allocator a = o->allocator;
    weft_dealloc(&a, o->sizes, o->n * sizeof *o->sizes);
    weft_dealloc(&a, o, sizeof *o);
}

weft_status weft_gguf_commit(weft_gguf_out **out) {
    weft_gguf_out *o = *out;
    weft_status status = finish_items(o);
    if (!status && o->at < o->n)
        status = weft_fail(WEFT_E_FORMAT, "tensor %zu of %zu was not written whole", o->at, o->n);
    if (status)
        weft_writer_abort(&o->writer);
    else
        status = weft_writer_commit(&o->writer);
    out_free(out);
    return status;
}

void weft_gguf_abort(weft_gguf_out **out) {
    if (!out || !*out)
        return;
    weft_writer_abort(&(*out)->writer);
    out_free(out);
}
