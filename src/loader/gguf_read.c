/* GGUF files into the two maps: one file, or all shards of a split one whichever was named. */
#include "loader/read.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "loader/gguf.h"
#include "loader/gguf_types.h"

/* One parsed file. */
typedef struct weft_gguf_file {
    char *path;
    weft_shard *shard;
    weft_gguf gguf;
} weft_gguf_file;

/* What a split file says of itself, and the part of its path before "-00001-of-00003.gguf". */
typedef struct weft_split {
    int64_t no, count, n_tensors; /* -1: not said */
    size_t prefix_bytes;
} weft_split;

static void *parser_alloc(void *ctx, size_t size_bytes) {
    return weft_alloc(ctx, size_bytes);
}

static void parser_release(void *ctx, void *memory, size_t size_bytes) {
    weft_dealloc(ctx, memory, size_bytes);
}

static weft_status parse(weft_source *source, weft_gguf_file *file) {
    weft_gguf_allocator a = {parser_alloc, parser_release, &source->allocator};
    weft_gguf_error error;
    weft_gguf_code code = weft_gguf_parse(file->shard->map.data, file->shard->map.size_bytes, &a,
                                          &file->gguf, &error);
    if (code == WEFT_GGUF_OK)
        return WEFT_OK;
    weft_status status = code == WEFT_GGUF_MEMORY        ? WEFT_E_MEMORY
                         : code == WEFT_GGUF_UNSUPPORTED ? WEFT_E_UNSUPPORTED
                                                         : WEFT_E_FORMAT;
    return weft_fail(status, "%s: %s", file->path, error.message);
}

static weft_status open_file(weft_source *source, weft_gguf_file *file) {
    weft_status status = weft_shard_open(source, file->path, &file->shard);
    return status ? status : parse(source, file);
}

/* ---- Metadata ---- */

static weft_status put_strings(weft_source *source, const weft_gguf_entry *e) {
    const weft_gguf_array *array = &e->value.as.a;
    const weft_allocator *a = &source->allocator;
    size_t n = array->n, blob_bytes = array->n_bytes - 8 * n, used = 0, cursor = 0, i = 0;
    size_t lengths_bytes = weft_size_of(n, sizeof(size_t));
    size_t *lengths = weft_alloc(a, lengths_bytes);
    char *blob = weft_alloc(a, blob_bytes);
    weft_status status = WEFT_OK;
    if ((n > 0 && !lengths) || (blob_bytes > 0 && !blob))
        status = weft_fail(WEFT_E_MEMORY, "out of memory for %zu strings", n);
    weft_gguf_value v;
    while (!status && i < n && weft_gguf_next(array, &cursor, &v)) {
        lengths[i++] = v.as.s.n_bytes;
        if (v.as.s.n_bytes > 0)
            memcpy(blob + used, v.as.s.text, v.as.s.n_bytes);
        used += v.as.s.n_bytes;
    }
    if (!status)
        status = weft_metadata_put_strings(source->metadata, e->key.text, e->key.n_bytes, blob,
                                           lengths, n);
    weft_dealloc(a, lengths, lengths_bytes);
    weft_dealloc(a, blob, blob_bytes);
    return status;
}

/* Arrays in native byte order are the file's bytes: weft runs on little-endian machines. */
static weft_status put_array(weft_source *source, const weft_gguf_entry *e) {
    const weft_gguf_array *array = &e->value.as.a;
    weft_value_type type = (weft_value_type)array->type;
    if (type == WEFT_VALUE_STRING)
        return put_strings(source, e);
    return weft_metadata_put_array(source->metadata, e->key.text, e->key.n_bytes, type,
                                   type == WEFT_VALUE_ARRAY ? NULL : array->data, array->n);
}

static weft_status put_entry(weft_source *source, const weft_gguf_entry *e) {
    weft_value v = {.type = (weft_value_type)e->value.type}; /* numbered alike */
    switch (e->value.type) {
    case WEFT_GGUF_ARRAY:
        return put_array(source, e);
    case WEFT_GGUF_STRING:
        v.as.s.text = e->value.as.s.text;
        v.as.s.n_bytes = e->value.as.s.n_bytes;
        break;
    case WEFT_GGUF_F32:
    case WEFT_GGUF_F64:
        v.as.f = e->value.as.f;
        break;
    case WEFT_GGUF_I8:
    case WEFT_GGUF_I16:
    case WEFT_GGUF_I32:
    case WEFT_GGUF_I64:
        v.as.i = e->value.as.i;
        break;
    default:
        v.as.u = e->value.as.u;
        break;
    }
    return weft_metadata_put(source->metadata, e->key.text, e->key.n_bytes, &v);
}

static weft_status put_metadata(weft_source *source, const weft_gguf_file *file) {
    for (size_t i = 0; i < file->gguf.n_entries; i++) {
        const weft_gguf_entry *e = &file->gguf.entries[i];
        weft_status status = put_entry(source, e);
        if (status)
            return weft_fail_in(status, "%s: key '%.*s' at offset %zu", file->path,
                                (int)(e->key.n_bytes < 100 ? e->key.n_bytes : 100), e->key.text,
                                e->offset);
    }
    return WEFT_OK;
}

/* ---- Tensors ---- */

static weft_status add_tensors(weft_source *source, const weft_gguf_file *file) {
    for (size_t i = 0; i < file->gguf.n_tensors; i++) {
        const weft_gguf_tensor *t = &file->gguf.tensors[i];
        char name[WEFT_GGUF_MAX_NAME + 1];
        memcpy(name, t->name.text, t->name.n_bytes);
        name[t->name.n_bytes] = 0;
        weft_record record = {.name = name,
                              .dtype = weft_gguf_dtypes[t->type],
                              .rank = t->rank,
                              .offset = t->offset,
                              .size_bytes = t->n_bytes};
        for (int d = 0; d < t->rank; d++) /* the file has the row length first */
            record.dims[d] = (int64_t)t->dims[t->rank - 1 - d];
        weft_status status = weft_source_add(source, file->shard, file->path, &record);
        if (status)
            return status;
    }
    return WEFT_OK;
}

/* ---- Split files ---- */

static weft_status split_integer(const weft_gguf_file *file, const char *key, int64_t *out) {
    const weft_gguf_entry *e = weft_gguf_find(&file->gguf, key);
    *out = -1;
    if (!e)
        return WEFT_OK;
    if (!weft_gguf_integer(&e->value, out) || *out < 0)
        return weft_fail(WEFT_E_FORMAT, "%s: key '%s' at offset %zu: not a count", file->path, key,
                         e->offset);
    return WEFT_OK;
}

static weft_status read_split(const weft_gguf_file *file, weft_split *split) {
    weft_status status = split_integer(file, "split.count", &split->count);
    if (!status)
        status = split_integer(file, "split.no", &split->no);
    if (!status)
        status = split_integer(file, "split.tensors.count", &split->n_tensors);
    return status;
}

/* "…-00002-of-00003.gguf": the numbers, and where the dash stands; false for other names. */
static bool parse_name(const char *path, int64_t *number, int64_t *count, size_t *prefix) {
    static const char form[] = "-#####-of-#####.gguf";
    size_t n = strlen(path), m = sizeof form - 1;
    int64_t values[2] = {0, 0};
    if (n < m)
        return false;
    for (size_t i = 0; i < m; i++) {
        char c = path[n - m + i];
        if (form[i] != '#' ? c != form[i] : c < '0' || c > '9')
            return false;
        if (form[i] == '#')
            values[i > 6] = values[i > 6] * 10 + (c - '0');
    }
    *number = values[0];
    *count = values[1];
    *prefix = n - m;
    return true;
}

/* The named shard's keys and name must say the same. */
static weft_status check_name(const weft_gguf_file *file, weft_split *split) {
    int64_t number, count;
    if (split->count > 65535)
        return weft_fail(WEFT_E_FORMAT, "%s: split.count is %" PRId64 ", more than 65535",
                         file->path, split->count);
    if (split->no < 0 || split->no >= split->count)
        return weft_fail(WEFT_E_FORMAT,
                         "%s: split.no is missing or not below split.count (%" PRId64 ")",
                         file->path, split->count);
    if (!parse_name(file->path, &number, &count, &split->prefix_bytes))
        return weft_fail(
            WEFT_E_FORMAT,
            "%s: shard %" PRId64 " of %" PRId64 " (split.count), but its name does not "
            "end in -%05" PRId64 "-of-%05" PRId64 ".gguf, so the others cannot be found",
            file->path, split->no + 1, split->count, split->no + 1, split->count);
    if (number != split->no + 1 || count != split->count)
        return weft_fail(WEFT_E_FORMAT,
                         "%s: the name says shard %" PRId64 " of %" PRId64
                         ", its split.no and split.count say %" PRId64 " of %" PRId64,
                         file->path, number, count, split->no + 1, split->count);
    return WEFT_OK;
}

/* Keys that a shard shares with the first one must have the same value, split.no excepted. */
static weft_status check_agreement(const weft_gguf_file *first, const weft_gguf_file *file) {
    for (size_t i = 0; i < file->gguf.n_entries; i++) {
        const weft_gguf_entry *b = &file->gguf.entries[i];
        char key[256];
        if (b->key.n_bytes >= sizeof key)
            continue;
        memcpy(key, b->key.text, b->key.n_bytes);
        key[b->key.n_bytes] = 0;
        const weft_gguf_entry *a = weft_gguf_find(&first->gguf, key);
        if (!a || strcmp(key, "split.no") == 0)
            continue;
        if (a->value.type != b->value.type || a->n_bytes != b->n_bytes ||
            memcmp(first->shard->map.data + a->offset, file->shard->map.data + b->offset,
                   a->n_bytes) != 0)
            return weft_fail(WEFT_E_FORMAT, "%s: key '%s' at offset %zu differs from shard %s",
                             file->path, key, b->offset, first->path);
    }
    return WEFT_OK;
}

static weft_status check_shard(const weft_gguf_file *first, const weft_gguf_file *file, int64_t no,
                               int64_t count) {
    weft_split split = {0};
    weft_status status = read_split(file, &split);
    if (status)
        return status;
    if (split.no != no || split.count != count)
        return weft_fail(WEFT_E_FORMAT,
                         "%s: split.no and split.count say shard %" PRId64 " of %" PRId64
                         ", its name %" PRId64 " of %" PRId64,
                         file->path, split.no + 1, split.count, no + 1, count);
    return check_agreement(first, file);
}

/* The opened file is files[split->no]; opens the others and checks that all belong together. */
static weft_status open_others(weft_source *source, weft_gguf_file *files, char *paths,
                               const weft_split *split) {
    const weft_gguf_file *opened = &files[split->no];
    size_t n_tensors = 0, stride = strlen(opened->path) + 1; /* all paths are equally long */
    weft_status status = WEFT_OK;
    for (int64_t i = 0; !status && i < split->count; i++) {
        if (i == split->no)
            continue;
        files[i].path = paths + (size_t)i * stride;
        snprintf(files[i].path, stride, "%.*s-%05" PRId64 "-of-%05" PRId64 ".gguf",
                 (int)split->prefix_bytes, opened->path, i + 1, split->count);
        status = open_file(source, &files[i]);
        if (status == WEFT_E_NOT_FOUND || status == WEFT_E_IO)
            status = weft_fail_in(status, "%s: split into %" PRId64 " shards, one is missing",
                                  opened->path, split->count);
    }
    for (int64_t i = 0; !status && i < split->count; i++) {
        status = check_shard(&files[0], &files[i], i, split->count);
        n_tensors += files[i].gguf.n_tensors;
    }
    if (status)
        return status;
    int64_t said;
    status = split_integer(&files[0], "split.tensors.count", &said);
    if (!status && said >= 0 && (uint64_t)said != n_tensors)
        status = weft_fail(WEFT_E_FORMAT,
                           "%s: split.tensors.count is %" PRId64 ", the shards hold %zu tensors",
                           files[0].path, said, n_tensors);
    return status;
}

static weft_status read_all_shards(weft_source *source, weft_gguf_file *opened,
                                   const weft_split *split) {
    const weft_allocator *a = &source->allocator;
    size_t n = (size_t)split->count;
    weft_gguf_file *files = weft_alloc_zeroed(a, n * sizeof *files);
    size_t paths_bytes = n * (strlen(opened->path) + 1); /* n <= 65535 */
    char *paths = weft_alloc(a, paths_bytes);
    weft_status status = WEFT_OK;
    if (!files || !paths) {
        status = weft_fail(WEFT_E_MEMORY, "%s: out of memory for %zu shards", opened->path, n);
    } else {
        files[split->no] = *opened;
        memset(&opened->gguf, 0, sizeof opened->gguf); /* moved */
        status = open_others(source, files, paths, split);
    }
    if (!status)
        status = put_metadata(source, &files[0]);
    for (size_t i = 0; !status && i < n; i++)
        status = add_tensors(source, &files[i]);
    for (size_t i = 0; files && i < n; i++)
        weft_gguf_free(&files[i].gguf);
    weft_dealloc(a, files, n * sizeof *files);
    weft_dealloc(a, paths, paths_bytes);
    return status;
}

weft_status weft_gguf_read(const char *path, weft_source *source) {
    char own[WEFT_PATH_ROOM];
    size_t n = strlen(path);
    if (n >= sizeof own)
        return weft_fail(WEFT_E_ARGUMENT, "%.80s…: the path is longer than %d bytes", path,
                         WEFT_PATH_ROOM - 1);
    memcpy(own, path, n + 1);
    weft_gguf_file file = {.path = own};
    weft_split split = {0};
    source->format = WEFT_FORMAT_GGUF;
    weft_status status = open_file(source, &file);
    if (!status) {
        snprintf(source->format_name, sizeof source->format_name, "GGUF v%u",
                 (unsigned)file.gguf.version);
        status = read_split(&file, &split);
    }
    if (!status && split.count > 1) {
        status = check_name(&file, &split);
        if (!status)
            status = read_all_shards(source, &file, &split);
    } else if (!status) {
        status = put_metadata(source, &file);
        if (!status)
            status = add_tensors(source, &file);
    }
    weft_gguf_free(&file.gguf);
    return status;
}
