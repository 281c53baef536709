/* MiniMax M2 (MiniMax 2025): norms over all heads of q and of k together, half of each head turns,
 * a sigmoid router with a correction in every layer. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTENTION,
    WEFT_WHOLE_QK_NORMS,
    WEFT_USUAL_FFN_NORM,
    WEFT_ROUTER("ffn_gate_inp.weight", "block_sparse_moe.gate.weight"),
    WEFT_VECTOR(router_correction, "exp_probs_b.bias", "block_sparse_moe.e_score_correction_bias",
                WEFT_EXT_EXPERTS, WEFT_RULE_MIXTURE),
    WEFT_EXPERTS_GATE("ffn_gate_exps.weight", "block_sparse_moe.experts.*.w1.weight"),
    WEFT_EXPERTS_UP("ffn_up_exps.weight", "block_sparse_moe.experts.*.w3.weight"),
    WEFT_EXPERTS_DOWN("ffn_down_exps.weight", "block_sparse_moe.experts.*.w2.weight"),
};

static const weft_key_name keys[] = {
    {WEFT_KEY_N_ROT, "rope.dimension_count", {"rotary_dim"}},
    {WEFT_KEY_HEAD_NORMS, NULL, {"use_qk_norm"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_minimax_m2 = {
    .name = "minimax-m2",
    .model_types = {"minimax_m2"},
    .classes = {"MiniMaxM2ForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .activation = WEFT_ACT_SILU,
    .rope_base_default = {5000000, 5000000},
    .router = {.scores = WEFT_SCORES_SIGMOID, .normalise = true},
};
