/* Gathering importance matrices: a tap on a session's products adds up squares of their inputs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "engine/impl.h"
#include "loader/gguf_write.h"
#include "model/named.h"
#include "tensor/impl.h"
#include "tensor/tap.h"
#include <weft/extra/quantize.h>

#define MAX_NAME 128
#define STEP 64 /* tokens evaluated at once */

typedef struct entry {
    const weft_tensor *weight;
    char name[MAX_NAME];
    size_t n_cols, n_matrices;
    double *sums;     /* [n_matrices, n_cols]: of squares */
    uint64_t *counts; /* [n_matrices]: rows */
} entry;

struct weft_imatrix {
    weft_model *model;
    weft_allocator allocator;
    weft_session *session;
    weft_tap tap;
    entry *entries; /* [n], ascending by the weight's address */
    size_t n, room;
    uint32_t n_texts, longest;
    float *logits; /* [STEP, n_vocab]: the last layer evaluates only rows whose logits are wanted */
    size_t logits_bytes;
};

/* ---- The tap ---- */

static int by_weight(const void *a, const void *b) {
    const weft_tensor *x = ((const entry *)a)->weight, *y = ((const entry *)b)->weight;
    return (x > y) - (x < y);
}

static int by_name(const void *a, const void *b) {
    return strcmp((*(const entry *const *)a)->name, (*(const entry *const *)b)->name);
}

static entry *find(weft_imatrix *m, const weft_tensor *weight) {
    entry key = {.weight = weight};
    return bsearch(&key, m->entries, m->n, sizeof key, by_weight);
}

static void add_row(entry *e, size_t matrix, const float *x) {
    double *sums = e->sums + matrix * e->n_cols;
    for (size_t i = 0; i < e->n_cols; i++)
        sums[i] += (double)x[i] * (double)x[i];
    e->counts[matrix]++;
}

static weft_tensor *see_linear(void *ctx, weft_scope *s, weft_tensor *weight, weft_tensor *x,
                               weft_tensor *y) {
    entry *e = find(ctx, weight);
    x = e && x->dtype == WEFT_F32 ? weft_tensor_contiguous(s, x) : NULL;
    if (!x)
        return y;
    const float *data = weft_tensor_data(x); /* a result of this thread's scope */
    size_t n_rows = (size_t)weft_tensor_numel(x) / e->n_cols;
    for (size_t r = 0; r < n_rows; r++)
        add_row(e, 0, data + r * e->n_cols);
    return y;
}

/* x [T, n_in], or a row for each of its experts [T, n_used, n_in]. */
static void see_experts(void *ctx, weft_scope *s, weft_tensor *stack, weft_tensor *x,
                        weft_tensor *chosen) {
    entry *e = find(ctx, stack);
    x = e ? weft_tensor_contiguous(s, x) : NULL;
    chosen = e ? weft_tensor_contiguous(s, chosen) : NULL;
    if (!x || !chosen)
        return;
    const float *rows = weft_tensor_data(x);
    const int32_t *experts = weft_tensor_data(chosen);
    size_t n_used = (size_t)chosen->dims[1], n = (size_t)weft_tensor_numel(chosen);
    for (size_t i = 0; i < n; i++) {
        size_t row = x->rank == 3 ? i : i / n_used;
        if (experts[i] >= 0 && (size_t)experts[i] < e->n_matrices)
            add_row(e, (size_t)experts[i], rows + row * e->n_cols);
    }
}

/* ---- Entries ---- */

/* Of parts that share a tensor of the file, the first stands for all: they see the same rows. */
static weft_status add_entry(void *ctx, const weft_named *named) {
    weft_imatrix *m = ctx;
    const char *name = named->name[WEFT_NAMED_GGUF];
    if (!name[0] || strlen(name) >= MAX_NAME || named->first[WEFT_NAMED_GGUF] != 0)
        return WEFT_OK;
    if (m->n == m->room) {
        size_t room = m->room ? 2 * m->room : 256;
        entry *more = weft_realloc(&m->allocator, m->entries, m->room * sizeof *more,
                                   weft_size_of(room, sizeof *more));
        if (!more)
            return weft_fail(WEFT_E_MEMORY, "importance matrix: out of memory");
        m->entries = more;
        m->room = room;
    }
    entry *e = &m->entries[m->n++];
    *e = (entry){.weight = named->weight, .n_cols = (size_t)named->cols};
    e->n_matrices = (size_t)named->n_stacked;
    memcpy(e->name, name, strlen(name) + 1);
    e->sums = weft_alloc_zeroed(&m->allocator, weft_size_of(e->n_matrices * e->n_cols, 8));
    e->counts = weft_alloc_zeroed(&m->allocator, weft_size_of(e->n_matrices, 8));
    return e->sums && e->counts ? WEFT_OK
                                : weft_fail(WEFT_E_MEMORY, "importance matrix: out of memory");
}

weft_status weft_imatrix_create(weft_model *model, int32_t n_context, weft_imatrix **out) {
    if (!model || !out)
        return weft_fail(WEFT_E_NULL, "weft_imatrix_create: model and out are required");
    *out = NULL;
    weft_status status = weft_engine_alive(model->engine);
    if (status)
        return status;
    weft_imatrix *m = weft_alloc_zeroed(&model->engine->allocator, sizeof *m);
    if (!m)
        return weft_fail(WEFT_E_MEMORY, "importance matrix: out of memory");
    m->allocator = model->engine->allocator;
    m->model = weft_model_retain(model);
    weft_session_options options = weft_session_options_default();
    options.n_context = n_context;
    options.n_batch = n_context > 0 && n_context < STEP ? n_context : STEP;
    status = weft_session_create(model, &options, &m->session);
    m->logits_bytes =
        weft_size_of((size_t)weft_network_info(model->network).n_vocab, STEP * sizeof *m->logits);
    if (!status && !(m->logits = weft_alloc(&m->allocator, m->logits_bytes)))
        status = weft_fail(WEFT_E_MEMORY, "importance matrix: out of memory");
    if (!status)
        status = weft_network_visit(model->network, model->source.weights, add_entry, m);
    if (status) {
        weft_imatrix_release(&m);
        return status;
    }
    qsort(m->entries, m->n, sizeof *m->entries, by_weight);
    m->tap = (weft_tap){see_linear, see_experts, m};
    weft_scope_set_tap(m->session->scope, &m->tap);
    *out = m;
    return WEFT_OK;
}

weft_status weft_imatrix_add(weft_imatrix *m, const int32_t *tokens, size_t n) {
    if (!m || !tokens)
        return weft_fail(WEFT_E_NULL, "weft_imatrix_add: m and tokens are required");
    weft_status status = weft_session_truncate(m->session, 0, NULL);
    for (size_t at = 0, step; !status && at < n; at += step) {
        step = n - at < STEP ? n - at : STEP;
        status = weft_session_eval_all(m->session, tokens + at, step, m->logits);
    }
    if (status)
        return status;
    m->n_texts++;
    m->longest = n > m->longest ? (uint32_t)n : m->longest;
    return WEFT_OK;
}

void weft_imatrix_release(weft_imatrix **matrix) {
    if (!matrix || !*matrix)
        return;
    weft_imatrix *m = *matrix;
    *matrix = NULL;
    weft_allocator a = m->allocator;
    weft_session_release(&m->session);
    weft_model_release(&m->model);
    for (size_t i = 0; i < m->n; i++) {
        entry *e = &m->entries[i];
        weft_dealloc(&a, e->sums, e->sums ? e->n_matrices * e->n_cols * 8 : 0);
        weft_dealloc(&a, e->counts, e->counts ? e->n_matrices * 8 : 0);
    }
    weft_dealloc(&a, m->entries, m->room * sizeof *m->entries);
    weft_dealloc(&a, m->logits, m->logits ? m->logits_bytes : 0);
    weft_dealloc(&a, m, sizeof *m);
}

/* ---- Writing ---- */

static weft_status put_keys(const weft_imatrix *m, const char *text, weft_metadata *keys) {
    weft_value type = {.type = WEFT_VALUE_STRING, .as.s = {"imatrix", 7}};
    weft_value count = {.type = WEFT_VALUE_U32, .as.u = m->n_texts};
    weft_value size = {.type = WEFT_VALUE_U32, .as.u = m->longest};
    size_t length = strlen(text);
    weft_status status = weft_metadata_put(keys, "general.type", 12, &type);
    if (!status)
        status = weft_metadata_put_strings(keys, "imatrix.datasets", 16, text, &length, 1);
    if (!status)
        status = weft_metadata_put(keys, "imatrix.chunk_count", 19, &count);
    return status ? status : weft_metadata_put(keys, "imatrix.chunk_size", 18, &size);
}

static weft_status put_entry(weft_gguf_out *out, const entry *e) {
    weft_status status = WEFT_OK;
    for (size_t i = 0; !status && i < e->n_matrices * e->n_cols; i++) {
        float sum = (float)e->sums[i];
        status = weft_gguf_put(out, &sum, sizeof sum);
    }
    for (size_t i = 0; !status && i < e->n_matrices; i++) {
        float count = (float)e->counts[i];
        status = weft_gguf_put(out, &count, sizeof count);
    }
    return status;
}

typedef struct output { /* what writing needs for m->n entries */
    const entry **order;
    weft_gguf_item *items; /* [2 n]: sums, counts */
    char (*names)[MAX_NAME + 16];
} output;

static size_t list_entries(const weft_imatrix *m, output *o) {
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++)
        o->order[i] = &m->entries[i];
    qsort(o->order, m->n, sizeof *o->order, by_name);
    for (size_t i = 0; i < m->n; i++)
        if (o->order[i]->counts[0] > 0 || o->order[i]->n_matrices > 1)
            o->order[n++] = o->order[i];
    for (size_t i = 0; i < n; i++) {
        const entry *e = o->order[i];
        char *sums = o->names[2 * i], *counts = o->names[2 * i + 1];
        snprintf(sums, sizeof *o->names, "%s.in_sum2", e->name);
        snprintf(counts, sizeof *o->names, "%s.counts", e->name);
        int64_t matrices = (int64_t)e->n_matrices, n_cols = (int64_t)e->n_cols;
        weft_gguf_item *items = &o->items[2 * i];
        items[0] = (weft_gguf_item){sums, WEFT_F32, 2, {matrices, n_cols}, 0};
        items[1] = (weft_gguf_item){counts, WEFT_F32, 2, {matrices, 1}, 0};
        if (matrices == 1) {
            items[0] = (weft_gguf_item){sums, WEFT_F32, 1, {n_cols}, 0};
            items[1] = (weft_gguf_item){counts, WEFT_F32, 1, {1}, 0};
        }
    }
    return n;
}

static weft_status write_file(const weft_imatrix *m, const char *path, const char *text,
                              weft_metadata *keys, output *o) {
    size_t n = list_entries(m, o);
    weft_gguf_out *out;
    weft_status status = put_keys(m, text, keys);
    if (!status)
        status = weft_gguf_create(&m->allocator, path, keys, o->items, 2 * n, &out);
    if (status)
        return status;
    for (size_t i = 0; !status && i < n; i++)
        status = put_entry(out, o->order[i]);
    if (!status)
        return weft_gguf_commit(&out);
    weft_gguf_abort(&out);
    return status;
}

weft_status weft_imatrix_write(const weft_imatrix *m, const char *path, const char *text) {
    if (!m || !path || !text)
        return weft_fail(WEFT_E_NULL, "weft_imatrix_write: m, path and text are required");
    if (m->n_texts == 0)
        return weft_fail(WEFT_E_ARGUMENT, "%s: no text was added", path);
    const weft_allocator *a = &m->allocator;
    size_t order = weft_size_of(m->n, sizeof(entry *));
    size_t items = weft_size_of(2 * m->n, sizeof(weft_gguf_item));
    output o = {.order = weft_alloc(a, order), .items = weft_alloc(a, items)};
    size_t names = weft_size_of(2 * m->n, sizeof *o.names);
    o.names = weft_alloc(a, names);
    weft_metadata *keys = weft_metadata_create(a);
    weft_status status = o.order && o.items && o.names && keys
                             ? write_file(m, path, text, keys, &o)
                             : weft_fail(WEFT_E_MEMORY, "%s: out of memory", path);
    weft_metadata_destroy(keys);
    weft_dealloc(a, o.order, o.order ? order : 0);
    weft_dealloc(a, o.items, o.items ? items : 0);
    weft_dealloc(a, o.names, o.names ? names : 0);
    return status;
}
