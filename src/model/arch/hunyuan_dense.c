/* Hunyuan, dense (Tencent 2025): Llama's shape with norms over the heads of q and k, after they
 * turned. */
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
    WEFT_USUAL_FFN,
};

static const weft_key_name keys[] = {
    {WEFT_KEY_HEAD_NORMS, NULL, {"use_qk_norm"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_hunyuan_dense = {
    .name = "hunyuan-dense",
    .model_types = {"hunyuan_v1_dense"},
    .classes = {"HunYuanDenseV1ForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .norm_after_turning = true,
    .activation = WEFT_ACT_SILU,
    .rope_base_default = {10000, 10000},
};
