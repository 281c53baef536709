/* Tensors made from nothing, from a number, and from the caller's bytes. */
#include <math.h>
#include <string.h>
#include "base/floats.h"
#include "tensor/scope.h"

weft_tensor *weft_zeros(weft_scope *s, weft_dtype dtype, int rank, const int64_t *dims) {
    if (!weft_scope_ready(s, "zeros", NULL, 0))
        return NULL;
    weft_tensor *t = weft_scope_new(s, "zeros", dtype, rank, dims);
    if (t)
        memset(t->storage->data, 0, t->storage->size_bytes);
    return t;
}

/* Saturates; NaN gives 0. */
static int64_t to_integer(double value, int64_t low, int64_t high) {
    if (isnan(value))
        return 0;
    if (value <= (double)low)
        return low;
    return value >= (double)high ? high : (int64_t)value;
}

/* To float, a value between two floats going to the odd one, so that rounding once more to 16 bits
 * is the same as rounding once. */
static float to_odd_float(double value) {
    float f = (float)value;
    uint32_t bits = weft_bits_of(f);
    if (isnan(value) || (double)f == value || (bits & 1u))
        return f;
    if (isinf(f))
        return weft_float_of(bits - 1); /* the greatest float, which is odd */
    if (f == 0.0f)
        return weft_float_of((signbit(value) ? 0x80000000u : 0) | 1u);
    return weft_float_of(fabs(value) > fabs((double)f) ? bits + 1 : bits - 1);
}

/* One element of a plain type; false for types that hold no single number here. */
static bool encode(weft_dtype dtype, double value, unsigned char *item) {
#define PUT(type, number)                                                                          \
    do {                                                                                           \
        type x = (type)(number);                                                                   \
        memcpy(item, &x, sizeof x);                                                                \
        return true;                                                                               \
    } while (0)
    switch (dtype) {
    case WEFT_F64:
        PUT(double, value);
    case WEFT_F32:
        PUT(float, value);
    case WEFT_F16:
        PUT(uint16_t, weft_f32_to_f16(to_odd_float(value)));
    case WEFT_BF16:
        PUT(uint16_t, weft_f32_to_bf16(to_odd_float(value)));
    case WEFT_I64:
        PUT(int64_t, to_integer(value, INT64_MIN, INT64_MAX));
    case WEFT_I32:
        PUT(int32_t, to_integer(value, INT32_MIN, INT32_MAX));
    case WEFT_I16:
        PUT(int16_t, to_integer(value, INT16_MIN, INT16_MAX));
    case WEFT_I8:
        PUT(int8_t, to_integer(value, INT8_MIN, INT8_MAX));
    case WEFT_U8:
        PUT(uint8_t, to_integer(value, 0, UINT8_MAX));
    case WEFT_BOOL:
        PUT(uint8_t, value != 0.0);
    default:
        return false;
    }
#undef PUT
}

weft_tensor *weft_full(weft_scope *s, weft_dtype dtype, int rank, const int64_t *dims,
                       double value) {
    unsigned char item[8];
    if (!weft_scope_ready(s, "full", NULL, 0))
        return NULL;
    weft_fpenv env = weft_fpenv_enter();
    bool plain = encode(dtype, value, item);
    weft_fpenv_restore(env);
    if (!plain)
        return weft_scope_fail(s, WEFT_E_DTYPE, "full", "%s cannot be filled with a number",
                               weft_dtype_name(dtype));
    weft_tensor *t = weft_scope_new(s, "full", dtype, rank, dims);
    if (!t)
        return NULL;
    unsigned char *data = t->storage->data;
    size_t size_bytes = t->storage->size_bytes, done = weft_dtype_block_bytes(dtype);
    if (size_bytes > 0)
        memcpy(data, item, done);
    while (done < size_bytes) { /* doubling what is there already */
        size_t more = done < size_bytes - done ? done : size_bytes - done;
        memcpy(data + done, data, more);
        done += more;
    }
    return t;
}

/* Element i is start + i step, for any plain type. */
static weft_tensor *steps(weft_scope *s, const char *name, weft_dtype dtype, int64_t n,
                          double start, double step) {
    unsigned char item[8];
    if (!weft_scope_ready(s, name, NULL, 0))
        return NULL;
    if (!encode(dtype, 0, item))
        return weft_scope_fail(s, WEFT_E_DTYPE, name, "%s cannot be filled with numbers",
                               weft_dtype_name(dtype));
    weft_tensor *t = weft_scope_new(s, name, dtype, 1, &n);
    if (!t)
        return NULL;
    size_t item_bytes = weft_dtype_block_bytes(dtype);
    weft_fpenv env = weft_fpenv_enter();
    for (int64_t i = 0; i < n; i++)
        encode(dtype, start + (double)i * step, t->storage->data + (size_t)i * item_bytes);
    weft_fpenv_restore(env);
    return t;
}

weft_tensor *weft_arange(weft_scope *s, weft_dtype dtype, int64_t n, double start, double step) {
    return steps(s, "arange", dtype, n, start, step);
}

weft_tensor *weft_linspace(weft_scope *s, weft_dtype dtype, int64_t n, double start, double stop) {
    if (s && s->status == WEFT_OK && !weft_dtype_is_float(dtype))
        return weft_scope_fail(s, WEFT_E_DTYPE, "linspace", "f64, f32, f16 or bf16, not %s",
                               weft_dtype_name(dtype));
    double step = n > 1 ? (stop - start) / (double)(n - 1) : 0;
    weft_tensor *t = steps(s, "linspace", dtype, n, start, step);
    if (t && n > 1) /* the end is exact */
        encode(dtype, stop, t->storage->data + (size_t)(n - 1) * weft_dtype_block_bytes(dtype));
    return t;
}

weft_tensor *weft_ones(weft_scope *s, weft_dtype dtype, int rank, const int64_t *dims) {
    return weft_full(s, dtype, rank, dims, 1);
}

weft_tensor *weft_eye(weft_scope *s, weft_dtype dtype, int64_t rows, int64_t cols) {
    unsigned char one[8];
    if (!weft_scope_ready(s, "eye", NULL, 0))
        return NULL;
    if (!encode(dtype, 1, one))
        return weft_scope_fail(s, WEFT_E_DTYPE, "eye", "%s cannot be filled with numbers",
                               weft_dtype_name(dtype));
    weft_tensor *t = weft_zeros(s, dtype, 2, (int64_t[]){rows, cols});
    size_t item = weft_dtype_block_bytes(dtype);
    for (int64_t i = 0; t && i < rows && i < cols; i++)
        memcpy(t->storage->data + (size_t)(i * (cols + 1)) * item, one, item);
    return t;
}

/* The checked shape of `size_bytes` bytes of the caller's. */
static bool shape_of_bytes(weft_scope *s, const char *op, weft_dtype dtype, int rank,
                           const int64_t *dims, const void *data, size_t size_bytes,
                           weft_shape *shape) {
    char text[256];
    weft_status status = weft_shape_contiguous(dtype, WEFT_LAYOUT_STRIDED, rank, dims, shape);
    if (status)
        weft_scope_fail_in(s, status, op);
    else if (shape->size_bytes != size_bytes)
        weft_scope_fail(s, WEFT_E_SHAPE, op, "%s %s takes %zu bytes, not %zu",
                        weft_dims_text(rank, dims, text, sizeof text), weft_dtype_name(dtype),
                        shape->size_bytes, size_bytes);
    else if (!data && size_bytes > 0)
        weft_scope_fail(s, WEFT_E_NULL, op, "data is NULL");
    return s->status == WEFT_OK;
}

weft_tensor *weft_from_data(weft_scope *s, weft_dtype dtype, int rank, const int64_t *dims,
                            const void *data, size_t size_bytes) {
    weft_shape shape;
    if (!weft_scope_ready(s, "from_data", NULL, 0) ||
        !shape_of_bytes(s, "from_data", dtype, rank, dims, data, size_bytes, &shape))
        return NULL;
    weft_tensor *t = weft_scope_new_shaped(s, "from_data", dtype, WEFT_LAYOUT_STRIDED, &shape);
    if (t && size_bytes > 0)
        memcpy(t->storage->data, data, size_bytes);
    return t;
}

/* What an element, or the float in a block, must be aligned to. */
static size_t alignment_of(weft_dtype dtype) {
    size_t bytes = weft_dtype_block_bytes(dtype);
    if (weft_dtype_is_quantized(dtype))
        return 1; /* kernels read blocks byte by byte or by memcpy */
    return bytes;
}

weft_tensor *weft_tensor_wrap(weft_scope *s, weft_dtype dtype, int rank, const int64_t *dims,
                              void *data, size_t size_bytes, bool immutable) {
    weft_shape shape;
    if (!weft_scope_ready(s, "wrap", NULL, 0) ||
        !shape_of_bytes(s, "wrap", dtype, rank, dims, data, size_bytes, &shape))
        return NULL;
    if ((uintptr_t)data % alignment_of(dtype) != 0)
        return weft_scope_fail(s, WEFT_E_ARGUMENT, "wrap", "data at %p is not aligned to %s", data,
                               weft_dtype_name(dtype));
    weft_tensor *t =
        weft_tensor_alloc_foreign(&s->engine->allocator, s->arena, dtype, &shape, size_bytes);
    if (t) {
        t->storage->owner = WEFT_OWNER_CALLER;
        t->storage->immutable = immutable;
        /* An empty tensor has an address all the same; nothing is accessed there. */
        t->storage->data = data ? data : (void *)t->storage;
    }
    return weft_scope_take(s, "wrap", t);
}
