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

exit $((failures > 0))
