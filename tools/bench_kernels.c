/* weft bench --kernels: each kernel in every variant beside scalar and the limits of a core. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS 0.05 /* a line */
#define MOST_VARIANTS 16

static const bench_column columns[] = {
    {"kernel", "kernel", 0},    {"type", "type", 0},   {"rows", "rows", 0},
    {"variant", "variant", 0},  {"gbps", "GB/s", 2},   {"gops", "GOPS", 1},
    {"speedup", "x scalar", 1}, {"limit", "limit", 0}, {"share", "share", 2},
    {"name", NULL, 0},
};
#define N_COLUMNS (sizeof columns / sizeof columns[0])

typedef struct kernel_lines {
    weft_engine *engine;
    weft_kernel_time *times;
    size_t n, room;
    weft_limits limits[MOST_VARIANTS];
    size_t n_limits;
} kernel_lines;

static bool take_line(void *ctx, const weft_kernel_time *time) {
    kernel_lines *l = ctx;
    if (l->n == l->room) {
        size_t room = l->room ? 2 * l->room : 128;
        weft_kernel_time *times = realloc(l->times, room * sizeof *times);
        if (!times)
            return false;
        l->times = times;
        l->room = room;
    }
    l->times[l->n++] = *time;
    return true;
}

/* Measured once a variant; NULL where they could not be. */
static const weft_limits *limits_of(kernel_lines *l, const char *variant) {
    for (size_t i = 0; i < l->n_limits; i++)
        if (strcmp(l->limits[i].cpu, variant) == 0)
            return &l->limits[i];
    if (l->n_limits == MOST_VARIANTS ||
        weft_measure_limits(l->engine, variant, &l->limits[l->n_limits]))
        return NULL;
    return &l->limits[l->n_limits++];
}

static double limit_of(const weft_limits *limits, const char *name) {
    if (!limits)
        return (double)NAN;
    return strcmp(name, "read") == 0   ? limits->read_one
           : strcmp(name, "int8") == 0 ? limits->int8_one
           : strcmp(name, "f32") == 0  ? limits->f32_one
           : strcmp(name, "bf16") == 0 ? limits->bf16_one
                                       : (double)NAN;
}

/* Seconds of the same work in scalar code, for as much work; NAN where there is no such line.
 * Scalar lines may be of fewer panels. */
static double scalar_rate(const kernel_lines *l, const weft_kernel_time *t) {
    for (size_t i = 0; i < l->n; i++) {
        const weft_kernel_time *s = &l->times[i];
        if (strcmp(s->kernel, t->kernel) == 0 && strcmp(s->type, t->type) == 0 &&
            s->rows == t->rows && strcmp(s->variant, "scalar") == 0)
            return s->bytes / s->seconds;
    }
    return (double)NAN;
}

static void fill_row(kernel_lines *l, const weft_kernel_time *t, bool no_limits,
                     bench_cell row[N_COLUMNS]) {
    double rate = t->bytes / t->seconds, ops = t->ops / t->seconds;
    double limit =
        no_limits || !*t->limit ? (double)NAN : limit_of(limits_of(l, t->variant), t->limit);
    row[0] = bench_text(t->kernel);
    row[1] = bench_text(t->type);
    row[2] = bench_number((double)t->rows);
    row[3] = bench_text(t->variant);
    row[4] = bench_number(rate / 1e9);
    row[5] = bench_number(t->ops > 0 ? ops / 1e9 : (double)NAN);
    row[6] = bench_number(rate / scalar_rate(l, t));
    row[7] = bench_text(t->limit);
    row[8] = bench_number((strcmp(t->limit, "read") == 0 ? rate : ops) / limit);
    row[9] = bench_text(t->name);
}

int bench_run_kernels(bench *b, weft_engine *engine) {
    kernel_lines l = {.engine = engine};
    weft_status status = weft_time_kernels(engine, b->argument, SECONDS, take_line, &l);
    bench_cell *cells = l.n ? calloc(l.n * N_COLUMNS, sizeof *cells) : NULL;
    int code = TOOL_DONE;
    if (status) {
        code = tool_fail_status("--kernels", status);
    } else if (!cells) {
        code = tool_fail("bench", "out of memory");
    } else {
        for (size_t i = 0; i < l.n; i++)
            fill_row(&l, &l.times[i], b->no_limits, cells + i * N_COLUMNS);
        bench_table(b->format, columns, N_COLUMNS, cells, l.n);
        if (b->format == BENCH_JSON)
            tool_write("\n", 1);
    }
    free(cells);
    free(l.times);
    return code;
}
