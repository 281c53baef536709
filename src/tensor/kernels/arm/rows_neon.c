/* Kernels along a row, for Advanced SIMD. */
#include "tensor/kernels/arm/lanes_neon.h"
#include "tensor/kernels/ref/rows_entries.h"
