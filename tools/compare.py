#!/usr/bin/env python3
"""weft beside llama.cpp and its relatives on one machine: the tables of docs/performance.md.

Rounds are interleaved: in each, every engine measures every model once, and what counts is the
ratio of a round, weft to the best peer, for machines drift. Prints Markdown.

  tools/compare.py --weft build/release/weft \\
      --peer "llama.cpp=PATH/llama-bench -fa 1" \\
      --peer "ik_llama.cpp=PATH/llama-bench -fa 1 -rtr 1" \\
      --model smollm2=FILE --model gemma=FILE --model 1b-q4_0=FILE --rounds 5 --threads 2

Models are known by the name before '=', which says what is measured (MODELS below). --make DIR
makes the models of 1.1 G random parameters that are missing, with --maker (a script called as
MAKER OUT.gguf 16 2048 32 8 8192 VOCAB.gguf), --vocab, and --quantize (llama-quantize).

--cpu NAME compares a lesser variant of weft's kernels, which only says something where the peers
were built for no more. --results FILE keeps the rounds: each call adds its own to those in FILE and
prints the tables of all, so that a comparison can be done a model and a round at a time.
"""
import argparse
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import time

# name: prompts, depths of decoding, tokens to decode
MODELS = {
    "smollm2": ([512, 2048], [0, 4096], 64),
    "gemma": ([512], [0], 64),
    "1b-q4_0": ([512], [0], 64),
    "1b-q4_k_m": ([512], [0], 64),
    "1b-q8_0": ([512], [0], 32),
    "1b-f16": ([512], [0], 32),
}
QUICK = ([32], [0, 64], 4)
QUANTIZED = {"1b-q4_0": "Q4_0", "1b-q4_k_m": "Q4_K_M", "1b-q8_0": "Q8_0"}


def run(command):
    """Its output, seconds, and the most memory it had resident."""
    start = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        text = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"failed ({child.returncode}): {shlex.join(command)}")
    return text.decode(), time.monotonic() - start, usage.ru_maxrss * 1024


def test_name(test, n):
    if test == "prefill":
        return f"prefill {n}"
    return "decode" if n == 0 else f"decode at depth {n}"


class Weft:
    name = "weft"

    def __init__(self, path, cpu):
        self.path = path
        self.options = ["--cpu", cpu] if cpu else []

    def bench(self, model, *options):
        command = [self.path, "bench", "-m", model, "-r", "1", "--format", "json", *self.options]
        return json.loads(run([*command, *options])[0])

    def measure(self, model, plan, threads):
        """Tokens a second by (test, n or depth), and what else the run says."""
        prompts, depths, n = plan
        result = self.bench(model, "-t", str(threads), "-p", ",".join(map(str, prompts)),
                            "-n", str(n), "--depth", ",".join(map(str, depths)))
        speeds, shares = {}, {}
        for p in result["points"]:
            at = test_name(p["test"], p["depth"] if p["test"] == "decode" else p["n"])
            speeds[at] = p["tps_median"]
            shares[at] = p["of_read"] if p["test"] == "decode" else p["of_compute"]
        return speeds, {"cpu": result["cpu"], "shares": shares,
                        "limits": result.get("limits", {}), "rss": result["rss_bytes"],
                        "cache": result["cache_bytes"]}

    def first_token(self, model, threads):
        """Seconds of a process that loads the model and evaluates one token, once, cold."""
        return run([self.path, "bench", "-m", model, "-t", str(threads), "--start",
                    *self.options])[1]


class Peer:
    def __init__(self, text):
        self.name, command = text.split("=", 1)
        self.command = shlex.split(command)
        usage = subprocess.run([*self.command, "--help"], capture_output=True, check=False)
        text = (usage.stdout + usage.stderr).decode()
        self.has_depth = "--n-depth" in text
        self.has_after = "-gp <pp,tg>" in text
        self.no_warmup = ["--no-warmup"] if "--no-warmup" in text else ["-w", "0"]

    def bench(self, model, threads, *options):
        command = [*self.command, "-m", model, "-t", str(threads), "-r", "1", "-o", "json"]
        return json.loads(run([*command, *options])[0])

    def measure(self, model, plan, threads):
        prompts, depths, n = plan
        speeds = {}
        if prompts:
            sizes = ",".join(map(str, prompts))
            for line in self.bench(model, threads, "-p", sizes, "-n", "0"):
                speeds[test_name("prefill", line["n_prompt"])] = line["avg_ts"]
        for depth in depths:
            options = ["-p", "0", "-n", str(n)]
            if depth and self.has_depth:
                options += ["-d", str(depth)]
            elif depth and self.has_after:
                options = ["-p", "0", "-n", "0", "-gp", f"{depth},{n}"]
            elif depth:
                continue
            speeds[test_name("decode", depth)] = self.bench(model, threads, *options)[-1]["avg_ts"]
        return speeds, {}

    def first_token(self, model, threads):
        return run([*self.command, "-m", model, "-t", str(threads), "-r", "1", "-p", "1", "-n",
                    "0", *self.no_warmup])[1]


def make_models(options, models):
    os.makedirs(options.make, exist_ok=True)
    wide = os.path.join(options.make, "1b-f16.gguf")
    if not os.path.exists(wide):
        subprocess.run([sys.executable, options.maker, wide, "16", "2048", "32", "8", "8192",
                        options.vocab], check=True)
    models.setdefault("1b-f16", wide)
    for name, kind in QUANTIZED.items():
        path = os.path.join(options.make, name + ".gguf")
        if not os.path.exists(path):
            subprocess.run([options.quantize, wide, path, kind], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        models.setdefault(name, path)


def middle(values):
    return statistics.median(values)


def spread(values, digits=2):
    text = f"{middle(values):.{digits}f}"
    if len(values) > 1:
        text += f" ({min(values):.{digits}f}–{max(values):.{digits}f})"
    return text


def cpu_name():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        text = file.read()
    name = re.search(r"model name\s*:\s*(.*)", text)
    kinds = [k for k in ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile", "amx_int8")
             if re.search(rf"\b{k}\b", text)]
    return f"{name.group(1) if name else 'unknown CPU'} ({', '.join(kinds)})"


def measure_round(weft, peers, path, plan, threads, seen):
    """One round of one model; the engines take turns in being first."""
    engines = [weft, *peers]
    turn = len(seen["rounds"]) % len(engines)
    one = {}
    for engine in engines[turn:] + engines[:turn]:
        speeds, more = engine.measure(path, plan, threads)
        one[engine.name] = speeds
        if engine is weft:
            seen["more"].append(more)
    seen["rounds"].append(one)
    seen["first"].append({e.name: e.first_token(path, threads) for e in engines})
    four = weft.bench(path, "-t", str(2 * threads), "-p", "1", "-n", str(plan[2]), "--no-limits")
    seen["four"].append(four["decode_tps"]["median"] / one["weft"]["decode"])


def speed_lines(name, seen, peers):
    for at in seen["rounds"][0]["weft"]:
        ratios, ours, theirs = [], [], {p.name: [] for p in peers}
        for one in seen["rounds"]:
            speed = one["weft"][at]
            others = {p.name: one[p.name][at] for p in peers if at in one.get(p.name, {})}
            ours.append(speed)
            for peer, value in others.items():
                theirs[peer].append(value)
            if others:
                ratios.append(speed / max(others.values()))
        shares = [m["shares"][at] for m in seen["more"] if m["shares"].get(at)]
        best = max((p for p in theirs if theirs[p]), key=lambda p: middle(theirs[p]), default=None)
        peer = f"{middle(theirs[best]):.1f} ({best})" if best else "–"
        kind = "of read" if at.startswith("decode") else "of compute"
        share = f"{100 * middle(shares):.0f}% {kind}" if shares else "–"
        print(f"| {name}: {at} | {middle(ours):.1f} | {peer} | "
              f"{spread(ratios) if ratios else '–'} | {share} |")


def other_lines(name, seen, peers):
    ours = [one["weft"] for one in seen["first"]]
    line = f"| {name} | {spread(ours)} "
    if peers:
        names = {p.name for p in peers}  # a round has those that took part in it
        theirs = {n: [one[n] for one in seen["first"] if n in one] for n in names}
        ratios = [one["weft"] / min(one[n] for n in names & set(one)) for one in seen["first"]]
        best = min((n for n in theirs if theirs[n]), key=lambda n: middle(theirs[n]))
        line += f"| {middle(theirs[best]):.2f} ({best}) "
        line += f"| {spread(ratios)} "
    else:
        line += "| – | – "
    rss = max(m["rss"] for m in seen["more"])
    bound = 1.05 * os.path.getsize(seen["path"]) + seen["more"][0]["cache"] + 64e6
    print(f"{line}| {spread(seen['four'])} | {rss / 1e6:.0f} | {bound / 1e6:.0f} |")


def print_tables(threads, peers, results):
    more = [m for seen in results.values() for m in seen["more"]]
    limits = [m["limits"] for m in more if m["limits"]]
    rounds = sorted({len(seen["rounds"]) for seen in results.values()})
    print(f"## {cpu_name()}\n")
    kernels = ", ".join(sorted({m["cpu"] for m in more}))
    print(f"{' or '.join(map(str, rounds))} rounds, {threads} threads, weft's kernels {kernels}; "
          "the median, and of ratios the least and the most in brackets.")
    if limits:
        keys = ("read_all", "int8_all", "f32_all", "bf16_all")
        read, int8, f32, bf16 = ([m[k] / 1e9 for m in limits] for k in keys)
        print(f"Limits of all threads in the same runs: read {spread(read, 1)} GB/s, int8 "
              f"{spread(int8, 0)} GOPS, f32 {spread(f32, 0)}, bf16 {spread(bf16, 0)} GFLOPS.")
    print("\n| tokens a second | weft | best peer | ratio | weft's share of the limit |")
    print("|---|--:|--:|--:|--:|")
    for name, seen in results.items():
        speed_lines(name, seen, peers)
    print(f"\n| | load to first token, s | best peer | ratio | {2 * threads} threads to "
          f"{threads}, decode | resident, MB | bound: file × 1.05 + cache + 64 |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name, seen in results.items():
        other_lines(name, seen, peers)


def print_checks(weft, models, threads):
    """The hash of logits beside the scalar path's, and how far default prefill is from it."""
    print("\n| | decode's logits | prefill's, reproducible | prefill, default / reproducible | "
          "mean KL | largest difference |")
    print("|---|---|---|--:|--:|--:|")
    for name, path in models.items():
        h = weft.bench(path, "-t", str(threads), "--hash")["hash"]
        same = {True: "as scalar's", False: "**differ**"}
        print(f"| {name} | {h['decode']} {same[h['decode'] == h['decode_scalar']]} | "
              f"{h['prefill']} {same[h['prefill'] == h['prefill_scalar']]} | "
              f"{h['tps_default']:.0f} / {h['tps_reproducible']:.0f} | {h['mean_kl']:.2g} | "
              f"{h['largest_difference']:.2g} |")


def load_results(path, models):
    """The rounds of former calls, and room for more."""
    results = {}
    if path and os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            results = json.load(file)
    for name, model in models.items():
        results.setdefault(name, {"path": model, "rounds": [], "more": [], "first": [], "four": []})
    return {name: results[name] for name in MODELS if name in results}


def save_results(path, results):
    if path:
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(results, file)
        os.replace(path + ".new", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", required=True)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=COMMAND")
    parser.add_argument("--model", action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--make", metavar="DIR")
    parser.add_argument("--maker")
    parser.add_argument("--vocab")
    parser.add_argument("--quantize")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="tiny runs, to try the script")
    parser.add_argument("--cpu", metavar="NAME", help="the variant of weft's kernels")
    parser.add_argument("--results", metavar="FILE", help="to keep rounds in and to add to")
    parser.add_argument("--no-check", action="store_true", help="without the logits' hash")
    options = parser.parse_args()
    models = dict(m.split("=", 1) for m in options.model)
    unknown = [name for name in models if name not in MODELS]
    if unknown:
        parser.error(f"--model: {unknown[0]} is none of {', '.join(MODELS)}")
    if options.make:
        if not (options.maker and options.vocab and options.quantize):
            parser.error("--make needs --maker, --vocab and --quantize")
        make_models(options, models)
    results = load_results(options.results, models)
    if not results:
        parser.error("no --model")
    weft, peers = Weft(options.weft, options.cpu), [Peer(p) for p in options.peer]
    for i in range(options.rounds):
        for name in [n for n in MODELS if n in models]:
            print(f"round {i + 1} of {options.rounds}: {name}", file=sys.stderr)
            plan = QUICK if options.quick else MODELS[name]
            measure_round(weft, peers, models[name], plan, options.threads, results[name])
            save_results(options.results, results)
    print_tables(options.threads, peers, results)
    if not options.no_check:
        print_checks(weft, models, options.threads)


if __name__ == "__main__":
    main()
