/* Falcon (Almazrouei et al. 2023), the first models (one K head, one norm for both halves) and
 * those of the newer decoder (groups, a norm each): attention and feed-forward side by side, no
 * biases. Folders hold q, k and v by K head. Those of RefinedWeb have ALiBi, whose slopes are
 * scaled as q·k is, and biases. */
#include "model/arch/list.h"
#include "model/arch/rules.h"
#include "model/config.h"

static const weft_tensor_rule globals[] = {
    WEFT_GLOBAL_MATRIX(embedding, "token_embd.weight", "transformer.word_embeddings.weight",
                       WEFT_EXT_VOCAB, WEFT_EXT_EMBD, WEFT_RULE_GATHER),
    WEFT_GLOBAL_VECTOR(output_norm, "output_norm.weight", "transformer.ln_f.weight", WEFT_EXT_EMBD,
                       0),
    WEFT_GLOBAL_VECTOR(output_norm_bias, "output_norm.bias", "transformer.ln_f.bias", WEFT_EXT_EMBD,
                       0),
    WEFT_USUAL_OUTPUT,
};

/* Of two norms GGUF files call the feed-forward network's attn_norm. */
static const weft_tensor_rule layer[] = {
    WEFT_VECTOR(attn_norm, "attn_norm_2.weight", "ln_attn.weight", WEFT_EXT_EMBD,
                WEFT_RULE_OPTIONAL | WEFT_RULE_OF_TWO),
    WEFT_VECTOR(attn_norm_bias, "attn_norm_2.bias", "ln_attn.bias", WEFT_EXT_EMBD,
                WEFT_RULE_OPTIONAL | WEFT_RULE_OF_TWO),
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTN_NORM_BIAS,
    WEFT_VECTOR(ffn_norm, "attn_norm.weight", "ln_mlp.weight", WEFT_EXT_EMBD, WEFT_RULE_OPTIONAL),
    WEFT_VECTOR(ffn_norm_bias, "attn_norm.bias", "ln_mlp.bias", WEFT_EXT_EMBD, WEFT_RULE_OPTIONAL),
    WEFT_VECTOR(ffn_norm, NULL, "post_attention_layernorm.weight", WEFT_EXT_EMBD,
                WEFT_RULE_OPTIONAL),
    WEFT_VECTOR(ffn_norm_bias, NULL, "post_attention_layernorm.bias", WEFT_EXT_EMBD,
                WEFT_RULE_OPTIONAL),
    WEFT_FUSED_QKV("attn_qkv.weight", NULL, WEFT_FUSED_ROWS, 0),
    WEFT_FUSED_QKV(NULL, "self_attention.query_key_value.weight", WEFT_FUSED_HEADS, 0),
    WEFT_FUSED_QKV_BIAS(NULL, "self_attention.query_key_value.bias", WEFT_FUSED_HEADS,
                        WEFT_RULE_OPTIONAL),
    WEFT_MATRIX(attn_out, "attn_output.weight", "self_attention.dense.weight", WEFT_EXT_EMBD,
                WEFT_EXT_Q, 0),
    WEFT_VECTOR(attn_out_bias, NULL, "self_attention.dense.bias", WEFT_EXT_EMBD,
                WEFT_RULE_OPTIONAL),
    WEFT_MATRIX(ffn_up, "ffn_up.weight", "mlp.dense_h_to_4h.weight", WEFT_EXT_FF, WEFT_EXT_EMBD, 0),
    WEFT_VECTOR(ffn_up_bias, NULL, "mlp.dense_h_to_4h.bias", WEFT_EXT_FF, WEFT_RULE_OPTIONAL),
    WEFT_MATRIX(ffn_down, "ffn_down.weight", "mlp.dense_4h_to_h.weight", WEFT_EXT_EMBD, WEFT_EXT_FF,
                0),
    WEFT_VECTOR(ffn_down_bias, NULL, "mlp.dense_4h_to_h.bias", WEFT_EXT_EMBD, WEFT_RULE_OPTIONAL),
};

static const weft_key_name keys[] = {
    {WEFT_KEY_N_FF, "feed_forward_length", {"ffn_hidden_size"}},
    {WEFT_KEY_N_HEAD_KV, "attention.head_count_kv", {"num_kv_heads"}},
    {WEFT_KEY_PARALLEL, NULL, {"parallel_attn"}},
    {WEFT_KEY_ACTIVATION, NULL, {"activation"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

/* The first models' folders state a number of K heads that they do not have. */
static weft_status read(const weft_config *c, weft_hparams *h) {
    bool newer = false, one = true, alibi = false;
    weft_status st;
    if (c->spelling == WEFT_SPELL_GGUF)
        return WEFT_OK;
    if (((st = weft_metadata_bool(c->metadata, "new_decoder_architecture", &newer)) &&
         st != WEFT_E_NOT_FOUND) ||
        ((st = weft_metadata_bool(c->metadata, "multi_query", &one)) && st != WEFT_E_NOT_FOUND) ||
        ((st = weft_metadata_bool(c->metadata, "alibi", &alibi)) && st != WEFT_E_NOT_FOUND))
        return st;
    if (alibi) {
        h->alibi = 8;
        h->alibi_scale = h->attn_scale;
        h->rope.n_rot = 0;
    }
    if (!newer)
        h->n_head_kv = one ? 1 : h->n_head;
    return WEFT_OK;
}

const weft_arch weft_arch_falcon = {
    .name = "falcon",
    .model_types = {"falcon"},
    .classes = {"FalconForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .hf_base = "transformer.",
    .hf_layers = "transformer.h.",
    .norm = WEFT_NORM_LAYER,
    .parallel = true,
    .activation = WEFT_ACT_GELU_ERF,
    .tied_default = true,
    .ff_factor = 4,
    .context_default = 2048,
    .rope_base_default = {10000, 10000},
    .read = read,
};
