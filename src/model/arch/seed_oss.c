/* Seed-OSS (ByteDance Seed 2025): Llama's shape with biases on q, k and v. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS, WEFT_USUAL_ROPE_FACTORS};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTENTION,
    WEFT_VECTOR(ffn_norm, "post_attention_norm.weight", "post_attention_layernorm.weight",
                WEFT_EXT_EMBD, WEFT_RULE_NORM),
    WEFT_USUAL_FFN,
    WEFT_USUAL_FFN_BIASES,
};

const weft_arch weft_arch_seed_oss = {
    .name = "seed_oss",
    .model_types = {"seed_oss"},
    .classes = {"SeedOssForCausalLM"},
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .activation = WEFT_ACT_SILU,
    .head_dim_default = 128,
    .rope_base_default = {10000, 10000},
};
