/* Gemma 2 (Gemma Team 2024): Gemma with norms after each half too, soft caps on scores and logits,
 * and a window on every other layer. */
#include "model/arch/list.h"
#include "model/arch/rules.h"
#include "model/config.h"

static const weft_tensor_rule globals[] = {
    WEFT_USUAL_EMBEDDING,
    WEFT_USUAL_OUTPUT_NORM,
    WEFT_USUAL_OUTPUT,
};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTENTION,
    WEFT_GEMMA_POST_NORMS,
    WEFT_USUAL_FFN,
};

static const weft_key_name keys[] = {
    {WEFT_KEY_WINDOW, "attention.sliding_window", {"sliding_window"}},
    {WEFT_KEY_LAYER_TYPES, NULL, {"layer_types"}},
    {WEFT_KEY_ATTN_SCALE_SQUARE, NULL, {"query_pre_attn_scalar"}},
    {WEFT_KEY_ACTIVATION, NULL, {"hidden_activation"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

/* The first GGUF files were written before the caps had keys; all models have the same. */
static weft_status read(const weft_config *c, weft_hparams *h) {
    if (c->spelling == WEFT_SPELL_GGUF && h->attn_softcap == 0)
        h->attn_softcap = 50;
    if (c->spelling == WEFT_SPELL_GGUF && h->final_softcap == 0)
        h->final_softcap = 30;
    return WEFT_OK;
}

const weft_arch weft_arch_gemma2 = {
    .name = "gemma2",
    .model_types = {"gemma2"},
    .classes = {"Gemma2ForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .norm_plus_one = {false, true},
    .tied_default = true,
    .scale_embedding = true,
    .activation = WEFT_ACT_GELU_TANH,
    .head_dim_default = 256,
    .rope_base_default = {10000, 10000},
    .window_pattern = 2,
    .scale_by_width_layers = 46,
    .read = read,
};
