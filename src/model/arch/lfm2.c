/* LFM2 (Liquid AI 2025): short convolutions between gates in most layers, grouped-query attention
 * with a norm over each head of q and k in the others. The larger ones have mixtures behind some
 * dense layers, with scores by sigmoid and a correction. */
#include "model/arch/list.h"
#include "model/arch/rules.h"
#include "model/config.h"
#include "model/pass.h"

static const weft_tensor_rule globals[] = {
    WEFT_USUAL_EMBEDDING,
    WEFT_GLOBAL_VECTOR(output_norm, "token_embd_norm.weight", "model.embedding_norm.weight",
                       WEFT_EXT_EMBD, WEFT_RULE_NORM | WEFT_RULE_OPTIONAL),
    WEFT_GLOBAL_VECTOR(output_norm, "output_norm.weight", NULL, WEFT_EXT_EMBD, WEFT_RULE_NORM),
    WEFT_USUAL_OUTPUT,
};

#define REC WEFT_RULE_RECURRENT
#define ATTN WEFT_RULE_ATTENTION

#define LAYER                                                                                      \
    WEFT_VECTOR(attn_norm, "attn_norm.weight", "operator_norm.weight", WEFT_EXT_EMBD,              \
                WEFT_RULE_NORM),                                                                   \
        WEFT_MATRIX(rec_in, "shortconv.in_proj.weight", "conv.in_proj.weight", WEFT_EXT_REC_IN,    \
                    WEFT_EXT_EMBD, REC),                                                           \
        WEFT_MATRIX(rec_conv, "shortconv.conv.weight", "conv.conv.weight", WEFT_EXT_REC_CONV,      \
                    WEFT_EXT_REC_TAPS, REC | WEFT_RULE_FLOATS),                                    \
        WEFT_MATRIX(rec_out, "shortconv.out_proj.weight", "conv.out_proj.weight", WEFT_EXT_EMBD,   \
                    WEFT_EXT_REC_INNER, REC),                                                      \
        WEFT_USUAL_ATTN_Q, WEFT_USUAL_ATTN_K, WEFT_USUAL_ATTN_V,                                   \
        WEFT_VECTOR(attn_q_norm, "attn_q_norm.weight", "self_attn.q_layernorm.weight",             \
                    WEFT_EXT_HEAD, ATTN | WEFT_RULE_NORM),                                         \
        WEFT_VECTOR(attn_k_norm, "attn_k_norm.weight", "self_attn.k_layernorm.weight",             \
                    WEFT_EXT_HEAD, ATTN | WEFT_RULE_NORM),                                         \
        WEFT_MATRIX(attn_out, "attn_output.weight", "self_attn.out_proj.weight", WEFT_EXT_EMBD,    \
                    WEFT_EXT_Q, ATTN),                                                             \
        WEFT_VECTOR(ffn_norm, "ffn_norm.weight", "ffn_norm.weight", WEFT_EXT_EMBD,                 \
                    WEFT_RULE_NORM),                                                               \
        WEFT_MATRIX(ffn_gate, "ffn_gate.weight", "feed_forward.w1.weight", WEFT_EXT_FF,            \
                    WEFT_EXT_EMBD, WEFT_RULE_DENSE),                                               \
        WEFT_MATRIX(ffn_up, "ffn_up.weight", "feed_forward.w3.weight", WEFT_EXT_FF, WEFT_EXT_EMBD, \
                    WEFT_RULE_DENSE),                                                              \
        WEFT_MATRIX(ffn_down, "ffn_down.weight", "feed_forward.w2.weight", WEFT_EXT_EMBD,          \
                    WEFT_EXT_FF, WEFT_RULE_DENSE)

static const weft_tensor_rule layer[] = {LAYER};

static const weft_tensor_rule moe_layer[] = {
    LAYER,
    WEFT_ROUTER("ffn_gate_inp.weight", "feed_forward.gate.weight"),
    WEFT_VECTOR(router_correction, "exp_probs_b.bias", "feed_forward.expert_bias", WEFT_EXT_EXPERTS,
                WEFT_RULE_MIXTURE | WEFT_RULE_OPTIONAL),
    WEFT_EXPERTS_GATE("ffn_gate_exps.weight", "feed_forward.experts.*.w1.weight"),
    WEFT_EXPERTS_UP("ffn_up_exps.weight", "feed_forward.experts.*.w3.weight"),
    WEFT_EXPERTS_DOWN("ffn_down_exps.weight", "feed_forward.experts.*.w2.weight"),
};

static const weft_key_name keys[] = {
    {WEFT_KEY_NORM_EPS, "attention.layer_norm_rms_epsilon", {"norm_eps"}},
    {WEFT_KEY_N_FF, "feed_forward_length", {"block_ff_dim", "intermediate_size"}},
    {WEFT_KEY_TIED, NULL, {"tie_embedding", "tie_word_embeddings"}},
    {WEFT_KEY_LAYER_TYPES, NULL, {"layer_types"}},
    {WEFT_KEY_WINDOW, "attention.sliding_window", {NULL}},
    {WEFT_KEY_REC_TAPS, "shortconv.l_cache", {"conv_L_cache"}},
    {WEFT_KEY_N_DENSE_LEAD, "leading_dense_block_count", {"num_dense_layers"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

static const char *const refused[] = {"conv_bias", NULL};

#define USUAL                                                                                      \
    .keys = keys, .globals = globals, .n_globals = sizeof globals / sizeof *globals,               \
    .recurrent = &weft_mixer_short_conv, .tied_default = true, .activation = WEFT_ACT_SILU,        \
    .rope_base_default = {1000000, 1000000}, .refused = refused, .kind_of = weft_kind_by_heads

const weft_arch weft_arch_lfm2 = {
    .name = "lfm2",
    .model_types = {"lfm2"},
    .classes = {"Lfm2ForCausalLM"},
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .read = weft_read_short_conv_adjusted,
    USUAL,
};

const weft_arch weft_arch_lfm2moe = {
    .name = "lfm2moe",
    .model_types = {"lfm2_moe"},
    .classes = {"Lfm2MoeForCausalLM"},
    .layer = moe_layer,
    .n_layer_rules = sizeof moe_layer / sizeof *moe_layer,
    .read = weft_read_short_conv,
    .router = {.scores = WEFT_SCORES_SIGMOID, .normalise = true},
    USUAL,
};
