/* Granite 3 (IBM 2024): Llama's shape with multipliers of the embedding, the scores, what each half
 * adds, and the logits. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS, WEFT_USUAL_ROPE_FACTORS};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM, WEFT_USUAL_ATTENTION,  WEFT_USUAL_FFN_NORM,
    WEFT_USUAL_FFN,       WEFT_USUAL_FFN_BIASES,
};

static const weft_key_name keys[] = {
    WEFT_GRANITE_KEYS,
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_granite = {
    .name = "granite",
    .model_types = {"granite"},
    .classes = {"GraniteForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .rope_interleaved = {true, false},
    .activation = WEFT_ACT_SILU,
    .logit_scale_divides = true,
    .rope_base_default = {10000, 10000},
};
