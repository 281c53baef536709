#!/usr/bin/env python3
"""Tiny random models as transformers computes them in float32, for the tests of src/model.

make_attention_reference.py [NAME…]   writes reference/NAME/ beside this file: config.json,
model.safetensors, reference.json. make_reference.py makes those of recurrent layers.

Needs torch and transformers. Weights are random with a fixed seed and stored as F16, which both
sides widen exactly. reference.json: for two prompts the token ids, the largest logit, its lead and
the log of the sum at each position, the logits of the last one, and a greedy continuation, each
step of which is a fresh pass over the whole text (no cache is trusted)."""

import json
import os
import sys

import torch
import transformers
from safetensors.torch import load_file, save_file

VOCAB = 64
BASE = dict(vocab_size=VOCAB, hidden_size=32, intermediate_size=32, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256,
            bos_token_id=1, eos_token_id=2, pad_token_id=0)
EXPERTS = dict(num_experts=4, num_experts_per_tok=2)


def rope(**more):
    return {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, **more}}


MODELS = {
    "olmo3": ("Olmo3", dict(num_hidden_layers=4, sliding_window=16,
                            layer_types=["sliding_attention"] * 3 + ["full_attention"],
                            rope_parameters={
                                "sliding_attention": {"rope_type": "default",
                                                      "rope_theta": 10000.0},
                                "full_attention": {"rope_type": "yarn", "rope_theta": 10000.0,
                                                   "factor": 4.0, "beta_fast": 32.0,
                                                   "beta_slow": 1.0,
                                                   "original_max_position_embeddings": 64}})),
    "olmoe": ("Olmoe", dict(intermediate_size=16, norm_topk_prob=False, **EXPERTS)),
    "cohere": ("Cohere", dict(logit_scale=0.25, use_qk_norm=False, layer_norm_eps=1e-5)),
    "ernie4.5": ("Ernie4_5", dict(head_dim=8, use_bias=True)),
    "falcon-old": ("Falcon", dict(multi_query=True, parallel_attn=True, bias=False, alibi=False,
                                  new_decoder_architecture=False)),
    "glm4-moe": ("Glm4Moe", dict(head_dim=8, moe_intermediate_size=16, n_routed_experts=8,
                                 num_experts_per_tok=2, n_shared_experts=1, n_group=2,
                                 topk_group=1, first_k_dense_replace=1, norm_topk_prob=True,
                                 routed_scaling_factor=1.5, use_qk_norm=True, attention_bias=True,
                                 **rope(partial_rotary_factor=0.5))),
    "granite-moe-shared": ("GraniteMoeShared",
                           dict(intermediate_size=16, num_local_experts=4, num_experts_per_tok=2,
                                shared_intermediate_size=16, embedding_multiplier=3.0,
                                residual_multiplier=0.5, logits_scaling=2.0,
                                attention_multiplier=0.25)),
    "stablelm-parallel": ("StableLm", dict(use_parallel_residual=True, use_qkv_bias=False,
                                           **rope(partial_rotary_factor=0.5))),
    "gpt-neox-sequential": ("GPTNeoX", dict(use_parallel_residual=False, intermediate_size=64,
                                            **rope(partial_rotary_factor=0.25))),
    "ministral": ("Ministral", dict(head_dim=8, sliding_window=12,
                                    layer_types=["sliding_attention", "full_attention"])),
    "phi3-longrope": ("Phi3", dict(
        original_max_position_embeddings=32,
        **rope(rope_type="longrope", original_max_position_embeddings=32,
               short_factor=[1.0, 1.1, 1.3, 1.5], long_factor=[1.0, 2.0, 4.0, 8.0]))),
    "gpt-oss-untruncated": ("GptOss", dict(
        head_dim=16, num_local_experts=4, num_experts_per_tok=2, intermediate_size=16,
        sliding_window=16, layer_types=["sliding_attention", "full_attention"],
        **rope(rope_type="yarn", factor=4.0, beta_fast=32.0, beta_slow=1.0, truncate=False,
               original_max_position_embeddings=64))),
    "gpt-oss-mxfp4": ("GptOss", dict(
        head_dim=16, num_local_experts=4, num_experts_per_tok=2, intermediate_size=32,
        sliding_window=16, layer_types=["sliding_attention", "full_attention"], **rope())),
    "qwen3-moe-mixed": ("Qwen3Moe", dict(head_dim=8, num_hidden_layers=3, mlp_only_layers=[1],
                                         moe_intermediate_size=16, norm_topk_prob=True,
                                         num_experts=6, num_experts_per_tok=3)),
    "llama-linear": ("Llama", dict(attention_bias=True, mlp_bias=True,
                                   **rope(rope_type="linear", factor=4.0))),
    "exaone4": ("Exaone4", dict(num_hidden_layers=4, head_dim=8, sliding_window=16,
                                sliding_window_pattern=4)),
    "exaone-moe": ("ExaoneMoe", dict(num_hidden_layers=4, head_dim=8, sliding_window=16,
                                     sliding_window_pattern=4, moe_intermediate_size=16,
                                     num_shared_experts=1, first_k_dense_replace=1, **EXPERTS)),
    "hunyuan-dense": ("HunYuanDenseV1", dict(
        head_dim=8, max_position_embeddings=32768,
        **rope(rope_type="dynamic", alpha=1000.0, factor=1.0))),
    "hunyuan-moe": ("HunYuanMoEV1", dict(head_dim=8, intermediate_size=16, num_experts=4,
                                         moe_topk=[2, 2], moe_intermediate_size=[16, 16],
                                         num_shared_expert=[1, 1])),
    "ernie4.5-moe": ("Ernie4_5_Moe", dict(num_hidden_layers=3, head_dim=8, moe_num_experts=4,
                                          moe_k=2, moe_intermediate_size=16,
                                          moe_num_shared_experts=2, moe_layer_start_index=1,
                                          tie_word_embeddings=True)),
    "minimax-m2": ("MiniMaxM2", dict(intermediate_size=16, head_dim=8, num_local_experts=4,
                                     num_experts_per_tok=2, rotary_dim=4, scoring_func="sigmoid",
                                     **rope(partial_rotary_factor=0.5))),
    "seed-oss": ("SeedOss", dict(head_dim=8, attention_bias=True, attention_out_bias=False)),
    "dots1": ("Dots1", dict(num_hidden_layers=3, head_dim=8, moe_intermediate_size=16,
                            n_routed_experts=4, num_experts_per_tok=2, n_shared_experts=2,
                            first_k_dense_replace=1, norm_topk_prob=True,
                            routed_scaling_factor=1.5, sliding_window=None)),
    "nemotron": ("Nemotron", dict(head_dim=8, **rope(partial_rotary_factor=0.5))),
    "arcee": ("Arcee", dict(head_dim=8)),
    "olmo": ("Olmo", dict(clip_qkv=1.5)),
    "solar-open": ("SolarOpen", dict(head_dim=8, moe_intermediate_size=16, n_routed_experts=4,
                                     num_experts_per_tok=2)),
    "bloom": ("Bloom", dict(n_layer=2, n_head=4)),
    "bloom-uneven": ("Bloom", dict(n_layer=2, n_head=6, hidden_size=48)),
    "mpt": ("Mpt", dict(d_model=32, n_heads=4, n_layers=2, expansion_ratio=2, max_seq_len=256,
                        no_bias=True)),
    "falcon-alibi": ("Falcon", dict(multi_query=False, parallel_attn=False, bias=True, alibi=True,
                                    new_decoder_architecture=False)),
    "phi2-norms": ("Phi", dict(qk_layernorm=True, **rope(partial_rotary_factor=0.5))),
    "ministral3": ("Ministral3", dict(head_dim=8, sliding_window=None, rope_parameters=dict(
        rope_type="yarn", rope_theta=10000.0, factor=4.0, beta_fast=32.0, beta_slow=1.0,
        mscale=1.0, mscale_all_dim=1.0, original_max_position_embeddings=16,
        llama_4_scaling_beta=0.1))),
    "mellum": ("Mellum", dict(num_hidden_layers=4, head_dim=8, moe_intermediate_size=16,
                              sliding_window=16, num_local_experts=4, num_experts_per_tok=2,
                              layer_types=["sliding_attention"] * 3 + ["full_attention"],
                              rope_parameters={
                                  "full_attention": {"rope_type": "default",
                                                     "rope_theta": 500000.0},
                                  "sliding_attention": {"rope_type": "default",
                                                        "rope_theta": 10000.0}})),
    "afmoe": ("Afmoe", dict(num_hidden_layers=4, head_dim=8, moe_intermediate_size=16,
                            num_dense_layers=1, num_shared_experts=1, sliding_window=16,
                            route_scale=1.5, mup_enabled=True, global_attn_every_n_layers=4,
                            **EXPERTS)),
}


def fill(model, generator, norm_steps):
    """Weights that make logits spread: unit rows, norms about 1 (in steps, so that f16 holds 1 + w
    where a converter adds the 1), small biases."""
    for name, p in model.named_parameters():
        noise = torch.randn(p.shape, generator=generator)
        if "norm" in name or "ln_" in name:
            noise = 0.1 * noise + (1.0 if name.endswith("weight") else 0.0)
            noise = (noise * norm_steps).round() / norm_steps
        elif "embed" in name or "word_embeddings" in name:
            pass
        elif p.dim() == 1:
            noise = 0.2 * noise
        else:
            noise = noise * (1.5 / p.shape[-1] ** 0.5)
        p.data.copy_(noise.half().float())
    for name, b in model.named_buffers():
        if "correction_bias" in name:
            noise = 0.2 * torch.randn(b.shape, generator=generator)
            b.copy_(noise.half().float())


FP4 = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6])


def quantise(model, generator):
    """Random MXFP4 blocks for the experts: sets their values, gives the tensors of a folder."""
    blocks = {}
    for name, p in model.named_parameters():
        if not name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            continue
        experts, columns, rows = p.shape
        q = torch.randint(0, 256, (experts, rows, columns // 32, 16), generator=generator)
        scale = torch.randint(123, 126, (experts, rows, columns // 32), generator=generator)
        values = torch.stack([FP4[q & 15], FP4[q >> 4]], -1).reshape(experts, rows, -1, 32)
        values = values * torch.exp2(scale[..., None] - 127.0)
        p.data.copy_(values.reshape(experts, rows, columns).transpose(1, 2))
        blocks[name + "_blocks"] = q.to(torch.uint8)
        blocks[name + "_scales"] = scale.to(torch.uint8)
    return blocks


def logits_of(model, tokens):
    with torch.no_grad():
        return model(torch.tensor([tokens]), use_cache=False).logits[0].float()


def describe(model, tokens):
    out = logits_of(model, tokens)
    top = out.topk(2, dim=-1)
    text, ids, margins, last = list(tokens), [], [], out[-1]
    for _ in range(16):
        best = last.topk(2)
        ids.append(int(best.indices[0]))
        margins.append(float(best.values[0] - best.values[1]))
        final = last
        text.append(ids[-1])
        last = logits_of(model, text)[-1]
    numbers = lambda t: [round(float(x), 6) for x in t]
    return {"tokens": tokens, "argmax": [int(i) for i in top.indices[:, 0]],
            "argmax_margin": numbers(top.values[:, 0] - top.values[:, 1]),
            "logsumexp": numbers(out.logsumexp(-1)), "last_logits": numbers(out[-1]),
            "greedy": {"tokens": ids, "margins": [round(m, 6) for m in margins],
                       "final_logits": numbers(final)}}


def put_blocks(folder, blocks):
    path = f"{folder}/model.safetensors"
    tensors = {k: v for k, v in load_file(path).items() if k + "_blocks" not in blocks}
    save_file({**tensors, **blocks}, path)
    with open(f"{folder}/config.json") as f:
        config = json.load(f)
    config["quantization_config"] = {"quant_method": "mxfp4"}
    with open(f"{folder}/config.json", "w") as f:
        json.dump(config, f, indent=2)


def make(name, folder):
    family, more = MODELS[name]
    kind = getattr(transformers, family + "ForCausalLM")
    config = kind.config_class(**{**BASE, **more})
    lengths = (20, 40) if "longrope" in name else (12, 40)
    for seed in range(1, 50):
        generator = torch.Generator().manual_seed(seed)
        torch.manual_seed(seed)
        # Falcon's eager attention adds ALiBi twice.
        way = "sdpa" if "alibi" in name else "eager"
        model = kind._from_config(config, attn_implementation=way).float().eval()
        fill(model, generator, 256 if name == "nemotron" else 1 << 20)
        blocks = quantise(model, generator) if "mxfp4" in name else {}
        prompts = [describe(model, torch.randint(5, VOCAB, (n,), generator=generator).tolist())
                   for n in lengths]
        if min(min(p["greedy"]["margins"]) for p in prompts) > 0.01:
            break
    else:
        sys.exit(f"{name}: no seed gives clear choices")
    model.half().save_pretrained(folder) # under the published names
    os.remove(f"{folder}/generation_config.json")
    if blocks:
        put_blocks(folder, blocks)
    with open(f"{folder}/reference.json", "w") as f:
        json.dump({"name": name, "kind": "causal-lm", "vocab_size": VOCAB, "seed": seed,
                   "prompts": prompts}, f, separators=(",", ":"))
    print(name, "seed", seed, sum(os.path.getsize(f"{folder}/{x}") for x in os.listdir(folder)))


if __name__ == "__main__":
    torch.set_num_threads(1)
    for which in sys.argv[1:] or MODELS:
        make(which, os.path.join(os.path.dirname(os.path.abspath(__file__)), "reference", which))
