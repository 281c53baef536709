/* StarCoder 2 (Lozhkov et al. 2024): Llama's order with layer norm, biases, a network without a
 * gate and a window. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {
    WEFT_USUAL_GLOBALS,
    WEFT_GLOBAL_VECTOR(output_norm_bias, "output_norm.bias", "model.norm.bias", WEFT_EXT_EMBD, 0),
};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTN_NORM_BIAS,
    WEFT_USUAL_ATTENTION,
    WEFT_USUAL_FFN_NORM,
    WEFT_USUAL_FFN_NORM_BIAS,
    WEFT_MATRIX(ffn_up, "ffn_up.weight", "mlp.c_fc.weight", WEFT_EXT_FF, WEFT_EXT_EMBD, 0),
    WEFT_VECTOR(ffn_up_bias, "ffn_up.bias", "mlp.c_fc.bias", WEFT_EXT_FF, WEFT_RULE_OPTIONAL),
    WEFT_MATRIX(ffn_down, "ffn_down.weight", "mlp.c_proj.weight", WEFT_EXT_EMBD, WEFT_EXT_FF, 0),
    WEFT_VECTOR(ffn_down_bias, "ffn_down.bias", "mlp.c_proj.bias", WEFT_EXT_EMBD,
                WEFT_RULE_OPTIONAL),
};

static const weft_key_name keys[] = {
    {WEFT_KEY_WINDOW, "attention.sliding_window", {"sliding_window"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_starcoder2 = {
    .name = "starcoder2",
    .model_types = {"starcoder2"},
    .classes = {"Starcoder2ForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .norm = WEFT_NORM_LAYER,
    .activation = WEFT_ACT_GELU_TANH,
    .tied_default = true,
    .rope_base_default = {10000, 10000},
    .window_everywhere = true,
};
