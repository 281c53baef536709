/* dots.llm1 (rednote-hilab 2025): Qwen 3's attention, DeepSeek V3's mixture with shared experts. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTENTION,
    WEFT_USUAL_ATTN_Q_NORM,
    WEFT_USUAL_ATTN_K_NORM,
    WEFT_USUAL_FFN_NORM,
    WEFT_USUAL_FFN,
    WEFT_USUAL_MIXTURE,
    WEFT_VECTOR(router_correction, "exp_probs_b.bias", "mlp.gate.e_score_correction_bias",
                WEFT_EXT_EXPERTS, WEFT_RULE_MIXTURE),
    WEFT_SHARED_EXPERTS("mlp.shared_experts."),
};

static const weft_key_name keys[] = {
    {WEFT_KEY_N_SHARED, "expert_shared_count", {"n_shared_experts"}},
    {WEFT_KEY_WINDOW, NULL, {"sliding_window"}},
    {WEFT_KEY_LAYER_TYPES, NULL, {"layer_types"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_dots1 = {
    .name = "dots1",
    .model_types = {"dots1"},
    .classes = {"Dots1ForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .activation = WEFT_ACT_SILU,
    .rope_base_default = {10000, 10000},
    .router = {.scores = WEFT_SCORES_SIGMOID, .normalise = true, .group_by_two = true},
};
