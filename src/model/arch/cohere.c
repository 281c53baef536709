/* Command R (Cohere 2024): both halves side by side behind one layer norm without a bias,
 * neighbours turn, logits are scaled. Norms over heads are refused. */
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
    WEFT_USUAL_FFN,
};

static const weft_key_name keys[] = {
    {WEFT_KEY_LOGIT_SCALE, "logit_scale", {"logit_scale"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

static const char *const refused[] = {"use_qk_norm", NULL};

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
    .refused = refused,
};
