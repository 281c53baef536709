/* Times kernels: kernels.list names them, a table here says how each operation is called and what
 * it moves and computes. Weights that decode would read come from memory, everything else from the
 * caches. All operands are bytes of one value that is an ordinary number in every type. */
#include "tensor/kernels/time_kernels.h"

#include <stdio.h>
#include <string.h>
#include "base/alloc.h"
#include "base/clock.h"
#include "base/detail.h"
#include "tensor/kernels/panel.h"
#include "tensor/kernels/table.h"

/* ---- Names ---- */

typedef struct kernel_name {
    const char *entry, *name;
    weft_isa isa;
} kernel_name;

#define KERNEL_SCALAR(entry, name) {#entry, #name, WEFT_ISA_SCALAR},
#define KERNEL_AVX2(entry, name) {#entry, #name, WEFT_ISA_AVX2},
#define KERNEL_AVXVNNI(entry, name) {#entry, #name, WEFT_ISA_AVXVNNI},
#define KERNEL_AVX512(entry, name) {#entry, #name, WEFT_ISA_AVX512},
#define KERNEL_VNNI(entry, name) {#entry, #name, WEFT_ISA_VNNI},
#define KERNEL_VBMI(entry, name) {#entry, #name, WEFT_ISA_VBMI},
#define KERNEL_BF16(entry, name) {#entry, #name, WEFT_ISA_BF16},
#define KERNEL_AMX(entry, name) {#entry, #name, WEFT_ISA_AMX},
#define KERNEL_NEON(entry, name) {#entry, #name, WEFT_ISA_NEON},
#define KERNEL_DOTPROD(entry, name) {#entry, #name, WEFT_ISA_DOTPROD},
#define KERNEL_I8MM(entry, name) {#entry, #name, WEFT_ISA_I8MM},
static const kernel_name names[] = {
#include "tensor/kernels/kernels.list"
};
#define N_NAMES (sizeof names / sizeof names[0])

/* ---- Operands ---- */

#define MOST_ROWS 512
#define COLS 2048
#define HEAD_DIM 128
#define POSITIONS 64
#define FLOATS 4096                      /* of an elementwise call */
#define BLOCK 48                         /* rows of a product of floats, whole tiles of any CPU */
#define WEIGHT_BYTES ((size_t)128 << 20) /* more than the caches hold */
#define CACHED_BYTES ((size_t)256 << 10) /* of weights that stay in a level-2 cache */
#define FILL 0x3c                        /* f32 0.011, f16 1.06, bf16 0.011, int8 60 */

typedef struct operands {
    unsigned char *weights; /* [WEIGHT_BYTES] */
    float *x, *y;           /* [MOST_ROWS, COLS]; y also takes one GEMV of the weights */
    float *sums;            /* [y_floats], and as much as another panel needs */
    weft_q8_rows q8;
    size_t y_floats;
    size_t *turn; /* counts up, where each call reads another place */
} operands;

typedef struct call {
    const weft_kernels *k;
    const operands *o;
    weft_dtype type;
    size_t rows, n_panels;
} call;

typedef struct work_cost {
    double bytes, ops;
    const char *limit;
} work_cost;

/* ---- Calls ---- */

static void call_quantize_q8(const call *c) {
    const weft_q8_rows *q = &c->o->q8;
    c->k->quantize_q8(c->o->x, COLS, q->q, q->d, q->sums);
}

static void call_panel_q8(const call *c) {
    weft_q8_rows x = c->o->q8;
    x.n = c->rows;
    c->k->panel_q8(c->type, c->o->weights, c->n_panels, &x, c->o->y, c->n_panels * WEFT_PANEL_ROWS);
}

static void call_panel_f32(const call *c) {
    c->k->panel_f32(c->type, c->o->weights, c->n_panels, c->o->x, c->rows, COLS, COLS, c->o->y,
                    c->n_panels * WEFT_PANEL_ROWS);
}

static void call_gemm_pack(const call *c) {
    c->k->gemm_pack(c->o->x, FLOATS / WEFT_PANEL_ROWS, true, FLOATS / WEFT_PANEL_ROWS,
                    WEFT_PANEL_ROWS, c->o->y);
}

/* BLOCK rows of a times FLOATS / BLOCK by BLOCK of panels. */
static void call_gemm(const call *c) {
    c->k->gemm(c->o->x, FLOATS / BLOCK, BLOCK, FLOATS / BLOCK,
               (const float *)(const void *)c->o->weights, BLOCK, c->o->y, BLOCK, true);
}

static void call_gemv_rows(const call *c) {
    c->k->gemv_rows(c->o->x, FLOATS / BLOCK, BLOCK, FLOATS / BLOCK, c->o->sums, c->o->y);
}

static void call_gemv_columns(const call *c) {
    c->k->gemv_columns(c->o->x, FLOATS / BLOCK, BLOCK, FLOATS / BLOCK, c->o->sums, c->o->y);
}

/* Any bytes will do for tiles of x, and room beside them for sums. */
static void call_panel_bf16(const call *c) {
    weft_bf16_rows x = {(const uint16_t *)(const void *)c->o->x, weft_bf16_step(COLS), c->rows,
                        COLS};
    c->k->panel_bf16(c->type, c->o->weights, c->n_panels, &x, c->o->sums, c->o->y,
                     c->n_panels * WEFT_PANEL_ROWS);
}

static void call_rows_bf16(const call *c) {
    c->k->rows_bf16(c->o->x, WEFT_PANEL_ROWS, COLS, COLS, (uint16_t *)(void *)c->o->y);
}

static size_t head_bytes(weft_dtype type) {
    return HEAD_DIM / weft_dtype_block(type) * weft_dtype_block_bytes(type);
}

static void call_attn_keys(const call *c) {
    c->k->attn_keys(c->type, c->o->weights, head_bytes(c->type), HEAD_DIM, POSITIONS, c->o->y,
                    POSITIONS);
}

static void call_attn_rows(const call *c) {
    c->k->attn_rows(c->type, c->o->weights, head_bytes(c->type), HEAD_DIM, POSITIONS, c->o->y);
}

static void call_attn_scores(const call *c) {
    c->k->attn_scores(c->o->x, c->rows, HEAD_DIM, (const float *)(const void *)c->o->weights,
                      POSITIONS, POSITIONS, c->o->y);
}

static void call_attn_values(const call *c) {
    c->k->attn_values(c->o->x, POSITIONS, c->rows, (const float *)(const void *)c->o->weights,
                      HEAD_DIM, POSITIONS, NULL, c->o->y);
}

/* Three queries, over more of a history than the caches hold. */
static const unsigned char *history(const call *c) {
    size_t bytes = POSITIONS * head_bytes(c->type);
    return c->o->weights + (*c->o->turn)++ % (WEIGHT_BYTES / bytes - 1) * bytes;
}

static void call_attn_few_scores(const call *c) {
    const unsigned char *k = history(c);
    size_t row = head_bytes(c->type);
    c->k->attn_few_scores(c->type, c->o->x, 3, HEAD_DIM, k, row, POSITIONS, k + POSITIONS * row,
                          c->o->y, POSITIONS);
}

static void call_attn_few_values(const call *c) {
    const unsigned char *v = history(c);
    size_t row = head_bytes(c->type);
    c->k->attn_few_values(c->type, c->o->x, POSITIONS, 3, v, row, HEAD_DIM, POSITIONS,
                          v + POSITIONS * row, NULL, c->o->y);
}

static void call_attn_softmax(const call *c) {
    float most, sum;
    c->k->attn_softmax(c->o->y, FLOATS, 0.1f, 0, &most, &sum);
}

static void call_attn_merge(const call *c) {
    const float factors[2] = {0.5f, 0.5f};
    c->k->attn_merge(c->o->x, FLOATS, 1, factors, FLOATS, c->o->y);
}

/* 32 rows of a cache. */
static const void *const *cache_rows(const call *c, size_t first, const void *rows[32]) {
    for (size_t r = 0; r < 32; r++)
        rows[r] = c->o->weights + (first + r) * head_bytes(c->type);
    return rows;
}

static void call_attn_bf16_keys(const call *c) {
    const void *rows[32];
    for (size_t at = 0; at < POSITIONS; at += 16)
        c->k->attn_bf16_keys(c->type, cache_rows(c, at, rows), HEAD_DIM,
                             (uint16_t *)(void *)c->o->y + WEFT_ATTN_BF16_PARTS * at * HEAD_DIM);
}

static void call_attn_bf16_values(const call *c) {
    const void *rows[32];
    for (size_t at = 0; at < POSITIONS; at += 32)
        c->k->attn_bf16_values(c->type, cache_rows(c, at, rows), HEAD_DIM, WEFT_BF16_TILE,
                               (uint16_t *)(void *)c->o->y + at * HEAD_DIM);
}

static void call_attn_bf16_queries(const call *c) {
    const void *rows[16];
    for (size_t r = 0; r < 16; r++)
        rows[r] = c->o->x + r * FLOATS / 16;
    c->k->attn_bf16_queries(rows, FLOATS / 16, (uint16_t *)(void *)c->o->y);
}

/* Any bytes will do for tiles. */
static void call_attn_bf16(const call *c) {
    const uint16_t *tiles = (const uint16_t *)(const void *)c->o->weights;
    float *y = c->o->y;
    weft_attn_bf16 a = {.key_tiles = WEFT_ATTN_BF16_PARTS * HEAD_DIM / 32,
                        .dim_v16 = HEAD_DIM,
                        .values_step = POSITIONS / 32 * WEFT_BF16_TILE,
                        .scale = 0.1f,
                        .scores = y,
                        .probabilities = (uint16_t *)(void *)(y + FLOATS)};
    weft_attn_bf16_step s = {.queries = tiles,
                             .keys = tiles,
                             .values = tiles,
                             .n = POSITIONS,
                             .acc = y + 2 * FLOATS,
                             .most = y + 3 * FLOATS,
                             .sum = y + 3 * FLOATS + WEFT_ATTN_BF16_QUERIES};
    c->k->attn_bf16(&a, &s, 1);
}

static void call_attn_bf16_end(const call *c) {
    float *rows[WEFT_ATTN_BF16_QUERIES];
    for (size_t r = 0; r < WEFT_ATTN_BF16_QUERIES; r++)
        rows[r] = c->o->y + r * (FLOATS / WEFT_ATTN_BF16_QUERIES);
    c->k->attn_bf16_end(c->o->x, FLOATS / WEFT_ATTN_BF16_QUERIES, c->o->x, rows);
}

static void call_rms_norm(const call *c) {
    c->k->rms_norm(c->o->x, c->o->x + FLOATS, FLOATS, 1e-5f, c->o->y);
}

static void call_layer_norm(const call *c) {
    c->k->layer_norm(c->o->x, c->o->x + FLOATS, c->o->x + FLOATS, FLOATS, 1e-5f, c->o->y);
}

static void call_softmax(const call *c) {
    c->k->softmax(c->o->x, FLOATS, c->o->y);
}

#define CALL_ONE(entry)                                                                            \
    static void call_##entry(const call *c) {                                                      \
        c->k->entry(c->o->x, FLOATS, c->o->y);                                                     \
    }
CALL_ONE(exp)
CALL_ONE(tanh)
CALL_ONE(silu)
CALL_ONE(gelu_tanh)
CALL_ONE(gelu_erf)
CALL_ONE(sigmoid)
CALL_ONE(softplus)

/* States of FLOATS elements, and rows of the shapes found in models. */
static void call_conv_row(const call *c) {
    const float *x[4];
    for (size_t i = 0; i < 4; i++)
        x[i] = c->o->x + i * FLOATS;
    c->k->conv_row(x, c->o->x, FLOATS, NULL, 4, FLOATS, c->o->y);
}

static void call_delta_step(const call *c) {
    const float *x = c->o->x;
    c->k->delta_step(x, x, x, 0.9f, 0.5f, FLOATS / 64, 64, x + FLOATS, 64, c->o->y, 64,
                     c->o->y + FLOATS);
}

static void call_ssm_scan(const call *c) {
    const float *x = c->o->x;
    c->k->ssm_scan(FLOATS / 16, 16, x + FLOATS, c->o->y, x + 2 * FLOATS, x, x, x, x, x,
                   c->o->y + FLOATS);
}

static void call_ssm_head(const call *c) {
    const float *x = c->o->x;
    c->k->ssm_head(FLOATS / 128, 128, x + FLOATS, c->o->y, 0.9f, 0.1f, x, x, x, 1,
                   c->o->y + FLOATS);
}

#define CALL_TWO(entry)                                                                            \
    static void call_##entry(const call *c) {                                                      \
        c->k->entry(c->o->x, c->o->x + FLOATS, FLOATS, c->o->y);                                   \
    }
CALL_TWO(mul)
CALL_TWO(add)

static void call_scale(const call *c) {
    c->k->scale(c->o->x, FLOATS, 1.5f, c->o->y);
}

static void call_f16_to_f32(const call *c) {
    c->k->f16_to_f32((const uint16_t *)(const void *)c->o->weights, FLOATS, c->o->y);
}

static void call_f32_to_f16(const call *c) {
    c->k->f32_to_f16(c->o->x, FLOATS, (uint16_t *)(void *)c->o->y);
}

static void call_bf16_to_f32(const call *c) {
    c->k->bf16_to_f32((const uint16_t *)(const void *)c->o->weights, FLOATS, c->o->y);
}

static void call_f32_to_bf16(const call *c) {
    c->k->f32_to_bf16(c->o->x, FLOATS, (uint16_t *)(void *)c->o->y);
}

static void call_sum_row(const call *c) {
    c->k->sum_row(c->o->x, FLOATS, (double *)(void *)c->o->y);
}

static void call_sum_columns(const call *c) {
    c->k->sum_columns(c->o->x, 0, 1, 0, FLOATS, (double *)(void *)c->o->y);
}

static void call_best_row(const call *c) {
    c->o->y[0] = c->k->best_row(c->o->x, FLOATS, 1);
}

static void call_best_columns(const call *c) {
    c->k->best_columns(c->o->x, 0, 1, 0, FLOATS, 1, c->o->y);
}

static void call_arg_columns(const call *c) {
    float *best = c->o->y;
    c->k->arg_columns(c->o->x, 0, 1, FLOATS, 1, 0, best, (int32_t *)(void *)(best + FLOATS));
}

static void call_moments_row(const call *c) {
    double *sums = (double *)(void *)c->o->y;
    c->k->moments_row(c->o->x, FLOATS, 0, sums, sums + 16);
}

static void call_moments_columns(const call *c) {
    double *sums = (double *)(void *)c->o->y;
    c->k->moments_columns(c->o->x, 0, 1, FLOATS, c->o->x + FLOATS, sums, sums + FLOATS);
}

static void call_whole_row(const call *c) {
    *(int64_t *)(void *)c->o->y = c->k->whole_row(WEFT_IN_I32, WEFT_WHOLE_SUM, c->o->x, FLOATS, 0);
}

static void call_whole_columns(const call *c) {
    c->k->whole_columns(WEFT_IN_I32, WEFT_WHOLE_SUM, c->o->x, 0, 1, FLOATS,
                        (int64_t *)(void *)c->o->y);
}

/* Two of the many functions: one instruction an element, and a polynomial in double. */
static const struct timed_map {
    const char *name;
    weft_map_op op;
    weft_domain domain;
    size_t bytes;
} maps[] = {
    {"sub f32", WEFT_MAP_SUB, WEFT_IN_F32, 12},
    {"log f64", WEFT_MAP_LOG, WEFT_IN_F64, 16},
};

/* `rows`: which of them. */
static void call_map(const call *c) {
    const struct timed_map *m = &maps[c->rows];
    const weft_map_args args = {.f0 = 1};
    const void *in[2] = {c->o->x, c->o->x + FLOATS};
    c->k->map(m->op, m->domain)(&args, in, FLOATS, c->o->y);
}

/* ---- What an operation is timed with ---- */

typedef enum work_kind {
    WORK_PANELS,    /* weights times 1, 4 and 64 rows */
    WORK_TILES,     /* weights of every type times 32, 128 and 512 rows */
    WORK_CACHE,     /* positions of one head, of every type of a cache */
    WORK_HISTORY,   /* the same, out of memory, for three queries */
    WORK_ATTENTION, /* the same as floats, for 1 and 16 queries */
    WORK_QUERIES,   /* the same as tiles, for all queries that go together */
    WORK_MAPS,      /* FLOATS elements of some functions */
    WORK_BLOCK,     /* a product of floats that stays in the caches */
    WORK_FLOATS     /* FLOATS elements, `bytes` each */
} work_kind;

typedef struct timed {
    const char *entry;
    void (*run)(const call *c);
    work_kind kind;
    bool bytewise; /* panels: products of bytes, for the quantised types */
    size_t bytes;
} timed;

static const timed table[] = {
    {"quantize_q8", call_quantize_q8, WORK_FLOATS, false, 5},
    {"panel_q8", call_panel_q8, WORK_PANELS, true, 0},
    {"panel_f32", call_panel_f32, WORK_PANELS, false, 0},
    {"gemm_pack", call_gemm_pack, WORK_FLOATS, false, 8},
    {"gemm", call_gemm, WORK_BLOCK, false, 0},
    {"gemv_rows", call_gemv_rows, WORK_FLOATS, false, 4},
    {"gemv_columns", call_gemv_columns, WORK_FLOATS, false, 4},
    {"rows_bf16", call_rows_bf16, WORK_FLOATS, false, 6},
    {"panel_bf16", call_panel_bf16, WORK_TILES, false, 0},
    {"attn_bf16_keys", call_attn_bf16_keys, WORK_CACHE, false, 0},
    {"attn_bf16_queries", call_attn_bf16_queries, WORK_FLOATS, false, 6},
    {"attn_bf16_values", call_attn_bf16_values, WORK_CACHE, false, 0},
    {"attn_bf16", call_attn_bf16, WORK_QUERIES, false, 0},
    {"attn_bf16_end", call_attn_bf16_end, WORK_FLOATS, false, 8},
    {"rms_norm", call_rms_norm, WORK_FLOATS, false, 12},
    {"layer_norm", call_layer_norm, WORK_FLOATS, false, 16},
    {"softmax", call_softmax, WORK_FLOATS, false, 8},
    {"attn_keys", call_attn_keys, WORK_CACHE, false, 0},
    {"attn_rows", call_attn_rows, WORK_CACHE, false, 0},
    {"attn_scores", call_attn_scores, WORK_ATTENTION, false, 0},
    {"attn_softmax", call_attn_softmax, WORK_FLOATS, false, 8},
    {"attn_values", call_attn_values, WORK_ATTENTION, false, 0},
    {"attn_few_scores", call_attn_few_scores, WORK_HISTORY, false, 0},
    {"attn_few_values", call_attn_few_values, WORK_HISTORY, false, 0},
    {"attn_merge", call_attn_merge, WORK_FLOATS, false, 12},
    {"exp", call_exp, WORK_FLOATS, false, 8},
    {"tanh", call_tanh, WORK_FLOATS, false, 8},
    {"silu", call_silu, WORK_FLOATS, false, 8},
    {"gelu_tanh", call_gelu_tanh, WORK_FLOATS, false, 8},
    {"gelu_erf", call_gelu_erf, WORK_FLOATS, false, 8},
    {"sigmoid", call_sigmoid, WORK_FLOATS, false, 8},
    {"softplus", call_softplus, WORK_FLOATS, false, 8},
    {"conv_row", call_conv_row, WORK_FLOATS, false, 36},
    {"delta_step", call_delta_step, WORK_FLOATS, false, 8},
    {"ssm_scan", call_ssm_scan, WORK_FLOATS, false, 12},
    {"ssm_head", call_ssm_head, WORK_FLOATS, false, 8},
    {"mul", call_mul, WORK_FLOATS, false, 12},
    {"add", call_add, WORK_FLOATS, false, 12},
    {"scale", call_scale, WORK_FLOATS, false, 8},
    {"f16_to_f32", call_f16_to_f32, WORK_FLOATS, false, 6},
    {"f32_to_f16", call_f32_to_f16, WORK_FLOATS, false, 6},
    {"bf16_to_f32", call_bf16_to_f32, WORK_FLOATS, false, 6},
    {"f32_to_bf16", call_f32_to_bf16, WORK_FLOATS, false, 6},
    {"sum_row", call_sum_row, WORK_FLOATS, false, 4},
    {"sum_columns", call_sum_columns, WORK_FLOATS, false, 20},
    {"best_row", call_best_row, WORK_FLOATS, false, 4},
    {"best_columns", call_best_columns, WORK_FLOATS, false, 12},
    {"arg_columns", call_arg_columns, WORK_FLOATS, false, 20},
    {"moments_row", call_moments_row, WORK_FLOATS, false, 4},
    {"moments_columns", call_moments_columns, WORK_FLOATS, false, 40},
    {"whole_row", call_whole_row, WORK_FLOATS, false, 4},
    {"whole_columns", call_whole_columns, WORK_FLOATS, false, 20},
    {"map", call_map, WORK_MAPS, false, 0},
};

static const timed *timed_of(const char *entry) {
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i].entry, entry) == 0)
            return &table[i];
    return NULL;
}

/* ---- Timing ---- */

typedef struct run_state {
    const operands *o;
    const char *filter;
    double seconds;
    weft_kernel_time_fn fn;
    void *ctx;
    size_t n_lines;
    bool stopped;
} run_state;

/* The best of several batches of calls that fill about `seconds`; 0: one call. */
static double best_seconds(const timed *t, const call *c, double seconds) {
    double start = weft_clock_seconds(), now = start, best = 1e9;
    size_t calls = 1;
    t->run(c);
    now = weft_clock_seconds();
    double one = now - start + 1e-9;
    if (seconds <= 0)
        return one;
    if (one < seconds / 8)
        calls = (size_t)(seconds / 8 / one) + 1;
    do {
        double begin = weft_clock_seconds();
        for (size_t i = 0; i < calls; i++)
            t->run(c);
        now = weft_clock_seconds();
        best = (now - begin) / (double)calls < best ? (now - begin) / (double)calls : best;
    } while (now - start < seconds);
    return best;
}

static bool fits_filter(const run_state *r, const kernel_name *n, const char *type) {
    return !r->filter || !*r->filter || strstr(n->name, r->filter) || strstr(n->entry, r->filter) ||
           strstr(type, r->filter);
}

static void time_line(run_state *r, const kernel_name *n, const timed *t, const call *c,
                      const work_cost *cost, const char *type) {
    if (r->stopped || !fits_filter(r, n, type))
        return;
    weft_kernel_time line = {.kernel = n->entry,
                             .name = n->name,
                             .variant = weft_isa_name(n->isa),
                             .type = type,
                             .limit = cost->limit,
                             .rows = c->rows,
                             .bytes = cost->bytes,
                             .ops = cost->ops};
    line.seconds = best_seconds(t, c, r->seconds);
    r->n_lines++;
    r->stopped = !r->fn(r->ctx, &line);
}

/* One row reads weights from memory, which bounds decode; more rows find them in a cache, as the
 * tiles of a long prompt do. */
static void time_rows(run_state *r, const kernel_name *n, const timed *t, call *c,
                      const char *limit) {
    size_t bytes = weft_panel_bytes(c->type, COLS);
    size_t most = (c->rows == 1 ? WEIGHT_BYTES : CACHED_BYTES) / bytes;
    if (c->k->isa == WEFT_ISA_SCALAR && c->rows == 1)
        most /= 8;
    size_t room = r->o->y_floats / WEFT_PANEL_ROWS / c->rows;
    c->n_panels = most < room ? most : room;
    double elements = (double)c->n_panels * WEFT_PANEL_ROWS * COLS;
    work_cost cost = {.bytes = (double)(c->n_panels * bytes),
                      .ops = 2 * elements * (double)c->rows,
                      .limit = c->rows == 1 ? "read" : limit};
    time_line(r, n, t, c, &cost, weft_dtype_name(c->type));
}

static void time_panels(run_state *r, const kernel_name *n, const timed *t, call *c) {
    static const size_t few[] = {1, 4, 64}, many[] = {32, 128, MOST_ROWS};
    bool tiles = t->kind == WORK_TILES;
    for (int type = 0; type < WEFT_DTYPE_COUNT; type++) {
        c->type = (weft_dtype)type;
        if (!weft_panel_bytes(c->type, COLS))
            continue;
        if (!tiles && weft_dtype_is_quantized(c->type) != t->bytewise)
            continue;
        for (size_t i = 0; i < 3; i++) {
            c->rows = tiles ? many[i] : few[i];
            time_rows(r, n, t, c, tiles ? "bf16" : t->bytewise ? "int8" : "f32");
        }
    }
}

static void time_cache(run_state *r, const kernel_name *n, const timed *t, call *c) {
    static const weft_dtype types[] = {WEFT_F16, WEFT_BF16, WEFT_Q8_0, WEFT_F32};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        c->type = types[i];
        work_cost cost = {.bytes = (double)(POSITIONS * head_bytes(types[i])), .limit = ""};
        if (t->kind == WORK_HISTORY) {
            c->rows = 3;
            cost.ops = 2.0 * POSITIONS * HEAD_DIM * 3;
            cost.limit = "read";
        }
        time_line(r, n, t, c, &cost, weft_dtype_name(types[i]));
    }
}

static void time_attention(run_state *r, const kernel_name *n, const timed *t, call *c) {
    for (c->rows = 1; c->rows <= 16; c->rows *= 16) {
        double elements = (double)HEAD_DIM * POSITIONS;
        work_cost cost = {4 * elements, 2 * elements * (double)c->rows, "f32"};
        time_line(r, n, t, c, &cost, "");
    }
}

static void time_queries(run_state *r, const kernel_name *n, const timed *t, call *c) {
    double elements = (double)HEAD_DIM * POSITIONS;
    c->rows = WEFT_ATTN_BF16_QUERIES;
    work_cost cost = {2 * 2 * elements, 2 * 2 * elements * (double)c->rows, "bf16"};
    time_line(r, n, t, c, &cost, "");
}

static void time_maps(run_state *r, const kernel_name *n, const timed *t, call *c) {
    for (c->rows = 0; c->rows < sizeof maps / sizeof maps[0]; c->rows++) {
        work_cost cost = {.bytes = (double)(FLOATS * maps[c->rows].bytes), .limit = ""};
        time_line(r, n, t, c, &cost, maps[c->rows].name);
    }
}

static void time_one(run_state *r, const kernel_name *n) {
    const timed *t = timed_of(n->entry);
    call c = {.k = weft_kernels_of(n->isa), .o = r->o, .rows = 1};
    if (!t || !c.k || !weft_cpu_has(n->isa))
        return;
    if (t->kind == WORK_PANELS || t->kind == WORK_TILES) {
        time_panels(r, n, t, &c);
    } else if (t->kind == WORK_CACHE || t->kind == WORK_HISTORY) {
        time_cache(r, n, t, &c);
    } else if (t->kind == WORK_MAPS) {
        time_maps(r, n, t, &c);
    } else if (t->kind == WORK_ATTENTION) {
        time_attention(r, n, t, &c);
    } else if (t->kind == WORK_BLOCK) {
        work_cost cost = {.ops = 2.0 * BLOCK * (FLOATS / BLOCK) * BLOCK, .limit = "f32"};
        time_line(r, n, t, &c, &cost, "");
    } else if (t->kind == WORK_QUERIES) {
        time_queries(r, n, t, &c);
    } else {
        work_cost cost = {.bytes = (double)(FLOATS * t->bytes), .limit = ""};
        if (t->run == call_quantize_q8)
            cost.bytes = (double)(COLS * t->bytes);
        if (t->run == call_rows_bf16)
            cost.bytes = (double)(WEFT_PANEL_ROWS * COLS * t->bytes);
        time_line(r, n, t, &c, &cost, "");
    }
}

/* All variants of one operation follow each other, in the order of its first line in the list. */
static void time_all(run_state *r) {
    for (size_t i = 0; i < N_NAMES; i++) {
        bool seen = false;
        for (size_t j = 0; j < i && !seen; j++)
            seen = strcmp(names[i].entry, names[j].entry) == 0;
        for (size_t j = i; j < N_NAMES && !seen; j++)
            if (strcmp(names[i].entry, names[j].entry) == 0)
                time_one(r, &names[j]);
    }
}

weft_status weft_kernels_time(const weft_allocator *a, const char *filter, double seconds,
                              weft_kernel_time_fn fn, void *ctx) {
    size_t turn = 0;
    operands o = {.y_floats = (size_t)1 << 20, .turn = &turn};
    size_t x_bytes = sizeof(float) * MOST_ROWS * COLS, y_bytes = sizeof(float) * o.y_floats;
    size_t q_bytes = (size_t)MOST_ROWS * COLS, block_bytes = x_bytes / 32;
    size_t sums_bytes = y_bytes + sizeof(float) * MOST_ROWS * WEFT_PANEL_ROWS;
    size_t total = WEIGHT_BYTES + x_bytes + y_bytes + sums_bytes + q_bytes + 2 * block_bytes;
    unsigned char *memory = weft_alloc(a, total);
    if (!memory)
        return weft_fail(WEFT_E_MEMORY, "time_kernels: no memory for %zu bytes", total);
    weft_advise_huge(memory, total);
    memset(memory, FILL, total);
    o.weights = memory;
    o.x = (float *)(void *)(memory + WEIGHT_BYTES);
    o.y = o.x + MOST_ROWS * COLS;
    o.q8 = (weft_q8_rows){.n = MOST_ROWS, .n_cols = COLS};
    o.sums = o.y + o.y_floats;
    o.q8.q = (int8_t *)o.sums + sums_bytes;
    o.q8.d = (float *)(void *)(o.q8.q + q_bytes);
    o.q8.sums = (int32_t *)(void *)(o.q8.d + block_bytes / sizeof(float));
    for (size_t i = 0; i < block_bytes / sizeof(int32_t); i++)
        o.q8.sums[i] = 32 * FILL; /* sums that quants can have: products stay within an int */
    run_state r = {.o = &o, .filter = filter, .seconds = seconds, .fn = fn, .ctx = ctx};
    time_all(&r);
    weft_dealloc(a, memory, total);
    if (!r.n_lines)
        return weft_fail(WEFT_E_NOT_FOUND, "time_kernels: no kernel's name has '%s'",
                         filter ? filter : "");
    return WEFT_OK;
}
