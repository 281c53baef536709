/* Panels times floats, for Advanced SIMD. */
#include "tensor/kernels/arm/lanes_neon.h"
#include "tensor/kernels/ref/panel_f32_entries.h"
