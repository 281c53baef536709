"""weft logits, perplexity and bench on a tiny model: what they print is what the others say it is.
Usage: test_numbers.py WEFT MAKE_TINY_MODEL EMULATOR"""

import csv
import io
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

weft, make_tiny, emulator = sys.argv[1:4]
failures = []


def check(condition, text):
    if not condition:
        failures.append(text)
        print("FAILED:", text)


def run(*args, code=0):
    r = subprocess.run(emulator.split() + [weft, *args], capture_output=True, text=True,
                       timeout=100, check=False, stdin=subprocess.DEVNULL)
    check(r.returncode == code, f"{args}: exit status {r.returncode}: {r.stderr}")
    return r.stdout


def logits(ids, *more):
    return json.loads(run("logits", "-m", model, "--ids", " ".join(map(str, ids)), *more))


def write_reference(path, chunks, k, change=0.0):
    """A WKL1 file of weft's own logits; `change` is added to the first id's."""
    out = [b"WKL1", struct.pack("<III", len(chunks), len(chunks[0]), k)]
    rows = []
    for ids in chunks:
        out.append(struct.pack(f"<{len(ids)}I", *ids))
        for n in range(1, len(ids) + 1):
            row = logits(ids[:n])["last_logits"]
            order = sorted(range(len(row)), key=lambda i: (-row[i], i))
            row[order[0]] += change
            top = max(row)
            lse = top + math.log(sum(math.exp(x - top) for x in row))
            rows.append((row, lse))
            out.append(struct.pack("<f", lse))
            for i in order[:k]:
                out.append(struct.pack("<If", i, row[i]))
    with open(path, "wb") as file:
        file.write(b"".join(out))
    return rows


with tempfile.TemporaryDirectory() as work:
    model = os.path.join(work, "tiny.gguf")
    subprocess.run(emulator.split() + [make_tiny, model], check=True)

    # Greedy tokens are what the whole text says, fed at once; the numbers agree with each other.
    ids = list(b"hello, this is a text")
    j = logits(ids, "--greedy", "12")
    g = j["greedy"]["tokens"]
    check(len(j["argmax"]) == len(j["logsumexp"]) == len(ids) and len(g) == 12, "lengths")
    w = logits(ids + g)
    check(w["argmax"][len(ids) - 1:-1] == g, "greedy tokens and the argmax of the whole text")
    before = logits(ids + g[:-1])
    worst = max(abs(a - b) for a, b in zip(before["last_logits"], j["greedy"]["final_logits"]))
    check(worst < 1e-4, f"final_logits differ by {worst}")
    lse = math.log(sum(math.exp(x) for x in before["last_logits"]))
    check(abs(lse - before["logsumexp"][-1]) < 1e-4, "logsumexp")
    check(before["last_logits"].index(max(before["last_logits"])) == before["argmax"][-1], "argmax")
    small, large = logits(ids, "--batch", "4", "--reproducible"), logits(ids, "--reproducible")
    check(small["last_logits"] == large["last_logits"], "batches change bits")
    run("logits", "-m", model, "--ids", "1 300", code=2)
    run("logits", "-m", model, "--ids", "1,2,3")

    # Perplexity by its definition, from the same logits; the KL of a model with itself is nothing.
    chunks = [list(b"some text"), list(b"and other")]
    reference = os.path.join(work, "own.logits.bin")
    args = ("perplexity", "-m", model, "--reference", reference, "--cache-type", "f32", "--json")
    rows = write_reference(reference, chunks, 8)
    o = json.loads(run(*args))
    check(o["positions"] == 18 and o["top1"] == 1, f"top-1 with itself: {o}")
    check(abs(o["mean_kl"]) < 1e-5 and abs(o["p99_kl"]) < 1e-5, f"KL with itself: {o}")
    nll = [rows[9 * c + i][1] - rows[9 * c + i][0][chunks[c][i + 1]]
           for c in range(2) for i in range(4, 8)]
    check(abs(o["perplexity"] / math.exp(sum(nll) / len(nll)) - 1) < 1e-4, "perplexity")

    # Another reference: the KL over the first ids and one bucket for the rest, by hand.
    own = rows
    rows = write_reference(reference, chunks, 8, change=1.0)
    kls = []
    for (p, p_lse), (q, q_lse) in zip(rows, own):
        first = sorted(range(len(q)), key=lambda i: (-q[i], i))[:8]
        pairs = [(math.exp(p[i] - p_lse), math.exp(q[i] - q_lse)) for i in first]
        pairs.append((1 - sum(a for a, _ in pairs), 1 - sum(b for _, b in pairs)))
        kls.append(sum(a * math.log(a / b) for a, b in pairs))
    o = json.loads(run(*args))
    check(abs(o["mean_kl"] - sum(kls) / len(kls)) < 1e-4, f"mean KL {o['mean_kl']}")

    # What is not a reference is refused.
    with open(reference, "rb") as file:
        data = file.read()
    for bad in (b"", b"WKL1", b"XKL1" + data[4:], data[:-1], data + b"x",
                data[:4] + b"\xff" * 12 + data[16:], data[:16] + b"\xff" * 4 + data[20:],
                data[:56] + b"\xff" * 4 + data[60:], data[:56] + data[56:60] + b"\xff" * 4):
        with open(reference, "wb") as file:
            file.write(bad)
        run(*args, code=1)

    # A text.
    text = os.path.join(work, "text")
    with open(text, "w", encoding="utf-8") as file:
        file.write("a text of some words, and of others. " * 40)
    o = json.loads(run("perplexity", "-m", model, "-f", text, "-c", "64", "--json"))
    check(1 < o["perplexity"] < 1e6 and o["positions"] % 31 == 0, f"perplexity of a text: {o}")
    check("perplexity" in run("perplexity", "-m", model, "-f", text), "the table")
    with open(text, "w", encoding="utf-8") as file:
        file.write("a")
    run("perplexity", "-m", model, "-f", text, code=1)

    # The benchmark's three formats.
    args = ("bench", "-m", model, "-p", "20", "-n", "5", "-r", "3", "-t", "2")
    o = json.loads(run(*args, "--format", "json"))
    for key in ("prefill_tps", "decode_tps"):
        check(0 < o[key]["min"] <= o[key]["median"] <= o[key]["max"], f"bench: {key}")
    check(o["load_s"] > 0 and o["ttft_s"] > 0 and o["rss_bytes"] > 1e6, "bench: times and memory")
    check(o["threads"] == 2 and o["cpu"], "bench: machine")
    table = list(csv.reader(io.StringIO(run(*args, "--format", "csv"))))
    check(len(table) == 3 and len(table[0]) == len(table[1]), f"bench: csv {table}")
    check("decode" in run(*args), "bench: table")

print(f"{len(failures)} failures")
sys.exit(bool(failures))
