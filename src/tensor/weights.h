/* The name → tensor map that a loader fills and a model borrows from. */
#ifndef WEFT_TENSOR_WEIGHTS_H
#define WEFT_TENSOR_WEIGHTS_H

#include "tensor/slab.h"
#include <weft/tensor.h>

typedef struct weft_weights weft_weights;

weft_weights *weft_weights_create(const weft_allocator *a); /* NULL: no memory */
void weft_weights_destroy(weft_weights *w); /* releases every tensor; NULL is allowed */

/* Moves the caller's reference into the map (also on failure: it is released then). Copies the
 * name. Errors: WEFT_E_FORMAT for a name that exists, WEFT_E_MEMORY. */
weft_status weft_weights_take(weft_weights *w, const char *name, weft_tensor *tensor);
/* Replaces the tensor of an existing name (the old one is released). */
weft_status weft_weights_replace(weft_weights *w, const char *name, weft_tensor *tensor);
size_t weft_weights_count(const weft_weights *w);
/* Borrowed; NULL where absent. O(1). */
weft_tensor *weft_weights_find(const weft_weights *w, const char *name);
/* Where the map's packed weights are to lie; borrowed. Tensors may outlive the map. */
weft_slabs *weft_weights_slabs(weft_weights *w);
weft_tensor *weft_weights_at(const weft_weights *w, size_t i, const char **name);

#endif
