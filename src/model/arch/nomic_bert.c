/* Nomic BERT (Nussbaum et al. 2024): BERT with rope for its positions, a gate and no biases. */
#include "model/arch/list.h"
#include "model/arch/rules.h"
#include "model/config.h"

static const weft_tensor_rule globals[] = {
    WEFT_GLOBAL_MATRIX(embedding, "token_embd.weight", "embeddings.word_embeddings.weight",
                       WEFT_EXT_VOCAB, WEFT_EXT_EMBD, WEFT_RULE_GATHER),
    WEFT_GLOBAL_MATRIX(token_types, "token_types.weight", "embeddings.token_type_embeddings.weight",
                       WEFT_EXT_TYPES, WEFT_EXT_EMBD, WEFT_RULE_GATHER),
    WEFT_GLOBAL_VECTOR(embedding_norm, "token_embd_norm.weight", "emb_ln.weight", WEFT_EXT_EMBD, 0),
    WEFT_GLOBAL_VECTOR(embedding_norm_bias, "token_embd_norm.bias", "emb_ln.bias", WEFT_EXT_EMBD,
                       0),
};

static const weft_tensor_rule layer[] = {
    WEFT_FUSED_QKV("attn_qkv.weight", "attn.Wqkv.weight", WEFT_FUSED_ROWS, 0),
    WEFT_MATRIX(attn_out, "attn_output.weight", "attn.out_proj.weight", WEFT_EXT_EMBD, WEFT_EXT_Q,
                0),
    WEFT_VECTOR(attn_out_norm, "attn_output_norm.weight", "norm1.weight", WEFT_EXT_EMBD, 0),
    WEFT_VECTOR(attn_out_norm_bias, "attn_output_norm.bias", "norm1.bias", WEFT_EXT_EMBD, 0),
    WEFT_MATRIX(ffn_gate, "ffn_gate.weight", "mlp.fc12.weight", WEFT_EXT_FF, WEFT_EXT_EMBD, 0),
    WEFT_MATRIX(ffn_up, "ffn_up.weight", "mlp.fc11.weight", WEFT_EXT_FF, WEFT_EXT_EMBD, 0),
    WEFT_MATRIX(ffn_down, "ffn_down.weight", "mlp.fc2.weight", WEFT_EXT_EMBD, WEFT_EXT_FF, 0),
    WEFT_VECTOR(ffn_out_norm, "layer_output_norm.weight", "norm2.weight", WEFT_EXT_EMBD, 0),
    WEFT_VECTOR(ffn_out_norm_bias, "layer_output_norm.bias", "norm2.bias", WEFT_EXT_EMBD, 0),
};

/* The first folders spell the configuration as GPT-2's. */
static const weft_key_name keys[] = {
    {WEFT_KEY_N_FF, "feed_forward_length", {"intermediate_size", "n_inner"}},
    {WEFT_KEY_N_CONTEXT,
     "context_length",
     {"max_trained_positions", "max_position_embeddings", "n_positions"}},
    {WEFT_KEY_ROT_FACTOR, NULL, {"rotary_emb_fraction"}},
    {WEFT_KEY_ACTIVATION, NULL, {"hidden_act", "activation_function"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

static const char *const refused[] = {"prenorm",        "use_rms_norm",  "rotary_emb_interleaved",
                                      "parallel_block", "qkv_proj_bias", "mlp_fc1_bias",
                                      "mlp_fc2_bias",   "is_decoder",    NULL};

const weft_arch weft_arch_nomic_bert = {
    .name = "nomic-bert",
    .model_types = {"nomic_bert"},
    .classes = {"NomicBertModel"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .hf_layers = "encoder.layers.",
    .norm = WEFT_NORM_LAYER,
    .bidirectional = true,
    .activation = WEFT_ACT_SILU,
    .tied_default = true,
    .rope_base_default = {1000, 1000},
    .refused = refused,
    .read = weft_read_token_types,
};
