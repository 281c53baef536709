/* Merging: a row of a tensor gets the row of B times A, before it is written in the file's type. */
#include "engine/merge_lora.h"

#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "engine/lora.h"

/* Rows [first, first + rows) of one tensor. */
typedef struct weft_delta {
    struct weft_delta *next; /* of the same tensor */
    int64_t first, rows, cols, rank;
    float scale;
    float *a, *b; /* [rank, cols], [rows, rank] */
} weft_delta;

struct weft_deltas {
    weft_allocator allocator;
    weft_recipe *recipe;
    weft_network *network; /* own, for a GGUF source; NULL: the recipe's */
    float scale;           /* of the file in work */
    weft_delta **of;       /* [recipe->n]: what made i gets */
};

static float *copy(const weft_allocator *a, const float *from, int64_t n) {
    size_t bytes = weft_size_of((size_t)n, sizeof *from);
    float *to = weft_alloc(a, bytes);
    if (to)
        memcpy(to, from, bytes);
    return to;
}

static void delta_free(const weft_allocator *a, weft_delta *d) {
    weft_dealloc(a, d->a, d->a ? (size_t)(d->rank * d->cols) * sizeof *d->a : 0);
    weft_dealloc(a, d->b, d->b ? (size_t)(d->rows * d->rank) * sizeof *d->b : 0);
    weft_dealloc(a, d, sizeof *d);
}

static weft_status add(void *ctx, const weft_lora_pair *pair) {
    weft_deltas *deltas = ctx;
    const weft_allocator *a = &deltas->allocator;
    const weft_named *w = pair->named;
    const char *name = w->name[WEFT_NAMED_GGUF];
    size_t i = 0;
    while (i < deltas->recipe->n && strcmp(deltas->recipe->list[i].item.name, name) != 0)
        i++;
    if (i == deltas->recipe->n || w->first[WEFT_NAMED_GGUF] < 0)
        return weft_fail(WEFT_E_UNSUPPORTED, "'%s' cannot be merged into a GGUF file", name);
    weft_delta *d = weft_alloc_zeroed(a, sizeof *d);
    if (!d)
        return weft_fail(WEFT_E_MEMORY, "'%s': out of memory", name);
    d->first = w->first[WEFT_NAMED_GGUF];
    d->rows = w->rows;
    d->cols = w->cols;
    d->rank = pair->rank;
    d->scale = deltas->scale;
    d->a = copy(a, pair->a, d->rank * d->cols);
    d->b = copy(a, pair->b, d->rows * d->rank);
    if (!d->a || !d->b) {
        delta_free(a, d);
        return weft_fail(WEFT_E_MEMORY, "'%s': out of memory", name);
    }
    d->next = deltas->of[i];
    deltas->of[i] = d;
    return WEFT_OK;
}

static const weft_delta *deltas_of(const weft_deltas *deltas, const weft_made *made) {
    return deltas->of[made - deltas->recipe->list];
}

static bool touches(void *ctx, const weft_made *made) {
    return deltas_of(ctx, made) != NULL;
}

static void add_row(void *ctx, const weft_made *made, uint64_t row, float *x) {
    for (const weft_delta *d = deltas_of(ctx, made); d; d = d->next) {
        int64_t at = (int64_t)row - d->first;
        for (int64_t k = 0; at >= 0 && at < d->rows && k < d->rank; k++) {
            float b = d->scale * d->b[at * d->rank + k];
            const float *a = d->a + k * d->cols;
            for (int64_t c = 0; c < d->cols; c++)
                x[c] += b * a[c];
        }
    }
}

/* A network over the source that nothing is packed or copied for. */
static weft_status look(weft_engine *engine, const weft_source *source, weft_deltas *deltas,
                        weft_network **network) {
    *network = deltas->recipe->network;
    if (*network)
        return WEFT_OK;
    weft_network_options options = {.check_only = true};
    weft_status status =
        weft_network_create(engine, source->metadata, source->weights, &options, &deltas->network);
    *network = deltas->network;
    return status;
}

weft_status weft_deltas_add(weft_engine *engine, const weft_source *source, weft_recipe *recipe,
                            const weft_lora_file *files, size_t n, weft_deltas **out) {
    weft_network *network = NULL;
    weft_deltas *deltas = weft_alloc_zeroed(&engine->allocator, sizeof *deltas);
    *out = deltas;
    if (!deltas)
        return weft_fail(WEFT_E_MEMORY, "adapters: out of memory");
    deltas->allocator = engine->allocator;
    deltas->recipe = recipe;
    deltas->of = weft_alloc_zeroed(&engine->allocator, weft_size_of(recipe->n, sizeof *deltas->of));
    weft_status status = deltas->of ? look(engine, source, deltas, &network)
                                    : weft_fail(WEFT_E_MEMORY, "adapters: out of memory");
    for (size_t i = 0; !status && i < n; i++) {
        deltas->scale = files[i].scale;
        status = weft_lora_read(engine, network, source->weights, files[i].path, WEFT_NAMED_GGUF,
                                add, deltas);
    }
    recipe->row_fn = add_row;
    recipe->row_touches = touches;
    recipe->row_ctx = deltas;
    return status;
}

void weft_deltas_free(weft_deltas **all) {
    if (!all || !*all)
        return;
    weft_deltas *deltas = *all;
    *all = NULL;
    weft_allocator a = deltas->allocator;
    for (size_t i = 0; deltas->of && i < deltas->recipe->n; i++)
        for (weft_delta *d = deltas->of[i], *next; d; d = next) {
            next = d->next;
            delta_free(&a, d);
        }
    weft_dealloc(&a, deltas->of, deltas->of ? deltas->recipe->n * sizeof *deltas->of : 0);
    weft_network_destroy(&deltas->network);
    weft_dealloc(&a, deltas, sizeof *deltas);
}
