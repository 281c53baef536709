/* gpt-oss (OpenAI 2025): a window on every other layer, attention sinks, biases everywhere, and a
 * mixture with a clamped gate whose weights are the softmax of the chosen experts' scores. Folders
 * hold gate and up in turns, in MXFP4, or as floats, then transposed. */
#include "base/detail.h"
#include "model/arch/list.h"
#include "model/arch/rules.h"
#include "model/config.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS};

#define STACKED (WEFT_RULE_MIXTURE | WEFT_RULE_EXPERTS)
#define BLOCKS (STACKED | WEFT_RULE_OPTIONAL | WEFT_RULE_MXFP4)
#define TRANSPOSED (STACKED | WEFT_RULE_TRANSPOSED)

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTENTION,
    WEFT_VECTOR(attn_sinks, "attn_sinks.weight", "self_attn.sinks", WEFT_EXT_N_HEAD, 0),
    WEFT_VECTOR(ffn_norm, "post_attention_norm.weight", "post_attention_layernorm.weight",
                WEFT_EXT_EMBD, WEFT_RULE_NORM),
    WEFT_ROUTER("ffn_gate_inp.weight", "mlp.router.weight"),
    WEFT_VECTOR(router_bias, "ffn_gate_inp.bias", "mlp.router.bias", WEFT_EXT_EXPERTS, 0),
    WEFT_EXPERTS_GATE("ffn_gate_exps.weight", NULL),
    WEFT_EXPERTS_UP("ffn_up_exps.weight", NULL),
    WEFT_EXPERTS_DOWN("ffn_down_exps.weight", NULL),
    WEFT_VECTOR(experts_gate_bias, "ffn_gate_exps.bias", NULL, WEFT_EXT_FF_EXPERT, STACKED),
    WEFT_VECTOR(experts_up_bias, "ffn_up_exps.bias", NULL, WEFT_EXT_FF_EXPERT, STACKED),
    WEFT_VECTOR(experts_down_bias, "ffn_down_exps.bias", "mlp.experts.down_proj_bias",
                WEFT_EXT_EMBD, STACKED),
    WEFT_PART(experts_gate, NULL, "mlp.experts.gate_up_proj_blocks", WEFT_FUSED_TURNS, 0,
              WEFT_EXT_FF_EXPERT, WEFT_EXT_FF_EXPERT, WEFT_EXT_NONE, WEFT_EXT_EMBD, BLOCKS),
    WEFT_PART(experts_up, NULL, "mlp.experts.gate_up_proj_blocks", WEFT_FUSED_TURNS, 1,
              WEFT_EXT_FF_EXPERT, WEFT_EXT_FF_EXPERT, WEFT_EXT_NONE, WEFT_EXT_EMBD, BLOCKS),
    WEFT_MATRIX(experts_down, NULL, "mlp.experts.down_proj_blocks", WEFT_EXT_EMBD,
                WEFT_EXT_FF_EXPERT, BLOCKS),
    WEFT_PART(experts_gate, NULL, "mlp.experts.gate_up_proj", WEFT_FUSED_TURNS, 0,
              WEFT_EXT_FF_EXPERT, WEFT_EXT_FF_EXPERT, WEFT_EXT_NONE, WEFT_EXT_EMBD, TRANSPOSED),
    WEFT_PART(experts_up, NULL, "mlp.experts.gate_up_proj", WEFT_FUSED_TURNS, 1, WEFT_EXT_FF_EXPERT,
              WEFT_EXT_FF_EXPERT, WEFT_EXT_NONE, WEFT_EXT_EMBD, TRANSPOSED),
    WEFT_MATRIX(experts_down, NULL, "mlp.experts.down_proj", WEFT_EXT_EMBD, WEFT_EXT_FF_EXPERT,
                TRANSPOSED),
    WEFT_VECTOR_PART(experts_gate_bias, NULL, "mlp.experts.gate_up_proj_bias", WEFT_FUSED_TURNS, 0,
                     WEFT_EXT_FF_EXPERT, WEFT_EXT_FF_EXPERT, WEFT_EXT_NONE, STACKED),
    WEFT_VECTOR_PART(experts_up_bias, NULL, "mlp.experts.gate_up_proj_bias", WEFT_FUSED_TURNS, 1,
                     WEFT_EXT_FF_EXPERT, WEFT_EXT_FF_EXPERT, WEFT_EXT_NONE, STACKED),
};

static const weft_key_name keys[] = {
    {WEFT_KEY_WINDOW, "attention.sliding_window", {"sliding_window"}},
    {WEFT_KEY_LAYER_TYPES, NULL, {"layer_types"}},
    {WEFT_KEY_ACTIVATION, NULL, {NULL}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

/* YaRN's bounds are not rounded in the published models, and their GGUF files cannot say so: they
 * are known by the scaling that all of them have. */
static weft_status read(const weft_config *c, weft_hparams *h) {
    static const struct {
        const char *name;
        double value;
    } fixed[] = {{"swiglu_limit", 7}, {"swiglu_alpha", 1.702}};
    if (c->spelling == WEFT_SPELL_GGUF) {
        if (h->rope.factor == 32 && h->rope.n_original == 4096)
            h->rope.truncate = h->rope_local.truncate = false;
        return WEFT_OK;
    }
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        bool present = false;
        double value = fixed[i].value;
        weft_status st = weft_config_number(c, fixed[i].name, -1e30, 1e30, &present, &value);
        if (st)
            return st;
        if (value != fixed[i].value)
            return weft_config_fail(c, WEFT_E_UNSUPPORTED, fixed[i].name, "%g is not %g", value,
                                    fixed[i].value);
    }
    return WEFT_OK;
}

const weft_arch weft_arch_gpt_oss = {
    .name = "gpt-oss",
    .model_types = {"gpt_oss"},
    .classes = {"GptOssForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .activation = WEFT_ACT_SWIGLU_CLAMPED,
    .head_dim_default = 64,
    .rope_base_default = {150000, 150000},
    .window_pattern = 2,
    .router = {.scores = WEFT_SCORES_SOFTMAX_CHOSEN},
    .quantized = "mxfp4",
    .read = read,
};
