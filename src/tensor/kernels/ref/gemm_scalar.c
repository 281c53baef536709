/* Products of float32 matrices, for any CPU. */
#include "tensor/kernels/ref/lanes_scalar.h"
#include "tensor/kernels/ref/gemm_entries.h"
