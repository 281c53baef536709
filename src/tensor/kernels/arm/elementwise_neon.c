/* Elementwise kernels of the forward pass, for Advanced SIMD. */
#include "tensor/kernels/arm/lanes_neon.h"
#include "tensor/kernels/ref/elementwise_entries.h"
