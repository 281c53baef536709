/* ZIP archives: members stored without compression, found through the central directory at the
 * end. What is written has ZIP64 fields throughout, so that there is one form for all sizes. */
#include "loader/zip.h"

#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"

#define LOCAL_BYTES 30
#define CENTRAL_BYTES 46
#define END_BYTES 22
#define END64_BYTES 56
#define LOCATOR_BYTES 20
#define LOCAL_EXTRA 20   /* id, length, two sizes */
#define CENTRAL_EXTRA 28 /* the same, and an offset */
#define LOCAL_MAGIC 0x04034b50u
#define CENTRAL_MAGIC 0x02014b50u
#define END_MAGIC 0x06054b50u
#define END64_MAGIC 0x06064b50u
#define LOCATOR_MAGIC 0x07064b50u
#define NO_U32 0xffffffffu /* the true value stands in a ZIP64 field */

/* ---- CRC-32 (ISO 3309), eight bytes a step ---- */

typedef struct crc_tables {
    uint32_t t[8][256];
} crc_tables;

static void make_tables(crc_tables *c) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t r = i;
        for (int bit = 0; bit < 8; bit++)
            r = r & 1 ? 0xedb88320u ^ r >> 1 : r >> 1;
        c->t[0][i] = r;
    }
    for (int k = 1; k < 8; k++)
        for (int i = 0; i < 256; i++)
            c->t[k][i] = c->t[0][c->t[k - 1][i] & 255] ^ c->t[k - 1][i] >> 8;
}

static uint32_t crc_of(const crc_tables *c, uint32_t crc, const unsigned char *p, size_t n) {
    crc = ~crc;
    for (; n >= 8; n -= 8, p += 8) {
        uint32_t w[2];
        memcpy(w, p, 8); /* weft runs on little-endian machines */
        w[0] ^= crc;
        crc = c->t[7][w[0] & 255] ^ c->t[6][w[0] >> 8 & 255] ^ c->t[5][w[0] >> 16 & 255] ^
              c->t[4][w[0] >> 24] ^ c->t[3][w[1] & 255] ^ c->t[2][w[1] >> 8 & 255] ^
              c->t[1][w[1] >> 16 & 255] ^ c->t[0][w[1] >> 24];
    }
    for (; n > 0; n--, p++)
        crc = c->t[0][(crc ^ *p) & 255] ^ crc >> 8;
    return ~crc;
}

/* ---- Reading ---- */

static unsigned u16_at(const unsigned char *p) {
    return (unsigned)p[0] | (unsigned)p[1] << 8;
}

static uint32_t u32_at(const unsigned char *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

static uint64_t u64_at(const unsigned char *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

/* The end record: the last one whose comment reaches exactly to the end. */
static bool find_end(const unsigned char *data, size_t n, size_t *out) {
    for (size_t comment = 0; comment <= 65535 && comment + END_BYTES <= n; comment++) {
        size_t at = n - END_BYTES - comment;
        if (u32_at(data + at) == END_MAGIC && u16_at(data + at + 20) == comment) {
            *out = at;
            return true;
        }
    }
    return false;
}

weft_status weft_zip_open(const unsigned char *data, size_t n, weft_zip *out) {
    size_t end;
    *out = (weft_zip){.data = data, .n_bytes = n};
    if (!find_end(data, n, &end))
        return weft_fail(WEFT_E_FORMAT, "no zip archive: it has no end record");
    uint64_t n_members = u16_at(data + end + 10), size = u32_at(data + end + 12),
             offset = u32_at(data + end + 16);
    if (end >= LOCATOR_BYTES && u32_at(data + end - LOCATOR_BYTES) == LOCATOR_MAGIC) {
        uint64_t at = u64_at(data + end - LOCATOR_BYTES + 8);
        end -= LOCATOR_BYTES;
        if (end < END64_BYTES || at > end - END64_BYTES || u32_at(data + at) != END64_MAGIC)
            return weft_fail(WEFT_E_FORMAT, "the zip archive's ZIP64 end record is not where its "
                                            "locator says");
        end = (size_t)at;
        n_members = u64_at(data + end + 32);
        size = u64_at(data + end + 40);
        offset = u64_at(data + end + 48);
    }
    if (offset > end || size > end - offset || n_members > size / CENTRAL_BYTES)
        return weft_fail(WEFT_E_FORMAT,
                         "the zip archive's directory (%llu members, %llu bytes at %llu) does not "
                         "fit into %zu bytes",
                         (unsigned long long)n_members, (unsigned long long)size,
                         (unsigned long long)offset, end);
    out->at = (size_t)offset;
    out->end = (size_t)(offset + size);
    out->n_left = n_members;
    out->bytes_left = (size_t)offset;
    return WEFT_OK;
}

/* What a directory entry says. */
typedef struct entry {
    uint64_t packed, size, offset;
    unsigned flags, method, name_bytes, extra_bytes;
    uint32_t crc;
    const unsigned char *name;
} entry;

/* Takes the 64-bit fields, of which only those stand there that do not fit before; false: absent.
 */
static bool take_zip64(entry *e, const unsigned char *extra) {
    uint64_t *const fields[] = {&e->size, &e->packed, &e->offset};
    size_t at = 0, n = e->extra_bytes;
    while (n - at >= 4 && u16_at(extra + at) != 1) {
        size_t skip = 4 + (size_t)u16_at(extra + at + 2);
        if (skip > n - at)
            return false;
        at += skip;
    }
    size_t length = n - at >= 4 ? u16_at(extra + at + 2) : 0;
    if (n - at < 4 || length > n - at - 4)
        return false;
    at += 4;
    for (int i = 0; i < 3; i++) {
        if (*fields[i] != NO_U32)
            continue;
        if (length < 8)
            return false;
        *fields[i] = u64_at(extra + at);
        at += 8;
        length -= 8;
    }
    return true;
}

static weft_status take_entry(weft_zip *z, entry *e) {
    const unsigned char *p = z->data + z->at;
    if (z->end - z->at < CENTRAL_BYTES || u32_at(p) != CENTRAL_MAGIC)
        return weft_fail(WEFT_E_FORMAT, "offset %zu: no entry of the zip archive's directory",
                         z->at);
    *e = (entry){.flags = u16_at(p + 8),
                 .method = u16_at(p + 10),
                 .crc = u32_at(p + 16),
                 .packed = u32_at(p + 20),
                 .size = u32_at(p + 24),
                 .name_bytes = u16_at(p + 28),
                 .extra_bytes = u16_at(p + 30),
                 .offset = u32_at(p + 42),
                 .name = p + CENTRAL_BYTES};
    size_t all = CENTRAL_BYTES + (size_t)e->name_bytes + e->extra_bytes + u16_at(p + 32);
    if (all > z->end - z->at)
        return weft_fail(WEFT_E_FORMAT,
                         "offset %zu: the zip archive's directory ends inside an "
                         "entry",
                         z->at);
    if ((e->packed == NO_U32 || e->size == NO_U32 || e->offset == NO_U32) &&
        !take_zip64(e, e->name + e->name_bytes))
        return weft_fail(WEFT_E_FORMAT, "offset %zu: the entry lacks its ZIP64 sizes", z->at);
    z->at += all;
    z->n_left--;
    return WEFT_OK;
}

/* The member's bytes, behind a header of its own that repeats the name. */
static weft_status find_data(weft_zip *z, const entry *e, weft_zip_member *m) {
    int shown = e->name_bytes < 80 ? (int)e->name_bytes : 80;
    const char *name = (const char *)e->name;
    if (e->flags & 1u)
        return weft_fail(WEFT_E_UNSUPPORTED, "member '%.*s' is encrypted", shown, name);
    if (e->method != 0)
        return weft_fail(WEFT_E_UNSUPPORTED,
                         "member '%.*s' is compressed (method %u): only stored ones are read, as "
                         "numpy.savez writes them",
                         shown, name, e->method);
    if (e->size != e->packed)
        return weft_fail(WEFT_E_FORMAT, "member '%.*s' is stored, but of two sizes", shown, name);
    if (e->offset > z->n_bytes || z->n_bytes - e->offset < LOCAL_BYTES ||
        u32_at(z->data + e->offset) != LOCAL_MAGIC)
        return weft_fail(WEFT_E_FORMAT, "member '%.*s' has no header at offset %llu", shown, name,
                         (unsigned long long)e->offset);
    const unsigned char *local = z->data + e->offset;
    size_t before = LOCAL_BYTES + (size_t)u16_at(local + 26) + u16_at(local + 28);
    size_t left = z->n_bytes - (size_t)e->offset;
    if (before > left || e->size > left - before)
        return weft_fail(WEFT_E_FORMAT, "member '%.*s' reaches beyond the archive", shown, name);
    if (u16_at(local + 26) != e->name_bytes ||
        memcmp(local + LOCAL_BYTES, e->name, e->name_bytes) != 0)
        return weft_fail(WEFT_E_FORMAT, "member '%.*s' has another name in its own header", shown,
                         name);
    /* Members that lie over each other would make much out of little. */
    if (before + e->size > z->bytes_left)
        return weft_fail(WEFT_E_FORMAT,
                         "the members overlap: '%.*s' does not fit beside those "
                         "before it",
                         shown, name);
    z->bytes_left -= before + (size_t)e->size;
    *m = (weft_zip_member){name, e->name_bytes, local + before, (size_t)e->size};
    return WEFT_OK;
}

weft_status weft_zip_next(weft_zip *zip, weft_zip_member *member) {
    entry e;
    *member = (weft_zip_member){0};
    if (zip->n_left == 0)
        return WEFT_OK;
    weft_status status = take_entry(zip, &e);
    if (!status)
        status = find_data(zip, &e, member);
    if (status)
        return status;
    crc_tables tables;
    make_tables(&tables);
    if (crc_of(&tables, 0, member->data, member->size_bytes) != e.crc)
        return weft_fail(WEFT_E_FORMAT, "member '%.*s' is damaged: its checksum differs",
                         e.name_bytes < 80 ? (int)e.name_bytes : 80, member->name);
    return WEFT_OK;
}

/* ---- Writing ---- */

struct weft_zip_out {
    weft_allocator allocator;
    weft_writer *writer;
    crc_tables tables;
    uint64_t n, offset;
    unsigned char *directory;
    size_t directory_bytes, room;
};

/* Little-endian numbers one after another. */
static unsigned char *put(unsigned char *p, uint64_t v, size_t bytes) {
    memcpy(p, &v, bytes);
    return p + bytes;
}

weft_status weft_zip_create(const weft_allocator *a, const char *path, size_t n_members,
                            size_t names_bytes, weft_zip_out **out) {
    *out = NULL;
    weft_zip_out *o = weft_alloc_zeroed(a, sizeof *o);
    if (!o)
        return weft_fail(WEFT_E_MEMORY, "%s: out of memory", path);
    o->allocator = *a;
    if (!weft_mul_size(n_members, CENTRAL_BYTES + CENTRAL_EXTRA, &o->room) ||
        !weft_add_size(o->room, names_bytes + 1, &o->room))
        o->room = 0;
    o->directory = weft_alloc(a, o->room);
    weft_status status = o->directory ? weft_writer_open(a, path, &o->writer)
                                      : weft_fail(WEFT_E_MEMORY, "%s: out of memory", path);
    make_tables(&o->tables);
    if (status)
        weft_zip_abort(&o);
    *out = o;
    return status;
}

/* What both headers of a member have from its flags on: stored, UTF-8 names, the first day of 1980
 * (the same files from the same tensors), sizes in ZIP64. */
static unsigned char *put_common(unsigned char *p, uint32_t crc, size_t name_bytes, size_t extra) {
    p = put(p, 0x800, 2);
    p = put(p, 0, 2);
    p = put(p, 0, 2);
    p = put(p, 0x21, 2);
    p = put(p, crc, 4);
    p = put(p, NO_U32, 4);
    p = put(p, NO_U32, 4);
    p = put(p, name_bytes, 2);
    return put(p, extra, 2);
}

static void add_entry(weft_zip_out *o, const char *name, size_t name_bytes, uint32_t crc,
                      uint64_t size) {
    unsigned char *p = o->directory + o->directory_bytes;
    p = put(p, CENTRAL_MAGIC, 4);
    p = put(p, 3u << 8 | 45, 2); /* made on Unix, by version 4.5 */
    p = put(p, 45, 2);
    p = put_common(p, crc, name_bytes, CENTRAL_EXTRA);
    p = put(p, 0, 2);              /* comment */
    p = put(p, 0, 2);              /* disk */
    p = put(p, 0, 2);              /* internal attributes */
    p = put(p, 0100644u << 16, 4); /* Unix mode */
    p = put(p, NO_U32, 4);
    memcpy(p, name, name_bytes);
    p = put(p + name_bytes, 1, 2);
    p = put(p, CENTRAL_EXTRA - 4, 2);
    p = put(p, size, 8);
    p = put(p, size, 8);
    p = put(p, o->offset, 8);
    o->directory_bytes = (size_t)(p - o->directory);
    o->n++;
}

weft_status weft_zip_put(weft_zip_out *o, const char *name, const void *head, size_t head_bytes,
                         const void *body, size_t body_bytes) {
    size_t name_bytes = strlen(name);
    uint64_t size = (uint64_t)head_bytes + body_bytes;
    if (name_bytes > 65535)
        return weft_fail(WEFT_E_ARGUMENT, "the name '%.80s…' is too long for a zip archive", name);
    if (CENTRAL_BYTES + CENTRAL_EXTRA + name_bytes > o->room - o->directory_bytes)
        return weft_fail(WEFT_E_RANGE, "'%.80s': more members than were announced", name);
    uint32_t crc = crc_of(&o->tables, 0, head, head_bytes);
    crc = crc_of(&o->tables, crc, body, body_bytes);
    unsigned char local[LOCAL_BYTES], extra[LOCAL_EXTRA], *p = put(local, LOCAL_MAGIC, 4);
    put_common(put(p, 45, 2), crc, name_bytes, LOCAL_EXTRA);
    p = put(put(extra, 1, 2), LOCAL_EXTRA - 4, 2);
    put(put(p, size, 8), size, 8);
    const struct {
        const void *data;
        size_t n;
    } parts[] = {{local, sizeof local},
                 {name, name_bytes},
                 {extra, sizeof extra},
                 {head, head_bytes},
                 {body, body_bytes}};
    add_entry(o, name, name_bytes, crc, size);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        weft_status status = weft_writer_put(o->writer, parts[i].data, parts[i].n);
        if (status)
            return status;
        o->offset += parts[i].n;
    }
    return WEFT_OK;
}

/* The ZIP64 end record, its locator, and the old end record, which points at them; of an empty
 * archive the old one alone, by whose magic readers know it. */
static weft_status put_end(weft_zip_out *o) {
    static const unsigned char nothing[END_BYTES] = {0x50, 0x4b, 5, 6};
    if (o->n == 0)
        return weft_writer_put(o->writer, nothing, sizeof nothing);
    unsigned char end[END64_BYTES + LOCATOR_BYTES + END_BYTES], *p = put(end, END64_MAGIC, 4);
    p = put(p, END64_BYTES - 12, 8);
    p = put(p, 3u << 8 | 45, 2);
    p = put(p, 45, 2);
    p = put(p, 0, 8); /* disks */
    p = put(p, o->n, 8);
    p = put(p, o->n, 8);
    p = put(p, o->directory_bytes, 8);
    p = put(p, o->offset, 8);
    p = put(p, LOCATOR_MAGIC, 4);
    p = put(p, 0, 4);
    p = put(p, o->offset + o->directory_bytes, 8);
    p = put(p, 1, 4);
    p = put(p, END_MAGIC, 4);
    p = put(p, 0, 4);
    p = put(p, 0xffff, 2);
    p = put(p, 0xffff, 2);
    p = put(p, NO_U32, 4);
    p = put(p, NO_U32, 4);
    put(p, 0, 2);
    weft_status status = weft_writer_put(o->writer, o->directory, o->directory_bytes);
    return status ? status : weft_writer_put(o->writer, end, sizeof end);
}

weft_status weft_zip_commit(weft_zip_out **out) {
    weft_status status = put_end(*out);
    if (!status)
        status = weft_writer_commit(&(*out)->writer);
    weft_zip_abort(out);
    return status;
}

void weft_zip_abort(weft_zip_out **out) {
    weft_zip_out *o = *out;
    *out = NULL;
    if (!o)
        return;
    weft_allocator a = o->allocator;
    weft_writer_abort(&o->writer);
    weft_dealloc(&a, o->directory, o->room);
    weft_dealloc(&a, o, sizeof *o);
}
