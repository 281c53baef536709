/* Hugging Face folders into the two maps: config.json and its relatives, tokenizer.json as bytes,
 * and the weights from model.safetensors or from the shards that its index names. */
#include "loader/read.h"

#include <stdio.h>
#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "base/json.h"
#include "loader/safetensors_file.h"

static const char index_name[] = "model.safetensors.index.json";

/* ---- Small files ---- */

/* The bytes of a file and a NUL behind them; the caller frees n + 1 bytes. */
static weft_status read_file(const weft_allocator *a, const char *path, char **out, size_t *n) {
    weft_mapping map;
    weft_status status = weft_file_map(path, &map);
    if (status)
        return status;
    *out = weft_alloc(a, map.size_bytes + 1);
    if (!*out) {
        weft_file_unmap(&map);
        return weft_fail(WEFT_E_MEMORY, "%s: out of memory", path);
    }
    if (map.size_bytes > 0)
        memcpy(*out, map.data, map.size_bytes);
    (*out)[map.size_bytes] = 0;
    *n = map.size_bytes;
    weft_file_unmap(&map);
    return WEFT_OK;
}

static weft_status read_template(const char *path, weft_source *source) {
    weft_value v = {.type = WEFT_VALUE_STRING};
    char *text;
    size_t n;
    weft_status status = read_file(&source->allocator, path, &text, &n);
    if (status)
        return status;
    v.as.s.text = text;
    v.as.s.n_bytes = n;
    if (!weft_metadata_find(source->metadata, "chat_template", NULL))
        status = weft_metadata_put(source->metadata, "chat_template", 13, &v);
    weft_dealloc(&source->allocator, text, n + 1);
    return status;
}

static weft_status read_small_files(const char *folder, bool need_config, weft_source *source) {
    char path[WEFT_PATH_ROOM];
    static const char *const configs[][2] = {
        {"config.json", ""},
        {"generation_config.json", "generation_config."},
        {"tokenizer_config.json", "tokenizer_config."},
    };
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        weft_status status = weft_path_join(folder, configs[i][0], path);
        if (!status)
            status = weft_hf_config_read(path, configs[i][1], source);
        if (status && (status != WEFT_E_NOT_FOUND || (i == 0 && need_config)))
            return status;
    }
    weft_status status = weft_hf_modules_read(folder, source);
    if (status)
        return status;
    status = weft_path_join(folder, "chat_template.jinja", path);
    if (!status)
        status = read_template(path, source);
    if (status && status != WEFT_E_NOT_FOUND)
        return status;
    status = weft_path_join(folder, "tokenizer.json", path);
    if (!status)
        status = read_file(&source->allocator, path, &source->tokenizer_json,
                           &source->tokenizer_json_bytes);
    return status == WEFT_E_NOT_FOUND ? WEFT_OK : status;
}

/* ---- One safetensors file ---- */

/* __metadata__ of the first weights file. */
static weft_status put_pairs(weft_source *source, const char *path, const weft_safetensors *file) {
    for (size_t i = 0; i < file->n_pairs; i++) {
        const weft_safetensors_pair *p = &file->pairs[i];
        char key[1024];
        int n = snprintf(key, sizeof key, "safetensors.%s", p->key);
        if (n < 0 || (size_t)n >= sizeof key || strlen(p->key) != p->key_bytes)
            return weft_fail(WEFT_E_FORMAT, "%s: __metadata__ key '%.80s' is too long or has a NUL",
                             path, p->key);
        weft_value v = {.type = WEFT_VALUE_STRING};
        v.as.s.text = p->value;
        v.as.s.n_bytes = p->value_bytes;
        weft_status status = weft_metadata_put(source->metadata, key, (size_t)n, &v);
        if (status)
            return weft_fail_in(status, "%s: __metadata__", path);
    }
    return WEFT_OK;
}

/* `weight_map` (NULL: none) says in which file each tensor lies; `file_name` is this one's. */
static weft_status add_tensors(weft_source *source, weft_shard *shard, const char *path,
                               const weft_safetensors *file, const weft_json *weight_map,
                               const char *file_name) {
    for (size_t i = 0; i < file->n_tensors; i++) {
        const weft_safetensors_tensor *t = &file->tensors[i];
        weft_record record = {
            .name = t->name, .rank = t->rank, .offset = t->offset, .size_bytes = t->n_bytes};
        const weft_json *said = weight_map ? weft_json_get(weight_map, t->name) : NULL;
        if (said && strcmp(weft_json_string(said, NULL), file_name) != 0)
            return weft_fail(WEFT_E_FORMAT, "%s: tensor '%.80s' lies here, but %s says in %s", path,
                             t->name, index_name, weft_json_string(said, NULL));
        weft_status status = weft_safetensors_type(t, &record.dtype);
        if (status)
            return weft_fail_in(status, "%s", path);
        for (int d = 0; d < t->rank; d++)
            record.dims[d] = (int64_t)t->dims[d]; /* the product fits, checked by the parser */
        status = weft_source_add(source, shard, path, &record);
        if (status)
            return status;
    }
    return WEFT_OK;
}

static weft_status read_weights(weft_source *source, const char *folder, const char *file_name,
                                const weft_json *weight_map) {
    char path[WEFT_PATH_ROOM];
    weft_shard *shard;
    weft_status status = weft_path_join(folder, file_name, path);
    if (!status)
        status = weft_shard_open(source, path, &shard);
    if (status)
        return status;
    weft_safetensors file;
    status =
        weft_safetensors_open(&source->allocator, shard->map.data, shard->map.size_bytes, &file);
    if (status)
        return weft_fail_in(status, "%s", path);
    if (source->n_shards == 1)
        status = put_pairs(source, path, &file);
    if (!status)
        status = add_tensors(source, shard, path, &file, weight_map, file_name);
    weft_safetensors_free(&file);
    return status;
}

/* ---- Shards ---- */

/* A plain name of a file in the same folder: no path, whichever way it is written. */
static bool is_plain_name(const char *name, size_t n) {
    if (n == 0 || n > 255 || memchr(name, 0, n) || memchr(name, '/', n) || memchr(name, '\\', n))
        return false;
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* The distinct files of the index as keys of *files, each checked to be a plain name. */
static weft_status list_files(const char *path, const weft_json *weight_map, weft_metadata *files) {
    const char *tensor;
    const weft_json *value;
    for (void *cursor = NULL; weft_json_next(weight_map, &cursor, &tensor, &value);) {
        size_t n;
        const char *name = weft_json_string(value, &n);
        if (!name)
            return weft_fail(WEFT_E_FORMAT, "%s: weight_map: the shard of '%.80s' is no string",
                             path, tensor);
        if (!is_plain_name(name, n))
            return weft_fail(WEFT_E_FORMAT,
                             "%s: weight_map: the shard of '%.80s' has the path '%.80s', not the "
                             "name of a file in the same folder",
                             path, tensor, name);
        weft_value none = {.type = WEFT_VALUE_U8};
        weft_status status = weft_metadata_find(files, name, NULL)
                                 ? WEFT_OK
                                 : weft_metadata_put(files, name, n, &none);
        if (status)
            return status;
    }
    return WEFT_OK;
}

static weft_status check_complete(const char *path, const weft_json *weight_map,
                                  const weft_source *source) {
    const char *tensor;
    const weft_json *value;
    for (void *cursor = NULL; weft_json_next(weight_map, &cursor, &tensor, &value);) {
        if (!weft_weights_find(source->weights, tensor))
            return weft_fail(WEFT_E_FORMAT, "%s: tensor '%.80s' is not in the shard %s", path,
                             tensor, weft_json_string(value, NULL));
    }
    return WEFT_OK;
}

static weft_status read_shards(weft_source *source, const char *folder, const char *path,
                               const weft_json *root) {
    const weft_json *weight_map =
        weft_json_type_of(root) == WEFT_JSON_OBJECT ? weft_json_get(root, "weight_map") : NULL;
    if (!weight_map || weft_json_type_of(weight_map) != WEFT_JSON_OBJECT)
        return weft_fail(WEFT_E_FORMAT, "%s: no object weight_map", path);
    weft_metadata *files = weft_metadata_create(&source->allocator);
    if (!files)
        return weft_fail(WEFT_E_MEMORY, "%s: out of memory", path);
    weft_status status = list_files(path, weight_map, files);
    for (size_t i = 0; !status && i < weft_metadata_count(files); i++) {
        status = read_weights(source, folder, weft_metadata_at(files, i, NULL), weight_map);
        if (status == WEFT_E_NOT_FOUND)
            status = weft_fail_in(WEFT_E_FORMAT, "%s: names a shard that is not there", path);
    }
    if (!status)
        status = check_complete(path, weight_map, source);
    weft_metadata_destroy(files);
    return status;
}

static weft_status read_index(weft_source *source, const char *folder) {
    char path[WEFT_PATH_ROOM];
    weft_mapping map;
    weft_json *root = NULL;
    weft_status status = weft_path_join(folder, index_name, path);
    if (!status)
        status = weft_file_map(path, &map);
    if (status)
        return status;
    status = weft_json_parse((const char *)map.data, map.size_bytes, path, &root);
    weft_file_unmap(&map);
    if (status)
        return status;
    status = read_shards(source, folder, path, root);
    weft_json_free(&root);
    return status;
}

weft_status weft_hf_read(const char *folder, const char *only, weft_source *source) {
    source->format = WEFT_FORMAT_HF;
    snprintf(source->format_name, sizeof source->format_name, "safetensors");
    weft_status status = read_small_files(folder, !only, source);
    if (status)
        return status;
    if (only)
        return read_weights(source, folder, only, NULL);
    status = read_weights(source, folder, "model.safetensors", NULL);
    if (status == WEFT_E_NOT_FOUND)
        status = read_index(source, folder);
    if (status != WEFT_E_NOT_FOUND)
        return status;
    if (source->tokenizer_json)
        return WEFT_OK; /* a vocabulary alone */
    return weft_fail(WEFT_E_NOT_FOUND, "%s: neither model.safetensors nor %s", folder, index_name);
}
