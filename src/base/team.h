/* The thread team: workers that share out the chunks of a loop. */
#ifndef WEFT_BASE_TEAM_H
#define WEFT_BASE_TEAM_H

#include <stddef.h>
#include <weft/engine.h>

typedef struct weft_team weft_team;

/* Work on items [begin, end); `thread` in [0, n_threads) is unique among concurrent calls of one
 * loop. */
typedef void (*weft_team_fn)(void *ctx, size_t begin, size_t end, int thread);

/* Physical cores within the affinity mask and the cgroup quota (v1 and v2); at least 1. */
int weft_team_default_threads(void);

/* CPUs (hardware threads) within the same limits; at least 1. A team starts no threads beyond. */
int weft_team_cpus(void);

/* The i-th CPU that the process may use, one of each core before any core's second; -1: none. */
int weft_team_cpu(int i);

/* n_threads >= 1, the calling thread of a loop included: n_threads - 1 workers are started, where
 * there are CPUs for them. NULL when out of memory or threads. */
weft_team *weft_team_create(const weft_allocator *a, int n_threads);
void weft_team_destroy(weft_team *team);        /* NULL is allowed; no loop may be running */
int weft_team_n_threads(const weft_team *team); /* at most so many take part in a loop */

/* From the next loop on `n_threads` (1 to weft_team_n_threads) take part, the calling one included;
 * the other workers sleep. No loop of the caller's may be running. */
void weft_team_limit(weft_team *team, int n_threads);

/* Binds each worker to a CPU of its own, from weft_team_cpu(1) on. The thread that calls loops
 * belongs to the application and stays where it is. Ignored by systems that refuse it. */
void weft_team_pin(weft_team *team);

/* Runs fn over [0, n) in chunks of `grain` items claimed dynamically, on the caller and the
 * workers, each in a span of its own before it helps others; returns when all are done. When the
 * team is busy with another thread's loop, or called from inside a loop, or while another program
 * holds a worker's CPU, the caller does everything itself. Workers spin a bounded while after a
 * loop, then sleep. The results must not depend on which thread does what. Does not allocate. */
void weft_team_for(weft_team *team, size_t n, size_t grain, weft_team_fn fn, void *ctx);

#endif
