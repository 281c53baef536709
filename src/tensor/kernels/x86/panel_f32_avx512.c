/* Panels times floats, for AVX-512. */
#include "tensor/kernels/x86/lanes_avx512.h"
#include "tensor/kernels/ref/panel_f32_entries.h"
