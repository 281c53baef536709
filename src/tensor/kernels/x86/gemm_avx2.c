/* Products of float32 matrices, for AVX2. */
#include "tensor/kernels/x86/lanes_avx2.h"
#include "tensor/kernels/ref/gemm_entries.h"
