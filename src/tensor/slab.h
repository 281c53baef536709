/* Slabs: large blocks in which packed weights lie one after the other. A huge page needs 2 MiB of
 * one mapping, and most weights have less: apart from each other they would be read through pages
 * of 4 KiB, at about seven eighths of the memory's speed. Internal to the tensor layer, but for
 * weft_slabs_of's pointer, which the model layer hands on. */
#ifndef WEFT_TENSOR_SLAB_H
#define WEFT_TENSOR_SLAB_H

#include "tensor/impl.h"

typedef struct weft_slab weft_slab;

/* The slabs of one weights map. Used by one thread at a time. */
struct weft_slabs {
    weft_allocator allocator;
    weft_slab *open; /* with room left; a reference. NULL: none */
    size_t total_bytes;
};

/* Gives the open slab up; memory is freed when the last tensor in it is gone. */
void weft_slabs_close(weft_slabs *slabs);

/* Immutable panels [rows, cols], uninitialised; one reference for the caller. `slabs` NULL: memory
 * of their own, of `a`. Errors: WEFT_E_OVERFLOW, _MEMORY. */
weft_status weft_tensor_create_panels(const weft_allocator *a, weft_slabs *slabs, weft_dtype dtype,
                                      const int64_t dims[2], weft_tensor **out);

#endif
