/* Scopes: the owner of results, a sticky status, and the memory of both kinds. */
#include "tensor/scope.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

weft_status weft_scope_create(weft_engine *engine, weft_scope_kind kind, weft_scope **out) {
    if (!engine || !out)
        return weft_fail(WEFT_E_NULL, "scope_create: %s is NULL", engine ? "out" : "engine");
    *out = NULL;
    weft_status status = weft_engine_alive(engine);
    if (status)
        return status;
    if (kind != WEFT_SCOPE_HEAP && kind != WEFT_SCOPE_ARENA)
        return weft_fail(WEFT_E_ARGUMENT, "scope_create: there is no scope kind %d", (int)kind);
    weft_scope *s = weft_alloc_zeroed(&engine->allocator, sizeof *s);
    if (!s)
        return weft_fail(WEFT_E_MEMORY, "scope_create: no memory for a scope");
    s->kind = kind;
    s->pool.allocator = engine->allocator;
    if (kind == WEFT_SCOPE_ARENA) {
        s->arena = weft_arena_create(&engine->allocator);
        if (!s->arena) {
            weft_dealloc(&engine->allocator, s, sizeof *s);
            return weft_fail(WEFT_E_MEMORY, "scope_create: no memory for an arena");
        }
    }
    s->engine = weft_engine_retain(engine);
    *out = s;
    return WEFT_OK;
}

/* Where dead data goes: an arena scope has no use for blocks of other scopes. */
static weft_pool *pool_of(weft_scope *s) {
    return s->arena ? NULL : &s->pool;
}

/* Gives back the scope's reference to a result. */
static void drop_result(weft_scope *s, weft_tensor *t) {
    weft_arena *arena = t->arena;
    weft_tensor_drop(t, pool_of(s));
    if (arena && arena != s->arena) /* a shared result of another arena */
        weft_arena_unref(arena);
}

static void drop_results(weft_scope *s) {
    /* Youngest first, so that views die before their bases. */
    for (size_t i = s->n_results; i-- > 0;)
        if (s->results[i])
            drop_result(s, s->results[i]);
    s->n_results = 0;
    s->n_discarded = 0;
    for (size_t i = 0; i < s->n_scratch; i++)
        weft_pool_give(&s->pool, s->scratch[i].memory, s->scratch[i].size_bytes);
    s->n_scratch = 0;
}

weft_status weft_scope_reset(weft_scope *s) {
    if (!s)
        return weft_fail(WEFT_E_NULL, "scope_reset: scope is NULL");
    weft_status status = weft_engine_alive(s->engine);
    if (status)
        return status;
    if (s->arena && weft_arena_in_use(s->arena))
        return weft_fail(WEFT_E_RETAINED,
                         "scope_reset: a tensor of the arena is retained, viewed or "
                         "mapped outside of it");
    drop_results(s);
    if (s->arena)
        weft_arena_reset(s->arena);
    else
        weft_pool_age(&s->pool);
    s->status = WEFT_OK;
    s->detail[0] = '\0';
    return WEFT_OK;
}

void weft_scope_release(weft_scope **scope) {
    if (!scope || !*scope)
        return;
    weft_scope *s = *scope;
    *scope = NULL;
    drop_results(s);
    weft_pool_clear(&s->pool);
    if (s->arena)
        weft_arena_unref(s->arena);
    weft_engine *engine = s->engine;
    weft_allocator a = engine->allocator;
    weft_dealloc(&a, s->results, s->results_room * sizeof s->results[0]);
    weft_dealloc(&a, s->scratch, s->scratch_room * sizeof s->scratch[0]);
    weft_dealloc(&a, s, sizeof *s);
    weft_engine_release(&engine);
}

weft_status weft_scope_status(const weft_scope *s) {
    return s ? s->status : WEFT_E_NULL;
}

const char *weft_scope_detail(const weft_scope *s) {
    return s ? s->detail : "";
}

weft_engine *weft_scope_engine(const weft_scope *s) {
    return s->engine;
}

const weft_kernels *weft_scope_kernels(const weft_scope *s) {
    return weft_kernels_of(s->engine->isa);
}

weft_team *weft_scope_team(const weft_scope *s) {
    return s->engine->team;
}

/* ---- The sticky status ---- */

static void remember(weft_scope *s, weft_status status) {
    if (s->status != WEFT_OK)
        return;
    s->status = status;
    snprintf(s->detail, sizeof s->detail, "%s", weft_detail());
}

void *weft_scope_fail(weft_scope *s, weft_status status, const char *op, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    weft_fail(status, "%s: %s", op, text);
    remember(s, status);
    return NULL;
}

weft_status weft_scope_fail_in(weft_scope *s, weft_status status, const char *op) {
    weft_scope_fail(s, status, op, "%s", weft_detail());
    return status;
}

void *weft_scope_fail_within(weft_scope *s, const char *op) {
    if (s && s->status) {
        weft_fail(s->status, "%s: %s", op, s->detail);
        snprintf(s->detail, sizeof s->detail, "%s", weft_detail());
    }
    return NULL;
}

bool weft_scope_ready(weft_scope *s, const char *op, weft_tensor *const *tensors, size_t n) {
    if (!s) {
        weft_fail(WEFT_E_NULL, "%s: scope is NULL", op);
        return false;
    }
    if (s->status != WEFT_OK)
        return false;
    weft_status status = weft_engine_alive(s->engine);
    if (status) {
        weft_scope_fail_in(s, status, op);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!tensors[i]) {
            weft_scope_fail(s, WEFT_E_NULL, op, "tensor %zu of %zu is NULL", i + 1, n);
            return false;
        }
    }
    return true;
}

bool weft_scope_axis(weft_scope *s, const char *op, const weft_tensor *t, int axis, int *out) {
    int resolved = axis < 0 ? axis + t->rank : axis;
    if (resolved < 0 || resolved >= t->rank) {
        char text[256];
        weft_scope_fail(s, WEFT_E_RANGE, op, "axis %d is outside of %s", axis,
                        weft_shape_text(t, text, sizeof text));
        return false;
    }
    *out = resolved;
    return true;
}

/* ---- Results ---- */

/* Closes the gaps that discarded results left. */
static void compact(weft_scope *s) {
    size_t n = 0;
    for (size_t i = 0; i < s->n_results; i++) {
        weft_tensor *t = s->results[i];
        if (!t)
            continue;
        if (atomic_load_explicit(&t->slot, memory_order_relaxed) == i)
            atomic_store_explicit(&t->slot, n, memory_order_relaxed);
        s->results[n++] = t;
    }
    s->n_results = n;
    s->n_discarded = 0;
}

static bool reserve_result(weft_scope *s) {
    if (s->n_results < s->results_room)
        return true;
    if (s->n_discarded > s->results_room / 2) {
        compact(s);
        return true;
    }
    size_t room = s->results_room ? s->results_room * 2 : 64;
    weft_tensor **grown =
        weft_realloc(&s->engine->allocator, s->results, s->results_room * sizeof *grown,
                     weft_size_of(room, sizeof *grown));
    if (!grown)
        return false;
    s->results = grown;
    s->results_room = room;
    return true;
}

weft_tensor *weft_scope_take(weft_scope *s, const char *op, weft_tensor *t) {
    if (!t || !reserve_result(s)) {
        if (t)
            weft_tensor_drop(t, pool_of(s));
        return weft_scope_fail(s, WEFT_E_MEMORY, op, "no memory for the result");
    }
    atomic_store_explicit(&t->slot, s->n_results, memory_order_relaxed);
    s->results[s->n_results++] = t;
    return t;
}

weft_tensor *weft_scope_share(weft_scope *s, const char *op, weft_tensor *t) {
    if (!reserve_result(s))
        return weft_scope_fail(s, WEFT_E_MEMORY, op, "no memory for the result");
    atomic_fetch_add_explicit(&t->n_refs, 1, memory_order_relaxed);
    if (t->arena && t->arena != s->arena)
        weft_arena_ref(t->arena);
    s->results[s->n_results++] = t;
    return t;
}

weft_status weft_scope_discard(weft_scope *s, weft_tensor **tensor) {
    if (!s || !tensor || !*tensor)
        return weft_fail(WEFT_E_NULL, "scope_discard: %s is NULL", s ? "tensor" : "scope");
    weft_tensor *t = *tensor;
    size_t i = atomic_load_explicit(&t->slot, memory_order_relaxed);
    if (i >= s->n_results || s->results[i] != t) {
        /* Shared results are not where their header says. */
        i = s->n_results;
        while (i > 0 && s->results[i - 1] != t)
            i--;
        if (i == 0)
            return weft_fail(WEFT_E_ARGUMENT,
                             "scope_discard: tensor %llu is not a result of this scope",
                             (unsigned long long)t->id);
        i--;
    }
    s->results[i] = NULL;
    s->n_discarded++;
    while (s->n_results > 0 && !s->results[s->n_results - 1]) {
        s->n_results--;
        s->n_discarded--;
    }
    *tensor = NULL;
    drop_result(s, t);
    return WEFT_OK;
}

weft_tensor *weft_scope_new_shaped(weft_scope *s, const char *op, weft_dtype dtype,
                                   weft_layout layout, const weft_shape *shape) {
    weft_tensor *t =
        weft_tensor_alloc(&s->engine->allocator, pool_of(s), s->arena, dtype, layout, shape);
    if (!t) {
        char text[256];
        return weft_scope_fail(s, WEFT_E_MEMORY, op, "no memory for %s %s (%zu bytes)",
                               weft_dims_text(shape->rank, shape->dims, text, sizeof text),
                               weft_dtype_name(dtype), shape->size_bytes);
    }
    return weft_scope_take(s, op, t);
}

weft_tensor *weft_scope_new(weft_scope *s, const char *op, weft_dtype dtype, int rank,
                            const int64_t *dims) {
    weft_shape shape;
    weft_status status = weft_shape_contiguous(dtype, WEFT_LAYOUT_STRIDED, rank, dims, &shape);
    if (status) {
        weft_scope_fail_in(s, status, op);
        return NULL;
    }
    return weft_scope_new_shaped(s, op, dtype, WEFT_LAYOUT_STRIDED, &shape);
}

weft_tensor *weft_scope_view(weft_scope *s, const char *op, weft_tensor *t) {
    return weft_scope_take(s, op,
                           weft_tensor_alloc_view(&s->engine->allocator, pool_of(s), s->arena, t));
}

void *weft_scope_scratch(weft_scope *s, const char *op, size_t size_bytes) {
    void *memory = NULL;
    size_t got;
    if (s->arena) {
        memory = weft_arena_alloc(s->arena, size_bytes);
    } else {
        if (s->n_scratch == s->scratch_room) {
            size_t room = s->scratch_room ? s->scratch_room * 2 : 16;
            weft_scratch *grown =
                weft_realloc(&s->engine->allocator, s->scratch, s->scratch_room * sizeof *grown,
                             weft_size_of(room, sizeof *grown));
            if (grown) {
                s->scratch = grown;
                s->scratch_room = room;
            }
        }
        if (s->n_scratch < s->scratch_room)
            memory = weft_pool_take(&s->pool, size_bytes ? size_bytes : 1, &got);
        if (memory)
            s->scratch[s->n_scratch++] = (weft_scratch){memory, got};
    }
    return memory ? memory
                  : weft_scope_fail(s, WEFT_E_MEMORY, op, "no memory for %zu bytes of scratch",
                                    size_bytes);
}
