/* Elementwise kernels of the forward pass, for AVX2. */
#include "tensor/kernels/x86/lanes_avx2.h"
#include "tensor/kernels/ref/elementwise_entries.h"
