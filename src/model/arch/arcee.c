/* AFM (Arcee AI 2025): Llama's shape with a network without a gate, whose ReLU is squared. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS, WEFT_USUAL_ROPE_FACTORS};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM, WEFT_USUAL_ATTENTION, WEFT_USUAL_FFN_NORM,
    WEFT_USUAL_FFN_UP,    WEFT_USUAL_FFN_DOWN,  WEFT_USUAL_FFN_BIASES,
};

const weft_arch weft_arch_arcee = {
    .name = "arcee",
    .model_types = {"arcee"},
    .classes = {"ArceeForCausalLM"},
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .rope_interleaved = {true, false},
    .activation = WEFT_ACT_RELU_SQUARED,
    .rope_base_default = {10000, 10000},
};
