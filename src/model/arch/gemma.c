/* Gemma (Gemma Team 2024): norms by 1 + w, tanh-GELU, heads of a width of their own, embeddings
 * scaled by the root of their width. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {
    WEFT_USUAL_EMBEDDING,
    WEFT_USUAL_OUTPUT_NORM,
    WEFT_USUAL_OUTPUT,
};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTENTION,
    WEFT_USUAL_FFN_NORM,
    WEFT_USUAL_FFN,
};

/* hidden_act of early folders says "gelu" of models that were trained with the tanh form. */
static const weft_key_name keys[] = {
    {WEFT_KEY_ACTIVATION, NULL, {"hidden_activation"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_gemma = {
    .name = "gemma",
    .model_types = {"gemma"},
    .classes = {"GemmaForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .norm_plus_one = {false, true},
    .tied_default = true,
    .scale_embedding = true,
    .activation = WEFT_ACT_GELU_TANH,
    .head_dim_default = 256,
    .rope_base_default = {10000, 10000},
};
