#!/bin/bash
# The house style, as far as grep can see it. Usage: test_tidy.sh SOURCE_FOLDER
cd "$1" || exit 1
shopt -s lastpipe # `… | report` counts in this shell
export LC_ALL=C.UTF-8
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# report TEXT: fails when stdin has lines, and shows the first of them.
report() {
    head -n 20 >"$work/lines"
    if [ -s "$work/lines" ]; then
        echo "FAILED: $1:"
        sed 's/^/    /' "$work/lines"
        failures=$((failures + 1))
    fi
}

list() {
    find CMakeLists.txt cmake src include tools tests models docs .ci README.md \
        \( -name data -o -name __pycache__ \) -prune -o -type f "$@" -print 2>/dev/null | sort
}
mapfile -t c < <(list \( -name '*.c' -o -name '*.h' -o -name '*.inc' \))
mapfile -t scripts < <(list \( -name '*.sh' -o -name '*.py' -o -path tools/demo \
    -o -path tools/check -o -path models/fetch -o -path .ci/run \))
mapfile -t cmake < <(list \( -name CMakeLists.txt -o -name '*.cmake' \))
mapfile -t pages < <(list -name '*.md')
code=("${c[@]}" "${scripts[@]}" "${cmake[@]}")
[ ${#c[@]} -gt 10 ] || echo "only ${#c[@]} C files found" | report "where are the sources"

grep -nE '^.{101,}' "${code[@]}" /dev/null | cut -c1-100 | report "longer than 100 columns"
grep -nP '\t' "${code[@]}" /dev/null | report "tabs"
grep -nE '[[:blank:]]+$' "${code[@]}" "${pages[@]}" /dev/null | report "blanks at the end of a line"
grep -lP '\r' "${code[@]}" "${pages[@]}" /dev/null | report "carriage returns"
grep -nE '\b(TODO|FIXME|XX[X])\b' "${code[@]}" "${pages[@]}" /dev/null |
    grep -v '^tests/house/test_tidy.sh' | report "work left to be done"
grep -nE '(^|[^A-Za-z0-9_.])/(home|root|work|Users)/' "${code[@]}" "${pages[@]}" /dev/null |
    grep -v '^tests/house/test_tidy.sh' | report "paths of one machine"
for file in "${code[@]}"; do
    [ -z "$(tail -c 1 "$file")" ] || echo "$file"
done | report "no newline at the end"
# A single-header parser is one file by its nature.
wc -l "${code[@]}" | awk '$2 != "total" &&
    $1 > ($2 ~ /^src\/loader\/(gguf|safetensors)\.h$/ ? 1000 : 700) { print $2 ": " $1 }' |
    report "too many lines"
for file in "${c[@]}"; do
    [ "$(head -c 2 "$file")" = '/*' ] || echo "$file"
done | report "no comment at the top"
for file in "${cmake[@]}"; do
    [ "$(head -c 1 "$file")" = '#' ] || echo "$file"
done | report "no comment at the top"

# Declarations that only a public header may make.
grep -rnE '\bWEFT_API\b' src --include='*.c' --include='*.h' |
    report "WEFT_API outside include/weft"

# The library neither prints nor ends the process; what a caller, a file or a socket sends is never
# an assertion's business. (`format(printf, …)` is an attribute.)
calls='abort|exit|_exit|_Exit|printf|vprintf|puts|putchar|perror|signal|sigaction|setlocale|system'
grep -rnE "(^|[^A-Za-z0-9_.>])($calls) *\(" src --include='*.c' --include='*.h' |
    grep -vE ':[0-9]+: *(\*|/\*|//)' | report "the library must not call this"
grep -rnE '\bf?printf *\( *std(err|out)|\bstd(err|out)\b' src --include='*.c' --include='*.h' |
    grep -vE ':[0-9]+: *(\*|/\*|//)' | report "the library must not print"
grep -rnE '\b(malloc|calloc|realloc|free|strdup|alloca)\(' src --include='*.c' |
    grep -vE '^src/base/alloc\.c|:[0-9]+: *(\*|/\*|//)' |
    report "memory past the engine's allocator"
grep -rnE '\b(strcpy|strcat|sprintf|vsprintf|gets|strtok)\(' src tools \
    --include='*.c' --include='*.h' | report "functions without bounds or errors"

[ $failures = 0 ] && echo "${#code[@]} files are tidy"
exit $((failures > 0))
