/* GPT-NeoX and Pythia (Black et al. 2022, Biderman et al. 2023): attention and feed-forward side by
 * side with a norm each, a quarter of each head turns. Folders hold q, k and v head by head. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {
    WEFT_GLOBAL_MATRIX(embedding, "token_embd.weight", "gpt_neox.embed_in.weight", WEFT_EXT_VOCAB,
                       WEFT_EXT_EMBD, WEFT_RULE_GATHER),
    WEFT_GLOBAL_VECTOR(output_norm, "output_norm.weight", "gpt_neox.final_layer_norm.weight",
                       WEFT_EXT_EMBD, 0),
    WEFT_GLOBAL_VECTOR(output_norm_bias, "output_norm.bias", "gpt_neox.final_layer_norm.bias",
                       WEFT_EXT_EMBD, 0),
    WEFT_GLOBAL_MATRIX(output, "output.weight", "embed_out.weight", WEFT_EXT_VOCAB, WEFT_EXT_EMBD,
                       WEFT_RULE_OUTPUT),
};

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTN_NORM_BIAS,
    WEFT_FUSED_QKV("attn_qkv.weight", NULL, WEFT_FUSED_ROWS, 0),
    WEFT_FUSED_QKV(NULL, "attention.query_key_value.weight", WEFT_FUSED_HEADS, 0),
    WEFT_FUSED_QKV_BIAS("attn_qkv.bias", NULL, WEFT_FUSED_ROWS, WEFT_RULE_OPTIONAL),
    WEFT_FUSED_QKV_BIAS(NULL, "attention.query_key_value.bias", WEFT_FUSED_HEADS,
                        WEFT_RULE_OPTIONAL),
    WEFT_MATRIX(attn_out, "attn_output.weight", "attention.dense.weight", WEFT_EXT_EMBD, WEFT_EXT_Q,
                0),
    WEFT_VECTOR(attn_out_bias, "attn_output.bias", "attention.dense.bias", WEFT_EXT_EMBD,
                WEFT_RULE_OPTIONAL),
    WEFT_USUAL_FFN_NORM,
    WEFT_USUAL_FFN_NORM_BIAS,
    WEFT_MATRIX(ffn_up, "ffn_up.weight", "mlp.dense_h_to_4h.weight", WEFT_EXT_FF, WEFT_EXT_EMBD, 0),
    WEFT_VECTOR(ffn_up_bias, "ffn_up.bias", "mlp.dense_h_to_4h.bias", WEFT_EXT_FF, 0),
    WEFT_MATRIX(ffn_down, "ffn_down.weight", "mlp.dense_4h_to_h.weight", WEFT_EXT_EMBD, WEFT_EXT_FF,
                0),
    WEFT_VECTOR(ffn_down_bias, "ffn_down.bias", "mlp.dense_4h_to_h.bias", WEFT_EXT_EMBD, 0),
};

static const weft_key_name keys[] = {
    {WEFT_KEY_N_HEAD_KV, NULL, {NULL}},
    {WEFT_KEY_PARALLEL, "use_parallel_residual", {"use_parallel_residual"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

const weft_arch weft_arch_gptneox = {
    .name = "gptneox",
    .model_types = {"gpt_neox"},
    .classes = {"GPTNeoXForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .hf_base = "gpt_neox.",
    .hf_layers = "gpt_neox.layers.",
    .norm = WEFT_NORM_LAYER,
    .parallel = true,
    .activation = WEFT_ACT_GELU_ERF,
    .rot_factor = 0.25,
    .rope_base_default = {10000, 10000},
};
