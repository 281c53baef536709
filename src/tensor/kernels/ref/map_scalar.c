/* Elementwise functions and folds of the tensor ops, for any CPU. */
#include "tensor/kernels/ref/lanes_scalar.h"
#include "tensor/kernels/ref/map_entries.h"
