#!/usr/bin/env python3
"""weft quantize beside llama-quantize: the same types for the same tensors, and on every tensor at
most its mean squared error. Usage: test_quantize_peer.py WEFT SHARED [MODEL.gguf [IMATRIX]]

llama-quantize is looked for in WEFT_LLAMA_BIN and PATH; without it, or without the reference data,
the test is skipped (77). The files of each are loaded by the other's programs where they are there.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

TYPES = ("Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K_S Q3_K_M Q3_K_L Q4_K_S Q4_K_M Q5_K_S Q5_K_M Q6_K "
         "IQ3_S IQ3_M IQ4_NL IQ4_XS TQ1_0 TQ2_0 MXFP4_MOE F16 BF16").split()
TOLERANCE = 1.0001  # sums in another order

weft, shared = sys.argv[1:3]
peer = shutil.which("llama-quantize", path=os.environ.get("WEFT_LLAMA_BIN", "") + os.pathsep +
                    os.environ["PATH"])
model = sys.argv[3] if len(sys.argv) > 3 else os.path.join(
    shared, "reference/models/llama-k256/llama-k256-f32.gguf")
imatrix = sys.argv[4:5]
if not peer or not os.path.exists(model):
    print("skipped: no llama-quantize (set WEFT_LLAMA_BIN), or no", model)
    sys.exit(77)
failures = []


def run(command, what):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        failures.append(f"{what}: {command[0]} failed: {done.stderr.strip()[-200:]}")
    return done


def errors(work, name):
    """Tensor -> (type, mean squared error) of a file against the model."""
    done = subprocess.run([weft, "diff", model, os.path.join(work, name), "--tensors", "--json"],
                          capture_output=True, text=True)
    return {t["name"]: (t["type_b"], t["mse"]) for t in json.loads(done.stdout)["tensors"]}


def compare(work, kind):
    options = ["--imatrix", *imatrix] if imatrix else []
    ours, theirs = os.path.join(work, "ours"), os.path.join(work, "theirs")
    run([weft, "quantize", model, ours, kind, *options], kind)
    run([peer, "--allow-requantize", *options, model, theirs, kind, "2"], kind)
    if failures:
        return
    a, b = errors(work, "ours"), errors(work, "theirs")
    ratios = []
    for name in sorted(a.keys() | b.keys()):
        (type_a, mse_a), (type_b, mse_b) = a.get(name, ("", 0)), b.get(name, ("", 0))
        if type_a != type_b:
            failures.append(f"{kind}: {name}: {type_a}, not {type_b}")
        elif mse_a > mse_b * TOLERANCE:
            failures.append(f"{kind}: {name} ({type_a}): error {mse_a:.4g}, peer {mse_b:.4g}")
        if mse_b > 0:
            ratios.append(mse_a / mse_b)
    print(f"{kind:10} error / peer's: mean {sum(ratios) / max(len(ratios), 1):.3f}, "
          f"worst {max(ratios, default=0):.3f}", flush=True)
    run([weft, "inspect", "--check", theirs], kind + ", the peer's file")
    bench = os.path.join(os.path.dirname(peer), "llama-bench")
    if os.path.exists(bench):
        run([bench, "-m", ours, "-p", "8", "-n", "0", "-r", "1", "-t", "1"], kind + " in the peer")


with tempfile.TemporaryDirectory() as folder:
    for each in TYPES:
        compare(folder, each)
for line in failures:
    print("FAILED:", line)
sys.exit(1 if failures else 0)
