/* Kernels of recurrent layers, for Advanced SIMD. */
#include "tensor/kernels/arm/lanes_neon.h"
#include "tensor/kernels/ref/recurrent_entries.h"
