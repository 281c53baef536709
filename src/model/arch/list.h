/* Every known architecture, one file each. */
#ifndef WEFT_MODEL_ARCH_LIST_H
#define WEFT_MODEL_ARCH_LIST_H

#include "model/arch.h"

extern const weft_arch weft_arch_llama;
extern const weft_arch weft_arch_qwen2;
extern const weft_arch weft_arch_qwen3;
extern const weft_arch weft_arch_gemma3;
extern const weft_arch weft_arch_deepseek2;
extern const weft_arch weft_arch_lfm2;
extern const weft_arch weft_arch_mamba;
extern const weft_arch weft_arch_mamba2;
extern const weft_arch weft_arch_qwen3next;
extern const weft_arch weft_arch_qwen35;
extern const weft_arch weft_arch_qwen35moe;

#endif
