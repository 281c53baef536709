/* Opening a model file or folder: which reader it goes to, the mapped files, and the copy mode.
 * Owns what a weft_source holds. */
#include "loader/read.h"

#include <stdio.h>
#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "base/engine_impl.h"
#include "tensor/impl.h"

#define COPY_CHUNK ((size_t)16 << 20) /* bytes between two reports of progress */

/* ---- Mapped files ---- */

static void shard_release(void *ctx) {
    weft_shard *shard = ctx;
    if (atomic_fetch_sub_explicit(&shard->n_refs, 1, memory_order_acq_rel) != 1)
        return;
    weft_allocator a = shard->allocator;
    weft_file_unmap(&shard->map);
    weft_file_unwatch(&shard->file);
    weft_dealloc(&a, shard, sizeof *shard);
}

weft_status weft_shard_open(weft_source *source, const char *path, weft_shard **out) {
    const weft_allocator *a = &source->allocator;
    *out = NULL;
    if (source->n_shards == source->shards_room) {
        size_t room = source->shards_room ? source->shards_room * 2 : 4;
        weft_shard **shards =
            weft_realloc(a, source->shards, source->shards_room * sizeof(weft_shard *),
                         weft_size_of(room, sizeof(weft_shard *)));
        if (!shards)
            return weft_fail(WEFT_E_MEMORY, "%s: out of memory", path);
        source->shards = shards;
        source->shards_room = room;
    }
    weft_shard *shard = weft_alloc_zeroed(a, sizeof *shard);
    if (!shard)
        return weft_fail(WEFT_E_MEMORY, "%s: out of memory", path);
    atomic_init(&shard->n_refs, 1);
    shard->allocator = *a;
    weft_status status = weft_file_map_watched(path, &shard->map, &shard->file);
    if (status) {
        weft_dealloc(a, shard, sizeof *shard);
        return status;
    }
    source->shards[source->n_shards++] = shard;
    *out = shard;
    return WEFT_OK;
}

static void release_shards(weft_source *source) {
    for (size_t i = 0; i < source->n_shards; i++)
        shard_release(source->shards[i]);
    weft_dealloc(&source->allocator, source->shards, source->shards_room * sizeof(weft_shard *));
    source->shards = NULL;
    source->n_shards = source->shards_room = 0;
}

/* ---- Tensors ---- */

/* Addresses that a type's kernels may assume; block types have 16-bit scales at most. */
static size_t alignment_of(weft_dtype dtype) {
    size_t bytes = weft_dtype_block_bytes(dtype);
    return weft_dtype_block(dtype) > 1 ? 2 : bytes;
}

static weft_status keep_offset(weft_source *source, uint64_t offset) {
    if (source->n_offsets == source->offsets_room) {
        size_t room = source->offsets_room ? source->offsets_room * 2 : 64;
        uint64_t *offsets = weft_realloc(&source->allocator, source->offsets,
                                         source->offsets_room * sizeof *offsets,
                                         weft_size_of(room, sizeof *offsets));
        if (!offsets)
            return weft_fail(WEFT_E_MEMORY, "out of memory");
        source->offsets = offsets;
        source->offsets_room = room;
    }
    source->offsets[source->n_offsets++] = offset;
    return WEFT_OK;
}

/* An uninitialised tensor of the record's shape, immutable for everyone but its maker. */
static weft_status make_heap(const weft_allocator *a, weft_dtype dtype, int rank,
                             const int64_t *dims, size_t size_bytes, weft_tensor **out) {
    weft_status status =
        weft_tensor_create_heap(a, dtype, WEFT_LAYOUT_STRIDED, rank, dims, true, out);
    if (!status && (*out)->storage->size_bytes < size_bytes) {
        weft_tensor_release(out);
        status = weft_fail(WEFT_E_FORMAT, "the shape does not fit its size");
    }
    return status;
}

static weft_status add_tensor(weft_source *source, weft_shard *shard, const weft_record *record) {
    const weft_allocator *a = &source->allocator;
    const unsigned char *data = shard->map.data + record->offset;
    size_t size = (size_t)record->size_bytes;
    weft_tensor *t = NULL;
    weft_status status;
    if ((uintptr_t)data % alignment_of(record->dtype) != 0) {
        status = make_heap(a, record->dtype, record->rank, record->dims, size, &t);
        if (!status)
            memcpy(weft_tensor_data(t), data, size);
    } else {
        atomic_fetch_add_explicit(&shard->n_refs, 1, memory_order_relaxed);
        status = weft_tensor_create_custom(a, record->dtype, record->rank, record->dims, data, size,
                                           shard_release, shard, &t);
        if (status)
            shard_release(shard);
    }
    if (!status)
        status = keep_offset(source, record->offset);
    if (status) {
        weft_tensor_release(&t);
        return status;
    }
    status = weft_weights_take(source->weights, record->name, t);
    if (!status)
        source->weight_bytes += record->size_bytes;
    return status;
}

weft_status weft_source_add(weft_source *source, weft_shard *shard, const char *path,
                            const weft_record *record) {
    weft_status status = add_tensor(source, shard, record);
    return status ? weft_fail_in(status, "%s: tensor '%s'", path, record->name) : WEFT_OK;
}

/* ---- Copy mode ---- */

typedef struct weft_copying {
    weft_progress_fn progress;
    void *progress_ctx;
    uint64_t done, total;
} weft_copying;

static weft_status copy_bytes(weft_copying *c, unsigned char *to, const unsigned char *from,
                              size_t n) {
    while (n > 0) {
        size_t piece = n < COPY_CHUNK ? n : COPY_CHUNK;
        memcpy(to, from, piece);
        to += piece;
        from += piece;
        n -= piece;
        c->done += piece;
        if (c->progress && !c->progress(c->progress_ctx, c->done, c->total))
            return weft_fail(WEFT_E_CANCELLED, "loading was cancelled");
    }
    return WEFT_OK;
}

/* Replaces every mapped tensor by one of own memory, then lets the mappings go. */
static weft_status copy_all(weft_source *source, weft_copying *c) {
    const weft_allocator *a = &source->allocator;
    c->total = source->weight_bytes;
    if (c->progress && !c->progress(c->progress_ctx, 0, c->total))
        return weft_fail(WEFT_E_CANCELLED, "loading was cancelled");
    for (size_t i = 0; i < weft_weights_count(source->weights); i++) {
        const char *name;
        weft_tensor *mapped = weft_weights_at(source->weights, i, &name), *own = NULL;
        if (mapped->storage->owner != WEFT_OWNER_CUSTOM)
            continue;
        size_t size = mapped->storage->size_bytes;
        weft_status status = make_heap(a, mapped->dtype, mapped->rank, mapped->dims, size, &own);
        if (status)
            return weft_fail_in(status, "tensor '%s'", name);
        status = copy_bytes(c, weft_tensor_data(own), weft_tensor_data(mapped), size);
        weft_source_drop(source, mapped);
        if (status) {
            weft_tensor_release(&own);
            return status;
        }
        status = weft_weights_replace(source->weights, name, own);
        if (status)
            return status;
    }
    release_shards(source);
    return WEFT_OK;
}

/* ---- Opening and closing ---- */

weft_status weft_path_join(const char *folder, const char *name, char out[WEFT_PATH_ROOM]) {
    size_t n = strlen(folder);
    const char *slash = n > 0 && folder[n - 1] == '/' ? "" : "/";
    int length = snprintf(out, WEFT_PATH_ROOM, "%s%s%s", folder, slash, name);
    if (length < 0 || length >= WEFT_PATH_ROOM)
        return weft_fail(WEFT_E_ARGUMENT, "%.80s…: the path is longer than %d bytes", folder,
                         WEFT_PATH_ROOM - 1);
    return WEFT_OK;
}

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* A safetensors file or an index: the folder it lies in, and the file (none for an index). */
static weft_status read_one_of_folder(const char *path, weft_source *source) {
    char folder[WEFT_PATH_ROOM];
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    if (n >= sizeof folder)
        return weft_fail(WEFT_E_ARGUMENT, "%.80s…: the path is longer than %d bytes", path,
                         WEFT_PATH_ROOM - 1);
    memcpy(folder, path, n);
    folder[n] = 0;
    return weft_hf_read(n > 0 ? folder : "./", ends_with(file, ".json") ? NULL : file, source);
}

static weft_status read_any(const char *path, weft_source *source) {
    if (weft_path_is_directory(path))
        return weft_hf_read(path, NULL, source);
    if (ends_with(path, ".safetensors") || ends_with(path, ".safetensors.index.json"))
        return read_one_of_folder(path, source);
    return weft_gguf_read(path, source);
}

weft_status weft_source_open(weft_engine *engine, const char *path, bool copy,
                             weft_progress_fn progress, void *progress_ctx, weft_source *out) {
    memset(out, 0, sizeof *out);
    if (!engine || !path)
        return weft_fail(WEFT_E_NULL, "weft_source_open: engine and path are required");
    out->allocator = engine->allocator;
    out->metadata = weft_metadata_create(&out->allocator);
    out->weights = weft_weights_create(&out->allocator);
    weft_status status = WEFT_OK;
    if (!out->metadata || !out->weights)
        status = weft_fail(WEFT_E_MEMORY, "%s: out of memory", path);
    if (!status)
        status = read_any(path, out);
    if (!status && copy) {
        weft_copying copying = {.progress = progress, .progress_ctx = progress_ctx};
        status = copy_all(out, &copying);
        if (status)
            status = weft_fail_in(status, "%s", path);
    }
    if (status)
        weft_source_close(out);
    return status;
}

void weft_source_close(weft_source *source) {
    if (!source || !source->allocator.alloc)
        return;
    const weft_allocator *a = &source->allocator;
    weft_weights_destroy(source->weights);
    weft_metadata_destroy(source->metadata);
    release_shards(source);
    weft_dealloc(a, source->offsets, source->offsets_room * sizeof *source->offsets);
    if (source->tokenizer_json)
        weft_dealloc(a, source->tokenizer_json, source->tokenizer_json_bytes + 1);
    memset(source, 0, sizeof *source);
}

/* ---- Where a tensor lies ---- */

static const weft_shard *shard_of(const weft_source *source, const weft_tensor *tensor,
                                  size_t *begin) {
    uintptr_t p = (uintptr_t)tensor->storage->data;
    if (tensor->storage->owner != WEFT_OWNER_CUSTOM)
        return NULL;
    for (size_t i = 0; i < source->n_shards; i++) {
        const weft_mapping *map = &source->shards[i]->map;
        uintptr_t base = (uintptr_t)map->data;
        if (map->data && p >= base && p - base <= map->size_bytes) {
            *begin = p - base;
            return source->shards[i];
        }
    }
    return NULL;
}

void weft_source_drop(const weft_source *source, const weft_tensor *tensor) {
    size_t begin;
    const weft_shard *shard = shard_of(source, tensor, &begin);
    if (shard)
        weft_mapping_drop(&shard->map, begin, tensor->storage->size_bytes);
}

bool weft_source_unchanged(const weft_source *source) {
    for (size_t i = 0; i < source->n_shards; i++)
        if (!weft_file_unchanged(&source->shards[i]->file))
            return false;
    return true;
}

uint64_t weft_source_offset(const weft_source *source, const weft_tensor *tensor) {
    size_t begin;
    if (shard_of(source, tensor, &begin))
        return begin;
    for (size_t i = 0; i < source->n_offsets; i++) {
        if (weft_weights_at(source->weights, i, NULL) == tensor)
            return source->offsets[i];
    }
    return 0;
}
