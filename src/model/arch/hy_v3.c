/* Hy 3 (Tencent 2026): norms over the heads of q and k, a sigmoid router with a correction, shared
 * experts. Layers that predict further tokens are left aside. */
#include "model/arch/list.h"
#include "model/arch/rules.h"
#include "model/config.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTENTION,
    WEFT_USUAL_ATTN_Q_NORM,
    WEFT_USUAL_ATTN_K_NORM,
    WEFT_USUAL_FFN_NORM,
    WEFT_USUAL_FFN,
    WEFT_USUAL_MIXTURE,
    WEFT_ROUTER("ffn_gate_inp.weight", "mlp.router.gate.weight"),
    WEFT_VECTOR(router_correction, "exp_probs_b.bias", "mlp.expert_bias", WEFT_EXT_EXPERTS,
                WEFT_RULE_MIXTURE | WEFT_RULE_OPTIONAL),
    WEFT_VECTOR(router_correction, "exp_probs_b", "mlp.e_score_correction_bias", WEFT_EXT_EXPERTS,
                WEFT_RULE_MIXTURE),
    WEFT_SHARED_EXPERTS("mlp.shared_experts."),
    WEFT_SHARED_EXPERTS("mlp.shared_mlp."),
};

static const weft_key_name keys[] = {
    {WEFT_KEY_N_SHARED, NULL, {"num_shared_experts"}},
    {WEFT_KEY_N_FF_SHARED, "expert_shared_feed_forward_length", {NULL}},
    {WEFT_KEY_ROUTER_SCALE, "expert_weights_scale", {"router_scaling_factor"}},
    {WEFT_KEY_N_EXTRA, "nextn_predict_layers", {"num_nextn_predict_layers"}},
    {WEFT_KEY_N_DENSE_LEAD, "leading_dense_block_count", {"first_k_dense_replace"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

/* GGUF files may leave out that the first layer is dense. */
static weft_status read(const weft_config *c, weft_hparams *h) {
    char name[WEFT_CONFIG_NAME];
    if (c->spelling == WEFT_SPELL_GGUF && h->n_expert > 0 &&
        !weft_config_name(c, WEFT_KEY_N_DENSE_LEAD, name))
        h->n_dense_lead = 1;
    return weft_read_extra_layers(c, h);
}

const weft_arch weft_arch_hy_v3 = {
    .name = "hy_v3",
    .model_types = {"hy_v3"},
    .classes = {"HYV3ForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .activation = WEFT_ACT_SILU,
    .head_dim_default = 128,
    .rope_base_default = {11158840, 11158840},
    .router = {.scores = WEFT_SCORES_SIGMOID, .normalise = true},
    .read = read,
};
