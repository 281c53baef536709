/* Models: a source's weights and metadata, the network over them, and the tokeniser, joined. Owns
 * all three; borrowed strings of weft_model_get_info are the network's. */
#include "engine/impl.h"
#include "base/alloc.h"
#include "base/detail.h"
#include "base/file.h"
#include "tensor/impl.h"
#include "text/text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

weft_model_options weft_model_options_default(void) {
    weft_model_options options = {.mode = WEFT_LOAD_REPACK};
    return options;
}

/* Rows of the embedding, by which the tokeniser's ids are checked; -1 where there is none. */
static int64_t embedding_rows(const weft_source *source) {
    static const char *const names[] = {"token_embd.weight", "model.embed_tokens.weight"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        weft_tensor *table = weft_weights_find(source->weights, names[i]);
        if (table && weft_tensor_rank(table) == 2)
            return weft_tensor_dim(table, 0);
    }
    return -1;
}

/* A folder without tokenizer.json: says which other form of tokeniser it has. */
static weft_status no_tokenizer_json(const char *path) {
    static const char *const others[] = {"tokenizer.model", "vocab.json", "vocab.txt"};
    char file[4096];
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        int n = snprintf(file, sizeof file, "%s/%s", path, others[i]);
        if (n > 0 && (size_t)n < sizeof file && access(file, F_OK) == 0)
            return weft_fail(WEFT_E_UNSUPPORTED,
                             "%s: no tokenizer.json, and a tokeniser from %s is not supported",
                             path, others[i]);
    }
    return weft_fail(WEFT_E_NOT_FOUND, "%s: no tokenizer.json", path);
}

static weft_status make_tokenizer(weft_engine *engine, const weft_source *source, const char *path,
                                  const char *pre, int64_t n_rows, weft_tokenizer **out) {
    weft_status status;
    if (source->format == WEFT_FORMAT_GGUF)
        status = weft_tokenizer_from_gguf(engine, source->metadata, pre, n_rows, out);
    else if (!source->tokenizer_json)
        return no_tokenizer_json(path);
    else
        status =
            weft_tokenizer_from_json(engine, source->tokenizer_json, source->tokenizer_json_bytes,
                                     source->metadata, pre, n_rows, out);
    return status ? weft_fail_in(status, "%s", path) : WEFT_OK;
}

weft_status weft_tokenizer_open(weft_engine *engine, const char *path, const char *pre,
                                weft_tokenizer **out) {
    if (!engine || !path || !out)
        return weft_fail(WEFT_E_NULL, "weft_tokenizer_open: engine, path and out are required");
    *out = NULL;
    weft_status status = weft_engine_alive(engine);
    if (status)
        return status;
    weft_source source;
    status = weft_source_open(engine, path, false, NULL, NULL, &source);
    if (status)
        return status;
    status = make_tokenizer(engine, &source, path, pre, embedding_rows(&source), out);
    weft_source_close(&source);
    return status;
}

/* The pages of a tensor that has been packed are not needed again. */
static void drop_pages(void *ctx, const weft_tensor *tensor) {
    weft_source_drop(ctx, tensor);
}

static bool unchanged(void *ctx) {
    return weft_source_unchanged(ctx);
}

static weft_status make_network(weft_model *model, const char *path,
                                const weft_model_options *options) {
    bool lazy = options->mode == WEFT_LOAD_LAZY,
         pack = lazy || options->mode == WEFT_LOAD_REPACK;
    weft_network_options network = {
        .hugging_face = model->source.format == WEFT_FORMAT_HF,
        .pack = pack,
        .lazy = lazy,
        .progress = pack ? options->progress : NULL,
        .progress_ctx = options->progress_ctx,
        .packed = pack ? drop_pages : NULL,
        .unchanged = unchanged,
        .packed_ctx = &model->source,
    };
    weft_status status = weft_network_create(model->engine, model->source.metadata,
                                             model->source.weights, &network, &model->network);
    return status ? weft_fail_in(status, "%s", path) : WEFT_OK;
}

/* The longest spelling, so that generation allocates its text buffers once. */
static size_t longest_piece(const weft_tokenizer *tokenizer) {
    size_t longest = 0;
    int32_t n = weft_tokenizer_n_tokens(tokenizer);
    for (int32_t id = 0; id < n; id++) {
        const char *text;
        size_t n_bytes = 0;
        weft_token_bytes(tokenizer, id, true, &text, &n_bytes);
        longest = n_bytes > longest ? n_bytes : longest;
    }
    return longest;
}

static weft_status load(weft_model *model, const char *path, const weft_model_options *options) {
    bool copy = options->mode == WEFT_LOAD_COPY;
    weft_status status =
        weft_source_open(model->engine, path, copy, copy ? options->progress : NULL,
                         options->progress_ctx, &model->source);
    if (!status)
        status = make_network(model, path, options);
    if (status || options->without_tokenizer)
        return status;
    int64_t n_rows = weft_network_info(model->network).n_vocab;
    status = make_tokenizer(model->engine, &model->source, path, options->pre, n_rows,
                            &model->tokenizer);
    if (status)
        return status;
    model->max_piece_bytes = longest_piece(model->tokenizer);
    /* Network and tokeniser have copied what they keep; the vocabulary's strings are megabytes. */
    weft_metadata_destroy(model->source.metadata);
    model->source.metadata = NULL;
    return WEFT_OK;
}

weft_status weft_model_open(weft_engine *engine, const char *path,
                            const weft_model_options *options, weft_model **out) {
    if (!engine || !path || !out)
        return weft_fail(WEFT_E_NULL, "weft_model_open: engine, path and out are required");
    *out = NULL;
    weft_status status = weft_engine_alive(engine);
    if (status)
        return status;
    weft_model_options defaults = weft_model_options_default();
    options = options ? options : &defaults;
    if (options->mode < WEFT_LOAD_REPACK || options->mode > WEFT_LOAD_LAZY)
        return weft_fail(WEFT_E_ARGUMENT, "weft_model_open: unknown load mode %d",
                         (int)options->mode);
    weft_model *model = weft_alloc_zeroed(&engine->allocator, sizeof *model);
    if (!model)
        return weft_fail(WEFT_E_MEMORY, "%s: out of memory", path);
    atomic_init(&model->n_refs, 1);
    model->engine = weft_engine_retain(engine);
    status = load(model, path, options);
    if (status) {
        weft_model_release(&model);
        return status;
    }
    *out = model;
    return WEFT_OK;
}

weft_status weft_model_pack(weft_model *model, weft_progress_fn progress, void *progress_ctx) {
    if (!model)
        return weft_fail(WEFT_E_NULL, "weft_model_pack: model is required");
    weft_status status = weft_engine_alive(model->engine);
    return status ? status : weft_network_pack(model->network, progress, progress_ctx);
}

weft_model *weft_model_retain(weft_model *model) {
    if (model)
        atomic_fetch_add_explicit(&model->n_refs, 1, memory_order_relaxed);
    return model;
}

void weft_model_release(weft_model **model) {
    if (!model || !*model)
        return;
    weft_model *m = *model;
    *model = NULL;
    if (atomic_fetch_sub_explicit(&m->n_refs, 1, memory_order_acq_rel) != 1)
        return;
    weft_engine *engine = m->engine;
    weft_tokenizer_release(&m->tokenizer);
    weft_network_destroy(&m->network);
    if (m->source.metadata || m->source.weights)
        weft_source_close(&m->source);
    weft_dealloc(&engine->allocator, m, sizeof *m);
    weft_engine_release(&engine);
}

weft_model_info weft_model_get_info(const weft_model *model) {
    if (!model) {
        weft_model_info none = {.architecture = "", .name = ""};
        return none;
    }
    weft_model_info info = weft_network_info(model->network);
    info.weight_bytes = model->source.weight_bytes;
    return info;
}

const weft_tokenizer *weft_model_tokenizer(const weft_model *model) {
    return model ? model->tokenizer : NULL;
}

uint64_t weft_hash_bytes(uint64_t hash, const void *data, size_t size_bytes) {
    const unsigned char *p = data;
    for (size_t i = 0; i < size_bytes; i++)
        hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
    return hash;
}

uint64_t weft_model_fingerprint(const weft_model *model) {
    static const char *const norms[] = {"output_norm.weight", "model.norm.weight"};
    weft_model_info info = weft_model_get_info(model);
    uint64_t numbers[] = {info.n_parameters,     (uint64_t)info.n_layer, (uint64_t)info.n_embd,
                          (uint64_t)info.n_head, (uint64_t)info.n_vocab, (uint64_t)info.n_head_kv};
    uint64_t hash = weft_hash_bytes(WEFT_HASH_START, info.architecture, strlen(info.architecture));
    hash = weft_hash_bytes(hash, numbers, sizeof numbers);
    /* Models of one shape (a base model and its fine-tunes) differ in their last norm. */
    for (size_t i = 0; i < sizeof norms / sizeof norms[0]; i++) {
        weft_tensor *norm = weft_weights_find(model->source.weights, norms[i]);
        if (norm && weft_dtype_block(weft_tensor_dtype(norm)) == 1)
            hash = weft_hash_bytes(hash, weft_tensor_data(norm),
                                   (size_t)weft_tensor_numel(norm) *
                                       weft_dtype_block_bytes(weft_tensor_dtype(norm)));
    }
    return hash;
}
