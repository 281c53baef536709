#!/usr/bin/env python3
"""Times weft's tokeniser beside the package tokenizers: same vocabulary and text, one thread.

time_tokenizer.py WEFT VOCABULARY.gguf TEXT_FILE [ROUNDS]
The vocabulary is a GGUF file of a byte-level BPE with GPT-2's or Llama 3's pattern ("qwen2:FILE":
Llama 3's tokens with Qwen 2's pattern), of Llama 2's SentencePiece BPE, Gemma 4's BPE over
characters, or BERT's WordPiece. Both must give the same ids. Rounds alternate; medians count.
Needs: pip install tokenizers gguf

time_tokenizer.py WEFT VOCABULARY.gguf --hostile
MB/s of texts of one kind each, of 0.25 and of 1 MB, by CPU time; exits with 1 where that grows by
more than twice what the length does.
"""
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
from gguf import GGUFReader  # noqa: E402
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers  # noqa: E402

QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
         r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
          r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def merges_of(tokens, scores):
    """SentencePiece's merges: every pair of pieces that make a third, the best score first."""
    ids = {text: i for i, text in enumerate(tokens)}
    pairs = [(-scores[i], ids[text[:k]], ids[text[k:]], text[:k], text[k:])
             for i, text in enumerate(tokens) for k in range(1, len(text))
             if text[:k] in ids and text[k:] in ids]
    return [pair[3:] for pair in sorted(pairs, key=lambda p: p[:3])]


def word_pieces(tokens):
    """GGUF marks beginnings of words, the package what goes on."""
    def name(t):
        if t.startswith("\u2581"):
            return t[1:]
        return t if t.startswith("[") and len(t) > 1 else "##" + t

    names = [name(t) for t in tokens]
    t = Tokenizer(models.WordPiece({text: i for i, text in enumerate(names)}, unk_token="[UNK]",
                                   max_input_chars_per_word=100))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return t


def peer_of(path, pre):
    fields = GGUFReader(path).fields
    strings = lambda key: [bytes(fields[key].parts[i]).decode() for i in fields[key].data]
    kind = strings("tokenizer.ggml.model")[0]
    if kind == "bert":
        return word_pieces(strings("tokenizer.ggml.tokens"))
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
    pre = pre or strings("tokenizer.ggml.pre")[0]
    t = Tokenizer(models.BPE({text: i for i, text in enumerate(tokens)},
                             [tuple(m.split(" ", 1)) for m in merges],
                             ignore_merges=pre == "llama-bpe"))
    if pre == "qwen2":
        t.normalizer = normalizers.NFC()
    if pre in ("llama-bpe", "qwen2"):
        pattern = LLAMA3 if pre == "llama-bpe" else QWEN2
        t.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    else:
        t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return t


def weft_run(weft, vocabulary, pre, arguments):
    command = [weft, "tokenize", "-m", vocabulary, "--no-bos", "--no-special", *arguments]
    if pre:
        command += ["--pre", pre]
    began = time.perf_counter()
    out = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    return time.perf_counter() - began, out


def unnamed(vocabulary):
    """A copy of the file that names an unknown pre-tokeniser, so that another can be asked for."""
    data = open(vocabulary, "rb").read()
    at = data.index(b"tokenizer.ggml.pre")
    copy = tempfile.NamedTemporaryFile(suffix=".gguf")
    copy.write(data[:at] + data[at:].replace(b"llama-bpe", b"llama-xxx", 1))
    copy.flush()
    return copy


HOSTILE = {"one letter": "a", "digits": "7", "blanks": " ", "line breaks": "\n", "dots": ".",
           "emoji": "\U0001f600", "combining marks": "e" + "\u0301" * 50,
           "scripts": "a\u044f\u4e2d",
           "quotes": "'s", "no words": "\u4e2d\u6587", "blank and letter": " a", "controls": "\x01"}


def hostile(weft, vocabulary):
    def once(arguments):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        weft_run(weft, vocabulary, None, arguments)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    def seconds(unit, size):
        with tempfile.NamedTemporaryFile() as file:
            file.write((unit * (size // len(unit.encode()))).encode())
            file.flush()
            return max(min(once(["-f", file.name]) for _ in range(3)) - base, 2e-3)

    base = min(once(["-p", "x"]) for _ in range(5))
    bad = False
    for name, unit in HOSTILE.items():
        small, large = seconds(unit, 250_000), seconds(unit, 1_000_000)
        grows = large > 0.1 and large > 8 * small
        bad |= grows
        print(f"{os.path.basename(vocabulary)}: {name}: {0.25 / small:.1f} and {1 / large:.1f} MB/s"
              + (" GROWS" if grows else ""), flush=True)
    sys.exit(bad)


def main():
    weft, vocabulary, path = sys.argv[1:4]
    if path == "--hostile":
        hostile(weft, vocabulary)
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    pre, file = None, None
    if vocabulary.startswith("qwen2:"):
        pre, vocabulary = vocabulary.split(":", 1)
        file = unnamed(vocabulary)
    text = open(path, encoding="utf-8", newline="").read()
    megabytes = len(text.encode()) / 1e6
    peer = peer_of(vocabulary, pre)
    name = pre or os.path.basename(vocabulary)
    vocabulary = file.name if file else vocabulary
    ours, theirs = [], []
    for _ in range(rounds):
        began = time.perf_counter()
        ids = peer.encode(text, add_special_tokens=False).ids
        theirs.append(time.perf_counter() - began)
        spent, out = weft_run(weft, vocabulary, pre, ["-f", path])
        empty, _ = weft_run(weft, vocabulary, pre, ["-p", "x"])  # loading the vocabulary
        ours.append(spent - empty)
        if [int(i) for i in out.split()] != ids:
            sys.exit(f"{name}: the ids differ")
    a, b = statistics.median(ours), statistics.median(theirs)
    print(f"{name}: {megabytes:.1f} MB, {len(ids)} ids: "
          f"weft {megabytes / a:.1f} MB/s, tokenizers {megabytes / b:.1f} MB/s, ratio {b / a:.1f}")


main()
