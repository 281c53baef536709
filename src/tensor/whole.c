/* Whole tensors: comparison with tolerances, and text in numpy's manner. */
#include "tensor/convert.h"
#include "tensor/copy.h"
#include "tensor/map.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool near(double a, double b, double rtol, double atol, bool equal_nan) {
    if (a == b)
        return true;
    if (a != a || b != b)
        return equal_nan && a != a && b != b;
    return !isinf(a) && !isinf(b) && fabs(a - b) <= atol + rtol * fabs(b);
}

weft_status weft_allclose(weft_scope *s, weft_tensor *a, weft_tensor *b, double rtol, double atol,
                          bool equal_nan, bool *out) {
    enum { PIECE = 256 };
    const char *name = "allclose";
    weft_tensor *inputs[] = {a, b};
    weft_op op;
    if (out)
        *out = false;
    if (!weft_scope_ready(s, name, inputs, 2) || !weft_op_plain(s, name, a) ||
        !weft_op_plain(s, name, b) || !weft_op_same_dtype(s, name, a, b) ||
        !weft_op_same_shape(s, name, a, b))
        return s ? weft_scope_status(s) : WEFT_E_NULL;
    if (!out)
        return weft_scope_fail(s, WEFT_E_NULL, name, "out is NULL"), WEFT_E_NULL;
    if (!weft_op_begin(&op, s, name, inputs, 2))
        return weft_scope_status(s);
    const weft_kernels *k = weft_scope_kernels(s);
    size_t n = (size_t)weft_tensor_numel(a), item = weft_dtype_block_bytes(a->dtype);
    const unsigned char *x = weft_packed_elements(s, name, a);
    const unsigned char *y = x ? weft_packed_elements(s, name, b) : NULL;
    bool all = y != NULL;
    for (size_t at = 0; all && at < n; at += PIECE) {
        double wide[2][PIECE];
        size_t m = n - at < PIECE ? n - at : PIECE;
        weft_convert(k, a->dtype, x + at * item, WEFT_F64, wide[0], m);
        weft_convert(k, a->dtype, y + at * item, WEFT_F64, wide[1], m);
        for (size_t i = 0; all && i < m; i++)
            all = near(wide[0][i], wide[1][i], rtol, atol, equal_nan);
    }
    weft_op_end(&op);
    if (y)
        *out = all;
    return weft_scope_status(s);
}

/* ---- Text ---- */

typedef struct printer {
    const weft_tensor *t;
    weft_text_format f;
    weft_text_part_fn fn;
    void *ctx;
    int width; /* of the widest element */
    bool fine; /* the callback wants more */
} printer;

static void emit(printer *p, const char *text) {
    if (p->fine)
        p->fine = p->fn(p->ctx, text, strlen(text));
}

static void element_text(const printer *p, int64_t offset, char *text, size_t room) {
    const unsigned char *at = weft_tensor_data(p->t);
    at += (offset - p->t->offset) * (int64_t)weft_dtype_block_bytes(p->t->dtype);
    if (p->t->dtype == WEFT_BOOL) {
        snprintf(text, room, "%s", *at ? "true" : "false");
    } else if (weft_dtype_is_float(p->t->dtype)) {
        double v;
        const weft_kernels *k = weft_kernels_of(WEFT_ISA_SCALAR);
        weft_convert(k, p->t->dtype, at, WEFT_F64, &v, 1);
        snprintf(text, room, "%.*g", p->f.precision, v);
    } else {
        int64_t v;
        weft_to_i64(p->t->dtype, at, 1, &v);
        snprintf(text, room, "%lld", (long long)v);
    }
}

/* The next index to show of an axis after `i`; -1 stands for the dots between. */
static int64_t next_index(const printer *p, int64_t i, int64_t extent, bool elide) {
    int64_t edge = p->f.edge_items;
    if (elide && extent > 2 * edge && i + 1 == edge)
        return extent - edge;
    return i + 1;
}

/* Depth-first over the dims; `measure` only finds the widest element. */
static void print_dim(printer *p, int dim, int64_t offset, bool elide, bool measure) {
    char text[64];
    const weft_tensor *t = p->t;
    if (dim == t->rank) {
        element_text(p, offset, text, sizeof text);
        int n = (int)strlen(text);
        if (measure) {
            p->width = n > p->width ? n : p->width;
            return;
        }
        for (int i = n; i < p->width; i++)
            emit(p, " ");
        emit(p, text);
        return;
    }
    bool last = dim == t->rank - 1;
    if (!measure)
        emit(p, "[");
    for (int64_t i = 0; i < t->dims[dim] && p->fine;) {
        print_dim(p, dim + 1, offset + i * t->strides[dim], elide, measure);
        int64_t next = next_index(p, i, t->dims[dim], elide);
        if (!measure && next < t->dims[dim]) {
            emit(p, last ? ", " : ",\n");
            for (int d = dim + 2; !last && d < t->rank; d++)
                emit(p, "\n"); /* an empty line between matrices */
            for (int d = 0; !last && d <= dim; d++)
                emit(p, " ");
            if (next != i + 1)
                emit(p, last ? "..., " : "...,\n");
            for (int d = 0; !last && next != i + 1 && d <= dim; d++)
                emit(p, " ");
        }
        i = next;
    }
    if (!measure)
        emit(p, "]");
}

weft_text_format weft_text_format_default(void) {
    return (weft_text_format){.precision = 6, .threshold = 1000, .edge_items = 3};
}

weft_status weft_tensor_format(weft_tensor *t, const weft_text_format *format, weft_text_part_fn fn,
                               void *ctx) {
    weft_guard guard;
    if (!t || !fn)
        return weft_fail(WEFT_E_NULL, "format: %s is NULL", t ? "fn" : "tensor");
    if (t->layout != WEFT_LAYOUT_STRIDED || !weft_dtype_is_plain(t->dtype))
        return weft_fail(WEFT_E_DTYPE, "format: %s elements have no text of their own",
                         weft_dtype_name(t->dtype));
    printer p = {.t = t,
                 .f = format ? *format : weft_text_format_default(),
                 .fn = fn,
                 .ctx = ctx,
                 .fine = true};
    if (p.f.precision < 1 || p.f.precision > 17 || p.f.threshold < 0 || p.f.edge_items < 1)
        return weft_fail(WEFT_E_ARGUMENT, "format: precision %d, threshold %lld, edge items %lld",
                         p.f.precision, (long long)p.f.threshold, (long long)p.f.edge_items);
    weft_status status = weft_guard_lock(&guard, &t, 1, 0);
    if (status)
        return weft_fail_in(status, "format");
    bool elide = weft_tensor_numel(t) > p.f.threshold;
    print_dim(&p, 0, t->offset, elide, true);
    print_dim(&p, 0, t->offset, elide, false);
    weft_guard_unlock(&guard);
    return p.fine ? WEFT_OK : weft_fail(WEFT_E_CANCELLED, "format: the callback ended it");
}

typedef struct text_buffer {
    char *out;
    size_t room, n;
} text_buffer;

static bool append(void *ctx, const char *text, size_t n) {
    text_buffer *b = ctx;
    for (size_t i = 0; i < n; i++, b->n++)
        if (b->n + 1 < b->room)
            b->out[b->n] = text[i];
    return true;
}

size_t weft_tensor_text(weft_tensor *t, const weft_text_format *format, char *out, size_t room) {
    text_buffer b = {out, out ? room : 0, 0};
    if (b.room > 0)
        out[0] = '\0';
    if (weft_tensor_format(t, format, append, &b) != WEFT_OK)
        return 0;
    if (b.room > 0)
        out[b.n < b.room ? b.n : b.room - 1] = '\0';
    return b.n;
}
