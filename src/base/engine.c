/* Creating, sharing and releasing an engine. */
#include <stdlib.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "base/engine_impl.h"

#define MAX_THREADS 1024

weft_engine_options weft_engine_options_default(void) {
    return (weft_engine_options){.n_threads = 0, .cpu = NULL, .numbers = WEFT_NUMBERS_DEFAULT};
}

const char *weft_version(void) {
    return WEFT_VERSION;
}

/* A page that the kernel clears in a forked child (MADV_WIPEONFORK, Linux 4.14): looking at it
 * costs a load where getpid would be a system call. Where the kernel refuses, forks go unnoticed.
 */
static const unsigned char *canary_create(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *canary =
        mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (canary == MAP_FAILED)
        return NULL;
    (void)madvise(canary, page, MADV_WIPEONFORK);
    canary[0] = 1;
    return canary;
}

static weft_status choose_isa(const char *name, weft_isa *isa) {
    const char *from = "cpu";
    if (!name) {
        name = getenv("WEFT_CPU");
        from = "WEFT_CPU";
    }
    *isa = weft_cpu_best();
    if (!name || !*name)
        return WEFT_OK;
    if (!weft_isa_parse(name, isa))
        return weft_fail(WEFT_E_ARGUMENT, "%s: unknown variant '%s'", from, name);
    if (!weft_cpu_has(*isa))
        return weft_fail(WEFT_E_ARGUMENT, "%s: this CPU cannot run '%s'; its best is '%s'", from,
                         name, weft_isa_name(weft_cpu_best()));
    return WEFT_OK;
}

static void engine_free(weft_engine *engine) {
    weft_allocator a = engine->allocator;
    if (engine->fork_canary) {
        /* In a forked child the workers do not exist: there is nothing to join. */
        if (*engine->fork_canary)
            weft_team_destroy(engine->team);
        munmap((void *)(uintptr_t)engine->fork_canary, (size_t)sysconf(_SC_PAGESIZE));
    } else {
        weft_team_destroy(engine->team);
    }
    pthread_mutex_destroy(&engine->pass);
    weft_dealloc(&a, engine, sizeof *engine);
}

weft_status weft_engine_create(const weft_engine_options *options, weft_engine **out) {
    if (!out)
        return weft_fail(WEFT_E_NULL, "engine_create: out is NULL");
    *out = NULL;
    weft_engine_options o = options ? *options : weft_engine_options_default();
    if (o.n_threads < 0 || o.n_threads > MAX_THREADS)
        return weft_fail(WEFT_E_ARGUMENT,
                         "engine_create: %d threads; 0 (automatic) to %d are allowed", o.n_threads,
                         MAX_THREADS);
    if (o.n_threads_batch < 0 || o.n_threads_batch > MAX_THREADS)
        return weft_fail(WEFT_E_ARGUMENT,
                         "engine_create: %d threads for batches; 0 (the others) to %d are allowed",
                         o.n_threads_batch, MAX_THREADS);
    if ((unsigned)o.numbers > WEFT_NUMBERS_FLOAT)
        return weft_fail(WEFT_E_ARGUMENT, "engine_create: numbers has the unknown value %d",
                         (int)o.numbers);
    weft_isa isa;
    weft_status status = choose_isa(o.cpu, &isa);
    if (status != WEFT_OK)
        return status;

    weft_allocator a =
        o.allocator.alloc && o.allocator.release ? o.allocator : weft_allocator_system();
    weft_engine *engine = weft_alloc_zeroed(&a, sizeof *engine);
    if (!engine)
        return weft_fail(WEFT_E_MEMORY, "engine_create: out of memory");
    engine->allocator = a;
    engine->log = o.log;
    engine->log_ctx = o.log_ctx;
    engine->numbers = o.numbers;
    engine->isa = isa;
    engine->level2_bytes = weft_cpu_level2_bytes();
    atomic_init(&engine->n_refs, 1);
    pthread_mutex_init(&engine->pass, NULL);
    engine->fork_canary = canary_create();
    engine->n_threads = o.n_threads ? o.n_threads : weft_team_default_threads();
    engine->n_threads_batch = o.n_threads_batch ? o.n_threads_batch : engine->n_threads;
    int n_threads =
        engine->n_threads > engine->n_threads_batch ? engine->n_threads : engine->n_threads_batch;
    engine->team = weft_team_create(&a, n_threads);
    if (!engine->team || !engine->fork_canary) {
        engine_free(engine);
        return weft_fail(WEFT_E_MEMORY, "engine_create: no memory or threads for a team of %d",
                         n_threads);
    }
    if (o.pin)
        weft_team_pin(engine->team);
    *out = engine;
    return WEFT_OK;
}

weft_engine *weft_engine_retain(weft_engine *engine) {
    if (engine)
        atomic_fetch_add_explicit(&engine->n_refs, 1, memory_order_relaxed);
    return engine;
}

void weft_engine_release(weft_engine **engine) {
    if (!engine || !*engine)
        return;
    if (atomic_fetch_sub_explicit(&(*engine)->n_refs, 1, memory_order_acq_rel) == 1)
        engine_free(*engine);
    *engine = NULL;
}

void weft_engine_limit(weft_engine *engine, size_t n_rows) {
    weft_team_limit(engine->team,
                    n_rows < WEFT_BATCH_ROWS ? engine->n_threads : engine->n_threads_batch);
}

int weft_engine_n_threads(const weft_engine *engine) {
    return engine ? engine->n_threads : 0;
}

const char *weft_engine_cpu(const weft_engine *engine) {
    return engine ? weft_isa_name(engine->isa) : "";
}

weft_status weft_engine_alive(const weft_engine *engine) {
    if (*(const volatile unsigned char *)engine->fork_canary)
        return WEFT_OK;
    return weft_fail(WEFT_E_FORKED, "the engine was made before fork(2); make one in the child");
}

void weft_log_line(const weft_engine *engine, weft_log_level level, const char *format, ...) {
    if (!engine->log)
        return;
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    engine->log(engine->log_ctx, level, line);
}
