/* Elementwise functions and folds of the tensor ops, for Advanced SIMD. */
#include "tensor/kernels/arm/lanes_neon.h"
#include "tensor/kernels/ref/map_entries.h"
