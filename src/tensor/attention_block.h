/* One block of positions for a tile of queries: the part of attention that does not ask who runs
 * what. Private to attention*.c. */
#ifndef WEFT_TENSOR_ATTENTION_BLOCK_H
#define WEFT_TENSOR_ATTENTION_BLOCK_H

#include "tensor/nn.h"
#include "tensor/walk.h"

/* Blocks [first, end) of a row hold visible keys, which are positions [low, high]. */
typedef struct attn_span {
    int32_t low, high, first, end;
} attn_span;

/* Rows [row, row + n) of one block list; blocks [first, end) are seen by any of them. */
typedef struct attn_tile {
    size_t row, n;
    int32_t first, end;
} attn_tile;

typedef struct attn_job {
    const weft_kernels *kernels;
    const weft_attn_row *rows;
    weft_attn_params params;
    const float *q; /* [n_rows, n_head, dim], unit step within a head */
    int64_t q_row, q_head;
    const unsigned char *k, *v; /* [capacity, n_kv, dim], [capacity, n_kv, dim_v] */
    const float *sinks;         /* [n_head] at sinks_step; NULL: none */
    int64_t sinks_step;
    float *slopes; /* [n_head] of ALiBi; NULL: none */
    weft_dtype k_type, v_type;
    size_t k_head, v_head;                          /* bytes of one head's row */
    size_t n_rows, n_head, n_kv, group, dim, dim_v; /* group: query heads a KV head */
    int64_t n_cache_blocks;
    bool few;                  /* no tile has queries enough to lay keys out for */
    size_t dim16, dim_v16, ld; /* rounded up to whole lanes; ld: the positions of a block */
    float *y;                  /* [n_rows, n_head * dim_v] */
    attn_tile *tiles;
    uint32_t *tile_of; /* [n_rows] */
    size_t n_tiles, tile_rows;
    size_t n_blocks;     /* the longest span of a tile */
    size_t kv_an_item;   /* split: KV heads that one thread takes together */
    size_t state_floats; /* split: a partial is the weighted sum, the largest score, the sum */
    float *partials;     /* split: [n_kv, n_blocks, n_rows, group, state_floats] */
    float *scratch;      /* a thread: what `work` points into */
    size_t scratch_floats;
} attn_job;

/* A thread's memory for one tile of n_q = rows * group queries. */
typedef struct attn_work {
    float *q;                      /* [n_q, dim16] */
    float *keys, *values;          /* of a block, as the kernels want them; unused with few */
    float *scores;                 /* [n_q, ld] */
    float *acc, *most, *sum;       /* the state of each query: [n_q, dim_v16], [n_q], [n_q] */
    float *block_most, *block_sum; /* of the block alone */
    float *factors;                /* [n_q, 2] by which state and block are scaled */
    /* Keys and values, all heads, of the block after this one; NULL: none. A history is read from
     * memory once, and no hardware sees where its next block lies. */
    const unsigned char *ahead[2];
} attn_work;

/* The positions of a block that a row sees: n from `low` on. */
typedef struct attn_part {
    size_t low, n;
} attn_part;

/* The one definition of visibility: key j, query at i: i - window < j <= i; or first <= j <= i. */
attn_span weft_attn_visible(const attn_job *j, size_t row);

/* n is 0 where it sees none. */
attn_part weft_attn_part_of(const attn_job *j, size_t row, int32_t block);

/* n rounded up to whole lanes. */
size_t weft_attn_lanes_up(size_t n);

/* What one thread's work takes of the scratch, and where its pieces lie. */
size_t weft_attn_work_floats(const attn_job *j);
attn_work weft_attn_work_of(const attn_job *j, int thread);

/* The tile's queries of one KV head's group, padded to whole lanes. */
void weft_attn_load_queries(const attn_job *j, const attn_tile *t, size_t kv, const attn_work *w);

/* The rows [*first, *end) of the tile that see any of the block have their probabilities, largest
 * scores and sums afterwards, and the block's values are loaded (with few: lie in the cache). */
void weft_attn_score_block(const attn_job *j, const attn_tile *t, int32_t block, size_t kv,
                           attn_work *w, size_t *first, size_t *end);

/* Probabilities times values of the rows [first, end), for each run of rows that see the same. */
void weft_attn_sum_values(const attn_job *j, const attn_tile *t, int32_t block, size_t kv,
                          const attn_work *w, size_t first, size_t end, const float *factors,
                          float *acc);

/* What an online softmax scales by: *most and *sum take in a block's. */
void weft_attn_join(const weft_kernels *k, size_t n, const float *block_most,
                    const float *block_sum, float *most, float *sum, float *factors);

/* attention_bf16.c: the whole of a job whose kernels, scope and `y` are set. Whether it may take
 * the job; false: the status is set. *done false: a value is not finite, and y must be calculated
 * in another way. */
bool weft_attn_bf16_serves(const attn_job *j, const weft_engine *engine);
bool weft_attn_bf16_run(weft_scope *s, const attn_job *j, bool *done);

#endif
