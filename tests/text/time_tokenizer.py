#!/usr/bin/env python3
"""Times weft's tokeniser beside the package tokenizers: same vocabulary and text, one thread.

time_tokenizer.py WEFT VOCABULARY.gguf TEXT_FILE [ROUNDS]
The vocabulary is a GGUF file of a byte-level BPE with GPT-2's or Llama 3's pattern, of Llama 2's
SentencePiece BPE, or Gemma 4's BPE over characters. Both must give the same ids.
Rounds alternate; medians count. Needs: pip install tokenizers gguf
"""
import os
import statistics
import subprocess
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
from gguf import GGUFReader  # noqa: E402
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers  # noqa: E402

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
          r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def merges_of(tokens, scores):
    """SentencePiece's merges: every pair of pieces that make a third, the best score first."""
    ids = {text: i for i, text in enumerate(tokens)}
    pairs = [(-scores[i], ids[text[:k]], ids[text[k:]], text[:k], text[k:])
             for i, text in enumerate(tokens) for k in range(1, len(text))
             if text[:k] in ids and text[k:] in ids]
    return [pair[3:] for pair in sorted(pairs, key=lambda p: p[:3])]


def peer_of(path):
    fields = GGUFReader(path).fields
    strings = lambda key: [bytes(fields[key].parts[i]).decode() for i in fields[key].data]
    kind = strings("tokenizer.ggml.model")[0]
    if kind in ("llama", "gemma4"):
        tokens = strings("tokenizer.ggml.tokens")
        scores = fields["tokenizer.ggml.scores"] if kind == "llama" else None
        merges = (merges_of(tokens, [float(scores.parts[i][0]) for i in scores.data]) if scores
                  else [tuple(m.split(" ", 1)) for m in strings("tokenizer.ggml.merges")])
        t = Tokenizer(models.BPE({text: i for i, text in enumerate(tokens)}, merges,
                                 unk_token="<unk>", fuse_unk=True, byte_fallback=True))
        spaces = normalizers.Replace(" ", "\u2581")
        if kind == "llama":
            t.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), spaces])
        else:
            t.normalizer = spaces
            t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
        return t
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
