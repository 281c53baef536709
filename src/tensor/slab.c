/* Slabs for panels: bumped through, and freed when the map and every tensor in them let go. */
#include "tensor/slab.h"
#include "tensor/storage.h"

#define HUGE_PAGE ((size_t)2 << 20)
#define MOST_BYTES ((size_t)64 << 20) /* of a slab for several tensors */

struct weft_slab {
    atomic_size_t n_refs; /* the map's one and those of storages */
    weft_allocator allocator;
    unsigned char *memory; /* of whole huge pages */
    size_t size_bytes, used;
};

static void drop_slab(void *ctx) {
    weft_slab *slab = ctx;
    if (atomic_fetch_sub_explicit(&slab->n_refs, 1, memory_order_acq_rel) != 1)
        return;
    weft_allocator a = slab->allocator;
    weft_dealloc(&a, slab->memory, slab->size_bytes);
    weft_dealloc(&a, slab, sizeof *slab);
}

void weft_slabs_close(weft_slabs *slabs) {
    if (slabs->open)
        drop_slab(slabs->open);
    slabs->open = NULL;
}

/* One reference. NULL: no memory. */
static weft_slab *make_slab(const weft_allocator *a, size_t size_bytes) {
    weft_slab *slab = weft_alloc(a, sizeof *slab);
    if (!slab)
        return NULL;
    slab->memory = a->alloc(a->ctx, size_bytes, HUGE_PAGE);
    if (!slab->memory) {
        weft_dealloc(a, slab, sizeof *slab);
        return NULL;
    }
    weft_advise_huge(slab->memory, size_bytes);
    atomic_init(&slab->n_refs, 1);
    slab->allocator = *a;
    slab->size_bytes = size_bytes;
    slab->used = 0;
    return slab;
}

/* A slab with `need` bytes left, and a reference for what comes to lie there. Slabs double, so that
 * a small model takes little; what is too large for them gets one of its own. NULL: no memory. */
static weft_slab *slab_with(weft_slabs *slabs, size_t need) {
    size_t bytes = slabs->total_bytes, whole;
    if (slabs->open && slabs->open->size_bytes - slabs->open->used >= need) {
        atomic_fetch_add_explicit(&slabs->open->n_refs, 1, memory_order_relaxed);
        return slabs->open;
    }
    if (!weft_add_size(need, HUGE_PAGE - 1, &whole))
        return NULL;
    whole = whole / HUGE_PAGE * HUGE_PAGE;
    bytes = bytes < MOST_BYTES ? bytes / HUGE_PAGE * HUGE_PAGE : MOST_BYTES;
    bytes = bytes < whole ? whole : bytes;
    weft_slab *slab = make_slab(&slabs->allocator, bytes);
    if (!slab && bytes > whole)
        slab = make_slab(&slabs->allocator, bytes = whole);
    if (!slab)
        return NULL;
    slabs->total_bytes += bytes;
    size_t room = slabs->open ? slabs->open->size_bytes - slabs->open->used : 0;
    if (bytes - need < room) /* the open one has more left */
        return slab;
    weft_slabs_close(slabs);
    slabs->open = slab;
    atomic_fetch_add_explicit(&slab->n_refs, 1, memory_order_relaxed);
    return slab;
}

weft_status weft_tensor_create_panels(const weft_allocator *a, weft_slabs *slabs, weft_dtype dtype,
                                      const int64_t dims[2], weft_tensor **out) {
    char text[256];
    weft_shape shape;
    size_t need;
    if (!slabs)
        return weft_tensor_create_heap(a, dtype, WEFT_LAYOUT_PANEL16, 2, dims, true, out);
    *out = NULL;
    weft_status status = weft_shape_contiguous(dtype, WEFT_LAYOUT_PANEL16, 2, dims, &shape);
    if (status)
        return status;
    bool fits = weft_add_size(shape.size_bytes, WEFT_CACHE_LINE - 1, &need);
    need = need / WEFT_CACHE_LINE * WEFT_CACHE_LINE;
    weft_tensor *t =
        fits ? weft_tensor_alloc_foreign(a, NULL, dtype, &shape, shape.size_bytes) : NULL;
    weft_slab *slab = t ? slab_with(slabs, need) : NULL;
    if (!slab) {
        if (t) /* without data: nothing but the header goes */
            weft_tensor_release(&t);
        return weft_fail(WEFT_E_MEMORY, "no memory for %s %s (%zu bytes)",
                         weft_dims_text(2, dims, text, sizeof text), weft_dtype_name(dtype),
                         shape.size_bytes);
    }
    t->layout = WEFT_LAYOUT_PANEL16;
    t->storage->immutable = true;
    t->storage->owner = WEFT_OWNER_CUSTOM;
    t->storage->on_release = drop_slab;
    t->storage->release_ctx = slab;
    t->storage->data = slab->memory + slab->used;
    slab->used += need;
    *out = t;
    return WEFT_OK;
}
