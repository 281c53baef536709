/* Reading importance matrices: GGUF files, and the older format, which is a list of name, number of
 * calls and sums. Both are those of llama.cpp's imatrix tool. */
#include "loader/imatrix.h"

#include <math.h>
#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "base/file.h"
#include "tensor/impl.h"

#define MAX_NAME 512

/* An empty f32 [n_matrices, n_cols] of that name in the map; *values is borrowed from it. */
static weft_status add(const weft_allocator *a, weft_weights *map, const char *name,
                       int64_t n_matrices, int64_t n_cols, float **values) {
    weft_tensor *t;
    int64_t dims[2] = {n_matrices, n_cols};
    weft_status status =
        weft_tensor_create_heap(a, WEFT_F32, WEFT_LAYOUT_STRIDED, 2, dims, true, &t);
    if (status)
        return status;
    *values = weft_tensor_data(t);
    return weft_weights_take(map, name, t);
}

/* sum / count; false for what cannot be a mean of squares. */
static bool mean(const float *sums, size_t n, float count, float *out) {
    for (size_t i = 0; i < n; i++) {
        out[i] = count > 0 ? sums[i] / count : 1;
        if (!(out[i] >= 0) || isinf(out[i]))
            return false;
    }
    return true;
}

/* ---- GGUF ---- */

static weft_status read_pair(const weft_allocator *a, const char *path, const char *name,
                             const weft_tensor *sums, const weft_tensor *counts,
                             weft_weights *map) {
    int64_t n_cols = sums->dims[sums->rank - 1], n_matrices = 1, n_counts = 1;
    for (int d = 0; d < sums->rank - 1; d++)
        n_matrices *= sums->dims[d];
    for (int d = 0; counts && d < counts->rank; d++)
        n_counts *= counts->dims[d];
    if (!counts || counts->dtype != WEFT_F32 || sums->dtype != WEFT_F32 || n_counts != n_matrices ||
        n_cols == 0)
        return weft_fail(WEFT_E_FORMAT, "%s: '%s': sums and counts do not fit", path, name);
    const float *from = weft_tensor_data(sums), *count = weft_tensor_data(counts);
    float *out;
    weft_status status = add(a, map, name, n_matrices, n_cols, &out);
    for (int64_t i = 0; !status && i < n_matrices; i++)
        if (!mean(from + i * n_cols, (size_t)n_cols, count[i], out + i * n_cols))
            status = weft_fail(WEFT_E_FORMAT, "%s: '%s' has a value that is no mean of squares",
                               path, name);
    return status;
}

static weft_status read_gguf(weft_engine *engine, const char *path, weft_weights *map,
                             uint32_t *n_chunks) {
    static const char end[] = ".in_sum2";
    weft_source source;
    weft_status status = weft_source_open(engine, path, false, NULL, NULL, &source);
    if (status)
        return status;
    weft_metadata_u32(source.metadata, "imatrix.chunk_count", n_chunks);
    for (size_t i = 0; !status && i < weft_weights_count(source.weights); i++) {
        const char *name;
        const weft_tensor *sums = weft_weights_at(source.weights, i, &name);
        size_t n = strlen(name), m = sizeof end - 1;
        char base[MAX_NAME], counts[MAX_NAME + 16];
        if (n <= m || n - m >= sizeof base || strcmp(name + n - m, end) != 0)
            continue;
        memcpy(base, name, n - m);
        base[n - m] = 0;
        memcpy(counts, name, n - m);
        memcpy(counts + n - m, ".counts", 8);
        status = read_pair(&engine->allocator, path, base, sums,
                           weft_weights_find(source.weights, counts), map);
    }
    weft_source_close(&source);
    if (!status && weft_weights_count(map) == 0)
        status = weft_fail(WEFT_E_FORMAT, "%s: not an importance matrix", path);
    return status;
}

/* ---- The older format ---- */

typedef struct reader {
    const unsigned char *p, *end;
} reader;

static bool take_i32(reader *r, int32_t *out) {
    if (r->end - r->p < 4)
        return false;
    memcpy(out, r->p, 4);
    r->p += 4;
    return true;
}

static weft_status read_entry(const weft_allocator *a, const char *path, reader *r,
                              weft_weights *map) {
    int32_t length, n_calls, n;
    char name[MAX_NAME];
    if (!take_i32(r, &length) || length < 1 || length >= MAX_NAME || r->end - r->p < length)
        return weft_fail(WEFT_E_FORMAT, "%s: not an importance matrix", path);
    memcpy(name, r->p, (size_t)length);
    name[length] = 0;
    r->p += length;
    if (!take_i32(r, &n_calls) || !take_i32(r, &n) || n < 1 || (r->end - r->p) / 4 < n)
        return weft_fail(WEFT_E_FORMAT, "%s: '%s' is cut short", path, name);
    float *out, count = n_calls > 0 ? (float)n_calls : 1;
    weft_status status = add(a, map, name, 1, n, &out);
    if (status)
        return status;
    memcpy(out, r->p, 4 * (size_t)n);
    r->p += 4 * (size_t)n;
    if (!mean(out, (size_t)n, count, out))
        return weft_fail(WEFT_E_FORMAT, "%s: '%s' has a value that is no mean of squares", path,
                         name);
    return WEFT_OK;
}

static weft_status read_old(const weft_allocator *a, const char *path, const weft_mapping *file,
                            weft_weights *map, uint32_t *n_chunks) {
    reader r = {file->data, file->data + file->size_bytes};
    int32_t n, chunks;
    if (!take_i32(&r, &n) || n < 1)
        return weft_fail(WEFT_E_FORMAT, "%s: not an importance matrix", path);
    weft_status status = WEFT_OK;
    for (int32_t i = 0; !status && i < n; i++)
        status = read_entry(a, path, &r, map);
    if (!status && take_i32(&r, &chunks) && chunks > 0)
        *n_chunks = (uint32_t)chunks;
    return status;
}

weft_status weft_imatrix_read(weft_engine *engine, const char *path, weft_weights **out,
                              uint32_t *n_chunks) {
    weft_mapping file;
    *out = NULL;
    *n_chunks = 0;
    weft_status status = weft_file_map(path, &file);
    if (status)
        return status;
    weft_weights *map = weft_weights_create(&engine->allocator);
    if (!map)
        status = weft_fail(WEFT_E_MEMORY, "%s: out of memory", path);
    else if (file.size_bytes >= 4 && memcmp(file.data, "GGUF", 4) == 0)
        status = read_gguf(engine, path, map, n_chunks);
    else
        status = read_old(&engine->allocator, path, &file, map, n_chunks);
    weft_file_unmap(&file);
    if (status)
        weft_weights_destroy(map);
    else
        *out = map;
    return status;
}
