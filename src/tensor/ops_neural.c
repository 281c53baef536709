/* Losses and sums made of other ops: logsumexp, cross_entropy; and scaled_dot_product_attention
 * over whole tensors (the paged one of the forward pass is attention.c). */
#include "tensor/kernels/ref/math64.h"
#include "tensor/map.h"
#include "tensor/scope.h"

#include <math.h>
#include <string.h>

/* ---- logsumexp ---- */

/* In f32 (f64 for f64): m + log(sum of e^(x - m)), where m is the greatest, or 0 where that is
 * infinite. */
static weft_tensor *log_sum_exp(weft_scope *s, const char *name, weft_tensor *x, const int *axes,
                                int n_axes, bool keep) {
    if (!weft_scope_ready(s, name, &x, 1) || !weft_op_types(s, name, x, WEFT_TYPES_FLOAT))
        return NULL;
    weft_dtype dtype = x->dtype;
    if (dtype == WEFT_F16 || dtype == WEFT_BF16)
        x = weft_cast(s, x, WEFT_F32);
    size_t n = x ? (size_t)weft_tensor_numel(x) : 0;
    if (x && n == 0) { /* log of 0, where there are results; also what the axes may be */
        weft_tensor *none = weft_sum_dims(s, x, axes, n_axes, keep);
        return weft_cast(s, weft_log(s, none), dtype);
    }
    weft_tensor *m = weft_max_dims(s, x, axes, n_axes, true);
    m = weft_masked_fill(s, m, weft_is_inf(s, m), 0);
    weft_tensor *shifted = weft_broadcast_sub(s, x, m), *e = weft_exp(s, shifted);
    weft_tensor *sum = weft_sum_dims(s, e, axes, n_axes, true),
                *y = weft_add(s, weft_log(s, sum), m);
    if (y == NULL)
        return NULL;
    weft_scope_discard(s, &e);
    weft_scope_discard(s, &shifted);
    if (!keep) /* the sum over dims of 1 drops them */
        y = weft_sum_dims(s, y, axes, n_axes, false);
    return y && y->dtype != dtype ? weft_cast(s, y, dtype) : y;
}

weft_tensor *weft_logsumexp(weft_scope *s, weft_tensor *x, int axis, bool keep) {
    return log_sum_exp(s, "logsumexp", x, &axis, 1, keep);
}
weft_tensor *weft_logsumexp_dims(weft_scope *s, weft_tensor *x, const int *axes, int n_axes,
                                 bool keep) {
    return log_sum_exp(s, "logsumexp_dims", x, axes, n_axes, keep);
}

/* ---- cross_entropy ---- */

weft_tensor *weft_cross_entropy(weft_scope *s, weft_tensor *logits, weft_tensor *targets) {
    const char *name = "cross_entropy";
    weft_tensor *inputs[] = {logits, targets};
    char sl[128], st[128];
    if (!weft_scope_ready(s, name, inputs, 2) || !weft_op_types(s, name, logits, WEFT_TYPES_FLOAT))
        return NULL;
    bool fits = logits->rank == targets->rank + 1;
    for (int d = 0; fits && d < targets->rank; d++)
        fits = logits->dims[d] == targets->dims[d];
    if (!fits)
        return weft_scope_fail(s, WEFT_E_SHAPE, name, "logits %s and targets %s do not fit",
                               weft_shape_text(logits, sl, sizeof sl),
                               weft_shape_text(targets, st, sizeof st));
    weft_tensor *p = weft_log_softmax(s, logits, -1);
    weft_tensor *ids = weft_tensor_unsqueeze(s, targets, -1);
    weft_tensor *y = weft_neg(s, weft_tensor_squeeze(s, weft_gather(s, p, -1, ids), -1));
    if (y == NULL)
        return weft_scope_fail_within(s, name);
    weft_scope_discard(s, &p);
    return y;
}

/* ---- Attention ---- */

typedef struct attend_job {
    const weft_kernels *k;
    weft_tensor *scores; /* [B…, H, T, S] f32 or f64, ours: becomes the weights in place */
    const weft_tensor *mask;
    int64_t mask_strides[WEFT_MAX_RANK];
    double scale;
    bool causal;
    int64_t window, queries, keys;
} attend_job;

/* Whether key j is visible, and what the mask adds. */
static double mask_value(const attend_job *j, const unsigned char *row, int64_t key) {
    if (j->mask == NULL)
        return 0;
    int64_t at = key * j->mask_strides[j->scores->rank - 1];
    if (j->mask->dtype == WEFT_BOOL)
        return row[at] ? 0 : -(double)INFINITY;
    return j->mask->dtype == WEFT_F64 ? ((const double *)(const void *)row)[at]
                                      : (double)((const float *)(const void *)row)[at];
}

static void softmax_row(const attend_job *j, void *row) {
    size_t n = (size_t)j->keys;
    if (j->scores->dtype == WEFT_F32) {
        j->k->softmax(row, n, row);
        return;
    }
    double *x = row, m = x[0], sum = 0;
    for (size_t i = 1; i < n; i++)
        m = x[i] > m || x[i] != x[i] ? x[i] : m;
    for (size_t i = 0; i < n; i++)
        sum += x[i] = weft_exp64(x[i] - m);
    for (size_t i = 0; i < n; i++)
        x[i] /= sum;
}

static void attend_rows(void *ctx, size_t begin, size_t end, int thread) {
    const attend_job *j = ctx;
    int rank = j->scores->rank;
    size_t item = weft_dtype_block_bytes(j->scores->dtype);
    const double hidden = -(double)INFINITY;
    (void)thread;
    for (size_t r = begin; r < end; r++) {
        unsigned char *row =
            (unsigned char *)weft_tensor_data(j->scores) + r * (size_t)j->keys * item;
        const unsigned char *mask = NULL;
        if (j->mask)
            mask = (const unsigned char *)weft_tensor_data(j->mask) +
                   weft_index_offset(rank - 1, j->scores->dims, j->mask_strides, r) *
                       (int64_t)weft_dtype_block_bytes(j->mask->dtype);
        int64_t at = (int64_t)r % j->queries + j->keys - j->queries; /* the query's own place */
        bool seen = false;
        for (int64_t key = 0; key < j->keys; key++) {
            bool visible = (!j->causal || key <= at) && (j->window <= 0 || key > at - j->window);
            double add = visible ? mask_value(j, mask, key) : hidden;
            seen |= add != hidden;
            if (item == sizeof(float)) {
                float *v = (float *)(void *)row + key;
                *v = add == hidden ? -INFINITY : *v * (float)j->scale + (float)add;
            } else {
                double *v = (double *)(void *)row + key;
                *v = add == hidden ? hidden : *v * j->scale + add;
            }
        }
        if (!seen)
            memset(row, 0, (size_t)j->keys * item);
        else
            softmax_row(j, row);
    }
}

/* q [B…, H, T, D], k [B…, G, S, D], v [B…, G, S, Dv]. */
static bool attention_fits(weft_scope *s, const char *name, const weft_tensor *q,
                           const weft_tensor *k, const weft_tensor *v) {
    char sq[128], sk[128], sv[128];
    int n = q->rank;
    bool fits = n >= 3 && k->rank == n && v->rank == n;
    for (int d = 0; fits && d < n - 3; d++)
        fits = q->dims[d] == k->dims[d] && q->dims[d] == v->dims[d];
    fits = fits && q->dims[n - 1] == k->dims[n - 1] && k->dims[n - 2] == v->dims[n - 2] &&
           k->dims[n - 3] == v->dims[n - 3] && k->dims[n - 3] > 0 &&
           q->dims[n - 3] % k->dims[n - 3] == 0;
    if (!fits)
        weft_scope_fail(s, WEFT_E_SHAPE, name, "q %s, k %s and v %s do not fit",
                        weft_shape_text(q, sq, sizeof sq), weft_shape_text(k, sk, sizeof sk),
                        weft_shape_text(v, sv, sizeof sv));
    return fits;
}

static bool mask_fits(weft_scope *s, const char *name, const weft_tensor *scores,
                      const weft_tensor *mask, int64_t *strides) {
    char ss[128], sm[128];
    bool fits = mask->rank <= scores->rank;
    for (int d = 0; fits && d < scores->rank; d++) {
        int at = d - (scores->rank - mask->rank);
        strides[d] = at < 0 || mask->dims[at] == 1 ? 0 : mask->strides[at];
        fits = at < 0 || mask->dims[at] == 1 || mask->dims[at] == scores->dims[d];
    }
    if (!fits)
        weft_scope_fail(s, WEFT_E_SHAPE, name, "the mask %s does not fit into %s",
                        weft_shape_text(mask, sm, sizeof sm),
                        weft_shape_text(scores, ss, sizeof ss));
    return fits;
}

static weft_tensor *attend(weft_scope *s, const char *name, weft_tensor *q, weft_tensor *k,
                           weft_tensor *v, attend_job *j, weft_tensor *mask) {
    int n = q->rank;
    int64_t heads = q->dims[n - 3], queries = q->dims[n - 2], dims[WEFT_MAX_RANK];
    j->queries = queries;
    j->keys = k->dims[n - 2];
    /* The query heads of a group are rows of one product. */
    memcpy(dims, q->dims, sizeof dims);
    dims[n - 3] = k->dims[n - 3];
    dims[n - 2] = heads / k->dims[n - 3] * queries;
    weft_tensor *rows = weft_tensor_reshape_copy(s, q, n, dims);
    weft_tensor *scores = weft_matmul(s, rows, weft_tensor_transpose(s, k, n - 2, n - 1));
    if (scores == NULL)
        return NULL;
    weft_tensor by_head = *scores; /* the same elements as [B…, H, T, S] */
    by_head.dims[n - 3] = heads;
    by_head.dims[n - 2] = queries;
    weft_op op;
    if (mask && !mask_fits(s, name, &by_head, mask, j->mask_strides))
        return NULL;
    if (!weft_op_begin(&op, s, name, &mask, mask != NULL))
        return NULL;
    j->k = weft_scope_kernels(s);
    j->scores = &by_head;
    j->mask = mask;
    size_t n_rows = j->keys > 0 ? (size_t)(weft_tensor_numel(scores) / j->keys) : 0;
    weft_op_loop(s, n_rows, 8 * (size_t)j->keys, attend_rows, j);
    weft_op_end(&op);
    weft_tensor *y = weft_matmul(s, scores, v);
    if (y == NULL)
        return NULL;
    dims[n - 3] = heads;
    dims[n - 2] = queries;
    dims[n - 1] = v->dims[n - 1];
    weft_scope_discard(s, &scores);
    return weft_tensor_reshape(s, y, n, dims);
}

weft_tensor *weft_scaled_dot_product_attention(weft_scope *s, weft_tensor *q, weft_tensor *k,
                                               weft_tensor *v, weft_tensor *mask, double scale,
                                               bool causal, int64_t window) {
    const char *name = "scaled_dot_product_attention";
    weft_tensor *inputs[] = {q, k, v, mask};
    if (!weft_scope_ready(s, name, inputs, mask ? 4 : 3) ||
        !weft_op_types(s, name, q, WEFT_TYPES_FLOAT) || !weft_op_same_dtype(s, name, q, k) ||
        !weft_op_same_dtype(s, name, q, v) || !attention_fits(s, name, q, k, v))
        return NULL;
    if (mask && mask->dtype != WEFT_BOOL && mask->dtype != q->dtype)
        return weft_scope_fail(s, WEFT_E_DTYPE, name, "the mask is %s: bool or %s is needed",
                               weft_dtype_name(mask->dtype), weft_dtype_name(q->dtype));
    weft_dtype dtype = q->dtype;
    bool half = dtype == WEFT_F16 || dtype == WEFT_BF16;
    if (half) {
        q = weft_cast(s, q, WEFT_F32);
        k = weft_cast(s, k, WEFT_F32);
        v = weft_cast(s, v, WEFT_F32);
        if (mask && mask->dtype != WEFT_BOOL)
            mask = weft_cast(s, mask, WEFT_F32);
        if (weft_scope_status(s) != WEFT_OK)
            return NULL;
    }
    attend_job j = {.scale = scale, .causal = causal, .window = window};
    if (scale == 0)
        j.scale = 1 / sqrt((double)q->dims[q->rank - 1]);
    weft_tensor *y = attend(s, name, q, k, v, &j, mask);
    return half ? weft_cast(s, y, dtype) : y;
}
