/* Inside of tensors, storages and scopes, for files of src/tensor and, where marked, the layers
 * above. */
#ifndef WEFT_TENSOR_IMPL_H
#define WEFT_TENSOR_IMPL_H

#include <stdatomic.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "base/engine_impl.h"
#include "base/rwlock.h"
#include "tensor/kernels/table.h"
#include <weft/ops.h>
#include <weft/tensor.h>

typedef enum weft_layout {
    WEFT_LAYOUT_STRIDED, /* plain elements, or rows of blocks as in the file */
    WEFT_LAYOUT_PANEL16  /* packed panels of 16 rows (kernels/panel.h); rank 2 */
} weft_layout;

typedef enum weft_owner {
    WEFT_OWNER_HEAP,   /* data allocated with the storage's allocator */
    WEFT_OWNER_ARENA,  /* data lies in `arena`, which counts the references from outside */
    WEFT_OWNER_CALLER, /* wrapped memory, never freed here */
    WEFT_OWNER_CUSTOM  /* on the last release `on_release(release_ctx)`: mappings */
} weft_owner;

typedef struct weft_arena weft_arena; /* arena.c */
typedef struct weft_slabs weft_slabs; /* slab.h */

typedef struct weft_storage {
    atomic_size_t n_refs; /* tensors on it */
    uint64_t id;          /* locks are taken in ascending id */
    unsigned char *data;  /* aligned to 64 unless wrapped or mapped */
    size_t size_bytes;
    weft_owner owner;
    bool immutable;
    atomic_uint_fast64_t version; /* in-place writes so far */
    weft_rwlock lock;             /* unused when immutable */
    weft_allocator allocator;
    weft_arena *arena;
    void (*on_release)(void *ctx);
    void *release_ctx;
    size_t block_bytes; /* of the allocation that starts with this struct; 0 in an arena */
    size_t data_bytes;  /* of the data's own allocation; 0: in the header's block, or foreign */
} weft_storage;

struct weft_tensor {
    atomic_size_t n_refs; /* the scope's one, and retained ones */
    uint64_t id;
    weft_dtype dtype;
    weft_layout layout;
    int rank;
    bool is_var;
    int64_t dims[WEFT_MAX_RANK];
    int64_t strides[WEFT_MAX_RANK]; /* elements */
    int64_t offset;                 /* elements */
    weft_storage *storage;
    weft_allocator allocator; /* of this header; unused in an arena */
    weft_arena *arena;        /* where the header lies, or NULL */
    bool embedded;            /* the header lies in its storage's block */
    atomic_size_t slot;       /* hint: its index among the owning scope's results */
    /* A weight's panels, where they were made after the tensor; a reference. */
    struct weft_tensor *_Atomic panels;
};

/* Address of the first element (block types: of its block). For all layers; hold the guard. */
void *weft_tensor_data(const weft_tensor *t);

/* ---- For the layers above: weights ---- */

/* An immutable tensor over memory that `on_release(ctx)` gives back when the last reference goes.
 * The reference is the caller's. Errors: WEFT_E_SHAPE, _OVERFLOW, _MEMORY; then nothing is called.
 */
weft_status weft_tensor_create_custom(const weft_allocator *a, weft_dtype dtype, int rank,
                                      const int64_t *dims, const void *data, size_t size_bytes,
                                      void (*on_release)(void *ctx), void *ctx, weft_tensor **out);

/* A mutable or immutable heap tensor outside of any scope, uninitialised; the reference is the
 * caller's. For caches (f32, f16) and packed weights (layout PANEL16: rank 2, size from panel.h).
 */
weft_status weft_tensor_create_heap(const weft_allocator *a, weft_dtype dtype, weft_layout layout,
                                    int rank, const int64_t *dims, bool immutable,
                                    weft_tensor **out);

/* A header outside of any scope over the part of `whole`'s storage that begins at element `offset`
 * of it; strides in elements, NULL: packed. The reference is the caller's. Errors: WEFT_E_SHAPE,
 * _OVERFLOW, _RANGE (outside of the storage), _MEMORY. */
weft_status weft_tensor_create_part(const weft_allocator *a, const weft_tensor *whole,
                                    int64_t offset, int rank, const int64_t *dims,
                                    const int64_t *strides, weft_tensor **out);

/* Packs a rank-2 float or quantised weight [n_out, n_in] into panels of 16 rows, in parallel; one
 * reference for the caller. They lie among `slabs` (weft_weights_slabs), or NULL: by themselves.
 * Errors: WEFT_E_UNSUPPORTED (type without a panel form), _MEMORY. */
weft_status weft_tensor_pack(weft_engine *engine, weft_slabs *slabs, weft_tensor *weight,
                             weft_tensor **out);
/* The same into rows from `first_row`, a multiple of 16, of panels that nobody else has yet:
 * several weights of one type and width one after the other. */
weft_status weft_tensor_pack_into(weft_engine *engine, weft_tensor *weight, weft_tensor *panels,
                                  int64_t first_row);

/* Panels of `weight` (of a stack: rows of each matrix rounded up), which products and lookups use
 * in its place from now on; takes the reference. Nobody else gives it any, others may be reading.
 */
void weft_tensor_take_panels(weft_tensor *weight, weft_tensor *panels);
/* Those, or the weight itself where it has none. */
weft_tensor *weft_tensor_packed(weft_tensor *weight);

/* ---- For ops ---- */

weft_engine *weft_scope_engine(const weft_scope *s);
const weft_kernels *weft_scope_kernels(const weft_scope *s);
weft_team *weft_scope_team(const weft_scope *s);

/* True when the op may run: scope fine and all of tensors[n] there (else the status is set). */
bool weft_scope_ready(weft_scope *s, const char *op, weft_tensor *const *tensors, size_t n);
/* Sets the sticky status (first error wins) with a detail that starts with the op's name; gives
 * NULL. */
__attribute__((format(printf, 4, 5))) void *weft_scope_fail(weft_scope *s, weft_status status,
                                                            const char *op, const char *format,
                                                            ...);
/* A fresh contiguous result, not zero-filled, owned by the scope. Checks rank, extents and
 * overflow. */
weft_tensor *weft_scope_new(weft_scope *s, const char *op, weft_dtype dtype, int rank,
                            const int64_t *dims);
/* A fresh header over the storage of `t`; the caller sets dims, strides and offset before use. */
weft_tensor *weft_scope_view(weft_scope *s, const char *op, weft_tensor *t);
/* Scratch of this op, freed on the next reset at the latest; NULL sets the status. */
void *weft_scope_scratch(weft_scope *s, const char *op, size_t size_bytes);

/* Resolves a negative axis; outside of the rank WEFT_E_RANGE and false. */
bool weft_scope_axis(weft_scope *s, const char *op, const weft_tensor *t, int axis, int *out);

/* "[2, 3]" into buf; for details. */
const char *weft_shape_text(const weft_tensor *t, char *buf, size_t room);
const char *weft_dims_text(int rank, const int64_t *dims, char *buf, size_t room);

/* Locks the storages of tensors[n] (n <= 16), sorted by id, each once; bit i of `write_mask` asks
 * for exclusive access to tensor i. Immutable storages take none. WEFT_E_REENTRANT inside a
 * callback or while this thread holds a mapping. Fails without holding anything. */
typedef struct weft_guard {
    weft_storage *held[16];
    bool exclusive[16];
    int n;
} weft_guard;
weft_status weft_guard_lock(weft_guard *g, weft_tensor *const *tensors, size_t n,
                            unsigned write_mask);
void weft_guard_unlock(weft_guard *g);

#endif
