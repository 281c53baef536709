/* Panels times floats, for AVX2. */
#include "tensor/kernels/x86/lanes_avx2.h"
#include "tensor/kernels/ref/panel_f32_entries.h"
