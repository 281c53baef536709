/* The three entries that write to an existing storage. Everything is checked before the first byte
 * is written, and every write counts in the storage's version. */
#include <stdio.h>
#include <string.h>
#include "tensor/copy.h"
#include "tensor/walk.h"

static weft_status status_of(const weft_scope *s) {
    return s ? s->status : WEFT_E_NULL;
}

/* Under the lock for writing, so that nobody else counts. */
static void count_write(weft_storage *storage) {
    uint64_t version = atomic_load_explicit(&storage->version, memory_order_relaxed);
    atomic_store_explicit(&storage->version, version + 1, memory_order_release);
}

/* Takes the guard with exclusive access to the first tensor. */
static bool lock_for_write(weft_scope *s, const char *op, weft_guard *guard,
                           weft_tensor *const *tensors, size_t n) {
    if (tensors[0]->storage->immutable) {
        weft_scope_fail(s, WEFT_E_IMMUTABLE, op, "dst lies in an immutable storage");
        return false;
    }
    weft_status status = weft_guard_lock(guard, tensors, n, 1);
    if (status)
        weft_scope_fail_in(s, status, op);
    return status == WEFT_OK;
}

/* ---- slice_set ---- */

/* A failure that names both shapes; gives false. Texts are made here alone: they cost more than the
 * whole copy of a row. */
static bool slice_fail(weft_scope *s, weft_status status, const weft_tensor *dst,
                       const weft_tensor *src, const char *why) {
    char dst_text[256], src_text[256];
    weft_scope_fail(s, status, "slice_set", "dst %s %s and src %s %s: %s",
                    weft_dtype_name(dst->dtype), weft_shape_text(dst, dst_text, sizeof dst_text),
                    weft_dtype_name(src->dtype), weft_shape_text(src, src_text, sizeof src_text),
                    why);
    return false;
}

static bool slice_contiguous(weft_scope *s, const char *which, const weft_tensor *t) {
    char dims[256], strides[256];
    if (weft_tensor_is_contiguous(t))
        return true;
    weft_scope_fail(s, WEFT_E_NOT_CONTIGUOUS, "slice_set",
                    "%s is not contiguous: shape %s, strides %s", which,
                    weft_shape_text(t, dims, sizeof dims),
                    weft_dims_text(t->rank, t->strides, strides, sizeof strides));
    return false;
}

/* All that can be wrong. Sharing comes first, so that it is the answer whatever the ranges are. */
static bool slice_check(weft_scope *s, const weft_tensor *dst, const weft_tensor *src, int *axis,
                        size_t start) {
    char text[128];
    if (dst->storage == src->storage)
        return slice_fail(s, WEFT_E_SAME_STORAGE, dst, src, "they share their storage");
    if (dst->dtype != src->dtype)
        return slice_fail(s, WEFT_E_DTYPE, dst, src, "the data types differ");
    if (dst->layout != WEFT_LAYOUT_STRIDED || src->layout != WEFT_LAYOUT_STRIDED)
        return slice_fail(s, WEFT_E_LAYOUT, dst, src, "packed panels cannot be set");
    if (dst->rank != src->rank)
        return slice_fail(s, WEFT_E_SHAPE, dst, src, "the ranks differ");
    if (!weft_scope_axis(s, "slice_set", dst, *axis, axis))
        return false;
    for (int i = 0; i < dst->rank; i++) {
        if (i == *axis || dst->dims[i] == src->dims[i])
            continue;
        snprintf(text, sizeof text, "they differ in axis %d, not only in axis %d", i, *axis);
        return slice_fail(s, WEFT_E_SHAPE, dst, src, text);
    }
    if (!slice_contiguous(s, "dst", dst) || !slice_contiguous(s, "src", src))
        return false;
    uint64_t room = (uint64_t)dst->dims[*axis], length = (uint64_t)src->dims[*axis];
    if (length > room || start > room - length) {
        snprintf(text, sizeof text, "%llu elements from %zu on leave axis %d",
                 (unsigned long long)length, start, *axis);
        return slice_fail(s, WEFT_E_RANGE, dst, src, text);
    }
    if (*axis == dst->rank - 1 && start % weft_dtype_block(dst->dtype) != 0) {
        snprintf(text, sizeof text, "element %zu is inside a block", start);
        return slice_fail(s, WEFT_E_LAYOUT, dst, src, text);
    }
    return true;
}

/* Whether there was anything to copy. In items (elements or blocks) dst is [outer, room], src
 * [outer, length], and `skip` items of a row come before. */
static bool copy_slice(weft_scope *s, weft_tensor *dst, weft_tensor *src, int axis, size_t start) {
    size_t block = weft_dtype_block(dst->dtype), item = weft_dtype_block_bytes(dst->dtype);
    int64_t outer = 1, inner = 1;
    for (int i = 0; i < axis; i++)
        outer *= dst->dims[i];
    for (int i = axis + 1; i < dst->rank; i++)
        inner *= dst->dims[i];
    int64_t length = src->dims[axis] * inner, room = dst->dims[axis] * inner;
    size_t skip = start * (size_t)inner;
    if (block > 1) { /* rows are whole blocks, `start` as well */
        length /= (int64_t)block;
        room /= (int64_t)block;
        skip /= block;
    }
    if (outer == 0 || length == 0)
        return false;
    unsigned char *first = (unsigned char *)weft_tensor_data(dst) + skip * item;
    size_t run_bytes = (size_t)length * item;
    if (outer == 1 && run_bytes <= (size_t)64 << 10)
        memcpy(first, weft_tensor_data(src), run_bytes);
    else
        weft_copy_strided(s, item, 2, (int64_t[]){outer, length}, weft_tensor_data(src),
                          (int64_t[]){length, 1}, first, (int64_t[]){room, 1});
    return true;
}

weft_status weft_slice_set(weft_scope *s, weft_tensor *dst, weft_tensor *src, int axis,
                           size_t start) {
    weft_tensor *tensors[] = {dst, src};
    weft_guard guard;
    if (!weft_scope_ready(s, "slice_set", tensors, 2) || !slice_check(s, dst, src, &axis, start) ||
        !lock_for_write(s, "slice_set", &guard, tensors, 2))
        return status_of(s);
    weft_timing timing = weft_timing_begin(weft_scope_engine(s), "slice_set", &src, 1);
    if (copy_slice(s, dst, src, axis, start))
        count_write(dst->storage);
    weft_timing_end(&timing);
    weft_guard_unlock(&guard);
    return WEFT_OK;
}

/* ---- var_set ---- */

/* The status that refuses the value, WEFT_OK if it fits. */
static weft_status var_check(const weft_tensor *var, const weft_tensor *t) {
    if (!var->is_var)
        return WEFT_E_NOT_A_LEAF;
    if (var->storage == t->storage)
        return WEFT_E_SAME_STORAGE;
    if (var->rank != t->rank)
        return WEFT_E_SHAPE;
    for (int i = 0; i < t->rank; i++)
        if (var->dims[i] != t->dims[i])
            return WEFT_E_SHAPE;
    if (var->dtype != t->dtype)
        return WEFT_E_DTYPE;
    return var->layout == t->layout ? WEFT_OK : WEFT_E_LAYOUT;
}

weft_status weft_var_set(weft_scope *s, weft_tensor *var, weft_tensor *t) {
    const char *op = "var_set";
    weft_tensor *tensors[] = {var, t};
    char var_text[256], text[256];
    weft_guard guard;
    if (!weft_scope_ready(s, op, tensors, 2))
        return status_of(s);
    weft_status status = var_check(var, t);
    if (status)
        weft_scope_fail(s, status, op, "%s %llu %s %s cannot take %s %s: %s",
                        var->is_var ? "variable" : "tensor", (unsigned long long)var->id,
                        weft_dtype_name(var->dtype),
                        weft_shape_text(var, var_text, sizeof var_text), weft_dtype_name(t->dtype),
                        weft_shape_text(t, text, sizeof text), weft_status_text(status));
    if (status || !lock_for_write(s, op, &guard, tensors, 2))
        return s->status;
    if (t->layout == WEFT_LAYOUT_PANEL16)
        memcpy(weft_tensor_data(var), weft_tensor_data(t), var->storage->size_bytes);
    else
        weft_copy_elements(s, t, weft_tensor_data(var));
    count_write(var->storage);
    weft_guard_unlock(&guard);
    return WEFT_OK;
}

/* ---- Callbacks ---- */

static bool inplace_check(weft_scope *s, const char *op, weft_tensor *const *args, size_t n) {
    char text[256];
    for (size_t i = 0; i < n; i++) {
        if (args[i]->layout != WEFT_LAYOUT_STRIDED) {
            weft_scope_fail(s, WEFT_E_LAYOUT, op, "argument %zu is packed in panels", i);
            return false;
        }
        for (size_t j = 0; j < i; j++) {
            if (args[i]->storage == args[j]->storage) {
                weft_scope_fail(s, WEFT_E_SAME_STORAGE, op, "arguments %zu and %zu share theirs", j,
                                i);
                return false;
            }
        }
    }
    for (int i = 0; i < args[0]->rank; i++) {
        if (args[0]->strides[i] == 0 && args[0]->dims[i] > 1) {
            weft_scope_fail(s, WEFT_E_ARGUMENT, op,
                            "dst %s repeats its elements along axis %d (stride 0): a write to one "
                            "would be a write to all",
                            weft_shape_text(args[0], text, sizeof text), i);
            return false;
        }
    }
    return true;
}

static weft_status inplace(weft_scope *s, const char *op, weft_tensor *const *args, size_t n,
                           weft_inplace_fn fn, void *ctx) {
    weft_raw raw[3];
    weft_tensor *kept[3];
    weft_guard guard;
    if (!weft_scope_ready(s, op, args, n))
        return status_of(s);
    if (!fn)
        weft_scope_fail(s, WEFT_E_NULL, op, "fn is NULL");
    if (!fn || !inplace_check(s, op, args, n) || !lock_for_write(s, op, &guard, args, n))
        return s->status;
    for (size_t i = 0; i < n; i++) {
        kept[i] = weft_tensor_retain(args[i]); /* the callback may reset a scope */
        raw[i] = (weft_raw){.data = weft_tensor_data(args[i]),
                            .dtype = args[i]->dtype,
                            .rank = args[i]->rank,
                            .dims = args[i]->dims,
                            .strides = args[i]->strides};
    }
    weft_status status = fn(ctx, raw);
    count_write(kept[0]->storage); /* it may have written before it failed */
    weft_guard_unlock(&guard);
    for (size_t i = 0; i < n; i++)
        weft_tensor_release(&kept[i]);
    if ((unsigned)status >= WEFT_STATUS_COUNT) {
        weft_scope_fail(s, WEFT_E_ARGUMENT, op, "the callback returned the unknown status %d",
                        (int)status);
        return WEFT_E_ARGUMENT;
    }
    if (status)
        weft_scope_fail(s, status, op, "the callback returned %s", weft_status_name(status));
    return status;
}

weft_status weft_inplace_op1(weft_scope *s, weft_tensor *dst, weft_inplace_fn fn, void *ctx) {
    return inplace(s, "inplace_op1", &dst, 1, fn, ctx);
}

weft_status weft_inplace_op2(weft_scope *s, weft_tensor *dst, weft_tensor *a, weft_inplace_fn fn,
                             void *ctx) {
    return inplace(s, "inplace_op2", (weft_tensor *[]){dst, a}, 2, fn, ctx);
}

weft_status weft_inplace_op3(weft_scope *s, weft_tensor *dst, weft_tensor *a, weft_tensor *b,
                             weft_inplace_fn fn, void *ctx) {
    return inplace(s, "inplace_op3", (weft_tensor *[]){dst, a, b}, 3, fn, ctx);
}
