#!/usr/bin/env python3
"""The table of formats in docs/models.md, from three calls whose lines may be put together:

    make_formats.py check WEFT SHARED >rows     digests, and the error of the default path
    make_formats.py time WEFT [TYPE…] >>rows    decode's share of the read bandwidth
    make_formats.py table docs/models.md <rows

check: every tensor of the shared llama-k256 files by the SHA-256 of its float32 values, and the
largest difference of a logit to --float on the same file. time: a Llama of 1B parameters and random
weights of the type, two threads, the file's bytes a second over the bandwidth of the same run."""
import json
import os
import subprocess
import sys

FORMATS = {
    "F32": 32, "F16": 16, "BF16": 16, "Q8_0": 8.5, "Q5_0": 5.5, "Q5_1": 6, "Q4_0": 4.5, "Q4_1": 5,
    "Q2_K": 2.62, "Q3_K": 3.44, "Q4_K": 4.5, "Q5_K": 5.5, "Q6_K": 6.56, "IQ1_S": 1.56,
    "IQ1_M": 1.75, "IQ2_XXS": 2.06, "IQ2_XS": 2.31, "IQ2_S": 2.56, "IQ3_XXS": 3.06, "IQ3_S": 3.44,
    "IQ4_NL": 4.5, "IQ4_XS": 4.25, "TQ1_0": 1.69, "TQ2_0": 2.06, "MXFP4": 4.25, "NVFP4": 4.5}
# Files that are mostly of the type.
FILE = {"Q3_K": "Q3_K_S", "Q4_K": "Q4_K_S", "Q5_K": "Q5_K_S", "IQ2_S": "IQ2_M"}
BEGIN, END = "<!-- of make_formats.py -->\n", "<!-- end of formats -->\n"


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)


def largest(a, b):
    return max(abs(x - y) for x, y in zip(a["last_logits"], b["last_logits"]))


def check(weft, shared):
    folder = os.path.join(shared, "reference", "models", "llama-k256")
    with open(os.path.join(folder, "dequant.json"), encoding="utf-8") as f:
        quants = json.load(f)["quants"]
    with open(os.path.join(folder, "reference.json"), encoding="utf-8") as f:
        ids = " ".join(map(str, json.load(f)["prompts"][1]["tokens"]))
    digests = {}
    for quant in quants.values():
        got = run(weft, "inspect", "--digest", "--json", os.path.join(folder, quant["file"]))
        for t in got["tensors"]:
            want = quant["tensors"][t["name"]]
            if t["sha256"] is not None:
                digests.setdefault(want["type"], []).append(t["sha256"] == want["sha256"])
    for name in FORMATS:
        path = os.path.join(folder, "llama-k256-f32.gguf") if name == "F32" else os.path.join(
            folder, quants[FILE.get(name, name)]["file"])
        ways = [run(weft, "logits", "-m", path, "--ids", ids, *options)
                for options in ([], ["--float"], ["--reproducible"],
                                ["--reproducible", "--cpu", "scalar"])]
        equal = ways[2]["last_logits"] == ways[3]["last_logits"]
        row = {"format": name, "equal": sum(digests[name]), "of": len(digests[name]),
               "error": largest(ways[0], ways[1]), "scalar": equal}
        print(json.dumps(row), flush=True)


def measure(weft, names):
    for name in names or FORMATS:
        got = run(weft, "bench", "--shape", "llama-1b", "--type", name, "-p", "8", "-n", "16", "-r",
                  "3", "-t", "2", "--format", "json")
        point = next(p for p in got["points"] if p["test"] == "decode")
        print(json.dumps({"format": name, "share": point["of_read"], "tps": point["tps_median"],
                          "rss": got["rss_bytes"] / (got["weight_bytes"] + got["cache_bytes"]),
                          "read": got["limits"]["read_all"]}), flush=True)


def table(page_path):
    rows = {}
    for line in sys.stdin:
        row = json.loads(line)
        rows.setdefault(row["format"], {}).update(row)
    lines = ["| format | bits a weight | digests equal | error against float | bits of the scalar "
             "definition | decode, of the read bandwidth |", "|---|---|---|---|---|---|"]
    for name, bits in FORMATS.items():
        r = rows[name]
        share = f"{100 * r['share']:.0f}%" if "share" in r else "–"
        lines.append(f"| {name} | {bits} | {r['equal']} of {r['of']} | {r['error']:.2g} | "
                     f"{'equal' if r['scalar'] else 'differ'} | {share} |")
    with open(page_path, encoding="utf-8") as f:
        page = f.read()
    head, rest = page.split(BEGIN)
    with open(page_path, "w", encoding="utf-8") as f:
        f.write(head + BEGIN + "\n".join(lines) + "\n" + END + rest.split(END)[1])


COMMANDS = {"check": lambda a: check(*a), "time": lambda a: measure(a[0], a[1:]),
            "table": lambda a: table(*a)}
if len(sys.argv) < 3 or sys.argv[1] not in COMMANDS:
    sys.exit(__doc__)
COMMANDS[sys.argv[1]](sys.argv[2:])
