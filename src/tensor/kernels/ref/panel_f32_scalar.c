/* Panels times floats, for any CPU. */
#include "tensor/kernels/ref/lanes_scalar.h"
#include "tensor/kernels/ref/panel_f32_entries.h"
