/* Command R (Cohere 2024): both halves side by side behind one layer norm without a bias,
 * neighbours turn, logits are scaled. The larger one has norms with a weight for each head. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {
    WEFT_USUAL_EMBEDDING,
    WEFT_USUAL_OUTPUT_NORM,
    WEFT_USUAL_OUTPUT,
};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTENTION,
    WEFT_MATRIX(attn_q_norm, "attn_q_norm.weight", "self_attn.q_norm.weight", WEFT_EXT_N_HEAD,
                WEFT_EXT_HEAD, WEFT_RULE_FLOATS | WEFT_RULE_OPTIONAL),
    WEFT_MATRIX(attn_k_norm, "attn_k_norm.weight", "self_attn.k_norm.weight", WEFT_EXT_N_HEAD_KV,
                WEFT_EXT_HEAD, WEFT_RULE_FLOATS | WEFT_RULE_OPTIONAL),
    WEFT_USUAL_FFN,
};

static const weft_key_name keys[] = {
    {WEFT_KEY_LOGIT_SCALE, "logit_scale", {"logit_scale"}},
    {WEFT_KEY_HEAD_NORMS, NULL, {"use_qk_norm"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_cohere = {
    .name = "command-r",
    .model_types = {"cohere"},
    .classes = {"CohereForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .norm = WEFT_NORM_LAYER,
    .parallel = true,
    .rope_interleaved = {true, true},
    .activation = WEFT_ACT_SILU,
    .tied_default = true,
    .rope_base_default = {10000, 10000},
};
