#!/usr/bin/env python3
"""Times ops of `weft bench --tensor`, of PyTorch, and of candle if its program is given, op by op
one after the other, in some rounds; the best of each counts.

Usage: compare_tensor.py WEFT [FILTER] [--candle PROGRAM] [--threads N] [--slice I/N] [--rounds N]
(in a Python that has torch). FILTER: ops whose names have it inside; --slice 2/5: the second fifth
of the list, for machines that are not free for long.
Prints a Markdown table: microseconds of each, and weft's in parts of the faster of the others.
PROGRAM is tools/compare_candle built as docs/performance-tensor.md says; it prints
"name<TAB>seconds" lines. The machine should have nothing else to do."""
import argparse
import json
import os
import subprocess
import time

import torch

parser = argparse.ArgumentParser()
parser.add_argument("weft")
parser.add_argument("filter", nargs="?", default="")
parser.add_argument("--candle", metavar="PROGRAM")
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--slice", default="1/1", metavar="I/N")
parser.add_argument("--rounds", type=int, default=2)
arguments = parser.parse_args()

torch.set_num_threads(arguments.threads)
torch.set_grad_enabled(False)
SIDE = 4096
a = torch.rand(SIDE, SIDE) + 0.5
b = torch.rand(SIDE, SIDE) + 0.5
f16, i32 = a.half(), (a * 1000).int()
i8 = i32.to(torch.int8)
small = torch.ones(16)
cache = torch.zeros(SIDE, 9, 64)
row = torch.ones(1, 9, 64)
ids = torch.randperm(SIDE)[:512]
vector = torch.ones(SIDE)
square = {n: torch.rand(n, n) for n in (256, 512, 1024, 2048)}
batch = torch.rand(9, 128, 64), torch.rand(9, 64, 128)
F = torch.nn.functional

CASES = {
    "narrow of 16 elements": lambda: small.narrow(0, 1, 8),
    "add of 16 elements": lambda: small + small,
    "append [1,9,64] to a cache": lambda: cache.narrow(0, 100, 1).copy_(row),
    "add": lambda: a + b, "mul": lambda: a * b, "div": lambda: a / b,
    "sqrt": lambda: a.sqrt(), "relu": lambda: a.relu(),
    "exp": lambda: a.exp(), "log": lambda: a.log(), "sin": lambda: a.sin(),
    "tanh": lambda: a.tanh(), "erf": lambda: a.erf(),
    "sigmoid": lambda: a.sigmoid(), "silu": lambda: F.silu(a),
    "gelu_tanh": lambda: F.gelu(a, approximate="tanh"), "gelu_erf": lambda: F.gelu(a),
    "add of i32": lambda: i32 + i32, "add of i8": lambda: i8 + i8,
    "sum all": lambda: a.sum(), "sum last": lambda: a.sum(1), "sum first": lambda: a.sum(0),
    "sum middle": lambda: a.view(SIDE // 64, 64, SIDE).sum(1),
    "sum of a transpose": lambda: a.t().sum(1),
    "sum first of f16": lambda: f16.sum(0), "sum first of i32": lambda: i32.sum(0),
    "sum last of i8": lambda: i8.sum(1),
    "max last": lambda: a.amax(1), "max first": lambda: a.amax(0),
    "argmax last": lambda: a.argmax(1), "argmax first": lambda: a.argmax(0),
    "var last": lambda: a.var(1), "var first": lambda: a.var(0),
    "softmax last": lambda: a.softmax(1), "softmax first": lambda: a.softmax(0),
    "layer_norm": lambda: F.layer_norm(a, (SIDE,)),
    "rms_norm": lambda: F.rms_norm(a, (SIDE,)),
    "contiguous of a transpose": lambda: a.t().contiguous(),
    "add of a transpose": lambda: a.t() + b,
    "cast to f16": lambda: a.half(), "cast to bf16": lambda: a.bfloat16(),
    "index_select of 512 rows": lambda: a.index_select(0, ids),
    "matmul 256": lambda: square[256] @ square[256],
    "matmul 512": lambda: square[512] @ square[512],
    "matmul 1024": lambda: square[1024] @ square[1024],
    "matmul 2048": lambda: square[2048] @ square[2048],
    "matmul 9 of [128,64]x[64,128]": lambda: batch[0] @ batch[1],
    "matmul 4096 by a vector": lambda: a @ vector,
}


def torch_time(op):
    """Microseconds of one call; short ones many at a time."""
    call = CASES[op]
    start = time.perf_counter()
    call()
    times = 1000 if time.perf_counter() - start < 1e-4 else 1
    best, begin = float("inf"), time.perf_counter()
    while time.perf_counter() - begin < 0.15 or best == float("inf"):
        start = time.perf_counter()
        for _ in range(times):
            call()
        best = min(best, (time.perf_counter() - start) / times)
    return best * 1e6


def weft_time(op):
    command = [arguments.weft, "bench", "--tensor", op, "--no-limits",
               "-t", str(arguments.threads), "--format", "json"]
    lines = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return next(line["microseconds"] for line in lines
                if line["op"] == op and line["threads"] == arguments.threads)


def candle_time(op):
    """None where candle has no such op."""
    if not arguments.candle:
        return None
    environment = dict(os.environ, RAYON_NUM_THREADS=str(arguments.threads))
    output = subprocess.run([arguments.candle, op], check=True, capture_output=True, text=True,
                            env=environment).stdout
    times = dict(line.split("\t") for line in output.splitlines())
    return float(times[op]) * 1e6 if op in times else None


def cell(value):
    return "–" if value is None else f"{value:.2f}" if value < 1 else f"{value:.1f}"


def main():
    part, parts = (int(number) for number in arguments.slice.split("/"))
    ops = [op for op in CASES if arguments.filter in op]
    ops = ops[len(ops) * (part - 1) // parts:len(ops) * part // parts]
    if part == 1:
        print("| op | weft, µs | PyTorch | candle | weft ÷ best |\n|---|--:|--:|--:|--:|")
    for op in ops:
        best = [None] * 3
        for _ in range(arguments.rounds):
            for i, timer in enumerate((weft_time, torch_time, candle_time)):
                value = timer(op)
                if value is not None and (best[i] is None or value < best[i]):
                    best[i] = value
        ratio = best[0] / min(value for value in best[1:] if value is not None)
        print(f"| {op} | {' | '.join(cell(v) for v in best)} | {ratio:.2f} |", flush=True)


main()
