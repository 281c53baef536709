/* Ops of the forward pass that need more than plain tensors: attention over a paged KV cache and
 * the fused pieces of a layer. Internal; same rules as ops.h. */
#ifndef WEFT_TENSOR_NN_H
#define WEFT_TENSOR_NN_H

#include <weft/ops.h>

/* Several linears of one x, as weft_linear each: its rows are quantised once and all panels go
 * through one loop. n <= WEFT_LINEAR_MANY; biases may be NULL, as may each of them; out[n] is NULL
 * on failure. */
#define WEFT_LINEAR_MANY 7
weft_status weft_linear_many(weft_scope *s, weft_tensor *x, weft_tensor *const *weights,
                             weft_tensor *const *biases, size_t n, weft_tensor **out);

/* act(gate) * up, both [T, n_ff] f32. */
weft_tensor *weft_gated(weft_scope *s, weft_tensor *gate, weft_tensor *up, weft_activation act);

/* linear(gated(gate, up, act)), with its bits: a row is gated and quantised at once. */
weft_tensor *weft_gated_linear(weft_scope *s, weft_tensor *gate, weft_tensor *up,
                               weft_activation act, weft_tensor *weight, weft_tensor *bias);

/* act(x), f32; of a gate and its partner alone WEFT_ACT_SWIGLU_CLAMPED is not. */
weft_tensor *weft_activate(weft_scope *s, weft_tensor *x, weft_activation act);

/* cap * tanh(x / cap). */
weft_tensor *weft_softcap(weft_scope *s, weft_tensor *x, float cap);

/* One query row's place in the cache. */
typedef struct weft_attn_row {
    const int32_t *blocks; /* its sequence's block list, in order of position */
    int32_t position;      /* keys 0 … position may be visible: its own, or in an encoder its
                              text's last */
} weft_attn_row;

typedef struct weft_attn_params {
    float scale;           /* of q·k */
    float softcap;         /* 0: none */
    int32_t window;        /* 0: none; else key j is visible to query i when i - window < j <= i */
    const int32_t *firsts; /* [T]: the first key that each row may see, in place of a window; they
                              do not fall along a sequence. NULL: by the window */
    int32_t block_size;    /* positions a block: also the chunk by which sums are formed */
    int32_t dim_v;         /* of a value head: the first columns of v's rows; 0: all of them */
    int32_t alibi;         /* 0: none, as a rule 8: the score of key j for query i
                              has slope * (j - i) more; slopes are 2^(-alibi (h + 1) / n_head)
                              (Press et al. 2022) */
    float alibi_scale;     /* of the slopes */
    weft_tensor *sinks;    /* [n_head] f32, NULL: none: the score of one more position, which has no
                              value (Xiao et al. 2023) */
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
 * block_size; rows [T]. v may be k, whose first dim_v columns are then the values
 * (one latent for both: DeepSeek-AI 2024). Gives [T, n_head * head_dim_v] f32. A row without a
 * visible key is zeros. The scores are never stored whole. */
weft_tensor *weft_attention(weft_scope *s, weft_tensor *q, weft_tensor *k, weft_tensor *v,
                            const weft_attn_row *rows, const weft_attn_params *params);

/* ---- Layers with a recurrent state (recurrent*.c) ----
 *
 * A step holds runs: rows of one sequence in order. Each run goes on from a state that lies in
 * `states` and leaves a fresh one in `*next`; steps are taken in order, so that neither the pieces
 * in which a text is fed nor what else is in the step changes a bit. */

typedef struct weft_state_run {
    size_t row, n; /* rows [row, row + n); runs follow each other and cover all rows */
    int32_t slot;  /* of `states`; < 0: begins with zeros */
} weft_state_run;

typedef struct weft_states {
    weft_tensor *states; /* [n_slots, state…] f32; each state lies packed */
    const weft_state_run *runs;
    size_t n_runs;
    weft_tensor *next; /* result: [n_runs, state…] f32 */
} weft_states;

/* Causal convolution of each channel over its last K inputs, with SiLU after it if asked. x [T, C],
 * weight [C, K], bias [C] or NULL, all f32; state [K - 1, C]: the latest inputs. Gives [T, C]. */
weft_tensor *weft_short_conv(weft_scope *s, weft_tensor *x, weft_tensor *weight, weft_tensor *bias,
                             bool silu, weft_states *states);

/* Gated delta rule (Yang, Kautz and Hatamizadeh 2024), f32. q and k are brought to length 1 (eps
 * under the root), q is divided by sqrt(dim_k); the state decays by e^(a softplus(alpha +
 * dt_bias)), and what it misses of v is added times sigmoid(beta). */
typedef struct weft_delta_inputs {
    weft_tensor *q, *k;        /* [T, n_head_k, dim_k] */
    weft_tensor *v;            /* [T, n_head, dim_v] */
    weft_tensor *alpha, *beta; /* [T, n_head] */
    weft_tensor *a, *dt_bias;  /* [n_head] */
    float eps;
    bool tiled; /* head h goes with q and k of head h % n_head_k; else of h * n_head_k / n_head */
} weft_delta_inputs;
/* State [n_head, dim_k, dim_v]; gives [T, n_head, dim_v]. */
weft_tensor *weft_delta_rule(weft_scope *s, const weft_delta_inputs *in, weft_states *states);

/* State space with input-dependent steps, f32: dt = clamp(softplus(dt + dt_bias)), h = e^(dt a) h +
 * dt x b, y = h c + d x. With a [n_channel, n_state] each channel has its own decays (Mamba, Gu and
 * Dao 2023: x and dt [T, n_channel], n_group 1); with a [n_head] a head has one (Mamba-2, Dao and
 * Gu 2024: x [T, n_head, head_dim], dt [T, n_head]). */
typedef struct weft_ssm_inputs {
    weft_tensor *x, *dt;
    weft_tensor *dt_bias; /* as a row of dt; NULL: none */
    weft_tensor *a;       /* negative */
    weft_tensor *b, *c;   /* [T, n_group, n_state]; head h belongs to group h * n_group / n_head */
    weft_tensor *d;       /* [n_channel] or [n_head] */
    float dt_low, dt_high;
} weft_ssm_inputs;
/* State as x without T, then n_state; gives [T, n_channel] or [T, n_head, head_dim]. */
weft_tensor *weft_ssm(weft_scope *s, const weft_ssm_inputs *in, weft_states *states);

#endif
