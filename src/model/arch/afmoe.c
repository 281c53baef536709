/* Trinity (Arcee AI 2025): norms before and after each half and over the heads of q and k, a gate
 * over what attention gives, a window and rope on three layers of four; a sigmoid router with a
 * correction, shared experts. */
#include "model/arch/list.h"
#include "model/arch/rules.h"
#include "model/config.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTENTION,
    WEFT_USUAL_ATTN_Q_NORM,
    WEFT_USUAL_ATTN_K_NORM,
    WEFT_MATRIX(attn_gate, "attn_gate.weight", "self_attn.gate_proj.weight", WEFT_EXT_Q,
                WEFT_EXT_EMBD, WEFT_RULE_ATTENTION),
    WEFT_VECTOR(attn_post_norm, "post_attention_norm.weight", "post_attention_layernorm.weight",
                WEFT_EXT_EMBD, WEFT_RULE_NORM),
    WEFT_VECTOR(ffn_norm, "ffn_norm.weight", "pre_mlp_layernorm.weight", WEFT_EXT_EMBD,
                WEFT_RULE_NORM),
    WEFT_VECTOR(ffn_post_norm, "post_ffw_norm.weight", "post_mlp_layernorm.weight", WEFT_EXT_EMBD,
                WEFT_RULE_NORM),
    WEFT_USUAL_FFN,
    WEFT_ROUTER("ffn_gate_inp.weight", "mlp.router.gate.weight"),
    WEFT_EXPERTS_GATE("ffn_gate_exps.weight", "mlp.experts.*.gate_proj.weight"),
    WEFT_EXPERTS_UP("ffn_up_exps.weight", "mlp.experts.*.up_proj.weight"),
    WEFT_EXPERTS_DOWN("ffn_down_exps.weight", "mlp.experts.*.down_proj.weight"),
    WEFT_VECTOR(router_correction, "exp_probs_b.bias", "mlp.expert_bias", WEFT_EXT_EXPERTS,
                WEFT_RULE_MIXTURE),
    WEFT_SHARED_EXPERTS("mlp.shared_experts."),
};

static const weft_key_name keys[] = {
    {WEFT_KEY_WINDOW, "attention.sliding_window", {"sliding_window"}},
    {WEFT_KEY_WINDOW_PATTERN, "attention.sliding_window_pattern", {"global_attn_every_n_layers"}},
    {WEFT_KEY_LAYER_TYPES, NULL, {"layer_types"}},
    {WEFT_KEY_N_DENSE_LEAD, "leading_dense_block_count", {"num_dense_layers"}},
    {WEFT_KEY_N_SHARED, "expert_shared_count", {"num_shared_experts"}},
    {WEFT_KEY_ROUTER_SCORES, "expert_gating_func", {"score_func"}},
    {WEFT_KEY_ROUTER_SCALE, "expert_weights_scale", {"route_scale"}},
    {WEFT_KEY_ROUTER_NORMALISE, "expert_weights_norm", {"route_norm"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

/* GGUF files do not say whether the embedding is scaled: that of every published model is. */
static weft_status read(const weft_config *c, weft_hparams *h) {
    bool scaled = false;
    if (c->spelling == WEFT_SPELL_GGUF)
        return WEFT_OK;
    weft_status st = weft_metadata_bool(c->metadata, "mup_enabled", &scaled);
    if (!scaled)
        h->embd_scale = 1;
    return st == WEFT_E_NOT_FOUND ? WEFT_OK : st;
}

const weft_arch weft_arch_afmoe = {
    .name = "afmoe",
    .model_types = {"afmoe"},
    .classes = {"AfmoeForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .activation = WEFT_ACT_SILU,
    .scale_embedding = true,
    .head_dim_default = 128,
    .rope_local_only = true,
    .rope_base_default = {10000, 10000},
    .window_pattern = 4,
    .router = {.scores = WEFT_SCORES_SIGMOID, .normalise = true},
    .read = read,
};
