/* Kernels of recurrent layers, for any CPU. */
#include "tensor/kernels/ref/lanes_scalar.h"
#include "tensor/kernels/ref/recurrent_entries.h"
