/* Making the tensors of a GGUF file: rows to floats, changes, rows to the file's type. */
#include "engine/recipe.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "tensor/impl.h"
#include "tensor/kernels/panel.h"
#include "tensor/quantize/quantize.h"

#define PIECE_BYTES ((uint64_t)16 << 20) /* of output that is in memory at once */

/* ---- Recipes ---- */

weft_status weft_recipe_copy(const weft_source *source, weft_recipe *out) {
    const weft_allocator *a = &source->allocator;
    size_t n = weft_weights_count(source->weights);
    *out = (weft_recipe){.allocator = *a, .source = source};
    out->metadata = weft_metadata_create(a);
    out->list = weft_alloc_zeroed(a, weft_size_of(n, sizeof *out->list));
    out->parts = weft_alloc_zeroed(a, weft_size_of(n, sizeof *out->parts));
    if (!out->metadata || (n > 0 && (!out->list || !out->parts))) {
        weft_dealloc(a, out->list, out->list ? n * sizeof *out->list : 0);
        weft_dealloc(a, out->parts, out->parts ? n * sizeof *out->parts : 0);
        weft_metadata_destroy(out->metadata);
        *out = (weft_recipe){0};
        return weft_fail(WEFT_E_MEMORY, "out of memory for %zu tensors", n);
    }
    out->room = out->parts_room = n;
    weft_status status = WEFT_OK;
    for (size_t i = 0; !status && i < weft_metadata_count(source->metadata); i++) {
        const char *key = weft_metadata_at(source->metadata, i, NULL);
        if (strncmp(key, "split.", 6) != 0)
            status = weft_metadata_put_from(out->metadata, source->metadata, i);
    }
    for (size_t i = 0; !status && i < n; i++) {
        weft_made *made = &out->list[out->n++];
        weft_tensor *t = weft_weights_at(source->weights, i, &made->item.name);
        made->item.dtype = t->dtype;
        made->item.rank = t->rank;
        memcpy(made->item.dims, t->dims, sizeof made->item.dims);
        made->from = &out->parts[out->n_parts++];
        made->from[0] = t;
        made->n_from = 1;
    }
    if (status)
        weft_recipe_free(out);
    return status;
}

void weft_recipe_free(weft_recipe *recipe) {
    if (!recipe->metadata)
        return;
    weft_allocator a = recipe->allocator;
    weft_metadata_destroy(recipe->metadata);
    weft_dealloc(&a, recipe->list, recipe->room * sizeof *recipe->list);
    weft_dealloc(&a, recipe->parts, recipe->parts_room * sizeof *recipe->parts);
    weft_dealloc(&a, recipe->names, recipe->names_room * sizeof *recipe->names);
    weft_network_destroy(&recipe->network);
    *recipe = (weft_recipe){0};
}

weft_status weft_recipe_set(weft_recipe *recipe, const char *key, const weft_value *value) {
    if (!weft_metadata_find(recipe->metadata, key, NULL))
        return weft_metadata_put(recipe->metadata, key, strlen(key), value);
    weft_metadata *next = weft_metadata_create(&recipe->allocator);
    if (!next)
        return weft_fail(WEFT_E_MEMORY, "metadata: out of memory");
    weft_status status = WEFT_OK;
    for (size_t i = 0; !status && i < weft_metadata_count(recipe->metadata); i++) {
        const char *name = weft_metadata_at(recipe->metadata, i, NULL);
        status = strcmp(name, key) == 0 ? weft_metadata_put(next, key, strlen(key), value)
                                        : weft_metadata_put_from(next, recipe->metadata, i);
    }
    if (status) {
        weft_metadata_destroy(next);
        return status;
    }
    weft_metadata_destroy(recipe->metadata);
    recipe->metadata = next;
    return WEFT_OK;
}

/* ---- Rows ---- */

/* A vector of several parts, one whose elements change places, or one that becomes a column is made
 * element by element. */
static bool by_element(const weft_made *made) {
    if (made->item.rank == 1)
        return made->n_from > 1 || made->rope_heads > 0 || made->heads.n_group > 0;
    return made->from[0]->rank == 1;
}

static uint64_t cols_of(const weft_made *made) {
    return by_element(made) ? 1 : (uint64_t)made->item.dims[made->item.rank - 1];
}

static uint64_t row_bytes_of(weft_dtype dtype, uint64_t n_cols) {
    return n_cols / weft_dtype_block(dtype) * weft_dtype_block_bytes(dtype);
}

/* Rows of one of its parts. */
static uint64_t rows_of(const weft_made *made, const weft_tensor *t) {
    uint64_t n = 1;
    for (int d = 0; d < t->rank - !by_element(made); d++)
        n *= (uint64_t)t->dims[d];
    return n;
}

/* The first element of row `row`, by the strides of all dims but the last. */
static const unsigned char *row_at(const weft_tensor *t, uint64_t row) {
    int64_t elements = 0;
    for (int d = t->rank - 2; d >= 0; d--) {
        elements += (int64_t)(row % (uint64_t)t->dims[d]) * t->strides[d];
        row /= (uint64_t)t->dims[d];
    }
    int64_t block = (int64_t)weft_dtype_block(t->dtype);
    const unsigned char *p = weft_tensor_data(t);
    return p + elements / block * (int64_t)weft_dtype_block_bytes(t->dtype);
}

static bool row_is_packed(const weft_tensor *t) {
    return t->strides[t->rank - 1] == 1 || t->dims[t->rank - 1] == 1;
}

bool weft_tensor_row_floats(const weft_tensor *t, uint64_t row, float *out) {
    size_t n = (size_t)t->dims[t->rank - 1], size = weft_dtype_block_bytes(t->dtype);
    int64_t step = t->strides[t->rank - 1];
    const unsigned char *p = row_at(t, row);
    if (t->dtype != WEFT_F64 && row_is_packed(t))
        return weft_dequantize_row(t->dtype, p, n, out);
    for (size_t i = 0; i < n; i++, p += step * (int64_t)size) {
        double v;
        if (t->dtype != WEFT_F64 && !weft_dequantize_row(t->dtype, p, 1, out + i))
            return false;
        if (t->dtype == WEFT_F64) {
            memcpy(&v, p, sizeof v);
            out[i] = (float)v;
        }
    }
    return true;
}

static bool element_float(const weft_tensor *t, uint64_t i, float *out) {
    const unsigned char *p = weft_tensor_data(t);
    int64_t step = t->strides[0] * (int64_t)weft_dtype_block_bytes(t->dtype);
    return weft_dequantize_row(t->dtype, p + (int64_t)i * step, 1, out);
}

/* Where a row (or column) of heads that are tiled comes from: the k-th head of group g is the
 * k * n_group + g-th, and was the g * n_head / n_group + k-th. */
static uint64_t untiled(const weft_head_order *o, uint64_t at) {
    uint64_t first = (uint64_t)o->first, size = (uint64_t)o->size, n_group = (uint64_t)o->n_group;
    if (n_group == 0 || at < first)
        return at;
    uint64_t head = (at - first) / size, of_group = (uint64_t)o->n_head / n_group;
    return first + (head % n_group * of_group + head / n_group) * size + (at - first) % size;
}

/* The columns of a row in that order, a head at a time. */
static void tile_columns(const weft_head_order *o, const float *from, uint64_t n_cols, float *to) {
    for (uint64_t c = 0; c < n_cols; c += (uint64_t)o->size)
        memcpy(to + c, from + untiled(o, c), (size_t)o->size * sizeof *to);
}

/* Where row `row` comes from. Interleaving: within a head, row 2 i + h is the i-th of half h. */
static const weft_tensor *source_row(const weft_made *made, uint64_t row, uint64_t *in_source) {
    const weft_tensor *t = made->from[0];
    if (!made->heads.columns)
        row = untiled(&made->heads, row);
    for (size_t k = 0; k < made->n_from; k++) {
        t = made->from[k];
        uint64_t n = rows_of(made, t);
        if (row < n)
            break;
        row -= n;
    }
    if (made->rope_heads > 0) {
        uint64_t head = rows_of(made, t) / (uint64_t)made->rope_heads, at = row % head;
        row = row - at + at % 2 * (head / 2) + at / 2;
    }
    *in_source = row;
    return t;
}

typedef struct making {
    const weft_recipe *recipe;
    const weft_made *made;
    weft_isa isa;
    uint64_t first, n_cols, n_rows; /* of the piece; of the tensor */
    uint64_t row_bytes;
    unsigned char *out;
    float *rows;                  /* [threads, 2, n_cols] */
    bool plain;                   /* bytes are copied */
    atomic_uint_fast64_t bad_row; /* + 1; 0: none */
    atomic_bool no_definition;
} making;

static bool all_finite(const float *x, uint64_t n) {
    float sum = 0; /* x - x is 0 or NaN */
    for (uint64_t i = 0; i < n; i++)
        sum += x[i] - x[i];
    return sum == 0;
}

static void make_rows(void *ctx, size_t begin, size_t end, int thread) {
    making *m = ctx;
    const weft_made *made = m->made;
    float *x = m->rows + (uint64_t)thread * 2 * m->n_cols, *read_to = x;
    if (made->heads.columns)
        read_to += m->n_cols;
    for (size_t i = begin; i < end; i++) {
        uint64_t row = m->first + i, at;
        const weft_tensor *t = source_row(made, row, &at);
        unsigned char *out = m->out + i * m->row_bytes;
        if (m->plain) {
            memcpy(out, row_at(t, at), m->row_bytes);
            continue;
        }
        bool read =
            by_element(made) ? element_float(t, at, x) : weft_tensor_row_floats(t, at, read_to);
        if (!read) {
            atomic_store(&m->no_definition, true);
            return;
        }
        if (made->heads.columns)
            tile_columns(&made->heads, read_to, m->n_cols, x);
        for (uint64_t c = 0; c < m->n_cols && made->plus != 0; c++)
            x[c] += made->plus;
        if (m->recipe->row_fn)
            m->recipe->row_fn(m->recipe->row_ctx, made, row, x);
        if (weft_dtype_is_quantized(made->item.dtype) && !all_finite(x, m->n_cols)) {
            atomic_store(&m->bad_row, row + 1);
            return;
        }
        const float *importance = made->importance;
        if (importance && made->n_matrices > 1)
            importance += row / (m->n_rows / made->n_matrices) * m->n_cols;
        weft_quantize_row(m->isa, made->item.dtype, x, importance, m->n_cols, out);
    }
}

static weft_status what_failed(const making *m) {
    const char *name = m->made->item.name;
    if (m->no_definition)
        return weft_fail(WEFT_E_UNSUPPORTED, "tensor '%s': type %s cannot be read", name,
                         weft_dtype_name(m->made->from[0]->dtype));
    if (m->bad_row)
        return weft_fail(WEFT_E_FORMAT, "tensor '%s': row %llu has an element that is not finite",
                         name, (unsigned long long)m->bad_row - 1);
    return WEFT_OK;
}

/* ---- Files ---- */

typedef struct writing {
    weft_engine *engine;
    const weft_recipe *recipe;
    weft_gguf_out *out;
    weft_progress_fn progress;
    void *progress_ctx;
    uint64_t done, total;
} writing;

static bool is_plain(const weft_recipe *recipe, const weft_made *made) {
    bool touched = by_element(made) || made->heads.columns;
    touched = touched || (recipe->row_fn && recipe->row_touches(recipe->row_ctx, made));
    for (size_t k = 0; k < made->n_from; k++)
        touched =
            touched || made->from[k]->dtype != made->item.dtype || !row_is_packed(made->from[k]);
    return !touched && made->plus == 0;
}

static weft_status write_pieces(writing *w, making *m, uint64_t rows_a_piece) {
    weft_status status = WEFT_OK;
    for (m->first = 0; !status && m->first < m->n_rows; m->first += rows_a_piece) {
        uint64_t n = m->n_rows - m->first < rows_a_piece ? m->n_rows - m->first : rows_a_piece;
        uint64_t grain = 1 + (m->plain ? PIECE_BYTES : 8192) / (m->n_cols + 1);
        weft_team_for(w->engine->team, n, grain, make_rows, m);
        status = what_failed(m);
        if (!status)
            status = weft_gguf_put(w->out, m->out, (size_t)(n * m->row_bytes));
        w->done += n * m->row_bytes;
        if (!status && w->progress && !w->progress(w->progress_ctx, w->done, w->total))
            status = weft_fail(WEFT_E_CANCELLED, "cancelled");
    }
    return status;
}

static void dropped(void *ctx, const weft_tensor *source) {
    weft_source_drop(ctx, source);
}

/* Parts that have no data yet get it, while the tensor is being written. */
static weft_status make_parts(const weft_recipe *r, const weft_made *made,
                              weft_tensor *headers[WEFT_EXPORT_PARTS]) {
    weft_status status = WEFT_OK;
    for (size_t k = 0; !status && k < made->n_from && r->network; k++) {
        weft_tensor *part;
        if (!weft_network_is_deferred(r->network, made->from[k]))
            continue;
        status = weft_network_make(r->network, r->source->weights, made->from[k], dropped,
                                   (void *)(uintptr_t)r->source, &part);
        if (status)
            break;
        headers[k] = made->from[k];
        made->from[k] = part;
    }
    return status;
}

static void release_parts(const weft_made *made, weft_tensor *headers[WEFT_EXPORT_PARTS]) {
    for (size_t k = 0; k < made->n_from && k < WEFT_EXPORT_PARTS; k++)
        if (headers[k]) {
            weft_tensor_release(&made->from[k]);
            made->from[k] = headers[k];
        }
}

static weft_status write_made(writing *w, const weft_made *made) {
    const weft_allocator *a = &w->engine->allocator;
    making m = {.recipe = w->recipe, .made = made, .isa = w->engine->isa};
    m.n_cols = cols_of(made);
    m.n_rows = 1;
    for (int d = 0; d < made->item.rank - !by_element(made); d++)
        m.n_rows *= (uint64_t)made->item.dims[d];
    m.row_bytes = row_bytes_of(made->item.dtype, m.n_cols);
    m.plain = is_plain(w->recipe, made);
    if (m.n_rows == 0 || m.n_cols == 0)
        return WEFT_OK;
    if (!m.plain && !weft_quantize_supported(made->item.dtype))
        return weft_fail(WEFT_E_UNSUPPORTED, "tensor '%s': type %s cannot be written",
                         made->item.name, weft_dtype_name(made->item.dtype));
    uint64_t rows = PIECE_BYTES / m.row_bytes + 1;
    rows = rows < m.n_rows ? rows : m.n_rows;
    size_t out_bytes = weft_size_of((size_t)rows, (size_t)m.row_bytes);
    size_t rows_bytes = weft_size_of((size_t)m.n_cols * 2 * sizeof(float),
                                     (size_t)weft_team_n_threads(w->engine->team));
    m.out = weft_alloc(a, out_bytes);
    m.rows = weft_alloc(a, rows_bytes);
    weft_status status =
        m.out && m.rows ? write_pieces(w, &m, rows)
                        : weft_fail(WEFT_E_MEMORY, "tensor '%s': out of memory", made->item.name);
    weft_dealloc(a, m.out, m.out ? out_bytes : 0);
    weft_dealloc(a, m.rows, m.rows ? rows_bytes : 0);
    for (size_t k = 0; k < made->n_from; k++)
        weft_source_drop(w->recipe->source, made->from[k]);
    return status;
}

static weft_status write_tensor(writing *w, const weft_made *made) {
    weft_tensor *headers[WEFT_EXPORT_PARTS] = {NULL};
    weft_status status = make_parts(w->recipe, made, headers);
    if (!status)
        status = write_made(w, made);
    release_parts(made, headers);
    return status;
}

static weft_status make_items(const weft_recipe *recipe, weft_gguf_item *items, uint64_t *total) {
    for (size_t i = 0; i < recipe->n; i++) {
        items[i] = recipe->list[i].item;
        weft_status status = weft_gguf_item_bytes(&items[i], &items[i].size_bytes);
        if (status)
            return status;
        *total += items[i].size_bytes;
    }
    return WEFT_OK;
}

weft_status weft_recipe_write(weft_engine *engine, const weft_recipe *recipe, const char *path,
                              weft_progress_fn progress, void *progress_ctx) {
    writing w = {engine, recipe, NULL, progress, progress_ctx, 0, 0};
    size_t bytes = weft_size_of(recipe->n, sizeof(weft_gguf_item));
    weft_gguf_item *items = weft_alloc(&engine->allocator, bytes);
    if (recipe->n > 0 && !items)
        return weft_fail(WEFT_E_MEMORY, "%s: out of memory", path);
    weft_status status = make_items(recipe, items, &w.total);
    if (!status)
        status =
            weft_gguf_create(&engine->allocator, path, recipe->metadata, items, recipe->n, &w.out);
    for (size_t i = 0; !status && i < recipe->n; i++)
        status = write_tensor(&w, &recipe->list[i]);
    if (!status)
        status = weft_gguf_commit(&w.out);
    weft_gguf_abort(&w.out);
    weft_dealloc(&engine->allocator, items, bytes);
    return status;
}
