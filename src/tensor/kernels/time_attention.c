/* Calls that are timed: attention over caches, in floats and in tiles of bf16. */
#include "tensor/kernels/time_calls.h"

size_t weft_time_head_bytes(weft_dtype type) {
    return TIME_HEAD_DIM / weft_dtype_block(type) * weft_dtype_block_bytes(type);
}

static void call_attn_keys(const time_call *c) {
    c->k->attn_keys(c->type, c->o->weights, weft_time_head_bytes(c->type), TIME_HEAD_DIM,
                    TIME_POSITIONS, c->o->y, TIME_POSITIONS);
}

static void call_attn_rows(const time_call *c) {
    c->k->attn_rows(c->type, c->o->weights, weft_time_head_bytes(c->type), TIME_HEAD_DIM,
                    TIME_POSITIONS, c->o->y);
}

static void call_attn_scores(const time_call *c) {
    c->k->attn_scores(c->o->x, c->rows, TIME_HEAD_DIM, (const float *)(const void *)c->o->weights,
                      TIME_POSITIONS, TIME_POSITIONS, c->o->y);
}

static void call_attn_values(const time_call *c) {
    c->k->attn_values(c->o->x, TIME_POSITIONS, c->rows, (const float *)(const void *)c->o->weights,
                      TIME_HEAD_DIM, TIME_POSITIONS, NULL, c->o->y);
}

/* Three queries, over more of a history than the caches hold. */
static const unsigned char *history(const time_call *c) {
    size_t bytes = TIME_POSITIONS * weft_time_head_bytes(c->type);
    return c->o->weights + (*c->o->turn)++ % (TIME_WEIGHT_BYTES / bytes - 1) * bytes;
}

static void call_attn_few_scores(const time_call *c) {
    const unsigned char *k = history(c);
    size_t row = weft_time_head_bytes(c->type);
    c->k->attn_few_scores(c->type, c->o->x, 3, TIME_HEAD_DIM, k, row, TIME_POSITIONS,
                          k + TIME_POSITIONS * row, c->o->y, TIME_POSITIONS);
}

static void call_attn_few_values(const time_call *c) {
    const unsigned char *v = history(c);
    size_t row = weft_time_head_bytes(c->type);
    c->k->attn_few_values(c->type, c->o->x, TIME_POSITIONS, 3, v, row, TIME_HEAD_DIM,
                          TIME_POSITIONS, v + TIME_POSITIONS * row, NULL, c->o->y);
}

static void call_attn_softmax(const time_call *c) {
    float most, sum;
    c->k->attn_softmax(c->o->y, TIME_FLOATS, 0.1f, 0, &most, &sum);
}

static void call_attn_merge(const time_call *c) {
    const float factors[2] = {0.5f, 0.5f};
    c->k->attn_merge(c->o->x, TIME_FLOATS, 1, factors, TIME_FLOATS, c->o->y);
}

/* 32 rows of a cache. */
static const void *const *cache_rows(const time_call *c, size_t first, const void *rows[32]) {
    for (size_t r = 0; r < 32; r++)
        rows[r] = c->o->weights + (first + r) * weft_time_head_bytes(c->type);
    return rows;
}

static void call_attn_bf16_keys(const time_call *c) {
    const void *rows[32];
    for (size_t at = 0; at < TIME_POSITIONS; at += 16)
        c->k->attn_bf16_keys(c->type, cache_rows(c, at, rows), TIME_HEAD_DIM,
                             (uint16_t *)(void *)c->o->y +
                                 WEFT_ATTN_BF16_PARTS * at * TIME_HEAD_DIM);
}

static void call_attn_bf16_values(const time_call *c) {
    const void *rows[32];
    for (size_t at = 0; at < TIME_POSITIONS; at += 32)
        c->k->attn_bf16_values(c->type, cache_rows(c, at, rows), TIME_HEAD_DIM, WEFT_BF16_TILE,
                               (uint16_t *)(void *)c->o->y + at * TIME_HEAD_DIM);
}

static void call_attn_bf16_queries(const time_call *c) {
    const void *rows[16];
    for (size_t r = 0; r < 16; r++)
        rows[r] = c->o->x + r * TIME_FLOATS / 16;
    c->k->attn_bf16_queries(rows, TIME_FLOATS / 16, (uint16_t *)(void *)c->o->y);
}

/* Any bytes will do for tiles. */
static void call_attn_bf16(const time_call *c) {
    const uint16_t *tiles = (const uint16_t *)(const void *)c->o->weights;
    float *y = c->o->y;
    weft_attn_bf16 a = {.key_tiles = WEFT_ATTN_BF16_PARTS * TIME_HEAD_DIM / 32,
                        .dim_v16 = TIME_HEAD_DIM,
                        .values_step = TIME_POSITIONS / 32 * WEFT_BF16_TILE,
                        .scale = 0.1f,
                        .scores = y,
                        .probabilities = (uint16_t *)(void *)(y + TIME_FLOATS)};
    weft_attn_bf16_step s = {.queries = tiles,
                             .keys = tiles,
                             .values = tiles,
                             .n = TIME_POSITIONS,
                             .acc = y + 2 * TIME_FLOATS,
                             .most = y + 3 * TIME_FLOATS,
                             .sum = y + 3 * TIME_FLOATS + WEFT_ATTN_BF16_QUERIES};
    c->k->attn_bf16(&a, &s, 1);
}

static void call_attn_bf16_end(const time_call *c) {
    float *rows[WEFT_ATTN_BF16_QUERIES];
    for (size_t r = 0; r < WEFT_ATTN_BF16_QUERIES; r++)
        rows[r] = c->o->y + r * (TIME_FLOATS / WEFT_ATTN_BF16_QUERIES);
    c->k->attn_bf16_end(c->o->x, TIME_FLOATS / WEFT_ATTN_BF16_QUERIES, c->o->x, rows);
}

const time_entry weft_time_attention[] = {
    {.entry = "attn_bf16_keys", .run = call_attn_bf16_keys, .kind = WORK_CACHE},
    {.entry = "attn_bf16_queries", .run = call_attn_bf16_queries, .kind = WORK_FLOATS, .bytes = 6},
    {.entry = "attn_bf16_values", .run = call_attn_bf16_values, .kind = WORK_CACHE},
    {.entry = "attn_bf16", .run = call_attn_bf16, .kind = WORK_QUERIES},
    {.entry = "attn_bf16_end", .run = call_attn_bf16_end, .kind = WORK_FLOATS, .bytes = 8},
    {.entry = "attn_keys", .run = call_attn_keys, .kind = WORK_CACHE},
    {.entry = "attn_rows", .run = call_attn_rows, .kind = WORK_CACHE},
    {.entry = "attn_scores", .run = call_attn_scores, .kind = WORK_ATTENTION},
    {.entry = "attn_softmax", .run = call_attn_softmax, .kind = WORK_FLOATS, .bytes = 8},
    {.entry = "attn_values", .run = call_attn_values, .kind = WORK_ATTENTION},
    {.entry = "attn_few_scores", .run = call_attn_few_scores, .kind = WORK_HISTORY},
    {.entry = "attn_few_values", .run = call_attn_few_values, .kind = WORK_HISTORY},
    {.entry = "attn_merge", .run = call_attn_merge, .kind = WORK_FLOATS, .bytes = 12},
    {.entry = NULL},
};
