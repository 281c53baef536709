/* Kernels along a row, for AVX2. */
#include "tensor/kernels/x86/lanes_avx2.h"
#include "tensor/kernels/ref/rows_entries.h"
