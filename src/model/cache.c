/* The cache's storages, blocks and sequences: creation, fork, truncate. Steps are in cache_step.c,
 * saving in cache_file.c. Everything is allocated at creation. */
#include "model/cache.h"

#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "model/cache_impl.h"
#include "model/memory.h"
#include "tensor/impl.h"

/* Every sequence ends in a block that it does not share for long: each beyond the first adds one.
 */
static uint64_t blocks_of(const weft_cache_options *o) {
    return ((uint64_t)o->n_positions + WEFT_CACHE_BLOCK - 1) / WEFT_CACHE_BLOCK +
           (uint64_t)o->n_sequences - 1;
}

static weft_status check_options(const weft_network *network, const weft_cache_options *o) {
    if (!weft_cache_type_allowed(o->type))
        return weft_fail(WEFT_E_ARGUMENT, "cache_type: %s is not " WEFT_CACHE_TYPES,
                         weft_dtype_name(o->type));
    if (o->n_positions < 1)
        return weft_fail(WEFT_E_ARGUMENT, "a context of %d positions is not positive",
                         o->n_positions);
    if (o->n_sequences < 1 || o->n_sequences > 65536)
        return weft_fail(WEFT_E_ARGUMENT, "n_sequences: %d is outside of [1, 65536]",
                         o->n_sequences);
    uint64_t positions = blocks_of(o) * WEFT_CACHE_BLOCK;
    uint64_t need = positions > INT32_MAX
                        ? UINT64_MAX
                        : weft_network_cache_bytes(network, (int32_t)positions, o->type);
    uint64_t limit = weft_memory_limit(), total = UINT64_MAX;
    if (!weft_add_u64(need, network->weight_bytes, &total))
        total = UINT64_MAX;
    if (need == UINT64_MAX || need > SIZE_MAX || total > limit)
        return weft_fail(
            WEFT_E_MEMORY,
            "a context of %d positions needs %.1f MiB for the cache beside %.1f MiB of "
            "weights, more than the %.1f MiB of memory there are: choose a shorter one",
            o->n_positions, (double)need / 1048576, (double)network->weight_bytes / 1048576,
            (double)limit / 1048576);
    return WEFT_OK;
}

static weft_status create_lists(weft_cache *c) {
    const weft_allocator *a = &c->engine->allocator;
    size_t n_blocks = (size_t)c->n_blocks, n_sequences = (size_t)c->n_sequences, n_lists = 0;
    if (!weft_mul_size(n_blocks, n_sequences, &n_lists))
        return weft_fail(WEFT_E_MEMORY, "the cache's block lists are too long");
    c->block_refs = weft_alloc_zeroed(a, weft_size_of(n_blocks, sizeof *c->block_refs));
    c->free_blocks = weft_alloc(a, weft_size_of(n_blocks, sizeof *c->free_blocks));
    c->sequences = weft_alloc_zeroed(a, weft_size_of(n_sequences, sizeof *c->sequences));
    c->lists = weft_alloc(a, weft_size_of(n_lists, sizeof *c->lists));
    c->k = weft_alloc_zeroed(a, weft_size_of((size_t)c->n_layer, sizeof *c->k));
    c->v = weft_alloc_zeroed(a, weft_size_of((size_t)c->n_layer, sizeof *c->v));
    if (!c->block_refs || !c->free_blocks || !c->sequences || !c->lists || !c->k || !c->v)
        return weft_fail(WEFT_E_MEMORY, "no memory for the cache's block lists");
    for (int32_t i = 0; i < c->n_blocks; i++)
        c->free_blocks[i] = c->n_blocks - 1 - i; /* block 0 is taken first */
    c->n_free = c->n_blocks;
    for (size_t i = 0; i < n_sequences; i++) {
        c->sequences[i].blocks = c->lists + i * n_blocks;
        c->sequences[i].shared_block = -1;
    }
    return WEFT_OK;
}

static weft_status create_storages(weft_cache *c) {
    const weft_hparams *h = &c->network->h;
    int64_t dims[3] = {(int64_t)c->n_blocks * WEFT_CACHE_BLOCK, h->n_head_kv,
                       weft_cache_width(c->type, h->head_dim)};
    for (int32_t i = 0; i < c->n_layer; i++)
        for (int which = 0; which < 2; which++) {
            weft_tensor **t = which ? &c->v[i] : &c->k[i];
            weft_status st = weft_tensor_create_heap(&c->engine->allocator, c->type,
                                                     WEFT_LAYOUT_STRIDED, 3, dims, false, t);
            if (st)
                return weft_fail_in(st, "a cache of %.1f MiB", (double)c->size_bytes / 1048576);
        }
    for (int i = 0; i < WEFT_CACHE_N_SCRATCH; i++) {
        weft_status st = weft_scope_create(c->engine, WEFT_SCOPE_ARENA, &c->scratch[i]);
        if (st)
            return st;
    }
    return WEFT_OK;
}

weft_status weft_cache_create(weft_engine *engine, const weft_network *network,
                              const weft_cache_options *options, weft_cache **out) {
    *out = NULL;
    weft_status st = check_options(network, options);
    if (st)
        return st;
    weft_cache *c = weft_alloc_zeroed(&engine->allocator, sizeof *c);
    if (!c)
        return weft_fail(WEFT_E_MEMORY, "no memory for a cache");
    atomic_init(&c->n_refs, 1);
    c->engine = weft_engine_retain(engine);
    c->network = network;
    c->type = options->type;
    c->n_layer = network->h.n_layer;
    c->n_sequences = options->n_sequences;
    c->n_blocks = (int32_t)blocks_of(options);
    c->width = network->h.n_head_kv * weft_cache_width(c->type, network->h.head_dim);
    c->size_bytes =
        (size_t)weft_network_cache_bytes(network, c->n_blocks * WEFT_CACHE_BLOCK, c->type);
    if ((st = create_lists(c)) || (st = create_storages(c))) {
        weft_cache_release(&c);
        return st;
    }
    *out = c;
    return WEFT_OK;
}

weft_cache *weft_cache_retain(weft_cache *cache) {
    if (cache)
        atomic_fetch_add(&cache->n_refs, 1);
    return cache;
}

void weft_cache_release(weft_cache **cache) {
    weft_cache *c = cache ? *cache : NULL;
    if (!c)
        return;
    *cache = NULL;
    if (atomic_fetch_sub(&c->n_refs, 1) != 1)
        return;
    weft_engine *engine = c->engine;
    const weft_allocator *a = &engine->allocator;
    size_t n_blocks = (size_t)c->n_blocks, n_sequences = (size_t)c->n_sequences;
    for (int32_t i = 0; i < c->n_layer; i++) {
        if (c->k)
            weft_tensor_release(&c->k[i]);
        if (c->v)
            weft_tensor_release(&c->v[i]);
    }
    for (int i = 0; i < WEFT_CACHE_N_SCRATCH; i++)
        weft_scope_release(&c->scratch[i]);
    weft_dealloc(a, c->k, weft_size_of((size_t)c->n_layer, sizeof *c->k));
    weft_dealloc(a, c->v, weft_size_of((size_t)c->n_layer, sizeof *c->v));
    weft_dealloc(a, c->lists, weft_size_of(n_blocks * n_sequences, sizeof *c->lists));
    weft_dealloc(a, c->sequences, weft_size_of(n_sequences, sizeof *c->sequences));
    weft_dealloc(a, c->free_blocks, weft_size_of(n_blocks, sizeof *c->free_blocks));
    weft_dealloc(a, c->block_refs, weft_size_of(n_blocks, sizeof *c->block_refs));
    weft_dealloc(a, c, sizeof *c);
    weft_engine_release(&engine);
}

size_t weft_cache_bytes(const weft_cache *cache) {
    return cache->size_bytes;
}

weft_tensor *weft_cache_k(const weft_cache *cache, int32_t layer) {
    return cache->k[layer];
}

weft_tensor *weft_cache_v(const weft_cache *cache, int32_t layer) {
    return cache->v[layer];
}

/* ---- Blocks and sequences ---- */

int32_t weft_cache_take_block(weft_cache *c) {
    if (c->n_free == 0)
        return -1;
    int32_t block = c->free_blocks[--c->n_free];
    c->block_refs[block] = 1;
    return block;
}

void weft_cache_drop_block(weft_cache *c, int32_t block) {
    if (--c->block_refs[block] == 0)
        c->free_blocks[c->n_free++] = block;
}

weft_sequence *weft_cache_live(const weft_cache *c, int32_t sequence, const char *what) {
    if (sequence >= 0 && sequence < c->n_sequences && c->sequences[sequence].live)
        return &c->sequences[sequence];
    weft_fail(WEFT_E_ARGUMENT, "%s: there is no sequence %d", what, sequence);
    return NULL;
}

weft_status weft_cache_sequence_create(weft_cache *cache, int32_t *sequence) {
    for (int32_t i = 0; i < cache->n_sequences; i++)
        if (!cache->sequences[i].live) {
            weft_sequence *s = &cache->sequences[i];
            s->live = true;
            s->n_blocks = s->length = s->pending = 0;
            s->shared_block = -1;
            *sequence = i;
            return WEFT_OK;
        }
    return weft_fail(WEFT_E_CACHE_FULL, "all %d sequences of the cache are in use",
                     cache->n_sequences);
}

weft_status weft_cache_sequence_fork(weft_cache *cache, int32_t from, int32_t *sequence) {
    const weft_sequence *source = weft_cache_live(cache, from, "fork");
    if (!source)
        return WEFT_E_ARGUMENT;
    weft_status st = weft_cache_sequence_create(cache, sequence);
    if (st)
        return st;
    weft_sequence *s = &cache->sequences[*sequence];
    s->length = source->length;
    s->n_blocks = source->n_blocks;
    for (int32_t i = 0; i < s->n_blocks; i++) {
        s->blocks[i] = source->blocks[i];
        cache->block_refs[s->blocks[i]]++;
    }
    return WEFT_OK;
}

static void keep_blocks(weft_cache *c, weft_sequence *s, int32_t n_blocks) {
    while (s->n_blocks > n_blocks)
        weft_cache_drop_block(c, s->blocks[--s->n_blocks]);
}

void weft_cache_sequence_free(weft_cache *cache, int32_t sequence) {
    if (!cache || sequence < 0 || sequence >= cache->n_sequences ||
        !cache->sequences[sequence].live)
        return;
    weft_sequence *s = &cache->sequences[sequence];
    keep_blocks(cache, s, 0);
    s->length = 0;
    s->live = false;
}

int32_t weft_cache_length(const weft_cache *cache, int32_t sequence) {
    const weft_sequence *s = weft_cache_live(cache, sequence, "length");
    return s ? s->length : 0;
}

int32_t weft_cache_room(const weft_cache *cache, int32_t sequence) {
    const weft_sequence *s = weft_cache_live(cache, sequence, "room");
    if (!s)
        return 0;
    int32_t n_free = cache->n_free, tail = s->length % WEFT_CACHE_BLOCK;
    int32_t slack = tail ? WEFT_CACHE_BLOCK - tail : 0;
    if (tail && cache->block_refs[s->blocks[s->n_blocks - 1]] > 1) {
        if (n_free == 0)
            return 0; /* the shared last block cannot be copied */
        n_free--;
    }
    return slack + n_free * WEFT_CACHE_BLOCK;
}

weft_status weft_cache_truncate(weft_cache *cache, int32_t sequence, int32_t n, int32_t *resume) {
    weft_sequence *s = weft_cache_live(cache, sequence, "truncate");
    if (!s)
        return WEFT_E_ARGUMENT;
    if (n < 0 || n > s->length)
        return weft_fail(WEFT_E_RANGE, "truncate: %d is outside of [0, %d]", n, s->length);
    keep_blocks(cache, s, (n + WEFT_CACHE_BLOCK - 1) / WEFT_CACHE_BLOCK);
    s->length = n;
    if (resume)
        *resume = n;
    return WEFT_OK;
}
