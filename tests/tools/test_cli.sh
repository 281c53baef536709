#!/bin/bash
# The command line as such: help, version, exit statuses, error lines, models by name.
. "$(dirname "$0")/lib.sh"
tiny m
commands="run chat embed bench perplexity logits inspect quantize diff imatrix convert split merge
    merge-lora tokenize detokenize template"

for command in $commands; do
    call 0 "$command" --help
    quiet
    [ "$(wc -l <"$work/out")" -le 24 ] || fail "$command --help: over 24 lines"
    awk 'length > 100 { exit 1 }' "$work/out" || fail "$command --help: over 100 columns"
    grep -q "^Example:\|^  weft $command" "$work/out" || fail "$command --help: no example"
    call 2 "$command" --no-such-option
    says "--no-such-option"
    says "$command"
done
call 0 --help
for command in $commands; do
    grep -qE "^  $command |also: .*$command[,)]" "$work/out" ||
        fail "weft --help does not name $command"
done
[ "$(wc -l <"$work/out")" -le 24 ] || fail "weft --help: over 24 lines"

call 0 --version
grep -q '^weft [0-9]*\.[0-9]*\.[0-9]*$' "$work/out" || fail "no version"
grep -q '^cpu: .' "$work/out" || fail "no CPU features"
grep -q 'PCRE2.*Jansson.*utf8proc' "$work/out" || fail "no libraries"

call 2
call 2 no-such-command
says no-such-command
call 2 run -n
call 2 run extra -p hi -m "$work/m.gguf"
says extra
for bad in "-n 1x" "-n -2" "-n 99999999999999999999" "-n 0x10" "-t 0" "-c 0" "-s -1" "-s x" \
    "--temp nan" "--temp inf" "--temp -1" "--temp 1e999" "--top-p 2" "--min-p -0.1" \
    "--repeat-penalty 0" "--top-k 1.5" "--cache-type f8" "--stop ''"; do
    # shellcheck disable=SC2086
    eval call 2 run -m '"$work/m.gguf"' -p hi $bad
done
call 2 run -m "$work/m.gguf" -p hi -f "$work/m.gguf"
call 2 logits -m "$work/m.gguf"
says --ids
call 2 logits -m "$work/m.gguf" --ids "1 x"
call 2 bench -m "$work/m.gguf" --format xml
call 2 perplexity -m "$work/m.gguf"
call 2 run -m "$work/m.gguf" -p hi --cpu no-such-cpu
says no-such-cpu

# Nothing on stdin but a terminal: says what to give.
if [ -z "$emulator" ] && script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    script -qec "'$bin' run -m '$work/m.gguf'; echo status \$?" /dev/null </dev/null >"$work/tty"
    grep -q 'give -p TEXT' "$work/tty" || fail "a terminal on stdin: $(cat "$work/tty")"
    grep -q 'status 2' "$work/tty" || fail "a terminal on stdin: $(cat "$work/tty")"
fi

# Files and names.
call 1 run -m "$work/none.gguf" -p hi
says "$work/none.gguf"
call 1 run -m "$work" -p hi
call 2 run -m "" -p hi
call 1 run -m no-such-model -p hi
says smollm2-135m
call 1 run -m smollm2-135m -p hi
says "models/fetch smollm2-135m"
call 1 run -p hi
says "models/fetch smollm2-135m"
printf 'GGUF' >"$work/magic.gguf"
call 1 run -m "$work/magic.gguf" -p hi
evil=$work/$(printf 'a\033[31m\nb\tc')
mkdir "$evil"
printf 'GGUF' >"$evil/x.gguf"
call 1 run -m "$evil/x.gguf" -p hi
call 1 inspect "$evil/x.gguf"

# A fetched model is found by its name.
file=$(awk -F '\t' '$1 == "smollm2-135m" { print $2; exit }' "$4/models/sources.tsv")
mkdir -p "$XDG_CACHE_HOME/weft"
cp "$work/m.gguf" "$XDG_CACHE_HOME/weft/$file"
call 0 run -p hi -n 3 --quiet
quiet
call 0 run -m smollm2-135m -p hi -n 3

# A text without an end is an error, and the ranges of options are numbers as one writes them.
call 1 run -m "$work/m.gguf" -f /dev/zero
says /dev/zero
call 2 run -m "$work/m.gguf" -p hi -n 2147483648
says "from -1 to 2147483647"

# What cannot be written is an error, a reader that has gone is none.
weft run -m "$work/m.gguf" -p hi -n 3 >/dev/full 2>"$work/err"
judge 1 $? "run to a full disk"
says stdout
weft --help >/dev/full 2>"$work/err"
judge 1 $? "help to a full disk"
weft run -m "$work/m.gguf" -p hi -n 100 --ignore-eos --quiet | head -c 1 >/dev/null
[ "${PIPESTATUS[0]}" = 0 ] || fail "a reader that has gone is an error"

# A stream that is closed is no file: neither read as a text nor written into a model.
tiny chat chat
weft run -m "$work/m.gguf" -p hi -n 3 >&- 2>"$work/err"
judge 1 $? "run without stdout"
weft run -m "$work/m.gguf" -n 3 <&- >"$work/out" 2>"$work/err"
judge 1 $? "run without stdin"
weft chat -m "$work/chat.gguf" -n 3 <&- >"$work/out" 2>"$work/err"
judge 1 $? "chat without stdin"
[ -s "$work/out" ] && fail "chat answers what is no text: $(head -c 100 "$work/out")"
weft quantize "$work/m.gguf" "$work/closed.gguf" Q8_0 >&- 2>&-
call 0 quantize "$work/m.gguf" "$work/open.gguf" Q8_0
same "$work/closed.gguf" "$work/open.gguf" "a model written without stdout"
finish
