/* ERNIE 4.5, dense (Baidu 2025): Llama's shape, neighbours turn in both kinds of files. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM, WEFT_USUAL_ATTENTION,  WEFT_USUAL_FFN_NORM,
    WEFT_USUAL_FFN,       WEFT_USUAL_FFN_BIASES,
};

static const weft_key_name keys[] = {
    {WEFT_KEY_ATTN_BIAS, NULL, {"use_bias"}},
    {WEFT_KEY_MLP_BIAS, NULL, {"use_bias"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_ernie4_5 = {
    .name = "ernie4_5",
    .model_types = {"ernie4_5"},
    .classes = {"Ernie4_5ForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .rope_interleaved = {true, true},
    .activation = WEFT_ACT_SILU,
    .tied_default = true,
    .head_dim_default = 128,
    .rope_base_default = {10000, 500000},
};
