/* GLM-4.5 and 4.6 (GLM Team 2025): first layers dense, then experts chosen by a sigmoid router with
 * a correction, beside shared ones; half of each head turns. Layers that predict further tokens are
 * left aside. */
#include "model/arch/list.h"
#include "model/arch/rules.h"
#include "model/config.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTENTION,
    WEFT_VECTOR(attn_q_norm, "attn_q_norm.weight", "self_attn.q_norm.weight", WEFT_EXT_HEAD,
                WEFT_RULE_OPTIONAL),
    WEFT_VECTOR(attn_k_norm, "attn_k_norm.weight", "self_attn.k_norm.weight", WEFT_EXT_HEAD,
                WEFT_RULE_OPTIONAL),
    WEFT_VECTOR(ffn_norm, "post_attention_norm.weight", "post_attention_layernorm.weight",
                WEFT_EXT_EMBD, WEFT_RULE_NORM),
    WEFT_USUAL_FFN,
    WEFT_USUAL_MIXTURE,
    WEFT_VECTOR(router_correction, "exp_probs_b.bias", "mlp.gate.e_score_correction_bias",
                WEFT_EXT_EXPERTS, WEFT_RULE_MIXTURE),
    WEFT_SHARED_EXPERTS("mlp.shared_experts."),
};

static const weft_key_name keys[] = {
    {WEFT_KEY_N_SHARED, "expert_shared_count", {"n_shared_experts"}},
    {WEFT_KEY_N_EXTRA, "nextn_predict_layers", {"num_nextn_predict_layers"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_glm4moe = {
    .name = "glm4moe",
    .model_types = {"glm4_moe"},
    .classes = {"Glm4MoeForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .activation = WEFT_ACT_SILU,
    .head_dim_default = 128,
    .rot_factor = 0.5,
    .rope_base_default = {10000, 10000},
    .router = {.scores = WEFT_SCORES_SIGMOID, .normalise = true, .group_by_two = true},
    .read = weft_read_extra_layers,
};
