/* An architecture as data: its names in both kinds of files, the spellings of its hyper-parameters
 * and tensors, and the options of its layers. A usual decoder is one file of arch/, which fills one
 * `weft_arch`; nothing else in the project asks which architecture a model has. */
#ifndef WEFT_MODEL_ARCH_H
#define WEFT_MODEL_ARCH_H

#include "model/hparams.h"
#include "model/layer.h"

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
    WEFT_KEY_HEAD_DIM_LOCAL, /* of window layers, where they differ */
    WEFT_KEY_HEAD_DIM_V_LOCAL,
    WEFT_KEY_N_HEAD_KV_GLOBAL, /* of layers that see everything */
    WEFT_KEY_N_CONTEXT,
    WEFT_KEY_N_VOCAB,
    WEFT_KEY_NORM_EPS,       /* of RMS norms */
    WEFT_KEY_LAYER_NORM_EPS, /* of layer norms */
    WEFT_KEY_N_ROT,
    WEFT_KEY_N_ROT_LOCAL,     /* of window layers */
    WEFT_KEY_ROT_FACTOR,      /* share of head_dim that turns */
    WEFT_KEY_ROPE_BASE,       /* of layers that see everything */
    WEFT_KEY_ROPE_BASE_LOCAL, /* of window layers */
    WEFT_KEY_ROPE_LAYERS,     /* an array, a layer each: 0, no rope */
    WEFT_KEY_ROPE_INTERVAL,   /* every n-th layer has no rope */
    WEFT_KEY_WINDOW,
    WEFT_KEY_WINDOW_PATTERN, /* every n-th layer sees everything; or an array of bools, true: window
                              */
    WEFT_KEY_LAYER_TYPES,    /* an array of "full_attention", "sliding_attention", … */
    WEFT_KEY_USE_WINDOW,
    WEFT_KEY_FIRST_WINDOW_LAYER,
    WEFT_KEY_ATTN_SCALE,        /* of q·k */
    WEFT_KEY_ATTN_SCALE_SQUARE, /* 1 / scale² */
    WEFT_KEY_ATTN_SOFTCAP,
    WEFT_KEY_FINAL_SOFTCAP,
    WEFT_KEY_EMBD_SCALE,
    WEFT_KEY_RESIDUAL_SCALE,
    WEFT_KEY_LOGIT_SCALE,
    WEFT_KEY_ACTIVATION,
    WEFT_KEY_PARALLEL, /* residual: attention and feed-forward read the same stream */
    WEFT_KEY_CLIP_QKV, /* bound of q, k and v as projected */
    WEFT_KEY_Q_GROWTH, /* how queries grow with positions: see q_growth */
    WEFT_KEY_ALIBI,    /* GGUF: the largest exponent, 0: none */
    WEFT_KEY_TIED,
    WEFT_KEY_ATTN_BIAS,
    WEFT_KEY_MLP_BIAS,
    WEFT_KEY_HEAD_NORMS, /* q and k have norms */
    WEFT_KEY_N_EXPERT,
    WEFT_KEY_N_EXPERT_USED,
    WEFT_KEY_N_FF_EXPERT,
    WEFT_KEY_N_FF_SHARED,
    WEFT_KEY_N_SHARED,      /* shared experts of n_ff_expert each */
    WEFT_KEY_N_DENSE_LEAD,  /* so many first layers are dense */
    WEFT_KEY_MIXTURE_STEP,  /* every n-th layer is a mixture */
    WEFT_KEY_DENSE_LAYERS,  /* an array of the layers that are dense */
    WEFT_KEY_NETWORK_TYPES, /* an array of "dense", "sparse" */
    WEFT_KEY_ROUTER_SCORES, /* "softmax", "sigmoid"; GGUF: a number */
    WEFT_KEY_ROUTER_NORMALISE,
    WEFT_KEY_ROUTER_SCALE,
    WEFT_KEY_ROUTER_GROUPS,
    WEFT_KEY_ROUTER_GROUPS_USED,
    WEFT_KEY_BIDIRECTIONAL,
    WEFT_KEY_REC_TAPS, /* of recurrent layers: see weft_recurrence */
    WEFT_KEY_REC_INNER,
    WEFT_KEY_REC_EXPAND, /* n_inner is n_embd times this */
    WEFT_KEY_REC_HEADS,
    WEFT_KEY_REC_HEAD_DIM,
    WEFT_KEY_REC_GROUPS,
    WEFT_KEY_REC_STATE,
    WEFT_KEY_REC_RANK,
    WEFT_KEY_REC_INTERVAL, /* every n-th layer is attention */
    WEFT_KEY_Q_LATENT,     /* of latent attention: see weft_latent */
    WEFT_KEY_KV_LATENT,
    WEFT_KEY_LATENT_PLAIN, /* elements of a head that do not turn */
    WEFT_KEY_LATENT_ROT,
    WEFT_KEY_LATENT_V,
    WEFT_KEY_N_SHARING,    /* so many last layers see the K and V of earlier ones */
    WEFT_KEY_WIDE_SHARING, /* these layers' feed-forward networks are twice as wide */
    WEFT_KEY_V_IS_K,       /* layers that see everything have no projection of values */
    WEFT_KEY_N_EMBD_LAYER, /* width of the input that each layer has of its own */
    WEFT_KEY_N_EXTRA,      /* layers after the last that only serve to guess tokens */
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
    WEFT_EXT_ONE,
    WEFT_EXT_VOCAB,
    WEFT_EXT_EMBD,
    WEFT_EXT_FF,     /* the layer's, as are the next five */
    WEFT_EXT_Q,      /* n_head * head_dim */
    WEFT_EXT_KV,     /* n_head_kv * head_dim */
    WEFT_EXT_V,      /* the same; 0 where values are the keys */
    WEFT_EXT_HEAD,   /* head_dim */
    WEFT_EXT_K_HEAD, /* the same; 0 in layers without keys of their own */
    WEFT_EXT_N_HEAD, /* n_head */
    WEFT_EXT_N_HEAD_KV,
    WEFT_EXT_ROT_HALF, /* n_rot / 2 */
    WEFT_EXT_CONTEXT,  /* first_position + n_context: rows of learned positions */
    WEFT_EXT_TYPES,    /* n_types */
    WEFT_EXT_EXPERTS,  /* n_expert */
    WEFT_EXT_FF_EXPERT,
    WEFT_EXT_FF_SHARED,
    WEFT_EXT_Q_GATED,  /* 2 * n_head * head_dim */
    WEFT_EXT_REC_TAPS, /* the members of weft_recurrence */
    WEFT_EXT_REC_INNER,
    WEFT_EXT_REC_HEADS,
    WEFT_EXT_REC_HEAD_DIM,
    WEFT_EXT_REC_STATE,
    WEFT_EXT_REC_KEYS, /* n_group * n_state */
    WEFT_EXT_REC_CONV, /* n_conv */
    WEFT_EXT_REC_IN,   /* n_in */
    WEFT_EXT_REC_RANK,
    WEFT_EXT_REC_X,    /* n_rank + 2 * n_state */
    WEFT_EXT_Q_WHOLE,  /* n_head * head_dim, where queries have no latent */
    WEFT_EXT_Q_LATENT, /* the members of weft_latent */
    WEFT_EXT_KV_LATENT,
    WEFT_EXT_KV_A,         /* n_kv + n_rot */
    WEFT_EXT_LATENT_PLAIN, /* head_dim - n_rot */
    WEFT_EXT_LATENT_V,
    WEFT_EXT_V_ALL,       /* n_head * dim_v */
    WEFT_EXT_LAYER_INPUT, /* n_embd_layer */
    WEFT_EXT_LAYER_INPUTS /* n_layer * n_embd_layer */
} weft_extent;

/* What may differ from a plain required weight. */
#define WEFT_RULE_OPTIONAL 1u
#define WEFT_RULE_NORM 2u   /* vector of a norm: `norm_plus_one` applies */
#define WEFT_RULE_GATHER 4u /* a table of rows; may serve as the output matrix too */
#define WEFT_RULE_OUTPUT 8u /* absent when the output is tied to the embedding */
#define WEFT_RULE_EXPERTS                                                                          \
    16u /* one a expert: [n_expert, …], or a tensor each where the name has                      \
           a '*', which stands for the expert's number */
#define WEFT_RULE_TRANSPOSED 32u /* the file stores [n_cols, n_rows] */
/* Only in layers of that kind; a rule without any of these holds in all. */
#define WEFT_RULE_ATTENTION 64u
#define WEFT_RULE_RECURRENT 128u
#define WEFT_RULE_DENSE 256u
#define WEFT_RULE_MIXTURE 512u
#define WEFT_RULE_HEADS 1024u    /* a matrix a head: [n_head, rows, columns] */
#define WEFT_RULE_FLOATS 2048u   /* as many floats in any shape, as f32; a '*' is a row's number */
#define WEFT_RULE_MXFP4 65536u   /* experts as "…_blocks" beside "…_scales", bytes */
#define WEFT_RULE_LOG 4096u      /* folders store ln(-w) */
#define WEFT_RULE_COLUMN 8192u   /* a vector that GGUF files have as [n, 1] */
#define WEFT_RULE_GROUPED 16384u /* a vector that they have as [groups, elements] */
#define WEFT_RULE_LOOKUP 131072u /* rows of it are read, no more: it stays as the file has it */
#define WEFT_RULE_OF_TWO 262144u /* written to GGUF files beside a norm of the other half only */
#define WEFT_RULE_WIDE 32768u    /* f16 and bf16 become f32: its outputs decide, not only weigh */

/* How several weights of a layer lie in one tensor of a file; each has a rule that names the tensor
 * and its own part. */
typedef enum weft_fusion {
    WEFT_FUSED_NOT,
    WEFT_FUSED_ROWS,  /* the rows of the parts one after the other */
    WEFT_FUSED_HEADS, /* q, k, v: for each K head the rows of its q heads, then its k, then its v */
    WEFT_FUSED_TURNS, /* row i of each part in turn */
    WEFT_FUSED_GROUPS, /* for each group of a recurrent layer its rows of every part */
    WEFT_FUSED_STACK   /* for each head its rows of every part; for WEFT_RULE_HEADS */
} weft_fusion;

#define WEFT_FUSED_PARTS 4

/* One tensor: [n_cols] or [n_rows, n_cols] and the field of the layer (or of the network) that
 * borrows it. Rank 2: a matrix of any supported type; rank 1: floats, used as f32. A rule without a
 * name in a kind of file does not hold there, nor does one with an extent that is 0. Of several
 * rules for one field the first whose tensor is there counts, so that optional alternatives come
 * before the required one. */
typedef struct weft_tensor_rule {
    size_t field; /* offsetof into weft_layer or weft_globals */
    const char *name[WEFT_SPELL_COUNT];
    weft_extent n_rows, n_cols;
    unsigned flags;
    weft_fusion fusion;
    int part;                            /* of `parts` */
    int span;                            /* GROUPS: parts taken, one after the other; 0: one */
    weft_extent parts[WEFT_FUSED_PARTS]; /* rows of each; NONE ends */
} weft_tensor_rule;

#define WEFT_GLOBAL(f) offsetof(weft_globals, f)
#define WEFT_LAYER(f) offsetof(weft_layer, f)

#define WEFT_ARCH_NAMES 6

struct weft_config;

typedef struct weft_arch {
    const char *name;                         /* general.architecture of GGUF files */
    const char *model_types[WEFT_ARCH_NAMES]; /* of config.json; NULL ends */
    const char *classes[WEFT_ARCH_NAMES];     /* "architectures" of config.json; NULL ends */
    const char *written_as; /* whose GGUF files folders are converted to; NULL: its own */

    const weft_key_name *keys; /* NULL or own spellings, before the usual ones; key COUNT ends */
    const weft_tensor_rule *globals;
    size_t n_globals;
    const weft_tensor_rule *layer; /* names follow "blk.N." or the folder's prefix and "N." */
    size_t n_layer_rules;
    const char *hf_base;   /* prefix that files without a head leave out; NULL: "model." */
    const char *hf_layers; /* of a layer's tensors; NULL: "model.layers." */

    /* A layer. */
    const struct weft_mixer *mixer;     /* of attention layers; NULL: weft_mixer_attention */
    const struct weft_mixer *recurrent; /* of recurrent layers; NULL: there are none */
    weft_norm_kind norm;
    bool norm_plus_one[WEFT_SPELL_COUNT]; /* the file stores w, the norm multiplies by 1 + w */
    bool heads_tiled[WEFT_SPELL_COUNT]; /* delta nets: value head h belongs to group h mod n_group,
                                           else the heads come group by group */
    bool parallel;                      /* the default of WEFT_KEY_PARALLEL */
    bool bidirectional;                 /* an encoder: every token sees all of its text */
    bool recurrent_only;     /* neither attention nor feed-forward: a layer is its mixer */
    bool layers_differ;      /* arrays of a number a layer may hold several: `read` sorts them */
    bool v_normed;           /* values are divided by their root mean square */
    bool norm_after_turning; /* norms of q and k come after rope */
    bool unweighted_norms;   /* before both halves and the output */
    bool attn_gated;         /* q has a gate beside each head, whose sigmoid weighs the output */
    weft_activation activation;

    bool tied_default;        /* config.json without tie_word_embeddings */
    bool scale_embedding;     /* by sqrt(n_embd) */
    bool logit_scale_divides; /* logits are divided by WEFT_KEY_LOGIT_SCALE */
    double norm_eps_default;  /* config.json without an epsilon; 0: it is required */
    int32_t context_default;  /* config.json without a context; 0: it is required */
    int32_t ff_factor;        /* a file without n_ff: n_embd times this; 0: n_ff is required */

    double attn_scale;             /* of q·k, where the file says none; 0: 1 / sqrt(head_dim) */
    int32_t head_dim_default;      /* config.json without head_dim; 0: n_embd / n_head */
    int32_t scale_by_width_layers; /* GGUF: models of this many layers scale q·k by
                                      1 / sqrt(n_embd / n_head); 0: none */

    int32_t alibi;                           /* ALiBi's exponent, where the file does not say */
    bool no_rope;                            /* positions are learned, or none */
    bool rope_interleaved[WEFT_SPELL_COUNT]; /* pairs 2i, 2i + 1; else i, i + n_rot / 2 */
    bool rope_local_only;                    /* layers that see everything do not turn */
    bool rope_local_plain;                   /* window layers turn without the rope's scaling */
    bool longrope_unnamed; /* GGUF: a stretched context says so without a scaling type */
    int32_t rope_interval; /* every n-th layer does not turn; 0: all do, unless keys say */
    double rot_factor;     /* config.json without partial_rotary_factor; 0: 1 */
    double rope_base_default[WEFT_SPELL_COUNT];
    double rope_base_local; /* 0: window layers turn as the others */
    const char *local_rope; /* config.json: prefix of the local rope's parameters, or NULL */

    int32_t window_pattern; /* every n-th layer sees everything; 0: all do, unless keys say */
    bool window_everywhere; /* a window in the file holds for every layer */

    weft_router router; /* of mixtures, where the file does not say */

    const char *quantized; /* quantization_config.quant_method that its rules can read, or NULL */
    const char *const *refused; /* bools of config.json that must not be true; NULL ends */
    /* What no data above can say: called last, may be NULL. */
    weft_status (*read)(const struct weft_config *config, weft_hparams *h);
    /* Which kind layer i is, where neither a list of types nor a window's pattern says; may be
     * NULL. */
    weft_status (*kind_of)(const struct weft_config *config, const weft_hparams *h, int32_t i,
                           weft_layer_kind *kind);
} weft_arch;

/* Spellings that most decoders share. */
extern const weft_key_name weft_keys_usual[];

/* The description of the architecture that the metadata names. Errors: WEFT_E_FORMAT (none is
 * named), WEFT_E_UNSUPPORTED with the list of those known. */
weft_status weft_arch_find(const weft_metadata *metadata, weft_spelling spelling,
                           const weft_arch **out);

#endif
