/* Writes GGUF files, version 3: a header from the metadata map and a list of tensors, then their
 * bytes as they come. The file appears by rename when it is whole. */
#ifndef WEFT_LOADER_GGUF_WRITE_H
#define WEFT_LOADER_GGUF_WRITE_H

#include "base/metadata.h"
#include <weft/tensor.h>

typedef struct weft_gguf_item {
    const char *name;
    weft_dtype dtype;
    int rank;                    /* 1 … 4 */
    int64_t dims[WEFT_MAX_RANK]; /* row-major: the row length comes last */
    uint64_t size_bytes;         /* weft_gguf_item_bytes */
} weft_gguf_item;

/* Bytes of a tensor's data. WEFT_E_SHAPE when its rows are not whole blocks, WEFT_E_UNSUPPORTED for
 * a type that GGUF does not have, WEFT_E_OVERFLOW. */
weft_status weft_gguf_item_bytes(const weft_gguf_item *item, uint64_t *size_bytes);

/* Bytes of the header with its padding. */
weft_status weft_gguf_header_bytes(const weft_metadata *metadata, const weft_gguf_item *items,
                                   size_t n, uint64_t *size_bytes);

typedef struct weft_gguf_out weft_gguf_out;

/* Metadata and items are read here and not kept, but for the sizes. Errors: WEFT_E_FORMAT (arrays
 * of arrays, whose elements the map has not; an alignment that is no power of two), WEFT_E_IO,
 * WEFT_E_MEMORY. */
weft_status weft_gguf_create(const weft_allocator *a, const char *path,
                             const weft_metadata *metadata, const weft_gguf_item *items, size_t n,
                             weft_gguf_out **out);
/* The next bytes of the tensors, in the order of the items; padding is put between them. */
weft_status weft_gguf_put(weft_gguf_out *out, const void *data, size_t size_bytes);
/* WEFT_E_FORMAT when bytes are missing. Frees *out in any case. */
weft_status weft_gguf_commit(weft_gguf_out **out);
void weft_gguf_abort(weft_gguf_out **out); /* NULL is allowed */

#endif
