#!/bin/bash
# weft embed: texts of options, files and lines; vectors and similarities in each of their formats.
. "$(dirname "$0")/lib.sh"
tiny m
m=$work/m.gguf

# words LINE: the number of words of a line of what the last call printed
words() {
    sed -n "${1}p" "$work/out" | wc -w
}

call 0 embed -m "$m" -p "one text" -p "another" --reproducible
quiet
[ "$(wc -l <"$work/out")" = 2 ] || fail "two texts: $(wc -l <"$work/out") lines"
width=$(words 1)
[ "$width" -gt 8 ] && [ "$(words 2)" = "$width" ] || fail "vectors of $width and $(words 2) numbers"
cp "$work/out" "$work/two"
awk '{ s = 0; for (i = 1; i <= NF; i++) s += $i * $i; if (s < 0.99999 || s > 1.00001) exit 1 }' \
    "$work/two" || fail "vectors are not of length 1"

printf 'one text\r\nanother\n' >"$work/lines"
call 0 embed -m "$m" -f "$work/lines" --reproducible
cmp -s "$work/out" "$work/two" || fail "lines of a file give other vectors"
printf 'one text\nanother' | weft embed -m "$m" --reproducible >"$work/out" 2>"$work/err"
judge 0 $? "lines of stdin"
cmp -s "$work/out" "$work/two" || fail "lines of stdin give other vectors"

call 0 embed -m "$m" -f "$work/lines" --reproducible --jsonl
[ "$(grep -c '^{"index":[01],"text":"[a-z ]*","embedding":\[[-0-9.e,]*\]}$' "$work/out")" = 2 ] ||
    fail "--jsonl: $(cut -c 1-120 "$work/out")"
call 0 embed -m "$m" -p "one text" -p another --reproducible --json
grep -q '"pooling":"last","normalized":true,"dimensions":'"$width"',"embeddings":\[' "$work/out" ||
    fail "--json: $(head -n 1 "$work/out")"
call 0 embed -m "$m" -p "one text" -p another --raw
[ "$(wc -c <"$work/out")" = $((2 * 4 * width)) ] || fail "--raw: $(wc -c <"$work/out") bytes"

call 0 embed -m "$m" -p abc -p abc -p xyz --similarity --no-normalize
awk 'NF != 3 || $NR < 0.999999 || $NR > 1.000001 { exit 1 }
    NR == 1 && ($2 < 0.999999 || $3 > 0.9999) { exit 1 }
    END { if (NR != 3) exit 1 }' "$work/out" || fail "--similarity: $(cat "$work/out")"
call 0 embed -m "$m" -p abc -p xyz --similarity --json
grep -q '"similarity":\[' "$work/out" || fail "--similarity --json: $(cat "$work/out")"

for how in mean cls last; do
    call 0 embed -m "$m" -p "one text" --pooling $how
    cp "$work/out" "$work/$how"
done
cmp -s "$work/mean" "$work/last" && fail "mean and last are the same"
cmp -s "$work/cls" "$work/last" && fail "cls and last are the same"

call 2 embed -m "$m" -p x --pooling middle
says "middle"
call 2 embed -m "$m" -p x -f "$work/lines"
call 2 embed -m "$m" -p x --json --raw
call 1 embed -m "$work/none.gguf" -p x
call 1 embed -m "$m" -f /dev/null
says "no text"
printf 'a\n\nb\n' >"$work/gap"
call 1 embed -m "$m" -f "$work/gap"
says "text 2 is empty"
head -c 60000 /dev/zero | tr '\0' 'a' >"$work/long"
call 1 embed -m "$m" -f "$work/long"
says "--truncate"
call 0 embed -m "$m" -f "$work/long" --truncate
[ "$(words 1)" = "$width" ] || fail "--truncate: $(words 1) numbers"

finish
