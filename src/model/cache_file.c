/* Saving a sequence and loading it back. Layout, little-endian: a header, then for each layer the
 * rows of K and then of V in order of position, then the snapshots in order, that at the sequence's
 * end last (position and kind, then each layer's states), then a checksum of everything before it.
 */
#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "model/cache_impl.h"

typedef struct header {
    char magic[8];
    uint32_t version, type;
    uint32_t n_layer, n_positions, n_snapshots, row_bytes;
    uint64_t state_bytes; /* of a snapshot */
    uint64_t fingerprint; /* of the network */
} header;

typedef struct snapshot_header {
    uint32_t position, is_edge;
} snapshot_header;

static const char MAGIC[8] = {'w', 'e', 'f', 't', 'K', 'V', 0, 1};
#define VERSION 2

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

static size_t state_bytes(const weft_cache_state *s) {
    size_t n = s->rank > 0 ? sizeof(float) : 0;
    for (int d = 0; d < s->rank; d++)
        n *= (size_t)s->dims[d];
    return n;
}

static header header_of(const weft_cache *c, int32_t n_positions, int32_t n_snapshots) {
    header h = {.version = VERSION,
                .type = (uint32_t)c->type,
                .n_layer = (uint32_t)c->n_layer,
                .n_positions = (uint32_t)n_positions,
                .n_snapshots = (uint32_t)n_snapshots,
                .fingerprint = c->network->fingerprint};
    memcpy(h.magic, MAGIC, sizeof MAGIC);
    for (int32_t i = 0; i < c->n_layer; i++) {
        h.row_bytes += (uint32_t)weft_cache_layer_bytes(&c->places[i].keeps, c->type);
        for (int w = 0; w < WEFT_CACHE_STATES; w++)
            h.state_bytes += state_bytes(&c->places[i].keeps.states[w]);
    }
    return h;
}

/* Of one position of a layer's K or V. */
static size_t row_bytes(const weft_tensor *t) {
    return (size_t)(weft_tensor_dim(t, 1) * weft_tensor_dim(t, 2)) /
           weft_dtype_block(weft_tensor_dtype(t)) * weft_dtype_block_bytes(weft_tensor_dtype(t));
}

static size_t rows_in_block(int32_t length, int32_t i) {
    int32_t left = length - i * WEFT_CACHE_BLOCK;
    return (size_t)(left < WEFT_CACHE_BLOCK ? left : WEFT_CACHE_BLOCK);
}

static weft_status put(weft_writer *w, checksum *sum, const void *data, size_t n_bytes) {
    checksum_add(sum, data, n_bytes);
    return weft_writer_put(w, data, n_bytes);
}

static weft_status save_rows(const weft_sequence *s, weft_tensor *t, weft_writer *w,
                             checksum *sum) {
    const void *data;
    if (!t)
        return WEFT_OK;
    weft_status st = weft_tensor_map_read(t, &data);
    if (st)
        return st;
    size_t row = row_bytes(t);
    for (int32_t i = 0; !st && i < s->n_blocks; i++) {
        size_t start = (size_t)s->blocks[i] * WEFT_CACHE_BLOCK * row;
        st = put(w, sum, (const char *)data + start, rows_in_block(s->length, i) * row);
    }
    weft_tensor_unmap(t);
    return st;
}

static weft_status save_states(const weft_cache *c, const weft_snapshot *snapshot, weft_writer *w,
                               checksum *sum) {
    snapshot_header h = {(uint32_t)snapshot->position, snapshot->is_edge};
    weft_status st = put(w, sum, &h, sizeof h);
    for (int32_t i = 0; !st && i < c->n_layer; i++)
        for (int which = 0; !st && which < WEFT_CACHE_STATES; which++) {
            weft_tensor *t = c->places[i].states[which];
            const void *data;
            if (!t)
                continue;
            if ((st = weft_tensor_map_read(t, &data)))
                return st;
            size_t start = (size_t)(snapshot->slot * weft_tensor_stride(t, 0)) * sizeof(float);
            st = put(w, sum, (const char *)data + start,
                     state_bytes(&c->places[i].keeps.states[which]));
            weft_tensor_unmap(t);
        }
    return st;
}

weft_status weft_cache_save(const weft_cache *cache, int32_t sequence, weft_writer *writer) {
    const weft_sequence *s = weft_cache_live(cache, sequence, "save");
    if (!s)
        return WEFT_E_ARGUMENT;
    checksum sum = {.n_bytes = 0};
    header h = header_of(cache, s->length, s->n_snapshots + (s->now.slot >= 0));
    weft_status st = put(writer, &sum, &h, sizeof h);
    for (int32_t i = 0; !st && i < cache->n_layer; i++)
        if (!(st = save_rows(s, cache->places[i].k, writer, &sum)))
            st = save_rows(s, cache->places[i].v, writer, &sum);
    for (int32_t i = 0; !st && i < s->n_snapshots; i++)
        st = save_states(cache, &s->snapshots[i], writer, &sum);
    if (!st && s->now.slot >= 0)
        st = save_states(cache, &s->now, writer, &sum);
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
    if (memcmp(h->magic, MAGIC, sizeof MAGIC) != 0 || h->version != VERSION)
        return weft_fail(WEFT_E_FORMAT, "saved cache: not a cache of this version");
    header own = header_of(c, 0, 0);
    if (h->n_layer != own.n_layer || (h->type == own.type && h->row_bytes != own.row_bytes) ||
        h->state_bytes != own.state_bytes)
        return weft_fail(WEFT_E_FORMAT,
                         "saved cache: of another model: %u layers, %u bytes a position and %llu "
                         "of states, not %u, %u and %llu",
                         h->n_layer, h->row_bytes, (unsigned long long)h->state_bytes, own.n_layer,
                         own.row_bytes, (unsigned long long)own.state_bytes);
    if (h->type != own.type)
        return weft_fail(WEFT_E_FORMAT, "saved cache: the type is %s, not %s",
                         weft_dtype_name((weft_dtype)h->type), weft_dtype_name(c->type));
    if (h->fingerprint != own.fingerprint)
        return weft_fail(WEFT_E_FORMAT, "saved cache: of another model of the same shape");
    return WEFT_OK;
}

/* Snapshots ascend, and the last one is the sequence's end. */
static bool good_snapshots(const weft_cache *c, const header *h, const char *from) {
    uint32_t last = 0;
    bool due = c->n_slots > 0 && h->n_positions > 0;
    if (due ? h->n_snapshots < 1 || h->n_snapshots > WEFT_CACHE_SNAPSHOTS + 1 : h->n_snapshots != 0)
        return false;
    for (uint32_t i = 0; i < h->n_snapshots; i++) {
        snapshot_header s;
        memcpy(&s, from, sizeof s);
        if (s.position <= last || s.is_edge > 1)
            return false;
        last = s.position;
        from += sizeof s + h->state_bytes;
    }
    return !due || last == h->n_positions;
}

static weft_status check_content(const weft_cache *c, const void *data, size_t size_bytes,
                                 const header *h) {
    uint64_t rows, states, bytes, want;
    if (!weft_mul_u64(h->n_positions, h->row_bytes, &rows) ||
        !weft_add_u64(h->state_bytes, sizeof(snapshot_header), &states) ||
        !weft_mul_u64(states, h->n_snapshots, &states) || !weft_add_u64(rows, states, &bytes) ||
        !weft_add_u64(bytes, sizeof *h + sizeof want, &bytes) || bytes != size_bytes)
        return weft_fail(WEFT_E_FORMAT, "saved cache: %zu bytes do not hold %u positions",
                         size_bytes, h->n_positions);
    checksum sum = {.n_bytes = 0};
    checksum_add(&sum, data, size_bytes - sizeof want);
    memcpy(&want, (const char *)data + size_bytes - sizeof want, sizeof want);
    if (checksum_end(&sum) != want)
        return weft_fail(WEFT_E_FORMAT, "saved cache: damaged (the checksum differs)");
    if (!good_snapshots(c, h, (const char *)data + sizeof *h + rows))
        return weft_fail(WEFT_E_FORMAT, "saved cache: its states are not those of %u positions",
                         h->n_positions);
    return WEFT_OK;
}

/* Blocks that would be free if the sequence were empty. */
static int32_t obtainable(const weft_cache *c, const weft_sequence *s) {
    int32_t n = c->n_free;
    for (int32_t i = 0; i < s->n_blocks; i++)
        n += c->block_refs[s->blocks[i]] == 1;
    return n;
}

static weft_status load_rows(const weft_sequence *s, weft_tensor *t, const char **from) {
    void *data;
    if (!t)
        return WEFT_OK;
    weft_status st = weft_tensor_map_write(t, &data);
    if (st)
        return st;
    size_t row = row_bytes(t);
    for (int32_t i = 0; i < s->n_blocks; i++) {
        size_t n = rows_in_block(s->length, i) * row;
        size_t start = (size_t)s->blocks[i] * WEFT_CACHE_BLOCK * row;
        memcpy((char *)data + start, *from, n);
        *from += n;
    }
    weft_tensor_unmap(t);
    return WEFT_OK;
}

static weft_status load_states(weft_cache *c, weft_snapshot *snapshot, const char **from) {
    snapshot_header h;
    memcpy(&h, *from, sizeof h);
    *from += sizeof h;
    *snapshot = (weft_snapshot){(int32_t)h.position, weft_cache_take_slot(c), h.is_edge != 0};
    for (int32_t i = 0; i < c->n_layer; i++)
        for (int which = 0; which < WEFT_CACHE_STATES; which++) {
            weft_tensor *t = c->places[i].states[which];
            void *data;
            if (!t)
                continue;
            weft_status st = weft_tensor_map_write(t, &data);
            if (st)
                return st;
            size_t n = state_bytes(&c->places[i].keeps.states[which]);
            memcpy((float *)data + snapshot->slot * weft_tensor_stride(t, 0), *from, n);
            *from += n;
            weft_tensor_unmap(t);
        }
    return WEFT_OK;
}

/* A thread that may not lock learns so before anything changes. */
static weft_status probe(weft_tensor *t) {
    void *data;
    weft_status st = t ? weft_tensor_map_write(t, &data) : WEFT_OK;
    if (t && !st)
        weft_tensor_unmap(t);
    return st;
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
    if ((st = probe(cache->rows)) || (st = probe(cache->slots)))
        return st;
    weft_states_end(cache, s);
    while (s->n_blocks)
        weft_cache_drop_block(cache, s->blocks[--s->n_blocks]);
    s->length = (int32_t)h.n_positions;
    s->expected = s->length;
    s->longer = weft_network_turns_longer(cache->network, s->length);
    while ((uint64_t)s->n_blocks < need)
        s->blocks[s->n_blocks++] = weft_cache_take_block(cache);
    const char *from = (const char *)data + sizeof h;
    for (int32_t i = 0; !st && i < cache->n_layer; i++)
        if (!(st = load_rows(s, cache->places[i].k, &from)))
            st = load_rows(s, cache->places[i].v, &from);
    /* A cache for more sequences has room for the latest only. */
    uint32_t most = (uint32_t)cache->n_snapshots + 1;
    for (uint32_t i = 0; !st && i < h.n_snapshots; i++) {
        bool is_end = i + 1 == h.n_snapshots;
        if (h.n_snapshots - i > most)
            from += sizeof(snapshot_header) + h.state_bytes;
        else
            st = load_states(cache, is_end ? &s->now : &s->snapshots[s->n_snapshots++], &from);
    }
    return st;
}
