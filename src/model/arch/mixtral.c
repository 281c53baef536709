/* Mixtral (Jiang et al. 2024) from Hugging Face folders: Llama's attention, and a mixture of
 * experts in every layer. Its GGUF files call themselves llama. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTENTION,
    WEFT_USUAL_FFN_NORM,
    WEFT_ROUTER("ffn_gate_inp.weight", "block_sparse_moe.gate.weight"),
    WEFT_EXPERTS_GATE("ffn_gate_exps.weight", "block_sparse_moe.experts.*.w1.weight"),
    WEFT_EXPERTS_UP("ffn_up_exps.weight", "block_sparse_moe.experts.*.w3.weight"),
    WEFT_EXPERTS_DOWN("ffn_down_exps.weight", "block_sparse_moe.experts.*.w2.weight"),
};

static const weft_key_name keys[] = {
    {WEFT_KEY_WINDOW, "attention.sliding_window", {"sliding_window"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_mixtral = {
    .name = "mixtral",
    .model_types = {"mixtral"},
    .classes = {"MixtralForCausalLM"},
    .written_as = "llama",
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .activation = WEFT_ACT_SILU,
    .rope_base_default = {1000000, 1000000},
    .window_everywhere = true,
    .router = {.scores = WEFT_SCORES_SOFTMAX, .normalise = true},
};
