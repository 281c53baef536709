/* An architecture as data: its names in both kinds of files, the spellings of its hyper-parameters
 * and tensors, and the options of its layers. A usual decoder is one file of arch/, which fills one
 * `weft_arch`; nothing else in the project asks which architecture a model has. */
#ifndef WEFT_MODEL_ARCH_H
#define WEFT_MODEL_ARCH_H

#include "model/hparams.h"

/* How a file spells names; also an index into the pairs below. */
typedef enum weft_spelling { WEFT_SPELL_GGUF, WEFT_SPELL_HF, WEFT_SPELL_COUNT } weft_spelling;

/* Hyper-parameters that a description can spell. */
typedef enum weft_key {
    WEFT_KEY_N_LAYER,
    WEFT_KEY_N_EMBD,
    WEFT_KEY_N_FF,
    WEFT_KEY_N_HEAD,
    WEFT_KEY_N_HEAD_KV,
    WEFT_KEY_HEAD_DIM,
    WEFT_KEY_HEAD_DIM_V,
    WEFT_KEY_N_CONTEXT,
    WEFT_KEY_N_VOCAB,
    WEFT_KEY_NORM_EPS,
    WEFT_KEY_N_ROT,
    WEFT_KEY_ROT_FACTOR,      /* share of head_dim that turns */
    WEFT_KEY_ROPE_BASE,       /* of layers that see everything */
    WEFT_KEY_ROPE_BASE_LOCAL, /* of window layers */
    WEFT_KEY_WINDOW,
    WEFT_KEY_WINDOW_PATTERN, /* every n-th layer sees everything; or an array of bools, true: window
                              */
    WEFT_KEY_LAYER_TYPES,    /* an array of "full_attention", "sliding_attention" */
    WEFT_KEY_USE_WINDOW,
    WEFT_KEY_FIRST_WINDOW_LAYER,
    WEFT_KEY_ATTN_SCALE,        /* of q·k */
    WEFT_KEY_ATTN_SCALE_SQUARE, /* 1 / scale² */
    WEFT_KEY_ATTN_SOFTCAP,
    WEFT_KEY_FINAL_SOFTCAP,
    WEFT_KEY_ACTIVATION,
    WEFT_KEY_TIED,
    WEFT_KEY_ATTN_BIAS,
    WEFT_KEY_MLP_BIAS,
    WEFT_KEY_N_EXPERT,
    WEFT_KEY_BIDIRECTIONAL,
    WEFT_KEY_COUNT
} weft_key;

#define WEFT_KEY_SPELLINGS 3

typedef struct weft_key_name {
    weft_key key;
    const char *gguf;                   /* after "<architecture>."; NULL: not in GGUF files */
    const char *hf[WEFT_KEY_SPELLINGS]; /* first one present counts; NULL: not in config.json */
} weft_key_name;

/* Extents of a weight, resolved with the hyper-parameters. */
typedef enum weft_extent {
    WEFT_EXT_NONE, /* no such axis: rank 1 */
    WEFT_EXT_VOCAB,
    WEFT_EXT_EMBD,
    WEFT_EXT_FF,
    WEFT_EXT_Q,       /* n_head * head_dim */
    WEFT_EXT_KV,      /* n_head_kv * head_dim */
    WEFT_EXT_HEAD,    /* head_dim */
    WEFT_EXT_ROT_HALF /* n_rot / 2 */
} weft_extent;

/* What may differ from a plain required weight. */
#define WEFT_RULE_OPTIONAL 1u
#define WEFT_RULE_NORM 2u   /* vector of a norm: `norm_plus_one` applies */
#define WEFT_RULE_GATHER 4u /* a table of rows; may serve as the output matrix too */
#define WEFT_RULE_OUTPUT 8u /* absent when the output is tied to the embedding */

/* One tensor: [n_cols] or [n_rows, n_cols] and the field of the layer (or of the network) that
 * borrows it. Rank 2: a matrix of any supported type; rank 1: floats, used as f32. */
typedef struct weft_tensor_rule {
    size_t field; /* offsetof into weft_layer or weft_globals */
    const char *name[WEFT_SPELL_COUNT];
    weft_extent n_rows, n_cols;
    unsigned flags;
} weft_tensor_rule;

/* A layer borrows its weights from the weights map. Optional ones are NULL. */
typedef struct weft_layer {
    weft_tensor *attn_norm;      /* [n_embd] */
    weft_tensor *attn_q;         /* [n_head * head_dim, n_embd] */
    weft_tensor *attn_k;         /* [n_head_kv * head_dim, n_embd] */
    weft_tensor *attn_v;         /* [n_head_kv * head_dim, n_embd] */
    weft_tensor *attn_q_bias;    /* [n_head * head_dim] */
    weft_tensor *attn_k_bias;    /* [n_head_kv * head_dim] */
    weft_tensor *attn_v_bias;    /* [n_head_kv * head_dim] */
    weft_tensor *attn_q_norm;    /* [head_dim] */
    weft_tensor *attn_k_norm;    /* [head_dim] */
    weft_tensor *attn_out;       /* [n_embd, n_head * head_dim] */
    weft_tensor *attn_out_bias;  /* [n_embd] */
    weft_tensor *attn_post_norm; /* [n_embd], before the residual is added */
    weft_tensor *ffn_norm;       /* [n_embd] */
    weft_tensor *ffn_gate;       /* [n_ff, n_embd] */
    weft_tensor *ffn_up;         /* [n_ff, n_embd] */
    weft_tensor *ffn_down;       /* [n_embd, n_ff] */
    weft_tensor *ffn_gate_bias;  /* [n_ff] */
    weft_tensor *ffn_up_bias;    /* [n_ff] */
    weft_tensor *ffn_down_bias;  /* [n_embd] */
    weft_tensor *ffn_post_norm;  /* [n_embd], before the residual is added */
    bool is_local;               /* sees `window` positions, turned by the local rope */
} weft_layer;

/* What stands outside of the layers. */
typedef struct weft_globals {
    weft_tensor *embedding;    /* [n_vocab, n_embd] */
    weft_tensor *output_norm;  /* [n_embd] */
    weft_tensor *output;       /* [n_vocab, n_embd]; the embedding where tied */
    weft_tensor *output_bias;  /* [n_vocab] */
    weft_tensor *rope_factors; /* [n_rot / 2]: divisors of the rope's frequencies */
} weft_globals;

#define WEFT_GLOBAL(f) offsetof(weft_globals, f)
#define WEFT_LAYER(f) offsetof(weft_layer, f)

#define WEFT_ARCH_NAMES 4

typedef struct weft_arch {
    const char *name;                         /* general.architecture of GGUF files */
    const char *model_types[WEFT_ARCH_NAMES]; /* of config.json; NULL ends */
    const char *classes[WEFT_ARCH_NAMES];     /* "architectures" of config.json; NULL ends */

    const weft_key_name *keys; /* NULL or own spellings, before the usual ones; key COUNT ends */
    const weft_tensor_rule *globals;
    size_t n_globals;
    const weft_tensor_rule *layer; /* names follow "blk.N." or "model.layers.N." */
    size_t n_layer_rules;

    bool rope_interleaved[WEFT_SPELL_COUNT]; /* pairs 2i, 2i + 1; else i, i + n_rot / 2 */
    bool norm_plus_one[WEFT_SPELL_COUNT];    /* the file stores w, the norm multiplies by 1 + w */
    bool tied_default;                       /* config.json without tie_word_embeddings */
    bool scale_embedding;                    /* by sqrt(n_embd) */
    weft_activation activation;
    int32_t head_dim_default; /* config.json without head_dim; 0: n_embd / n_head */
    double rope_base_default[WEFT_SPELL_COUNT];
    double rope_base_local; /* 0: window layers turn as the others */
    const char *local_rope; /* config.json: prefix of the local rope's parameters, or NULL */
    int32_t window_pattern; /* every n-th layer sees everything; 0: all do, unless keys say */
    bool window_everywhere; /* a window in the file holds for every layer */
    int32_t scale_by_width_layers; /* GGUF: models of this many layers scale q·k by
                                      1 / sqrt(n_embd / n_head); 0: none */
} weft_arch;

/* Spellings that most decoders share. */
extern const weft_key_name weft_keys_usual[];

/* The description of the architecture that the metadata names. Errors: WEFT_E_FORMAT (none is
 * named), WEFT_E_UNSUPPORTED with the list of those known. */
weft_status weft_arch_find(const weft_metadata *metadata, weft_spelling spelling,
                           const weft_arch **out);

#endif
