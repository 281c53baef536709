/* Solar Open (Upstage 2025): a mixture in every layer, whose experts a sigmoid router with a
 * correction chooses beside shared ones; all of each head turns. GGUF files say GLM-4.5. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTENTION,
    WEFT_USUAL_FFN_NORM,
    WEFT_USUAL_MIXTURE,
    WEFT_VECTOR(router_correction, NULL, "mlp.gate.e_score_correction_bias", WEFT_EXT_EXPERTS,
                WEFT_RULE_MIXTURE),
    WEFT_SHARED_EXPERTS("mlp.shared_experts."),
};

static const weft_key_name keys[] = {
    {WEFT_KEY_N_SHARED, NULL, {"n_shared_experts"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_solar_open = {
    .name = "solar_open",
    .model_types = {"solar_open"},
    .classes = {"SolarOpenForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .written_as = "glm4moe",
    .activation = WEFT_ACT_SILU,
    .head_dim_default = 128,
    .rope_base_default = {1000000, 1000000},
    .router = {.scores = WEFT_SCORES_SIGMOID, .normalise = true, .group_by_two = true},
};
