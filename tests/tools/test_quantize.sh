#!/bin/bash
# weft quantize, diff, split, merge and convert: types and mixes, patterns, what is refused, and
# that no half file is left.
. "$(dirname "$0")/lib.sh"
tiny m
m=$work/m.gguf out=$work/q.gguf

# has TEXT: what the last call printed has it
has() {
    grep -qF -- "$1" "$work/out" || fail "no '$1' in: $(head -c 400 "$work/out")"
}

# tensor NAME TYPE: the file's tensor has that type
tensor() {
    weft inspect "$out" | grep -qE "^ +$1 +$2 " || fail "$1 is no $2: $(weft inspect "$out")"
}

call 0 quantize --help
has "Q4_K_M"
has "IQ4_XS"
[ "$(wc -l <"$work/out")" -le 24 ] || fail "the help is longer than a screen"
call 0 diff --help

# The tiny model's rows are no multiple of 256: blocks of 32 instead.
call 0 quantize "$m" "$out" Q4_K_M
has "15 of 16 tensors have rows"
tensor blk.0.attn_q.weight q5_0
tensor blk.0.attn_norm.weight f32
call 0 inspect --check "$out"
call 0 logits -m "$out" --ids "65 66 67"
for type in q8_0 Q4_0 q5_1 IQ4_NL mxfp4 F16 bf16; do
    call 0 quantize "$m" "$out" "$type"
    tensor blk.1.ffn_up.weight "$(echo "$type" | tr A-Z a-z)"
    call 0 logits -m "$out" --ids "65 66 67"
done

# Patterns, --pure, and the order of patterns.
call 0 quantize "$m" "$out" Q8_0 --tensor 'blk\.0\.ffn_.*=q4_1' --tensor 'ffn=f16'
tensor blk.0.ffn_down.weight q4_1
tensor blk.1.ffn_down.weight f16
tensor blk.1.attn_q.weight q8_0
call 0 quantize "$m" "$out" Q4_0 --pure
tensor token_embd.weight q4_0

# Threads and kernels do not change a byte.
call 0 quantize "$m" "$out" Q4_0 -t 1
cp "$out" "$work/one.gguf"
call 0 quantize "$m" "$out" Q4_0 -t 3 --cpu scalar
cmp -s "$out" "$work/one.gguf" || fail "another file with three threads and scalar kernels"

# Differences: none, some, by key and by tensor.
call 0 diff "$m" "$m"
has "equal"
call 0 quantize "$m" "$out" F32
call 0 diff "$m" "$out" --tensors
call 0 quantize "$m" "$out" Q8_0
weft diff "$m" "$out" >"$work/out" 2>"$work/err"
[ $? = 1 ] || fail "diff of different files: exit status 0"
quiet
has "general.file_type: only in B"
has "blk.0.attn_q.weight: f32 and q8_0"
grep -q "^blk.0.attn_norm" "$work/out" && fail "equal tensors are shown"
weft diff "$m" "$out" --json >"$work/out" 2>"$work/err"
has '"equal":false'
has '"name":"blk.0.attn_q.weight","type_a":"f32","type_b":"q8_0"'
tiny other adds_bos
weft diff "$m" "$work/other.gguf" >"$work/out" 2>"$work/err"
[ $? = 1 ] || fail "diff of models with another key"
has "tokenizer.ggml.add_bos_token"
weft quantize "$m" "$work/q4.gguf" Q4_0 >/dev/null
weft diff "$out" "$work/q4.gguf" >"$work/out"
has "general.file_type: 7 -> 2"
weft diff "$out" "$work/q4.gguf" --json >"$work/out"
has '"name":"general.file_type","difference":"another value","a":7,"b":2'

# Importance matrices: gathered over a text, used, and refused for another model.
for i in 1 2 3 4 5 6 7 8 9; do
    printf 'then the hen in a nest ate the rest %s\n' $i
done >"$work/text"
call 0 imatrix -m "$m" -f "$work/text" -o "$work/im.gguf" -c 32
has "chunks of 32 tokens"
call 0 quantize "$m" "$out" Q4_0 --imatrix "$work/im.gguf"
has "importance for 14 of 16 tensors"
weft inspect "$out" | grep -q "quantize.imatrix.entries_count" || fail "no key of the matrix"
call 2 imatrix -m "$m" -f "$work/text"
call 1 imatrix -m "$m" -f /dev/null -o "$work/im2.gguf"
call 1 imatrix -m "$m" -f "$work/text" -o "$work/none/im.gguf"
[ -e "$work/im2.gguf" ] && fail "a matrix of no text"

# In several files and back, whichever of them is named.
call 0 split "$m" "$work/part" --tensors 7
call 0 inspect --check "$work/part-00001-of-00003.gguf"
call 0 merge "$work/part-00002-of-00003.gguf" "$out"
cmp -s "$m" "$out" || fail "split and merged: another file"
call 1 merge "$m" "$out"
says "not a shard"
call 2 split "$m" "$work/part" --size 3X
call 2 split "$m"
call 1 split "$m" "$work/none/part"
call 1 convert "$m" "$out"
says "folder"
call 1 convert "$work" "$out"
call 2 convert "$work" "$out" --type Q9_X
call 0 convert --help
call 0 split --help
call 0 merge --help

# What is refused; the old file stays as it was, and nothing else is left.
rm -f "$work"/*.gguf
tiny m
echo old >"$out"
call 2 quantize "$m" "$out"
call 2 quantize "$m" "$out" Q9_X
says "Q9_X"
call 2 quantize "$m" "$out" Q8_0 --tensor 'attn'
call 2 quantize "$m" "$out" Q8_0 --tensor 'attn=q9'
call 2 quantize "$m" "$out" Q8_0 --tensor '(=f16'
says "pattern"
call 1 quantize "$work/none.gguf" "$out" Q8_0
call 1 quantize "$m" "$work/none/q.gguf" Q8_0
call 1 quantize "$m" "$out" Q8_0 --imatrix "$m"
says "importance"
call 1 quantize "$m" "$work" Q8_0
call 2 diff "$m"
[ "$(cat "$out")" = old ] || fail "the file that was there has changed"
[ "$(ls "$work"/*.gguf* | wc -l)" = 2 ] || fail "left behind: $(ls "$work")"
# A file is never read and replaced at once, and an interrupted run leaves nothing behind.
cp "$work/model.gguf" "$work/same.gguf" 2>/dev/null || tiny same
call 1 quantize "$work/same.gguf" "$work/same.gguf" q8_0
says 'is the file that is read'
# shellcheck disable=SC2086
timeout -s INT 0.02 $emulator "$bin" quantize "$work/same.gguf" "$work/cut.gguf" q8_0 \
    >/dev/null 2>&1
ls "$work" | grep -q '\.part$' && fail "an interrupted run left a part of a file"

exit $((failures > 0))
