#!/usr/bin/env python3
"""The two real models (SmolLM2-135M, Gemma 3 270M, as models/fetch puts them into the cache folder)
quantised once more, by weft and by llama-quantize, from the same file: mean KL divergence of each
result to the file's own float32 logits, and its bound, 1.1 times the peer's. As Markdown.

usage: WEFT_LLAMA_BIN=… compare_requantised.py WEFT SHARED [TYPE…]
llama-quantize is looked for in WEFT_LLAMA_BIN and PATH."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

MODELS = {"smollm2": ("SmolLM2-135M", "SmolLM2-135M-Instruct.Q4_1.gguf"),
          "gemma-3": ("gemma-3-270m", "gemma-3-270m-q4_k_m.gguf")}
BOUND = 1.1

weft, shared = sys.argv[1:3]
types = sys.argv[3:] or ["Q4_K_M", "Q5_K_M", "Q6_K"]
peer = shutil.which("llama-quantize", path=os.environ.get("WEFT_LLAMA_BIN", "") + os.pathsep +
                    os.environ["PATH"])
cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "weft")
real = os.path.join(shared, "reference", "real")
if not peer:
    sys.exit("no llama-quantize: set WEFT_LLAMA_BIN")


def reference_of(key):
    found = [f for f in sorted(os.listdir(real)) if f.startswith(key) and f.endswith(".logits.bin")]
    return os.path.join(real, found[0])


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr[-300:]}")
    return done.stdout


def kl_of(path, reference):
    return json.loads(run(weft, "perplexity", "-m", path, "--reference", reference,
                          "--json"))["mean_kl"]


print("| model | type | mean KL, weft | llama-quantize | ratio |\n|---|---|---|---|---|")
failed = False
for key, (name, file) in MODELS.items():
    source = os.path.join(cache, file)
    with tempfile.TemporaryDirectory() as work:
        for kind in types:
            ours, theirs = os.path.join(work, "ours"), os.path.join(work, "theirs")
            run(weft, "quantize", source, ours, kind)
            run(peer, "--allow-requantize", source, theirs, kind, "2")
            a, b = (kl_of(path, reference_of(key)) for path in (ours, theirs))
            failed = failed or a > BOUND * b
            print(f"| {name} | {kind} | {a:.4f} | {b:.4f} | {a / b:.2f} |", flush=True)
sys.exit(1 if failed else 0)
