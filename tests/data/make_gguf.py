#!/usr/bin/env python3
"""GGUF files of the folders of reference/, by llama.cpp's own converter.

make_gguf.py LLAMA_CPP [NAME…]   writes reference/NAME/NAME.gguf beside each folder's tensors, for
                                 all folders whose class LLAMA_CPP/conversion knows by default

Tensors keep their types; tokenisers are left out, since the models have none. What the converter
makes of a folder is what published GGUF files are, so that names, permutations and keys are tested
against others' work."""

import json
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent / "reference"

# What published folders' config.json has and transformers does not write.
PUBLISHED = {
    "granite-hybrid": {"layer_types": ["mamba", "attention", "mamba"]},
    "granite-hybrid-dense": {"layer_types": ["mamba", "attention"]},
    "solar-open": {"partial_rotary_factor": 1.0},
    "falcon-old": {"num_kv_heads": 1},
    "gpt-neox-sequential": {"rotary_pct": 0.25},
    "bloom": {"seq_length": 256},
    "bloom-uneven": {"seq_length": 256},
    "mpt": {"architectures": ["MPTForCausalLM"]},
    "hunyuan-moe": {"rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}},
}


def without_vocabulary(conversion):
    """Every class's own way to take a vocabulary becomes none."""
    kinds = [conversion.TextModel]
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        kind.set_vocab = lambda self: None
        kind.get_vocab_base = lambda self: ([], [], "default")


def holds_f32(folder):
    """Whether the folder's first tensor is; the converter takes f16 for granted."""
    with open(folder / "model.safetensors", "rb") as f:
        head = json.loads(f.read(int.from_bytes(f.read(8), "little")))
    return next(t["dtype"] for n, t in head.items() if n != "__metadata__") == "F32"


def convert(conversion, folder):
    """One folder; gives why not, or None."""
    base = conversion.base
    hparams = base.ModelBase.load_hparams(folder, False)
    hparams.update(PUBLISHED.get(folder.name, {}))
    try:
        name = base.get_model_architecture(hparams, base.ModelType.TEXT)
        kind = conversion.get_model_class(name)
    except NotImplementedError as e:
        return f"not known: {e}"
    without_vocabulary(conversion)
    out = folder / f"{folder.name}.gguf"
    if hasattr(kind, "opt_num_mtp_layers"):
        kind.no_mtp = True
    types = base.gguf.LlamaFileType
    model = kind(folder, types.ALL_F32 if holds_f32(folder) else types.MOSTLY_F16, out,
                 use_temp_file=False, hparams=hparams)
    if hasattr(model, "impl"): # of one that chooses by the model's type
        model = model.impl
    model.write()
    print(folder.name, kind.__name__, out.stat().st_size)
    return None


def main():
    root = Path(sys.argv[1])
    sys.path[:0] = [str(root), str(root / "gguf-py")]
    import conversion
    import conversion.base
    conversion.load_all_models()
    for name in sys.argv[2:] or sorted(os.listdir(HERE)):
        why = convert(conversion, HERE / name)
        if why:
            print(name, why, file=sys.stderr)


if __name__ == "__main__":
    main()
