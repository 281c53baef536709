/* Mappings: an application's own look at the elements, under the guard that ops take. */
#include "tensor/copy.h"

/* The one mapping that a thread may hold. Immutable tensors need none. */
typedef struct mapping {
    weft_guard guard;
    weft_tensor *tensors[8]; /* retained, so that a reset scope cannot free them; NULL: unmapped */
    size_t n, n_left;
} mapping;

static _Thread_local mapping mapped;

weft_status weft_tensor_map_all(weft_access *list, size_t n) {
    weft_tensor *tensors[8];
    unsigned write_mask = 0;
    if (!list && n > 0)
        return weft_fail(WEFT_E_NULL, "map: list is NULL");
    if (n > 8)
        return weft_fail(WEFT_E_ARGUMENT, "map: %zu tensors; 8 are the most", n);
    for (size_t i = 0; i < n; i++) {
        list[i].data = NULL;
        if (!list[i].tensor)
            return weft_fail(WEFT_E_NULL, "map: tensor %zu of %zu is NULL", i + 1, n);
        if (list[i].tensor->layout != WEFT_LAYOUT_STRIDED)
            return weft_fail(WEFT_E_LAYOUT, "map: tensor %zu of %zu is packed in panels", i + 1, n);
        tensors[i] = list[i].tensor;
        write_mask |= (unsigned)list[i].write << i;
    }
    weft_guard guard;
    weft_status status = weft_guard_lock(&guard, tensors, n, write_mask);
    if (status)
        return weft_fail_in(status, "map");
    if (guard.n > 0)
        mapped = (mapping){.guard = guard};
    for (size_t i = 0; i < n; i++) {
        weft_storage *storage = tensors[i]->storage;
        list[i].data = weft_tensor_data(tensors[i]);
        if (list[i].write)
            atomic_fetch_add_explicit(&storage->version, 1, memory_order_release);
        if (!storage->immutable)
            mapped.tensors[mapped.n++] = weft_tensor_retain(tensors[i]);
    }
    if (guard.n > 0)
        mapped.n_left = mapped.n;
    return WEFT_OK;
}

/* Forgets one entry; the locks go when all of the mapping's entries are gone. */
static void unmap_entry(size_t i) {
    weft_tensor *t = mapped.tensors[i];
    mapped.tensors[i] = NULL;
    if (--mapped.n_left == 0) {
        weft_guard_unlock(&mapped.guard);
        mapped.n = 0;
    }
    weft_tensor_release(&t);
}

void weft_tensor_unmap(weft_tensor *t) {
    for (size_t i = 0; t && i < mapped.n; i++) {
        if (mapped.tensors[i] == t) {
            unmap_entry(i);
            return;
        }
    }
}

void weft_tensor_unmap_all(weft_access *list, size_t n) {
    for (size_t i = 0; list && i < n; i++) {
        if (list[i].data)
            weft_tensor_unmap(list[i].tensor);
        list[i].data = NULL;
    }
}

weft_status weft_tensor_map_read(weft_tensor *t, const void **out) {
    weft_access access = {.tensor = t};
    if (!out)
        return weft_fail(WEFT_E_NULL, "map_read: out is NULL");
    weft_status status = weft_tensor_map_all(&access, 1);
    *out = access.data;
    return status;
}

weft_status weft_tensor_map_write(weft_tensor *t, void **out) {
    weft_access access = {.tensor = t, .write = true};
    if (!out)
        return weft_fail(WEFT_E_NULL, "map_write: out is NULL");
    weft_status status = weft_tensor_map_all(&access, 1);
    *out = access.data;
    return status;
}

weft_status weft_tensor_read(weft_tensor *t, void *out, size_t size_bytes) {
    char text[256];
    weft_guard guard;
    weft_shape shape;
    if (!t)
        return weft_fail(WEFT_E_NULL, "read: tensor is NULL");
    if (t->layout != WEFT_LAYOUT_STRIDED)
        return weft_fail(WEFT_E_LAYOUT, "read: packed panels have no rows to read");
    weft_status status = weft_shape_contiguous(t->dtype, t->layout, t->rank, t->dims, &shape);
    if (status)
        return weft_fail_in(status, "read");
    if (size_bytes != shape.size_bytes)
        return weft_fail(WEFT_E_SHAPE, "read: %s %s takes %zu bytes, not %zu",
                         weft_shape_text(t, text, sizeof text), weft_dtype_name(t->dtype),
                         shape.size_bytes, size_bytes);
    if (!out && size_bytes > 0)
        return weft_fail(WEFT_E_NULL, "read: out is NULL");
    status = weft_guard_lock(&guard, &t, 1, 0);
    if (status)
        return weft_fail_in(status, "read");
    weft_copy_elements(NULL, t, out);
    weft_guard_unlock(&guard);
    return WEFT_OK;
}
