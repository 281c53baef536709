#!/usr/bin/env python3
"""Writes grids.c and halves.c: the codebooks of GGUF's IQ types, which are facts of the format.
They are taken from the Python package `gguf`, which carries them packed; here an entry is a word
with the codes of its columns: column c in byte c, columns 4 to 7 in the high nibbles; in halves.c,
for the smaller ones, the same codes close together in two bytes.

usage: make_grids.py > grids.c, make_grids.py halves > halves.c"""
import sys

import numpy
from gguf import GGMLQuantizationType as T, quants

GRIDS = (("iq1", T.IQ1_S), ("iq2_xxs", T.IQ2_XXS), ("iq2_xs", T.IQ2_XS), ("iq2_s", T.IQ2_S),
         ("iq3_xxs", T.IQ3_XXS), ("iq3_s", T.IQ3_S))


def codes_of(kind):
    kind.init_grid()
    return numpy.searchsorted(kind.grid_map, kind.grid.reshape(kind.grid_shape))


def entries(codes):
    column = numpy.arange(codes.shape[1])
    return (codes << (8 * (column % 4) + 4 * (column // 4))).sum(axis=1)


def halves(codes):
    n = codes.shape[1] // 2
    shifts = numpy.arange(n) * (8 // n)
    return [(codes[:, n * h:n * h + n] << shifts).sum(axis=1) for h in (0, 1)]


def print_grid(name, codes):
    numbers = entries(codes)
    print(f"\nconst uint32_t weft_grid_{name}[{len(numbers)}] = {{")
    for i in range(0, len(numbers), 8):
        print("    " + ", ".join(f"0x{n:08x}" for n in numbers[i:i + 8]) + ",")
    print("};")


def print_halves(name, codes):
    print(f"\nconst uint8_t weft_halves_{name}[2][{len(codes)}] = {{")
    for half in halves(codes):
        for i in range(0, len(half), 15):
            print("    {" if i == 0 else "     ", end="")
            print(", ".join(f"0x{n:02x}" for n in half[i:i + 15]), end="")
            print("}," if i + 15 >= len(half) else ",")
    print("};")


IN_HALVES = sys.argv[1:] == ["halves"]
print("/* The codebooks of GGUF's IQ types" + (", in halves" if IN_HALVES else "") +
      ", as grids.h says. Written by make_grids.py. */")
print('#include "tensor/kernels/grids.h"')
for each, kind in GRIDS:
    book = codes_of(quants._type_traits[kind])
    if not IN_HALVES:
        print_grid(each, book)
    elif len(book) <= 1024:
        print_halves(each, book)
