/* GPT-2 (Radford et al. 2019): learned positions, layer norm, a network without a gate. Folders
 * hold its matrices transposed. */
#include "model/arch/list.h"
#include "model/arch/rules.h"

static const weft_tensor_rule globals[] = {
    WEFT_GLOBAL_MATRIX(embedding, "token_embd.weight", "transformer.wte.weight", WEFT_EXT_VOCAB,
                       WEFT_EXT_EMBD, WEFT_RULE_GATHER),
    WEFT_GLOBAL_MATRIX(positions, "position_embd.weight", "transformer.wpe.weight",
                       WEFT_EXT_CONTEXT, WEFT_EXT_EMBD, WEFT_RULE_GATHER),
    WEFT_GLOBAL_VECTOR(output_norm, "output_norm.weight", "transformer.ln_f.weight", WEFT_EXT_EMBD,
                       0),
    WEFT_GLOBAL_VECTOR(output_norm_bias, "output_norm.bias", "transformer.ln_f.bias", WEFT_EXT_EMBD,
                       0),
    WEFT_USUAL_OUTPUT,
};

static const weft_tensor_rule layer[] = {
    WEFT_VECTOR(attn_norm, "attn_norm.weight", "ln_1.weight", WEFT_EXT_EMBD, 0),
    WEFT_VECTOR(attn_norm_bias, "attn_norm.bias", "ln_1.bias", WEFT_EXT_EMBD, 0),
    WEFT_FUSED_QKV("attn_qkv.weight", NULL, WEFT_FUSED_ROWS, 0),
    WEFT_FUSED_QKV(NULL, "attn.c_attn.weight", WEFT_FUSED_ROWS, WEFT_RULE_TRANSPOSED),
    WEFT_FUSED_QKV_BIAS("attn_qkv.bias", "attn.c_attn.bias", WEFT_FUSED_ROWS, 0),
    WEFT_MATRIX(attn_out, "attn_output.weight", NULL, WEFT_EXT_EMBD, WEFT_EXT_Q, 0),
    WEFT_MATRIX(attn_out, NULL, "attn.c_proj.weight", WEFT_EXT_EMBD, WEFT_EXT_Q,
                WEFT_RULE_TRANSPOSED),
    WEFT_VECTOR(attn_out_bias, "attn_output.bias", "attn.c_proj.bias", WEFT_EXT_EMBD, 0),
    WEFT_VECTOR(ffn_norm, "ffn_norm.weight", "ln_2.weight", WEFT_EXT_EMBD, 0),
    WEFT_VECTOR(ffn_norm_bias, "ffn_norm.bias", "ln_2.bias", WEFT_EXT_EMBD, 0),
    WEFT_MATRIX(ffn_up, "ffn_up.weight", NULL, WEFT_EXT_FF, WEFT_EXT_EMBD, 0),
    WEFT_MATRIX(ffn_up, NULL, "mlp.c_fc.weight", WEFT_EXT_FF, WEFT_EXT_EMBD, WEFT_RULE_TRANSPOSED),
    WEFT_VECTOR(ffn_up_bias, "ffn_up.bias", "mlp.c_fc.bias", WEFT_EXT_FF, 0),
    WEFT_MATRIX(ffn_down, "ffn_down.weight", NULL, WEFT_EXT_EMBD, WEFT_EXT_FF, 0),
    WEFT_MATRIX(ffn_down, NULL, "mlp.c_proj.weight", WEFT_EXT_EMBD, WEFT_EXT_FF,
                WEFT_RULE_TRANSPOSED),
    WEFT_VECTOR(ffn_down_bias, "ffn_down.bias", "mlp.c_proj.bias", WEFT_EXT_EMBD, 0),
};

static const weft_key_name keys[] = {
    {WEFT_KEY_N_FF, "feed_forward_length", {"n_inner"}},
    {WEFT_KEY_N_CONTEXT, "context_length", {"n_positions", "n_ctx"}},
    {WEFT_KEY_ACTIVATION, NULL, {"activation_function"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

static const char *const refused[] = {"scale_attn_by_inverse_layer_idx", "add_cross_attention",
                                      NULL};

const weft_arch weft_arch_gpt2 = {
    .name = "gpt2",
    .model_types = {"gpt2"},
    .classes = {"GPT2LMHeadModel"},
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
    .no_rope = true,
    .refused = refused,
};
