/* BLOOM (BigScience 2022): ALiBi, a norm of the embedding, biases everywhere. Folders hold q, k and
 * v by head. */
#include "model/arch/list.h"
#include "model/arch/rules.h"
#include "model/config.h"

static const weft_tensor_rule globals[] = {
    WEFT_GLOBAL_MATRIX(embedding, "token_embd.weight", "transformer.word_embeddings.weight",
                       WEFT_EXT_VOCAB, WEFT_EXT_EMBD, WEFT_RULE_GATHER),
    WEFT_GLOBAL_VECTOR(embedding_norm, "token_embd_norm.weight",
                       "transformer.word_embeddings_layernorm.weight", WEFT_EXT_EMBD, 0),
    WEFT_GLOBAL_VECTOR(embedding_norm_bias, "token_embd_norm.bias",
                       "transformer.word_embeddings_layernorm.bias", WEFT_EXT_EMBD, 0),
    WEFT_GLOBAL_VECTOR(output_norm, "output_norm.weight", "transformer.ln_f.weight", WEFT_EXT_EMBD,
                       0),
    WEFT_GLOBAL_VECTOR(output_norm_bias, "output_norm.bias", "transformer.ln_f.bias", WEFT_EXT_EMBD,
                       0),
    WEFT_USUAL_OUTPUT,
};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTN_NORM_BIAS,
    WEFT_FUSED_QKV("attn_qkv.weight", NULL, WEFT_FUSED_ROWS, 0),
    WEFT_FUSED_QKV_BIAS("attn_qkv.bias", NULL, WEFT_FUSED_ROWS, 0),
    WEFT_FUSED_QKV(NULL, "self_attention.query_key_value.weight", WEFT_FUSED_HEADS, 0),
    WEFT_FUSED_QKV_BIAS(NULL, "self_attention.query_key_value.bias", WEFT_FUSED_HEADS, 0),
    WEFT_MATRIX(attn_out, "attn_output.weight", "self_attention.dense.weight", WEFT_EXT_EMBD,
                WEFT_EXT_Q, 0),
    WEFT_VECTOR(attn_out_bias, "attn_output.bias", "self_attention.dense.bias", WEFT_EXT_EMBD, 0),
    WEFT_USUAL_FFN_NORM,
    WEFT_USUAL_FFN_NORM_BIAS,
    WEFT_MATRIX(ffn_up, "ffn_up.weight", "mlp.dense_h_to_4h.weight", WEFT_EXT_FF, WEFT_EXT_EMBD, 0),
    WEFT_VECTOR(ffn_up_bias, "ffn_up.bias", "mlp.dense_h_to_4h.bias", WEFT_EXT_FF, 0),
    WEFT_MATRIX(ffn_down, "ffn_down.weight", "mlp.dense_4h_to_h.weight", WEFT_EXT_EMBD, WEFT_EXT_FF,
                0),
    WEFT_VECTOR(ffn_down_bias, "ffn_down.bias", "mlp.dense_4h_to_h.bias", WEFT_EXT_EMBD, 0),
};

static const weft_key_name keys[] = {
    {WEFT_KEY_N_FF, "feed_forward_length", {"n_inner"}},
    {WEFT_KEY_N_EMBD, "embedding_length", {"hidden_size", "n_embed"}},
    {WEFT_KEY_N_HEAD, "attention.head_count", {"n_head", "num_attention_heads"}},
    {WEFT_KEY_N_HEAD_KV, "attention.head_count_kv", {NULL}},
    {WEFT_KEY_N_LAYER, "block_count", {"n_layer", "num_hidden_layers"}},
    {WEFT_KEY_N_CONTEXT, "context_length", {"seq_length"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

static const char *const refused[] = {"apply_residual_connection_post_layernorm", NULL};

const weft_arch weft_arch_bloom = {
    .name = "bloom",
    .model_types = {"bloom"},
    .classes = {"BloomForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .hf_base = "transformer.",
    .hf_layers = "transformer.h.",
    .norm = WEFT_NORM_LAYER,
    .activation = WEFT_ACT_GELU_TANH,
    .tied_default = true,
    .ff_factor = 4,
    .context_default = 2048,
    .alibi = 8,
    .no_rope = true,
    .refused = refused,
};
