/* The recipe of a Hugging Face folder: what its network exports, and its tokeniser. */
#include <stdio.h>
#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "engine/mix.h"
#include "engine/recipe.h"
#include "model/export.h"
#include "tensor/impl.h"
#include "text/to_gguf.h"

typedef struct adding {
    weft_recipe *recipe;
    size_t n, n_parts; /* counted first */
    bool counting;
} adding;

/* Vectors and what must stay exact are f32 in GGUF files. */
static weft_dtype type_of(const weft_exported *t) {
    weft_dtype dtype = t->parts[0]->dtype;
    if (weft_role_of(t->name, t->rank) == WEFT_ROLE_EXACT)
        return WEFT_F32;
    return dtype == WEFT_F64 ? WEFT_F32 : dtype;
}

static weft_status add(void *ctx, const weft_exported *t) {
    adding *a = ctx;
    a->n++;
    a->n_parts += t->n_parts;
    if (a->counting)
        return WEFT_OK;
    weft_recipe *r = a->recipe;
    weft_made *made = &r->list[r->n];
    char *name = r->names[r->n++];
    snprintf(name, WEFT_MADE_NAME, "%s", t->name);
    *made = (weft_made){.item = {.name = name, .dtype = type_of(t), .rank = t->rank}};
    memcpy(made->item.dims, t->dims, (size_t)t->rank * sizeof *t->dims);
    made->from = &r->parts[r->n_parts];
    made->n_from = t->n_parts;
    for (size_t k = 0; k < t->n_parts; k++)
        r->parts[r->n_parts++] = t->parts[k];
    made->rope_heads = t->rope_heads;
    made->heads = t->heads;
    made->plus = t->plus;
    return WEFT_OK;
}

static weft_status make_room(weft_recipe *r, const adding *counted) {
    const weft_allocator *a = &r->allocator;
    r->list = weft_alloc_zeroed(a, weft_size_of(counted->n, sizeof *r->list));
    r->names = weft_alloc_zeroed(a, weft_size_of(counted->n, sizeof *r->names));
    r->parts = weft_alloc_zeroed(a, weft_size_of(counted->n_parts, sizeof *r->parts));
    r->room = r->list ? counted->n : 0;
    r->names_room = r->names ? counted->n : 0;
    r->parts_room = r->parts ? counted->n_parts : 0;
    return r->list && r->names && r->parts
               ? WEFT_OK
               : weft_fail(WEFT_E_MEMORY, "out of memory for %zu tensors", counted->n);
}

static weft_status add_tensors(weft_recipe *r, weft_weights *weights) {
    adding counting = {.recipe = r, .counting = true}, real = {.recipe = r};
    weft_status status = weft_network_export(r->network, weights, add, &counting);
    if (!status)
        status = make_room(r, &counting);
    return status ? status : weft_network_export(r->network, weights, add, &real);
}

static weft_status put_text(weft_recipe *r, const char *key, const char *text) {
    weft_value v = {.type = WEFT_VALUE_STRING, .as.s = {text, strlen(text)}};
    return weft_metadata_put(r->metadata, key, strlen(key), &v);
}

/* The folder's name, or what the folder says of itself. */
static weft_status put_name(weft_recipe *r, const char *path) {
    char name[256];
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    size_t from = n;
    while (from > 0 && path[from - 1] != '/')
        from--;
    snprintf(name, sizeof name, "%.*s", (int)(n - from < 255 ? n - from : 255), path + from);
    weft_model_info info = weft_network_info(r->network);
    return put_text(r, "general.name", *info.name ? info.name : name);
}

/* The tokeniser does not use it, other programs do. */
static weft_status put_padding(weft_recipe *r) {
    uint32_t id;
    weft_status status = weft_metadata_u32(r->source->metadata, "pad_token_id", &id);
    if (status || id >= (uint32_t)weft_network_info(r->network).n_vocab)
        return WEFT_OK;
    weft_value v = {.type = WEFT_VALUE_U32, .as.u = id};
    return weft_metadata_put(r->metadata, "tokenizer.ggml.padding_token_id", 31, &v);
}

static weft_status add_keys(weft_engine *engine, weft_recipe *r, const char *path,
                            const char *pre) {
    const weft_source *s = r->source;
    weft_tokenizer *t = NULL;
    int64_t n_rows = weft_network_info(r->network).n_vocab;
    weft_status status = weft_network_export_keys(r->network, r->metadata);
    if (!status)
        status = put_text(r, "general.type", "model");
    if (!status)
        status = put_name(r, path);
    if (status)
        return status;
    if (!s->tokenizer_json)
        return weft_fail(WEFT_E_NOT_FOUND, "no tokenizer.json");
    status = weft_tokenizer_from_json(engine, s->tokenizer_json, s->tokenizer_json_bytes,
                                      s->metadata, NULL, n_rows, &t);
    if (!status)
        status = weft_tokenizer_to_gguf(t, pre, n_rows, r->metadata);
    weft_tokenizer_release(&t);
    return status ? status : put_padding(r);
}

weft_status weft_recipe_of_folder(weft_engine *engine, weft_source *source, const char *path,
                                  const char *pre, weft_recipe *out) {
    weft_network_options options = {.hugging_face = true, .defer = true};
    *out = (weft_recipe){.allocator = source->allocator, .source = source};
    out->metadata = weft_metadata_create(&source->allocator);
    if (!out->metadata)
        return weft_fail(WEFT_E_MEMORY, "%s: out of memory", path);
    weft_status status =
        weft_network_create(engine, source->metadata, source->weights, &options, &out->network);
    if (!status)
        status = add_tensors(out, source->weights);
    if (!status)
        status = add_keys(engine, out, path, pre);
    if (status) {
        weft_recipe_free(out);
        return weft_fail_in(status, "%s", path);
    }
    return WEFT_OK;
}

weft_status weft_recipe_of(weft_engine *engine, weft_source *source, const char *path,
                           const char *pre, weft_recipe *out) {
    return source->format == WEFT_FORMAT_HF ? weft_recipe_of_folder(engine, source, path, pre, out)
                                            : weft_recipe_copy(source, out);
}
