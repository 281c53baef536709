/* weft bench --tensor: ops of the tensor core, on one thread and on all, beside what the machine's
 * memory and arithmetic allow. Elementwise ops and reductions come from the table of ops. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/extra/op_list.h>

#define SECONDS 0.15 /* a line */
#define MOST_LINES 512
#define SIDE 4096
#define STEP 20 /* small calls between two resets of their scope */

typedef weft_tensor *(*map1)(weft_scope *, weft_tensor *);
typedef weft_tensor *(*map2)(weft_scope *, weft_tensor *, weft_tensor *);
typedef weft_tensor *(*reduction)(weft_scope *, weft_tensor *, int, bool);

/* Operands, made once an engine. */
typedef struct operands {
    weft_scope *keep, *s;        /* s: results, reset after each call */
    weft_tensor *a, *b;          /* [SIDE, SIDE] f32 */
    weft_tensor *f16, *i32, *i8; /* a in other types */
    weft_tensor *small, *cache, *row, *ids, *vector, *square[4], *batch[2];
} operands;

typedef struct tensor_case {
    const char *name;
    weft_tensor *(*run)(const operands *o);
    double bytes, ops; /* of one call; 0: a matter of nanoseconds */
    map1 one;
    map2 two;
    reduction over;
} tensor_case;

/* ---- The named list ---- */

static weft_tensor *run_narrow(const operands *o) {
    return weft_tensor_narrow(o->s, o->small, 0, 1, 8);
}
static weft_tensor *run_small_add(const operands *o) {
    return weft_add(o->s, o->small, o->small);
}
static weft_tensor *run_append(const operands *o) {
    return weft_slice_set(o->s, o->cache, o->row, 0, 100) == WEFT_OK ? o->row : NULL;
}
static weft_tensor *run_sum_all(const operands *o) {
    return weft_sum_dims(o->s, o->a, NULL, 0, false);
}
static weft_tensor *run_sum_first(const operands *o) {
    return weft_sum(o->s, o->a, 0, false);
}
static weft_tensor *run_sum_turned(const operands *o) {
    return weft_sum(o->s, weft_tensor_transpose(o->s, o->a, 0, 1), 1, false);
}
static weft_tensor *run_max_first(const operands *o) {
    return weft_max(o->s, o->a, 0, false);
}
static weft_tensor *run_sum_middle(const operands *o) {
    int64_t dims[] = {SIDE / 64, 64, SIDE};
    return weft_sum(o->s, weft_tensor_reshape(o->s, o->a, 3, dims), 1, false);
}
static weft_tensor *run_argmax_first(const operands *o) {
    return weft_argmax(o->s, o->a, 0, false);
}
static weft_tensor *run_var(const operands *o) {
    return weft_var(o->s, o->a, 1, 1, false);
}
static weft_tensor *run_var_first(const operands *o) {
    return weft_var(o->s, o->a, 1, 0, false);
}
static weft_tensor *run_sum_first_f16(const operands *o) {
    return weft_sum(o->s, o->f16, 0, false);
}
static weft_tensor *run_sum_first_i32(const operands *o) {
    return weft_sum(o->s, o->i32, 0, false);
}
static weft_tensor *run_sum_i8(const operands *o) {
    return weft_sum(o->s, o->i8, 1, false);
}
static weft_tensor *run_add_i32(const operands *o) {
    return weft_add(o->s, o->i32, o->i32);
}
static weft_tensor *run_add_i8(const operands *o) {
    return weft_add(o->s, o->i8, o->i8);
}
static weft_tensor *run_softmax(const operands *o) {
    return weft_softmax(o->s, o->a, 1);
}
static weft_tensor *run_softmax_first(const operands *o) {
    return weft_softmax(o->s, o->a, 0);
}
static weft_tensor *run_layer_norm(const operands *o) {
    return weft_layer_norm(o->s, o->a, NULL, NULL, 1e-5f);
}
static weft_tensor *run_rms_norm(const operands *o) {
    return weft_rms_norm(o->s, o->a, NULL, 1e-5f);
}
static weft_tensor *run_contiguous(const operands *o) {
    return weft_tensor_contiguous(o->s, weft_tensor_transpose(o->s, o->a, 0, 1));
}
static weft_tensor *run_add_turned(const operands *o) {
    return weft_add(o->s, weft_tensor_transpose(o->s, o->a, 0, 1), o->b);
}
static weft_tensor *run_f16(const operands *o) {
    return weft_cast(o->s, o->a, WEFT_F16);
}
static weft_tensor *run_bf16(const operands *o) {
    return weft_cast(o->s, o->a, WEFT_BF16);
}
static weft_tensor *run_select(const operands *o) {
    return weft_index_select(o->s, o->a, 0, o->ids);
}
static weft_tensor *run_256(const operands *o) {
    return weft_matmul(o->s, o->square[0], o->square[0]);
}
static weft_tensor *run_512(const operands *o) {
    return weft_matmul(o->s, o->square[1], o->square[1]);
}
static weft_tensor *run_1024(const operands *o) {
    return weft_matmul(o->s, o->square[2], o->square[2]);
}
static weft_tensor *run_2048(const operands *o) {
    return weft_matmul(o->s, o->square[3], o->square[3]);
}
static weft_tensor *run_batch(const operands *o) {
    return weft_matmul(o->s, o->batch[0], o->batch[1]);
}
static weft_tensor *run_matvec(const operands *o) {
    return weft_matmul(o->s, o->a, o->vector);
}

#define FULL (4.0 * SIDE * SIDE) /* bytes of a [SIDE, SIDE] of f32 */
#define CUBE(n) (2.0 * (n) * (n) * (n))

static const tensor_case named[] = {
    {"narrow of 16 elements", run_narrow, 0, 0, 0, 0, 0},
    {"add of 16 elements", run_small_add, 0, 0, 0, 0, 0},
    {"append [1,9,64] to a cache", run_append, 0, 0, 0, 0, 0},
    {"sum all", run_sum_all, FULL, 0, 0, 0, 0},
    {"sum first", run_sum_first, FULL, 0, 0, 0, 0},
    {"sum of a transpose", run_sum_turned, FULL, 0, 0, 0, 0},
    {"sum middle", run_sum_middle, FULL, 0, 0, 0, 0},
    {"max first", run_max_first, FULL, 0, 0, 0, 0},
    {"argmax first", run_argmax_first, FULL, 0, 0, 0, 0},
    {"var last", run_var, FULL, 0, 0, 0, 0},
    {"var first", run_var_first, FULL, 0, 0, 0, 0},
    {"sum first of f16", run_sum_first_f16, FULL / 2, 0, 0, 0, 0},
    {"sum first of i32", run_sum_first_i32, FULL, 0, 0, 0, 0},
    {"sum last of i8", run_sum_i8, FULL / 4, 0, 0, 0, 0},
    {"add of i32", run_add_i32, 2 * FULL, 0, 0, 0, 0},
    {"add of i8", run_add_i8, FULL / 2, 0, 0, 0, 0},
    {"softmax last", run_softmax, 2 * FULL, 0, 0, 0, 0},
    {"softmax first", run_softmax_first, 2 * FULL, 0, 0, 0, 0},
    {"layer_norm", run_layer_norm, 2 * FULL, 0, 0, 0, 0},
    {"rms_norm", run_rms_norm, 2 * FULL, 0, 0, 0, 0},
    {"contiguous of a transpose", run_contiguous, 2 * FULL, 0, 0, 0, 0},
    {"add of a transpose", run_add_turned, 3 * FULL, 0, 0, 0, 0},
    {"cast to f16", run_f16, 1.5 * FULL, 0, 0, 0, 0},
    {"cast to bf16", run_bf16, 1.5 * FULL, 0, 0, 0, 0},
    {"index_select of 512 rows", run_select, 2.0 * 4 * 512 * SIDE, 0, 0, 0, 0},
    {"matmul 256", run_256, 0, CUBE(256), 0, 0, 0},
    {"matmul 512", run_512, 0, CUBE(512), 0, 0, 0},
    {"matmul 1024", run_1024, 0, CUBE(1024), 0, 0, 0},
    {"matmul 2048", run_2048, 0, CUBE(2048), 0, 0, 0},
    {"matmul 9 of [128,64]x[64,128]", run_batch, 0, 9 * 2.0 * 128 * 128 * 64, 0, 0, 0},
    {"matmul 4096 by a vector", run_matvec, FULL, 0, 0, 0, 0},
};

/* ---- From the table ---- */

#define CASE_MAP1(name, bytes) {#name, NULL, bytes, 0, weft_##name, NULL, NULL},
#define CASE_MAP2(name, bytes) {#name, NULL, bytes, 0, NULL, weft_##name, NULL},
#define ROW_MAP1(name) CASE_MAP1(name, 2 * FULL)
#define ROW_MAP2(name) CASE_MAP2(name, 3 * FULL)
#define ROW_LOGIC(name)
#define ROW_REDUCE(name)
#define ROW_WHERE(name)
#define ROW_VIEW(name)
#define ROW_CREATE(name)
#define ROW_OP(name)
#define ROW(name, kind, types, sums) ROW_##kind(name)
static const tensor_case from_table[] = {WEFT_OP_LIST(ROW)};
#undef ROW

static const tensor_case reductions[] = {
    {"sum last", NULL, FULL, 0, NULL, NULL, weft_sum},
    {"mean last", NULL, FULL, 0, NULL, NULL, weft_mean},
    {"prod last", NULL, FULL, 0, NULL, NULL, weft_prod},
    {"max last", NULL, FULL, 0, NULL, NULL, weft_max},
    {"min last", NULL, FULL, 0, NULL, NULL, weft_min},
    {"argmax last", NULL, FULL, 0, NULL, NULL, weft_argmax},
    {"argmin last", NULL, FULL, 0, NULL, NULL, weft_argmin},
    {"logsumexp last", NULL, FULL, 0, NULL, NULL, weft_logsumexp},
};

/* ---- Timing ---- */

static weft_tensor *run_case(const operands *o, const tensor_case *c) {
    if (c->run)
        return c->run(o);
    if (c->one)
        return c->one(o->s, o->a);
    return c->two ? c->two(o->s, o->a, o->b) : c->over(o->s, o->a, 1, false);
}

/* Seconds of one call and of giving its result back, the best of several; short ones in steps of
 * STEP calls, many at a time. NAN where it is refused. */
static double time_case(const operands *o, const tensor_case *c) {
    size_t times = c->bytes + c->ops > 0 ? 1 : 50 * STEP;
    double best = HUGE_VAL, begin = bench_now();
    for (int i = 0; i < 5 || bench_now() - begin < SECONDS; i++) {
        double start = bench_now();
        for (size_t k = 0; k < times; k++) {
            if (!run_case(o, c)) {
                weft_scope_reset(o->s);
                return (double)NAN;
            }
            if (times == 1 || k % STEP == STEP - 1)
                weft_scope_reset(o->s);
        }
        double seconds = (bench_now() - start) / (double)times;
        best = seconds < best ? seconds : best;
        if (bench_now() - begin > 20 * SECONDS)
            break;
    }
    return best;
}

static weft_status open_operands(weft_engine *engine, operands *o) {
    weft_status status = weft_scope_create(engine, WEFT_SCOPE_HEAP, &o->keep);
    if (!status)
        status = weft_scope_create(engine, WEFT_SCOPE_HEAP, &o->s);
    if (status)
        return status;
    weft_scope *s = o->keep;
    int64_t full[] = {SIDE, SIDE}, sixteen = 16, side = SIDE, ids = 512;
    o->a = weft_random_uniform(s, WEFT_F32, 2, full, 0.5, 1.5, 1);
    o->b = weft_random_uniform(s, WEFT_F32, 2, full, 0.5, 1.5, 2);
    o->f16 = weft_cast(s, o->a, WEFT_F16);
    o->i32 = weft_cast(s, weft_mul_scalar(s, o->a, 1000), WEFT_I32);
    o->i8 = weft_cast(s, o->i32, WEFT_I8);
    o->small = weft_ones(s, WEFT_F32, 1, &sixteen);
    o->cache = weft_zeros(s, WEFT_F32, 3, (int64_t[]){SIDE, 9, 64});
    o->row = weft_ones(s, WEFT_F32, 3, (int64_t[]){1, 9, 64});
    o->vector = weft_ones(s, WEFT_F32, 1, &side);
    o->ids = weft_tensor_narrow(s, weft_random_permutation(s, SIDE, 3), 0, 0, (size_t)ids);
    for (int i = 0; i < 4; i++)
        o->square[i] =
            weft_random_uniform(s, WEFT_F32, 2, (int64_t[]){256 << i, 256 << i}, -1, 1, 4);
    o->batch[0] = weft_random_uniform(s, WEFT_F32, 3, (int64_t[]){9, 128, 64}, -1, 1, 5);
    o->batch[1] = weft_random_uniform(s, WEFT_F32, 3, (int64_t[]){9, 64, 128}, -1, 1, 6);
    return weft_scope_status(s);
}

/* ---- Lines ---- */

static const bench_column columns[] = {
    {"op", "op", 0},     {"threads", "threads", 0}, {"microseconds", "us", 3},
    {"gbps", "GB/s", 2}, {"gflops", "GFLOPS", 1},   {"share", "of the limit", 2},
};
#define N_COLUMNS (sizeof columns / sizeof columns[0])

typedef struct lines {
    bench_cell cells[MOST_LINES][N_COLUMNS];
    size_t n;
} lines;

static void time_list(const bench *b, const operands *o, const tensor_case *list, size_t n,
                      int threads, const weft_limits *limits, lines *l) {
    for (size_t i = 0; i < n && l->n < MOST_LINES; i++) {
        const tensor_case *c = &list[i];
        if (b->argument && !strstr(c->name, b->argument))
            continue;
        double seconds = time_case(o, c), limit = (double)NAN, none = (double)NAN;
        if (isnan(seconds))
            continue;
        if (c->bytes > 0)
            limit = threads == 1 ? limits->read_one : limits->read_all;
        else if (c->ops > 0)
            limit = threads == 1 ? limits->f32_one : limits->f32_all;
        bench_cell *row = l->cells[l->n++];
        row[0] = bench_text(c->name);
        row[1] = bench_number(threads);
        row[2] = bench_number(seconds * 1e6);
        row[3] = bench_number(c->bytes > 0 ? c->bytes / seconds / 1e9 : none);
        row[4] = bench_number(c->ops > 0 ? c->ops / seconds / 1e9 : none);
        row[5] = bench_number(limit > 0 ? (c->bytes + c->ops) / seconds / limit : none);
    }
}

static int run_with(bench *b, int threads, lines *l) {
    tool_engine options = b->engine;
    weft_engine *engine = NULL;
    operands o = {0};
    options.n_threads = threads;
    int code = tool_open_engine(&options, &engine);
    if (code >= 0)
        return code;
    weft_limits limits = {0};
    weft_status status = b->no_limits ? WEFT_OK : weft_measure_limits(engine, NULL, &limits);
    if (!status)
        status = open_operands(engine, &o);
    if (!status) {
        time_list(b, &o, named, sizeof named / sizeof named[0], threads, &limits, l);
        time_list(b, &o, reductions, sizeof reductions / sizeof reductions[0], threads, &limits, l);
        time_list(b, &o, from_table, sizeof from_table / sizeof from_table[0], threads, &limits, l);
    }
    weft_scope_release(&o.s);
    weft_scope_release(&o.keep);
    weft_engine_release(&engine);
    return status ? tool_fail_status("--tensor", status) : -1;
}

int bench_run_tensor(bench *b, int n_threads) {
    lines *l = calloc(1, sizeof *l);
    if (!l)
        return tool_fail("bench", "out of memory");
    int code = run_with(b, 1, l);
    if (code < 0 && n_threads > 1)
        code = run_with(b, n_threads, l);
    if (code < 0 && l->n == 0)
        code = tool_fail("--tensor", "no op fits '%s'", b->argument ? b->argument : "");
    if (code < 0) {
        bench_table(b->format, columns, N_COLUMNS, &l->cells[0][0], l->n);
        code = TOOL_DONE;
    }
    free(l);
    return code;
}
