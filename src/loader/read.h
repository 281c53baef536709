/* What the readers of src/loader share: mapped files and how tensors enter the weights map. */
#ifndef WEFT_LOADER_READ_H
#define WEFT_LOADER_READ_H

#include <stdatomic.h>
#include "base/file.h"
#include "loader/loader.h"

#define WEFT_PATH_ROOM 4096

/* One mapped file, held by the source and by every tensor over it. */
typedef struct weft_shard {
    atomic_size_t n_refs;
    weft_allocator allocator;
    weft_mapping map;
    weft_watched_file file;
} weft_shard;

/* Maps `path` and appends it to the source's shards; *out is borrowed from there. */
weft_status weft_shard_open(weft_source *source, const char *path, weft_shard **out);

/* What a file says of one tensor; `dims` is row-major. */
typedef struct weft_record {
    const char *name; /* NUL-terminated */
    weft_dtype dtype;
    int rank;
    int64_t dims[WEFT_MAX_RANK];
    uint64_t offset, size_bytes; /* inside the shard; checked by the parser */
} weft_record;

/* Adds an immutable tensor over the shard's bytes, or over a copy of them where their address is
 * not aligned for the type. `path` names the file in details. */
weft_status weft_source_add(weft_source *source, weft_shard *shard, const char *path,
                            const weft_record *record);

/* The readers: fill metadata, weights and the rest of a zeroed source whose allocator is set. What
 * they leave on failure is freed by weft_source_close. `only` (may be NULL) is the one weights file
 * of the folder to read. */
weft_status weft_gguf_read(const char *path, weft_source *source);
weft_status weft_hf_read(const char *folder, const char *only, weft_source *source);

/* config.json and its relatives: the members of the JSON object in `path`, nested names joined by
 * dots, into the metadata under `prefix`. Absent files are WEFT_E_NOT_FOUND. */
weft_status weft_hf_config_read(const char *path, const char *prefix, weft_source *source);

/* modules.json of sentence-transformers and the settings of its pooling; absent ones are none. */
weft_status weft_hf_modules_read(const char *folder, weft_source *source);

/* Joins folder and name; WEFT_E_ARGUMENT when the path is too long. */
weft_status weft_path_join(const char *folder, const char *name, char out[WEFT_PATH_ROOM]);

#endif
