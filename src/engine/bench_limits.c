/* The machine's limits, and what else a benchmark asks of an engine and a model. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/detail.h"
#include "engine/impl.h"
#include "model/cost.h"
#include "model/memory.h"
#include "tensor/kernels/limits.h"
#include "tensor/kernels/time_kernels.h"

#include <string.h>
#include <unistd.h>

#define LEAST_READ_BYTES ((size_t)256 << 20)
#define MOST_READ_BYTES ((size_t)512 << 20)
#define READ_CHUNK ((size_t)1 << 20)
#define READ_REPEATS 3
#define REPEATS 5
#define LOOP_SECONDS 0.008

weft_model_cost weft_model_get_cost(const weft_model *model, int32_t depth, weft_dtype cache_type) {
    if (!model || weft_dtype_block(cache_type) == 0)
        return (weft_model_cost){0};
    return weft_network_cost(model->network, depth, cache_type);
}

weft_status weft_time_kernels(weft_engine *engine, const char *filter, double seconds,
                              weft_kernel_time_fn fn, void *ctx) {
    if (!engine || !fn)
        return weft_fail(WEFT_E_NULL, "weft_time_kernels: engine and fn are required");
    return weft_kernels_time(&engine->allocator, filter, seconds, fn, ctx);
}

const char *weft_variant(size_t i) {
    for (int isa = 0; isa < WEFT_ISA_COUNT; isa++)
        if (weft_cpu_has((weft_isa)isa) && i-- == 0)
            return weft_isa_name((weft_isa)isa);
    return NULL;
}

/* ---- Limits ---- */

typedef struct limit_job {
    weft_limit_kernels k;
    unsigned char *memory;
    weft_limit_loop *loop;
    size_t rounds;
    float results[1024]; /* a thread, only to be written */
    uint64_t words[1024];
} limit_job;

static void fill_chunks(void *ctx, size_t begin, size_t end, int thread) {
    const limit_job *j = ctx;
    (void)thread;
    memset(j->memory + begin * READ_CHUNK, 1, (end - begin) * READ_CHUNK);
}

static void read_chunks(void *ctx, size_t begin, size_t end, int thread) {
    limit_job *j = ctx;
    j->words[thread % 1024] ^=
        j->k.read(j->memory + begin * READ_CHUNK, (end - begin) * READ_CHUNK);
}

static void run_loops(void *ctx, size_t begin, size_t end, int thread) {
    limit_job *j = ctx;
    for (size_t i = begin; i < end; i++)
        j->results[thread % 1024] += j->loop(j->rounds);
}

/* Seconds of n items, the best of several; `team` NULL: on this thread. */
static double best_of(weft_team *team, size_t n, size_t grain, weft_team_fn fn, limit_job *j) {
    double best = 1e9;
    int repeats = fn == read_chunks ? READ_REPEATS : REPEATS;
    for (int i = 0; i < repeats; i++) {
        double begin = weft_clock_seconds();
        if (team)
            weft_team_for(team, n, grain, fn, j);
        else
            fn(j, 0, n, 0);
        double seconds = weft_clock_seconds() - begin;
        best = seconds < best ? seconds : best;
    }
    return best;
}

/* Operations a second of a loop, on one thread and on all. */
static void measure_loop(weft_team *team, limit_job *j, weft_limit_loop *loop, size_t ops,
                         double *one, double *all) {
    if (!loop)
        return;
    j->loop = loop;
    double seconds = 0;
    for (j->rounds = 1024; seconds < LOOP_SECONDS / 8; j->rounds *= 2) {
        double begin = weft_clock_seconds();
        run_loops(j, 0, 1, 0);
        seconds = weft_clock_seconds() - begin;
    }
    /* An item is a few milliseconds; the team gets many for each thread, to end together. */
    double work = (double)j->rounds * (double)ops;
    size_t n = 8 * (size_t)weft_team_n_threads(team);
    *one = 8 * work / best_of(NULL, 8, 1, run_loops, j);
    *all = (double)n * work / best_of(team, n, 1, run_loops, j);
}

/* So much that a cache which keeps what it can has little of it left when it is read again, where
 * there is the memory. */
static size_t read_bytes(void) {
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    uint64_t most = weft_memory_limit() / 4, bytes = cache > 0 ? 2 * (uint64_t)cache : 0;
    most = most < MOST_READ_BYTES ? most : MOST_READ_BYTES;
    bytes = bytes < most ? bytes : most;
    bytes = bytes > LEAST_READ_BYTES ? bytes : LEAST_READ_BYTES;
    return (size_t)bytes / READ_CHUNK * READ_CHUNK;
}

weft_status weft_measure_limits(weft_engine *engine, const char *cpu, weft_limits *out) {
    if (!engine || !out)
        return weft_fail(WEFT_E_NULL, "weft_measure_limits: engine and out are required");
    memset(out, 0, sizeof *out);
    weft_isa isa = engine->isa;
    if (cpu && (!weft_isa_parse(cpu, &isa) || !weft_cpu_has(isa)))
        return weft_fail(WEFT_E_ARGUMENT, "weft_measure_limits: '%s' cannot run here", cpu);
    weft_status status = weft_engine_alive(engine);
    if (status)
        return status;
    const weft_allocator *a = &engine->allocator;
    limit_job *j = weft_alloc_zeroed(a, sizeof *j);
    size_t size_bytes = read_bytes(), chunks = size_bytes / READ_CHUNK;
    unsigned char *memory = weft_alloc(a, size_bytes);
    if (!j || !memory) {
        weft_dealloc(a, j, sizeof *j);
        weft_dealloc(a, memory, size_bytes);
        return weft_fail(WEFT_E_MEMORY, "weft_measure_limits: no memory for %zu bytes", size_bytes);
    }
    weft_advise_huge(memory, size_bytes);
    j->k = weft_limit_kernels_of(isa);
    j->memory = memory;
    pthread_mutex_lock(&engine->pass);
    weft_engine_limit(engine, 1);
    out->cpu = weft_isa_name(isa);
    weft_team_for(engine->team, chunks, 1, fill_chunks, j);
    out->read_one = (double)size_bytes / best_of(NULL, chunks, chunks, read_chunks, j);
    out->read_all = (double)size_bytes / best_of(engine->team, chunks, 1, read_chunks, j);
    measure_loop(engine->team, j, j->k.f32, j->k.f32_ops, &out->f32_one, &out->f32_all);
    measure_loop(engine->team, j, j->k.int8, j->k.int8_ops, &out->int8_one, &out->int8_all);
    measure_loop(engine->team, j, j->k.bf16, j->k.bf16_ops, &out->bf16_one, &out->bf16_all);
    pthread_mutex_unlock(&engine->pass);
    weft_dealloc(a, memory, size_bytes);
    weft_dealloc(a, j, sizeof *j);
    return WEFT_OK;
}
