/* Gemma 4, text only: as Gemma 3, but norms by the stored weight and of values too, window layers
 * with heads of their own size, last layers that share keys and values, inputs of each layer's own,
 * and a mixture beside the dense network, each where a model has them. Facts from transformers'
 * modeling_gemma4.py and llama.cpp's gemma4. */
#include "model/arch/list.h"
#include "model/arch/rules.h"
#include "model/config.h" /* weft_read_kinds */

static const weft_tensor_rule globals[] = {
    WEFT_USUAL_EMBEDDING,
    WEFT_GLOBAL_MATRIX(layer_embedding, "per_layer_token_embd.weight",
                       "model.embed_tokens_per_layer.weight", WEFT_EXT_VOCAB, WEFT_EXT_LAYER_INPUTS,
                       WEFT_RULE_GATHER | WEFT_RULE_LOOKUP),
    WEFT_GLOBAL_MATRIX(layer_proj, "per_layer_model_proj.weight",
                       "model.per_layer_model_projection.weight", WEFT_EXT_LAYER_INPUTS,
                       WEFT_EXT_EMBD, 0),
    WEFT_GLOBAL_VECTOR(layer_proj_norm, "per_layer_proj_norm.weight",
                       "model.per_layer_projection_norm.weight", WEFT_EXT_LAYER_INPUT, 0),
    WEFT_USUAL_OUTPUT_NORM,
    WEFT_USUAL_OUTPUT,
    WEFT_GLOBAL_VECTOR(rope_factors, "rope_freqs.weight", NULL, WEFT_EXT_ROT_HALF, 0),
};

#define EXPERTS (WEFT_RULE_MIXTURE | WEFT_RULE_EXPERTS)
/* Gate and up in one stack: as folders have them, and GGUF files may. */
#define FUSED(f, n)                                                                                \
    WEFT_PART(f, "ffn_gate_up_exps.weight", "experts.gate_up_proj", WEFT_FUSED_ROWS, n,            \
              WEFT_EXT_FF_EXPERT, WEFT_EXT_FF_EXPERT, WEFT_EXT_NONE, WEFT_EXT_EMBD, EXPERTS)
#define OWN_NORM(f, gguf, hf) WEFT_VECTOR(f, gguf, hf, WEFT_EXT_EMBD, WEFT_RULE_MIXTURE)

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTN_Q,
    WEFT_USUAL_ATTN_K,
    /* GGUF files say by its absence that values are the keys. */
    WEFT_MATRIX(attn_v, NULL, "self_attn.v_proj.weight", WEFT_EXT_V, WEFT_EXT_EMBD, 0),
    WEFT_MATRIX(attn_v, "attn_v.weight", NULL, WEFT_EXT_V, WEFT_EXT_EMBD, WEFT_RULE_OPTIONAL),
    WEFT_USUAL_ATTN_Q_NORM,
    WEFT_VECTOR(attn_k_norm, "attn_k_norm.weight", "self_attn.k_norm.weight", WEFT_EXT_K_HEAD, 0),
    WEFT_USUAL_ATTN_OUT,
    WEFT_GEMMA_POST_NORMS,
    WEFT_MATRIX(ffn_gate, "ffn_gate.weight", "mlp.gate_proj.weight", WEFT_EXT_FF, WEFT_EXT_EMBD, 0),
    WEFT_MATRIX(ffn_up, "ffn_up.weight", "mlp.up_proj.weight", WEFT_EXT_FF, WEFT_EXT_EMBD, 0),
    WEFT_MATRIX(ffn_down, "ffn_down.weight", "mlp.down_proj.weight", WEFT_EXT_EMBD, WEFT_EXT_FF, 0),

    OWN_NORM(router_norm, "ffn_gate_inp.scale", "router.scale"),
    WEFT_ROUTER("ffn_gate_inp.weight", "router.proj.weight"),
    WEFT_VECTOR(experts_scale, "ffn_down_exps.scale", "router.per_expert_scale", WEFT_EXT_EXPERTS,
                WEFT_RULE_MIXTURE),
    WEFT_EXPERTS_GATE("ffn_gate_exps.weight", NULL),
    WEFT_EXPERTS_UP("ffn_up_exps.weight", NULL),
    FUSED(experts_gate, 0),
    FUSED(experts_up, 1),
    WEFT_EXPERTS_DOWN("ffn_down_exps.weight", "experts.down_proj"),
    OWN_NORM(experts_norm, "pre_ffw_norm_2.weight", "pre_feedforward_layernorm_2.weight"),
    OWN_NORM(experts_out_norm, "post_ffw_norm_2.weight", "post_feedforward_layernorm_2.weight"),
    OWN_NORM(dense_out_norm, "post_ffw_norm_1.weight", "post_feedforward_layernorm_1.weight"),

    WEFT_MATRIX(input_gate, "inp_gate.weight", "per_layer_input_gate.weight", WEFT_EXT_LAYER_INPUT,
                WEFT_EXT_EMBD, 0),
    WEFT_MATRIX(input_out, "proj.weight", "per_layer_projection.weight", WEFT_EXT_EMBD,
                WEFT_EXT_LAYER_INPUT, 0),
    WEFT_VECTOR(input_norm, "post_norm.weight", "post_per_layer_input_norm.weight", WEFT_EXT_EMBD,
                WEFT_RULE_OPTIONAL),
    WEFT_VECTOR(out_scale, "layer_output_scale.weight", "layer_scalar", WEFT_EXT_ONE,
                WEFT_RULE_OPTIONAL),
};

static const weft_key_name keys[] = {
    {WEFT_KEY_HEAD_DIM, "attention.key_length", {"global_head_dim"}},
    {WEFT_KEY_HEAD_DIM_LOCAL, "attention.key_length_swa", {"head_dim"}},
    {WEFT_KEY_HEAD_DIM_V_LOCAL, "attention.value_length_swa", {NULL}},
    {WEFT_KEY_N_HEAD_KV_GLOBAL, NULL, {"num_global_key_value_heads"}},
    {WEFT_KEY_V_IS_K, NULL, {"attention_k_eq_v"}},
    {WEFT_KEY_N_SHARING, "attention.shared_kv_layers", {"num_kv_shared_layers"}},
    {WEFT_KEY_WIDE_SHARING, NULL, {"use_double_wide_mlp"}},
    {WEFT_KEY_N_EMBD_LAYER, "embedding_length_per_layer_input", {"hidden_size_per_layer_input"}},
    {WEFT_KEY_N_ROT_LOCAL, "rope.dimension_count_swa", {NULL}},
    {WEFT_KEY_ROT_FACTOR, NULL, {NULL}}, /* a member of the rope's scaling */
    {WEFT_KEY_ROPE_BASE, "rope.freq_base", {"rope_parameters.full_attention.rope_theta"}},
    {WEFT_KEY_ROPE_BASE_LOCAL,
     "rope.freq_base_swa",
     {"rope_parameters.sliding_attention.rope_theta"}},
    {WEFT_KEY_WINDOW, "attention.sliding_window", {"sliding_window"}},
    {WEFT_KEY_WINDOW_PATTERN, "attention.sliding_window_pattern", {NULL}},
    {WEFT_KEY_LAYER_TYPES, NULL, {"layer_types"}},
    {WEFT_KEY_N_EXPERT_USED, "expert_used_count", {"top_k_experts"}},
    {WEFT_KEY_ACTIVATION, NULL, {"hidden_activation"}},
    {WEFT_KEY_BIDIRECTIONAL, NULL, {NULL}}, /* a word here: see weft_read_kinds */
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_gemma4 = {
    .name = "gemma4",
    .model_types = {"gemma4_text", "gemma4_unified_text"},
    .classes = {"Gemma4ForCausalLM", "Gemma4ForConditionalGeneration", "Gemma4UnifiedForCausalLM",
                "Gemma4UnifiedForConditionalGeneration"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .layers_differ = true,
    .v_normed = true,
    .activation = WEFT_ACT_GELU_TANH,
    .tied_default = true,
    .scale_embedding = true,
    .attn_scale = 1,
    .head_dim_default = 512,
    .rope_base_default = {1000000, 1000000},
    .rope_base_local = 10000,
    .local_rope = "rope_parameters.sliding_attention.",
    .router = {.scores = WEFT_SCORES_SOFTMAX, .normalise = true},
    .read = weft_read_kinds,
};
