/* Command R7B and A (Cohere 2024, 2025): Command R with a window and rope on three layers of four,
 * and neither on the fourth. */
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
    WEFT_USUAL_FFN,
};

static const weft_key_name keys[] = {
    {WEFT_KEY_LOGIT_SCALE, "logit_scale", {"logit_scale"}},
    {WEFT_KEY_WINDOW, "attention.sliding_window", {"sliding_window"}},
    {WEFT_KEY_WINDOW_PATTERN,
     "attention.sliding_window_pattern",
     {"sliding_window_pattern", "_sliding_window_pattern"}},
    {WEFT_KEY_LAYER_TYPES, NULL, {"layer_types"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_cohere2 = {
    .name = "cohere2",
    .model_types = {"cohere2"},
    .classes = {"Cohere2ForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .norm = WEFT_NORM_LAYER,
    .parallel = true,
    .rope_interleaved = {true, true},
    .rope_local_only = true,
    .activation = WEFT_ACT_SILU,
    .tied_default = true,
    .rope_base_default = {10000, 10000},
    .window_pattern = 4,
};
