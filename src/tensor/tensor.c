/* Headers: references, questions about them, tensors outside of scopes, and shapes as text. */
#include <stdio.h>
#include "tensor/kernels/panel.h"
#include "tensor/storage.h"

weft_tensor *weft_tensor_retain(weft_tensor *t) {
    if (!t)
        return NULL;
    atomic_fetch_add_explicit(&t->n_refs, 1, memory_order_relaxed);
    if (t->arena)
        weft_arena_ref(t->arena);
    return t;
}

void weft_tensor_release(weft_tensor **tensor) {
    if (!tensor || !*tensor)
        return;
    weft_tensor *t = *tensor;
    weft_arena *arena = t->arena;
    *tensor = NULL;
    weft_tensor_drop(t, NULL);
    if (arena)
        weft_arena_unref(arena);
}

uint64_t weft_tensor_id(const weft_tensor *t) {
    return t ? t->id : 0;
}

weft_dtype weft_tensor_dtype(const weft_tensor *t) {
    return t ? t->dtype : WEFT_DTYPE_COUNT;
}

int weft_tensor_rank(const weft_tensor *t) {
    return t ? t->rank : -1;
}

/* The axis counted from the start, or -1 with a detail. */
static int find_axis(const weft_tensor *t, int axis) {
    if (!t) {
        weft_fail(WEFT_E_NULL, "tensor is NULL");
        return -1;
    }
    int resolved = axis < 0 ? axis + t->rank : axis;
    if (resolved < 0 || resolved >= t->rank) {
        weft_fail(WEFT_E_RANGE, "axis %d of a tensor of rank %d", axis, t->rank);
        return -1;
    }
    return resolved;
}

int64_t weft_tensor_dim(const weft_tensor *t, int axis) {
    int i = find_axis(t, axis);
    return i < 0 ? -1 : t->dims[i];
}

int64_t weft_tensor_stride(const weft_tensor *t, int axis) {
    int i = find_axis(t, axis);
    return i < 0 ? 0 : t->strides[i];
}

int64_t weft_tensor_offset(const weft_tensor *t) {
    return t ? t->offset : 0;
}

int64_t weft_tensor_numel(const weft_tensor *t) {
    int64_t n = 1; /* cannot overflow: checked when the header was made */
    if (!t)
        return 0;
    for (int i = 0; i < t->rank; i++)
        if (t->dims[i] == 0)
            return 0;
    for (int i = 0; i < t->rank; i++)
        n *= t->dims[i];
    return n;
}

bool weft_tensor_is_contiguous(const weft_tensor *t) {
    return t && weft_shape_is_contiguous(t->rank, t->dims, t->strides);
}

bool weft_tensor_is_immutable(const weft_tensor *t) {
    return t && t->storage->immutable;
}

bool weft_tensor_same_storage(const weft_tensor *a, const weft_tensor *b) {
    return a && b && a->storage == b->storage;
}

size_t weft_tensor_storage_bytes(const weft_tensor *t) {
    return t ? t->storage->size_bytes : 0;
}

uint64_t weft_tensor_storage_version(const weft_tensor *t) {
    return t ? atomic_load_explicit(&t->storage->version, memory_order_acquire) : 0;
}

bool weft_tensor_is_var(const weft_tensor *t) {
    return t && t->is_var;
}

void *weft_tensor_data(const weft_tensor *t) {
    size_t offset = (size_t)t->offset;
    if (offset == 0) /* nearly always; an op of a few elements feels the division */
        return t->storage->data;
    if (t->layout == WEFT_LAYOUT_PANEL16) {
        size_t columns = (size_t)t->dims[1];
        size_t panel = columns ? offset / columns / WEFT_PANEL_ROWS : 0;
        return t->storage->data + panel * weft_panel_bytes(t->dtype, columns);
    }
    size_t block = weft_dtype_block(t->dtype);
    if (block > 1)
        offset /= block;
    return t->storage->data + offset * weft_dtype_block_bytes(t->dtype);
}

/* ---- Panels made later ---- */

void weft_tensor_take_panels(weft_tensor *weight, weft_tensor *panels) {
    atomic_store_explicit(&weight->panels, panels, memory_order_release);
}

weft_tensor *weft_tensor_packed(weft_tensor *weight) {
    weft_tensor *panels = atomic_load_explicit(&weight->panels, memory_order_acquire);
    return panels ? panels : weight;
}

/* ---- Outside of scopes ---- */

weft_status weft_tensor_create_heap(const weft_allocator *a, weft_dtype dtype, weft_layout layout,
                                    int rank, const int64_t *dims, bool immutable,
                                    weft_tensor **out) {
    char text[256];
    weft_shape shape;
    *out = NULL;
    weft_status status = weft_shape_contiguous(dtype, layout, rank, dims, &shape);
    if (status)
        return status;
    weft_tensor *t = weft_tensor_alloc(a, NULL, NULL, dtype, layout, &shape);
    if (!t)
        return weft_fail(WEFT_E_MEMORY, "no memory for %s %s (%zu bytes)",
                         weft_dims_text(rank, dims, text, sizeof text), weft_dtype_name(dtype),
                         shape.size_bytes);
    t->storage->immutable = immutable;
    *out = t;
    return WEFT_OK;
}

weft_status weft_tensor_create_part(const weft_allocator *a, const weft_tensor *whole,
                                    int64_t offset, int rank, const int64_t *dims,
                                    const int64_t *strides, weft_tensor **out) {
    weft_shape packed, shape;
    *out = NULL;
    weft_status status =
        weft_shape_contiguous(whole->dtype, WEFT_LAYOUT_STRIDED, rank, dims, &packed);
    if (!status)
        status =
            weft_shape_view(whole, rank, dims, strides ? strides : packed.strides, offset, &shape);
    if (status)
        return status;
    weft_tensor *t = weft_tensor_alloc_view(a, NULL, NULL, whole);
    if (!t)
        return weft_fail(WEFT_E_MEMORY, "no memory for a tensor's header");
    t->rank = rank;
    t->offset = shape.offset;
    for (int i = 0; i < rank; i++) {
        t->dims[i] = shape.dims[i];
        t->strides[i] = shape.strides[i];
    }
    *out = t;
    return WEFT_OK;
}

weft_status weft_tensor_create_custom(const weft_allocator *a, weft_dtype dtype, int rank,
                                      const int64_t *dims, const void *data, size_t size_bytes,
                                      void (*on_release)(void *ctx), void *ctx, weft_tensor **out) {
    char text[256];
    weft_shape shape;
    *out = NULL;
    weft_status status = weft_shape_contiguous(dtype, WEFT_LAYOUT_STRIDED, rank, dims, &shape);
    if (status)
        return status;
    if (size_bytes < shape.size_bytes)
        return weft_fail(WEFT_E_SHAPE, "%s %s takes %zu bytes, there are %zu",
                         weft_dims_text(rank, dims, text, sizeof text), weft_dtype_name(dtype),
                         shape.size_bytes, size_bytes);
    weft_tensor *t = weft_tensor_alloc_foreign(a, NULL, dtype, &shape, size_bytes);
    if (!t)
        return weft_fail(WEFT_E_MEMORY, "no memory for a tensor's header");
    t->storage->owner = on_release ? WEFT_OWNER_CUSTOM : WEFT_OWNER_CALLER;
    t->storage->immutable = true;
    /* Immutable: never written through. An empty tensor has an address all the same. */
    t->storage->data = data ? (unsigned char *)(uintptr_t)data : (unsigned char *)t->storage;
    t->storage->on_release = on_release;
    t->storage->release_ctx = ctx;
    *out = t;
    return WEFT_OK;
}

/* ---- Shapes as text ---- */

const char *weft_dims_text(int rank, const int64_t *dims, char *buf, size_t room) {
    size_t used = 0;
    if (room == 0)
        return "";
    buf[0] = '\0';
    for (int i = 0; i < rank && i < WEFT_MAX_RANK; i++) {
        int n = snprintf(buf + used, room - used, "%s%lld", i ? ", " : "[", (long long)dims[i]);
        if (n < 0 || (size_t)n >= room - used)
            return buf;
        used += (size_t)n;
    }
    snprintf(buf + used, room - used, "%s", rank > 0 ? "]" : "[]");
    return buf;
}

const char *weft_shape_text(const weft_tensor *t, char *buf, size_t room) {
    return weft_dims_text(t->rank, t->dims, buf, room);
}
