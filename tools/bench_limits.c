/* weft bench --limits: what this machine's cores can read and calculate, in every variant. */
#include "bench.h"

#include <math.h>

#define MOST_VARIANTS 16

static const bench_column columns[] = {
    {"variant", "variant", 0}, {"read_one", "read GB/s, one", 1},
    {"read_all", "all", 1},    {"f32_one", "f32 GFLOPS, one", 0},
    {"f32_all", "all", 0},     {"int8_one", "int8 GOPS, one", 0},
    {"int8_all", "all", 0},    {"bf16_one", "bf16 GFLOPS, one", 0},
    {"bf16_all", "all", 0},
};
#define N_COLUMNS (sizeof columns / sizeof columns[0])

/* Billions a second; empty where there is no such instruction. */
static bench_cell billions(double rate) {
    return bench_number(rate > 0 ? rate / 1e9 : (double)NAN);
}

int bench_run_limits(bench *b, weft_engine *engine) {
    bench_cell cells[MOST_VARIANTS * N_COLUMNS];
    size_t n = 0;
    for (const char *name; n < MOST_VARIANTS && (name = weft_variant(n)); n++) {
        weft_limits l;
        weft_status status = weft_measure_limits(engine, name, &l);
        if (status)
            return tool_fail_status("--limits", status);
        bench_cell *row = cells + n * N_COLUMNS;
        const double rates[] = {l.read_one, l.read_all, l.f32_one,  l.f32_all,
                                l.int8_one, l.int8_all, l.bf16_one, l.bf16_all};
        row[0] = bench_text(name);
        for (size_t i = 1; i < N_COLUMNS; i++)
            row[i] = billions(rates[i - 1]);
    }
    bench_table(b->format, columns, N_COLUMNS, cells, n);
    if (b->format == BENCH_JSON)
        tool_write("\n", 1);
    return TOOL_DONE;
}
