#!/usr/bin/env python3
"""Times weft's tokeniser beside the package tokenizers: same vocabulary and text, one thread.

time_tokenizer.py WEFT VOCABULARY.gguf TEXT_FILE [ROUNDS]
The vocabulary is a GGUF file of a byte-level BPE with GPT-2's or Llama 3's pattern. Both must give
the same ids. Rounds alternate; medians count. Needs: pip install tokenizers gguf
"""
import os
import statistics
import subprocess
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
from gguf import GGUFReader  # noqa: E402
from tokenizers import Regex, Tokenizer, models, pre_tokenizers  # noqa: E402

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
          r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def peer_of(path):
    fields = GGUFReader(path).fields
    strings = lambda key: [bytes(fields[key].parts[i]).decode() for i in fields[key].data]
    tokens, merges = strings("tokenizer.ggml.tokens"), strings("tokenizer.ggml.merges")
    pre = strings("tokenizer.ggml.pre")[0]
    t = Tokenizer(models.BPE({text: i for i, text in enumerate(tokens)},
                             [tuple(m.split(" ", 1)) for m in merges],
                             ignore_merges=pre == "llama-bpe"))
    if pre == "llama-bpe":
        t.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    else:
        t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return t


def weft_run(weft, vocabulary, arguments):
    command = [weft, "tokenize", "-m", vocabulary, "--no-bos", "--no-special", *arguments]
    began = time.perf_counter()
    out = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    return time.perf_counter() - began, out


def main():
    weft, vocabulary, path = sys.argv[1:4]
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    text = open(path, encoding="utf-8", newline="").read()
    megabytes = len(text.encode()) / 1e6
    peer = peer_of(vocabulary)
    ours, theirs = [], []
    for _ in range(rounds):
        began = time.perf_counter()
        ids = peer.encode(text, add_special_tokens=False).ids
        theirs.append(time.perf_counter() - began)
        spent, out = weft_run(weft, vocabulary, ["-f", path])
        empty, _ = weft_run(weft, vocabulary, ["-p", "x"])  # loading the vocabulary
        ours.append(spent - empty)
        if [int(i) for i in out.split()] != ids:
            sys.exit("the ids differ")
    a, b = statistics.median(ours), statistics.median(theirs)
    print(f"{os.path.basename(vocabulary)}: {megabytes:.1f} MB, {len(ids)} ids: "
          f"weft {megabytes / a:.1f} MB/s, tokenizers {megabytes / b:.1f} MB/s, ratio {b / a:.1f}")


main()
