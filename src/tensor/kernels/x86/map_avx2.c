/* Elementwise functions and folds of the tensor ops, for AVX2. */
#include "tensor/kernels/x86/lanes_avx2.h"
#include "tensor/kernels/ref/map_entries.h"
