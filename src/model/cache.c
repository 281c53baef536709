/* The cache's storages, blocks and sequences: creation, fork, truncate. States are in
 * cache_states.c, steps in cache_step.c, saving in cache_file.c. Everything is allocated at
 * creation. */
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

/* Layers whose rows lie apart. No layer of an encoder reads another's, and nothing is read after
 * the step: all of them share the first one's. */
static int32_t n_apart(const weft_network *network) {
    return network->arch->bidirectional ? 1 : network->h.n_layer;
}

/* What the cache takes: rows of all blocks and slots of all sequences; saturates. */
static uint64_t bytes_of(const weft_network *network, const weft_cache_options *o) {
    uint64_t positions = blocks_of(o) * WEFT_CACHE_BLOCK, row = 0, states = 0, total;
    for (int32_t i = 0; i < n_apart(network); i++) {
        weft_cache_layer layer = weft_network_keeps(network, i);
        row += weft_cache_layer_bytes(&layer, o->type);
        states += weft_cache_layer_state_bytes(&layer);
    }
    if (positions > INT32_MAX || !weft_mul_u64(positions, row, &row) ||
        !weft_mul_u64((uint64_t)weft_cache_slots_for(o->n_sequences), states, &states) ||
        !weft_add_u64(row, states, &total))
        return UINT64_MAX;
    return total;
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
    uint64_t need = bytes_of(network, o), limit = weft_memory_limit(), total = UINT64_MAX;
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
    size_t n_slots = (size_t)c->n_slots;
    if (!weft_mul_size(n_blocks, n_sequences, &n_lists))
        return weft_fail(WEFT_E_MEMORY, "the cache's block lists are too long");
    c->block_refs = weft_alloc_zeroed(a, weft_size_of(n_blocks, sizeof *c->block_refs));
    c->free_blocks = weft_alloc(a, weft_size_of(n_blocks, sizeof *c->free_blocks));
    c->sequences = weft_alloc_zeroed(a, weft_size_of(n_sequences, sizeof *c->sequences));
    c->lists = weft_alloc(a, weft_size_of(n_lists, sizeof *c->lists));
    c->slot_refs = weft_alloc_zeroed(a, weft_size_of(n_slots, sizeof *c->slot_refs));
    c->free_slots = weft_alloc(a, weft_size_of(n_slots, sizeof *c->free_slots));
    if (!c->block_refs || !c->free_blocks || !c->sequences || !c->lists ||
        (n_slots > 0 && (!c->slot_refs || !c->free_slots)))
        return weft_fail(WEFT_E_MEMORY, "no memory for the cache's block lists");
    for (int32_t i = 0; i < c->n_blocks; i++)
        c->free_blocks[i] = c->n_blocks - 1 - i; /* block 0 is taken first */
    c->n_free = c->n_blocks;
    for (int32_t i = 0; i < c->n_slots; i++)
        c->free_slots[i] = c->n_slots - 1 - i;
    c->n_free_slots = c->n_slots;
    for (size_t i = 0; i < n_sequences; i++) {
        c->sequences[i].blocks = c->lists + i * n_blocks;
        c->sequences[i].shared_block = -1;
        weft_states_begin(&c->sequences[i]);
    }
    return WEFT_OK;
}

/* ---- Storages: one of all rows, one of all states; layers have views of them ---- */

static weft_status create_storage(weft_cache *c, weft_dtype type, int64_t rows, int64_t row,
                                  weft_tensor **out) {
    int64_t dims[1];
    if (!weft_mul_i64(rows, row, &dims[0]))
        return weft_fail(WEFT_E_MEMORY, "a cache of more than %lld elements", (long long)INT64_MAX);
    weft_status st = weft_tensor_create_heap(&c->engine->allocator, type, WEFT_LAYOUT_STRIDED, 1,
                                             dims, false, out);
    return st ? weft_fail_in(st, "a cache of %.1f MiB", (double)c->size_bytes / 1048576) : WEFT_OK;
}

/* The next rows of n_head_kv heads of `dim`, from element *at of the storage on. */
static weft_status place_rows(weft_cache *c, const weft_cache_layer *layer, int32_t dim,
                              int64_t *at, weft_tensor **out) {
    int64_t dims[3] = {(int64_t)c->n_blocks * WEFT_CACHE_BLOCK, layer->n_head_kv,
                       weft_cache_width(c->type, dim)};
    weft_status st =
        weft_tensor_create_part(&c->engine->allocator, c->rows, *at, 3, dims, NULL, out);
    *at += dims[0] * dims[1] * dims[2]; /* of the storage's elements: no overflow */
    return st;
}

static weft_status place_state(weft_cache *c, const weft_cache_state *state, int64_t slot_floats,
                               int64_t *at, weft_tensor **out) {
    int64_t dims[4] = {c->n_slots}, strides[4] = {slot_floats}, step = 1;
    for (int d = state->rank; d > 0; d--) {
        dims[d] = state->dims[d - 1];
        strides[d] = step;
        step *= dims[d];
    }
    weft_status st = weft_tensor_create_part(&c->engine->allocator, c->slots, *at, state->rank + 1,
                                             dims, strides, out);
    *at += weft_cache_state_floats(state);
    return st;
}

static weft_status place_layers(weft_cache *c, int64_t slot_floats) {
    int64_t row_at = 0, state_at = 0;
    weft_status st = WEFT_OK;
    for (int32_t i = 0; !st && i < c->n_layer; i++) {
        weft_cache_place *p = &c->places[i];
        if (i >= n_apart(c->network)) {
            p->k = weft_tensor_retain(c->places[0].k);
            p->v = weft_tensor_retain(c->places[0].v);
            continue;
        }
        if (p->keeps.n_head_kv > 0)
            st = place_rows(c, &p->keeps, p->keeps.dim_k, &row_at, &p->k);
        if (!st && p->keeps.n_head_kv > 0 && p->keeps.dim_v > 0)
            st = place_rows(c, &p->keeps, p->keeps.dim_v, &row_at, &p->v);
        for (int w = 0; !st && w < WEFT_CACHE_STATES; w++)
            if (p->keeps.states[w].rank > 0)
                st = place_state(c, &p->keeps.states[w], slot_floats, &state_at, &p->states[w]);
    }
    return st;
}

static weft_status create_storages(weft_cache *c) {
    int64_t width = 0, slot_floats = 0;
    weft_status st = WEFT_OK;
    for (int32_t i = 0; i < c->n_layer; i++) {
        weft_cache_layer *keeps = &c->places[i].keeps;
        *keeps = weft_network_keeps(c->network, i);
        if (i < n_apart(c->network))
            width += weft_cache_layer_width(keeps, c->type);
        slot_floats += (int64_t)(weft_cache_layer_state_bytes(keeps) / sizeof(float));
    }
    c->n_slots = slot_floats > 0 ? (int32_t)weft_cache_slots_for(c->n_sequences) : 0;
    if (width > 0)
        st = create_storage(c, c->type, (int64_t)c->n_blocks * WEFT_CACHE_BLOCK, width, &c->rows);
    if (!st && c->n_slots > 0)
        st = create_storage(c, WEFT_F32, c->n_slots, slot_floats, &c->slots);
    if (!st)
        st = place_layers(c, slot_floats);
    for (int i = 0; !st && i < WEFT_CACHE_N_SCRATCH; i++)
        st = weft_scope_create(c->engine, WEFT_SCOPE_ARENA, &c->scratch[i]);
    return st;
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
    c->n_snapshots = weft_cache_snapshots_for(c->n_sequences);
    c->n_blocks = (int32_t)blocks_of(options);
    c->size_bytes = (size_t)bytes_of(network, options);
    c->places =
        weft_alloc_zeroed(&engine->allocator, weft_size_of((size_t)c->n_layer, sizeof *c->places));
    if (!c->places)
        st = weft_fail(WEFT_E_MEMORY, "no memory for a cache of %d layers", c->n_layer);
    if (st || (st = create_storages(c)) || (st = create_lists(c))) {
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
    for (int32_t i = 0; c->places && i < c->n_layer; i++) {
        weft_tensor_release(&c->places[i].k);
        weft_tensor_release(&c->places[i].v);
        for (int w = 0; w < WEFT_CACHE_STATES; w++)
            weft_tensor_release(&c->places[i].states[w]);
    }
    weft_tensor_release(&c->rows);
    weft_tensor_release(&c->slots);
    for (int i = 0; i < WEFT_CACHE_N_SCRATCH; i++)
        weft_scope_release(&c->scratch[i]);
    weft_dealloc(a, c->places, weft_size_of((size_t)c->n_layer, sizeof *c->places));
    weft_dealloc(a, c->slot_refs, weft_size_of((size_t)c->n_slots, sizeof *c->slot_refs));
    weft_dealloc(a, c->free_slots, weft_size_of((size_t)c->n_slots, sizeof *c->free_slots));
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
    return cache->places[layer].k;
}

weft_tensor *weft_cache_v(const weft_cache *cache, int32_t layer) {
    return cache->places[layer].v ? cache->places[layer].v : cache->places[layer].k;
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
            s->n_blocks = s->length = s->pending = s->expected = 0;
            s->longer = false;
            s->shared_block = -1;
            weft_states_begin(s);
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
    s->expected = source->expected;
    s->longer = source->longer;
    s->n_blocks = source->n_blocks;
    for (int32_t i = 0; i < s->n_blocks; i++) {
        s->blocks[i] = source->blocks[i];
        cache->block_refs[s->blocks[i]]++;
    }
    weft_states_fork(cache, s, source);
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
    weft_states_end(cache, s);
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
    s->expected = 0;
    if (weft_network_turns_longer(cache->network, n) != s->longer)
        n = 0;
    n = weft_states_truncate(cache, s, n);
    keep_blocks(cache, s, (n + WEFT_CACHE_BLOCK - 1) / WEFT_CACHE_BLOCK);
    s->length = n;
    if (resume)
        *resume = n;
    return WEFT_OK;
}

weft_status weft_cache_expect(weft_cache *cache, int32_t sequence, int32_t n, int32_t *resume) {
    weft_sequence *s = weft_cache_live(cache, sequence, "expect");
    if (!s)
        return WEFT_E_ARGUMENT;
    *resume = s->length;
    if (s->length > 0 && !s->longer && weft_network_turns_longer(cache->network, n)) {
        weft_status st = weft_cache_truncate(cache, sequence, 0, resume);
        if (st)
            return st;
    }
    s->expected = n;
    return WEFT_OK;
}
