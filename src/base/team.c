/* The thread team. A loop is published as a new epoch in one 64-bit state word; workers that find
 * it open register in the same word and claim chunks until none are left. The owner closes the loop
 * when it finds no more chunks and waits for those who registered only: a worker that sleeps, or
 * that has lost its core to another program, holds nobody up. After a loop workers spin a bounded
 * while, because a forward pass is hundreds of short loops, and then sleep.
 *
 * A loop's chunks are cut into spans, one a thread. A thread claims those of its own span in order,
 * and then what others have left: memory is read as a few long streams, which prefetching follows,
 * and not as many short ones that each begin and end in another thread's.
 *
 * Threads beyond the CPUs that the process may use are not started: chunks are claimed, so that
 * nobody misses them, and two that take turns on a CPU would make loops wait for each other. For
 * the same reason the owner works alone for a while when its loops spend more time waiting for
 * workers than working: then another program has their CPUs. */
#include "base/team.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/alloc.h"
#include "base/clock.h"
#include "base/floats.h"

#define SPIN_SECONDS 100e-6 /* longer than the gap between two loops of a pass */
#define JUDGED_SECONDS 1e-3 /* of loops, before their waiting is judged */
#define ALONE_TIMES 16      /* the time waited, which is what another try may cost */
#define ALONE_SECONDS 0.1   /* at most */
#define MOST_SPANS 16       /* what looking for others' chunks may cost at the end of a loop */

/* The state word: epoch in the high half; below it the closed flag and the registered workers. */
#define STATE_CLOSED ((uint64_t)1 << 31)
#define STATE_INSIDE (STATE_CLOSED - 1)
#define STATE_EPOCH ((uint64_t)1 << 32)

typedef struct weft_worker {
    pthread_t thread;
    weft_team *team;
    int index;
} weft_worker;

/* Chunks that are claimed in order. */
typedef struct span {
    _Alignas(WEFT_CACHE_LINE) atomic_size_t next; /* the first unclaimed one */
    size_t end;
} span;

struct weft_team {
    weft_allocator allocator;
    int n_threads;
    int n_workers;         /* that were started */
    bool oversubscribed;   /* more threads than cores: spinning would take time from the others */
    double alone_until;    /* by the clock; 0: not alone. The owner's, as the next two */
    double worked, waited; /* seconds of its loops since they were last judged */
    pthread_mutex_t owner; /* held by the thread whose loop is running */
    pthread_mutex_t sleep; /* guards the condition variables */
    pthread_cond_t wake, idle, bench; /* bench: workers beyond the limit */

    /* The running loop; written by the owner while the state is closed and nobody is inside. */
    weft_team_fn fn;
    void *ctx;
    size_t n, grain;
    int n_spans;
    span spans[MOST_SPANS];
    _Alignas(WEFT_CACHE_LINE) atomic_uint_fast64_t state;
    _Alignas(WEFT_CACHE_LINE) atomic_int n_asleep; /* workers waiting on `wake` */
    atomic_bool owner_asleep;
    atomic_int limit; /* threads that take part, the owner included */
    atomic_bool stop;
    weft_worker workers[];
};

/* Set while this thread is inside a chunk: loops inside loops run on the caller alone. */
static _Thread_local bool inside_loop;

static inline void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static inline uint64_t state_of(weft_team *team) {
    return atomic_load_explicit(&team->state, memory_order_acquire);
}

/* Spins until a bit of `mask` in the state differs from `value`, or for a bounded while. */
static bool spin_while(weft_team *team, uint64_t mask, uint64_t value) {
    double end = 0;
    for (unsigned i = 1;; i++) {
        if ((state_of(team) & mask) != value)
            return true;
        if (team->oversubscribed)
            return false;
        relax();
        if (i % 64 == 0) {
            double now = weft_clock_seconds();
            if (end == 0)
                end = now + SPIN_SECONDS;
            else if (now > end)
                return false;
        }
    }
}

/* Runs chunks of one span until none are left there. */
static void run_span(weft_team *team, span *s, int thread) {
    size_t n = team->n, grain = team->grain, end = s->end;
    while (atomic_load_explicit(&s->next, memory_order_relaxed) < end) {
        size_t chunk = atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed);
        if (chunk >= end)
            return;
        size_t begin = chunk * grain;
        team->fn(team->ctx, begin, n - begin < grain ? n : begin + grain, thread);
    }
}

/* A thread's own span, then the others'. */
static void run_chunks(weft_team *team, int thread) {
    inside_loop = true;
    for (int i = 0; i < team->n_spans; i++)
        run_span(team, &team->spans[(thread + i) % team->n_spans], thread);
    inside_loop = false;
}

/* Cuts the loop's chunks into a span for each thread that takes part. */
static void cut_spans(weft_team *team) {
    size_t n_chunks = team->n / team->grain + (team->n % team->grain != 0), begin = 0;
    int limit = atomic_load_explicit(&team->limit, memory_order_relaxed);
    int n = limit < team->n_workers + 1 ? limit : team->n_workers + 1;
    team->n_spans = n < MOST_SPANS ? n : MOST_SPANS;
    for (int i = 0; i < team->n_spans; i++) {
        size_t apart = (size_t)(team->n_spans - i);
        size_t share = (n_chunks - begin + apart - 1) / apart; /* first ones begin first */
        team->spans[i].end = begin + share;
        atomic_store_explicit(&team->spans[i].next, begin, memory_order_relaxed);
        begin += share;
    }
}

/* Waits for an epoch other than `seen` (in place in the word); gives the state found. */
static uint64_t wait_for_loop(weft_team *team, uint64_t seen) {
    uint64_t epoch_bits = ~(STATE_EPOCH - 1);
    if (!spin_while(team, epoch_bits, seen)) {
        pthread_mutex_lock(&team->sleep);
        atomic_fetch_add(&team->n_asleep, 1);
        while ((atomic_load(&team->state) & epoch_bits) == seen)
            pthread_cond_wait(&team->wake, &team->sleep);
        atomic_fetch_sub(&team->n_asleep, 1);
        pthread_mutex_unlock(&team->sleep);
    }
    return state_of(team);
}

/* Registers in the loop that `state` describes, unless it closes first. */
static bool enter_loop(weft_team *team, uint64_t state) {
    while (!(state & STATE_CLOSED)) {
        uint64_t expected = state;
        if (atomic_compare_exchange_weak(&team->state, &expected, state + 1))
            return true;
        if ((expected ^ state) & ~(STATE_EPOCH - 1))
            return false; /* another loop by now: look at it afresh */
        state = expected;
    }
    return false;
}

static void leave_loop(weft_team *team) {
    uint64_t before = atomic_fetch_sub(&team->state, 1);
    bool last = (before & STATE_INSIDE) == 1 && (before & STATE_CLOSED);
    if (last && atomic_load(&team->owner_asleep)) {
        pthread_mutex_lock(&team->sleep);
        pthread_cond_signal(&team->idle);
        pthread_mutex_unlock(&team->sleep);
    }
}

/* Sleeps while the limit leaves this worker out. */
static void sit_out(weft_team *team, int index) {
    if (index < atomic_load_explicit(&team->limit, memory_order_relaxed))
        return;
    pthread_mutex_lock(&team->sleep);
    while (index >= atomic_load(&team->limit) && !atomic_load(&team->stop))
        pthread_cond_wait(&team->bench, &team->sleep);
    pthread_mutex_unlock(&team->sleep);
}

static void *worker_main(void *argument) {
    weft_worker *worker = argument;
    weft_team *team = worker->team;
    uint64_t seen = 0;
    weft_fpenv_enter();
    for (;;) {
        sit_out(team, worker->index);
        uint64_t state = wait_for_loop(team, seen);
        if (atomic_load(&team->stop))
            return NULL;
        if (enter_loop(team, state)) {
            run_chunks(team, worker->index);
            leave_loop(team);
        } else if ((state_of(team) ^ state) & ~(STATE_EPOCH - 1)) {
            continue;
        }
        seen = state & ~(STATE_EPOCH - 1);
    }
}

/* Opens a new epoch with nobody inside. */
static void open_loop(weft_team *team) {
    uint64_t epoch = (atomic_load(&team->state) & ~(STATE_EPOCH - 1)) + STATE_EPOCH;
    atomic_store(&team->state, epoch);
    if (atomic_load(&team->n_asleep) > 0) {
        pthread_mutex_lock(&team->sleep);
        pthread_cond_broadcast(&team->wake);
        pthread_mutex_unlock(&team->sleep);
    }
}

/* Waits for those inside. */
static void wait_for_workers(weft_team *team) {
    for (;;) {
        uint64_t inside = state_of(team) & STATE_INSIDE;
        if (inside == 0)
            return;
        if (!spin_while(team, STATE_INSIDE, inside))
            break;
    }
    pthread_mutex_lock(&team->sleep);
    atomic_store(&team->owner_asleep, true);
    while ((atomic_load(&team->state) & STATE_INSIDE) > 0)
        pthread_cond_wait(&team->idle, &team->sleep);
    atomic_store(&team->owner_asleep, false);
    pthread_mutex_unlock(&team->sleep);
}

/* Closes the loop that opened at `start` and waits for those inside. */
static void close_loop(weft_team *team, double start) {
    uint64_t before = atomic_fetch_or(&team->state, STATE_CLOSED);
    if ((before & STATE_INSIDE) == 0)
        return;
    double done = weft_clock_seconds();
    wait_for_workers(team);
    double end = weft_clock_seconds();
    team->worked += done - start;
    team->waited += end - done;
    if (team->worked + team->waited < JUDGED_SECONDS)
        return;
    if (team->waited > team->worked) {
        double alone = ALONE_TIMES * team->waited;
        team->alone_until = end + (alone < ALONE_SECONDS ? alone : ALONE_SECONDS);
    }
    team->worked = team->waited = 0;
}

/* The owner's, before a loop opened at `now`. */
static bool works_alone(weft_team *team, double now) {
    if (team->alone_until > 0 && now >= team->alone_until)
        team->alone_until = 0;
    int limit = atomic_load_explicit(&team->limit, memory_order_relaxed);
    return team->alone_until > 0 || team->n_workers == 0 || limit == 1;
}

void weft_team_for(weft_team *team, size_t n, size_t grain, weft_team_fn fn, void *ctx) {
    if (n == 0)
        return;
    if (grain == 0)
        grain = 1;
    bool alone = !team || team->n_threads == 1 || n <= grain || inside_loop;
    if (alone || pthread_mutex_trylock(&team->owner) != 0) {
        fn(ctx, 0, n, 0);
        return;
    }
    double start = weft_clock_seconds();
    if (works_alone(team, start)) {
        inside_loop = true;
        fn(ctx, 0, n, 0);
        inside_loop = false;
        pthread_mutex_unlock(&team->owner);
        return;
    }
    team->fn = fn;
    team->ctx = ctx;
    team->n = n;
    team->grain = grain;
    cut_spans(team);
    open_loop(team);
    run_chunks(team, 0);
    close_loop(team, start);
    pthread_mutex_unlock(&team->owner);
}

void weft_team_limit(weft_team *team, int n_threads) {
    if (atomic_load_explicit(&team->limit, memory_order_relaxed) == n_threads)
        return;
    pthread_mutex_lock(&team->sleep);
    atomic_store(&team->limit, n_threads);
    pthread_cond_broadcast(&team->bench);
    pthread_mutex_unlock(&team->sleep);
}

void weft_team_pin(weft_team *team) {
    for (int i = 0; i < team->n_workers; i++) {
        int cpu = weft_team_cpu(i + 1);
        cpu_set_t set;
        CPU_ZERO(&set);
        if (cpu < 0 || cpu >= CPU_SETSIZE)
            continue;
        CPU_SET((size_t)cpu, &set);
        (void)pthread_setaffinity_np(team->workers[i].thread, sizeof set, &set);
    }
}

static void join_workers(weft_team *team, int n_workers) {
    atomic_store(&team->stop, true);
    pthread_mutex_lock(&team->sleep);
    pthread_cond_broadcast(&team->bench);
    pthread_mutex_unlock(&team->sleep);
    open_loop(team);
    for (int i = 0; i < n_workers; i++)
        pthread_join(team->workers[i].thread, NULL);
}

static void free_team(weft_team *team) {
    pthread_mutex_destroy(&team->owner);
    pthread_mutex_destroy(&team->sleep);
    pthread_cond_destroy(&team->wake);
    pthread_cond_destroy(&team->idle);
    pthread_cond_destroy(&team->bench);
    weft_allocator a = team->allocator;
    weft_dealloc(&a, team, sizeof *team + (size_t)(team->n_threads - 1) * sizeof(weft_worker));
}

weft_team *weft_team_create(const weft_allocator *a, int n_threads) {
    size_t most_workers = (size_t)n_threads - 1;
    weft_team *team = weft_alloc_zeroed(a, sizeof *team + most_workers * sizeof(weft_worker));
    if (!team)
        return NULL;
    team->allocator = *a;
    team->n_threads = n_threads;
    atomic_init(&team->state, STATE_CLOSED);
    atomic_init(&team->limit, n_threads);
    int n_cpus = weft_team_cpus();
    team->n_workers = (n_threads < n_cpus ? n_threads : n_cpus) - 1;
    team->oversubscribed = team->n_workers + 1 > weft_team_default_threads();
    pthread_mutex_init(&team->owner, NULL);
    pthread_mutex_init(&team->sleep, NULL);
    pthread_cond_init(&team->wake, NULL);
    pthread_cond_init(&team->idle, NULL);
    pthread_cond_init(&team->bench, NULL);
    for (int i = 0; i < team->n_workers; i++) {
        team->workers[i] = (weft_worker){.team = team, .index = i + 1};
        if (pthread_create(&team->workers[i].thread, NULL, worker_main, &team->workers[i]) != 0) {
            join_workers(team, i);
            free_team(team);
            return NULL;
        }
    }
    return team;
}

void weft_team_destroy(weft_team *team) {
    if (!team)
        return;
    join_workers(team, team->n_workers);
    free_team(team);
}

int weft_team_n_threads(const weft_team *team) {
    return team ? team->n_threads : 1;
}
