/* Phi-3, 3.5 and 4 (Abdin et al. 2024): Llama's shape with q, k, v in one tensor and gate and up in
 * another; models of a long context have factors for their rope's frequencies, one set for
 * sequences within the original context and one for longer ones (LongRoPE, Ding et al. 2024). */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {
    WEFT_USUAL_GLOBALS,
    WEFT_GLOBAL_VECTOR(rope_factors_short, "rope_factors_short.weight", NULL, WEFT_EXT_ROT_HALF,
                       WEFT_RULE_OPTIONAL),
    WEFT_GLOBAL_VECTOR(rope_factors_long, "rope_factors_long.weight", NULL, WEFT_EXT_ROT_HALF,
                       WEFT_RULE_OPTIONAL),
};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_FUSED_QKV("attn_qkv.weight", "self_attn.qkv_proj.weight", WEFT_FUSED_ROWS, 0),
    WEFT_USUAL_ATTN_OUT,
    WEFT_USUAL_FFN_NORM,
    WEFT_FUSED_GATE_UP("ffn_up.weight", "mlp.gate_up_proj.weight", 0),
    WEFT_USUAL_FFN_DOWN,
};

static const weft_key_name keys[] = {
    {WEFT_KEY_WINDOW, "attention.sliding_window", {"sliding_window"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_phi3 = {
    .name = "phi3",
    .model_types = {"phi3"},
    .classes = {"Phi3ForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .activation = WEFT_ACT_SILU,
    .rope_base_default = {10000, 10000},
    .longrope_unnamed = true,
    .window_everywhere = true,
};
