/* Mistral and Ministral (Jiang et al. 2023) from Hugging Face folders: Llama's shape with a window,
 * on every layer or on those that the file lists. Their GGUF files call themselves llama. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTENTION,
    WEFT_USUAL_FFN_NORM,
    WEFT_USUAL_FFN,
};

static const weft_key_name keys[] = {
    {WEFT_KEY_WINDOW, "attention.sliding_window", {"sliding_window"}},
    {WEFT_KEY_LAYER_TYPES, NULL, {"layer_types"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_mistral = {
    .name = "mistral",
    .model_types = {"mistral", "ministral"},
    .classes = {"MistralForCausalLM", "MinistralForCausalLM"},
    .written_as = "llama",
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .activation = WEFT_ACT_SILU,
    .rope_base_default = {10000, 10000},
    .window_everywhere = true,
};
