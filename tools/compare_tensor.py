#!/usr/bin/env python3
"""Times PyTorch, and candle if its program is given, beside `weft bench --tensor`, one after the
other.

Usage: compare_tensor.py WEFT [FILTER] [--candle PROGRAM] [--threads N] (in a Python
that has torch).
Prints a Markdown table: microseconds of each, and weft's in parts of the faster of the others.
PROGRAM is tools/compare_candle built as docs/performance-tensor.md says; it prints
"name<TAB>seconds" lines. The machine should have nothing else to do."""
import argparse
import json
import os
import subprocess
import sys
import time

import torch

parser = argparse.ArgumentParser()
parser.add_argument("weft")
parser.add_argument("filter", nargs="?", default="")
parser.add_argument("--candle", metavar="PROGRAM")
parser.add_argument("--threads", type=int, default=1)
arguments = parser.parse_args()

torch.set_num_threads(arguments.threads)
torch.set_grad_enabled(False)
SIDE = 4096
a = torch.rand(SIDE, SIDE) + 0.5
b = torch.rand(SIDE, SIDE) + 0.5
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
    "exp": lambda: a.exp(), "log": lambda: a.log(), "sin": lambda: a.sin(),
    "tanh": lambda: a.tanh(),
    "erf": lambda: a.erf(), "sigmoid": lambda: a.sigmoid(), "silu": lambda: F.silu(a),
    "gelu_erf": lambda: F.gelu(a), "gelu_tanh": lambda: F.gelu(a, approximate="tanh"),
    "sqrt": lambda: a.sqrt(), "relu": lambda: a.relu(),
    "sum all": lambda: a.sum(), "sum last": lambda: a.sum(1), "sum first": lambda: a.sum(0),
    "sum of a transpose": lambda: a.t().sum(1), "max last": lambda: a.amax(1),
    "max first": lambda: a.amax(0), "argmax last": lambda: a.argmax(1),
    "softmax last": lambda: a.softmax(1), "softmax first": lambda: a.softmax(0),
    "layer_norm": lambda: F.layer_norm(a, (SIDE,)),
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


def best_of(call):
    """Microseconds of one call; short ones many at a time."""
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


def weft_times():
    """Microseconds of each op on arguments.threads threads."""
    command = [arguments.weft, "bench", "--tensor", *filter(None, [arguments.filter]),
               "-t", str(arguments.threads), "--format", "json"]
    lines = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {line["op"]: line["microseconds"] for line in lines
            if line["threads"] == arguments.threads}


def candle_times():
    if not arguments.candle:
        return {}
    environment = dict(os.environ, RAYON_NUM_THREADS=str(arguments.threads))
    output = subprocess.run([arguments.candle, arguments.filter], check=True, capture_output=True,
                            text=True, env=environment).stdout
    pairs = (line.split("\t") for line in output.splitlines())
    return {name: float(seconds) * 1e6 for name, seconds in pairs}


def main():
    own, candle = weft_times(), candle_times()
    print("| op | weft, us | torch, us | candle, us | weft / best |\n|---|---|---|---|---|")
    for op, microseconds in own.items():
        others = {"torch": best_of(CASES[op]) if op in CASES else None, "candle": candle.get(op)}
        measured = [value for value in others.values() if value is not None]
        if measured:
            cells = " | ".join("–" if v is None else f"{v:.2f}" for v in others.values())
            print(f"| {op} | {microseconds:.2f} | {cells} | {microseconds / min(measured):.2f} |")


main()
