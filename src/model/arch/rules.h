/* Weights that go by the same names in most decoders, for the lists of the descriptions. Flags of a
 * rule are those of arch.h; names are of GGUF files, then of Hugging Face folders. */
#ifndef WEFT_MODEL_ARCH_RULES_H
#define WEFT_MODEL_ARCH_RULES_H

#include <stddef.h>
#include "model/arch.h"

/* A matrix [rows, cols] or a vector [cols] of a layer. */
#define WEFT_MATRIX(f, gguf, hf, rows, cols, what)                                                 \
    { .field = WEFT_LAYER(f), .name = {gguf, hf}, .n_rows = rows, .n_cols = cols, .flags = what }
#define WEFT_VECTOR(f, gguf, hf, cols, what)                                                       \
    { .field = WEFT_LAYER(f), .name = {gguf, hf}, .n_cols = cols, .flags = what }
/* The same of the network. */
#define WEFT_GLOBAL_MATRIX(f, gguf, hf, rows, cols, what)                                          \
    { .field = WEFT_GLOBAL(f), .name = {gguf, hf}, .n_rows = rows, .n_cols = cols, .flags = what }
#define WEFT_GLOBAL_VECTOR(f, gguf, hf, cols, what)                                                \
    { .field = WEFT_GLOBAL(f), .name = {gguf, hf}, .n_cols = cols, .flags = what }

/* Part `n` of a fused matrix whose parts have the rows p0, p1, p2, and of a vector. */
#define WEFT_PART(f, gguf, hf, how, n, p0, p1, p2, cols, what)                                     \
    {                                                                                              \
        .field = WEFT_LAYER(f), .name = {gguf, hf},                                                \
        .n_rows = (n) == 0   ? (p0)                                                                \
                  : (n) == 1 ? (p1)                                                                \
                             : (p2),                                                               \
        .n_cols = cols, .flags = what, .fusion = how, .part = n, .parts = {                        \
            p0,                                                                                    \
            p1,                                                                                    \
            p2                                                                                     \
        }                                                                                          \
    }
#define WEFT_VECTOR_PART(f, gguf, hf, how, n, p0, p1, p2, what)                                    \
    {                                                                                              \
        .field = WEFT_LAYER(f), .name = {gguf, hf},                                                \
        .n_cols = (n) == 0   ? (p0)                                                                \
                  : (n) == 1 ? (p1)                                                                \
                             : (p2),                                                               \
        .flags = what, .fusion = how, .part = n, .parts = {                                        \
            p0,                                                                                    \
            p1,                                                                                    \
            p2                                                                                     \
        }                                                                                          \
    }

/* q, k and v in one tensor. */
#define WEFT_FUSED_QKV(gguf, hf, how, what)                                                        \
    WEFT_PART(attn_q, gguf, hf, how, 0, WEFT_EXT_Q, WEFT_EXT_KV, WEFT_EXT_KV, WEFT_EXT_EMBD,       \
              (what) | WEFT_RULE_ATTENTION),                                                       \
        WEFT_PART(attn_k, gguf, hf, how, 1, WEFT_EXT_Q, WEFT_EXT_KV, WEFT_EXT_KV, WEFT_EXT_EMBD,   \
                  (what) | WEFT_RULE_ATTENTION),                                                   \
        WEFT_PART(attn_v, gguf, hf, how, 2, WEFT_EXT_Q, WEFT_EXT_KV, WEFT_EXT_KV, WEFT_EXT_EMBD,   \
                  (what) | WEFT_RULE_ATTENTION)
#define WEFT_FUSED_QKV_BIAS(gguf, hf, how, what)                                                   \
    WEFT_VECTOR_PART(attn_q_bias, gguf, hf, how, 0, WEFT_EXT_Q, WEFT_EXT_KV, WEFT_EXT_KV,          \
                     (what) | WEFT_RULE_ATTENTION),                                                \
        WEFT_VECTOR_PART(attn_k_bias, gguf, hf, how, 1, WEFT_EXT_Q, WEFT_EXT_KV, WEFT_EXT_KV,      \
                         (what) | WEFT_RULE_ATTENTION),                                            \
        WEFT_VECTOR_PART(attn_v_bias, gguf, hf, how, 2, WEFT_EXT_Q, WEFT_EXT_KV, WEFT_EXT_KV,      \
                         (what) | WEFT_RULE_ATTENTION)
/* Gate and up in one tensor, the gate first. */
#define WEFT_FUSED_GATE_UP(gguf, hf, what)                                                         \
    WEFT_PART(ffn_gate, gguf, hf, WEFT_FUSED_ROWS, 0, WEFT_EXT_FF, WEFT_EXT_FF, WEFT_EXT_NONE,     \
              WEFT_EXT_EMBD, (what) | WEFT_RULE_DENSE),                                            \
        WEFT_PART(ffn_up, gguf, hf, WEFT_FUSED_ROWS, 1, WEFT_EXT_FF, WEFT_EXT_FF, WEFT_EXT_NONE,   \
                  WEFT_EXT_EMBD, (what) | WEFT_RULE_DENSE)

/* ---- Embedding and output ---- */

#define WEFT_USUAL_EMBEDDING                                                                       \
    WEFT_GLOBAL_MATRIX(embedding, "token_embd.weight", "model.embed_tokens.weight",                \
                       WEFT_EXT_VOCAB, WEFT_EXT_EMBD, WEFT_RULE_GATHER)
#define WEFT_USUAL_OUTPUT_NORM                                                                     \
    WEFT_GLOBAL_VECTOR(output_norm, "output_norm.weight", "model.norm.weight", WEFT_EXT_EMBD,      \
                       WEFT_RULE_NORM)
#define WEFT_USUAL_OUTPUT                                                                          \
    WEFT_GLOBAL_MATRIX(output, "output.weight", "lm_head.weight", WEFT_EXT_VOCAB, WEFT_EXT_EMBD,   \
                       WEFT_RULE_OUTPUT)
#define WEFT_USUAL_OUTPUT_BIAS                                                                     \
    WEFT_GLOBAL_VECTOR(output_bias, "output.bias", "lm_head.bias", WEFT_EXT_VOCAB,                 \
                       WEFT_RULE_OPTIONAL)
#define WEFT_USUAL_GLOBALS                                                                         \
    WEFT_USUAL_EMBEDDING, WEFT_USUAL_OUTPUT_NORM, WEFT_USUAL_OUTPUT, WEFT_USUAL_OUTPUT_BIAS
#define WEFT_USUAL_ROPE_FACTORS                                                                    \
    WEFT_GLOBAL_VECTOR(rope_factors, "rope_freqs.weight", NULL, WEFT_EXT_ROT_HALF,                 \
                       WEFT_RULE_OPTIONAL)

/* ---- Attention ---- */

#define WEFT_USUAL_ATTN_NORM                                                                       \
    WEFT_VECTOR(attn_norm, "attn_norm.weight", "input_layernorm.weight", WEFT_EXT_EMBD,            \
                WEFT_RULE_NORM)
#define WEFT_USUAL_ATTN_NORM_BIAS                                                                  \
    WEFT_VECTOR(attn_norm_bias, "attn_norm.bias", "input_layernorm.bias", WEFT_EXT_EMBD,           \
                WEFT_RULE_OPTIONAL)
#define WEFT_USUAL_ATTN_Q                                                                          \
    WEFT_MATRIX(attn_q, "attn_q.weight", "self_attn.q_proj.weight", WEFT_EXT_Q, WEFT_EXT_EMBD,     \
                WEFT_RULE_ATTENTION)
#define WEFT_USUAL_ATTN_K                                                                          \
    WEFT_MATRIX(attn_k, "attn_k.weight", "self_attn.k_proj.weight", WEFT_EXT_KV, WEFT_EXT_EMBD,    \
                WEFT_RULE_ATTENTION)
#define WEFT_USUAL_ATTN_V                                                                          \
    WEFT_MATRIX(attn_v, "attn_v.weight", "self_attn.v_proj.weight", WEFT_EXT_KV, WEFT_EXT_EMBD,    \
                WEFT_RULE_ATTENTION)
#define WEFT_USUAL_ATTN_Q_BIAS                                                                     \
    WEFT_VECTOR(attn_q_bias, "attn_q.bias", "self_attn.q_proj.bias", WEFT_EXT_Q,                   \
                WEFT_RULE_OPTIONAL | WEFT_RULE_ATTENTION)
#define WEFT_USUAL_ATTN_K_BIAS                                                                     \
    WEFT_VECTOR(attn_k_bias, "attn_k.bias", "self_attn.k_proj.bias", WEFT_EXT_KV,                  \
                WEFT_RULE_OPTIONAL | WEFT_RULE_ATTENTION)
#define WEFT_USUAL_ATTN_V_BIAS                                                                     \
    WEFT_VECTOR(attn_v_bias, "attn_v.bias", "self_attn.v_proj.bias", WEFT_EXT_KV,                  \
                WEFT_RULE_OPTIONAL | WEFT_RULE_ATTENTION)
#define WEFT_USUAL_ATTN_OUT                                                                        \
    WEFT_MATRIX(attn_out, "attn_output.weight", "self_attn.o_proj.weight", WEFT_EXT_EMBD,          \
                WEFT_EXT_Q, WEFT_RULE_ATTENTION)
#define WEFT_USUAL_ATTN_OUT_BIAS                                                                   \
    WEFT_VECTOR(attn_out_bias, "attn_output.bias", "self_attn.o_proj.bias", WEFT_EXT_EMBD,         \
                WEFT_RULE_OPTIONAL | WEFT_RULE_ATTENTION)
#define WEFT_USUAL_ATTN_Q_NORM                                                                     \
    WEFT_VECTOR(attn_q_norm, "attn_q_norm.weight", "self_attn.q_norm.weight", WEFT_EXT_HEAD,       \
                WEFT_RULE_NORM | WEFT_RULE_ATTENTION)
#define WEFT_USUAL_ATTN_K_NORM                                                                     \
    WEFT_VECTOR(attn_k_norm, "attn_k_norm.weight", "self_attn.k_norm.weight", WEFT_EXT_HEAD,       \
                WEFT_RULE_NORM | WEFT_RULE_ATTENTION)
/* Norms over all heads of q and of k together. */
#define WEFT_WHOLE_QK_NORMS                                                                        \
    WEFT_VECTOR(attn_q_norm, "attn_q_norm.weight", "self_attn.q_norm.weight", WEFT_EXT_Q,          \
                WEFT_RULE_NORM | WEFT_RULE_ATTENTION),                                             \
        WEFT_VECTOR(attn_k_norm, "attn_k_norm.weight", "self_attn.k_norm.weight", WEFT_EXT_KV,     \
                    WEFT_RULE_NORM | WEFT_RULE_ATTENTION)
/* Biases where a model has them. */
#define WEFT_USUAL_ATTENTION                                                                       \
    WEFT_USUAL_ATTN_Q, WEFT_USUAL_ATTN_K, WEFT_USUAL_ATTN_V, WEFT_USUAL_ATTN_Q_BIAS,               \
        WEFT_USUAL_ATTN_K_BIAS, WEFT_USUAL_ATTN_V_BIAS, WEFT_USUAL_ATTN_OUT,                       \
        WEFT_USUAL_ATTN_OUT_BIAS

/* ---- Feed-forward ---- */

#define WEFT_USUAL_FFN_NORM                                                                        \
    WEFT_VECTOR(ffn_norm, "ffn_norm.weight", "post_attention_layernorm.weight", WEFT_EXT_EMBD,     \
                WEFT_RULE_NORM)
#define WEFT_USUAL_FFN_NORM_BIAS                                                                   \
    WEFT_VECTOR(ffn_norm_bias, "ffn_norm.bias", "post_attention_layernorm.bias", WEFT_EXT_EMBD,    \
                WEFT_RULE_OPTIONAL)
#define WEFT_USUAL_FFN_GATE                                                                        \
    WEFT_MATRIX(ffn_gate, "ffn_gate.weight", "mlp.gate_proj.weight", WEFT_EXT_FF, WEFT_EXT_EMBD,   \
                WEFT_RULE_DENSE)
#define WEFT_USUAL_FFN_UP                                                                          \
    WEFT_MATRIX(ffn_up, "ffn_up.weight", "mlp.up_proj.weight", WEFT_EXT_FF, WEFT_EXT_EMBD,         \
                WEFT_RULE_DENSE)
#define WEFT_USUAL_FFN_DOWN                                                                        \
    WEFT_MATRIX(ffn_down, "ffn_down.weight", "mlp.down_proj.weight", WEFT_EXT_EMBD, WEFT_EXT_FF,   \
                WEFT_RULE_DENSE)
#define WEFT_USUAL_FFN WEFT_USUAL_FFN_GATE, WEFT_USUAL_FFN_UP, WEFT_USUAL_FFN_DOWN
#define WEFT_USUAL_FFN_BIASES                                                                      \
    WEFT_VECTOR(ffn_gate_bias, "ffn_gate.bias", "mlp.gate_proj.bias", WEFT_EXT_FF,                 \
                WEFT_RULE_OPTIONAL | WEFT_RULE_DENSE),                                             \
        WEFT_VECTOR(ffn_up_bias, "ffn_up.bias", "mlp.up_proj.bias", WEFT_EXT_FF,                   \
                    WEFT_RULE_OPTIONAL | WEFT_RULE_DENSE),                                         \
        WEFT_VECTOR(ffn_down_bias, "ffn_down.bias", "mlp.down_proj.bias", WEFT_EXT_EMBD,           \
                    WEFT_RULE_OPTIONAL | WEFT_RULE_DENSE)

/* Norms before and after each half, as Gemma names them. */
#define WEFT_GEMMA_POST_NORMS                                                                      \
    WEFT_VECTOR(attn_post_norm, "post_attention_norm.weight", "post_attention_layernorm.weight",   \
                WEFT_EXT_EMBD, WEFT_RULE_NORM),                                                    \
        WEFT_VECTOR(ffn_norm, "ffn_norm.weight", "pre_feedforward_layernorm.weight",               \
                    WEFT_EXT_EMBD, WEFT_RULE_NORM),                                                \
        WEFT_VECTOR(ffn_post_norm, "post_ffw_norm.weight", "post_feedforward_layernorm.weight",    \
                    WEFT_EXT_EMBD, WEFT_RULE_NORM)

/* ---- Mixtures: stacks in GGUF files; names of a folder's tensors, or NULL ---- */

#define WEFT_ROUTER(gguf, hf)                                                                      \
    WEFT_MATRIX(router, gguf, hf, WEFT_EXT_EXPERTS, WEFT_EXT_EMBD,                                 \
                WEFT_RULE_MIXTURE | WEFT_RULE_WIDE)
#define WEFT_EXPERTS_GATE(gguf, hf)                                                                \
    WEFT_MATRIX(experts_gate, gguf, hf, WEFT_EXT_FF_EXPERT, WEFT_EXT_EMBD,                         \
                WEFT_RULE_MIXTURE | WEFT_RULE_EXPERTS)
#define WEFT_EXPERTS_UP(gguf, hf)                                                                  \
    WEFT_MATRIX(experts_up, gguf, hf, WEFT_EXT_FF_EXPERT, WEFT_EXT_EMBD,                           \
                WEFT_RULE_MIXTURE | WEFT_RULE_EXPERTS)
#define WEFT_EXPERTS_DOWN(gguf, hf)                                                                \
    WEFT_MATRIX(experts_down, gguf, hf, WEFT_EXT_EMBD, WEFT_EXT_FF_EXPERT,                         \
                WEFT_RULE_MIXTURE | WEFT_RULE_EXPERTS)
#define WEFT_USUAL_MIXTURE                                                                         \
    WEFT_ROUTER("ffn_gate_inp.weight", "mlp.gate.weight"),                                         \
        WEFT_EXPERTS_GATE("ffn_gate_exps.weight", "mlp.experts.*.gate_proj.weight"),               \
        WEFT_EXPERTS_UP("ffn_up_exps.weight", "mlp.experts.*.up_proj.weight"),                     \
        WEFT_EXPERTS_DOWN("ffn_down_exps.weight", "mlp.experts.*.down_proj.weight")
/* Experts that all rows share; the second name is the folder's part before "gate_proj". */
#define WEFT_SHARED_EXPERTS(hf)                                                                    \
    WEFT_MATRIX(shared_gate, "ffn_gate_shexp.weight", hf "gate_proj.weight", WEFT_EXT_FF_SHARED,   \
                WEFT_EXT_EMBD, WEFT_RULE_MIXTURE),                                                 \
        WEFT_MATRIX(shared_up, "ffn_up_shexp.weight", hf "up_proj.weight", WEFT_EXT_FF_SHARED,     \
                    WEFT_EXT_EMBD, WEFT_RULE_MIXTURE),                                             \
        WEFT_MATRIX(shared_down, "ffn_down_shexp.weight", hf "down_proj.weight", WEFT_EXT_EMBD,    \
                    WEFT_EXT_FF_SHARED, WEFT_RULE_MIXTURE)

/* ---- Keys ---- */

/* clang-format off */
#define WEFT_GRANITE_KEYS                                                                          \
    {WEFT_KEY_EMBD_SCALE, "embedding_scale", {"embedding_multiplier"}},                            \
    {WEFT_KEY_RESIDUAL_SCALE, "residual_scale", {"residual_multiplier"}},                          \
    {WEFT_KEY_LOGIT_SCALE, "logit_scale", {"logits_scaling"}},                                     \
    {WEFT_KEY_ATTN_SCALE, "attention.scale", {"attention_multiplier"}}
/* clang-format on */

#endif
