/* A step's part of the cache: reserve, append, commit, rollback. Nothing here uses the heap. */
#include "base/detail.h"
#include "model/cache_impl.h"

/* Copies the first `n` positions of a block of every layer into another block. */
static weft_status copy_block(weft_cache *c, weft_scope *scope, int32_t from, int32_t to,
                              int32_t n) {
    for (int32_t i = 0; i < c->n_layer; i++)
        for (int which = 0; which < 2; which++) {
            weft_tensor *t = which ? c->places[i].v : c->places[i].k;
            if (!t)
                continue;
            weft_tensor *source = weft_tensor_copy(
                scope, weft_tensor_narrow(scope, t, 0, (size_t)from * WEFT_CACHE_BLOCK, (size_t)n));
            weft_tensor *target =
                weft_tensor_narrow(scope, t, 0, (size_t)to * WEFT_CACHE_BLOCK, (size_t)n);
            if (weft_slice_set(scope, target, source, 0, 0))
                return weft_fail(weft_scope_status(scope), "%s", weft_scope_detail(scope));
        }
    return WEFT_OK;
}

static void undo(weft_cache *c, weft_sequence *s) {
    while (s->n_blocks > s->saved_blocks)
        weft_cache_drop_block(c, s->blocks[--s->n_blocks]);
    if (s->shared_block >= 0) {
        weft_cache_drop_block(c, s->blocks[s->n_blocks - 1]);
        s->blocks[s->n_blocks - 1] = s->shared_block;
        s->shared_block = -1;
    }
    weft_states_rollback(c, s);
    s->pending = 0;
}

weft_status weft_cache_reserve(weft_cache *cache, weft_scope *scope, int32_t sequence, int32_t n) {
    weft_sequence *s = weft_cache_live(cache, sequence, "reserve");
    if (!s)
        return WEFT_E_ARGUMENT;
    if (n < 1 || s->pending)
        return weft_fail(WEFT_E_ARGUMENT, "reserve: %s",
                         n < 1 ? "no positions are asked for"
                               : "rows of a sequence must follow each other in a step");
    int32_t room = weft_cache_room(cache, sequence);
    if (n > room)
        return weft_fail(WEFT_E_CACHE_FULL,
                         "%d more positions do not fit: %d are in use and %d are left", n,
                         s->length, room);
    int32_t whole = s->length + n > s->expected ? s->length + n : s->expected;
    bool longer = weft_network_turns_longer(cache->network, whole);
    if (s->length > 0 && longer != s->longer)
        return weft_fail(WEFT_E_ARGUMENT,
                         "the rope of a sequence of %d positions is another than that of the %d "
                         "there are: evaluate it from its beginning (weft_cache_expect)",
                         whole, s->length);
    s->longer = longer;
    s->saved_blocks = s->n_blocks;
    s->pending = n;
    int32_t tail = s->length % WEFT_CACHE_BLOCK;
    if (tail && cache->block_refs[s->blocks[s->n_blocks - 1]] > 1) {
        s->shared_block = s->blocks[s->n_blocks - 1];
        s->blocks[s->n_blocks - 1] = weft_cache_take_block(cache);
        weft_status st =
            copy_block(cache, scope, s->shared_block, s->blocks[s->n_blocks - 1], tail);
        if (st) {
            undo(cache, s);
            return st;
        }
    }
    while ((int64_t)s->n_blocks * WEFT_CACHE_BLOCK < (int64_t)s->length + n)
        s->blocks[s->n_blocks++] = weft_cache_take_block(cache);
    weft_states_reserve(cache, s);
    return WEFT_OK;
}

void weft_cache_commit(weft_cache *cache) {
    for (int32_t i = 0; i < cache->n_sequences; i++) {
        weft_sequence *s = &cache->sequences[i];
        if (!s->live || !s->pending)
            continue;
        weft_states_commit(cache, s);
        s->length += s->pending;
        s->pending = 0;
        if (s->shared_block >= 0)
            weft_cache_drop_block(cache, s->shared_block);
        s->shared_block = -1;
    }
}

void weft_cache_rollback(weft_cache *cache) {
    for (int32_t i = cache->n_sequences - 1; i >= 0; i--)
        if (cache->sequences[i].live && cache->sequences[i].pending)
            undo(cache, &cache->sequences[i]);
}

const int32_t *weft_cache_blocks(const weft_cache *cache, int32_t sequence) {
    return cache->sequences[sequence].blocks;
}

static void append_rows(weft_cache *c, weft_scope *scope, weft_tensor *storage,
                        const weft_sequence *s, int32_t position, weft_tensor *rows) {
    rows = weft_cache_rows(scope, rows, c->type);
    if (!rows)
        return;
    int32_t n = (int32_t)weft_tensor_dim(rows, 0);
    for (int32_t done = 0; done < n;) {
        int32_t at = position + done, inside = at % WEFT_CACHE_BLOCK;
        int32_t count = WEFT_CACHE_BLOCK - inside;
        if (count > n - done)
            count = n - done;
        size_t start = (size_t)s->blocks[at / WEFT_CACHE_BLOCK] * WEFT_CACHE_BLOCK + (size_t)inside;
        weft_tensor *target = weft_tensor_narrow(scope, storage, 0, start, (size_t)count);
        weft_tensor *source = weft_tensor_narrow(scope, rows, 0, (size_t)done, (size_t)count);
        if (weft_slice_set(scope, target, source, 0, 0))
            return;
        done += count;
    }
}

void weft_cache_append(weft_cache *cache, weft_scope *scope, int32_t layer, int32_t sequence,
                       int32_t position, weft_tensor *k, weft_tensor *v) {
    const weft_sequence *s = &cache->sequences[sequence];
    append_rows(cache, scope, cache->places[layer].k, s, position, k);
    if (cache->places[layer].v)
        append_rows(cache, scope, cache->places[layer].v, s, position, v);
}
