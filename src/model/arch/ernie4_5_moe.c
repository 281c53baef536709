/* ERNIE 4.5 with experts (Baidu 2025): the dense model's attention, some dense layers, then experts
 * chosen by a softmax router with a correction, beside shared ones. */
#include "model/arch/list.h"
#include "model/arch/rules.h"
#include "model/config.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTENTION,
    WEFT_USUAL_FFN_NORM,
    WEFT_USUAL_FFN,
    WEFT_USUAL_MIXTURE,
    WEFT_VECTOR(router_correction, "exp_probs_b.bias", "mlp.moe_statics.e_score_correction_bias",
                WEFT_EXT_EXPERTS, WEFT_RULE_MIXTURE | WEFT_RULE_FLOATS),
    WEFT_SHARED_EXPERTS("mlp.shared_experts."),
};

static const weft_key_name keys[] = {
    {WEFT_KEY_ATTN_BIAS, NULL, {"use_bias"}},
    {WEFT_KEY_MLP_BIAS, NULL, {"use_bias"}},
    {WEFT_KEY_N_EXPERT, "expert_count", {"moe_num_experts", "num_experts"}},
    {WEFT_KEY_N_EXPERT_USED, "expert_used_count", {"moe_k", "num_experts_per_tok"}},
    {WEFT_KEY_N_SHARED, "expert_shared_count", {"moe_num_shared_experts"}},
    {WEFT_KEY_N_DENSE_LEAD, "leading_dense_block_count", {"moe_layer_start_index"}},
    {WEFT_KEY_MIXTURE_STEP, "interleave_moe_layer_step", {"moe_layer_interval"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

static weft_status read(const weft_config *c, weft_hparams *h) {
    bool present = false;
    double last = 0;
    if (c->spelling == WEFT_SPELL_GGUF)
        return WEFT_OK;
    weft_status st = weft_config_number(c, "moe_layer_end_index", -1, INT32_MAX, &present, &last);
    if (!st && present && last >= 0 && last < h->n_layer - 1)
        return weft_config_fail(c, WEFT_E_UNSUPPORTED, "moe_layer_end_index",
                                "dense layers after the mixtures are not supported");
    return st;
}

const weft_arch weft_arch_ernie4_5_moe = {
    .name = "ernie4_5-moe",
    .model_types = {"ernie4_5_moe"},
    .classes = {"Ernie4_5_MoeForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .rope_interleaved = {true, true},
    .activation = WEFT_ACT_SILU,
    .tied_default = true,
    .rope_base_default = {10000, 500000},
    .router = {.scores = WEFT_SCORES_SOFTMAX, .normalise = true},
    .read = read,
};
