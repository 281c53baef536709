/* GLM-4 (GLM Team 2024): norms before and after each half, half of each head turns, neighbours
 * together; gate and up are one tensor. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTENTION,
    WEFT_VECTOR(attn_post_norm, "post_attention_norm.weight", "post_self_attn_layernorm.weight",
                WEFT_EXT_EMBD, WEFT_RULE_NORM),
    WEFT_USUAL_FFN_NORM,
    WEFT_FUSED_GATE_UP("ffn_up.weight", "mlp.gate_up_proj.weight", 0),
    WEFT_USUAL_FFN_DOWN,
    WEFT_VECTOR(ffn_post_norm, "post_ffw_norm.weight", "post_mlp_layernorm.weight", WEFT_EXT_EMBD,
                WEFT_RULE_NORM),
};

const weft_arch weft_arch_glm4 = {
    .name = "glm4",
    .model_types = {"glm4"},
    .classes = {"Glm4ForCausalLM"},
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .rope_interleaved = {true, true},
    .activation = WEFT_ACT_SILU,
    .rot_factor = 0.5,
    .rope_base_default = {10000, 10000},
};
