/* Running sums and products along an axis: in double for floats, in int64 for the others. */
#include "tensor/convert.h"
#include "tensor/lines.h"

#define PIECE 256

static void running_line(const weft_lines *l, const void *x, size_t n, void *const *out,
                         void *own) {
    bool product = l->ctx != NULL, floats = weft_dtype_is_float(l->dtype);
    size_t item = weft_dtype_block_bytes(l->dtype);
    size_t out_item = weft_dtype_block_bytes(l->out[0]->dtype);
    double total = product;
    uint64_t whole_total = product;
    (void)own;
    for (size_t at = 0; at < n; at += PIECE) {
        size_t m = n - at < PIECE ? n - at : PIECE;
        const unsigned char *from = (const unsigned char *)x + at * item;
        unsigned char *to = (unsigned char *)out[0] + at * out_item;
        double wide[PIECE];
        int64_t whole[PIECE];
        if (floats) {
            weft_convert(l->k, l->dtype, from, WEFT_F64, wide, m);
            for (size_t i = 0; i < m; i++)
                wide[i] = total = product ? total * wide[i] : total + wide[i];
            weft_convert(l->k, WEFT_F64, wide, l->dtype, to, m);
        } else {
            weft_to_i64(l->dtype, from, m, whole);
            for (size_t i = 0; i < m; i++) {
                uint64_t v = (uint64_t)whole[i];
                whole_total = product ? whole_total * v : whole_total + v;
                whole[i] = (int64_t)whole_total;
            }
            weft_from_i64(whole, WEFT_I64, to, m);
        }
    }
}

static void running_columns(const weft_lines *l, const weft_line_columns *c, void *own) {
    bool product = l->ctx != NULL;
    double *total = own;
    for (size_t k = 0; k < c->columns; k++)
        total[k] = product;
    for (size_t i = 0; i < c->n; i++) {
        const float *x = c->x + (ptrdiff_t)i * c->x_step;
        float *y = c->y + (ptrdiff_t)i * c->y_step;
        if (product)
            for (size_t k = 0; k < c->columns; k++)
                y[k] = (float)(total[k] *= (double)x[k]);
        else
            for (size_t k = 0; k < c->columns; k++)
                y[k] = (float)(total[k] += (double)x[k]);
    }
}

static weft_tensor *running(weft_scope *s, const char *name, weft_tensor *x, int axis,
                            bool product) {
    if (!weft_scope_ready(s, name, &x, 1) || !weft_op_plain(s, name, x) ||
        !weft_op_axis(s, name, x, &axis))
        return NULL;
    weft_dtype dtype = weft_dtype_is_float(x->dtype) ? x->dtype : WEFT_I64;
    weft_tensor *y = weft_scope_new(s, name, dtype, x->rank, x->dims);
    weft_op op;
    if (y == NULL || !weft_op_begin(&op, s, name, &x, 1))
        return NULL;
    weft_lines l = {.name = name, .axis = axis, .fn = running_line, .work = 4};
    l.columns_fn = running_columns;
    l.columns_own_bytes = WEFT_LINE_COLUMNS * sizeof(double);
    l.ctx = product ? name : NULL;
    l.out[0] = y;
    bool done = weft_lines_run(s, &l, x);
    weft_op_end(&op);
    return done ? y : NULL;
}

weft_tensor *weft_cumsum(weft_scope *s, weft_tensor *x, int axis) {
    return running(s, "cumsum", x, axis, false);
}
weft_tensor *weft_cumprod(weft_scope *s, weft_tensor *x, int axis) {
    return running(s, "cumprod", x, axis, true);
}
