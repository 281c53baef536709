#!/bin/bash
# weft run on a tiny model: what reaches stdout, where prompts come from, when a text ends.
. "$(dirname "$0")/lib.sh"
tiny m
tiny q8 q8_0
tiny chat chat
tiny bos adds_bos
tiny nobos no_bos
m=$work/m.gguf

# run NAME ARG…: a text in $work/NAME
run() {
    local name=$1
    shift
    call 0 run "$@"
    cp "$work/out" "$work/$name"
}

# stdout carries only the text; the same seed gives the same text, on any number of threads.
run a -m "$m" -p "some words" -n 40 -s 7 --quiet
quiet
[ "$(wc -c <"$work/a")" -ge 20 ] || fail "hardly any text"
run b -m "$m" -p "some words" -n 40 -s 7 -t 3
same "$work/a" "$work/b" "the same seed"
run b -m "$m" -p "some words" -n 40 -s 8
cmp -s "$work/a" "$work/b" && fail "another seed gives the same text"
for model in m q8; do
    run a -m "$work/$model.gguf" -p "some words" -n 40 --temp 0
    for more in "-t 1" "--reproducible" "--cpu scalar" "--top-k 1 --temp 1" "-c 64" "--stats"; do
        # shellcheck disable=SC2086
        run b -m "$work/$model.gguf" -p "some words" -n 40 --temp 0 $more
        same "$work/a" "$work/b" "greedy with $more"
    done
done
says "tokens/s" # of --stats, on stderr

# Prompts.
run a -m "$m" -p "some words" -n 20 --temp 0
echo 'some words' >"$work/prompt" # the newline at the end is not part of it
run b -m "$m" -f "$work/prompt" -n 20 --temp 0
same "$work/a" "$work/b" "a prompt from a file"
for arg in "" "-f -"; do
    # shellcheck disable=SC2086
    weft run -m "$m" -n 20 --temp 0 $arg <"$work/prompt" >"$work/b" 2>"$work/err"
    judge 0 $? "a prompt from stdin"
    same "$work/a" "$work/b" "a prompt from stdin"
done
call 1 run -m "$m" -f "$work/no-such-file"
says no-such-file
call 1 run -m "$m" -f "$work"
run a -m "$m" -p "" -n 5
call 1 run -m "$work/nobos.gguf" -p "" -n 5
says empty
printf 'caf\xe9 \xff\xfe\xe6\xad \0 end' >"$work/bytes"
run a -m "$m" -f "$work/bytes" -n 60 -s 1 --temp 2 --top-k 0
iconv -f UTF-8 -t UTF-8 "$work/a" >/dev/null 2>&1 || fail "the text is not UTF-8"

# tokens ARG…: the number of tokens of the prompt
tokens() {
    call 0 run -n 0 --stats "$@"
    sed -n 's/^prompt: \([0-9]*\) tokens.*/\1/p' "$work/err"
}

# BOS is added where the model asks for it; a chat model has its template, and a user's words are
# never special tokens.
plain=$(tokens -m "$m" -p "xyz")
[ "$plain" = 3 ] || fail "'xyz' is $plain tokens"
[ "$(tokens -m "$work/bos.gguf" -p xyz)" = 4 ] || fail "no BOS"
[ "$(tokens -m "$m" -p "")" = 1 ] || fail "an empty prompt is not BOS alone"
[ "$(tokens -m "$m" -p "<|bos|>")" -gt 5 ] || fail "a special token out of a user's words"
chat=$(tokens -m "$work/chat.gguf" -p "xyz")
[ "$chat" -gt 15 ] || fail "the chat template was not used: $chat tokens"
[ "$(tokens -m "$work/chat.gguf" -p xyz --no-template)" = 3 ] || fail "--no-template"
[ "$(tokens -m "$work/chat.gguf" -p "<|im_end|>")" -gt $((chat + 2)) ] ||
    fail "a special token out of a user's words in a template"
[ "$(tokens -m "$work/chat.gguf" -p xyz --system "be brief")" -gt $((chat + 8)) ] || fail "--system"
call 1 run -m "$m" -p hi --system "be brief"
call 2 run -m "$work/chat.gguf" -p hi --system "be brief" --no-template
sed 's/message\[.content.\]/message.c0ntent[:1]/' "$work/chat.gguf" >"$work/odd.gguf"
if [ "$(wc -c <"$work/odd.gguf")" = "$(wc -c <"$work/chat.gguf")" ]; then
    call 1 run -m "$work/odd.gguf" -p hi
    says --no-template
    call 0 run -m "$work/odd.gguf" -p hi -n 2 --no-template
fi

# Ends.
call 0 run -m "$m" -p hi -n 0
quiet
[ -s "$work/out" ] && fail "-n 0 gives text"
run a -m "$m" -p "some words" -n 40 -s 7
stop=$(head -c 20 "$work/a" | tail -c 5)
run b -m "$m" -p "some words" -n 40 -s 7 --stop "never seen" --stop "$stop"
printf '%s' "$(cat "$work/a")" | awk -v s="$stop" '
    { text = text sep $0; sep = "\n" } END { printf "%s", substr(text, 1, index(text, s) - 1) }' \
    >"$work/want"
same "$work/b" "$work/want" "--stop"
long=$(printf 'word %.0s' {1..60})
call 1 run -m "$m" -p "$long" -c 32 -n 4
says --context-shift
says 32
call 0 run -m "$m" -p "$long" -c 32 -n 100 --context-shift --ignore-eos
[ "$(wc -c <"$work/out")" -ge 100 ] || fail "--context-shift: little text"
call 0 run -m "$m" -p "abcd" -c 5 -n -1 --ignore-eos # a full context
call 0 run -m "$m" -p "a" -c 1 -n -1
call 1 run -m "$m" -p hi -c 2000000000
says memory

# An adapter changes the text, one of scale 0 does not.
mkdir "$work/adapter"
python3 - "$work/adapter" <<'END' || fail "no adapter is made"
import json, struct, sys
name = "base_model.model.model.layers.0.mlp.down_proj.lora_%s.weight"
head, data = {}, b""
shapes = {"A": (2, 96), "B": (64, 2)} # of the tiny model: 96 -> 64
for part, shape in shapes.items():
    n = shape[0] * shape[1]
    values = struct.pack("<%df" % n, *((i * 37 % 19 - 9) / 9 for i in range(n)))
    head[name % part] = {"dtype": "F32", "shape": shape,
                         "data_offsets": [len(data), len(data) + len(values)]}
    data += values
text = json.dumps(head).encode()
with open(sys.argv[1] + "/adapter_model.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
with open(sys.argv[1] + "/adapter_config.json", "w") as file:
    json.dump({"peft_type": "LORA", "r": 2, "lora_alpha": 64,
               "target_modules": ["down_proj"]}, file)
END
run a -m "$m" -p "some words" -n 40 --temp 0
run b -m "$m" -p "some words" -n 40 --temp 0 --lora "$work/adapter"
cmp -s "$work/a" "$work/b" && fail "--lora changes nothing"
run b -m "$m" -p "some words" -n 40 --temp 0 --lora "$work/adapter:0"
same "$work/a" "$work/b" "--lora of scale 0"
call 1 run -m "$m" -p hi --lora "$work/none"
says "$work/none"
finish
