/* OLMoE (Muennighoff et al. 2024): norms over all heads of q and of k together, a mixture in every
 * layer whose weights are not brought to sum 1. Clipped q, k, v are refused. */
#include "model/arch/list.h"
#include "model/arch/rules.h"
#include "model/config.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM, WEFT_USUAL_ATTENTION, WEFT_WHOLE_QK_NORMS,
    WEFT_USUAL_FFN_NORM,  WEFT_USUAL_MIXTURE,
};

static weft_status read(const weft_config *c, weft_hparams *h) {
    const char *name = c->spelling == WEFT_SPELL_HF ? "clip_qkv" : "olmoe.attention.clamp_kqv";
    bool present = false;
    double limit = 0;
    (void)h;
    weft_status st = weft_config_number(c, name, 0, 1e30, &present, &limit);
    if (st || !present || limit == 0)
        return st;
    return weft_config_fail(c, WEFT_E_UNSUPPORTED, name, "is not supported");
}

const weft_arch weft_arch_olmoe = {
    .name = "olmoe",
    .model_types = {"olmoe"},
    .classes = {"OlmoeForCausalLM"},
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .activation = WEFT_ACT_SILU,
    .rope_base_default = {10000, 10000},
    .router = {.scores = WEFT_SCORES_SOFTMAX},
    .read = read,
};
