/* Inside of weft_engine, for the layers above base. */
#ifndef WEFT_BASE_ENGINE_IMPL_H
#define WEFT_BASE_ENGINE_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include "base/cpu.h"
#include "base/team.h"
#include <weft/engine.h>

struct weft_profile; /* tensor/profile.h */

struct weft_engine {
    atomic_uint n_refs;
    weft_allocator allocator;
    weft_log_fn log;
    void *log_ctx;
    weft_numbers numbers;
    weft_isa isa;
    size_t level2_bytes; /* of a core's cache */
    bool bf16_always;    /* tests: products in bfloat16 wherever the CPU has them */
    weft_team *team;
    int n_threads, n_threads_batch; /* of steps of few and of WEFT_BATCH_ROWS rows */
    struct weft_profile *profile;   /* NULL: nobody records what ops take */
    pthread_mutex_t pass;           /* held for one forward pass: sessions take turns */
    const unsigned char
        *fork_canary; /* 1 in the process that made the engine, 0 in a forked child */
};

/* WEFT_OK, or WEFT_E_FORKED with a detail in a forked child. */
weft_status weft_engine_alive(const weft_engine *engine);

/* The threads that a step of so many rows works with; the caller holds `pass`. */
#define WEFT_BATCH_ROWS 32
void weft_engine_limit(weft_engine *engine, size_t n_rows);

__attribute__((format(printf, 3, 4))) void weft_log_line(const weft_engine *engine,
                                                         weft_log_level level, const char *format,
                                                         ...);
#endif
