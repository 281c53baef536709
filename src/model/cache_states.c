/* Recurrent states in slots. A step reads its sequence's slot and fills a fresh one, which commit
 * makes the current one: so a step that fails changes nothing, forks share slots, and keeping an
 * earlier state as a snapshot costs its memory alone. Which snapshots stay is decided by how much a
 * truncation would have to evaluate again without them. */
#include "base/detail.h"
#include "model/cache_impl.h"

#define EDGE_WORTH 4 /* of a prompt's pieces, where texts part more often than elsewhere */

int32_t weft_cache_snapshots_for(int32_t n_sequences) {
    return n_sequences == 1 ? WEFT_CACHE_SNAPSHOTS : n_sequences <= 4 ? 4 : 2;
}

int64_t weft_cache_slots_for(int32_t n_sequences) {
    /* And the states before and after a step. */
    return (int64_t)n_sequences * (weft_cache_snapshots_for(n_sequences) + 2);
}

bool weft_cache_has_states(const weft_cache *c) {
    return c->n_slots > 0;
}

/* ---- Slots ---- */

int32_t weft_cache_take_slot(weft_cache *c) {
    int32_t slot = c->free_slots[--c->n_free_slots]; /* there are enough: weft_cache_slots_for */
    c->slot_refs[slot] = 1;
    return slot;
}

void weft_cache_drop_slot(weft_cache *c, int32_t slot) {
    if (slot >= 0 && --c->slot_refs[slot] == 0)
        c->free_slots[c->n_free_slots++] = slot;
}

static void drop_snapshots(weft_cache *c, weft_sequence *s, int32_t keep) {
    while (s->n_snapshots > keep)
        weft_cache_drop_slot(c, s->snapshots[--s->n_snapshots].slot);
}

/* ---- Which snapshots stay ---- */

/* How badly snapshot i would be missed: the stretch that would be without one, against how far back
 * it lies. Going back by d positions then costs a few times d, however long the text is. */
static double worth(const weft_sequence *s, int32_t i) {
    const weft_snapshot *all = s->snapshots;
    if (all[i].position == s->held)
        return 1e9;
    double before = i > 0 ? all[i - 1].position : 0;
    double after = i + 1 < s->n_snapshots ? all[i + 1].position : s->now.position;
    double stretch = (after - before) / (s->now.position - before);
    return all[i].is_edge ? EDGE_WORTH * stretch : stretch;
}

static void thin(weft_cache *c, weft_sequence *s) {
    if (s->n_snapshots <= c->n_snapshots)
        return;
    int32_t least = 0;
    for (int32_t i = 1; i < s->n_snapshots; i++)
        if (worth(s, i) < worth(s, least))
            least = i;
    weft_cache_drop_slot(c, s->snapshots[least].slot);
    s->n_snapshots--;
    for (int32_t i = least; i < s->n_snapshots; i++)
        s->snapshots[i] = s->snapshots[i + 1];
}

/* ---- Sequences ---- */

void weft_states_begin(weft_sequence *s) {
    s->now = (weft_snapshot){0, -1, false};
    s->next_slot = -1;
    s->held = 0;
    s->n_snapshots = 0;
}

void weft_states_end(weft_cache *c, weft_sequence *s) {
    drop_snapshots(c, s, 0);
    weft_cache_drop_slot(c, s->now.slot);
    weft_states_begin(s);
}

void weft_states_fork(weft_cache *c, weft_sequence *s, const weft_sequence *from) {
    s->now = from->now;
    s->held = from->held;
    s->n_snapshots = from->n_snapshots;
    if (s->now.slot >= 0)
        c->slot_refs[s->now.slot]++;
    for (int32_t i = 0; i < s->n_snapshots; i++) {
        s->snapshots[i] = from->snapshots[i];
        c->slot_refs[s->snapshots[i].slot]++;
    }
}

void weft_cache_hold(weft_cache *cache, int32_t sequence) {
    weft_sequence *s = weft_cache_live(cache, sequence, "hold");
    if (s)
        s->held = s->length;
}

void weft_cache_mark(weft_cache *cache, int32_t sequence) {
    weft_sequence *s = weft_cache_live(cache, sequence, "mark");
    if (s)
        s->now.is_edge = true;
}

void weft_states_reserve(weft_cache *c, weft_sequence *s) {
    if (c->n_slots > 0)
        s->next_slot = weft_cache_take_slot(c);
}

void weft_states_commit(weft_cache *c, weft_sequence *s) {
    if (c->n_slots == 0)
        return;
    if (s->now.slot >= 0)
        s->snapshots[s->n_snapshots++] = s->now;
    s->now = (weft_snapshot){s->length + s->pending, s->next_slot, s->pending > 1};
    s->next_slot = -1;
    thin(c, s);
}

void weft_states_rollback(weft_cache *c, weft_sequence *s) {
    weft_cache_drop_slot(c, s->next_slot);
    s->next_slot = -1;
}

int32_t weft_states_truncate(weft_cache *c, weft_sequence *s, int32_t n) {
    if (c->n_slots == 0 || s->now.position <= n)
        return n;
    int32_t keep = s->n_snapshots;
    while (keep > 0 && s->snapshots[keep - 1].position > n)
        keep--;
    drop_snapshots(c, s, keep);
    weft_cache_drop_slot(c, s->now.slot);
    s->now = keep > 0 ? s->snapshots[--s->n_snapshots] : (weft_snapshot){0, -1, false};
    return s->now.position;
}

/* ---- For mixers ---- */

weft_tensor *weft_cache_states(const weft_cache *cache, int32_t layer, int which) {
    return cache->places[layer].states[which];
}

int32_t weft_cache_state_slot(const weft_cache *cache, int32_t sequence) {
    return cache->sequences[sequence].now.slot;
}

void weft_cache_state_set(weft_cache *cache, weft_scope *scope, int32_t layer, int which,
                          int32_t sequence, weft_tensor *state) {
    size_t slot = (size_t)cache->sequences[sequence].next_slot;
    weft_tensor *target = weft_tensor_narrow(scope, cache->places[layer].states[which], 0, slot, 1);
    weft_slice_set(scope, target, state, 0, 0);
}
