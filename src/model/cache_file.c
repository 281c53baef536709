/* Saving a sequence and loading it back. Layout, little-endian: a header, then for each layer the
 * rows of K and then of V in order of position, then a checksum of everything before it. */
#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "model/cache_impl.h"

typedef struct header {
    char magic[8];
    uint32_t version, type;
    uint32_t n_layer, n_head_kv, head_dim, n_positions;
    uint64_t fingerprint; /* of the network */
} header;

static const char MAGIC[8] = {'w', 'e', 'f', 't', 'K', 'V', 0, 1};

/* Four independent chains over 8-byte words: fast, and any single change alters the sum. */
typedef struct checksum {
    uint64_t lane[4];
    uint64_t n_bytes;
    unsigned char part[32];
    size_t n_part;
} checksum;

static void checksum_block(checksum *c, const unsigned char *p) {
    for (int i = 0; i < 4; i++) {
        uint64_t word;
        memcpy(&word, p + 8 * i, sizeof word);
        c->lane[i] = (c->lane[i] ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        c->lane[i] ^= c->lane[i] >> 29;
    }
}

static void checksum_add(checksum *c, const void *data, size_t n_bytes) {
    const unsigned char *p = data;
    c->n_bytes += n_bytes;
    while (n_bytes) {
        if (c->n_part == 0 && n_bytes >= 32) {
            checksum_block(c, p);
            p += 32;
            n_bytes -= 32;
            continue;
        }
        size_t take = 32 - c->n_part < n_bytes ? 32 - c->n_part : n_bytes;
        memcpy(c->part + c->n_part, p, take);
        c->n_part += take;
        p += take;
        n_bytes -= take;
        if (c->n_part == 32) {
            checksum_block(c, c->part);
            c->n_part = 0;
        }
    }
}

static uint64_t checksum_end(checksum *c) {
    uint64_t sum = c->n_bytes;
    memset(c->part + c->n_part, 0, 32 - c->n_part);
    checksum_block(c, c->part);
    for (int i = 0; i < 4; i++) {
        sum = (sum ^ c->lane[i]) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 32;
    }
    return sum;
}

static header header_of(const weft_cache *c, int32_t n_positions) {
    header h = {.version = 1,
                .type = (uint32_t)c->type,
                .n_layer = (uint32_t)c->n_layer,
                .n_head_kv = (uint32_t)c->network->h.n_head_kv,
                .head_dim = (uint32_t)c->network->h.head_dim,
                .n_positions = (uint32_t)n_positions,
                .fingerprint = c->network->fingerprint};
    memcpy(h.magic, MAGIC, sizeof MAGIC);
    return h;
}

static size_t row_bytes(const weft_cache *c) {
    return (size_t)c->width / weft_dtype_block(c->type) * weft_dtype_block_bytes(c->type);
}

static size_t rows_in_block(int32_t length, int32_t i) {
    int32_t left = length - i * WEFT_CACHE_BLOCK;
    return (size_t)(left < WEFT_CACHE_BLOCK ? left : WEFT_CACHE_BLOCK);
}

static weft_status put(weft_writer *w, checksum *sum, const void *data, size_t n_bytes) {
    checksum_add(sum, data, n_bytes);
    return weft_writer_put(w, data, n_bytes);
}

static weft_status save_storage(const weft_cache *c, const weft_sequence *s, weft_tensor *t,
                                weft_writer *w, checksum *sum) {
    const void *data;
    weft_status st = weft_tensor_map_read(t, &data);
    if (st)
        return st;
    for (int32_t i = 0; !st && i < s->n_blocks; i++) {
        size_t start = (size_t)s->blocks[i] * WEFT_CACHE_BLOCK * row_bytes(c);
        st = put(w, sum, (const char *)data + start, rows_in_block(s->length, i) * row_bytes(c));
    }
    weft_tensor_unmap(t);
    return st;
}

weft_status weft_cache_save(const weft_cache *cache, int32_t sequence, weft_writer *writer) {
    const weft_sequence *s = weft_cache_live(cache, sequence, "save");
    if (!s)
        return WEFT_E_ARGUMENT;
    checksum sum = {.n_bytes = 0};
    header h = header_of(cache, s->length);
    weft_status st = put(writer, &sum, &h, sizeof h);
    for (int32_t i = 0; !st && i < cache->n_layer; i++)
        if (!(st = save_storage(cache, s, cache->k[i], writer, &sum)))
            st = save_storage(cache, s, cache->v[i], writer, &sum);
    if (st)
        return st;
    uint64_t check = checksum_end(&sum);
    return weft_writer_put(writer, &check, sizeof check);
}

/* ---- Loading ---- */

static weft_status check_header(const weft_cache *c, const void *data, size_t size_bytes,
                                header *h) {
    if (size_bytes < sizeof *h)
        return weft_fail(WEFT_E_FORMAT, "saved cache: %zu bytes are too few", size_bytes);
    memcpy(h, data, sizeof *h);
    if (memcmp(h->magic, MAGIC, sizeof MAGIC) != 0 || h->version != 1)
        return weft_fail(WEFT_E_FORMAT, "saved cache: not a cache of this version");
    header own = header_of(c, 0);
    if (h->n_layer != own.n_layer || h->n_head_kv != own.n_head_kv || h->head_dim != own.head_dim)
        return weft_fail(WEFT_E_FORMAT,
                         "saved cache: of another model: %u layers of [%u, %u], not %u of [%u, %u]",
                         h->n_layer, h->n_head_kv, h->head_dim, own.n_layer, own.n_head_kv,
                         own.head_dim);
    if (h->type != own.type)
        return weft_fail(WEFT_E_FORMAT, "saved cache: the type is %s, not %s",
                         weft_dtype_name((weft_dtype)h->type), weft_dtype_name(c->type));
    if (h->fingerprint != own.fingerprint)
        return weft_fail(WEFT_E_FORMAT, "saved cache: of another model of the same shape");
    return WEFT_OK;
}

static weft_status check_content(const weft_cache *c, const void *data, size_t size_bytes,
                                 const header *h) {
    uint64_t rows, bytes, want;
    if (!weft_mul_u64(h->n_positions, 2 * (uint64_t)h->n_layer, &rows) ||
        !weft_mul_u64(rows, row_bytes(c), &bytes) ||
        !weft_add_u64(bytes, sizeof *h + sizeof want, &bytes) || bytes != size_bytes)
        return weft_fail(WEFT_E_FORMAT, "saved cache: %zu bytes do not hold %u positions",
                         size_bytes, h->n_positions);
    checksum sum = {.n_bytes = 0};
    checksum_add(&sum, data, size_bytes - sizeof want);
    memcpy(&want, (const char *)data + size_bytes - sizeof want, sizeof want);
    if (checksum_end(&sum) != want)
        return weft_fail(WEFT_E_FORMAT, "saved cache: damaged (the checksum differs)");
    return WEFT_OK;
}

/* Blocks that would be free if the sequence were empty. */
static int32_t obtainable(const weft_cache *c, const weft_sequence *s) {
    int32_t n = c->n_free;
    for (int32_t i = 0; i < s->n_blocks; i++)
        n += c->block_refs[s->blocks[i]] == 1;
    return n;
}

static weft_status fill_storage(const weft_cache *c, const weft_sequence *s, weft_tensor *t,
                                const char **from) {
    void *data;
    weft_status st = weft_tensor_map_write(t, &data);
    if (st)
        return st;
    for (int32_t i = 0; i < s->n_blocks; i++) {
        size_t n = rows_in_block(s->length, i) * row_bytes(c);
        size_t start = (size_t)s->blocks[i] * WEFT_CACHE_BLOCK * row_bytes(c);
        memcpy((char *)data + start, *from, n);
        *from += n;
    }
    weft_tensor_unmap(t);
    return WEFT_OK;
}

weft_status weft_cache_load(weft_cache *cache, int32_t sequence, const void *data,
                            size_t size_bytes) {
    header h;
    weft_sequence *s = weft_cache_live(cache, sequence, "load");
    if (!s)
        return WEFT_E_ARGUMENT;
    weft_status st = check_header(cache, data, size_bytes, &h);
    if (st || (st = check_content(cache, data, size_bytes, &h)))
        return st;
    uint64_t need = ((uint64_t)h.n_positions + WEFT_CACHE_BLOCK - 1) / WEFT_CACHE_BLOCK;
    if (need > (uint64_t)obtainable(cache, s))
        return weft_fail(WEFT_E_CACHE_FULL, "saved cache: %u positions do not fit", h.n_positions);
    void *probe; /* a thread that may not lock now learns so before anything changes */
    if ((st = weft_tensor_map_write(cache->k[0], &probe)))
        return st;
    weft_tensor_unmap(cache->k[0]);
    while (s->n_blocks)
        weft_cache_drop_block(cache, s->blocks[--s->n_blocks]);
    s->length = (int32_t)h.n_positions;
    while ((uint64_t)s->n_blocks < need)
        s->blocks[s->n_blocks++] = weft_cache_take_block(cache);
    const char *from = (const char *)data + sizeof h;
    for (int32_t i = 0; !st && i < cache->n_layer; i++)
        if (!(st = fill_storage(cache, s, cache->k[i], &from)))
            st = fill_storage(cache, s, cache->v[i], &from);
    return st;
}
