/* Hyper-parameters of one model, read from metadata in either spelling and checked: whoever holds a
 * weft_hparams may divide by its counts and multiply them without looking again. */
#ifndef WEFT_MODEL_HPARAMS_H
#define WEFT_MODEL_HPARAMS_H

#include "base/metadata.h"
#include "model/rope.h"
#include "tensor/experts.h"
#include "tensor/nn.h"
#include <weft/embed.h>

struct weft_arch;
struct weft_layer;

typedef enum weft_norm_kind {
    WEFT_NORM_RMS,  /* Zhang and Sennrich 2019 */
    WEFT_NORM_LAYER /* Ba et al. 2016 */
} weft_norm_kind;

/* Recurrent layers: a short convolution before a state, or alone. */
typedef struct weft_recurrence {
    int32_t n_taps;           /* of the convolution */
    int32_t n_inner;          /* channels of the output: n_head * head_dim */
    int32_t n_conv;           /* channels of the convolution */
    int32_t n_in;             /* rows of the first projection, where it is one */
    int32_t n_head, head_dim; /* heads that have a state each */
    int32_t n_group, n_state; /* groups of heads that share keys (inputs and outputs), so long */
    int32_t n_rank;           /* Mamba: width from which steps are projected */
    float dt_low, dt_high;    /* bounds of a step */
    bool tiled;               /* head h belongs to group h % n_group; else h * n_group / n_head */
} weft_recurrence;

/* Latent attention: what is cached of a position is n_kv + rope.n_rot wide. */
typedef struct weft_latent {
    int32_t n_q, n_kv; /* n_q 0: queries are projected at once */
    int32_t dim_v;     /* of a head */
} weft_latent;

/* Matrices of 8-bit floats in a folder: whether they have scales, and of which blocks. */
typedef struct weft_f8_rule {
    bool scaled;
    int32_t block_rows, block_cols; /* 0: one scale a tensor or a row */
} weft_f8_rule;

typedef struct weft_hparams {
    int32_t n_layer, n_embd, n_ff, n_head, n_head_kv, head_dim;
    int32_t n_vocab;        /* 0: not stated */
    int32_t n_context;      /* the longest the model was trained for */
    int32_t first_position; /* row of the learned positions that the first token has */
    int32_t n_types;        /* of tokens; 0: none */
    weft_pooling pooling;   /* of embeddings, as the file says; DEFAULT: it does not */
    /* Where layers differ; 0: as the others. What a layer has is in weft_layer. */
    int32_t n_head_kv_local, head_dim_local; /* of window layers */
    int32_t n_sharing;                       /* so many last layers see the K and V … */
    int32_t kv_global, kv_local;             /* … of these layers, by their kind */
    int32_t n_ff_sharing;                    /* their feed-forward width */
    bool v_is_k;          /* HF only: layers that see everything have no projection of values */
    int32_t n_embd_layer; /* width of the input that each layer has of its own; 0: none */
    weft_norm_kind norm;
    float norm_eps;
    weft_activation activation;
    bool parallel;                     /* attention and feed-forward read the same stream */
    float embd_scale;                  /* 1: none */
    float residual_scale;              /* of what a layer's halves add; 1: none */
    float logit_scale;                 /* 1: none */
    float attn_scale;                  /* of q·k */
    float attn_softcap, final_softcap; /* 0: none */
    float clip_qkv;                    /* 0: none */
    int32_t alibi;                     /* as weft_attn_params has it */
    float alibi_scale;
    float q_growth; /* q is weighed by 1 + this · ln(1 + ⌊position / q_growth_step⌋) */
    double q_growth_step;
    int32_t window;                  /* of local layers, an encoder's to either side; 0: none */
    int32_t window_pattern;          /* every n-th layer is global; 0: see first_window_layer */
    int32_t first_window_layer;      /* layers from here on are local; n_layer: none */
    bool tied;                       /* HF only: the output is the embedding */
    bool attn_bias, mlp_bias;        /* HF only: the config promises them, */
    bool head_norms;                 /* and norms of q and k */
    weft_rope_rule rope;             /* of global layers; n_rot 0: none */
    weft_rope_rule rope_local;       /* of window layers */
    bool rope_everywhere;            /* where the description has it in window layers only */
    int32_t rope_interval;           /* every n-th layer does not turn; 0: all do */
    int32_t n_expert, n_expert_used; /* 0: no mixture */
    int32_t n_ff_expert, n_ff_shared;
    int32_t n_dense_lead, mixture_step; /* which layers are mixtures */
    weft_router router;
    weft_recurrence rec;
    weft_latent latent;
    weft_f8_rule f8;
    int32_t n_extra; /* layers of the file after the last that are not evaluated */
} weft_hparams;

/* Reads and checks everything. `spelling`: weft_spelling. Errors name the key as the file spells
 * it: WEFT_E_FORMAT (missing, type, range), WEFT_E_UNSUPPORTED (an option that is not implemented).
 */
weft_status weft_hparams_read(const weft_metadata *metadata, const struct weft_arch *arch,
                              int spelling, weft_hparams *out);

/* What layer `i` is: its kind and mixer by the file's layer list, its pattern or the default, and
 * whether it turns and is a mixture. */
weft_status weft_hparams_layer(const weft_metadata *metadata, const struct weft_arch *arch,
                               int spelling, const weft_hparams *hparams, int32_t i,
                               struct weft_layer *out);

#endif
