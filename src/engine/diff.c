/* weft_file_compare: two tensors, row by row, on the engine's team. */
#include <math.h>
#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "base/engine_impl.h"
#include "base/floats.h"
#include "engine/file_impl.h"
#include "engine/recipe.h"
#include "tensor/impl.h"

#define PARTS                                                                                      \
    256 /* rows are shared out in that many, so that sums do not depend on the threads             \
         */

typedef struct part {
    uint64_t n_different;
    double max_error, error, square, square_a, weighed;
    bool undefined;
} part;

typedef struct comparing {
    const weft_tensor *a, *b;
    const float *importance; /* [n_matrices, n_cols], or NULL */
    uint64_t n_matrices;
    uint64_t n_rows, n_cols;
    float *rows; /* [threads, 2, n_cols] */
    part *parts; /* [PARTS] */
} comparing;

static void compare_row(part *p, const float *a, const float *b, const float *importance,
                        uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        bool same = weft_bits_of(a[i]) == weft_bits_of(b[i]) || a[i] == b[i] ||
                    (isnan(a[i]) && isnan(b[i]));
        double d = same ? 0 : fabs((double)a[i] - (double)b[i]);
        d = isnan(d) ? INFINITY : d;
        p->n_different += !same;
        p->max_error = d > p->max_error ? d : p->max_error;
        p->error += d;
        p->square += d * d;
        p->square_a += (double)a[i] * (double)a[i];
        p->weighed += importance ? (double)importance[i] * d * d : 0;
    }
}

static const float *importance_of(const comparing *c, uint64_t row) {
    if (!c->importance)
        return NULL;
    uint64_t matrix = row / (c->n_rows / c->n_matrices);
    return c->importance + (matrix < c->n_matrices ? matrix : c->n_matrices - 1) * c->n_cols;
}

/* What the file knows of the tensor's columns, if it fits; one for all matrices, or one each. */
static void find_importance(comparing *c, const weft_file *file, const char *name) {
    const weft_tensor *t = file->importance ? weft_weights_find(file->importance, name) : NULL;
    uint64_t n = t ? (uint64_t)t->dims[0] * (uint64_t)t->dims[1] : 0;
    if (n == 0 || n % c->n_cols || c->n_rows % (n / c->n_cols))
        return;
    c->n_matrices = n / c->n_cols;
    c->importance = weft_tensor_data(t);
}

static double mean_importance(const comparing *c) {
    double sum = 0;
    for (uint64_t i = 0; i < c->n_matrices * c->n_cols; i++)
        sum += (double)c->importance[i];
    return sum / (double)(c->n_matrices * c->n_cols);
}

static void compare_parts(void *ctx, size_t begin, size_t end, int thread) {
    comparing *c = ctx;
    float *a = c->rows + (uint64_t)thread * 2 * c->n_cols, *b = a + c->n_cols;
    for (size_t k = begin; k < end; k++) {
        uint64_t first = c->n_rows / PARTS * k + (c->n_rows % PARTS) * k / PARTS;
        uint64_t last = c->n_rows / PARTS * (k + 1) + (c->n_rows % PARTS) * (k + 1) / PARTS;
        for (uint64_t r = first; r < last && !c->parts[k].undefined; r++) {
            if (weft_tensor_row_floats(c->a, r, a) && weft_tensor_row_floats(c->b, r, b))
                compare_row(&c->parts[k], a, b, importance_of(c, r), c->n_cols);
            else
                c->parts[k].undefined = true;
        }
    }
}

static weft_status add_parts(const comparing *c, const char *name, weft_tensor_difference *out) {
    *out = (weft_tensor_difference){.n_elements = c->n_rows * c->n_cols};
    for (size_t k = 0; k < PARTS; k++) {
        const part *p = &c->parts[k];
        if (p->undefined)
            return weft_fail(WEFT_E_UNSUPPORTED, "tensor '%s': types %s and %s cannot be compared",
                             name, weft_dtype_name(c->a->dtype), weft_dtype_name(c->b->dtype));
        out->n_different += p->n_different;
        out->max_error = p->max_error > out->max_error ? p->max_error : out->max_error;
        out->mean_error += p->error;
        out->mean_square += p->square;
        out->mean_square_a += p->square_a;
        out->weighed_square += p->weighed;
    }
    double n = out->n_elements > 0 ? (double)out->n_elements : 1;
    out->mean_error /= n;
    out->mean_square /= n;
    out->mean_square_a /= n;
    out->weighed_square =
        c->importance ? out->weighed_square / n / mean_importance(c) : (double)NAN;
    return WEFT_OK;
}

weft_status weft_file_compare(const weft_file *a, size_t i, const weft_file *b, size_t j,
                              weft_tensor_difference *out) {
    if (!a || !b || !out)
        return weft_fail(WEFT_E_NULL, "weft_file_compare: both files and out are required");
    const char *name;
    comparing c = {0};
    c.a = weft_weights_at(a->source.weights, i, &name);
    c.b = weft_weights_at(b->source.weights, j, NULL);
    if (!c.a || !c.b)
        return weft_fail(WEFT_E_RANGE, "weft_file_compare: no tensor %zu or %zu", i, j);
    if (c.a->rank != c.b->rank || c.a->rank == 0 ||
        memcmp(c.a->dims, c.b->dims, (size_t)c.a->rank * sizeof c.a->dims[0]) != 0)
        return weft_fail(WEFT_E_SHAPE, "tensor '%s': the shapes differ", name);
    const weft_allocator *alloc = &a->engine->allocator;
    c.n_cols = (uint64_t)c.a->dims[c.a->rank - 1];
    c.n_rows = 1;
    for (int d = 0; d < c.a->rank - 1; d++)
        c.n_rows *= (uint64_t)c.a->dims[d];
    find_importance(&c, a, name);
    size_t rows_bytes = weft_size_of((size_t)c.n_cols * 2 * sizeof(float),
                                     (size_t)weft_team_n_threads(a->engine->team));
    c.parts = weft_alloc_zeroed(alloc, PARTS * sizeof *c.parts);
    c.rows = weft_alloc(alloc, rows_bytes ? rows_bytes : 1);
    weft_status status = WEFT_OK;
    if (c.parts && c.rows) {
        weft_team_for(a->engine->team, PARTS, 1, compare_parts, &c);
        status = add_parts(&c, name, out);
    } else {
        status = weft_fail(WEFT_E_MEMORY, "tensor '%s': out of memory", name);
    }
    weft_dealloc(alloc, c.parts, c.parts ? PARTS * sizeof *c.parts : 0);
    weft_dealloc(alloc, c.rows, c.rows ? (rows_bytes ? rows_bytes : 1) : 0);
    weft_source_drop(&a->source, c.a);
    weft_source_drop(&b->source, c.b);
    return status;
}
