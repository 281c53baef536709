/* Inside of a bundle, and how its tensors' elements are read out. */
#ifndef WEFT_LOADER_BUNDLE_H
#define WEFT_LOADER_BUNDLE_H

#include "base/metadata.h"
#include "tensor/impl.h"
#include "tensor/weights.h"
#include <weft/files.h>

struct weft_bundle {
    weft_allocator allocator;
    weft_weights *weights;
    weft_metadata *texts; /* strings */
};

/* weft_bundle_put_text of `n_bytes` that are UTF-8 already. */
weft_status weft_bundle_take_text(weft_bundle *bundle, const char *key, const char *text,
                                  size_t n_bytes);

/* The elements of a tensor of a plain type, row-major: its own memory, locked for reading, or a
 * copy where its strides are others. Errors: WEFT_E_LAYOUT, _REENTRANT, _MEMORY. */
typedef struct weft_elements {
    const weft_allocator *allocator;
    const void *data;
    size_t size_bytes;
    void *copy; /* NULL: `data` is the tensor's own */
    weft_guard guard;
} weft_elements;
weft_status weft_elements_open(const weft_allocator *a, weft_tensor *t, weft_elements *out);
void weft_elements_close(weft_elements *e);

/* Whether each byte is 0 or 1; else WEFT_E_FORMAT. What a file says is bool may be anything. */
weft_status weft_bools_check(const unsigned char *data, size_t n);

#endif
