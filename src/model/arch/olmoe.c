/* OLMoE (Muennighoff et al. 2024): norms over all heads of q and of k together, a mixture in every
 * layer whose weights are not brought to sum 1. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM, WEFT_USUAL_ATTENTION, WEFT_WHOLE_QK_NORMS,
    WEFT_USUAL_FFN_NORM,  WEFT_USUAL_MIXTURE,
};

static const weft_key_name keys[] = {
    {WEFT_KEY_CLIP_QKV, "attention.clamp_kqv", {"clip_qkv"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_olmoe = {
    .name = "olmoe",
    .model_types = {"olmoe"},
    .classes = {"OlmoeForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .activation = WEFT_ACT_SILU,
    .rope_base_default = {10000, 10000},
    .router = {.scores = WEFT_SCORES_SOFTMAX},
};
