/* What a layer is and the weights it borrows. A layer is a mixer (attention, or another way by
 * which rows see earlier rows) and a feed-forward network (dense, or a mixture of experts), joined
 * under the residual scheme of its architecture (arch.h). Binding fills it (bind.c, prepare.c), the
 * forward pass reads it. */
#ifndef WEFT_MODEL_LAYER_H
#define WEFT_MODEL_LAYER_H

#include <weft/tensor.h>

struct weft_mixer;

/* What a layer's mixer can see of the past. */
typedef enum weft_layer_kind {
    WEFT_LAYER_GLOBAL,   /* attention to every earlier position */
    WEFT_LAYER_LOCAL,    /* attention to a window */
    WEFT_LAYER_RECURRENT /* a state of fixed size */
} weft_layer_kind;

/* Weights are those of the weights map; optional ones are NULL. Names say the role; which of them
 * an architecture has, and how its files spell them, is in its description. */
typedef struct weft_layer {
    weft_layer_kind kind;
    const struct weft_mixer *mixer;
    bool has_rope;   /* its q and k turn */
    bool is_mixture; /* its feed-forward network is a mixture of experts */
    int32_t head_dim;
    int32_t n_head_kv; /* 0: it has no keys and values of its own */
    int32_t kv_layer;  /* whose keys and values it sees; as a rule its own number */
    bool v_is_k;       /* of folders: it has no projection of values */
    int32_t n_ff;

    weft_tensor *attn_norm;        /* [n_embd] */
    weft_tensor *attn_norm_bias;   /* [n_embd] */
    weft_tensor *attn_q;           /* [n_head * head_dim, n_embd] */
    weft_tensor *attn_k;           /* [n_head_kv * head_dim, n_embd] */
    weft_tensor *attn_v;           /* [n_head_kv * head_dim, n_embd]; NULL: values are the keys */
    weft_tensor *attn_q_bias;      /* [n_head * head_dim] */
    weft_tensor *attn_k_bias;      /* [n_head_kv * head_dim] */
    weft_tensor *attn_v_bias;      /* [n_head_kv * head_dim] */
    weft_tensor *attn_q_norm;      /* [head_dim]; or of all heads together [n_head * head_dim]; or a
                                      weight for each head [n_head, head_dim] */
    weft_tensor *attn_k_norm;      /* [head_dim], [n_head_kv * head_dim] or [n_head_kv, head_dim] */
    weft_tensor *attn_q_norm_bias; /* [head_dim] */
    weft_tensor *attn_k_norm_bias; /* [head_dim] */
    weft_tensor *attn_gate;  /* [n_head * head_dim, n_embd], or [n_head, n_embd]: its sigmoid weighs
                                what attention gives */
    weft_tensor *attn_sinks; /* [n_head]: scores of a position that every row sees, without a
                                value */
    weft_tensor *attn_out;   /* [n_embd, n_head * head_dim] */
    weft_tensor *attn_out_bias;      /* [n_embd] */
    weft_tensor *attn_post_norm;     /* [n_embd], before the residual is added */
    weft_tensor *attn_out_norm;      /* [n_embd], after it (post-norm, Vaswani et al. 2017) */
    weft_tensor *attn_out_norm_bias; /* [n_embd] */

    /* Latent attention: of n_head matrices each. */
    weft_tensor *attn_q_a;       /* [n_q, n_embd]; NULL: attn_q */
    weft_tensor *attn_q_a_norm;  /* [n_q] */
    weft_tensor *attn_q_b;       /* [n_head * head_dim, n_q] */
    weft_tensor *attn_kv_a;      /* [n_kv + n_rot, n_embd] */
    weft_tensor *attn_kv_a_norm; /* [n_kv] */
    weft_tensor *attn_k_b;       /* n_head of [n_kv, head_dim - n_rot] */
    weft_tensor *attn_v_b;       /* n_head of [dim_v, n_kv] */

    /* Recurrent layers (weft_recurrence); which of them a mixer has is said there. */
    weft_tensor *rec_in;        /* [n_in, n_embd]; delta net: [n_conv, n_embd] for q, k and v */
    weft_tensor *rec_in_bias;   /* [n_in] */
    weft_tensor *rec_gate;      /* [n_inner, n_embd] */
    weft_tensor *rec_alpha;     /* [n_head, n_embd]: of the decay */
    weft_tensor *rec_beta;      /* [n_head, n_embd]: of the step */
    weft_tensor *rec_conv;      /* [n_conv, n_taps] f32 */
    weft_tensor *rec_conv_bias; /* [n_conv] */
    weft_tensor *rec_x;         /* [n_rank + 2 n_state, n_inner] */
    weft_tensor *rec_dt;        /* [n_inner, n_rank] */
    weft_tensor *rec_dt_bias;   /* [n_head], or [n_inner] */
    weft_tensor *rec_a;         /* [n_head], or [n_inner, n_state]: negative */
    weft_tensor *rec_d;         /* [n_head], or [n_inner] */
    weft_tensor *rec_norm;      /* [head_dim], or [n_inner] */
    weft_tensor *rec_out;       /* [n_embd, n_inner] */
    weft_tensor *rec_out_bias;  /* [n_embd] */

    weft_tensor *ffn_norm;          /* [n_embd] */
    weft_tensor *ffn_norm_bias;     /* [n_embd] */
    weft_tensor *ffn_gate;          /* [n_ff, n_embd]; NULL: a network without a gate */
    weft_tensor *ffn_up;            /* [n_ff, n_embd]; NULL: the layer has no such network */
    weft_tensor *ffn_down;          /* [n_embd, n_ff] */
    weft_tensor *ffn_gate_bias;     /* [n_ff] */
    weft_tensor *ffn_up_bias;       /* [n_ff] */
    weft_tensor *ffn_down_bias;     /* [n_embd] */
    weft_tensor *ffn_post_norm;     /* [n_embd], before the residual is added */
    weft_tensor *ffn_out_norm;      /* [n_embd], after it */
    weft_tensor *ffn_out_norm_bias; /* [n_embd] */

    /* A mixture: stacks are [n_expert, rows, columns] as in a file, or packed, each expert's rows
     * rounded up to whole panels. */
    weft_tensor *router;            /* [n_expert, n_embd] */
    weft_tensor *router_bias;       /* [n_expert], of the scores */
    weft_tensor *router_correction; /* [n_expert], for the choice alone */
    weft_tensor *experts_gate;      /* n_expert of [n_ff_expert, n_embd] */
    weft_tensor *experts_up;        /* n_expert of [n_ff_expert, n_embd] */
    weft_tensor *experts_down;      /* n_expert of [n_embd, n_ff_expert] */
    weft_tensor *experts_gate_bias; /* [n_expert, n_ff_expert] */
    weft_tensor *experts_up_bias;   /* [n_expert, n_ff_expert] */
    weft_tensor *experts_down_bias; /* [n_expert, n_embd] */
    weft_tensor *shared_gate;       /* [n_ff_shared, n_embd] */
    weft_tensor *shared_up;         /* [n_ff_shared, n_embd] */
    weft_tensor *shared_down;       /* [n_embd, n_ff_shared] */
    weft_tensor *shared_scale;      /* [1, n_embd]: its sigmoid weighs the shared experts */

    /* A mixture beside a dense network, each with norms of its own. */
    weft_tensor *router_norm;      /* [n_embd]; the normed row is divided by sqrt(n_embd) too */
    weft_tensor *experts_scale;    /* [n_expert]: weighs an expert's output */
    weft_tensor *experts_norm;     /* [n_embd], of what the experts read */
    weft_tensor *experts_out_norm; /* [n_embd], of what they give */
    weft_tensor *dense_out_norm;   /* [n_embd], of what the dense network gives */

    /* The end of a layer: an input of its own, and a scale. */
    weft_tensor *input_gate; /* [n_embd_layer, n_embd]; NULL: it has no such input */
    weft_tensor *input_out;  /* [n_embd, n_embd_layer] */
    weft_tensor *input_norm; /* [n_embd] */
    weft_tensor *out_scale;  /* [1] */
} weft_layer;

/* What stands outside of the layers. */
typedef struct weft_globals {
    weft_tensor *embedding;   /* [n_vocab, n_embd] */
    weft_tensor *token_types; /* [n_types, n_embd]: row 0 is added to every token */
    weft_tensor *positions;   /* [first_position + n_context, n_embd]: learned positions, added */
    weft_tensor *embedding_norm;      /* [n_embd]: of all three together */
    weft_tensor *embedding_norm_bias; /* [n_embd] */
    weft_tensor *output_norm;         /* [n_embd] */
    weft_tensor *output_norm_bias;    /* [n_embd] */
    weft_tensor *output;          /* [n_vocab, n_embd]; the embedding where tied; NULL: no logits */
    weft_tensor *output_bias;     /* [n_vocab] */
    weft_tensor *layer_embedding; /* [n_vocab, n_layer * n_embd_layer]: layers' own inputs */
    weft_tensor *layer_proj;      /* [n_layer * n_embd_layer, n_embd]: of the embedding */
    weft_tensor *layer_proj_norm; /* [n_embd_layer] */
    weft_tensor *rope_factors;    /* [n_rot / 2]: divisors of the rope's frequencies */
    weft_tensor *rope_factors_short; /* [n_rot / 2]: longrope, sequences within n_original */
    weft_tensor *rope_factors_long;  /* [n_rot / 2]: longrope, longer sequences */
} weft_globals;

#endif
