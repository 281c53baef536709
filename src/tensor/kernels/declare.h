/* Declarations of all kernels in kernels.list, each with the type of its entry in the table. */
#ifndef WEFT_KERNELS_DECLARE_H
#define WEFT_KERNELS_DECLARE_H

#include "tensor/kernels/table.h"

#define WEFT_DECLARE_KERNEL(entry, name) __typeof__(*((weft_kernels *)0)->entry) name;
#define KERNEL_SCALAR WEFT_DECLARE_KERNEL
#define KERNEL_AVX2 WEFT_DECLARE_KERNEL
#define KERNEL_AVXVNNI WEFT_DECLARE_KERNEL
#define KERNEL_AVX512 WEFT_DECLARE_KERNEL
#define KERNEL_VNNI WEFT_DECLARE_KERNEL
#define KERNEL_VBMI WEFT_DECLARE_KERNEL
#define KERNEL_BF16 WEFT_DECLARE_KERNEL
#define KERNEL_AMX WEFT_DECLARE_KERNEL
#define KERNEL_NEON WEFT_DECLARE_KERNEL
#define KERNEL_DOTPROD WEFT_DECLARE_KERNEL
#define KERNEL_I8MM WEFT_DECLARE_KERNEL
#include "tensor/kernels/kernels.list"

#endif
