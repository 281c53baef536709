/* Hunyuan with experts (Tencent 2025): the dense model's attention, a mixture in every layer beside
 * a shared network. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTENTION,
    WEFT_VECTOR(attn_q_norm, "attn_q_norm.weight", "self_attn.query_layernorm.weight",
                WEFT_EXT_HEAD, WEFT_RULE_ATTENTION),
    WEFT_VECTOR(attn_k_norm, "attn_k_norm.weight", "self_attn.key_layernorm.weight", WEFT_EXT_HEAD,
                WEFT_RULE_ATTENTION),
    WEFT_USUAL_FFN_NORM,
    WEFT_ROUTER("ffn_gate_inp.weight", "mlp.gate.wg.weight"),
    WEFT_EXPERTS_GATE("ffn_gate_exps.weight", "mlp.experts.*.gate_proj.weight"),
    WEFT_EXPERTS_UP("ffn_up_exps.weight", "mlp.experts.*.up_proj.weight"),
    WEFT_EXPERTS_DOWN("ffn_down_exps.weight", "mlp.experts.*.down_proj.weight"),
    WEFT_SHARED_EXPERTS("mlp.shared_mlp."),
};

static const weft_key_name keys[] = {
    {WEFT_KEY_HEAD_NORMS, NULL, {"use_qk_norm"}},
    {WEFT_KEY_N_EXPERT_USED, "expert_used_count", {"moe_topk"}},
    {WEFT_KEY_N_FF_EXPERT, "expert_feed_forward_length", {"moe_intermediate_size"}},
    {WEFT_KEY_N_SHARED, "expert_shared_count", {"num_shared_expert"}},
    {WEFT_KEY_N_FF_SHARED, "expert_shared_feed_forward_length", {NULL}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_hunyuan_moe = {
    .name = "hunyuan-moe",
    .model_types = {"hunyuan_v1_moe"},
    .classes = {"HunYuanMoEV1ForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .norm_after_turning = true,
    .activation = WEFT_ACT_SILU,
    .rope_base_default = {10000, 10000},
    .router = {.scores = WEFT_SCORES_SOFTMAX, .normalise = true},
};
