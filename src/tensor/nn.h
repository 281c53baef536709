/* Ops of the forward pass that need more than plain tensors: attention over a paged KV cache and
 * the fused pieces of a layer. Internal; same rules as ops.h. */
#ifndef WEFT_TENSOR_NN_H
#define WEFT_TENSOR_NN_H

#include <weft/ops.h>

typedef enum weft_activation {
    WEFT_ACT_SILU,
    WEFT_ACT_GELU_TANH,
    WEFT_ACT_GELU_ERF,
    WEFT_ACT_RELU
} weft_activation;

/* Several linears of one x, as weft_linear each: its rows are quantised once and all panels go
 * through one loop. n <= WEFT_LINEAR_MANY; biases may be NULL, as may each of them; out[n] is NULL
 * on failure. */
#define WEFT_LINEAR_MANY 7
weft_status weft_linear_many(weft_scope *s, weft_tensor *x, weft_tensor *const *weights,
                             weft_tensor *const *biases, size_t n, weft_tensor **out);

/* act(gate) * up, both [T, n_ff] f32. */
weft_tensor *weft_gated(weft_scope *s, weft_tensor *gate, weft_tensor *up, weft_activation act);

/* cap * tanh(x / cap). */
weft_tensor *weft_softcap(weft_scope *s, weft_tensor *x, float cap);

/* One query row's place in the cache. */
typedef struct weft_attn_row {
    const int32_t *blocks; /* its sequence's block list, in order of position */
    int32_t position;      /* its own position: keys 0 … position may be visible */
} weft_attn_row;

typedef struct weft_attn_params {
    float scale;        /* of q·k */
    float softcap;      /* 0: none */
    int32_t window;     /* 0: none; else key j is visible to query i when i - window < j <= i */
    int32_t block_size; /* positions a block: also the chunk by which sums are formed */
    int32_t dim_v;      /* of a value head where q8_0 pads it; 0: the width of v's rows */
} weft_attn_params;

/* What a cache may hold. Rows of q8_0 are whole blocks: head_dim is rounded up to 32. */
#define WEFT_CACHE_TYPES "f32, f16, bf16 or q8_0"
bool weft_cache_type_allowed(weft_dtype type);
int64_t weft_cache_width(weft_dtype type, int64_t head_dim);

/* x [T, n_head, head_dim] f32 as rows of a cache, [T, n_head, weft_cache_width]: a cast, or for
 * q8_0 the int8 of activations (docs/numerics.md) with the scale in f16, padded with zeros. */
weft_tensor *weft_cache_rows(weft_scope *s, weft_tensor *x, weft_dtype type);

/* Softmax attention, online over blocks merged in order. q [T, n_head, head_dim] f32; k, v
 * [capacity, n_head_kv, head_dim(_v)] of a cache's type, contiguous, capacity a multiple of
 * block_size; rows [T]. Gives [T, n_head * head_dim_v] f32. A row without a visible key is zeros.
 * The scores are never stored whole. */
weft_tensor *weft_attention(weft_scope *s, weft_tensor *q, weft_tensor *k, weft_tensor *v,
                            const weft_attn_row *rows, const weft_attn_params *params);

#endif
