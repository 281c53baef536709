/* Qwen 1.5 and 2 with experts (Yang et al. 2024): Qwen 2's attention, a mixture whose weights are
 * not brought to sum 1, and a shared expert weighed by a sigmoid. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTENTION,
    WEFT_USUAL_FFN_NORM,
    WEFT_USUAL_FFN,
    WEFT_USUAL_MIXTURE,
    WEFT_SHARED_EXPERTS("mlp.shared_expert."),
    WEFT_MATRIX(shared_scale, "ffn_gate_inp_shexp.weight", "mlp.shared_expert_gate.weight",
                WEFT_EXT_ONE, WEFT_EXT_EMBD, WEFT_RULE_MIXTURE),
};

static const weft_key_name keys[] = {
    {WEFT_KEY_N_FF_SHARED,
     "expert_shared_feed_forward_length",
     {"shared_expert_intermediate_size"}},
    {WEFT_KEY_WINDOW, NULL, {"sliding_window"}},
    {WEFT_KEY_LAYER_TYPES, NULL, {"layer_types"}},
    {WEFT_KEY_USE_WINDOW, NULL, {"use_sliding_window"}},
    {WEFT_KEY_FIRST_WINDOW_LAYER, NULL, {"max_window_layers"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_qwen2moe = {
    .name = "qwen2moe",
    .model_types = {"qwen2_moe"},
    .classes = {"Qwen2MoeForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .activation = WEFT_ACT_SILU,
    .rope_base_default = {10000, 10000},
    .router = {.scores = WEFT_SCORES_SOFTMAX},
};
