/* Llama (Touvron et al. 2023) and the many models that share its shape, SmolLM2 among them: RMS
 * norm, grouped-query attention, SwiGLU. GGUF files hold q and k with the rows of each head
 * permuted, so that pairs stand side by side there. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {
    WEFT_USUAL_EMBEDDING,
    WEFT_USUAL_OUTPUT_NORM,
    WEFT_USUAL_OUTPUT,
    WEFT_USUAL_OUTPUT_BIAS,
    {WEFT_GLOBAL(rope_factors),
     {"rope_freqs.weight", NULL},
     WEFT_EXT_NONE,
     WEFT_EXT_ROT_HALF,
     WEFT_RULE_OPTIONAL},
};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTN_Q,
    WEFT_USUAL_ATTN_K,
    WEFT_USUAL_ATTN_V,
    WEFT_USUAL_ATTN_Q_BIAS,
    WEFT_USUAL_ATTN_K_BIAS,
    WEFT_USUAL_ATTN_V_BIAS,
    WEFT_USUAL_ATTN_OUT,
    WEFT_USUAL_ATTN_OUT_BIAS,
    WEFT_USUAL_FFN_NORM,
    WEFT_USUAL_FFN_GATE,
    WEFT_USUAL_FFN_UP,
    WEFT_USUAL_FFN_DOWN,
    {WEFT_LAYER(ffn_gate_bias),
     {"ffn_gate.bias", "mlp.gate_proj.bias"},
     WEFT_EXT_NONE,
     WEFT_EXT_FF,
     WEFT_RULE_OPTIONAL},
    {WEFT_LAYER(ffn_up_bias),
     {"ffn_up.bias", "mlp.up_proj.bias"},
     WEFT_EXT_NONE,
     WEFT_EXT_FF,
     WEFT_RULE_OPTIONAL},
    {WEFT_LAYER(ffn_down_bias),
     {"ffn_down.bias", "mlp.down_proj.bias"},
     WEFT_EXT_NONE,
     WEFT_EXT_EMBD,
     WEFT_RULE_OPTIONAL},
};

static const weft_key_name keys[] = {
    {WEFT_KEY_WINDOW, "attention.sliding_window", {NULL}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_llama = {
    .name = "llama",
    .model_types = {"llama"},
    .classes = {"LlamaForCausalLM", "LLaMAForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .rope_interleaved = {true, false},
    .activation = WEFT_ACT_SILU,
    .rope_base_default = {10000, 10000},
    .window_everywhere = true,
};
