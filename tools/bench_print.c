/* The results of a benchmark as a table, Markdown, CSV or JSON. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const kinds[] = {"prefill", "decode", "batch"};

static const bench_column columns[] = {
    {"model", NULL, 0},
    {"cpu", NULL, 0},
    {"threads", NULL, 0},
    {"runs", NULL, 0},
    {"test", "test", 0},
    {"n", "tokens", 0},
    {"depth", "depth", 0},
    {"tps_min", "min t/s", 1},
    {"tps_median", "median", 1},
    {"tps_max", "max", 1},
    {"gbps", "GB/s", 1},
    {"of_read", "of read", 2},
    {"gops", "GOPS", 1},
    {"of_compute", "of compute", 2},
    {"noisy", "", 0},
    {"bytes_per_token", NULL, 0},
    {"ops_per_token", NULL, 0},
    {"load_s", NULL, 0},
    {"first_token_s", NULL, 0},
    {"packed_s", NULL, 0},
    {"ttft_s", NULL, 0},
    {"rss_bytes", NULL, 0},
    {"read_one", NULL, 0},
    {"read_all", NULL, 0},
    {"f32_all", NULL, 0},
    {"int8_all", NULL, 0},
};
#define N_COLUMNS (sizeof columns / sizeof columns[0])

static void fill_row(const bench *b, const bench_point *p, bench_cell row[N_COLUMNS]) {
    const weft_limits *l = &b->limits;
    double none = (double)NAN;
    const bench_cell cells[N_COLUMNS] = {
        bench_text(b->title),
        bench_text(b->cpu),
        bench_number(b->threads),
        bench_number(b->n_runs),
        bench_text(kinds[p->kind]),
        bench_number(p->n),
        bench_number(p->depth),
        bench_number(p->tps.min),
        bench_number(p->tps.median),
        bench_number(p->tps.max),
        bench_number(p->gbps),
        bench_number(p->of_read),
        bench_number(p->gops),
        bench_number(p->of_compute),
        bench_text(p->noisy ? "noisy" : ""),
        bench_number(p->bytes),
        bench_number(p->ops),
        bench_number(b->load_s),
        bench_number(b->first_token_s),
        bench_number(b->packed_s),
        bench_number(b->ttft_s),
        bench_number((double)b->rss_bytes),
        bench_number(l->cpu ? l->read_one : none),
        bench_number(l->cpu ? l->read_all : none),
        bench_number(l->cpu ? l->f32_all : none),
        bench_number(l->cpu ? l->int8_all : none),
    };
    memcpy(row, cells, sizeof cells);
}

static void print_points(const bench *b) {
    static bench_cell cells[3 * BENCH_LIST * N_COLUMNS];
    for (size_t i = 0; i < b->n_points; i++)
        fill_row(b, &b->points[i], cells + i * N_COLUMNS);
    bench_table(b->format, columns, N_COLUMNS, cells, b->n_points);
}

static void print_hashes(const bench *b, const char *end) {
    const bench_hash *h = &b->hashes;
    printf("logits of decoding %016llx, of scalar %016llx; of a reproducible prompt %016llx, of "
           "scalar %016llx: %s%s",
           (unsigned long long)h->decode, (unsigned long long)h->decode_scalar,
           (unsigned long long)h->prefill, (unsigned long long)h->prefill_scalar,
           h->equal ? "the same bits" : "DIFFERENT", end);
    printf("prefill %d: %.1f t/s in default mode, %.1f in reproducible mode; mean KL %.3g, largest "
           "difference of a logit %.3g\n",
           b->prompts.values[0], h->tps_default, h->tps_reproducible, h->mean_kl,
           h->largest_difference);
}

/* What belongs to the run as a whole, above the table. */
static void print_heading(const bench *b) {
    const weft_limits *l = &b->limits;
    bool markdown = b->format == BENCH_MARKDOWN;
    const char *end = markdown ? "\\\n" : "\n";
    printf("%s: %s, %.3g parameters, %.3g MB, %d threads, %d runs%s", b->title, b->cpu,
           (double)b->info.n_parameters, (double)b->info.weight_bytes / 1e6, b->threads, b->n_runs,
           end);
    printf("load %.3f s, first token after %.3f s", b->load_s, b->first_token_s);
    if (b->only_start) {
        printf("\n");
        return;
    }
    printf(", all in place after %.3f s%s", b->packed_s, end);
    printf("prompt to first token %.3f s, resident %.1f MB, cache %.1f MB%s", b->ttft_s,
           (double)b->rss_bytes / 1e6, (double)b->cache_bytes / 1e6, l->cpu ? end : "\n");
    if (l->cpu) {
        printf("limits of one thread / all: read %.1f / %.1f GB/s, f32 %.0f / %.0f GFLOPS, int8 "
               "%.0f / %.0f GOPS",
               l->read_one / 1e9, l->read_all / 1e9, l->f32_one / 1e9, l->f32_all / 1e9,
               l->int8_one / 1e9, l->int8_all / 1e9);
        if (l->bf16_all > 0)
            printf(", bf16 %.0f / %.0f GFLOPS", l->bf16_one / 1e9, l->bf16_all / 1e9);
        printf("%s\n", b->threads > 1 && l->f32_all < 1.3 * l->f32_one
                           ? " (noisy: other load on the machine)"
                           : "");
    }
    if (b->hash)
        print_hashes(b, markdown ? "\\\n" : "\n");
    if (markdown)
        printf("\n");
}

static void json_spread(const char *key, const bench *b, bench_kind kind) {
    bench_spread none = {0, 0, 0}, *s = &none, found;
    for (size_t i = b->n_points; i > 0; i--)
        if (b->points[i - 1].kind == kind) {
            found = b->points[i - 1].tps;
            s = &found;
        }
    printf(",\"%s\":{\"min\":%.9g,\"median\":%.9g,\"max\":%.9g}", key, s->min, s->median, s->max);
}

static void json_hashes(const bench_hash *h) {
    printf(
        ",\n\"hash\":{\"decode\":\"%016llx\",\"decode_scalar\":\"%016llx\",\"prefill\":\"%016llx\","
        "\"prefill_scalar\":\"%016llx\",\"equal\":%s",
        (unsigned long long)h->decode, (unsigned long long)h->decode_scalar,
        (unsigned long long)h->prefill, (unsigned long long)h->prefill_scalar,
        h->equal ? "true" : "false");
    printf(",\"tps_default\":%.9g,\"tps_reproducible\":%.9g,\"mean_kl\":%.9g,"
           "\"largest_difference\":%.9g}",
           h->tps_default, h->tps_reproducible, h->mean_kl, h->largest_difference);
}

static void print_json(const bench *b) {
    const weft_limits *l = &b->limits;
    printf("{\"model\":");
    tool_write_json_string(b->title, strlen(b->title));
    json_spread("prefill_tps", b, BENCH_PREFILL);
    json_spread("decode_tps", b, BENCH_DECODE);
    printf(",\"load_s\":%.6f,\"first_token_s\":%.6f,\"packed_s\":%.6f,\"ttft_s\":%.6f", b->load_s,
           b->first_token_s, b->packed_s, b->ttft_s);
    printf(",\"rss_bytes\":%llu,\"cpu\":\"%s\",\"threads\":%d", b->rss_bytes, b->cpu, b->threads);
    printf(",\"n_prompt\":%d,\"n_decode\":%d,\"runs\":%d", b->prompts.values[0], b->n_decode,
           b->n_runs);
    printf(",\"n_parameters\":%llu,\"weight_bytes\":%llu,\"cache_bytes\":%zu",
           (unsigned long long)b->info.n_parameters, (unsigned long long)b->info.weight_bytes,
           b->cache_bytes);
    if (l->cpu)
        printf(",\n\"limits\":{\"cpu\":\"%s\",\"read_one\":%.9g,\"read_all\":%.9g,\"f32_one\":%.9g,"
               "\"f32_all\":%.9g,\"int8_one\":%.9g,\"int8_all\":%.9g,\"bf16_one\":%.9g,"
               "\"bf16_all\":%.9g}",
               l->cpu, l->read_one, l->read_all, l->f32_one, l->f32_all, l->int8_one, l->int8_all,
               l->bf16_one, l->bf16_all);
    if (b->hash)
        json_hashes(&b->hashes);
    printf(",\n\"points\":");
    print_points(b);
    printf("}\n");
}

void bench_print(const bench *b) {
    if (b->format == BENCH_JSON) {
        print_json(b);
    } else if (b->format == BENCH_SVG) {
        bench_print_svg(b);
    } else {
        if (b->format != BENCH_CSV)
            print_heading(b);
        if (!b->only_start)
            print_points(b);
    }
}
