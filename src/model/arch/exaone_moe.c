/* K-EXAONE (LG AI Research 2025): EXAONE 4's attention behind usual norms; a sigmoid router with a
 * correction, and shared experts. Layers that predict further tokens are left aside. */
#include "model/arch/list.h"
#include "model/arch/rules.h"
#include "model/config.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS, WEFT_USUAL_ROPE_FACTORS};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTENTION,
    WEFT_USUAL_ATTN_Q_NORM,
    WEFT_USUAL_ATTN_K_NORM,
    WEFT_USUAL_FFN_NORM,
    WEFT_USUAL_FFN,
    WEFT_USUAL_MIXTURE,
    WEFT_VECTOR(router_correction, "exp_probs_b.bias", "mlp.e_score_correction_bias",
                WEFT_EXT_EXPERTS, WEFT_RULE_MIXTURE),
    WEFT_SHARED_EXPERTS("mlp.shared_experts."),
};

static const weft_key_name keys[] = {
    {WEFT_KEY_WINDOW, "attention.sliding_window", {"sliding_window"}},
    {WEFT_KEY_WINDOW_PATTERN, "attention.sliding_window_pattern", {"sliding_window_pattern"}},
    {WEFT_KEY_LAYER_TYPES, NULL, {"layer_types"}},
    {WEFT_KEY_N_SHARED, "expert_shared_count", {"num_shared_experts"}},
    {WEFT_KEY_N_EXTRA, "nextn_predict_layers", {"num_nextn_predict_layers"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_exaone_moe = {
    .name = "exaone-moe",
    .model_types = {"exaone_moe"},
    .classes = {"ExaoneMoeForCausalLM", "ExaoneMoEForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .activation = WEFT_ACT_SILU,
    .rope_local_only = true,
    .rope_base_default = {10000, 10000},
    .window_pattern = 4,
    .router = {.scores = WEFT_SCORES_SIGMOID, .normalise = true, .group_by_two = true},
    .read = weft_read_extra_layers,
};
