/* Elementwise kernels of the forward pass, for any CPU. */
#include "tensor/kernels/ref/lanes_scalar.h"
#include "tensor/kernels/ref/elementwise_entries.h"
