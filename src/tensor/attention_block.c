/* Scores, probabilities and weighted values of one block for all queries of a tile, by the
 * attention kernels. The block's keys and values are read and widened once. */
#include "tensor/attention_block.h"

#include <math.h>
#include <string.h>

#define LANES 16

attn_span weft_attn_visible(const attn_job *j, size_t row) {
    attn_span s = {0, j->rows[row].position, 0, 0};
    if (s.high < 0)
        return s;
    if (j->params.firsts != NULL)
        s.low = j->params.firsts[row];
    else if (j->params.window > 0 && s.high >= j->params.window)
        s.low = s.high - j->params.window + 1;
    s.first = s.low / j->params.block_size;
    s.end = s.high / j->params.block_size + 1;
    return s;
}

attn_part weft_attn_part_of(const attn_job *j, size_t row, int32_t block) {
    attn_span s = weft_attn_visible(j, row);
    int64_t size = j->params.block_size, at = block * size;
    if (block < s.first || block >= s.end)
        return (attn_part){0, 0};
    int64_t low = s.low > at ? s.low - at : 0, high = s.high - at;
    high = high < size ? high : size - 1;
    return (attn_part){(size_t)low, (size_t)(high - low) + 1};
}

size_t weft_attn_lanes_up(size_t n) {
    return (n + LANES - 1) / LANES * LANES;
}

size_t weft_attn_work_floats(const attn_job *j) {
    size_t n_q = j->tile_rows * j->group;
    size_t block = j->few ? 0 : j->dim16 * j->ld + (size_t)j->params.block_size * j->dim_v16;
    return n_q * (j->dim16 + j->ld + j->dim_v16) + block + weft_attn_lanes_up(6 * n_q);
}

attn_work weft_attn_work_of(const attn_job *j, int thread) {
    size_t n_q = j->tile_rows * j->group;
    attn_work w = {.q = j->scratch + (size_t)thread * j->scratch_floats};
    w.keys = w.q + n_q * j->dim16;
    w.values = j->few ? w.keys : w.keys + j->dim16 * j->ld;
    w.scores = j->few ? w.values : w.values + (size_t)j->params.block_size * j->dim_v16;
    w.acc = w.scores + n_q * j->ld;
    w.most = w.acc + n_q * j->dim_v16;
    w.sum = w.most + n_q;
    w.block_most = w.sum + n_q;
    w.block_sum = w.block_most + n_q;
    w.factors = w.block_sum + n_q;
    return w;
}

void weft_attn_load_queries(const attn_job *j, const attn_tile *t, size_t kv, const attn_work *w) {
    float *to = w->q;
    for (size_t r = 0; r < t->n; r++)
        for (size_t g = 0; g < j->group; g++, to += j->dim16) {
            const float *from =
                j->q + (int64_t)(t->row + r) * j->q_row + (int64_t)(kv * j->group + g) * j->q_head;
            memcpy(to, from, j->dim * sizeof *to);
            memset(to + j->dim, 0, (j->dim16 - j->dim) * sizeof *to);
        }
}

/* The first position of a block in the cache, one head: its key or its value. */
static const unsigned char *row_of(const attn_job *j, const attn_tile *t, int32_t block, size_t kv,
                                   int value) {
    size_t at = (size_t)j->rows[t->row].blocks[block] * (size_t)j->params.block_size;
    return value ? j->v + (at * j->n_kv + kv) * j->v_head : j->k + (at * j->n_kv + kv) * j->k_head;
}

/* Scaled scores of keys that lie `distance` and more positions from the query, with ALiBi. */
static void lean(float *s, size_t n, float scale, float slope, int64_t distance) {
    for (size_t i = 0; i < n; i++)
        s[i] = s[i] * scale + slope * (float)(distance + (int64_t)i);
}

void weft_attn_score_block(const attn_job *j, const attn_tile *t, int32_t block, size_t kv,
                           attn_work *w, size_t *first, size_t *end) {
    size_t n = 0; /* positions of the block, up to the last that is seen */
    *first = t->n;
    *end = 0;
    for (size_t r = 0; r < t->n; r++) {
        attn_part p = weft_attn_part_of(j, t->row + r, block);
        if (p.n == 0)
            continue;
        *first = r < *first ? r : *first;
        *end = r + 1;
        n = p.low + p.n > n ? p.low + p.n : n;
    }
    if (n == 0)
        return;
    const weft_kernels *k = j->kernels;
    const unsigned char *keys = row_of(j, t, block, kv, 0);
    size_t from = *first * j->group, n_q = (*end - *first) * j->group;
    const float *q = w->q + from * j->dim16;
    float *scores = w->scores + from * j->ld;
    size_t k_row = j->n_kv * j->k_head;
    if (j->few) {
        k->attn_few_scores(j->k_type, q, n_q, j->dim, keys, k_row, n,
                           w->ahead[0] ? w->ahead[0] + kv * j->k_head : NULL, scores, j->ld);
    } else {
        k->attn_keys(j->k_type, keys, k_row, j->dim, n, w->keys, j->ld);
        k->attn_scores(q, n_q, j->dim, w->keys, j->ld, n, scores);
    }
    for (size_t r = *first; r < *end; r++) {
        attn_part p = weft_attn_part_of(j, t->row + r, block);
        for (size_t i = r * j->group; i < (r + 1) * j->group && p.n > 0; i++) {
            float *s = w->scores + i * j->ld + p.low, scale = j->params.scale;
            if (j->slopes) {
                int64_t at = (int64_t)block * j->params.block_size + (int64_t)p.low;
                lean(s, p.n, scale, j->slopes[kv * j->group + i - r * j->group],
                     at - j->rows[t->row + r].position);
                scale = 1;
            }
            k->attn_softmax(s, p.n, scale, j->params.softcap, &w->block_most[i], &w->block_sum[i]);
        }
    }
    if (!j->few)
        k->attn_rows(j->v_type, row_of(j, t, block, kv, 1), j->n_kv * j->v_head, j->dim_v, n,
                     w->values);
}

/* Queries [i, i + n_q), which see the same part of the block. */
static void sum_part(const attn_job *j, const attn_tile *t, int32_t block, size_t kv,
                     const attn_work *w, attn_part p, size_t i, size_t n_q, const float *factors,
                     float *acc) {
    const float *scores = w->scores + i * j->ld + p.low;
    factors = factors != NULL ? factors + 2 * i : NULL;
    acc += i * j->dim_v16;
    if (j->few) {
        size_t row = j->n_kv * j->v_head;
        const unsigned char *ahead = w->ahead[1] ? w->ahead[1] + kv * j->v_head : NULL;
        j->kernels->attn_few_values(j->v_type, scores, j->ld, n_q,
                                    row_of(j, t, block, kv, 1) + p.low * row, row, j->dim_v, p.n,
                                    ahead, factors, acc);
    } else {
        j->kernels->attn_values(scores, j->ld, n_q, w->values + p.low * j->dim_v16, j->dim_v, p.n,
                                factors, acc);
    }
}

void weft_attn_sum_values(const attn_job *j, const attn_tile *t, int32_t block, size_t kv,
                          const attn_work *w, size_t first, size_t end, const float *factors,
                          float *acc) {
    for (size_t r = first, next; r < end; r = next) {
        attn_part p = weft_attn_part_of(j, t->row + r, block);
        for (next = r + 1; next < end; next++) {
            attn_part other = weft_attn_part_of(j, t->row + next, block);
            if (other.low != p.low || other.n != p.n)
                break;
        }
        if (p.n > 0)
            sum_part(j, t, block, kv, w, p, r * j->group, (next - r) * j->group, factors, acc);
    }
}

void weft_attn_join(const weft_kernels *k, size_t n, const float *block_most,
                    const float *block_sum, float *most, float *sum, float *factors) {
    for (size_t i = 0; i < n; i++) {
        float m = block_most[i] > most[i] ? block_most[i] : most[i];
        factors[2 * i] = most[i] - m;
        factors[2 * i + 1] = block_most[i] - m;
        most[i] = m;
    }
    k->exp(factors, 2 * n, factors);
    for (size_t i = 0; i < n; i++)
        sum[i] = fmaf(block_sum[i], factors[2 * i + 1], sum[i] * factors[2 * i]);
}
