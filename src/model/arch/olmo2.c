/* OLMo 2 and 3 (OLMo Team 2024, 2025): norms after each half only, and over all heads of q and of k
 * together. OLMo 3 has a window on three layers of four, whose rope is not scaled. */
#include "model/arch/list.h"
#include "model/arch/rules.h"
#include "model/config.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTENTION,
    WEFT_WHOLE_QK_NORMS,
    WEFT_VECTOR(attn_post_norm, "post_attention_norm.weight", "post_attention_layernorm.weight",
                WEFT_EXT_EMBD, WEFT_RULE_NORM),
    WEFT_USUAL_FFN,
    WEFT_VECTOR(ffn_post_norm, "post_ffw_norm.weight", "post_feedforward_layernorm.weight",
                WEFT_EXT_EMBD, WEFT_RULE_NORM),
};

static const weft_key_name keys[] = {
    {WEFT_KEY_ROPE_BASE,
     "rope.freq_base",
     {"rope_parameters.full_attention.rope_theta", "rope_parameters.rope_theta", "rope_theta"}},
    {WEFT_KEY_ROPE_BASE_LOCAL, NULL, {"rope_parameters.sliding_attention.rope_theta"}},
    {WEFT_KEY_WINDOW, "attention.sliding_window", {"sliding_window"}},
    {WEFT_KEY_WINDOW_PATTERN, "attention.sliding_window_pattern", {NULL}},
    {WEFT_KEY_LAYER_TYPES, NULL, {"layer_types"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

static weft_status read(const weft_config *c, weft_hparams *h) {
    (void)c;
    if (h->window == 0)
        h->window_pattern = 0;
    return WEFT_OK;
}

const weft_arch weft_arch_olmo2 = {
    .name = "olmo2",
    .model_types = {"olmo2", "olmo3"},
    .classes = {"Olmo2ForCausalLM", "Olmo3ForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .activation = WEFT_ACT_SILU,
    .rope_base_default = {10000, 10000},
    .rope_local_plain = true,
    .local_rope = "rope_parameters.sliding_attention.",
    .window_pattern = 4,
    .read = read,
};
