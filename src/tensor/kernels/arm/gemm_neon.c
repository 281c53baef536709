/* Products of float32 matrices, for Advanced SIMD. */
#include "tensor/kernels/arm/lanes_neon.h"
#include "tensor/kernels/ref/gemm_entries.h"
