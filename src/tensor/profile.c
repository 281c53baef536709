/* A profile: sums an op and place, and a ring of single events, both allocated at the start, so
 * that recording never allocates. Ops of any thread record under one lock; where they are is what
 * the pass of the engine said last. */
#include "tensor/profile.h"

#include <string.h>
#include "base/clock.h"
#include "tensor/kernels/panel.h"
#include "tensor/walk.h"

#define MOST_ROWS 128 /* pairs of op and place; a forward pass has about twenty */

struct weft_profile {
    weft_engine *engine;
    pthread_mutex_t lock;
    const char *place;
    int32_t layer;
    double origin;
    weft_profile_row rows[MOST_ROWS];
    size_t n_rows;
    weft_profile_event *events; /* [room], a ring: event i of all at i % room */
    size_t room;
    uint64_t n_events; /* so far */
};

weft_status weft_profile_create(weft_engine *engine, size_t n_events, weft_profile **out) {
    if (!engine || !out)
        return weft_fail(WEFT_E_NULL, "profile_create: engine and out are required");
    *out = NULL;
    if (engine->profile)
        return weft_fail(WEFT_E_BUSY, "profile_create: the engine is being profiled already");
    weft_profile *p = weft_alloc_zeroed(&engine->allocator, sizeof *p);
    if (p && n_events)
        p->events = weft_alloc(&engine->allocator, weft_size_of(n_events, sizeof *p->events));
    if (!p || (n_events && !p->events)) {
        weft_dealloc(&engine->allocator, p, sizeof *p);
        return weft_fail(WEFT_E_MEMORY, "profile_create: no memory for %zu events", n_events);
    }
    p->room = n_events;
    p->engine = weft_engine_retain(engine);
    pthread_mutex_init(&p->lock, NULL);
    weft_profile_clear(p);
    pthread_mutex_lock(&engine->pass);
    engine->profile = p;
    pthread_mutex_unlock(&engine->pass);
    *out = p;
    return WEFT_OK;
}

void weft_profile_clear(weft_profile *p) {
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->n_rows = 0;
    p->n_events = 0;
    p->place = "other";
    p->layer = -1;
    p->origin = weft_clock_seconds();
    pthread_mutex_unlock(&p->lock);
}

void weft_profile_release(weft_profile **profile) {
    if (!profile || !*profile)
        return;
    weft_profile *p = *profile;
    weft_engine *engine = p->engine;
    *profile = NULL;
    pthread_mutex_lock(&engine->pass);
    engine->profile = NULL;
    pthread_mutex_unlock(&engine->pass);
    pthread_mutex_destroy(&p->lock);
    weft_dealloc(&engine->allocator, p->events, p->room * sizeof *p->events);
    weft_dealloc(&engine->allocator, p, sizeof *p);
    weft_engine_release(&engine);
}

/* ---- Recording ---- */

static uint64_t bytes_of(const weft_tensor *t) {
    if (t->layout == WEFT_LAYOUT_PANEL16)
        return (uint64_t)weft_ceil_div((size_t)t->dims[0], WEFT_PANEL_ROWS) *
               weft_panel_bytes(t->dtype, (size_t)t->dims[1]);
    return (uint64_t)weft_tensor_numel(t) / weft_dtype_block(t->dtype) *
           weft_dtype_block_bytes(t->dtype);
}

weft_timing weft_timing_start(weft_profile *profile, const char *op, weft_tensor *const *inputs,
                              size_t n) {
    weft_timing t = {.profile = profile, .op = op};
    for (size_t i = 0; i < n; i++)
        if (inputs[i])
            t.bytes += bytes_of(inputs[i]);
    t.begin = weft_clock_seconds();
    return t;
}

static weft_profile_row *row_of(weft_profile *p, const char *place, const char *op) {
    for (size_t i = 0; i < p->n_rows; i++)
        if (strcmp(p->rows[i].op, op) == 0 && strcmp(p->rows[i].place, place) == 0)
            return &p->rows[i];
    if (p->n_rows == MOST_ROWS)
        return NULL;
    p->rows[p->n_rows] = (weft_profile_row){.place = place, .op = op};
    return &p->rows[p->n_rows++];
}

void weft_timing_stop(const weft_timing *t) {
    double seconds = weft_clock_seconds() - t->begin;
    weft_profile *p = t->profile;
    pthread_mutex_lock(&p->lock);
    weft_profile_row *row = row_of(p, p->place, t->op);
    if (row) {
        row->calls++;
        row->seconds += seconds;
        row->bytes += t->bytes;
    }
    if (p->room)
        p->events[p->n_events % p->room] = (weft_profile_event){.place = p->place,
                                                                .op = t->op,
                                                                .layer = p->layer,
                                                                .begin = t->begin - p->origin,
                                                                .seconds = seconds,
                                                                .bytes = t->bytes};
    p->n_events++;
    pthread_mutex_unlock(&p->lock);
}

void weft_profile_enter(weft_profile *p, const char *place, int32_t layer) {
    pthread_mutex_lock(&p->lock);
    p->place = place;
    p->layer = layer;
    pthread_mutex_unlock(&p->lock);
}

/* ---- Reading ---- */

bool weft_profile_get_row(const weft_profile *p, size_t i, weft_profile_row *out) {
    if (!p || !out || i >= p->n_rows)
        return false;
    *out = p->rows[i];
    return true;
}

bool weft_profile_get_event(const weft_profile *p, size_t i, weft_profile_event *out) {
    size_t n = !p ? 0 : p->n_events < p->room ? (size_t)p->n_events : p->room;
    if (!out || i >= n)
        return false;
    size_t first = p->n_events > p->room ? (size_t)(p->n_events % p->room) : 0;
    *out = p->events[(first + i) % p->room];
    return true;
}

uint64_t weft_profile_n_lost(const weft_profile *p) {
    return !p || p->n_events < p->room ? 0 : p->n_events - p->room;
}
