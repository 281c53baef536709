/* A session in a file: a header, the tokens, and the cache's own record, which is checksummed by
 * the cache. Written by rename; read back only by the same model. All numbers little-endian. */
#include "engine/adapter.h"
#include "engine/impl.h"
#include "base/alloc.h"
#include "base/detail.h"
#include "base/file.h"

#include <string.h>

/* "WSESSION", u32 version, u32 tokens, u64 fingerprint of the model, u64 hash of the bytes before
 * and of the tokens; then u32 per token. */
#define MAGIC "WSESSION"
#define VERSION 1
#define HEADER_BYTES 32
#define HASHED_BYTES 24

static void put_le(unsigned char *p, uint64_t value, int n) {
    for (int i = 0; i < n; i++)
        p[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t get_le(const unsigned char *p, int n) {
    uint64_t value = 0;
    for (int i = 0; i < n; i++)
        value |= (uint64_t)p[i] << (8 * i);
    return value;
}

static void token_bytes(int32_t token, unsigned char out[4]) {
    put_le(out, (uint32_t)token, 4);
}

static weft_status write_all(weft_session *s, weft_writer *writer) {
    unsigned char header[HEADER_BYTES];
    memcpy(header, MAGIC, 8);
    put_le(header + 8, VERSION, 4);
    put_le(header + 12, (uint64_t)s->n_past, 4);
    put_le(header + 16, weft_adapters_hash(s->adapters, weft_model_fingerprint(s->model)), 8);
    uint64_t hash = weft_hash_bytes(WEFT_HASH_START, header, HASHED_BYTES);
    unsigned char item[4];
    for (int32_t i = 0; i < s->n_past; i++) {
        token_bytes(s->tokens[i], item);
        hash = weft_hash_bytes(hash, item, sizeof item);
    }
    put_le(header + HASHED_BYTES, hash, 8);
    weft_status status = weft_writer_put(writer, header, sizeof header);
    for (int32_t i = 0; i < s->n_past && !status; i++) {
        token_bytes(s->tokens[i], item);
        status = weft_writer_put(writer, item, sizeof item);
    }
    return status ? status : weft_cache_save(s->cache, s->sequence, writer);
}

weft_status weft_session_save(weft_session *session, const char *path) {
    if (!session || !path)
        return weft_fail(WEFT_E_NULL, "weft_session_save: session and path are required");
    weft_status status = weft_engine_alive(session->model->engine);
    if (status)
        return status;
    weft_writer *writer;
    status = weft_writer_open(&session->model->engine->allocator, path, &writer);
    if (status)
        return status;
    status = write_all(session, writer);
    if (status) {
        weft_writer_abort(&writer);
        return status;
    }
    return weft_writer_commit(&writer);
}

/* Checks header and tokens; *n_tokens is theirs. */
static weft_status check_header(const weft_session *s, const weft_mapping *map, const char *path,
                                int32_t *n_tokens) {
    const unsigned char *p = map->data;
    if (map->size_bytes < HEADER_BYTES || memcmp(p, MAGIC, 8) != 0)
        return weft_fail(WEFT_E_FORMAT, "%s: not a saved session", path);
    if (get_le(p + 8, 4) != VERSION)
        return weft_fail(WEFT_E_FORMAT, "%s: version %u of the format is unknown", path,
                         (unsigned)get_le(p + 8, 4));
    uint64_t n = get_le(p + 12, 4);
    if (n > (map->size_bytes - HEADER_BYTES) / 4)
        return weft_fail(WEFT_E_FORMAT, "%s: ends before its tokens do", path);
    uint64_t hash = weft_hash_bytes(WEFT_HASH_START, p, HASHED_BYTES);
    if (weft_hash_bytes(hash, p + HEADER_BYTES, (size_t)n * 4) != get_le(p + HASHED_BYTES, 8))
        return weft_fail(WEFT_E_FORMAT, "%s: header or tokens are damaged", path);
    if (get_le(p + 16, 8) != weft_adapters_hash(s->adapters, weft_model_fingerprint(s->model)))
        return weft_fail(WEFT_E_FORMAT, "%s: saved with another model", path);
    if (n > (uint64_t)s->n_context)
        return weft_fail(WEFT_E_CACHE_FULL, "%s: %u tokens do not fit into a context of %d", path,
                         (unsigned)n, s->n_context);
    for (size_t i = 0; i < n; i++)
        if (get_le(p + HEADER_BYTES + 4 * i, 4) >= (uint64_t)s->n_vocab)
            return weft_fail(WEFT_E_FORMAT, "%s: token %zu is outside of the vocabulary", path, i);
    *n_tokens = (int32_t)n;
    return WEFT_OK;
}

static weft_status read_all(weft_session *s, const weft_mapping *map, const char *path) {
    int32_t n = 0;
    weft_status status = check_header(s, map, path, &n);
    if (status)
        return status;
    size_t skip = HEADER_BYTES + 4 * (size_t)n;
    status = weft_cache_load(s->cache, s->sequence, map->data + skip, map->size_bytes - skip);
    if (status)
        return weft_fail_in(status, "%s", path);
    s->has_logits = false;
    if (weft_cache_length(s->cache, s->sequence) != n) {
        /* Two whole records that were put together: neither text is left. */
        s->n_past = 0;
        weft_cache_truncate(s->cache, s->sequence, 0, NULL);
        return weft_fail(WEFT_E_FORMAT, "%s: tokens and cache are of different texts", path);
    }
    for (int32_t i = 0; i < n; i++)
        s->tokens[i] = (int32_t)get_le(map->data + HEADER_BYTES + 4 * (size_t)i, 4);
    s->n_past = n;
    return WEFT_OK;
}

weft_status weft_session_load(weft_session *session, const char *path) {
    if (!session || !path)
        return weft_fail(WEFT_E_NULL, "weft_session_load: session and path are required");
    weft_status status = weft_engine_alive(session->model->engine);
    if (status)
        return status;
    weft_mapping map;
    status = weft_file_map(path, &map);
    if (status)
        return status;
    status = read_all(session, &map, path);
    weft_file_unmap(&map);
    return status;
}
