/* Elementwise kernels of the forward pass, for AVX-512. */
#include "tensor/kernels/x86/lanes_avx512.h"
#include "tensor/kernels/ref/elementwise_entries.h"
