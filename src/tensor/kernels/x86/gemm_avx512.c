/* Products of float32 matrices, for AVX-512. */
#include "tensor/kernels/x86/lanes_avx512.h"
#include "tensor/kernels/ref/gemm_entries.h"
