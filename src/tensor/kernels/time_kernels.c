/* Times kernels: kernels.list names them, tables of time_*.c say how each operation is called and
 * what it moves and computes. Weights that decode would read come from memory, everything else from
 * the caches. */
#include "tensor/kernels/time_kernels.h"

#include <stdio.h>
#include <string.h>
#include "base/alloc.h"
#include "base/clock.h"
#include "base/detail.h"
#include "tensor/kernels/time_calls.h"

#define CACHED_BYTES ((size_t)256 << 10) /* of weights that stay in a level-2 cache */
#define FILL 0x3c                        /* f32 0.011, f16 1.06, bf16 0.011, int8 60 */

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

/* The entry's row in one of the tables, or NULL. */
static const time_entry *timed_of(const char *entry) {
    static const time_entry *const tables[] = {weft_time_products, weft_time_attention,
                                               weft_time_elements};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        for (const time_entry *t = tables[i]; t->entry; t++)
            if (strcmp(t->entry, entry) == 0)
                return t;
    return NULL;
}

/* ---- Timing ---- */

typedef struct work_cost {
    double bytes, ops;
    const char *limit;
} work_cost;

typedef struct run_state {
    const time_operands *o;
    const char *filter;
    double seconds;
    weft_kernel_time_fn fn;
    void *ctx;
    size_t n_lines;
    bool stopped;
} run_state;

/* The best of several batches of calls that fill about `seconds`; 0: one call. */
static double best_seconds(const time_entry *t, const time_call *c, double seconds) {
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

static void time_line(run_state *r, const kernel_name *n, const time_entry *t, const time_call *c,
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
static void time_rows(run_state *r, const kernel_name *n, const time_entry *t, time_call *c,
                      const char *limit) {
    size_t bytes = weft_panel_bytes(c->type, TIME_COLS);
    size_t most = (c->rows == 1 ? TIME_WEIGHT_BYTES : CACHED_BYTES) / bytes;
    if (c->k->isa == WEFT_ISA_SCALAR && c->rows == 1)
        most /= 8;
    size_t room = r->o->y_floats / WEFT_PANEL_ROWS / c->rows;
    c->n_panels = most < room ? most : room;
    double elements = (double)c->n_panels * WEFT_PANEL_ROWS * TIME_COLS;
    work_cost cost = {.bytes = (double)(c->n_panels * bytes),
                      .ops = 2 * elements * (double)c->rows,
                      .limit = c->rows == 1 ? "read" : limit};
    time_line(r, n, t, c, &cost, weft_dtype_name(c->type));
}

static void time_panels(run_state *r, const kernel_name *n, const time_entry *t, time_call *c) {
    static const size_t few[] = {1, 4, 64}, many[] = {32, 128, TIME_ROWS};
    bool tiles = t->kind == WORK_TILES;
    for (int type = 0; type < WEFT_DTYPE_COUNT; type++) {
        c->type = (weft_dtype)type;
        if (!weft_panel_bytes(c->type, TIME_COLS))
            continue;
        if (!tiles && weft_dtype_is_quantized(c->type) != t->bytewise)
            continue;
        for (size_t i = 0; i < 3; i++) {
            c->rows = tiles ? many[i] : few[i];
            time_rows(r, n, t, c, tiles ? "bf16" : t->bytewise ? "int8" : "f32");
        }
    }
}

static void time_cache(run_state *r, const kernel_name *n, const time_entry *t, time_call *c) {
    static const weft_dtype types[] = {WEFT_F16, WEFT_BF16, WEFT_Q8_0, WEFT_F32};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        c->type = types[i];
        work_cost cost = {.bytes = (double)(TIME_POSITIONS * weft_time_head_bytes(types[i])),
                          .limit = ""};
        if (t->kind == WORK_HISTORY) {
            c->rows = 3;
            cost.ops = 2.0 * TIME_POSITIONS * TIME_HEAD_DIM * 3;
            cost.limit = "read";
        }
        time_line(r, n, t, c, &cost, weft_dtype_name(types[i]));
    }
}

static void time_attention(run_state *r, const kernel_name *n, const time_entry *t, time_call *c) {
    for (c->rows = 1; c->rows <= 16; c->rows *= 16) {
        double elements = (double)TIME_HEAD_DIM * TIME_POSITIONS;
        work_cost cost = {4 * elements, 2 * elements * (double)c->rows, "f32"};
        time_line(r, n, t, c, &cost, "");
    }
}

static void time_queries(run_state *r, const kernel_name *n, const time_entry *t, time_call *c) {
    double elements = (double)TIME_HEAD_DIM * TIME_POSITIONS;
    c->rows = WEFT_ATTN_BF16_QUERIES;
    work_cost cost = {2 * 2 * elements, 2 * 2 * elements * (double)c->rows, "bf16"};
    time_line(r, n, t, c, &cost, "");
}

static void time_maps(run_state *r, const kernel_name *n, const time_entry *t, time_call *c) {
    for (c->rows = 0; c->rows < TIME_MAPS; c->rows++) {
        work_cost cost = {.bytes = (double)(TIME_FLOATS * weft_time_maps[c->rows].bytes),
                          .limit = ""};
        time_line(r, n, t, c, &cost, weft_time_maps[c->rows].name);
    }
}

static void time_one(run_state *r, const kernel_name *n) {
    const time_entry *t = timed_of(n->entry);
    time_call c = {.k = weft_kernels_of(n->isa), .o = r->o, .rows = 1};
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
        work_cost cost = {.ops = 2.0 * TIME_BLOCK * (TIME_FLOATS / TIME_BLOCK) * TIME_BLOCK,
                          .limit = "f32"};
        time_line(r, n, t, &c, &cost, "");
    } else if (t->kind == WORK_QUERIES) {
        time_queries(r, n, t, &c);
    } else {
        size_t elements = t->elements ? t->elements : TIME_FLOATS;
        work_cost cost = {.bytes = (double)(elements * t->bytes), .limit = ""};
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
    time_operands o = {.y_floats = (size_t)1 << 20, .turn = &turn};
    size_t x_bytes = sizeof(float) * TIME_ROWS * TIME_COLS, y_bytes = sizeof(float) * o.y_floats;
    size_t q_bytes = (size_t)TIME_ROWS * TIME_COLS, block_bytes = x_bytes / 32;
    size_t sums_bytes = y_bytes + sizeof(float) * TIME_ROWS * WEFT_PANEL_ROWS;
    size_t total = TIME_WEIGHT_BYTES + x_bytes + y_bytes + sums_bytes + q_bytes + 2 * block_bytes;
    unsigned char *memory = weft_alloc(a, total);
    if (!memory)
        return weft_fail(WEFT_E_MEMORY, "time_kernels: no memory for %zu bytes", total);
    weft_advise_huge(memory, total);
    memset(memory, FILL, total);
    o.weights = memory;
    o.x = (float *)(void *)(memory + TIME_WEIGHT_BYTES);
    o.y = o.x + TIME_ROWS * TIME_COLS;
    o.q8 = (weft_q8_rows){.n = TIME_ROWS, .n_cols = TIME_COLS};
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
