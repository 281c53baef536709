/* Convolution and pooling as reductions and products over views of windows. */
#include "tensor/map.h"

static weft_tensor *windows(weft_scope *s, const char *name, weft_tensor *x, int n_axes,
                            size_t size, size_t step) {
    char shape[128];
    if (!weft_scope_ready(s, name, &x, 1) || !weft_op_plain(s, name, x))
        return NULL;
    if (x->rank < n_axes || x->rank + n_axes > WEFT_MAX_RANK)
        return weft_scope_fail(
            s, WEFT_E_SHAPE, name, "%s has not %d dims to slide over (rank <= %d)",
            weft_shape_text(x, shape, sizeof shape), n_axes, WEFT_MAX_RANK - n_axes);
    for (int i = 1; i <= n_axes; i++)
        if (size == 0 || step == 0 || size > (uint64_t)x->dims[x->rank - i])
            return weft_scope_fail(s, WEFT_E_RANGE, name,
                                   "windows of %zu every %zu in dim %d of %s", size, step,
                                   x->rank - i, weft_shape_text(x, shape, sizeof shape));
    weft_tensor *w = weft_tensor_unfold(s, x, -1, size, step);
    return n_axes == 2 ? weft_tensor_unfold(s, w, -3, size, step) : w;
}

weft_tensor *weft_max_pool1d(weft_scope *s, weft_tensor *x, size_t size, size_t step) {
    return weft_max(s, windows(s, "max_pool1d", x, 1, size, step), -1, false);
}
weft_tensor *weft_avg_pool1d(weft_scope *s, weft_tensor *x, size_t size, size_t step) {
    return weft_mean(s, windows(s, "avg_pool1d", x, 1, size, step), -1, false);
}
weft_tensor *weft_max_pool2d(weft_scope *s, weft_tensor *x, size_t size, size_t step) {
    return weft_max_dims(s, windows(s, "max_pool2d", x, 2, size, step), (int[]){-2, -1}, 2, false);
}
weft_tensor *weft_avg_pool2d(weft_scope *s, weft_tensor *x, size_t size, size_t step) {
    return weft_mean_dims(s, windows(s, "avg_pool2d", x, 2, size, step), (int[]){-2, -1}, 2, false);
}

static bool conv_fits(weft_scope *s, const weft_tensor *x, const weft_tensor *weight,
                      const weft_tensor *bias, uint64_t reach, size_t padding) {
    char sx[128], sw[128];
    bool fits = x->rank == 3 && weight->rank == 3 && x->dims[1] == weight->dims[1] &&
                (bias == NULL || (bias->rank == 1 && bias->dims[0] == weight->dims[0]));
    if (!fits || reach > (uint64_t)x->dims[2] + 2 * padding) {
        weft_scope_fail(s, fits ? WEFT_E_RANGE : WEFT_E_SHAPE, "conv1d",
                        "x %s, weight %s and bias do not fit (windows of %llu, padding %zu)",
                        weft_shape_text(x, sx, sizeof sx), weft_shape_text(weight, sw, sizeof sw),
                        (unsigned long long)reach, padding);
        return false;
    }
    return true;
}

weft_tensor *weft_conv1d(weft_scope *s, weft_tensor *x, weft_tensor *weight, weft_tensor *bias,
                         size_t stride, size_t padding, size_t dilation) {
    const char *name = "conv1d";
    weft_tensor *inputs[] = {x, weight, bias};
    const size_t most = (size_t)1 << 40;
    if (!weft_scope_ready(s, name, inputs, bias ? 3 : 2) ||
        !weft_op_types(s, name, x, WEFT_TYPES_FLOAT) || !weft_op_same_dtype(s, name, x, weight) ||
        (bias && !weft_op_same_dtype(s, name, x, bias)))
        return NULL;
    if (stride == 0 || dilation == 0 || padding > most || dilation > most || stride > most ||
        weight->rank != 3 || weight->dims[2] < 1 || weight->dims[2] > (int64_t)1 << 20)
        return weft_scope_fail(s, WEFT_E_ARGUMENT, name,
                               "stride %zu, padding %zu, dilation %zu, or the size of the window",
                               stride, padding, dilation);
    size_t size = (size_t)weight->dims[2], reach = (size - 1) * dilation + 1;
    if (!conv_fits(s, x, weight, bias, reach, padding))
        return NULL;
    int64_t sides[] = {0, 0, (int64_t)padding};
    int64_t batch = x->dims[0], channels = x->dims[1], outs = weight->dims[0];
    if (padding > 0)
        x = weft_pad(s, x, sides, sides, 0);
    /* [B, C, L_out, K], then a row of C K for each place. */
    weft_tensor *w = weft_tensor_unfold(s, x, 2, reach, stride);
    w = weft_tensor_slice(s, w, 3, 0, (int64_t)reach, (int64_t)dilation);
    if (w == NULL)
        return NULL;
    int64_t places = w->dims[2], row = channels * (int64_t)size;
    w = weft_tensor_permute(s, w, (int[]){0, 2, 1, 3});
    w = weft_tensor_reshape_copy(s, w, 3, (int64_t[]){batch, places, row});
    weft_tensor *flat = weft_tensor_reshape_copy(s, weight, 2, (int64_t[]){outs, row});
    weft_tensor *y = weft_matmul(s, flat, weft_tensor_transpose(s, w, 1, 2));
    return bias ? weft_broadcast_add(s, y, weft_tensor_unsqueeze(s, bias, 1)) : y;
}
