/* ModernBERT (Warner et al. 2024): norms before each half (the first layer's attention reads the
 * embedding's), a gate, rope, and a window to both sides on two layers of three. */
#include "model/arch/list.h"
#include "model/arch/rules.h"
#include "model/config.h"

static const weft_tensor_rule globals[] = {
    WEFT_GLOBAL_MATRIX(embedding, "token_embd.weight", "model.embeddings.tok_embeddings.weight",
                       WEFT_EXT_VOCAB, WEFT_EXT_EMBD, WEFT_RULE_GATHER),
    WEFT_GLOBAL_VECTOR(embedding_norm, "token_embd_norm.weight", "model.embeddings.norm.weight",
                       WEFT_EXT_EMBD, 0),
    WEFT_GLOBAL_VECTOR(output_norm, "output_norm.weight", "model.final_norm.weight", WEFT_EXT_EMBD,
                       0),
};

static const weft_tensor_rule layer[] = {
    WEFT_VECTOR(attn_norm, "attn_norm.weight", "attn_norm.weight", WEFT_EXT_EMBD,
                WEFT_RULE_OPTIONAL),
    WEFT_FUSED_QKV("attn_qkv.weight", "attn.Wqkv.weight", WEFT_FUSED_ROWS, 0),
    WEFT_MATRIX(attn_out, "attn_output.weight", "attn.Wo.weight", WEFT_EXT_EMBD, WEFT_EXT_Q, 0),
    WEFT_VECTOR(ffn_norm, "ffn_norm.weight", "mlp_norm.weight", WEFT_EXT_EMBD, 0),
    WEFT_FUSED_GATE_UP("ffn_up.weight", "mlp.Wi.weight", 0),
    WEFT_MATRIX(ffn_down, "ffn_down.weight", "mlp.Wo.weight", WEFT_EXT_EMBD, WEFT_EXT_FF, 0),
};

static const weft_key_name keys[] = {
    {WEFT_KEY_LAYER_NORM_EPS, "attention.layer_norm_epsilon", {"norm_eps"}},
    {WEFT_KEY_ACTIVATION, NULL, {"hidden_activation"}},
    {WEFT_KEY_ROPE_BASE,
     "rope.freq_base",
     {"rope_parameters.full_attention.rope_theta", "global_rope_theta"}},
    {WEFT_KEY_ROPE_BASE_LOCAL,
     "rope.freq_base_swa",
     {"rope_parameters.sliding_attention.rope_theta", "local_rope_theta"}},
    {WEFT_KEY_WINDOW, "attention.sliding_window", {"local_attention"}},
    {WEFT_KEY_WINDOW_PATTERN, "attention.sliding_window_pattern", {"global_attn_every_n_layers"}},
    {WEFT_KEY_LAYER_TYPES, NULL, {"layer_types"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

static const char *const refused[] = {"norm_bias", "attention_bias", "mlp_bias", NULL};

/* Files say the window's width, both sides together. */
static weft_status read(const weft_config *c, weft_hparams *h) {
    char name[WEFT_CONFIG_NAME];
    if (h->window < 1) {
        weft_config_name(c, WEFT_KEY_WINDOW, name);
        return weft_config_fail(c, WEFT_E_FORMAT, name, "is missing");
    }
    h->window = h->window / 2 + 1;
    return WEFT_OK;
}

static weft_status kind_of(const weft_config *c, const weft_hparams *h, int32_t i,
                           weft_layer_kind *kind) {
    (void)c;
    *kind = i % h->window_pattern == 0 ? WEFT_LAYER_GLOBAL : WEFT_LAYER_LOCAL;
    return WEFT_OK;
}

const weft_arch weft_arch_modernbert = {
    .name = "modern-bert",
    .model_types = {"modernbert"},
    .classes = {"ModernBertModel", "ModernBertForMaskedLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .norm = WEFT_NORM_LAYER,
    .bidirectional = true,
    .activation = WEFT_ACT_GELU_ERF,
    .tied_default = true,
    .rope_base_default = {160000, 160000},
    .rope_base_local = 10000,
    .local_rope = "rope_parameters.sliding_attention.",
    .window_pattern = 3,
    .refused = refused,
    .read = read,
    .kind_of = kind_of,
};
