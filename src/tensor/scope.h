/* Inside of weft_scope, for files of src/tensor that make results. */
#ifndef WEFT_TENSOR_SCOPE_H
#define WEFT_TENSOR_SCOPE_H

#include "tensor/storage.h"

typedef struct weft_scratch {
    void *memory;
    size_t size_bytes;
} weft_scratch;

struct weft_scope {
    weft_engine *engine;
    weft_scope_kind kind;
    weft_status status;
    weft_arena *arena;     /* NULL in a heap scope */
    weft_pool pool;        /* heap scopes */
    weft_tensor **results; /* each holds one reference; NULL where discarded */
    size_t n_results, n_discarded, results_room;
    weft_scratch *scratch; /* heap scopes */
    size_t n_scratch, scratch_room;
    const struct weft_tap *tap; /* tap.h; NULL: none */
    char detail[1024];
};

/* Moves the scope's one reference to `t` into its results; on failure drops it and gives NULL. */
weft_tensor *weft_scope_take(weft_scope *s, const char *op, weft_tensor *t);
/* Another reference to an existing tensor becomes a result of this scope. */
weft_tensor *weft_scope_share(weft_scope *s, const char *op, weft_tensor *t);
/* Sets the sticky status from `status` and the thread's detail, with the op's name in front. */
weft_status weft_scope_fail_in(weft_scope *s, weft_status status, const char *op);
/* An op made of others failed in one of them: its own name goes in front of the detail. Gives NULL.
 * Only for ops that began with the status fine. */
void *weft_scope_fail_within(weft_scope *s, const char *op);
/* A fresh result of a shape that was checked already. */
weft_tensor *weft_scope_new_shaped(weft_scope *s, const char *op, weft_dtype dtype,
                                   weft_layout layout, const weft_shape *shape);

#endif
