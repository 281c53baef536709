#!/usr/bin/env python3
"""Tiny random models whose matrices are 8-bit floats with scales, as published folders have them,
and the logits of the dequantised float32 weights, for the tests of src/model.

make_f8_reference.py [NAME…]   writes reference/NAME/ beside this file: config.json,
model.safetensors, reference.json (as make_attention_reference.py says); and, without names,
reference/f8-codes.json: what the 256 codes of each type are in float32.

Needs torch (its float8 types on the CPU) and transformers. Scales are arbitrary float32 numbers (or
bf16 ones, as compressed-tensors has them); sizes leave a last block cut short both ways."""

import json
import os
import shutil
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file

from make_attention_reference import BASE, VOCAB, describe, fill

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reference")
E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
FP8 = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic"}
ODD = dict(hidden_size=40, intermediate_size=56, head_dim=10)  # 40 = 2 · 16 + 8, 56 = 32 + 24


def tensors(strategy, **more):
    weights = {"num_bits": 8, "type": "float", "strategy": strategy, "symmetric": True,
               "dynamic": False, "observer": "minmax", "observer_kwargs": {}, "actorder": None,
               "block_structure": None, "group_size": None, **more}
    return {"quant_method": "compressed-tensors", "format": "float-quantized",
            "quantization_status": "compressed", "ignore": ["lm_head"], "kv_cache_scheme": None,
            "config_groups": {"group_0": {
                "targets": ["Linear"], "weights": weights, "output_activations": None,
                "input_activations": {"num_bits": 8, "type": "float", "dynamic": True,
                                      "strategy": "token"}}}}


MODELS = {
    "llama-f8-block": ("Llama", ODD, {**FP8, "weight_block_size": [16, 32]}),
    "llama-f8-plain": ("Llama", dict(ODD, tie_word_embeddings=True), None),
    "phi3-f8-tensor": ("Phi3", {}, tensors("tensor")),
    "qwen3-f8-channel": ("Qwen3", dict(head_dim=8), tensors("channel")),
    "deepseek-v3-f8": ("DeepseekV3", dict(
        num_hidden_layers=3, num_key_value_heads=4, q_lora_rank=24, kv_lora_rank=16,
        qk_nope_head_dim=12, qk_rope_head_dim=8, v_head_dim=10, moe_intermediate_size=24,
        n_routed_experts=4, num_experts_per_tok=2, n_shared_experts=1, n_group=2, topk_group=1,
        first_k_dense_replace=1, norm_topk_prob=True, routed_scaling_factor=1.5),
        {**FP8, "weight_block_size": [16, 16]}),
}


def is_quantised(name, w, tied):
    out = "lm_head" in name or ("embed" in name and not tied)
    return w.dim() == 2 and not out and not name.endswith("mlp.gate.weight")


def amax_of_blocks(w, rows, cols):
    """The largest value of each block, and a function that spreads block values over w's shape."""
    down, across = -(-w.shape[0] // rows), -(-w.shape[1] // cols)
    padded = torch.zeros(down * rows, across * cols)
    padded[: w.shape[0], : w.shape[1]] = w.abs()
    spread = lambda s: s.repeat_interleave(rows, 0).repeat_interleave(cols, 1)[
        : w.shape[0], : w.shape[1]]
    return padded.reshape(down, rows, across, cols).amax((1, 3)), spread


def quantise(name, w, method):
    """The tensors of the folder that stand for w, and the values that they have."""
    if method is None:
        q = w.to(E5M2)
        return {name: q}, q.float()
    if method["quant_method"] == "fp8":
        rows, cols = method["weight_block_size"]
        amax, spread = amax_of_blocks(w, rows, cols)
        scale, end = amax / 448, "_scale_inv"
    else:
        one = method["config_groups"]["group_0"]["weights"]["strategy"] == "tensor"
        amax, spread = amax_of_blocks(w, w.shape[0] if one else 1, w.shape[1])
        scale, end = (amax / 448).bfloat16(), "_scale"
    whole = spread(scale.float())
    q = (w / whole).clamp(-448, 448).to(E4M3)
    scale = scale.reshape(1) if scale.numel() == 1 else scale
    return {name: q, name + end: scale.contiguous()}, q.float() * whole


def make_folder(model, method, tied, folder):
    """Writes the folder; a model of the values that its tensors have."""
    config = model.config
    with tempfile.TemporaryDirectory() as plain:
        model.save_pretrained(plain)  # under the published names
        packed, values = {}, {}
        for name, w in load_file(f"{plain}/model.safetensors").items():
            if is_quantised(name, w, tied):
                more, values[name] = quantise(name, w, method)
                packed.update(more)
            else:
                packed[name], values[name] = w.half() if w.dim() > 1 else w, w
        save_file(values, f"{plain}/model.safetensors", {"format": "pt"})
        os.makedirs(folder, exist_ok=True)
        save_file(packed, f"{folder}/model.safetensors", {"format": "pt"})
        shutil.copy(f"{plain}/config.json", f"{folder}/config.json")
        model = type(model).from_pretrained(plain, attn_implementation="eager",
                                            dtype=torch.float32).eval()
    with open(f"{folder}/config.json") as f:
        said = json.load(f)
    if method:
        said["quantization_config"] = method
    with open(f"{folder}/config.json", "w") as f:
        json.dump(said, f, indent=2)
    assert config.vocab_size == VOCAB
    return model


def make(name, folder):
    family, more, method = MODELS[name]
    config = getattr(transformers, family + "Config")(**{**BASE, **more})
    kind = getattr(transformers, family + "ForCausalLM")
    for seed in range(1, 50):
        generator = torch.Generator().manual_seed(seed)
        torch.manual_seed(seed)
        model = kind._from_config(config, attn_implementation="eager").float().eval()
        fill(model, generator)
        model = make_folder(model, method, more.get("tie_word_embeddings", False), folder)
        prompts = [describe(model, torch.randint(5, VOCAB, (n,), generator=generator).tolist())
                   for n in (12, 40)]
        if min(min(p["greedy"]["margins"]) for p in prompts) > 0.02:
            break
    else:
        sys.exit(f"{name}: no seed gives clear choices")
    with open(f"{folder}/reference.json", "w") as f:
        json.dump({"name": name, "kind": "causal-lm", "vocab_size": VOCAB, "seed": seed,
                   "prompts": prompts}, f, separators=(",", ":"))
    print(name, "seed", seed, sum(os.path.getsize(f"{folder}/{x}") for x in os.listdir(folder)))


def make_codes():
    """Bits of the float32 values, as numbers; of NaN codes only that they are: null."""
    codes = torch.arange(256, dtype=torch.uint8)
    types = {"f8_e4m3": E4M3, "f8_e5m2": E5M2, "f8_e8m0": torch.float8_e8m0fnu}
    table = {}
    for name, dtype in types.items():
        x = codes.view(dtype).float()
        bits = x.view(torch.int32).tolist()
        table[name] = [None if v != v else b & 0xffffffff for v, b in zip(x.tolist(), bits)]
    with open(f"{HERE}/f8-codes.json", "w") as f:
        json.dump(table, f, separators=(",", ":"))


if __name__ == "__main__":
    torch.set_num_threads(1)
    if not sys.argv[1:]:
        make_codes()
    for which in sys.argv[1:] or MODELS:
        make(which, os.path.join(HERE, which))
