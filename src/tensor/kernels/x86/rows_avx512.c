/* Kernels along a row, for AVX-512. */
#include "tensor/kernels/x86/lanes_avx512.h"
#include "tensor/kernels/ref/rows_entries.h"
