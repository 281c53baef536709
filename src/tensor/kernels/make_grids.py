#!/usr/bin/env python3
"""Writes grids.c: the codebooks of GGUF's IQ types, which are facts of the format. They are taken
from the Python package `gguf`, which carries them packed; here an entry is a word with the codes of
its columns: column c in byte c, columns 4 to 7 in the high nibbles. numbers.c has the same entries
in an order of our own, by which permutations of bytes find them (grids.h), and entries.c in that
order; a search of two minutes finds it.

usage: make_grids.py [numbers | entries] > grids.c (numbers.c, entries.c)"""
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


def halves_of(codes):
    n = codes.shape[1] // 2
    shifts = numpy.arange(n) * (8 // n)
    return [(codes[:, n * h:n * h + n] << shifts).sum(axis=1).tolist() for h in (0, 1)]


# Of numbers by hexadecimal digits.
BITS = {2: 8, 3: 16, 8: 32}


def print_words(name, numbers, digits, keyword=""):
    a_line = 96 // (digits + 4)
    aligned = "_Alignas(64) " if digits == 2 else ""  # what is read in lines
    print(f"\n{aligned}{keyword}const uint{BITS[digits]}_t {name}[{len(numbers)}] = {{")
    for i in range(0, len(numbers), a_line):
        print("    " + ", ".join(f"0x{n:0{digits}x}" for n in numbers[i:i + a_line]) + ",")
    print("};")


def print_grid(name, codes):
    print_words(f"weft_grid_{name}", entries(codes), 8)


class Search:
    """Parts the entries that are left into tiles of n x n halves. Entries are bits here: of[0][a]
    has the second halves that go with the first half a, of[1][b] the first ones that go with b."""

    def __init__(self, pairs, seed):
        self.of = [[0] * 256, [0] * 256]
        self.draw = random.Random(seed)
        for a, b in pairs:
            self.flip([a], [b])

    def flip(self, firsts, seconds):
        """Takes the entries of a tile out, or puts them back."""
        for a in firsts:
            for b in seconds:
                self.of[0][a] ^= 1 << b
                self.of[1][b] ^= 1 << a

    def left(self):
        return [(a, b) for a in range(256) for b in range(256) if self.of[0][a] >> b & 1]

    def find(self, n):
        """A tile, mostly of halves that few others need, or None."""
        firsts, seconds = self.of
        rows = {a: row.bit_count() for a, row in enumerate(firsts) if row.bit_count() >= n}
        if len(rows) < n:
            return None
        tile = [min(self.draw.choices(list(rows), k=4), key=rows.get)]
        common = firsts[tile[0]]
        while len(tile) < n:
            best = max((a for a in rows if a not in tile), key=lambda a: (
                (common & firsts[a]).bit_count() + 3 * self.draw.random() - 0.05 * rows[a]))
            tile.append(best)
            common &= firsts[best]
            if common.bit_count() < n:
                return None
        columns = [b for b in range(256) if common >> b & 1]
        columns.sort(key=lambda b: seconds[b].bit_count() + 3 * self.draw.random())
        return tile, columns[:n]

    def add(self, n, tiles, wanted):
        misses = 0
        while misses < 6 and len(tiles) < wanted:
            tile = self.find(n)
            if tile:
                self.flip(*tile)
                tiles.append(tile)
            misses += not tile

    def tiles(self, n, wanted):
        """Adds until it is stuck, then gives a few of the best so far back; None: not found."""
        best, kept, tries = [], self.of, 0
        while len(best) < wanted and tries < 40000:
            tiles, self.of = list(best), [list(side) for side in kept]
            for _ in range(self.draw.randint(0, min(8, len(tiles)))):
                self.flip(*tiles.pop(self.draw.randrange(len(tiles))))
            self.add(n, tiles, wanted)
            tries = 0 if len(tiles) > len(best) else tries + 1
            if len(tiles) >= len(best):
                best, kept = tiles, self.of
        self.of = kept
        return best if len(best) == wanted else None


# Regions of 2 x 2 tiles (grids.h), and seeds of the search that find the others.
PLANS = {"iq1": (2, 1), "iq2_xxs": (0, 1), "iq2_xs": (0, 6), "iq2_s": (1, 1), "iq3_xxs": (0, 1),
         "iq3_s": (1, 1)}


def parted(pairs, n_pairs, seed):
    """Single entries, tiles of 2 x 2 and of 4 x 4."""
    search = Search(pairs, seed)
    fours = search.tiles(4, 16 * (len(pairs) // 256 - 1 - n_pairs))
    twos = fours is not None and search.tiles(2, 32 + 64 * n_pairs)
    singles = search.left()
    if not twos or len(singles) != 128:
        sys.exit(f"seed {seed}: not found")
    return singles, twos, fours


def place(number, tile, first_at, second_at, out):
    """A tile's halves at bits of the number."""
    for i, a in enumerate(tile[0]):
        for j, b in enumerate(tile[1]):
            out[number | i << first_at | j << second_at] = (a, b)


def by_number(pairs, n_pairs, seed):
    """The halves (first, second) of each number."""
    singles, twos, fours = parted(pairs, n_pairs, seed)
    out = [None] * len(pairs)
    out[128:256] = singles
    for i, tile in enumerate(twos[:32]):
        place(i << 1, tile, 0, 6, out)
    for i, tile in enumerate(twos[32:]):
        place(256 * (1 + i // 64) | i % 64 << 1, tile, 0, 7, out)
    for i, tile in enumerate(fours):
        place(256 * (1 + n_pairs + i // 16) | i % 16 << 2, tile, 0, 6, out)
    return out


def tables_of(halves, n_pairs):
    """The tables of first and of second halves: (first number, shift of the place in it)."""
    n_regions = len(halves) // 256
    first, second = [(0, 0), (128, 0), (192, 0)], [(0, 1), (128, 1), (129, 1)]
    for r in range(256, 256 * n_regions, 256):
        twos = r // 256 <= n_pairs
        first += [(r, 0), (r + 64, 0)] if twos else [(r, 0)]
        second += [(r, 1), (r + 128, 1)] if twos else [(r, 2)]
    return [halves[base + (at << shift)][h]
            for h, tables in enumerate((first, second)) for base, shift in tables
            for at in range(64)]


def print_book(name, codes):
    n_pairs, seed = PLANS[name]
    pairs = list(zip(*halves_of(codes)))
    halves = by_number(pairs, n_pairs, seed)
    number = {pair: n for n, pair in enumerate(halves)}
    back = [pairs.index(pair) for pair in halves]
    if WHAT == "entries":
        print_words(f"weft_entries_{name}", entries(codes)[back], 8)
        return
    print_words(f"numbers_{name}", [number[pair] for pair in pairs], 3, "static ")
    print_words(f"halves_{name}", tables_of(halves, n_pairs), 2, "static ")
    print(f"\nconst weft_book weft_book_{name} = {{")
    print(f"    numbers_{name}, weft_entries_{name}, halves_{name}, {len(codes)}, {n_pairs}}};")


WHAT = sys.argv[1] if len(sys.argv) > 1 else "grids"
TITLES = {"grids": "The codebooks of GGUF's IQ types",
          "entries": "The entries of IQ codebooks by numbers of our own",
          "numbers": "IQ codebooks by numbers of our own"}
print(f"/* {TITLES[WHAT]}, as grids.h says. Written by make_grids.py. */")
print('#include "tensor/kernels/grids.h"')
for each, kind in GRIDS:
    book = codes_of(quants._type_traits[kind])
    if WHAT == "grids":
        print_grid(each, book)
    else:
        print_book(each, book)
