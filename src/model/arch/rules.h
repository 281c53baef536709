/* Weights that go by the same names in most decoders, for the lists of the descriptions. */
#ifndef WEFT_MODEL_ARCH_RULES_H
#define WEFT_MODEL_ARCH_RULES_H

#include <stddef.h>
#include "model/arch.h"

#define WEFT_USUAL_EMBEDDING                                                                       \
    {                                                                                              \
        WEFT_GLOBAL(embedding), {"token_embd.weight", "model.embed_tokens.weight"},                \
            WEFT_EXT_VOCAB, WEFT_EXT_EMBD, WEFT_RULE_GATHER                                        \
    }
#define WEFT_USUAL_OUTPUT_NORM                                                                     \
    {                                                                                              \
        WEFT_GLOBAL(output_norm), {"output_norm.weight", "model.norm.weight"}, WEFT_EXT_NONE,      \
            WEFT_EXT_EMBD, WEFT_RULE_NORM                                                          \
    }
#define WEFT_USUAL_OUTPUT                                                                          \
    {                                                                                              \
        WEFT_GLOBAL(output), {"output.weight", "lm_head.weight"}, WEFT_EXT_VOCAB, WEFT_EXT_EMBD,   \
            WEFT_RULE_OUTPUT                                                                       \
    }
#define WEFT_USUAL_OUTPUT_BIAS                                                                     \
    {                                                                                              \
        WEFT_GLOBAL(output_bias), {"output.bias", "lm_head.bias"}, WEFT_EXT_NONE, WEFT_EXT_VOCAB,  \
            WEFT_RULE_OPTIONAL                                                                     \
    }
#define WEFT_USUAL_ATTN_NORM                                                                       \
    {                                                                                              \
        WEFT_LAYER(attn_norm), {"attn_norm.weight", "input_layernorm.weight"}, WEFT_EXT_NONE,      \
            WEFT_EXT_EMBD, WEFT_RULE_NORM                                                          \
    }
#define WEFT_USUAL_ATTN_Q                                                                          \
    {                                                                                              \
        WEFT_LAYER(attn_q), {"attn_q.weight", "self_attn.q_proj.weight"}, WEFT_EXT_Q,              \
            WEFT_EXT_EMBD, 0                                                                       \
    }
#define WEFT_USUAL_ATTN_K                                                                          \
    {                                                                                              \
        WEFT_LAYER(attn_k), {"attn_k.weight", "self_attn.k_proj.weight"}, WEFT_EXT_KV,             \
            WEFT_EXT_EMBD, 0                                                                       \
    }
#define WEFT_USUAL_ATTN_V                                                                          \
    {                                                                                              \
        WEFT_LAYER(attn_v), {"attn_v.weight", "self_attn.v_proj.weight"}, WEFT_EXT_KV,             \
            WEFT_EXT_EMBD, 0                                                                       \
    }
#define WEFT_USUAL_ATTN_Q_BIAS                                                                     \
    {                                                                                              \
        WEFT_LAYER(attn_q_bias), {"attn_q.bias", "self_attn.q_proj.bias"}, WEFT_EXT_NONE,          \
            WEFT_EXT_Q, WEFT_RULE_OPTIONAL                                                         \
    }
#define WEFT_USUAL_ATTN_K_BIAS                                                                     \
    {                                                                                              \
        WEFT_LAYER(attn_k_bias), {"attn_k.bias", "self_attn.k_proj.bias"}, WEFT_EXT_NONE,          \
            WEFT_EXT_KV, WEFT_RULE_OPTIONAL                                                        \
    }
#define WEFT_USUAL_ATTN_V_BIAS                                                                     \
    {                                                                                              \
        WEFT_LAYER(attn_v_bias), {"attn_v.bias", "self_attn.v_proj.bias"}, WEFT_EXT_NONE,          \
            WEFT_EXT_KV, WEFT_RULE_OPTIONAL                                                        \
    }
#define WEFT_USUAL_ATTN_OUT                                                                        \
    {                                                                                              \
        WEFT_LAYER(attn_out), {"attn_output.weight", "self_attn.o_proj.weight"}, WEFT_EXT_EMBD,    \
            WEFT_EXT_Q, 0                                                                          \
    }
#define WEFT_USUAL_ATTN_OUT_BIAS                                                                   \
    {                                                                                              \
        WEFT_LAYER(attn_out_bias), {"attn_output.bias", "self_attn.o_proj.bias"}, WEFT_EXT_NONE,   \
            WEFT_EXT_EMBD, WEFT_RULE_OPTIONAL                                                      \
    }
#define WEFT_USUAL_FFN_NORM                                                                        \
    {                                                                                              \
        WEFT_LAYER(ffn_norm), {"ffn_norm.weight", "post_attention_layernorm.weight"},              \
            WEFT_EXT_NONE, WEFT_EXT_EMBD, WEFT_RULE_NORM                                           \
    }
#define WEFT_USUAL_FFN_GATE                                                                        \
    {                                                                                              \
        WEFT_LAYER(ffn_gate), {"ffn_gate.weight", "mlp.gate_proj.weight"}, WEFT_EXT_FF,            \
            WEFT_EXT_EMBD, 0                                                                       \
    }
#define WEFT_USUAL_FFN_UP                                                                          \
    { WEFT_LAYER(ffn_up), {"ffn_up.weight", "mlp.up_proj.weight"}, WEFT_EXT_FF, WEFT_EXT_EMBD, 0 }
#define WEFT_USUAL_FFN_DOWN                                                                        \
    {                                                                                              \
        WEFT_LAYER(ffn_down), {"ffn_down.weight", "mlp.down_proj.weight"}, WEFT_EXT_EMBD,          \
            WEFT_EXT_FF, 0                                                                         \
    }
#define WEFT_USUAL_ATTN_Q_NORM                                                                     \
    {                                                                                              \
        WEFT_LAYER(attn_q_norm), {"attn_q_norm.weight", "self_attn.q_norm.weight"}, WEFT_EXT_NONE, \
            WEFT_EXT_HEAD, WEFT_RULE_NORM                                                          \
    }
#define WEFT_USUAL_ATTN_K_NORM                                                                     \
    {                                                                                              \
        WEFT_LAYER(attn_k_norm), {"attn_k_norm.weight", "self_attn.k_norm.weight"}, WEFT_EXT_NONE, \
            WEFT_EXT_HEAD, WEFT_RULE_NORM                                                          \
    }

#endif
