/* Granite 3 with experts (IBM 2024), some with a shared one: Granite's multipliers, and a mixture
 * whose weights are the softmax of the chosen experts' scores. Folders hold gate and up of all
 * experts in one tensor. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS, WEFT_USUAL_ROPE_FACTORS};

#define STACKED (WEFT_RULE_MIXTURE | WEFT_RULE_EXPERTS)
#define SHARED (WEFT_RULE_MIXTURE | WEFT_RULE_OPTIONAL)

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTENTION,
    WEFT_USUAL_FFN_NORM,
    WEFT_ROUTER("ffn_gate_inp.weight", "block_sparse_moe.router.layer.weight"),
    WEFT_EXPERTS_GATE("ffn_gate_exps.weight", NULL),
    WEFT_EXPERTS_UP("ffn_up_exps.weight", NULL),
    WEFT_PART(experts_gate, NULL, "block_sparse_moe.input_linear.weight", WEFT_FUSED_ROWS, 0,
              WEFT_EXT_FF_EXPERT, WEFT_EXT_FF_EXPERT, WEFT_EXT_NONE, WEFT_EXT_EMBD, STACKED),
    WEFT_PART(experts_up, NULL, "block_sparse_moe.input_linear.weight", WEFT_FUSED_ROWS, 1,
              WEFT_EXT_FF_EXPERT, WEFT_EXT_FF_EXPERT, WEFT_EXT_NONE, WEFT_EXT_EMBD, STACKED),
    WEFT_EXPERTS_DOWN("ffn_down_exps.weight", "block_sparse_moe.output_linear.weight"),
    WEFT_MATRIX(shared_gate, "ffn_gate_shexp.weight", NULL, WEFT_EXT_FF_SHARED, WEFT_EXT_EMBD,
                SHARED),
    WEFT_MATRIX(shared_up, "ffn_up_shexp.weight", NULL, WEFT_EXT_FF_SHARED, WEFT_EXT_EMBD, SHARED),
    WEFT_PART(shared_gate, NULL, "shared_mlp.input_linear.weight", WEFT_FUSED_ROWS, 0,
              WEFT_EXT_FF_SHARED, WEFT_EXT_FF_SHARED, WEFT_EXT_NONE, WEFT_EXT_EMBD, SHARED),
    WEFT_PART(shared_up, NULL, "shared_mlp.input_linear.weight", WEFT_FUSED_ROWS, 1,
              WEFT_EXT_FF_SHARED, WEFT_EXT_FF_SHARED, WEFT_EXT_NONE, WEFT_EXT_EMBD, SHARED),
    WEFT_MATRIX(shared_down, "ffn_down_shexp.weight", "shared_mlp.output_linear.weight",
                WEFT_EXT_EMBD, WEFT_EXT_FF_SHARED, SHARED),
};

static const weft_key_name keys[] = {
    WEFT_GRANITE_KEYS,
    {WEFT_KEY_N_FF_SHARED, "expert_shared_feed_forward_length", {"shared_intermediate_size"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_granitemoe = {
    .name = "granitemoe",
    .model_types = {"granitemoe", "granitemoeshared"},
    .classes = {"GraniteMoeForCausalLM", "GraniteMoeSharedForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .rope_interleaved = {true, false},
    .activation = WEFT_ACT_SILU,
    .logit_scale_divides = true,
    .rope_base_default = {10000, 10000},
    .router = {.scores = WEFT_SCORES_SOFTMAX_CHOSEN},
};
