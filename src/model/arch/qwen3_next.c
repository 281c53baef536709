/* Qwen3-Next and Qwen3.5 (Qwen Team 2025): gated delta nets in most layers, attention whose output
 * is gated by part of q in every fourth. Dense or a mixture with a shared expert. Norms multiply by
 * 1 + w in folders, but for the one behind the delta rule. */
#include "model/arch/list.h"
#include "model/arch/rules.h"
#include "model/config.h"
#include "model/pass.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS};

#define REC WEFT_RULE_RECURRENT

/* q, k, v and z of one projection, group by group. */
#define GROUPED(f, gguf, hf, rows, n, n_parts, p0, p1, p2, p3, what)                               \
    {                                                                                              \
        .field = WEFT_LAYER(f), .name = {gguf, hf}, .n_rows = rows, .n_cols = WEFT_EXT_EMBD,       \
        .flags = REC | (what), .fusion = WEFT_FUSED_GROUPS, .part = n, .span = n_parts, .parts = { \
            p0,                                                                                    \
            p1,                                                                                    \
            p2,                                                                                    \
            p3                                                                                     \
        }                                                                                          \
    }
#define QKVZ(f, rows, n, n_parts, what)                                                            \
    GROUPED(f, "ssm_in.weight", "linear_attn.in_proj_qkvz.weight", rows, n, n_parts,               \
            WEFT_EXT_REC_KEYS, WEFT_EXT_REC_KEYS, WEFT_EXT_REC_INNER, WEFT_EXT_REC_INNER, what)
#define BETA_ALPHA(f, n)                                                                           \
    GROUPED(f, "ssm_ba.weight", "linear_attn.in_proj_ba.weight", WEFT_EXT_REC_HEADS, n, 1,         \
            WEFT_EXT_REC_HEADS, WEFT_EXT_REC_HEADS, WEFT_EXT_NONE, WEFT_EXT_NONE, 0)

#define ATTENTION                                                                                  \
    WEFT_USUAL_ATTN_NORM,                                                                          \
        WEFT_MATRIX(attn_q, "attn_q.weight", "self_attn.q_proj.weight", WEFT_EXT_Q_GATED,          \
                    WEFT_EXT_EMBD, WEFT_RULE_ATTENTION),                                           \
        WEFT_USUAL_ATTN_K, WEFT_USUAL_ATTN_V, WEFT_USUAL_ATTN_Q_NORM, WEFT_USUAL_ATTN_K_NORM,      \
        WEFT_USUAL_ATTN_OUT
#define DELTA_NET                                                                                  \
    WEFT_MATRIX(rec_conv, "ssm_conv1d.weight", "linear_attn.conv1d.weight", WEFT_EXT_REC_CONV,     \
                WEFT_EXT_REC_TAPS, REC | WEFT_RULE_FLOATS),                                        \
        WEFT_VECTOR(rec_a, "ssm_a", "linear_attn.A_log", WEFT_EXT_REC_HEADS,                       \
                    REC | WEFT_RULE_FLOATS | WEFT_RULE_LOG),                                       \
        WEFT_VECTOR(rec_dt_bias, "ssm_dt.bias", "linear_attn.dt_bias", WEFT_EXT_REC_HEADS, REC),   \
        WEFT_VECTOR(rec_norm, "ssm_norm.weight", "linear_attn.norm.weight", WEFT_EXT_REC_HEAD_DIM, \
                    REC),                                                                          \
        WEFT_MATRIX(rec_out, "ssm_out.weight", "linear_attn.out_proj.weight", WEFT_EXT_EMBD,       \
                    WEFT_EXT_REC_INNER, REC)
#define FFN_NORM                                                                                   \
    WEFT_VECTOR(ffn_norm, "post_attention_norm.weight", "post_attention_layernorm.weight",         \
                WEFT_EXT_EMBD, WEFT_RULE_NORM)
#define MIXTURE                                                                                    \
    WEFT_USUAL_MIXTURE, WEFT_SHARED_EXPERTS("mlp.shared_expert."),                                 \
        WEFT_MATRIX(shared_scale, "ffn_gate_inp_shexp.weight", "mlp.shared_expert_gate.weight",    \
                    WEFT_EXT_ONE, WEFT_EXT_EMBD, WEFT_RULE_MIXTURE)

static const weft_tensor_rule next_layer[] = {
    ATTENTION,
    WEFT_MATRIX(rec_in, "attn_qkv.weight", NULL, WEFT_EXT_REC_CONV, WEFT_EXT_EMBD,
                REC | WEFT_RULE_OPTIONAL),
    WEFT_MATRIX(rec_gate, "attn_gate.weight", NULL, WEFT_EXT_REC_INNER, WEFT_EXT_EMBD,
                REC | WEFT_RULE_OPTIONAL),
    QKVZ(rec_in, WEFT_EXT_REC_CONV, 0, 3, 0),
    QKVZ(rec_gate, WEFT_EXT_REC_INNER, 3, 1, 0),
    BETA_ALPHA(rec_beta, 0),
    BETA_ALPHA(rec_alpha, 1),
    DELTA_NET,
    FFN_NORM,
    WEFT_USUAL_FFN,
    MIXTURE,
};

/* Qwen3.5's projections stand apart. */
#define APART                                                                                      \
    WEFT_MATRIX(rec_in, "attn_qkv.weight", "linear_attn.in_proj_qkv.weight", WEFT_EXT_REC_CONV,    \
                WEFT_EXT_EMBD, REC),                                                               \
        WEFT_MATRIX(rec_gate, "attn_gate.weight", "linear_attn.in_proj_z.weight",                  \
                    WEFT_EXT_REC_INNER, WEFT_EXT_EMBD, REC),                                       \
        WEFT_MATRIX(rec_beta, "ssm_beta.weight", "linear_attn.in_proj_b.weight",                   \
                    WEFT_EXT_REC_HEADS, WEFT_EXT_EMBD, REC),                                       \
        WEFT_MATRIX(rec_alpha, "ssm_alpha.weight", "linear_attn.in_proj_a.weight",                 \
                    WEFT_EXT_REC_HEADS, WEFT_EXT_EMBD, REC)

static const weft_tensor_rule layer[] = {
    ATTENTION, APART, DELTA_NET, FFN_NORM, WEFT_USUAL_FFN,
};

/* Folders of these have the experts in stacks, gate and up in one. */
#define STACKED_GATE_UP(f, n)                                                                      \
    WEFT_PART(f, NULL, "mlp.experts.gate_up_proj", WEFT_FUSED_ROWS, n, WEFT_EXT_FF_EXPERT,         \
              WEFT_EXT_FF_EXPERT, WEFT_EXT_NONE, WEFT_EXT_EMBD,                                    \
              WEFT_RULE_MIXTURE | WEFT_RULE_EXPERTS | WEFT_RULE_OPTIONAL)

static const weft_tensor_rule moe_layer[] = {
    ATTENTION,
    APART,
    DELTA_NET,
    FFN_NORM,
    WEFT_USUAL_FFN,
    STACKED_GATE_UP(experts_gate, 0),
    STACKED_GATE_UP(experts_up, 1),
    WEFT_MATRIX(experts_down, NULL, "mlp.experts.down_proj", WEFT_EXT_EMBD, WEFT_EXT_FF_EXPERT,
                WEFT_RULE_MIXTURE | WEFT_RULE_EXPERTS | WEFT_RULE_OPTIONAL),
    MIXTURE,
};

static const weft_key_name keys[] = {
    {WEFT_KEY_LAYER_TYPES, NULL, {"layer_types"}},
    {WEFT_KEY_N_EXTRA, "nextn_predict_layers", {NULL}},
    {WEFT_KEY_REC_INTERVAL, "full_attention_interval", {"full_attention_interval"}},
    {WEFT_KEY_REC_TAPS, "ssm.conv_kernel", {"linear_conv_kernel_dim"}},
    {WEFT_KEY_REC_INNER, "ssm.inner_size", {NULL}},
    {WEFT_KEY_REC_HEADS, "ssm.time_step_rank", {"linear_num_value_heads"}},
    {WEFT_KEY_REC_HEAD_DIM, NULL, {"linear_value_head_dim"}},
    {WEFT_KEY_REC_GROUPS, "ssm.group_count", {"linear_num_key_heads"}},
    {WEFT_KEY_REC_STATE, "ssm.state_size", {"linear_key_head_dim"}},
    {WEFT_KEY_N_FF_SHARED,
     "expert_shared_feed_forward_length",
     {"shared_expert_intermediate_size"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

#define USUAL                                                                                      \
    .keys = keys, .globals = globals, .n_globals = sizeof globals / sizeof *globals,               \
    .recurrent = &weft_mixer_delta_net, .attn_gated = true, .norm_plus_one = {false, true},        \
    .activation = WEFT_ACT_SILU, .head_dim_default = 256, .rot_factor = 0.25,                      \
    .rope_base_default = {10000, 10000}, .router = {.normalise = true},                            \
    .kind_of = weft_kind_by_interval

const weft_arch weft_arch_qwen3next = {
    .name = "qwen3next",
    .model_types = {"qwen3_next"},
    .classes = {"Qwen3NextForCausalLM"},
    .layer = next_layer,
    .n_layer_rules = sizeof next_layer / sizeof *next_layer,
    .read = weft_read_delta_net,
    USUAL,
};

/* Their GGUF files have the heads of v in another order: the first of every group, the second, … */
const weft_arch weft_arch_qwen35 = {
    .name = "qwen35",
    .model_types = {"qwen3_5_text"},
    .classes = {"Qwen3_5ForCausalLM", "Qwen3_5ForConditionalGeneration"},
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .read = weft_read_delta_net,
    .heads_tiled = {true, false},
    USUAL,
};

const weft_arch weft_arch_qwen35moe = {
    .name = "qwen35moe",
    .model_types = {"qwen3_5_moe_text"},
    .classes = {"Qwen3_5MoeForCausalLM", "Qwen3_5MoeForConditionalGeneration"},
    .layer = moe_layer,
    .n_layer_rules = sizeof moe_layer / sizeof *moe_layer,
    .read = weft_read_delta_net,
    .heads_tiled = {true, false},
    USUAL,
};
