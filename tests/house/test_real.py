"""A real model against its float32 reference: token ids of the texts, distance of the
distributions, share of equal first choices, and greedy texts wherever the reference is sure. FILE
lies in the cache folder; without it or the reference the test is skipped.
Usage: test_real.py WEFT SHARED FILE NAME MAX_KL MIN_TOP1

The bounds are those of int8 activations in blocks of 32 with everything else in float32, as
simulated, and a margin for the choice of text."""

import json
import os
import struct
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


def reference_ids():
    """The ids of text.txt: chunks follow each other, each after a BOS where the model has one."""
    with open(reference + ".logits.bin", "rb") as data:
        magic, n_chunks, length, kept = struct.unpack("<4sIII", data.read(16))
        assert magic == b"WKL1"
        chunks = []
        for _ in range(n_chunks):
            chunks.append(struct.unpack(f"<{length}I", data.read(4 * length)))
            data.seek(length * (4 + 8 * kept), os.SEEK_CUR)
    shared_first = len({chunk[0] for chunk in chunks}) == 1
    return [token for chunk in chunks for token in chunk[shared_first:]]


with open(reference + ".json", encoding="utf-8") as text:
    greedy = json.load(text)["greedy"]
plain = ["tokenize", "-m", model, "--no-special", "--json"]
want = reference_ids()
got = run(*plain, "--no-bos", "-f", os.path.join(shared, "reference", "real", "text.txt"))["ids"]
check(got[: len(want)] == want, "the ids of text.txt differ")
for one in greedy:
    got = run(*plain, "-p", one["prompt"])["ids"]
    check(got == one["ids"], f"{one['prompt'][:30]!r}: ids {got}, not {one['ids']}")

got = run("perplexity", "-m", model, "--reference", reference + ".logits.bin", "--json")
print(f"{file}: {got}")
check(got["mean_kl"] <= float(max_kl), f"mean KL {got['mean_kl']} is over {max_kl}")
check(got["top1"] >= float(min_top1), f"top-1 {got['top1']} is under {min_top1}")

sure = 0
for one in greedy:
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
