/* The guard: all locks that one call needs, taken in ascending storage id, each once. A thread that
 * holds a guard cannot take another one, so waiting never goes round in a circle. */
#include "tensor/impl.h"

/* Guards with at least one lock that the calling thread holds: 0 or 1. */
static _Thread_local int n_holding;

/* Puts the storage into g->held, kept in ascending order of id. */
static void insert(weft_guard *g, weft_storage *storage, bool write) {
    bool *exclusive = g->exclusive;
    int at = g->n;
    for (int i = 0; i < g->n; i++) {
        if (g->held[i] == storage) {
            exclusive[i] |= write;
            return;
        }
    }
    while (at > 0 && g->held[at - 1]->id > storage->id) {
        g->held[at] = g->held[at - 1];
        exclusive[at] = exclusive[at - 1];
        at--;
    }
    g->held[at] = storage;
    exclusive[at] = write;
    g->n++;
}

weft_status weft_guard_lock(weft_guard *g, weft_tensor *const *tensors, size_t n,
                            unsigned write_mask) {
    g->n = 0;
    if (n > 16)
        return weft_fail(WEFT_E_ARGUMENT, "a guard takes 16 tensors, not %zu", n);
    for (size_t i = 0; i < n; i++) {
        bool write = (write_mask >> i) & 1u;
        weft_storage *storage = tensors[i]->storage;
        if (!storage->immutable) {
            insert(g, storage, write);
        } else if (write) {
            g->n = 0;
            return weft_fail(WEFT_E_IMMUTABLE, "tensor %zu of %zu cannot be written to", i + 1, n);
        }
    }
    if (g->n == 0)
        return WEFT_OK;
    if (n_holding > 0) {
        g->n = 0;
        return weft_fail(WEFT_E_REENTRANT, "this thread is inside an in-place callback or holds a "
                                           "mapping");
    }
    for (int i = 0; i < g->n; i++) {
        if (g->exclusive[i])
            weft_rwlock_write(&g->held[i]->lock);
        else
            weft_rwlock_read(&g->held[i]->lock);
    }
    n_holding++;
    return WEFT_OK;
}

void weft_guard_unlock(weft_guard *g) {
    if (g->n == 0)
        return;
    for (int i = g->n; i-- > 0;) {
        if (g->exclusive[i])
            weft_rwlock_unlock_write(&g->held[i]->lock);
        else
            weft_rwlock_unlock_read(&g->held[i]->lock);
    }
    g->n = 0;
    n_holding--;
}
