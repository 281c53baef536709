#!/bin/sh
# Every public header compiles alone, twice over, in C11 and in C++17, and the single-header parsers
# compile without weft. Usage: test_headers.sh SOURCE_FOLDER CC CXX
root=$1 cc=$2 cxx=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
warnings="-Wall -Wextra -Wconversion -Wshadow -Wpedantic -Werror"

compile() {
    # shellcheck disable=SC2086
    if ! "$@" $warnings -fsyntax-only >"$work/errors" 2>&1; then
        echo "FAILED: $*"
        head -n 5 "$work/errors"
        failures=$((failures + 1))
    fi
}

cd "$root/include" || exit 1
count=0
for header in $(find weft -name '*.h' | sort); do
    printf '#include <%s>\n#include <%s>\nint weft_one;\n' "$header" "$header" >"$work/one.c"
    cp "$work/one.c" "$work/one.cpp"
    compile "$cc" -std=c11 -Wstrict-prototypes -I. "$work/one.c"
    compile "$cxx" -std=c++17 -I. "$work/one.cpp"
    if grep -q '^WEFT_API' "$header" && ! grep -q 'extern "C"' "$header"; then
        echo "FAILED: $header has no extern \"C\""
        failures=$((failures + 1))
    fi
    count=$((count + 1))
done
[ $count -gt 5 ] || failures=$((failures + 1))

for parser in gguf safetensors; do
    header=$root/src/loader/$parser.h
    [ -e "$header" ] || continue
    name=$(echo $parser | tr a-z A-Z)
    cp "$header" "$work/$parser.h"
    printf '#define WEFT_%s_IMPLEMENTATION\n#include "%s.h"\nint weft_one;\n' "$name" "$parser" \
        >"$work/one.c"
    compile "$cc" -std=c11 -I"$work" "$work/one.c"
done

[ $failures = 0 ] && echo "$count headers stand alone"
exit $((failures > 0))
