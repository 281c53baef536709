/* The kernel table: one entry an operation, one constant table a variant, which has the entries of
 * the variant it builds on but for its own. All give the same bits, except for what is named
 * bf16; docs/numerics.md has the order of every sum. kernels.list names them all. */
#ifndef WEFT_KERNELS_TABLE_H
#define WEFT_KERNELS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cpu.h"
#include "tensor/kernels/map.h"
#include <weft/tensor.h>

/* Activations quantised to int8 in blocks of 32 along the row: q = rint(x * (127 / amax)). */
typedef struct weft_q8_rows {
    int8_t *q;     /* [n, n_cols] */
    float *d;      /* [n, n_cols / 32]: amax / 127 */
    int32_t *sums; /* [n, n_cols / 32]: sum of a block's q */
    size_t n, n_cols;
} weft_q8_rows;

/* Activations as bfloat16, in tiles of 16 rows and 32 columns (rows_bf16). */
typedef struct weft_bf16_rows {
    const uint16_t
        *tiles;  /* of 16 rows [ceil(n_cols / 32), 16, 32]; of the next `step` further on */
    size_t step; /* elements; weft_bf16_step */
    size_t n, n_cols;
} weft_bf16_rows;

#define WEFT_ATTN_BF16_QUERIES 32 /* that go together; their state has a lane each */
#define WEFT_ATTN_BF16_PARTS 3    /* products of parts of a query and a key */
/* What the steps of attn_bf16 share. */
typedef struct weft_attn_bf16 {
    size_t key_tiles, dim_v16; /* parts * ceil(head_dim / 32), dim_v up to a multiple of 16 */
    size_t values_step;        /* elements between the tiles of 16 elements of values */
    float scale, softcap;      /* softcap 0: none */
    float *scores;             /* scratch: [greatest n, 32] */
    uint16_t *probabilities;   /* scratch: [2, greatest n / 32] tiles */
} weft_attn_bf16;

/* 32 queries and n positions, a multiple of 32. */
typedef struct weft_attn_bf16_step {
    const uint16_t *queries; /* [2, key_tiles] tiles of attn_bf16_queries */
    const uint16_t *keys;    /* [n / 16, key_tiles] tiles of attn_bf16_keys */
    const uint16_t *values;  /* [dim_v16 / 16, n / 32] tiles of attn_bf16_values */
    size_t n;
    int32_t first;             /* the number of the first of these positions */
    const int32_t *low, *high; /* [32]: those that a query sees; NULL: all of these */
    float *acc, *most, *sum;   /* the state: [dim_v16, 32], [32], [32]; at first 0, -inf, 0 */
} weft_attn_bf16_step;

typedef struct weft_kernels {
    weft_isa isa;

    /* x [n_cols] to one row of q8; n_cols a multiple of 32. */
    void (*quantize_q8)(const float *x, size_t n_cols, int8_t *q, float *d, int32_t *sums);

    /* y[t, r - row0] for rows r in [row0, row0 + 16 * n_panels) of a quantised weight:
     * panels [n_panels] of `dtype`; x of x->n rows; y + t * ldy takes 16 * n_panels floats. */
    void (*panel_q8)(weft_dtype dtype, const void *panels, size_t n_panels, const weft_q8_rows *x,
                     float *y, size_t ldy);
    /* The same with float activations x [n, n_cols] (row stride ldx) and weights of a float type,
     * or dequantised ones: k in order, one fmaf chain an output. */
    void (*panel_f32)(weft_dtype dtype, const void *panels, size_t n_panels, const float *x,
                      size_t n, size_t n_cols, size_t ldx, float *y, size_t ldy);

    /* Products of float32 matrices: each output is one chain of fmaf over k in order. */

    /* b [k, n], rows ld apart, or `turned` [n, k]: panels [ceil(n / 16), k, 16] with zeros behind
     * the last column. */
    void (*gemm_pack)(const float *b, ptrdiff_t ld, bool turned, size_t k, size_t n, float *panels);
    /* y [m, n] = a [m, k] b [k, n]; not `fresh`: the chains go on from what y holds. Columns 16 v
     * of row i of b at i * row + v * vector: such panels (16, 16 k), or rows as they lie (their
     * distance, 16), n then a multiple of 16. */
    void (*gemm)(const float *a, size_t lda, size_t m, size_t k, const float *b, size_t row,
                 size_t vector, size_t n, float *y, size_t ldy, bool fresh);
    /* y [rows] = a [rows, k] x; y [n] = x b [k, n]. */
    void (*gemv_rows)(const float *a, ptrdiff_t lda, size_t rows, size_t k, const float *x,
                      float *y);
    void (*gemv_columns)(const float *b, ptrdiff_t ldb, size_t k, size_t n, const float *x,
                         float *y);

    /* For prefill in default mode (weft_bf16_serves); NULL where the CPU has no such products.
     * Up to 16 rows of x as bfloat16 in tiles of 16 rows and 32 columns, [ceil(n_cols / 32), 16,
     * 32], zeros behind both ends. */
    void (*rows_bf16)(const float *x, size_t n, size_t n_cols, size_t ldx, uint16_t *tiles);
    /* As panel_f32 for weights of any type, which are rounded to bfloat16; sums are float32, in an
     * order of the CPU's own. `sums` [weft_bf16_sums] is room for those of a part of the columns.
     */
    void (*panel_bf16)(weft_dtype dtype, const void *panels, size_t n_panels,
                       const weft_bf16_rows *x, float *sums, float *y, size_t ldy);

    /* Sums along a row: 16 virtual lanes (lane = index mod 16), a fixed tree at the end. */
    void (*rms_norm)(const float *x, const float *weight /* NULL: ones */, size_t n, float eps,
                     float *y);
    void (*layer_norm)(const float *x, const float *weight /* NULL: ones */,
                       const float *bias /* NULL: zeros */, size_t n, float eps, float *y);
    void (*softmax)(const float *x, size_t n, float *y);

    /* Attention of several query rows over one block of `n` positions. Rows of floats are padded
     * with zeros to a multiple of 16 ("dim16"); a block's row j lies at j * stride_bytes. */

    /* Keys of a block (f32, f16, bf16; q8_0: whole blocks) as f32 [16 lanes, dim16 / 16, ld]:
     * element i of key j at [i % 16, i / 16, j]; ld >= n rounded up to 16, the rest is zeros. */
    void (*attn_keys)(weft_dtype dtype, const void *k, size_t stride_bytes, size_t dim, size_t n,
                      float *keys, size_t ld);
    /* Values as f32 [n, dim16]. */
    void (*attn_rows)(weft_dtype dtype, const void *v, size_t stride_bytes, size_t dim, size_t n,
                      float *rows);
    /* s[r, j] = dot(q_r, key_j), 16 virtual lanes. q [n_q, dim16]; s [n_q, ld], n rounded up to 16
     * columns are written. */
    void (*attn_scores)(const float *q, size_t n_q, size_t dim, const float *keys, size_t ld,
                        size_t n, float *s);
    /* s = e^(x - most) in place, x = s * scale, then softcap * tanh(x / softcap) if that is above
     * 0; *sum by 16 virtual lanes. */
    void (*attn_softmax)(float *s, size_t n, float scale, float softcap, float *most, float *sum);
    /* part[r] = sum over j in order of p[r, j] * v_j, one chain of fmaf from 0; v [n, dim16]. acc
     * [n_q, dim16] = part, or with factors [n_q, 2] = fmaf(part, factors[1], acc * factors[0]). */
    void (*attn_values)(const float *p, size_t ldp, size_t n_q, const float *v, size_t dim,
                        size_t n, const float *factors /* or NULL */, float *acc);
    /* The same two for few queries, from a block's rows as they lie in the cache, widened in
     * registers. `ahead` (or NULL): the block that is read next, whose rows are asked for. */
    void (*attn_few_scores)(weft_dtype dtype, const float *q, size_t n_q, size_t dim, const void *k,
                            size_t stride_bytes, size_t n, const void *ahead, float *s, size_t ld);
    void (*attn_few_values)(weft_dtype dtype, const float *p, size_t ldp, size_t n_q, const void *v,
                            size_t stride_bytes, size_t dim, size_t n, const void *ahead,
                            const float *factors /* or NULL */, float *acc);
    /* acc [n] takes in the parts [n_parts, stride] in order, as attn_values does with factors
     * [n_parts, 2]. */
    void (*attn_merge)(const float *parts, size_t stride, size_t n_parts, const float *factors,
                       size_t n, float *acc);

    /* The same in products of bfloat16, for long steps in default mode; NULL where the CPU has
     * none. Sums and exponentials are float32. Rows that are NULL count as zeros. */

    /* 16 rows: [ceil(dim / 32), 3, 16, 32], the parts: rounded, rounded, the rest. */
    void (*attn_bf16_keys)(weft_dtype dtype, const void *const *rows, size_t dim, uint16_t *tiles);
    /* 16 rows of floats, turned: [ceil(dim / 32), 3, 16 pairs, 16, 2]: rounded, rest, rounded. */
    void (*attn_bf16_queries)(const void *const *rows, size_t dim, uint16_t *tiles);
    /* 32 rows, turned: [ceil(dim / 16)] tiles [16 elements, 32 rows], `step` apart. False: one of
     * the elements is not finite, so that 0 times it is not 0. */
    bool (*attn_bf16_values)(weft_dtype dtype, const void *const *rows, size_t dim, size_t step,
                             uint16_t *tiles);
    /* Each step's state takes in its positions. */
    void (*attn_bf16)(const weft_attn_bf16 *a, const weft_attn_bf16_step *steps, size_t n_steps);
    /* Of a state the values times factors [32], to rows of dim elements. */
    void (*attn_bf16_end)(const float *acc, size_t dim, const float *factors, float *const *rows);

    /* Recurrent layers, one step of one sequence. A lane is a channel or a column of the state,
     * except in ssm_*, whose sums run along a row of the state. y may not be an input. */

    /* y[i] = bias[i] (NULL: 0), then + w[j, i] * x[j][i], j in order: one fmaf chain a channel.
     * x: k rows of n; w [k, n], ldw apart. */
    void (*conv_row)(const float *const *x, const float *w, size_t ldw, const float *bias, size_t k,
                     size_t n, float *y);
    /* Gated delta rule on n columns of a state [dim_k, n] (rows ld_from and ld apart, `to` may be
     * `from`): s = from * decay; e = (v - sum_i s_i k_i) * beta; s_i = fmaf(k_i, e, s_i);
     * y = sum_i s_i q_i. Sums over i in order, one fmaf chain a column. */
    void (*delta_step)(const float *q, const float *k, const float *v, float decay, float beta,
                       size_t dim_k, size_t n, const float *from, size_t ld_from, float *to,
                       size_t ld, float *y);
    /* State space, `rows` channels of a state [rows, n]: h = fmaf(from, e^(dt a), (dt x) b);
     * y = fmaf(d, x, sum of h c by 16 virtual lanes). a [rows, n]; dt, x, d, y [rows]; b, c [n]. */
    void (*ssm_scan)(size_t rows, size_t n, const float *from, float *to, const float *a,
                     const float *dt, const float *x, const float *b, const float *c,
                     const float *d, float *y);
    /* The same with one factor for the whole state in place of e^(dt a), one dt and one d. */
    void (*ssm_head)(size_t rows, size_t n, const float *from, float *to, float decay, float dt,
                     const float *x, const float *b, const float *c, float d, float *y);

    /* Elementwise; y may be x. */
    void (*sigmoid)(const float *x, size_t n, float *y);
    void (*softplus)(const float *x, size_t n, float *y);
    void (*exp)(const float *x, size_t n, float *y);
    void (*tanh)(const float *x, size_t n, float *y);
    void (*silu)(const float *x, size_t n, float *y);
    void (*gelu_tanh)(const float *x, size_t n, float *y);
    void (*gelu_erf)(const float *x, size_t n, float *y);
    void (*mul)(const float *a, const float *b, size_t n, float *y);
    void (*add)(const float *a, const float *b, size_t n, float *y);
    void (*scale)(const float *x, size_t n, float factor, float *y);
    void (*f16_to_f32)(const uint16_t *x, size_t n, float *y);
    void (*f32_to_f16)(const float *x, size_t n, uint16_t *y);
    void (*bf16_to_f32)(const uint16_t *x, size_t n, float *y);
    void (*f32_to_bf16)(const float *x, size_t n, uint16_t *y);

    /* The loop of an elementwise function in a domain; NULL where there is none. */
    weft_map_fn *(*map)(weft_map_op op, weft_domain domain);

    /* Inner loops of reductions. lanes[16] += x in double, element i to lane i mod 16. */
    void (*sum_row)(const float *x, size_t n, double *lanes);
    /* sums[i] += x[i] for one row after the other of x [rows, n], ld apart (of any sign). `ahead`:
     * how far from each row lies the one that the next call reads. */
    void (*sum_columns)(const float *x, ptrdiff_t ld, size_t rows, ptrdiff_t ahead, size_t n,
                        double *sums);
    /* sums[i] = those of a whole chunk of `rows` such rows: lanes of row mod 16, from zero, and the
     * tree of lanes. parts [3, n]: memory to work in. */
    void (*sum_tree)(const float *x, ptrdiff_t ld, size_t rows, size_t n, double *parts,
                     double *sums);
    /* Greatest of n >= 1 elements (sign 1) or least (sign -1); a NaN where there is one. */
    float (*best_row)(const float *x, size_t n, float sign);
    /* best[i] of best[i] and each row's x[i], rows as in sum_columns; of equal ones best[i]
     * stays. */
    void (*best_columns)(const float *x, ptrdiff_t ld, size_t rows, ptrdiff_t ahead, size_t n,
                         float sign, float *best);
    /* The same, and index[i]: where it stands, the first row being number `at`. */
    void (*arg_columns)(const float *x, ptrdiff_t ld, size_t rows, size_t n, float sign, int32_t at,
                        float *best, int32_t *index);
    /* Sums of x - shift and of its squares, in double: 16 lanes of a row, or columns. */
    void (*moments_row)(const float *x, size_t n, double shift, double *sums, double *squares);
    void (*moments_columns)(const float *x, ptrdiff_t ld, size_t rows, size_t n, const float *shift,
                            double *sums, double *squares);
    /* Integers of the domains from WEFT_IN_I64 on: acc folded with x [n >= 1], or acc[i] with each
     * row's x[i]. */
    int64_t (*whole_row)(weft_domain domain, weft_whole_fold fold, const void *x, size_t n,
                         int64_t acc);
    void (*whole_columns)(weft_domain domain, weft_whole_fold fold, const void *x, ptrdiff_t ld,
                          size_t rows, size_t n, int64_t *acc);
} weft_kernels;

/* The table of a variant that was compiled in, or NULL. Constant memory. */
const weft_kernels *weft_kernels_of(weft_isa isa);

#define WEFT_BF16_TILE 512 /* elements: 1 KiB */
#define WEFT_BF16_DEPTH 20 /* tiles along the columns that are multiplied at a time, at most */

/* Tiles along the columns that panel_bf16 takes at a time. */
size_t weft_bf16_depth(size_t n_cols);
/* Elements from 16 rows to the next, so that such parts of many rows share a cache without getting
 * into each other's way. */
size_t weft_bf16_step(size_t n_cols);
/* Floats that panel_bf16 needs as room; 0 where all columns are taken at a time. */
size_t weft_bf16_sums(size_t n_panels, size_t n, size_t n_cols);

/* Whether bfloat16 is the faster way for a weight of `dtype`: a matrix unit beats all others;
 * AVX512-BF16 has twice the products of float32 and half of those of bytes. Never for F32, whose
 * owner asks for more digits. */
bool weft_bf16_serves(const weft_kernels *k, weft_dtype dtype);

#endif
