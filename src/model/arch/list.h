/* Every known architecture, one file each: a line here declares it and takes it into the list. */
#ifndef WEFT_MODEL_ARCH_LIST_H
#define WEFT_MODEL_ARCH_LIST_H

#include "model/arch.h"

/* clang-format off */
#define WEFT_ARCHS(X)                                                                              \
    X(weft_arch_llama)                                                                             \
    X(weft_arch_mistral)                                                                           \
    X(weft_arch_mixtral)                                                                           \
    X(weft_arch_qwen2)                                                                             \
    X(weft_arch_qwen2moe)                                                                          \
    X(weft_arch_qwen3)                                                                             \
    X(weft_arch_qwen3moe)                                                                          \
    X(weft_arch_gemma)                                                                             \
    X(weft_arch_gemma2)                                                                            \
    X(weft_arch_gemma3)                                                                            \
    X(weft_arch_gemma4)                                                                            \
    X(weft_arch_phi2)                                                                              \
    X(weft_arch_phi3)                                                                              \
    X(weft_arch_gpt2)                                                                              \
    X(weft_arch_gptneox)                                                                           \
    X(weft_arch_ernie4_5)                                                                          \
    X(weft_arch_falcon)                                                                            \
    X(weft_arch_starcoder2)                                                                        \
    X(weft_arch_stablelm)                                                                          \
    X(weft_arch_olmo2)                                                                             \
    X(weft_arch_olmoe)                                                                             \
    X(weft_arch_granite)                                                                           \
    X(weft_arch_granitemoe)                                                                        \
    X(weft_arch_cohere)                                                                            \
    X(weft_arch_cohere2)                                                                           \
    X(weft_arch_glm4)                                                                              \
    X(weft_arch_glm4moe)                                                                           \
    X(weft_arch_smollm3)                                                                           \
    X(weft_arch_gpt_oss)                                                                           \
    X(weft_arch_deepseek2)                                                                         \
    X(weft_arch_lfm2)                                                                              \
    X(weft_arch_lfm2moe)                                                                           \
    X(weft_arch_granitehybrid)                                                                     \
    X(weft_arch_mamba)                                                                             \
    X(weft_arch_mamba2)                                                                            \
    X(weft_arch_qwen3next)                                                                         \
    X(weft_arch_qwen35)                                                                            \
    X(weft_arch_qwen35moe)                                                                         \
    X(weft_arch_exaone4)                                                                           \
    X(weft_arch_exaone_moe)                                                                        \
    X(weft_arch_dots1)                                                                             \
    X(weft_arch_ernie4_5_moe)                                                                      \
    X(weft_arch_minimax_m2)                                                                        \
    X(weft_arch_seed_oss)                                                                          \
    X(weft_arch_arcee)                                                                             \
    X(weft_arch_nemotron)                                                                          \
    X(weft_arch_olmo)                                                                              \
    X(weft_arch_mellum)                                                                            \
    X(weft_arch_afmoe)                                                                             \
    X(weft_arch_hunyuan_dense)                                                                     \
    X(weft_arch_hunyuan_moe)                                                                       \
    X(weft_arch_bloom)                                                                             \
    X(weft_arch_mpt)                                                                               \
    X(weft_arch_mistral3)                                                                          \
    X(weft_arch_solar_open)                                                                        \
    X(weft_arch_bert)                                                                              \
    X(weft_arch_roberta)                                                                           \
    X(weft_arch_nomic_bert)                                                                        \
    X(weft_arch_modernbert)
/* clang-format on */

#define WEFT_DECLARE_ARCH(name) extern const weft_arch name;
WEFT_ARCHS(WEFT_DECLARE_ARCH)
#undef WEFT_DECLARE_ARCH

#endif
