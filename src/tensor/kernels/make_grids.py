#!/usr/bin/env python3
"""Writes grids.c and halves.c: the codebooks of GGUF's IQ types, which are facts of the format.
They are taken from the Python package `gguf`, which carries them packed; here an entry is a word
with the codes of its columns: column c in byte c, columns 4 to 7 in the high nibbles; in halves.c,
for the smaller ones, the same codes close together in two bytes. numbers.c has IQ1's entries in an
order of our own, by which permutations of bytes find them.

usage: make_grids.py [halves | numbers] > grids.c (halves.c, numbers.c)"""
import random
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


def print_words(name, numbers, digits):
    a_line = 96 // (digits + 4)
    aligned = "_Alignas(64) " if digits == 2 else ""  # what is read in lines
    print(f"\n{aligned}const uint{4 * digits}_t {name}[{len(numbers)}] = {{")
    for i in range(0, len(numbers), a_line):
        print("    " + ", ".join(f"0x{n:0{digits}x}" for n in numbers[i:i + a_line]) + ",")
    print("};")


def print_grid(name, codes):
    print_words(f"weft_grid_{name}", entries(codes), 8)


# IQ1: the second half of an entry is one of 81, each of `counts` entries. Numbers are 64 bins of
# 32: when no bin has more than two second halves, three tables of 64 find an entry's. That is what
# Walker's alias method does with m + 1 items that fill m bins, into which the items are parted.
def clusters_of(counts):
    """17 sets of m + 1 items whose counts are 32 m together; the last is what the others leave."""
    rest, clusters, draw = list(range(len(counts))), [], random.Random(1)
    while len(clusters) < len(counts) - 65:
        some = draw.sample(rest, draw.randint(2, 5))
        if counts[some].sum() == 32 * (len(some) - 1):
            clusters.append(some)
            rest = [i for i in rest if i not in some]
    return clusters + [rest]


def bins_of(counts):
    """64 pairs of (item, how many of it)."""
    bins = []
    for some in clusters_of(counts):
        left = {i: counts[i] for i in some}
        while left:
            order = sorted(left, key=left.get)
            least, most = order[0], order[-1]
            n = min(left[least], 32)
            bins.append(((least, n), (most, 32 - n)))
            left[least] -= n
            left[most] -= 32 - n
            left = {i: n for i, n in left.items() if n}
    return bins


def number_entries(codes):
    """The entries' numbers, and the tables for the second halves."""
    first, second = halves(codes)
    items = numpy.unique(second)
    members = [list(numpy.flatnonzero(second == item)) for item in items]
    bins = bins_of(numpy.array([len(m) for m in members]))
    numbers = numpy.zeros(len(codes), int)
    tables = numpy.zeros((3, 64), int)
    for b, (below, above) in enumerate(bins):
        tables[:, b] = items[below[0]], items[above[0]], 8 * below[1] % 256
        if below[1] == 32:  # the bound would be 256
            tables[1, b] = items[below[0]]
        for at in range(32):
            entry = members[below[0] if at < below[1] else above[0]].pop()
            numbers[entry] = b | at >> 3 << 6 | (at & 7) << 8
    return numbers, first, tables


def print_numbers(codes):
    numbers, first, tables = number_entries(codes)
    back = numpy.argsort(numbers)
    print_words("weft_iq1_numbers", numbers, 4)
    print_words("weft_iq1_entries", entries(codes)[back], 8)
    print_words("weft_iq1_first", first[back], 2)
    print("\n_Alignas(64) const uint8_t weft_iq1_second[3][64] = {")
    for table in tables:
        print_bytes(table)
    print("};")


def print_bytes(numbers):
    for i in range(0, len(numbers), 15):
        print("    {" if i == 0 else "     ", end="")
        print(", ".join(f"0x{n:02x}" for n in numbers[i:i + 15]), end="")
        print("}," if i + 15 >= len(numbers) else ",")


def print_halves(name, codes):
    print(f"\n_Alignas(64) const uint8_t weft_halves_{name}[2][{len(codes)}] = {{")
    for half in halves(codes):
        print_bytes(half)
    print("};")


WHAT = sys.argv[1] if len(sys.argv) > 1 else "grids"
TITLES = {"grids": "The codebooks of GGUF's IQ types",
          "halves": "The codebooks of GGUF's IQ types, in halves",
          "numbers": "IQ1's codebook by our own numbers"}
print(f"/* {TITLES[WHAT]}, as grids.h says. Written by make_grids.py. */")
print('#include "tensor/kernels/grids.h"')
for each, kind in GRIDS:
    book = codes_of(quants._type_traits[kind])
    if WHAT == "grids":
        print_grid(each, book)
    elif WHAT == "halves" and len(book) <= 1024:
        print_halves(each, book)
    elif WHAT == "numbers" and each == "iq1":
        print_numbers(book)
