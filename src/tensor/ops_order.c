/* Order along an axis: sort, argsort, top-k; and of all elements: unique, histogram. Elements
 * become unsigned keys whose order is theirs, NaN greatest; the merge sort is stable. */
#include "tensor/convert.h"
#include "tensor/lines.h"
#include "base/alloc.h"
#include "base/floats.h"

#include <math.h>
#include <string.h>

typedef struct entry {
    uint64_t key;
    int64_t index;
} entry;

#define NAN_KEY UINT64_MAX

/* IEEE formats order as sign and magnitude; -0 and 0 are one. */
static uint64_t key_of_float(double v) {
    uint64_t u;
    if (v != v)
        return NAN_KEY;
    if (v == 0)
        v = 0;
    memcpy(&u, &v, sizeof u);
    return u >> 63 ? ~u : u | 1ull << 63;
}

/* x [n] of any plain type as keys; `descending` turns their order round. */
static void make_entries(const weft_kernels *k, weft_dtype dtype, const void *x, size_t n,
                         bool descending, entry *e) {
    enum { PIECE = 256 };
    size_t item = weft_dtype_block_bytes(dtype);
    for (size_t at = 0; at < n; at += PIECE) {
        size_t m = n - at < PIECE ? n - at : PIECE;
        const unsigned char *from = (const unsigned char *)x + at * item;
        double wide[PIECE];
        int64_t whole[PIECE];
        bool floats = weft_dtype_is_float(dtype);
        if (floats)
            weft_convert(k, dtype, from, WEFT_F64, wide, m);
        else
            weft_to_i64(dtype, from, m, whole);
        for (size_t i = 0; i < m; i++) {
            uint64_t key = floats ? key_of_float(wide[i]) : (uint64_t)whole[i] ^ 1ull << 63;
            e[at + i] = (entry){descending ? ~key : key, (int64_t)(at + i)};
        }
    }
}

static void insertion_sort(entry *e, size_t n) {
    for (size_t i = 1; i < n; i++) {
        entry x = e[i];
        size_t at = i;
        for (; at > 0 && e[at - 1].key > x.key; at--)
            e[at] = e[at - 1];
        e[at] = x;
    }
}

/* Merges [begin, middle) and [middle, end) of `from` into `to`. */
static void merge(const entry *from, entry *to, size_t begin, size_t middle, size_t end) {
    size_t a = begin, b = middle;
    for (size_t i = begin; i < end; i++)
        to[i] = a < middle && (b == end || from[a].key <= from[b].key) ? from[a++] : from[b++];
}

/* Stable; gives where the result lies, in e or in spare. */
static entry *merge_sort(entry *e, entry *spare, size_t n) {
    enum { RUN = 16 };
    for (size_t i = 0; i < n; i += RUN)
        insertion_sort(e + i, n - i < RUN ? n - i : RUN);
    for (size_t width = RUN; width < n; width *= 2) {
        for (size_t i = 0; i < n; i += 2 * width) {
            size_t middle = n - i < width ? n : i + width;
            size_t end = n - i < 2 * width ? n : i + 2 * width;
            merge(e, spare, i, middle, end);
        }
        entry *swap = e;
        e = spare;
        spare = swap;
    }
    return e;
}

/* ---- Along an axis ---- */

typedef struct sort_ctx {
    bool descending, values, indices;
    size_t item, k; /* elements wanted of each line */
} sort_ctx;

static void sort_line(const weft_lines *l, const void *x, size_t n, void *const *out, void *own) {
    const sort_ctx *c = l->ctx;
    entry *e = own;
    make_entries(l->k, l->dtype, x, n, c->descending, e);
    e = merge_sort(e, e + n, n);
    int at = 0;
    if (c->values) {
        unsigned char *y = out[at++];
        for (size_t i = 0; i < c->k; i++)
            memcpy(y + i * c->item, (const unsigned char *)x + (size_t)e[i].index * c->item,
                   c->item);
    }
    if (c->indices)
        for (size_t i = 0; i < c->k; i++)
            ((int64_t *)out[at])[i] = e[i].index;
}

/* Results in out[0] (values) and out[1] (indices) as far as wanted; k elements of each line. */
static bool sort_lines(weft_scope *s, const char *name, weft_tensor *x, int axis, size_t k,
                       sort_ctx *c, weft_tensor **values, weft_tensor **indices) {
    int64_t dims[WEFT_MAX_RANK];
    size_t n = (size_t)x->dims[axis];
    for (int d = 0; d < x->rank; d++)
        dims[d] = d == axis ? (int64_t)k : x->dims[d];
    weft_lines l = {.name = name, .axis = axis, .fn = sort_line, .ctx = c, .work = 32};
    weft_tensor *v = NULL, *i = NULL;
    int at = 0;
    if (values && !(l.out[at++] = v = weft_scope_new(s, name, x->dtype, x->rank, dims)))
        return false;
    if (indices && !(l.out[at++] = i = weft_scope_new(s, name, WEFT_I64, x->rank, dims)))
        return false;
    c->values = values != NULL;
    c->indices = indices != NULL;
    c->item = weft_dtype_block_bytes(x->dtype);
    c->k = k;
    l.own_bytes = weft_size_of(n, 2 * sizeof(entry)); /* fits: x's own bytes times 32 at most */
    weft_op op;
    if (!weft_op_begin(&op, s, name, &x, 1))
        return false;
    bool done = weft_lines_run(s, &l, x);
    weft_op_end(&op);
    if (done && values)
        *values = v;
    if (done && indices)
        *indices = i;
    return done;
}

static bool sortable(weft_scope *s, const char *name, weft_tensor *x, int *axis) {
    return weft_scope_ready(s, name, &x, 1) && weft_op_plain(s, name, x) &&
           weft_op_axis(s, name, x, axis);
}

weft_tensor *weft_sort(weft_scope *s, weft_tensor *x, int axis, bool descending) {
    sort_ctx c = {.descending = descending};
    weft_tensor *y = NULL;
    if (!sortable(s, "sort", x, &axis))
        return NULL;
    sort_lines(s, "sort", x, axis, (size_t)x->dims[axis], &c, &y, NULL);
    return y;
}

weft_tensor *weft_argsort(weft_scope *s, weft_tensor *x, int axis, bool descending) {
    sort_ctx c = {.descending = descending};
    weft_tensor *y = NULL;
    if (!sortable(s, "argsort", x, &axis))
        return NULL;
    sort_lines(s, "argsort", x, axis, (size_t)x->dims[axis], &c, NULL, &y);
    return y;
}

weft_status weft_topk(weft_scope *s, weft_tensor *x, int axis, size_t k, weft_tensor **values,
                      weft_tensor **indices) {
    sort_ctx c = {.descending = true};
    char shape[128];
    if (values)
        *values = NULL;
    if (indices)
        *indices = NULL;
    if (!sortable(s, "topk", x, &axis))
        return s ? weft_scope_status(s) : WEFT_E_NULL;
    if (k > (uint64_t)x->dims[axis])
        weft_scope_fail(s, WEFT_E_RANGE, "topk", "%zu of dim %d of %s", k, axis,
                        weft_shape_text(x, shape, sizeof shape));
    else
        sort_lines(s, "topk", x, axis, k, &c, values, indices);
    return weft_scope_status(s);
}

/* ---- All elements ---- */

/* All elements of x, sorted, in scratch of the scope; `packed` (x's bytes, row-major) with them. */
static entry *sort_all(weft_scope *s, const char *name, const weft_tensor *x, size_t n,
                       unsigned char **packed) {
    size_t item = weft_dtype_block_bytes(x->dtype);
    int64_t row_major[WEFT_MAX_RANK];
    entry *e = weft_scope_scratch(s, name, weft_size_of(n + 1, 2 * sizeof *e));
    *packed = e ? weft_scope_scratch(s, name, weft_size_of(n + 1, item)) : NULL;
    if (*packed == NULL)
        return NULL;
    weft_strides_of(x->rank, x->dims, row_major);
    weft_copy_strided(s, item, x->rank, x->dims, weft_tensor_data(x), x->strides, *packed,
                      row_major);
    make_entries(weft_scope_kernels(s), x->dtype, *packed, n, false, e);
    return merge_sort(e, e + n, n);
}

weft_status weft_unique(weft_scope *s, weft_tensor *x, weft_tensor **values, weft_tensor **inverse,
                        weft_tensor **counts) {
    const char *name = "unique";
    weft_tensor **wanted[] = {values, inverse, counts};
    for (int i = 0; i < 3; i++)
        if (wanted[i])
            *wanted[i] = NULL;
    if (!weft_scope_ready(s, name, &x, 1) || !weft_op_plain(s, name, x))
        return s ? weft_scope_status(s) : WEFT_E_NULL;
    size_t n = (size_t)weft_tensor_numel(x), item = weft_dtype_block_bytes(x->dtype), n_found = 0;
    unsigned char *packed;
    weft_op op;
    if (!weft_op_begin(&op, s, name, &x, 1))
        return weft_scope_status(s);
    entry *e = sort_all(s, name, x, n, &packed);
    for (size_t i = 0; e && i < n; i++)
        n_found += i == 0 || e[i].key != e[i - 1].key;
    int64_t found = (int64_t)n_found;
    weft_tensor *v = e ? weft_scope_new(s, name, x->dtype, 1, &found) : NULL;
    weft_tensor *in = v ? weft_scope_new(s, name, WEFT_I64, x->rank, x->dims) : NULL;
    weft_tensor *c = in ? weft_scope_new(s, name, WEFT_I64, 1, &found) : NULL;
    if (c) {
        unsigned char *to = weft_tensor_data(v);
        int64_t *place = weft_tensor_data(in), *count = weft_tensor_data(c), at = -1;
        for (size_t i = 0; i < n; i++) {
            if (i == 0 || e[i].key != e[i - 1].key) {
                count[++at] = 0;
                memcpy(to + (size_t)at * item, packed + (size_t)e[i].index * item, item);
            }
            count[at]++;
            place[e[i].index] = at;
        }
    }
    weft_op_end(&op);
    weft_tensor *made[] = {v, in, c};
    for (int i = 0; c && i < 3; i++)
        if (wanted[i])
            *wanted[i] = made[i];
    return weft_scope_status(s);
}

weft_tensor *weft_histogram(weft_scope *s, weft_tensor *x, int64_t bins, double low, double high) {
    const char *name = "histogram";
    if (!weft_scope_ready(s, name, &x, 1) || !weft_op_types(s, name, x, WEFT_TYPES_NUMBER))
        return NULL;
    if (bins < 1 || !(low < high) || isinf(low) || isinf(high))
        return weft_scope_fail(s, WEFT_E_ARGUMENT, name, "%lld bins over [%g, %g]", (long long)bins,
                               low, high);
    weft_tensor *y = weft_zeros(s, WEFT_I64, 1, &bins);
    weft_op op;
    size_t n = (size_t)weft_tensor_numel(x), item = weft_dtype_block_bytes(x->dtype);
    if (y == NULL || !weft_op_begin(&op, s, name, &x, 1))
        return NULL;
    int64_t *count = weft_tensor_data(y);
    for (size_t i = 0; i < n; i++) {
        double v;
        const unsigned char *at = weft_tensor_data(x);
        at += weft_index_offset(x->rank, x->dims, x->strides, i) * (int64_t)item;
        weft_convert(weft_scope_kernels(s), x->dtype, at, WEFT_F64, &v, 1);
        if (!(v >= low && v <= high))
            continue;
        int64_t bin = (int64_t)((v - low) / (high - low) * (double)bins);
        count[bin < bins ? bin : bins - 1]++; /* the last bin has its upper end */
    }
    weft_op_end(&op);
    return y;
}
