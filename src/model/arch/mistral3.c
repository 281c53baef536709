/* Mistral Small 3.1 and Ministral 3 (Mistral AI 2025): Llama's shape; queries of positions beyond
 * the original context grow. */
#include "model/arch/list.h"
#include "model/arch/rules.h"
#include "model/config.h"
#include "model/exact.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS, WEFT_USUAL_ROPE_FACTORS};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTENTION,
    WEFT_USUAL_FFN_NORM,
    WEFT_USUAL_FFN,
};

static const weft_key_name keys[] = {
    {WEFT_KEY_WINDOW, "attention.sliding_window", {"sliding_window"}},
    {WEFT_KEY_Q_GROWTH,
     "attention.temperature_scale",
     {"rope_parameters.llama_4_scaling_beta", "llama_4_scaling.beta"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

/* GGUF files state YaRN's second magnitude, by which the first is divided. */
static weft_status read(const weft_config *c, weft_hparams *h) {
    bool present = false;
    double second = 0, log_factor = 0;
    if (c->spelling == WEFT_SPELL_HF || h->rope.scaling != WEFT_ROPE_YARN)
        return WEFT_OK;
    weft_status st = weft_config_number(c, "mistral3.rope.scaling.yarn_log_multiplier", 0, 1e3,
                                        &present, &second);
    if (h->rope.factor > 1)
        log_factor = 0.1 * weft_exact_log(h->rope.factor);
    h->rope.magnitude /= 1 + second * log_factor;
    return st;
}

const weft_arch weft_arch_mistral3 = {
    .name = "mistral3",
    .model_types = {"mistral3", "ministral3"},
    .classes = {"Mistral3ForConditionalGeneration", "Ministral3ForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .rope_interleaved = {true, false},
    .activation = WEFT_ACT_SILU,
    .rope_base_default = {10000, 10000},
    .window_everywhere = true,
    .read = read,
};
