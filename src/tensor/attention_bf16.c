/* Attention of long steps in default mode, where the CPU multiplies bfloat16: scores and weighted
 * values are products of bfloat16, sums and exponentials float32.
 *
 * A probability and a value may lose bits: their sum is an average. A score may not, it is an
 * exponent: q and k are each a rounded part and the rest, and three of the four products are summed
 * (as in Henry, Tang and Heinecke 2019).
 *
 * The rows of one sequence are a run. Keys and values of a span of its positions are laid out as
 * tiles once, for all rows and query heads; then groups of 32 queries take the span's chunks in
 * order into their states (the online softmax of attention.c). Chunks begin at fixed positions, and
 * what a query does not see adds exact zeros: neither the threads nor the other rows of a step
 * change its bits. */
#include "tensor/attention_block.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#define QUERIES WEFT_ATTN_BF16_QUERIES
#define CHUNK 128                    /* positions: a group's scores stay in a level-1 cache */
#define GROUPS 4                     /* that take a chunk one after the other */
#define SPAN_BYTES ((size_t)8 << 20) /* of tiles, which all threads share */

typedef struct span_job {
    const attn_job *j;
    size_t row, n_rows;              /* the run */
    int32_t low, high;               /* positions that any of its rows sees */
    int32_t first, end;              /* of this span: whole chunks */
    size_t n_chunks;                 /* that there is room for */
    size_t n_groups, groups_an_item; /* of each KV head */
    size_t chunk_keys, chunk_values; /* elements */
    uint16_t *keys, *values;         /* [n_kv, n_chunks] chunks */
    float *states;                   /* [n_kv, n_groups, dim_v16 + 2, QUERIES] */
    unsigned char *scratch;          /* a thread */
    size_t scratch_bytes;
    weft_attn_bf16 shape;
    atomic_bool broken; /* a value is not finite */
} span_job;

/* 32 queries of one KV head. */
typedef struct group {
    int32_t low[QUERIES], high[QUERIES]; /* those behind the last query see everything */
    int32_t least_low, most_low, least_high, most_high;
    uint16_t *queries;
    float *acc, *most, *sum;
} group;

static size_t tiles(size_t n) {
    return n * WEFT_BF16_TILE;
}

/* ---- Keys and values ---- */

/* The rows of 32 positions of the cache; of those that no row sees, NULL. */
static void find_rows(const span_job *b, int32_t first, size_t kv, const void **keys,
                      const void **values) {
    const attn_job *j = b->j;
    for (int32_t i = 0; i < 32; i++) {
        int32_t at = first + i, size = j->params.block_size;
        int32_t block = at < b->low || at > b->high ? -1 : j->rows[b->row].blocks[at / size];
        keys[i] = values[i] = NULL;
        if (block < 0 || block >= j->n_cache_blocks) /* lies in a gap between two rows' windows */
            continue;
        size_t head = ((size_t)block * (size_t)size + (size_t)(at % size)) * j->n_kv + kv;
        keys[i] = j->k + head * j->k_head;
        values[i] = j->v + head * j->v_head;
    }
}

static void lay_out(void *ctx, size_t begin, size_t end, int thread) {
    span_job *b = ctx;
    const attn_job *j = b->j;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        size_t chunk = i / j->n_kv, kv = i % j->n_kv, at = kv * b->n_chunks + chunk;
        uint16_t *keys = b->keys + at * b->chunk_keys, *values = b->values + at * b->chunk_values;
        int32_t first = b->first + (int32_t)chunk * CHUNK;
        for (int32_t p = first; p < first + CHUNK && p <= b->high; p += 32) {
            const void *k[32], *v[32];
            find_rows(b, p, kv, k, v);
            for (size_t half = 0; half < 32; half += 16, keys += tiles(b->shape.key_tiles))
                j->kernels->attn_bf16_keys(j->k_type, k + half, j->dim, keys);
            if (!j->kernels->attn_bf16_values(j->v_type, v, j->dim_v, b->shape.values_step, values))
                atomic_store_explicit(&b->broken, true, memory_order_relaxed);
            values += tiles(1);
        }
    }
}

/* ---- Groups ---- */

/* Which row of the op and which head a query of group `at` is; false: there are no more. */
static bool query_at(const span_job *b, size_t at, size_t lane, size_t kv, size_t *row,
                     size_t *head) {
    size_t q = at * QUERIES + lane;
    *row = b->row + q / b->j->group;
    *head = kv * b->j->group + q % b->j->group;
    return q < b->n_rows * b->j->group;
}

static void begin_group(const span_job *b, size_t at, size_t kv, uint16_t *queries, group *g) {
    const attn_job *j = b->j;
    const void *rows[QUERIES] = {NULL};
    size_t row, head;
    *g = (group){.least_low = INT32_MAX, .least_high = INT32_MAX, .most_high = -1};
    g->queries = queries;
    g->acc = b->states + (kv * b->n_groups + at) * (b->shape.dim_v16 + 2) * QUERIES;
    g->most = g->acc + b->shape.dim_v16 * QUERIES;
    g->sum = g->most + QUERIES;
    for (size_t i = 0; i < QUERIES; i++) {
        g->high[i] = INT32_MAX;
        if (!query_at(b, at, i, kv, &row, &head))
            continue;
        rows[i] = j->q + (int64_t)row * j->q_row + (int64_t)head * j->q_head;
        attn_span s = weft_attn_visible(j, row);
        g->low[i] = s.low;
        g->high[i] = s.high;
        g->least_high = s.high < g->least_high ? s.high : g->least_high;
        if (s.end == 0)
            continue;
        g->least_low = s.low < g->least_low ? s.low : g->least_low;
        g->most_low = s.low > g->most_low ? s.low : g->most_low;
        g->most_high = s.high > g->most_high ? s.high : g->most_high;
    }
    for (size_t half = 0; half < QUERIES; half += 16, queries += tiles(b->shape.key_tiles))
        j->kernels->attn_bf16_queries(rows + half, j->dim, queries);
    for (size_t i = 0; i < QUERIES && b->first <= b->low; i++) {
        g->most[i] = -INFINITY;
        g->sum[i] = 0;
    }
    if (b->first <= b->low)
        memset(g->acc, 0, b->shape.dim_v16 * QUERIES * sizeof *g->acc);
}

/* The chunk's part that the group sees any of; false: none. */
static bool step_of(const span_job *b, const group *g, size_t kv, int32_t chunk,
                    weft_attn_bf16_step *step) {
    int32_t first = g->least_low / 32 * 32, end = g->most_high / 32 * 32 + 32;
    first = first > chunk ? first : chunk;
    end = end < chunk + CHUNK ? end : chunk + CHUNK;
    if (first >= end || g->most_high < 0)
        return false;
    size_t at = kv * b->n_chunks + (size_t)(chunk - b->first) / CHUNK,
           skip = (size_t)(first - chunk);
    bool whole = g->most_low <= first && g->least_high >= end - 1;
    *step = (weft_attn_bf16_step){.queries = g->queries,
                                  .keys = b->keys + at * b->chunk_keys +
                                          tiles(skip / 16 * b->shape.key_tiles),
                                  .values = b->values + at * b->chunk_values + tiles(skip / 32),
                                  .n = (size_t)(end - first),
                                  .first = first,
                                  .low = whole ? NULL : g->low,
                                  .high = whole ? NULL : g->high,
                                  .acc = g->acc,
                                  .most = g->most,
                                  .sum = g->sum};
    return true;
}

/* y = acc / sum; a sink comes last, as one more position that has no value. */
static void end_group(const span_job *b, size_t at, size_t kv, const group *g) {
    const attn_job *j = b->j;
    float sinks[QUERIES] = {0}, ones[QUERIES], factors[2 * QUERIES], by[QUERIES], *rows[QUERIES];
    size_t row, head;
    for (size_t i = 0; i < QUERIES; i++) {
        bool there = query_at(b, at, i, kv, &row, &head);
        rows[i] = there ? j->y + (row * j->n_head + head) * j->dim_v : NULL;
        ones[i] = factors[2 * i] = 1;
        if (j->sinks != NULL && there)
            sinks[i] = j->sinks[(int64_t)head * j->sinks_step];
    }
    if (j->sinks != NULL)
        weft_attn_join(j->kernels, QUERIES, sinks, ones, g->most, g->sum, factors);
    for (size_t i = 0; i < QUERIES; i++)
        by[i] = g->high[i] >= 0 ? factors[2 * i] / g->sum[i] : 0;
    j->kernels->attn_bf16_end(g->acc, j->dim_v, by, rows);
}

static void attend(void *ctx, size_t begin, size_t end, int thread) {
    const span_job *b = ctx;
    size_t n_parts = weft_ceil_div(b->n_groups, b->groups_an_item);
    weft_attn_bf16 shape = b->shape;
    unsigned char *memory = b->scratch + (size_t)thread * b->scratch_bytes;
    shape.scores = (float *)(void *)memory;
    shape.probabilities = (uint16_t *)(void *)(shape.scores + CHUNK * QUERIES);
    uint16_t *queries = shape.probabilities + tiles(2 * CHUNK / 32);
    for (size_t i = begin; i < end; i++) {
        size_t kv = i % b->j->n_kv, part = n_parts - 1 - i / b->j->n_kv; /* the long ones first */
        size_t first = part * b->groups_an_item, n = b->n_groups - first;
        n = n < b->groups_an_item ? n : b->groups_an_item;
        group groups[GROUPS];
        weft_attn_bf16_step steps[GROUPS];
        for (size_t g = 0; g < n; g++)
            begin_group(b, first + g, kv, queries + tiles(2 * g * shape.key_tiles), &groups[g]);
        for (int32_t chunk = b->first; chunk < b->end; chunk += CHUNK) {
            size_t n_steps = 0;
            for (size_t g = 0; g < n; g++)
                n_steps += step_of(b, &groups[g], kv, chunk, &steps[n_steps]);
            if (n_steps > 0)
                b->j->kernels->attn_bf16(&shape, steps, n_steps);
        }
        for (size_t g = 0; g < n && b->end > b->high; g++)
            end_group(b, first + g, kv, &groups[g]);
    }
}

/* ---- Runs ---- */

static void *take_scratch(weft_scope *s, size_t n, size_t item_bytes) {
    return weft_scope_scratch(s, "attention", weft_size_of(n, item_bytes));
}

/* Sizes that do not depend on the run, and memory for the longest one. */
static bool take_memory(weft_scope *s, span_job *b, size_t most_rows, size_t most_chunks) {
    const attn_job *j = b->j;
    size_t threads = (size_t)weft_team_n_threads(weft_scope_team(s));
    b->shape = (weft_attn_bf16){.key_tiles = WEFT_ATTN_BF16_PARTS * weft_ceil_div(j->dim, 32),
                                .dim_v16 = weft_attn_lanes_up(j->dim_v),
                                .values_step = tiles(CHUNK / 32),
                                .scale = j->params.scale,
                                .softcap = j->params.softcap};
    b->chunk_keys = tiles(CHUNK / 16 * b->shape.key_tiles);
    b->chunk_values = b->shape.dim_v16 / 16 * b->shape.values_step;
    size_t chunk_bytes = j->n_kv * (b->chunk_keys + b->chunk_values) * sizeof *b->keys;
    b->n_chunks = chunk_bytes < SPAN_BYTES ? SPAN_BYTES / chunk_bytes : 1;
    b->n_chunks = b->n_chunks < most_chunks ? b->n_chunks : most_chunks;
    size_t n_groups = weft_ceil_div(weft_size_of(most_rows, j->group), QUERIES);
    b->scratch_bytes = CHUNK * QUERIES * sizeof(float) +
                       tiles(2 * (CHUNK / 32 + GROUPS * b->shape.key_tiles)) * sizeof(uint16_t);
    b->keys = take_scratch(s, b->n_chunks, chunk_bytes);
    b->states = take_scratch(s, weft_size_of(n_groups, j->n_kv),
                             (b->shape.dim_v16 + 2) * QUERIES * sizeof(float));
    b->scratch = take_scratch(s, threads, b->scratch_bytes);
    b->values = b->keys + j->n_kv * b->n_chunks * b->chunk_keys;
    return b->keys != NULL && b->states != NULL && b->scratch != NULL;
}

/* The rows from `row` on that have its block list, and what they see; from the last row on no more
 * than that. */
static void find_run(span_job *b, size_t row) {
    const attn_job *j = b->j;
    b->row = row;
    b->n_rows = 0;
    b->low = INT32_MAX;
    b->high = -1;
    for (; row < j->n_rows && j->rows[row].blocks == j->rows[b->row].blocks; row++) {
        attn_span s = weft_attn_visible(j, row);
        b->n_rows++;
        if (s.end == 0)
            continue;
        b->low = s.low < b->low ? s.low : b->low;
        b->high = s.high > b->high ? s.high : b->high;
    }
    if (b->high < 0) /* nothing: one chunk without keys */
        b->low = 0;
}

static int32_t chunks_of(const span_job *b) {
    return b->high < 0 ? 1 : b->high / CHUNK - b->low / CHUNK + 1;
}

static void run_spans(weft_scope *s, span_job *b) {
    size_t threads = (size_t)weft_team_n_threads(weft_scope_team(s)), n_kv = b->j->n_kv;
    b->n_groups = weft_ceil_div(b->n_rows * b->j->group, QUERIES);
    b->groups_an_item = GROUPS;
    while (b->groups_an_item > 1 && b->n_groups / b->groups_an_item * n_kv < 4 * threads)
        b->groups_an_item /= 2;
    size_t items = weft_ceil_div(b->n_groups, b->groups_an_item) * n_kv;
    b->end = b->low / CHUNK * CHUNK;
    for (int32_t chunks, left = chunks_of(b); left > 0; left -= chunks) {
        chunks = left < (int32_t)b->n_chunks ? left : (int32_t)b->n_chunks;
        b->first = b->end;
        b->end += chunks * CHUNK;
        weft_team_for(weft_scope_team(s), (size_t)chunks * n_kv, 1, lay_out, b);
        if (atomic_load_explicit(&b->broken, memory_order_relaxed))
            return;
        weft_team_for(weft_scope_team(s), items, 1, attend, b);
    }
}

bool weft_attn_bf16_serves(const attn_job *j, const weft_engine *engine) {
    size_t n_runs = 1;
    for (size_t r = 1; r < j->n_rows; r++)
        n_runs += j->rows[r].blocks != j->rows[r - 1].blocks;
    bool wide =
        j->k_type == WEFT_F32 || j->v_type == WEFT_F32; /* whose owner asks for more digits */
    return engine->numbers == WEFT_NUMBERS_DEFAULT && j->n_rows >= WEFT_BATCH_ROWS && !wide &&
           j->kernels->attn_bf16 != NULL && j->params.scale > 0 && j->slopes == NULL &&
           j->n_rows * j->group >= QUERIES * n_runs;
}

bool weft_attn_bf16_run(weft_scope *s, const attn_job *j, bool *done) {
    span_job b = {.j = j};
    size_t most_rows = 0;
    int32_t most_chunks = 0;
    for (size_t row = 0; row < j->n_rows; row += b.n_rows) {
        find_run(&b, row);
        most_rows = b.n_rows > most_rows ? b.n_rows : most_rows;
        most_chunks = chunks_of(&b) > most_chunks ? chunks_of(&b) : most_chunks;
    }
    if (!take_memory(s, &b, most_rows, (size_t)most_chunks))
        return false;
    for (size_t row = 0; row < j->n_rows && !b.broken; row += b.n_rows) {
        find_run(&b, row);
        run_spans(s, &b);
    }
    *done = !b.broken;
    return true;
}
