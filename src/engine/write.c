/* weft_convert_folder, weft_split and weft_merge: recipes that change no numbers. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "base/floats.h"
#include "engine/recipe.h"
#include "loader/read.h"
#include <weft/extra/quantize.h>
#include <weft/extra/write.h>

weft_status weft_convert_folder(weft_engine *engine, const char *folder, const char *to,
                                const weft_convert_options *options) {
    if (!engine || !folder || !to)
        return weft_fail(WEFT_E_NULL, "weft_convert_folder: engine, folder and to are required");
    weft_convert_options o = {0};
    if (options)
        o = *options;
    weft_quantize_options q = {.mix = o.type ? o.type : "as it is",
                               .pre = o.pre,
                               .keep_types = !o.type,
                               .folders_only = true,
                               .progress = o.progress,
                               .progress_ctx = o.progress_ctx};
    return weft_quantize(engine, folder, to, &q, NULL);
}

/* ---- One file ---- */

weft_status weft_merge(weft_engine *engine, const char *from, const char *to,
                       weft_progress_fn progress, void *progress_ctx) {
    if (!engine || !from || !to)
        return weft_fail(WEFT_E_NULL, "weft_merge: engine, from and to are required");
    weft_source source;
    weft_recipe recipe = {0};
    weft_status status = weft_engine_alive(engine);
    if (!status)
        status = weft_source_open(engine, from, false, NULL, NULL, &source);
    if (status)
        return status;
    if (source.format != WEFT_FORMAT_GGUF)
        status = weft_fail(WEFT_E_ARGUMENT, "%s: not a GGUF file", from);
    else if (!weft_metadata_find(source.metadata, "split.count", NULL))
        status = weft_fail(WEFT_E_ARGUMENT, "%s: not a shard of a split file", from);
    if (!status)
        status = weft_recipe_copy(&source, &recipe);
    if (!status)
        status = weft_recipe_write(engine, &recipe, to, progress, progress_ctx);
    weft_recipe_free(&recipe);
    weft_source_close(&source);
    return status;
}

/* ---- Shards ---- */

typedef struct splitting {
    weft_engine *engine;
    const weft_split_options *o;
    const char *prefix;
    weft_recipe whole;
    size_t n_shards;
    uint64_t done, total; /* bytes, over all shards */
} splitting;

static bool show(void *ctx, uint64_t done, uint64_t total) {
    splitting *s = ctx;
    (void)total;
    return s->o->progress(s->o->progress_ctx, s->done + done, s->total);
}

/* Tensors from `first` on that go into one shard; their bytes. */
static size_t shard_length(const splitting *s, size_t first, uint64_t *bytes) {
    size_t n = 0;
    *bytes = 0;
    while (first + n < s->whole.n) {
        uint64_t size = s->whole.list[first + n].item.size_bytes;
        if (n > 0 && ((s->o->most_bytes && *bytes + size > s->o->most_bytes) ||
                      (s->o->most_tensors && n >= s->o->most_tensors)))
            break;
        *bytes += size;
        n++;
    }
    return n;
}

static weft_status put_number(weft_metadata *m, const char *key, weft_value_type type, size_t n) {
    weft_value v = {.type = type, .as.u = n};
    return weft_metadata_put(m, key, strlen(key), &v);
}

/* All keys in the first shard, those of splitting in each. */
static weft_status shard_keys(const splitting *s, size_t no, weft_metadata *m) {
    weft_status status = WEFT_OK;
    for (size_t i = 0; !status && no == 0 && i < weft_metadata_count(s->whole.metadata); i++)
        status = weft_metadata_put_from(m, s->whole.metadata, i);
    size_t at;
    if (no > 0 && weft_metadata_index(s->whole.metadata, "general.alignment", &at))
        status = weft_metadata_put_from(m, s->whole.metadata, at);
    if (!status)
        status = put_number(m, "split.no", WEFT_VALUE_U16, no);
    if (!status)
        status = put_number(m, "split.count", WEFT_VALUE_U16, s->n_shards);
    return status ? status : put_number(m, "split.tensors.count", WEFT_VALUE_I32, s->whole.n);
}

static weft_status shard_path(const splitting *s, size_t no, char path[WEFT_PATH_ROOM]) {
    int n =
        snprintf(path, WEFT_PATH_ROOM, "%s-%05zu-of-%05zu.gguf", s->prefix, no + 1, s->n_shards);
    return n > 0 && n < WEFT_PATH_ROOM ? WEFT_OK
                                       : weft_fail(WEFT_E_ARGUMENT, "the path is too long");
}

static weft_status write_shard(splitting *s, size_t no, size_t first, size_t n) {
    char path[WEFT_PATH_ROOM];
    weft_recipe shard = s->whole;
    shard.list += first;
    shard.n = n;
    shard.metadata = weft_metadata_create(&s->whole.allocator);
    weft_status status = shard.metadata ? shard_keys(s, no, shard.metadata)
                                        : weft_fail(WEFT_E_MEMORY, "out of memory");
    if (!status)
        status = shard_path(s, no, path);
    if (!status)
        status = weft_recipe_write(s->engine, &shard, path, s->o->progress ? show : NULL, s);
    weft_metadata_destroy(shard.metadata);
    return status;
}

static weft_status write_shards(splitting *s) {
    uint64_t bytes;
    size_t first = 0, no = 0, n;
    weft_status status = WEFT_OK;
    for (; !status && no < s->n_shards; no++, first += n) {
        n = shard_length(s, first, &bytes);
        status = write_shard(s, no, first, n);
        s->done += bytes;
    }
    for (size_t k = 0; status && k + 1 < no; k++) { /* those that are whole */
        char path[WEFT_PATH_ROOM];
        if (!shard_path(s, k, path))
            unlink(path);
    }
    return status;
}

static weft_status plan(splitting *s, const char *from) {
    uint64_t bytes;
    for (size_t i = 0; i < s->whole.n; i++) {
        weft_gguf_item *item = &s->whole.list[i].item;
        weft_status status = weft_gguf_item_bytes(item, &item->size_bytes);
        if (status)
            return status;
        s->total += item->size_bytes;
    }
    for (size_t first = 0; first < s->whole.n; s->n_shards++)
        first += shard_length(s, first, &bytes);
    if (s->n_shards > 65535)
        return weft_fail(WEFT_E_ARGUMENT, "%s: %zu shards are more than 65535", from, s->n_shards);
    return s->n_shards > 0 ? WEFT_OK : weft_fail(WEFT_E_FORMAT, "%s: has no tensors", from);
}

weft_status weft_split(weft_engine *engine, const char *from, const char *prefix,
                       const weft_split_options *options, size_t *n_shards) {
    if (!engine || !from || !prefix || !options)
        return weft_fail(WEFT_E_NULL, "weft_split: engine, files and options are required");
    if (!options->most_bytes && !options->most_tensors)
        return weft_fail(WEFT_E_ARGUMENT, "weft_split: neither bytes nor tensors are limited");
    weft_source source;
    weft_status status = weft_engine_alive(engine);
    if (!status)
        status = weft_source_open(engine, from, false, NULL, NULL, &source);
    if (status)
        return status;
    splitting s = {.engine = engine, .o = options, .prefix = prefix};
    if (source.format != WEFT_FORMAT_GGUF)
        status = weft_fail(WEFT_E_ARGUMENT, "%s: not a GGUF file", from);
    if (!status)
        status = weft_recipe_copy(&source, &s.whole);
    if (!status)
        status = plan(&s, from);
    if (!status)
        status = write_shards(&s);
    if (n_shards)
        *n_shards = s.n_shards;
    weft_recipe_free(&s.whole);
    weft_source_close(&source);
    return status;
}
