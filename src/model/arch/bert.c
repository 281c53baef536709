/* BERT (Devlin et al. 2019), and RoBERTa (Liu et al. 2019) whose GGUF files are BERT's: encoders
 * with learned positions, types of tokens and a norm after each half. */
#include <string.h>
#include "base/detail.h"
#include "model/arch/list.h"
#include "model/arch/rules.h"
#include "model/config.h"

/* A norm's weight and bias; the first folders call them gamma and beta. `rule` is WEFT_VECTOR or
 * WEFT_GLOBAL_VECTOR. */
#define NORM(rule, f, gguf, hf)                                                                    \
    rule(f, NULL, hf ".gamma", WEFT_EXT_EMBD, WEFT_RULE_OPTIONAL),                                 \
        rule(f, gguf ".weight", hf ".weight", WEFT_EXT_EMBD, 0),                                   \
        rule(f##_bias, NULL, hf ".beta", WEFT_EXT_EMBD, WEFT_RULE_OPTIONAL),                       \
        rule(f##_bias, gguf ".bias", hf ".bias", WEFT_EXT_EMBD, 0)
#define LINEAR(f, gguf, hf, rows, cols)                                                            \
    WEFT_MATRIX(f, gguf ".weight", hf ".weight", rows, cols, 0),                                   \
        WEFT_VECTOR(f##_bias, gguf ".bias", hf ".bias", rows, 0)

#define GLOBALS(base)                                                                              \
    WEFT_GLOBAL_MATRIX(embedding, "token_embd.weight", base "embeddings.word_embeddings.weight",   \
                       WEFT_EXT_VOCAB, WEFT_EXT_EMBD, WEFT_RULE_GATHER),                           \
        WEFT_GLOBAL_MATRIX(token_types, "token_types.weight",                                      \
                           base "embeddings.token_type_embeddings.weight", WEFT_EXT_TYPES,         \
                           WEFT_EXT_EMBD, WEFT_RULE_GATHER),                                       \
        WEFT_GLOBAL_MATRIX(positions, "position_embd.weight",                                      \
                           base "embeddings.position_embeddings.weight", WEFT_EXT_CONTEXT,         \
                           WEFT_EXT_EMBD, WEFT_RULE_GATHER),                                       \
        NORM(WEFT_GLOBAL_VECTOR, embedding_norm, "token_embd_norm", base "embeddings.LayerNorm")

static const weft_tensor_rule bert_globals[] = {GLOBALS("bert.")};
static const weft_tensor_rule roberta_globals[] = {GLOBALS("roberta.")};

static const weft_tensor_rule layer[] = {
    LINEAR(attn_q, "attn_q", "attention.self.query", WEFT_EXT_Q, WEFT_EXT_EMBD),
    LINEAR(attn_k, "attn_k", "attention.self.key", WEFT_EXT_KV, WEFT_EXT_EMBD),
    LINEAR(attn_v, "attn_v", "attention.self.value", WEFT_EXT_KV, WEFT_EXT_EMBD),
    LINEAR(attn_out, "attn_output", "attention.output.dense", WEFT_EXT_EMBD, WEFT_EXT_Q),
    NORM(WEFT_VECTOR, attn_out_norm, "attn_output_norm", "attention.output.LayerNorm"),
    LINEAR(ffn_up, "ffn_up", "intermediate.dense", WEFT_EXT_FF, WEFT_EXT_EMBD),
    LINEAR(ffn_down, "ffn_down", "output.dense", WEFT_EXT_EMBD, WEFT_EXT_FF),
    NORM(WEFT_VECTOR, ffn_out_norm, "layer_output_norm", "output.LayerNorm"),
};

static const char *const refused[] = {"is_decoder", "add_cross_attention", NULL};

static weft_status read_bert(const weft_config *c, weft_hparams *h) {
    static const char key[] = "position_embedding_type";
    const char *positions;
    if (c->spelling == WEFT_SPELL_HF && !weft_metadata_string(c->metadata, key, &positions) &&
        strcmp(positions, "absolute") != 0)
        return weft_config_fail(c, WEFT_E_UNSUPPORTED, key, "\"%.64s\" is not supported",
                                positions);
    return weft_read_token_types(c, h);
}

/* The first token's position is the row after that of padding. GGUF files leave those out. */
static weft_status read_roberta(const weft_config *c, weft_hparams *h) {
    uint32_t padding = 1;
    weft_status st = weft_metadata_u32(c->metadata, "pad_token_id", &padding);
    if (st && st != WEFT_E_NOT_FOUND)
        return weft_fail_in(st, "config.json");
    if ((int64_t)padding + 1 >= h->n_context)
        return weft_config_fail(c, WEFT_E_FORMAT, "pad_token_id", "%lu of %d positions",
                                (unsigned long)padding, h->n_context);
    h->first_position = (int32_t)padding + 1;
    h->n_context -= h->first_position;
    return read_bert(c, h);
}

const weft_arch weft_arch_bert = {
    .name = "bert",
    .model_types = {"bert"},
    .classes = {"BertModel", "BertForMaskedLM", "BertForPreTraining"},
    .globals = bert_globals,
    .n_globals = sizeof bert_globals / sizeof *bert_globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .hf_base = "bert.",
    .hf_layers = "bert.encoder.layer.",
    .norm = WEFT_NORM_LAYER,
    .bidirectional = true,
    .activation = WEFT_ACT_GELU_ERF,
    .tied_default = true,
    .no_rope = true,
    .refused = refused,
    .read = read_bert,
};

const weft_arch weft_arch_roberta = {
    .name = "roberta",
    .model_types = {"roberta", "xlm-roberta", "camembert"},
    .classes = {"RobertaModel", "RobertaForMaskedLM", "XLMRobertaModel", "XLMRobertaForMaskedLM"},
    .written_as = "bert",
    .globals = roberta_globals,
    .n_globals = sizeof roberta_globals / sizeof *roberta_globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .hf_base = "roberta.",
    .hf_layers = "roberta.encoder.layer.",
    .norm = WEFT_NORM_LAYER,
    .bidirectional = true,
    .activation = WEFT_ACT_GELU_ERF,
    .tied_default = true,
    .no_rope = true,
    .refused = refused,
    .read = read_roberta,
};
