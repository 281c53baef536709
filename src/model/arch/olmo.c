/* OLMo (Groeneveld et al. 2024): layer norms without weights, q, k and v may be clipped. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_EMBEDDING, WEFT_USUAL_OUTPUT};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTENTION,
    WEFT_USUAL_FFN,
};

static const weft_key_name keys[] = {
    {WEFT_KEY_CLIP_QKV, "attention.clamp_kqv", {"clip_qkv"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_olmo = {
    .name = "olmo",
    .model_types = {"olmo"},
    .classes = {"OlmoForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .norm = WEFT_NORM_LAYER,
    .unweighted_norms = true,
    .norm_eps_default = 1e-5,
    .rope_interleaved = {true, false},
    .activation = WEFT_ACT_SILU,
    .rope_base_default = {10000, 10000},
};
