#!/usr/bin/env python3
"""weft convert and quantize hold one tensor at a time: their peak of resident memory over folders
whose weights must be put together first, experts that lie apart and 8-bit floats with scales, is
far below the weights' size. Usage: test_convert_memory.py WEFT TESTS_DATA"""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

weft, data = sys.argv[1:3]
MIB = 1 << 20
LIMIT = 40 * MIB  # the program, its buffers, and a tensor with its source
VOCAB = 256
ITEM = {"BF16": 2, "F32": 4, "F8_E4M3": 1}
failures = []

LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_attention_heads": 4,
         "num_key_value_heads": 4, "rms_norm_eps": 1e-5, "max_position_embeddings": 256,
         "vocab_size": VOCAB, "hidden_act": "silu", "tie_word_embeddings": False}


def tensors_of(config):
    """Names and shapes of a model's tensors."""
    embd, ff = config["hidden_size"], config["intermediate_size"]
    experts = config.get("num_local_experts", 0)
    yield "model.embed_tokens.weight", [VOCAB, embd]
    yield "lm_head.weight", [VOCAB, embd]
    yield "model.norm.weight", [embd]
    for i in range(config["num_hidden_layers"]):
        base = f"model.layers.{i}."
        for norm in ("input_layernorm", "post_attention_layernorm"):
            yield base + norm + ".weight", [embd]
        for part in "qkvo":
            yield f"{base}self_attn.{part}_proj.weight", [embd, embd]
        if experts:
            yield base + "block_sparse_moe.gate.weight", [experts, embd]
        for e in range(experts):
            for name, shape in (("w1", [ff, embd]), ("w2", [embd, ff]), ("w3", [ff, embd])):
                yield f"{base}block_sparse_moe.experts.{e}.{name}.weight", shape
        for name, shape in (("gate", [ff, embd]), ("up", [ff, embd]), ("down", [embd, ff])):
            if not experts:
                yield f"{base}mlp.{name}_proj.weight", shape


def with_scales(tensors):
    for name, shape in tensors:
        is_f8 = len(shape) == 2 and "layers" in name
        yield name, shape, "F8_E4M3" if is_f8 else "BF16"
        if is_f8:
            yield name + "_scale_inv", [-(-n // 128) for n in shape], "F32"


def write_folder(folder, config, tensors):
    """All weights are zeros: a file with a hole. Returns its size."""
    os.mkdir(folder)
    header, at = {}, 0
    for name, shape, dtype in tensors:
        n = ITEM[dtype]
        for extent in shape:
            n *= extent
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + n]}
        at += n
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(folder, "model.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        f.truncate(8 + len(text) + at)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as f:
        json.dump(config, f)
    shutil.copy(os.path.join(data, "tokenizers", "unigram-precompiled.json"),
                os.path.join(folder, "tokenizer.json"))
    return at


def peak(*arguments):
    """The greatest resident size of a call in bytes; None if it failed."""
    process = subprocess.Popen([weft, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    return usage.ru_maxrss * 1024 if status == 0 else None


def check(work, name, config, tensors):
    folder, out = os.path.join(work, name), os.path.join(work, name + ".gguf")
    size = write_folder(folder, config, tensors)
    for call in (["convert", folder, out], ["quantize", folder, out, "Q4_0"]):
        most = peak(*call)
        if most is None:
            failures.append(f"{name}: weft {call[0]} failed")
            continue
        print(f"{name}: {size / MIB:.0f} MiB of weights, weft {call[0]}: {most / MIB:.0f} MiB")
        if most > LIMIT:
            failures.append(f"{name}: weft {call[0]} took {most / MIB:.0f} MiB")
        if call[0] == "convert" and os.path.getsize(out) < size * 0.99:
            failures.append(f"{name}: {os.path.getsize(out)} bytes were written")


with tempfile.TemporaryDirectory() as work_folder:
    mixture = dict(LLAMA, architectures=["MixtralForCausalLM"], model_type="mixtral",
                   hidden_size=256, intermediate_size=1024, num_hidden_layers=8,
                   num_local_experts=8, num_experts_per_tok=2)
    check(work_folder, "mixture", mixture, ((*t, "BF16") for t in tensors_of(mixture)))
    floats = dict(LLAMA, hidden_size=512, intermediate_size=4096, num_hidden_layers=12,
                  quantization_config={"quant_method": "fp8", "fmt": "e4m3",
                                       "activation_scheme": "dynamic",
                                       "weight_block_size": [128, 128]})
    check(work_folder, "8-bit floats", floats, with_scales(tensors_of(floats)))
for line in failures:
    print("FAILED:", line)
sys.exit(1 if failures else 0)
