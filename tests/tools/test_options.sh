#!/bin/bash
# Every option of every command that takes a value, with values that are none: a usage error (exit
# status 2), one line that names the option, before any work and without output.
. "$(dirname "$0")/lib.sh"
tiny m
tiny chat chat
m=$work/m.gguf
printf 'some text\n' >"$work/text"
printf '{"messages": []}' >"$work/in.json"

# table: command with what it needs | option | bad values, separated by blanks ("-" stands for an
# empty one)
table() {
    cat <<END
run -m $m -p hi | -n | x 1.5 -2 0x10 99999999999 1e3 -
run -m $m -p hi | -c | x 0 -1 1.5 -
run -m $m -p hi | -s | x -1 1.5 99999999999999999999 -
run -m $m -p hi | -t | x 0 -1 1.5 1025 -
run -m $m -p hi | -tb | x 0 1025
run -m $m -p hi | --threads-batch | x 0 1025 -
run -m $m -p hi | --temp | x -1 nan inf 1e999 -
run -m $m -p hi | --top-k | x -1 1.5 -
run -m $m -p hi | --top-p | x -0.1 1.1 nan -
run -m $m -p hi | --min-p | x -0.1 1.1 -
run -m $m -p hi | --typical-p | x -0.1 1.1 -
run -m $m -p hi | --top-n-sigma | x nan -
run -m $m -p hi | --xtc-probability | x -0.1 1.1 -
run -m $m -p hi | --xtc-threshold | x -0.1 1.1 -
run -m $m -p hi | --repeat-penalty | x 0 -1 -
run -m $m -p hi | --repeat-last-n | x -2 1.5 -
run -m $m -p hi | --presence-penalty | x nan -
run -m $m -p hi | --frequency-penalty | x nan -
run -m $m -p hi | --dynatemp-range | x -1 -
run -m $m -p hi | --dynatemp-exponent | x nan -
run -m $m -p hi | --dry-multiplier | x -1 -
run -m $m -p hi | --dry-base | x -
run -m $m -p hi | --dry-allowed-length | x -1 1.5 -
run -m $m -p hi | --dry-last-n | x -2 -
run -m $m -p hi | --mirostat | x 3 -1 1.5 -
run -m $m -p hi | --mirostat-tau | x -1 -
run -m $m -p hi | --mirostat-eta | x -1 -
run -m $m -p hi | --samplers | no_such top_k;no_such
run -m $m -p hi | --logit-bias | x 5 5= 5=x 5=nan =1 99999=1 -1=1 -
run -m $m -p hi | --stop | -
run -m $m -p hi | --stop-token | 99999 -1 <none> -
run -m $m -p hi | --min-tokens | x -1 1.5 -
run -m $m -p hi | --cache-type | f8 F16 -
run -m $m -p hi | --cpu | none -
run -m $m -p hi | --pre | none -
run -m $m -p hi --json | --logprobs | x -1 1.5 -
run -m $m -p hi | --draft-tokens | x 0 -1 1.5 -
run -m $m -p hi | --lora | $work/none:x $work/none: -
run -m $m -p hi | --json-schema | -
run -m $m -p hi | --grammar | -
run -m $m -p hi | --prompt-cache | -
run -p hi | -m | -
chat -m $work/chat.gguf | -n | x -2 0x10 -
chat -m $work/chat.gguf | -c | x 0 -1 -
chat -m $work/chat.gguf | -s | x -1 -
chat -m $work/chat.gguf | --temp | x -1 nan -
chat -m $work/chat.gguf | --cache-type | f8 -
chat -m $work/chat.gguf | --samplers | no_such
chat -m $work/chat.gguf | --logit-bias | 5=x 99999=1
chat -m $work/chat.gguf | --stop-token | 99999 <none>
chat -m $work/chat.gguf | --lora | $work/none:x
chat -m $work/chat.gguf | --cpu | none
chat -m $work/chat.gguf | -t | x 0
chat -m $work/chat.gguf | -tb | x 0
chat -m $work/chat.gguf | --pre | none
embed -m $m -p hi | --pooling | none -
embed -m $m -p hi | --batch | x 0 -1 1.5 -
embed -m $m -p hi | -t | x 0
embed -m $m -p hi | --lora | $work/none:x
bench -m $m | -p | x 1,x 0 -1 1,, -
bench -m $m | -n | x -1 -
bench -m $m | --depth | x -1 1,x -
bench -m $m | --batch | x 0 -1 1,x -
bench -m $m | -r | x 0 -1 -
bench -m $m | --step | x 0 -1 -
bench -m $m | --format | xml -
bench | --shape | none -
bench --shape llama-135m | --type | none -
bench -m $m | -t | x 0
bench -m $m | -tb | x 0
bench -m $m | --cpu | none -
perplexity -m $m -f $work/text | -c | x 0 -1 1 -
perplexity -m $m -f $work/text | --cache-type | f8 -
perplexity -m $m -f $work/text | -t | x 0
perplexity -m $m -f $work/text | --cpu | none
perplexity -m $m -f $work/text | --lora | $work/none:x
logits -m $m | --ids | x 1,x 1.5 -1 99999 -
logits -m $m --ids 1 | --greedy | x -1 1.5 -
logits -m $m --ids 1 | --batch | x 0 -1 -
logits -m $m --ids 1 | -t | x 0
logits -m $m --ids 1 | --cpu | none
logits -m $m --ids 1 | --lora | $work/none:x
inspect $m | -c | x 0 -1 1.5 -
quantize $m $work/q.gguf Q8_0 | --tensor | x x= (=Q8_0 x=none -
quantize $m $work/q.gguf Q8_0 | -t | x 0
diff $m $m | -t | x 0
imatrix -m $m -f $work/text -o $work/i.gguf | -c | x 0 -1 -
imatrix -m $m -f $work/text -o $work/i.gguf | --chunks | x 0 -1 -
imatrix -m $m -f $work/text -o $work/i.gguf | -t | x 0
imatrix -m $m -f $work/text -o $work/i.gguf | --cpu | none
convert $work $work/c.gguf | --type | none -
convert $work $work/c.gguf | --pre | none -
convert $work $work/c.gguf | -t | x 0
split $m $work/s | --size | x 0 -1 5X 1.5 -
split $m $work/s | --tensors | x 0 -1 -
merge-lora $m $m $work/ml.gguf | --type | none -
merge-lora $m $m $work/ml.gguf | -t | x 0
tokenize -m $m -p hi | --pre | none -
detokenize -m $m | --ids | x 1,x 1.5 -1
detokenize -m $m --ids 1 | --pre | none -
template --template $work/text --input $work/in.json | --now | x 2026 -
END
}

n=0
while IFS='|' read -r command option values; do
    # shellcheck disable=SC2086
    set -- $command
    option=${option// /}
    set -f
    # shellcheck disable=SC2086
    for value in $values; do
        [ "$value" = - ] && value=
        call 2 "$@" "$option" "$value"
        says "$option"
        [ -s "$work/out" ] && fail "$* $option '$value': output"
        n=$((n + 1))
    done
    set +f
done < <(table)
[ $failures = 0 ] && echo "$n bad values are usage errors"
exit $((failures > 0))
