/* Qwen 3 with experts (Yang et al. 2025): Qwen 3's attention and a mixture whose weights add up to
 * 1. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM, WEFT_USUAL_ATTENTION, WEFT_USUAL_ATTN_Q_NORM, WEFT_USUAL_ATTN_K_NORM,
    WEFT_USUAL_FFN_NORM,  WEFT_USUAL_FFN,       WEFT_USUAL_MIXTURE,
};

static const weft_key_name keys[] = {
    {WEFT_KEY_WINDOW, NULL, {"sliding_window"}},
    {WEFT_KEY_LAYER_TYPES, NULL, {"layer_types"}},
    {WEFT_KEY_USE_WINDOW, NULL, {"use_sliding_window"}},
    {WEFT_KEY_FIRST_WINDOW_LAYER, NULL, {"max_window_layers"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_qwen3moe = {
    .name = "qwen3moe",
    .model_types = {"qwen3_moe"},
    .classes = {"Qwen3MoeForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .head_dim_default = 128,
    .activation = WEFT_ACT_SILU,
    .rope_base_default = {10000, 10000},
    .router = {.scores = WEFT_SCORES_SOFTMAX, .normalise = true},
};
