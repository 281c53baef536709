/* Phi-1, 1.5 and 2 (Li et al. 2023): layer norm, attention and feed-forward side by side behind one
 * norm, biases everywhere, half of each head turns. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {
    WEFT_USUAL_EMBEDDING,
    WEFT_GLOBAL_VECTOR(output_norm, "output_norm.weight", "model.final_layernorm.weight",
                       WEFT_EXT_EMBD, 0),
    WEFT_GLOBAL_VECTOR(output_norm_bias, "output_norm.bias", "model.final_layernorm.bias",
                       WEFT_EXT_EMBD, 0),
    WEFT_USUAL_OUTPUT,
    WEFT_USUAL_OUTPUT_BIAS,
};

/* Early GGUF files have q, k and v in one tensor. */
static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTN_NORM_BIAS,
    WEFT_FUSED_QKV("attn_qkv.weight", NULL, WEFT_FUSED_ROWS, WEFT_RULE_OPTIONAL),
    WEFT_FUSED_QKV_BIAS("attn_qkv.bias", NULL, WEFT_FUSED_ROWS, WEFT_RULE_OPTIONAL),
    WEFT_USUAL_ATTN_Q,
    WEFT_USUAL_ATTN_K,
    WEFT_USUAL_ATTN_V,
    WEFT_USUAL_ATTN_Q_BIAS,
    WEFT_USUAL_ATTN_K_BIAS,
    WEFT_USUAL_ATTN_V_BIAS,
    WEFT_VECTOR(attn_q_norm, NULL, "self_attn.q_layernorm.weight", WEFT_EXT_HEAD,
                WEFT_RULE_OPTIONAL),
    WEFT_VECTOR(attn_q_norm_bias, NULL, "self_attn.q_layernorm.bias", WEFT_EXT_HEAD,
                WEFT_RULE_OPTIONAL),
    WEFT_VECTOR(attn_k_norm, NULL, "self_attn.k_layernorm.weight", WEFT_EXT_HEAD,
                WEFT_RULE_OPTIONAL),
    WEFT_VECTOR(attn_k_norm_bias, NULL, "self_attn.k_layernorm.bias", WEFT_EXT_HEAD,
                WEFT_RULE_OPTIONAL),
    WEFT_MATRIX(attn_out, "attn_output.weight", "self_attn.dense.weight", WEFT_EXT_EMBD, WEFT_EXT_Q,
                WEFT_RULE_ATTENTION),
    WEFT_VECTOR(attn_out_bias, "attn_output.bias", "self_attn.dense.bias", WEFT_EXT_EMBD,
                WEFT_RULE_OPTIONAL),
    WEFT_MATRIX(ffn_up, "ffn_up.weight", "mlp.fc1.weight", WEFT_EXT_FF, WEFT_EXT_EMBD, 0),
    WEFT_VECTOR(ffn_up_bias, "ffn_up.bias", "mlp.fc1.bias", WEFT_EXT_FF, WEFT_RULE_OPTIONAL),
    WEFT_MATRIX(ffn_down, "ffn_down.weight", "mlp.fc2.weight", WEFT_EXT_EMBD, WEFT_EXT_FF, 0),
    WEFT_VECTOR(ffn_down_bias, "ffn_down.bias", "mlp.fc2.bias", WEFT_EXT_EMBD, WEFT_RULE_OPTIONAL),
};

static const weft_key_name keys[] = {
    {WEFT_KEY_HEAD_NORMS, NULL, {"qk_layernorm"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_phi2 = {
    .name = "phi2",
    .model_types = {"phi"},
    .classes = {"PhiForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .norm = WEFT_NORM_LAYER,
    .parallel = true,
    .activation = WEFT_ACT_GELU_TANH,
    .rot_factor = 0.5,
    .rope_base_default = {10000, 10000},
};
