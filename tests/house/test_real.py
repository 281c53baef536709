"""A real model against its float32 reference: distance of the distributions, share of equal first
choices, and greedy texts wherever the reference is sure. Usage: test_real.py WEFT SHARED FILE NAME
MAX_KL MIN_TOP1. FILE lies in the cache folder; without it or the reference the test is skipped.

The bounds are those of int8 activations in blocks of 32 with everything else in float32, as
simulated, and a margin for the choice of text."""

import json
import os
import subprocess
import sys

weft, shared, file, name, max_kl, min_top1 = sys.argv[1:]
cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
model = os.path.join(cache, "weft", file)
reference = os.path.join(shared, "reference", "real", name)
for path in (model, reference + ".json"):
    if not os.path.exists(path):
        print(f"skipped: no {path}")
        sys.exit(77)
failures = 0


def check(holds, text):
    global failures
    if not holds:
        failures += 1
        print("FAILED:", text)


def run(*arguments):
    done = subprocess.run([weft, *arguments], capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"weft {arguments[0]}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


got = run("perplexity", "-m", model, "--reference", reference + ".logits.bin", "--json")
print(f"{file}: {got}")
check(got["mean_kl"] <= float(max_kl), f"mean KL {got['mean_kl']} is over {max_kl}")
check(got["top1"] >= float(min_top1), f"top-1 {got['top1']} is under {min_top1}")

sure = 0
with open(reference + ".json", encoding="utf-8") as text:
    for one in json.load(text)["greedy"]:
        ids = " ".join(map(str, one["ids"] + one["greedy"]))
        argmax = run("logits", "-m", model, "--ids", ids)["argmax"][len(one["ids"]) - 1:]
        for i, (want, margin) in enumerate(zip(one["greedy"], one["margins"])):
            if margin > 0.5:
                sure += 1
                check(argmax[i] == want, f"{one['prompt'][:30]!r}, token {i}: {argmax[i]}, "
                                         f"not {want} (margin {margin})")
check(sure > 100, f"only {sure} sure tokens were compared")
print(f"{sure} sure tokens of greedy texts compared")
sys.exit(failures > 0)
