/* Elementwise functions and folds of the tensor ops, for AVX-512. */
#include "tensor/kernels/x86/lanes_avx512.h"
#include "tensor/kernels/ref/map_entries.h"
