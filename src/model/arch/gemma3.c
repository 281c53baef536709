/* Gemma 3, text only (Gemma Team 2025): norms by 1 + w before and after each half of a layer and
 * over each head of q and k, tanh-GELU, five window layers to one global layer with its own rope.
 */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {
    WEFT_USUAL_EMBEDDING,
    WEFT_USUAL_OUTPUT_NORM,
    WEFT_USUAL_OUTPUT,
};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM, WEFT_USUAL_ATTN_Q,      WEFT_USUAL_ATTN_K,
    WEFT_USUAL_ATTN_V,    WEFT_USUAL_ATTN_Q_NORM, WEFT_USUAL_ATTN_K_NORM,
    WEFT_USUAL_ATTN_OUT,  WEFT_GEMMA_POST_NORMS,  WEFT_USUAL_FFN,
};

static const weft_key_name keys[] = {
    {WEFT_KEY_ROPE_BASE,
     "rope.freq_base",
     {"rope_parameters.full_attention.rope_theta", "rope_theta"}},
    {WEFT_KEY_ROPE_BASE_LOCAL,
     "rope.freq_base_swa",
     {"rope_parameters.sliding_attention.rope_theta", "rope_local_base_freq"}},
    {WEFT_KEY_WINDOW, "attention.sliding_window", {"sliding_window"}},
    {WEFT_KEY_WINDOW_PATTERN,
     "attention.sliding_window_pattern",
     {"sliding_window_pattern", "_sliding_window_pattern"}},
    {WEFT_KEY_LAYER_TYPES, NULL, {"layer_types"}},
    {WEFT_KEY_ATTN_SCALE_SQUARE, NULL, {"query_pre_attn_scalar"}},
    {WEFT_KEY_ACTIVATION, NULL, {"hidden_activation"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_gemma3 = {
    .name = "gemma3",
    .model_types = {"gemma3_text"},
    .classes = {"Gemma3ForCausalLM"},
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
    .rope_base_default = {1000000, 1000000},
    .rope_base_local = 10000,
    .local_rope = "rope_parameters.sliding_attention.",
    .window_pattern = 6,
    .scale_by_width_layers = 62,
};
