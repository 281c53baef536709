/* Declarations of all kernels in kernels.list, each with the type of its entry in the table. */
#ifndef WEFT_KERNELS_DECLARE_H
#define WEFT_KERNELS_DECLARE_H

#include "tensor/kernels/table.h"

#define WEFT_DECLARE_KERNEL(entry, name) __typeof__(*((weft_kernels *)0)->entry) name;
#define KERNEL_SCALAR(entry, name) WEFT_DECLARE_KERNEL(entry, name)
#define KERNEL_AVX2(entry, name) WEFT_DECLARE_KERNEL(entry, name)
#define KERNEL_AVX512(entry, name) WEFT_DECLARE_KERNEL(entry, name)
#define KERNEL_NEON(entry, name) WEFT_DECLARE_KERNEL(entry, name)
#include "tensor/kernels/kernels.list"
#undef KERNEL_SCALAR
#undef KERNEL_AVX2
#undef KERNEL_AVX512
#undef KERNEL_NEON

#endif
