#!/bin/bash
# weft tokenize and detokenize: ids and back, in each of their formats.
. "$(dirname "$0")/lib.sh"
tiny m
tiny bos adds_bos
m=$work/m.gguf

# out WANTED WHAT: what the last call printed
out() {
    [ "$(cat "$work/out")" = "$1" ] || fail "$2: '$(cat "$work/out")' is not '$1'"
}

call 0 tokenize -m "$m" -p "then A" # th en, space, A
out "256 264 32 65" "ids"
call 0 tokenize -m "$work/bos.gguf" -p "A"
out "296 65" "BOS where the model asks for it"
call 0 tokenize -m "$work/bos.gguf" -p "A" --no-bos
out "65" "--no-bos"
call 0 tokenize -m "$m" -p "A" --bos
out "296 65" "--bos"
call 0 tokenize -m "$m" -p "A<|eos|>"
out "65 297" "a special token"
call 0 tokenize -m "$m" -p "A<|eos|>" --no-special
[ "$(wc -w <"$work/out")" -gt 5 ] || fail "--no-special: $(cat "$work/out")"
call 0 tokenize -m "$m" -p "then" --json
grep -q '"ids": *\[256, *264\]' "$work/out" || fail "--json: $(cat "$work/out")"
printf '%s\n' '{"id":"a","text":"then"}' '{"id":7,"text":"\u0041\n"}' >"$work/lines"
weft tokenize -m "$m" --jsonl <"$work/lines" >"$work/out" 2>"$work/err"
judge 0 $? "--jsonl"
[ "$(sed 's/ //g' "$work/out" | head -n 1)" = '{"id":"a","ids":[256,264]}' ] ||
    fail "--jsonl: $(cat "$work/out")"
[ "$(sed 's/ //g' "$work/out" | tail -n 1)" = '{"id":7,"ids":[65,10]}' ] ||
    fail "--jsonl: $(cat "$work/out")"

# Any bytes come back as they were.
printf 'caf\xc3\xa9 \xff\xe6\xad \n\n  the end' >"$work/text"
call 0 tokenize -m "$m" -f "$work/text" --no-bos
cp "$work/out" "$work/ids"
weft detokenize -m "$m" <"$work/ids" >"$work/back" 2>"$work/err"
judge 0 $? "detokenize"
head -c "$(wc -c <"$work/text")" "$work/back" >"$work/front"
same "$work/front" "$work/text" "there and back"
call 1 tokenize -m "$work/none.gguf" -p A
finish
