/* Attention over a cache in blocks: each block of positions gives a partial result (largest score,
 * sum of exponentials, weighted sum of values), and partials are merged strictly in the order of
 * positions (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018). Who
 * computes a partial, and when, changes no bit of it. */
#include "base/alloc.h"
#include "tensor/nn.h"
#include "tensor/walk.h"

#include <math.h>
#include <string.h>

#define LANES 16
#define TILE_ROWS 8    /* query rows that share the blocks in cache */
#define SPLIT_BLOCKS 4 /* a shorter history is not worth a second loop */

/* Blocks [first, end) of a row hold visible keys, which are positions [low, high]. */
typedef struct span {
    int32_t low, high, first, end;
} span;

typedef struct job {
    const weft_kernels *kernels;
    const weft_attn_row *rows;
    weft_attn_params params;
    const float *q; /* [n_rows, n_head, dim], unit step within a head */
    int64_t q_row, q_head;
    const unsigned char *k, *v; /* [capacity, n_kv, dim], [capacity, n_kv, dim_v] */
    weft_dtype k_type, v_type;
    size_t n_rows, n_head, n_kv, group, dim, dim_v; /* group: query heads a KV head */
    float *y;                                       /* [n_rows, n_head * dim_v] */
    size_t tile_rows, n_tiles;
    size_t state_floats; /* a partial: the weighted sum, the largest score, the sum */
    size_t n_blocks;     /* the longest span */
    float *partials;     /* split: [n_rows, n_head, n_blocks, state_floats] */
    float *scratch;      /* a thread: scores, one partial, states of a tile */
    size_t scratch_floats, scores_floats;
} job;

/* The one definition of visibility: key j, query at i: i - window < j <= i. */
static span visible(const job *j, size_t row) {
    span s = {0, j->rows[row].position, 0, 0};
    if (s.high < 0)
        return s;
    if (j->params.window > 0 && s.high >= j->params.window)
        s.low = s.high - j->params.window + 1;
    s.first = s.low / j->params.block_size;
    s.end = s.high / j->params.block_size + 1;
    return s;
}

/* Lane by lane, so that compilers use whole vectors. */
static float lane_sum(const float *p, size_t n) {
    float lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            lane[l] += p[i + l];
    for (size_t l = 0; i + l < n; l++)
        lane[l] += p[i + l];
    for (size_t half = LANES / 2; half > 0; half /= 2)
        for (size_t l = 0; l < half; l++)
            lane[l] += lane[l + half];
    return lane[0];
}

static float largest(const float *p, size_t n) {
    float lane[LANES], most = -INFINITY;
    size_t i = 0;
    for (size_t l = 0; l < LANES; l++)
        lane[l] = -INFINITY;
    for (; i + LANES <= n; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            lane[l] = p[i + l] > lane[l] ? p[i + l] : lane[l];
    for (; i < n; i++)
        most = p[i] > most ? p[i] : most;
    for (size_t l = 0; l < LANES; l++)
        most = lane[l] > most ? lane[l] : most;
    return most;
}

/* Partial result of one query head over the visible part of one block. */
static void one_block(const job *j, size_t row, size_t head, span s, int32_t block, float *scores,
                      float *state) {
    const weft_kernels *k = j->kernels;
    int64_t size = j->params.block_size, low = block * size, high = low + size - 1;
    low = low < s.low ? s.low : low;
    high = high > s.high ? s.high : high;
    size_t n = (size_t)(high - low) + 1, kv = head / j->group;
    size_t at = (size_t)j->rows[row].blocks[block] * (size_t)size + (size_t)(low % size);
    const float *q = j->q + (int64_t)row * j->q_row + (int64_t)head * j->q_head;
    size_t k_step = j->n_kv * j->dim, v_step = j->n_kv * j->dim_v;
    size_t k_at = at * k_step + kv * j->dim, v_at = at * v_step + kv * j->dim_v;

    k->attn_scores(q, j->k + k_at * weft_dtype_block_bytes(j->k_type), j->k_type, k_step, j->dim, n,
                   scores);
    k->scale(scores, n, j->params.scale, scores);
    if (j->params.softcap > 0) {
        for (size_t i = 0; i < n; i++)
            scores[i] /= j->params.softcap;
        k->tanh(scores, n, scores);
        k->scale(scores, n, j->params.softcap, scores);
    }
    float most = largest(scores, n);
    for (size_t i = 0; i < n; i++)
        scores[i] -= most;
    k->exp(scores, n, scores);
    state[j->dim_v] = most;
    state[j->dim_v + 1] = lane_sum(scores, n);
    memset(state, 0, j->dim_v * sizeof(float));
    k->attn_values(scores, j->v + v_at * weft_dtype_block_bytes(j->v_type), j->v_type, v_step,
                   j->dim_v, n, state);
}

/* state = state and the partial that follows it. */
static void merge(const job *j, float *state, const float *part) {
    size_t n = j->dim_v;
    float most = part[n] > state[n] ? part[n] : state[n];
    float factor[2] = {state[n] - most, part[n] - most};
    j->kernels->exp(factor, 2, factor);
    /* acc = fmaf(acc_b, factor_b, acc * factor) */
    j->kernels->scale(state, n, factor[0], state);
    j->kernels->attn_values(&factor[1], part, WEFT_F32, n, n, 1, state);
    state[n + 1] = fmaf(part[n + 1], factor[1], state[n + 1] * factor[0]);
    state[n] = most;
}

static void finish(const job *j, size_t row, size_t head, const float *state) {
    float *y = j->y + (row * j->n_head + head) * j->dim_v, sum = state[j->dim_v + 1];
    for (size_t i = 0; i < j->dim_v; i++)
        y[i] = state[i] / sum;
}

static void zero_row(const job *j, size_t row, size_t head) {
    memset(j->y + (row * j->n_head + head) * j->dim_v, 0, j->dim_v * sizeof(float));
}

/* ---- Whole: an item is a tile of rows and one KV head ---- */

static void one_tile(const job *j, size_t first_row, size_t kv, float *scratch) {
    float *scores = scratch, *part = scratch + j->scores_floats;
    float *states = part + j->state_floats;
    size_t n = j->n_rows - first_row < j->tile_rows ? j->n_rows - first_row : j->tile_rows;
    span spans[TILE_ROWS];
    int32_t first = INT32_MAX, end = 0;
    for (size_t r = 0; r < n; r++) {
        spans[r] = visible(j, first_row + r);
        if (spans[r].end == 0)
            continue;
        first = spans[r].first < first ? spans[r].first : first;
        end = spans[r].end > end ? spans[r].end : end;
    }
    for (int32_t b = first; b < end; b++)
        for (size_t i = 0; i < n * j->group; i++) {
            size_t r = i / j->group, head = kv * j->group + i % j->group;
            float *state = states + i * j->state_floats;
            if (b < spans[r].first || b >= spans[r].end)
                continue;
            bool begins = b == spans[r].first;
            one_block(j, first_row + r, head, spans[r], b, scores, begins ? state : part);
            if (!begins)
                merge(j, state, part);
        }
    for (size_t i = 0; i < n * j->group; i++) {
        size_t r = i / j->group, head = kv * j->group + i % j->group;
        if (spans[r].end == 0)
            zero_row(j, first_row + r, head);
        else
            finish(j, first_row + r, head, states + i * j->state_floats);
    }
}

static void run_tiles(void *ctx, size_t begin, size_t end, int thread) {
    const job *j = ctx;
    for (size_t i = begin; i < end; i++) {
        size_t item = j->n_tiles * j->n_kv - 1 - i; /* later rows see more: the long ones first */
        one_tile(j, item / j->n_kv * j->tile_rows, item % j->n_kv,
                 j->scratch + (size_t)thread * j->scratch_floats);
    }
}

/* ---- Split: an item is a row, a KV head and one block; then the partials are merged ---- */

static void run_blocks(void *ctx, size_t begin, size_t end, int thread) {
    const job *j = ctx;
    float *scores = j->scratch + (size_t)thread * j->scratch_floats;
    for (size_t i = begin; i < end; i++) {
        size_t at = i % j->n_blocks, kv = i / j->n_blocks % j->n_kv,
               row = i / j->n_blocks / j->n_kv;
        span s = visible(j, row);
        if (at >= (size_t)(s.end - s.first))
            continue;
        for (size_t head = kv * j->group; head < (kv + 1) * j->group; head++)
            one_block(j, row, head, s, s.first + (int32_t)at, scores,
                      j->partials +
                          ((row * j->n_head + head) * j->n_blocks + at) * j->state_floats);
    }
}

static void run_merges(void *ctx, size_t begin, size_t end, int thread) {
    const job *j = ctx;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        size_t row = i / j->n_head, head = i % j->n_head;
        span s = visible(j, row);
        float *state = j->partials + i * j->n_blocks * j->state_floats;
        if (s.end == 0) {
            zero_row(j, row, head);
            continue;
        }
        for (size_t b = 1; b < (size_t)(s.end - s.first); b++)
            merge(j, state, state + b * j->state_floats);
        finish(j, row, head, state);
    }
}

/* ---- Plan and checks ---- */

static bool take_queries(weft_scope *s, job *j, const weft_tensor *q) {
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

static size_t round_up(size_t n) {
    return (n + 15) / 16 * 16;
}

static bool run(weft_scope *s, job *j) {
    size_t threads = (size_t)weft_team_n_threads(weft_scope_team(s));
    size_t work = j->group * (size_t)j->params.block_size * (j->dim + j->dim_v); /* a block */
    bool split = threads > 1 && j->n_rows * j->n_kv < 4 * threads && j->n_blocks >= SPLIT_BLOCKS;
    j->state_floats = round_up(j->dim_v + 2);
    j->scores_floats = round_up((size_t)j->params.block_size);
    j->tile_rows = TILE_ROWS;
    while (j->tile_rows > 1 && weft_ceil_div(j->n_rows, j->tile_rows) * j->n_kv < 4 * threads)
        j->tile_rows /= 2;
    j->n_tiles = weft_ceil_div(j->n_rows, j->tile_rows);
    j->scratch_floats =
        j->scores_floats + j->state_floats * (split ? 0 : 1 + j->tile_rows * j->group);
    j->scratch = weft_scope_scratch(
        s, "attention", weft_size_of(weft_size_of(threads, j->scratch_floats), sizeof(float)));
    if (j->scratch == NULL)
        return false;
    if (!split) {
        weft_op_loop(s, j->n_tiles * j->n_kv, j->tile_rows * work * (j->n_blocks + 1) / 2,
                     run_tiles, j);
        return true;
    }
    size_t n = j->n_rows * j->n_head * j->n_blocks; /* few rows: far from overflow */
    j->partials = weft_scope_scratch(s, "attention",
                                     weft_size_of(weft_size_of(n, j->state_floats), sizeof(float)));
    if (j->partials == NULL)
        return false;
    weft_op_loop(s, j->n_rows * j->n_kv * j->n_blocks, work, run_blocks, j);
    weft_op_loop(s, j->n_rows * j->n_head, j->n_blocks * j->dim_v, run_merges, j);
    return true;
}

static bool check_tensors(weft_scope *s, const weft_tensor *q, const weft_tensor *k,
                          const weft_tensor *v, const weft_attn_params *params) {
    char sq[96], sk[96], sv[96];
    const weft_tensor *all[] = {q, k, v};
    for (int i = 0; i < 3; i++) {
        if (!weft_op_plain(s, "attention", all[i]))
            return false;
        if (all[i]->dtype == WEFT_F32 || (i > 0 && all[i]->dtype == WEFT_F16))
            continue;
        weft_scope_fail(s, WEFT_E_DTYPE, "attention", "%c is %s: %s is needed", "qkv"[i],
                        weft_dtype_name(all[i]->dtype), i > 0 ? "f32 or f16" : "f32");
        return false;
    }
    weft_shape_text(q, sq, sizeof sq);
    weft_shape_text(k, sk, sizeof sk);
    weft_shape_text(v, sv, sizeof sv);
    if (params->block_size < 1 || params->window < 0) {
        weft_scope_fail(s, WEFT_E_ARGUMENT, "attention", "block_size %d, window %d",
                        params->block_size, params->window);
        return false;
    }
    bool fits = q->rank == 3 && k->rank == 3 && v->rank == 3 && k->dims[0] == v->dims[0] &&
                k->dims[1] == v->dims[1] && k->dims[1] > 0 && q->dims[1] % k->dims[1] == 0 &&
                q->dims[2] == k->dims[2] && k->dims[0] % params->block_size == 0;
    if (!fits) {
        weft_scope_fail(s, WEFT_E_SHAPE, "attention",
                        "q %s, k %s, v %s do not fit: [T, n_head, head_dim] and [capacity, "
                        "n_head_kv, head_dim] with n_head a multiple of n_head_kv and capacity of "
                        "block_size %d are needed",
                        sq, sk, sv, params->block_size);
        return false;
    }
    for (int i = 1; i < 3; i++)
        if (!weft_tensor_is_contiguous(all[i])) {
            weft_scope_fail(s, WEFT_E_NOT_CONTIGUOUS, "attention", "%c %s must be contiguous",
                            "qkv"[i], i == 1 ? sk : sv);
            return false;
        }
    return true;
}

/* Every block that a row will read lies in the cache. */
static bool check_rows(weft_scope *s, job *j, int64_t capacity) {
    for (size_t row = 0; row < j->n_rows; row++) {
        span sp = visible(j, row);
        size_t n = (size_t)(sp.end - sp.first);
        j->n_blocks = n > j->n_blocks ? n : j->n_blocks;
        for (int32_t b = sp.first; b < sp.end; b++) {
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

weft_tensor *weft_attention(weft_scope *s, weft_tensor *q, weft_tensor *k, weft_tensor *v,
                            const weft_attn_row *rows, const weft_attn_params *params) {
    const char *name = "attention";
    weft_tensor *inputs[] = {q, k, v};
    if (!weft_scope_ready(s, name, inputs, 3))
        return NULL;
    if (rows == NULL || params == NULL)
        return weft_scope_fail(s, WEFT_E_NULL, name, "%s is NULL", rows ? "params" : "rows");
    if (!check_tensors(s, q, k, v, params))
        return NULL;
    job j = {.kernels = weft_scope_kernels(s),
             .rows = rows,
             .params = *params,
             .k_type = k->dtype,
             .v_type = v->dtype,
             .n_rows = (size_t)q->dims[0],
             .n_head = (size_t)q->dims[1],
             .n_kv = (size_t)k->dims[1],
             .dim = (size_t)q->dims[2],
             .dim_v = (size_t)v->dims[2]};
    j.group = j.n_head / j.n_kv;
    int64_t width, dims[2] = {q->dims[0], 0};
    if (!weft_mul_i64(q->dims[1], v->dims[2], &width))
        return weft_scope_fail(s, WEFT_E_OVERFLOW, name, "%zu heads of %zu", j.n_head, j.dim_v);
    dims[1] = width;
    if (!check_rows(s, &j, k->dims[0]))
        return NULL;
    weft_tensor *y = weft_scope_new(s, name, WEFT_F32, 2, dims);
    weft_op op;
    if (y == NULL || !weft_op_begin(&op, s, name, inputs, 3))
        return NULL;
    j.k = weft_tensor_data(k);
    j.v = weft_tensor_data(v);
    j.y = weft_tensor_data(y);
    bool done = true;
    if (weft_tensor_numel(y) > 0)
        done = take_queries(s, &j, q) && run(s, &j);
    weft_op_end(&op);
    return done ? y : NULL;
}
