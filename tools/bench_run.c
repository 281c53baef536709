/* Measuring the points of a benchmark: prompts, decoding at depths, small batches. */
#include "bench.h"
#include "rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOISY 0.2 /* (max - min) / median from which on runs say little */

double bench_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void bench_ids(int32_t *ids, size_t n, size_t n_vocab) {
    uint32_t x = 1;
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        ids[i] = (int32_t)((x >> 8) % n_vocab);
    }
}

static unsigned long long resident_bytes(void) {
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%*u %llu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (unsigned long long)sysconf(_SC_PAGESIZE);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Tokens a second of runs of `n` tokens, from their seconds [n_runs], which are sorted. */
static bench_spread spread_of(double *seconds, size_t n_runs, double n) {
    qsort(seconds, n_runs, sizeof *seconds, ascending);
    double median =
        n_runs % 2 ? seconds[n_runs / 2] : (seconds[n_runs / 2 - 1] + seconds[n_runs / 2]) / 2;
    return (bench_spread){n / seconds[n_runs - 1], n / median, n / seconds[0]};
}

static int32_t greatest(const bench_list *list) {
    int32_t most = 0;
    for (size_t i = 0; i < list->n; i++)
        most = list->values[i] > most ? list->values[i] : most;
    return most;
}

static int32_t context_of(const bench *b) {
    int32_t prompt = greatest(&b->prompts), batch = greatest(&b->batches);
    int32_t deep = greatest(&b->depths) + b->n_decode;
    prompt = batch > prompt ? batch : prompt;
    return prompt > deep ? prompt : deep;
}

int bench_session(const bench *b, weft_model *model, weft_session **out) {
    weft_session_options options = weft_session_options_default();
    options.n_context = context_of(b);
    options.n_batch = b->n_step;
    weft_status status = weft_session_create(model, &options, out);
    tool_list adapters = b->adapters;
    return status ? tool_fail_status("session", status) : tool_use_adapters(model, *out, &adapters);
}

/* ---- Single runs ---- */

typedef struct run_state {
    weft_session *session;
    const int32_t *ids;
    float *rows; /* [most rows of a batch, n_vocab] */
    size_t n_vocab;
} run_state;

static weft_status run_prompt(const run_state *r, int32_t n, double *seconds) {
    weft_status status = weft_session_truncate(r->session, 0, NULL);
    double begin = bench_now();
    if (!status)
        status = weft_session_eval(r->session, r->ids, (size_t)n);
    if (!status)
        (void)tool_argmax(weft_session_logits(r->session), r->n_vocab); /* the first token */
    *seconds = bench_now() - begin;
    return status;
}

static weft_status run_decode(const run_state *r, int32_t n, int32_t depth, double *seconds) {
    weft_status status = weft_session_truncate(r->session, depth, NULL);
    int32_t token = r->ids[0];
    double begin = bench_now();
    for (int32_t i = 0; i < n && !status; i++) {
        status = weft_session_eval(r->session, &token, 1);
        if (!status)
            token = tool_argmax(weft_session_logits(r->session), r->n_vocab);
    }
    *seconds = bench_now() - begin;
    return status;
}

/* All rows' logits, as checking guesses or serving several users needs them. */
static weft_status run_batch(const run_state *r, int32_t n, double *seconds) {
    weft_status status = weft_session_truncate(r->session, 0, NULL);
    double begin = bench_now();
    if (!status)
        status = weft_session_eval_all(r->session, r->ids, (size_t)n, r->rows);
    *seconds = bench_now() - begin;
    return status;
}

static weft_status fill_cache(const run_state *r, int32_t depth) {
    weft_status status = weft_session_truncate(r->session, 0, NULL);
    return status || depth == 0 ? status : weft_session_eval(r->session, r->ids, (size_t)depth);
}

weft_status bench_prompt_speed(const bench *b, weft_session *session, const int32_t *ids,
                               double *tps) {
    run_state r = {.session = session, .ids = ids, .n_vocab = 1};
    double *seconds = malloc((size_t)b->n_runs * sizeof *seconds);
    weft_status status = seconds ? WEFT_OK : WEFT_E_MEMORY;
    for (int32_t i = -1; i < b->n_runs && !status; i++)
        status = run_prompt(&r, b->prompts.values[0], &seconds[i < 0 ? 0 : i]);
    if (!status)
        *tps = spread_of(seconds, (size_t)b->n_runs, b->prompts.values[0]).median;
    free(seconds);
    return status;
}

/* ---- Points ---- */

static void set_cost(bench_point *p, const bench *b, const weft_model *model) {
    int32_t seen = p->kind == BENCH_PREFILL ? p->n / 2 : p->depth + p->n / 2;
    weft_model_cost cost = weft_model_get_cost(model, seen, WEFT_F16);
    double weights = (double)cost.weight_bytes, n = p->n;
    p->bytes = weights + (double)cost.cache_bytes;
    p->ops = (double)(cost.weight_ops + cost.cache_ops);
    if (p->kind == BENCH_BATCH)
        p->bytes = p->bytes / n;
    if (p->kind == BENCH_PREFILL) {
        double steps = ceil(n / b->n_step);
        p->bytes = (weights * steps + (double)cost.cache_bytes) / n;
        p->ops -= (double)cost.output_ops * (n - 1) / n;
    }
}

static int add_point(bench *b, const weft_model *model, const run_state *r, bench_point p,
                     double *seconds) {
    weft_status status = fill_cache(r, p.depth);
    for (int32_t i = -1; i < b->n_runs && !status; i++) {
        double *at = &seconds[i < 0 ? 0 : i]; /* the warm-up is overwritten */
        if (p.kind == BENCH_PREFILL)
            status = run_prompt(r, p.n, at);
        else if (p.kind == BENCH_DECODE)
            status = run_decode(r, i < 0 && p.n > 8 ? 8 : p.n, p.depth, at);
        else
            status = run_batch(r, p.n, at);
    }
    if (status)
        return tool_fail_status("bench", status);
    p.tps = spread_of(seconds, (size_t)b->n_runs, p.n);
    p.noisy = p.tps.max - p.tps.min > NOISY * p.tps.median;
    set_cost(&p, b, model);
    b->points[b->n_points++] = p;
    if (p.kind == BENCH_PREFILL && b->ttft_s == 0)
        b->ttft_s = p.n / p.tps.median;
    return -1;
}

static int all_points(bench *b, const weft_model *model, const run_state *r, double *seconds) {
    int code = -1;
    for (size_t i = 0; i < b->prompts.n && code < 0; i++)
        code = add_point(b, model, r,
                         (bench_point){.kind = BENCH_PREFILL, .n = b->prompts.values[i]}, seconds);
    for (size_t i = 0; i < b->depths.n && b->n_decode > 0 && code < 0; i++)
        code = add_point(
            b, model, r,
            (bench_point){.kind = BENCH_DECODE, .n = b->n_decode, .depth = b->depths.values[i]},
            seconds);
    for (size_t i = 0; i < b->batches.n && code < 0; i++)
        code = add_point(b, model, r, (bench_point){.kind = BENCH_BATCH, .n = b->batches.values[i]},
                         seconds);
    return code;
}

/* What a point's products could reach. In default mode those of a prompt may be of bfloat16, where
 * that is the faster. */
static double compute_limit(const bench *b, bool quantized, bench_kind kind) {
    const weft_limits *l = &b->limits;
    double plain = quantized ? l->int8_all : l->f32_all;
    bool exact = b->engine.reproducible || b->engine.floats;
    return kind == BENCH_PREFILL && !exact && l->bf16_all > plain ? l->bf16_all : plain;
}

/* Speeds against limits. */
static void set_shares(bench *b, bool quantized) {
    for (size_t i = 0; i < b->n_points; i++) {
        bench_point *p = &b->points[i];
        double compute = compute_limit(b, quantized, p->kind);
        p->gbps = p->bytes * p->tps.median / 1e9;
        p->gops = p->ops * p->tps.median / 1e9;
        p->of_read = b->limits.read_all > 0 ? 1e9 * p->gbps / b->limits.read_all : (double)NAN;
        p->of_compute = compute > 0 ? 1e9 * p->gops / compute : (double)NAN;
    }
}

int bench_run(bench *b, weft_model *model) {
    run_state r = {.n_vocab = (size_t)weft_model_get_info(model).n_vocab};
    size_t n_ids = (size_t)context_of(b), n_rows = (size_t)greatest(&b->batches);
    int code = bench_session(b, model, &r.session);
    if (code >= 0)
        return code;
    int32_t *ids = malloc((n_ids + 1) * sizeof *ids);
    double *seconds = malloc((size_t)b->n_runs * sizeof *seconds);
    r.rows = malloc((n_rows + 1) * r.n_vocab * sizeof *r.rows);
    if (!ids || !seconds || !r.rows) {
        code = tool_fail("bench", "out of memory");
    } else {
        bench_ids(ids, n_ids + 1, r.n_vocab);
        r.ids = ids;
        code = all_points(b, model, &r, seconds);
    }
    b->rss_bytes = resident_bytes();
    b->cache_bytes = weft_session_cache_bytes(r.session);
    set_shares(b, weft_model_get_cost(model, 0, WEFT_F16).quantized);
    free(r.rows);
    free(ids);
    free(seconds);
    weft_session_release(&r.session);
    return code;
}
