/* Attention kernels, for Advanced SIMD. */
#include "tensor/kernels/arm/lanes_neon.h"
#include "tensor/kernels/ref/attention_entries.h"
