/* Mamba (Gu and Dao 2023) and Mamba-2 (Dao and Gu 2024): layers that are a state space and nothing
 * else. */
#include "model/arch/list.h"
#include "model/arch/rules.h"
#include "model/config.h"
#include "model/pass.h"

static const weft_tensor_rule globals[] = {
    WEFT_GLOBAL_MATRIX(embedding, "token_embd.weight", "backbone.embeddings.weight", WEFT_EXT_VOCAB,
                       WEFT_EXT_EMBD, WEFT_RULE_GATHER),
    WEFT_GLOBAL_VECTOR(output_norm, "output_norm.weight", "backbone.norm_f.weight", WEFT_EXT_EMBD,
                       WEFT_RULE_NORM),
    WEFT_USUAL_OUTPUT,
};

#define NORM                                                                                       \
    WEFT_VECTOR(attn_norm, "attn_norm.weight", "norm.weight", WEFT_EXT_EMBD, WEFT_RULE_NORM)
#define IN                                                                                         \
    WEFT_MATRIX(rec_in, "ssm_in.weight", "mixer.in_proj.weight", WEFT_EXT_REC_IN, WEFT_EXT_EMBD, 0)
#define CONV                                                                                       \
    WEFT_MATRIX(rec_conv, "ssm_conv1d.weight", "mixer.conv1d.weight", WEFT_EXT_REC_CONV,           \
                WEFT_EXT_REC_TAPS, WEFT_RULE_FLOATS),                                              \
        WEFT_VECTOR(rec_conv_bias, "ssm_conv1d.bias", "mixer.conv1d.bias", WEFT_EXT_REC_CONV,      \
                    WEFT_RULE_OPTIONAL)
#define OUT                                                                                        \
    WEFT_MATRIX(rec_out, "ssm_out.weight", "mixer.out_proj.weight", WEFT_EXT_EMBD,                 \
                WEFT_EXT_REC_INNER, 0),                                                            \
        WEFT_VECTOR(rec_in_bias, "ssm_in.bias", "mixer.in_proj.bias", WEFT_EXT_REC_IN,             \
                    WEFT_RULE_OPTIONAL),                                                           \
        WEFT_VECTOR(rec_out_bias, "ssm_out.bias", "mixer.out_proj.bias", WEFT_EXT_EMBD,            \
                    WEFT_RULE_OPTIONAL)

static const weft_tensor_rule layer[] = {
    NORM,
    IN,
    CONV,
    WEFT_MATRIX(rec_x, "ssm_x.weight", "mixer.x_proj.weight", WEFT_EXT_REC_X, WEFT_EXT_REC_INNER,
                0),
    WEFT_MATRIX(rec_dt, "ssm_dt.weight", "mixer.dt_proj.weight", WEFT_EXT_REC_INNER,
                WEFT_EXT_REC_RANK, 0),
    WEFT_VECTOR(rec_dt_bias, "ssm_dt.bias", "mixer.dt_proj.bias", WEFT_EXT_REC_INNER, 0),
    WEFT_MATRIX(rec_a, "ssm_a", "mixer.A_log", WEFT_EXT_REC_INNER, WEFT_EXT_REC_STATE,
                WEFT_RULE_FLOATS | WEFT_RULE_LOG),
    WEFT_VECTOR(rec_d, "ssm_d", "mixer.D", WEFT_EXT_REC_INNER, WEFT_RULE_FLOATS),
    OUT,
};

static const weft_tensor_rule layer2[] = {
    NORM,
    IN,
    CONV,
    WEFT_VECTOR(rec_dt_bias, "ssm_dt.bias", "mixer.dt_bias", WEFT_EXT_REC_HEADS, 0),
    WEFT_VECTOR(rec_a, "ssm_a", "mixer.A_log", WEFT_EXT_REC_HEADS,
                WEFT_RULE_FLOATS | WEFT_RULE_LOG | WEFT_RULE_COLUMN),
    WEFT_VECTOR(rec_d, "ssm_d", "mixer.D", WEFT_EXT_REC_HEADS, WEFT_RULE_FLOATS | WEFT_RULE_COLUMN),
    WEFT_VECTOR(rec_norm, "ssm_norm.weight", "mixer.norm.weight", WEFT_EXT_REC_INNER,
                WEFT_RULE_FLOATS | WEFT_RULE_OPTIONAL | WEFT_RULE_GROUPED),
    OUT,
};

#define NORM_EPS                                                                                   \
    {                                                                                              \
        WEFT_KEY_NORM_EPS, "attention.layer_norm_rms_epsilon", {                                   \
            "layer_norm_epsilon"                                                                   \
        }                                                                                          \
    }
#define TAPS                                                                                       \
    {                                                                                              \
        WEFT_KEY_REC_TAPS, "ssm.conv_kernel", {                                                    \
            "conv_kernel"                                                                          \
        }                                                                                          \
    }
#define STATE                                                                                      \
    {                                                                                              \
        WEFT_KEY_REC_STATE, "ssm.state_size", {                                                    \
            "state_size"                                                                           \
        }                                                                                          \
    }

static const weft_key_name keys[] = {
    NORM_EPS,
    TAPS,
    STATE,
    {WEFT_KEY_REC_INNER, "ssm.inner_size", {"intermediate_size", "d_inner"}},
    {WEFT_KEY_REC_EXPAND, NULL, {"expand"}},
    {WEFT_KEY_REC_RANK, "ssm.time_step_rank", {"time_step_rank"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

static const weft_key_name keys2[] = {
    NORM_EPS,
    TAPS,
    STATE,
    {WEFT_KEY_REC_INNER, "ssm.inner_size", {NULL}},
    {WEFT_KEY_REC_HEADS, "ssm.time_step_rank", {"num_heads"}},
    {WEFT_KEY_REC_HEAD_DIM, NULL, {"head_dim"}},
    {WEFT_KEY_REC_GROUPS, "ssm.group_count", {"n_groups"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_mamba = {
    .name = "mamba",
    .model_types = {"mamba"},
    .classes = {"MambaForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .hf_layers = "backbone.layers.",
    .recurrent = &weft_mixer_mamba,
    .recurrent_only = true,
    .no_rope = true,
    .tied_default = true,
    .activation = WEFT_ACT_SILU,
    .read = weft_read_mamba,
    .kind_of = weft_kind_recurrent,
};

const weft_arch weft_arch_mamba2 = {
    .name = "mamba2",
    .model_types = {"mamba2"},
    .classes = {"Mamba2ForCausalLM"},
    .keys = keys2,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer2,
    .n_layer_rules = sizeof layer2 / sizeof *layer2,
    .hf_layers = "backbone.layers.",
    .recurrent = &weft_mixer_mamba2,
    .recurrent_only = true,
    .no_rope = true,
    .tied_default = true,
    .activation = WEFT_ACT_SILU,
    .read = weft_read_mamba2,
    .kind_of = weft_kind_recurrent,
};
