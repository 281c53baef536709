/* Nemotron 4 and Minitron (NVIDIA 2024): layer norms by 1 + w, part of each head turns, a network
 * without a gate, whose ReLU is squared. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {
    WEFT_USUAL_GLOBALS,
    WEFT_GLOBAL_VECTOR(output_norm_bias, "output_norm.bias", "model.norm.bias", WEFT_EXT_EMBD, 0),
};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM, WEFT_USUAL_ATTN_NORM_BIAS, WEFT_USUAL_ATTENTION,
    WEFT_USUAL_FFN_NORM,  WEFT_USUAL_FFN_NORM_BIAS,  WEFT_USUAL_FFN_UP,
    WEFT_USUAL_FFN_DOWN,  WEFT_USUAL_FFN_BIASES,
};

static const weft_key_name keys[] = {
    {WEFT_KEY_LAYER_NORM_EPS, "attention.layer_norm_epsilon", {"norm_eps", "layer_norm_eps"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_nemotron = {
    .name = "nemotron",
    .model_types = {"nemotron"},
    .classes = {"NemotronForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .norm = WEFT_NORM_LAYER,
    .norm_plus_one = {false, true},
    .activation = WEFT_ACT_RELU_SQUARED,
    .rot_factor = 0.5,
    .rope_base_default = {10000, 10000},
};
