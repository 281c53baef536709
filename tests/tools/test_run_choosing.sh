#!/bin/bash
# weft run: what is chosen. Samplers, ends, grammars, JSON output, guesses and prompt caches.
. "$(dirname "$0")/lib.sh"
tiny m
tiny q8 q8_0
m=$work/m.gguf
prompt="one two three one two three one two"

# run NAME ARG…: a text in $work/NAME
run() {
    local name=$1
    shift
    call 0 run -m "$m" -p "$prompt" "$@"
    cp "$work/out" "$work/$name"
}
# json FILTER: the last output through python, `o` being the parsed object (or the list of lines)
json() {
    python3 -c "
import json, sys
text = open(sys.argv[1], encoding='utf-8').read()
try:
    o = json.loads(text)
except ValueError:
    o = [json.loads(line) for line in text.split('\n')[:-1]]
assert $1, repr(o)[:300]" "$work/out" || fail "JSON: $1"
}

call 0 run --help-sampling
quiet
[ "$(wc -l <"$work/out")" -le 30 ] || fail "--help-sampling is long"

# Chains are data; every option is taken.
run a -n 30 -s 3 --samplers "top_k;temperature" --top-k 1
run b -n 30 --temp 0
same "$work/a" "$work/b" "a chain that keeps one"
run a -n 30 -s 3 --typical-p 0.9 --top-n-sigma 2 --xtc-probability 0.5 --xtc-threshold 0.05 \
    --dynatemp-range 0.5 --dynatemp-exponent 1.5 --presence-penalty 0.1 --frequency-penalty 0.1 \
    --repeat-penalty 1.1 --repeat-last-n -1 --dry-multiplier 0.8 --dry-base 2 \
    --dry-allowed-length 3 --dry-last-n 100 --dry-breaker x --logit-bias 65=-inf --logit-bias b=0.5
run b -n 30 -s 3 --mirostat 2 --mirostat-tau 4 --mirostat-eta 0.2
cmp -s "$work/a" "$work/b" && fail "mirostat changes nothing"
call 2 run -m "$m" -p hi --samplers "top_k;no_such"
says no_such
call 2 run -m "$m" -p hi --logit-bias 99999=1
says 99999
call 2 run -m "$m" -p hi --logit-bias 5=x
call 2 run -m "$m" -p hi --stop-token "<no such>"

# Ends.
run a -n 30 -s 1 --temp 0 --logit-bias z=1000 --stop-token z
[ -s "$work/a" ] && fail "--stop-token: text"
run a -n 30 -s 1 --temp 0 --logit-bias "<|eos|>=1000" --logit-bias z=900 --min-tokens 5
[ "$(cat "$work/a")" = zzzzz ] || fail "--min-tokens 5: $(cat "$work/a")"
run a -n 9 -s 1 --temp 0 --logit-bias "<|eos|>=1000" --logit-bias z=900 --ban-eos
[ "$(cat "$work/a")" = zzzzzzzzz ] || fail "--ban-eos: $(cat "$work/a")"

# Grammars.
for seed in 1 2 3; do
    run a -n 300 -s $seed --temp 1.5 --regex "(yes|no), [a-f]{3,5}\\."
    grep -qxE '(yes|no), [a-f]{3,5}\.' "$work/a" || fail "--regex: $(cat "$work/a")"
    run a -n 400 -s $seed --temp 1.5 --json-schema '{"properties": {"n": {"type": "integer",
        "minimum": 3, "maximum": 5}, "s": {"enum": ["x", "y"]}}, "required": ["n", "s"]}'
    cp "$work/a" "$work/out"
    json "3 <= o['n'] <= 5 and o['s'] in ('x', 'y')"
done
printf 'root ::= "<" [0-9]{2} ">" root | "."\n' >"$work/g"
run a -n 100 -s 1 --grammar "$work/g" --stats
grep -qE '^(<[0-9]{2}>)*(\.|$|<)' "$work/a" || fail "--grammar: $(cat "$work/a")"
says "grammar:"
printf 'root ::= "<" [0-9\n' >"$work/g"
call 1 run -m "$m" -p hi --grammar "$work/g"
says "line 1, column 14"
call 1 run -m "$m" -p hi --json-schema '{"$dynamicRef": "#x"}'
says "'\$dynamicRef' is not supported"
call 1 run -m "$m" -p hi --json-schema false
says "no text at all"
call 1 run -m "$m" -p hi --json-schema "$work/no-such-file"
says no-such-file
# Each of the three is a file, a file behind @, or the text itself.
printf '%s\n' '{"enum": ["ab"]}' >"$work/s"
printf 'root ::= "ab"\n' >"$work/g"
printf 'ab\n' >"$work/r"
for how in "--json-schema $work/s" "--json-schema @$work/s" '--json-schema {"enum":["ab"]}'; do
    # shellcheck disable=SC2086
    run a $how
    [ "$(cat "$work/a")" = '"ab"' ] || fail "$how: $(cat "$work/a")"
done
for how in "--grammar $work/g" "--grammar @$work/g" '--grammar root::="ab"' "--regex ab" \
    "--regex @$work/r"; do
    # shellcheck disable=SC2086
    run a $how
    [ "$(cat "$work/a")" = ab ] || fail "$how: $(cat "$work/a")"
done
call 1 run -m "$m" -p hi --regex "@$work/no-such-file"
says "--regex: $work/no-such-file"
call 1 run -m "$m" -p hi --grammar 'root = "a"'
says '--grammar: root = "a": No such file'
printf 'root ::= "<" [0-9\n' >"$work/g"
call 1 run -m "$m" -p hi --regex "a(b"
says "column 2"
call 2 run -m "$m" -p hi --regex a --grammar "$work/g"

# JSON output.
run text -n 20 -s 1
call 0 run -m "$m" -p "$prompt" -n 20 -s 1 --json --logprobs 3
json "len(o['tokens']) == 20 == o['generated_tokens'] and o['stop'] == 'length' and o['seed'] == 1"
json "all(len(t['top']) == 3 and t['logprob'] <= t['top'][0]['logprob'] for t in o['tokens'])"
python3 -c "
import json, sys
a = json.load(open(sys.argv[1], encoding='utf-8'))['text']
b = open(sys.argv[2], encoding='utf-8', newline='').read()
assert a == b" "$work/out" "$work/text" || fail "the text in JSON is another one"
call 0 run -m "$m" -p "$prompt" -n 20 -s 1 --json --stream
json "len(o) >= 21 and 'token' in o[0] and o[-1]['generated_tokens'] == 20"
# Log-probabilities come where they are asked for, and everything else is the same without.
json "all(set(t) in ({'token', 'bytes', 'text'}, {'text'}) for t in o[:-1])"
cp "$work/out" "$work/b"
call 0 run -m "$m" -p "$prompt" -n 20 -s 1 --json --stream --logprobs 0
json "all(t['top'] == [] and t['logprob'] <= 0 for t in o[:-1] if 'token' in t)"
python3 -c "
import json, sys
a, b = ([json.loads(line) for line in open(name, encoding='utf-8')] for name in sys.argv[1:])
without = [{k: v for k, v in t.items() if k not in ('logprob', 'top')} for t in a[:-1]]
assert without == b[:-1]" "$work/out" "$work/b" || fail "--logprobs changes more than it adds"
call 2 run -m "$m" -p hi --logprobs 2
call 2 run -m "$m" -p hi --stream

# Guesses change nothing.
for how in "--temp 0" "-s 5" "-s 5 --repeat-penalty 1.2" "-s 5 --context-shift -c 64"; do
    # shellcheck disable=SC2086
    run a -n 150 $how --ignore-eos
    # shellcheck disable=SC2086
    run b -n 150 $how --ignore-eos --lookup
    same "$work/a" "$work/b" "--lookup with $how"
    # shellcheck disable=SC2086
    run b -n 150 $how --ignore-eos --draft "$m" --draft-tokens 4
    same "$work/a" "$work/b" "--draft with $how"
    # shellcheck disable=SC2086
    run b -n 150 $how --ignore-eos --draft "$work/q8.gguf" --lookup
    same "$work/a" "$work/b" "--draft of another model with $how"
done
call 1 run -m "$m" -p hi --draft "$work/no-such.gguf"

# A text that is cut off is said to be; not where nobody wants to know.
call 0 run -m "$m" -p "$prompt" -n 5 --ignore-eos
says "cut off after 5 tokens"
call 0 run -m "$m" -p "$prompt" -n -1 -c 64 --ignore-eos
says "the context is full"
call 0 run -m "$m" -p "$prompt" -n 5 --ignore-eos --quiet
quiet
call 0 run -m "$m" -p "$prompt" -n 5 --ignore-eos --json
quiet
# Messages use the name that was typed.
call 2 run -n x
says "-n wants"
call 2 run --tokens x
says "--tokens wants"

# A cache that can't be written is noticed before the text.
call 1 run -m "$m" -p hi -n 5 --prompt-cache "$work/no-such-folder/cache"
says "--prompt-cache: $work/no-such-folder/cache: No such file"
[ -s "$work/out" ] && fail "a text came before the failure"
call 1 run -m "$m" -p hi -n 5 --prompt-cache "$work"
says "Is a directory"

# A prompt cache: the second time only what is new is evaluated.
run a -n 10 --temp 0 --prompt-cache "$work/cache"
call 0 run -m "$m" -p "$prompt" -n 10 --temp 0 --prompt-cache "$work/cache" --json
json "o['cached_tokens'] == o['prompt_tokens'] - 1"
call 0 run -m "$m" -p "$prompt, and more" -n 10 --temp 0 --prompt-cache "$work/cache" --json
json "o['cached_tokens'] >= 20 and o['prompt_tokens'] > o['cached_tokens'] + 5"
cp "$work/out" "$work/with"
call 0 run -m "$m" -p "$prompt, and more" -n 10 --temp 0 --json
python3 -c "
import json, sys
a, b = (json.load(open(f, encoding='utf-8'))['text'] for f in sys.argv[1:])
assert a == b" "$work/out" "$work/with" || fail "a prompt cache changes the text"
echo damaged >"$work/cache"
call 1 run -m "$m" -p hi --prompt-cache "$work/cache"
says "$work/cache"
finish
