/* SmolLM 3 (Hugging Face 2025): Llama's shape, every fourth layer without rope. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS, WEFT_USUAL_ROPE_FACTORS};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTENTION,
    WEFT_USUAL_FFN_NORM,
    WEFT_USUAL_FFN,
};

static const weft_key_name keys[] = {
    {WEFT_KEY_ROPE_LAYERS, NULL, {"no_rope_layers"}}, /* 0 says: no rope */
    {WEFT_KEY_ROPE_INTERVAL, NULL, {"no_rope_layer_interval"}},
    {WEFT_KEY_WINDOW, NULL, {"sliding_window"}},
    {WEFT_KEY_LAYER_TYPES, NULL, {"layer_types"}},
    {WEFT_KEY_USE_WINDOW, NULL, {"use_sliding_window"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_smollm3 = {
    .name = "smollm3",
    .model_types = {"smollm3"},
    .classes = {"SmolLM3ForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .rope_interleaved = {true, false},
    .rope_interval = 4,
    .activation = WEFT_ACT_SILU,
    .tied_default = true,
    .rope_base_default = {10000, 2000000},
};
