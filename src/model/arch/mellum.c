/* Mellum 2 (JetBrains 2026): Qwen 3's mixture with a window on most layers, whose rope has a base
 * of its own. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM, WEFT_USUAL_ATTENTION, WEFT_USUAL_ATTN_Q_NORM, WEFT_USUAL_ATTN_K_NORM,
    WEFT_USUAL_FFN_NORM,  WEFT_USUAL_FFN,       WEFT_USUAL_MIXTURE,
};

static const weft_key_name keys[] = {
    {WEFT_KEY_ROPE_BASE,
     "rope.freq_base",
     {"rope_parameters.full_attention.rope_theta", "rope_parameters.rope_theta", "rope_theta"}},
    {WEFT_KEY_ROPE_BASE_LOCAL,
     "rope.freq_base_swa",
     {"rope_parameters.sliding_attention.rope_theta"}},
    {WEFT_KEY_WINDOW, "attention.sliding_window", {"sliding_window"}},
    {WEFT_KEY_WINDOW_PATTERN, "attention.sliding_window_pattern", {NULL}},
    {WEFT_KEY_LAYER_TYPES, NULL, {"layer_types"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_mellum = {
    .name = "mellum",
    .model_types = {"mellum"},
    .classes = {"MellumForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .activation = WEFT_ACT_SILU,
    .head_dim_default = 128,
    .rope_base_default = {500000, 500000},
    .rope_base_local = 10000,
    .rope_local_plain = true,
    .local_rope = "rope_parameters.sliding_attention.",
    .router = {.scores = WEFT_SCORES_SOFTMAX, .normalise = true},
};
