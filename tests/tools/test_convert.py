#!/usr/bin/env python3
"""weft convert: the folders of the reference models as GGUF files. Each must have the tensors of
the file that the usual converter made, give the folder's logits, and split and merge to the same
bytes; what cannot be converted is refused by name. Usage: test_convert.py WEFT SHARED (77: no data)
"""
import json
import os
import subprocess
import sys
import tempfile

# Refused: not known, or a layout of GGUF files that is not written.
REFUSED = set()
# Of tests/data/reference: what a GGUF file of the architecture cannot say.
UNSAID = {"falcon-alibi": "bias", "gpt-oss-untruncated": "rope", "ministral": "layers",
          "phi2-norms": "layernorm", "qwen3-moe-mixed": "layers"}
# What is as good otherwise: a row of [1, n], and heads that nothing turns in the folder's order.
OTHERWISE = {"ernie4.5-moe": ("exp_probs_b.bias",),
             "granite-hybrid": ("attn_q.weight", "attn_k.weight")}
# q and k of llama and the value heads of qwen3.5 change places, so that sums come in another order.
TOLERANCE = 2e-5

weft, shared = sys.argv[1:3]
models = os.path.join(shared, "reference", "models")
own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "reference")
if not os.path.isdir(models):
    print("skipped: no", models)
    sys.exit(77)
failures = []


def run(*arguments):
    return subprocess.run([weft, *arguments], capture_output=True, text=True)


def logits(path, ids):
    done = run("logits", "-m", path, "--ids", " ".join(map(str, ids)), "--float")
    return json.loads(done.stdout)["last_logits"] if done.returncode == 0 else None


def vectors(path, texts):
    prompts = [word for text in texts for word in ("-p", text)]
    done = run("embed", "-m", path, "--float", "--json", "--no-normalize", *prompts)
    return sum(json.loads(done.stdout)["embeddings"], []) if done.returncode == 0 else None


def check_tensors(name, original, made):
    """The tensors of the usual converter's file, where there is one."""
    if not os.path.exists(original):
        return
    done = json.loads(run("diff", original, made, "--tensors", "--json").stdout)
    for t in done["tensors"]:
        if t.get("max", 1) > 1e-6 and not t["name"].endswith(OTHERWISE.get(name, ())):
            failures.append(f"{name}: {t}")


def check_logits(name, made, folder, described):
    with open(os.path.join(described, "reference.json"), encoding="utf-8") as f:
        reference = json.load(f)
    prompts = reference["prompts"]
    if reference["kind"] == "encoder":
        texts = [prompt.get("text", "ab c") for prompt in prompts]
        a, b = vectors(folder, texts), vectors(made, texts)
    else:
        a, b = logits(folder, prompts[1]["tokens"]), logits(made, prompts[1]["tokens"])
    if a is None or b is None:
        failures.append(f"{name}: nothing from the {'folder' if a is None else 'file'}")
        return
    error = max(abs(x - y) for x, y in zip(a, b))
    print(f"{name:15} largest difference {error:.1e}", flush=True)
    if not error <= TOLERANCE:
        failures.append(f"{name}: results differ by {error:.2e}")


def check_shards(work, made):
    prefix = os.path.join(work, "shard")
    done = run("split", made, prefix, "--tensors", "4")
    shards = sorted(f for f in os.listdir(work) if f.startswith("shard"))
    if done.returncode or len(shards) < 2 or not shards[0].endswith(f"-of-{len(shards):05}.gguf"):
        failures.append(f"split: {done.stderr} {shards}")
        return
    whole = os.path.join(work, "whole.gguf")
    done = run("merge", os.path.join(work, shards[-1]), whole)
    with open(made, "rb") as a, open(whole, "rb") as b:
        if done.returncode or a.read() != b.read():
            failures.append(f"merge: another file {done.stderr}")


def convert(work, name):
    folder, made = os.path.join(models, name, "hf"), os.path.join(work, name + ".gguf")
    done = run("convert", folder, made)
    if name in REFUSED:
        if done.returncode != 1 or os.path.exists(made) or len(done.stderr.splitlines()) != 1:
            failures.append(f"{name}: not refused in one line: {done.stderr}")
    elif done.returncode:
        failures.append(f"{name}: {done.stderr.strip()}")
    else:
        check_tensors(name, os.path.join(models, name, name + "-f32.gguf"), made)
        check_logits(name, made, folder, os.path.join(models, name))
        if name == "llama":
            check_shards(work, made)


def ids_of(path, texts):
    """The ids of each text, in one call."""
    lines = "".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in enumerate(texts))
    done = subprocess.run([weft, "tokenize", "-m", path, "--jsonl"], input=lines,
                          capture_output=True, text=True)
    return [json.loads(line)["ids"] for line in done.stdout.splitlines()] or done.stderr


def convert_unigram(work):
    """SentencePiece's unigrams with a map of characters: the texts of their cases have the folder's
    ids. (But those that begin with the mark of a space: folders put no other one in front.)"""
    data = os.path.join(own, "..", "tokenizers", "unigram-precompiled")
    folder, made = os.path.join(work, "unigram"), os.path.join(work, "unigram.gguf")
    os.mkdir(folder)
    for each in ("config.json", "model.safetensors"):
        os.symlink(os.path.join(models, "llama", "hf", each), os.path.join(folder, each))
    os.symlink(os.path.abspath(data + ".json"), os.path.join(folder, "tokenizer.json"))
    done = run("convert", folder, made)
    if done.returncode:
        failures.append(f"unigram: {done.stderr.strip()}")
        return
    with open(data + ".cases", encoding="utf-8") as f:
        cases = [json.loads(line) for line in f]
    texts = [case["text"] for case in cases if not case["text"].startswith("\u2581")]
    a, b = ids_of(folder, texts), ids_of(made, texts)
    same = sum(x == y for x, y in zip(a, b))
    print(f"unigram: {same} of {len(texts)} texts have the folder's ids")
    if a != b or len(a) != len(texts):
        failures.append(f"unigram: other ids: {[t for t, x, y in zip(texts, a, b) if x != y]}")


def write_tokenizer(path, n_tokens):
    """Bytes and no merges, as far as the embedding goes."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = [chr(byte) for byte in printable] + [chr(256 + i) for i in range(len(others))]
    vocab = {letter: i for i, letter in enumerate(letters[:n_tokens])}
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"model": {"type": "BPE", "vocab": vocab, "merges": []}, "added_tokens": [],
                   "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
                   "decoder": {"type": "ByteLevel"}}, f)


def convert_own(work, name):
    """A folder of tests/data, which has no tokenizer."""
    source, folder = os.path.join(own, name), os.path.join(work, name)
    made = os.path.join(work, name + "-own.gguf")
    os.mkdir(folder)
    for each in ("config.json", "model.safetensors"):
        os.symlink(os.path.join(source, each), os.path.join(folder, each))
    with open(os.path.join(source, "config.json"), encoding="utf-8") as f:
        config = json.load(f)
    write_tokenizer(os.path.join(folder, "tokenizer.json"),
                    config.get("text_config", config)["vocab_size"])
    done = run("convert", folder, made)
    if name in UNSAID:
        if done.returncode != 1 or not UNSAID[name] in done.stderr:
            failures.append(f"{name}: not refused for {UNSAID[name]}: {done.stderr}")
    elif done.returncode:
        failures.append(f"{name}: {done.stderr.strip()}")
    else:
        check_tensors(name, os.path.join(source, name + ".gguf"), made)
        check_logits(name, made, folder, source)
        check_quantised(work, name, made)


def check_quantised(work, name, made):
    small = os.path.join(work, name + "-q8_0.gguf")
    if run("quantize", made, small, "Q8_0").returncode:
        failures.append(f"{name}: cannot be quantised")
    elif logits(small, [1, 5, 7]) is None and vectors(small, ["ab c"]) is None:
        failures.append(f"{name}: nothing from the quantised file")


with tempfile.TemporaryDirectory() as folder_of_files:
    convert_unigram(folder_of_files)
    for each in sorted(os.listdir(own)):
        if os.path.isdir(os.path.join(own, each)):
            convert_own(folder_of_files, each)
    for each in sorted(os.listdir(models)):
        if os.path.isdir(os.path.join(models, each, "hf")):
            convert(folder_of_files, each)
for line in failures:
    print("FAILED:", line)
sys.exit(1 if failures else 0)
