/* StableLM 3B and 2 (Bellagente et al. 2024): Llama's shape with layer norm, a quarter of each head
 * turns; some models run both halves side by side behind one norm, and some have norms with a
 * weight for each head, of which folders keep each alone. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {
    WEFT_USUAL_GLOBALS,
    WEFT_GLOBAL_VECTOR(output_norm_bias, "output_norm.bias", "model.norm.bias", WEFT_EXT_EMBD,
                       WEFT_RULE_OPTIONAL),
};

#define HEAD_NORM(f, gguf, hf, n)                                                                  \
    WEFT_MATRIX(f, gguf, hf, n, WEFT_EXT_HEAD, WEFT_RULE_FLOATS | WEFT_RULE_OPTIONAL)

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTN_NORM_BIAS,
    WEFT_USUAL_ATTENTION,
    HEAD_NORM(attn_q_norm, "attn_q_norm.weight", NULL, WEFT_EXT_N_HEAD),
    HEAD_NORM(attn_k_norm, "attn_k_norm.weight", NULL, WEFT_EXT_N_HEAD_KV),
    HEAD_NORM(attn_q_norm, NULL, "self_attn.q_layernorm.norms.*.weight", WEFT_EXT_N_HEAD),
    HEAD_NORM(attn_k_norm, NULL, "self_attn.k_layernorm.norms.*.weight", WEFT_EXT_N_HEAD_KV),
    WEFT_VECTOR(ffn_norm, "ffn_norm.weight", "post_attention_layernorm.weight", WEFT_EXT_EMBD,
                WEFT_RULE_OPTIONAL),
    WEFT_USUAL_FFN_NORM_BIAS,
    WEFT_USUAL_FFN,
};

static const weft_key_name keys[] = {
    {WEFT_KEY_PARALLEL, "use_parallel_residual", {"use_parallel_residual"}},
    {WEFT_KEY_HEAD_NORMS, NULL, {"qk_layernorm"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_stablelm = {
    .name = "stablelm",
    .model_types = {"stablelm"},
    .classes = {"StableLmForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .norm = WEFT_NORM_LAYER,
    .activation = WEFT_ACT_SILU,
    .rot_factor = 0.25,
    .rope_base_default = {10000, 10000},
};
