/* Kernels of recurrent layers, for AVX2. */
#include "tensor/kernels/x86/lanes_avx2.h"
#include "tensor/kernels/ref/recurrent_entries.h"
