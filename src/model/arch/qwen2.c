/* Qwen 2 and 2.5 (Yang et al. 2024): Llama's shape with biases on q, k and v. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {
    WEFT_USUAL_EMBEDDING,
    WEFT_USUAL_OUTPUT_NORM,
    WEFT_USUAL_OUTPUT,
    WEFT_USUAL_OUTPUT_BIAS,
};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTN_Q,
    WEFT_USUAL_ATTN_K,
    WEFT_USUAL_ATTN_V,
    {WEFT_LAYER(attn_q_bias),
     {"attn_q.bias", "self_attn.q_proj.bias"},
     WEFT_EXT_NONE,
     WEFT_EXT_Q,
     0},
    {WEFT_LAYER(attn_k_bias),
     {"attn_k.bias", "self_attn.k_proj.bias"},
     WEFT_EXT_NONE,
     WEFT_EXT_KV,
     0},
    {WEFT_LAYER(attn_v_bias),
     {"attn_v.bias", "self_attn.v_proj.bias"},
     WEFT_EXT_NONE,
     WEFT_EXT_KV,
     0},
    WEFT_USUAL_ATTN_OUT,
    WEFT_USUAL_FFN_NORM,
    WEFT_USUAL_FFN_GATE,
    WEFT_USUAL_FFN_UP,
    WEFT_USUAL_FFN_DOWN,
};

static const weft_key_name keys[] = {
    {WEFT_KEY_WINDOW, NULL, {"sliding_window"}},
    {WEFT_KEY_LAYER_TYPES, NULL, {"layer_types"}},
    {WEFT_KEY_USE_WINDOW, NULL, {"use_sliding_window"}},
    {WEFT_KEY_FIRST_WINDOW_LAYER, NULL, {"max_window_layers"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_qwen2 = {
    .name = "qwen2",
    .model_types = {"qwen2"},
    .classes = {"Qwen2ForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .activation = WEFT_ACT_SILU,
    .rope_base_default = {10000, 10000},
};
