/* Adapters of a model, and the tap of a session that applies them. */
#include <weft/adapter.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "engine/adapter.h"
#include "engine/impl.h"
#include "engine/lora.h"
#include "tensor/impl.h"

typedef struct matrix {
    const weft_tensor *weight; /* of the model */
    weft_tensor *a, *b;        /* panels of [rank, n_in] and [n_out, rank] */
} matrix;

struct weft_adapter {
    atomic_uint n_refs;
    weft_model *model;
    matrix *list; /* [n], ascending by the weight's address */
    size_t n, room;
};

struct weft_adapters {
    weft_allocator allocator;
    weft_tap tap;
    size_t n;
    weft_adapter_use uses[WEFT_ADAPTERS];
};

/* ---- Adapters ---- */

static weft_status panels_of(weft_engine *engine, const float *data, int64_t rows, int64_t cols,
                             weft_tensor **out) {
    int64_t dims[2] = {rows, cols};
    weft_tensor *plain;
    weft_status status = weft_tensor_create_heap(&engine->allocator, WEFT_F32, WEFT_LAYOUT_STRIDED,
                                                 2, dims, true, &plain);
    if (status)
        return status;
    memcpy(weft_tensor_data(plain), data, (size_t)(rows * cols) * sizeof *data);
    status = weft_tensor_pack(engine, NULL, plain, out);
    weft_tensor_release(&plain);
    return status;
}

static weft_status add(void *ctx, const weft_lora_pair *pair) {
    weft_adapter *ad = ctx;
    weft_engine *engine = ad->model->engine;
    const weft_named *w = pair->named;
    if (ad->n == ad->room) {
        size_t room = ad->room ? 2 * ad->room : 64;
        matrix *more = weft_realloc(&engine->allocator, ad->list, ad->room * sizeof *more,
                                    weft_size_of(room, sizeof *more));
        if (!more)
            return weft_fail(WEFT_E_MEMORY, "adapter: out of memory");
        ad->list = more;
        ad->room = room;
    }
    matrix *m = &ad->list[ad->n];
    *m = (matrix){.weight = w->weight};
    weft_status status = panels_of(engine, pair->a, pair->rank, w->cols, &m->a);
    if (status)
        return status;
    status = panels_of(engine, pair->b, w->rows, pair->rank, &m->b);
    if (status)
        weft_tensor_release(&m->a);
    else
        ad->n++;
    return status;
}

static int by_weight(const void *a, const void *b) {
    const weft_tensor *x = ((const matrix *)a)->weight, *y = ((const matrix *)b)->weight;
    return (x > y) - (x < y);
}

weft_status weft_adapter_open(weft_model *model, const char *path, weft_adapter **out) {
    if (!model || !path || !out)
        return weft_fail(WEFT_E_NULL, "weft_adapter_open: model, path and out are required");
    *out = NULL;
    weft_status status = weft_engine_alive(model->engine);
    if (status)
        return status;
    weft_adapter *ad = weft_alloc_zeroed(&model->engine->allocator, sizeof *ad);
    if (!ad)
        return weft_fail(WEFT_E_MEMORY, "%s: out of memory", path);
    atomic_init(&ad->n_refs, 1);
    ad->model = weft_model_retain(model);
    int order = model->source.format == WEFT_FORMAT_HF ? WEFT_NAMED_HF : WEFT_NAMED_GGUF;
    status =
        weft_lora_read(model->engine, model->network, model->source.weights, path, order, add, ad);
    if (status) {
        weft_adapter_release(&ad);
        return status;
    }
    if (ad->n > 0)
        qsort(ad->list, ad->n, sizeof *ad->list, by_weight);
    *out = ad;
    return WEFT_OK;
}

weft_adapter *weft_adapter_retain(weft_adapter *adapter) {
    if (adapter)
        atomic_fetch_add_explicit(&adapter->n_refs, 1, memory_order_relaxed);
    return adapter;
}

void weft_adapter_release(weft_adapter **adapter) {
    if (!adapter || !*adapter)
        return;
    weft_adapter *ad = *adapter;
    *adapter = NULL;
    if (atomic_fetch_sub_explicit(&ad->n_refs, 1, memory_order_acq_rel) != 1)
        return;
    weft_model *model = ad->model;
    weft_allocator a = model->engine->allocator;
    for (size_t i = 0; i < ad->n; i++) {
        weft_tensor_release(&ad->list[i].a);
        weft_tensor_release(&ad->list[i].b);
    }
    weft_dealloc(&a, ad->list, ad->room * sizeof *ad->list);
    weft_dealloc(&a, ad, sizeof *ad);
    weft_model_release(&model);
}

size_t weft_adapter_n_matrices(const weft_adapter *adapter) {
    return adapter ? adapter->n : 0;
}

/* ---- In a session ---- */

/* y + scale * B (A x), adapters in their order. */
static weft_tensor *apply(void *ctx, weft_scope *s, weft_tensor *weight, weft_tensor *x,
                          weft_tensor *y) {
    const weft_adapters *set = ctx;
    for (size_t i = 0; i < set->n; i++) {
        const weft_adapter *ad = set->uses[i].adapter;
        matrix key = {.weight = weight};
        const matrix *m = ad->n > 0 ? bsearch(&key, ad->list, ad->n, sizeof key, by_weight) : NULL;
        if (!m)
            continue;
        weft_tensor *low = weft_linear(s, x, m->a, NULL); /* [.., rank] */
        low = weft_affine(s, low, (double)set->uses[i].scale, 0);
        y = weft_add(s, y, weft_linear(s, low, m->b, NULL));
    }
    return y;
}

void weft_adapters_free(weft_adapters **set) {
    if (!*set)
        return;
    weft_adapters *a = *set;
    *set = NULL;
    for (size_t i = 0; i < a->n; i++)
        weft_adapter_release(&a->uses[i].adapter);
    weft_allocator allocator = a->allocator;
    weft_dealloc(&allocator, a, sizeof *a);
}

weft_status weft_adapters_create(weft_model *model, const char *what, const weft_adapter_use *uses,
                                 size_t n, weft_adapters **out) {
    const weft_allocator *allocator = &model->engine->allocator;
    *out = NULL;
    if (n == 0)
        return WEFT_OK;
    if (!uses || n > WEFT_ADAPTERS)
        return weft_fail(uses ? WEFT_E_ARGUMENT : WEFT_E_NULL, "%s: %zu adapters, at most %d", what,
                         n, WEFT_ADAPTERS);
    for (size_t i = 0; i < n; i++)
        if (!uses[i].adapter || uses[i].adapter->model != model)
            return weft_fail(WEFT_E_ARGUMENT, "%s: adapter %zu is of another model", what, i);
    weft_adapters *own = weft_alloc_zeroed(allocator, sizeof *own);
    if (!own)
        return weft_fail(WEFT_E_MEMORY, "adapters: out of memory");
    own->allocator = *allocator;
    own->tap = (weft_tap){.linear = apply, .ctx = own};
    own->n = n;
    for (size_t i = 0; i < n; i++)
        own->uses[i] = (weft_adapter_use){weft_adapter_retain(uses[i].adapter), uses[i].scale};
    *out = own;
    return WEFT_OK;
}

const weft_tap *weft_adapters_tap(const weft_adapters *set) {
    return set ? &set->tap : NULL;
}

static void take(weft_session *session, weft_adapters *own) {
    weft_adapters_free(&session->adapters);
    session->adapters = own;
    weft_scope_set_tap(session->scope, weft_adapters_tap(own));
}

weft_status weft_adapters_give(const weft_adapters *from, weft_session *session) {
    weft_adapters *own = NULL;
    weft_status status = WEFT_OK;
    if (from)
        status = weft_adapters_create(session->model, "adapters", from->uses, from->n, &own);
    if (!status)
        take(session, own);
    return status;
}

uint64_t weft_adapters_hash(const weft_adapters *set, uint64_t hash) {
    for (size_t i = 0; set && i < set->n; i++) {
        const weft_adapter *ad = set->uses[i].adapter;
        hash = weft_hash_bytes(hash, &set->uses[i].scale, sizeof(float));
        for (size_t k = 0; k < ad->n; k++) {
            const weft_tensor *t = ad->list[k].b;
            size_t n = weft_tensor_storage_bytes(t);
            hash = weft_hash_bytes(hash, weft_tensor_data(t), n < 1024 ? n : 1024);
        }
    }
    return hash;
}

weft_status weft_session_set_adapters(weft_session *session, const weft_adapter_use *uses,
                                      size_t n) {
    if (!session || (n > 0 && !uses))
        return weft_fail(WEFT_E_NULL, "weft_session_set_adapters: session and uses are required");
    if (session->n_past > 0)
        return weft_fail(WEFT_E_ARGUMENT,
                         "weft_session_set_adapters: the session holds %d tokens that went through "
                         "other weights",
                         session->n_past);
    weft_adapters *own;
    weft_status status =
        weft_adapters_create(session->model, "weft_session_set_adapters", uses, n, &own);
    if (!status)
        take(session, own);
    return status;
}
