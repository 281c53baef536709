#!/usr/bin/env python3
"""Writes grids.c: the codebooks of GGUF's IQ types, which are facts of the format. They are taken
from the Python package `gguf`, which carries them packed; here an entry is one number whose digits
are the codes of its columns, the first column lowest.

usage: make_grids.py > grids.c"""
import numpy
from gguf import GGMLQuantizationType as T, quants

GRIDS = (("iq1", T.IQ1_S, 2), ("iq2_xxs", T.IQ2_XXS, 2), ("iq2_xs", T.IQ2_XS, 2),
         ("iq2_s", T.IQ2_S, 2), ("iq3_xxs", T.IQ3_XXS, 3), ("iq3_s", T.IQ3_S, 3))


def entries(kind, bits):
    kind.init_grid()
    codes = numpy.searchsorted(kind.grid_map, kind.grid.reshape(kind.grid_shape))
    return (codes << (bits * numpy.arange(codes.shape[1]))).sum(axis=1)


print("/* The codebooks of GGUF's IQ types, as grids.h says. Written by make_grids.py. */")
print('#include "tensor/kernels/grids.h"')
for name, kind, bits in GRIDS:
    numbers = entries(quants._type_traits[kind], bits)
    print(f"\nconst uint16_t weft_grid_{name}[{len(numbers)}] = {{")
    for i in range(0, len(numbers), 12):
        print("    " + ", ".join(f"0x{n:04x}" for n in numbers[i:i + 12]) + ",")
    print("};")
