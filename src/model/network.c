/* Creating networks: architecture, hyper-parameters, layers, rope frequencies, and what is said of
 * a model without running it. */
#include "model/network.h"

#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "base/engine_impl.h"
#include "model/cache_impl.h"
#include "model/pass.h"
#include "tensor/impl.h"

static weft_spelling spelling_of(bool hugging_face) {
    return hugging_face ? WEFT_SPELL_HF : WEFT_SPELL_GGUF;
}

static const char *name_key(weft_spelling s) {
    return s == WEFT_SPELL_HF ? "_name_or_path" : "general.name";
}

/* Any bytes are a name; a NUL ends it. */
static weft_status copy_name(weft_network *n, const weft_metadata *metadata) {
    weft_value v;
    size_t length = 0;
    bool found =
        weft_metadata_find(metadata, name_key(n->spelling), &v) && v.type == WEFT_VALUE_STRING;
    if (found)
        length = strnlen(v.as.s.text, v.as.s.n_bytes > 256 ? 256 : v.as.s.n_bytes);
    n->name_bytes = length + 1;
    n->name = weft_alloc(&n->engine->allocator, n->name_bytes);
    if (!n->name)
        return weft_fail(WEFT_E_MEMORY, "no memory for the model's name");
    if (length)
        memcpy(n->name, v.as.s.text, length);
    n->name[length] = 0;
    return WEFT_OK;
}

static weft_status create_layers(weft_network *n, const weft_metadata *metadata) {
    n->layers = weft_alloc_zeroed(&n->engine->allocator,
                                  weft_size_of((size_t)n->h.n_layer, sizeof *n->layers));
    if (!n->layers)
        return weft_fail(WEFT_E_MEMORY, "no memory for %d layers", n->h.n_layer);
    for (int32_t i = 0; i < n->h.n_layer; i++) {
        weft_status st =
            weft_hparams_layer(metadata, n->arch, (int)n->spelling, &n->h, i, &n->layers[i]);
        if (st)
            return st;
    }
    return WEFT_OK;
}

/* ---- Identity ---- */

static uint64_t mix(uint64_t hash, const void *data, size_t n_bytes) {
    const unsigned char *p = data;
    for (size_t i = 0; i < n_bytes; i++)
        hash = (hash ^ p[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
    return hash;
}

static uint64_t mix_tensor(uint64_t hash, weft_tensor *t) {
    const void *data;
    if (!t)
        return hash;
    size_t room = weft_tensor_storage_bytes(t);
    size_t offset =
        (size_t)t->offset / weft_dtype_block(t->dtype) * weft_dtype_block_bytes(t->dtype);
    room = offset < room ? room - offset : 0;
    if (weft_tensor_map_read(t, &data))
        return hash;
    hash = mix(hash, data, room < 16384 ? room : 16384);
    weft_tensor_unmap(t);
    return hash;
}

/* Enough of the weights to tell apart models of one shape; before packing changes their layout. */
static void take_fingerprint(weft_network *n) {
    const weft_hparams *h = &n->h;
    int32_t counts[] = {h->n_layer,   h->n_embd,   h->n_ff,    h->n_head,
                        h->n_head_kv, h->head_dim, h->n_vocab, h->window};
    uint64_t hash = mix(UINT64_C(0xcbf29ce484222325), n->arch->name, strlen(n->arch->name));
    hash = mix(hash, counts, sizeof counts);
    hash = mix_tensor(hash, n->globals.embedding);
    hash = mix_tensor(hash, n->globals.output_norm);
    for (int32_t i = 0; i<h->n_layer; i += h->n_layer> 4 ? h->n_layer / 4 : 1)
        hash = mix_tensor(hash, n->layers[i].attn_k);
    n->fingerprint = hash;
}

static void count_weights(weft_network *n, const weft_weights *weights) {
    for (size_t i = 0; i < weft_weights_count(weights); i++) {
        const char *name;
        const weft_tensor *t = weft_weights_at(weights, i, &name);
        uint64_t numel = (uint64_t)weft_tensor_numel(t);
        if (strchr(name, '('))
            continue; /* derived from another */
        n->n_parameters += numel;
        n->weight_bytes += numel / weft_dtype_block(t->dtype) * weft_dtype_block_bytes(t->dtype);
    }
}

/* ---- Creation ---- */

static weft_status check_layer_count(const weft_network *n, const weft_weights *weights) {
    if ((size_t)n->h.n_layer <= weft_weights_count(weights))
        return WEFT_OK;
    return weft_fail(WEFT_E_FORMAT, "%s%s: %d layers, but the file has only %zu tensors",
                     n->spelling == WEFT_SPELL_HF ? "config.json: " : n->arch->name,
                     n->spelling == WEFT_SPELL_HF ? "num_hidden_layers" : ".block_count",
                     n->h.n_layer, weft_weights_count(weights));
}

static weft_status build(weft_network *n, const weft_metadata *metadata, weft_weights *weights,
                         const weft_network_options *options) {
    weft_binding b = {n->engine, weights, options, n, 0, 0};
    weft_status st = weft_arch_find(metadata, n->spelling, &n->arch);
    if (st || (st = weft_hparams_read(metadata, n->arch, (int)n->spelling, &n->h)) ||
        (st = check_layer_count(n, weights)) || (st = copy_name(n, metadata)) ||
        (st = create_layers(n, metadata)) || (st = weft_network_bind(&b)))
        return st;
    count_weights(n, weights);
    if (!options->check_only) {
        take_fingerprint(n);
        if ((st = weft_network_prepare(&b)))
            return st;
    }
    return weft_network_create_frequencies(n, metadata);
}

weft_status weft_network_create(weft_engine *engine, const weft_metadata *metadata,
                                weft_weights *weights, const weft_network_options *options,
                                weft_network **out) {
    if (out)
        *out = NULL;
    if (!engine || !metadata || !weights || !options || (!out && !options->check_only))
        return weft_fail(WEFT_E_NULL, "weft_network_create: an argument is NULL");
    weft_network *n = weft_alloc_zeroed(&engine->allocator, sizeof *n);
    if (!n)
        return weft_fail(WEFT_E_MEMORY, "no memory for a network");
    n->engine = weft_engine_retain(engine);
    n->spelling = spelling_of(options->hugging_face);
    weft_status st = build(n, metadata, weights, options);
    if (st || !out)
        weft_network_destroy(&n);
    else
        *out = n;
    return st;
}

void weft_network_destroy(weft_network **network) {
    if (!network || !*network)
        return;
    weft_network *n = *network;
    weft_engine *engine = n->engine;
    *network = NULL;
    weft_unpacked_destroy(n);
    weft_dealloc(&engine->allocator, n->layers,
                 weft_size_of((size_t)n->h.n_layer, sizeof *n->layers));
    weft_dealloc(&engine->allocator, n->frequencies, n->n_frequency_bytes);
    weft_dealloc(&engine->allocator, n->name, n->name_bytes);
    weft_dealloc(&engine->allocator, n->deferred, n->deferred_room * sizeof *n->deferred);
    weft_dealloc(&engine->allocator, n, sizeof *n);
    weft_engine_release(&engine);
}

/* ---- Figures ---- */

weft_model_info weft_network_info(const weft_network *network) {
    const weft_hparams *h = &network->h;
    return (weft_model_info){.architecture = network->arch->name,
                             .name = network->name,
                             .n_parameters = network->n_parameters,
                             .weight_bytes = network->weight_bytes,
                             .n_layer = h->n_layer,
                             .n_embd = h->n_embd,
                             .n_head = h->n_head,
                             .n_head_kv = h->n_head_kv,
                             .n_vocab = h->n_vocab,
                             .n_context = h->n_context,
                             .embeds_only = !network->globals.output};
}

static weft_cache_layer keeps_of(const weft_hparams *h, const weft_layer *layer) {
    weft_cache_layer keeps = {0};
    layer->mixer->keeps(h, layer, &keeps);
    return keeps;
}

bool weft_network_is_bidirectional(const weft_network *network) {
    return network->arch->bidirectional;
}

weft_pooling weft_network_pooling(const weft_network *network) {
    if (network->h.pooling != WEFT_POOLING_DEFAULT)
        return network->h.pooling;
    return network->arch->bidirectional ? WEFT_POOLING_MEAN : WEFT_POOLING_LAST;
}

weft_cache_layer weft_network_keeps(const weft_network *network, int32_t layer) {
    return keeps_of(&network->h, &network->layers[layer]);
}

/* Adds what a layer takes of a cache of one sequence; saturates. */
static void add_cache_bytes(const weft_hparams *h, const weft_layer *layer, int32_t n_positions,
                            weft_dtype type, uint64_t *bytes) {
    weft_cache_layer keeps = keeps_of(h, layer);
    uint64_t blocks = ((uint64_t)n_positions + WEFT_CACHE_BLOCK - 1) / WEFT_CACHE_BLOCK;
    uint64_t rows, states = weft_cache_layer_state_bytes(&keeps);
    if (!weft_mul_u64(blocks * WEFT_CACHE_BLOCK, weft_cache_layer_bytes(&keeps, type), &rows) ||
        !weft_mul_u64(states, (uint64_t)weft_cache_slots_for(1), &states) ||
        !weft_add_u64(rows, states, &rows) || !weft_add_u64(*bytes, rows, bytes))
        *bytes = UINT64_MAX;
}

uint64_t weft_network_cache_bytes(const weft_network *network, int32_t n_positions,
                                  weft_dtype cache_type) {
    uint64_t bytes = 0;
    int32_t n = network->arch->bidirectional ? 1 : network->h.n_layer; /* see cache.c */
    for (int32_t i = 0; n_positions > 0 && i < n; i++)
        add_cache_bytes(&network->h, &network->layers[i], n_positions, cache_type, &bytes);
    return bytes;
}

bool weft_network_estimate(const weft_metadata *metadata, bool hugging_face, int32_t n_positions,
                           weft_dtype cache_type, int32_t *n_context_train, uint64_t *bytes) {
    const weft_arch *arch;
    weft_hparams h;
    weft_spelling spelling = spelling_of(hugging_face);
    if (weft_arch_find(metadata, spelling, &arch) ||
        weft_hparams_read(metadata, arch, (int)spelling, &h))
        return false;
    if (n_positions <= 0)
        n_positions = h.n_context < 4096 ? h.n_context : 4096;
    *n_context_train = h.n_context;
    *bytes = 0;
    for (int32_t i = 0; i < (arch->bidirectional ? 1 : h.n_layer); i++) {
        weft_layer layer = {0};
        if (weft_hparams_layer(metadata, arch, (int)spelling, &h, i, &layer))
            return false;
        add_cache_bytes(&h, &layer, n_positions, cache_type, bytes);
    }
    return true;
}
