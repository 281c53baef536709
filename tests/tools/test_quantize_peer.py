#!/usr/bin/env python3
"""weft quantize beside llama-quantize: the same types for the same tensors, and on every tensor at
most its mean squared error; with an importance matrix, which the types of few bits need, plain and
weighed by it. Usage: test_quantize_peer.py WEFT SHARED [MODEL.gguf [TYPE…]]

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
GUIDED = ("IQ1_S IQ1_M IQ2_XXS IQ2_XS IQ2_S IQ2_M IQ3_XXS IQ3_XS Q2_K Q2_K_S Q3_K_M Q4_0 Q4_K_M "
          "Q5_K_M Q6_K IQ3_S IQ3_M IQ4_NL IQ4_XS").split()
TOLERANCE = 1.0001  # sums in another order

weft, shared = sys.argv[1:3]
peer = shutil.which("llama-quantize", path=os.environ.get("WEFT_LLAMA_BIN", "") + os.pathsep +
                    os.environ["PATH"])
model = sys.argv[3] if len(sys.argv) > 3 else os.path.join(
    shared, "reference/models/llama-k256/llama-k256-f32.gguf")
only = sys.argv[4:]
if not peer or not os.path.exists(model):
    print("skipped: no llama-quantize (set WEFT_LLAMA_BIN), or no", model)
    sys.exit(77)
failures = []


def run(command, what):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        failures.append(f"{what}: {command[0]} failed: {done.stderr.strip()[-200:]}")
    return done


def errors(work, name, options, measure):
    """Tensor -> (type, mean squared error) of a file against the model."""
    done = subprocess.run([weft, "diff", model, os.path.join(work, name), "--tensors", "--json",
                           *options], capture_output=True, text=True)
    return {t["name"]: (t["type_b"], t[measure] or 0) for t in json.loads(done.stdout)["tensors"]}


def make_imatrix(work):
    """Of any text that is there: this program's."""
    path = os.path.join(work, "imatrix.gguf")
    run([weft, "imatrix", "-m", model, "-f", os.path.abspath(__file__), "-o", path, "-c", "128"],
        "imatrix")
    return path


def compare(work, kind, options):
    ours, theirs = os.path.join(work, "ours"), os.path.join(work, "theirs")
    made = [run([weft, "quantize", model, ours, kind, *options], kind),
            run([peer, "--allow-requantize", *options, model, theirs, kind, "2"], kind)]
    if any(done.returncode for done in made):
        return
    for measure in ("mse", "weighed_mse") if options else ("mse",):
        compare_errors(work, kind, options, measure)
    run([weft, "inspect", "--check", theirs], kind + ", the peer's file")
    bench = os.path.join(os.path.dirname(peer), "llama-bench")
    if os.path.exists(bench):
        run([bench, "-m", ours, "-p", "8", "-n", "0", "-r", "1", "-t", "1"], kind + " in the peer")


def compare_errors(work, kind, options, measure):
    a, b = errors(work, "ours", options, measure), errors(work, "theirs", options, measure)
    ratios = []
    for name in sorted(a.keys() | b.keys()):
        (type_a, mse_a), (type_b, mse_b) = a.get(name, ("", 0)), b.get(name, ("", 0))
        if type_a != type_b:
            failures.append(f"{kind}: {name}: {type_a}, not {type_b}")
        elif mse_a > mse_b * TOLERANCE:
            failures.append(f"{kind}: {name} ({type_a}): {measure} {mse_a:.4g}, peer {mse_b:.4g}")
        if mse_b > 0:
            ratios.append(mse_a / mse_b)
    mean, worst = sum(ratios) / max(len(ratios), 1), max(ratios, default=0)
    print(f"{kind:10} {measure if options else 'plain':12} error / peer's: mean {mean:.3f}, "
          f"worst {worst:.3f}", flush=True)


with tempfile.TemporaryDirectory() as folder:
    for each in TYPES:
        if not only or each in only:
            compare(folder, each, [])
    guide = ["--imatrix", make_imatrix(folder)]
    for each in GUIDED:
        if not only or each in only:
            compare(folder, each, guide)
for line in failures:
    print("FAILED:", line)
sys.exit(1 if failures else 0)
