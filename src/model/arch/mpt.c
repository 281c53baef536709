/* MPT (MosaicML 2023): ALiBi, layer norms without biases, q, k and v in one matrix, which may be
 * clipped. */
#include "model/arch/list.h"
#include "model/arch/rules.h"
#include "model/config.h"

static const weft_tensor_rule globals[] = {
    WEFT_GLOBAL_MATRIX(embedding, "token_embd.weight", "transformer.wte.weight", WEFT_EXT_VOCAB,
                       WEFT_EXT_EMBD, WEFT_RULE_GATHER),
    WEFT_GLOBAL_VECTOR(output_norm, "output_norm.weight", "transformer.norm_f.weight",
                       WEFT_EXT_EMBD, 0),
    WEFT_USUAL_OUTPUT,
};

static const weft_tensor_rule layer[] = {
    WEFT_VECTOR(attn_norm, "attn_norm.weight", "norm_1.weight", WEFT_EXT_EMBD, 0),
    WEFT_FUSED_QKV("attn_qkv.weight", "attn.Wqkv.weight", WEFT_FUSED_ROWS, 0),
    WEFT_MATRIX(attn_out, "attn_output.weight", "attn.out_proj.weight", WEFT_EXT_EMBD, WEFT_EXT_Q,
                0),
    WEFT_VECTOR(ffn_norm, "ffn_norm.weight", "norm_2.weight", WEFT_EXT_EMBD, 0),
    WEFT_MATRIX(ffn_up, "ffn_up.weight", "ffn.up_proj.weight", WEFT_EXT_FF, WEFT_EXT_EMBD, 0),
    WEFT_MATRIX(ffn_down, "ffn_down.weight", "ffn.down_proj.weight", WEFT_EXT_EMBD, WEFT_EXT_FF, 0),
};

static const weft_key_name keys[] = {
    {WEFT_KEY_N_LAYER, "block_count", {"n_layers"}},
    {WEFT_KEY_N_EMBD, "embedding_length", {"d_model"}},
    {WEFT_KEY_N_FF, "feed_forward_length", {NULL}},
    {WEFT_KEY_N_HEAD, "attention.head_count", {"n_heads"}},
    {WEFT_KEY_N_HEAD_KV, "attention.head_count_kv", {"attn_config.kv_n_heads"}},
    {WEFT_KEY_N_CONTEXT, "context_length", {"max_seq_len"}},
    {WEFT_KEY_CLIP_QKV, "attention.clamp_kqv", {"attn_config.clip_qkv"}},
    {WEFT_KEY_ALIBI, "attention.max_alibi_bias", {NULL}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

static const char *const refused[] = {"attn_config.qk_ln", "attn_config.prefix_lm", NULL};

/* Models with learned positions instead have weights that no rule names. */
static weft_status read(const weft_config *c, weft_hparams *h) {
    bool hf = c->spelling == WEFT_SPELL_HF, present = false;
    const char *name = hf ? "attn_config.alibi_bias_max" : "mpt.attention.max_alibi_bias";
    double most = 8;
    weft_status st = weft_config_number(c, name, 0, 64, &present, &most);
    if (st)
        return st;
    bool alibi = false;
    if (hf)
        (void)weft_metadata_bool(c->metadata, "attn_config.alibi", &alibi);
    else
        alibi = present && most > 0;
    if (!alibi || most != (double)(int32_t)most)
        return weft_config_fail(c, WEFT_E_UNSUPPORTED, hf ? "attn_config.alibi" : name,
                                "only models with ALiBi and a whole bound are supported");
    h->alibi = (int32_t)most;
    return WEFT_OK;
}

const weft_arch weft_arch_mpt = {
    .name = "mpt",
    .model_types = {"mpt"},
    .classes = {"MPTForCausalLM", "MptForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .hf_base = "transformer.",
    .hf_layers = "transformer.blocks.",
    .norm = WEFT_NORM_LAYER,
    .norm_eps_default = 1e-5,
    .activation = WEFT_ACT_GELU_ERF,
    .tied_default = true,
    .ff_factor = 4,
    .no_rope = true,
    .refused = refused,
    .read = read,
};
