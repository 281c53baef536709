/* Packing behind the first token. Rows of the file and panels give the same bits, so that it does
 * not matter which weights have panels when a step begins: each step after the first token packs
 * the next eighth of them, in the order of use, on the team whose turn it is anyway. No thread of
 * its own, no lock but the pass: docs/architecture.md has the reasons. */
#include "model/unpacked.h"

#include "base/alloc.h"
#include "base/detail.h"
#include "base/engine_impl.h"
#include "model/derive.h"
#include "tensor/impl.h"
#include "tensor/profile.h"

#define SHARES 8 /* steps that the packing is spread over */
/* Steps without a wanted row, the parts of a long prompt, that read the file: packing costs about
 * as much as it slows down so many. */
#define MOST_FILE_STEPS 4

struct weft_unpacked {
    weft_tensor **tensors; /* borrowed; those before `next` have panels */
    size_t n, room, next;
    weft_slabs *slabs; /* of the weights map, which outlives the network */
    uint64_t total_bytes, done_bytes;
    bool answered;
    int n_steps; /* before that */
    bool (*unchanged)(void *ctx);
    void (*packed)(void *ctx, const weft_tensor *source);
    void *ctx;
};

static uint64_t bytes_of(const weft_tensor *t) {
    return (uint64_t)weft_tensor_numel(t) / weft_dtype_block(t->dtype) *
           weft_dtype_block_bytes(t->dtype);
}

/* ---- Noting ---- */

bool weft_can_wait(const weft_binding *b, const weft_tensor *t) {
    return b->options->pack && b->options->lazy && t->storage->owner == WEFT_OWNER_CUSTOM &&
           (t->rank == 2 || t->rank == 3) && t->strides[t->rank - 1] == 1 &&
           t->strides[t->rank - 2] >= t->dims[t->rank - 1];
}

static weft_status make_room(weft_network *n) {
    const weft_allocator *a = &n->engine->allocator;
    if (!n->unpacked && !(n->unpacked = weft_alloc_zeroed(a, sizeof *n->unpacked)))
        return weft_fail(WEFT_E_MEMORY, "no memory for a list of weights");
    weft_unpacked *u = n->unpacked;
    if (u->n < u->room)
        return WEFT_OK;
    size_t room = u->room ? 2 * u->room : 64;
    weft_tensor **grown = weft_realloc(a, u->tensors, u->room * sizeof(weft_tensor *),
                                       weft_size_of(room, sizeof(weft_tensor *)));
    if (!grown)
        return weft_fail(WEFT_E_MEMORY, "no memory for a list of weights");
    u->tensors = grown;
    u->room = room;
    return WEFT_OK;
}

weft_status weft_unpacked_add(weft_binding *b, weft_tensor *t) {
    weft_status st = make_room(b->network);
    if (st)
        return st;
    weft_unpacked *u = b->network->unpacked;
    if (weft_tensor_packed(t) != t)
        return WEFT_OK; /* by an earlier network over the same map */
    for (size_t i = 0; i < u->n; i++)
        if (u->tensors[i] == t)
            return WEFT_OK;
    u->slabs = weft_weights_slabs(b->weights);
    u->unchanged = b->options->unchanged;
    u->packed = b->options->packed;
    u->ctx = b->options->packed_ctx;
    u->tensors[u->n++] = t;
    u->total_bytes += bytes_of(t);
    return WEFT_OK;
}

void weft_unpacked_destroy(weft_network *n) {
    weft_unpacked *u = n->unpacked;
    const weft_allocator *a = &n->engine->allocator;
    if (!u)
        return;
    weft_dealloc(a, u->tensors, u->room * sizeof(weft_tensor *));
    weft_dealloc(a, u, sizeof *u);
    n->unpacked = NULL;
}

/* ---- Packing ---- */

static weft_status pack_next(weft_engine *engine, weft_unpacked *u) {
    weft_tensor *t = u->tensors[u->next], *panels = NULL;
    weft_status st = WEFT_OK;
    if (weft_tensor_packed(t) == t) {
        weft_timing timing = weft_timing_begin(engine, "pack", &t, 1);
        st = t->rank == 2 ? weft_tensor_pack(engine, u->slabs, t, &panels)
                          : weft_derive_panels(engine, u->slabs, t, &panels);
        weft_timing_end(&timing);
    }
    if (st)
        return st;
    if (panels)
        weft_tensor_take_panels(t, panels);
    if (panels && u->packed)
        u->packed(u->ctx, t);
    u->next++;
    u->done_bytes += bytes_of(t);
    return WEFT_OK;
}

static bool is_done(const weft_unpacked *u) {
    return !u || u->next == u->n;
}

static weft_status check_file(const weft_unpacked *u) {
    if (!u->unchanged || u->unchanged(u->ctx))
        return WEFT_OK;
    return weft_fail(WEFT_E_IO, "the model's file was changed before all of it had been read");
}

weft_status weft_unpacked_step(const weft_network *n) {
    weft_unpacked *u = n->unpacked;
    if (is_done(u))
        return WEFT_OK;
    weft_status st = check_file(u);
    if (st || (!u->answered && u->n_steps++ < MOST_FILE_STEPS))
        return st;
    uint64_t end = u->done_bytes + u->total_bytes / SHARES;
    weft_profile_mark(n->engine, "packing", -1);
    while (!st && !is_done(u) && u->done_bytes <= end)
        st = pack_next(n->engine, u);
    return st;
}

void weft_unpacked_answered(const weft_network *n) {
    if (n->unpacked)
        n->unpacked->answered = true;
}

weft_status weft_network_pack(const weft_network *n, weft_progress_fn progress, void *ctx) {
    weft_unpacked *u = n->unpacked;
    weft_status st = WEFT_OK;
    for (bool done = !u; !st && !done;) {
        pthread_mutex_lock(&n->engine->pass); /* of others have their turn between two weights */
        done = is_done(u);
        if (!done && !(st = check_file(u)))
            st = pack_next(n->engine, u);
        uint64_t bytes = u->done_bytes, total = u->total_bytes;
        pthread_mutex_unlock(&n->engine->pass);
        if (!st && progress && !progress(ctx, bytes, total))
            st = weft_fail(WEFT_E_CANCELLED, "packing was cancelled");
    }
    return st;
}
