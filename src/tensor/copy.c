/* copy and contiguous: fresh storages that hold exactly what a view reaches. */
#include "tensor/copy.h"

#include <string.h>
#include "tensor/walk.h"

weft_items weft_items_of(const weft_tensor *t) {
    weft_items items = {.item_bytes = weft_dtype_block_bytes(t->dtype), .rank = t->rank};
    int64_t block = (int64_t)weft_dtype_block(t->dtype);
    for (int i = 0; i < t->rank; i++) {
        bool inner = i == t->rank - 1;
        items.dims[i] = inner ? t->dims[i] / block : t->dims[i];
        /* Strides of extent 1 are never walked, and need not be whole blocks. */
        items.strides[i] = inner ? t->strides[i] : t->strides[i] / block;
    }
    return items;
}

/* Walks without a team, for calls that have no scope. */
static void copy_alone(const weft_items *from, const void *data, void *to,
                       const int64_t *row_major) {
    weft_walk w;
    union {
        const void *in;
        void *out;
    } source = {.in = data}; /* operand 1 is only read */
    void *operands[] = {to, source.out};
    const int64_t *strides[] = {row_major, from->strides};
    size_t items[] = {from->item_bytes, from->item_bytes};
    weft_walk_init(&w, from->rank, from->dims, 2, operands, strides, items);
    for (size_t i = 0; i < w.n_tiles; i++) {
        weft_tile_at at;
        int row = w.rank - 2, col = w.rank - 1;
        weft_walk_tile(&w, i, &at);
        weft_copy_2d(from->item_bytes, at.rows, at.cols, at.data[1], w.strides[1][row],
                     w.strides[1][col], at.data[0], w.strides[0][row], w.strides[0][col]);
    }
}

void weft_copy_elements(weft_scope *s, const weft_tensor *t, void *to) {
    int64_t row_major[WEFT_MAX_RANK];
    weft_items items = weft_items_of(t);
    weft_strides_of(items.rank, items.dims, row_major);
    if (s)
        weft_copy_strided(s, items.item_bytes, items.rank, items.dims, weft_tensor_data(t),
                          items.strides, to, row_major);
    else
        copy_alone(&items, weft_tensor_data(t), to, row_major);
}

const void *weft_packed_elements(weft_scope *s, const char *op, const weft_tensor *t) {
    if (weft_tensor_is_contiguous(t))
        return weft_tensor_data(t);
    size_t bytes = (size_t)weft_tensor_numel(t) * weft_dtype_block_bytes(t->dtype);
    void *packed =
        weft_scope_scratch(s, op, bytes + 1); /* views of stride 0 may be large, but were checked */
    if (packed)
        weft_copy_elements(s, t, packed);
    return packed;
}

/* A fresh storage with the elements of `t`; the op's name stands in details. */
static weft_tensor *copy_as(weft_scope *s, const char *op, weft_tensor *t) {
    weft_guard guard;
    weft_shape shape;
    weft_status status = weft_shape_contiguous(t->dtype, t->layout, t->rank, t->dims, &shape);
    if (status) {
        weft_scope_fail_in(s, status, op);
        return NULL;
    }
    weft_tensor *copy = weft_scope_new_shaped(s, op, t->dtype, t->layout, &shape);
    if (!copy)
        return NULL;
    status = weft_guard_lock(&guard, &t, 1, 0);
    if (status) {
        weft_scope_fail_in(s, status, op);
        weft_scope_discard(s, &copy);
        return NULL;
    }
    if (t->layout == WEFT_LAYOUT_PANEL16)
        memcpy(weft_tensor_data(copy), weft_tensor_data(t), shape.size_bytes);
    else
        weft_copy_elements(s, t, weft_tensor_data(copy));
    weft_guard_unlock(&guard);
    return copy;
}

weft_tensor *weft_tensor_copy(weft_scope *s, weft_tensor *t) {
    return weft_scope_ready(s, "copy", &t, 1) ? copy_as(s, "copy", t) : NULL;
}

weft_tensor *weft_tensor_contiguous(weft_scope *s, weft_tensor *t) {
    if (!weft_scope_ready(s, "contiguous", &t, 1))
        return NULL;
    return weft_tensor_is_contiguous(t) ? weft_scope_share(s, "contiguous", t)
                                        : copy_as(s, "contiguous", t);
}

weft_tensor *weft_var_create(weft_scope *s, weft_tensor *t) {
    if (!weft_scope_ready(s, "var_create", &t, 1))
        return NULL;
    weft_tensor *var = copy_as(s, "var_create", t);
    if (var)
        var->is_var = true;
    return var;
}
