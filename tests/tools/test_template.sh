#!/bin/bash
# weft template: exactly what a template renders, the model's own or one from a file.
. "$(dirname "$0")/lib.sh"
tiny m
tiny chat chat

# render CODE FILE INPUT [OPTION…]
render() {
    local code=$1 file=$2
    printf '%s' "$3" >"$work/in.json"
    shift 3
    call "$code" template --template "$work/$file" --input "$work/in.json" "$@"
}
# out WANTED WHAT: what the last call printed, to the byte
out() {
    printf '%s' "$1" >"$work/want"
    cmp -s "$work/out" "$work/want" || fail "$2: '$(cat "$work/out")' is not '$1'"
}

cat >"$work/hello.json" <<'END'
{"messages": [{"role": "user", "content": "Hi \u00e9 \"q\""}], "add_generation_prompt": true}
END
call 0 template -m "$work/chat.gguf" --input "$work/hello.json"
quiet
out '<|im_start|>user
Hi é "q"<|im_end|>
<|im_start|>assistant
' "the model's template"
weft template -m "$work/chat.gguf" <"$work/hello.json" >"$work/piped" 2>&1
cmp -s "$work/piped" "$work/out" || fail "from standard input"
cp "$work/out" "$work/chatml"
call 0 template -m "$work/m.gguf" --input "$work/hello.json"
cmp -s "$work/chatml" "$work/out" || fail "a model without a template, but with ChatML's marks"

printf '%s' '{{ bos_token }}{{ tools }}{{ x.y }}{{ strftime_now("%d %b %Y") }}' >"$work/t"
render 0 t '{"x": {"y": [1, "a"]}, "bos_token": "<s>"}' --now 2026-01-15T12:00:00
out "<s>None[1, 'a']15 Jan 2026" "variables"
printf '{{ raise_exception("No " + "way.") }}' >"$work/raise"
render 1 raise '{}'
says "weft: template: No way."
[ -s "$work/out" ] && fail "a refusal gives output"
printf 'a\n{%% if %%}' >"$work/bad"
render 1 bad '{}'
says "weft: template: line 2, column 7:"
printf '{%% for a in range(100000) %%}{%% for b in range(100000) %%}{%% endfor %%}{%% endfor %%}' \
    >"$work/endless"
render 1 endless '{}'
says "too many steps"
render 1 t '{"x": '
says "variables: Expecting value"
for now in yesterday "" 2026-01-15 2026-02-30T12:00:00 2026-01-15T24:00:00 2026-01-15T12:00:00Z; do
    render 2 t '{"x": {"y": 1}}' --now "$now"
    says "weft: --now: wants a time as 2026-01-15T12:00:00, not '$now'"
done
call 1 template --template "$work/none" --input "$work/hello.json"
call 1 template --template "$work/t" --input "$work/none"
call 2 template --template "$work/t" -m "$work/chat.gguf" --input "$work/hello.json"
call 2 template --input "$work/hello.json" extra
call 0 template --help

[ $failures = 0 ] && echo "templates are rendered"
exit $((failures > 0))
