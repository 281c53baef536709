/* weft bench: how fast a model runs on this machine. */
#include "tool.h"
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char help[] =
    "Usage: weft bench [-m MODEL] [-p N] [-n N] [-r N] [options]\n"
    "Measures tokens a second of a prompt (prefill) and of the text after it (decode), after one\n"
    "run to warm up; the time to load, the time from prompt to first token (ttft, the median, of\n"
    "a loaded model), and the resident memory at the end.\n"
    "  -m MODEL         GGUF file, folder or known name (default: " TOOL_DEFAULT_MODEL ")\n"
    "  -p N             tokens of the prompt (default 512)\n"
    "  -n N             tokens after it (default 64)\n"
    "  -r N             runs (default 5)\n"
    "  -t N             threads (default: physical cores)\n"
    "  --batch N        longest step of the prompt (default 256)\n"
    "  --format FORMAT  table (default), json or csv\n"
    "  --reproducible   the same bits on every machine; --float: a checking path\n"
    "  --cpu NAME       use at most scalar, avx2, avx512 or neon kernels\n"
    "Example: weft bench -m smollm2-135m -t 2 --format json\n";

typedef struct spread {
    double min, median, max;
} spread;

typedef struct bench {
    tool_engine engine;
    const char *model, *format;
    int32_t n_prompt, n_decode, n_runs, n_batch;
    /* results */
    const char *cpu;
    int threads;
    double load_s, ttft_s;
    spread prefill_tps, decode_tps;
    unsigned long long rss_bytes;
} bench;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
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

/* Sorts the values [n]. */
static spread spread_of(double *values, size_t n) {
    qsort(values, n, sizeof *values, ascending);
    double median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
    return (spread){values[0], median, values[n - 1]};
}

/* One prompt and the greedy text after it; seconds of both, up to the first token and beyond. */
static weft_status run_once(weft_session *session, const int32_t *prompt, const bench *b,
                            size_t n_vocab, double *prefill_s, double *decode_s) {
    weft_status status = weft_session_truncate(session, 0, NULL);
    double start = now();
    if (!status)
        status = weft_session_eval(session, prompt, (size_t)b->n_prompt);
    if (status)
        return status;
    int32_t token = tool_argmax(weft_session_logits(session), n_vocab);
    double first = now();
    for (int32_t i = 0; i < b->n_decode && !status; i++) {
        status = weft_session_eval(session, &token, 1);
        if (!status)
            token = tool_argmax(weft_session_logits(session), n_vocab);
    }
    *prefill_s = first - start;
    *decode_s = now() - first;
    return status;
}

/* `times` [2 * n_runs] for prefill and decode. -1 or the exit code. */
static int measure(bench *b, weft_session *session, size_t n_vocab, int32_t *prompt,
                   double *times) {
    uint32_t x = 1; /* ids that are spread over the vocabulary, the same in every run */
    for (int32_t i = 0; i < b->n_prompt; i++) {
        x = x * 1664525u + 1013904223u;
        prompt[i] = (int32_t)((x >> 8) % n_vocab);
    }
    double *prefill = times, *decode = times + b->n_runs;
    for (int32_t i = -1; i < b->n_runs; i++) {
        size_t at = i < 0 ? 0 : (size_t)i; /* the warm-up is overwritten */
        weft_status status = run_once(session, prompt, b, n_vocab, &prefill[at], &decode[at]);
        if (status)
            return tool_fail_status("bench", status);
    }
    size_t n = (size_t)b->n_runs;
    b->ttft_s = spread_of(prefill, n).median;
    for (size_t i = 0; i < n; i++) {
        prefill[i] = b->n_prompt / prefill[i];
        decode[i] = b->n_decode ? b->n_decode / decode[i] : 0;
    }
    b->prefill_tps = spread_of(prefill, n);
    b->decode_tps = spread_of(decode, n);
    b->rss_bytes = resident_bytes();
    return -1;
}

static void print_table(const bench *b, const char *model) {
    printf("%s on %s, %d threads, prompt %d, text %d, %d runs\n", model, b->cpu, b->threads,
           b->n_prompt, b->n_decode, b->n_runs);
    printf("%-22s %9s %9s %9s\n", "", "min", "median", "max");
    const spread *p = &b->prefill_tps, *d = &b->decode_tps;
    printf("%-22s %9.1f %9.1f %9.1f\n", "prefill, tokens/s", p->min, p->median, p->max);
    printf("%-22s %9.1f %9.1f %9.1f\n", "decode, tokens/s", d->min, d->median, d->max);
    printf("%-22s %19.3f\n%-22s %19.3f\n%-22s %19.1f\n", "load, s", b->load_s, "first token, s",
           b->ttft_s, "resident, MB", (double)b->rss_bytes / 1e6);
}

static void print_json(const bench *b, const char *model) {
    const spread *p = &b->prefill_tps, *d = &b->decode_tps;
    printf("{\"model\":");
    tool_write_json_string(model, strlen(model));
    printf(",\"prefill_tps\":{\"min\":%.9g,\"median\":%.9g,\"max\":%.9g}", p->min, p->median,
           p->max);
    printf(",\"decode_tps\":{\"min\":%.9g,\"median\":%.9g,\"max\":%.9g}", d->min, d->median,
           d->max);
    printf(",\"load_s\":%.6f,\"ttft_s\":%.6f,\"rss_bytes\":%llu,\"cpu\":\"%s\",\"threads\":%d",
           b->load_s, b->ttft_s, b->rss_bytes, b->cpu, b->threads);
    printf(",\"n_prompt\":%d,\"n_decode\":%d,\"runs\":%d}\n", b->n_prompt, b->n_decode, b->n_runs);
}

static void print_csv(const bench *b, const char *model) {
    const spread *p = &b->prefill_tps, *d = &b->decode_tps;
    printf("model,cpu,threads,n_prompt,n_decode,runs,prefill_tps_min,prefill_tps_median,"
           "prefill_tps_max,decode_tps_min,decode_tps_median,decode_tps_max,load_s,ttft_s,"
           "rss_bytes\n\"");
    for (const char *c = model; *c; c++)
        printf(*c == '"' ? "\"\"" : "%c", *c);
    printf("\",%s,%d,%d,%d,%d,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.6f,%.6f,%llu\n", b->cpu, b->threads,
           b->n_prompt, b->n_decode, b->n_runs, p->min, p->median, p->max, d->min, d->median,
           d->max, b->load_s, b->ttft_s, b->rss_bytes);
}

static void print_result(const bench *b) {
    const char *model = b->model ? b->model : TOOL_DEFAULT_MODEL;
    if (b->format && strcmp(b->format, "json") == 0)
        print_json(b, model);
    else if (b->format && strcmp(b->format, "csv") == 0)
        print_csv(b, model);
    else
        print_table(b, model);
}

static int with_model(bench *b, weft_model *model) {
    size_t n_vocab = (size_t)weft_model_get_info(model).n_vocab;
    weft_session_options options = weft_session_options_default();
    options.n_context = b->n_prompt + b->n_decode;
    options.n_batch = b->n_batch;
    weft_session *session = NULL;
    int32_t *prompt = malloc((size_t)b->n_prompt * sizeof *prompt);
    double *times = malloc(2 * (size_t)b->n_runs * sizeof *times);
    weft_status status = weft_session_create(model, &options, &session);
    int code = -1;
    if (status)
        code = tool_fail_status("session", status);
    else if (!prompt || !times)
        code = tool_fail("bench", "out of memory");
    else
        code = measure(b, session, n_vocab, prompt, times);
    if (code < 0) {
        print_result(b);
        code = TOOL_DONE;
    }
    weft_session_release(&session);
    free(prompt);
    free(times);
    return code;
}

int tool_bench(int argc, char **argv) {
    bench b = {.n_prompt = 512, .n_decode = 64, .n_runs = 5, .n_batch = 256};
    const tool_option table[] = {
        TOOL_ENGINE_OPTIONS(&b.engine),
        {'m', "model", TOOL_STRING, &b.model, 0, 0},
        {'p', "prompt", TOOL_I32, &b.n_prompt, 1, 1 << 24},
        {'n', "tokens", TOOL_I32, &b.n_decode, 0, 1 << 24},
        {'r', "runs", TOOL_I32, &b.n_runs, 1, 10000},
        {0, "batch", TOOL_I32, &b.n_batch, 1, 1 << 20},
        {0, "format", TOOL_STRING, &b.format, 0, 0},
    };
    int code = tool_parse(argc, argv, help, table, sizeof table / sizeof table[0], NULL);
    if (code >= 0)
        return code;
    if (b.format && strcmp(b.format, "table") != 0 && strcmp(b.format, "json") != 0 &&
        strcmp(b.format, "csv") != 0)
        return tool_usage("bench", "--format wants table, json or csv, not '%s'", b.format);
    weft_engine *engine = NULL;
    weft_model *model = NULL;
    double start = now();
    code = tool_open_engine(&b.engine, &engine);
    if (code < 0)
        code = tool_open_model(engine, b.model, false, NULL, &model);
    b.load_s = now() - start;
    if (code < 0) {
        b.cpu = weft_engine_cpu(engine);
        b.threads = weft_engine_n_threads(engine);
        code = with_model(&b, model);
    }
    weft_model_release(&model);
    weft_engine_release(&engine);
    return tool_finish(code);
}
