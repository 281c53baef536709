/* Llama (Touvron et al. 2023) and the many models that share its shape, SmolLM2 among them: RMS
 * norm, grouped-query attention, SwiGLU. GGUF files hold q and k with the rows of each head
 * permuted, so that pairs stand side by side there. Mixtral's GGUF files are of this architecture
 * too. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS, WEFT_USUAL_ROPE_FACTORS};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTENTION,
    WEFT_USUAL_FFN_NORM,
    WEFT_USUAL_FFN,
    WEFT_USUAL_FFN_BIASES,
    WEFT_ROUTER("ffn_gate_inp.weight", NULL),
    WEFT_EXPERTS_GATE("ffn_gate_exps.weight", NULL),
    WEFT_EXPERTS_UP("ffn_up_exps.weight", NULL),
    WEFT_EXPERTS_DOWN("ffn_down_exps.weight", NULL),
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
    .router = {.scores = WEFT_SCORES_SOFTMAX, .normalise = true},
};
