/* EXAONE 4 (LG AI Research 2025): norms after each half only and over the heads of q and k; the
 * larger model has a window and rope on three layers of four, and neither on the fourth. */
#include "model/arch/list.h"
#include "model/arch/rules.h"
#include "model/config.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS, WEFT_USUAL_ROPE_FACTORS};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTENTION,
    WEFT_USUAL_ATTN_Q_NORM,
    WEFT_USUAL_ATTN_K_NORM,
    WEFT_VECTOR(attn_post_norm, "post_attention_norm.weight", "post_attention_layernorm.weight",
                WEFT_EXT_EMBD, WEFT_RULE_NORM),
    WEFT_USUAL_FFN,
    WEFT_VECTOR(ffn_post_norm, "post_ffw_norm.weight", "post_feedforward_layernorm.weight",
                WEFT_EXT_EMBD, WEFT_RULE_NORM),
};

static const weft_key_name keys[] = {
    {WEFT_KEY_WINDOW, "attention.sliding_window", {"sliding_window"}},
    {WEFT_KEY_WINDOW_PATTERN, "attention.sliding_window_pattern", {"sliding_window_pattern"}},
    {WEFT_KEY_LAYER_TYPES, NULL, {"layer_types"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

/* The smaller model has no window, and then every layer turns. */
static weft_status read(const weft_config *c, weft_hparams *h) {
    (void)c;
    if (h->window == 0)
        h->window_pattern = 0;
    h->rope_everywhere = h->window == 0;
    return WEFT_OK;
}

const weft_arch weft_arch_exaone4 = {
    .name = "exaone4",
    .model_types = {"exaone4"},
    .classes = {"Exaone4ForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .activation = WEFT_ACT_SILU,
    .rope_local_only = true,
    .rope_base_default = {10000, 10000},
    .window_pattern = 4,
    .read = read,
};
