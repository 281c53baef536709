#!/bin/bash
# Folders of 8-bit floats with scales: shown, checked, converted, quantised and merged back.
. "$(dirname "$0")/lib.sh"
data=$4/tests/data/reference

# folder NAME: $work/NAME with a vocabulary of 64 letters
folder() {
    local vocab="" i letters='ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.,'
    mkdir "$work/$1"
    cp "$data/$1/config.json" "$data/$1/model.safetensors" "$work/$1"
    for ((i = 0; i < 64; i++)); do
        vocab+="${vocab:+,}\"${letters:i:1}\":$i"
    done
    cat >"$work/$1/tokenizer.json" <<EOF
{"version": "1.0", "added_tokens": [], "normalizer": null,
 "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
 "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": {$vocab}, "merges": []}}
EOF
}

# near A B: the logits of two models are alike
near() {
    call 0 logits -m "$1" --ids "20 61 45 49" --float
    cp "$work/out" "$work/first"
    call 0 logits -m "$2" --ids "20 61 45 49" --float
    python3 - "$work/first" "$work/out" "$3" <<'EOF' || fail "$1, $2: other logits"
import json, sys
a, b = (json.load(open(path))["last_logits"] for path in sys.argv[1:3])
sys.exit(max(abs(x - y) for x, y in zip(a, b)) > float(sys.argv[3]))
EOF
}

for name in llama-f8-block phi3-f8-tensor qwen3-f8-channel llama-f8-plain \
    deepseek-v3-f8; do
    folder "$name"
    call 0 inspect --check "$work/$name"
    call 0 inspect --digest "$work/$name"
    grep -qE ' f8_e(4m3|5m2) .*[0-9a-f]{64}' "$work/out" || fail "$name: no digests"
    call 0 convert "$work/$name" "$work/$name.gguf"
    grep -q ' f8' <(weft inspect "$work/$name.gguf") && fail "$name: 8-bit floats in a GGUF file"
    near "$work/$name" "$work/$name.gguf" 1e-4
    call 0 quantize "$work/$name" "$work/q8.gguf" Q8_0
    near "$work/$name" "$work/q8.gguf" 0.35
done

# A method that is not read, in config.json.
sed -i 's/"quant_method": "fp8"/"quant_method": "gptq"/' "$work/llama-f8-block/config.json"
call 1 inspect --check "$work/llama-f8-block"
grep -q "quant_method.*gptq" "$work/err" || fail "gptq: $(cat "$work/err")"
call 0 inspect "$work/llama-f8-block"

# types DTYPE…: a folder with a tensor [3, 2] of each, T<number of it>
types() {
    rm -rf "$work/types"
    mkdir "$work/types"
    echo '{"model_type": "other"}' >"$work/types/config.json"
    python3 - "$work/types/model.safetensors" "$@" <<'EOF'
import json, struct, sys
size = {"C64": 8, "U64": 8, "I64": 8, "U32": 4, "U16": 2, "F8_E8M0": 1, "BOOL": 1}
header, at = {}, 0
for i, dtype in enumerate(sys.argv[2:]):
    header[f"t{i}"] = {"dtype": dtype, "shape": [3, 2], "data_offsets": [at, at + 6 * size[dtype]]}
    at += 6 * size[dtype]
text = json.dumps(header).encode()
with open(sys.argv[1], "wb") as f:
    f.write(struct.pack("<Q", len(text)) + text + bytes(range(at)))
EOF
}

# Every type of safetensors that weights come with is shown; scales of a byte have a digest.
types U64 U32 U16 F8_E8M0 BOOL I64
call 0 inspect "$work/types"
for line in 't0 +u64' 't1 +u32' 't2 +u16' 't3 +f8_e8m0' 't4 +bool' 't5 +i64'; do
    grep -qE "^ +$line +.*3" "$work/out" || fail "no '$line' in: $(tail -8 "$work/out")"
done
call 0 inspect --digest --json "$work/types"
grep -qE '"f8_e8m0".*"sha256": "[0-9a-f]{64}"' "$work/out" || fail "no digest of f8_e8m0"
grep -qE '"u32".*"sha256": null' "$work/out" || fail "a digest of u32, which has no floats"
types U16 C64
call 1 inspect "$work/types"
says "C64"
says "t1"

exit $((failures > 0))
