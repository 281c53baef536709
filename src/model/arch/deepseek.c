/* DeepSeek V2 and V3 (DeepSeek-AI 2024), and what shares their shape, Kimi K2 (Moonshot AI 2025)
 * and GLM-4.7 Flash (GLM Team 2026): latent attention, some dense layers, then mixtures with shared
 * experts and routing by groups. Version 3 scores by sigmoid, with a correction. GGUF files have
 * the heads' matrices apart, those of keys transposed; folders, and older files, one for all.
 */
#include <string.h>
#include "base/detail.h"
#include "model/arch/list.h"
#include "model/arch/rules.h"
#include "model/config.h"
#include "model/pass.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS};

/* The keys' and values' part of one matrix, head by head. */
#define BOTH(f, gguf, hf, n, rows, cols, what)                                                     \
    {                                                                                              \
        .field = WEFT_LAYER(f), .name = {gguf, hf}, .n_rows = rows, .n_cols = cols,                \
        .flags = WEFT_RULE_HEADS | (what), .fusion = WEFT_FUSED_STACK, .part = n, .parts = {       \
            WEFT_EXT_LATENT_PLAIN,                                                                 \
            WEFT_EXT_LATENT_V                                                                      \
        }                                                                                          \
    }

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_MATRIX(attn_q, "attn_q.weight", "self_attn.q_proj.weight", WEFT_EXT_Q_WHOLE, WEFT_EXT_EMBD,
                0),
    WEFT_MATRIX(attn_q_a, "attn_q_a.weight", "self_attn.q_a_proj.weight", WEFT_EXT_Q_LATENT,
                WEFT_EXT_EMBD, 0),
    WEFT_VECTOR(attn_q_a_norm, "attn_q_a_norm.weight", "self_attn.q_a_layernorm.weight",
                WEFT_EXT_Q_LATENT, 0),
    WEFT_MATRIX(attn_q_b, "attn_q_b.weight", "self_attn.q_b_proj.weight", WEFT_EXT_Q,
                WEFT_EXT_Q_LATENT, 0),
    WEFT_MATRIX(attn_kv_a, "attn_kv_a_mqa.weight", "self_attn.kv_a_proj_with_mqa.weight",
                WEFT_EXT_KV_A, WEFT_EXT_EMBD, 0),
    WEFT_VECTOR(attn_kv_a_norm, "attn_kv_a_norm.weight", "self_attn.kv_a_layernorm.weight",
                WEFT_EXT_KV_LATENT, 0),
    WEFT_MATRIX(attn_k_b, "attn_k_b.weight", NULL, WEFT_EXT_KV_LATENT, WEFT_EXT_LATENT_PLAIN,
                WEFT_RULE_HEADS | WEFT_RULE_OPTIONAL),
    WEFT_MATRIX(attn_v_b, "attn_v_b.weight", NULL, WEFT_EXT_LATENT_V, WEFT_EXT_KV_LATENT,
                WEFT_RULE_HEADS | WEFT_RULE_OPTIONAL),
    BOTH(attn_k_b, "attn_kv_b.weight", "self_attn.kv_b_proj.weight", 0, WEFT_EXT_KV_LATENT,
         WEFT_EXT_LATENT_PLAIN, WEFT_RULE_TRANSPOSED),
    BOTH(attn_v_b, "attn_kv_b.weight", "self_attn.kv_b_proj.weight", 1, WEFT_EXT_LATENT_V,
         WEFT_EXT_KV_LATENT, 0),
    WEFT_MATRIX(attn_out, "attn_output.weight", "self_attn.o_proj.weight", WEFT_EXT_EMBD,
                WEFT_EXT_V_ALL, 0),
    WEFT_USUAL_FFN_NORM,
    WEFT_USUAL_FFN,
    WEFT_USUAL_MIXTURE,
    WEFT_VECTOR(router_correction, "exp_probs_b.bias", "mlp.gate.e_score_correction_bias",
                WEFT_EXT_EXPERTS, WEFT_RULE_MIXTURE | WEFT_RULE_OPTIONAL),
    WEFT_SHARED_EXPERTS("mlp.shared_experts."),
};

static const weft_key_name keys[] = {
    {WEFT_KEY_HEAD_DIM, "attention.key_length_mla", {NULL}},
    {WEFT_KEY_HEAD_DIM_V, NULL, {NULL}},
    {WEFT_KEY_LATENT_PLAIN, NULL, {"qk_nope_head_dim"}},
    {WEFT_KEY_LATENT_ROT, NULL, {"qk_rope_head_dim"}},
    {WEFT_KEY_LATENT_V, "attention.value_length_mla", {"v_head_dim"}},
    {WEFT_KEY_Q_LATENT, "attention.q_lora_rank", {"q_lora_rank"}},
    {WEFT_KEY_KV_LATENT, "attention.kv_lora_rank", {"kv_lora_rank"}},
    {WEFT_KEY_N_SHARED, "expert_shared_count", {"n_shared_experts"}},
    {WEFT_KEY_N_EXTRA, "nextn_predict_layers", {"num_nextn_predict_layers"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

/* Folders of what followed version 2 may leave the scores' function to their class. */
static weft_status read(const weft_config *c, weft_hparams *h) {
    const char *type;
    weft_value v;
    if (c->spelling == WEFT_SPELL_HF && !weft_metadata_string(c->metadata, "model_type", &type) &&
        strcmp(type, "deepseek_v2") != 0 && !weft_metadata_find(c->metadata, "scoring_func", &v))
        h->router.scores = WEFT_SCORES_SIGMOID;
    return weft_read_latent(c, h);
}

const weft_arch weft_arch_deepseek2 = {
    .name = "deepseek2",
    .model_types = {"deepseek_v2", "deepseek_v3", "kimi_k2"},
    .classes = {"DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .mixer = &weft_mixer_latent,
    .rope_interleaved = {true, true},
    .activation = WEFT_ACT_SILU,
    .head_dim_default = 128, /* config.json: replaced by its parts */
    .rope_base_default = {10000, 10000},
    .read = read,
};
