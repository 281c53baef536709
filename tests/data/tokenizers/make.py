#!/usr/bin/env python3
"""Small tokenisers of every kind, and the ids that their own libraries give.

Trains on the sentences below with the Python packages tokenizers (NAME.json) and sentencepiece
(NAME.gguf, a vocabulary-only file), then writes NAME.cases: a JSON object a line with "text" and
"ids" (no special tokens added), for the texts of TEXTS. Needs: pip install tokenizers sentencepiece
"""
import io
import json
import os
import struct

import sentencepiece
from tokenizers import (Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers,
                        trainers)

HERE = os.path.dirname(os.path.abspath(__file__))

WORDS = """the quick brown fox jumps over a lazy dog while small birds sing in tall trees and
children read old books about far away islands where ships once came with salt and silver
nobody knows whether running runners ran faster than walking walkers walked or unhappiness is
unhappy café naïve Ångström straße ﬁnal ½ cup 12 345 6789 Tokenisers tokenise tokens
don't can't it's we'll they've 漢字 仮名 かな 中文 Привет мир γειά σου""".split()

TEXTS = [
    "", " ", "  ", "the quick brown fox", " the  quick   brown ", "The QUICK Brown FOX",
    "don't can't; it's: we'll!", "unhappiness unwalked rerunning", "café CAFÉ cafe\u0301 naïve",
    "Ångström ﬁnal ½ ﬀ ＦＵＬＬ　ｗｉｄｔｈ", "漢字かな交じり文", "Привет, мир!", "γειά σου ΣΑΣ",
    "a\tb\nc\r\nd\u00a0e\u3000f", "zzzz qqqq xxxx", "🙂 smile 👩‍👩‍👧 family", "x" * 120, "a.b,c;d:e-f_g",
    "\u0000control\u0007chars\u200bzero", "İstanbul ı ß ẞ", "▁mark ▁ inside▁word", "12 345 6789 0.5",
    "e\u0301\u0323 \u1e69 s\u0323\u0307", "한국어 각", "[MASK] <unk> </s> the", "tail space ", "\n\n",
]


def corpus():
    lines, state = [], 1
    for _ in range(400):
        line = []
        for _ in range(8):
            state = (state * 1103515245 + 12345) % 2**31
            line.append(WORDS[(state >> 8) % len(WORDS)])
        lines.append(" ".join(line))
    return lines


def write_cases(name, encode):
    with open(f"{HERE}/{name}.cases", "w", encoding="utf-8") as f:
        for text in TEXTS:
            f.write(json.dumps({"text": text, "ids": encode(text)}, ensure_ascii=True) + "\n")


def save(name, tokenizer):
    parsed = json.loads(tokenizer.to_str())
    with open(f"{HERE}/{name}.json", "w", encoding="utf-8") as f:
        json.dump(parsed, f, ensure_ascii=True, separators=(",", ":"))
        f.write("\n")
    write_cases(name, lambda text: tokenizer.encode(text, add_special_tokens=False).ids)


def wordpiece(name, lowercase):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    t.train_from_iterator(corpus(), trainers.WordPieceTrainer(
        vocab_size=300, special_tokens=special, show_progress=False))
    save(name, t)


def unigram(name, normalizer, byte_fallback=False):
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizer
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.decoder = decoders.Metaspace()
    t.train_from_iterator(corpus(), trainers.UnigramTrainer(
        vocab_size=260, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>",
        show_progress=False))
    if byte_fallback:
        parsed = json.loads(t.to_str())
        lowest = min(score for _, score in parsed["model"]["vocab"])
        parsed["model"]["vocab"] += [[f"<0x{b:02X}>", lowest] for b in range(256)]
        parsed["model"]["byte_fallback"] = True
        t = Tokenizer.from_str(json.dumps(parsed))
    save(name, t)


def plain_bpe(name):
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    t.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(),
                                         normalizers.Lowercase(),
                                         normalizers.Replace(Regex("[0-9]{2,}"), "#"),
                                         normalizers.Replace("fox", "cat")])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Whitespace(),
        pre_tokenizers.Split("-", "merged_with_next"),
        pre_tokenizers.Split("_", "merged_with_previous"),
        pre_tokenizers.Split(Regex("[xz]"), "contiguous"),
        pre_tokenizers.Split("q", "removed")])
    t.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=260, special_tokens=["<unk>"], show_progress=False))
    save(name, t)


# ---- SentencePiece as GGUF ----

def gguf_string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def gguf_array(kind, items):
    head = struct.pack("<IIQ", 9, kind, len(items))
    if kind == 8:
        return head + b"".join(gguf_string(i) for i in items)
    code = {0: "B", 5: "i", 6: "f"}[kind]
    return head + struct.pack(f"<{len(items)}{code}", *items)


def write_gguf(path, values):
    with open(path, "wb") as f:
        f.write(b"GGUF" + struct.pack("<IQQ", 3, 0, len(values)))
        for key, value in values:
            f.write(gguf_string(key) + value)


def sentencepiece_unigram(name, rule_rows):
    rules = f"{HERE}/rules.tsv"
    with open(rules, "w", encoding="utf-8") as f:
        for source, target in rule_rows:
            hexes = [" ".join(f"{ord(c):04X}" for c in s) for s in (source, target)]
            f.write("\t".join(hexes) + "\n")
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus()), model_writer=model, vocab_size=140,
        normalization_rule_tsv=rules, pad_id=0, eos_id=1, unk_id=2, bos_id=-1, num_threads=1,
        minloglevel=2)
    os.unlink(rules)
    p = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    from sentencepiece import sentencepiece_model_pb2
    proto = sentencepiece_model_pb2.ModelProto.FromString(model.getvalue())
    spec = proto.normalizer_spec
    string = lambda s: struct.pack("<I", 8) + gguf_string(s)
    flag = lambda b: struct.pack("<IB", 7, b)
    number = lambda u: struct.pack("<II", 4, u)
    key = "tokenizer.ggml."
    write_gguf(f"{HERE}/{name}.gguf", [
        ("general.architecture", string("t5")), (key + "model", string("t5")),
        (key + "tokens", gguf_array(8, [piece.piece for piece in proto.pieces])),
        (key + "scores", gguf_array(6, [piece.score for piece in proto.pieces])),
        (key + "token_type", gguf_array(5, [piece.type for piece in proto.pieces])),
        (key + "eos_token_id", number(1)), (key + "unknown_token_id", number(2)),
        (key + "add_space_prefix", flag(spec.add_dummy_prefix)),
        (key + "remove_extra_whitespaces", flag(spec.remove_extra_whitespaces)),
        (key + "precompiled_charsmap", gguf_array(0, list(spec.precompiled_charsmap))),
    ])
    write_cases(name, lambda text: p.encode(text))
    return spec.precompiled_charsmap


def main():
    wordpiece("wordpiece-uncased", True)
    wordpiece("wordpiece-cased", False)
    plain_bpe("bpe-words")
    rows = [("Å", "A\u030a"), ("ﬁ", "fi"), ("ﬀ", "ff"), ("½", "1/2"), ("é", "e\u0301"),
            ("e\u0301", "E"), ("ａ", "a"), ("\u3000", " "), ("\t", " "), ("\u00a0", " "),
            ("\u200b", ""), ("Ｆ", "F"), ("ABC", "x"), ("AB", "y"), ("\n", " "), ("\r", " ")]
    charsmap = sentencepiece_unigram("unigram-spm", rows)
    unigram("unigram-precompiled", normalizers.Sequence([
        normalizers.Precompiled(charsmap), normalizers.Strip(left=False, right=True),
        normalizers.Replace(Regex(" {2,}"), "▁")]))
    unigram("unigram-bytes", normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC()]), True)


main()
