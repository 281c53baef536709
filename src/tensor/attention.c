/* Attention over a cache in blocks: each block of positions gives a partial result (largest score,
 * sum of exponentials, weighted sum of values), and partials are merged strictly in the order of
 * positions (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018). Who
 * computes a partial, and when, changes no bit of it.
 *
 * A tile is several rows of one sequence with all query heads of one KV head: a block's keys and
 * values are read and widened once for all of them. */
#include "base/alloc.h"
#include "tensor/attention_block.h"

#include <math.h>
#include <string.h>

#define TILE_QUERIES 96                  /* query rows times heads that share a block */
#define TILE_FLOATS 32768                /* their queries and sums, for a level-2 cache */
#define FEW_QUERIES 16                   /* a tile: as in decoding */
#define DIRECT_QUERIES 8                 /* for fewer, laying keys out costs more than it brings */
#define MERGED_BLOCKS 32                 /* at a time */
#define PARTIAL_BYTES ((size_t)16 << 20) /* more of them cost more than they bring */
#define SPLIT_BLOCKS 4                   /* a shorter history is not worth a second loop */

/* ---- Whole: an item is a tile and one KV head ---- */

/* y = acc / sum; a sink comes last, as one more position that has no value. */
static void finish(const attn_job *j, size_t row, size_t head, const float *acc, float most,
                   float sum, bool seen) {
    float *y = j->y + (row * j->n_head + head) * j->dim_v, factors[2] = {1, 1}, one = 1;
    if (j->sinks != NULL && seen)
        weft_attn_join(j->kernels, 1, &j->sinks[(int64_t)head * j->sinks_step], &one, &most, &sum,
                       factors);
    for (size_t i = 0; i < j->dim_v; i++) {
        float a = j->sinks != NULL ? acc[i] * factors[0] : acc[i];
        y[i] = seen ? a / sum : 0;
    }
}

/* Has the block that is read after this one asked for meanwhile. */
static void plan_ahead(const attn_job *j, const attn_tile *t, int32_t next, attn_work *w) {
    w->ahead[0] = w->ahead[1] = NULL;
    if (next >= t->end)
        return;
    size_t heads = (size_t)j->rows[t->row].blocks[next] * (size_t)j->params.block_size * j->n_kv;
    w->ahead[0] = j->k + heads * j->k_head;
    w->ahead[1] = j->v + heads * j->v_head;
}

static void one_tile(const attn_job *j, const attn_tile *t, size_t kv, attn_work *w) {
    size_t n_q = t->n * j->group, first, end;
    weft_attn_load_queries(j, t, kv, w);
    memset(w->acc, 0, n_q * j->dim_v16 * sizeof(float));
    for (size_t i = 0; i < n_q; i++) {
        w->most[i] = -INFINITY;
        w->sum[i] = 0;
    }
    for (int32_t b = t->first; b < t->end; b++) {
        plan_ahead(j, t, b + 1, w);
        weft_attn_score_block(j, t, b, kv, w, &first, &end);
        for (size_t r = first, next; r < end; r = next) { /* rows that see none stay as they are */
            for (next = r; next < end && weft_attn_part_of(j, t->row + next, b).n > 0;)
                next++;
            size_t i = r * j->group;
            weft_attn_join(j->kernels, (next - r) * j->group, w->block_most + i, w->block_sum + i,
                           w->most + i, w->sum + i, w->factors + 2 * i);
            next += next == r;
        }
        weft_attn_sum_values(j, t, b, kv, w, first, end, w->factors, w->acc);
    }
    for (size_t i = 0; i < n_q; i++) {
        size_t row = t->row + i / j->group;
        finish(j, row, kv * j->group + i % j->group, w->acc + i * j->dim_v16, w->most[i], w->sum[i],
               weft_attn_visible(j, row).end > 0);
    }
}

static void run_tiles(void *ctx, size_t begin, size_t end, int thread) {
    const attn_job *j = ctx;
    attn_work w = weft_attn_work_of(j, thread);
    for (size_t i = begin; i < end; i++) {
        size_t item = j->n_tiles * j->n_kv - 1 - i; /* later rows see more: the long ones first */
        one_tile(j, &j->tiles[item / j->n_kv], item % j->n_kv, &w);
    }
}

/* ---- Split: an item is a tile, one block and some KV heads; then the partials are merged ---- */

static float *partial_of(const attn_job *j, size_t kv, size_t at, size_t row) {
    return j->partials + ((kv * j->n_blocks + at) * j->n_rows + row) * j->group * j->state_floats;
}

static void one_partial(const attn_job *j, const attn_tile *t, size_t at, size_t kv, attn_work *w) {
    size_t first, end;
    weft_attn_load_queries(j, t, kv, w);
    int32_t block = t->first + (int32_t)at;
    weft_attn_score_block(j, t, block, kv, w, &first, &end);
    weft_attn_sum_values(j, t, block, kv, w, first, end, NULL, w->acc);
    float *to = partial_of(j, kv, at, t->row);
    for (size_t i = first * j->group; i < end * j->group; i++) {
        float *state = to + i * j->state_floats;
        memcpy(state, w->acc + i * j->dim_v16, j->dim_v * sizeof *state);
        state[j->dim_v] = w->block_most[i];
        state[j->dim_v + 1] = w->block_sum[i];
    }
}

static void run_blocks(void *ctx, size_t begin, size_t end, int thread) {
    const attn_job *j = ctx;
    attn_work w = weft_attn_work_of(j, thread);
    size_t parts = j->n_kv / j->kv_an_item;
    for (size_t i = begin; i < end; i++) {
        const attn_tile *t = &j->tiles[i / parts / j->n_blocks];
        size_t at = i / parts % j->n_blocks, kv = i % parts * j->kv_an_item;
        if (at >= (size_t)(t->end - t->first))
            continue;
        plan_ahead(j, t, t->first + (int32_t)at + 1, &w); /* a thread's next chunk follows this */
        for (size_t n = 0; n < j->kv_an_item; n++)
            one_partial(j, t, at, kv + n, &w);
    }
}

/* The partials of consecutive blocks of one query into its state, in order. */
static void merge_blocks(const attn_job *j, const float *state, size_t n, float *most, float *sum,
                         float *y) {
    size_t step = j->n_rows * j->group * j->state_floats;
    float factors[2 * MERGED_BLOCKS] = {0};
    for (size_t b = 0; b < n; b++) {
        float block_most = state[b * step + j->dim_v], m = block_most > *most ? block_most : *most;
        factors[2 * b] = *most - m;
        factors[2 * b + 1] = block_most - m;
        *most = m;
    }
    j->kernels->exp(factors, 2 * n, factors);
    for (size_t b = 0; b < n; b++)
        *sum = fmaf(state[b * step + j->dim_v + 1], factors[2 * b + 1], *sum * factors[2 * b]);
    j->kernels->attn_merge(state, step, n, factors, j->dim_v, y);
}

static void run_merges(void *ctx, size_t begin, size_t end, int thread) {
    const attn_job *j = ctx;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        size_t row = i / j->n_head, head = i % j->n_head, kv = head / j->group;
        attn_span s = weft_attn_visible(j, row);
        float *y = j->y + i * j->dim_v, most = -INFINITY, sum = 0;
        memset(y, 0, j->dim_v * sizeof *y);
        for (int32_t b = s.first; b < s.end; b += MERGED_BLOCKS) {
            size_t at = (size_t)(b - j->tiles[j->tile_of[row]].first);
            const float *state = partial_of(j, kv, at, row) + head % j->group * j->state_floats;
            size_t n = s.end - b < MERGED_BLOCKS ? (size_t)(s.end - b) : MERGED_BLOCKS;
            merge_blocks(j, state, n, &most, &sum, y);
        }
        finish(j, row, head, y, most, sum, s.end > 0);
    }
}

/* ---- Plan and checks ---- */

static bool take_queries(weft_scope *s, attn_job *j, const weft_tensor *q) {
    j->q = weft_tensor_data(q);
    j->q_row = q->strides[0];
    j->q_head = q->strides[1];
    if (q->strides[2] == 1 || q->dims[2] == 1)
        return true;
    size_t heads = weft_size_of(j->n_rows, j->n_head);
    float *packed = weft_scope_scratch(s, "attention",
                                       weft_size_of(weft_size_of(heads, j->dim), sizeof(float)));
    if (packed == NULL)
        return false;
    int64_t steps[3];
    weft_strides_of(3, q->dims, steps);
    weft_copy_strided(s, sizeof(float), 3, q->dims, j->q, q->strides, packed, steps);
    j->q = packed;
    j->q_row = steps[0];
    j->q_head = steps[1];
    return true;
}

/* Cuts the rows into tiles of at most `most` rows of one block list. */
static void cut_tiles(attn_job *j, size_t most) {
    j->tile_rows = most;
    j->n_tiles = j->n_blocks = 0;
    for (size_t r = 0; r < j->n_rows; r++) {
        attn_tile *t = j->n_tiles > 0 ? &j->tiles[j->n_tiles - 1] : NULL;
        attn_span s = weft_attn_visible(j, r);
        if (t == NULL || t->n == most || j->rows[r].blocks != j->rows[t->row].blocks) {
            t = &j->tiles[j->n_tiles++];
            *t = (attn_tile){r, 0, s.first, s.end};
        }
        t->n++;
        j->tile_of[r] = (uint32_t)(j->n_tiles - 1);
        if (s.end > 0) {
            t->first = t->end == 0 || s.first < t->first ? s.first : t->first;
            t->end = s.end > t->end ? s.end : t->end;
        }
        size_t n = (size_t)(t->end - t->first);
        j->n_blocks = n > j->n_blocks ? n : j->n_blocks;
    }
}

static void *take_scratch(weft_scope *s, size_t n, size_t item_bytes) {
    return weft_scope_scratch(s, "attention", weft_size_of(n, item_bytes));
}

/* Tiles as large as pays, or smaller ones, or blocks apart, until every thread has its share. */
static bool plan(weft_scope *s, attn_job *j, size_t threads, bool *split) {
    j->dim16 = weft_attn_lanes_up(j->dim);
    j->dim_v16 = weft_attn_lanes_up(j->dim_v);
    j->ld = weft_attn_lanes_up((size_t)j->params.block_size);
    j->tiles = take_scratch(s, j->n_rows, sizeof *j->tiles);
    j->tile_of = take_scratch(s, j->n_rows, sizeof *j->tile_of);
    if (j->tiles == NULL || j->tile_of == NULL)
        return false;
    size_t queries = TILE_FLOATS / (j->dim16 + j->dim_v16 + 1);
    size_t most = (queries < TILE_QUERIES ? queries : TILE_QUERIES) / j->group;
    most = most == 0 ? 1 : most;
    most = most > j->n_rows ? j->n_rows : most;
    cut_tiles(j, most);
    for (size_t n = most; j->n_tiles * j->n_kv < 4 * threads && n >= 8 && threads > 1;)
        cut_tiles(j, n /= 2);
    /* With few queries for each position memory is what counts: all KV heads go together. */
    bool few = j->n_rows * j->group <= FEW_QUERIES * j->n_tiles;
    *split =
        j->n_blocks >= SPLIT_BLOCKS && (few || (threads > 1 && j->n_tiles * j->n_kv < 4 * threads));
    if (*split)
        cut_tiles(j, most);
    j->few = j->tile_rows * j->group <= DIRECT_QUERIES;
    j->state_floats = weft_attn_lanes_up(j->dim_v + 2);
    size_t partials = weft_size_of(weft_size_of(weft_size_of(j->n_rows, j->n_head), j->n_blocks),
                                   j->state_floats * sizeof *j->partials);
    if (*split && partials > PARTIAL_BYTES) {
        *split = false;
    }
    j->scratch_floats = weft_attn_work_floats(j);
    j->scratch = take_scratch(s, weft_size_of(threads, j->scratch_floats), sizeof *j->scratch);
    return j->scratch != NULL;
}

static bool run(weft_scope *s, attn_job *j) {
    bool split, done = false;
    if (weft_attn_bf16_serves(j, weft_scope_engine(s)) &&
        (!weft_attn_bf16_run(s, j, &done) || done))
        return done;
    size_t threads = (size_t)weft_team_n_threads(weft_scope_team(s));
    if (!plan(s, j, threads, &split))
        return false;
    size_t steps = j->tile_rows * j->group * (size_t)j->params.block_size * (j->dim + j->dim_v);
    if (!split) {
        weft_op_loop(s, j->n_tiles * j->n_kv, steps * (j->n_blocks + 1) / 2, run_tiles, j);
        return true;
    }
    /* All KV heads of a position lie together: a thread that takes them reads in order. */
    j->kv_an_item = j->n_tiles * j->n_blocks >= 4 * threads ? j->n_kv : 1;
    size_t n = j->n_rows * j->n_head * j->n_blocks; /* bounded by PARTIAL_BYTES */
    j->partials = take_scratch(s, weft_size_of(n, j->state_floats), sizeof *j->partials);
    if (j->partials == NULL)
        return false;
    size_t items = j->n_tiles * j->n_blocks * (j->n_kv / j->kv_an_item);
    weft_team_for(weft_scope_team(s), items, items / (4 * threads), run_blocks, j);
    weft_op_loop(s, j->n_rows * j->n_head, j->n_blocks * j->dim_v, run_merges, j);
    return true;
}

/* ALiBi's slopes: a geometric row of the largest power of two heads, then every other one of the
 * row that has twice as many. Square roots of powers of two are the same everywhere. */
static bool find_slopes(weft_scope *s, attn_job *j) {
    size_t most = 1;
    if (j->params.alibi == 0)
        return true;
    if ((j->slopes = take_scratch(s, j->n_head, sizeof *j->slopes)) == NULL)
        return false;
    while (2 * most <= j->n_head)
        most *= 2;
    double step = ldexp(1, -j->params.alibi);
    for (size_t n = most; n > 1; n /= 2)
        step = sqrt(step);
    double half = sqrt(step), slope = 1, odd = half;
    for (size_t h = 0; h < j->n_head; h++) {
        slope = h < most ? slope * step : odd;
        odd *= h < most ? 1 : step;
        j->slopes[h] = (float)slope * j->params.alibi_scale;
    }
    return true;
}

/* Of a value head. */
static int64_t width_of(const weft_tensor *v, const weft_attn_params *params) {
    return params->dim_v > 0 ? params->dim_v : v->dims[2];
}

static bool check_tensors(weft_scope *s, const weft_tensor *q, const weft_tensor *k,
                          const weft_tensor *v, const weft_attn_params *params) {
    char sq[96], sk[96], sv[96];
    const weft_tensor *all[] = {q, k, v};
    for (int i = 0; i < 3; i++) {
        bool blocks = i > 0 && all[i]->dtype == WEFT_Q8_0;
        if (!blocks && !weft_op_plain(s, "attention", all[i]))
            return false;
        weft_dtype type = all[i]->dtype;
        if (type == WEFT_F32 || (i > 0 && weft_cache_type_allowed(type)))
            continue;
        weft_scope_fail(s, WEFT_E_DTYPE, "attention", "%c is %s: %s is needed", "qkv"[i],
                        weft_dtype_name(type), i > 0 ? WEFT_CACHE_TYPES : "f32");
        return false;
    }
    if (params->block_size < 1 || params->window < 0 || params->alibi < 0 || params->alibi > 64) {
        weft_scope_fail(s, WEFT_E_ARGUMENT, "attention", "block_size %d, window %d, alibi %d",
                        params->block_size, params->window, params->alibi);
        return false;
    }
    bool fits = q->rank == 3 && k->rank == 3 && v->rank == 3 && k->dims[0] == v->dims[0] &&
                k->dims[1] == v->dims[1] && k->dims[1] > 0 && q->dims[1] % k->dims[1] == 0 &&
                k->dims[2] == weft_cache_width(k->dtype, q->dims[2]) &&
                v->dims[2] >= weft_cache_width(v->dtype, width_of(v, params)) &&
                k->dims[0] % params->block_size == 0;
    if (!fits) {
        weft_scope_fail(s, WEFT_E_SHAPE, "attention",
                        "q %s, k %s, v %s do not fit: [T, n_head, head_dim] and [capacity, "
                        "n_head_kv, head_dim] with n_head a multiple of n_head_kv and capacity of "
                        "block_size %d are needed (q8_0: head_dim rounded up to 32), and a dim_v "
                        "within v",
                        weft_shape_text(q, sq, sizeof sq), weft_shape_text(k, sk, sizeof sk),
                        weft_shape_text(v, sv, sizeof sv), params->block_size);
        return false;
    }
    for (int i = 1; i < 3; i++)
        if (!weft_tensor_is_contiguous(all[i])) {
            weft_scope_fail(s, WEFT_E_NOT_CONTIGUOUS, "attention", "%c %s must be contiguous",
                            "qkv"[i], weft_shape_text(all[i], sk, sizeof sk));
            return false;
        }
    return true;
}

static bool check_sinks(weft_scope *s, const weft_tensor *q, const weft_tensor *sinks) {
    char sq[96], ss[96];
    if (!weft_op_plain(s, "attention", sinks))
        return false;
    if (sinks->dtype == WEFT_F32 && sinks->rank == 1 && sinks->dims[0] == q->dims[1])
        return true;
    weft_scope_fail(s, sinks->dtype == WEFT_F32 ? WEFT_E_SHAPE : WEFT_E_DTYPE, "attention",
                    "sinks %s %s: f32 of one a head of q %s is needed",
                    weft_shape_text(sinks, ss, sizeof ss), weft_dtype_name(sinks->dtype),
                    weft_shape_text(q, sq, sizeof sq));
    return false;
}

static size_t bytes_of_row(const weft_tensor *t) {
    return (size_t)t->dims[2] / weft_dtype_block(t->dtype) * weft_dtype_block_bytes(t->dtype);
}

/* Every block that a row will read lies in the cache. */
static bool check_rows(weft_scope *s, const attn_job *j, int64_t capacity) {
    for (size_t row = 0; row < j->n_rows; row++) {
        attn_span sp = weft_attn_visible(j, row),
                  last = row > 0 ? weft_attn_visible(j, row - 1) : sp;
        if (sp.low < 0 || (sp.end > 0 && sp.low > sp.high)) {
            weft_scope_fail(s, WEFT_E_RANGE, "attention",
                            "row %zu: its first key is %d, its last one %d", row, sp.low, sp.high);
            return false;
        }
        /* The next row of a sequence sees the last one's blocks again. */
        bool next = row > 0 && j->rows[row].blocks == j->rows[row - 1].blocks &&
                    last.end > last.first && sp.first >= last.first;
        for (int32_t b = next && last.end > sp.first ? last.end : sp.first; b < sp.end; b++) {
            int32_t block = j->rows[row].blocks[b];
            if (block >= 0 && block < capacity / j->params.block_size)
                continue;
            weft_scope_fail(s, WEFT_E_RANGE, "attention",
                            "row %zu: block %d of its list is %d, the cache has %lld", row, b,
                            block, (long long)(capacity / j->params.block_size));
            return false;
        }
    }
    return true;
}

/* For the profile: the positions that the rows see, those of one sequence once. */
static uint64_t seen_bytes(const attn_job *j) {
    uint64_t position = j->n_kv * (j->k_head + j->v_head);
    uint64_t blocks = 0;
    int32_t first = 0;
    for (size_t r = 0; r < j->n_rows; r++) {
        attn_span at = weft_attn_visible(j, r);
        if (r == 0 || j->rows[r].blocks != j->rows[r - 1].blocks)
            first = at.first;
        bool last = r + 1 == j->n_rows || j->rows[r + 1].blocks != j->rows[r].blocks;
        if (last && at.end > first)
            blocks += (uint64_t)(at.end - first);
    }
    return blocks * (uint64_t)j->params.block_size * position;
}

weft_tensor *weft_attention(weft_scope *s, weft_tensor *q, weft_tensor *k, weft_tensor *v,
                            const weft_attn_row *rows, const weft_attn_params *params) {
    const char *name = "attention";
    weft_tensor *sinks = params != NULL ? params->sinks : NULL, *inputs[] = {q, k, v, sinks};
    size_t n_inputs = sinks != NULL ? 4 : 3;
    if (!weft_scope_ready(s, name, inputs, n_inputs))
        return NULL;
    if (rows == NULL || params == NULL)
        return weft_scope_fail(s, WEFT_E_NULL, name, "%s is NULL", rows ? "params" : "rows");
    if (!check_tensors(s, q, k, v, params) || (sinks != NULL && !check_sinks(s, q, sinks)))
        return NULL;
    attn_job j = {.kernels = weft_scope_kernels(s),
                  .rows = rows,
                  .params = *params,
                  .k_type = k->dtype,
                  .v_type = v->dtype,
                  .k_head = bytes_of_row(k),
                  .v_head = bytes_of_row(v),
                  .n_rows = (size_t)q->dims[0],
                  .n_head = (size_t)q->dims[1],
                  .n_kv = (size_t)k->dims[1],
                  .n_cache_blocks = k->dims[0] / params->block_size,
                  .dim = (size_t)q->dims[2],
                  .dim_v = (size_t)width_of(v, params)};
    j.group = j.n_head / j.n_kv;
    int64_t width, dims[2] = {q->dims[0], 0};
    if (!weft_mul_i64(q->dims[1], (int64_t)j.dim_v, &width))
        return weft_scope_fail(s, WEFT_E_OVERFLOW, name, "%zu heads of %zu", j.n_head, j.dim_v);
    dims[1] = width;
    if (!check_rows(s, &j, k->dims[0]))
        return NULL;
    weft_tensor *y = weft_scope_new(s, name, WEFT_F32, 2, dims);
    weft_op op;
    if (y == NULL || !weft_op_begin(&op, s, name, inputs, n_inputs))
        return NULL;
    if (op.timing.profile)
        weft_op_reads(&op, seen_bytes(&j));
    j.k = weft_tensor_data(k);
    j.v = weft_tensor_data(v);
    if (sinks != NULL) {
        j.sinks = weft_tensor_data(sinks);
        j.sinks_step = sinks->strides[0];
    }
    j.y = weft_tensor_data(y);
    bool done = true;
    if (weft_tensor_numel(y) > 0)
        done = take_queries(s, &j, q) && find_slopes(s, &j) && run(s, &j);
    weft_op_end(&op);
    return done ? y : NULL;
}
