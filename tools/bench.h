/* What the files of `weft bench` share: its options, the points it measures, and tables. */
#ifndef WEFT_TOOLS_BENCH_H
#define WEFT_TOOLS_BENCH_H

#include "tool.h"
#include <weft/extra/bench.h>

#define BENCH_LIST 16

typedef struct bench_list {
    int32_t values[BENCH_LIST];
    size_t n;
} bench_list;

typedef enum bench_format {
    BENCH_TABLE,
    BENCH_MARKDOWN,
    BENCH_CSV,
    BENCH_JSON,
    BENCH_SVG
} bench_format;

typedef struct bench_spread {
    double min, median, max;
} bench_spread;

typedef enum bench_kind { BENCH_PREFILL, BENCH_DECODE, BENCH_BATCH } bench_kind;

/* One measurement. */
typedef struct bench_point {
    bench_kind kind;
    int32_t n;                  /* tokens of the prompt, tokens decoded, or rows of a step */
    int32_t depth;              /* positions in the cache before */
    bench_spread tps;           /* tokens a second */
    bool noisy;                 /* the runs differ too much to tell */
    double bytes, ops;          /* read and computed for one token, by the model's shape */
    double gbps, gops;          /* the median's */
    double of_read, of_compute; /* shares of the limits; NAN where they were not measured */
} bench_point;

/* Of logits in this variant and in the scalar one, and of default mode beside reproducible mode. */
typedef struct bench_hash {
    uint64_t decode, decode_scalar;
    uint64_t prefill, prefill_scalar;     /* in reproducible mode */
    double tps_default, tps_reproducible; /* of the first prompt */
    double mean_kl, largest_difference;   /* of a prompt's logits in the two modes */
    bool equal;
} bench_hash;

typedef struct bench {
    tool_engine engine;
    tool_list adapters;
    const char *model, *shape, *type_name, *format_name;
    weft_dtype type;
    bool mixed; /* --type Q4_K_M */
    bench_format format;
    bench_list prompts, depths, batches;
    int32_t n_decode, n_runs, n_step;
    bool no_limits, only_limits, only_start, profile, kernels, hash, tensor;
    const char *argument; /* of --profile, --kernels or --tensor; NULL: none */
    const char *trace;    /* a file for the profile's single ops; NULL: none */
    /* results */
    const char *title; /* model or shape */
    const char *cpu;
    int threads;
    double load_s, first_token_s, packed_s; /* since the start; packed_s 0: not waited for */
    double ttft_s;                          /* of the first prompt, warm */
    unsigned long long rss_bytes;
    size_t cache_bytes;
    weft_model_info info;
    weft_limits limits; /* all 0 with no_limits */
    bench_point points[3 * BENCH_LIST];
    size_t n_points;
    bench_hash hashes; /* with hash */
} bench;

double bench_now(void);
/* The vocabulary's ids, spread over it, the same in every run. */
void bench_ids(int32_t *ids, size_t n, size_t n_vocab);

/* Measures all points over a session. Each gives -1 to go on or the exit code. */
int bench_run(bench *b, weft_model *model);
int bench_run_profile(bench *b, weft_model *model, weft_engine *engine);
int bench_run_kernels(bench *b, weft_engine *engine);
/* On one thread, then on n_threads. */
int bench_run_tensor(bench *b, int n_threads);
int bench_run_limits(bench *b, weft_engine *engine);
int bench_run_hash(bench *b);
/* Opens the model, evaluates its first token and waits for all of the loading; `start` is when it
 * all began. */
int bench_start(bench *b, weft_engine *engine, double start, weft_model **out);
/* The model of a file or a shape, loaded whole. */
int bench_open_model(const bench *b, weft_engine *engine, weft_model **out);
/* The median speed of the first prompt, ids [its length]. */
weft_status bench_prompt_speed(const bench *b, weft_session *session, const int32_t *ids,
                               double *tps);
/* A session large enough for all points. -1 or the exit code. */
int bench_session(const bench *b, weft_model *model, weft_session **out);

void bench_print(const bench *b);
void bench_print_svg(const bench *b);

/* ---- Tables ---- */

typedef struct bench_column {
    const char *key, *title; /* title NULL: in CSV and JSON only */
    int decimals;            /* of numbers in tables */
} bench_column;

/* A text where `text` is not NULL (borrowed), else a number; NAN is empty. */
typedef struct bench_cell {
    const char *text;
    double number;
} bench_cell;

/* cells [n_rows, n_columns]. JSON: an array of objects. */
void bench_table(bench_format format, const bench_column *columns, size_t n_columns,
                 const bench_cell *cells, size_t n_rows);

static inline bench_cell bench_text(const char *text) {
    return (bench_cell){.text = text};
}
static inline bench_cell bench_number(double number) {
    return (bench_cell){.number = number};
}

#endif
